//! Packets that were dropped, and segments that were sent again.
//!
//! One segment in a thousand sent again already costs a TCP flow on a fast link most of its window, and a drop a second
//! is more than a healthy link has. Where the target is on this machine, only its loopback counts, which drops where
//! it is told to; what is sent again there was late and not lost, as acknowledgements are on full processors.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::units::count;

use super::Run;
use crate::view::{MachineSample, NicSample};

/// Share of TCP retransmits from which packets count as lost.
const RETRANSMITS_SHARE: f64 = 0.001;

pub(super) fn of_run(run: &Run<'_>) -> Option<Finding> {
    let is_here = run.records.manifest.target.on_this_machine;
    let counts = |nic: &&NicSample| !is_here || nic.name == "lo";
    let sum = |s: &MachineSample| s.nics.iter().filter(counts).map(|n| n.drops_per_s).sum::<f64>();
    let drops = run.samples.iter().map(sum).sum::<f64>() / run.samples.len().max(1) as f64;
    let (again, segments) = (run.mean(|s| s.retransmits_per_s), run.mean(|s| s.segments_per_s));
    let again = if is_here { 0.0 } else { again };
    let mut reported = Vec::new();
    reported.extend((drops >= 1.0).then(|| format!("{} drops/s", count(drops))));
    let is_much = again >= RETRANSMITS_SHARE * segments.max(1_000.0);
    reported.extend(is_much.then(|| format!("{} retransmitted segments/s", count(again))));
    (!reported.is_empty()).then(|| Finding {
        kind: FindingKind::PacketLoss,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "packets were lost while measuring".into(),
        evidence: format!("{}, mean over the run", reported.join(", ")),
        remedy: "look at the timeline for when, and at the switch and NIC counters for where".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{kinds, readings, records};

    #[test]
    fn segments_sent_again_are_told_from_one_in_a_thousand_on() {
        for (again, reported) in [(2, true), (0, false)] {
            let mut records = records(&[1, 2], |_| 5);
            records.readings = readings(0.5, 0);
            for (reading, i) in records.readings.iter_mut().zip(0..) {
                reading.tcp.out_segments = i * 1_000;
                reading.tcp.retransmitted_segments = i * again;
            }
            assert_eq!(kinds(&build(&records).unwrap()).contains(&FindingKind::PacketLoss), reported, "{again}");
        }
    }

    #[test]
    fn nothing_is_lost_on_the_way_to_a_target_on_this_machine_but_what_its_loopback_drops() {
        for (name, drops, reported) in [("eth0", 500, None), ("lo", 0, None), ("lo", 5, Some("50 drops/s"))] {
            let mut records = records(&[1, 2], |_| 5);
            records.manifest.target.on_this_machine = true;
            records.readings = readings(0.5, 1_000);
            for (reading, i) in records.readings.iter_mut().zip(0..) {
                reading.tcp.retransmitted_segments = i * 100;
                (reading.nics[0].name, reading.nics[0].rx_dropped) = (name.to_owned(), i * drops);
            }
            let findings = build(&records).unwrap().findings;
            let found = findings.iter().find(|f| f.kind == FindingKind::PacketLoss);
            assert_eq!(found.map(|f| f.evidence.split(", mean").next().unwrap()), reported, "{name} {drops}");
        }
    }
}
