//! Data compressed with zstd: frames one behind the other, whose contents are one text (RFC 8878, section 3.1), and
//! frames to skip among them. pzstd and files that are appended have several.

use std::io::{self, BufRead, Error, Read};

use linerate_record::units::Bytes;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// How much a file may unpack to, as a multiple of its size. Records of requests differ in their times, so that each
/// takes several bytes: warp's unpack to some ten times theirs.
const RATIO_MAX: u64 = 200;

/// What any file may unpack to, however small.
const SMALL_BYTES: u64 = 64 << 20;

/// What no file may exceed: records of some 250 million requests.
const UNPACKED_BYTES_MAX: u64 = 64 << 30;

/// Whether a file begins with a frame, or with one to skip: `0x184D2A5?`, little-endian.
pub(super) fn is_frame(first: &[u8]) -> bool {
    first == MAGIC || matches!(first, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

pub(super) struct ZstdFrames<R> {
    input: R,
    decoder: FrameDecoder,
    unpacked_bytes: u64,
    most_bytes: u64,
}

impl<R: BufRead> ZstdFrames<R> {
    /// Begins with the first frame of a file of so many bytes.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn new(input: R, packed_bytes: u64) -> io::Result<Self> {
        let most_bytes = packed_bytes.saturating_mul(RATIO_MAX).clamp(SMALL_BYTES, UNPACKED_BYTES_MAX);
        let mut frames = ZstdFrames { input, decoder: FrameDecoder::new(), unpacked_bytes: 0, most_bytes };
        if frames.begin()? { Ok(frames) } else { Err(Error::other("it has no frame")) }
    }

    /// Begins the next frame that is not to be skipped; false at the end of the input.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.input.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.input) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let skipped = io::copy(&mut (&mut self.input).take(u64::from(length)), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 {
            if self.decoder.is_finished() {
                if !self.begin()? {
                    return Ok(0);
                }
            } else {
                let block = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.input, block).map_err(Error::other)?;
            }
        }
        let n = self.decoder.read(buffer)?;
        self.unpacked_bytes += n as u64;
        if self.unpacked_bytes > self.most_bytes {
            let why = format!("it unpacks to more than {}, which records of requests do not", Bytes(self.most_bytes));
            return Err(Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn unpacked(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        ZstdFrames::new(bytes, bytes.len() as u64)?.read_to_string(&mut text)?;
        Ok(text)
    }

    /// A frame of so many blocks of line feeds, of 128 KiB each (RFC 8878, section 3.1.1.2).
    fn line_feeds(blocks: u32) -> Vec<u8> {
        // The window descriptor is of 128 KiB.
        let mut bytes = [&MAGIC[..], &[0, 7 << 3]].concat();
        for nth in 1..=blocks {
            let header = (128 << 10) << 3 | 1 << 1 | u32::from(nth == blocks);
            bytes.extend_from_slice(&header.to_le_bytes()[..3]);
            bytes.push(b'\n');
        }
        bytes
    }

    #[test]
    fn what_unpacks_to_more_than_records_do_is_given_up() {
        let bytes = line_feeds(3);
        assert_eq!(unpacked(&bytes).unwrap().len(), 3 * (128 << 10));
        // Of 16 KiB, which would be 512 MiB.
        let error = unpacked(&line_feeds(4096)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "it unpacks to more than 64 MiB, which records of requests do not");
        assert_eq!(ZstdFrames::new(&bytes[..], 1 << 30).unwrap().most_bytes, UNPACKED_BYTES_MAX);
        assert_eq!(ZstdFrames::new(&bytes[..], 1 << 20).unwrap().most_bytes, 200 << 20);
    }

    #[test]
    fn all_frames_are_read_and_those_to_skip_are_skipped() {
        let frame = |text: &str| compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let skipped = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let (one, two, empty) = (frame("one\n"), frame("two\n"), frame(""));
        for (parts, expected) in [
            (vec![&one], "one\n"),
            (vec![&one, &two], "one\ntwo\n"),
            (vec![&one, &skipped, &two, &skipped], "one\ntwo\n"),
            (vec![&skipped, &one], "one\n"),
            (vec![&empty, &one, &empty, &two], "one\ntwo\n"),
        ] {
            let whole: Vec<u8> = parts.into_iter().flatten().copied().collect();
            assert!(is_frame(&whole[..4]));
            assert_eq!(unpacked(&whole).unwrap(), expected);
        }
        let both = [one.clone(), two].concat();
        for end in (1..both.len()).filter(|end| *end != one.len()) {
            assert!(unpacked(&both[..end]).is_err(), "cut at {end}");
        }
        assert!(unpacked(&[one.as_slice(), b"more"].concat()).is_err(), "what follows is no frame");
        assert!(!is_frame(b"idx\t") && !is_frame(&[]));
    }
}
