//! A plan as text for a terminal, JSON and one self-contained HTML page.

mod summary;

use std::iter;

use linerate_record::plan::{Ceiling, Curve, LayoutChoice, Plan, PlanFinding, ScalePoint, Sizing, WorkPlan};
use linerate_record::site::{Protection, Site};
use linerate_record::units::{bits_per_s, bytes_iec, bytes_per_s_iec, duration_ns};

use crate::colour::Colour;
use crate::phrases::{self, ABSENT, site_and_plan};
use crate::terminal::{TextStyle, clean, hanging, hanging_in, paint, severity_ink, width};

/// Columns of a resource's name.
const RESOURCE_COLUMNS: usize = 29;

/// The plan as pretty JSON, with a line feed at its end. Reading it back gives an equal plan.
///
/// # Panics
/// Never: a plan has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(plan: &Plan) -> String {
    crate::json::pretty(plan).expect("a plan has text keys only")
}

/// The plan as one self-contained page. Figures carry `data-field`, the dotted path of the exact figure in the plan's
/// JSON, and `data-value`. Once the charts stand, the root element has `data-ready="true"` and their number in
/// `data-charts`; `data-error` appears if the script failed.
#[must_use]
pub fn html(plan: &Plan) -> String {
    crate::html::plan::page(plan)
}

/// Ten lines that answer: for each work what it can do and its bottleneck, the layout, goals and the most severe
/// findings; with sizes and the curve over nodes where asked for. With `why`, the whole plan: every ceiling with its
/// formula and inputs, all layouts and findings, and all that was assumed.
#[must_use]
pub fn text(plan: &Plan, why: bool, look: TextStyle) -> String {
    if why { whole(plan, look) } else { summary::text(plan, look) }
}

fn whole(plan: &Plan, look: TextStyle) -> String {
    let mut text = header(&plan.site, look);
    for work in &plan.works {
        text.push('\n');
        text.push_str(&work_lines(plan, work, look));
    }
    text.push('\n');
    text.push_str(&layout(plan, look));
    if let Some(sizing) = &plan.sizing {
        text.push_str(&sizing_lines(sizing, plan.site.engine.protection, look));
    }
    text.push_str(&scaling(plan, usize::MAX, look));
    text.push('\n');
    text.push_str(&findings(&plan.findings, look));
    text.push_str(&assumed(&plan.site, look));
    text
}

fn header(site: &Site, look: TextStyle) -> String {
    let groups = site.groups.iter().map(site_and_plan::group).collect::<Vec<_>>().join("; ");
    let facts = [
        (" site", site.name.clone()),
        (" nodes", groups),
        (" planes", site_and_plan::planes(site)),
        (" engine", site_and_plan::engine(site)),
        (" clients", site_and_plan::clients(&site.clients)),
    ];
    facts.map(|(name, fact)| hanging(name, 10, &fact, look)).concat()
}

fn work_lines(plan: &Plan, work: &WorkPlan, look: TextStyle) -> String {
    let label = site_and_plan::work(&work.work);
    let Some(bottleneck) = work.ceilings.first() else {
        return format!(" {label}  nothing of the site limits it\n");
    };
    let head = ["ceiling", "", "in bits", "headroom", "utilisation", "each has", "amplification"];
    let mut text = format!("{}\n", paint(Colour::Dim, &row("", &label, &head, look), look));
    for (i, ceiling) in work.ceilings.iter().enumerate() {
        text.push_str(&ceiling_line(plan, ceiling, i == 0, look));
        text.push_str(&formula(ceiling, &plan.site, look));
    }
    text.push_str(&verdict(plan, work, bottleneck, look));
    if let Some(curve) = &work.curve {
        text.push_str(&curve_table(curve, look));
    }
    text
}

