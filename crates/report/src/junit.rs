//! A view as JUnit's XML, for what shows tests: a case for whether other load disturbed the run, one for whether all
//! was measured, one for the requests of the run and one for those of each series, one for its own thresholds, and one
//! for each that it is held against afterwards.

use std::fmt::Write as _;

use linerate_analysis::findings::{requests_failed, spoilt_by_others, threshold_missed};
use linerate_analysis::thresholds::ThresholdResult;
use linerate_analysis::view::{Point, Series, View, too_many_failed};
use linerate_record::run::StopReason;
use linerate_record::units::{grouped, percent};

use crate::phrases;

/// A suite of the name of the run's title, or of the run. Its cases fail where the run ended with an exit code for the
/// same reason, or a threshold is missed.
#[must_use]
pub fn junit(view: &View, held: &[ThresholdResult]) -> String {
    let run = &view.run;
    let severe = |finding: Option<&linerate_record::finding::Finding>| {
        finding.map(|found| format!("{}: {}", found.claim, found.evidence))
    };
    let mut cases = vec![
        case("run", "no other load disturbed it", severe(spoilt_by_others(view))),
        case("run", "every point is measured", unmeasured(view)),
        case("run", "requests succeed, and objects are as written", severe(requests_failed(view))),
    ];
    for series in &view.series {
        cases.push(case(&phrases::series_name(series), "requests succeed", failed(series)));
    }
    if run.requested.slo.is_some() || run.requested.abort_if.is_some() {
        cases.push(case("run", "bounds of the run are kept", severe(threshold_missed(view))));
    }
    for one in held {
        let series = view.series.get(one.series);
        let label = series.map_or_else(String::new, phrases::series_name);
        cases.push(case(&label, &format!("not {}", one.threshold), one.missed.then(|| one.reported.clone())));
    }
    let failures = cases.iter().filter(|case| case.contains("<failure")).count();
    let (tests, name) = (cases.len(), escaped(run.title.as_ref().unwrap_or(&run.id)));
    let seconds = run.elapsed_ms as f64 / 1e3;
    let time = phrases::utc_exact(run.started_unix_ms);
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\"");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n<testsuite name=\"{name}\" {counts} \
         errors=\"0\" skipped=\"0\" time=\"{seconds}\" timestamp=\"{time}\">\n{}</testsuite>\n</testsuites>\n",
        cases.concat()
    )
}

/// Why not all was measured that was asked for.
fn unmeasured(view: &View) -> Option<String> {
    let points = view.series.iter().flat_map(|series| &series.points);
    let cut_by = |reason| points.clone().any(|point: &Point| point.ended == Some(reason));
    if cut_by(StopReason::Interrupted) {
        return Some("the run was interrupted".to_owned());
    }
    if cut_by(StopReason::ClientsLost) {
        return Some("the run ended because clients were lost".to_owned());
    }
    if view.run.complete
        && let Some(series) = view.series.iter().find(|series| has_ended_none(series))
    {
        return Some(format!("no request of {} ended in the time measured", phrases::series_name(series)));
    }
    let why = match view.series.iter().all(|series| series.points.is_empty()) {
        true => "nothing was measured: the run ended before its first point",
        false => "the run ended before all requested points were measured",
    };
    (!view.run.complete).then(|| why.to_owned())
}

/// Whether points of a series were driven, and no request of any ended in its time.
fn has_ended_none(series: &Series) -> bool {
    !series.points.is_empty() && !series.points.iter().any(Point::has_ended_requests)
}

/// What failed of the point of which most did, where that is too much, or of a warm-up.
fn failed(series: &Series) -> Option<String> {
    if has_ended_none(series) {
        return Some("no request ended in the time measured".to_owned());
    }
    let Some(worst) = series.summary.failures.filter(|failures| failures.too_many) else {
        return series.points.iter().find_map(failed_in_warmup);
    };
    let (failed, all, point) = (worst.failed, worst.requests, worst.point);
    Some(format!("{} of {} requests of point {point} failed, {}", grouped(failed), grouped(all), percent(worst.share)))
}

fn failed_in_warmup(point: &Point) -> Option<String> {
    let (failed, all) = (point.warmup_error_count(), point.ended_with_warmup());
    let place = if point.failed_at_end == 0 { "in its warm-up" } else { "outside of its measured time" };
    let reported =
        || format!("{} of {} requests of point {} failed {place}", grouped(failed), grouped(all), point.point);
    too_many_failed(failed, all).then(reported)
}

fn case(class: &str, name: &str, failure: Option<String>) -> String {
    let (class, name) = (escaped(class), escaped(name));
    let mut text = format!("<testcase classname=\"linerate.{class}\" name=\"{name}\"");
    let _ = match failure {
        Some(why) => writeln!(text, "><failure message=\"{}\"/></testcase>", escaped(&why)),
        None => writeln!(text, "/>"),
    };
    text
}

/// Text as an attribute has it. XML 1.0 has no other control characters, escaped or not.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
