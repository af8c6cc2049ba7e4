//! How often may be looked, and what each look may spend of the error that is allowed.
//!
//! The spending function of Lan and DeMets (Biometrika 70, 1983) of the type of O'Brien and Fleming (Biometrics 35,
//! 1979), for one side at `alpha` / 2: 2 − 2·Φ(z / √t), where t is the share of the blocks and z the quantile of
//! 1 − `alpha` / 4. Early looks are allowed next to nothing, so that the last may spend nearly all.

/// Shares of the blocks after which is looked. Before half of them next to nothing may be spent, and the fewer blocks
/// there are the fewer rearrangements: looking there would show nothing.
const SHARES: [f64; 7] = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Blocks after which is looked.
#[must_use]
pub fn schedule(blocks_max: u32) -> Vec<u32> {
    let mut looks: Vec<u32> = SHARES.iter().map(|share| (share * f64::from(blocks_max)).ceil() as u32).collect();
    looks.dedup();
    looks
}

/// What one side may have spent once `share` of the blocks are in, of `alpha` over both.
#[must_use]
pub fn spent_one_sided(share: f64, alpha: f64) -> f64 {
    if share >= 1.0 {
        return alpha / 2.0;
    }
    if share <= 0.0 {
        return 0.0;
    }
    let z = normal_quantile(1.0 - alpha / 4.0);
    2.0 * normal_tail(z / share.sqrt())
}

/// The share of the normal distribution above `z`: Marsaglia's series (J. Statist. Softw. 11(4), 2004) near the middle,
/// Laplace's continued fraction in the tail. A look asks for thousands, where Student's t would be slow.
#[must_use]
pub fn normal_tail(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z.abs() < 5.0 {
        let (mut term, mut sum, mut odd) = (z, z, 1.0);
        while term.abs() > 1e-17 * sum.abs() {
            odd += 2.0;
            term *= z * z / odd;
            sum += term;
        }
        return 0.5 - density * sum;
    }
    let beyond = density / (1..=60).rev().fold(z.abs(), |rest, k| z.abs() + f64::from(k) / rest);
    if z > 0.0 { beyond } else { 1.0 - beyond }
}

/// The value below which the normal distribution lies with probability `p`, for `0 < p < 1`.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    // Sixty halvings leave less than a double can tell apart.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal_tail(middle) > 1.0 - p { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spending_is_that_of_the_tables() {
        // One side at 0.025: 2 − 2·Φ(2.2414 / √t), from tables of the normal distribution.
        for (share, one_side) in [(0.2, 5.38e-7), (0.25, 7.35e-6), (0.5, 0.001_525), (0.75, 0.009_65), (1.0, 0.025)] {
            let got = spent_one_sided(share, 0.05);
            assert!((got / one_side - 1.0).abs() < 0.02, "{share}: {got} against {one_side}");
        }
    }

    #[test]
    fn the_normal_distribution_is_that_of_the_tables() {
        for (z, tail) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457),
            (-1.96, 0.975_002_104_851_780),
            (3.0, 1.349_898_031_630_095e-3),
            (4.999, 2.881_420_141_464e-7),
            (5.0, 2.866_515_718_791_939e-7),
            (8.0, 6.220_960_574_271_785e-16),
        ] {
            let got = normal_tail(z);
            assert!((got / tail - 1.0).abs() < 1e-6, "{z}: {got} against {tail}");
        }
        for p in [0.025, 0.5, 0.8, 0.9875, 0.9999] {
            assert!((1.0 - normal_tail(normal_quantile(p)) - p).abs() < 1e-12, "{p}");
        }
    }

    #[test]
    fn spending_rises_to_the_whole_and_looks_end_with_the_last_block() {
        for alpha in [0.05, 0.01, 0.001] {
            let spent: Vec<f64> = (0..=20).map(|i| spent_one_sided(f64::from(i) / 20.0, alpha)).collect();
            assert!(spent.is_sorted() && spent[0] == 0.0 && spent[20] == alpha / 2.0, "{alpha}: {spent:?}");
            assert!((spent[19] / spent[20]) > 0.7 && spent[10] < 0.11 * spent[20], "{alpha}: {spent:?}");
        }
        for blocks in 1..200 {
            let looks = schedule(blocks);
            assert!(looks.is_sorted_by(|a, b| a < b) && looks.last() == Some(&blocks), "{blocks}: {looks:?}");
        }
    }
}
