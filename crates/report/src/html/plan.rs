//! The page of a plan.

use std::fmt::Write as _;

use linerate_record::plan::{Ceiling, LayoutPlan, Plan, PlanFinding, Sizing, WorkPlan};
use linerate_record::site::{Protection, Site};
use linerate_record::units::{bits_per_s, bytes_iec, bytes_per_s_iec, duration_ns};
use serde_json::json;

use super::PLAN_SCRIPT;
use super::bars::{self, Bar, ReferenceLine};
use super::markup::{self, escaped, table};
use super::page::{self, ASSUMED, FindingRow, HtmlRow, Section, exact, named};
use crate::phrases::{self, site_and_plan};

/// The page: a verdict per work, its ceilings as bars, findings, every ceiling with its formula, the curves over
/// requests in flight and over nodes, the layout, the site.
pub(crate) fn page(plan: &Plan) -> String {
    let site = &plan.site;
    let header = page::header(
        &site.name,
        &[
            ("Nodes", site.groups.iter().map(site_and_plan::group).collect::<Vec<_>>().join("; ")),
            ("Engine", site_and_plan::engine(site)),
            ("Planes", site_and_plan::planes(site)),
            ("Clients", site_and_plan::clients(&site.clients)),
        ],
    );
    let works = || plan.works.iter().enumerate();
    let cards: String = works().map(|(i, work)| card(site, i, work)).collect();
    let sections = [
        ("verdict", "What it can do", format!("<div class=\"cards\">{cards}</div>")),
        ("bars", "Ceilings", works().map(|(i, work)| bars(site, i, work)).collect()),
        ("findings", "Findings", findings(&plan.findings)),
        ("ceilings", "Every ceiling", works().map(|(i, work)| ceilings(site, i, work)).collect()),
        ("curve", "Over requests in flight", curves(plan)),
        ("scaling", "Over the number of nodes", scaling(plan)),
        (
            "sizing",
            "What is needed",
            plan.sizing.as_ref().map_or_else(String::new, |found| sizing(found, site.engine.protection)),
        ),
        ("layout", "Layout", layout(plan)),
        ("assumed", "Assumed values", assumed(site)),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    page::sheet(&format!("{} plan", site.name), &header, &sections, &charts(plan), PLAN_SCRIPT)
}

/// What the script draws.
fn charts(plan: &Plan) -> String {
    let curve = |work: &WorkPlan| {
        let (curve, ceiling) = (work.curve.as_ref()?, work.ceilings.first()?);
        let points = &curve.points;
        Some(json!({
            "title": site_and_plan::work(&work.work),
            "in_flight": points.iter().map(|point| point.in_flight).collect::<Vec<_>>(),
            "bytes_per_s": points.iter().map(|point| point.bytes_per_s).collect::<Vec<_>>(),
            "ceiling_bytes_per_s": ceiling.limit_bytes_per_s,
            "knee": curve.knee.in_flight,
        }))
    };
    let mut document = json!({ "curves": plan.works.iter().filter_map(curve).collect::<Vec<_>>() });
    if let Some(scaling) = &plan.scaling {
        let points = &scaling.points;
        let limits = |i: usize| points.iter().map(|p| p.limits_bytes_per_s.get(i)).collect::<Vec<_>>();
        let works =
            plan.works.iter().enumerate().map(|(i, work)| json!([site_and_plan::work_alone(&work.work), limits(i)]));
        let usable = points.iter().map(|p| Some(p.usable_bytes).filter(|&bytes| bytes > 0));
        document["scaling"] = json!({
            "nodes": points.iter().map(|p| p.nodes).collect::<Vec<_>>(),
            "works": works.collect::<Vec<_>>(),
            "usable_bytes": usable.collect::<Vec<_>>(),
            "bends": scaling.bends.iter().map(|bend| bend.nodes).collect::<Vec<_>>(),
        });
    }
    document.to_string()
}

fn card(site: &Site, i: usize, work: &WorkPlan) -> String {
    let label = escaped(&site_and_plan::work(&work.work));
    let Some(bottleneck) = work.ceilings.first() else {
        return format!("<article class=\"card\"><h3>{label}</h3><p class=\"none\">Nothing limits it.</p></article>\n");
    };
    let most = bytes_per_s_iec(bottleneck.limit_bytes_per_s);
    let (number, unit) = most.rsplit_once(' ').unwrap_or((most.as_str(), ""));
    let mut html = format!(
        "<article class=\"card\"><h3>{label}</h3>\n<p class=\"best\"><strong{}>{number}</strong> \
         <span class=\"unit\">{unit}</span>{} <span class=\"pm\">{}</span></p>\n\
         <p class=\"bound\"><span class=\"tag target\">{}</span> is the bottleneck</p>\n<p class=\"evidence\">{}</p>\n",
        exact(&format!("works.{i}.ceilings.0.limit_bytes_per_s"), bottleneck.limit_bytes_per_s),
        if site_and_plan::rests_on_assumed(bottleneck) { ASSUMED } else { "" },
        bits_per_s(8.0 * bottleneck.limit_bytes_per_s),
        escaped(&site_and_plan::ceiling(bottleneck, site)),
        escaped(&site_and_plan::demand(bottleneck)),
    );
    if bottleneck.limit_requests_per_s.is_some() {
        let _ = writeln!(html, "<p class=\"evidence\">{}</p>", escaped(&site_and_plan::limit(bottleneck)));
    }
    if let Some(next) = work.ceilings.get(1) {
        let _ = writeln!(
            html,
            "<p class=\"evidence\">Next: {} at <b{}>{}</b>, {}</p>",
            escaped(&site_and_plan::ceiling(next, site)),
            exact(&format!("works.{i}.ceilings.1.limit_bytes_per_s"), next.limit_bytes_per_s),
            bytes_per_s_iec(next.limit_bytes_per_s),
            site_and_plan::headroom(next, false),
        );
    }
    if let Some(degraded) = work.degraded_bytes_per_s {
        let field = exact(&format!("works.{i}.degraded_bytes_per_s"), degraded);
        let reported = bytes_per_s_iec(degraded);
        let _ = write!(html, "<p class=\"evidence\">With one node down: <b{field}>{reported}</b>");
        if let Some(rebuilding) = work.rebuilding_bytes_per_s {
            let field = exact(&format!("works.{i}.rebuilding_bytes_per_s"), rebuilding);
            let _ = write!(html, "; while it is restored: <b{field}>{}</b>", bytes_per_s_iec(rebuilding));
        }
        html.push_str("</p>\n");
    }
    for spread in &work.spread {
        let _ = writeln!(html, "<p class=\"evidence\">{}</p>", escaped(&site_and_plan::spread(spread, site)));
    }
    html.push_str("</article>\n");
    html
}

fn findings(findings: &[PlanFinding]) -> String {
    page::findings(findings.iter().map(|finding| {
        FindingRow {
            severity: finding.severity,
            alongside: String::new(),
            claim: &finding.claim,
            below: [
                named("Evidence", &finding.evidence),
                named("Remedy", &finding.remedy),
                named("Source", &finding.source),
            ]
            .concat(),
        }
    }))
}

/// The ceilings of a work, with its goal.
fn bars(site: &Site, i: usize, work: &WorkPlan) -> String {
    let ceiling_bar = |(k, ceiling): (usize, &Ceiling)| Bar {
        name: site_and_plan::ceiling(ceiling, site),
        limit_bytes_per_s: ceiling.limit_bytes_per_s,
        field: format!("works.{i}.ceilings.{k}.limit_bytes_per_s"),
    };
    let goal = work.goal.map(|goal| ReferenceLine {
        name: "goal",
        bytes_per_s: goal.bytes_per_s,
        field: format!("works.{i}.goal.bytes_per_s"),
    });
    let bars: Vec<Bar> = work.ceilings.iter().enumerate().map(ceiling_bar).collect();
    bars::picture(&site_and_plan::work(&work.work), &bars, &goal.into_iter().collect::<Vec<_>>())
}

const CEILING_HEADS: [&str; 7] = [
    "Resource",
    "Ceiling|client bytes per second of the whole site at which it is full",
    "In bits",
    "Headroom|above the lowest ceiling",
    "Utilisation|when the site is at its lowest ceiling",
    "Each has|of a node, a link or a client",
    "Amplification|per client byte of its share, or per request",
];

fn ceilings(site: &Site, i: usize, work: &WorkPlan) -> String {
    let rows = work.ceilings.iter().enumerate().map(|(k, ceiling)| {
        let path = |field: &str| format!("works.{i}.ceilings.{k}.{field}");
        let limit = ceiling.limit_bytes_per_s;
        let (headroom, utilisation) = (ceiling.headroom_bytes_per_s, ceiling.utilisation_share);
        HtmlRow::default()
            .name(&site_and_plan::ceiling(ceiling, site))
            .marked(
                &path("limit_bytes_per_s"),
                limit,
                &bytes_per_s_iec(limit),
                site_and_plan::rests_on_assumed(ceiling),
            )
            .number(&bits_per_s(8.0 * limit))
            .figure(&path("headroom_bytes_per_s"), headroom, &site_and_plan::headroom(ceiling, k == 0))
            .figure_bar(&path("utilisation_share"), utilisation, utilisation, &phrases::percent(utilisation))
            .figure(&path("capacity"), ceiling.capacity, &site_and_plan::capacity(ceiling))
            .figure(&path("demand"), ceiling.demand, &site_and_plan::amplification(ceiling))
            .whole()
    });
    let rows: String = rows.collect();
    let formulas: String = work.ceilings.iter().map(|ceiling| formula(site, ceiling)).collect();
    let label = site_and_plan::work(&work.work);
    format!(
        "{}<details class=\"formulas\"><summary>Formulas, and what went in</summary>\n{formulas}</details>\n",
        table(&label, &CEILING_HEADS, &rows)
    )
}

/// A ceiling's formula and its inputs, folded.
fn formula(site: &Site, ceiling: &Ceiling) -> String {
    let rows = ceiling.inputs.iter().map(|input| {
        let mark = if input.assumed { ASSUMED } else { "" };
        format!(
            "<tr><th scope=\"row\">{}<td class=\"l\">{}{mark}<td class=\"l wide\">{}\n",
            escaped(&input.name),
            escaped(&input.value),
            escaped(&site_and_plan::origin(input, site))
        )
    });
    format!(
        "<details><summary>{} · {}{}</summary><p><code>{}</code></p>\n\
         <table><tbody>\n{}</tbody></table>\n{}</details>\n",
        escaped(&site_and_plan::ceiling(ceiling, site)),
        bytes_per_s_iec(ceiling.limit_bytes_per_s),
        if site_and_plan::rests_on_assumed(ceiling) { ASSUMED } else { "" },
        escaped(&ceiling.formula),
        rows.collect::<String>(),
        named("Source", &ceiling.source)
    )
}

fn curves(plan: &Plan) -> String {
    let tables: String = plan.works.iter().enumerate().filter_map(|(i, work)| curve(&plan.site, i, work)).collect();
    if tables.is_empty() {
        return tables;
    }
    format!("<div class=\"pair js-only\" id=\"curve-charts\"></div>\n{tables}")
}

const CURVE_HEADS: [&str; 4] = ["In flight", "Throughput", "Of the ceiling", "Latency|of one request, on average"];

fn curve(site: &Site, i: usize, work: &WorkPlan) -> Option<String> {
    let curve = work.curve.as_ref()?;
    let rows = curve.points.iter().enumerate().map(|(k, point)| {
        let path = |field: &str| format!("works.{i}.curve.points.{k}.{field}");
        HtmlRow::default()
            .name_figure(&path("in_flight"), point.in_flight, &phrases::grouped(point.in_flight))
            .figure(&path("bytes_per_s"), point.bytes_per_s, &bytes_per_s_iec(point.bytes_per_s))
            .figure(&path("share"), point.share, &phrases::percent(point.share))
            .figure(&path("latency_ns"), point.latency_ns, &duration_ns(point.latency_ns))
            .whole()
    });
    let table = table(&site_and_plan::work(&work.work), &CURVE_HEADS, &rows.collect::<String>());
    let reported = [site_and_plan::curve(curve, site), site_and_plan::curve_rests_on(curve)].join("; ");
    Some(format!("<p class=\"hint\">{}</p>\n{table}", escaped(&reported)))
}

fn scaling(plan: &Plan) -> String {
    let Some(scaling) = &plan.scaling else { return String::new() };
    let works: Vec<String> = plan.works.iter().map(|work| site_and_plan::work_alone(&work.work)).collect();
    let mut heads = vec!["Nodes"];
    heads.extend(works.iter().flat_map(|work| [work.as_str(), "<Bottleneck"]));
    heads.extend(["Drives of a set (parity)", "Usable", "<Here"]);
    let rows: String = site_and_plan::scale_rows(plan, site_and_plan::SCALE_ROWS)
        .iter()
        .map(|(point, bends)| {
            let k = scaling.points.iter().position(|p| p.nodes == point.nodes).unwrap_or(0);
            let path = |field: &str| format!("scaling.points.{k}.{field}");
            let mut row = HtmlRow::default().name_figure(&path("nodes"), point.nodes, &point.nodes.to_string());
            for i in 0..works.len() {
                row = match point.limits_bytes_per_s.get(i) {
                    Some(limit) => {
                        row.figure(&path(&format!("limits_bytes_per_s.{i}")), limit, &bytes_per_s_iec(*limit))
                    }
                    None => row.number(phrases::ABSENT),
                };
                row = row.words(point.bottlenecks.get(i).map_or(phrases::ABSENT, |resource| resource.name()));
            }
            row.number(&site_and_plan::set(point))
                .figure(&path("usable_bytes"), point.usable_bytes, &bytes_iec(point.usable_bytes as f64))
                .sentence(&bends.join("; "))
                .whole()
        })
        .collect();
    let hint = format!(
        "Dashed: where the curve bends. The table has at most {} rows: the ends, powers of two, the first bends, and \
         others on which the engine starts; the JSON has every number of nodes.",
        site_and_plan::SCALE_ROWS
    );
    format!(
        "<p class=\"hint\">{hint}</p>\n<div class=\"pair js-only\" id=\"scaling-charts\"></div>\n{}",
        table("Numbers of nodes", &heads, &rows)
    )
}

fn sizing(sizing: &Sizing, protection: Protection) -> String {
    let nodes = sizing.nodes.map_or_else(|| "no number of such nodes".to_owned(), |n| phrases::grouped(u64::from(n)));
    let mut facts = vec![("Asked for", sizing.need.clone()), ("Nodes", nodes)];
    if sizing.nodes.is_some() {
        facts.push(("Layout", protection.layout_name(sizing.data_shards, sizing.parity_shards)));
        facts.push(("Drives", phrases::grouped(sizing.drives)));
        facts.push(("Ports", phrases::grouped(sizing.ports)));
        facts.push(("Usable", site_and_plan::capacity_bytes(sizing.usable_bytes)));
    }
    facts.extend(site_and_plan::tolerated(sizing, protection).map(|reported| ("Tolerates", reported)));
    facts.push(("Why", sizing.why.clone()));
    format!("<article class=\"card\">{}</article>\n", markup::facts(&facts))
}

const CHOICE_HEADS: [&str; 7] = [
    "Drives of a set",
    "Parity",
    "Usable",
    "Written|bytes to drives per byte of an object",
    "Nodes lost",
    "Score",
    "<Why",
];

fn layout(plan: &Plan) -> String {
    let layout = &plan.layout;
    let mut facts = vec![
        ("Layout", site_and_plan::layout(layout, plan.site.engine.protection)),
        ("Capacity", site_and_plan::usable(layout)),
        ("Reads tolerate", site_and_plan::tolerance(&layout.read_tolerance)),
        ("Writes tolerate", site_and_plan::tolerance(&layout.write_tolerance)),
    ];
    if layout.inline_bytes > 0 {
        facts.push(("In metadata", format!("objects up to {}", bytes_iec(layout.inline_bytes as f64))));
    }
    facts.push(("Why", layout.why.clone()));
    facts.extend(plan.rebuild.iter().map(|rebuild| ("Rebuild", site_and_plan::rebuild_at_length(rebuild))));
    let card = format!("<article class=\"card\">{}</article>\n", markup::facts(&facts));
    if layout.alternatives.is_empty() { card } else { [card, choices(layout)].concat() }
}

fn choices(layout: &LayoutPlan) -> String {
    let rows = layout.alternatives.iter().enumerate().map(|(k, choice)| {
        let path = |field: &str| format!("layout.alternatives.{k}.{field}");
        let drives = choice.set_drives.to_string();
        let drives = if choice.chosen { format!("{drives} (this site)") } else { drives };
        HtmlRow::default()
            .name_figure(&path("set_drives"), choice.set_drives, &drives)
            .figure(&path("parity_shards"), choice.parity_shards, &choice.parity_shards.to_string())
            .figure(&path("usable_share"), choice.usable_share, &phrases::percent(choice.usable_share))
            .figure(&path("write_cost"), choice.write_cost, &format!("× {}", phrases::decimal(choice.write_cost)))
            .figure(&path("nodes_lost"), choice.nodes_lost, &choice.nodes_lost.to_string())
            .figure(&path("score"), choice.score, &phrases::decimal(choice.score))
            .sentence(&choice.why)
            .whole()
    });
    table("Layouts that could be chosen, the best first", &CHOICE_HEADS, &rows.collect::<String>())
}

fn assumed(site: &Site) -> String {
    if site.assumed.is_empty() {
        return String::new();
    }
    let row = |(path, reason): (&String, &String)| HtmlRow::default().name(path).sentence(reason).whole();
    table(
        "Values of the site that were filled in",
        &["Value", "<Reason"],
        &site.assumed.iter().map(row).collect::<String>(),
    )
}
