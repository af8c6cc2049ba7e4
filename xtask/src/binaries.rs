//! All tests of the workspace, twice as many at once as there are processors. Cargo runs one binary after the other,
//! and where the last test of one waits, the machine waits with it.

use std::collections::VecDeque;
use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::by_hand;
use crate::{Outcome, success_if};

/// Groups of tests of more than half a minute, which begin first: one that began last would end alone.
const LONGEST: [&str; 10] = [
    "linerate tests/main.rs hostile",
    "linerate tests/main.rs embedded",
    "linerate tests/main.rs bounds",
    "linerate tests/main.rs fleet_bench",
    "linerate tests/main.rs fleet_kinds",
    "linerate tests/main.rs experiment_conduct",
    "analysis tests/main.rs worlds",
    "load tests/main.rs faults",
    "linerate tests/main.rs tls",
    "linerate tests/main.rs ended",
];

/// How names of tests begin that measure time: they run where [`TIMED`] is set, one at a time.
const MEASURES_TIME: &str = "timed_";

/// Whose tests hold what they do to shorter times where [`TIMED`] is set: package, and binary.
const HOLDS_TIMES: (&str, &str) = ("linerate", "tests/main.rs");

/// Tests that take too long for the gate: crate, path of the test, seconds, and what the gate has of the same.
const SLOW: &str = include_str!("../../.ci/slow-tests.tsv");

/// Set where tests may hold themselves to times, since nothing else runs then. Only tests that do so run, and those
/// that are left out elsewhere: all others would repeat what they do in the gate.
const TIMED: &str = "LINERATE_TIMED";

/// How many groups are named at the end, with their time.
const NAMED: usize = 20;

/// A binary of tests.
#[derive(Debug)]
struct Binary {
    /// As cargo names it: `tests/plan.rs`.
    name: String,
    executable: PathBuf,
    /// The folder of its package, in which it runs.
    place: PathBuf,
}

/// Tests of a binary that run one after the other in one process.
#[derive(Debug)]
struct Group {
    binary: Arc<Binary>,
    /// The module that they are in, directly below the root of the binary; empty for those of the root itself.
    module: String,
    /// All that the binary has, or what the arguments select, if it is empty.
    tests: Vec<String>,
}

impl Group {
    fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.binary.executable);
        command.args(["--test-threads", "1"]).args(arguments).current_dir(&self.binary.place);
        if !self.tests.is_empty() {
            command.arg("--exact").args(&self.tests);
        }
        command.env("CARGO_MANIFEST_DIR", &self.binary.place).stdin(Stdio::null());
        command
    }

    /// `crates/linerate tests/main.rs plan`
    fn title(&self) -> String {
        let folder = self.binary.place.file_name().unwrap_or_default().display();
        format!("{folder} {} {}", self.binary.name, self.module).trim_end().to_owned()
    }
}

/// Builds all binaries, runs them with these arguments, and then the examples of the documentation, if it has some.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let is_timed = env::var_os(TIMED).is_some();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    // Half of the time, most tests wait for a timeout, a lease or an interval.
    let lanes = if is_timed { 1 } else { 2 * processors };
    let mut groups = Vec::new();
    for binary in built()? {
        groups.extend(grouped(binary, arguments, is_timed)?);
    }
    let groups = Mutex::new(longest_first(groups).into());
    let is_passed = AtomicBool::new(true);
    let times = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(group) = next(&groups) {
                    let begun = Instant::now();
                    if !ran(&group, arguments) {
                        is_passed.store(false, Ordering::Relaxed);
                    }
                    times.lock().unwrap_or_else(PoisonError::into_inner).push((begun.elapsed(), group.title()));
                }
            });
        }
    });
    print_longest(times.into_inner().unwrap_or_else(PoisonError::into_inner));
    let mut examples = by_hand("cargo");
    examples.args(["test", "--workspace", "--no-fail-fast", "--doc", "--"]).args(arguments);
    let are_examples_passed = !has_examples()? || examples.status()?.success();
    Ok(success_if(is_passed.into_inner() && are_examples_passed))
}

fn print_longest(mut times: Vec<(Duration, String)>) {
    times.sort();
    println!("\nlongest groups of tests:");
    for (time, title) in times.iter().rev().take(NAMED) {
        println!("{:6.1} s {title}", time.as_secs_f64());
    }
}

