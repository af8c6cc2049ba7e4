//! Object bodies: cheap to send, unique per object, and made again at will for verification.
//!
//! A body repeats one pool of random bytes. With [`Unique::Tail`] its last 16 bytes are its own, so that no two objects
//! are equal while the SHA-256 of everything before is a midstate, computed once per size. With [`Unique::Full`]
//! every 4 KiB block is XORed with a word of its own, so that nothing can be deduplicated, at the cost of a pass over
//! the body (two when it is signed).

use sha2::{Digest, Sha256};

use crate::object::{ObjectId, mix};

/// Length of the random pool. Bodies repeat with this period. It stays in a processor's second-level cache while it is
/// sent over and over: from 64 MiB, which do not, sending costs half as much again.
pub const POOL_BYTES: usize = 256 << 10;

/// Bytes at the end of a body that are its own.
const TAIL_BYTES: u64 = 16;

/// Length of a block that gets a word of its own with [`Unique::Full`].
const BLOCK_BYTES: u64 = 4096;

/// Distance of SHA-256 midstates along the pool for sizes that were not announced.
const MIDSTATE_STEP_BYTES: u64 = 64 << 10;

/// Most midstates kept: 112 bytes each.
const MIDSTATES_MAX: u64 = 16_384;

/// How bodies differ from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unique {
    /// In their last 16 bytes.
    Tail,
    /// In every 4 KiB block.
    Full,
}

/// The bodies of a run.
pub struct Bodies {
    seed: u64,
    unique: Unique,
    pool: Vec<u8>,
    /// Hashers that have taken the first so many bytes of a body, by rising length.
    midstates: Vec<(u64, Sha256)>,
}

impl Bodies {
    /// Makes the pool, and midstates for the sizes announced and, where others may come, for those up to `others_max`.
    #[must_use]
    pub fn new(seed: u64, unique: Unique, announced_bytes: &[u64], others_max: Option<u64>) -> Self {
        let mut pool = vec![0; POOL_BYTES];
        for (i, word) in pool.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&mix(seed, i as u64 ^ 0xB0D1_0000_0000_0000).to_le_bytes());
        }
        let mut bodies = Bodies { seed, unique, pool, midstates: Vec::new() };
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
        let start = (offset % POOL_BYTES as u64) as usize;
        let length = most.min((POOL_BYTES - start) as u64) as usize;
        &self.pool[start..start + length]
    }

    fn tail(&self, id: ObjectId) -> [u8; TAIL_BYTES as usize] {
        let mut tail = [0; TAIL_BYTES as usize];
        tail[..8].copy_from_slice(&mix(self.seed ^ 0x7A11, id.number()).to_le_bytes());
        tail[8..].copy_from_slice(&id.number().to_le_bytes());
        tail
    }

    /// SHA-256 of a body. With [`Unique::Tail`] and a size announced: three compressions.
    #[must_use]
    pub fn sha256(&self, id: ObjectId, size_bytes: u64) -> [u8; 32] {
        let prefix = if self.unique == Unique::Tail { size_bytes.saturating_sub(TAIL_BYTES) } else { 0 };
        let nearest = self.midstates.partition_point(|&(length, _)| length <= prefix);
        let (mut offset, mut hasher) = match nearest.checked_sub(1).map(|i| &self.midstates[i]) {
            Some((length, hasher)) => (*length, hasher.clone()),
            None => (0, Sha256::new()),
        };
        let mut block = [0; BLOCK_BYTES as usize];
        while offset < size_bytes {
            let most = (size_bytes - offset).min(BLOCK_BYTES) as usize;
            self.fill(id, size_bytes, offset, &mut block[..most]);
            hasher.update(&block[..most]);
            offset += most as u64;
        }
        hasher.finalize().into()
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
            let word = mix(self.seed ^ id.number().rotate_left(17), block).to_le_bytes();
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
        let size = POOL_BYTES as u64 * 2 + 4096;
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
        for byte in whole(&bodies, A, POOL_BYTES as u64) {
            seen[usize::from(byte)] += 1;
        }
        let expected = POOL_BYTES as f64 / 256.0;
        let chi2: f64 = seen.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        assert!((150.0..400.0).contains(&chi2), "255 degrees of freedom: {chi2}");
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
            prop_assert_eq!(bodies.sha256(id, size), <[u8; 32]>::from(Sha256::digest(&body)));
            let offset = (cut * size as f64) as u64;
            let mut piece = vec![0; (size - offset) as usize];
            bodies.fill(id, size, offset, &mut piece);
            prop_assert_eq!(&piece, &body[offset as usize..]);
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