/// Throughput and latency over requests in flight.
fn curve_table(curve: &Curve, look: TextStyle) -> String {
    let row = |cells: [&str; 4]| {
        let [in_flight, rate, share, latency] = cells;
        format!("   {in_flight:>13} {rate:>11} {share:>7} {latency:>9}\n")
    };
    let mut text = paint(Colour::Dim, row(["in flight", "throughput", "of it", "each"]).trim_end(), look) + "\n";
    for point in &curve.points {
        text.push_str(&row([
            &phrases::grouped(point.in_flight),
            &bytes_per_s_iec(point.bytes_per_s),
            &phrases::percent(point.share),
            &duration_ns(point.latency_ns),
        ]));
    }
    text + &hanging("   by", 13, &site_and_plan::curve_rests_on(curve), look)
}

fn verdict(plan: &Plan, work: &WorkPlan, bottleneck: &Ceiling, look: TextStyle) -> String {
    let (name, most) = (site_and_plan::ceiling(bottleneck, &plan.site), site_and_plan::limit(bottleneck));
    let mut text = hanging(" ▸", 3, &format!("at most {most}; bottleneck: {name}"), look);
    text.push_str(&hanging("   why", 13, &site_and_plan::demand(bottleneck), look));
    if site_and_plan::rests_on_assumed(bottleneck) {
        text.push_str(&hanging(
            "   assumed",
            13,
            &format!("{}, assumed", site_and_plan::assumed_inputs(bottleneck)),
            look,
        ));
    }
    if let Some(curve) = &work.curve {
        text.push_str(&hanging("   knee", 13, &site_and_plan::curve(curve, &plan.site), look));
    }
    if let Some(degraded) = work.degraded_bytes_per_s {
        text.push_str(&hanging(
            "   degraded",
            13,
            &site_and_plan::degraded(degraded, work.rebuilding_bytes_per_s),
            look,
        ));
    }
    for spread in &work.spread {
        text.push_str(&hanging("   bond", 13, &site_and_plan::spread(spread, &plan.site), look));
    }
    text
}

fn ceiling_line(plan: &Plan, ceiling: &Ceiling, first: bool, look: TextStyle) -> String {
    let limit = ceiling.limit_bytes_per_s;
    let line = row(
        if first { "▸" } else { "" },
        &site_and_plan::ceiling(ceiling, &plan.site),
        &[
            &bytes_per_s_iec(limit),
            if site_and_plan::rests_on_assumed(ceiling) { "*" } else { "" },
            &bits_per_s(8.0 * limit),
            &site_and_plan::headroom(ceiling, first),
            &phrases::percent(ceiling.utilisation_share),
            &site_and_plan::capacity(ceiling),
            &site_and_plan::amplification(ceiling),
        ],
        look,
    );
    format!("{}\n", if first { paint(Colour::Yellow, &line, look) } else { line })
}

/// Columns below which a table leaves its last two columns out: a formula's inputs have both.
const WIDE: usize = 100;

/// A name that is wider than its column has a line of its own.
fn row(mark: &str, name: &str, cells: &[&str; 7], look: TextStyle) -> String {
    let [limit, assumed, bits, headroom, share, each, demand] = cells;
    let name = clean(name);
    let lead = if width(&name) > RESOURCE_COLUMNS {
        format!(" {mark:<1} {name}\n   {:<RESOURCE_COLUMNS$}", "")
    } else {
        format!(" {mark:<1} {name:<RESOURCE_COLUMNS$}")
    };
    let row = format!("{lead} {limit:>10}{assumed:<1} {bits:>9} {headroom:>12} {share:>11}");
    if look.width < WIDE { row } else { format!("{row} {each:>11} {demand:>13}") }
}

/// A ceiling's formula, and what went in.
fn formula(ceiling: &Ceiling, site: &Site, look: TextStyle) -> String {
    let mut text = hanging("     =", 7, &ceiling.formula, look);
    let names = ceiling.inputs.iter().map(|input| width(&input.name)).max().unwrap_or(0);
    let values = ceiling.inputs.iter().map(|input| width(&input.value)).max().unwrap_or(0);
    // The mark behind the longest value still fits.
    let values = values.min(look.width.saturating_sub(names + 11));
    for input in &ceiling.inputs {
        let from = site_and_plan::origin(input, site);
        let mark = if input.assumed { "*" } else { " " };
        let lead = format!("       {:<names$}  {:<values$} {mark}", clean(&input.name), clean(&input.value));
        if from.is_empty() {
            text.push_str(&format!("{}\n", lead.trim_end()));
        } else if width(&lead) + 1 + width(&from) > look.width {
            // A line of its own, where it would stand in a column of a few signs.
            text.push_str(&format!("{}\n{}", lead.trim_end(), hanging("", 9, &from, look)));
        } else {
            text.push_str(&hanging(&lead, width(&lead) + 1, &from, look));
        }
    }
    text.push_str(&hanging("       by", 10, &ceiling.source, look));
    text
}

