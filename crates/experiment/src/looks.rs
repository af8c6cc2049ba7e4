//! How often may be looked, and what each look may spend of the error that is allowed.
//!
//! The spending function of Lan and DeMets (Biometrika 70, 1983) of the type of O'Brien and Fleming (Biometrics 35,
//! 1979), for one side at `alpha` / 2: 2 − 2·Φ(z / √t), where t is the share of the blocks and z the quantile of
//! 1 − `alpha` / 4. Early looks are allowed next to nothing, so that the last may spend nearly all.

use linerate_analysis::student;

/// Shares of the blocks after which is looked. Before half of them next to nothing may be spent, and the fewer blocks
/// there are the fewer rearrangements: looking there would show nothing.
const SHARES: [f64; 7] = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Degrees of freedom at which Student's t is the normal distribution as far as it matters here.
const NORMAL_DF: f64 = 1e7;

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

/// The share of the normal distribution above `z`.
#[must_use]
pub fn normal_tail(z: f64) -> f64 {
    student::cdf(-z, NORMAL_DF)
}

/// The value below which the normal distribution lies with probability `p`.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    student::quantile(p, NORMAL_DF)
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
