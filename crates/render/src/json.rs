//! A small writer of JSON, for what has no place for comments: a dashboard.

use std::fmt::Write as _;

use crate::yaml::Tree;

/// A tree as JSON of several lines. Reasons have no place in it.
pub(crate) fn json(tree: &Tree) -> String {
    let mut out = String::new();
    write(tree, 0, &mut out);
    out.push('\n');
    out
}

fn write(tree: &Tree, indent: usize, out: &mut String) {
    match tree {
        Tree::Text(text) => quoted(text, out),
        Tree::Whole(whole) => out.push_str(&whole.to_string()),
        Tree::Switch(on) => out.push_str(&on.to_string()),
        Tree::List(trees) => {
            let each = trees.iter().map(|tree| ("", tree));
            all(['[', ']'], each, indent, out);
        }
        Tree::Map(entries) => {
            let each = entries.iter().map(|entry| (entry.key.as_str(), &entry.tree));
            all(['{', '}'], each, indent, out);
        }
    }
}

/// What is between brackets, each in a line; a key stands before what has one.
fn all<'t>(brackets: [char; 2], each: impl Iterator<Item = (&'t str, &'t Tree)>, indent: usize, out: &mut String) {
    out.push(brackets[0]);
    let mut count = 0;
    for (key, tree) in each {
        // Writing to a string does not fail.
        let _ = write!(out, "{}\n{:2$}", if count > 0 { "," } else { "" }, "", indent + 2);
        if brackets[0] == '{' {
            quoted(key, out);
            out.push_str(": ");
        }
        write(tree, indent + 2, out);
        count += 1;
    }
    if count > 0 {
        let _ = write!(out, "\n{:indent$}", "");
    }
    out.push(brackets[1]);
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // In this form, a line ends where the writer ends it.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json as value};

    use super::*;
    use crate::yaml::{list, map, set};

    #[test]
    fn what_is_written_is_read_as_it_was() {
        let odd = "a \"b\" \\ \n\t\u{1}\u{2028} ü $__range {x=~\"1|2\"}";
        let tree = map([
            set("text", odd),
            set("none", list::<Tree>([])),
            set("empty", map([])),
            set("each", list([map([set("on", true), set("n", 3_u32)]), Tree::from("x")])),
        ]);
        let text = json(&tree);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, value!({"text": odd, "none": [], "empty": {}, "each": [{"on": true, "n": 3}, "x"]}));
        assert!(text.starts_with("{\n  \"text\": ") && text.ends_with("\n}\n"), "{text}");
    }
}
