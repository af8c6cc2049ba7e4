//! The first screen of an audit: what it comes to, what changes that, and what weighs most. The rest is behind `--all`.

use linerate_record::audit::Audit;

use super::finding_head;
use crate::colour::Colour;
use crate::line_budget::within;
use crate::phrases::{audit as wording, plural};
use crate::terminal::TextStyle;

/// Lines of a screen.
const LINES: usize = 25;

/// Findings that are shown where there is room, and differences that have room before all but one of them.
const FINDINGS_MAX: usize = 3;
const DIFFERENCES_LEAST: usize = 4;

/// Differences in a file, which has no last line.
const DIFFERENCES_OF_FILE: usize = 10;

/// Lines of what changes settings, and of anything else.
const COMMAND_LINES: usize = 4;
const EACH: usize = 2;

pub(super) fn text(audit: &Audit, command: &str, look: TextStyle) -> String {
    let (head, tail) = (head(audit, command, look), tail(audit, look));
    let most = if look.whole { audit.findings.len() } else { audit.findings.len().min(FINDINGS_MAX) };
    let room = |found: &str| LINES.saturating_sub(count(&head) + count(found) + count(&tail));
    let least = DIFFERENCES_LEAST.min(audit.differences.len());
    // A title, and a line for those that are left out.
    let is_enough = |found: &str| look.whole || room(found) >= least + 3;
    let shown: Vec<String> = (0..=most).rev().map(|shown| findings(audit, shown, look)).collect();
    let found = shown.iter().find(|found| is_enough(found)).or(shown.iter().rev().nth(1)).or(shown.last());
    let found = found.cloned().unwrap_or_default();
    let rows = differences(audit, room(&found), look);
    [head, found, rows, tail].concat()
}

fn count(text: &str) -> usize {
    text.lines().count()
}

fn head(audit: &Audit, command: &str, look: TextStyle) -> String {
    let mut text = within(EACH, Colour::Dim, " ▸", 3, &wording::verdict(audit), look);
    if !audit.differences.is_empty() {
        let changes_with_rollback = wording::changes_with_rollback(audit, command);
        text.push_str(&within(COMMAND_LINES, Colour::Dim, "   try", 8, &changes_with_rollback, look));
    }
    for (name, value) in wording::facts_in_brief(audit) {
        text.push_str(&within(1, Colour::Dim, &format!(" {name}"), 11, &value, look));
    }
    text
}

/// So many findings with their remedies, and how many others there are.
fn findings(audit: &Audit, shown: usize, look: TextStyle) -> String {
    if audit.findings.is_empty() {
        return String::new();
    }
    let mut text = "\n".to_owned();
    for finding in &audit.findings[..shown] {
        let (ink, lead, claim) = finding_head(finding);
        text.push_str(&within(EACH, ink, &lead, 11, &claim, look));
        text.push_str(&within(1, Colour::Dim, "           try", 16, &finding.remedy, look));
    }
    let more = audit.findings.len() - shown;
    if more > 0 {
        let more = format!("{}: --all", plural(more as u64, "more finding"));
        text.push_str(&within(1, Colour::Dim, " …", 11, &more, look));
    }
    text
}

/// As many differences as so many lines hold, those that weigh most.
fn differences(audit: &Audit, room: usize, look: TextStyle) -> String {
    if audit.differences.is_empty() {
        return String::new();
    }
    let title = " Differences, by weight; --all has their reasons, risks and commands";
    let mut text = within(1, Colour::Dim, "", 1, title.trim_start(), look);
    let rows = wording::differences_alike(&audit.differences);
    let mut shown = 0;
    for row in &rows {
        let difference = row.first;
        let change = format!("{} → {}", wording::value(&difference.present), wording::value(&difference.wanted));
        let confidence = crate::phrases::confidence(difference.confidence);
        let place = wording::place(difference, &row.pids);
        let sentence = format!("{place}: {change} ({confidence}, {})", wording::relieved(difference));
        let row = within(EACH, Colour::Dim, &format!(" {:.2}", difference.weight), 7, &sentence, look);
        let is_last = shown + 1 == rows.len();
        // The blank line before the title, and that which counts the others.
        let fits = if look.whole {
            shown < DIFFERENCES_OF_FILE
        } else {
            1 + count(&text) + count(&row) + usize::from(!is_last) <= room
        };
        if !fits {
            break;
        }
        text.push_str(&row);
        shown += 1;
    }
    if shown < rows.len() {
        let more = format!("… and {} of lower weight", rows.len() - shown);
        text.push_str(&within(1, Colour::Dim, "", 7, &more, look));
    }
    format!("\n{text}")
}

