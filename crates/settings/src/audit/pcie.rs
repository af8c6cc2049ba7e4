//! PCIe links that run below what their device can: a narrower or older slot, a riser, a link that trained down.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{PcieDevice, Snapshot};
use linerate_record::site::Site;

use super::finding;
use crate::knobs::facts;

/// What is left of a link's rate for data: headers of packets of 256 bytes, acknowledgements and flow control.
const PAYLOAD_SHARE: f64 = 0.85;

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    snapshot.devices.pcie.iter().filter_map(|device| below(snapshot, device)).collect()
}

fn below(snapshot: &Snapshot, device: &PcieDevice) -> Option<AuditFinding> {
    let ((speed, most_speed), (lanes, most_lanes)) = (device.speed_gt_per_s, device.lanes);
    let known = speed > 0.0 && lanes > 0;
    if !known || (lanes >= most_lanes && speed >= most_speed - 0.01) {
        return None;
    }
    let (now, could) = (bits_per_s(speed, lanes), bits_per_s(most_speed.max(speed), most_lanes.max(lanes)));
    let port = snapshot.machine.nics.iter().find(|nic| nic.name == device.name);
    let needs = port.and_then(|nic| nic.speed_bits_per_s).map(|speed| speed as f64);
    let carries = now * PAYLOAD_SHARE;
    let (severity, matters) = match needs {
        Some(needs) if carries < needs => {
            (Severity::Critical, format!("; the port has {}, which does not fit", facts::rate(needs)))
        }
        Some(needs) => (Severity::Note, format!("; the port has {}, which fits", facts::rate(needs))),
        None => (Severity::Warning, String::new()),
    };
    Some(finding(
        AuditCheck::PcieBelowCapability,
        severity,
        Confidence::Certain,
        format!(
            "the PCIe link of {} has {lanes} lanes at {speed} GT/s of {most_lanes} at {most_speed}: {} of {}",
            device.name,
            facts::rate(now),
            facts::rate(could)
        ),
        format!("{}: about {} carry data{matters}", device.address, facts::rate(carries)),
        "check the slot, the riser and the firmware's link settings; reseat the card",
    ))
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
