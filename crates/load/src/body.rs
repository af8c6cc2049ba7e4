//! Object bodies: cheap to send, unique per object, and made again at will for verification.
//!
//! A body repeats one pool of random bytes. With [`Unique::Tail`] its last 16 bytes are its own, so that no two objects
//! are equal while the SHA-256 of everything before is a midstate, computed once per size. With [`Unique::Full`]
//! every 4 KiB block is XORed with a word of its own, so that nothing can be deduplicated, at the cost of a pass over
//! the body (two when it is signed).

use linerate_record::load::Unique;
use linerate_record::rng::nth_bits;
use sha2::{Digest, Sha256};

use crate::object_id::ObjectId;

/// Length of the random pool. Bodies repeat with this period. It stays in a processor's second-level cache while it is
/// sent over and over: from 64 MiB, which do not, sending costs half as much again.
pub const POOL_BYTES: u64 = 256 << 10;

/// Bytes at the end of a body that are its own.
const TAIL_BYTES: u64 = 16;

/// Length of a block that gets a word of its own with [`Unique::Full`].
const BLOCK_BYTES: u64 = 4096;

/// Distance of SHA-256 midstates along the pool for sizes that were not announced.
const MIDSTATE_STEP_BYTES: u64 = 64 << 10;

/// Most midstates kept: 112 bytes each.
const MIDSTATES_MAX: u64 = 16_384;

/// Data bytes of a chunk of a body that is sent in chunks: what the AWS SDKs use.
pub const CHUNK_BYTES: u64 = 64 << 10;

/// Bytes `start..start + length` of an object: all of it, or a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodySpan {
    pub id: ObjectId,
    pub size_bytes: u64,
    /// First byte.
    pub start: u64,
    pub length: u64,
}

impl BodySpan {
    #[must_use]
    pub const fn whole(id: ObjectId, size_bytes: u64) -> Self {
        BodySpan { id, size_bytes, start: 0, length: size_bytes }
    }
}

/// The bodies of a run.
pub struct Bodies {
    seed: u64,
    unique: Unique,
    pool: Vec<u8>,
    /// SHA-256 and CRC-32C of each chunk of the pool.
    pool_chunks: Vec<([u8; 32], u32)>,
    /// What a chunk that follows makes of each bit of a CRC-32C.
    crc_shift: [u32; 32],
    /// Hashers that have taken the first so many bytes of a body, by rising length.
    midstates: Vec<(u64, Sha256)>,
}

