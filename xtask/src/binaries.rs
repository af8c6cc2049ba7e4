//! All tests of the workspace, several test binaries at once. Cargo runs one after the other, and where the last test
//! of one waits, the machine waits with it.

use std::collections::VecDeque;
use std::error::Error;
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

/// A binary of tests.
struct Binary {
    /// As cargo names it: `tests/plan.rs`.
    name: String,
    executable: PathBuf,
    /// The folder of its package, in which it runs.
    place: PathBuf,
}

/// Builds all binaries, runs them with these arguments, and then the examples of the documentation.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let binaries = Mutex::new(built()?);
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
    let are_examples_passed = examples.status()?.success();
    Ok(success_if(is_passed.into_inner() && are_examples_passed))
}

fn next(binaries: &Mutex<VecDeque<Binary>>) -> Option<Binary> {
    binaries.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

fn built() -> Result<VecDeque<Binary>, Box<dyn Error>> {
    let flags = ["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
    let mut child = by_hand("cargo").args(flags).stdout(Stdio::piped()).spawn()?;
    let mut binaries = VecDeque::new();
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
}
