//! What JUnit has a case for, and which fail.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_report::junit;
use linerate_report::terminal::{TextStyle, render};

use crate::fixture;

const PLAIN: TextStyle = TextStyle { color: false, width: 120, whole: false };

#[test]
fn junit_has_a_case_per_threshold_and_fails_those_that_are_missed() {
    let mut view = fixture::usual();
    view.run.title = Some("nightly <\u{1b}> & \"co\"".to_owned());
    let thresholds: Vec<_> =
        ["get.throughput<1MiB/s", "get.throughput<1TiB/s", "errors>50%"].map(|text| text.parse().unwrap()).into();
    let held = linerate_analysis::thresholds::held(&view, &thresholds).unwrap();
    let xml = junit(&view, &held);
    assert!(
        xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"11\" failures=\"1\">"),
        "{xml}"
    );
    assert!(xml.contains("name=\"nightly &lt;\u{fffd}&gt; &amp; &quot;co&quot;\""), "{xml}");
    assert!(xml.contains("name=\"not get.throughput&lt;1MiB/s\"/>"), "{xml}");
    assert!(xml.contains("name=\"not get.throughput&lt;1TiB/s\"><failure message=\"the best throughput was "), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), xml.matches("/>").count(), "{xml}");
    view.findings.clear();
    assert!(junit(&view, &[]).contains("name=\"requests succeed, and objects are as written\"/>"));
    view.findings = vec![Finding {
        kind: FindingKind::Disturbed,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points: vec![0],
        claim: "the run was disturbed".to_owned(),
        evidence: "other programs used both processors".to_owned(),
        remedy: String::new(),
    }];
    let xml = junit(&view, &[]);
    let failure = "name=\"no other load disturbed it\"><failure message=\"the run was disturbed: other programs";
    assert!(xml.contains(failure) && xml.contains("failures=\"1\""), "{xml}");
}

#[test]
fn junit_fails_a_run_that_did_not_measure_all_and_a_series_whose_requests_failed() {
    let mut view = fixture::usual();
    view.run.complete = true;
    let measured = |view: &linerate_analysis::view::View| junit(view, &[]);
    assert!(measured(&view).contains("name=\"every point is measured\"/>"), "{}", measured(&view));
    let mut interrupted = view.clone();
    interrupted.series[0].points[0].ended = Some(linerate_record::run::StopReason::Interrupted);
    assert!(measured(&interrupted).contains("message=\"the run was interrupted\""), "{}", measured(&interrupted));
    let mut empty = view.clone();
    (empty.run.complete, empty.series) = (false, Vec::new());
    assert!(measured(&empty).contains("message=\"nothing was measured: "), "{}", measured(&empty));
    let mut unended = view.clone();
    for point in &mut unended.series[0].points {
        (point.requests, point.errors) = (0, BTreeMap::new());
    }
    let xml = measured(&unended);
    assert!(xml.contains("name=\"every point is measured\"><failure message=\"no request of "), "{xml}");
    assert!(xml.contains("name=\"requests succeed\"><failure message=\"no request ended in the time"), "{xml}");
    let point = &mut view.series[0].points[0];
    (point.requests, point.errors) = (99, [("http 503".to_owned(), 1)].into());
    view.sum_up();
    let xml = measured(&view);
    assert!(xml.contains("name=\"requests succeed\"><failure message=\"1 of 100 requests of point "), "{xml}");
    let point = &mut view.series[0].points[0];
    (point.errors, point.warmup_requests) = (BTreeMap::new(), 0);
    for (failed, reported) in [(0, 0), (1, 1)] {
        view.series[0].points[0].warmup_errors = [("http 503".to_owned(), failed)].into();
        view.sum_up();
        let xml = measured(&view);
        assert_eq!(xml.matches("1 of 100 requests of point 0 failed in its warm-up").count(), reported, "{xml}");
        assert_eq!(render(&view, true, PLAIN).matches("1 failed in warm-up").count(), reported);
    }
}
