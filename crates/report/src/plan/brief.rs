//! Ten lines that answer: what the site can do, what binds, and what is the matter.

use linerate_record::finding::Severity;
use linerate_record::plan::{FailedPart, Plan, WorkPlan};
use linerate_record::units::bytes_per_s_iec;

use super::{ink, scaling, sizing_lines};
use crate::ink::Ink;
use crate::terminal::{TextStyle, hanging, hanging_in};
use crate::words::{self, model};

/// Warnings in a line each, less those that are serious, all of which are shown; the others are counted.
const FINDINGS_SHOWN: usize = 4;
/// Columns before what a line says.
const LEAD: usize = 10;

pub(super) fn text(plan: &Plan, look: TextStyle) -> String {
    let site = &plan.site;
    let nodes = words::plural(u64::from(site.nodes()), "node");
    let mut text = hanging(" site", LEAD, &format!("{}: {nodes}; {}", site.name, model::engine(site)), look);
    for work in &plan.works {
        text.push_str(&work_lines(plan, work, look));
    }
    let layout = format!("{}; {}", model::layout(&plan.layout, site.engine.protection), model::usable(&plan.layout));
    text.push_str(&hanging(" layout", LEAD, &layout, look));
    let (reads, writes) = (&plan.layout.read_tolerance, &plan.layout.write_tolerance);
    let survives = if reads == writes {
        format!("failures tolerated: {}", model::tolerance(reads))
    } else {
        format!("failures tolerated: {} for reads; {} for writes", model::tolerance(reads), model::tolerance(writes))
    };
    text.push_str(&hanging("", LEAD, &survives, look));
    if let Some(node) = plan.rebuild.iter().find(|rebuild| rebuild.lost == FailedPart::Node) {
        text.push_str(&hanging(" rebuild", LEAD, &model::rebuild(node), look));
    }
    text.push_str(&goals(plan, look));
    for finding in shown(plan) {
        let lead = format!(" {}", words::severity(finding.severity));
        text.push_str(&hanging_in(ink(finding.severity), &lead, LEAD, &finding.claim, look));
    }
    if let Some(sizing) = &plan.sizing {
        text.push_str(&sizing_lines(sizing, site.engine.protection, look));
    }
    text.push_str(&scaling(plan, look));
    text + &hanging(" --why", LEAD, &rest(plan), look)
}

/// What it can do and what binds; then what would bind next, what that takes, and what is left with a node down.
fn work_lines(plan: &Plan, work: &WorkPlan, look: TextStyle) -> String {
    let label = model::work(&work.work);
    let Some(binds) = work.ceilings.first() else {
        return hanging_in(Ink::Yellow, " ▸", 3, &format!("{label}: nothing of the site limits it"), look);
    };
    let star = if model::rests_on_assumed(binds) { "*" } else { "" };
    let most = model::limit(binds);
    let reported = format!("{label}: at most {most}{star}; bottleneck: {}", model::ceiling(binds, &plan.site));
    let mut text = hanging_in(Ink::Yellow, " ▸", 3, &reported, look);
    let mut facts = Vec::new();
    if let Some(curve) = &work.curve {
        facts.push(model::knee(curve));
    }
    if let Some(degraded) = work.degraded_bytes_per_s {
        facts.push(format!("a node down: {}", bytes_per_s_iec(degraded)));
    }
    if let Some(next) = work.ceilings.get(1) {
        facts.push(format!("next {} ({})", bytes_per_s_iec(next.limit_bytes_per_s), model::ceiling(next, &plan.site)));
    }
    text.push_str(&hanging("", 3, &facts.join("; "), look));
    text
}

/// Goals that no ceiling forbids, with what they are of it. The others are findings.
fn goals(plan: &Plan, look: TextStyle) -> String {
    let mut reached = Vec::new();
    for work in &plan.works {
        if let Some(goal) = work.goal.filter(|goal| goal.within_reach) {
            let (name, share) = (model::work_alone(&work.work), words::percent(goal.ceiling_share));
            reached.push(format!("{name} {} ({share} of the ceiling)", bytes_per_s_iec(goal.bytes_per_s)));
        }
    }
    if let Some(goal) = plan.site.goals.usable_bytes.filter(|_| plan.layout.goal_within_reach == Some(true)) {
        reached.push(format!("usable {}", model::capacity_bytes(goal)));
    }
    if reached.is_empty() {
        return String::new();
    }
    hanging(" goals", LEAD, &format!("within reach: {}", reached.join("; ")), look)
}

/// The most severe that are more than notes.
fn shown(plan: &Plan) -> impl Iterator<Item = &linerate_record::plan::PlanFinding> {
    let of_note = plan.findings.iter().filter(|finding| finding.severity > Severity::Note).enumerate();
    let shown = of_note.filter(|(place, finding)| finding.severity == Severity::Serious || *place < FINDINGS_SHOWN);
    shown.map(|(_, finding)| finding)
}

/// Where the rest is, and how much.
fn rest(plan: &Plan) -> String {
    let mut parts = vec!["all ceilings, formulas, bonds, layouts".to_owned()];
    if let Some(more) = plan.findings.len().checked_sub(shown(plan).count()).filter(|&more| more > 0) {
        parts.push(words::plural(more as u64, "more finding"));
    }
    if !plan.site.assumed.is_empty() {
        let values = words::plural(plan.site.assumed.len() as u64, "value");
        let star = plan.works.iter().filter_map(|work| work.ceilings.first()).any(model::rests_on_assumed);
        parts.push(format!("{values} that nobody stated{}", if star { " (*)" } else { "" }));
    }
    format!("{}; --format html makes a page", parts.join(", "))
}
