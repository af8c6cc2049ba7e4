//! What can have held the site back: odd readings as causes, and resources that are full everywhere, with weights.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::diagnosis::{Cause, MemberUse, OutlierKind, OutlierReading, ResourceUse, Suspect};
use linerate_record::plan::Resource;
use linerate_record::readings::ReadMeasure;
use linerate_record::site::Site;

use super::joint_limits::{SteadyWay, ways};
use super::readings_grid::{Grid, quantile};
use super::resources::{FULL, NodeUse};
use super::served_load::{is_by_clients, is_carried, under_way};
use super::{flapping, losses, lost_members, quotas, retransmissions, sentences};

/// How an odd reading tells of a cause.
struct CauseRow {
    of: OutlierKind,
    /// Whether it is odd by being higher; else lower.
    is_higher: bool,
    cause: Cause,
    /// What it is worth at the most, in log odds: a limit that is seen is worth more than what may follow from one.
    worth: f64,
}

const fn row(of: OutlierKind, is_higher: bool, cause: Cause, worth: f64) -> CauseRow {
    CauseRow { of, is_higher, cause, worth }
}

/// Everything that odd readings tell of by themselves. A judgement: what is closer to the cause is worth more.
const ROWS: &[CauseRow] = &[
    row(OutlierKind::Steadiness(ReadMeasure::LinkSent), false, Cause::SlowLinkSending, 10.0),
    row(OutlierKind::Steadiness(ReadMeasure::LinkReceived), false, Cause::SlowLinkReceiving, 10.0),
    row(OutlierKind::Value(ReadMeasure::LinkSpeed), false, Cause::LinkSpeed, 11.0),
    row(OutlierKind::Value(ReadMeasure::LinkErrors), true, Cause::LossyLink, 9.0),
    row(OutlierKind::Value(ReadMeasure::Retransmitted), true, Cause::LossyLink, 7.0),
    row(OutlierKind::Value(ReadMeasure::LinkReceivedDrops), true, Cause::LossyLink, 7.0),
    row(OutlierKind::Value(ReadMeasure::LinkSentDrops), true, Cause::LossyLink, 7.0),
    row(OutlierKind::Value(ReadMeasure::LinkRingDrops), true, Cause::LossyLink, 7.0),
    row(OutlierKind::Value(ReadMeasure::LinkPaused), true, Cause::Paused, 7.0),
    row(OutlierKind::Value(ReadMeasure::LinkMtu), true, Cause::Mtu, 9.0),
    row(OutlierKind::Value(ReadMeasure::LinkMtu), false, Cause::Mtu, 9.0),
    row(OutlierKind::Value(ReadMeasure::CoreFrequency), false, Cause::SlowProcessors, 8.0),
    row(OutlierKind::Value(ReadMeasure::DriveTemperature), true, Cause::SlowDrive, 6.0),
    row(OutlierKind::Value(ReadMeasure::DriveDiscarded), true, Cause::OtherWork, 6.0),
    row(OutlierKind::Value(ReadMeasure::DriveLatency), true, Cause::SlowDrive, 9.0),
    row(OutlierKind::Value(ReadMeasure::DriveQueue), true, Cause::SlowDrive, 8.0),
    row(OutlierKind::Value(ReadMeasure::DriveRead), true, Cause::OtherWork, 8.0),
    row(OutlierKind::Value(ReadMeasure::DriveWritten), true, Cause::OtherWork, 8.0),
    row(OutlierKind::Value(ReadMeasure::CoresStolen), true, Cause::StolenProcessors, 9.0),
    row(OutlierKind::Value(ReadMeasure::CoresBusy), true, Cause::BusyProcessors, 7.0),
    row(OutlierKind::Value(ReadMeasure::CpuPressure), true, Cause::BusyProcessors, 8.0),
    row(OutlierKind::Value(ReadMeasure::MemoryPressure), true, Cause::Memory, 8.0),
    row(OutlierKind::Value(ReadMeasure::ClientSent), true, Cause::UnevenLoad, 7.0),
    row(OutlierKind::Value(ReadMeasure::ClientReceived), true, Cause::UnevenLoad, 7.0),
    row(OutlierKind::Value(ReadMeasure::LinkSent), true, Cause::UnevenLoad, 5.0),
    row(OutlierKind::Value(ReadMeasure::LinkReceived), true, Cause::UnevenLoad, 5.0),
    row(OutlierKind::Value(ReadMeasure::InFlight), true, Cause::SlowNode, 6.0),
    row(OutlierKind::Value(ReadMeasure::Waiting), true, Cause::SlowNode, 5.0),
    row(OutlierKind::Value(ReadMeasure::ClientSent), false, Cause::SlowNode, 6.0),
    row(OutlierKind::Value(ReadMeasure::ClientReceived), false, Cause::SlowNode, 6.0),
    row(OutlierKind::Value(ReadMeasure::LinkSent), false, Cause::SlowNode, 5.0),
    row(OutlierKind::Value(ReadMeasure::LinkReceived), false, Cause::SlowNode, 5.0),
    row(OutlierKind::Value(ReadMeasure::IoPressure), true, Cause::SlowDrive, 6.0),
];

