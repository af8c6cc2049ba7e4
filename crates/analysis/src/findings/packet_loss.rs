//! Packets that were dropped, and segments that were sent again.
//!
//! One segment in a thousand sent again already costs a TCP flow on a fast link most of its window, and a drop a second
//! is more than a healthy link has.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::units::count;

use super::Run;

/// Share of TCP segments sent again from which packets count as lost.
const RETRANSMITS_SHARE: f64 = 0.001;

/// The whole run.
pub(super) fn of_run(run: &Run<'_>) -> Option<Finding> {
    let drops = run.mean(|sample| sample.nics.iter().map(|n| n.drops_per_s).sum());
    let (retransmits, segments) = (run.mean(|s| s.retransmits_per_s), run.mean(|s| s.segments_per_s));
    (drops >= 1.0 || retransmits >= RETRANSMITS_SHARE * segments.max(1_000.0)).then(|| Finding {
        kind: FindingKind::PacketLoss,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "packets were lost while measuring".into(),
        evidence: format!(
            "{} drops/s, {} retransmitted segments/s, mean over the run",
            count(drops),
            count(retransmits)
        ),
        remedy: "look at the timeline for when, and at the switch and NIC counters for where".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::build;
    use crate::view::tests::{kinds, readings, records};

    #[test]
    fn segments_sent_again_are_told_from_one_in_a_thousand_on() {
        for (again, told) in [(2, true), (0, false)] {
            let mut records = records(&[1, 2], |_| 5);
            records.readings = readings(0.5, 0);
            for (reading, i) in records.readings.iter_mut().zip(0..) {
                reading.tcp.out_segments = i * 1_000;
                reading.tcp.retransmitted_segments = i * again;
            }
            assert_eq!(kinds(&build(&records).unwrap()).contains(&FindingKind::PacketLoss), told, "{again}");
        }
    }
}
