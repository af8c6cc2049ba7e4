//! Random numbers that follow from a seed: the same seed gives the same orders, bodies and estimates on every machine.
//!
//! The generator is Vigna's `SplitMix64`. Nothing here resists a guess: keys and tokens come from elsewhere.

/// What the state grows by from draw to draw: 2^64 over the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers.
#[derive(Clone, Copy, Debug)]
pub struct SeededRng(u64);

impl SeededRng {
    /// The stream of a seed and of what it is for: streams of one seed must not resemble each other.
    #[must_use]
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self(mixed(seed ^ mixed(stream.wrapping_add(STEP))))
    }

    /// The stream whose state is the seed, as the reference implementation begins. Seeds that differ by a multiple of
    /// the step give one stream, shifted: use it for seeds that are mixed already, or for one stream only.
    #[must_use]
    pub const fn from_state(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    #[inline]
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mixed(self.0)
    }

    /// A number below `count`, and 0 where that is 0. The bias is below `count` / 2^32.
    #[inline]
    pub const fn below_u32(&mut self, count: u32) -> u32 {
        // The upper half of a product of two 32-bit numbers fits.
        (((self.bits() >> 32) * count as u64) >> 32) as u32
    }

    /// The same of a place in a list, which has fewer than 2^32.
    #[inline]
    pub const fn below(&mut self, count: usize) -> usize {
        self.below_u32(count as u32) as usize
    }

    /// A number from 0 up to 1, without 1.
    #[inline]
    pub const fn unit(&mut self) -> f64 {
        unit(self.bits())
    }
}

/// Draw `number`, from 0 on, of the stream whose state is the seed: nothing has to be kept from draw to draw.
#[inline]
#[must_use]
pub const fn nth_bits(seed: u64, number: u64) -> u64 {
    mixed(seed.wrapping_add(number.wrapping_mul(STEP)).wrapping_add(STEP))
}

/// The number from 0 up to 1, without 1, of 64 random bits: its 53 upper ones, which a float holds.
#[inline]
#[must_use]
pub const fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number's bits, mixed: what is equal stays equal, and what is not looks random.
#[inline]
#[must_use]
pub const fn mixed(number: u64) -> u64 {
    let once = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}

/// Puts items in an order of which every one is as probable (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], rng: &mut SeededRng) {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.below(last + 1));
    }
}

/// Bytes that do not compress. Each call gives the same.
#[must_use]
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut rng = SeededRng::from_state(STEP);
    let words = std::iter::repeat_with(|| rng.bits().to_le_bytes());
    let mut noise: Vec<u8> = words.take(bytes.div_ceil(8)).flatten().collect();
    noise.truncate(bytes);
    noise
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the reference implementation (`splitmix64.c`, 2015) for the seed 1234567.
    #[test]
    fn the_stream_is_that_of_the_reference() {
        let mut rng = SeededRng::from_state(1_234_567);
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423_u64];
        assert_eq!(first.map(|_| rng.bits()), first);
        assert_eq!([0, 1, 2].map(|number| nth_bits(1_234_567, number)), first);
    }

    /// Plans, orders and bodies of earlier versions follow from these: the draws of the generators that `analysis`,
    /// `model` and `wire` had of their own.
    #[test]
    fn draws_are_those_of_every_version() {
        let stream = || SeededRng::new(7, 3);
        let mut rng = stream();
        let bits = [7_250_273_413_821_410_515, 16_474_944_268_897_792_596, 627_910_309_507_936_648_u64];
        assert_eq!(bits.map(|_| rng.bits()), bits);
        rng = stream();
        assert_eq!([1000, 10, 3, 1, 0].map(|count| rng.below(count)), [393, 8, 0, 0, 0]);
        rng = stream();
        assert_eq!([(); 2].map(|()| rng.unit()), [0.393_038_109_318_953_33, 0.893_108_518_395_829_8]);
        let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
        shuffle(&mut order, &mut stream());
        assert_eq!(order, [4, 7, 5, 2, 1, 0, 6, 3]);

        rng = SeededRng::from_state(7);
        let bits = [7_191_089_600_892_374_487, 309_689_372_594_955_804, 16_616_101_746_815_609_346_u64];
        assert_eq!(bits.map(|_| rng.bits()), bits);
        rng = SeededRng::from_state(7);
        assert_eq!([1000, 10, 3, 1, 0].map(|count| rng.below_u32(count)), [389, 0, 2, 0, 0]);
        let bits = [0, 6_238_072_747_940_578_789, 1_346_066_267_577_507_604, 13_029_008_266_876_403_067];
        assert_eq!([0, 1, 7, u64::MAX].map(mixed), bits);

        for (seed, number, bits) in [
            (0, 0, 16_294_208_416_658_607_535),
            (7, 0, 7_191_089_600_892_374_487),
            (7, 1, 309_689_372_594_955_804),
            (7, u64::MAX, 1_346_066_267_577_507_604),
            (u64::MAX, 3, 7_862_637_804_313_477_842),
        ] {
            assert_eq!(nth_bits(seed, number), bits, "draw {number} of {seed}");
        }
    }

    #[test]
    fn numbers_below_a_bound_are_even() {
        for count in [1_u32, 2, 3, 7, 10] {
            let mut rng = SeededRng::from_state(5);
            let mut hits = vec![0_u32; count as usize];
            for _ in 0..10_000 * count {
                hits[rng.below_u32(count) as usize] += 1;
            }
            assert!(hits.iter().all(|&hits| hits.abs_diff(10_000) < 500), "{count}: {hits:?}");
        }
    }

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

    #[test]
    fn noise_is_as_long_as_it_is_to_be_and_has_every_byte_as_often() {
        for bytes in [0, 1, 7, 8, 9, 100_003] {
            assert_eq!(noise(bytes).len(), bytes);
        }
        let mut hits = [0_u32; 256];
        noise(1 << 20).iter().for_each(|&byte| hits[usize::from(byte)] += 1);
        // Some seven standard deviations of a binomial of 2^20 at 1/256.
        assert!(hits.iter().all(|&n| n.abs_diff(4096) < 450), "{hits:?}");
    }
}
