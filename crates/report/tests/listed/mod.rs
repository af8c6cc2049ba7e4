//! What a list of runs says of each.

use linerate_analysis::view::View;

use crate::fixture;

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
