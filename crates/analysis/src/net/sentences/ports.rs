//! Interfaces that differ from the others'.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, Severity};
use linerate_record::lines::listed;
use linerate_record::units::bits_per_s;

use super::NAMED;
use crate::net::view::{NetFinding, NetFindingKind, NetNodeFigures, NetView};

/// Machines whose interface has another speed or MTU than most.
pub(super) fn uneven(view: &NetView) -> Vec<NetFinding> {
    let speed = |node: &NetNodeFigures| node.speed_bits_per_s;
    let mtu = |node: &NetNodeFigures| node.mtu_bytes.map(u64::from);
    let speeds = differing(view, "speed", speed, |speed| bits_per_s(speed as f64));
    let mtus = differing(view, "MTU", mtu, |mtu| format!("{mtu} bytes"));
    speeds.into_iter().chain(mtus).collect()
}

fn differing(
    view: &NetView,
    what: &str,
    extract: impl Fn(&NetNodeFigures) -> Option<u64>,
    shown: impl Fn(u64) -> String,
) -> Option<NetFinding> {
    let mut machines: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for (place, node) in (0_u32..).zip(&view.nodes) {
        if let Some(value) = extract(node) {
            machines.entry(value).or_default().push(place);
        }
    }
    let usual = machines.iter().max_by_key(|(value, nodes)| (nodes.len(), **value)).map(|(value, _)| *value)?;
    let others = || machines.iter().filter(|(value, _)| **value != usual);
    let nodes: Vec<u32> = others().flat_map(|(_, nodes)| nodes.iter().copied()).collect();
    let named = |value: u64, nodes: &[u32]| {
        let names: Vec<&str> = nodes.iter().map(|node| view.name(*node)).collect();
        format!("{} of {}", shown(value), listed(&names, NAMED))
    };
    let said: Vec<String> = others().map(|(value, nodes)| named(*value, nodes)).collect();
    (!nodes.is_empty()).then(|| NetFinding {
        kind: NetFindingKind::UnevenPorts,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        nodes,
        claim: format!("interfaces differ in their {what}"),
        evidence: format!("{} of most, {}", shown(usual), said.join(", ")),
        remedy: match what {
            "MTU" => "set one MTU on all interfaces and ports of the switches between them (nic.mtu)",
            _ => {
                "see what the port of the switch and the cable negotiated; links between both kinds have the lower one"
            }
        }
        .to_owned(),
    })
}