fn layout(plan: &Plan, look: TextStyle) -> String {
    let (layout, protection, rebuild) = (&plan.layout, plan.site.engine.protection, &plan.rebuild);
    let reported = format!("{}; {}", site_and_plan::layout(layout, protection), site_and_plan::usable(layout));
    let mut text = hanging(" layout", 13, &reported, look);
    let (reads, writes) =
        (site_and_plan::tolerance(&layout.read_tolerance), site_and_plan::tolerance(&layout.write_tolerance));
    text.push_str(&hanging("   tolerates", 13, &format!("{reads} for reads; {writes} for writes"), look));
    text.push_str(&hanging("   why", 13, &layout.why, look));
    if layout.inline_bytes > 0 {
        let reported = format!("objects up to {} live in the metadata", bytes_iec(layout.inline_bytes as f64));
        text.push_str(&hanging("   inline", 13, &reported, look));
    }
    for rebuild in rebuild {
        text.push_str(&hanging("   rebuild", 13, &site_and_plan::rebuild_at_length(rebuild), look));
    }
    if layout.alternatives.len() > 1 {
        let head = ["drives", "parity", "usable", "written", "nodes lost", "score"];
        text.push_str(&format!("{}\n", paint(Colour::Dim, &choice_row(&head), look)));
        for choice in &layout.alternatives {
            text.push_str(&choice_lines(choice, look));
        }
    }
    text
}

fn choice_row(cells: &[&str; 6]) -> String {
    let [drives, parity, usable, written, nodes, score] = cells;
    format!("   or     {drives:>6} {parity:>6} {usable:>7} {written:>8} {nodes:>10} {score:>6}")
}

fn choice_lines(choice: &LayoutChoice, look: TextStyle) -> String {
    let row = choice_row(&[
        &choice.set_drives.to_string(),
        &choice.parity_shards.to_string(),
        &phrases::percent(choice.usable_share),
        &format!("× {}", phrases::decimal(choice.write_cost)),
        &choice.nodes_lost.to_string(),
        &phrases::decimal(choice.score),
    ]);
    let row = row.replacen("   or ", "      ", 1);
    let mark = if choice.chosen { paint(Colour::Yellow, "   ← this site", look) } else { String::new() };
    format!("{row}{mark}\n{}", hanging("", 12, &choice.why, look))
}

fn sizing_lines(sizing: &Sizing, protection: Protection, look: TextStyle) -> String {
    let reported = match sizing.nodes {
        Some(nodes) => format!(
            "{}: {} of {}, {}, {}, {} usable",
            sizing.need,
            phrases::plural(u64::from(nodes), "node"),
            protection.layout_name(sizing.data_shards, sizing.parity_shards),
            phrases::plural(sizing.drives, "drive"),
            phrases::plural(sizing.ports, "port"),
            site_and_plan::capacity_bytes(sizing.usable_bytes)
        ),
        None => format!("{}: no number of such nodes", sizing.need),
    };
    let tolerated = site_and_plan::tolerated(sizing, protection)
        .map_or(String::new(), |reported| hanging("   tolerates", 13, &reported, look));
    format!("\n{}{tolerated}{}", hanging(" need", 13, &reported, look), hanging("   why", 13, &sizing.why, look))
}

