//! How many tests passed, failed and were skipped, from saved outputs of `cargo test` (those of libtest and of
//! libtest-mimic) and of `go test -v`.

use crate::{Outcome, success_if};
use std::collections::BTreeMap;
use std::{env, fs};

/// Set to hold a run to all its tests: then a skipped test fails the count.
const NO_SKIP: &str = "LINERATE_NO_SKIP";

/// How much is shown of what a failed test says.
const SAID_CHARS: usize = 600;

/// What the outputs say.
#[derive(Debug, Default, PartialEq)]
struct Count {
    passed: u64,
    failed: u64,
    skipped: u64,
    /// Skipped tests, with their reason where one is given.
    skipped_names: Vec<String>,
    /// Test binaries that said how many tests they would run.
    started: u64,
    /// Test binaries that said how it went.
    ended: u64,
    /// What cargo or rustc gave up on.
    errors: Vec<String>,
    /// What each failed test said, on one line.
    said: BTreeMap<String, String>,
}

/// Counts over all logs. The last line printed is `N passed, M failed, K skipped`.
pub(crate) fn run(logs: &[String]) -> Outcome {
    if logs.is_empty() {
        return Err("count needs the saved output of cargo test: cargo xtask count LOGFILE...".into());
    }
    let mut count = Count::default();
    for log in logs {
        let bytes = fs::read(log).map_err(|error| format!("{log}: {error}"))?;
        add(&mut count, &String::from_utf8_lossy(&bytes));
    }
    let faults = faults(&count, env::var_os(NO_SKIP).is_some());
    for name in &count.skipped_names {
        println!("skipped: {name}");
    }
    // The end of a log is what is read first, and often all that is kept.
    for (name, said) in &count.said {
        println!("failed: {name}: {said}");
    }
    for fault in &faults {
        println!("error: {fault}");
    }
    println!("{} passed, {} failed, {} skipped", count.passed, count.failed, count.skipped);
    Ok(success_if(faults.is_empty()))
}

fn add(count: &mut Count, log: &str) {
    let mut speaks: Option<String> = None;
    for line in log.lines() {
        let whole = without_colours(line);
        let line = whole.trim();
        if line == "failures:" || line.starts_with("test result: ") {
            speaks = None;
        } else if let Some(name) = heading(line) {
            count.said.insert(name.to_owned(), String::new());
            speaks = Some(name.to_owned());
            continue;
        } else if let Some(said) = speaks.as_ref().and_then(|name| count.said.get_mut(name)) {
            add_words(said, line);
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            count.ended += 1;
            count.passed += before(result, " passed");
            count.failed += before(result, " failed");
            count.skipped += before(result, " ignored");
        } else if let Some(test) = line.strip_prefix("test ") {
            if let Some((name, reason)) = test.split_once(" ... ignored") {
                let reason = reason.trim_start_matches(',').trim();
                let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                count.skipped_names.push(format!("{name}{reason}"));
            }
        } else if is_start(line) {
            count.started += 1;
        } else if ["error: could not compile", "error: test failed", "error: doctest failed"]
            .iter()
            .any(|error| line.starts_with(error))
        {
            count.errors.push(line.trim_start_matches("error: ").to_owned());
        } else if let Some((outcome, test)) = whole.strip_prefix("--- ").and_then(|rest| rest.split_once(": ")) {
            add_go(count, outcome, test);
        }
    }
}

/// `---- units::tests::sizes stdout ----` of libtest, without a word of where it was said of libtest-mimic.
fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("---- ")?.strip_suffix(" ----")?;
    Some(name.strip_suffix(" stdout").unwrap_or(name))
}

fn add_words(said: &mut String, line: &str) {
    for word in line.split_whitespace() {
        let room = SAID_CHARS.saturating_sub(said.chars().count() + 1);
        if room > 0 && !said.is_empty() {
            said.push(' ');
        }
        said.extend(word.chars().take(room));
    }
}

/// `--- PASS: TestFolder (0.02s)` of Go. Parts of a test are indented, and are not counted.
fn add_go(count: &mut Count, outcome: &str, test: &str) {
    match outcome {
        "PASS" => count.passed += 1,
        "FAIL" => count.failed += 1,
        "SKIP" => {
            count.skipped += 1;
            count.skipped_names.push(test.to_owned());
        }
        _ => {}
    }
}

/// How many tests passed, failed and were skipped.
#[derive(Debug, PartialEq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// Counts over one log.
pub(crate) fn totals(log: &str) -> Totals {
    let mut count = Count::default();
    add(&mut count, log);
    Totals { passed: count.passed, failed: count.failed, skipped: count.skipped }
}

/// `running 12 tests`
fn is_start(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    matches!(words[..], ["running", number, "test" | "tests"] if number.parse::<u64>().is_ok())
}

/// The number that stands before `unit`: 3 in `12 passed; 3 failed` for ` failed`.
fn before(result: &str, unit: &str) -> u64 {
    let number = result.split(unit).next().filter(|head| head.len() < result.len());
    number.and_then(|head| head.rsplit([' ', ';']).next()?.parse().ok()).unwrap_or(0)
}

