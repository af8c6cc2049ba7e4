//! An audit of a fleet as text: the verdict, then in what nodes differ, what was found and which settings differ.

use linerate_record::finding::Severity;
use linerate_record::fleet::{DriftedFact, FleetAudit, FleetDifference, FleetFinding};

use super::{difference, named, nodes, unreached_nodes};
use crate::colour::Colour;
use crate::line_budget::within;
use crate::phrases::{self, audit as wording, plural};
use crate::terminal::{TextStyle, hanging, hanging_in, paint, severity_ink};

/// Lines of a screen.
const LINES: usize = 25;

/// Lines of a row on a screen, and of its remedy or of what follows all rows.
const EACH: usize = 2;
const BRIEF: usize = 1;

/// Rows of a part in a file, unless all are requested.
const ROWS_OF_FILE: usize = 10;

/// Rows of one kind, those that matter most first.
struct Part {
    title: Option<(Colour, &'static str)>,
    rows: Vec<String>,
}

/// The verdict, nodes that were not reached, what differs among nodes that should be alike, what audits found, and
/// which settings differ from the profile. On a screen these are 25 lines at most, to which each part gives a row in
/// turn, and in a file ten rows a part; with `all`, there is every one.
#[must_use]
pub fn audit(audit: &FleetAudit, all: bool, look: TextStyle) -> String {
    // Rows are cut on a screen alone.
    let each = TextStyle { whole: all || look.whole, ..look };
    let mut text = hanging_in(Colour::Dim, " ▸", 3, &verdict(audit), look);
    text.push_str(&within(EACH, Colour::Dim, " profile", 11, &profiles(audit), each));
    let tail = unread(audit).map_or_else(String::new, |says| within(BRIEF, Colour::Yellow, " unread", 11, &says, each));
    let parts = [
        Part { title: None, rows: unreached_nodes::rows(&audit.unreached, all, look) },
        Part {
            title: Some((Colour::Yellow, " Differences between nodes of the same role")),
            rows: rows(&audit.unlike, |row| unlike(row, each)),
        },
        Part { title: None, rows: rows(&audit.findings, |one| finding(one, audit, each)) },
        Part {
            title: Some((Colour::Dim, " Differences from the profile, by weight")),
            rows: rows(&audit.differences, |one| setting(one, audit, all, each)),
        },
    ];
    let shown = if all {
        parts.each_ref().map(|part| part.rows.len())
    } else if look.whole {
        parts.each_ref().map(|part| part.rows.len().min(ROWS_OF_FILE))
    } else {
        in_turn(&parts, LINES.saturating_sub(count(&text) + count(&tail)))
    };
    for (part, shown) in parts.iter().zip(shown) {
        text.push_str(&part_lines(part, shown, look));
    }
    text + &tail
}

fn rows<T>(all: &[T], row: impl Fn(&T) -> String) -> Vec<String> {
    all.iter().map(row).collect()
}

fn count(text: &str) -> usize {
    text.lines().count()
}

/// How many rows of each part so many lines hold, if each part gives one in turn.
fn in_turn(parts: &[Part; 4], room: usize) -> [usize; 4] {
    let lines = |shown: &[usize; 4]| -> usize {
        parts.iter().zip(shown).map(|(part, shown)| count(&part_lines(part, *shown, PLAIN))).sum()
    };
    let mut shown = [0; 4];
    loop {
        let before = shown;
        for place in 0..parts.len() {
            let mut more = shown;
            more[place] += 1;
            if more[place] <= parts[place].rows.len() && lines(&more) <= room {
                shown = more;
            }
        }
        if shown == before {
            return shown;
        }
    }
}

/// In what only the lines count.
const PLAIN: TextStyle = TextStyle { color: false, width: usize::MAX, whole: false };

/// A part with so many of its rows behind a blank line, and how many more there are.
fn part_lines(part: &Part, shown: usize, look: TextStyle) -> String {
    if part.rows.is_empty() {
        return String::new();
    }
    let title = part.title.map_or_else(String::new, |(ink, title)| paint(ink, title, look) + "\n");
    let more = match part.rows.len() - shown {
        0 => String::new(),
        more => hanging_in(Colour::Dim, "   ", 3, &format!("… and {more} more: --all shows them"), look),
    };
    format!("\n{title}{}{more}", part.rows[..shown].concat())
}

fn verdict(audit: &FleetAudit) -> String {
    let (read, missing) = (audit.audited.len(), audit.unreached.len());
    let read = match missing {
        0 => format!("{}, each read", nodes(read)),
        _ => format!("{}: {read} read, {missing} not reached", nodes(read + missing)),
    };
    let unlike = match (audit.compared, audit.unlike.len()) {
        (0, _) => "no comparison: no role has two nodes of the same kind that were read".to_owned(),
        (compared, 0) => format!("nodes of the same role agree in all {compared} facts"),
        (_, unlike) => format!("nodes of the same role differ in {}", plural(unlike as u64, "fact")),
    };
    let settings = match audit.differences.len() {
        0 if audit.audited.is_empty() => "no setting was compared with the profile".to_owned(),
        0 => "no setting differs from the profile".to_owned(),
        1 => "1 setting differs from the profile".to_owned(),
        some => format!("{some} settings differ from the profile"),
    };
    let severe = |severity| audit.findings.iter().filter(|one| one.finding.severity == severity).count();
    let found = [(Severity::Critical, "critical finding"), (Severity::Warning, "warning")]
        .map(|(severity, name)| (severe(severity), name));
    let found: String =
        found.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("; {}", plural(*n as u64, name))).collect();
    format!("{read}; {unlike}; {settings}{found}")
}

