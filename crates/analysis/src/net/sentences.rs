//! The answer in a sentence, what to know before it, and the claims with their remedies.

mod bisection;
mod classes;
mod failed_pairs;
mod incast;
mod members;
mod ops;
mod paths;
mod ports;
mod racks;
mod rings;
mod slow;

use linerate_record::finding::{Confidence, Severity};
use linerate_record::lines::listed;
use linerate_record::net::{NetOp, NetWay};
use linerate_record::units::{duration_ns, percent};

use super::pairs::NetSamples;
use super::slow::NetCompared;
use super::view::{NetFinding, NetFindingKind, NetLimitCount, NetLimitedBy, NetSide, NetStreamsFigures, NetView};

pub(super) use bisection::said as bisected;
pub(super) use classes::{against, costs_said, ratio_said};

/// A machine that took part in fewer than this share of what the median one did took part in too few.
const FEW: f64 = 0.5;

/// A machine that counted for so much longer or shorter than was asked has a clock, or a load, that is not to be
/// trusted.
const CLOCK_OFF: f64 = 0.1;

/// Share of pairs from which one limit is that of the whole.
const MOST: f64 = 0.5;

/// Share of segments sent again, or of datagrams lost, of the worst pair from which losses are worth a claim.
pub(super) const LOST: f64 = 0.005;

/// Jain's index below which streams of a pair share unevenly: with two streams, a ratio of one to three.
const UNFAIR: f64 = 0.8;

/// Names that a sentence has at the most.
pub(super) const NAMED: usize = 4;

pub(super) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

pub(super) fn pair_name(view: &NetView, from: u32, to: u32) -> String {
    format!("{} → {}", view.name(from), view.name(to))
}

