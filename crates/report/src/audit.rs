//! An audit as text for a terminal, JSON and one self-contained HTML page.

#[cfg(test)]
pub(crate) mod fixture;
mod summary;

use std::path::Path;

use linerate_record::audit::{Audit, AuditFinding, Difference, Unreached, UnreadPart};

use crate::colour::Colour;
use crate::phrases::{self, audit as wording};
use crate::terminal::{TextStyle, clean, hanging, hanging_in, paint, severity_ink, wrapped};

/// The audit as pretty JSON, with a line feed at its end. Reading it back gives an equal audit.
///
/// # Panics
/// Never: an audit has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(audit: &Audit) -> String {
    crate::json::pretty(audit).expect("an audit has text keys only")
}

/// The audit as one self-contained page. Figures carry `data-field` and `data-value`, as those of a plan.
#[must_use]
pub fn html(audit: &Audit) -> String {
    crate::html::audit::page(audit)
}

/// The verdict, what changes settings, the machine, findings, what never reaches an engine, differences by weight, and
/// what could not be read. On a screen these are 25 lines at most, and a file has ten differences; with `all`, there is
/// every one with its reason and command. `command` is the one that writes the changes.
#[must_use]
pub fn text(audit: &Audit, command: &str, all: bool, look: TextStyle) -> String {
    if all { whole(audit, command, look) } else { summary::text(audit, command, look) }
}

fn whole(audit: &Audit, command: &str, look: TextStyle) -> String {
    let mut text = hanging(" ▸", 3, &wording::verdict(audit), look);
    if !audit.differences.is_empty() {
        text.push_str(&hanging("   try", 8, &wording::changes_with_rollback(audit, command), look));
    }
    text.push('\n');
    text.push_str(&header(audit, look));
    if !audit.findings.is_empty() {
        text.push('\n');
    }
    for finding in &audit.findings {
        text.push_str(&finding_lines(finding, look));
    }
    text.push_str(&unreached(&audit.unreached, look));
    text.push_str(&differences(&audit.differences, look));
    if !audit.unreadable.is_empty() {
        text.push('\n');
    }
    for part in &audit.unreadable {
        text.push_str(&unread(part, look));
    }
    text
}

/// What a capture of a machine wrote into a folder.
#[must_use]
pub fn captured(folder: &Path, files: usize, settings: usize) -> String {
    format!("{}: {files} files, and {settings} settings that are not files\n", folder.display())
}

fn header(audit: &Audit, look: TextStyle) -> String {
    wording::facts(audit).map(|(name, value)| hanging(&format!(" {name}"), 11, &value, look)).concat()
}

/// The colour of a finding, what stands before it, and its claim.
fn finding_head(finding: &AuditFinding) -> (Colour, String, String) {
    let ink = severity_ink(finding.severity);
    let lead = format!(" {}", phrases::severity(finding.severity));
    (ink, lead, format!("{} ({})", finding.claim, phrases::confidence(finding.confidence)))
}

fn finding_lines(finding: &AuditFinding, look: TextStyle) -> String {
    let (ink, lead, claim) = finding_head(finding);
    [
        hanging_in(ink, &lead, 11, &claim, look),
        hanging("           why", 16, &finding.evidence, look),
        hanging("           try", 16, &finding.remedy, look),
    ]
    .concat()
}

fn unreached(all_found: &[Unreached], look: TextStyle) -> String {
    if all_found.is_empty() {
        return String::new();
    }
    let title = "Settings of the host that do not reach an engine: its network namespace has its own";
    let mut text = format!("\n{}", titled(Colour::Yellow, title, look));
    for one in wording::unreached_alike(all_found) {
        text.push_str(&hanging("   ", 3, &wording::unreached(&one), look));
    }
    text
}

/// A title in lines that fit, in one colour.
fn titled(ink: Colour, title: &str, look: TextStyle) -> String {
    let lines = wrapped(title, look.width.saturating_sub(1));
    lines.iter().map(|line| format!("{}\n", paint(ink, &format!(" {line}"), look))).collect()
}

fn differences(differences: &[Difference], look: TextStyle) -> String {
    if differences.is_empty() {
        return String::new();
    }
    let title = "Differences from the profile, by weight (of the resource relieved × confidence)";
    let mut text = format!("\n{}", titled(Colour::Dim, title, look));
    for row in wording::differences_alike(differences) {
        text.push_str(&difference_lines(&row, look));
    }
    text
}

fn difference_lines(row: &wording::SameRows<'_, Difference>, look: TextStyle) -> String {
    let difference = row.first;
    let weight = format!("{:.2}", difference.weight);
    let name = wording::place(difference, &row.pids);
    let change = format!("{} → {}", wording::value(&difference.present), wording::value(&difference.wanted));
    let confidence = phrases::confidence(difference.confidence);
    let head = format!("{}: {change} ({confidence}, {})", clean(&name), difference.relieves);
    let mut text = hanging(&format!(" {weight}"), 7, &head, look);
    text.push_str(&hanging("       why", 14, &difference.why, look));
    text.push_str(&hanging("       when", 14, &wording::when(difference), look));
    for command in difference.commands.iter().take(wording::COMMANDS_SHOWN) {
        text.push_str(&hanging("       try", 14, command, look));
    }
    text
}

fn unread(part: &UnreadPart, look: TextStyle) -> String {
    hanging_in(Colour::Yellow, " unread", 11, &wording::unread(part), look)
}