/// Crate, test, and its substitute in the gate of each row of [`SLOW`].
fn slow_tests() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    SLOW.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut cells = line.split('\t');
        Some((cells.next()?, cells.next()?, cells.nth(1)?))
    })
}

/// Whether only `make test-timed` runs a test of this binary: it measures time, or is one of [`SLOW`].
fn is_left_out(binary: &Binary, test: &str) -> bool {
    let package = binary.place.file_name().unwrap_or_default();
    let name = test.rsplit("::").next().unwrap_or(test);
    name.starts_with(MEASURES_TIME) || slow_tests().any(|(of_crate, slow, _)| package == of_crate && slow == test)
}

/// Whether a test of this binary runs: the left out and those that hold themselves to times, or all but the left out.
fn is_selected(binary: &Binary, test: &str, is_timed: bool) -> bool {
    let (package, name) = HOLDS_TIMES;
    let holds_times = || binary.place.file_name().is_some_and(|folder| folder == package) && binary.name == name;
    let is_left_out = is_left_out(binary, test);
    if is_timed { is_left_out || holds_times() } else { !is_left_out }
}

/// The tests of a binary by their modules. With arguments, which select tests, it is one group.
fn grouped(binary: Binary, arguments: &[String], is_timed: bool) -> Result<Vec<Group>, Box<dyn Error>> {
    let all = Group { binary: Arc::new(binary), module: String::new(), tests: Vec::new() };
    if !arguments.is_empty() {
        return Ok(vec![all]);
    }
    let listed = all.command(&["--list".to_owned()]).output()?;
    if !listed.status.success() {
        return Err(format!("{} does not list its tests: {}", all.title(), listed.status).into());
    }
    Ok(by_module(&all.binary, &String::from_utf8(listed.stdout)?, is_timed))
}

