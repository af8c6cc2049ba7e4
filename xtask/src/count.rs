//! How many tests passed, failed and were skipped, from saved outputs of `cargo test`: those of libtest and of
//! libtest-mimic.

use crate::{Outcome, success_if};
use std::collections::BTreeMap;
use std::{env, fs};

/// Set to hold a run to all its tests: then a skipped test fails the count.
const NO_SKIP: &str = "LINERATE_NO_SKIP";

/// How a log says that a test failed and then passed.
pub(crate) const PASSED_AGAIN: &str = "passed when run again: ";

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
    /// Tests that failed, as the list at the end of each binary names them.
    failed_names: Vec<String>,
    /// Tests that failed and passed when they were run once more: see [`crate::retry`].
    again: Vec<String>,
    /// What each failed test said, on one line: the last time where it ran twice.
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
    for name in &count.again {
        println!("{PASSED_AGAIN}{name}");
    }
    // The end of a log is what is read first, and often all that is kept.
    for (name, said) in count.said.iter().filter(|(name, _)| !count.again.contains(name)) {
        println!("failed: {name}: {said}");
    }
    for fault in &faults {
        println!("error: {fault}");
    }
    println!("{} passed, {} failed, {} skipped", count.passed, lasting(&count), count.skipped);
    Ok(success_if(faults.is_empty()))
}

fn add(count: &mut Count, log: &str) {
    // The names after the last line `failures:` of a binary: an earlier one begins what the tests wrote.
    let mut named: Option<Vec<String>> = None;
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
        if line == "failures:" {
            named = Some(Vec::new());
        } else if let Some(name) = line.strip_prefix(PASSED_AGAIN) {
            count.again.push(name.to_owned());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            count.failed_names.extend(named.take().unwrap_or_default());
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
        } else if let (Some(names), Some(name)) = (&mut named, name_of_a_failure(&whole)) {
            names.push(name.to_owned());
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

/// `    units::tests::sizes`
fn name_of_a_failure(line: &str) -> Option<&str> {
    line.strip_prefix("    ").filter(|name| !name.is_empty() && !name.starts_with(' ')).map(str::trim_end)
}

/// Failures that did not pass when they were run again.
fn lasting(count: &Count) -> u64 {
    count.failed.saturating_sub(count.again.len() as u64)
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
    Totals { passed: count.passed, failed: lasting(&count), skipped: count.skipped }
}

/// The tests that failed, where they are all that is wrong with the log.
pub(crate) fn failures(log: &str) -> Result<Vec<String>, String> {
    let mut count = Count::default();
    add(&mut count, log);
    let names = std::mem::take(&mut count.failed_names);
    if names.len() as u64 != count.failed {
        return Err(format!("{} failed, and {} of them are named", count.failed, names.len()));
    }
    count.again.clone_from(&names);
    match faults(&count, false).as_slice() {
        [] => Ok(names),
        faults => Err(faults.join("; ")),
    }
}

/// Whether exactly one test ran, and passed.
pub(crate) fn is_one_pass(log: &str) -> bool {
    let mut count = Count::default();
    add(&mut count, log);
    count.passed == 1 && faults(&count, false).is_empty()
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
    let failed = lasting(count);
    // What cargo says of a binary whose failures all passed again is no fault of its own.
    let is_settled = |error: &String| failed == 0 && !error.starts_with("could not compile");
    let mut faults: Vec<String> = count.errors.iter().filter(|error| !is_settled(error)).cloned().collect();
    if failed > 0 {
        faults.push(format!("{failed} failed"));
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
    fn tests_that_failed_are_named_where_nothing_else_is_wrong() {
        assert_eq!(failures(FAILED), Ok(vec!["cli::bench".to_owned(), "cli::help".to_owned()]));
        assert_eq!(failures(LIBTEST), Ok(vec![]));
        let cut = format!("{FAILED}running 7 tests\ntest a ... ok\n");
        let compile = format!("{FAILED}error: could not compile `linerate-host` (lib test) due to 2 previous errors\n");
        for (log, expected) in [
            (cut.as_str(), "1 test binaries began and gave no result: killed, crashed, or the log was cut"),
            (&compile, "could not compile `linerate-host` (lib test) due to 2 previous errors"),
            (MIMIC, "1 failed, and 0 of them are named"),
        ] {
            assert_eq!(failures(log), Err(expected.to_owned()), "{log}");
        }
    }

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
    fn a_failure_counts_until_the_same_test_has_passed() {
        let again = "running 1 test\ntest cli::help ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\
                     passed when run again: cli::help\n";
        let other = again.replace("cli::help", "cli::bench");
        assert!(is_one_pass(again));
        assert!(!is_one_pass(FAILED) && !is_one_pass(LIBTEST));
        let once = count(&[FAILED, again]);
        assert_eq!((once.passed, lasting(&once)), (1, 1));
        assert_eq!(faults(&once, true), ["test failed, to rerun pass `-p linerate --test cli`", "1 failed"]);
        let both = count(&[FAILED, again, &other]);
        assert_eq!((both.passed, lasting(&both)), (2, 0));
        assert_eq!(faults(&both, true), [""; 0]);
        let compile = "error: could not compile `linerate-host` (lib test) due to 2 previous errors\n";
        assert_eq!(faults(&count(&[FAILED, again, &other, compile]), true).len(), 1);
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
