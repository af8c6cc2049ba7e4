//! The rules for Rust.

use super::{File, Kind, Rule, code_lines, lines};
use crate::source::has_word;

/// Lines that a Rust file may have, those between the brackets of tables not counted.
const FILE_LINES: usize = 600;
/// Lines that a function may have, signature and braces included.
const FUNCTION_LINES: usize = 80;
/// Where `unsafe` may stand: the one file that calls the kernel, and the loop that linerate is compared with.
const UNSAFE_PLACES: [&str; 2] = ["crates/wire/src/sys.rs", "labs/bareloop/"];

pub(super) const RULES: [Rule; 9] = [
    Rule {
        name: "long-file",
        what_to_do: "split it by subject, at most 600 lines outside tables",
        lines_at_fault: long_file,
    },
    Rule {
        name: "long-function",
        what_to_do: "split it so that it fits a screen, at most 80 lines",
        lines_at_fault: long_function,
    },
    Rule {
        name: "allow",
        what_to_do: "use `#[expect(lint, reason = \"...\")]`, or mend what the lint says",
        lines_at_fault: allow,
    },
    Rule { name: "unfinished", what_to_do: "finish it, or leave it out", lines_at_fault: unfinished },
    Rule {
        name: "unwrap",
        what_to_do: "outside tests, pass the error on with `?` or say why it cannot be, with `expect`",
        lines_at_fault: unwrap,
    },
    Rule {
        name: "unsafe",
        what_to_do: "use a safe crate; unsafe code stands in crates/wire/src/sys.rs and labs/bareloop only",
        lines_at_fault: unsafe_code,
    },
    Rule { name: "crate-doc", what_to_do: "begin the crate with `//!` and what it is for", lines_at_fault: crate_doc },
    Rule {
        name: "timed",
        what_to_do: "assert what comes of it, with `END` or `bound` against what hangs, or name the test `timed_...`",
        lines_at_fault: timed,
    },
    Rule { name: "tab", what_to_do: "indent with spaces, or write \\t", lines_at_fault: tab },
];

fn long_file(file: &File) -> Vec<usize> {
    let code = file.source.as_ref().map_or(&[][..], |source| &source.code);
    let is_row = rows_of_tables(code);
    let counted = (0..code.len()).filter(|&index| !is_row[index]);
    counted.skip(FILE_LINES).take(1).map(|index| index + 1).collect()
}

/// Which lines stand between the brackets of a table: of a `const` or `static` whose value is an array. On code that
/// rustfmt formatted, the closing bracket has the indent of its first line.
fn rows_of_tables(code: &[String]) -> Vec<bool> {
    let mut is_row = vec![false; code.len()];
    let mut index = 0;
    while index < code.len() {
        let length =
            table_end(&code[index]).and_then(|end| code[index..].iter().position(|line| line.starts_with(&end)));
        if let Some(length) = length {
            is_row[index + 1..index + length].fill(true);
            index += length;
        }
        index += 1;
    }
    is_row
}

/// What the last line begins with of the table that `line` begins: `pub(crate) static ROWS: [Row; 3] = [`, or `= &[`.
fn table_end(line: &str) -> Option<String> {
    let item = line.trim_start();
    let indent = &line[..line.len() - item.len()];
    let mut words = item.split_whitespace().skip_while(|word| word.starts_with("pub") || word.ends_with(')'));
    let is_constant = words.next().is_some_and(|word| ["const", "static"].contains(&word));
    let is_table = is_constant && (item.ends_with(" = [") || item.ends_with(" = &["));
    is_table.then(|| format!("{indent}]"))
}

/// On code that rustfmt formatted, a function ends at the first `}` with the indent of its `fn`.
fn long_function(file: &File) -> Vec<usize> {
    let code = file.source.as_ref().map_or(&[][..], |source| &source.code);
    let is_long = |&start: &usize| {
        let line = &code[start];
        let indent = &line[..line.len() - line.trim_start().len()];
        let is_end = |line: &String| {
            line.strip_prefix(indent).is_some_and(|rest| {
                rest == "}" || (!rest.starts_with(' ') && (rest.ends_with(';') || rest.ends_with('}')))
            })
        };
        let length = code[start..].iter().position(is_end).map_or(code.len() - start, |last| last + 1);
        is_function(line) && length > FUNCTION_LINES
    };
    (0..code.len()).filter(is_long).map(|start| start + 1).collect()
}

fn is_function(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub") || word.ends_with(')') || ["const", "async", "unsafe", "extern"].contains(word)
    });
    words.next() == Some("fn")
}

fn allow(file: &File) -> Vec<usize> {
    code_lines(file, |line| line.contains("#[allow(") || line.contains("#![allow("))
}

