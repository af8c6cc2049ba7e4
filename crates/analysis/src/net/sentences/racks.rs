//! Machines of one rack that are slow together, but not with each other: what they share is the rack's uplinks.

use linerate_record::finding::{Confidence, Severity};
use linerate_record::units::percent;

use crate::median::median;
use crate::net::streams::MATTERS;
use crate::net::view::{NetFinding, NetFindingKind, NetPairFigures, NetSide, NetSlowNode, NetView};

/// Fewest machines of a rack that are slow together.
const MACHINES_LEAST: usize = 2;

/// Share of the machines of a rack that are slow from which the rack is the reason.
const MOST: f64 = 0.75;

pub(super) struct NetSlowRack<'v> {
    name: &'v str,
    machines: usize,
    pub(super) slow: Vec<u32>,
    side: NetSide,
    /// The middle of how much less its machines give than others.
    less_share: f64,
    /// Medians of its pairs with other racks, and of those within it, where there are some.
    across_per_s: f64,
    within_per_s: Option<f64>,
}

/// Racks of which most machines are slow, and pairs within are not.
pub(super) fn slow(view: &NetView) -> Vec<NetSlowRack<'_>> {
    let mut names: Vec<&str> = view.nodes.iter().filter_map(|node| node.rack.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < 2 { Vec::new() } else { names.into_iter().filter_map(|name| of_rack(view, name)).collect() }
}

fn of_rack<'v>(view: &'v NetView, name: &'v str) -> Option<NetSlowRack<'v>> {
    let is_in = |node: u32| view.nodes.get(node as usize).is_some_and(|of| of.rack.as_deref() == Some(name));
    let machines = (0..view.nodes.len() as u32).filter(|node| is_in(*node)).count();
    let slow: Vec<&NetSlowNode> = view.slow.nodes.iter().filter(|slow| is_in(slow.node)).collect();
    if slow.len() < MACHINES_LEAST || (slow.len() as f64) < MOST * machines as f64 {
        return None;
    }
    let side = slow.iter().map(|slow| slow.side).reduce(|a, b| if a == b { a } else { NetSide::Both })?;
    let median_of = |is_its: &dyn Fn(&NetPairFigures) -> bool| {
        let rates = view.compared().filter(|pair| is_its(pair)).filter_map(|pair| pair.per_s);
        median(rates.map(|rate| rate.mean).collect())
    };
    let across_per_s = median_of(&|pair: &NetPairFigures| match side {
        NetSide::Sends => is_in(pair.from) && !is_in(pair.to),
        NetSide::Receives => is_in(pair.to) && !is_in(pair.from),
        NetSide::Both => is_in(pair.from) != is_in(pair.to),
    })?;
    let within_per_s = median_of(&|pair: &NetPairFigures| is_in(pair.from) && is_in(pair.to));
    if within_per_s.is_some_and(|within| (1.0 - MATTERS) * within < across_per_s) {
        // They are slow with each other too: each by itself.
        return None;
    }
    Some(NetSlowRack {
        name,
        machines,
        slow: slow.iter().map(|slow| slow.node).collect(),
        side,
        less_share: median(slow.iter().map(|slow| slow.less_share).collect())?,
        across_per_s,
        within_per_s,
    })
}

impl NetSlowRack<'_> {
    /// What is slow, in a few words.
    pub(super) fn said(&self) -> String {
        let (name, less) = (self.name, percent(self.less_share));
        match self.side {
            NetSide::Sends => format!("rack {name} sends {less} less to other racks"),
            NetSide::Receives => format!("rack {name} receives {less} less from other racks"),
            NetSide::Both => format!("rack {name} sends and receives less to and from other racks, by {less}"),
        }
    }

    pub(super) fn finding(&self, view: &NetView) -> NetFinding {
        let within = match self.within_per_s {
            Some(within) => format!("; {} within the rack", view.rate(within)),
            None => "; no pair within the rack was measured".to_owned(),
        };
        NetFinding {
            kind: NetFindingKind::SlowRack,
            severity: Severity::Warning,
            confidence: if self.within_per_s.is_some() { Confidence::Likely } else { Confidence::Possible },
            nodes: self.slow.clone(),
            claim: self.said(),
            evidence: format!(
                "{} of its {} machines are slow beyond chance; {} at the median of its pairs with other racks{within}",
                self.slow.len(),
                self.machines,
                view.rate(self.across_per_s)
            ),
            remedy: "the uplinks of the rack's switch: one that is down, errors, members of their bond and its hash, \
                     how many there are for so many machines"
                .to_owned(),
        }
    }
}
