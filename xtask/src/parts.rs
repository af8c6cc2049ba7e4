//! The tests that the gate leaves out, in parts of at most an hour: which have passed since the last change, and the
//! others run.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::count::{self, Totals};
use crate::process::by_hand;
use crate::{Outcome, success_if};

/// The table of parts: name, minutes to expect on two processors, and command, with tabs between them.
const TABLE: &str = ".ci/parts.tsv";

/// Where results are kept: a folder a day.
const RESULTS: &str = "runs";
const FOLDER: &str = "test-all-";
const FILE: &str = "results.tsv";
const HEADER: &str = "part\tcommit\tbegun\tminutes\tpassed\tfailed\tskipped\toutcome\n";

/// What is appended to a commit where files differ from it.
const CHANGED: &str = "+changes";

/// After so many seconds a part is ended, and has failed.
const SECONDS_MAX: &str = "3600";

const PASSED: &str = "passed";
const FAILED: &str = "failed";

/// A row of the table.
#[derive(Debug, PartialEq)]
struct Part {
    name: String,
    minutes: u32,
    command: String,
}

/// A part that ran.
#[derive(Clone, Debug, PartialEq)]
struct PartResult {
    part: String,
    commit: String,
    begun: String,
    outcome: String,
}

/// Says of each part whether it has passed since the last change.
pub(crate) fn list() -> Outcome {
    let parts = parse_table(&fs::read_to_string(TABLE)?)?;
    let results = results()?;
    for part in &parts {
        println!("{:24} {:>3} min  {}", part.name, part.minutes, standing(&part.name, &results)?.1);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs these parts, or all that have not passed since the last change.
pub(crate) fn run(names: &[String]) -> Outcome {
    let parts = parse_table(&fs::read_to_string(TABLE)?)?;
    let unknown = names.iter().find(|name| parts.iter().all(|part| part.name != **name));
    if let Some(name) = unknown {
        let known: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        return Err(format!("{name:?} is no part: write one of {}", known.join(", ")).into());
    }
    let before = results()?;
    let mut is_passed = true;
    for part in &parts {
        let is_due = if names.is_empty() { !standing(&part.name, &before)?.0 } else { names.contains(&part.name) };
        if is_due {
            is_passed &= run_part(part)?;
        }
    }
    list()?;
    Ok(success_if(is_passed))
}

fn parse_table(text: &str) -> Result<Vec<Part>, String> {
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, minutes, command] = fields[..] else {
            return Err(format!("{TABLE}: {line:?} has {} fields: write name, minutes, command", fields.len()));
        };
        let minutes = minutes.parse().ok().filter(|minutes| (1..=60).contains(minutes));
        let minutes = minutes.ok_or_else(|| format!("{TABLE}: {name} is to take 1 to 60 minutes"))?;
        Ok(Part { name: name.to_owned(), minutes, command: command.to_owned() })
    })
    .collect()
}

/// What all days have recorded, the oldest first.
fn results() -> Result<Vec<PartResult>, Box<dyn Error>> {
    let mut files: Vec<PathBuf> = fs::read_dir(RESULTS)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(FOLDER)))
        .map(|path| path.join(FILE))
        .filter(|path| path.exists())
        .collect();
    files.sort();
    let texts: Result<Vec<String>, _> = files.iter().map(fs::read_to_string).collect();
    Ok(texts?.iter().flat_map(|text| parse_results(text)).collect())
}

fn parse_results(text: &str) -> Vec<PartResult> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [part, commit, begun, _, _, _, _, outcome] = fields[..] else { return None };
        let owned = |text: &str| text.to_owned();
        Some(PartResult { part: owned(part), commit: owned(commit), begun: owned(begun), outcome: owned(outcome) })
    };
    text.lines().skip(1).filter_map(row).collect()
}