/// What another odd reading of the same node adds to a cause of it, in log odds.
const ALONGSIDE: f64 = 1.0;

/// Log odds of a cause that no reading shows. What is odd beyond all doubt is worth [`ROWS`]'s most.
const NONE_OF_THESE: f64 = 3.0;

/// What is seldom, or was there for a short time, is worth no more, in log odds: less than any limit that is seen.
pub(super) const BELOW_LIMITS: f64 = 4.0;

/// What is explained by another cause of the same node is worth so much less than that one, in log odds.
pub(super) const EXPLAINED: f64 = 1.5;

/// What was seen for too short a time, in log odds: less than what no reading shows.
const IN_DOUBT: f64 = NONE_OF_THESE - EXPLAINED;

/// From such a share of segments on that are sent again, losses are the limit at which a link stays.
pub(super) const LOSSY: f64 = 0.01;

/// More nodes than this that do more than others at once do so for clients: of hot objects, or of a set.
const ALONE: usize = 2;

/// A node that is slow has so many times more requests under way for what it serves than others.
const SLOWER: f64 = 1.15;

/// Drives of which the middle node uses so much are what requests wait for, on every node.
const FULL_DRIVES: f64 = 0.85;

/// Processors of which less is busy hold nobody back, however much busier they are than others'.
const CORES_MATTER: f64 = 0.4;

/// The same of links, of which more is used for what is not for clients.
const LINKS_MATTER: f64 = 0.5;

/// The same of what is served, beside what is served the other way.
const SERVED_MATTERS: f64 = 0.1;

/// The same of a port that is slower than others': of what it has, not of what it should have.
const SPEED_MATTERS: f64 = 0.3;

/// The same of segments that are sent again, in windows that are not long.
const LOSSES_MATTER: f64 = 0.015;
const LONG_MS: u64 = 60_000;

/// A cause, before it has a weight.
pub(super) struct ScoredCause {
    pub(super) suspect: Suspect,
    pub(super) log_odds: f64,
    /// The kernel counts tasks that a quota stops as tasks that wait for a processor: of a node whose cores are no
    /// busier than others', no more than that is known.
    pub(super) waits_alone: bool,
}

impl ScoredCause {
    /// A suspect that one sentence tells of and shows.
    pub(super) fn new(cause: Cause, node: Option<String>, part: &str, claim: String, log_odds: f64) -> ScoredCause {
        let suspect = Suspect {
            cause,
            node,
            part: part.to_owned(),
            evidence: vec![claim.clone()],
            claim,
            weight: 0.0,
            remedy: sentences::remedy(cause, part),
            gives: None,
        };
        ScoredCause { suspect, log_odds, waits_alone: false }
    }

