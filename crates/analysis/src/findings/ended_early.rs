//! Points that ended before their time, or were given up.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::{PointLine, StopReason, failure_kind};

use super::Run;
use super::errors::all_answers;
use crate::view::{Point, load_in_words};

pub(super) fn of_point(label: &str, point: &Point, run: &Run<'_>) -> Option<Finding> {
    let (severity, why, remedy) = match point.ended {
        Some(StopReason::NoSuccess) => (
            Severity::Critical,
            "requests failed, and none succeeded for ten seconds or more",
            "check the credentials, the bucket and the target's log, then run again",
        ),
        Some(StopReason::ErrorLimit) => (
            Severity::Critical,
            "more requests failed than --error-limit allows",
            "see what the target's log says about these errors",
        ),
        Some(StopReason::ObjectsExhausted) => {
            (Severity::Note, "all objects were deleted before the time was up", "raise --objects for a longer point")
        }
        Some(StopReason::Canary) => {
            (Severity::Warning, "the canary exceeded a bound of --abort-if", "load the target less")
        }
        Some(StopReason::Interrupted) => (Severity::Warning, "it was interrupted", ""),
        Some(StopReason::ClientsLost) => (
            Severity::Warning,
            if lost(run, point.point) == 1 {
                "a client that drove it was lost"
            } else {
                "clients that drove it were lost"
            },
            "find out what happened to them",
        ),
        Some(StopReason::Duration | StopReason::Precise) | None => return None,
    };
    Some(Finding {
        kind: FindingKind::EndedEarly,
        severity,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("the point ended early: {why} ({label}, {})", load_in_words(point)),
        evidence: format!("{:.1} s measured{}", point.measured_ms as f64 / 1e3, failed(run, point.point)),
        remedy: remedy.into(),
    })
}

/// Points that were given up before they had a figure: they are in no series, and must not go untold.
pub(super) fn without_figures(run: &Run<'_>) -> Vec<Finding> {
    let reported = |point: u32| run.view.series.iter().flat_map(|s| &s.points).any(|p| p.point == point);
    let given_up = run.records.points.iter().filter_map(|line| match line {
        PointLine::End(end)
            if matches!(end.ended, StopReason::NoSuccess | StopReason::ErrorLimit) && !reported(end.point) =>
        {
            Some((end.point, end.ended))
        }
        _ => None,
    });
    let exhausted = run.records.points.iter().filter_map(|line| match line {
        PointLine::End(end) if end.ended == StopReason::ObjectsExhausted && !reported(end.point) => Some(end.point),
        _ => None,
    });
    let exhausted = exhausted.map(|point| Finding {
        kind: FindingKind::EndedEarly,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: vec![point],
        claim: format!("point {point} ended before it had a figure: all objects were deleted within one interval"),
        evidence: failure_kind::counts(&point_errors(run, point)),
        remedy: "raise --objects for a longer point".into(),
    });
    let finding = |(point, ended)| Finding {
        kind: FindingKind::EndedEarly,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points: vec![point],
        claim: if ended == StopReason::ErrorLimit {
            format!("point {point} was ended in its warm-up: more requests failed than --error-limit allows")
        } else {
            format!("point {point} was given up in its warm-up: {}", none_succeeded(run, point))
        },
        evidence: failure_kind::counts(&point_errors(run, point)),
        remedy: "check the credentials, the bucket and the target's log, then run again".into(),
    };
    given_up.map(finding).chain(exhausted).collect()
}

/// How many clients were lost in a point.
fn lost(run: &Run<'_>, point: u32) -> usize {
    let lost = run.records.points.iter().filter_map(|line| match line {
        PointLine::End(end) if end.point == point => Some(end.lost.len()),
        _ => None,
    });
    lost.sum()
}

/// What failed in a point, to go on with: in its warm-up too, which counts for `--error-limit`.
fn failed(run: &Run<'_>, point: u32) -> String {
    let errors = point_errors(run, point);
    if errors.is_empty() {
        String::new()
    } else {
        format!("; failed, warm-up included: {}", failure_kind::counts(&errors))
    }
}

/// In which way no request of a point succeeded.
fn none_succeeded(run: &Run<'_>, point: u32) -> String {
    let of_point = run.records.intervals.iter().filter(|i| i.point == point);
    let retry_after_s = of_point.flat_map(|i| &i.rows).map(|row| row.retry_after_s).max().unwrap_or(0);
    let answers = all_answers(&point_errors(run, point), retry_after_s);
    answers.unwrap_or_else(|| "requests failed, and none succeeded".to_owned())
}