impl Bodies {
    /// Makes the pool, and midstates for the sizes announced and, where others may come, for those up to `others_max`.
    #[must_use]
    pub fn new(seed: u64, unique: Unique, announced_bytes: &[u64], others_max: Option<u64>) -> Self {
        let mut pool = vec![0; POOL_BYTES as usize];
        for (i, word) in pool.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&nth_bits(seed, i as u64 ^ 0xB0D1_0000_0000_0000).to_le_bytes());
        }
        let pool_chunks = pool.chunks(CHUNK_BYTES as usize).map(|c| (Sha256::digest(c).into(), crc32c::crc32c(c)));
        let pool_chunks = pool_chunks.collect();
        let crc_shift = std::array::from_fn(|bit| crc32c::crc32c_combine(1 << bit, 0, CHUNK_BYTES as usize));
        let mut bodies = Bodies { seed, unique, pool, pool_chunks, crc_shift, midstates: Vec::new() };
        if unique == Unique::Tail {
            bodies.midstates = bodies.midstates_for(announced_bytes, others_max.unwrap_or(0));
        }
        bodies
    }

    fn midstates_for(&self, announced_bytes: &[u64], others_max: u64) -> Vec<(u64, Sha256)> {
        let step = MIDSTATE_STEP_BYTES.max((others_max / MIDSTATES_MAX).next_multiple_of(64));
        let mut lengths: Vec<u64> = announced_bytes.iter().map(|&size| size.saturating_sub(TAIL_BYTES)).collect();
        lengths.extend((1..=others_max / step).map(|i| i * step));
        lengths.push(0);
        lengths.sort_unstable();
        lengths.dedup();
        let (mut hasher, mut done) = (Sha256::new(), 0);
        let advance = |length: u64| {
            while done < length {
                let piece = self.pool_from(done, length - done);
                hasher.update(piece);
                done += piece.len() as u64;
            }
            (length, hasher.clone())
        };
        lengths.into_iter().map(advance).collect()
    }

    /// Pool bytes from body offset `offset`: up to `most`, and up to the pool's end.
    fn pool_from(&self, offset: u64, most: u64) -> &[u8] {
        let start = (offset % POOL_BYTES) as usize;
        let length = most.min(POOL_BYTES - start as u64) as usize;
        &self.pool[start..start + length]
    }

    fn tail(&self, id: ObjectId) -> [u8; TAIL_BYTES as usize] {
        let mut tail = [0; TAIL_BYTES as usize];
        tail[..8].copy_from_slice(&nth_bits(self.seed ^ 0x7A11, id.number()).to_le_bytes());
        tail[8..].copy_from_slice(&id.number().to_le_bytes());
        tail
    }

    /// SHA-256 of a body or a part of one. With [`Unique::Tail`], its length announced and its start a multiple of the
    /// pool's length: three compressions.
    #[must_use]
    pub fn sha256(&self, span: BodySpan) -> [u8; 32] {
        let prefix = if span.start.is_multiple_of(POOL_BYTES) { self.pooled_bytes(span) } else { 0 };
        let nearest = self.midstates.partition_point(|&(length, _)| length <= prefix);
        let (offset, mut hasher) = match nearest.checked_sub(1).map(|i| &self.midstates[i]) {
            Some((length, hasher)) => (*length, hasher.clone()),
            None => (0, Sha256::new()),
        };
        let rest = BodySpan { start: span.start + offset, length: span.length - offset, ..span };
        self.each_block(rest, |block| hasher.update(block));
        hasher.finalize().into()
    }

    /// SHA-256 of a chunk, where asked, and its bytes added to a CRC-32C, where asked. With [`Unique::Tail`], a chunk
    /// that lies in the pool as a whole costs neither.
    pub fn digest_chunk(&self, chunk: BodySpan, sha256: Option<&mut [u8; 32]>, crc32c: Option<&mut u32>) {
        let whole = chunk.length == CHUNK_BYTES && self.pooled_bytes(chunk) == CHUNK_BYTES;
        if whole && chunk.start.is_multiple_of(CHUNK_BYTES) {
            let (of_sha256, of_crc32c) = &self.pool_chunks[(chunk.start % POOL_BYTES / CHUNK_BYTES) as usize];
            if let Some(sha256) = sha256 {
                *sha256 = *of_sha256;
            }
            if let Some(crc) = crc32c {
                *crc = self.crc_behind_chunk(*crc) ^ of_crc32c;
            }
            return;
        }
        let (mut hasher, mut crc) = (sha256.is_some().then(Sha256::new), crc32c.as_deref().copied());
        self.each_block(chunk, |block| {
            if let Some(hasher) = &mut hasher {
                hasher.update(block);
            }
            crc = crc.map(|crc| crc32c::crc32c_append(crc, block));
        });
        if let (Some(out), Some(hasher)) = (sha256, hasher) {
            *out = hasher.finalize().into();
        }
        if let (Some(out), Some(crc)) = (crc32c, crc) {
            *out = crc;
        }
    }

    /// The CRC-32C of two strings is that of the first, moved by the length of the second, XOR that of the second. The
    /// move is linear in the bits of the first, and for one length it is this table.
    fn crc_behind_chunk(&self, crc: u32) -> u32 {
        (0..32).filter(|bit| crc >> bit & 1 == 1).fold(0, |sum, bit| sum ^ self.crc_shift[bit])
    }

    /// How many bytes from a span's start on are the pool's own.
    fn pooled_bytes(&self, span: BodySpan) -> u64 {
        match self.unique {
            Unique::Tail => span.size_bytes.saturating_sub(TAIL_BYTES).saturating_sub(span.start).min(span.length),
            Unique::Full => 0,
        }
    }

    fn each_block(&self, span: BodySpan, mut take: impl FnMut(&[u8])) {
        let (mut at, mut block) = (0, [0; BLOCK_BYTES as usize]);
        while at < span.length {
            let most = (span.length - at).min(BLOCK_BYTES) as usize;
            self.fill(span.id, span.size_bytes, span.start + at, &mut block[..most]);
            take(&block[..most]);
            at += most as u64;
        }
    }

    /// The next bytes of a body from `offset` that can be sent from where they lie, at most `most` of them; empty where
    /// they must be made by [`Bodies::fill`] first.
    #[must_use]
    pub fn resident(&self, size_bytes: u64, offset: u64, most: u64) -> &[u8] {
        let prefix = size_bytes.saturating_sub(TAIL_BYTES);
        if self.unique == Unique::Full || offset >= prefix {
            &[]
        } else {
            self.pool_from(offset, most.min(prefix - offset))
        }
    }

    /// Writes the body's bytes from `offset` on into all of `out`, which must not reach beyond its end.
    pub fn fill(&self, id: ObjectId, size_bytes: u64, offset: u64, out: &mut [u8]) {
        debug_assert!(offset + out.len() as u64 <= size_bytes, "a body ends at its size");
        match self.unique {
            Unique::Tail => self.fill_tail(id, size_bytes, offset, out),
            Unique::Full => self.fill_full(id, offset, out),
        }
    }

    fn fill_tail(&self, id: ObjectId, size_bytes: u64, offset: u64, out: &mut [u8]) {
        let prefix = size_bytes.saturating_sub(TAIL_BYTES);
        let (mut at, tail) = (0, self.tail(id));
        while at < out.len() {
            let position = offset + at as u64;
            let left = (out.len() - at) as u64;
            let piece = if position < prefix {
                self.pool_from(position, left.min(prefix - position))
            } else {
                &tail[(position - prefix) as usize..][..left as usize]
            };
            out[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
    }

    fn fill_full(&self, id: ObjectId, offset: u64, out: &mut [u8]) {
        let mut at = 0;
        while at < out.len() {
            let position = offset + at as u64;
            let block = position / BLOCK_BYTES;
            let in_block = BLOCK_BYTES - position % BLOCK_BYTES;
            let piece = self.pool_from(position, in_block.min((out.len() - at) as u64));
            let word = nth_bits(self.seed ^ id.number().rotate_left(17), block).to_le_bytes();
            let phase = (position % 8) as usize;
            for (i, (to, from)) in out[at..].iter_mut().zip(piece).enumerate() {
                *to = from ^ word[(phase + i) % 8];
            }
            at += piece.len();
        }
    }

    /// Whether `got` is what the body holds at `offset`.
    #[must_use]
    pub fn matches(&self, id: ObjectId, size_bytes: u64, offset: u64, got: &[u8]) -> bool {
        if offset + got.len() as u64 > size_bytes {
            return false;
        }
        let mut at = 0;
        let mut block = [0; BLOCK_BYTES as usize];
        while at < got.len() {
            let position = offset + at as u64;
            let resident = self.resident(size_bytes, position, (got.len() - at) as u64);
            let length = if resident.is_empty() { block.len().min(got.len() - at) } else { resident.len() };
            let expected = if resident.is_empty() {
                self.fill(id, size_bytes, position, &mut block[..length]);
                &block[..length]
            } else {
                resident
            };
            if got[at..at + length] != *expected {
                return false;
            }
            at += length;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(bodies: &Bodies, id: ObjectId, size: u64) -> Vec<u8> {
        let mut body = vec![0; size as usize];
        bodies.fill(id, size, 0, &mut body);
        body
    }

    const A: ObjectId = ObjectId { set: 1, seq: 7 };
    const B: ObjectId = ObjectId { set: 1, seq: 8 };

    #[test]
    fn bodies_of_two_objects_differ_and_come_again() {
        for unique in [Unique::Tail, Unique::Full] {
            for size in [8, 16, 17, 4096, 100_000] {
                let bodies = Bodies::new(3, unique, &[size], None);
                let again = Bodies::new(3, unique, &[], Some(size));
                assert_ne!(whole(&bodies, A, size), whole(&bodies, B, size), "{unique:?} {size}");
                assert_eq!(whole(&bodies, A, size), whole(&again, A, size));
                assert_ne!(whole(&bodies, A, size), whole(&Bodies::new(4, unique, &[], None), A, size));
            }
        }
    }

    #[test]
    fn full_uniqueness_shares_no_block_between_objects_or_within_one() {
        let size = POOL_BYTES * 2 + 4096;
        let bodies = Bodies::new(3, Unique::Full, &[], None);
        let mut blocks = std::collections::HashSet::new();
        for id in [A, B] {
            for block in whole(&bodies, id, size).chunks(4096) {
                assert!(blocks.insert(block.to_vec()), "a block came twice");
            }
        }
    }

    #[test]
    fn bodies_do_not_compress() {
        let bodies = Bodies::new(3, Unique::Tail, &[], None);
        let mut seen = [0u32; 256];
        for byte in whole(&bodies, A, POOL_BYTES) {
            seen[usize::from(byte)] += 1;
        }
        let expected = POOL_BYTES as f64 / 256.0;
        let chi2: f64 = seen.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        assert!((150.0..400.0).contains(&chi2), "255 degrees of freedom: {chi2}");
    }

    #[test]
    fn digests_of_chunks_are_those_of_their_bytes_wherever_they_begin() {
        for unique in [Unique::Tail, Unique::Full] {
            let bodies = Bodies::new(5, unique, &[], None);
            for (size, start, length) in [
                (1u64 << 20, 0u64, 1u64 << 20),
                ((1 << 20) + 16, 0, 1 << 20),
                (700_001, 0, 700_001),
                (1 << 20, 1 << 18, 400_000),
                (900_000, 12_345, 500_000),
                (5, 0, 5),
            ] {
                let body = whole(&bodies, A, size);
                let span = BodySpan { id: A, size_bytes: size, start, length };
                let (mut crc, mut at) = (0, 0);
                while at < length {
                    let chunk = BodySpan { start: start + at, length: CHUNK_BYTES.min(length - at), ..span };
                    let mut sha256 = [0; 32];
                    bodies.digest_chunk(chunk, Some(&mut sha256), Some(&mut crc));
                    let bytes = &body[chunk.start as usize..][..chunk.length as usize];
                    assert_eq!(sha256, <[u8; 32]>::from(Sha256::digest(bytes)), "{unique:?} {chunk:?}");
                    at += chunk.length;
                }
                let bytes = &body[start as usize..][..length as usize];
                assert_eq!(crc, crc32c::crc32c(bytes), "{unique:?} {size} {start} {length}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn hash_pieces_and_matches_agree_with_the_whole(
            full in any::<bool>(),
            size in 0u64..3_000_000,
            announced in any::<bool>(),
            cut in 0.0f64..1.0,
            seq in 0u64..1 << 40,
        ) {
            let unique = if full { Unique::Full } else { Unique::Tail };
            let list = [size];
            let bodies = Bodies::new(11, unique, if announced { &list } else { &[] }, (!announced).then_some(size));
            let id = ObjectId { set: 2, seq };
            let body = whole(&bodies, id, size);
            prop_assert_eq!(bodies.sha256(BodySpan::whole(id, size)), <[u8; 32]>::from(Sha256::digest(&body)));
            let offset = (cut * size as f64) as u64;
            let mut piece = vec![0; (size - offset) as usize];
            bodies.fill(id, size, offset, &mut piece);
            prop_assert_eq!(&piece, &body[offset as usize..]);
            let rest = BodySpan { id, size_bytes: size, start: offset, length: size - offset };
            prop_assert_eq!(bodies.sha256(rest), <[u8; 32]>::from(Sha256::digest(&piece)));
            let from_pool = BodySpan { start: offset - offset % POOL_BYTES, length: (size - offset) / 2, ..rest };
            let bytes = &body[from_pool.start as usize..][..from_pool.length as usize];
            prop_assert_eq!(bodies.sha256(from_pool), <[u8; 32]>::from(Sha256::digest(bytes)));
            let resident = bodies.resident(size, offset, u64::MAX);
            prop_assert_eq!(resident, &body[offset as usize..][..resident.len()]);
            prop_assert!(bodies.matches(id, size, offset, &piece));
            prop_assert!(!bodies.matches(id, size, offset + 1, &body[offset as usize..]));
            if let Some(byte) = piece.last_mut() {
                *byte ^= 1;
                prop_assert!(!bodies.matches(id, size, offset, &piece));
            }
        }
    }
}
