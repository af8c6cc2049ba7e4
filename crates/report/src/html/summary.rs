//! The top of the page: what was run, the verdict on each series, and the findings.

use std::fmt::{Display, Write as _};

use linerate_analysis::knee::{Knee, KneeOutcome};
use linerate_analysis::view::{Best, Bottleneck, ClientCeiling, Measure, Point, Series, View};
use linerate_record::finding::{Finding, Severity};
use linerate_record::run::LoadRequest;
use linerate_record::units::{bytes_per_s_iec, count, duration_ns};

use super::markup::{ExactFigures, PointCells, escaped};
use super::page::{self, FindingRow};
use crate::phrases;

/// The run's name, state and circumstances, and what it comes to. A run with critical findings is not called complete:
/// it would read as if its figures held.
pub(super) fn header(view: &View) -> String {
    let run = &view.run;
    let is_critical = view.findings.iter().any(|found| found.severity == Severity::Critical);
    let state = match (run.complete, is_critical) {
        (true, false) => "<span class=\"tag\">complete</span>",
        (true, true) => "",
        (false, _) => "<span class=\"tag warning\">incomplete</span>",
    };
    let mut facts = String::new();
    for (name, value) in [
        ("Target", phrases::target(&run.target)),
        ("Client", phrases::clients(run)),
        ("Started", phrases::utc(run.started_unix_ms)),
        ("Took", phrases::elapsed(run)),
        ("Version", format!("linerate {}", run.linerate_version)),
    ] {
        let _ = write!(facts, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
    }
    let name = run.title.as_ref().map_or_else(|| run.id.clone(), |title| format!("{title} · {}", run.id));
    let gist = escaped(&phrases::gist::gist(view));
    format!("<h1>{} {state}</h1>\n<p class=\"gist\">{gist}</p>\n<dl class=\"strip\">{facts}</dl>\n", escaped(&name))
}

/// A card per series.
pub(super) fn verdicts(view: &View, exact: ExactFigures) -> String {
    let mut html = String::new();
    for growth in &view.growth {
        let label = phrases::series_label(&growth.workload, &growth.size);
        let _ = writeln!(
            html,
            "<article class=\"card\"><h3>{} over clients</h3>\n<p class=\"bound\">{}</p></article>",
            escaped(&label),
            escaped(&phrases::client_growth::verdict(growth))
        );
    }
    for series in &view.series {
        let ceiling = view.ceiling_of(series);
        html.push_str(&card(series, ceiling.as_deref(), &view.run.requested, exact));
    }
    if html.is_empty() { "<p class=\"none\">No point was measured.</p>\n".to_owned() } else { html }
}

/// Where findings stand that limit what the figures say: below the charts, and not to be missed.
pub(super) fn severe(findings: &[Finding]) -> String {
    let count_at = |severity: Severity| findings.iter().filter(|found| found.severity == severity).count() as u64;
    let reported = [(Severity::Critical, "critical finding"), (Severity::Warning, "warning")]
        .into_iter()
        .filter(|(severity, _)| count_at(*severity) > 0)
        .map(|(severity, name)| phrases::plural(count_at(severity), name))
        .collect::<Vec<_>>();
    if reported.is_empty() {
        return String::new();
    }
    format!("<p class=\"severe\"><a href=\"#findings\">{}</a></p>\n", reported.join(", "))
}

fn card(series: &Series, ceiling: Option<&ClientCeiling>, requested: &LoadRequest, exact: ExactFigures) -> String {
    let label = escaped(&phrases::series_name(series));
    let Some((point, best)) = phrases::best(series) else {
        let why =
            if series.points.is_empty() { "No point has a whole interval" } else { phrases::without_best(series) };
        return format!("<article class=\"card\"><h3>{label}</h3><p class=\"none\">{why}.</p></article>\n");
    };
    let mut html = format!("<article class=\"card\"><h3>{label}</h3>\n{}", headline(series, point, best, exact));
    if let Some(ceiling) = ceiling {
        let share = best.client_ceiling_share.unwrap_or(0.0);
        html.push_str(&if share > 1.0 {
            format!("<p class=\"at\">{}</p>\n", escaped(&phrases::failed_ceiling(series, ceiling)))
        } else {
            client_ceiling_line(series.measure, share, ceiling, phrases::ceiling_note(requested.verify), exact)
        });
    }
    if let Some(knee) = &series.knee {
        html.push_str(&knee_line(knee));
    }
    if let (Some(sustained), Some(slo)) = (&series.sustained, &requested.slo) {
        let _ = writeln!(html, "<p class=\"knee\">{}</p>", escaped(&phrases::sustained(sustained, &slo.to_string())));
    }
    if let Some(predicted) = &series.predicted {
        let _ = writeln!(html, "<p class=\"evidence\">Plan: {}</p>", escaped(&phrases::predicted(predicted)));
    }
    let _ = writeln!(html, "<p class=\"evidence\">Points: {}</p>", escaped(&phrases::times(series)));
    let _ = writeln!(html, "<p class=\"evidence\">Known: {}</p>", escaped(&phrases::reach(series)));
    if let Some(limit) = &series.limit {
        let class = if limit.bound == Bottleneck::Target { "target" } else { "own" };
        let _ = write!(
            html,
            "<p class=\"bound\"><span class=\"tag {class}\">{}</span> {}</p>\n<p class=\"evidence\">{}</p>\n\
             <p class=\"evidence\">Try: {}</p>\n",
            escaped(phrases::bound(limit.bound)),
            escaped(&limit.claim),
            escaped(&limit.evidence),
            escaped(&limit.remedy)
        );
    }
    html.push_str("</article>\n");
    html
}

/// The best throughput in large, and what it cost in waiting.
fn headline(series: &Series, point: &Point, best: &Best, exact: ExactFigures) -> String {
    let (field, estimate) = (leading_figure(series.measure, point).0, &best.throughput);
    let text = bytes_per_s_iec(estimate.mean);
    let (number, unit) = text.rsplit_once(' ').unwrap_or((text.as_str(), ""));
    let (number, unit) = match series.measure {
        Measure::Bytes => (number.to_owned(), unit),
        Measure::Requests => (count(estimate.mean), "req/s"),
    };
    let cells = PointCells::new(point.point, exact);
    let (path, latency) = (if point.open.is_some() { "open.total_intended" } else { "total" }, point.first_latency());
    let visits = best.visits;
    // A figure of several visits is none of a point's.
    let of_point =
        |field: &str, value: &dyn Display| if visits == 1 { cells.attributes(field, &value) } else { String::new() };
    let together = if visits == 1 { String::new() } else { format!(", {visits} visits together") };
    format!(
        "<p class=\"best\"><strong{}>{}</strong> <span class=\"unit\">{unit}</span> <span class=\"pm\">{}</span></p>\n\
         <p class=\"at\">{}{together} · p50 <b{}>{}</b> · p99 <b{}>{}</b></p>\n",
        of_point(field, &estimate.mean),
        escaped(&number),
        phrases::plus_minus(estimate),
        escaped(&phrases::best_at(point)),
        of_point(&format!("{path}.p50_ns"), &latency.p50_ns),
        phrases::latency(latency, latency.p50_ns),
        of_point(&format!("{path}.p99_ns"), &latency.p99_ns),
        phrases::latency(latency, latency.p99_ns),
    )
}

fn leading_figure(measure: Measure, point: &Point) -> (&'static str, String) {
    match measure {
        Measure::Bytes => ("bytes_per_s.mean", bytes_per_s_iec(point.bytes_per_s.mean)),
        Measure::Requests => ("requests_per_s.mean", phrases::requests_per_s(point.requests_per_s.mean)),
    }
}

/// How far the best stands from what linerate drives where nothing but itself can bind.
fn client_ceiling_line(
    measure: Measure,
    share: f64,
    ceiling: &ClientCeiling,
    note: &str,
    exact: ExactFigures,
) -> String {
    let (field, text) = leading_figure(measure, &ceiling.point);
    let cells = PointCells::new(ceiling.point.point, exact);
    format!(
        "<div class=\"meter\" style=\"--w:{:.1}%\" aria-hidden=\"true\"></div>\n<p class=\"at\">{} of the \
         <b{}>{}</b> that linerate alone drives here{}{note}</p>\n",
        100.0 * share.clamp(0.0, 1.0),
        phrases::percent(share),
        cells.attributes(field, &ceiling.point.throughput(measure).mean),
        escaped(&text),
        phrases::tls_cost(ceiling, measure)
    )
}

fn knee_line(knee: &Knee) -> String {
    let tag = match knee.outcome {
        KneeOutcome::StillRising => " <span class=\"tag warning\">no knee up to the highest concurrency tried</span>",
        KneeOutcome::Retrograde => " <span class=\"tag\">more costs throughput</span>",
        KneeOutcome::Unsteady => " <span class=\"tag warning\">too unsteady to say</span>",
        KneeOutcome::Uneven => " <span class=\"tag warning\">too uneven to say</span>",
        KneeOutcome::Capped => " <span class=\"tag warning\">drop --max-rate to find the knee</span>",
        KneeOutcome::Found | KneeOutcome::Nothing => "",
    };
    // Where no concurrency is told, there is none to give a latency of.
    let at = match knee.outcome {
        KneeOutcome::Capped | KneeOutcome::Unsteady | KneeOutcome::Uneven | KneeOutcome::Nothing => String::new(),
        _ => format!(" in flight, p50 {}", duration_ns(knee.p50_ns as f64)),
    };
    format!("<p class=\"knee\"><b>{}</b>{at}{tag}</p>\n", escaped(&phrases::knee(knee)))
}

/// What there is to say, most severe first, as the view has it.
pub(super) fn findings(findings: &[Finding]) -> String {
    page::findings(findings.iter().map(|finding| {
        let about = phrases::points(finding);
        let about = if about.is_empty() { about } else { format!(" · {about}") };
        FindingRow {
            severity: finding.severity,
            alongside: format!(" {}{about}", phrases::confidence(finding.confidence)),
            claim: &finding.claim,
            below: [labelled_if_any("Evidence", &finding.evidence), labelled_if_any("Remedy", &finding.remedy)]
                .concat(),
        }
    }))
}

fn labelled_if_any(name: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<p><span class=\"k\">{name}</span> {}</p>", escaped(text)) }
}
