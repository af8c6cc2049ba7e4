//! What was discovered of a running cluster: what was read, what contradicts, and what is assumed.

use std::path::Path;

use linerate_record::discovery::{
    DiscoveredSite, DiscoveredValue, DiscoveryFinding, DiscoveryKind, SiteDifference, ValueSource,
};
use linerate_record::fleet::FleetRow;
use linerate_record::shell;

use crate::colour::Colour;
use crate::fleet::unreached_in_words;
use crate::phrases::plural;
use crate::terminal::{TextStyle, hanging, hanging_in};

/// Lines of findings, differences and assumed values on a screen, each kind of them; the rest is counted.
const ROWS: usize = 6;

/// Columns before a sentence.
const INDENT: usize = 11;

/// What is shown.
#[derive(Clone, Debug)]
pub struct ShownDiscovery<'a> {
    pub site: &'a DiscoveredSite,
    /// Nodes that were not read.
    pub unreached: &'a [FleetRow],
    pub output: Option<&'a Path>,
    /// Whether differences were to be written.
    pub update: bool,
    pub all: bool,
}

/// What was discovered, as pretty JSON with a line feed at its end.
///
/// # Panics
/// Never: it has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(site: &DiscoveredSite) -> String {
    crate::json::pretty(site).expect("what is discovered has text keys only")
}

/// What was discovered, for a terminal.
#[must_use]
pub fn text(shown: &ShownDiscovery<'_>, look: TextStyle) -> String {
    let mut text = hanging(" read", INDENT, &summary(shown.site), look);
    let lost = shown.unreached.iter().filter_map(|row| Some((row, row.unreached.as_ref()?)));
    for reason in unreached_in_words(lost) {
        text.push_str(&hanging_in(Colour::Red, " not read", INDENT, &reason, look));
    }
    let most = if shown.all { usize::MAX } else { ROWS };
    let of_kind = |is_unread: bool| -> Vec<&DiscoveryFinding> {
        shown.site.findings.iter().filter(|finding| (finding.kind == DiscoveryKind::Unread) == is_unread).collect()
    };
    text.push_str(&rows(of_kind(false), most, |finding| finding_lines(finding, shown.all, look)));
    text.push_str(&rows(of_kind(true), most, |finding| finding_lines(finding, shown.all, look)));
    if let Some(differing) = &shown.site.differences {
        text.push_str(&differences(differing, shown, most, look));
    }
    if shown.all {
        text.extend(shown.site.values.iter().map(|value| known_line(value, look)));
    }
    text.push_str(&rows(assumed(&shown.site.values), most, |assumed| hanging(" assumed", INDENT, &assumed, look)));
    text.push_str(&next(shown, look));
    text
}

fn summary(site: &DiscoveredSite) -> String {
    let nodes = match (site.nodes_read, site.nodes) {
        (read, all) if read == all => plural(u64::from(all), "node"),
        (read, all) => format!("{read} of {all} nodes"),
    };
    let assumed = site.values.iter().filter(|value| matches!(value.source, ValueSource::Assumed { .. })).count();
    let known = plural((site.values.len() - assumed) as u64, "value");
    format!("{nodes}: {known} of the site known, {assumed} assumed")
}

/// At most so many of a list, and how many more there are.
fn rows<T>(all: Vec<T>, most: usize, line: impl Fn(T) -> String) -> String {
    let left = all.len().saturating_sub(most);
    let mut text: String = all.into_iter().take(most).map(line).collect();
    if left > 0 {
        text.push_str(&format!("{:INDENT$}… {left} more with --all\n", ""));
    }
    text
}

fn finding_lines(finding: &DiscoveryFinding, all: bool, look: TextStyle) -> String {
    let (colour, lead) = match finding.kind {
        DiscoveryKind::Plane | DiscoveryKind::Contradiction => (Colour::Yellow, " ▸"),
        DiscoveryKind::Unread => (Colour::Dim, " unread"),
    };
    // Of what could not be read, nodes are counted: often it is all of them.
    let count = finding.nodes.len() as u64;
    let on = if finding.kind == DiscoveryKind::Unread && count > 0 {
        format!(" ({})", plural(count, "node"))
    } else {
        String::new()
    };
    let indent = if lead == " ▸" { 3 } else { INDENT };
    let mut text = hanging_in(colour, lead, indent, &format!("{}{on}", finding.claim), look);
    if all {
        text.push_str(&hanging("   try", INDENT, &finding.remedy, look));
    }
    text
}

fn differences(differing: &[SiteDifference], shown: &ShownDiscovery<'_>, most: usize, look: TextStyle) -> String {
    if differing.is_empty() {
        let same = "counts, processors, memory, drives, links and engine are in the file as on the nodes";
        return hanging(" same", INDENT, same, look);
    }
    let line = |row: &SiteDifference| {
        let stated = match row.is_assumed {
            true => format!("not in the file (assumed {})", row.stated),
            false => format!("{} in the file", row.stated),
        };
        let done = if row.is_written { "; written" } else { "" };
        let claim = format!("{}: {stated}, {} on the nodes{done}", row.path, row.found);
        hanging_in(Colour::Yellow, " differs", INDENT, &claim, look)
    };
    let mut text = rows(differing.iter().collect(), most, line);
    let left = differing.iter().filter(|row| !row.is_written).count();
    if let Some(path) = shown.output.filter(|_| left > 0) {
        let path = path.display();
        let remedy = match shown.update {
            true => format!(
                "what is not written is for you to write into {path}: lists, links of planes, and what would make the \
                 file invalid"
            ),
            false => format!("--update writes them into {path}, but for lists and links of planes"),
        };
        text.push_str(&hanging(" try", INDENT, &remedy, look));
    }
    text
}

