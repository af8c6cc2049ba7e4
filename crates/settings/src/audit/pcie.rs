//! PCIe links that run below what their device can (a narrower or older slot, a riser, a link that trained down), or
//! below what the ports of a card carry together.

use std::collections::BTreeMap;

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{PcieDevice, Snapshot};
use linerate_record::machine::{Machine, MachineBond};
use linerate_record::site::Site;

use super::finding;
use crate::knobs::facts;

/// What is left of a link's rate for data: headers of packets of 256 bytes, acknowledgements and flow control.
const PAYLOAD_SHARE: f64 = 0.85;

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    let mut by_card: BTreeMap<&str, Vec<&PcieDevice>> = BTreeMap::new();
    for device in &snapshot.devices.pcie {
        // Functions of one device have one link: `0000:3b:00.0` and `0000:3b:00.1`.
        let card = device.address.rsplit_once('.').map_or(device.address.as_str(), |(card, _)| card);
        by_card.entry(card).or_default().push(device);
    }
    by_card.into_values().filter_map(|functions| of_card(snapshot, &functions)).collect()
}

/// What the link of a card is less than, if anything: what the card can, or what its ports carry together.
fn of_card(snapshot: &Snapshot, functions: &[&PcieDevice]) -> Option<AuditFinding> {
    let device = functions.first()?;
    let ((speed, most_speed), (lanes, most_lanes)) = (device.speed_gt_per_s, device.lanes);
    if speed <= 0.0 || lanes == 0 {
        return None;
    }
    let is_below = lanes < most_lanes || speed < most_speed - 0.01;
    let (now, could) = (bits_per_s(speed, lanes), bits_per_s(most_speed.max(speed), most_lanes.max(lanes)));
    let (carries, needs) = (now * PAYLOAD_SHARE, needed_bits_per_s(&snapshot.machine, functions));
    let is_short = needs.is_some_and(|needs| carries < needs);
    // A card of one port at its full width carries it: where figures say otherwise, the link is that of a virtual
    // machine, which has none.
    if !(is_below || is_short && functions.len() > 1) {
        return None;
    }
    let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    let link = format!("{lanes} lanes at {speed} GT/s of {most_lanes} at {most_speed}");
    let rates = format!("{} of {}", facts::rate(now), facts::rate(could));
    let below = || format!("the PCIe link of {} has {link}: {rates}", names.join(" and "));
    let (at, carries) = (&device.address, facts::rate(carries));
    let which = if functions.len() > 1 { "ports together have" } else { "port has" };
    let (severity, claim, evidence) = match needs {
        Some(needs) if is_short => (
            if is_below { Severity::Critical } else { Severity::Warning },
            too_little(&snapshot.machine, &names, &carries, &facts::rate(needs)),
            format!("{at}: the link has {link}, {rates}, of which about {carries} carry data"),
        ),
        Some(needs) => {
            let fits = format!("the {which} {}, which fits", facts::rate(needs));
            (Severity::Note, below(), format!("{at}: about {carries} carry data; {fits}"))
        }
        None => (Severity::Warning, below(), format!("{at}: about {carries} carry data")),
    };
    let remedy = if is_below {
        "check the slot, the riser and the firmware's link settings; reseat the card"
    } else {
        "give each port a card of its own, or take a card with a wider or newer link"
    };
    Some(finding(AuditCheck::PcieBelowCapability, severity, Confidence::Certain, claim, evidence, remedy))
}

/// That ports have a link which carries less than they do.
fn too_little(machine: &Machine, ports: &[&str], carries: &str, needs: &str) -> String {
    let bonds = machine.nics.iter().filter_map(|nic| Some((nic.name.as_str(), nic.bond.as_ref()?)));
    let mut of_all =
        bonds.filter(|(_, bond)| ports.iter().all(|port| bond.members.iter().any(|member| member == port)));
    let members = of_all.next().map_or_else(String::new, |(bond, _)| format!(", members of {bond},"));
    match ports {
        [port] => format!("the PCIe link of {port} carries about {carries} of its {needs}"),
        _ => format!("{}{members} share the PCIe link of one card: about {carries} for {needs}", ports.join(" and ")),
    }
}

/// What ports of a card may carry at a time, in bits per second; none where no speed is stated. Of a bond that sends by
/// one member, the fastest alone.
fn needed_bits_per_s(machine: &Machine, functions: &[&PcieDevice]) -> Option<f64> {
    let is_spare = |name: &str, other: &str| {
        let bonds = machine.nics.iter().filter_map(|nic| nic.bond.as_ref());
        let one_at_a_time = bonds.filter(|bond| bond.mode == "active-backup");
        let has = |bond: &MachineBond, name: &str| bond.members.iter().any(|member| member == name);
        one_at_a_time.into_iter().any(|bond| has(bond, name) && has(bond, other))
    };
    let mut ports: Vec<(&str, u64)> = machine
        .nics
        .iter()
        .filter(|nic| functions.iter().any(|function| function.name == nic.name))
        .filter_map(|nic| Some((nic.name.as_str(), nic.speed_bits_per_s?)))
        .collect();
    ports.sort_by_key(|(_, speed)| std::cmp::Reverse(*speed));
    let counted =
        ports.iter().enumerate().filter(|(at, (name, _))| !ports[..*at].iter().any(|(other, _)| is_spare(name, other)));
    let sum: u64 = counted.map(|(_, (_, speed))| speed).sum();
    (sum > 0).then_some(sum as f64)
}

