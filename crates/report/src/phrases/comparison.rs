//! The wording of comparisons, of the terminal and the page.

use linerate_analysis::compare::{
    CompareVerdict, Comparison, ComparisonThreshold, InsufficientData, Metric, MetricComparison, MissingData,
    PointComparison, RUNS_MIN, RelativeChange, SeriesComparison, SideEstimate, UnknownMetric,
};
use linerate_analysis::view::{Bottleneck, Measure};
use linerate_record::units::{bytes_per_s_iec, duration_ns};

use crate::colour::Colour;
use crate::phrases;

/// Differences that the closing sentence names; more are counted.
const NAMED_MAX: usize = 4;

/// Why nothing is called of few runs.
const FEW_RUNS: &str = "nothing was tested: two runs of the same system, minutes apart, differ too, and it takes three \
                        runs of each side to measure by how much.";

/// What to do about it.
pub const HOW_TO_MAKE_RUNS: &str = "Run A B B A A B, each with linerate bench -o FOLDER, and compare A1,A2,A3 with \
    B1,B2,B3; or let linerate experiment --with a='FLAGS' --with b='FLAGS' draw the order and run them.";

/// A figure of one side, with its unit.
pub(crate) fn value(side: &SideEstimate, metric: Metric, measure: Measure) -> String {
    match (metric, measure) {
        (Metric::Throughput, Measure::Bytes) => bytes_per_s_iec(side.value),
        (Metric::Throughput, Measure::Requests) => phrases::requests_per_s(side.value),
        // No request takes no time.
        (Metric::P50 | Metric::P99, _) if side.value == 0.0 => phrases::ABSENT.to_owned(),
        (Metric::P50 | Metric::P99, _) => duration_ns(side.value),
    }
}

/// What B against A varies by.
pub(crate) fn interval(metric_comparison: &MetricComparison) -> String {
    let reported = |c: RelativeChange| format!("{} to {}", phrases::change(c.low_95), phrases::change(c.high_95));
    metric_comparison.change.map_or_else(String::new, reported)
}

pub(crate) fn verdict(metric_comparison: &MetricComparison) -> (Colour, String) {
    let ink = if metric_comparison.better == Some(true) { Colour::Green } else { Colour::Red };
    match (metric_comparison.verdict, metric_comparison.change) {
        (CompareVerdict::Higher, _) => (ink, "higher".to_owned()),
        (CompareVerdict::Lower, _) => (ink, "lower".to_owned()),
        (CompareVerdict::NotShown, Some(change)) if change.too_unsteady => {
            (Colour::Dim, "no difference shown; too unsteady to show even a doubling".to_owned())
        }
        (CompareVerdict::NotShown, Some(change)) => match change.shown_from {
            Some(share) => {
                (Colour::Dim, format!("no difference shown; {} or more would have been", phrases::percent(share)))
            }
            None => (Colour::Dim, "no difference shown".to_owned()),
        },
        (CompareVerdict::NotShown, None) | (CompareVerdict::TooFew | CompareVerdict::FewRuns, _) => {
            let lacks = metric_comparison.lacks.map_or_else(String::new, |lacks| format!(": {}", lacking(lacks)));
            (Colour::Dim, format!("too little data{lacks}"))
        }
    }
}

/// What there is in A and in B, and what it takes: `1 and 2 runs, 3 needed`.
fn lacking(lacks: InsufficientData) -> String {
    let InsufficientData { of, a, b, needed } = lacks;
    let (of, about) = match of {
        MissingData::Runs => ("runs", ""),
        MissingData::Intervals => ("intervals a run", ""),
        MissingData::Requests => ("requests a run", "about "),
    };
    let [a, b, needed] = [a, b, needed].map(phrases::grouped);
    format!("{a} and {b} {of}, {about}{needed} needed")
}

/// The same, each under a word; the closing sentence among them.
pub(crate) fn noted(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    let mut note = |lead: &'static str, reported: &str| notes.push((lead, reported.to_owned()));
    match (comparison.tests, comparison.enough_runs) {
        (0, true) => note("read", "nothing could be tested: a figure needs enough requests in three runs a side"),
        (0, false) => {}
        (tests, _) => note(
            "read",
            &format!(
                "{} together: between equals, any difference is called in 5 % of comparisons at most (Holm). {}An \
                 interval is at the level that its test has among all, and rests on how runs differ from each other, \
                 within A and within B{}",
                phrases::plural(u64::from(tests), "test"),
                if says_what_would_be_shown(comparison) {
                    "\"Would have been\" means in four comparisons of five. "
                } else {
                    ""
                },
                if is_open_loop(comparison) { ". Latencies of open loops are from when requests were due" } else { "" }
            ),
        ),
    }
    if let Some(sides) = disturbed(comparison) {
        note("disturbed", &format!("other programs used the processors in runs of {sides}: differences may be theirs"));
    }
    if !comparison.enough_runs {
        let [a, b] = [&comparison.a, &comparison.b].map(|side| side.runs.len() as u64);
        let lacks = lacking(InsufficientData { of: MissingData::Runs, a, b, needed: RUNS_MIN as u64 });
        note("runs", &format!("too little data: {lacks}; {FEW_RUNS} {HOW_TO_MAKE_RUNS}"));
    } else if comparison.apart_in_time {
        let reported = "all runs of one side came before those of the other: changes over time are part of the \
                        difference.";
        note("drift", &format!("{reported} {HOW_TO_MAKE_RUNS}"));
    }
    if !comparison.unmatched.is_empty() {
        note("unmatched", &comparison.unmatched.join(", "));
    }
    if let Some(unknown) = unknown_metrics(comparison) {
        note("unknown", &unknown);
    }
    if let Some(silent) = unanswered(comparison) {
        note("failed", &silent);
    }
    if let Some(closing) = closing(comparison) {
        note("in short", &closing);
    }
    if let Some(threshold) = &comparison.threshold {
        note("threshold", &threshold_in_words(threshold, comparison));
    }
    notes
}

