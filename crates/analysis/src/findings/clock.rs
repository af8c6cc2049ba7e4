//! The wall clock of this machine, beside the clock by which linerate measures.
//!
//! Figures do not suffer: they are taken on a monotonic clock. Signatures do: S3 refuses a request whose time is 15
//! minutes off. And logs of the target can no longer be laid beside the timeline. A time daemon slews a clock by
//! 0.5 ms a second at most, so 50 ms between two readings are a step; more than 0.5 ms a second over a minute is a
//! clock that nobody steers.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::Run;

/// Milliseconds that the two clocks may part between two readings, or a thousandth of the time between them.
const STEP_MS: i64 = 50;

/// Share by which the clocks may part over the run.
const DRIFT_SHARE: f64 = 0.000_6;

/// Shortest time over which drift is told, in milliseconds: reading the two clocks is off by a few.
const DRIFT_TIME_MIN_MS: u64 = 60_000;

const REMEDY: &str = "let a single time daemon (chrony) set this machine's clock; a target refuses signatures that are \
                      15 minutes off";

pub(super) fn of_run(run: &Run<'_>) -> Option<Finding> {
    let offsets: Vec<(u64, i64)> = run
        .records
        .readings
        .iter()
        .filter_map(|r| {
            // The run's clock stands while the machine sleeps, and the wall clock does not: that is no step.
            let apart_ms = i64::try_from(r.unix_ms?).ok()? - i64::try_from(r.at_ms).ok()?;
            Some((r.at_ms, apart_ms - i64::try_from(r.slept_ms).ok()?))
        })
        .collect();
    let steps = offsets.windows(2).filter_map(|pair| {
        let (apart_ms, parted_ms) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        (parted_ms.unsigned_abs() > STEP_MS.unsigned_abs().max(apart_ms / 1_000)).then_some((pair[1].0, parted_ms))
    });
    let steps: Vec<(u64, i64)> = steps.collect();
    let (&(from_ms, first), &(to_ms, last)) = (offsets.first()?, offsets.last()?);
    let finding = |severity, claim, evidence| Finding {
        kind: FindingKind::ClockStep,
        severity,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim,
        evidence,
        remedy: REMEDY.into(),
    };
    if let Some((at_ms, parted_ms)) = steps.iter().max_by_key(|(_, parted_ms)| parted_ms.unsigned_abs()) {
        let claim = format!("this machine's clock was stepped by {:+.3} s", *parted_ms as f64 / 1e3);
        let evidence = format!("{} steps, the largest {:.1} s into the run", steps.len(), *at_ms as f64 / 1e3);
        return Some(finding(Severity::Warning, claim, evidence));
    }
    let (time_ms, parted_ms) = (to_ms - from_ms, last - first);
    (time_ms >= DRIFT_TIME_MIN_MS && parted_ms.abs() as f64 > DRIFT_SHARE * time_ms as f64).then(|| {
        let claim = format!("this machine's clock runs {:+.0} ppm off", parted_ms as f64 * 1e6 / time_ms as f64);
        finding(Severity::Note, claim, format!("{parted_ms:+} ms in {:.0} s", time_ms as f64 / 1e3))
    })
}

#[cfg(test)]
mod tests {
    use linerate_record::reading::Reading;

    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    /// The finding of a run of 100 s whose wall clock is ahead by so many milliseconds after so many seconds.
    fn finding_of(ahead_ms: fn(u64) -> i64) -> Option<Finding> {
        let mut records = records(&[1, 2], |_| 5);
        let unix_ms = |s: u64| Some((1_800_000_000_000 + s as i64 * 1_000 + ahead_ms(s)) as u64);
        records.readings =
            (0..100).map(|s| Reading { at_ms: s * 1_000, unix_ms: unix_ms(s), ..Reading::default() }).collect();
        build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::ClockStep)
    }

    #[test]
    fn steps_either_way_are_told_with_their_size_and_time() {
        let back = finding_of(|s| if s < 40 { 0 } else { -1_500 }).unwrap();
        assert!(back.claim.contains("-1.500 s") && back.evidence.contains("40.0 s into"), "{back:?}");
        assert!(finding_of(|s| if s == 7 { 60 } else { 0 }).unwrap().evidence.starts_with("2 steps"));
    }

    #[test]
    fn a_machine_that_slept_has_no_stepped_clock() {
        let reported = |slept_ms: u64| {
            let mut records = records(&[1, 2], |_| 5);
            let reading = |s: u64| Reading {
                at_ms: s * 1_000,
                unix_ms: Some(1_800_000_000_000 + s * 1_000 + if s > 40 { 7_000 } else { 0 }),
                slept_ms: if s > 40 { slept_ms } else { 0 },
                ..Reading::default()
            };
            records.readings = (0..100).map(reading).collect();
            build(&records).unwrap().findings.into_iter().any(|f| f.kind == FindingKind::ClockStep)
        };
        assert!(reported(0) && !reported(7_000));
    }

    #[test]
    fn a_clock_that_nobody_steers_is_a_note_and_slewing_is_none() {
        let drift = finding_of(|s| s as i64).unwrap();
        assert!(drift.severity == Severity::Note && drift.claim.contains("+1000 ppm"), "{drift:?}");
        assert_eq!(finding_of(|s| s as i64 / 2), None, "as fast as a time daemon slews");
        assert_eq!(finding_of(|s| (s % 3) as i64), None, "readings are off by a few milliseconds");
    }
}
