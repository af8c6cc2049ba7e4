//! Words that only this project used, in identifiers: each has a term of the field.

use super::{File, Rule};

/// An old word with what replaces it.
const WORDS: [(&str, &str); 11] = [
    ("told", "reported"),
    ("asked", "requested"),
    ("foretold", "dry_run"),
    ("beside", "alongside"),
    ("heed", "cancel"),
    ("haste", "budget"),
    ("dice", "rng"),
    ("hall", "simulated_cluster"),
    ("strangers", "unknown_nodes"),
    ("untaken", "skipped"),
    ("amiss", "problems"),
];

/// Words from which on a name is a sentence, as names of tests are.
const SENTENCE_WORDS: usize = 5;

pub(super) const RULE: Rule = Rule {
    name: "private-word",
    what_to_do: "name it by the field's term (reported, requested, dry_run, alongside, cancel, budget, rng, \
                 simulated_cluster, unknown_nodes, skipped, problems), and a closure or function by what it returns \
                 instead of `of`",
    lines_at_fault,
};

fn lines_at_fault(file: &File) -> Vec<usize> {
    let code = file.source.as_ref().map_or(&[][..], |source| &source.code);
    let next = code.iter().skip(1).map(String::as_str).chain([""]);
    let lines = (1..).zip(code.iter().zip(next));
    lines.filter(|(_, (line, next))| is_private(line) || is_broken_of(line, next)).map(|(number, _)| number).collect()
}

fn is_private(line: &str) -> bool {
    let is_of = ["fn of(", "fn of<", "let of = |", "let of = move |"].iter().any(|begin| line.contains(begin));
    is_of || identifiers(line).any(has_old_word)
}

/// A closure `of` that rustfmt wrote on the line below its name.
fn is_broken_of(line: &str, next: &str) -> bool {
    line.ends_with("let of =") && ["|", "move |"].iter().any(|begin| next.trim_start().starts_with(begin))
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty())
}

fn has_old_word(name: &str) -> bool {
    let words = words(name);
    words.len() < SENTENCE_WORDS && words.iter().any(|word| WORDS.iter().any(|(old, _)| old == word))
}

/// The words of a name in any case: `RunAsked`, `run_asked`, `RUN_ASKED`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if c != '_'
            && let Some(last) = words.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_old_words_are_refused_and_sentences_are_not() {
        for line in [
            "let told = 1;",
            "struct RunAsked;",
            "const ASKED_MAX: u8 = 1;",
            "struct Hall;",
            "fn of(x: u8)",
            "let of = |x| x;",
        ] {
            assert!(is_private(line), "{line}");
        }
        for line in
            ["let reported = 1;", "fn what_a_server_told_is_kept_whole()", "x.of(y)", "let offset = 1;", "retold"]
        {
            assert!(!is_private(line), "{line}");
        }
    }

    #[test]
    fn a_closure_called_of_is_refused_where_a_line_ends_before_it() {
        let judged = |text: &str| super::super::judged(&[RULE], "private-word", "crates/model/src/a.rs", text);
        assert_eq!(judged("    let of =\n        |x: u8| x;\n    let of =\n        move |x: u8| x;\n"), [1, 3]);
        assert!(judged("    let of =\n        x.iter();\n    let line_of =\n        |x| x;\n").is_empty());
    }
}
