//! Processor time that the hypervisor took away.
//!
//! From two percent on, over the whole run: below that, it is lost in the noise of any shared machine.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::Run;

/// Mean share of this machine's processor time from which it is told.
const STOLEN_SHARE: f64 = 0.02;

pub(super) fn of_run(run: &Run<'_>) -> Option<Finding> {
    let steal = run.mean(|sample| sample.steal);
    (steal >= STOLEN_SHARE).then(|| Finding {
        kind: FindingKind::StolenTime,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: format!(
            "the run was disturbed: the hypervisor took {:.1} % of this machine's processor time",
            steal * 100.0
        ),
        evidence: "steal in /proc/stat, mean over the run".into(),
        remedy: "repeat at another time or on a dedicated machine; compare only within one run".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{kinds, readings, records};

    #[test]
    fn a_hypervisor_that_takes_time_is_told() {
        for (steal_ms, reported) in [(5, true), (1, false)] {
            let mut records = records(&[1, 2], |_| 5);
            records.readings = readings(0.5, 0);
            for (reading, i) in records.readings.iter_mut().zip(0..) {
                reading.cpus[0].steal_ms = i * steal_ms;
            }
            assert_eq!(kinds(&build(&records).unwrap()).contains(&FindingKind::StolenTime), reported, "{steal_ms}");
        }
    }
}
