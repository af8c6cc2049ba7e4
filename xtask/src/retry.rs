//! A second try for tests that failed on a machine that others fill: each runs once more, alone. One that fails twice
//! has failed, and one that passes is named in the count.

use crate::count::{self, PASSED_AGAIN};
use crate::process::by_hand;
use crate::{Outcome, success_if};
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// More failures than this are not the machine's.
const MOST: usize = 3;

/// Runs what failed in `log` with `make TARGET TESTS=…`. Whatever else is wrong with the log stays wrong.
pub(crate) fn run(log: &str, target: &str) -> Outcome {
    let bytes = fs::read(log).map_err(|error| format!("{log}: {error}"))?;
    let names = count::failures(&String::from_utf8_lossy(&bytes)).map_err(|fault| format!("no second try: {fault}"))?;
    if names.len() > MOST {
        return Err(format!("no second try: {} tests failed, and at most {MOST} are run again", names.len()).into());
    }
    let mut passed = 0;
    for name in &names {
        if is_passed(target, name)? {
            println!("{PASSED_AGAIN}{name}");
            passed += 1;
        }
    }
    Ok(success_if(!names.is_empty() && passed == names.len()))
}

/// Runs one test, shows what it writes, and says whether it, and nothing else, ran and passed.
fn is_passed(target: &str, name: &str) -> Result<bool, Box<dyn Error>> {
    // The name goes through make and a shell in single quotes; names of tests have blanks and brackets.
    if name.contains(['\'', '$', '\\']) {
        println!("no second try of {name:?}: make cannot be handed this name");
        return Ok(false);
    }
    let mut make = by_hand("make");
    make.args([target, &format!("TESTS=--exact '{name}'")]).stdout(Stdio::piped());
    let mut child = make.spawn()?;
    let mut log = String::new();
    for line in BufReader::new(child.stdout.take().ok_or("make has no output")?).lines() {
        let line = line?;
        writeln!(std::io::stdout(), "{line}")?;
        log.push_str(&line);
        log.push('\n');
    }
    Ok(child.wait()?.success() && count::is_one_pass(&log))
}
