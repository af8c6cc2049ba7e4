//! A small writer of YAML in which every value can have its reason above it.

use std::fmt::Write as _;

use linerate_record::lines::wrapped;

/// Columns of a line, comments included.
const COLUMNS: usize = 110;

/// Fewest columns of a comment, however deep it stands.
const COMMENT_COLUMNS_MIN: usize = 40;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Text(String),
    Whole(u64),
    Switch(bool),
    List(Vec<Tree>),
    Map(Vec<CommentedEntry>),
}

/// A key with its value, and why it is that value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommentedEntry {
    pub(crate) key: String,
    pub(crate) tree: Tree,
    why: String,
}

impl CommentedEntry {
    /// The same with its reason.
    pub(crate) fn because(self, why: impl Into<String>) -> CommentedEntry {
        CommentedEntry { why: why.into(), ..self }
    }
}

/// A key and its value.
pub(crate) fn set(key: impl Into<String>, tree: impl Into<Tree>) -> CommentedEntry {
    CommentedEntry { key: key.into(), tree: tree.into(), why: String::new() }
}

/// Keys in the order in which they are written.
pub(crate) fn map(entries: impl IntoIterator<Item = CommentedEntry>) -> Tree {
    Tree::Map(entries.into_iter().collect())
}

/// Values in their order.
pub(crate) fn list<T: Into<Tree>>(trees: impl IntoIterator<Item = T>) -> Tree {
    Tree::List(trees.into_iter().map(Into::into).collect())
}

impl From<&str> for Tree {
    fn from(text: &str) -> Tree {
        Tree::Text(text.to_owned())
    }
}

impl From<String> for Tree {
    fn from(text: String) -> Tree {
        Tree::Text(text)
    }
}

impl From<u32> for Tree {
    fn from(whole: u32) -> Tree {
        Tree::Whole(u64::from(whole))
    }
}

impl From<u64> for Tree {
    fn from(whole: u64) -> Tree {
        Tree::Whole(whole)
    }
}

impl From<bool> for Tree {
    fn from(on: bool) -> Tree {
        Tree::Switch(on)
    }
}

/// Documents behind a comment that says what the file is.
pub(crate) fn file(head: &str, documents: &[Tree]) -> String {
    written(head, documents, true)
}

/// The same for readers that take what is before the first mark for a document, such as kubeadm.
pub(crate) fn unmarked(head: &str, documents: &[Tree]) -> String {
    written(head, documents, false)
}

fn written(head: &str, documents: &[Tree], is_marked: bool) -> String {
    let mut text = String::new();
    comment(head, 0, &mut text);
    for (i, document) in documents.iter().enumerate() {
        if i > 0 || is_marked {
            text.push_str("---\n");
        }
        match document {
            Tree::Map(entries) if !entries.is_empty() => map_lines(entries, 0, &mut text),
            other => {
                text.push_str(&inline(other).unwrap_or_default());
                text.push('\n');
            }
        }
    }
    text
}