/// Groups of what a binary lists: `plan::a_plan_is_read: test`. Binaries of libtest-mimic have no modules, and take one
/// name at the most: each of their tests is a group.
fn by_module(binary: &Arc<Binary>, listed: &str, is_timed: bool) -> Vec<Group> {
    let has_modules = listed.contains("::");
    let mut groups: Vec<Group> = Vec::new();
    for test in listed.lines().filter_map(|line| line.strip_suffix(": test")) {
        if !is_selected(binary, test, is_timed) {
            continue;
        }
        let module = test.split_once("::").map_or("", |(module, _)| module);
        match groups.iter_mut().find(|group| group.module == module && has_modules) {
            Some(group) => group.tests.push(test.to_owned()),
            None => groups.push(Group {
                binary: Arc::clone(binary),
                module: module.to_owned(),
                tests: vec![test.to_owned()],
            }),
        }
    }
    groups
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

fn longest_first(mut groups: Vec<Group>) -> Vec<Group> {
    groups.sort_by_key(|group| LONGEST.iter().position(|title| *title == group.title()).unwrap_or(LONGEST.len()));
    groups
}

fn next(groups: &Mutex<VecDeque<Group>>) -> Option<Group> {
    groups.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
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
    let reported: serde_json::Value = serde_json::from_str(line).ok()?;
    if reported["reason"] != "compiler-artifact" || reported["profile"]["test"] != true {
        return None;
    }
    let source = PathBuf::from(reported["target"]["src_path"].as_str()?);
    let place = PathBuf::from(reported["manifest_path"].as_str()?).parent()?.to_owned();
    let name = source.strip_prefix(&place).unwrap_or(&source).display().to_string();
    Some(Binary { name, executable: reported["executable"].as_str()?.into(), place })
}

/// Runs one group and prints everything that it printed; whether all of its tests passed.
fn ran(group: &Group, arguments: &[String]) -> bool {
    let output = group.command(arguments).output();
    let (title, executable) = (group.title(), group.binary.executable.display());
    let mut out = io::stdout().lock();
    // Who reads this may be gone; the exit code says as well whether tests passed.
    let _ = writeln!(out, "     Running {title} ({executable})");
    match output {
        Ok(Output { status, stdout, stderr }) => {
            let _ = out.write_all(&stdout).and_then(|()| out.write_all(&stderr));
            if !status.success() {
                let _ = writeln!(out, "{title} ended with {status}");
            }
            status.success()
        }
        Err(error) => {
            let _ = writeln!(out, "error: test failed to run: {title}: {error}");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
    fn tests_are_grouped_by_the_module_that_they_are_in() {
        let binary = Arc::new(Binary {
            name: "tests/main.rs".into(),
            executable: "/w/target/debug/deps/all-1".into(),
            place: "/w/crates/a".into(),
        });
        let listed = "at_the_root: test\nplan::is_read: test\nmodes::plan::is_read: test\nplan::deep::is_kept: test\n\n\
                      plan::timed_in_a_second: test\n5 tests, 0 benchmarks\n";
        let groups = by_module(&binary, listed, false);
        let found: Vec<_> = groups.iter().map(|group| (group.title(), group.tests.join(" "))).collect();
        let expected = [
            ("a tests/main.rs", "at_the_root"),
            ("a tests/main.rs plan", "plan::is_read plan::deep::is_kept"),
            ("a tests/main.rs modes", "modes::plan::is_read"),
        ];
        assert_eq!(found, expected.map(|(title, tests)| (title.to_owned(), tests.to_owned())));
        let timed = by_module(&binary, listed, true);
        assert_eq!(timed.iter().map(|group| &group.tests[..]).collect::<Vec<_>>(), [["plan::timed_in_a_second"]]);
        let alone = by_module(&binary, "draws (needs chromium): test\ntimed_draws: test\nprints: test\n", false);
        assert_eq!(alone.iter().map(|group| group.tests.len()).collect::<Vec<_>>(), [1, 1]);
        let command = format!("{:?}", groups[1].command(&[]));
        assert!(command.contains(r#""--exact" "plan::is_read" "plan::deep::is_kept""#), "{command}");
    }

    #[test]
    fn slow_tests_run_only_where_tests_are_timed_and_there_only_others_that_hold_themselves_to_times() {
        let (of_crate, slow, _) = slow_tests().next().unwrap();
        let binary = |package: &str| Binary {
            name: "tests/main.rs".into(),
            executable: "/w/target/debug/deps/all-1".into(),
            place: Path::new("/w/crates").join(package),
        };
        let listed = format!("{slow}: test\n{slow}_too: test\n");
        let counts = |package: &str, is_timed| {
            let groups = by_module(&Arc::new(binary(package)), &listed, is_timed);
            groups.iter().map(|group| group.tests.len()).sum::<usize>()
        };
        assert_eq!(of_crate, HOLDS_TIMES.0);
        assert_eq!((counts(of_crate, false), counts(of_crate, true)), (1, 2));
        assert_eq!((counts("other", false), counts("other", true)), (2, 0));
    }

    #[test]
    fn slow_tests_exist_and_the_gate_has_another_of_their_crate() {
        let rows: Vec<_> = slow_tests().collect();
        let written = SLOW.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(rows.len(), written, "a row has four cells");
        for (of_crate, slow, substitute) in &rows {
            let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(of_crate).join("tests");
            for test in [slow, substitute] {
                let declared = format!("fn {}()", test.rsplit("::").next().unwrap());
                let found = Command::new("grep").args(["-rqF", &declared]).arg(&tests).status().unwrap();
                assert!(found.success(), "{of_crate} has no {declared}");
            }
            assert!(rows.iter().all(|(_, other, _)| other != substitute), "{substitute} is left out as well");
        }
    }

    #[test]
    fn what_takes_longest_begins_first_and_all_else_stays_in_order() {
        let group = |package: &str, module: &str| {
            let (name, place) = ("tests/main.rs".to_owned(), PathBuf::from("/w/crates").join(package));
            let binary = Arc::new(Binary { name, executable: PathBuf::new(), place });
            Group { binary, module: module.to_owned(), tests: Vec::new() }
        };
        let groups = vec![group("a", "x"), group("load", "faults"), group("a", "y"), group("linerate", "embedded")];
        let modules: Vec<String> = longest_first(groups).into_iter().map(|group| group.module).collect();
        assert_eq!(modules, ["embedded", "faults", "x", "y"]);
    }
}
