//! The size of an object: a function of the object, so that no table of them is kept.

use linerate_record::load::sizes::{SizeDistribution, Sizes, log_normal_at};
use linerate_record::rng::nth_bits;

use crate::object_id::ObjectId;

/// The size of one object: always the same for the same seed and object.
#[must_use]
pub fn size_of(sizes: &Sizes, seed: u64, id: ObjectId) -> u64 {
    match sizes.distribution() {
        SizeDistribution::Fixed(size) => *size,
        SizeDistribution::Uniform { min, max } => min + below(draw(seed, id), max - min + 1),
        SizeDistribution::LogNormal { median, sigma_e6 } => log_normal_at(*median, *sigma_e6, normal(draw(seed, id))),
        SizeDistribution::Weighted(buckets) => {
            let total = buckets.last().map_or(1, |b| b.1);
            let at = below(draw(seed, id), total);
            let chosen = buckets.partition_point(|&(_, sum)| sum <= at);
            buckets[chosen].0
        }
    }
}

/// A draw of its own per object; the constant keeps it apart from the draws that make bodies.
fn draw(seed: u64, id: ObjectId) -> u64 {
    nth_bits(seed ^ 0x5135_5A1E_D15B_0C4E, id.number())
}

/// A draw as a standard normal deviate (Box and Muller).
fn normal(draw: u64) -> f64 {
    // 53 bits are what a float holds; half of one keeps the logarithm finite.
    let unit = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let (radius, turn) = (unit(draw), unit(nth_bits(draw, 1)));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
}

/// A draw scaled to `0..n` (Lemire's multiplication; its bias is below 2⁻³¹ for every size there is).
fn below(draw: u64, n: u64) -> u64 {
    u64::try_from((u128::from(draw) * u128::from(n)) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use linerate_record::load::sizes::{PUT_BYTES_MAX, parse_list};

    use super::*;

    fn sizes_of(text: &str, n: u64) -> Vec<u64> {
        let sizes = &parse_list(text).unwrap()[0];
        (0..n).map(|seq| size_of(sizes, 42, ObjectId { set: 1, seq })).collect()
    }

    #[test]
    fn buckets_come_in_proportion_to_their_weights() {
        let drawn = sizes_of("4096:3,8192:1,1MiB:0", 40_000);
        let small = drawn.iter().filter(|&&s| s == 4096).count();
        assert!((29_500..30_500).contains(&small), "{small} of 40000");
        assert!(drawn.iter().all(|&s| s == 4096 || s == 8192));
    }

    #[test]
    fn random_sizes_cover_their_range_evenly_and_are_the_same_again() {
        let drawn = sizes_of("random:100-199", 50_000);
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&100), Some(&199)));
        let mean = drawn.iter().sum::<u64>() as f64 / 50_000.0;
        assert!((mean - 149.5).abs() < 0.6, "{mean}");
        assert_eq!(drawn, sizes_of("random:100-199", 50_000));
        assert_eq!(parse_list("4096:3,8192:1").unwrap()[0].mean(), 5120.0);
    }

    #[test]
    fn log_normal_sizes_have_the_quantiles_and_the_mean_of_their_distribution() {
        const N: u64 = 100_000;
        let mut drawn = sizes_of("lognormal:256KiB/1.5", N);
        assert_eq!(drawn, sizes_of("lognormal:256KiB/1.5", N), "the same again");
        let sizes = &parse_list("lognormal:256KiB/1.5").unwrap()[0];
        let (sum, below) = (drawn.iter().sum::<u64>() as f64, drawn.iter().filter(|&&s| s < sizes.usual_max()).count());
        drawn.sort_unstable();
        // Standard deviations of the logarithm at quantiles, after a table of the normal distribution.
        for (quantile, deviations) in
            [(0.01, -2.326), (0.1587, -1.0), (0.5, 0.0), (0.8413, 1.0), (0.99, 2.326), (0.999, 3.090)]
        {
            let expected = f64::ln(f64::from(256 << 10)) + 1.5 * deviations;
            let got = (drawn[(quantile * N as f64) as usize] as f64).ln();
            // Four standard errors of a quantile: √(p (1 − p) / n) over the density there.
            let density = (-deviations * deviations / 2.0_f64).exp() / std::f64::consts::TAU.sqrt() / 1.5;
            let error = (quantile * (1.0 - quantile) / N as f64).sqrt() / density;
            assert!((got - expected).abs() < 4.0 * error, "{quantile}: {got} is not {expected} ± {error}");
        }
        let closed = f64::from(256 << 10) * (1.5_f64 * 1.5 / 2.0).exp();
        assert!((sizes.mean() / closed - 1.0).abs() < 1e-3, "{} is not {closed}", sizes.mean());
        assert!((sum / N as f64 / closed - 1.0).abs() < 0.05, "{} is not {closed}", sum / N as f64);
        assert!((99_850..99_950).contains(&below), "{below} of 100000 are usual");
    }

    #[test]
    fn log_normal_sizes_are_cut_at_one_byte_and_one_put() {
        let small = sizes_of("lognormal:2/3", 10_000);
        assert!(small.contains(&1) && !small.contains(&0));
        let large = sizes_of("lognormal:5GiB/3", 1_000);
        assert_eq!(large.iter().max(), Some(&PUT_BYTES_MAX));
        let mean = parse_list("lognormal:5GiB/3").unwrap()[0].mean();
        assert!(mean < PUT_BYTES_MAX as f64 && mean > 0.5 * PUT_BYTES_MAX as f64, "{mean}");
    }
}
