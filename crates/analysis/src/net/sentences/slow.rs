//! Claims of what is slow beyond chance.

use linerate_record::finding::{Confidence, Severity};
use linerate_record::units::percent;

use super::{NAMED, pair_name, racks};
use crate::net::limits::says_where;
use crate::net::pairs::NetSamples;
use crate::net::slow::NetCompared;
use crate::net::view::{
    NetFinding, NetFindingKind, NetLimit, NetLimitedBy, NetPairFigures, NetSide, NetSlowNode, NetSlowPair, NetView,
};

/// Share of a machine's pairs that one thing limits, from which it is named beside the machine.
const MOST: f64 = 0.5;

/// Each rack that is slow, and each machine that is so by itself.
pub(super) fn nodes(view: &NetView) -> Vec<NetFinding> {
    let racks = racks::slow(view);
    let alone = view.slow.nodes.iter().filter(|one| !racks.iter().any(|rack| rack.slow.contains(&one.node)));
    racks.iter().map(|rack| rack.finding(view)).chain(alone.map(|one| node(view, one))).collect()
}

fn node(view: &NetView, slow: &NetSlowNode) -> NetFinding {
    let name = view.name(slow.node);
    let does = match slow.side {
        NetSide::Sends => "sends",
        NetSide::Receives => "receives",
        NetSide::Both => "sends and receives",
    };
    let common = common(view, slow);
    let because = common.map_or_else(String::new, |by| format!("; most of these pairs are limited by {}", by.name()));
    NetFinding {
        kind: NetFindingKind::SlowNode,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        nodes: vec![slow.node],
        claim: format!("{name} {does} {} less than others, whoever is at the other end", percent(slow.less_share)),
        evidence: format!(
            "{} at the median of its pairs, {} at the median machine; {:.1} standard errors, chance {:.0e} over {} \
             comparisons{because}",
            view.rate(slow.per_s),
            view.rate(slow.others_per_s),
            slow.sigmas.abs(),
            slow.chance,
            view.slow.comparisons
        ),
        remedy: remedy(view, slow, common),
    }
}

/// What limits most pairs of a machine on the side on which it is slow.
fn common(view: &NetView, slow: &NetSlowNode) -> Option<NetLimitedBy> {
    let mut limits: Vec<NetLimitedBy> = limits_on_slow_side(view, slow).map(|limit| limit.by).collect();
    limits.sort_unstable();
    let count_limited_by = |by: &NetLimitedBy| limits.iter().filter(|other| *other == by).count();
    let most = limits.iter().copied().max_by_key(count_limited_by)?;
    (count_limited_by(&most) as f64 > MOST * limits.len() as f64).then_some(most)
}

/// What limits the pairs of a machine on the side on which it is slow.
fn limits_on_slow_side<'v>(view: &'v NetView, slow: &'v NetSlowNode) -> impl Iterator<Item = &'v NetLimit> {
    let is_its = move |pair: &&NetPairFigures| match slow.side {
        NetSide::Sends => pair.from == slow.node,
        NetSide::Receives => pair.to == slow.node,
        NetSide::Both => pair.from == slow.node || pair.to == slow.node,
    };
    view.compared().filter(is_its).filter_map(|pair| pair.limit.as_ref())
}

fn remedy(view: &NetView, slow: &NetSlowNode, common: Option<NetLimitedBy>) -> String {
    let interface = match view.nodes.get(slow.node as usize).map(|node| node.interface.as_str()) {
        Some(interface) if !interface.is_empty() => interface,
        _ => "its interface",
    };
    // What limits its pairs says where to look, if it is more than that nothing was full.
    let of_limit = common.and_then(|by| {
        let known = |limit: &&NetLimit| limit.by == by && says_where(limit);
        limits_on_slow_side(view, slow).find(known).map(|limit| limit.look_at.clone())
    });
    let compared = format!(
        "compare it with a machine that is not slow: speed and errors of {interface} (ethtool), its cable, optics and \
         switch port, members of its bond, MTU, interrupts (linerate audit)"
    );
    match of_limit {
        Some(look_at) => format!("{look_at}; {compared}"),
        None => compared,
    }
}

