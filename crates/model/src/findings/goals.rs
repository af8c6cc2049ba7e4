//! Goals that the ceilings or the layout do not reach. A ceiling is an upper limit: a goal close below one is not
//! promised either.

use linerate_record::finding::Severity;
use linerate_record::plan::{Goal, PlanFinding, PlanFindingKind, PoolLayout, SiteGoal, WorkPlan};
use linerate_record::site::key;
use linerate_record::units::{bytes_iec, bytes_per_s_iec, duration_ns};

use super::{Case, finding, lowest};
use crate::layout::failure_tolerance::tolerated;
use crate::layout::pools;
use crate::work_names::work_name;

/// From this share of a ceiling on, a goal has no room.
const NO_ROOM: f64 = 0.9;
/// The 99th percentile of an exponential distribution over its mean: ln 100.
const EXPONENTIAL_TAIL: f64 = 4.6;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let goals = &case.site.goals;
    for work in case.works {
        let (Some(goal), Some(ceiling)) = (work.goal, lowest(work)) else { continue };
        if goal.within_reach && goal.within_clients_reach == Some(false) {
            out.extend(too_few_in_flight(case, work, &goal));
        }
        if goal.ceiling_share <= NO_ROOM {
            continue;
        }
        let (word, severity) = match goal.within_reach {
            true => ("leaves no room", Severity::Warning),
            false => ("is out of reach", Severity::Critical),
        };
        let claim = format!("the goal of {} for {} {word}", bytes_per_s_iec(goal.bytes_per_s), work_name(&work.work));
        let evidence = format!(
            "{} allows at most {}: the goal is {:.0} % of it",
            ceiling.resource.in_a_sentence(),
            bytes_per_s_iec(ceiling.limit_bytes_per_s),
            100.0 * goal.ceiling_share
        );
        let remedy = "widen the bottleneck, or find the number of nodes that is needed with --need";
        let found = finding(PlanFindingKind::GoalMissed, severity, claim, evidence, remedy, "goals and ceilings");
        out.push(PlanFinding { goal: Some(SiteGoal::Throughput { work: work.work }), ..found });
    }
    if let Some(goal_ns) = goals.p99_ns {
        case.works.iter().for_each(|work| latency(case, work, goal_ns, out));
    }
    tolerance(case, out);
    if let Some(goal) = goals.usable_bytes.filter(|_| case.layout.goal_within_reach == Some(false)) {
        let parity_in_words = |pool: &PoolLayout| format!("{} of {}", pool.parity_shards, pool.set_drives);
        let mut parity: Vec<String> = case.layout.pools.iter().map(parity_in_words).collect();
        parity.dedup();
        let claim = format!("the goal of {} usable is out of reach", bytes_iec(goal as f64));
        let evidence = format!(
            "{} of {} raw are usable with {} shards for parity",
            bytes_iec(case.layout.usable_bytes as f64),
            bytes_iec(case.layout.raw_bytes as f64),
            parity.join(" and ")
        );
        let remedy = "use more or larger drives or another layout, or find the number of nodes that is needed with \
                      --need";
        let severity = Severity::Critical;
        let found = finding(PlanFindingKind::GoalMissed, severity, claim, evidence, remedy, "goals and layout");
        out.push(PlanFinding { goal: Some(SiteGoal::Usable), ..found });
    }
}

/// The ceiling allows a goal, and the requests in flight that the site states do not give it.
fn too_few_in_flight(case: &Case, work: &WorkPlan, goal: &Goal) -> Option<PlanFinding> {
    let own = work.curve.as_ref()?.clients?;
    let (clients, connections) = (u64::from(case.site.askers()), case.site.clients.connections);
    let claim = format!(
        "the goal of {} for {} takes more requests in flight than the site's clients keep",
        bytes_per_s_iec(goal.bytes_per_s),
        work_name(&work.work)
    );
    let each = goal.in_flight.map(|in_flight| (in_flight, in_flight.div_ceil(clients.max(1))));
    let takes = match each {
        Some((in_flight, each)) => format!("it takes {in_flight}, {each} on each client"),
        None => "no number that was looked at gives it".to_owned(),
    };
    let evidence = format!(
        "the ceiling allows it: it is {:.0} % of it; {clients} × {connections} = {} in flight give {}, and {takes}",
        100.0 * goal.ceiling_share,
        own.in_flight,
        bytes_per_s_iec(own.bytes_per_s)
    );
    let remedy = match each {
        Some((_, each)) => format!("more requests in flight: clients.connections {each}, or more clients"),
        None => "more requests in flight, or a wider bottleneck".to_owned(),
    };
    let source = "mean-value analysis (docs/method/ceilings.md)";
    let found = finding(PlanFindingKind::GoalMissed, Severity::Warning, claim, evidence, &remedy, source);
    Some(PlanFinding { goal: Some(SiteGoal::InFlight { work: work.work }), ..found })
}