/// Whether a part has passed since the last change, and in words: since which commit it has not.
fn standing(name: &str, results: &[PartResult]) -> Result<(bool, String), Box<dyn Error>> {
    let of_part = || results.iter().rev().filter(|result| result.part == name);
    let failed = match of_part().next() {
        Some(last) if last.outcome == FAILED => format!("; failed at {} on {}", last.commit, last.begun),
        _ => String::new(),
    };
    let passed = of_part().find(|result| result.outcome == PASSED && !result.commit.ends_with(CHANGED));
    let Some(passed) = passed else { return Ok((false, format!("has never passed{failed}"))) };
    let (commit, begun) = (&passed.commit, &passed.begun);
    let Some(changes) = commits_since(commit)? else {
        return Ok((false, format!("passed at {commit}, which is not in this history, on {begun}{failed}")));
    };
    if changes == 0 && failed.is_empty() {
        return Ok((true, format!("passed at {commit} on {begun}")));
    }
    Ok((false, format!("has not passed since {commit} of {begun}, {changes} commits ago{failed}")))
}

/// How many commits have changed something else than results since this one; nothing where it is unknown.
fn commits_since(commit: &str) -> Result<Option<u64>, Box<dyn Error>> {
    let range = format!("{commit}..HEAD");
    let ignored = format!(":(exclude){RESULTS}/{FOLDER}*");
    let output = Command::new("git").args(["rev-list", "--count", &range, "--", ".", &ignored]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok().filter(|_| output.status.success()))
}

/// The commit of the files, which says where they differ from it.
fn commit() -> Result<String, Box<dyn Error>> {
    let commit = printed("git", &["rev-parse", "--short=10", "HEAD"])?;
    let ignored = format!(":(exclude){RESULTS}/{FOLDER}*");
    let is_changed = !printed("git", &["status", "--porcelain", "--", ".", &ignored])?.is_empty();
    Ok(format!("{commit}{}", if is_changed { CHANGED } else { "" }))
}

