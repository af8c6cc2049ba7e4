//! The page in a browser: every chart stands, nothing complains, and every exact figure is the one in JSON.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use libtest_mimic::{Arguments, Failed, Trial};
use linerate_analysis::net::view::NetView;
use linerate_analysis::view::View;
use linerate_record::diagnosis::Diagnosis;
use linerate_record::experiment::ExperimentReport;
use linerate_record::rollout::RolloutReport;
use linerate_report::experiment;
use serde_json::Value;

mod fixture;
mod linked;
mod planned;
mod rolled;
mod tried;

fn main() {
    let arguments = Arguments::from_args();
    let skipped = chromium().is_none() && env::var_os("LINERATE_NO_SKIP").is_none();
    let views = [
        ("usual", fixture::usual as fn() -> View, 14),
        ("largest", fixture::largest, 14),
        ("empty", empty, 0),
        ("single_point", single_point, 4),
        ("over_clients", fixture::over_clients, 14),
    ]
    .into_iter()
    .map(|(name, view, charts)| {
        let title = format!("the_{name}_page_draws_and_agrees_with_json (needs chromium)");
        Trial::test(title, move || drawn_and_agreeing(name, &view(), charts)).with_ignored_flag(skipped)
    });
    let sheets = [
        ("plan", plan as fn() -> Sheet, 5, 100),
        ("bare_plan", bare_plan, 0, 0),
        ("explanation", explanation, 0, 40),
        ("diagnosis", diagnosis, 1, 24),
        ("links", links, 2, 100),
        ("links_of_204", links_of_204, 1, 100),
        ("failed_links", failed_links, 1, 50),
        ("asked_links", requested_links, 1, 50),
        ("connected_links", connected_links, 1, 50),
        ("datagram_links", datagram_links, 1, 50),
        ("no_links", no_links, 0, 3),
        ("probed_links", probed_links, 0, 50),
        ("placed_links", placed_links, 2, 100),
        ("racked_links", racked_links, 2, 100),
        ("rollout", rollout, 0, 50),
        ("rollout_of_484", rollout_of_484, 0, 2_000),
        ("no_rollout", no_rollout, 0, 0),
    ]
    .into_iter()
    .map(|(name, sheet, charts, figures)| {
        let title = format!("the_page_of_the_{name}_draws_and_agrees_with_json (needs chromium)");
        Trial::test(title, move || sheet_agrees(name, &sheet(), charts, figures)).with_ignored_flag(skipped)
    });
    let experiments = [
        ("experiment", tried::experiment as fn() -> ExperimentReport, 2, 100),
        ("begun_experiment", tried::begun, 2, 11),
        ("empty_experiment", tried::empty, 0, 6),
    ]
    .into_iter()
    .map(|(name, reported, charts, figures)| {
        let title = format!("the_page_of_the_{name}_draws_its_forest_and_agrees_with_json (needs chromium)");
        Trial::test(title, move || forest_stands(name, &reported(), charts, figures)).with_ignored_flag(skipped)
    });
    libtest_mimic::run(&arguments, views.chain(sheets).chain(experiments).collect()).exit();
}

/// A run that was killed before its first point.
fn empty() -> View {
    let mut view = fixture::usual();
    view.run.complete = false;
    view.series.clear();
    view.ceilings.clear();
    view.findings.clear();
    view.timeline = linerate_analysis::view::Timeline::default();
    view
}

/// One point without readings of the machine: no interval of confidence, no concurrency to compare with.
fn single_point() -> View {
    let mut view = fixture::usual();
    view.series.truncate(1);
    view.series[0].points.truncate(1);
    view.series[0].knee = None;
    view.ceilings.clear();
    view.timeline.machine.clear();
    view.timeline.spans.truncate(1);
    view.timeline.load.retain(|sample| sample.point == 0);
    view.sum_up();
    view
}

/// A page of a plan or of an explanation, and its JSON.
struct Sheet {
    html: String,
    json: String,
}

fn plan() -> Sheet {
    let mut plan = planned::plan();
    plan.scaling = Some(planned::scaling(484));
    Sheet { html: linerate_report::plan::html(&plan), json: linerate_report::plan::json(&plan) }
}

