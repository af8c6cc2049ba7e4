//! What is fixed before the first measurement: arms, blocks, looks, and how many blocks an effect takes.

use linerate_analysis::student;
use linerate_record::experiment::{Arm, Design, EXPERIMENT_SCHEMA, Role};

use crate::alpha_spending;
use linerate_record::rng::{SeededRng, shuffle};

/// Probability with which an effect told as detectable is shown.
pub const POWER: f64 = 0.8;

/// Rearrangements that still cross at the whole level: with fewer, the draw itself would cost power.
const CROSSING_MIN: f64 = 200.0;

/// Most rearrangements that are drawn: a level of one in a thousand still crosses with a hundred a side.
pub(crate) const DRAWS_MAX: f64 = 200_000.0;

/// Most blocks that are planned or told as needed.
const BLOCKS_MAX: u32 = 1_000_000;

/// A design that cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DesignError {
    /// There is nothing to compare.
    #[error("no arm but the baseline: name at least one to compare with it")]
    NoTrial,
    /// Two arms of one name.
    #[error("two arms are called {0:?}: give each a unique name")]
    SameName(String),
    /// A number out of its range.
    #[error("invalid {what} {value}: write {fix}")]
    Number {
        what: &'static str,
        value: f64,
        /// What would be right.
        fix: &'static str,
    },
    /// Too few blocks to ever reject anything.
    #[error("{blocks} blocks can show nothing at alpha {alpha}: plan at least {least}")]
    TooFewBlocks {
        blocks: u32,
        alpha: f64,
        /// The fewest of which all of one sign would be shown.
        least: u32,
    },
}

/// What is asked of an experiment. [`design`] adds what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignRequest {
    /// Name of the baseline.
    pub baseline: String,
    /// Names of the arms under test.
    pub trials: Vec<String>,
    /// Whether the baseline runs a second time in each block, under another name.
    pub same: bool,
    /// Of the order of arms and of the draws.
    pub seed: u64,
    /// How often an arm without an effect may be called one that has.
    pub alpha: f64,
    /// The least effect that matters, as a share.
    pub matters_share: f64,
    pub blocks_max: u32,
    /// Longest time, in nanoseconds.
    pub time_max_ns: Option<u64>,
    /// Time to settle until the data says better, in nanoseconds.
    pub settle_first_ns: u64,
    /// Time measured of each arm in a block, in nanoseconds.
    pub measure_ns: u64,
    /// The same of the cells at the end that tell whether an effect lasts; 0 for none.
    pub lasting_ns: u64,
    /// What the link carries, in bytes per second.
    pub link_bytes_per_s: Option<f64>,
    /// Keys of fingerprints in which the arms are meant to differ.
    pub factors: Vec<String>,
}

/// What is asked where nothing else is said: the baseline runs twice in each block, 2 % matters, and 24 blocks show
/// that where differences spread by 3 %.
#[must_use]
pub fn requested(baseline: &str, trials: Vec<String>, seed: u64) -> DesignRequest {
    DesignRequest {
        baseline: baseline.to_owned(),
        trials,
        same: true,
        seed,
        alpha: 0.05,
        matters_share: 0.02,
        blocks_max: 24,
        time_max_ns: None,
        settle_first_ns: 5_000_000_000,
        measure_ns: 10_000_000_000,
        lasting_ns: 0,
        link_bytes_per_s: None,
        factors: Vec::new(),
    }
}

/// Plans an experiment.
///
/// # Errors
/// [`DesignError`] where it could show nothing, or its arms cannot be told apart.
pub fn design(requested: &DesignRequest) -> Result<Design, DesignError> {
    let number = |what, value: f64, low: f64, high: f64, fix| {
        let inside = value > low && value < high;
        if inside { Ok(()) } else { Err(DesignError::Number { what, value, fix }) }
    };
    number("alpha", requested.alpha, 0.0, 0.5, "a level above 0 and below 0.5, such as 0.05")?;
    number("effect that matters", requested.matters_share, 0.0, 1.0, "a share above 0 and below 1, such as 2%")?;
    number("time to measure", requested.measure_ns as f64, 0.0, f64::MAX, "more than 0 ns")?;
    if requested.trials.is_empty() {
        return Err(DesignError::NoTrial);
    }
    let least = least_blocks(requested.alpha / requested.trials.len() as f64);
    if requested.blocks_max < least || requested.blocks_max > BLOCKS_MAX {
        return Err(DesignError::TooFewBlocks { blocks: requested.blocks_max, alpha: requested.alpha, least });
    }
    let arm = |name: &str, role| Arm { name: name.to_owned(), role };
    let mut arms = vec![arm(&requested.baseline, Role::Baseline)];
    arms.extend(requested.same.then(|| arm(&format!("{} again", requested.baseline), Role::Same)));
    arms.extend(requested.trials.iter().map(|name| arm(name, Role::Trial)));
    let twice = arms.iter().enumerate().find(|(i, arm)| arms[..*i].iter().any(|other| other.name == arm.name));
    if let Some((_, arm)) = twice {
        return Err(DesignError::SameName(arm.name.clone()));
    }
    let draws = draws(requested.alpha / requested.trials.len() as f64);
    Ok(Design {
        schema: EXPERIMENT_SCHEMA,
        arms,
        seed: requested.seed,
        alpha: requested.alpha,
        matters_share: requested.matters_share,
        blocks_max: requested.blocks_max,
        time_max_ns: requested.time_max_ns,
        looks: alpha_spending::schedule(requested.blocks_max),
        draws,
        settle_first_ns: requested.settle_first_ns,
        measure_ns: requested.measure_ns,
        lasting_ns: requested.lasting_ns,
        link_bytes_per_s: requested.link_bytes_per_s,
        factors: requested.factors.clone(),
    })
}

