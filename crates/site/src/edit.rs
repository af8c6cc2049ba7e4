//! A value written into the text of a file: comments and layout stay as they are.

use super::source_position::SourcePosition;
use super::yaml::{Content, YamlEntry, YamlNode, parse};

/// The text with a value at a path of keys, such as `planes.private.mtu`; keys that are not there are added. What
/// stands in lists is not reached. Whether the file still says what it said else is for the caller to read.
///
/// # Errors
/// Why it cannot be written there, with what to write by hand.
pub fn written(text: &str, path: &str, value: &str) -> Result<String, String> {
    let by_hand = |why: &str| format!("{why}: write {value} for {path} by hand");
    let root = parse(text, "site").map_err(|_| by_hand("the file is no YAML"))?;
    let mut node = &root;
    let keys: Vec<&str> = path.split('.').collect();
    for (depth, key) in keys.iter().enumerate() {
        let Content::Mapping(entries) = &node.content else {
            return Err(by_hand(&format!("what stands before {key} is no mapping")));
        };
        match entries.iter().find(|entry| entry.key == *key) {
            Some(entry) => node = &entry.node,
            None => {
                let entry = nested(&keys[depth..], value);
                let found = if depth == 0 { at_end(text, node, &entry) } else { inserted(text, node, entries, &entry) };
                return found.ok_or_else(|| by_hand("its mapping has an unusual layout"));
            }
        }
    }
    replaced(text, node, value).ok_or_else(|| by_hand("its value has an unusual layout"))
}

/// `public: {mtu: 9000}`.
fn nested(keys: &[&str], value: &str) -> String {
    match keys {
        [] => value.to_owned(),
        [key] => format!("{key}: {value}"),
        [key, rest @ ..] => format!("{key}: {{{}}}", nested(rest, value)),
    }
}

/// The byte at which a place begins.
fn byte_at(text: &str, place: SourcePosition) -> Option<usize> {
    let before: usize = text.split_inclusive('\n').take(place.line - 1).map(str::len).sum();
    let line = text.get(before..)?;
    let column = line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(place.column - 1)?;
    Some(before + column)
}

fn spliced(text: &str, from: usize, to: usize, with: &str) -> Option<String> {
    Some(format!("{}{with}{}", text.get(..from)?, text.get(to..)?))
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn replaced(text: &str, node: &YamlNode, value: &str) -> Option<String> {
    let from = byte_at(text, node.place)?;
    let there = text.get(from..)?;
    // What does not stand behind its key is a block, or looks like one.
    let before = text.get(..from)?.rsplit('\n').next().unwrap_or_default();
    if !before.contains(':') {
        return None;
    }
    let length = match &node.content {
        Content::Scalar(word) if there.starts_with(word.as_str()) => word.len(),
        Content::Scalar(word) => {
            let quoted = ['"', '\''].map(|quote| format!("{quote}{word}{quote}"));
            quoted.iter().find(|quoted| there.starts_with(quoted.as_str()))?.len()
        }
        // `{assumed: 1500, because: "…"}`: a value that is known is assumed no more.
        Content::Mapping(entries) if entries.iter().any(|entry| entry.key == "assumed") => braces(there)?,
        _ => return None,
    };
    spliced(text, from, from + length, value)
}

/// Bytes of a mapping in braces without others within, on one line.
fn braces(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, sign) in text.char_indices() {
        match (quote, sign) {
            (_, '\n') => return None,
            (None, '{') if at > 0 => return None,
            (None, first) if at == 0 && first != '{' => return None,
            (None, '}') => return Some(at + 1),
            (None, '"' | '\'') => quote = Some(sign),
            (Some(open), sign) if open == sign => quote = None,
            _ => {}
        }
    }
    None
}

/// With another entry at the end of the file.
fn at_end(text: &str, root: &YamlNode, entry: &str) -> Option<String> {
    if text.get(byte_at(text, root.place)?..)?.starts_with('{') {
        return None;
    }
    let end = line_end(text);
    let last = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    Some(format!("{text}{last}{entry}{end}"))
}

/// With another entry in a mapping: behind the first that is one line, comment included, or first in braces.
fn inserted(text: &str, mapping: &YamlNode, entries: &[YamlEntry], entry: &str) -> Option<String> {
    let begin = byte_at(text, mapping.place)?;
    if text.get(begin..)?.starts_with('{') {
        let comma = if entries.is_empty() { "" } else { ", " };
        return spliced(text, begin + 1, begin + 1, &format!("{entry}{comma}"));
    }
    let is_line = |one: &&YamlEntry| {
        let is_whole = match &one.node.content {
            Content::Scalar(_) => true,
            Content::Mapping(_) => byte_at(text, one.node.place).is_some_and(|at| braces(&text[at..]).is_some()),
            Content::Nothing | Content::List(_) => false,
        };
        is_whole && one.place.line == one.node.place.line
    };
    let one = entries.iter().find(is_line)?;
    let key = byte_at(text, one.place)?;
    let line = byte_at(text, SourcePosition { column: 1, ..one.place })?;
    let indent = text.get(line..key)?;
    if !indent.chars().all(|sign| sign == ' ') {
        return None;
    }
    let end = line_end(text);
    match text.get(key..)?.find('\n') {
        Some(length) => spliced(text, key + length + 1, key + length + 1, &format!("{indent}{entry}{end}")),
        None => Some(format!("{text}{end}{indent}{entry}{end}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_and_nothing_else_changes() {
        for (text, path, expected) in [
            ("a: 1 # one\nb: 2\n", "a", "a: 9 # one\nb: 2\n"),
            ("a: '1'   # one\n", "a", "a: 9   # one\n"),
            ("a: {assumed: 1, because: \"a } of\"} # one\n", "a", "a: 9 # one\n"),
            ("p: {q: {l: x, m: 1}, r: 2}\n", "p.q.m", "p: {q: {l: x, m: 9}, r: 2}\n"),
            ("p: {q: {l: x}}\n", "p.q.m", "p: {q: {m: 9, l: x}}\n"),
            ("p: {}\n", "p.q.m", "p: {q: {m: 9}}\n"),
            (
                "# über\np:\n  q:\n    # of l\n    l: x  # l\n\n",
                "p.q.m",
                "# über\np:\n  q:\n    # of l\n    l: x  # l\n    m: 9\n\n",
            ),
            ("p:\r\n  l: x\r\n", "p.m", "p:\r\n  l: x\r\n  m: 9\r\n"),
            ("p:\n  l: x", "p.m", "p:\n  l: x\n  m: 9\n"),
            ("p:\n  l: {assumed: 1} # one\n  k: 2\n", "p.m", "p:\n  l: {assumed: 1} # one\n  m: 9\n  k: 2\n"),
            ("a: 1", "p.q.m", "a: 1\np: {q: {m: 9}}\n"),
        ] {
            assert_eq!(written(text, path, "9").as_deref(), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_told_with_what_to_write() {
        for (text, path) in [
            ("a: 1\n", "a.b"),
            ("a: [1]\n", "a.b"),
            ("a:\n  - b: 1\n", "a.c"),
            ("{a: 1}\n", "b"),
            ("a: |\n  1\n", "a"),
            ("a:\n  assumed: 1\n", "a"),
            ("p:\n  q: [1]\n", "p.m"),
            ("a: {b\n", "a"),
        ] {
            let why = written(text, path, "9").unwrap_err();
            assert!(why.ends_with(&format!("write 9 for {path} by hand")), "{text:?}: {why}");
        }
    }
}