/// The profile of each role, once.
fn profiles(audit: &FleetAudit) -> String {
    let mut profiles: Vec<String> = Vec::new();
    for node in &audit.audited {
        let profile = format!("{}: {}", node.role.name(), node.profile);
        if !profiles.contains(&profile) {
            profiles.push(profile);
        }
    }
    profiles.join(", ")
}

fn unread(audit: &FleetAudit) -> Option<String> {
    let partly: Vec<&str> =
        audit.audited.iter().filter(|node| node.unreadable > 0).map(|node| node.name.as_str()).collect();
    let why = "some values could not be read, mostly without root; linerate audit there names them";
    (!partly.is_empty()).then(|| format!("{}: {why}", named(&partly)))
}

fn unlike(row: &DriftedFact, look: TextStyle) -> String {
    within(EACH, Colour::Dim, &format!(" {}", row.role.name()), 11, &difference(row), look)
}

fn finding(one: &FleetFinding, audit: &FleetAudit, look: TextStyle) -> String {
    let lead = format!(" {}", phrases::severity(one.finding.severity));
    let claim = format!("{}: {}", who(&one.nodes, audit), one.finding.claim);
    within(EACH, severity_ink(one.finding.severity), &lead, 11, &claim, look)
        + &within(BRIEF, Colour::Dim, "           try", 16, &one.finding.remedy, look)
}

fn setting(one: &FleetDifference, audit: &FleetAudit, all: bool, look: TextStyle) -> String {
    let differs = &one.difference;
    let change = format!("{} → {}", wording::value(&differs.present), wording::value(&differs.wanted));
    let claim = format!("{}: {change}: {}", place(one), who(&one.nodes, audit));
    let row = within(EACH, Colour::Dim, &format!(" {:.2}", differs.weight), 7, &claim, look);
    if all { row + &hanging("       why", 14, &differs.why, look) } else { row }
}

fn place(one: &FleetDifference) -> String {
    let differs = &one.difference;
    let mut text = differs.knob.clone();
    if let Some(first) = differs.devices.first() {
        let others = differs.devices.len() - 1;
        let others = if others == 0 { String::new() } else { format!(" and {others} more") };
        text.push_str(&format!(" of {first}{others}"));
    }
    if let Some(engine) = &one.engine {
        text.push_str(&format!(" in {engine}"));
    }
    text
}

