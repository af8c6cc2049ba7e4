//! Folders of runs and of experiments with every number replaced by one that cannot be: what reads them reports or
//! refuses, and never panics.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::running::{linerate, shown, words};

/// What stands in place of each number.
fn impossible() -> [Value; 4] {
    [json!(u64::MAX), json!(i64::MIN), json!(0), json!(-1)]
}

/// The places of numbers in a value, as JSON pointers; of a list, those of its first entry.
fn numbers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(at.to_owned()),
        Value::Array(values) => values.first().iter().for_each(|first| numbers(first, &format!("{at}/0"), found)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            numbers(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A file as values: one, or one a line.
fn values(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("as the test sets it up");
    if path.extension().is_some_and(|end| end == "json") {
        return vec![serde_json::from_str(&text).expect("as the test sets it up")];
    }
    text.lines().map(|line| serde_json::from_str(line).expect("as the test sets it up")).collect()
}

/// Reads a folder with each number of a file changed in turn, once in the first line or the last that has it, and once
/// in all lines; how often.
fn read_changed(folder: &Path, file: &str, read: &[&str]) -> usize {
    let path = folder.join(file);
    let sound = fs::read(&path).expect("as the test sets it up");
    let values = values(&path);
    let (mut tried, mut seen) = (0, Vec::new());
    for line in [0, values.len() - 1] {
        let mut found = Vec::new();
        numbers(&values[line], "", &mut found);
        for pointer in found.into_iter().flat_map(|pointer| [(pointer.clone(), false), (pointer, true)]) {
            if seen.contains(&pointer) {
                continue;
            }
            seen.push(pointer.clone());
            let (place, everywhere) = pointer;
            for number in impossible() {
                let mut changed = values.clone();
                for (_, value) in changed.iter_mut().enumerate().filter(|(at, _)| everywhere || *at == line) {
                    value.pointer_mut(&place).into_iter().for_each(|place| *place = number.clone());
                }
                fs::write(&path, changed.iter().map(|value| format!("{value}\n")).collect::<String>())
                    .expect("as the test sets it up");
                let output = linerate().args(read).arg(folder).output().expect("as the test sets it up");
                let code = output.status.code();
                let reported = shown(&output);
                assert!(
                    matches!(code, Some(0..=2)),
                    "{file}, line {line}, {place} = {number}, everywhere: {everywhere}: {code:?} {reported}"
                );
                tried += 1;
            }
        }
    }
    fs::write(&path, sound).expect("as the test sets it up");
    tried
}

/// Runs bench into a folder.
fn measured(folder: &Path, flags: &str) {
    let mut command = linerate();
    command.args(words("bench --target null --no-ceiling --quiet --obj.size 4KiB")).args(words(flags));
    let output = command.arg("-o").arg(folder).output().expect("as the test sets it up");
    // In so short a time a bound may stay in doubt: that is an exit code of its own, and the folder is whole.
    assert!(folder.join("report.html").exists(), "{}", shown(&output));
}

#[test]
fn no_number_of_a_run_folder_makes_its_reader_panic() {
    let out = tempdir().expect("as the test sets it up");
    let (closed, open) = (out.path().join("closed"), out.path().join("open"));
    measured(&closed, "--op mixed --concurrent 4 --duration 1s");
    measured(&open, "--op get --rate 200 --slo p99=300ms --duration 1s --abort-if p99>10s");
    let mut tried = 0;
    for (folder, files) in [
        (&closed, &["run.json", "points.jsonl", "intervals.jsonl", "readings.jsonl"][..]),
        (&open, &["intervals.jsonl", "canary.jsonl"]),
    ] {
        tried += files.iter().map(|file| read_changed(folder, file, &["report"])).sum::<usize>();
    }
    assert!(tried > 500, "{tried}");
    let listed = linerate().arg("runs").arg(out.path()).output().expect("as the test sets it up");
    assert!(listed.status.success(), "{}", shown(&listed));
}

#[test]
fn no_number_of_the_folder_of_an_experiment_makes_its_reader_panic() {
    let out = tempdir().expect("as the test sets it up");
    let folder = out.path().join("experiment");
    let mut command = linerate();
    command.args(["experiment", "--arm", "one=true", "--arm", "other=true", "--blocks", "6", "--alpha", "0.1"]);
    command.args(words("--load put:16KiB@2 --settle 50ms --measure 200ms --seed 7 -o")).arg(&folder);
    let output = command.output().expect("as the test sets it up");
    assert!(folder.join("outcomes.jsonl").exists(), "{}", shown(&output));
    let files = ["experiment.json", "outcomes.jsonl"];
    let tried: usize = files.iter().map(|file| read_changed(&folder, file, &["experiment", "report"])).sum();
    assert!(tried > 100, "{tried}");
}
