//! The tree as a site file: each value with a comment that says how it is known.

use linerate_record::discovery::ValueSource;
use linerate_record::sanitize::in_line;

use crate::tree::{SiteContent, SiteEntry};

/// Where comments begin, unless a value reaches farther.
const COMMENT_COLUMN: usize = 34;

/// The file.
pub(crate) fn written(tree: &[SiteEntry], nodes_read: u32, fleet: u32) -> String {
    let mut text = format!(
        "# Discovered by linerate on {nodes_read} of {fleet} nodes. Comments say where a value was read, and on how\n\
         # many of the nodes that state it. linerate assumes what is not here, and lists it with each conclusion.\n"
    );
    mapping(tree, 0, &mut text);
    text
}

fn mapping(entries: &[SiteEntry], indent: usize, text: &mut String) {
    for entry in entries {
        one(entry, indent, &" ".repeat(indent), text);
    }
}

/// An entry behind what stands before it on its line.
fn one(entry: &SiteEntry, indent: usize, before: &str, text: &mut String) {
    let key = entry.key;
    match &entry.content {
        SiteContent::Value(value, source) => text.push_str(&line(&format!("{before}{key}: "), value, source)),
        SiteContent::Mapping(entries) => {
            text.push_str(&format!("{before}{key}:\n"));
            mapping(entries, indent + 2, text);
        }
        SiteContent::List(items) => {
            text.push_str(&format!("{before}{key}:\n"));
            for item in items {
                let (dash, inner) = (format!("{}- ", " ".repeat(indent + 2)), indent + 4);
                for (at, entry) in item.iter().enumerate() {
                    let before = if at == 0 { dash.clone() } else { " ".repeat(inner) };
                    one(entry, inner, &before, text);
                }
            }
        }
    }
}

fn line(before: &str, value: &str, source: &ValueSource) -> String {
    let comment = match source {
        ValueSource::Assumed { because } => {
            return format!("{before}{{assumed: {}, because: {}}}\n", scalar(value), quoted(because));
        }
        ValueSource::Derived { from } => from.clone(),
        ValueSource::Read { place, nodes, readable } => format!("{nodes} of {readable}: {place}"),
    };
    let value = format!("{before}{}", scalar(value));
    format!("{value:<COMMENT_COLUMN$} # {}\n", one_line(&comment))
}

/// A value as YAML takes it: what a node says may hold anything.
fn scalar(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+/:".contains(c);
    let is_list = value.starts_with('[') && value.ends_with(']');
    let is_safe = |text: &str| {
        !text.is_empty()
            && text.chars().all(is_plain)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
            && !text.ends_with(':')
    };
    let list = || value[1..value.len() - 1].split(", ").map(scalar).collect::<Vec<_>>().join(", ");
    match (is_list, is_safe(value)) {
        (true, _) => format!("[{}]", list()),
        (false, true) => value.to_owned(),
        (false, false) => quoted(value),
    }
}

fn quoted(text: &str) -> String {
    let text = one_line(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

/// Within its line, and without what drives a terminal.
fn one_line(text: &str) -> String {
    in_line(text).replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_says_stays_within_its_value() {
        for (value, expected) in [
            ("bond0", "bond0"),
            ("25Gb/s", "25Gb/s"),
            ("[eth0, eth1]", "[eth0, eth1]"),
            ("[eth0, a: b]", "[eth0, \"a: b\"]"),
            ("a\nkubernetes: {}", "\"a\\\\u000akubernetes: {}\""),
            ("a\" # b", "\"a\\\" # b\""),
            ("*x", "\"*x\""),
            ("", "\"\""),
        ] {
            assert_eq!(scalar(value), expected, "{value:?}");
        }
    }
}
