//! Bodies that are sent in chunks, each signed over the one before, or with a checksum behind them: `aws-chunked`.
//!
//! On the wire, data bytes alternate with *frames*: the end of a chunk and the head of the next one. How long each is
//! follows from the body's length alone, so that a send that was cut at any byte goes on from its offset. What a frame
//! says needs the signatures of all chunks before: they are made in order, once, and the last ones kept until they are
//! sent.
//!
//! Source: "Signature calculations … (chunked upload)" and "… with trailing headers" of the Amazon S3 API reference.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use linerate_record::load::Payload;
use sha2::{Digest, Sha256};

use crate::body::{Bodies, BodySpan, CHUNK_BYTES};
use crate::sigv4::ChunkSigner;

const SIGNATURE: &[u8] = b";chunk-signature=";
const CHECKSUM: &[u8] = b"x-amz-checksum-crc32c:";
const TRAILER_SIGNATURE: &[u8] = b"x-amz-trailer-signature:";
const LINE_END: &[u8] = b"\r\n";

/// Length of a signature in hex.
const HEX_BYTES: u64 = 64;

/// Length of a CRC-32C in base64.
const CHECKSUM_BYTES: usize = 8;

/// Signatures kept: those of the frames that one call to send may hold.
const SIGNATURES: usize = 32;

/// Most pieces asked for at once: frames and data in turn.
pub(crate) const STREAM_PIECES_MAX: usize = 2 * SIGNATURES - 1;

/// How a body of so many bytes lies on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyLayout {
    /// Bytes of the body itself.
    length: u64,
    /// Whether it is cut into chunks.
    chunked: bool,
    signed: bool,
    trailer: bool,
}

impl BodyLayout {
    pub(crate) const fn new(payload: Payload, length: u64) -> Self {
        let chunked = payload.is_chunked();
        BodyLayout { length, chunked, signed: chunked && payload.signs(), trailer: payload.has_trailer() }
    }

    /// Nothing to send.
    pub(crate) const fn empty() -> Self {
        BodyLayout { length: 0, chunked: false, signed: false, trailer: false }
    }

    pub(crate) const fn is_chunked(&self) -> bool {
        self.chunked
    }

    pub(crate) const fn has_trailer(&self) -> bool {
        self.chunked && self.trailer
    }

    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    /// Bytes on the wire.
    pub(crate) fn wire_bytes(&self) -> u64 {
        let last = self.chunks();
        if self.chunked { self.frame_at(last) + self.frame_bytes(last) } else { self.length }
    }

    /// Bytes of the body in the first `wire` bytes.
    pub(crate) fn body_bytes(&self, wire: u64) -> u64 {
        if !self.chunked {
            return wire;
        }
        let frame = self.frame_before(wire);
        let behind = (wire - self.frame_at(frame)).saturating_sub(self.frame_bytes(frame));
        (frame * CHUNK_BYTES + behind).min(self.length)
    }

    /// Chunks that hold data. The frame of this number ends the body.
    const fn chunks(&self) -> u64 {
        self.length.div_ceil(CHUNK_BYTES)
    }

    /// Data bytes of a chunk.
    const fn chunk_bytes(&self, chunk: u64) -> u64 {
        let left = self.length - chunk * CHUNK_BYTES;
        if left < CHUNK_BYTES { left } else { CHUNK_BYTES }
    }

    /// Length of the line that a chunk begins with.
    fn line_bytes(&self, data_bytes: u64) -> u64 {
        let digits = u64::from(64 - (data_bytes | 1).leading_zeros()).div_ceil(4);
        let signature = if self.signed { SIGNATURE.len() as u64 + HEX_BYTES } else { 0 };
        digits + signature + LINE_END.len() as u64
    }

    /// Where a frame begins. A frame but the first takes in the end of the chunk before.
    fn frame_at(&self, frame: u64) -> u64 {
        let full = frame.min(self.length / CHUNK_BYTES);
        let stride = self.line_bytes(CHUNK_BYTES) + CHUNK_BYTES + LINE_END.len() as u64;
        let of_full = (full * stride).saturating_sub(LINE_END.len() as u64);
        if frame == full {
            return of_full;
        }
        // The last chunk is shorter than the others.
        let rest = self.length % CHUNK_BYTES;
        of_full + self.frame_bytes(full) + rest
    }

