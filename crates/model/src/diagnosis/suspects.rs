//! What can have held the site back: odd readings as causes, and resources that are full everywhere, with weights.

use linerate_record::diagnosis::{Cause, MemberUse, OddKind, OddReading, Suspect, UsedResource};
use linerate_record::readings::ReadMeasure;
use linerate_record::site::Site;

use super::grid::Grid;
use super::resources::{FULL, NodeUse};
use super::words;

/// How an odd reading tells of a cause.
struct CauseRow {
    of: OddKind,
    /// Whether it is odd by being higher; else lower.
    is_higher: bool,
    cause: Cause,
    /// What it is worth at the most, in log odds: a limit that is seen is worth more than what may follow from one.
    worth: f64,
}

const fn row(of: OddKind, is_higher: bool, cause: Cause, worth: f64) -> CauseRow {
    CauseRow { of, is_higher, cause, worth }
}

/// Everything that odd readings tell of by themselves. A judgement: what is closer to the cause is worth more.
const ROWS: &[CauseRow] = &[
    row(OddKind::Steadiness(ReadMeasure::LinkSent), false, Cause::SlowLinkSending, 10.0),
    row(OddKind::Steadiness(ReadMeasure::LinkReceived), false, Cause::SlowLinkReceiving, 10.0),
    row(OddKind::Value(ReadMeasure::LinkSpeed), false, Cause::LinkSpeed, 11.0),
    row(OddKind::Value(ReadMeasure::LinkErrors), true, Cause::LossyLink, 9.0),
    row(OddKind::Value(ReadMeasure::Retransmitted), true, Cause::LossyLink, 7.0),
    row(OddKind::Value(ReadMeasure::LinkReceivedDrops), true, Cause::LossyLink, 7.0),
    row(OddKind::Value(ReadMeasure::LinkSentDrops), true, Cause::LossyLink, 7.0),
    row(OddKind::Value(ReadMeasure::DriveLatency), true, Cause::SlowDrive, 9.0),
    row(OddKind::Value(ReadMeasure::DriveQueue), true, Cause::SlowDrive, 8.0),
    row(OddKind::Value(ReadMeasure::CoresStolen), true, Cause::StolenProcessors, 9.0),
    row(OddKind::Value(ReadMeasure::CoresBusy), true, Cause::BusyProcessors, 7.0),
    row(OddKind::Value(ReadMeasure::CpuPressure), true, Cause::BusyProcessors, 8.0),
    row(OddKind::Value(ReadMeasure::MemoryPressure), true, Cause::Memory, 8.0),
    row(OddKind::Value(ReadMeasure::ClientSent), true, Cause::UnevenLoad, 7.0),
    row(OddKind::Value(ReadMeasure::ClientReceived), true, Cause::UnevenLoad, 7.0),
    row(OddKind::Value(ReadMeasure::LinkSent), true, Cause::UnevenLoad, 5.0),
    row(OddKind::Value(ReadMeasure::LinkReceived), true, Cause::UnevenLoad, 5.0),
    row(OddKind::Value(ReadMeasure::InFlight), true, Cause::SlowNode, 6.0),
    row(OddKind::Value(ReadMeasure::Waiting), true, Cause::SlowNode, 5.0),
    row(OddKind::Value(ReadMeasure::ClientSent), false, Cause::SlowNode, 6.0),
    row(OddKind::Value(ReadMeasure::ClientReceived), false, Cause::SlowNode, 6.0),
    row(OddKind::Value(ReadMeasure::LinkSent), false, Cause::SlowNode, 5.0),
    row(OddKind::Value(ReadMeasure::LinkReceived), false, Cause::SlowNode, 5.0),
    row(OddKind::Value(ReadMeasure::IoPressure), true, Cause::SlowDrive, 6.0),
];

/// What another odd reading of the same node adds to a cause of it, in log odds.
const BESIDE: f64 = 1.0;

/// Log odds of a cause that no reading shows. What is odd beyond all doubt is worth [`ROWS`]'s most.
const NONE_OF_THESE: f64 = 3.0;

/// From such a share of its periods on, a container out of its quota is a cause.
const THROTTLED: f64 = 0.1;

