//! How long an arm takes to settle after a change, found in the intervals since then.

use linerate_analysis::steady;
use linerate_record::experiment::{Cell, CellOutcome, Design, MeasuredCell};

use crate::long_cells;

/// By how much longer than the first guess settling may come to be waited for.
const LONGER_MAX: u64 = 4;

/// Puts together what a cell measured: the mean of what lies behind the time left to settle.
pub(crate) fn measured(design: &Design, cell: &Cell, outcome: &CellOutcome) -> MeasuredCell {
    let left_out = outcome.interval_ns.max(1);
    let skip = usize::try_from(cell.settle_ns.div_ceil(left_out)).unwrap_or(usize::MAX);
    let rest = outcome.throughput_per_s.get(skip..).unwrap_or_default();
    let mean = rest.iter().sum::<f64>() / rest.len() as f64;
    let warm_up = steady::warm_up(&outcome.throughput_per_s);
    MeasuredCell {
        arm: cell.arm,
        started_ns: outcome.started_ns,
        ended_ns: outcome.ended_ns,
        settle_ns: cell.settle_ns,
        throughput_per_s: Some(mean).filter(|mean| mean.is_finite() && *mean > 0.0),
        settled_ns: warm_up.settled.then_some((warm_up.cut as u64).saturating_mul(outcome.interval_ns)),
        trend: trend(rest),
        later: (cell.measure_ns > design.measure_ns).then(|| long_cells::later(design, outcome, rest)).flatten(),
        faulty: false,
        secondary: outcome.secondary.clone(),
    }
}

/// Intervals of which halves are compared.
const TREND_MIN: usize = 4;

/// By how much the second half is above the first, as a logarithm.
fn trend(intervals: &[f64]) -> Option<f64> {
    let (first, second) = intervals.split_at(intervals.len() / 2);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    (intervals.len() >= TREND_MIN).then(|| (mean(second) / mean(first)).ln()).filter(|trend| trend.is_finite())
}

/// The time to leave in the next block: the longest that any arm took so far and an interval more, the same for all
/// arms, so that none is measured later than another. A cell that never settled took as long as is waited for at most.
/// The first guess before there is data.
pub(crate) fn settle_ns(design: &Design, settled_ns: impl Iterator<Item = Option<u64>>, interval_ns: u64) -> u64 {
    let most = LONGER_MAX.saturating_mul(design.settle_first_ns);
    let longest = settled_ns.map(|settled| settled.map_or(most, |settled| settled.saturating_add(interval_ns))).max();
    longest.map_or(design.settle_first_ns, |longest| longest.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{design, tests::requested};

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_ramp_is_left_out_and_its_length_learnt() {
        let throughput_per_s: Vec<f64> = (0..60).map(|i| if i < 4 { 50.0 } else { 100.0 + f64::from(i % 3) }).collect();
        let outcome =
            CellOutcome { interval_ns: SECOND, ended_ns: 60 * SECOND, throughput_per_s, ..CellOutcome::default() };
        let cell = Cell { block: 0, position: 0, arm: 1, settle_ns: 10 * SECOND, measure_ns: 50 * SECOND };
        let design = design(&requested()).unwrap();
        let cell = measured(&design, &cell, &outcome);
        assert!(cell.throughput_per_s.is_some_and(|mean| mean >= 100.0), "{cell:?}");
        assert!(cell.trend.is_some_and(|trend| trend.abs() < 0.01), "{cell:?}");
        let settled = cell.settled_ns.expect("it settles");
        assert!((4 * SECOND..=10 * SECOND).contains(&settled), "{settled}");
        assert_eq!(settle_ns(&design, [Some(settled), Some(0)].into_iter(), SECOND), settled + SECOND);
        assert_eq!(settle_ns(&design, [None, Some(0)].into_iter(), SECOND), LONGER_MAX * design.settle_first_ns);
        assert_eq!(settle_ns(&design, std::iter::empty(), SECOND), design.settle_first_ns);
    }

    #[test]
    fn nothing_behind_the_settling_is_nothing_measured() {
        let outcome = CellOutcome { interval_ns: SECOND, throughput_per_s: vec![1.0; 5], ..CellOutcome::default() };
        let cell = Cell { block: 0, position: 0, arm: 0, settle_ns: 5 * SECOND, measure_ns: SECOND };
        assert_eq!(measured(&design(&requested()).unwrap(), &cell, &outcome).throughput_per_s, None);
    }
}