/// Names of nodes, or that it is all of them.
fn who(names: &[String], audit: &FleetAudit) -> String {
    if names.len() == audit.audited.len() && names.len() > 1 {
        return format!("each of {}", nodes(names.len()));
    }
    named(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use linerate_record::fleet::{AuditedNode, DriftedValue, FLEET_SCHEMA, FleetRow, NodeRole, UnreachedNode};

    use super::*;
    use crate::audit::fixture;

    fn difference(n: usize) -> FleetDifference {
        FleetDifference { nodes: names(56), engine: None, difference: fixture::difference(n) }
    }

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|n| format!("node{n:02}")).collect()
    }

    fn finding(n: usize) -> FleetFinding {
        FleetFinding { nodes: names(3), finding: fixture::finding(n) }
    }

    fn unlike(n: usize) -> DriftedFact {
        let value = |value: &str, count: usize| DriftedValue { value: Some(value.to_owned()), nodes: names(count) };
        let values = vec![value("9000", 53), value("1500", 3)];
        DriftedFact { role: NodeRole::Storage, site_node: None, what: format!("MTU of eth{n}"), values }
    }

    fn unreached(n: usize) -> FleetRow {
        FleetRow {
            name: format!("lost{n}"),
            role: NodeRole::Storage,
            reach: format!("ssh://lost{n}"),
            site_node: None,
            reached: None,
            unreached: Some(UnreachedNode { why: format!("reason {n}"), remedy: "check that sshd runs".to_owned() }),
        }
    }

    /// An audit with so many of each part.
    fn fleet([lost, unlike_facts, findings, differences]: [usize; 4]) -> FleetAudit {
        let audited = |name: String| AuditedNode {
            name,
            role: NodeRole::Storage,
            profile: "s3-storage-node".to_owned(),
            unreadable: 1,
        };
        FleetAudit {
            schema: FLEET_SCHEMA,
            audited: names(56).into_iter().map(audited).collect(),
            unreached: (0..lost).map(unreached).collect(),
            unlike: (0..unlike_facts).map(unlike).collect(),
            compared: 10,
            findings: (0..findings).map(finding).collect(),
            differences: (0..differences).map(difference).collect(),
        }
    }

    fn look(width: usize, whole: bool) -> TextStyle {
        TextStyle { color: false, width, whole }
    }

    #[test]
    fn the_first_screen_has_the_verdict_first_and_a_row_of_each_part_in_25_lines() {
        for width in [60, 80, 100, 160] {
            for parts in [[0, 0, 0, 0], [0, 0, 0, 28], [1, 1, 1, 1], [9, 9, 9, 28], [0, 9, 0, 28], [40, 0, 0, 0]] {
                let text = audit(&fleet(parts), false, look(width, false));
                let case = format!("{width} {parts:?}:\n{text}");
                assert!(text.lines().count() <= LINES, "{case}");
                assert!(text.lines().all(|line| line.chars().count() <= width), "{case}");
                let all = 56 + parts[0];
                assert!(text.starts_with(&format!(" ▸ {all} nodes")), "{case}");
                for (part, row) in parts.iter().zip(["lost0: not reached", "MTU of eth0", "finding 0", "gc_thresh0"]) {
                    assert_eq!(text.contains(row), *part > 0, "{row}: {case}");
                }
            }
        }
    }

    #[test]
    fn the_verdict_counts_each_part() {
        let words = |parts| verdict(&fleet(parts));
        let alike = "56 nodes, each read; nodes of the same role agree in all 10 facts; no setting differs from the \
                     profile";
        assert_eq!(words([0, 0, 0, 0]), alike);
        let unlike = "57 nodes: 56 read, 1 not reached; nodes of the same role differ in 2 facts; 3 settings differ \
                      from the profile; 1 warning";
        assert_eq!(words([1, 2, 1, 3]), unlike);
        let one = FleetAudit { compared: 0, ..fleet([0, 0, 0, 1]) };
        assert!(verdict(&one).contains("; no comparison: no role has two nodes"), "{}", verdict(&one));
    }

    #[test]
    fn a_file_has_ten_rows_of_a_part_and_all_has_every_one_with_its_reason() {
        let file = audit(&fleet([0, 0, 0, 28]), false, look(100, true));
        assert_eq!(file.matches(" → ").count(), ROWS_OF_FILE, "{file}");
        assert!(file.contains("… and 18 more: --all shows them"), "{file}");
        let all = audit(&fleet([3, 4, 5, 28]), true, look(100, false));
        assert_eq!((all.matches(" → ").count(), all.matches("why    for 17 nodes").count()), (28, 28), "{all}");
        assert!(all.contains("lost2: not") && all.contains("MTU of eth3") && all.contains("remedy 4"), "{all}");
    }
}