/// A cause, before it has a weight.
pub(super) struct Scored {
    pub(super) suspect: Suspect,
    pub(super) log_odds: f64,
}

/// All suspects, the likeliest first, and the weight of none of them.
pub(super) fn suspects(
    grid: &Grid<'_>,
    site: &Site,
    (odd, uses): (&[OddReading], &[NodeUse]),
    (used, members): (&[UsedResource], &[MemberUse]),
) -> (Vec<Suspect>, f64) {
    let mut all = of_nodes(grid, odd, uses);
    all.extend(throttled(grid));
    all.extend(used.iter().filter_map(|one| full(site, one)));
    all.extend(members.iter().filter_map(on_one_member));
    all.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds));
    let sum: f64 = all.iter().map(|one| one.log_odds.exp()).sum::<f64>() + NONE_OF_THESE.exp();
    let weighted =
        all.into_iter().map(|Scored { suspect, log_odds }| Suspect { weight: log_odds.exp() / sum, ..suspect });
    (weighted.collect(), NONE_OF_THESE.exp() / sum)
}

/// What an odd reading is worth: no more than its row says, and no more than its chance does.
fn worth(row: &CauseRow, odd: &OddReading) -> f64 {
    row.worth.min(-odd.chance.max(1e-300).ln())
}

fn tells(row: &CauseRow, odd: &OddReading) -> bool {
    row.of == odd.of && row.is_higher == (odd.sigmas > 0.0)
}

fn of_nodes(grid: &Grid<'_>, odd: &[OddReading], uses: &[NodeUse]) -> Vec<Scored> {
    let mut found: Vec<Scored> = Vec::new();
    let mut nodes: Vec<&str> = odd.iter().map(|one| one.node.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    for node in nodes {
        let of_node: Vec<&OddReading> = odd.iter().filter(|one| one.node == node).collect();
        let mut causes: Vec<(Cause, f64, &OddReading)> = Vec::new();
        for one in &of_node {
            for row in ROWS.iter().filter(|row| tells(row, one)) {
                let Some(worth) = held_back(grid, uses, row, one).then(|| worth(row, one)) else { continue };
                match causes.iter_mut().find(|(cause, ..)| *cause == row.cause) {
                    Some(known) if known.1 >= worth => {}
                    Some(known) => *known = (row.cause, worth, one),
                    None => causes.push((row.cause, worth, one)),
                }
            }
        }
        // What shows why a node is slow explains that it is.
        if causes.iter().any(|(cause, ..)| !matches!(cause, Cause::SlowNode | Cause::UnevenLoad)) {
            causes.retain(|(cause, ..)| *cause != Cause::SlowNode);
        }
        let beside = BESIDE * (of_node.len() - 1) as f64;
        found.extend(causes.into_iter().map(|(cause, worth, lead)| {
            let mut evidence = vec![lead.claim.clone()];
            evidence.extend(of_node.iter().filter(|one| **one != lead).map(|one| one.claim.clone()));
            let of_link = uses.iter().find(|one| is_of(grid, one, cause, lead));
            let suspect = Suspect {
                cause,
                node: Some(node.to_owned()),
                part: lead.part.clone(),
                claim: words::cause(cause, node, lead, of_link.map(|one| (one.capacity, grid.median(&one.shares)))),
                weight: 0.0,
                evidence,
                remedy: words::remedy(cause, &lead.part),
                gives: of_link.and_then(|one| gives(grid, uses, one)),
            };
            Scored { suspect, log_odds: worth + beside.min(3.0) }
        }));
    }
    found
}

/// Whether a use is that of the link which is slow.
fn is_of(grid: &Grid<'_>, used: &NodeUse, cause: Cause, lead: &OddReading) -> bool {
    use linerate_record::plan::Resource as R;
    let is_that_way = match cause {
        Cause::SlowLinkSending => matches!(used.resource, R::PublicEgress | R::PrivateEgress),
        Cause::SlowLinkReceiving => matches!(used.resource, R::PublicIngress | R::PrivateIngress),
        _ => false,
    };
    is_that_way && grid.nodes[used.node].name == lead.node && used.part == lead.part
}

/// Whether a steady link is below its ceiling: one that is at it is full, as it should be, and no slower than others.
fn held_back(grid: &Grid<'_>, uses: &[NodeUse], row: &CauseRow, odd: &OddReading) -> bool {
    if !matches!(row.of, OddKind::Steadiness(_)) {
        return true;
    }
    let used = uses.iter().find(|one| is_of(grid, one, row.cause, odd));
    used.and_then(|one| grid.median(&one.shares)).is_some_and(|share| share < FULL)
}

/// What healing a slow link gives: until it is as full as it was, or the fullest other link is.
fn gives(grid: &Grid<'_>, uses: &[NodeUse], slow: &NodeUse) -> Option<String> {
    let share = grid.median(&slow.shares).filter(|share| *share > 0.0)?;
    let others = uses.iter().filter(|one| one.node != slow.node).filter_map(|one| grid.median(&one.shares));
    let fullest = others.fold(0.0, f64::max);
    let factor = (1.0 / share).min(if fullest > 0.0 { 1.0 / fullest } else { f64::INFINITY });
    (factor > 1.0 && factor.is_finite()).then(|| words::gives(factor))
}

/// Containers out of their quota: no comparison is needed to see that.
fn throttled(grid: &Grid<'_>) -> Vec<Scored> {
    let mut found = Vec::new();
    for (node, machine) in grid.nodes.iter().enumerate() {
        for (container, values) in grid.parts(ReadMeasure::Throttled, node) {
            // Where it has no value, it was not out of its quota.
            let judged = grid.is_busy.iter().filter(|busy| **busy).count().max(1) as f64;
            let share = grid.busy(values).iter().sum::<f64>() / judged;
            if share < THROTTLED {
                continue;
            }
            let claim = words::throttled(container, &machine.name, share);
            let suspect = Suspect {
                cause: Cause::Quota,
                node: Some(machine.name.clone()),
                part: (*container).to_owned(),
                claim: claim.clone(),
                weight: 0.0,
                evidence: vec![claim],
                remedy: words::remedy(Cause::Quota, container),
                gives: None,
            };
            found.push(Scored { suspect, log_odds: 5.0 + 5.0 * share.min(1.0) });
        }
    }
    // Of many, those that are out of it most.
    found.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds));
    found.truncate(8);
    found
}

