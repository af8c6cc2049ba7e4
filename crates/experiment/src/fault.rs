//! Which load is none: so many of its requests failed that what it measured is something else.

use linerate_analysis::view::{Point, too_many_failed};
use linerate_record::experiment::CellOutcome;

/// Why a cell's point spoils its block, where what failed was no load; `None` where it does not.
#[must_use]
pub fn of_point(point: &Point) -> Option<String> {
    let (failed, all) = (point.error_count(), point.error_count() + point.requests);
    let kinds = || point.errors.iter().map(|(kind, n)| format!("{n} × {kind}")).collect::<Vec<_>>().join(", ");
    too_many_failed(failed, all).then(|| format!("{failed} of {all} requests failed: {}", kinds()))
}

/// Cells of an arm in a row without a figure, after which the arm is given up.
const FAILED_IN_A_ROW_MAX: u32 = 3;

/// Cells in a row without a figure of each arm.
#[derive(Clone, Debug)]
pub struct FailedInARow(Vec<u32>);

impl FailedInARow {
    /// None yet, of so many arms.
    #[must_use]
    pub fn none(arms: usize) -> FailedInARow {
        FailedInARow(vec![0; arms])
    }

    /// Counts a cell, and gives how many failed in a row where that is too many.
    pub fn count(&mut self, arm: usize, outcome: &CellOutcome) -> Option<u32> {
        let failed = &mut self.0[arm];
        *failed = if outcome.throughput_per_s.is_empty() { *failed + 1 } else { 0 };
        (*failed >= FAILED_IN_A_ROW_MAX).then_some(*failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_in_a_hundred_that_fails_spoils_a_cell() {
        for (failed, all, expected) in
            [(0, 0, false), (0, 1000, false), (9, 1000, false), (10, 1000, true), (1, 1, true), (1, 101, false)]
        {
            assert_eq!(too_many_failed(failed, all), expected, "{failed} of {all}");
        }
    }

    #[test]
    fn an_arm_that_fails_three_times_in_a_row_is_given_up() {
        let (failed, measured) =
            (CellOutcome::default(), CellOutcome { throughput_per_s: vec![1.0], ..CellOutcome::default() });
        let mut row = FailedInARow::none(2);
        assert_eq!([&failed, &failed, &measured, &failed].map(|cell| row.count(0, cell)), [None; 4]);
        assert_eq!([row.count(1, &failed), row.count(1, &failed)], [None; 2]);
        assert_eq!([row.count(0, &failed), row.count(0, &failed)], [None, Some(3)]);
    }
}