fn bare_plan() -> Sheet {
    let plan = planned::bare();
    Sheet { html: linerate_report::plan::html(&plan), json: linerate_report::plan::json(&plan) }
}

fn explanation() -> Sheet {
    let explanation = planned::explanation();
    let json = linerate_report::explanation::json(&explanation);
    Sheet { html: linerate_report::explanation::html(&explanation), json }
}

/// Readings of eight nodes, of which the third one's link sends at half its speed, and of what their sockets did.
fn diagnosis() -> Sheet {
    let diagnosis: Diagnosis =
        serde_json::from_str(include_str!("diagnosed/eight.json")).expect("linerate explain --json wrote it");
    Sheet { html: linerate_report::diagnosis::html(&diagnosis), json: linerate_report::diagnosis::json(&diagnosis) }
}

fn links() -> Sheet {
    of_links(&linked::linked(4))
}

fn links_of_204() -> Sheet {
    of_links(&linked::largest())
}

fn failed_links() -> Sheet {
    of_links(&linked::failed())
}

fn requested_links() -> Sheet {
    of_links(&linked::requested())
}

fn connected_links() -> Sheet {
    of_links(&linked::connected())
}

fn datagram_links() -> Sheet {
    of_links(&linked::datagrams())
}

fn no_links() -> Sheet {
    of_links(&linked::empty())
}

fn probed_links() -> Sheet {
    of_links(&linked::probed())
}

fn placed_links() -> Sheet {
    of_links(&linked::placed())
}

fn racked_links() -> Sheet {
    of_links(&linked::racked())
}

fn rollout() -> Sheet {
    of_rollout(&rolled::mixed())
}

fn rollout_of_484() -> Sheet {
    of_rollout(&rolled::confirmed(484))
}

fn no_rollout() -> Sheet {
    of_rollout(&rolled::confirmed(0))
}

fn of_rollout(report: &RolloutReport) -> Sheet {
    Sheet { html: linerate_report::rollout::html(report), json: linerate_report::rollout::json(report) }
}

fn of_links(view: &NetView) -> Sheet {
    Sheet { html: linerate_report::net::html(view), json: linerate_report::net::json(view) }
}

fn chromium() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join("chromium")).find(|file| file.is_file())
}

fn drawn_and_agreeing(name: &str, view: &View, charts_least: usize) -> Result<(), Failed> {
    let dom = drawn(name, &linerate_report::html(view), charts_least)?;
    figures_agree(&dom, view)
}

/// The forest plot has a row for each effect: its name, its estimate and its interval where they are known.
fn forest_stands(
    name: &str,
    reported: &ExperimentReport,
    charts_least: usize,
    figures_least: usize,
) -> Result<(), Failed> {
    let dom = drawn(name, &experiment::run_html(reported), charts_least)?;
    agrees(&dom, &experiment::run_json(reported), figures_least)?;
    let plot = dom.split_once("<svg class=\"forest\"").and_then(|(_, rest)| rest.split_once("</svg>"));
    let rows: Vec<&str> = plot.ok_or("no forest plot")?.0.split("<g class=\"row ").skip(1).collect();
    if rows.len() != reported.report.effects.len() {
        return Err(format!("{} rows for {} effects", rows.len(), reported.report.effects.len()).into());
    }
    for (row, effect) in rows.iter().zip(&reported.report.effects) {
        let named = row.contains(&format!("<title>{}: ", in_text(&effect.arm)));
        let drawn = row.contains("<circle class=\"estimate\"") == effect.share.is_some();
        let bounded = row.matches("class=\"interval\"").count() == if effect.low_share.is_some() { 3 } else { 0 };
        if !named || !drawn || !bounded {
            return Err(format!("{}: named {named}, drawn {drawn}, bounded {bounded}: {row}", effect.arm).into());
        }
    }
    let places: Vec<&str> = rows.iter().filter_map(|row| attribute(row.split_once("<circle")?.1, "cx")).collect();
    if places.iter().any(|at| !at.parse::<f64>().is_ok_and(f64::is_finite)) {
        return Err(format!("estimates at {places:?}").into());
    }
    Ok(())
}