fn printed(program: &str, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new(program).args(arguments).output()?;
    if !output.status.success() {
        return Err(format!("{program} {} ended with {}", arguments.join(" "), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Runs a part, and records how it went and which tests it ran; whether all passed.
fn run_part(part: &Part) -> Result<bool, Box<dyn Error>> {
    let (commit, begun, since) = (commit()?, printed("date", &["-u", "+%FT%TZ"])?, Instant::now());
    println!("\n== {}: {} (about {} min, since {begun})", part.name, part.command, part.minutes);
    let log = Path::new("target/parts").join(format!("{}.log", part.name));
    fs::create_dir_all("target/parts")?;
    let is_success = logged(&part.command, &log)?;
    let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let totals = count::totals(&text);
    let is_passed = is_success && totals.failed == 0 && totals.skipped == 0;
    let folder = Path::new(RESULTS).join(format!("{FOLDER}{}", &begun[..10]));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("{}.txt", part.name)), tests_of(&text))?;
    let Totals { passed, failed, skipped } = totals;
    let minutes = since.elapsed().as_secs_f64() / 60.0;
    let outcome = if is_passed { PASSED } else { FAILED };
    let name = &part.name;
    let row = format!("{name}\t{commit}\t{begun}\t{minutes:.1}\t{passed}\t{failed}\t{skipped}\t{outcome}\n");
    append(&folder.join(FILE), &row)?;
    println!("== {name}: {outcome} in {minutes:.1} min: {passed} passed, {failed} failed, {skipped} skipped");
    Ok(is_passed)
}

/// Runs a command, which is ended where it takes too long; what it prints is shown and kept.
fn logged(command: &str, log: &Path) -> Result<bool, Box<dyn Error>> {
    let mut file = File::create(log)?;
    let mut child = by_hand("timeout")
        .args(["--kill-after", "60", SECONDS_MAX, "sh", "-c", &format!("{{ {command}\n}} 2>&1")])
        .env("LINERATE_NO_SKIP", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    for line in BufReader::new(child.stdout.take().ok_or("a command has no output")?).split(b'\n') {
        let mut line = line?;
        line.push(b'\n');
        file.write_all(&line)?;
        std::io::stdout().write_all(&line)?;
    }
    Ok(child.wait()?.success())
}

fn append(path: &Path, row: &str) -> Result<(), Box<dyn Error>> {
    let is_new = !path.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if is_new {
        file.write_all(HEADER.as_bytes())?;
    }
    Ok(file.write_all(row.as_bytes())?)
}

/// How tests end, in the words of their runner.
const OUTCOMES: [&str; 3] = ["ok", "FAILED", "ignored"];

/// The tests that a log tells of, in order, each with how it went.
fn tests_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let named = lines.iter().enumerate().filter_map(|(at, line)| {
        let (name, printed) = line.strip_prefix("test ")?.split_once(" ... ")?;
        // A test may print behind its own name and below: its outcome is then a line of its own.
        let below = lines[at + 1..].iter().take_while(|line| !line.starts_with("test ")).copied();
        let words = [printed].into_iter().chain(below).map(str::trim);
        let outcome = words.filter_map(|words| OUTCOMES.into_iter().find(|outcome| words == *outcome)).last();
        Some((name.trim_end(), outcome.unwrap_or("unknown")))
    });
    let mut tests: Vec<(&str, &str)> = named.collect();
    tests.sort_unstable();
    tests.dedup();
    tests.iter().fold(String::new(), |mut text, (name, outcome)| {
        let _ = writeln!(text, "{outcome}\t{name}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_table_are_read_and_others_are_refused() {
        let read = parse_table("# name\tminutes\tcommand\n\nseries\t2\tmake test-series\n").unwrap();
        let part = Part { name: "series".into(), minutes: 2, command: "make test-series".into() };
        assert_eq!(read, [part]);
        for (text, why) in
            [("series\tmake", "2 fields"), ("series\t61\tmake", "1 to 60"), ("series\tx\tmake", "1 to 60")]
        {
            assert!(parse_table(text).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn each_system_test_belongs_to_a_part() {
        let parts = parse_table(include_str!("../../.ci/parts.tsv")).unwrap();
        let filters = |part: &Part| {
            let words = part.command.split_once("TESTS=")?.1.trim_matches('"').to_owned();
            part.command.starts_with("make test-system").then_some(words)
        };
        let (rest, others): (Vec<String>, Vec<String>) =
            parts.iter().filter_map(filters).partition(|words| words.starts_with("--skip"));
        assert_eq!(rest.len(), 1, "one part is of all tests that no other names");
        let skipped: Vec<&str> = rest[0].split_whitespace().filter(|word| *word != "--skip").collect();
        for words in &others {
            // What one part skips belongs to another.
            let mut words = words.split_whitespace();
            while let Some(word) = words.next() {
                let name = if word == "--skip" { words.next().expect("what is skipped") } else { word };
                assert!(skipped.contains(&name), "{name} belongs to a part and to the rest");
            }
        }
        for name in skipped {
            let is_named = |words: &String| words.split(" --skip").next().is_some_and(|own| own.contains(name));
            assert!(others.iter().any(is_named), "{name} is left out and in no part");
        }
    }

    #[test]
    fn a_part_that_failed_or_ran_on_changed_files_has_not_passed() {
        let row = |part: &str, commit: &str, outcome: &str| format!("{part}\t{commit}\tnow\t1.0\t3\t0\t0\t{outcome}\n");
        let text = HEADER.to_owned() + &row("a", "0000000000", "passed") + &row("b", "1+changes", "passed");
        let results = parse_results(&(text + &row("c", "2", "failed")));
        assert_eq!(results.len(), 3);
        for (name, words) in [("a", "not in this history"), ("b", "has never passed"), ("c", "failed at 2 on now")] {
            let (is_passed, reported) = standing(name, &results).unwrap();
            assert!(!is_passed && reported.contains(words), "{name}: {reported}");
        }
    }

    #[test]
    fn the_tests_of_a_log_are_listed_once_with_how_they_went() {
        let log =
            "running 2 tests\ntest b ... ok\ntest a (needs x) ... FAILED\ntest b ... ok\ntest result: ok. 1 passed\n";
        assert_eq!(tests_of(log), "FAILED\ta (needs x)\nok\tb\n");
        // With what tests print, and one that was ended before it did.
        let log =
            "test b   ... seed 7\n  ok then\nok\ntest c ... on its way\ntest d ... ok\ntest result: ok. 1 passed\n";
        assert_eq!(tests_of(log), "ok\tb\nunknown\tc\nok\td\n");
    }
}