/// Rearrangements to draw at a level.
#[must_use]
pub fn draws(alpha: f64) -> u32 {
    (CROSSING_MIN / alpha).ceil().min(DRAWS_MAX) as u32
}

/// The fewest blocks of which differences of one sign are shown: 2^-n is at most `alpha` / 2.
#[must_use]
pub fn least_blocks(alpha: f64) -> u32 {
    (1.0 - alpha.log2()).ceil() as u32
}

/// The fewest blocks of a design in which an arm can be shown to differ.
#[must_use]
pub fn fewest_blocks(design: &Design) -> u32 {
    let trials = design.arms.iter().filter(|arm| arm.role == Role::Trial).count().max(1);
    least_blocks(design.alpha / trials as f64)
}

/// The arms of a block, in the order in which they run.
#[must_use]
pub fn order(arms: &[u32], seed: u64, block: u32) -> Vec<u32> {
    let mut order = arms.to_vec();
    // Streams of blocks are the upper half, those of tests the lower.
    shuffle(&mut order, &mut SeededRng::new(seed, 1 << 40 | u64::from(block)));
    order
}

/// The least effect, as a logarithm, that is shown with [`POWER`] where a mean has the standard error `error` at `df`
/// degrees of freedom. For the t test; that of the randomisation comes to the same for all but a few blocks.
#[must_use]
pub fn detectable(error: f64, df: f64, alpha: f64) -> f64 {
    (student::quantile(1.0 - alpha / 2.0, df) + student::quantile(POWER, df)) * error
}

/// How many differences of the standard deviation `sd` show `effect`; both are logarithms.
#[must_use]
pub fn needed(effect: f64, sd: f64, alpha: f64) -> u32 {
    let enough = |n: u32| n > 1 && detectable(sd / f64::from(n).sqrt(), f64::from(n - 1), alpha) <= effect;
    let least = least_blocks(alpha).max(2);
    let (mut low, mut high) = (least, least);
    while !enough(high) && high < BLOCKS_MAX {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle }
    }
    if enough(low) { low } else { high }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn requested() -> DesignRequest {
        DesignRequest { blocks_max: 20, ..super::requested("default", vec!["larger".to_owned()], 7) }
    }

    #[test]
    fn every_order_of_a_block_is_as_probable_and_follows_from_the_seed() {
        let mut hits = std::collections::BTreeMap::new();
        for block in 0..6000 {
            assert_eq!(order(&[0, 1, 2], 3, block), order(&[0, 1, 2], 3, block));
            *hits.entry(order(&[0, 1, 2], 3, block)).or_insert(0_u32) += 1;
        }
        assert!(hits.len() == 6 && hits.values().all(|&n| n.abs_diff(1000) < 150), "{hits:?}");
    }

    #[test]
    fn what_an_effect_takes_is_what_makes_it_detectable() {
        for (effect, sd, n) in [(0.0198, 0.03, 21), (0.05, 0.03, 6), (0.01, 0.03, 73)] {
            assert_eq!(needed(effect, sd, 0.05), n, "{effect} at {sd}");
        }
    }

    #[test]
    fn a_design_that_could_show_nothing_is_refused() {
        let designed_with = |change: fn(&mut DesignRequest)| {
            let mut requested = requested();
            change(&mut requested);
            design(&requested).unwrap_err().to_string()
        };
        for (reported, expected) in [
            (designed_with(|a| a.trials.clear()), "no arm but the baseline"),
            (designed_with(|a| a.trials = vec!["default".to_owned()]), "two arms are called \"default\""),
            (designed_with(|a| a.alpha = 0.7), "invalid alpha 0.7"),
            (designed_with(|a| a.matters_share = 0.0), "invalid effect that matters 0"),
            (designed_with(|a| a.blocks_max = 5), "5 blocks can show nothing at alpha 0.05: plan at least 6"),
        ] {
            assert!(reported.contains(expected), "{reported}");
        }
        assert_eq!(design(&requested()).unwrap().arms.len(), 3);
    }
}
