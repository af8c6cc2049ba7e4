//! Requests that failed, and bodies that were wrong.
//!
//! Any failure is worth a warning: it costs the target work that no figure counts. From one percent on, or with a
//! single wrong body, figures should not be used.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::failure_kind::{self, FAILED_LATER, NEVER_ANSWERED, WRONG_BODY};
use linerate_record::run::{FailureKind, is_answer};
use linerate_record::units::{duration_ns, grouped, percent};

use super::Run;
use crate::target_outages::wrong_ms;
use crate::view::{Point, load_in_words, too_many_failed};

const DISTRUST: &str = "do not store data on this target: read its logs and check its drives and memory";

/// S3's code for a request that was signed at another time than it came.
const SKEWED: &str = "RequestTimeTooSkewed";

/// Where to look where TLS was refused.
pub(super) const TLS_REMEDY: &str = "check the certificate of the target, its dates and its chain, and the clock of \
                                     this machine: openssl s_client -connect HOST:PORT shows what the target sends";

/// The failures of TLS, where they are most of all failures; else nothing.
pub(super) fn most_of_tls(errors: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let is_of_tls = |kind: &String| FailureKind::read(kind) == FailureKind::Tls;
    let of_tls = errors.iter().filter(|(kind, _)| is_of_tls(kind)).map(|(kind, count)| (kind.clone(), *count));
    let of_tls: BTreeMap<String, u64> = of_tls.collect();
    if 2 * of_tls.values().sum::<u64>() > errors.values().sum() { of_tls } else { BTreeMap::new() }
}

pub(super) fn of_point(label: &str, point: &Point, run: &Run<'_>) -> Option<Finding> {
    // Those that hung have a finding of their own.
    let errors = point.error_count() - point.hung.map_or(0, |hung| hung.requests);
    if errors == 0 {
        return None;
    }
    let all = point.error_count() + point.requests;
    let share = errors as f64 / all as f64;
    let answers = (point.requests == 0).then(|| all_answers(&point.errors, point.retry_after_s)).flatten();
    let failed = answers.unwrap_or_else(|| format!("{} of requests failed", percent(share)));
    // Where none succeeded at all, that is said already.
    let wrong_ms = if point.requests > 0 { wrong_ms(point, &run.measured(point.point)) } else { 0 };
    let meanwhile = match wrong_ms {
        0 => String::new(),
        ms => format!("; for {} none succeeded, though the target answered", duration_ns(ms as f64 * 1e6)),
    };
    let wrong = point.errors.keys().any(|k| k == WRONG_BODY);
    let failed_kinds = point.errors.iter().filter(|(kind, _)| *kind != NEVER_ANSWERED);
    let failed_kinds: BTreeMap<String, u64> = failed_kinds.map(|(kind, n)| (kind.clone(), *n)).collect();
    Some(Finding {
        kind: if wrong { FindingKind::WrongBody } else { FindingKind::RequestErrors },
        severity: if wrong || too_many_failed(errors, all) { Severity::Critical } else { Severity::Warning },
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("{failed} ({label}, {})", load_in_words(point)),
        evidence: format!("{}{meanwhile}", failure_kind::counts(&failed_kinds)),
        remedy: if wrong { DISTRUST.into() } else { remedy(&point.errors).into() },
    })
}

/// Where to look for what most requests failed by.
fn remedy(errors: &BTreeMap<String, u64>) -> &'static str {
    if !most_of_tls(errors).is_empty() {
        return TLS_REMEDY;
    }
    let skewed: u64 = errors.iter().filter(|(kind, _)| kind.ends_with(SKEWED)).map(|(_, count)| count).sum();
    if 2 * skewed > errors.values().sum() {
        return "let one time daemon (chrony) set the clocks of this machine and of the target: S3 refuses signatures \
                that are 15 minutes off";
    }
    "read the target's log at that time; failed requests cost the target work that is not part of any figure here"
}

/// Requests of a point that failed in its warm-up, or behind its measured time, are in none of its figures, and no less
/// for that.
pub(super) fn in_warmup(label: &str, point: &Point) -> Option<Finding> {
    let failed = point.warmup_error_count();
    let all = point.ended_with_warmup();
    let share = failed as f64 / (failed + point.warmup_requests).max(1) as f64;
    let requests = |n: u64| if n == 1 { "1 request".to_owned() } else { format!("{} requests", grouped(n)) };
    let (at_begin, at_end) = (failed - point.failed_at_end, point.failed_at_end);
    let (which, remedy) = match (at_begin, at_end) {
        (_, 0) => (
            format!("{} failed in the warm-up, {} of those that ended there", requests(failed), percent(share)),
            "find out why the target failed when the load began; the figures cover the time after that",
        ),
        (0, _) => (
            format!("{} failed behind the measured time, at the end of the run", requests(at_end)),
            "find out whether the load was ended or the target failed then; the figures cover the time before that",
        ),
        _ => (
            format!("{} failed in the warm-up, and {} behind the measured time", requests(at_begin), grouped(at_end)),
            "find out why the target failed then; the figures cover the time between",
        ),
    };
    (failed > 0).then(|| Finding {
        kind: FindingKind::RequestErrors,
        severity: if too_many_failed(failed, all) { Severity::Critical } else { Severity::Warning },
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("{which} ({label}, {})", load_in_words(point)),
        evidence: failure_kind::counts(&point.warmup_errors),
        remedy: remedy.into(),
    })
}

