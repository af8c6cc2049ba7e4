//! A view as one self-contained HTML page.
//!
//! Tables are written here, so that they read and print without JavaScript; charts are drawn by `report.js` from the
//! rounded columns that `charts` embeds. The page asks for nothing over the network, and its policy forbids any.

use linerate_analysis::view::{Point, Series, View};
use linerate_record::units::count;

use self::markup::ExactFigures;
use crate::phrases;

pub(crate) mod audit;
mod bars;
mod charts;
mod clients;
pub(crate) mod comparison;
pub(crate) mod diagnosis;
pub(crate) mod experiment;
pub(crate) mod explanation;
mod growth;
mod hosts;
mod markup;
pub(crate) mod net;
mod page;
pub(crate) mod plan;
mod points;
pub(crate) mod rollout;
mod setup;
mod summary;

/// The sections of a report of a run.
const REPORT: &str = include_str!("../assets/report.html");
/// Their names in the head of the page; those marked need JavaScript.
const REPORT_NAV: [(&str, &str, bool); 7] = [
    ("verdict", "Verdict", false),
    ("throughput", "Throughput", true),
    ("latency", "Latency", true),
    ("timeline", "Timeline", true),
    ("findings", "Findings", false),
    ("points", "Points", false),
    ("setup", "Setup", false),
];
const STYLE: &str = include_str!("../assets/report.css");
/// What the scripts of all pages share.
const PAGE_SCRIPT: &str = include_str!("../assets/page.js");
const SCRIPT: &str = include_str!("../assets/report.js");
/// Draws the curve of a plan; stands on pages without charts too, for their themes.
const PLAN_SCRIPT: &str = include_str!("../assets/plan.js");
const DIAGNOSIS_SCRIPT: &str = include_str!("../assets/diagnosis.js");
const NET_SCRIPT: &str = include_str!("../assets/net.js");
const ROLLOUT_SCRIPT: &str = include_str!("../assets/rollout.js");
const EXPERIMENT_SCRIPT: &str = include_str!("../assets/experiment.js");
const UPLOT: &str = include_str!("../assets/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../assets/uPlot.min.css");
const UPLOT_LICENSE: &str = include_str!("../assets/uPlot.LICENSE");

/// Points beyond which the tables leave out the exact figures that cells carry for programs.
const EXACT_POINTS_MAX: usize = 100;

/// The page: below 2 MB for the largest timeline and up to a thousand points.
///
/// Every cell of figures carries `data-point`, `data-field` (the dotted path within that point's JSON) and `data-value`
/// (the exact number); runs of more than 100 points go without. Once the charts stand, the root element has
/// `data-ready="true"` and their number in `data-charts`; `data-error` appears if the script failed.
#[must_use]
pub fn html(view: &View) -> String {
    let ceilings = view.ceilings.iter().map(|ceiling| 1 + usize::from(ceiling.plain.is_some())).sum::<usize>();
    let count = view.series.iter().map(|series| series.points.len()).sum::<usize>() + ceilings;
    let exact = if count <= EXACT_POINTS_MAX { ExactFigures::Carried } else { ExactFigures::Left };
    let link = |(id, title, needs_script): (&str, &str, bool)| {
        format!("<a{} href=\"#{id}\">{title}</a>", if needs_script { " class=\"js-only\"" } else { "" })
    };
    let of_clients =
        [("growth", "Growth", !view.growth.is_empty()), ("clients", "Clients", !view.run.clients.is_empty())]
            .into_iter()
            .filter(|(.., is_there)| *is_there)
            .map(|(id, title, _)| link((id, title, false)))
            .collect::<String>();
    let main = filled(REPORT, |name| match name {
        "severe" => summary::severe(&view.findings),
        "verdicts" => summary::verdicts(view, exact),
        "growth" => growth::section(view),
        "findings" => summary::findings(&view.findings),
        "hosts" => [clients::section(view), hosts::tables(view)].concat(),
        "points" => points::tables(view, exact),
        "setup" => setup::facts(&view.run),
        _ => String::new(),
    });
    page::framed(&page::HtmlPage {
        title: view.run.title.as_ref().unwrap_or(&view.run.id),
        nav: &[REPORT_NAV.map(link).concat(), of_clients].concat(),
        header: &summary::header(view),
        main: &main,
        version: &view.run.linerate_version,
        view: &charts::json(view),
        script: SCRIPT,
    })
}

/// The template with each `{{name}}` replaced, in one pass: what is put in is not looked at again.
fn filled(template: &str, part: impl Fn(&str) -> String) -> String {
    let mut page = String::with_capacity(1 << 20);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        page.push_str(&part(name));
        rest = after;
    }
    page.push_str(rest);
    page
}

/// `GET 4 MiB × 16`, or `GET 4 MiB at 200/s` of an open loop.
fn point_label(series: &Series, point: &Point) -> String {
    let label = phrases::series_name(series);
    match &point.open {
        Some(open) => format!("{label} at {}/s", count(open.requested_per_s)),
        None => format!("{label} × {}", point.concurrency),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_is_not_a_template() {
        let page = filled("a {{x}} b {{y}} c", |name| if name == "x" { "{{y}}".to_owned() } else { "Y".to_owned() });
        assert_eq!(page, "a {{y}} b Y c");
    }

    #[test]
    fn the_report_names_only_parts_and_sections_that_exist() {
        let names = REPORT.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(name, _)| name);
        assert_eq!(names.collect::<Vec<_>>(), ["severe", "verdicts", "growth", "findings", "hosts", "points", "setup"]);
        for (id, ..) in REPORT_NAV {
            assert!(REPORT.contains(&format!("<section id=\"{id}\"")), "{id}");
        }
    }

    #[test]
    fn the_chart_library_states_its_version_and_licence() {
        assert!(UPLOT.starts_with("/*! https://github.com/leeoniya/uPlot (v1.6.32) */"));
        assert!(UPLOT_LICENSE.contains("Permission is hereby granted"));
    }
}
