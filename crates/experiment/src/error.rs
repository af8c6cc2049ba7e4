//! Which load is none: so many of its requests failed that what it measured is something else.

use linerate_analysis::view::{Point, Unended, View, too_many_failed};
use linerate_record::experiment::CellOutcome;
use linerate_record::finding::{Finding, FindingKind, Severity};
use linerate_record::units::{bytes_per_s_iec, grouped};

/// Why a cell's point excludes its block, where what failed was no load; `None` where it does not.
#[must_use]
pub fn of_point(point: &Point) -> Option<String> {
    if !point.has_ended_requests() {
        return Some(format!("no request ended in {} ms", point.measured_ms));
    }
    if point.too_few_ended {
        return Some(format!("fewer requests ended in {} ms than were in flight", point.measured_ms));
    }
    if let Some(why) = point.unended.as_ref().and_then(|unended| of_unended(unended, point.bytes_per_s.mean)) {
        return Some(why);
    }
    let (failed, all) = (point.error_count(), point.error_count() + point.requests);
    let kinds =
        || point.errors.iter().map(|(kind, n)| format!("{} × {kind}", grouped(*n))).collect::<Vec<_>>().join(", ");
    too_many_failed(failed, all)
        .then(|| format!("{} of {} requests failed: {}", grouped(failed), grouped(all), kinds()))
}

/// The same of requests that did not end, where throughput without their bytes is not known well enough.
fn of_unended(unended: &Unended, without_bytes_per_s: f64) -> Option<String> {
    let [without, with] = [without_bytes_per_s, unended.bytes_per_s].map(bytes_per_s_iec);
    let requests = grouped(unended.requests);
    unended.is_wide.then(|| {
        format!("{requests} of the requests in flight did not end: throughput is between {without} and {with}")
    })
}

/// Why a cell's run excludes its block, where the target does not show what it confirmed, or that could not be looked
/// at; `None` where it does not.
#[must_use]
pub fn of_view(view: &View) -> Option<String> {
    of_findings(&view.findings)
}

fn of_findings(all: &[Finding]) -> Option<String> {
    let severe = all.iter().find(|f| f.kind == FindingKind::NotStored && f.severity == Severity::Critical);
    severe.map(|found| format!("{}: {}", found.claim, found.evidence))
}

/// Why the block in which an experiment was interrupted does not count.
pub const INTERRUPTED: &str = "the experiment was interrupted within this block";

/// The outcome of a cell whose load failed, with what that said last.
#[must_use]
pub fn failed_load(said: &str) -> CellOutcome {
    CellOutcome { fault: Some(format!("the load failed: {said}")), ..CellOutcome::default() }
}

/// The outcome of a cell whose arm did not come to be in place on all nodes of a fleet, and why.
#[must_use]
pub fn arm_not_in_place(why: &str) -> CellOutcome {
    CellOutcome { fault: Some(format!("the arm was not in place on all nodes: {why}")), ..CellOutcome::default() }
}

/// Cells of an arm in a row without a figure, after which the arm is given up.
const FAILED_IN_A_ROW_MAX: u32 = 3;

/// An arm that is given up, and with it the experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{arm}: the load failed {times} times in a row: {why}")]
pub struct ArmGivenUp {
    /// Name of the arm.
    pub arm: String,
    /// Cells in a row without a figure.
    pub times: u32,
    /// What was wrong with the last.
    pub why: String,
    /// Whether each was left without an answer by other load on this machine.
    pub is_disturbed: bool,
}

/// Cells in a row without a figure of each arm.
#[derive(Clone, Debug)]
pub struct ConsecutiveFailures(Vec<FailedCells>);

#[derive(Clone, Copy, Debug, Default)]
struct FailedCells {
    all: u32,
    /// Those of them that other load on this machine left without an answer.
    disturbed: u32,
}

impl ConsecutiveFailures {
    /// None yet, of so many arms.
    #[must_use]
    pub fn none(arms: usize) -> ConsecutiveFailures {
        ConsecutiveFailures(vec![FailedCells::default(); arms])
    }