/// The whole in a sentence or two.
pub(super) fn answer(view: &NetView) -> String {
    if view.load.op == NetOp::Mtu && view.compared().any(|pair| pair.path.is_some()) {
        return paths::answer(view);
    }
    let Some(whole) = view.whole() else {
        let reason = view.pairs.iter().flat_map(|pair| &pair.reasons).next();
        return match reason {
            Some(reason) => format!("no pair has figures: {reason}"),
            None => "no pair was measured".to_owned(),
        };
    };
    // Of racks, the middle of pairs across and within is no figure of anything.
    let (first, slow) = match view.load.way {
        NetWay::Bisection => (bisection::in_short(view), String::new()),
        _ => (rates(view, whole), slow_in_short(view)),
    };
    let parts = [first, ops::in_short(view), failed_pairs::in_short(view), slow, limits_in_short(view)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

fn rates(view: &NetView, whole: &NetStreamsFigures) -> String {
    let streams = plural(whole.streams as usize, "stream");
    let median = view.rate(whole.median_per_s);
    if whole.pairs == 1 {
        return format!("{median} with {streams}");
    }
    let slowest = view.compared().filter_map(|pair| Some((pair, pair.per_s?.mean)));
    let slowest = slowest.min_by(|a, b| a.1.total_cmp(&b.1));
    let slowest = slowest.map_or_else(String::new, |(pair, mean)| {
        format!(" (slowest {} {})", pair_name(view, pair.from, pair.to), view.rate(mean))
    });
    format!("{median} at the median of {} with {streams}{slowest}", plural(whole.pairs as usize, "pair"))
}

fn slow_in_short(view: &NetView) -> String {
    let slow = &view.slow;
    let racks = racks::slow(view);
    let is_in_rack = |node: u32| racks.iter().any(|rack| rack.slow.contains(&node));
    let nodes = slow.nodes.iter().filter(|one| !is_in_rack(one.node)).map(|one| {
        let less = percent(one.less_share);
        match one.side {
            NetSide::Sends => format!("{} sends {less} less than others", view.name(one.node)),
            NetSide::Receives => format!("{} receives {less} less than others", view.name(one.node)),
            NetSide::Both => format!("{} sends and receives less than others, by {less}", view.name(one.node)),
        }
    });
    let pairs = slow.pairs.iter().map(|one| {
        let (name, less) = (pair_name(view, one.from, one.to), percent(one.less_share));
        let than = if view.has_two_directions() { "the other way" } else { "its machines do with others" };
        format!("{name} gives {less} less than {than}")
    });
    let all: Vec<String> = racks.iter().map(|rack| rack.said()).chain(nodes).chain(pairs).collect();
    match all.len() {
        0 if !slow.lacking.is_empty() => slow.lacking.clone(),
        0 => "no machine and no pair is slow beyond chance".to_owned(),
        _ if !slow.lacking.is_empty() => format!("{}; {}", listed(&all, 2), slow.lacking),
        _ => listed(&all, 2),
    }
}

fn limits_in_short(view: &NetView) -> String {
    let Some(first) = view.limits.first() else { return String::new() };
    let all: u32 = view.limits.iter().map(|limit| limit.pairs).sum();
    match (first.pairs, all) {
        (1, 1) => format!("limited by {}: {}", first.by.name(), first.evidence),
        (pairs, all) if pairs == all => format!("all pairs are limited by {}", first.by.name()),
        (pairs, all) => format!("{pairs} of {all} pairs are limited by {}", first.by.name()),
    }
}

/// What whoever reads the answer has to know first.
pub(super) fn warnings(view: &NetView, seen: &NetSamples<'_>) -> Vec<String> {
    let mut warnings: Vec<String> = failed(view).into_iter().chain(failed_by_ways(view)).collect();
    let mut tries: Vec<u32> = view.nodes.iter().map(|node| node.tries - node.failed).collect();
    tries.sort_unstable();
    let median = tries.get(tries.len() / 2).copied().unwrap_or(0);
    let few = view.nodes.iter().filter(|node| f64::from(node.tries - node.failed) < FEW * f64::from(median));
    let few: Vec<&str> = few.map(|node| node.name.as_str()).collect();
    if !few.is_empty() {
        let verb = if few.len() == 1 { "has" } else { "have" };
        let names = listed(&few, NAMED);
        warnings.push(format!("{names} {verb} figures of less than half of the pairs that the median machine has"));
    }
    warnings.extend(clocks(view, seen));
    warnings.extend(cut_short(view, seen));
    warnings.extend(paths::unfinished(view));
    if seen.strange > 0 {
        warnings.push(format!("{} of machines that the run does not have are left out", plural(seen.strange, "pair")));
    }
    warnings
}

fn failed(view: &NetView) -> Option<String> {
    let failed: u32 = view.pairs.iter().map(|pair| pair.failed).sum();
    let all = failed + view.pairs.iter().map(|pair| pair.visits).sum::<u32>();
    let without = view.pairs.iter().filter(|pair| pair.visits == 0).count();
    let reason = view.pairs.iter().flat_map(|pair| &pair.reasons).next()?;
    let without = match without {
        0 => String::new(),
        without => format!("; {} without any figure", plural(without, "pair")),
    };
    Some(format!("{failed} of {all} measurements of a pair failed{without}; the first: {reason}"))
}

/// The same through Services and in a second network, whose pairs are reported by their classes alone.
fn failed_by_ways(view: &NetView) -> Option<String> {
    let failed_classes = || view.classes.iter().filter(|of| !of.class.through.is_direct() && !of.reasons.is_empty());
    let reason = failed_classes().flat_map(|of| &of.reasons).next()?;
    let mut names: Vec<String> = failed_classes().map(|of| of.class.to_string()).collect();
    names.dedup();
    Some(format!("measurements of {} failed; the first: {reason}", listed(&names, NAMED)))
}

/// Machines that counted for longer or shorter than was asked.
fn clocks(view: &NetView, seen: &NetSamples<'_>) -> Option<String> {
    let requested_ms = view.load.duration_ms as f64;
    let is_off = |over_ms: u64| over_ms > 0 && (over_ms as f64 / requested_ms - 1.0).abs() > CLOCK_OFF;
    let machines = || seen.visits.iter().flat_map(|visit| &visit.machines).filter(|machine| is_off(machine.over_ms));
    let mut nodes: Vec<u32> = machines().map(|machine| machine.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let names: Vec<&str> = nodes.iter().map(|node| view.name(*node)).collect();
    let first = machines().next()?;
    Some(format!(
        "the time that counts is off on {}: {} once, {} were asked; its clock jumped, or it was too busy to stop",
        listed(&names, NAMED),
        duration_ns(first.over_ms as f64 * 1e6),
        duration_ns(requested_ms * 1e6)
    ))
}

/// A run that ended before its time.
fn cut_short(view: &NetView, seen: &NetSamples<'_>) -> Option<String> {
    let requested = seen.run.requested_visits.filter(|requested| view.visits < *requested)?;
    Some(format!("{} of {}: the run was cut short", view.visits, plural(requested as usize, "visit")))
}

/// All claims, the most severe first.
pub(super) fn findings(view: &NetView, seen: &NetSamples<'_>, compared: &NetCompared) -> Vec<NetFinding> {
    let mut all: Vec<NetFinding> = paths::findings(view);
    all.extend(slow::nodes(view));
    all.extend(slow::pairs(view));
    all.extend(slow::visits(seen, compared));
    all.extend(failed_pairs::finding(view));
    // Who does not take what others send is named with that.
    let is_named = all.iter().any(|finding| finding.kind == NetFindingKind::MtuMismatch);
    let uneven = ports::uneven(view).into_iter().filter(|_| !view.is_mixed());
    all.extend(uneven.filter(|uneven| !is_named || !uneven.claim.ends_with("MTU")));
    all.extend(by_machines(view));
    all.extend(incast::incast(view));
    all.extend(bisection::finding(view));
    all.extend(rings::findings(view, seen));
    all.extend(losses(view));
    all.extend(ops::lost(view));
    all.extend(ops::copied(view));
    all.extend(unfair(view));
    all.extend(members::findings(view));
    all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    all
}

/// A limit of most pairs that is none of the network.
fn by_machines(view: &NetView) -> Option<NetFinding> {
    let all: u32 = view.limits.iter().map(|limit| limit.pairs).sum();
    let is_own = |limit: &&NetLimitCount| {
        !matches!(limit.by, NetLimitedBy::Link | NetLimitedBy::Network | NetLimitedBy::Losses | NetLimitedBy::RoundTrip)
            && f64::from(limit.pairs) > MOST * f64::from(all)
    };
    let limit = view.limits.iter().find(is_own)?;
    let is_requested = limit.by == NetLimitedBy::RequestedRate;
    Some(NetFinding {
        kind: NetFindingKind::LimitedByMachines,
        severity: if is_requested { Severity::Note } else { Severity::Warning },
        confidence: if is_requested { Confidence::Certain } else { Confidence::Likely },
        nodes: Vec::new(),
        claim: format!("{} is the bottleneck of {} of {all} pairs: links may carry more", limit.by.name(), limit.pairs),
        evidence: limit.evidence.clone(),
        remedy: limit.look_at.clone(),
    })
}

/// The worst of pairs that lose segments.
fn losses(view: &NetView) -> Option<NetFinding> {
    let lossy =
        || view.compared().filter_map(|pair| Some((pair, pair.retransmitted_share.filter(|share| *share >= LOST)?)));
    let (worst, share) = lossy().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (count, all) = (lossy().count(), view.compared().count());
    Some(NetFinding {
        kind: NetFindingKind::Losses,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        nodes: Vec::new(),
        claim: format!("{count} of {} send {} or more of their segments again", plural(all, "pair"), percent(LOST)),
        evidence: format!("most {}: {}", pair_name(view, worst.from, worst.to), percent(share)),
        remedy: "a full link drops some; else look at drops of the switch's ports and of rings (nic.ring.rx)"
            .to_owned(),
    })
}

/// Streams that share unevenly.
fn unfair(view: &NetView) -> Option<NetFinding> {
    let unfair = || view.compared().filter_map(|pair| Some((pair, pair.fairness.filter(|fair| *fair < UNFAIR)?)));
    let (worst, fairness) = unfair().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (count, all) = (unfair().count(), view.compared().count());
    Some(NetFinding {
        kind: NetFindingKind::UnfairStreams,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        nodes: Vec::new(),
        claim: format!("streams share unevenly in {count} of {}", plural(all, "pair")),
        evidence: format!(
            "Jain's index {fairness:.2} of {}, with {}",
            pair_name(view, worst.from, worst.to),
            plural(worst.streams as usize, "stream")
        ),
        remedy: "members of a bond or equal paths that some streams have to themselves: bond.xmit_hash_policy, the \
                 switches' hashes"
            .to_owned(),
    })
}