    /// Adds what another shows as well, but for what is there already.
    pub(super) fn shows_as_well(&mut self, evidence: Vec<String>) {
        let known = self.suspect.evidence.clone();
        self.suspect.evidence.extend(evidence.into_iter().filter(|one| !known.contains(one)));
    }
}

/// What was seen without a comparison of nodes.
pub(super) struct DirectObservations {
    pub(super) suspects: Vec<ScoredCause>,
    /// Nodes whose links lose nothing, by their sockets.
    pub(super) not_lossy: Vec<String>,
    /// Nodes of racks whose uplinks are a suspect, with what that is worth.
    pub(super) behind_uplinks: BTreeMap<String, f64>,
    /// Nodes of racks that were gone at once, for long.
    pub(super) gone: BTreeSet<String>,
}

/// All suspects, the likeliest first, and the weight of none of them.
pub(super) fn suspects(
    grid: &Grid<'_>,
    site: &Site,
    outlier: &[OutlierReading],
    uses: &[NodeUse],
    used: &[ResourceUse],
    members: &[MemberUse],
    seen: DirectObservations,
) -> (Vec<Suspect>, f64) {
    let mut all = of_nodes(grid, outlier, uses, &seen.not_lossy);
    lost_members::joined(&mut all, grid, site);
    flapping::joined(&mut all, grid);
    all.extend(quotas::throttled(grid));
    let losses = losses::all_the_time(grid).filter(|one| !is_among(&seen.not_lossy, one));
    let of_losses = losses.as_ref().map(|one| one.log_odds);
    all.extend(losses);
    all.extend(seen.suspects);
    once(&mut all);
    // What nodes of a rack that is gone lack, they do not lack by themselves.
    all.retain(|one| one.suspect.node.as_ref().is_none_or(|node| !seen.gone.contains(node)));
    retransmissions::shown(&mut all, grid);
    let waited = waited(grid);
    all.extend(used.iter().filter_map(|one| full(site, one, waited, of_losses)));
    all.extend(members.iter().filter_map(on_one_member));
    beyond_nodes(&mut all, used, &seen.behind_uplinks);
    if !grid.has_halves() {
        all.iter_mut().for_each(|one| one.log_odds = one.log_odds.min(IN_DOUBT));
    }
    all.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds));
    let sum: f64 = all.iter().map(|one| one.log_odds.exp()).sum::<f64>() + NONE_OF_THESE.exp();
    let weighted = all
        .into_iter()
        .map(|ScoredCause { suspect, log_odds, .. }| Suspect { weight: log_odds.exp() / sum, ..suspect });
    (weighted.collect(), NONE_OF_THESE.exp() / sum)
}

/// Whether a suspect is at one of these nodes.
fn is_among(nodes: &[String], one: &ScoredCause) -> bool {
    one.suspect.node.as_ref().is_some_and(|node| nodes.contains(node))
}

/// The same cause of the same node, seen in two ways, is one: the likelier, with what the other shows.
fn once(all: &mut Vec<ScoredCause>) {
    let mut place = 0;
    while place < all.len() {
        let is_same = |one: &ScoredCause| {
            (one.suspect.cause, &one.suspect.node) == (all[place].suspect.cause, &all[place].suspect.node)
        };
        let again = (0..place).find(|before| is_same(&all[*before]) && all[*before].suspect.node.is_some());
        let Some(before) = again else {
            place += 1;
            continue;
        };
        let mut other = all.remove(place);
        if other.log_odds > all[before].log_odds {
            std::mem::swap(&mut all[before], &mut other);
        }
        all[before].shows_as_well(other.suspect.evidence);
        all[before].log_odds += ALONGSIDE;
    }
}

