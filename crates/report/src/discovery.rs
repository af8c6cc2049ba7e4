//! What was discovered of a running cluster: what was read, what contradicts, and what is assumed.

use std::path::Path;

use linerate_record::discovery::{DiscoveredSite, DiscoveredValue, DiscoveryFinding, DiscoveryKind, ValueSource};
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

/// A value that the nodes say otherwise than a site file.
#[derive(Clone, Debug)]
pub struct DifferenceRow {
    pub path: String,
    pub stated: String,
    pub found: String,
    /// Whether it has been written into the file.
    pub is_written: bool,
}

/// What is shown.
#[derive(Clone, Debug)]
pub struct ShownDiscovery<'a> {
    pub site: &'a DiscoveredSite,
    /// Nodes that were not read.
    pub unreached: &'a [FleetRow],
    /// Where a site file was there already.
    pub differing: Option<Vec<DifferenceRow>>,
    pub output: Option<&'a Path>,
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
    if let Some(differing) = &shown.differing {
        text.push_str(&differences(differing, shown.output, most, look));
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

fn differences(differing: &[DifferenceRow], output: Option<&Path>, most: usize, look: TextStyle) -> String {
    if differing.is_empty() {
        return hanging(" same", INDENT, "the site file says what the nodes say", look);
    }
    let line = |row: &DifferenceRow| {
        let done = if row.is_written { "; written" } else { "" };
        let claim = format!("{}: {} in the file, {} on the nodes{done}", row.path, row.stated, row.found);
        hanging_in(Colour::Yellow, " differs", INDENT, &claim, look)
    };
    let mut text = rows(differing.iter().collect(), most, line);
    let left = differing.iter().filter(|row| !row.is_written).count();
    if let Some(path) = output.filter(|_| left > 0) {
        let some_written = left < differing.len();
        let remedy = match some_written {
            true => format!("write the other {left} into {} by hand: they are in lists", path.display()),
            false => format!("--update writes them into {}; what is in lists is written by hand", path.display()),
        };
        text.push_str(&hanging(" try", INDENT, &remedy, look));
    }
    text
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
    let written = if shown.differing.is_none() { hanging(" site", INDENT, &path, look) } else { String::new() };
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
        }
    }

    fn shown(site: &DiscoveredSite, differing: Option<Vec<DifferenceRow>>, all: bool) -> String {
        let output = Some(Path::new("site.yaml"));
        text(&ShownDiscovery { site, unreached: &[], differing, output, all }, LOOK)
    }

    #[test]
    fn a_site_of_56_nodes_fits_a_screen_with_what_contradicts_first() {
        let expected = "\
 read      56 nodes: 1 value of the site known, 2 assumed
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
        assert_eq!(shown(&many, None, true).matches("try").count(), 40);
    }

    #[test]
    fn differences_say_what_is_written_and_what_is_left() {
        let row = |path: &str, is_written| DifferenceRow {
            path: path.to_owned(),
            stated: "9000".to_owned(),
            found: "1500".to_owned(),
            is_written,
        };
        let text = shown(&site(), Some(vec![row("planes.public.mtu", true), row("nodes.0.cores", false)]), false);
        assert!(
            text.contains(" differs   planes.public.mtu: 9000 in the file, 1500 on the nodes; written\n"),
            "{text}"
        );
        assert!(text.contains("write the other 1 into site.yaml by hand"), "{text}");
        assert!(!text.contains(" site  "), "it was not written anew: {text}");
        assert!(shown(&site(), Some(Vec::new()), false).contains("the site file says what the nodes say"));
    }
}
