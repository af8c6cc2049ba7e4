//! Random bits that follow from a seed: the same seed gives the same order and the same draws everywhere.

/// A stream of random bits: Vigna's `SplitMix64`, of which no more is asked than evenness.
#[derive(Clone, Copy, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    /// The stream of a seed and of what it is for: streams of one seed must not resemble each other.
    #[must_use]
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self(mixed(seed ^ mixed(stream.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A number below `count`, and 0 where that is 0. The bias is below `count` / 2^32.
    pub const fn below(&mut self, count: usize) -> usize {
        // The upper half of a product of two 32-bit numbers fits.
        (((self.bits() >> 32) * count as u64) >> 32) as usize
    }

    /// A number from 0 up to 1, without 1.
    pub const fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Puts items in an order of which every one is as probable (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], rng: &mut SeededRng) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.below(last + 1));
    }
}

/// A number's bits, mixed.
const fn mixed(number: u64) -> u64 {
    let once = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_three_is_as_probable() {
        let mut rng = SeededRng::new(1, 2);
        let mut hits = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            let mut items = [0, 1, 2];
            shuffle(&mut items, &mut rng);
            *hits.entry(items).or_insert(0_u32) += 1;
        }
        // Five standard deviations of a binomial of 60,000 at 1/6.
        assert!(hits.len() == 6 && hits.values().all(|&n| n.abs_diff(10_000) < 460), "{hits:?}");
    }

    #[test]
    fn streams_of_one_seed_differ() {
        let firsts: std::collections::BTreeSet<u64> =
            (0..1000).flat_map(|seed| (0..10).map(move |stream| SeededRng::new(seed, stream).bits())).collect();
        assert_eq!(firsts.len(), 10_000);
    }
}