    /// Counts a cell of an arm of this name, which is given up where too many failed in a row. `is_disturbed` says
    /// whether other load on this machine left the cell without an answer.
    pub fn count(&mut self, arm: usize, name: &str, outcome: &CellOutcome, is_disturbed: bool) -> Option<ArmGivenUp> {
        let failed = &mut self.0[arm];
        *failed = match outcome.throughput_per_s.is_empty() {
            true => FailedCells { all: failed.all + 1, disturbed: failed.disturbed + u32::from(is_disturbed) },
            false => FailedCells::default(),
        };
        (failed.all >= FAILED_IN_A_ROW_MAX).then(|| ArmGivenUp {
            arm: name.to_owned(),
            times: failed.all,
            why: outcome.fault.clone().unwrap_or_default(),
            is_disturbed: failed.disturbed == failed.all,
        })
    }
}

#[cfg(test)]
mod tests {
    use linerate_analysis::findings::{not_checked, not_headed, not_stored};

    use super::*;

    #[test]
    fn one_request_in_a_hundred_that_fails_excludes_a_block() {
        for (failed, all, expected) in
            [(0, 0, false), (0, 1000, false), (9, 1000, false), (10, 1000, true), (1, 1, true), (1, 101, false)]
        {
            assert_eq!(too_many_failed(failed, all), expected, "{failed} of {all}");
        }
    }

    #[test]
    fn requests_that_did_not_end_exclude_a_block_where_they_leave_throughput_open() {
        let mib = f64::from(1 << 20);
        let unended = |is_wide| Unended { requests: 3, moved_bytes: 90 << 20, bytes_per_s: 200.0 * mib, is_wide };
        let expected = "3 of the requests in flight did not end: throughput is between 140 MiB/s and 200 MiB/s";
        assert_eq!(of_unended(&unended(true), 140.0 * mib).as_deref(), Some(expected));
        assert_eq!(of_unended(&unended(false), 199.0 * mib), None);
    }

    #[test]
    fn a_target_that_does_not_show_what_it_confirmed_excludes_a_block() {
        let missing = "the target does not show what it confirmed: 3 of 9";
        let unknown = "it is not known whether the target did what it confirmed: timeout";
        assert_eq!(of_findings(&[not_headed("forbidden"), not_stored("3 of 9".into())]).as_deref(), Some(missing));
        assert_eq!(of_findings(&[not_checked("timeout", false)]).as_deref(), Some(unknown));
        let of_another_kind = Finding { kind: FindingKind::ClientBound, ..not_stored(String::new()) };
        assert_eq!(of_findings(&[not_headed("forbidden"), of_another_kind]), None);
    }

    #[test]
    fn an_arm_that_fails_three_times_in_a_row_is_given_up() {
        let failed = failed_load("it was refused");
        let measured = CellOutcome { throughput_per_s: vec![1.0], ..CellOutcome::default() };
        let mut row = ConsecutiveFailures::none(2);
        let mut given_up =
            |arm: usize, cell| row.count(arm, "larger", cell, false).map(|given_up| given_up.to_string());
        assert_eq!([&failed, &failed, &measured, &failed].map(|cell| given_up(0, cell)), [None, None, None, None]);
        assert_eq!([given_up(1, &failed), given_up(1, &failed)], [None, None]);
        let why = "larger: the load failed 3 times in a row: the load failed: it was refused".to_owned();
        assert_eq!([given_up(0, &failed), given_up(0, &failed)], [None, Some(why)]);

        let is_disturbed = |cells: [bool; 3]| {
            let mut row = ConsecutiveFailures::none(1);
            let given_up = cells.map(|is_disturbed| row.count(0, "larger", &failed, is_disturbed));
            given_up[2].as_ref().map(|given_up| given_up.is_disturbed)
        };
        assert_eq!([is_disturbed([true; 3]), is_disturbed([true, true, false])], [Some(true), Some(false)]);
    }
}
