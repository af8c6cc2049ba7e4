//! Pairs without any figure: the machine that all of them have in common, and what connections that bring nothing say.

use linerate_record::finding::{Confidence, Severity};
use linerate_record::net::NetOp;

use super::{pair_name, plural};
use crate::net::pairs::NOTHING_RECEIVED;
use crate::net::view::{NetFinding, NetFindingKind, NetPairFigures, NetView};

/// Fewest pairs without figures of which one machine can be the reason: a single pair has two.
const PAIRS_LEAST: usize = 2;

/// What pairs have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SharedMachine {
    /// All are sent by this machine.
    From(u32),
    /// All are received by it.
    To(u32),
    /// It is at one end of each.
    Of(u32),
}

impl SharedMachine {
    const fn node(self) -> u32 {
        match self {
            SharedMachine::From(node) | SharedMachine::To(node) | SharedMachine::Of(node) => node,
        }
    }

    fn said(self, view: &NetView) -> String {
        let name = view.name(self.node());
        match self {
            SharedMachine::From(_) => format!("all that {name} sends"),
            SharedMachine::To(_) => format!("all to {name}"),
            SharedMachine::Of(_) => format!("all to or from {name}"),
        }
    }
}

/// The machine that all of some pairs have, and no other machine has.
fn shared(pairs: &[&NetPairFigures]) -> Option<SharedMachine> {
    let first = pairs.first().filter(|_| pairs.len() >= PAIRS_LEAST)?;
    let has = |node: u32| pairs.iter().all(|pair| pair.from == node || pair.to == node);
    match [has(first.from), has(first.to)] {
        // One pair with several numbers of streams, or its two directions.
        [true, true] | [false, false] => None,
        [true, false] if pairs.iter().all(|pair| pair.from == first.from) => Some(SharedMachine::From(first.from)),
        [false, true] if pairs.iter().all(|pair| pair.to == first.to) => Some(SharedMachine::To(first.to)),
        [true, false] => Some(SharedMachine::Of(first.from)),
        [false, true] => Some(SharedMachine::Of(first.to)),
    }
}

fn without<'v>(pairs: impl Iterator<Item = &'v NetPairFigures>) -> Vec<&'v NetPairFigures> {
    pairs.filter(|pair| pair.visits == 0).collect()
}

/// Whose pairs have no figures, where that is one machine; else empty.
pub(super) fn in_short(view: &NetView) -> String {
    let failed = without(view.compared());
    let Some(shared) = shared(&failed) else { return String::new() };
    let all = view.compared().count();
    format!("{} of {} have no figures: {}", failed.len(), plural(all, "pair"), shared.said(view))
}

pub(super) fn finding(view: &NetView) -> Option<NetFinding> {
    let failed = without(view.pairs.iter());
    let first = failed.first()?;
    let is_most = failed.len() * 2 > view.pairs.len();
    let shared = shared(&failed);
    let said = shared.map_or_else(String::new, |shared| format!(": {}", shared.said(view)));
    Some(NetFinding {
        kind: NetFindingKind::VisitsFailed,
        severity: if is_most { Severity::Critical } else { Severity::Warning },
        confidence: Confidence::Certain,
        nodes: shared.map(SharedMachine::node).into_iter().collect(),
        claim: format!("no figures of {} of {}{said}", failed.len(), plural(view.pairs.len(), "pair")),
        evidence: format!("{}: {}", pair_name(view, first.from, first.to), first.reasons.join("; ")),
        remedy: remedy(view.load.op, &failed).to_owned(),
    })
}

/// A flow that was proven had a connection: small packets came, and its payload did not.
fn remedy(op: NetOp, failed: &[&NetPairFigures]) -> &'static str {
    let is_nothing = |pair: &&NetPairFigures| pair.reasons.iter().all(|reason| reason == NOTHING_RECEIVED);
    match op {
        NetOp::Stream if failed.iter().all(is_nothing) => {
            "connections are made and no full packet comes, as over an MTU that differs or a black hole: --op mtu \
             finds what each path carries, and names its side"
        }
        NetOp::Udp { .. } if failed.iter().all(is_nothing) => {
            "a firewall that takes TCP and not UDP; or datagrams that no path carries: --op mtu, --datagram-size"
        }
        _ => "whether the address is reached from there, and whether a firewall lets the port through",
    }
}