/// A thread of the engine that is busy all the time, at most nodes.
pub(super) fn busy_thread(grid: &Grid<'_>) -> Option<ScoredCause> {
    const BUSY: f64 = 0.95;
    let of_node = |node: usize| {
        let parts = grid.parts(ReadMeasure::BusiestThread, node).iter();
        parts.filter_map(|(part, values)| Some((grid.median(values)?, *part))).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let each: Vec<(f64, &str)> = (0..grid.nodes.len()).filter_map(of_node).collect();
    let busy: Vec<&(f64, &str)> = each.iter().filter(|(share, _)| *share >= BUSY).collect();
    let (_, part) = busy.first().filter(|_| 2 * busy.len() >= grid.nodes.len())?;
    let claim =
        format!("one thread of the engine, {part}, is busy all the time at {} of {} nodes", busy.len(), each.len());
    Some(ScoredCause::new(Cause::BusyThread, None, part, claim, 6.0))
}

/// What is seen without any comparison explains what is odd: a quota that its node's links stay where they are, a
/// rack's uplinks that its nodes are slow, drives that are full everywhere that requests wait longest at the slowest of
/// many that are alike. What many nodes do more of at once is no work of a node's own.
fn beyond_nodes(all: &mut [ScoredCause], used: &[ResourceUse], behind_uplinks: &BTreeMap<String, f64>) {
    let is_full = |one: &ResourceUse| one.resource == Resource::DriveBandwidth && one.share >= FULL_DRIVES;
    let drives_full = used.iter().any(is_full);
    let of_quota = |all: &[ScoredCause], node: &Option<String>| {
        let quotas = all.iter().filter(|one| one.suspect.cause == Cause::Quota && one.suspect.node == *node);
        quotas.map(|one| one.log_odds).reduce(f64::max)
    };
    let of_full = all.iter().filter(|one| one.suspect.cause == Cause::Full).map(|one| one.log_odds).reduce(f64::max);
    let is_window = |one: &&ScoredCause| one.suspect.cause == Cause::ReceiveWindow && one.suspect.node.is_none();
    let of_window = all.iter().find(is_window).map(|one| one.log_odds);
    let is_of_clients = |one: &&ScoredCause| matches!(one.suspect.cause, Cause::ClientLimit | Cause::PacedLoad);
    let of_clients = all.iter().find(is_of_clients).map(|one| one.log_odds);
    let working = all.iter().filter(|one| one.suspect.cause == Cause::OtherWork).count();
    for place in 0..all.len() {
        let by = match all[place].suspect.cause {
            Cause::SlowLinkSending | Cause::SlowLinkReceiving | Cause::SlowNode => {
                let quota_suspect = of_quota(all, &all[place].suspect.node);
                let of_uplinks = all[place].suspect.node.as_ref().and_then(|node| behind_uplinks.get(node).copied());
                // Clients that are steadier than any node decide how steady nodes are.
                [quota_suspect, of_uplinks, of_clients.filter(|_| all[place].suspect.cause != Cause::SlowNode)]
                    .into_iter()
                    .flatten()
                    .reduce(f64::min)
            }
            Cause::SlowDrive if drives_full => of_full,
            Cause::BusyProcessors if all[place].waits_alone => of_quota(all, &all[place].suspect.node),
            // What a window lets through is steady, and so is the link that it passes.
            Cause::ClientLimit | Cause::PacedLoad => of_window,
            // A link that is full keeps windows and buffers full as well.
            Cause::ReceiveWindow | Cause::SendBuffer => of_full,
            Cause::OtherWork if working > ALONE => Some(NONE_OF_THESE),
            _ => None,
        };
        if let Some(by) = by {
            all[place].log_odds = all[place].log_odds.min(by - EXPLAINED);
        }
    }
}

/// What an odd reading is worth: no more than its row says, and no more than its chance does; less than an unknown
/// cause if it is not there in both halves of the window.
fn worth(row: &CauseRow, outlier: &OutlierReading) -> f64 {
    let most = if outlier.is_lasting { row.worth } else { IN_DOUBT };
    most.min(-outlier.chance.max(1e-300).ln())
}

fn tells(row: &CauseRow, outlier: &OutlierReading) -> bool {
    row.of == outlier.of && row.is_higher == (outlier.sigmas > 0.0)
}

/// `not_lossy` has nodes whose links lose nothing, by their sockets.
fn of_nodes(grid: &Grid<'_>, outlier: &[OutlierReading], uses: &[NodeUse], not_lossy: &[String]) -> Vec<ScoredCause> {
    let mut found: Vec<ScoredCause> = Vec::new();
    let mut nodes: Vec<&str> = outlier.iter().map(|one| one.node.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    for node in nodes {
        let of_node: Vec<&OutlierReading> = outlier.iter().filter(|one| one.node == node).collect();
        let mut causes: Vec<(Cause, f64, &OutlierReading)> = Vec::new();
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
        let by_clients = |outlier: &OutlierReading| is_by_clients(grid, outlier);
        explained(&mut causes, &of_node, is_read(grid, node), &by_clients);
        let lasting = of_node.iter().filter(|one| one.is_lasting).count();
        let alongside = ALONGSIDE * lasting.saturating_sub(1) as f64;
        found.extend(causes.into_iter().map(|(cause, worth, lead)| {
            let mut evidence = vec![lead.claim.clone()];
            evidence.extend(of_node.iter().filter(|one| **one != lead).map(|one| one.claim.clone()));
            let of_link = uses.iter().find(|one| is_on_slow_link(grid, one, cause, lead));
            let together =
                of_link.and_then(|one| ways(node, &steady_way(grid, one)?, &other_ways(grid, uses, &of_node, lead)));
            let suspect = Suspect {
                cause,
                node: Some(node.to_owned()),
                part: lead.part.clone(),
                // What healing one of several gives, nobody knows.
                gives: of_link.filter(|_| together.is_none()).and_then(|one| gives(grid, uses, one)),
                claim: together.unwrap_or_else(|| {
                    sentences::cause(cause, node, lead, of_link.map(|one| (one.capacity, grid.median(&one.shares))))
                }),
                weight: 0.0,
                evidence,
                remedy: sentences::remedy(cause, &lead.part),
            };
            // What is sent again to one peer, and not to others, no link loses.
            let is_no_link = lead.of == OutlierKind::Value(ReadMeasure::Retransmitted)
                && cause == Cause::LossyLink
                && not_lossy.iter().any(|of| of == node);
            let most = if is_no_link || !lead.is_lasting { IN_DOUBT } else { f64::INFINITY };
            let waits_alone = cause == Cause::BusyProcessors && !of_node.iter().any(|one| is_busier(one));
            ScoredCause { suspect, log_odds: (worth + alongside.min(3.0)).min(most), waits_alone }
        }));
    }
    found
}

/// A link of a node as it stays where it is.
fn steady_way(grid: &Grid<'_>, used: &NodeUse) -> Option<SteadyWay> {
    let is_sent = used.resource.is_sent_by_node();
    let share = grid.median(&used.shares)?;
    Some(SteadyWay { part: used.part.clone(), is_sent, capacity: used.capacity, share })
}

/// Other links of the same node, and other directions, that stay where they are as the one which leads does.
fn other_ways(grid: &Grid<'_>, uses: &[NodeUse], of_node: &[&OutlierReading], lead: &OutlierReading) -> Vec<SteadyWay> {
    let steady = |outlier: &OutlierReading| {
        let row = ROWS.iter().find(|row| matches!(row.of, OutlierKind::Steadiness(_)) && tells(row, outlier))?;
        let used = uses.iter().find(|one| is_on_slow_link(grid, one, row.cause, outlier))?;
        steady_way(grid, used).filter(|_| held_back(grid, uses, row, outlier))
    };
    of_node.iter().filter(|outlier| **outlier != lead).filter_map(|outlier| steady(outlier)).collect()
}

/// Whether the cores of a node are busier than others', by themselves.
fn is_busier(outlier: &OutlierReading) -> bool {
    outlier.of == OutlierKind::Value(ReadMeasure::CoresBusy) && outlier.sigmas > 0.0
}

/// Whether the engine's bytes of a node are read.
fn is_read(grid: &Grid<'_>, node: &str) -> bool {
    let place = grid.place(node);
    let has = |of: ReadMeasure| place.is_some_and(|place| grid.whole(of, place).is_some());
    has(ReadMeasure::ClientSent) && has(ReadMeasure::ClientReceived)
}

/// What one cause of a node explains of its others. A limit that is seen explains that a node is slow, and that its
/// links stay where they are; more requests explain busier processors; more bytes explain that a drive takes longer.
fn explained(
    causes: &mut Vec<(Cause, f64, &OutlierReading)>,
    of_node: &[&OutlierReading],
    is_read: bool,
    is_by_clients: &dyn Fn(&OutlierReading) -> bool,
) {
    use ReadMeasure as M;
    let is_higher = |of: M| of_node.iter().any(|one| one.of == OutlierKind::Value(of) && one.sigmas > 0.0);
    let worth = |causes: &[(Cause, f64, &OutlierReading)], is_cause: &dyn Fn(Cause) -> bool| {
        causes.iter().filter(|(cause, ..)| is_cause(*cause)).map(|(_, worth, _)| *worth).fold(0.0, f64::max)
    };
    // What clients get may be too near to that of others to be odd, and still be what the link has more.
    let is_for_clients =
        |(cause, _, outlier): &(Cause, f64, &OutlierReading)| *cause == Cause::UnevenLoad && is_by_clients(outlier);
    let serves_more = is_higher(M::ClientSent) || is_higher(M::ClientReceived) || causes.iter().any(is_for_clients);
    let less = |causes: &mut Vec<(Cause, f64, &OutlierReading)>, which: &[Cause], by: f64| {
        for (cause, worth, _) in causes.iter_mut().filter(|_| by > 0.0) {
            if which.contains(cause) {
                *worth = worth.min(by - EXPLAINED);
            }
        }
    };
    if serves_more {
        // A node that serves more is no slower than others, and does what it does for clients.
        let more = worth(causes, &|cause| cause == Cause::UnevenLoad);
        less(causes, &[Cause::BusyProcessors, Cause::OtherWork, Cause::SlowNode], more);
        less(causes, &[Cause::SlowLinkSending, Cause::SlowLinkReceiving, Cause::SlowDrive], more);
    } else if is_read {
        for (cause, worth, _) in causes.iter_mut().filter(|(cause, ..)| *cause == Cause::UnevenLoad) {
            (*cause, *worth) = (Cause::OtherWork, *worth + 2.0);
        }
        let most = worth(causes, &|cause| cause == Cause::OtherWork);
        let mut is_first = true;
        causes.retain(|(cause, worth, _)| {
            *cause != Cause::OtherWork || (*worth >= most && std::mem::take(&mut is_first))
        });
    }
    let other = worth(causes, &|cause| cause == Cause::OtherWork);
    less(causes, &[Cause::SlowDrive, Cause::BusyProcessors], other);
    let is_lossy = is_higher(M::LinkErrors)
        || of_node.iter().any(|one| one.of == OutlierKind::Value(M::Retransmitted) && one.value >= LOSSY);
    let is_limit = |cause: Cause| match cause {
        Cause::LossyLink => is_lossy,
        Cause::LinkSpeed | Cause::SlowDrive | Cause::StolenProcessors | Cause::BusyProcessors => true,
        Cause::Memory | Cause::OtherWork => true,
        _ => false,
    };
    let limit = worth(causes, &is_limit);
    less(causes, &[Cause::SlowLinkSending, Cause::SlowLinkReceiving], limit);
    if causes.iter().any(|(cause, ..)| !matches!(cause, Cause::SlowNode | Cause::UnevenLoad)) {
        causes.retain(|(cause, ..)| *cause != Cause::SlowNode);
    }
    // Two ways that stay where they are together are one limit: that of the one which is steadier.
    let is_way = |cause: Cause| matches!(cause, Cause::SlowLinkSending | Cause::SlowLinkReceiving);
    let ways = causes.iter().filter(|(cause, ..)| is_way(*cause));
    let steadiest = ways.min_by(|a, b| (a.2.value / a.2.others).total_cmp(&(b.2.value / b.2.others)));
    if let Some(steadiest) = steadiest.map(|(cause, ..)| *cause) {
        causes.retain(|(cause, ..)| !is_way(*cause) || *cause == steadiest);
    }
}

/// Whether a use is that of the link which is slow.
fn is_on_slow_link(grid: &Grid<'_>, used: &NodeUse, cause: Cause, lead: &OutlierReading) -> bool {
    use linerate_record::plan::Resource as R;
    let is_that_way = match cause {
        Cause::SlowLinkSending => matches!(used.resource, R::PublicEgress | R::PrivateEgress),
        Cause::SlowLinkReceiving => matches!(used.resource, R::PublicIngress | R::PrivateIngress),
        _ => false,
    };
    is_that_way && grid.nodes[used.node].name == lead.node && used.part == lead.part
}

/// Whether what is odd can hold a node back. A steady link that is at its ceiling is full, as it should be, and no
/// slower than others; one of a node whose processors or drives are full stays where these let it; processors that are
/// half idle are busy with something, and wait for nobody.
fn held_back(grid: &Grid<'_>, uses: &[NodeUse], row: &CauseRow, outlier: &OutlierReading) -> bool {
    let of_node = || uses.iter().filter(|one| grid.nodes[one.node].name == outlier.node);
    let share = |one: &NodeUse| grid.median(&one.shares);
    let of_link = || {
        let links = of_node().filter(|one| one.resource.is_link() && one.part == outlier.part);
        links.filter_map(share).fold(0.0, f64::max)
    };
    match row.of {
        OutlierKind::Steadiness(_) => {
            let link = of_node().find(|one| is_on_slow_link(grid, one, row.cause, outlier)).and_then(share);
            let is_elsewhere =
                of_node().any(|one| !one.resource.is_link() && share(one).is_some_and(|share| share >= FULL));
            link.is_some_and(|share| share < FULL) && !is_elsewhere
        }
        // Cores that have little to do hold nobody back.
        OutlierKind::Value(ReadMeasure::CoresBusy | ReadMeasure::CoreFrequency) => {
            let busy = of_node().find(|one| one.resource == Resource::Cpu).and_then(share);
            busy.is_none_or(|share| share >= CORES_MATTER)
        }
        // Of a short window, queues that overflow for some moments are about a hundredth, at any node.
        OutlierKind::Value(ReadMeasure::Retransmitted) => outlier.value >= LOSSES_MATTER || grid.judged_ms() >= LONG_MS,
        // A port that is seldom used holds nobody back.
        OutlierKind::Value(ReadMeasure::LinkSpeed) => {
            let used = of_link() * outlier.others / outlier.value.max(1.0);
            used == 0.0 || used >= SPEED_MATTERS
        }
        // More work on a link that has room for it holds nobody back; in a short window, a few objects are more.
        OutlierKind::Value(ReadMeasure::LinkSent | ReadMeasure::LinkReceived)
            if row.is_higher && is_read(grid, &outlier.node) =>
        {
            of_link() >= LINKS_MATTER || grid.judged_ms() >= LONG_MS
        }
        // Lists and health checks are no load beside one of the other operation.
        OutlierKind::Value(of @ (ReadMeasure::ClientSent | ReadMeasure::ClientReceived)) if row.is_higher => {
            let other =
                if of == ReadMeasure::ClientSent { ReadMeasure::ClientReceived } else { ReadMeasure::ClientSent };
            let alongside =
                grid.place(&outlier.node).and_then(|place| grid.mean(grid.whole(other, place)?)).unwrap_or(0.0);
            outlier.value >= SERVED_MATTERS * alongside && is_carried(grid, outlier)
        }
        // Less is served by who is asked less, too: then it has fewer requests under way as well.
        OutlierKind::Value(_) if row.cause == Cause::SlowNode && !row.is_higher => {
            under_way(grid, &outlier.node).is_none_or(|times| times >= SLOWER)
        }
        OutlierKind::Value(_) => true,
    }
}

/// What healing a slow link gives: until it is as full as it was, or the fullest other link is.
fn gives(grid: &Grid<'_>, uses: &[NodeUse], slow: &NodeUse) -> Option<String> {
    let share = grid.median(&slow.shares).filter(|share| *share > 0.0)?;
    let others = uses.iter().filter(|one| one.node != slow.node).filter_map(|one| grid.median(&one.shares));
    let fullest = others.fold(0.0, f64::max);
    let factor = (1.0 / share).min(if fullest > 0.0 { 1.0 / fullest } else { f64::INFINITY });
    (factor > 1.0 && factor.is_finite()).then(|| sentences::gives(factor))
}

/// Share of the time in which tasks wait for a processor at the middle node; none where it was not read.
fn waited(grid: &Grid<'_>) -> f64 {
    let of_node = |node: usize| grid.median(grid.whole(ReadMeasure::CpuPressure, node)?);
    let mut all: Vec<f64> = (0..grid.nodes.len()).filter_map(of_node).collect();
    quantile(&mut all, 0.5).unwrap_or(0.0)
}

/// From such a share of the time on in which tasks wait for processors, these are what is waited for.
const WAITED: f64 = 0.1;

/// A resource that is full at the middle node. Links that are nearly full beside a node that loses packets all the
/// time, which is worth `of_losses`, are none: requests wait for what is sent again, and would fill links if they did
/// not.
fn full(site: &Site, used: &ResourceUse, waited: f64, of_losses: Option<f64>) -> Option<ScoredCause> {
    // From where the curve of a closed load is, nine tenths of a ceiling are what many requests reach.
    const NEAR: f64 = 0.8;
    if used.share < NEAR {
        return None;
    }
    let claim = sentences::full(site, used);
    // Processors may be busy with others, or wait for each other: they are full more often than they are the cause,
    // unless something waits for them.
    let is_cpu = used.resource == Resource::Cpu;
    let most = if is_cpu && waited < WAITED { 6.0 } else { 9.0 };
    let seen = most - 25.0 * (1.0 - used.share.min(1.0));
    let by = of_losses.filter(|_| used.resource.is_link() && used.share < FULL);
    let log_odds = by.map_or(seen, |by| seen.min(by - EXPLAINED));
    let scored = ScoredCause::new(Cause::Full, None, &used.part, claim, log_odds);
    Some(ScoredCause { suspect: Suspect { remedy: sentences::relief(used), ..scored.suspect }, ..scored })
}

/// A bond that has one member carry all, near that member's speed.
fn on_one_member(members: &MemberUse) -> Option<ScoredCause> {
    const NEAR: f64 = 0.8;
    let most = f64::from(members.on_one_nodes) / f64::from(members.nodes.max(1));
    if most < 0.5 || members.busiest_used_share < NEAR {
        return None;
    }
    let claim = sentences::on_one(members);
    let log_odds = 6.0 + 30.0 * (members.busiest_used_share.min(1.0) - NEAR);
    let scored = ScoredCause::new(Cause::BondMembers, None, &members.bond, claim, log_odds);
    let gives = Some(sentences::gives(f64::from(members.members) * members.busiest_share));
    Some(ScoredCause { suspect: Suspect { gives, ..scored.suspect }, ..scored })
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