/// The figures that are not compared, since some runs have only a bound of them.
fn unknown_metrics(comparison: &Comparison) -> Option<String> {
    let named = |series: &SeriesComparison, point: &PointComparison, one: &UnknownMetric| {
        let runs = |runs: u32, side: &str| {
            (runs > 0).then(|| format!("{} of {side}", phrases::plural(u64::from(runs), "run")))
        };
        let runs: Vec<String> = [runs(one.a_runs, "A"), runs(one.b_runs, "B")].into_iter().flatten().collect();
        format!("{} of {} in {}", metric_word(one.metric), series.point_name(point), runs.join(" and "))
    };
    let each = points(comparison);
    let all: Vec<String> =
        each.flat_map(|(series, point)| point.unknown.iter().map(move |one| named(series, point, one))).collect();
    let listed = all.join("; ");
    (!all.is_empty()).then(|| format!("not compared, since too many requests had not ended to know it: {listed}"))
}

/// Whether rates of an open loop are compared.
fn is_open_loop(comparison: &Comparison) -> bool {
    points(comparison).any(|(_, point)| point.rate_per_s.is_some())
}

/// Whether a row says from which difference on it would have been shown.
fn says_what_would_be_shown(comparison: &Comparison) -> bool {
    let says = |c: &MetricComparison| {
        c.verdict == CompareVerdict::NotShown && c.change.is_some_and(|c| !c.too_unsteady && c.shown_from.is_some())
    };
    points(comparison).flat_map(|(_, point)| &point.contrasts).any(says)
}

/// The sides of which a run has no bottleneck, since other programs used its processors.
fn disturbed(comparison: &Comparison) -> Option<&'static str> {
    let is = |bound: fn(&SeriesComparison) -> Option<Bottleneck>| {
        comparison.series.iter().any(|series| bound(series) == Some(Bottleneck::Disturbed))
    };
    match (is(|series| series.a_bound), is(|series| series.b_bound)) {
        (true, true) => Some("A and of B"),
        (true, false) => Some("A"),
        (false, true) => Some("B"),
        (false, false) => None,
    }
}

pub(crate) const fn metric_word(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::P50 => "p50",
        Metric::P99 => "p99",
    }
}

/// All points, each with its series.
fn points(comparison: &Comparison) -> impl Iterator<Item = (&SeriesComparison, &PointComparison)> {
    comparison.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)))
}

/// Where a point is, in words.
fn place(series: &SeriesComparison, point: &PointComparison) -> String {
    format!("{} {}", phrases::compared_name(series), series.load(point))
}

/// The first of so many, and how many more there are.
fn first_of(all: &[String]) -> String {
    let more = all.len().saturating_sub(NAMED_MAX);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{rest}", all[..all.len() - more].join(", "))
}

/// Whether a figure of B is shown to differ from that of A.
pub(crate) fn is_called(metric_comparison: &MetricComparison) -> bool {
    matches!(metric_comparison.verdict, CompareVerdict::Higher | CompareVerdict::Lower)
}

/// The points at which no run of a side has a request that succeeded.
fn unanswered(comparison: &Comparison) -> Option<String> {
    let of_side = |side: &str, runs: usize, failed_runs: fn(&PointComparison) -> u32| {
        let is_silent = |point: &PointComparison| runs > 0 && failed_runs(point) as usize == runs;
        let silent = points(comparison).filter(|(_, point)| is_silent(point));
        let names: Vec<String> = silent.map(|(series, point)| place(series, point)).collect();
        (!names.is_empty()).then(|| format!("no request of {side} succeeded at {}", first_of(&names)))
    };
    let (a, b) = (comparison.a.runs.len(), comparison.b.runs.len());
    let sides = [of_side("A", a, |point| point.a_failed_runs), of_side("B", b, |point| point.b_failed_runs)];
    let silent: Vec<String> = sides.into_iter().flatten().collect();
    (!silent.is_empty()).then(|| silent.join("; "))
}