/// Text as a browser writes it between tags.
fn in_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn sheet_agrees(name: &str, sheet: &Sheet, charts_least: usize, figures_least: usize) -> Result<(), Failed> {
    agrees(&drawn(name, &sheet.html, charts_least)?, &sheet.json, figures_least)
}

/// Every figure that says where JSON has it is the one that is there.
fn agrees(dom: &str, json: &str, figures_least: usize) -> Result<(), Failed> {
    let json: Value = serde_json::from_str(json)?;
    let tags = || dom.split("data-field=\"").skip(1);
    for tag in tags() {
        let field = unescaped(tag.split_once('"').ok_or("an attribute without end")?.0);
        let shown: f64 = attribute(tag, "data-value").ok_or("a figure without value")?.parse()?;
        let known = at(&json, &field).and_then(Value::as_f64);
        if known != Some(shown) {
            return Err(format!("{field}: {shown} on the page, {known:?} in JSON").into());
        }
    }
    if tags().count() < figures_least { Err(format!("only {} figures", tags().count()).into()) } else { Ok(()) }
}

/// A page as it stands in a browser, all of its charts drawn.
fn drawn(name: &str, html: &str, charts_least: usize) -> Result<String, Failed> {
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}.html"));
    fs::write(&page, html)?;
    let dom = dom(&page)?;
    let root = dom.split_once("<html").and_then(|(_, rest)| rest.split_once('>')).ok_or("no html element")?.0;
    if root.contains("data-error") || !root.contains("data-ready=\"true\"") {
        return Err(format!("the page is not ready: <html{root}>").into());
    }
    let charts: usize = attribute(root, "data-charts").ok_or("no count of charts")?.parse()?;
    let canvases = dom.matches("<canvas").count();
    if charts != canvases || charts < charts_least {
        return Err(format!("{charts} charts, {canvases} canvases, at least {charts_least} expected").into());
    }
    Ok(dom)
}

/// The document as it stands once scripts have run. An error or a warning on the console fails.
fn dom(page: &Path) -> Result<String, Box<dyn Error>> {
    let profile = tempfile::tempdir()?;
    let chromium = chromium().ok_or("no chromium on PATH: install it, or unset LINERATE_NO_SKIP to skip")?;
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("file://{}", page.display()))
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    match log.lines().find(|line| line.contains("CONSOLE")) {
        Some(line) => Err(format!("the page wrote to the console: {line}").into()),
        None => Ok(String::from_utf8(output.stdout)?),
    }
}

fn figures_agree(dom: &str, view: &View) -> Result<(), Failed> {
    let json: Value = serde_json::from_str(&linerate_report::json(view))?;
    let mut compared = 0;
    for rest in dom.split("data-point=\"").skip(1) {
        let tag = rest.split_once('>').ok_or("a tag without end")?.0;
        let number = tag.split_once('"').ok_or("an attribute without end")?.0.parse::<u64>()?;
        let field = unescaped(attribute(tag, "data-field").ok_or("a figure without field")?);
        let shown: f64 = attribute(tag, "data-value").ok_or("a figure without value")?.parse()?;
        let known = point(&json, number).and_then(|point| at(point, &field)).and_then(Value::as_f64);
        if known != Some(shown) {
            return Err(format!("point {number} {field}: {shown} on the page, {known:?} in JSON").into());
        }
        compared += 1;
    }
    let points = view.series.iter().map(|series| series.points.len()).sum::<usize>() + view.ceilings.len();
    if compared < 40 * points { Err(format!("only {compared} figures on the page").into()) } else { Ok(()) }
}

fn point(json: &Value, number: u64) -> Option<&Value> {
    let measured = json["series"].as_array()?.iter().filter_map(|series| series["points"].as_array()).flatten();
    let ceilings = json["ceilings"].as_array()?.iter().map(|ceiling| &ceiling["point"]);
    measured.chain(ceilings).find(|point| point["point"] == number)
}

/// What JSON has at a dotted path. Kinds of errors may hold dots: what follows `errors.` is one name.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(kind) = path.strip_prefix("errors.") {
        return value["errors"].get(kind);
    }
    path.split('.').try_fold(value, |value, name| match value {
        Value::Array(all) => all.get(name.parse::<usize>().ok()?),
        _ => value.get(name),
    })
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split_once(&format!("{name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

fn unescaped(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}