fn unfinished(file: &File) -> Vec<usize> {
    // In code, not in texts about it; but notes to oneself are in comments, and in any file that is written by hand.
    let ignored = ["#[ignore]", "#[ignore = "];
    let macros = ["todo!", "unimplemented!", "dbg!"];
    let mut found = code_lines(file, |line| {
        ignored.iter().any(|mark| line.contains(mark)) || macros.iter().any(|name| has_macro(line, name))
    });
    if file.kind != Kind::Other {
        found.extend(lines(file, |line| has_word(line, concat!("FIX", "ME")) || has_word(line, concat!("XX", "X"))));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn has_macro(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(start, _)| !line[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn unwrap(file: &File) -> Vec<usize> {
    file.source.as_ref().map_or(vec![], |source| source.lines_outside_tests(|line| line.contains(".unwrap()")))
}

fn unsafe_code(file: &File) -> Vec<usize> {
    if UNSAFE_PLACES.iter().any(|place| file.path.starts_with(place)) {
        return vec![];
    }
    code_lines(file, |line| has_word(line, "unsafe"))
}

fn crate_doc(file: &File) -> Vec<usize> {
    let is_doc =
        |text: &String| text.lines().find(|line| !line.trim().is_empty()).is_some_and(|l| l.starts_with("//!"));
    if is_crate_root(&file.path) && !file.text.as_ref().is_some_and(is_doc) { vec![1] } else { vec![] }
}

fn is_crate_root(path: &str) -> bool {
    let mut from_the_end = path.rsplit('/');
    match (from_the_end.next(), from_the_end.next()) {
        (Some("lib.rs" | "main.rs"), Some("src")) | (Some("build.rs"), _) => true,
        (Some(name), Some("bin")) => name.ends_with(".rs"),
        (Some(name), Some("tests" | "benches" | "examples")) => name.ends_with(".rs") && !path.contains("src/"),
        _ => false,
    }
}

/// Tests of the gate run beside others: how long something took says nothing there. Those that need root run alone.
fn timed(file: &File) -> Vec<usize> {
    if file.path.contains("_parts/") {
        return vec![];
    }
    let mut is_timed = false;
    let mut line_at_fault = |line: &str| {
        if let Some((_, name)) = line.split_once("fn ") {
            is_timed = name.starts_with("timed_");
        }
        let is_generous = ["END", "bound("].iter().any(|end| line.contains(end));
        line.contains("assert") && line.contains(".elapsed()") && !is_generous && !is_timed
    };
    let code = file.source.as_ref().map_or(&[][..], |source| &source.code);
    (1..).zip(code).filter(|(_, line)| line_at_fault(line)).map(|(number, _)| number).collect()
}

fn tab(file: &File) -> Vec<usize> {
    if file.kind == Kind::Rust { lines(file, |line| line.contains('\t')) } else { vec![] }
}

#[cfg(test)]
mod tests {
    use super::super::judged;
    use super::*;

    const NONE: [usize; 0] = [];

    /// Rule, path, a text that it refuses with the line at fault, and a text that it accepts.
    const SHORT: [(&str, &str, &str, usize, &str); 14] = [
        ("allow", "a.rs", "#[allow(dead_code)]\nfn a() {}\n", 1, "// #[allow(\n#[expect(dead_code)]\nfn a() {}\n"),
        ("allow", "a.rs", "//! A.\n#![allow(dead_code)]\n", 2, "//! A.\n"),
        ("unfinished", "a.rs", "fn a() {\n    todo!()\n}\n", 2, "fn a() {\n    print(\"todo!\")\n}\n"),
        ("unfinished", "a.rs", "fn a() {\n    dbg!(1);\n}\n", 2, "fn a() {\n    my_dbg!(1);\n}\n"),
        ("unfinished", "a.rs", "#[ignore = \"slow\"]\nfn a() {}\n", 1, "#[ignored]\nfn a() {}\n"),
        ("unfinished", "a.rs", concat!("// FIX", "ME later\n"), 1, "// mended\n"),
        ("unfinished", "a.sh", concat!("# XX", "X\n"), 1, concat!("mktemp -d XX", "XXXX\n")),
        ("unwrap", "a.rs", "fn a() {\n    b.unwrap()\n}\n", 2, "#[cfg(test)]\nmod tests {\n    a.unwrap();\n}\n"),
        ("unsafe", "crates/host/src/a.rs", "fn a() {\n    unsafe { b() }\n}\n", 2, "#![deny(unsafe_code)]\n"),
        ("crate-doc", "crates/host/src/lib.rs", "// A\n//! B\n", 1, "\n//! Reads a machine.\n"),
        ("crate-doc", "crates/host/tests/live.rs", "mod a;\n", 1, "//! Live.\n"),
        ("crate-doc", "xtask/src/bin/a.rs", "fn main() {}\n", 1, "//! A.\n"),
        (
            "timed",
            "a.rs",
            "fn a() {\n    assert!(begun.elapsed() < SOON);\n}\n",
            2,
            "fn a() {\n    assert!(b.elapsed() < END);\n}\nfn timed_b() {\n    assert!(b.elapsed() < SOON);\n}\n",
        ),
        ("tab", "a.rs", "fn a() {\n\tb()\n}\n", 2, "fn a() {\n    b('\\t')\n}\n"),
    ];

    #[test]
    fn each_rule_refuses_what_it_is_for_and_nothing_else() {
        for (rule, path, refused, line, accepted) in SHORT {
            assert_eq!(judged(&RULES, rule, path, refused), [line], "{rule} must refuse {refused:?}");
            assert_eq!(judged(&RULES, rule, path, accepted), NONE, "{rule} must accept {accepted:?}");
        }
        let shown = |rule: &Rule| rule.name.starts_with("long-") || SHORT.iter().any(|(name, ..)| *name == rule.name);
        assert!(RULES.iter().all(shown), "each rule shows what it refuses");
    }

    #[test]
    fn some_places_have_their_own_rule() {
        assert_eq!(judged(&RULES, "unsafe", "crates/wire/src/sys.rs", "unsafe fn a() {}\n"), NONE);
        assert_eq!(judged(&RULES, "unsafe", "labs/bareloop/src/main.rs", "unsafe fn a() {}\n"), NONE);
        assert_eq!(judged(&RULES, "unwrap", "crates/host/tests/a.rs", "fn a() {\n    b.unwrap()\n}\n"), NONE);
        assert_eq!(judged(&RULES, "crate-doc", "crates/host/src/a.rs", "mod b;\n"), NONE);
        assert_eq!(judged(&RULES, "crate-doc", "crates/a/src/tests/a.rs", "mod b;\n"), NONE);
        assert_eq!(judged(&RULES, "unfinished", "data.txt", concat!("XX", "X\n")), NONE);
    }

    #[test]
    fn a_file_may_have_600_lines() {
        assert_eq!(judged(&RULES, "long-file", "a.rs", &"// a\n".repeat(601)), [601]);
        assert_eq!(judged(&RULES, "long-file", "a.rs", &"// a\n".repeat(600)), NONE);
        assert_eq!(judged(&RULES, "long-file", "a.md", &"a\n".repeat(900)), NONE);
    }

    #[test]
    fn rows_of_a_table_are_not_counted() {
        let file = |first: &str, last: &str, others: usize| {
            format!("{first}\n{}{last}\n{}", "    (\"[\", 1),\n".repeat(700), "// a\n".repeat(others))
        };
        for (first, last) in [
            ("const A: [(&str, u8); 700] = [", "];"),
            ("pub(in a::b) static A: &[(&str, u8)] = &[", "];"),
            ("    pub(super) const A: [(&str, u8); 700] = [", "    ];"),
        ] {
            assert_eq!(judged(&RULES, "long-file", "a.rs", &file(first, last, 598)), NONE, "{first}");
            assert_eq!(judged(&RULES, "long-file", "a.rs", &file(first, last, 599)), [1301], "{first}");
        }
        for (first, last) in [
            ("fn a() -> [(&str, u8); 700] {", "}"),
            ("    let a = [", "    ];"),
            ("const A: A = A {", "};"),
            ("const A: [(&str, u8); 700] = [", "    ];"),
        ] {
            assert_eq!(judged(&RULES, "long-file", "a.rs", &file(first, last, 0)), [601], "{first}");
        }
    }

    #[test]
    fn a_function_may_have_80_lines() {
        let function = |head: &str, body_lines: usize| {
            format!(
                "struct A;\n\nimpl A {{\n    {head}\n{}    }}\n\n    fn b() {{}}\n}}\n",
                "        c();\n".repeat(body_lines)
            )
        };
        let heads =
            ["fn a() {", "pub fn a() {", "pub(crate) const fn a() {", "async fn a() {", "pub(in a::b) fn a() {"];
        for head in heads {
            assert_eq!(judged(&RULES, "long-function", "a.rs", &function(head, 79)), [4], "{head}");
            assert_eq!(judged(&RULES, "long-function", "a.rs", &function(head, 78)), NONE, "{head}");
        }
        let wrapped = format!("fn a(\n    b: u8,\n) -> u8 {{\n{}}}\n", "    c();\n".repeat(77));
        assert_eq!(judged(&RULES, "long-function", "a.rs", &wrapped), [1]);
        let bodiless =
            format!("trait A {{\n    fn a();\n    fn b(\n        c: u8,\n    );\n{}}}\n", "    // d\n".repeat(90));
        assert_eq!(judged(&RULES, "long-function", "a.rs", &bodiless), NONE);
        assert_eq!(
            judged(&RULES, "long-function", "a.rs", &format!("let a: fn () = b;\n{}", "c();\n".repeat(90))),
            NONE
        );
    }
}