/// The model knows the mean latency at some load. A 99th percentile below the mean would need a hundredth of all
/// requests to outweigh the others, so that a mean above the goal misses it; of a mean below, only room can be told.
fn latency(case: &Case, work: &WorkPlan, p99_ns: u64, out: &mut Vec<PlanFinding>) {
    let goal_ns = p99_ns as f64;
    let Some((mean_ns, load)) = mean_at_load(case, work) else { return };
    let alone_ns = work.curve.as_ref().map_or(0.0, |curve| curve.alone_ns);
    let (severity, word) = if mean_ns > goal_ns {
        (Severity::Critical, "is out of reach")
    } else if EXPONENTIAL_TAIL * mean_ns > goal_ns {
        (Severity::Warning, "leaves no room")
    } else {
        return;
    };
    let claim =
        format!("the goal of {} for the 99th percentile of {} {word}", duration_ns(goal_ns), work_name(&work.work));
    let evidence = format!(
        "{} on average {load}, and {} alone; an exponential tail has its 99th percentile at {EXPONENTIAL_TAIL} times \
         the mean",
        duration_ns(mean_ns),
        duration_ns(alone_ns)
    );
    let remedy = if alone_ns > goal_ns {
        "smaller objects, or faster links and drives: one request alone takes longer"
    } else {
        "fewer requests in flight, or a wider bottleneck: --why has latency over requests in flight"
    };
    let source = "mean-value analysis (docs/method/ceilings.md); the model has no percentiles";
    let found = finding(PlanFindingKind::GoalMissed, severity, claim, evidence, remedy, source);
    out.push(PlanFinding { goal: Some(SiteGoal::P99 { work: work.work, p99_ns }), ..found });
}

/// The mean at the goal's rate, or else at what the site's clients keep in flight, or else at the knee.
fn mean_at_load(case: &Case, work: &WorkPlan) -> Option<(f64, String)> {
    let curve = work.curve.as_ref()?;
    let goal = work.goal.map(|goal| goal.bytes_per_s);
    let reaching = |goal: f64| {
        let first = curve.points.iter().find(|point| point.bytes_per_s >= goal)?;
        // By Little's law between the points: latency is flatter there than requests in flight are.
        let before = curve.points.iter().rev().find(|point| point.bytes_per_s < goal);
        let Some(before) = before else { return Some(first.latency_ns) };
        let part = (goal - before.bytes_per_s) / (first.bytes_per_s - before.bytes_per_s);
        Some(before.latency_ns + part * (first.latency_ns - before.latency_ns))
    };
    if let Some((goal, mean_ns)) = goal.and_then(|goal| Some((goal, reaching(goal)?))) {
        return Some((mean_ns, format!("at {}", bytes_per_s_iec(goal))));
    }
    let (point, whose) = match &curve.clients {
        Some(point) if case.site.assumed.contains_key(key::CLIENTS_CONNECTIONS) => {
            (point, ", as the site's clients would keep with the assumed number of connections")
        }
        Some(point) => (point, ", as the site's clients keep"),
        None => (&curve.knee, ""),
    };
    Some((point.latency_ns, format!("with {} in flight{whose}", point.in_flight)))
}

/// Losses that the layout has to tolerate, and does not.
fn tolerance(case: &Case, out: &mut Vec<PlanFinding>) {
    let Some(requested) = case.site.goals.tolerates else { return };
    let Ok(pools) = pools(case.site) else { return };
    let tolerated = tolerated(case.site.engine.product, &pools);
    if tolerated.drives >= requested.drives && tolerated.nodes >= requested.nodes {
        return;
    }
    let claim = "the layout does not tolerate the required failures".to_owned();
    let evidence = format!(
        "it tolerates the failure of any {} of {} drives without loss of data, and of any {} of {} nodes \
         without a stop",
        tolerated.drives, requested.drives, tolerated.nodes, requested.nodes
    );
    let remedy = "use more parity or more nodes, or find a number of nodes that does with --need";
    let severity = Severity::Critical;
    out.push(finding(PlanFindingKind::GoalMissed, severity, claim, evidence, remedy, "goals and layout"));
}