    fn frame_bytes(&self, frame: u64) -> u64 {
        let line_end = LINE_END.len() as u64;
        let before = if frame > 0 { line_end } else { 0 };
        if frame < self.chunks() {
            return before + self.line_bytes(self.chunk_bytes(frame));
        }
        let checksum = if self.trailer { (CHECKSUM.len() + CHECKSUM_BYTES) as u64 + line_end } else { 0 };
        let signed = self.trailer && self.signed;
        let signature = if signed { TRAILER_SIGNATURE.len() as u64 + HEX_BYTES + line_end } else { 0 };
        before + self.line_bytes(0) + checksum + signature + line_end
    }

    /// The last frame that begins at or before an offset on the wire.
    fn frame_before(&self, wire: u64) -> u64 {
        let stride = self.line_bytes(CHUNK_BYTES) + CHUNK_BYTES + LINE_END.len() as u64;
        let frame = ((wire + LINE_END.len() as u64) / stride).min(self.length / CHUNK_BYTES);
        if frame < self.chunks() && wire >= self.frame_at(frame + 1) { frame + 1 } else { frame }
    }
}

/// A piece of a body on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// So many bytes that the pool holds, from an offset in the object on.
    Pool { offset: u64, length: u64 },
    /// Bytes that were made: frames, and data that is not in the pool.
    Made { start: usize, end: usize },
}

/// A body on its way in chunks. Belongs to a connection and is used again.
#[derive(Default)]
pub(crate) struct ChunkStream {
    signer: Option<ChunkSigner>,
    /// Frames whose signatures were made.
    frames: u64,
    crc: u32,
    /// Signatures of the last frames; that of frame `n` at `n` modulo [`SIGNATURES`].
    signatures: Vec<[u8; HEX_BYTES as usize]>,
    trailer_signature: Option<[u8; HEX_BYTES as usize]>,
}

impl ChunkStream {
    /// Takes up a new body.
    pub(crate) fn begin(&mut self, signer: Option<ChunkSigner>) {
        self.signer = signer;
        (self.frames, self.crc, self.trailer_signature) = (0, 0, None);
    }

    /// The checksum of a body whose last frame was made.
    pub(crate) fn checksum(&self) -> [u8; CHECKSUM_BYTES] {
        let mut out = [0; CHECKSUM_BYTES];
        let written = STANDARD.encode_slice(self.crc.to_be_bytes(), &mut out);
        debug_assert_eq!(written, Ok(CHECKSUM_BYTES), "four bytes are eight characters");
        out
    }

    /// The next pieces from offset `wire` on, as many as `pieces` holds and `made` has room for; returns how many.
    pub(crate) fn gather(
        &mut self,
        layout: BodyLayout,
        span: BodySpan,
        wire: u64,
        bodies: &Bodies,
        pieces: &mut [Piece],
        made: &mut [u8],
    ) -> usize {
        debug_assert!(pieces.len() <= STREAM_PIECES_MAX, "signatures are kept until they are sent");
        let (mut count, mut used, mut at) = (0, 0, wire);
        let (end, made_bytes) = (layout.wire_bytes(), made.len());
        while count < pieces.len() && at < end {
            let frame = layout.frame_before(at);
            let (within, frame_bytes) = (at - layout.frame_at(frame), layout.frame_bytes(frame));
            let room = &mut made[used..];
            pieces[count] = if within < frame_bytes {
                if room.len() < frame_bytes as usize {
                    break;
                }
                self.make_until(frame, layout, span, bodies);
                self.write_frame(frame, layout, &mut room[..frame_bytes as usize]);
                Piece::Made { start: used + within as usize, end: used + frame_bytes as usize }
            } else {
                let data = within - frame_bytes;
                let (offset, left) = (span.start + frame * CHUNK_BYTES + data, layout.chunk_bytes(frame) - data);
                let resident = bodies.resident(span.size_bytes, offset, left).len() as u64;
                if resident > 0 {
                    Piece::Pool { offset, length: resident }
                } else {
                    let length = (left as usize).min(room.len());
                    if length == 0 {
                        break;
                    }
                    bodies.fill(span.id, span.size_bytes, offset, &mut room[..length]);
                    Piece::Made { start: used, end: used + length }
                }
            };
            at += match pieces[count] {
                Piece::Pool { length, .. } => length,
                Piece::Made { start, end } => {
                    used = end;
                    (end - start) as u64
                }
            };
            count += 1;
        }
        debug_assert!(used <= made_bytes, "what is made fits");
        count
    }