/// Bits per second of a link: 8 of 10 bits carry data up to 5 GT/s, 128 of 130 up to 32, and 242 of 256 bytes of a flit
/// from 64 on (PCI Express base specification).
fn bits_per_s(gt_per_s: f64, lanes: u32) -> f64 {
    let coded = if gt_per_s <= 5.0 {
        0.8
    } else if gt_per_s <= 32.0 {
        128.0 / 130.0
    } else {
        242.0 / 256.0
    };
    gt_per_s * 1e9 * coded * f64::from(lanes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::{machine, site};

    fn with(speed: (f64, f64), lanes: (u32, u32), name: &str) -> Vec<AuditFinding> {
        let mut snapshot = machine();
        snapshot.devices.pcie.push(PcieDevice {
            address: "0000:3b:00.0".to_owned(),
            name: name.to_owned(),
            speed_gt_per_s: speed,
            lanes,
            numa_node: Some(0),
        });
        check(&snapshot, &site())
    }

    #[test]
    fn a_link_below_its_device_is_told_and_weighed_by_what_it_must_carry() {
        assert_eq!(with((16.0, 16.0), (16, 16), "ens1f0"), []);
        assert_eq!(with((0.0, 0.0), (0, 0), "ens1f0"), []);
        let cases = [
            ((8.0, 16.0), (8, 16), "ens1f0", Severity::Note),
            ((2.5, 16.0), (8, 8), "ens1f0", Severity::Critical),
            ((8.0, 16.0), (4, 4), "nvme0n1", Severity::Warning),
        ];
        for (speed, lanes, name, severity) in cases {
            let found = with(speed, lanes, name);
            assert_eq!(found.len(), 1, "{name} {speed:?}");
            assert_eq!(found[0].severity, severity, "{}", found[0].evidence);
        }
        let slow = with((2.5, 16.0), (8, 8), "ens1f0");
        assert_eq!(slow[0].claim, "the PCIe link of ens1f0 carries about 13.6 Gb/s of its 25 Gb/s");
    }

    #[test]
    fn ports_of_one_card_share_its_link() {
        let found = |lanes: (u32, u32), mode: &str| {
            let mut snapshot = machine();
            for (function, name) in [("0000:3b:00.0", "ens1f0"), ("0000:3b:00.1", "ens1f1")] {
                snapshot.devices.pcie.push(PcieDevice {
                    address: function.to_owned(),
                    name: name.to_owned(),
                    speed_gt_per_s: (8.0, 8.0),
                    lanes,
                    numa_node: Some(0),
                });
            }
            snapshot.machine.nics.iter_mut().filter_map(|nic| nic.bond.as_mut()).for_each(|b| b.mode = mode.to_owned());
            check(&snapshot, &site())
        };
        // 4 lanes carry 26.8 Gb/s: one port of 25 Gb/s fits, and two do not.
        for (lanes, mode, severity) in [
            ((4, 8), "802.3ad", Some(Severity::Critical)),
            ((4, 4), "802.3ad", Some(Severity::Warning)),
            ((4, 8), "active-backup", Some(Severity::Note)),
            ((4, 4), "active-backup", None),
            ((8, 8), "802.3ad", None),
        ] {
            let all = found(lanes, mode);
            assert_eq!(all.first().map(|one| one.severity), severity, "{lanes:?} {mode}: {all:?}");
            assert!(all.len() < 2 && all.iter().all(|one| one.claim.contains("ens1f0 and ens1f1")), "{all:?}");
            let shared = "members of bond0, share the PCIe link of one card: about 26.8 Gb/s for 50 Gb/s";
            let is_said = |one: &AuditFinding| one.severity == Severity::Note || one.claim.ends_with(shared);
            assert!(all.iter().all(is_said), "{all:?}");
        }
    }

    #[test]
    fn links_have_the_rates_of_their_generations() {
        for (speed, lanes, gbit) in
            [(2.5, 1, 2.0), (8.0, 4, 31.5), (16.0, 16, 252.1), (32.0, 16, 504.1), (64.0, 4, 242.0)]
        {
            assert!((bits_per_s(speed, lanes) / 1e9 - gbit).abs() < 0.1, "{speed} × {lanes}");
        }
    }
}
