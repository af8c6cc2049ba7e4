//! Goals that the ceilings or the layout do not reach. A ceiling is an upper limit: a goal close below one is not
//! promised either.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::units::{bytes_iec, bytes_per_s_iec};

use super::{Case, finding, lowest, resource_name, work_name};

/// From this share of a ceiling on, a goal has no room.
const NO_ROOM: f64 = 0.9;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let goals = &case.site.goals;
    for work in case.works {
        let goal = match work.work.read_share {
            share if share >= 1.0 => goals.get_bytes_per_s,
            share if share <= 0.0 => goals.put_bytes_per_s,
            _ => None,
        };
        let (Some(goal), Some(ceiling)) = (goal, lowest(work)) else { continue };
        if goal <= NO_ROOM * ceiling.limit_bytes_per_s {
            continue;
        }
        let missed = goal > ceiling.limit_bytes_per_s;
        let word = if missed { "is out of reach" } else { "leaves no room" };
        let severity = if missed { Severity::Serious } else { Severity::Warning };
        let claim = format!("the goal of {} for {} {word}", bytes_per_s_iec(goal), work_name(work));
        let evidence = format!(
            "{} allows at most {}: the goal is {:.0} % of it",
            resource_name(ceiling.resource),
            bytes_per_s_iec(ceiling.limit_bytes_per_s),
            100.0 * goal / ceiling.limit_bytes_per_s
        );
        let remedy = "widen what binds, or ask how many nodes it takes with --need";
        out.push(finding(PlanFindingKind::GoalMissed, severity, (claim, evidence), remedy, "goals and ceilings"));
    }
    if let Some(goal) = goals.usable_bytes.filter(|&goal| goal > case.layout.usable_bytes) {
        let claim = format!("the goal of {} usable is out of reach", bytes_iec(goal as f64));
        let evidence = format!(
            "{} of {} raw are usable with {} of {} shards for parity",
            bytes_iec(case.layout.usable_bytes as f64),
            bytes_iec(case.layout.raw_bytes as f64),
            case.layout.parity_shards,
            case.layout.set_drives
        );
        let remedy = "more or larger drives, another layout, or ask how many nodes it takes with --need";
        let severity = Severity::Serious;
        out.push(finding(PlanFindingKind::GoalMissed, severity, (claim, evidence), remedy, "goals and layout"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use super::*;

    #[test]
    fn what_is_out_of_reach_is_told_for_each_goal() {
        let found = of(PlanFindingKind::GoalMissed, |site| {
            site.goals.get_bytes_per_s = Some(1e13);
            site.goals.put_bytes_per_s = Some(1e13);
            site.goals.usable_bytes = Some(1 << 60);
        });
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|finding| finding.severity == Severity::Serious));
    }

    #[test]
    fn goals_with_room_and_no_goals_are_well() {
        let found = of(PlanFindingKind::GoalMissed, |site| {
            site.goals.get_bytes_per_s = Some(1e9);
            site.goals.put_bytes_per_s = Some(1e9);
            site.goals.usable_bytes = Some(1 << 40);
        });
        assert!(found.is_empty(), "{found:?}");
        assert!(of(PlanFindingKind::GoalMissed, |_| ()).is_empty());
    }
}