/// Every kind of error of a point, its warm-up included.
fn point_errors(run: &Run<'_>, point: u32) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::<String, u64>::new();
    let rows = run.records.intervals.iter().filter(|i| i.point == point).flat_map(|i| i.whole_rows());
    for (kind, n) in rows.flat_map(|r| &r.errors) {
        *kinds.entry(kind.clone()).or_default() += n;
    }
    kinds
}

#[cfg(test)]
mod tests {
    use linerate_record::histogram::encode;
    use linerate_record::run::{IntervalRow, LostClient, Op, OpenInterval};

    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    #[test]
    fn the_end_by_an_error_limit_names_what_failed_in_the_warm_up_too() {
        let mut records = records(&[1, 2], |_| 5_000);
        records.intervals[11].rows[0].errors.insert("http 503".into(), 12);
        records.intervals[13].rows[0].errors.insert("timeout".into(), 3);
        let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
        end.ended = StopReason::ErrorLimit;
        let findings = build(&records).unwrap().findings;
        let early = findings.iter().find(|f| f.kind == FindingKind::EndedEarly).unwrap();
        assert!(early.claim.contains("--error-limit") && early.points == [1], "{early:?}");
        assert!(early.evidence.ends_with("failed, warm-up included: http 503: 12, timeout: 3"), "{early:?}");
    }

    #[test]
    fn a_point_whose_objects_were_deleted_within_one_interval_is_told_as_such() {
        let mut records = records(&[4], |_| 50);
        records.intervals.clear();
        let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
        end.ended = StopReason::ObjectsExhausted;
        let findings = build(&records).unwrap().findings;
        let early = findings.iter().find(|f| f.kind == FindingKind::EndedEarly).unwrap();
        assert!(early.claim.contains("all objects were deleted within one interval"), "{early:?}");
        assert!(early.remedy.contains("--objects"), "{early:?}");
    }

    #[test]
    fn a_point_whose_clients_were_lost_is_not_said_to_be_interrupted() {
        for (lost, why) in [(1, "a client that drove it was lost"), (2, "clients that drove it were lost")] {
            let mut records = records(&[4], |_| 50);
            let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
            end.ended = StopReason::ClientsLost;
            end.lost = (0..lost).map(|client| LostClient { client, at_ms: 1_000 }).collect();
            let view = build(&records).unwrap();
            let early = view.findings.iter().find(|f| f.kind == FindingKind::EndedEarly).unwrap();
            assert!(early.claim.contains(why) && !view.run.complete, "{early:?}");
        }
    }

    #[test]
    fn findings_of_an_open_loop_name_its_rate_and_not_the_most_that_may_be_in_flight() {
        for (rate_per_s, load) in [(None, "1024 in flight)"), (Some(200.0), "200/s)")] {
            let mut records = records(&[1024], |_| 5_000);
            let none = OpenInterval::none().map(|none| encode(&none));
            for interval in &mut records.intervals {
                interval.open = rate_per_s.map(|_| OpenInterval { due: 20, in_flight: 3, ..none.clone() });
            }
            for line in &mut records.points {
                match line {
                    PointLine::Begin(begin) => begin.spec.rate_per_s = rate_per_s,
                    PointLine::End(end) => end.ended = StopReason::ErrorLimit,
                    _ => {}
                }
            }
            // In the warm-up and behind it, and then nothing but refused connections.
            records.intervals[0].rows[0].errors.insert("http 503".into(), 12);
            for interval in &mut records.intervals[8..] {
                interval.rows = vec![IntervalRow::none(0, Op::Get)];
                interval.rows[0].errors.insert("connect: refused".into(), 3);
            }
            let findings = build(&records).unwrap().findings;
            use FindingKind::{EndedEarly, RequestErrors, TargetLost};
            for kind in [EndedEarly, RequestErrors, TargetLost] {
                let of_kind: Vec<_> = findings.iter().filter(|f| f.kind == kind).collect();
                assert!(
                    !of_kind.is_empty() && of_kind.iter().all(|f| f.claim.ends_with(load)),
                    "{kind:?}: {of_kind:?}"
                );
            }
        }
    }
}
