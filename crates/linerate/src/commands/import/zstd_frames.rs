//! Data compressed with zstd: frames one behind the other, whose contents are one text (RFC 8878, section 3.1), and
//! frames to skip among them. pzstd and files that are appended have several.

use std::io::{self, BufRead, Error, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Whether a file begins with a frame, or with one to skip: `0x184D2A5?`, little-endian.
pub(super) fn is_frame(first: &[u8]) -> bool {
    first == MAGIC || matches!(first, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

pub(super) struct ZstdFrames<R> {
    input: R,
    decoder: FrameDecoder,
}

impl<R: BufRead> ZstdFrames<R> {
    /// Begins with the first frame.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn new(input: R) -> io::Result<Self> {
        let mut frames = ZstdFrames { input, decoder: FrameDecoder::new() };
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
        self.decoder.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn unpacked(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        ZstdFrames::new(bytes)?.read_to_string(&mut text)?;
        Ok(text)
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