/// What never reaches an engine, and what could not be read, in a line or two each.
fn tail(audit: &Audit, look: TextStyle) -> String {
    let mut text = String::new();
    let rows = wording::unreached_alike(&audit.unreached);
    if let Some(first) = rows.first() {
        let others = rows.len() - 1;
        let others = if others == 0 { String::new() } else { format!("; {others} more: --all") };
        let sentence = format!("an engine's network namespace has its own {}{others}", wording::unreached(first));
        text.push_str(&within(EACH, Colour::Yellow, " own", 11, &sentence, look));
    }
    let unread: usize = audit.unreadable.iter().map(|part| part.what.len()).sum();
    if let Some(first) = audit.unreadable.first() {
        let sentence = format!("{}, such as {}: --all", plural(unread as u64, "reading"), wording::unread(first));
        text.push_str(&within(1, Colour::Yellow, " unread", 11, &sentence, look));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use linerate_record::audit::{AUDIT_SCHEMA, Counts, Difference, Unreached, UnreadPart};
    use linerate_record::knob::{EngineProcess, Space};
    use linerate_record::machine::Machine;

    use super::*;
    use crate::audit::{fixture, text};

    const COMMAND: &str = "linerate tune diff --profile s3-storage-node -o changes.json";

    fn look(width: usize, whole: bool) -> TextStyle {
        TextStyle { color: false, width, whole }
    }

    fn difference(n: usize) -> Difference {
        let difference = fixture::difference(n);
        if n != 9 {
            return difference;
        }
        let limit = "it cannot be changed while the machine runs: set it in the unit".to_owned();
        Difference { knob: "limits.nofile".to_owned(), space: Space::Pid(7), not_in_changes: Some(limit), ..difference }
    }

    fn audit(differences: usize, findings: usize) -> Audit {
        let engine = EngineProcess { pid: 7, program: "minio".to_owned(), own_network: true };
        let unreached = |n: usize| Unreached {
            knob: format!("net.core.somaxconn{n}"),
            engine: engine.clone(),
            host: "65535".to_owned(),
            engine_value: "4096".to_owned(),
            wanted: None,
        };
        Audit {
            schema: AUDIT_SCHEMA,
            profile: "s3-storage-node".to_owned(),
            machine: Machine::default(),
            engines: vec![engine.clone()],
            settings: Counts { read: 104, judged: 91, absent: 11 },
            differences: (0..differences).map(difference).collect(),
            unreached: (0..5).map(unreached).collect(),
            findings: (0..findings).map(fixture::finding).collect(),
            unreadable: vec![UnreadPart { what: vec!["a".to_owned(), "b".to_owned()], why: "root alone".to_owned() }],
            site: "this machine".to_owned(),
            assumed: BTreeMap::from([("clients.count".to_owned(), "16".to_owned())]),
        }
    }

    #[test]
    fn the_first_screen_has_the_verdict_first_and_25_lines_at_most() {
        for width in [60, 80, 100, 160] {
            for (differences, findings) in [(28, 0), (28, 1), (28, 9), (1, 0), (0, 0), (0, 9), (4, 2)] {
                let text = text(&audit(differences, findings), COMMAND, false, look(width, false));
                let case = format!("{width} {differences} {findings}:\n{text}");
                assert!(text.lines().count() <= LINES, "{case}");
                assert!(text.lines().all(|line| line.chars().count() <= width), "{case}");
                let verdict = match differences {
                    0 => " ▸ nothing differs from".to_owned(),
                    1 => " ▸ 1 setting differs from".to_owned(),
                    n => format!(" ▸ {n} settings differ from"),
                };
                assert!(text.starts_with(&verdict), "{case}");
                let least = if width < 80 { 1 } else { 3 };
                assert!(text.matches(" → ").count() >= differences.min(least), "{case}");
                assert_eq!(text.contains("finding 0: "), findings > 0, "{case}");
            }
        }
    }

    #[test]
    fn what_the_changes_leave_out_is_said_with_the_reason() {
        let words = |differences| {
            let text = text(&audit(differences, 0), COMMAND, false, look(100, false));
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let some = words(28);
        let left_out = "27 of these 28 changes, with rollback; not limits.nofile (it cannot be changed while the \
                        machine runs: set it in the unit)";
        assert!(some.contains(&format!("try {COMMAND}: {left_out}")), "{some}");
        assert!(words(4).contains(&format!("{COMMAND}: the same 4 changes, with rollback")), "{}", words(4));
        assert!(words(1).contains(&format!("{COMMAND}: the same change, with rollback")), "{}", words(1));
        let mut none = audit(10, 0);
        none.differences.drain(..9);
        assert!(
            wording::changes_with_rollback(&none, COMMAND)
                .starts_with(&format!("{COMMAND}: none of these changes; not limits"))
        );
    }

    #[test]
    fn a_file_has_every_finding_and_all_has_every_difference_with_its_command() {
        let file = text(&audit(28, 9), COMMAND, false, look(100, true));
        assert!(file.contains("finding 8: ") && file.contains("… and 18 of lower weight"), "{file}");
        assert_eq!(file.matches(" → ").count(), DIFFERENCES_OF_FILE, "{file}");
        let all = text(&audit(28, 9), COMMAND, true, look(100, false));
        assert!(all.starts_with(" ▸ 28 settings differ") && all.contains("try    sysctl -w x27=2048"), "{all}");
        assert!(all.matches(" → ").count() == 28 && all.contains("why    for 17 nodes"), "{all}");
    }
}
