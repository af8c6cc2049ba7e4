//! All tests of the workspace, several test binaries at once. Cargo runs one after the other, and where the last test
//! of one waits, the machine waits with it.

use std::collections::VecDeque;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::process::by_hand;
use crate::{Outcome, success_if};

/// Binaries that run at once. Each runs as many tests at once as `RUST_TEST_THREADS` says.
const LANES: usize = 3;

/// Binaries of more than half a minute, which begin first: one that began last would end alone.
const LONGEST: [&str; 13] = [
    "tests/bounds.rs",
    "tests/planted.rs",
    "tests/unmodelled.rs",
    "tests/embedded.rs",
    "tests/hostile.rs",
    "tests/plan.rs",
    "tests/live_fleet.rs",
    "tests/experiment_conduct.rs",
    "tests/pages.rs",
    "tests/impossible.rs",
    "tests/exec.rs",
    "tests/worlds.rs",
    "tests/browser.rs",
];

/// A binary of tests.
struct Binary {
    /// As cargo names it: `tests/plan.rs`.
    name: String,
    executable: PathBuf,
    /// The folder of its package, in which it runs.
    place: PathBuf,
}

/// Builds all binaries, runs them with these arguments, and then the examples of the documentation, if it has some.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let binaries = Mutex::new(longest_first(built()?).into());
    let is_passed = AtomicBool::new(true);
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(binary) = next(&binaries) {
                    if !ran(&binary, arguments) {
                        is_passed.store(false, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut examples = by_hand("cargo");
    examples.args(["test", "--workspace", "--no-fail-fast", "--doc", "--"]).args(arguments);
    let are_examples_passed = !has_examples()? || examples.status()?.success();
    Ok(success_if(is_passed.into_inner() && are_examples_passed))
}

/// Whether any documentation of the packages has an example. To look costs nothing; rustdoc takes half a minute to find
/// none, and compiles packages once more where they were compiled for CI.
fn has_examples() -> Result<bool, Box<dyn Error>> {
    let listed = Command::new("git").args(["ls-files", "-z", "--", "*.rs"]).output()?;
    let listed = String::from_utf8(listed.stdout)?;
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        if fs::read_to_string(path).is_ok_and(|source| is_example(&source)) {
            return Ok(true);
        }
    }
    // Where this is no checkout, they are asked for.
    Ok(listed.is_empty())
}

/// Whether comments of a source have a block that rustdoc takes for Rust.
fn is_example(source: &str) -> bool {
    let comments = source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    let mut fences = comments.filter_map(|comment| comment.trim().strip_prefix("```"));
    // Every second one ends a block.
    while let Some(language) = fences.next() {
        if language.is_empty() || language.starts_with("rust") {
            return true;
        }
        fences.next();
    }
    false
}

fn longest_first(mut binaries: Vec<Binary>) -> Vec<Binary> {
    binaries.sort_by_key(|binary| LONGEST.iter().position(|name| *name == binary.name).unwrap_or(LONGEST.len()));
    binaries
}

fn next(binaries: &Mutex<VecDeque<Binary>>) -> Option<Binary> {
    binaries.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

fn built() -> Result<Vec<Binary>, Box<dyn Error>> {
    let flags = ["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
    let mut child = by_hand("cargo").args(flags).stdout(Stdio::piped()).spawn()?;
    let mut binaries = Vec::new();
    for line in BufReader::new(child.stdout.take().ok_or("cargo has no output")?).lines() {
        binaries.extend(binary(&line?));
    }
    if child.wait()?.success() { Ok(binaries) } else { Err("the tests were not built".into()) }
}

/// The binary that a line of cargo's tells of, if it is one of tests.
fn binary(line: &str) -> Option<Binary> {
    let told: serde_json::Value = serde_json::from_str(line).ok()?;
    if told["reason"] != "compiler-artifact" || told["profile"]["test"] != true {
        return None;
    }
    let source = PathBuf::from(told["target"]["src_path"].as_str()?);
    let place = PathBuf::from(told["manifest_path"].as_str()?).parent()?.to_owned();
    let name = source.strip_prefix(&place).unwrap_or(&source).display().to_string();
    Some(Binary { name, executable: told["executable"].as_str()?.into(), place })
}

/// Runs one binary and prints what it printed, whole; whether all of its tests passed.
fn ran(binary: &Binary, arguments: &[String]) -> bool {
    let output = Command::new(&binary.executable)
        .args(arguments)
        .current_dir(&binary.place)
        .env("CARGO_MANIFEST_DIR", &binary.place)
        .stdin(Stdio::null())
        .output();
    let (name, executable) = (&binary.name, binary.executable.display());
    let mut out = io::stdout().lock();
    // Who reads this may be gone; whether tests passed is told by the exit code as well.
    let _ = writeln!(out, "     Running {name} ({executable})");
    match output {
        Ok(Output { status, stdout, stderr }) => {
            let _ = out.write_all(&stdout).and_then(|()| out.write_all(&stderr));
            if !status.success() {
                let _ = writeln!(out, "{name} ended with {status}");
            }
            status.success()
        }
        Err(error) => {
            let _ = writeln!(out, "error: test failed to run: {name}: {error}");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_rust_are_examples_and_others_are_not() {
        let cases = [
            ("/// ```\n/// let a = 1;\n/// ```\n", true),
            ("//! ```rust,no_run\n//! ```\n", true),
            ("    /// ```text\n    /// a\n    /// ```\n", false),
            ("//! ```text\n//! ```\n/// ```\n/// ```\n", true),
            ("// ```\nlet fence = \"```\";\n", false),
        ];
        for (source, is_one) in cases {
            assert_eq!(is_example(source), is_one, "{source}");
        }
    }

    #[test]
    fn binaries_of_tests_are_told_from_all_else_that_is_built() {
        let line = [
            r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","profile":{"test":true},"#,
            r#""target":{"src_path":"/w/crates/a/tests/plan.rs"},"executable":"/w/target/debug/deps/plan-1"}"#,
        ]
        .concat();
        let found = binary(&line).unwrap();
        assert_eq!(found.name, "tests/plan.rs");
        assert_eq!((found.place, found.executable), ("/w/crates/a".into(), "/w/target/debug/deps/plan-1".into()));
        assert!(binary(&line.replace("\"test\":true", "\"test\":false")).is_none());
        assert!(binary(&line.replace("\"/w/target/debug/deps/plan-1\"", "null")).is_none());
        assert!(binary("   Compiling a v0.1.0").is_none());
    }

    #[test]
    fn what_takes_longest_begins_first_and_all_else_stays_in_order() {
        let named = |name: &str| Binary { name: name.into(), executable: PathBuf::new(), place: PathBuf::new() };
        let order = ["src/lib.rs", "tests/planted.rs", "tests/compare.rs", "tests/bounds.rs"].map(named);
        let names: Vec<_> = longest_first(order.into()).into_iter().map(|binary| binary.name).collect();
        assert_eq!(names, ["tests/bounds.rs", "tests/planted.rs", "src/lib.rs", "tests/compare.rs"]);
    }
}