/// A comment of several lines; a line feed in it begins a new one.
pub(crate) fn comment(text: &str, indent: usize, out: &mut String) {
    let width = COLUMNS.saturating_sub(indent + 2).max(COMMENT_COLUMNS_MIN);
    for line in text.lines().flat_map(|line| wrapped(line, width, 0).lines().map(str::to_owned).collect::<Vec<_>>()) {
        let clean: String = line.chars().map(|c| if is_printable(c) { c } else { ' ' }).collect();
        let line = format!("{:indent$}# {clean}", "");
        // Writing to a string does not fail.
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn map_lines(entries: &[CommentedEntry], indent: usize, out: &mut String) {
    for entry in entries {
        comment(&entry.why, indent, out);
        let _ = write!(out, "{:indent$}", "");
        entry_line(entry, indent, out);
    }
}

/// `key: value`, or `key:` and its lines; what stands before it has been written.
fn entry_line(entry: &CommentedEntry, indent: usize, out: &mut String) {
    let key = scalar(&entry.key);
    if let Tree::Text(text) = &entry.tree
        && is_block(text)
    {
        let _ = writeln!(out, "{key}: |");
        for line in text.lines() {
            let width = if line.is_empty() { 0 } else { indent + 2 };
            let _ = writeln!(out, "{:width$}{line}", "");
        }
        return;
    }
    match (&entry.tree, inline(&entry.tree)) {
        (_, Some(value)) => {
            let _ = writeln!(out, "{key}: {value}");
        }
        (tree, None) => {
            let _ = writeln!(out, "{key}:");
            lines(tree, indent + 2, out);
        }
    }
}

fn lines(tree: &Tree, indent: usize, out: &mut String) {
    match tree {
        Tree::Map(entries) => map_lines(entries, indent, out),
        Tree::List(trees) => trees.iter().for_each(|tree| item_lines(tree, indent, out)),
        other => {
            let _ = writeln!(out, "{:indent$}{}", "", inline(other).unwrap_or_default());
        }
    }
}

fn item_lines(tree: &Tree, indent: usize, out: &mut String) {
    if let Some(value) = inline(tree) {
        let _ = writeln!(out, "{:indent$}- {value}", "");
        return;
    }
    let Tree::Map(entries) = tree else {
        let _ = writeln!(out, "{:indent$}-", "");
        return lines(tree, indent + 2, out);
    };
    for (i, entry) in entries.iter().enumerate() {
        // The first key stands behind the dash, so its reason stands above that.
        let (of_comment, begin) = if i == 0 { (indent, "- ") } else { (indent + 2, "  ") };
        comment(&entry.why, of_comment, out);
        let _ = write!(out, "{:indent$}{begin}", "");
        entry_line(entry, indent + 2, out);
    }
}

/// Whether a text is written line by line as it is: one that ends with its only line feed at the end, and whose lines
/// are printable.
fn is_block(text: &str) -> bool {
    let Some(body) = text.strip_suffix('\n') else { return false };
    body.contains('\n')
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && body.lines().count() == body.split('\n').count()
        && body.split('\n').all(|line| line.chars().all(is_printable) && !line.ends_with(' '))
}

/// A value that stands behind its key.
fn inline(tree: &Tree) -> Option<String> {
    match tree {
        Tree::Text(text) => Some(scalar(text)),
        Tree::Whole(whole) => Some(whole.to_string()),
        Tree::Switch(on) => Some(on.to_string()),
        Tree::List(trees) if trees.is_empty() => Some("[]".to_owned()),
        Tree::Map(entries) if entries.is_empty() => Some("{}".to_owned()),
        Tree::List(_) | Tree::Map(_) => None,
    }
}

/// A text as it is written: in quotes where a reader of YAML 1.1 or 1.2 would take it for something else.
fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Words of YAML 1.1 and 1.2 that are no texts, in small letters.
const WORDS: [&str; 12] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "=", "<<"];

fn is_plain(text: &str) -> bool {
    let begins_well = |c: char| c.is_alphanumeric() || "/._+$();=^<".contains(c);
    // Dashes before a letter begin no list.
    let is_option = text.starts_with('-') && text.trim_start_matches('-').starts_with(char::is_alphabetic);
    let is_cut = text.contains(": ") || text.ends_with(':') || text.contains(" #");
    (text.starts_with(begins_well) || is_option)
        && !text.ends_with(' ')
        && !is_cut
        && text.chars().all(is_printable)
        && !WORDS.contains(&text.to_lowercase().as_str())
        && !is_like_a_number(text)
}

/// Whether a text can be a number, a date or a time of YAML 1.1 or 1.2: 0o17, 0x1F, 1_000, 190:20:30, .5, 1e3, .inf.
fn is_like_a_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_lowercase();
    if [".inf", ".nan"].contains(&lower.as_str()) {
        return true;
    }
    let begins = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    begins && unsigned.chars().all(|c| c.is_ascii_hexdigit() || "._:-+xXoOtTzZ ".contains(c))
}