#[cfg(test)]
mod tests {
    use linerate_record::site::Site;

    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn what_is_out_of_reach_is_told_for_each_goal() {
        let found = findings_after(PlanFindingKind::GoalMissed, |site| {
            site.goals.get_bytes_per_s = Some(1e13);
            site.goals.put_bytes_per_s = Some(1e13);
            site.goals.usable_bytes = Some(1 << 60);
        });
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|finding| finding.severity == Severity::Critical));
    }

    #[test]
    fn losses_that_have_to_be_borne_are_held_against_the_layout() {
        use linerate_record::site::Tolerates;
        // Sixteen nodes make sets of 12+4, a shard on each of 16 nodes.
        for (drives, nodes, reported) in [(4, 4, 0), (5, 1, 1), (2, 5, 1)] {
            let requested = Some(Tolerates { drives, nodes });
            let found = findings_after(PlanFindingKind::GoalMissed, |site| site.goals.tolerates = requested);
            assert_eq!(found.len(), reported, "{drives} drives, {nodes} nodes: {found:?}");
        }
    }

    #[test]
    fn goals_with_room_and_no_goals_are_well() {
        let found = findings_after(PlanFindingKind::GoalMissed, |site| {
            site.goals.get_bytes_per_s = Some(1e9);
            site.goals.put_bytes_per_s = Some(1e9);
            site.goals.usable_bytes = Some(1 << 40);
        });
        assert!(found.is_empty(), "{found:?}");
        assert!(findings_after(PlanFindingKind::GoalMissed, |_| ()).is_empty());
    }

    #[test]
    fn a_goal_that_the_stated_requests_in_flight_do_not_give_is_a_warning_with_how_many_do() {
        let mut site = crate::test_site::site();
        let planned = |site: &Site| crate::plan::plan(site, &crate::plan::PlanRequest::default()).unwrap();
        site.goals.get_bytes_per_s = Some(0.8 * planned(&site).works[0].ceilings[0].limit_bytes_per_s);
        let found = |site: &Site| {
            let is_of_goals = |one: &PlanFinding| one.kind == PlanFindingKind::GoalMissed;
            planned(site).findings.into_iter().filter(is_of_goals).collect::<Vec<_>>()
        };
        assert_eq!(found(&site), [], "32 × 64 are enough");
        site.clients.connections = 1;
        let warnings = found(&site);
        assert_eq!((warnings.len(), warnings[0].severity), (1, Severity::Warning), "{warnings:?}");
        let work = planned(&site).works.swap_remove(0);
        let (own, takes) = (work.curve.unwrap().clients.unwrap(), work.goal.unwrap().in_flight.unwrap());
        assert_eq!(warnings[0].goal, Some(SiteGoal::InFlight { work: work.work }));
        let expected = format!(
            "the ceiling allows it: it is 80 % of it; 32 × 1 = 32 in flight give {}, and it takes {takes}, {} on \
             each client",
            bytes_per_s_iec(own.bytes_per_s),
            takes.div_ceil(32)
        );
        assert_eq!(warnings[0].evidence, expected);
        site.assumed.insert("clients.connections".to_owned(), "not stated".to_owned());
        assert_eq!(found(&site), [], "nobody stated how many there are");
    }

    /// 32 clients × 64 in flight over some ceiling: the mean follows from Little's law, X × R = 2048 requests.
    #[test]
    fn a_goal_of_latency_is_held_against_the_mean_at_the_load_that_is_asked() {
        let site = crate::test_site::site();
        let plan = crate::plan::plan(&site, &crate::plan::PlanRequest::default()).unwrap();
        let clients = plan.works[0].curve.as_ref().unwrap().clients.unwrap();
        let mean_ns = 2048.0 * f64::from(4 << 20) / clients.bytes_per_s * 1e9;
        assert!((mean_ns / clients.latency_ns - 1.0).abs() < 1e-9);
        let reported = |p99_ns: f64, get: Option<f64>| {
            let mut site = site.clone();
            site.goals.p99_ns = Some(p99_ns as u64);
            site.goals.get_bytes_per_s = get;
            let plan = crate::plan::plan(&site, &crate::plan::PlanRequest::default()).unwrap();
            let found = plan.findings.into_iter().filter(|finding| finding.kind == PlanFindingKind::GoalMissed);
            found.filter(|finding| finding.claim.contains("percentile of GET")).collect::<Vec<_>>()
        };
        let missed = reported(0.9 * mean_ns, None);
        assert_eq!((missed.len(), missed[0].severity), (1, Severity::Critical), "{missed:?}");
        assert!(missed[0].evidence.contains("2048 in flight"), "{missed:?}");
        assert_eq!(reported(2.0 * mean_ns, None)[0].severity, Severity::Warning);
        assert_eq!(reported(5.0 * mean_ns, None), []);
        // A tenth of the load takes hardly longer than one request alone.
        assert_eq!(reported(0.9 * mean_ns, Some(clients.bytes_per_s / 100.0)), []);
    }
}
