//! Ten lines that answer: what the site can do, what the bottleneck is, which goals it misses and what is lost for
//! certain. Everything else is behind `--why`.

use linerate_record::finding::Severity;
use linerate_record::plan::{MEAN_LOSS, Plan, PlanFinding, SiteGoal, WorkPlan};
use linerate_record::units::{bytes_per_s_iec, duration_ns};

use super::{scaling, sizing_lines};
use crate::colour::Colour;
use crate::phrases::{self, site_and_plan};
use crate::terminal::{TextStyle, hanging, hanging_in, severity_ink, width};

/// Lines that answer. Critical findings are all shown, and one warning; others as far as the lines suffice.
const LINES: usize = 10;
/// Columns before what a line says.
const LEAD: usize = 10;

pub(super) fn text(plan: &Plan, look: TextStyle) -> String {
    let site = &plan.site;
    let nodes = phrases::plural(u64::from(site.nodes()), "node");
    let mut text = hanging(" site", LEAD, &format!("{}: {nodes}; {}", site.name, site_and_plan::engine(site)), look);
    for work in &plan.works {
        text.push_str(&work_lines(plan, work, look));
    }
    text.push_str(&layout_lines(plan, look));
    text.push_str(&goals(plan, look));
    // The last line is that of --why.
    let (found, shown) = findings(plan, LINES.saturating_sub(text.lines().count() + 1), look);
    text.push_str(&found);
    if let Some(sizing) = &plan.sizing {
        text.push_str(&sizing_lines(sizing, site.engine.protection, look));
    }
    text.push_str(&scaling(plan, site_and_plan::SCALE_ROWS, look));
    text + &hanging(" --why", LEAD, &rest(plan, shown), look)
}

/// How objects are cut, what that leaves for how long, and which failures it tolerates.
fn layout_lines(plan: &Plan, look: TextStyle) -> String {
    let (layout, site) = (&plan.layout, &plan.site);
    let cut = site_and_plan::layout(layout, site.engine.protection);
    let mut first = vec![cut, format!("{} usable", site_and_plan::capacity_bytes(layout.usable_bytes))];
    if let Some(goal) = site.goals.usable_bytes.filter(|_| layout.goal_within_reach == Some(true)) {
        first.push(format!("goal {}", site_and_plan::capacity_si(goal)));
    }
    let (reads, writes) = (&layout.read_tolerance, &layout.write_tolerance);
    let mut second = if reads == writes {
        vec![format!("failures tolerated: {}", site_and_plan::tolerance(reads))]
    } else {
        vec![
            format!("failures tolerated: {} for reads", site_and_plan::tolerance(reads)),
            format!("{} for writes", site_and_plan::tolerance(writes)),
        ]
    };
    if let Some(full) = site_and_plan::full_in(layout) {
        let wide = LEAD + width(&first.join("; ")) + width("; ") + width(&full);
        if wide <= look.width { first.insert(2, full) } else { second.push(full) }
    }
    hanging(" layout", LEAD, &first.join("; "), look) + &hanging("", LEAD, &second.join("; "), look)
}

/// What it can do and what the bottleneck is; then the concurrency that it takes, and what is left with a node down.
fn work_lines(plan: &Plan, work: &WorkPlan, look: TextStyle) -> String {
    let label = site_and_plan::work(&work.work);
    let Some(bottleneck) = work.ceilings.first() else {
        return hanging_in(Colour::Yellow, " ▸", 3, &format!("{label}: nothing of the site limits it"), look);
    };
    let star = if site_and_plan::rests_on_assumed(bottleneck) { "*" } else { "" };
    let with = |most: &str| {
        format!("{label}: at most {most}{star}; bottleneck: {}", site_and_plan::ceiling(bottleneck, &plan.site))
    };
    let mut reported = with(&site_and_plan::limit(bottleneck));
    if 3 + width(&reported) > look.width {
        // The same without the bits.
        reported = with(&site_and_plan::limit_in_brief(bottleneck));
    }
    let mut text = hanging_in(Colour::Yellow, " ▸", 3, &reported, look);
    let mut facts = Vec::new();
    if let Some(curve) = &work.curve {
        facts.push(site_and_plan::knee(curve));
    }
    if let Some(degraded) = work.degraded_bytes_per_s {
        facts.push(format!("a node down: {}", bytes_per_s_iec(degraded)));
    }
    text.push_str(&hanging("", 3, &facts.join("; "), look));
    text
}