/// A value that is known, and how.
fn known_line(value: &DiscoveredValue, look: TextStyle) -> String {
    let how = match &value.source {
        ValueSource::Assumed { .. } => return String::new(),
        ValueSource::Derived { from } => from.clone(),
        ValueSource::Read { place, nodes, readable } => format!("{nodes} of {readable}: {place}"),
    };
    hanging(" known", INDENT, &format!("{} {}: {how}", value.path, value.value), look)
}

/// What is assumed, values with the same reason together.
fn assumed(values: &[DiscoveredValue]) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for value in values {
        let ValueSource::Assumed { because } = &value.source else { continue };
        let claim = format!(" {}: {because}", value.value);
        match groups.iter_mut().find(|(known, _)| *known == claim) {
            Some((_, paths)) => paths.push(&value.path),
            None => groups.push((claim, vec![&value.path])),
        }
    }
    groups.into_iter().map(|(claim, paths)| paths.join(", ") + &claim).collect()
}

/// The file, and what to do with it.
fn next(shown: &ShownDiscovery<'_>, look: TextStyle) -> String {
    let Some(path) = shown.output else {
        return hanging(" next", INDENT, "-o site.yaml writes it to a file, for linerate plan site.yaml", look);
    };
    let path = shell::path(path);
    let written = if shown.site.differences.is_none() { hanging(" site", INDENT, &path, look) } else { String::new() };
    written + &hanging(" next", INDENT, &format!("linerate plan {path}"), look)
}

#[cfg(test)]
mod tests {
    use linerate_record::discovery::DISCOVERY_SCHEMA;

    use super::*;

    const LOOK: TextStyle = TextStyle { color: false, width: 80, whole: false };

    fn value(path: &str, value: &str, source: ValueSource) -> DiscoveredValue {
        DiscoveredValue { path: path.to_owned(), value: value.to_owned(), source }
    }

    fn finding(kind: DiscoveryKind, claim: &str, nodes: usize) -> DiscoveryFinding {
        let nodes = (1..=nodes).map(|number| format!("node{number}")).collect();
        DiscoveryFinding { kind, claim: claim.to_owned(), remedy: "mend it".to_owned(), nodes }
    }

    fn site() -> DiscoveredSite {
        let because = || ValueSource::Assumed { because: "it is virtual".to_owned() };
        let read = ValueSource::Read { place: "/proc".to_owned(), nodes: 55, readable: 56 };
        DiscoveredSite {
            schema: DISCOVERY_SCHEMA,
            nodes_read: 56,
            nodes: 56,
            values: vec![
                value("nodes.cores", "64", read),
                value("nodes.nics.0.speed", "25Gb/s", because()),
                value("nodes.nics.1.speed", "25Gb/s", because()),
            ],
            findings: vec![
                finding(DiscoveryKind::Contradiction, "MTU of bond1: 9000 on 55 nodes; 1500 on node7", 1),
                finding(DiscoveryKind::Unread, "cannot read proc/PID/fd: Permission denied", 56),
            ],
            site: String::new(),
            differences: None,
        }
    }

    fn shown(site: &DiscoveredSite, differing: Option<Vec<SiteDifference>>, all: bool) -> String {
        let (site, output) = (DiscoveredSite { differences: differing, ..site.clone() }, Some(Path::new("site.yaml")));
        text(&ShownDiscovery { site: &site, unreached: &[], output, update: true, all }, LOOK)
    }

    #[test]
    fn a_site_of_56_nodes_fits_a_screen_with_what_contradicts_first() {
        let expected = " read      56 nodes: 1 value of the site known, 2 assumed
 ▸ MTU of bond1: 9000 on 55 nodes; 1500 on node7
 unread    cannot read proc/PID/fd: Permission denied (56 nodes)
 assumed   nodes.nics.0.speed, nodes.nics.1.speed 25Gb/s: it is virtual
 site      site.yaml
 next      linerate plan site.yaml
";
        assert_eq!(shown(&site(), None, false), expected);
        let mut many = site();
        many.findings = vec![many.findings[0].clone(); 40];
        let text = shown(&many, None, false);
        assert!(text.contains("… 34 more with --all") && text.lines().count() <= 25, "{text}");
        let whole = shown(&many, None, true);
        assert!(whole.matches("try").count() == 40 && whole.contains("nodes.cores 64: 55 of 56: /proc"), "{whole}");
    }

    #[test]
    fn differences_say_what_is_written_and_what_is_left() {
        let row = |path: &str, is_written: bool| SiteDifference {
            path: path.to_owned(),
            stated: "9000".to_owned(),
            is_assumed: !is_written,
            found: "1500".to_owned(),
            is_written,
        };
        let text = shown(&site(), Some(vec![row("planes.public.mtu", true), row("nodes.0.cores", false)]), false);
        assert!(
            text.contains(" differs   planes.public.mtu: 9000 in the file, 1500 on the nodes; written\n"),
            "{text}"
        );
        assert!(text.contains("nodes.0.cores: not in the file (assumed 9000), 1500 on the nodes\n"), "{text}");
        assert!(text.contains("what is not written is for you to write into site.yaml"), "{text}");
        assert!(!text.contains(" site  "), "it was not written anew: {text}");
        assert!(
            shown(&site(), Some(Vec::new()), false)
                .replace("\n          ", "")
                .contains("are in the file as on the nodes")
        );
    }
}
