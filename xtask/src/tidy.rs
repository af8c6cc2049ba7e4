//! Style as a test: every file that git knows or would add, against rules that are one function each.

mod code;
mod content;
mod links;
mod private_words;
mod retired_words;
mod security_tests;
mod site_keys;
mod unbuilt;

use crate::source::{self, Source};
use crate::{Outcome, success_if};
use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

/// A file, as the rules see it.
struct File {
    /// Path relative to the repository.
    path: String,
    /// Its text; `None` where it is binary.
    text: Option<String>,
    bytes: usize,
    kind: Kind,
    /// Its code, where it is Rust.
    source: Option<Source>,
}

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Rust,
    Markdown,
    Toml,
    Shell,
    Yaml,
    Make,
    Other,
}

/// A rule: which lines of a file are at fault. Line 1 stands for a fault of the whole file.
struct Rule {
    name: &'static str,
    what_to_do: &'static str,
    lines_at_fault: fn(&File) -> Vec<usize>,
}

/// Prints every fault as `path:line: rule: what to do`.
pub(crate) fn run() -> Outcome {
    let root = git(Path::new("."), &["rev-parse", "--show-toplevel"])?;
    let root = Path::new(root.trim_end());
    let (mut seen, mut faults) = (0, 0);
    let known = paths(root)?;
    for path in known.iter().filter(|path| !is_data(path)) {
        let Some(file) = read(root, path)? else { continue };
        seen += 1;
        let markdown = file.text.as_deref().filter(|_| file.kind == Kind::Markdown).unwrap_or_default();
        for line in links::lines_at_fault(path, markdown, &known) {
            faults += 1;
            println!("{path}:{line}: {}: {}", links::RULE, links::WHAT_TO_DO);
        }
        for (line, rule, what_to_do) in file_faults(&file) {
            faults += 1;
            println!("{path}:{line}: {rule}: {what_to_do}");
        }
        for (line, instead) in retired_words::faults(&file) {
            faults += 1;
            println!("{path}:{line}: {}: docs/glossary.md has another term: {instead}", retired_words::RULE);
        }
    }
    for path in unbuilt::at_fault(&known, |path| fs::read_to_string(root.join(path)).ok()) {
        faults += 1;
        println!("{path}:1: {}: {}", unbuilt::RULE, unbuilt::WHAT_TO_DO);
    }
    let page = fs::read_to_string(root.join(security_tests::PAGE))?;
    for line in security_tests::lines_at_fault(&page, |path| fs::read_to_string(root.join(path)).ok()) {
        faults += 1;
        println!("{}:{line}: {}: {}", security_tests::PAGE, security_tests::RULE, security_tests::WHAT_TO_DO);
    }
    println!("tidy: {faults} faults in {seen} files");
    Ok(success_if(faults == 0 && seen > 0))
}

fn file_faults(file: &File) -> Vec<(usize, &'static str, &'static str)> {
    let mut faults = Vec::new();
    for rule in code::RULES.iter().chain(&content::RULES).chain([&private_words::RULE, &site_keys::RULE]) {
        faults.extend((rule.lines_at_fault)(file).into_iter().map(|line| (line, rule.name, rule.what_to_do)));
    }
    faults.sort_unstable();
    faults
}

fn git(folder: &Path, args: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new("git").current_dir(folder).args(args).output()?;
    if !output.status.success() {
        return Err(format!("git {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim_end()).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Tracked files, and new ones that are not ignored: what is untidy should be seen before it is added.
fn paths(root: &Path) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let listed = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    Ok(listed.split_terminator('\0').map(str::to_owned).collect())
}

/// What a benchmark left is data: it is kept as it was written.
fn is_data(path: &str) -> bool {
    ["runs/bench-", "runs/knee-", "runs/soak-", "fuzz/seeds/"].iter().any(|kept| path.starts_with(kept))
}

/// Nothing where git lists what is no file: deleted and not yet committed, or a link to a folder.
fn read(root: &Path, path: &str) -> io::Result<Option<File>> {
    let full = root.join(path);
    Ok(if full.is_file() { Some(file(path, &fs::read(full)?)) } else { None })
}

fn file(path: &str, content: &[u8]) -> File {
    let bytes = content.len();
    let is_binary = content.iter().take(8000).any(|&byte| byte == 0);
    let text = (!is_binary).then(|| String::from_utf8_lossy(content).into_owned());
    let kind = text.as_deref().map_or(Kind::Other, |text| kind(path, text));
    let source = text.as_deref().filter(|_| kind == Kind::Rust).map(|text| source::read(path, text));
    File { path: path.to_owned(), text, bytes, kind, source }
}

fn kind(path: &str, text: &str) -> Kind {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("rs") => Kind::Rust,
        Some("md") => Kind::Markdown,
        Some("toml") => Kind::Toml,
        Some("sh") => Kind::Shell,
        Some("yml" | "yaml") => Kind::Yaml,
        _ if name == "Makefile" => Kind::Make,
        _ if text.starts_with("#!") && text.lines().next().is_some_and(|line| line.ends_with("sh")) => Kind::Shell,
        _ => Kind::Other,
    }
}

/// The numbers of the lines of a text that satisfy `at_fault`.
fn lines(file: &File, at_fault: impl Fn(&str) -> bool) -> Vec<usize> {
    let lines = file.text.iter().flat_map(|text| text.lines()).enumerate();
    lines.filter(|(_, line)| at_fault(line)).map(|(index, _)| index + 1).collect()
}

/// The numbers of the lines of Rust code that satisfy `at_fault`, tests included.
fn code_lines(file: &File, at_fault: impl Fn(&str) -> bool) -> Vec<usize> {
    let code = file.source.iter().flat_map(|source| &source.code).enumerate();
    code.filter(|(_, line)| at_fault(line)).map(|(index, _)| index + 1).collect()
}

/// What a rule says of a text, for the tests of the rules.
#[cfg(test)]
fn judged(rules: &[Rule], name: &str, path: &str, text: &str) -> Vec<usize> {
    let rule = rules.iter().find(|rule| rule.name == name).expect("a rule of this name");
    (rule.lines_at_fault)(&file(path, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_its_line_its_rule_and_what_to_do() {
        let text = "//! A crate.\nfn a() {\n    b.unwrap();\n}\n";
        let expected =
            (3, "unwrap", "outside tests, pass the error on with `?` or say why it cannot be, with `expect`");
        assert_eq!(file_faults(&file("src/lib.rs", text.as_bytes())), [expected]);
        assert_eq!(file_faults(&file("src/lib.rs", b"//! A crate.\n")), []);
    }

    #[test]
    fn files_are_known_by_their_name_or_first_line() {
        let cases = [
            ("a/b.rs", "", Kind::Rust),
            ("README.md", "", Kind::Markdown),
            (".ci/run", "#!/bin/sh\n", Kind::Shell),
            (".ci/run", "#!/usr/bin/env bash\n", Kind::Shell),
            (".ci/run", "#!/usr/bin/python3\n", Kind::Other),
            ("Makefile", "", Kind::Make),
            ("a.b/LICENSE", "", Kind::Other),
        ];
        for (path, text, expected) in cases {
            assert_eq!(kind(path, text), expected, "{path}");
        }
    }
}
