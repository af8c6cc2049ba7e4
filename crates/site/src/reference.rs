//! The table of keys as Markdown, for `docs/site.md`.

use std::fmt::Write as _;

use super::keys::{DefaultRule, Key, NumberKind, SITE, Shape};
use super::value::text;
use super::word_lists::{self, Word};

/// Every key of a `site.yaml` with what may stand behind it and what holds unless it is stated, as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::new();
    section("", SITE, &mut text);
    let mut lists: Vec<(&str, &[Word])> = Vec::new();
    word_lists(SITE, &mut lists);
    text.push_str("\n### Words\n\n| | word | |\n|---|---|---|\n");
    for (what, list) in lists {
        for word in list {
            // Writing to a string does not fail.
            let _ = writeln!(text, "| {what} | `{}` | {} |", word.name, word.about);
        }
    }
    text
}

/// Every list of words below some keys, once.
fn word_lists(keys: &'static [Key], lists: &mut Vec<(&'static str, &'static [Word])>) {
    for key in keys {
        match &key.shape {
            Shape::Words(what, list) if !lists.iter().any(|(known, _)| known == what) => lists.push((what, list)),
            Shape::Mapping(_, below) | Shape::Short(_, _, below) | Shape::OneOrMany(_, below, _) => {
                word_lists(below, lists);
            }
            _ => {}
        }
    }
}

fn section(path: &str, keys: &'static [Key], text: &mut String) {
    let title = if path.is_empty() { "The file".to_owned() } else { format!("`{path}`") };
    let _ = writeln!(text, "### {title}\n\n| key | value | unless stated | |\n|---|---|---|---|");
    for key in keys {
        let unless = match key.unless {
            DefaultRule::Required => "**required**".to_owned(),
            DefaultRule::Value(value, reason) => format!("`{value}`: {reason}"),
            DefaultRule::Follows(what) | DefaultRule::Absent(what) => what.to_owned(),
            DefaultRule::Empty => "as below".to_owned(),
        };
        let _ = writeln!(text, "| `{}` | {} | {unless} | {} |", key.name, value(&key.shape), key.about);
    }
    for key in keys {
        if let Shape::Mapping(_, below) | Shape::Short(_, _, below) | Shape::OneOrMany(_, below, _) = &key.shape {
            // Both planes have the same keys.
            if key.name == "private" {
                continue;
            }
            let name = if key.name == "public" { "public, private" } else { key.name };
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            text.push('\n');
            section(&path, below, text);
        }
    }
}

fn value(shape: &Shape) -> String {
    match shape {
        Shape::Name => "a name".to_owned(),
        Shape::Names => "a name, or a list".to_owned(),
        Shape::Switch => "`true`, `false`".to_owned(),
        Shape::Whole(min, max) => format!("{min} to {max}"),
        Shape::Quantity(kind, ..) => {
            let example = match kind {
                NumberKind::Bytes => "`7.68TB`, `64MiB`",
                NumberKind::BytesPerS => "`6.5GB/s`, `152GiB/s`",
                NumberKind::BitsPerS => "`25Gb/s`",
                NumberKind::Operations => "`800k`, `1.2M`",
                NumberKind::Time => "`50ms`",
                NumberKind::Years => "`3y`, `18mo`, `90d`",
                NumberKind::Growth => "`30%`",
                NumberKind::Ratio => "`3:1`",
                NumberKind::Plain => "`0.5`",
            };
            example.to_owned()
        }
        Shape::Words(_, list) => format!("`{}`", word_lists::listed(list).replace(", ", "`, `")),
        Shape::Kernel => "`6.8`".to_owned(),
        Shape::Protection => "`10+4`, `EC:4`, `3x`".to_owned(),
        Shape::Text(kind) => text::example(*kind).to_owned(),
        Shape::Texts(kind) => format!("{}, or a list", text::example(*kind)),
        Shape::Mapping(..) => "a mapping".to_owned(),
        Shape::Short(_, short, _) => format!("`{short}`, or a mapping"),
        Shape::OneOrMany(..) => "a mapping, or a list of them".to_owned(),
    }
}
