//! Random numbers that follow from a seed, for Monte-Carlo: the same seed gives the same answer everywhere.

/// A stream of random numbers: Vigna's `SplitMix64`, of which no more is asked than evenness.
#[derive(Clone, Copy, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    /// The stream of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A number from 0 to `count` - 1, and 0 where `count` is 0. The bias is below `count` / 2^32.
    pub const fn below(&mut self, count: u32) -> u32 {
        // The upper half of a product of two 32-bit numbers fits.
        (((self.bits() >> 32) * count as u64) >> 32) as u32
    }
}

/// A number's bits, mixed: what is equal stays equal, and what is not looks random.
#[must_use]
pub const fn mixed(number: u64) -> u64 {
    let once = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the reference implementation (`splitmix64.c`, 2015) for the seed 1234567.
    #[test]
    fn the_stream_is_that_of_the_reference() {
        let mut rng = SeededRng::new(1_234_567);
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423_u64];
        assert_eq!(first.map(|_| rng.bits()), first);
    }

    #[test]
    fn numbers_below_a_bound_are_even() {
        for count in [1_u32, 2, 3, 7, 10] {
            let mut rng = SeededRng::new(5);
            let mut hits = vec![0_u32; count as usize];
            for _ in 0..10_000 * count {
                hits[rng.below(count) as usize] += 1;
            }
            assert!(hits.iter().all(|&hits| hits.abs_diff(10_000) < 500), "{count}: {hits:?}");
        }
    }
}
