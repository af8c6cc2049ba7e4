//! Losses of machines that send to one at the same time: what they share is the port to it.

use linerate_record::finding::{Confidence, Severity};
use linerate_record::lines::listed;
use linerate_record::net::NetWay;
use linerate_record::units::percent;

use super::{LOST, NAMED, pair_name, plural};
use crate::net::view::{NetFinding, NetFindingKind, NetPairFigures, NetView};

/// So many senders that lose packets have one port in common; of a single one, it is any on its way.
const SENDERS_LEAST: usize = 2;

/// From so many receivers on, one claim is made of all of them.
const RECEIVERS_MANY: usize = 3;

/// What senders lose to one receiver.
struct LossyPort<'v> {
    node: u32,
    senders: usize,
    lossy: usize,
    worst: &'v NetPairFigures,
    worst_share: f64,
    /// What comes of all senders together, in bytes per second.
    together_per_s: f64,
}

/// What a pair loses on its way: segments that were sent again, or datagrams that did not come as far as the receiver's
/// sockets. What these drop came by the port.
fn lost_share(pair: &NetPairFigures) -> Option<f64> {
    let of_datagrams = pair.datagrams.map(|of| (of.lost_share - of.socket_drops_share).max(0.0));
    of_datagrams.or(pair.retransmitted_share)
}

/// Receivers to which most senders lose packets where all of them send at once.
pub(super) fn incast(view: &NetView) -> Vec<NetFinding> {
    if view.load.way != NetWay::Incast {
        return Vec::new();
    }
    let found: Vec<LossyPort<'_>> = (0..view.nodes.len() as u32).filter_map(|node| of_receiver(view, node)).collect();
    if found.len() < RECEIVERS_MANY {
        return found.iter().map(|of| of_one(view, of)).collect();
    }
    vec![of_many(view, found)]
}

fn of_receiver(view: &NetView, node: u32) -> Option<LossyPort<'_>> {
    let senders: Vec<&NetPairFigures> =
        view.compared().filter(|pair| pair.to == node && lost_share(pair).is_some()).collect();
    let share = |pair: &NetPairFigures| lost_share(pair).unwrap_or(0.0);
    let lossy: Vec<&NetPairFigures> = senders.iter().copied().filter(|pair| share(pair) >= LOST).collect();
    if lossy.len() < SENDERS_LEAST || 2 * lossy.len() <= senders.len() {
        return None;
    }
    let worst = lossy.iter().copied().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    // A visit in which nothing came has no rate, and is none in what all give together.
    let of_all_visits = |pair: &&NetPairFigures| {
        let share = f64::from(pair.visits) / f64::from((pair.visits + pair.failed).max(1));
        pair.per_s.map(|rate| rate.mean * share)
    };
    Some(LossyPort {
        node,
        senders: senders.len(),
        lossy: lossy.len(),
        worst,
        worst_share: share(worst),
        together_per_s: senders.iter().filter_map(of_all_visits).sum(),
    })
}

/// How many of the senders lose, which of them the most, and what comes.
fn evidence(view: &NetView, of: &LossyPort<'_>) -> String {
    format!(
        "{} of {} lose {} or more, most {}: {}; {} gets {} of all together",
        of.lossy,
        of.senders,
        percent(LOST),
        pair_name(view, of.worst.from, of.worst.to),
        percent(of.worst_share),
        view.name(of.node),
        view.rate(of.together_per_s)
    )
}

fn of_one(view: &NetView, of: &LossyPort<'_>) -> NetFinding {
    let name = view.name(of.node);
    NetFinding {
        kind: NetFindingKind::Incast,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        nodes: vec![of.node],
        claim: format!(
            "incast: {} send to {name} at once and lose packets at the port to it, which they share",
            plural(of.senders, "machine")
        ),
        evidence: evidence(view, of),
        remedy: format!(
            "the drops and the buffer of the switch's port to {name}, its own rings (nic.ring.rx), and fewer that send \
             to one at once"
        ),
    }
}

/// The same of many receivers, those first whose senders lose most.
fn of_many(view: &NetView, mut found: Vec<LossyPort<'_>>) -> NetFinding {
    found.sort_by(|a, b| b.worst_share.total_cmp(&a.worst_share));
    let names: Vec<&str> = found.iter().map(|of| view.name(of.node)).collect();
    let worst = found.first().map_or_else(String::new, |of| evidence(view, of));
    let least = found.iter().map(|of| of.together_per_s).fold(f64::INFINITY, f64::min);
    NetFinding {
        kind: NetFindingKind::Incast,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        nodes: found.iter().map(|of| of.node).collect(),
        claim: format!(
            "incast: all that send to one at once lose packets at the port to it, which they share: to {} of {}",
            found.len(),
            plural(view.nodes.len(), "machine")
        ),
        evidence: format!(
            "to {}; {worst}; the least that one gets of all together is {}",
            listed(&names, NAMED),
            view.rate(least)
        ),
        remedy:
            "the drops and the buffers of the switch's ports to them, their own rings (nic.ring.rx), and fewer that \
                 send to one at once"
                .to_owned(),
    }
}
