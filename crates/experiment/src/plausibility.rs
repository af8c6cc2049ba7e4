//! Whether a folder's experiment can have been planned, and its cells measured: nothing else is summed and subtracted.

use linerate_record::experiment::{CellOutcome, Design, OutcomeLine, Role};

use crate::design::{DRAWS_MAX, DesignRequest, design};

/// Longest time, in nanoseconds: 36 years. Some of them add up.
const TIME_NS_MAX: u64 = 1 << 60;

/// Why a design cannot have been planned, if it cannot.
#[must_use]
pub fn unsound(planned: &Design) -> Option<String> {
    let arm = |at: usize, role| planned.arms.get(at).is_some_and(|arm| arm.role == role);
    let same = arm(1, Role::Same);
    let (own, trials) = planned.arms.split_at_checked(1 + usize::from(same)).unwrap_or_default();
    if !arm(0, Role::Baseline) || own.is_empty() || trials.iter().any(|arm| arm.role != Role::Trial) {
        return Some("design.arms: the baseline is first, then perhaps itself again, then arms under test".to_owned());
    }
    let times = [
        ("settle_first_ns", planned.settle_first_ns),
        ("measure_ns", planned.measure_ns),
        ("lasting_ns", planned.lasting_ns),
        ("time_max_ns", planned.time_max_ns.unwrap_or(0)),
    ];
    if let Some((name, _)) = times.iter().find(|(_, ns)| *ns > TIME_NS_MAX) {
        return Some(format!("design.{name} is longer than decades"));
    }
    let is_rising = planned.looks.windows(2).all(|pair| pair[0] < pair[1]);
    if !is_rising || planned.looks.first() == Some(&0) || planned.looks.last() != Some(&planned.blocks_max) {
        return Some("design.looks rise from 1 or more to blocks_max".to_owned());
    }
    if planned.draws == 0 || f64::from(planned.draws) > DRAWS_MAX {
        return Some(format!("design.draws is {}: it is from 1 to {DRAWS_MAX}", planned.draws));
    }
    let requested = DesignRequest {
        baseline: own[0].name.clone(),
        trials: trials.iter().map(|arm| arm.name.clone()).collect(),
        same,
        seed: planned.seed,
        alpha: planned.alpha,
        matters_share: planned.matters_share,
        blocks_max: planned.blocks_max,
        time_max_ns: planned.time_max_ns,
        settle_first_ns: planned.settle_first_ns,
        measure_ns: planned.measure_ns,
        lasting_ns: planned.lasting_ns,
        link_bytes_per_s: planned.link_bytes_per_s,
        factors: planned.factors.clone(),
    };
    design(&requested).err().map(|error| format!("design: {error}"))
}

/// The first of the outcomes that cannot have been measured: its place, from 0, and why.
#[must_use]
pub fn first_unsound(done: &[OutcomeLine]) -> Option<(usize, &'static str)> {
    let mut before_ns = 0;
    done.iter().enumerate().find_map(|(at, done)| {
        let CellOutcome { started_ns, ended_ns, interval_ns, throughput_per_s, .. } = &done.outcome;
        let times = [*ended_ns, *interval_ns, done.cell.settle_ns, done.cell.measure_ns];
        let why = if times.iter().any(|ns| *ns > TIME_NS_MAX) {
            Some("it takes longer than decades")
        } else if started_ns > ended_ns {
            Some("it ends before it begins")
        } else if *started_ns < before_ns {
            Some("it begins before the cell before it ends")
        } else if throughput_per_s.iter().any(|rate| *rate < 0.0) {
            Some("it has a throughput below zero")
        } else {
            None
        };
        before_ns = *ended_ns;
        why.map(|why| (at, why))
    })
}

#[cfg(test)]
mod tests {
    use linerate_record::experiment::Cell;

    use super::*;
    use crate::design::tests::requested;

    #[test]
    fn a_design_that_nobody_can_have_planned_is_told_by_its_field() {
        let planned = design(&requested()).unwrap();
        assert_eq!(unsound(&planned), None);
        let changed = |change: fn(&mut Design)| {
            let mut other = planned.clone();
            change(&mut other);
            unsound(&other).unwrap_or_default()
        };
        for (got, part) in [
            (changed(|d| d.arms.clear()), "design.arms"),
            (changed(|d| d.arms.reverse()), "design.arms"),
            (changed(|d| d.settle_first_ns = u64::MAX), "design.settle_first_ns"),
            (changed(|d| d.time_max_ns = Some(u64::MAX)), "design.time_max_ns"),
            (changed(|d| d.looks = vec![4, 4]), "design.looks"),
            (changed(|d| d.looks.clear()), "design.looks"),
            (changed(|d| d.draws = u32::MAX), "design.draws"),
            (changed(|d| d.alpha = -1.0), "alpha"),
            (changed(|d| d.matters_share = f64::NAN), "effect that matters"),
        ] {
            assert!(got.contains(part), "{part}: {got}");
        }
    }

    #[test]
    fn a_cell_that_no_clock_gives_is_told_by_its_place() {
        let cell = Cell { block: 0, position: 0, arm: 0, settle_ns: 1, measure_ns: 1 };
        let at = |started_ns, ended_ns| OutcomeLine {
            cell,
            outcome: CellOutcome { started_ns, ended_ns, interval_ns: 1, ..CellOutcome::default() },
            ended: None,
        };
        assert_eq!(first_unsound(&[at(1, 5), at(5, 9)]), None);
        for wrong in [at(9, 8), at(4, 9), at(5, u64::MAX)] {
            assert_eq!(first_unsound(&[at(1, 5), wrong.clone()]).map(|(place, _)| place), Some(1), "{wrong:?}");
        }
        let mut below = at(5, 9);
        below.outcome.throughput_per_s = vec![1.0, -1.0];
        assert!(first_unsound(&[at(1, 5), below]).is_some());
    }
}