/// What a target did that answered every request, and each with an error; `None` where some were not answered.
pub(super) fn all_answers(errors: &BTreeMap<String, u64>, retry_after_s: u64) -> Option<String> {
    // Of the few that were in flight at the end it is not recorded how they failed.
    let mut kinds = errors.keys().filter(|kind| *kind != FAILED_LATER).peekable();
    if kinds.peek().is_none() || !kinds.clone().all(|kind| is_answer(kind)) {
        return None;
    }
    let answered = match (kinds.next().map_or("", String::as_str), kinds.next()) {
        (_, Some(_)) => "the target answered every request with an error".to_owned(),
        (kind, None) => match FailureKind::read(kind) {
            FailureKind::WrongBody => "every answer had the wrong body".to_owned(),
            FailureKind::ShortBody => "every answer had a body that was too short".to_owned(),
            FailureKind::LongBody => "every answer had a body that was too long".to_owned(),
            FailureKind::Status(status) => format!("the target answered HTTP {status} to every request"),
            _ => format!("every answer was wrong: {kind}"),
        },
    };
    let pause = if retry_after_s > 0 { format!(" and asked for a pause of {retry_after_s} s") } else { String::new() };
    Some(format!("{answered}{pause}"))
}

/// A body that differs is as grave in the warm-up as later.
pub(super) fn wrong_in_warmup(run: &Run<'_>) -> Option<Finding> {
    let wrong =
        |i: &&linerate_record::run::Interval| i.warmup && i.rows.iter().any(|r| r.errors.contains_key(WRONG_BODY));
    let mut points: Vec<u32> = run.records.intervals.iter().filter(wrong).map(|i| i.point).collect();
    points.dedup();
    (!points.is_empty()).then(|| Finding {
        kind: FindingKind::WrongBody,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points,
        claim: "bodies differed from what was written, in a warm-up".into(),
        evidence: "requests counted as wrong body".into(),
        remedy: DISTRUST.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{kinds, records};

    #[test]
    fn failures_are_told_by_kind_and_graded_by_their_share() {
        for (failed, severity) in [(1, Severity::Warning), (20, Severity::Critical)] {
            let mut records = records(&[1, 2], |_| 50);
            records.intervals[3].rows[0].errors.insert("timeout".into(), failed);
            let view = build(&records).unwrap();
            let reported = view.findings.iter().find(|f| f.kind == FindingKind::RequestErrors).unwrap();
            assert_eq!(
                (reported.severity, reported.evidence.as_str()),
                (severity, format!("timeout: {failed}").as_str())
            );
        }
        assert!(!kinds(&build(&records(&[1, 2], |_| 50)).unwrap()).contains(&FindingKind::RequestErrors));
    }

    #[test]
    fn failures_of_certificates_are_told_with_where_to_look() {
        let errors = |of_tls: u64, others: u64| {
            BTreeMap::from([("tls: certificate expired".to_owned(), of_tls), ("http 503".to_owned(), others)])
        };
        assert!(remedy(&errors(3, 2)).contains("openssl"));
        assert!(remedy(&errors(2, 2)).contains("the target's log"));
        let skewed = BTreeMap::from([("http 403 RequestTimeTooSkewed".to_owned(), 2), ("timeout".to_owned(), 1)]);
        assert!(remedy(&skewed).contains("chrony"));
    }

    #[test]
    fn failures_in_the_warm_up_are_told_apart_and_graded_among_all_requests() {
        for (failed, severity) in [(1, Severity::Warning), (2_000, Severity::Critical)] {
            let mut records = records(&[1, 2], |_| 50);
            records.intervals[0].rows[0].errors.insert("http 503".into(), failed);
            let view = build(&records).unwrap();
            let point = &view.series[0].points[0];
            assert_eq!((point.error_count(), point.warmup_error_count(), point.warmup_requests), (0, failed, 100));
            let all: Vec<_> = view.findings.iter().filter(|f| f.kind == FindingKind::RequestErrors).collect();
            assert!(all.len() == 1 && all[0].severity == severity, "{all:?}");
            assert!(all[0].claim.contains("failed in the warm-up") && all[0].points == [0], "{all:?}");
            assert_eq!(all[0].evidence, format!("http 503: {failed}"));
            assert_eq!(crate::findings::requests_failed(&view).is_some(), severity == Severity::Critical);
        }
    }

    #[test]
    fn a_target_that_answers_nothing_but_errors_is_said_to() {
        for (kinds, retry_after_s, claim) in [
            (
                &["http 503 SlowDown"][..],
                7,
                "the target answered HTTP 503 SlowDown to every request and asked for a pause of 7 s (",
            ),
            (&["http 500"], 0, "the target answered HTTP 500 to every request ("),
            (&["wrong body"], 0, "every answer had the wrong body ("),
            (&["reply without a length"], 0, "every answer was wrong: reply without a length ("),
            (&["http 500", "short body"], 0, "the target answered every request with an error ("),
            (&["http 500", "timeout"], 0, "100 % of requests failed ("),
        ] {
            let mut records = records(&[2], |_| 50);
            for interval in &mut records.intervals {
                interval.rows = vec![linerate_record::run::IntervalRow::none(0, linerate_record::run::Op::Get)];
                interval.rows[0].retry_after_s = retry_after_s;
                interval.rows[0].errors = kinds.iter().map(|kind| ((*kind).to_owned(), 3)).collect();
            }
            let view = build(&records).unwrap();
            let failed = crate::findings::requests_failed(&view).unwrap();
            assert!(failed.claim.starts_with(claim), "{kinds:?}: {failed:?}");
            assert!(view.findings.iter().all(|f| f.kind != FindingKind::TargetLost), "{kinds:?}: {:?}", view.findings);
        }
    }
}