/// Goals that are missed, and those that no ceiling forbids, with what they are of it.
fn goals(plan: &Plan, look: TextStyle) -> String {
    let (mut reached, mut missed, mut allowed) = (Vec::new(), Vec::new(), Vec::new());
    for work in &plan.works {
        let Some(goal) = work.goal else { continue };
        if let Some(short) = site_and_plan::too_few_in_flight(work, &goal) {
            allowed.push(short);
            continue;
        }
        let reported = format!("{} {}", site_and_plan::work_alone(&work.work), bytes_per_s_iec(goal.bytes_per_s));
        if goal.within_reach {
            let share = phrases::percent(goal.ceiling_share);
            reached.push(if goal.ceiling_share > 1.0 - MEAN_LOSS {
                format!(
                    "{reported} ({share} of the ceiling; clusters reach {} on average)",
                    phrases::percent(1.0 - MEAN_LOSS)
                )
            } else {
                format!("{reported} ({share} of the ceiling)")
            });
        } else {
            missed.push(reported);
        }
    }
    // One that is within reach stands beside what is usable.
    if let Some(goal) = plan.site.goals.usable_bytes.filter(|_| plan.layout.goal_within_reach == Some(false)) {
        missed.push(format!("usable {}", site_and_plan::capacity_bytes(goal)));
    }
    missed.extend(slow(plan).map(|p99| format!("p99 {p99}")));
    let open = unjudged(plan);
    let mut text = String::new();
    if !missed.is_empty() {
        text.push_str(&hanging_in(Colour::Red, " goals", LEAD, &format!("out of reach: {}", missed.join(", ")), look));
    }
    if !reached.is_empty() {
        let lead = if missed.is_empty() { " goals" } else { "" };
        text.push_str(&hanging(lead, LEAD, &format!("within reach: {}", reached.join(", ")), look));
    }
    for short in allowed {
        let lead = if text.is_empty() { " goals" } else { "" };
        text.push_str(&hanging_in(Colour::Yellow, lead, LEAD, &short, look));
    }
    if let Some(p99) = open {
        let lead = if text.is_empty() { " goals" } else { "" };
        text.push_str(&hanging(lead, LEAD, &format!("not ruled out: p99 {p99}"), look));
    }
    text
}

/// The goal of a latency where no mean rules it out, with the works: the model has no percentiles to promise one by.
fn unjudged(plan: &Plan) -> Option<String> {
    let goal_ns = plan.site.goals.p99_ns?;
    let missed = |work: &str| {
        let reported = plan.findings.iter().filter(|one| is_reported(one)).filter_map(p99_missed);
        reported.map(|(_, of)| of).any(|of| of == work)
    };
    let works = plan.works.iter().filter(|work| work.curve.is_some()).map(|work| site_and_plan::work_alone(&work.work));
    let open: Vec<String> = works.filter(|work| !missed(work)).collect();
    (!open.is_empty()).then(|| format!("{} ({})", duration_ns(goal_ns as f64), open.join(", ")))
}

/// The goal of a latency that some works miss: `100 ms (GET, PUT)`.
fn slow(plan: &Plan) -> Option<String> {
    let all: Vec<(u64, String)> = plan.findings.iter().filter(|one| is_reported(one)).filter_map(p99_missed).collect();
    let (goal_ns, _) = all.first()?;
    let works: Vec<&str> = all.iter().map(|(_, work)| work.as_str()).collect();
    Some(format!("{} ({})", duration_ns(*goal_ns as f64), works.join(", ")))
}

/// The latency and the work, where a finding is of such a goal.
fn p99_missed(finding: &PlanFinding) -> Option<(u64, String)> {
    match finding.goal? {
        SiteGoal::P99 { work, p99_ns } => Some((p99_ns, site_and_plan::work_alone(&work))),
        SiteGoal::Throughput { .. } | SiteGoal::InFlight { .. } | SiteGoal::Usable => None,
    }
}

/// Whether the lines of goals have said it: a goal is out of reach, or takes more requests in flight than there are.
fn is_reported(finding: &PlanFinding) -> bool {
    match finding.goal {
        Some(SiteGoal::InFlight { .. }) => true,
        Some(_) => finding.severity == Severity::Critical,
        None => false,
    }
}

/// The most severe that are more than notes and are not told as goals, in so many lines where those that have to be
/// shown need no more; and how many these are.
fn findings(plan: &Plan, lines: usize, look: TextStyle) -> (String, usize) {
    let (mut text, mut shown) = (String::new(), 0);
    for finding in plan.findings.iter().filter(|one| one.severity > Severity::Note && !is_reported(one)) {
        let lead = format!(" {}", phrases::severity(finding.severity));
        let more = hanging_in(severity_ink(finding.severity), &lead, LEAD, &finding.claim, look);
        let has_room = text.lines().count() + more.lines().count() <= lines;
        if finding.severity == Severity::Critical || shown == 0 || has_room {
            text.push_str(&more);
            shown += 1;
        }
    }
    (text, shown)
}

/// Where the rest is, and how much.
fn rest(plan: &Plan, shown: usize) -> String {
    let mut parts = Vec::new();
    let reported = plan.findings.iter().filter(|finding| is_reported(finding)).count() + shown;
    if let Some(more) = plan.findings.len().checked_sub(reported).filter(|&more| more > 0) {
        parts.push(phrases::plural(more as u64, "more finding"));
    }
    if !plan.site.assumed.is_empty() {
        let star = plan.works.iter().filter_map(|work| work.ceilings.first()).any(site_and_plan::rests_on_assumed);
        let values = phrases::plural(plan.site.assumed.len() as u64, "assumed value");
        parts.push(format!("{values}{}", if star { " (*)" } else { "" }));
    }
    parts.push("every ceiling, rebuild, layouts".to_owned());
    parts.join(", ")
}