/// A resource that is full at the middle node.
fn full(site: &Site, used: &UsedResource) -> Option<Scored> {
    // From where the curve of a closed load is, nine tenths of a ceiling are what many requests reach.
    const NEAR: f64 = 0.8;
    if used.share < NEAR {
        return None;
    }
    let claim = words::full(site, used);
    let suspect = Suspect {
        cause: Cause::Full,
        node: None,
        part: used.part.clone(),
        claim: claim.clone(),
        weight: 0.0,
        evidence: vec![claim],
        remedy: words::relief(used),
        gives: None,
    };
    // Processors may be busy with others, or wait for each other: they are full more often than they are the cause.
    let most = if used.resource == linerate_record::plan::Resource::Cpu { 6.0 } else { 9.0 };
    Some(Scored { suspect, log_odds: most - 25.0 * (1.0 - used.share.min(1.0)) })
}

/// A bond that has one member carry all, near that member's speed.
fn on_one_member(members: &MemberUse) -> Option<Scored> {
    const NEAR: f64 = 0.8;
    let most = f64::from(members.on_one_nodes) / f64::from(members.nodes.max(1));
    if most < 0.5 || members.busiest_used_share < NEAR {
        return None;
    }
    let claim = words::on_one(members);
    let suspect = Suspect {
        cause: Cause::BondMembers,
        node: None,
        part: members.bond.clone(),
        claim: claim.clone(),
        weight: 0.0,
        evidence: vec![claim],
        remedy: words::remedy(Cause::BondMembers, &members.bond),
        gives: Some(words::gives(f64::from(members.members) * members.busiest_share)),
    };
    Some(Scored { suspect, log_odds: 6.0 + 30.0 * (members.busiest_used_share.min(1.0) - NEAR) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_tells_something_of_its_own() {
        for (place, row) in ROWS.iter().enumerate() {
            let again = ROWS[..place].iter().any(|other| other.of == row.of && other.is_higher == row.is_higher);
            assert!(!again && row.worth > NONE_OF_THESE, "{:?}", row.of);
        }
    }
}
