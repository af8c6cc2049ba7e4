//! Machines whose ports had no room for what came, or were told to pause: what nobody else's counters say.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, Severity};
use linerate_record::lines::listed;
use linerate_record::readings::ReadMeasure;
use linerate_record::units::count;

use super::{NAMED, plural};
use crate::net::drops::is_carrier;
use crate::net::pairs::NetSamples;
use crate::net::view::{NetFinding, NetFindingKind, NetView};

/// Packets, or pause frames, per second of a visit from which a port is named.
const LEAST_PER_S: f64 = 1.0;

/// What a port of one machine counted.
struct CountedPort<'v> {
    node: u32,
    interface: &'v str,
    /// Most per second, and in which visit that was.
    most_per_s: f64,
    visit: u32,
    /// Visits in which it counted enough, and in which the machine took part.
    visits: u32,
    of: u32,
}

/// Both kinds, each of all machines together.
pub(super) fn findings(view: &NetView, seen: &NetSamples<'_>) -> Vec<NetFinding> {
    [rings(view, seen), paused(view, seen)].into_iter().flatten().collect()
}

fn rings(view: &NetView, seen: &NetSamples<'_>) -> Option<NetFinding> {
    let found = counted(seen, ReadMeasure::LinkRingDrops);
    let worst = found.first()?;
    Some(NetFinding {
        kind: NetFindingKind::RingDrops,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        nodes: found.iter().map(|of| of.node).collect(),
        claim: format!("ports of {} had no room for packets that came", names(view, &found)),
        evidence: evidence(view, worst, "packets"),
        remedy: format!(
            "nic.ring.rx and nic.channels of {}; else cores that are too slow for its interrupts (nic.interrupts, \
             cpu.governor)",
            worst.interface
        ),
    })
}

fn paused(view: &NetView, seen: &NetSamples<'_>) -> Option<NetFinding> {
    let found = counted(seen, ReadMeasure::LinkPaused);
    let worst = found.first()?;
    Some(NetFinding {
        kind: NetFindingKind::Paused,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        nodes: found.iter().map(|of| of.node).collect(),
        claim: format!("ports of {} were told to pause what they send", names(view, &found)),
        evidence: evidence(view, worst, "pause frames"),
        remedy: format!(
            "who is slow behind that port: a receiver, or an uplink of the switch, whose buffers are full; flow \
             control of the port and of the switch (ethtool -a {}), by which one slow receiver is slow for all",
            worst.interface
        ),
    })
}

fn names(view: &NetView, found: &[CountedPort<'_>]) -> String {
    let names: Vec<&str> = found.iter().map(|of| view.name(of.node)).collect();
    listed(&names, NAMED)
}

fn evidence(view: &NetView, worst: &CountedPort<'_>, what: &str) -> String {
    format!(
        "most {} of {}: {} {what} a second in visit {}; it had some in {} of {}",
        worst.interface,
        view.name(worst.node),
        count(worst.most_per_s),
        worst.visit,
        worst.visits,
        plural(worst.of as usize, "visit")
    )
}

/// The port of each machine that counted most, the most first. Ports that carry nothing of the run are left out.
fn counted<'v>(seen: &NetSamples<'v>, measure: ReadMeasure) -> Vec<CountedPort<'v>> {
    let mut all: BTreeMap<(u32, &'v str), CountedPort<'v>> = BTreeMap::new();
    let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
    for visit in seen.visits {
        for machine in visit.machines.iter().filter(|machine| (machine.node as usize) < seen.ports.len()) {
            *taken.entry(machine.node).or_default() += 1;
            let carriers = &seen.ports[machine.node as usize].carriers;
            for value in machine.values.iter().filter(|of| of.of == measure && of.value >= LEAST_PER_S) {
                if !is_carrier(carriers, &value.part) {
                    continue;
                }
                let (node, interface) = (machine.node, value.part.as_str());
                let first = CountedPort { node, interface, most_per_s: 0.0, visit: visit.visit, visits: 0, of: 0 };
                let port = all.entry((node, interface)).or_insert(first);
                port.visits += 1;
                if value.value > port.most_per_s {
                    (port.most_per_s, port.visit) = (value.value, visit.visit);
                }
            }
        }
    }
    let mut all: Vec<CountedPort<'v>> = all.into_values().collect();
    all.sort_by(|a, b| b.most_per_s.total_cmp(&a.most_per_s));
    let mut named: Vec<CountedPort<'v>> = Vec::new();
    for port in all {
        if !named.iter().any(|other| other.node == port.node) {
            named.push(CountedPort { of: taken.get(&port.node).copied().unwrap_or(0), ..port });
        }
    }
    named
}
