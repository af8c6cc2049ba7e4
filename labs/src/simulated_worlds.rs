//! Estimators and verdicts in worlds whose truth is known, and on hours of real servers: the tables that the documents
//! quote.

use crate::Outcome;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Tests that print tables: a package, its test, and by how much less often a world is drawn there, since it takes so
/// much longer.
const JUDGED: [(&str, &str, u64); 4] = [
    // Those of `knee_worlds` as well, whose names have this in them.
    ("linerate-analysis", "worlds", 1),
    ("linerate-experiment", "hazards", 2),
    ("linerate-experiment", "tables", 1),
    ("linerate-experiment", "replay", 4),
];

/// The same of readings of clusters, by `cargo labs readings`.
const READ: [(&str, &str, u64); 1] = [("linerate-model", "readings_worlds", 1)];

/// How often each cause in readings is planted, unless it is said: half of them on seeds that nobody looked at.
const READ_RUNS: u64 = 20;

/// Names and texts of tables.
type Tables = Vec<(String, String)>;

/// How often each world is drawn, unless it is said.
const RUNS: u64 = 1000;

/// Tries each world so many times, and writes the tables into a folder.
pub(crate) fn run(folder: &str, runs: Option<&String>) -> Outcome {
    tried(&JUDGED, ("worlds", RUNS), folder, runs)
}

/// The same of causes in readings.
pub(crate) fn run_readings(folder: &str, runs: Option<&String>) -> Outcome {
    tried(&READ, ("readings", READ_RUNS), folder, runs)
}

fn tried(judged: &[(&str, &str, u64)], (command, usual): (&str, u64), folder: &str, runs: Option<&String>) -> Outcome {
    let invalid =
        |text: &str| format!("invalid number of runs {text:?}: write a whole number above 0, such as {usual}");
    let runs = runs.map_or(Ok(usual), |text| text.parse().ok().filter(|&n| n > 0).ok_or_else(|| invalid(text)))?;
    let folder = Path::new(folder);
    fs::create_dir_all(folder)?;
    let (mut tables, mut tests, mut all_hold) = (Vec::new(), String::new(), true);
    for &(package, test, times_less) in judged {
        let each = (runs / times_less).max(1);
        let (found, holds) = printed(package, test, each)?;
        writeln!(tests, "| `{package}`, `{test}` | {each} | {} |", if holds { "yes" } else { "no" })?;
        if !holds {
            println!("{package}, {test}: something that is promised does not hold");
        }
        all_hold &= holds;
        tables.extend(found);
    }
    for (name, text) in &tables {
        fs::write(folder.join(format!("{name}.md")), text)?;
    }
    fs::write(folder.join("summary.md"), summary(command, runs, &tests, &tables))?;
    println!("{} tables in {}", tables.len(), folder.display());
    Ok(if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a test; what it prints is shown, and its tables are kept. Whether all that it holds did.
fn printed(package: &str, test: &str, runs: u64) -> Result<(Tables, bool), Box<dyn std::error::Error>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--package", package, "--test", "all", "--", "--nocapture", &format!("{test}::")]);
    let mut child = command.env("LINERATE_WORLDS", runs.to_string()).stdout(Stdio::piped()).spawn()?;
    let mut text = String::new();
    for line in BufReader::new(child.stdout.take().ok_or("a pipe was asked for")?).lines() {
        let line = line?;
        println!("{line}");
        text.push_str(&line);
        text.push('\n');
    }
    Ok((tables_in(&text), child.wait()?.success()))
}

/// Tables by their names: from the comment that names one to the first line behind its rows.
fn tables_in(text: &str) -> Tables {
    let named = |line: &str| Some(line.split_once("<!-- ")?.1.strip_suffix(" -->")?.to_owned());
    let (mut tables, mut lines) = (Vec::new(), text.lines().peekable());
    while let Some(line) = lines.next() {
        let Some(name) = named(line) else { continue };
        let mut table = String::new();
        let mut has_rows = false;
        while let Some(line) = lines.next_if(|line| line.starts_with('|') || !has_rows) {
            has_rows |= line.starts_with('|');
            table.push_str(line);
            table.push('\n');
        }
        tables.push((name, table));
    }
    tables
}

fn summary(command: &str, runs: u64, tests: &str, tables: &[(String, String)]) -> String {
    let heading = |text: &str| text.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
    let listed: String = tables.iter().map(|(name, text)| format!("- [{}]({name}.md)\n", heading(text))).collect();
    format!(
        "# Estimators and verdicts in worlds whose truth is known\n\n\
         ```\ncargo labs {command} FOLDER {runs}\n```\n\n\
         Worlds follow from seeds: the same command gives the same tables on any machine. `94.2 (92.1 to 95.8) of 700` \
         is a\nshare in hundredths with its 95 % interval (Wilson's) and how often it was tried. Some worlds are drawn \
         at most 200 or\n300 times, since they take so long.\n\n{listed}\n\
         | test | each world drawn | all that it promises holds |\n|---|---|---|\n{tests}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_by_their_names_in_what_tests_print() {
        let text = "running 2 tests\ntest a ... <!-- means -->\n# Means\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nok\n\
                    <!-- empty -->\n# None\n\n| a |\n|---|\ntest b ... ok\n";
        let found = tables_in(text);
        assert_eq!(found[0], ("means".to_owned(), "# Means\n\n| a | b |\n|---|---|\n| 1 | 2 |\n".to_owned()));
        assert_eq!(found[1], ("empty".to_owned(), "# None\n\n| a |\n|---|\n".to_owned()));
        assert_eq!(found.len(), 2);
        assert!(summary("worlds", 5, "| x |\n", &found).contains("- [Means](means.md)\n"));
    }
}
