//! Every field that a run folder, the JSON of a report or that of an explanation can have is on its page, by its name,
//! and each kind of finding is on the page of checks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use linerate_analysis::net::view::NetFindingKind;
use linerate_record::finding::FindingKind;

use super::docs;

/// Where the types are that a run folder has.
const RUN_FOLDER_SOURCES: [&str; 13] = [
    "record/src/run.rs",
    "record/src/run/manifest.rs",
    "record/src/run/interval.rs",
    "record/src/run/resolved.rs",
    "record/src/run/in_flight.rs",
    "record/src/run/outside_intervals.rs",
    "record/src/reading.rs",
    "record/src/machine.rs",
    "record/src/finding.rs",
    "record/src/canary.rs",
    "record/src/slo.rs",
    "record/src/load.rs",
    "record/src/load",
];

/// Where those are that the JSON of a report has beside them.
const REPORT_SOURCES: [&str; 8] = [
    "analysis/src/view.rs",
    "analysis/src/view",
    "analysis/src/estimate.rs",
    "analysis/src/knee.rs",
    "analysis/src/slo.rs",
    "analysis/src/growth.rs",
    "analysis/src/canary.rs",
    "record/src/histogram.rs",
];

/// Files of Rust at a path below `crates`, or in the folder there.
fn sources(path: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if path.is_file() {
        return vec![path];
    }
    let files = fs::read_dir(path).expect("a folder").flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
}

/// The fields that the types of a source are written with, as `Type.field`.
fn fields(source: &str) -> BTreeSet<String> {
    let (mut found, mut attributes, mut of) = (BTreeSet::new(), String::new(), None::<String>);
    for line in source.lines().take_while(|line| *line != "mod tests {") {
        if let Some(attribute) = line.trim_start().strip_prefix("#[") {
            attributes.push_str(attribute);
            continue;
        }
        if let Some(rest) = line.strip_prefix("pub struct ") {
            let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            of = (attributes.contains("Serialize") && line.ends_with('{')).then(|| name.to_owned());
        } else if line.starts_with('}') {
            of = None;
        } else if let (Some(of), Some((field, _))) =
            (&of, line.strip_prefix("    pub ").and_then(|rest| rest.split_once(':')))
        {
            let named = attributes.split_once("rename = \"").and_then(|(_, rest)| rest.split_once('"'));
            // The fields of what is flattened stand in its own type.
            if !attributes.contains("flatten") {
                found.insert(format!("{of}.{}", named.map_or(field, |(name, _)| name)));
            }
        }
        if !line.trim_start().starts_with("///") {
            attributes.clear();
        }
    }
    found
}

/// The words of a text that stand in code, but not in blocks.
fn in_code(text: &str) -> BTreeSet<&str> {
    let outside = text.split("```").step_by(2);
    let code = outside.flat_map(|text| text.split('`').skip(1).step_by(2));
    code.flat_map(|code| code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))).collect()
}

fn missing(types: &[&str], page: &str) -> Vec<String> {
    let known = in_code(page);
    let texts = types.iter().flat_map(|path| sources(path)).map(|path| fs::read_to_string(path).expect("text"));
    let all: BTreeSet<String> = texts.flat_map(|text| fields(&text)).collect();
    assert!(all.len() > 40, "they are found: {}", all.len());
    all.into_iter().filter(|field| field.rsplit('.').next().is_none_or(|name| !known.contains(name))).collect()
}

#[test]
fn every_field_of_a_run_folder_and_of_its_report_is_on_the_page() {
    let page = fs::read_to_string(docs().join("reference/run-folder.md")).expect("a page");
    let (folder, report) = page.split_once("## The JSON of a report").expect("a heading");
    let (report, _) = report.split_once("## The folder of an experiment").expect("a heading");
    assert_eq!(missing(&RUN_FOLDER_SOURCES, folder), Vec::<String>::new(), "of the folder");
    assert_eq!(missing(&REPORT_SOURCES, report), Vec::<String>::new(), "of the report");
}

#[test]
fn every_field_of_an_explanation_is_on_its_page() {
    let page = fs::read_to_string(docs().join("method/explain.md")).expect("a page");
    let (_, table) = page.split_once("\n## JSON\n").expect("a heading");
    assert_eq!(missing(&["record/src/explanation.rs"], table), Vec::<String>::new());
}

#[test]
fn every_kind_of_finding_has_its_row_on_the_page_of_checks() {
    let page = fs::read_to_string(docs().join("method/checks.md")).expect("a page");
    let (runs, links) = page.split_once("\n## Links\n").expect("a heading");
    for (path, name, least, part) in
        [("record/src/finding.rs", "FindingKind", 40, runs), ("analysis/src/net/view.rs", "NetFindingKind", 20, links)]
    {
        let words = variant_words(path, name);
        assert!(words.len() > least, "they are found: {}", words.len());
        for word in words {
            let is_one = match name {
                "FindingKind" => serde_json::from_value::<FindingKind>(word.clone().into()).is_ok(),
                _ => serde_json::from_value::<NetFindingKind>(word.clone().into()).is_ok(),
            };
            assert!(is_one, "{word}");
            let row = format!("\n| `{word}` |");
            assert!(part.contains(&row), "{row}");
        }
    }
}

/// The words of the variants of a type, as JSON has them.
fn variant_words(path: &str, name: &str) -> Vec<String> {
    let source = sources(path).pop().map(|path| fs::read_to_string(path).expect("text")).expect("a file");
    let (_, kinds) = source.split_once(&format!("pub enum {name} {{")).expect("the kinds");
    let (kinds, _) = kinds.split_once("\n}").expect("their end");
    kinds.lines().filter_map(|line| line.trim().strip_suffix(',')).map(variant_word).collect()
}

/// A kind by the name of its variant.
fn variant_word(variant: &str) -> String {
    let mut word = String::new();
    for c in variant.chars() {
        if c.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.push(c.to_ascii_lowercase());
    }
    word
}

#[test]
fn fields_are_found_by_the_names_that_they_are_written_with() {
    let source = "/// A.\n#[derive(Serialize)]\npub struct A {\n    /// It.\n    pub one: u8,\n    \
                  #[serde(rename = \"deux\")]\n    /// It.\n    pub two: u8,\n    #[serde(flatten)]\n    \
                  pub rest: B,\n}\n\npub struct C {\n    pub three: u8,\n}\n";
    assert_eq!(fields(source), ["A.deux", "A.one"].map(str::to_owned).into());
    assert_eq!(in_code("a `b[].c_d` e\n```\n`f`\n```\n`g`"), ["b", "", "c_d", "g"].into());
}