    /// Makes the signatures of frames up to one, and the checksum so far.
    fn make_until(&mut self, frame: u64, layout: BodyLayout, span: BodySpan, bodies: &Bodies) {
        while self.frames <= frame {
            let (number, last) = (self.frames, self.frames == layout.chunks());
            let mut sha256 = [0; 32];
            if last {
                sha256 = Sha256::digest([]).into();
            } else {
                let start = span.start + number * CHUNK_BYTES;
                let chunk = BodySpan { start, length: layout.chunk_bytes(number), ..span };
                let crc = layout.trailer.then_some(&mut self.crc);
                bodies.digest_chunk(chunk, self.signer.is_some().then_some(&mut sha256), crc);
            }
            let checksum = self.checksum();
            if let Some(signer) = &mut self.signer {
                let signature = signer.chunk(&sha256);
                match self.signatures.get_mut(number as usize % SIGNATURES) {
                    Some(place) => *place = signature,
                    None => self.signatures.push(signature),
                }
                if last && layout.trailer {
                    let mut line = [b'\n'; CHECKSUM.len() + CHECKSUM_BYTES + 1];
                    line[..CHECKSUM.len()].copy_from_slice(CHECKSUM);
                    line[CHECKSUM.len()..][..CHECKSUM_BYTES].copy_from_slice(&checksum);
                    self.trailer_signature = Some(signer.trailer(&line));
                }
            }
            self.frames += 1;
        }
    }

    /// Writes a frame into all of `out`.
    fn write_frame(&self, frame: u64, layout: BodyLayout, mut out: &mut [u8]) {
        let last = frame == layout.chunks();
        let mut digits = [0; 16];
        let hex = hex_digits(if last { 0 } else { layout.chunk_bytes(frame) }, &mut digits);
        if frame > 0 {
            put(&mut out, LINE_END);
        }
        put(&mut out, hex);
        if layout.signed {
            put(&mut out, SIGNATURE);
            put(&mut out, &self.signatures[frame as usize % SIGNATURES]);
        }
        put(&mut out, LINE_END);
        if last && layout.trailer {
            put(&mut out, CHECKSUM);
            put(&mut out, &self.checksum());
            put(&mut out, LINE_END);
            if let Some(signature) = &self.trailer_signature {
                put(&mut out, TRAILER_SIGNATURE);
                put(&mut out, signature);
                put(&mut out, LINE_END);
            }
        }
        if last {
            put(&mut out, LINE_END);
        }
        debug_assert!(out.is_empty(), "a frame is as long as its layout says");
    }
}

/// Writes `bytes` to the front of `out`, and moves it behind them.
fn put(out: &mut &mut [u8], bytes: &[u8]) {
    let (front, rest) = std::mem::take(out).split_at_mut(bytes.len());
    front.copy_from_slice(bytes);
    *out = rest;
}

/// A number in lower-case hex, without leading zeros.
fn hex_digits(number: u64, out: &mut [u8; 16]) -> &[u8] {
    let (mut at, mut rest) = (out.len(), number);
    loop {
        at -= 1;
        out[at] = b"0123456789abcdef"[(rest & 15) as usize];
        rest >>= 4;
        if rest == 0 {
            return &out[at..];
        }
    }
}

#[cfg(test)]
mod tests;
