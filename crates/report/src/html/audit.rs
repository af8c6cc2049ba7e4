//! The page of an audit.

use std::fmt::Write as _;

use linerate_record::audit::{Audit, AuditFinding};

use super::PLAN_SCRIPT;
use super::markup::{escaped, table};
use super::page::{self, FindingRow, HtmlRow, Section, exact, named};
use crate::phrases::{self, audit as wording};

/// The page: findings, what never reaches an engine, every difference, what could not be read, what was assumed.
pub(crate) fn page(audit: &Audit) -> String {
    let header = page::header("Audit of a machine", &wording::facts(audit));
    let verdict = format!("<article class=\"card\"><p>{}</p></article>\n", escaped(&wording::verdict(audit)));
    let sections = [
        ("verdict", "Verdict", verdict),
        ("findings", "Findings", findings(&audit.findings)),
        ("unreached", "Settings that do not reach an engine", unreached(audit)),
        ("differences", "Differences, by weight", differences(audit)),
        ("unreadable", "What could not be read", unreadable(audit)),
        ("assumed", "Assumed values", assumed(audit)),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    page::sheet("audit", &header, &sections, "{}", PLAN_SCRIPT)
}

fn findings(findings: &[AuditFinding]) -> String {
    page::findings(findings.iter().map(|finding| FindingRow {
        severity: finding.severity,
        alongside: format!(" {}", phrases::confidence(finding.confidence)),
        claim: &finding.claim,
        below: [named("Evidence", &finding.evidence), named("Remedy", &finding.remedy)].concat(),
    }))
}

fn unreached(audit: &Audit) -> String {
    if audit.unreached.is_empty() {
        return String::new();
    }
    let row = |row: wording::SameRows<'_, linerate_record::audit::Unreached>| {
        let one = row.first;
        HtmlRow::default()
            .name(&one.knob)
            .words(&wording::value(&one.host))
            .words(&wording::value(&one.engine_value))
            .words(&one.wanted.as_deref().map_or_else(|| phrases::ABSENT.to_owned(), wording::value))
            .words(&format!("{}, {}", one.engine.program, wording::processes(&row.pids)))
            .whole()
    };
    let rows: String = wording::unreached_alike(&audit.unreached).into_iter().map(row).collect();
    table(
        "Network namespaces of engines have separate values",
        &["Setting", "<Host", "<Engine", "<Wanted", "<Which"],
        &rows,
    )
}

const HEADS: [&str; 8] = [
    "Setting",
    "<Is",
    "<Wanted",
    "Weight|of the resource relieved × confidence: an order, not a measurement",
    "<Confidence",
    "<Reason, and resource relieved",
    "<Takes effect, and risk",
    "<Command",
];

fn differences(audit: &Audit) -> String {
    if audit.differences.is_empty() {
        return "<p class=\"none\">None.</p>\n".to_owned();
    }
    let row = |(at, one): (usize, &linerate_record::audit::Difference)| {
        let weight = exact(&format!("differences.{at}.weight"), one.weight);
        let mut html = HtmlRow::default()
            .name(&wording::place(one, &wording::pids(one)))
            .words(&wording::value(&one.present))
            .words(&wording::value(&one.wanted))
            .whole()
            .trim_end()
            .to_owned();
        let commands: Vec<String> =
            one.commands.iter().take(wording::COMMANDS_SHOWN).map(|command| escaped(command)).collect();
        let _ = writeln!(
            html,
            "<td{weight}>{:.2}<td class=\"l\">{}<td class=\"l wide\">{}. Relieves {}<td class=\"l wide\">{}\
             <td class=\"l wide\"><code>{}</code>",
            one.weight,
            phrases::confidence(one.confidence),
            escaped(&one.why),
            escaped(&one.relieves),
            escaped(&wording::when(one)),
            commands.join("<br>"),
        );
        html
    };
    let rows: String = audit.differences.iter().enumerate().map(row).collect();
    table(&format!("Held against {}", audit.profile), &HEADS, &rows)
}

fn unreadable(audit: &Audit) -> String {
    if audit.unreadable.is_empty() {
        return String::new();
    }
    let row = |part: &linerate_record::audit::UnreadPart| {
        HtmlRow::default().name(&part.why).sentence(&part.what.join(", ")).whole()
    };
    table("Readings that are missing", &["Reason", "<What"], &audit.unreadable.iter().map(row).collect::<String>())
}

fn assumed(audit: &Audit) -> String {
    if audit.assumed.is_empty() {
        return String::new();
    }
    let row = |(path, reason): (&String, &String)| HtmlRow::default().name(path).sentence(reason).whole();
    let rows: String = audit.assumed.iter().map(row).collect();
    table("Values of the site that were filled in", &["Value", "<Reason"], &rows)
}
