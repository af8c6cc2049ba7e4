//! What a list of runs says of each.

use linerate_analysis::view::{Bottleneck, SeriesLimit, View};
use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_report::terminal::render;

use crate::fixture;
use crate::outputs::{PLAIN, open};

#[test]
fn a_list_of_runs_fits_a_terminal_and_cuts_no_name() {
    use linerate_report::runs::{broken, header, row};
    let (view, path) = (fixture::usual(), "runs/1121-1731-get-put-of-a-long-night");
    let row = row(path, &view, Some(80));
    let broken = broken(path, None, &"a reason of many words ".repeat(9), Some(80));
    for text in [header(Some(80)), row.clone(), broken] {
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("run; its target") || text.contains(path), "{text}");
    }
    let best = linerate_report::runs::row(path, &view, Some(160));
    let figures = |text: &str| {
        let words = text.split_whitespace().filter(|word| word.contains("iB/s"));
        words.map(|word| word.trim_end_matches(':').to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(figures(&row), figures(&best));
    assert!(!figures(&row).is_empty(), "{row}");
}

#[test]
fn a_list_of_runs_shows_requests_that_failed() {
    let mut view = fixture::usual();
    view.series.iter_mut().flat_map(|series| &mut series.points).for_each(|point| point.errors.clear());
    let failed = |view: &View| linerate_report::runs::row("runs/a", view, None).matches("failed").count();
    assert_eq!(failed(&view), 0);
    for (n, reported) in [(1, ", 1 request failed"), (12, ", 12 requests failed")] {
        view.series[0].points[0].errors = [("http 503".to_owned(), n)].into();
        let row = linerate_report::runs::row("runs/a", &view, None);
        assert!(row.lines().next().is_some_and(|line| line.ends_with(reported)), "{row}");
        assert_eq!(failed(&view), 1, "{row}");
    }
}

#[test]
fn a_list_of_runs_marks_a_quick_look() {
    let mut view = fixture::usual();
    for quick_look in [true, false] {
        view.series[0].summary.quick_look = quick_look;
        let row = linerate_report::runs::row("runs/a", &view, None);
        assert_eq!(row.lines().next().is_some_and(|line| line.contains(", a quick look")), quick_look, "{row}");
    }
}

/// An open loop without bounds, of a point for each rate.
fn of_rates(bound: Bottleneck) -> View {
    let mut view = open();
    view.series.truncate(1);
    view.findings.clear();
    let opens = view.series[0].points.iter_mut().filter_map(|point| point.open.as_mut());
    opens.for_each(|open| open.bounds.clear());
    let (claim, evidence, remedy) = (String::new(), String::new(), String::new());
    view.series[0].limit = Some(SeriesLimit { bound, claim, evidence, remedy });
    view.sum_up();
    view
}

#[test]
fn an_open_loop_of_one_visit_is_called_a_quick_look() {
    let mut view = of_rates(Bottleneck::RequestedRate);
    for (measured_ms, is_quick) in [(20_000, true), (30_000, false)] {
        view.series[0].points.iter_mut().for_each(|point| point.measured_ms = measured_ms);
        view.sum_up();
        let (row, report) = (linerate_report::runs::row("runs/a", &view, None), render(&view, false, PLAIN));
        assert_eq!(row.contains("/s asked for, a quick look,"), is_quick, "{measured_ms}: {row}");
        assert_eq!(report.contains(" ± a quick look, without 95 % intervals"), is_quick, "{measured_ms}: {report}");
    }
}

#[test]
fn a_list_of_runs_names_a_disturbance_whatever_bound_the_series() {
    let mut view = of_rates(Bottleneck::RequestedRate);
    let best = view.series[0].summary.best.unwrap().point;
    for (severity, point, is_disturbed) in [
        (Severity::Warning, best, true),
        (Severity::Critical, best, true),
        (Severity::Note, best, false),
        (Severity::Warning, best + 1_000, false),
    ] {
        view.findings = vec![Finding {
            kind: FindingKind::Disturbed,
            severity,
            confidence: Confidence::Likely,
            points: vec![point],
            claim: String::new(),
            evidence: String::new(),
            remedy: String::new(),
        }];
        let row = linerate_report::runs::row("runs/a", &view, None);
        assert_eq!(row.contains(", disturbed, bottleneck: rate asked for"), is_disturbed, "{severity:?}: {row}");
    }
    let view = of_rates(Bottleneck::Disturbed);
    let row = linerate_report::runs::row("runs/a", &view, None);
    assert_eq!(row.matches("disturbed").count(), 1, "{row}");
}

#[test]
fn a_list_of_runs_names_the_slots_that_bound_an_open_loop() {
    let mut view = of_rates(Bottleneck::Slots);
    view.series[0].points.iter_mut().for_each(|point| point.concurrency = 8);
    view.sum_up();
    let row = linerate_report::runs::row("runs/a", &view, None);
    assert!(row.contains(", bottleneck: 8 requests in flight at most"), "{row}");
}
