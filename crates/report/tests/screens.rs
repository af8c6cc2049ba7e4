//! What the first screen of a run says once, and what it leaves out.

use linerate_analysis::view::{Bottleneck, View};
use linerate_record::run::MaybeKnown;
use linerate_record::run::failure_kind::FAILED_LATER;
use linerate_report::terminal::{TextStyle, render};

use crate::fixture;
use crate::outputs::{PLAIN, open};

const SCREEN: TextStyle = TextStyle { width: 80, ..PLAIN };

/// Series of these workloads with so many rows each, all with the same bottleneck.
fn several(workloads: &[&str], rows: usize) -> View {
    let mut view = fixture::usual();
    let mut base = view.series[0].clone();
    base.points.truncate(rows);
    (base.predicted, base.knee) = (None, None);
    let named = |workload: &&str| {
        let mut series = base.clone();
        series.workload = MaybeKnown::read(workload);
        series
    };
    view.series = workloads.iter().map(named).collect();
    view.sum_up();
    view
}

#[test]
fn failed_requests_that_were_throttled_are_not_counted_again() {
    let mut view = fixture::usual();
    view.series.truncate(1);
    let reported = |view: &View| render(view, false, PLAIN);
    let point = &mut view.series[0].points[0];
    point.errors = [("http 503 SlowDown".to_owned(), 19)].into();
    point.throttled = 19;
    let text = reported(&view);
    assert!(text.contains("  19 failed, all throttled\n") && !text.contains("19 attempts"), "{text}");
    view.series[0].points[0].errors.insert(FAILED_LATER.to_owned(), 2);
    assert!(reported(&view).contains("  21 failed, 19 of them throttled\n"), "{}", reported(&view));
    // What was retried is no failed request.
    let point = &mut view.series[0].points[0];
    point.retries = [("http 503 SlowDown".to_owned(), 4), ("timeout".to_owned(), 1)].into();
    point.throttled = 23;
    let text = reported(&view);
    assert!(text.contains("  21 failed, 19 of them throttled\n"), "{text}");
    assert!(text.contains("   also 5 attempts were retried, 4 of them throttled\n"), "{text}");
    // Where the kinds do not add up, nothing is said of which they were.
    view.series[0].points[0].throttled = 20;
    let text = reported(&view);
    assert!(
        text.contains("  21 failed\n") && text.contains("also 5 attempts were retried, 20 were throttled"),
        "{text}"
    );
}

#[test]
fn a_bottleneck_of_several_series_is_said_once_with_their_names() {
    let mut view = several(&["get", "put", "list", "delete"], 7);
    view.findings.clear();
    let claim = view.series[0].limit.clone().unwrap().claim;
    let words = |view: &View| render(view, false, SCREEN).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&view).contains(&format!("▸ all series: {claim}")), "{}", words(&view));
    let limit = view.series[1].limit.as_mut().unwrap();
    (limit.bound, limit.claim) = (Bottleneck::Client, "linerate itself is the bottleneck".to_owned());
    let text = words(&view);
    assert!(text.contains(&format!("▸ GET 4 MiB, LIST 4 MiB, DELETE 4 MiB: {claim}")), "{text}");
    assert!(text.contains("▸ linerate itself is the bottleneck"), "no other series has it: {text}");
    assert_eq!((text.matches(&claim).count(), text.matches('▸').count()), (1, 2), "{text}");
    // With reasons, each series has its own.
    assert_eq!(render(&view, true, PLAIN).matches(&claim).count(), 3);
}

#[test]
fn rows_that_are_left_out_are_called_concurrencies_or_rates() {
    let text = render(&several(&["get", "put", "list", "delete"], 7), false, SCREEN);
    assert!(text.contains("\n … 16 more concurrencies with --why\n"), "{text}");
    let mut view = open();
    view.series.truncate(1);
    let rates = view.series[0].clone();
    view.series = vec![rates; 4];
    let text = render(&view, false, SCREEN);
    assert!(text.contains(" more rates with --why\n") && !text.contains("level"), "{text}");
}

#[test]
fn five_series_of_two_rows_fit_a_screen_and_say_once_that_they_were_disturbed() {
    let mut view = several(&["get", "put", "stat", "list", "delete"], 2);
    let claim = "the run was disturbed: other programs used the processors of this machine while points were measured";
    for series in &mut view.series {
        let limit = series.limit.as_mut().unwrap();
        (limit.bound, limit.claim) = (Bottleneck::Disturbed, claim.to_owned());
        for point in &mut series.points {
            (point.throttled, point.retries) = (1, [("http 503 SlowDown".to_owned(), 1)].into());
        }
    }
    let text = render(&view, false, SCREEN);
    // The command writes where the report is, and what shows more.
    assert!(text.lines().count() <= 40 - 3, "{} lines: {text}", text.lines().count());
    assert_eq!((text.matches("the run was disturbed").count(), text.matches(" series ").count()), (1, 1), "{text}");
}