/// The line without the terminal's colour sequences, `ESC [ ... m`.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or("", |(_, text)| text));
    std::iter::once(first).chain(rest).collect()
}

/// Why the logs do not show that all is well.
fn faults(count: &Count, no_skip: bool) -> Vec<String> {
    let mut faults = count.errors.clone();
    if count.failed > 0 {
        faults.push(format!("{} failed", count.failed));
    }
    if count.passed + count.failed == 0 {
        faults.push("no test ran".to_owned());
    }
    if count.started > count.ended {
        let lost = count.started - count.ended;
        faults.push(format!("{lost} test binaries began and gave no result: killed, crashed, or the log was cut"));
    }
    if no_skip && count.skipped > 0 {
        faults.push(format!("{} skipped, and {NO_SKIP} is set", count.skipped));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBTEST: &str = "\
running 4 tests
test units::tests::sizes ... ok
test live::needs_root ... ignored, needs root
test live::needs_docker ... ignored
test knee ... ok

test result: ok. 2 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s

   Doc-tests linerate_record

running 1 test
test crates/record/src/units.rs - units (line 3) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s
";
    const MIMIC: &str = "\
running 2 tests
test [cli] help ... \u{1b}[32mok\u{1b}[0m
test [cli] bench ... \u{1b}[31mFAILED\u{1b}[0m

test result: \u{1b}[31mFAILED\u{1b}[0m. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `-p linerate --test cli`
";

    fn count(logs: &[&str]) -> Count {
        let mut count = Count::default();
        logs.iter().for_each(|log| add(&mut count, log));
        count
    }

    #[test]
    fn results_are_summed_over_binaries_and_logs() {
        let expected = Count {
            passed: 3,
            skipped: 2,
            skipped_names: vec!["live::needs_root: needs root".to_owned(), "live::needs_docker".to_owned()],
            started: 2,
            ended: 2,
            ..Count::default()
        };
        assert_eq!(count(&[LIBTEST]), expected);
        let both = count(&[LIBTEST, MIMIC]);
        assert_eq!((both.passed, both.failed, both.skipped, both.started, both.ended), (4, 1, 2, 3, 3));
        assert_eq!(both.errors, ["test failed, to rerun pass `-p linerate --test cli`"]);
    }

    const FAILED: &str = "\
running 2 tests
test cli::help ... FAILED
test cli::bench ... FAILED

failures:

---- cli::help stdout ----
    an indented line of its output
---- cli::bench stdout ----

failures:
    cli::bench
    cli::help

test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `-p linerate --test cli`
";

    #[test]
    fn what_a_failed_test_says_is_on_one_line_and_bounded() {
        let text = FAILED.replace("---- cli::bench stdout ----\n", "---- cli::bench ----\nerror: two\n  lines\n");
        let said = count(&[&text]).said;
        assert_eq!(said["cli::help"], "an indented line of its output");
        assert_eq!(said["cli::bench"], "error: two lines");
        let long = text.replace("two", &"x ".repeat(2 * SAID_CHARS));
        let said = &count(&[&long]).said["cli::bench"];
        assert!((SAID_CHARS - 2..=SAID_CHARS).contains(&said.chars().count()), "{}", said.len());
    }

    #[test]
    fn tests_of_go_are_counted_without_their_parts() {
        let log = "=== RUN   TestFolder\n    --- PASS: TestFolder/empty (0.00s)\n--- PASS: TestFolder (0.02s)\n\
                   --- SKIP: TestRoot (0.00s)\n--- FAIL: TestStage (0.10s)\nFAIL\tseries\t0.2s\n";
        assert_eq!(totals(log), Totals { passed: 1, failed: 1, skipped: 1 });
        assert_eq!(count(&[log]).skipped_names, ["TestRoot (0.00s)"]);
    }

    #[test]
    fn a_log_that_does_not_show_success_is_told() {
        let compile =
            format!("{LIBTEST}error: could not compile `linerate-host` (lib test) due to 2 previous errors\n");
        let cut = format!("{LIBTEST}running 7 tests\ntest a ... ok\n");
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n";
        let cases: [(&str, bool, &[&str]); 8] = [
            (LIBTEST, false, &[]),
            (LIBTEST, true, &["2 skipped, and LINERATE_NO_SKIP is set"]),
            (MIMIC, false, &["test failed, to rerun pass `-p linerate --test cli`", "1 failed"]),
            (&compile, false, &["could not compile `linerate-host` (lib test) due to 2 previous errors"]),
            (&cut, false, &["1 test binaries began and gave no result: killed, crashed, or the log was cut"]),
            (none, true, &["no test ran"]),
            ("", false, &["no test ran"]),
            ("7 passed; 0 failed", false, &["no test ran"]),
        ];
        for (log, no_skip, expected) in cases {
            assert_eq!(faults(&count(&[log]), no_skip), expected, "{log}");
        }
    }
}
