//! What is said of levels that were visited several times.

use linerate_analysis::slo::BoundVerdict;
use linerate_analysis::view::{Measure, Point, View};
use linerate_record::run::{SearchSpec, SeriesSpec};
use linerate_report::terminal::{TextStyle, render};
use linerate_report::{csv, html};

use crate::fixture;
use crate::outputs::{PLAIN, open};

/// The series with each of its points visited so often, all visits of which come to what the point was.
fn visited(view: &mut View, times: u32) {
    let series = &mut view.series[0];
    series.pooled = series.points.clone();
    let again =
        |nth: u32| series.points.iter().map(move |point| Point { point: point.point + 100 * nth, ..point.clone() });
    series.points = (0..times).flat_map(again).collect();
    let rate = |point: &Point| point.open.as_ref().map_or(0.0, |open| open.requested_per_s);
    series.points.sort_by(|a, b| {
        (a.concurrency.cmp(&b.concurrency)).then(rate(a).total_cmp(&rate(b))).then(a.point.cmp(&b.point))
    });
}

#[test]
fn a_search_has_a_row_a_concurrency_with_all_its_visits_and_fits_a_screen() {
    let mut view = fixture::usual();
    view.series.truncate(1);
    visited(&mut view, 8);
    let spec = &view.run.requested.points[0];
    let series = vec![SeriesSpec { workload: spec.workload.clone(), size: spec.size.clone(), clients: None }];
    view.run.requested.search = Some(SearchSpec { lowest: 1, highest: 64, series_ms: 60_000, series });
    view.findings = vec![view.findings[0].clone(); 9];
    view.series[0].predicted = None;
    view.sum_up();
    let look = TextStyle { width: 80, ..PLAIN };
    let (text, all) = (render(&view, false, look), render(&view, true, look));
    assert_eq!(text.matches(" ×8 ").count(), 7, "{text}");
    assert!(text.contains("16 ×8 ") && text.contains("← knee at 16 (8–32)\n"), "{text}");
    assert!(text.lines().count() <= 25 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(["   sure ", "   stop reason "].iter().all(|lead| !text.contains(lead)), "{text}");
    assert!(text.contains("8 more findings like it"), "{text}");
    // With reasons, what all visits come to stands behind them.
    assert_eq!((all.matches(" 289 3.26 ms").count(), all.matches(" ×8 ").count()), (9, 7), "{all}");
    assert!(["   sure ", "   stop reason "].iter().all(|lead| all.contains(lead)), "{all}");
    // Several series share the screen: the knee, the best and either end of each are left.
    let one = view.series[0].clone();
    view.series = vec![one; 4];
    let text = render(&view, false, look);
    assert!(text.lines().count() <= 40, "{} lines: {text}", text.lines().count());
    assert_eq!(text.matches("← knee at 16").count(), 4, "{text}");
    // They stand below each other under the same names, and under others once more.
    let begin = |text: &str, lead: &str| text.lines().filter(|line| line.starts_with(lead)).count();
    assert_eq!((begin(&text, " GET 4 MiB "), begin(&text, " series ")), (4, 1), "{text}");
    let rows = text.split(" series ").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    assert_eq!(begin(rows, " GET 4 MiB "), 4, "no empty line parts them: {text}");
    view.series[2].measure = Measure::Requests;
    assert_eq!(begin(&render(&view, false, look), " series "), 3);
}

#[test]
fn latencies_beside_the_best_are_of_all_of_its_visits() {
    let mut view = fixture::usual();
    let series = &mut view.series[0];
    let best = series.best_point().unwrap().clone();
    let (mut all, mut again) = (best.clone(), best);
    again.point = 900;
    (all.total.p50_ns, all.total.p99_ns) = (1_110_000, 22_200_000);
    series.points.push(again);
    series.points.sort_by_key(|point| point.concurrency);
    series.pooled = vec![all];
    view.series.truncate(1);
    view.sum_up();
    let (page, text) = (html(&view), render(&view, true, PLAIN));
    let card = page.split("<p class=\"at\">").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(card.ends_with("2 visits together · p50 <b>1.11 ms</b> · p99 <b>22.2 ms</b>"), "{card}");
    let sure = text.split("   sure ").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(sure.contains("p99 22.2 ms"), "{sure}");
}

#[test]
fn a_rate_that_was_visited_again_has_the_verdict_of_all_visits_and_each_visit_its_own() {
    let mut view = open();
    view.series.truncate(1);
    for point in &mut view.series[0].points {
        point.concurrency = 1024;
    }
    visited(&mut view, 3);
    // Each visit of the lowest rate is in doubt, and all of them show that it holds.
    let rate = |point: &Point| point.open.as_ref().map_or(0.0, |open| open.requested_per_s);
    for point in view.series[0].points.iter_mut().filter(|point| rate(point) == 200.0) {
        point.open.as_mut().unwrap().bounds[0].verdict = BoundVerdict::InDoubt;
    }
    view.sum_up();
    let (text, all) = (render(&view, false, PLAIN), render(&view, true, PLAIN));
    assert_eq!((text.matches(" ×3 ").count(), text.matches("in doubt").count()), (7, 0), "{text}");
    let in_doubt = all.lines().filter(|line| line.ends_with("  in doubt")).count();
    assert_eq!((all.matches(" ×3 ").count(), in_doubt), (7, 3), "{all}");
    let page = html(&view);
    assert_eq!(page.matches("GET 4 MiB, 3 visits together").count(), 2 * 7, "of each rate, in both tables");
    assert_eq!(page.matches(">held here, not shown to hold").count(), 3);
    let table = csv(&view);
    let (heads, rows) = table.split_once('\n').unwrap();
    let at = |name: &str| heads.split(',').position(|head| head == name).unwrap();
    let together = rows.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let together: Vec<_> = together.filter(|row| row[at("purpose")] == "together").collect();
    assert_eq!((together.len(), together[0][at("rate_per_s")]), (7, "200"), "{table}");
}

#[test]
fn a_table_says_where_half_widths_are_those_of_a_quick_look() {
    let mut view = fixture::usual();
    for quick_look in [true, false] {
        view.series[0].summary.quick_look = quick_look;
        let table = csv(&view);
        assert!(table.lines().next().is_some_and(|heads| heads.ends_with(",quick_look")), "{table}");
        assert!(table.lines().nth(1).is_some_and(|row| row.ends_with(&format!(",{quick_look}"))), "{table}");
        assert!(table.lines().last().is_some_and(|row| row.ends_with(',')), "a ceiling has none: {table}");
    }
}

#[test]
fn no_page_calls_the_bars_of_a_quick_look_those_of_95_percent() {
    for view in [fixture::usual(), fixture::over_clients()] {
        let page = html(&view);
        assert!(page.contains("span the confidence interval: of 95 %, except in a quick look"));
        assert!(!page.contains("the 95 % confidence interval"));
    }
}