/// Whether YAML takes a character as it is within a line.
fn is_printable(c: char) -> bool {
    !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_printable(c) => out.push(c),
            c => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn value(tree: &Tree) -> Value {
        match tree {
            Tree::Text(text) => Value::from(text.as_str()),
            Tree::Whole(whole) => Value::from(*whole),
            Tree::Switch(on) => Value::from(*on),
            Tree::List(trees) => trees.iter().map(value).collect(),
            Tree::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), value(&entry.tree))).collect(),
        }
    }

    #[test]
    fn texts_are_in_quotes_exactly_where_they_would_be_something_else() {
        for text in [
            "Retain",
            "7680G",
            "10.0.0.0/8",
            "http://minio-{0...7}.minio-hl:9000/data-{1...4}",
            "kubernetes.io/no-provisioner",
            "Prune=false,Delete=false",
            "RELEASE.2025-04-22T22-12-26Z",
            "EC:4",
            "node01",
            "a b",
            "/data1",
            "layer3+4",
            "--certs-dir",
        ] {
            assert_eq!(scalar(text), text);
        }
        for text in [
            "",
            "y",
            "No",
            "TRUE",
            "null",
            "~",
            "1",
            "0777",
            "0x1F",
            "1e3",
            "1_000",
            "12:30:45",
            "2001-01-01",
            ".5",
            "-1",
            "+.inf",
            ".NaN",
            "10.0.0.1",
            "a: b",
            "a #b",
            "a:",
            " a",
            "a ",
            "- a",
            "*a",
            "&a",
            "!a",
            "@a",
            "`a",
            "%a",
            "{a}",
            "[a]",
            "#a",
            "'a",
            "\"a",
            "|",
            ">",
            "?a",
            "a\nb",
            "a\tb",
            "\u{7f}",
            "---",
            "...",
            "<<",
            "=",
        ] {
            assert!(scalar(text).starts_with('"'), "{text:?}: {}", scalar(text));
            let read: Value = serde_saphyr::from_str(&format!("a: {}\n", scalar(text))).unwrap();
            assert_eq!(read["a"], Value::from(text), "{text:?}");
        }
    }

    #[test]
    fn reasons_stand_above_their_values() {
        let tree = map([
            set("kind", "Service").because("first\nsecond"),
            set("ports", list([map([set("port", 9000_u32).because("why"), set("name", "s3").because("which")])])),
            set("none", list::<Tree>([])),
            set("on", true),
        ]);
        let expected = "# head\n---\n# first\n# second\nkind: Service\nports:\n  # why\n  - port: 9000\n    # which\n\
                        \x20   name: s3\nnone: []\n\"on\": true\n";
        assert_eq!(file("head", &[tree]), expected);
    }

    #[test]
    fn lines_of_a_text_stand_as_they_are() {
        let text = "a {\n    b: c # d\n\n--- x\n}\n";
        let written = file("head", &[map([set("data", map([set("file", text).because("why")]))])]);
        assert!(written.ends_with("  # why\n  file: |\n    a {\n        b: c # d\n\n    --- x\n    }\n"), "{written}");
        let read: Value = serde_saphyr::from_str(&written).unwrap();
        assert_eq!(read["data"]["file"], text);
        for text in ["a", "a\n", " a\nb\n", "a\nb", "a\nb\n\n", "a \nb\n", "a\r\nb\n", "\na\n", "a\tb\nc\n"] {
            assert!(!is_block(text), "{text:?}");
        }
    }

    fn trees() -> impl Strategy<Value = Tree> {
        let text = prop_oneof![
            "(?s).{0,12}",
            "([ a#:-]{0,3}\n){1,4}",
            "[-+.0-9eExo_:]{1,6}",
            "[a-zA-Z~]{1,5}",
            "[ #:,a{}\\[\\]&*!|>'\"%@`-]{1,6}"
        ];
        let leaf = prop_oneof![
            text.prop_map(Tree::Text),
            any::<u64>().prop_map(Tree::Whole),
            any::<bool>().prop_map(Tree::Switch)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let entry = ("(?s).{0,6}", inner.clone(), "(?s).{0,30}");
            prop_oneof![
                proptest::collection::vec(inner, 0..4).prop_map(Tree::List),
                proptest::collection::vec(entry, 0..4).prop_map(|entries| {
                    let entries = entries.into_iter().enumerate();
                    // A key stands once in a map.
                    Tree::Map(
                        entries.map(|(i, (key, tree, why))| set(format!("{key}{i}"), tree).because(why)).collect(),
                    )
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was(tree in trees()) {
            let tree = map([set("root", tree)]);
            let text = file("head", std::slice::from_ref(&tree));
            let failed = |error| TestCaseError::fail(format!("{error}\n{text}"));
            let read: Value = serde_saphyr::from_str(&text).map_err(failed)?;
            prop_assert_eq!(read, value(&tree), "{}", text);
        }
    }
}