/// The table over nodes, of so many rows at the most.
fn scaling(plan: &Plan, rows_max: usize, look: TextStyle) -> String {
    let rows = site_and_plan::scale_rows(plan, rows_max);
    let Some(scaling) = plan.scaling.as_ref().filter(|_| !rows.is_empty()) else { return String::new() };
    let works: Vec<String> = plan.works.iter().map(|work| site_and_plan::work_alone(&work.work)).collect();
    let heads: Vec<(&str, &str)> = works.iter().map(|work| (work.as_str(), "bottleneck")).collect();
    let bottleneck = rows.iter().flat_map(|(point, _)| &point.bottlenecks).map(|resource| width(resource.name()));
    let columns = [bottleneck.max().unwrap_or(0), 12].into_iter().max().unwrap_or(0);
    let head = scale_row("nodes", &heads, "set (parity)", "usable", columns);
    let mut text = format!("\n{}\n", paint(Colour::Dim, &head, look));
    for (point, bends) in &rows {
        text.push_str(&scale_line(point, works.len(), columns, plan.site.engine.protection));
        for why in bends {
            text.push_str(&hanging_in(Colour::Yellow, "        ←", 10, why, look));
        }
    }
    let bends: usize = rows.iter().map(|(_, bends)| bends.len()).sum();
    let starting = |points: &mut dyn Iterator<Item = &ScalePoint>| points.filter(|p| site_and_plan::starts(p)).count();
    let shown = starting(&mut rows.iter().map(|(point, _)| *point));
    let left_out = [
        (starting(&mut scaling.points.iter()).saturating_sub(shown), "number", " of nodes"),
        (scaling.bends.len().saturating_sub(bends), "bend", ""),
    ];
    let left_out = left_out.into_iter().filter(|(count, ..)| *count > 0);
    let left_out: Vec<String> =
        left_out.map(|(count, noun, of)| format!("{}{of}", phrases::plural(count as u64, noun))).collect();
    if !left_out.is_empty() {
        let reported = format!("{} not shown; --why has all", left_out.join(", "));
        text.push_str(&hanging("      …", 8, &reported, look));
    }
    text
}

fn scale_line(point: &ScalePoint, works: usize, columns: usize, protection: Protection) -> String {
    let nodes = point.nodes.to_string();
    if !site_and_plan::starts(point) {
        return format!(" {nodes:>6}  {}\n", site_and_plan::unfit(protection));
    }
    let limits: Vec<String> = point.limits_bytes_per_s.iter().map(|limit| bytes_per_s_iec(*limit)).collect();
    let bottleneck = point.bottlenecks.iter().map(|resource| resource.name()).chain(iter::repeat(ABSENT));
    let cells: Vec<(&str, &str)> = limits.iter().map(String::as_str).zip(bottleneck).take(works).collect();
    format!(
        "{}\n",
        scale_row(&nodes, &cells, &site_and_plan::set(point), &bytes_iec(point.usable_bytes as f64), columns)
    )
}

fn scale_row(nodes: &str, works: &[(&str, &str)], set: &str, usable: &str, columns: usize) -> String {
    let cells: String =
        works.iter().map(|(limit, bottleneck)| format!("  {limit:>10} {bottleneck:<columns$}")).collect();
    format!(" {nodes:>6}{cells} {set:<12} {usable:>8}")
}

fn findings(findings: &[PlanFinding], look: TextStyle) -> String {
    if findings.is_empty() {
        return format!(" {}  none\n", paint(Colour::Dim, "findings", look));
    }
    let mut text = String::new();
    for finding in findings {
        let colour = severity_ink(finding.severity);
        text.push_str(&hanging_in(
            colour,
            &format!(" {}", phrases::severity(finding.severity)),
            10,
            &finding.claim,
            look,
        ));
        for (name, reported) in [("why", &finding.evidence), ("try", &finding.remedy), ("by", &finding.source)] {
            text.push_str(&hanging(&format!("          {name}"), 15, reported, look));
        }
    }
    text
}

/// What nobody stated, each value with its reason.
fn assumed(site: &Site, look: TextStyle) -> String {
    if site.assumed.is_empty() {
        return String::new();
    }
    let columns = site.assumed.keys().map(|path| width(path)).max().unwrap_or(0).min(48);
    let mut text = format!("\n{}\n", paint(Colour::Dim, " * assumed", look));
    for (path, reason) in &site.assumed {
        text.push_str(&hanging(&format!("   {:<columns$}", clean(path)), columns + 5, reason, look));
    }
    text
}
