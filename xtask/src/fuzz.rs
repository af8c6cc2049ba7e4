//! `cargo xtask fuzz`: libFuzzer on what linerate reads from others, built on stable Rust. Results are printed as those
//! of tests are, so that they are counted with them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use crate::{Outcome, success_if};

const USAGE: &str = "usage: cargo xtask fuzz [--build] [--seconds N] [TARGET...]
  --build      builds all targets, and runs none
  --seconds N  how long each target is run (20)
Targets are those of fuzz/targets; what is found goes to target/fuzz/artifacts, what was learnt to target/fuzz/corpus.";

/// What `cargo fuzz` passes too: counters and comparisons that libFuzzer follows. AddressSanitizer, which only nightly
/// Rust takes, would find little where no code is unsafe.
const INSTRUMENT: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Longest input, longest time for one, and most memory: what is read must stay bounded.
const BOUNDS: [&str; 3] = ["-max_len=65536", "-timeout=20", "-rss_limit_mb=1024"];

type Failure = Box<dyn Error>;

#[derive(Debug, PartialEq)]
struct Options {
    build_only: bool,
    seconds: u64,
    /// All, where none is named.
    targets: Vec<String>,
}

struct Places {
    fuzz: PathBuf,
    built: PathBuf,
    corpus: PathBuf,
    artifacts: PathBuf,
}

/// Builds, runs each target, and fails where one of them found something.
pub(crate) fn run(args: &[String]) -> Outcome {
    if args.iter().any(|arg| arg == "--help") {
        println!("{USAGE}");
        return Ok(success_if(true));
    }
    let mut options = parse(args)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask lies in no workspace")?;
    let known = targets(&root.join("fuzz/targets"))?;
    if let Some(unknown) = options.targets.iter().find(|target| !known.contains(target)) {
        return Err(format!("{unknown:?} is no target: there are {}", known.join(", ")).into());
    }
    if options.targets.is_empty() {
        options.targets = known;
    }
    let places = build(root)?;
    if options.build_only {
        return Ok(success_if(true));
    }
    let began = Instant::now();
    println!("running {} tests", options.targets.len());
    let mut failed = 0;
    for target in &options.targets {
        let output = fuzz(&places, target, options.seconds)?;
        println!("{}", result_line(target, output.status.success()));
        if !output.status.success() {
            failed += 1;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let lines: Vec<&str> = said.lines().collect();
            eprintln!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
    let passed = options.targets.len() - failed;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    let seconds = began.elapsed().as_secs_f64();
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; finished in {seconds:.2}s");
    Ok(success_if(failed == 0))
}

fn parse(args: &[String]) -> Result<Options, Failure> {
    let (mut options, mut args) = (Options { build_only: false, seconds: 20, targets: Vec::new() }, args.iter());
    while let Some(arg) = args.next() {
        if arg == "--build" {
            options.build_only = true;
        } else if arg == "--seconds" {
            let value = args.next().ok_or_else(|| format!("--seconds lacks its value\n{USAGE}"))?;
            let seconds = value.parse().ok().filter(|seconds| (1..=86_400).contains(seconds));
            options.seconds =
                seconds.ok_or_else(|| format!("--seconds {value:?}: expected a whole number from 1 to 86400"))?;
        } else if arg.starts_with('-') {
            return Err(format!("unknown argument {arg:?}\n{USAGE}").into());
        } else {
            options.targets.push(arg.clone());
        }
    }
    Ok(options)
}

/// As libtest says it.
fn result_line(target: &str, passed: bool) -> String {
    format!("test fuzz::{target} ... {}", if passed { "ok" } else { "FAILED" })
}

/// The names of `*.rs` in a folder, sorted.
fn targets(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn build(root: &Path) -> Result<Places, Failure> {
    let rustc = Command::new("rustc").arg("-vV").output()?;
    let reported = String::from_utf8_lossy(&rustc.stdout).into_owned();
    let host = reported.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc -vV names no host")?;
    let (fuzz, target) = (root.join("fuzz"), root.join("target/fuzz"));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    // A target named keeps the flags from build scripts, which would not link with them.
    let status = Command::new(cargo)
        .args(["build", "--release", "--locked", "--quiet", "--target", host, "--manifest-path"])
        .arg(fuzz.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env("RUSTFLAGS", INSTRUMENT)
        .status()?;
    if !status.success() {
        return Err(format!("cargo build of fuzz/: {status}").into());
    }
    let built = target.join(host).join("release");
    Ok(Places { fuzz, built, corpus: target.join("corpus"), artifacts: target.join("artifacts") })
}

fn fuzz(places: &Places, target: &str, seconds: u64) -> Result<Output, Failure> {
    let (corpus, artifacts) = (places.corpus.join(target), places.artifacts.join(target));
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder)?;
    }
    let mut command = Command::new(places.built.join(target));
    command.args(BOUNDS).arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.arg(corpus).arg(places.fuzz.join("seeds").join(target));
    Ok(command.stdin(Stdio::null()).output()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &str) -> Result<Options, Failure> {
        parse(&args.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn targets_and_seconds_are_read_and_what_does_not_fit_is_quoted() {
        let options = parsed("listing --seconds 5 folder").unwrap();
        assert_eq!(
            options,
            Options { build_only: false, seconds: 5, targets: vec!["listing".into(), "folder".into()] }
        );
        for (args, quoted) in [("--seconds 0", "\"0\""), ("--fast", "--fast"), ("--seconds", "--seconds")] {
            let error = parsed(args).unwrap_err().to_string();
            assert!(error.contains(quoted), "{args:?}: {error}");
        }
    }

    #[test]
    fn every_target_has_seeds_and_is_built() {
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("fuzz");
        let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
        let targets = targets(&fuzz.join("targets")).unwrap();
        assert!(targets.len() >= 4, "{targets:?}");
        for target in targets {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is no [[bin]]");
            assert!(fs::read_dir(fuzz.join("seeds").join(&target)).unwrap().count() > 0, "{target} has no seed");
        }
    }
}