/// What was called, in a sentence.
fn closing(comparison: &Comparison) -> Option<String> {
    let mut called = Vec::new();
    for (series, point) in points(comparison) {
        let at = place(series, point);
        called.extend(point.contrasts.iter().filter(|one| is_called(one)).map(|metric_comparison| {
            format!("{} {} at {at}", metric_word(metric_comparison.metric), phrases::change(metric_comparison.share))
        }));
    }
    match (comparison.tests, called.is_empty()) {
        (0, _) => None,
        (_, true) => Some("no difference is shown".to_owned()),
        _ => Some(format!("B against A: {}", first_of(&called))),
    }
}

fn threshold_in_words(threshold: &ComparisonThreshold, comparison: &Comparison) -> String {
    let share = phrases::percent(threshold.share);
    // Throughputs that were not tested, in the order of the names of their points.
    let is_tested =
        |(series, point): &(&SeriesComparison, &PointComparison)| !threshold.missed.contains(&series.point_name(point));
    let throughputs = points(comparison).filter(is_tested).filter_map(|(_, point)| {
        let is_throughput = |metric_comparison: &&MetricComparison| metric_comparison.metric == Metric::Throughput;
        let found = point.contrasts.iter().find(is_throughput);
        found
            .is_none_or(|metric_comparison| metric_comparison.change.is_none())
            .then(|| found.and_then(|metric_comparison| metric_comparison.lacks))
    });
    let named = |(name, lacks): (&String, Option<InsufficientData>)| {
        format!("{name}{}", lacks.map_or_else(String::new, |lacks| format!(" ({})", lacking(lacks))))
    };
    let untested: Vec<String> = threshold.untested.iter().zip(throughputs).map(named).collect();
    let untested = match untested.as_slice() {
        [] => String::new(),
        names => format!("; too little data at {}", names.join(", ")),
    };
    let unsteady: Vec<String> = points(comparison)
        .filter(|(_, point)| {
            let is_unsteady = |c: &MetricComparison| {
                c.verdict == CompareVerdict::NotShown && c.change.is_some_and(|c| c.too_unsteady)
            };
            point.contrasts.iter().any(|c| c.metric == Metric::Throughput && is_unsteady(c))
        })
        .map(|(series, point)| series.point_name(point))
        .filter(|name| !threshold.missed.contains(name))
        .collect();
    let untested = match unsteady.as_slice() {
        [] => untested,
        names => format!("{untested}; too unsteady to tell at {}", names.join(", ")),
    };
    let has_failed = |name: &&String| {
        let of_name = |(series, point): &(&SeriesComparison, &PointComparison)| {
            series.point_name(point) == **name && point.b_failed_runs > point.a_failed_runs
        };
        points(comparison).any(|one| of_name(&one))
    };
    let (failed, slower): (Vec<&String>, Vec<&String>) = threshold.missed.iter().partition(has_failed);
    let listed = |names: &[&String]| names.iter().map(|name| name.as_str()).collect::<Vec<&str>>().join(", ");
    let failed_at = format!("more runs of B than of A have no request that succeeded at {}", listed(&failed));
    let slower_at = format!("throughput is more than {share} lower at {}", listed(&slower));
    match (failed.is_empty(), slower.is_empty()) {
        (true, true) => format!("no throughput is shown to be more than {share} lower{untested}"),
        (true, false) => format!("missed: {slower_at}{untested}"),
        (false, true) => format!("missed: {failed_at}{untested}"),
        (false, false) => format!("missed: {failed_at}; {slower_at}{untested}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::{comparison, run, series};

    #[test]
    fn what_is_not_compared_is_named_with_the_runs_that_leave_it_unknown() {
        let point = |unknown: Vec<UnknownMetric>| PointComparison {
            rate_per_s: None,
            a_concurrency: 16,
            b_concurrency: 16,
            driven_by: None,
            a_errors: 0,
            b_errors: 0,
            a_failed_runs: 0,
            b_failed_runs: 0,
            contrasts: Vec::new(),
            unknown,
        };
        let comparison = |unknown| comparison(series(vec![point(unknown)]));
        let reported = |unknown| noted(&comparison(unknown)).into_iter().find(|(lead, _)| *lead == "unknown");
        assert_eq!(reported(Vec::new()), None);
        let unknown = |metric, a_runs, b_runs| UnknownMetric { metric, a_runs, b_runs };
        let (_, text) = reported(vec![unknown(Metric::P50, 0, 1), unknown(Metric::P99, 2, 1)]).unwrap();
        let listed = "p50 of get 4MiB × 16 in 1 run of B; p99 of get 4MiB × 16 in 2 runs of A and 1 run of B";
        assert!(text.ends_with(listed), "{text}");
        let run = || run("a", "0.1.0", true);
        let mut silent = comparison(Vec::new());
        (silent.a.runs, silent.b.runs) = (vec![run(), run()], vec![run(), run()]);
        let failed = |silent: &Comparison| noted(silent).into_iter().find(|(lead, _)| *lead == "failed");
        silent.series[0].points[0].b_failed_runs = 1;
        assert_eq!(failed(&silent), None, "one run has figures");
        silent.series[0].points[0].b_failed_runs = 2;
        let (_, text) = failed(&silent).unwrap();
        assert!(text.starts_with("no request of B succeeded at ") && text.ends_with("× 16"), "{text}");
    }
}