/// Each pair that is slow, of many the slowest and how many more.
pub(super) fn pairs(view: &NetView) -> Vec<NetFinding> {
    let all = &view.slow.pairs;
    let mut found: Vec<NetFinding> = all.iter().take(NAMED).map(|one| pair(view, one)).collect();
    if let (Some(last), more @ 1..) = (found.last_mut(), all.len().saturating_sub(NAMED)) {
        last.evidence = format!("{}; {more} more pairs are slow beyond chance, but less so", last.evidence);
    }
    found
}

fn pair(view: &NetView, slow: &NetSlowPair) -> NetFinding {
    let NetSlowPair { from, to, .. } = *slow;
    let is_pair = |pair: &&NetPairFigures| (pair.from, pair.to) == (from, to);
    let limit = view.compared().find(is_pair).and_then(|pair| pair.limit.as_ref());
    let because =
        limit.map_or_else(String::new, |limit| format!("; limited by {}: {}", limit.by.name(), limit.evidence));
    let (per_s, expected, name) = (view.rate(slow.per_s), view.rate(slow.expected_per_s), pair_name(view, from, to));
    let beyond = format!("{:.1} standard errors, chance {:.0e}", slow.sigmas.abs(), slow.chance);
    let less = percent(slow.less_share);
    let (claim, evidence) = if view.has_two_directions() {
        (
            format!("{name} gives {less} less than the other way"),
            format!("{per_s}, and {expected} the other way; {beyond}{because}"),
        )
    } else {
        let back = view.slow.pairs.iter().any(|other| (other.from, other.to) == (to, from));
        let back = if back { "; the other way too" } else { "; the other way is not" };
        let comparisons = view.slow.comparisons;
        (
            format!("{name} gives {less} less than both machines do with others"),
            format!(
                "{per_s} where {expected} are to be expected; {beyond} over {comparisons} comparisons{because}{back}"
            ),
        )
    };
    NetFinding {
        kind: NetFindingKind::SlowPair,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        nodes: vec![from, to],
        claim,
        evidence,
        remedy: pair_remedy(view, limit),
    }
}

/// What limits a pair says where to look, if it is more than that nothing was full; else its path.
fn pair_remedy(view: &NetView, limit: Option<&NetLimit>) -> String {
    let path = if view.has_two_directions() {
        "the path that way: a faulty port, cable or optic, an uplink that is full, a route that goes round"
    } else {
        "the path between both: hashes that put its flows on one uplink with others, a faulty uplink, a route that \
         goes round"
    };
    match limit.filter(|limit| says_where(limit)) {
        Some(limit) => format!("{}; else {path}", limit.look_at),
        None => path.to_owned(),
    }
}

/// Visits that were slow as a whole.
pub(super) fn visits(seen: &NetSamples<'_>, compared: &NetCompared) -> Option<NetFinding> {
    let slowest = compared.visits.iter().max_by(|a, b| a.less_share.total_cmp(&b.less_share))?;
    let visit = seen.visits.get(slowest.place)?;
    let of_round =
        |round: u32| seen.visits.iter().filter(|one| one.round == round && one.streams == visit.streams).count();
    let slow = compared.visits.iter().filter(|one| seen.visits[one.place].round == visit.round).count();
    let is_round = slow > 1 && slow == of_round(visit.round);
    let (claim, remedy) = if is_round {
        let claim = format!("round {} is slower than others as a whole, each time", visit.round);
        (claim, "its pairs share something that those of other rounds do not: an uplink between racks, as a rule")
    } else {
        let count = compared.visits.len();
        let claim = match count {
            1 => format!("visit {} is slower than others as a whole", visit.visit),
            _ => format!("{count} visits are slower than others as a whole, visit {} the most", visit.visit),
        };
        (claim, "something else used the network or the machines then: measure again, with more visits")
    };
    Some(NetFinding {
        kind: NetFindingKind::SlowVisit,
        severity: Severity::Note,
        confidence: Confidence::Likely,
        nodes: Vec::new(),
        claim,
        evidence: format!(
            "three quarters of its {} pairs gave {} less than their machines do; no pair and no machine is called slow \
             for that",
            visit.pairs.len(),
            percent(slowest.less_share)
        ),
        remedy: remedy.to_owned(),
    })
}
