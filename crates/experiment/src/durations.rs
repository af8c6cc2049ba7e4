//! How long cells and whole experiments take, and which times are too short to show anything.

use std::fmt;
use std::time::Duration;

use linerate_record::experiment::{Cell, Design};

use crate::design;

/// What a cell is expected to take beside its load.
const BETWEEN_NS: u64 = 400_000_000;

/// Least time to settle: what starting a load does to its throughput is not over before.
const SETTLE_MIN: Duration = Duration::from_millis(50);

/// Least time that is measured: four of the shortest intervals.
const MEASURE_MIN: Duration = Duration::from_millis(200);

/// How many times as long as others a cell at the end is that tells whether an effect lasts: by default, and at least.
const LASTING_TIMES: u32 = 10;
const LASTING_TIMES_MIN: u32 = 2;

/// Times that are too short.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TimeError {
    /// Too short to settle.
    #[error("--settle {0:?} is too short to begin with: give {SETTLE_MIN:?} or more")]
    Settle(Duration),
    /// Too short to measure anything.
    #[error("--measure {0:?} is too short to say anything: give {MEASURE_MIN:?} or more")]
    Measure(Duration),
    /// Too short to see what lasts.
    #[error(
        "--lasting {given:?} is too short to see what changes later: give {least:?} or more, twice --measure, or 0s"
    )]
    Lasting { given: Duration, least: Duration },
    /// Too short for as many blocks as can show anything.
    #[error(
        "{affordable}, and fewer than {least} can show nothing at alpha {alpha}: give {needed:?} or more, or a shorter \
         --settle or --measure"
    )]
    Budget {
        /// The blocks for which it is enough.
        affordable: AffordableBlocks,
        /// The fewest blocks that can show anything.
        least: u32,
        alpha: f64,
        /// How long those take.
        needed: Duration,
    },
}

/// Blocks for which a budget is enough, where these are fewer than those planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AffordableBlocks {
    pub blocks: u32,
    pub planned: u32,
    pub budget: Duration,
}

impl fmt::Display for AffordableBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AffordableBlocks { blocks, planned, budget } = self;
        write!(f, "--budget {budget:?} is enough for about {blocks} of the {planned} blocks of --blocks")
    }
}

/// The time of the cells that tell whether an effect lasts; no time at all where there are none.
///
/// # Errors
/// [`TimeError`] where one of the times is too short to show anything.
pub fn lasting(settle: Duration, measure: Duration, requested: Option<Duration>) -> Result<Duration, TimeError> {
    if settle < SETTLE_MIN {
        return Err(TimeError::Settle(settle));
    }
    if measure < MEASURE_MIN {
        return Err(TimeError::Measure(measure));
    }
    let (lasting, least) = (requested.unwrap_or(measure * LASTING_TIMES), measure * LASTING_TIMES_MIN);
    if !lasting.is_zero() && lasting < least {
        return Err(TimeError::Lasting { given: lasting, least });
    }
    Ok(lasting)
}

/// How long a cell is expected to take.
#[must_use]
pub const fn cell_ns(cell: &Cell) -> u64 {
    cell.settle_ns + cell.measure_ns + BETWEEN_NS
}

/// The longest that an experiment takes, but for changes and preparations.
#[must_use]
pub fn longest(design: &Design) -> Duration {
    let cells = u64::from(design.blocks_max) * design.arms.len() as u64;
    let all = cells.saturating_mul(design.settle_first_ns + design.measure_ns + BETWEEN_NS);
    Duration::from_nanos(design.time_max_ns.map_or(all, |most| most.min(all)))
}

/// For how many blocks the budget is enough, where these are fewer than those planned.
#[must_use]
pub fn affordable(design: &Design) -> Option<AffordableBlocks> {
    let whole = longest(&Design { time_max_ns: None, ..design.clone() });
    let budget = design.time_max_ns.map(Duration::from_nanos).filter(|budget| *budget < whole)?;
    let share = budget.as_secs_f64() / whole.as_secs_f64();
    let blocks = (share * f64::from(design.blocks_max)).floor() as u32;
    Some(AffordableBlocks { blocks, planned: design.blocks_max, budget })
}

/// Refuses a budget that is enough for fewer blocks than could show anything.
///
/// # Errors
/// [`TimeError::Budget`].
pub fn require_budget(design: &Design) -> Result<(), TimeError> {
    let least = design::fewest_blocks(design);
    let Some(affordable) = affordable(design).filter(|affordable| affordable.blocks < least) else { return Ok(()) };
    let whole = longest(&Design { time_max_ns: None, blocks_max: least, ..design.clone() });
    let needed = Duration::from_secs(whole.as_secs() + 1);
    Err(TimeError::Budget { affordable, least, alpha: design.alpha, needed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DesignRequest;
    use crate::design::tests::requested;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn times_that_can_show_nothing_are_refused_with_those_that_can() {
        let ms = Duration::from_millis;
        for (settle, measure, requested, expected) in [
            (ms(50), ms(200), None, Ok(ms(2_000))),
            (SECOND, SECOND, Some(Duration::ZERO), Ok(Duration::ZERO)),
            (SECOND, SECOND, Some(2 * SECOND), Ok(2 * SECOND)),
            (ms(49), SECOND, None, Err("--settle 49ms is too short to begin with: give 50ms or more")),
            (SECOND, ms(199), None, Err("--measure 199ms is too short to say anything: give 200ms or more")),
            (
                SECOND,
                SECOND,
                Some(ms(1_999)),
                Err("--lasting 1.999s is too short to see what changes later: give 2s or more, twice --measure, or 0s"),
            ),
        ] {
            let found = lasting(settle, measure, requested).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{settle:?} {measure:?} {requested:?}");
        }
    }

    #[test]
    fn a_budget_is_enough_for_as_many_blocks_as_it_is_a_share_of_all() {
        // Three arms in 20 blocks of cells of 5.6 s + 4 s + 0.4 s: 600 s, and 6 blocks at the least.
        let blocks_within = |budget_s: Option<u64>| {
            let time_max_ns = budget_s.map(|seconds| seconds * 1_000_000_000);
            let times = DesignRequest { settle_first_ns: 5_600_000_000, measure_ns: 4_000_000_000, ..requested() };
            design::design(&DesignRequest { time_max_ns, ..times }).unwrap()
        };
        for (budget_s, blocks, longest_s) in
            [(None, None, 600), (Some(600), None, 600), (Some(300), Some(10), 300), (Some(179), Some(5), 179)]
        {
            let design = blocks_within(budget_s);
            assert_eq!(affordable(&design).map(|affordable| affordable.blocks), blocks, "{budget_s:?}");
            assert_eq!(longest(&design), Duration::from_secs(longest_s), "{budget_s:?}");
        }
        assert_eq!(require_budget(&blocks_within(Some(180))), Ok(()));
        assert_eq!(
            require_budget(&blocks_within(Some(179))).unwrap_err().to_string(),
            "--budget 179s is enough for about 5 of the 20 blocks of --blocks, and fewer than 6 can show nothing at \
             alpha 0.05: give 181s or more, or a shorter --settle or --measure"
        );
    }
}
