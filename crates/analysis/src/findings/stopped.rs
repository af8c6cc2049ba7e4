//! linerate itself stood still: stopped by a signal, frozen with its cgroup, or asleep with the machine.
//!
//! What was measured across that is no figure of the target: requests waited for linerate. Gaps between readings say
//! that the process did not run ([`crate::standstills`]). That the machine slept follows from two of its clocks, of
//! which one stands meanwhile.

use super::Run;
use crate::standstills::ReadingGaps;
use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

/// Milliseconds that clocks must part for the machine to have slept: they are not read at one instant.
const SLEPT_MS: u64 = 100;

pub(super) fn of_run(run: &Run<'_>) -> Option<Finding> {
    let readings = &run.records.readings;
    let slept_ms = readings.last()?.slept_ms.saturating_sub(readings[0].slept_ms);
    let gaps = ReadingGaps::between(readings);
    let (continued, longest_ms) = (gaps.continued(), gaps.longest_ms());
    let (confidence, claim) = if slept_ms >= SLEPT_MS {
        (Confidence::Certain, format!("this machine slept for {:.1} s of the run", slept_ms as f64 / 1e3))
    } else if continued > 0 {
        let times = if continued == 1 { "once".to_owned() } else { format!("{continued} times") };
        (Confidence::Certain, format!("linerate was stopped {times} and continued (SIGCONT)"))
    } else if !gaps.standstills().is_empty() {
        (Confidence::Likely, "linerate did not run for a while: a frozen cgroup, a paused virtual machine".to_owned())
    } else {
        return None;
    };
    Some(Finding {
        kind: FindingKind::Stopped,
        severity: Severity::Critical,
        confidence,
        points: Vec::new(),
        claim,
        evidence: format!("{:.1} s without a reading, at the longest", longest_ms as f64 / 1e3),
        remedy: "do not use the figures of points during which it was stopped, nor the findings about this machine: \
                 repeat the run"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use linerate_record::reading::Reading;

    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    /// The finding of a run of 30 s, read at these seconds.
    fn finding_of(seconds: &[u64], alter: fn(&mut Reading)) -> Option<Finding> {
        let mut records = records(&[1, 2], |_| 5);
        let reading = |&s: &u64| Reading { at_ms: s * 1_000, ..Reading::default() };
        records.readings = seconds.iter().map(reading).collect();
        records.readings.iter_mut().for_each(alter);
        build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::Stopped)
    }

    #[test]
    fn a_stop_a_freeze_and_a_sleep_are_told_apart_and_a_late_reading_is_none() {
        let all: Vec<u64> = (0..30).collect();
        let gap: Vec<u64> = (0..10).chain(17..30).collect();
        let stopped = finding_of(&gap, |r| r.continued = r.at_ms == 17_000).unwrap();
        assert!(stopped.claim.contains("stopped once") && stopped.evidence.starts_with("8.0 s"), "{stopped:?}");
        assert_eq!((stopped.severity, stopped.confidence), (Severity::Critical, Confidence::Certain));
        let noted_late = finding_of(&gap, |r| r.continued = r.at_ms == 18_000).unwrap();
        assert!(noted_late.claim.contains("stopped once"), "{noted_late:?}");
        let ran_on = finding_of(&all, |r| r.continued = [17_000, 29_000].contains(&r.at_ms));
        assert_eq!(ran_on, None, "SIGCONT of what was not stopped");
        let frozen = finding_of(&gap, |_| ()).unwrap();
        assert!(frozen.confidence == Confidence::Likely && frozen.claim.contains("did not run"), "{frozen:?}");
        let slept = finding_of(&all, |r| r.slept_ms = if r.at_ms > 9_000 { 3_600_000 } else { 0 }).unwrap();
        assert!(slept.claim.contains("slept for 3600.0 s"), "{slept:?}");
        assert_eq!(finding_of(&all, |r| r.slept_ms = r.at_ms % 3), None, "clocks are not read at one instant");
        let late: Vec<u64> = (0..10).chain(11..30).collect();
        assert_eq!(finding_of(&late, |_| ()), None);
        let rarely: Vec<u64> = (0..10).map(|n| n * 10).collect();
        assert_eq!(finding_of(&rarely, |_| ()), None, "long runs are read less often");
        assert_eq!(finding_of(&[], |_| ()), None);
        assert_eq!(finding_of(&[0], |_| ()), None);
    }
}
