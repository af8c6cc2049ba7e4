//! `cargo labs scale`: one coordinator and a thousand agents that speak the protocol to it with made-up figures. What
//! is measured is the coordinator, `linerate bench --fleet`: its processor time and its memory while a point lasts.
//!
//! All of it is on this machine, and nothing is loaded: the target is linerate's null target.

mod agents;
mod coordinator;
mod synthetic;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, thread};

use serde_json::json;

use crate::bench::programs::{build, folders, output};
use crate::bench::servers::Null;
use crate::{Outcome, success_if};
use agents::{Agents, Served};
use coordinator::{Coordinator, Phase, Sample};

pub(crate) use agents::bridge;

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "usage: cargo labs scale [--agents N] [--minutes N] [--out DIR] [--linerate PATH]
  --agents N       agents that are pretended, 2 to 1024 (1000)
  --minutes N      how long they load, 1 to 30 (5)
  --out DIR        where results go (runs/scale-<date>)
  --linerate PATH  a linerate that is built already (cargo builds one)";

/// Bounds on the coordinator while a point lasts.
const CORES_MAX: f64 = 0.5;
const RESIDENT_BYTES_MAX: u64 = 256 << 20;

/// By which share its memory may be larger in the last fifth of the point than in the second: a heap that was filled
/// once stays as it is.
const GROWTH_MAX: f64 = 0.1;

/// Requests in flight of each agent: a number in what it is told, and nothing else here.
const EACH: u32 = 8;

struct Options {
    agents: usize,
    minutes: u64,
    out: Option<PathBuf>,
    linerate: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, Failure> {
        let mut options = Options { agents: 1000, minutes: 5, out: None, linerate: None };
        let mut args = args.iter();
        while let Some(flag) = args.next() {
            let value = args.next().ok_or_else(|| format!("{flag} lacks its value\n{USAGE}"))?;
            let number = |least: u64, most: u64| -> Result<u64, String> {
                let read = value.parse().ok().filter(|number| (least..=most).contains(number));
                read.ok_or_else(|| format!("invalid {flag} {value:?}: write a number from {least} to {most}"))
            };
            match flag.as_str() {
                "--agents" => options.agents = usize::try_from(number(2, 1024)?)?,
                "--minutes" => options.minutes = number(1, 30)?,
                "--out" => options.out = Some(value.into()),
                "--linerate" => options.linerate = Some(value.into()),
                _ => return Err(format!("unknown argument {flag:?}\n{USAGE}").into()),
            }
        }
        Ok(options)
    }
}

/// Measures, prints, and fails where a bound is missed.
pub(crate) fn run(args: &[String]) -> Outcome {
    if args.iter().any(|arg| arg == "--help") {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::parse(args)?;
    let linerate = match &options.linerate {
        Some(path) => fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?,
        None => built()?,
    };
    let out = match &options.out {
        Some(out) => out.clone(),
        None => PathBuf::from(format!("runs/scale-{}", output("date", &["+%Y-%m-%d"])?)),
    };
    fs::create_dir_all(&out)?;
    let scratch = env::temp_dir().join(format!("linerate-scale-{}", std::process::id()));
    fs::create_dir(&scratch)?;
    let passed = measured(&options, &linerate, &scratch, &out);
    fs::remove_dir_all(&scratch)?;
    let passed = passed?;
    eprintln!("scale: everything is in {}", out.display());
    Ok(success_if(passed))
}

fn built() -> Result<PathBuf, Failure> {
    let (root, target) = folders()?;
    build(&root, &["linerate"])?;
    Ok(target.join("release/linerate"))
}

fn measured(options: &Options, linerate: &Path, scratch: &Path, out: &Path) -> Result<bool, Failure> {
    let agents = Agents::listen(&scratch.join("agents"), options.agents)?;
    let stop = Arc::new(AtomicBool::new(false));
    let serving = {
        let stop = Arc::clone(&stop);
        // The kinds of errors of a thread have to be sent.
        thread::spawn(move || agents.serve(&stop).map_err(|error| error.to_string()))
    };
    let null = Null::start(linerate, false)?;
    let fleet = fleet(options.agents, scratch)?;
    let flags = flags(&null.addr.to_string(), options, &fleet, &scratch.join("run"));
    let coordinator = Coordinator::start(linerate, &flags, scratch)?;
    let mut lines = File::create(out.join("samples.jsonl"))?;
    let limit = Duration::from_secs(options.minutes * 60 + 300);
    let watched = coordinator.watch(limit, |sample| Ok(writeln!(lines, "{}", sample.to_json())?));
    stop.store(true, Ordering::Relaxed);
    let served = serving.join().map_err(|_| "the agents' thread panicked")?;
    drop(null);
    let (samples, reported) = watched?;
    fs::write(out.join("coordinator.txt"), reported.replace(&scratch.display().to_string(), "SCRATCH"))?;
    let served = served?;
    let version = output(&linerate.display().to_string(), &["--version"])?;
    let flags: Vec<String> = flags.iter().map(|flag| flag.replace(&scratch.display().to_string(), "SCRATCH")).collect();
    let run = json!({
        "linerate": version, "flags": flags, "agents": options.agents, "minutes": options.minutes,
        "processors": thread::available_parallelism()?.get(), "kernel": output("uname", &["-r"])?,
    });
    fs::write(out.join("run.json"), serde_json::to_string_pretty(&run)? + "\n")?;
    let (text, passed) = judged(options, &samples, &served)?;
    fs::write(out.join("summary.md"), &text)?;
    println!("{text}");
    Ok(passed)
}

/// A fleet of agents that are reached through bridges to this process.
fn fleet(agents: usize, scratch: &Path) -> Result<PathBuf, Failure> {
    let (program, socket) = (env::current_exe()?, scratch.join("agents"));
    let mut text = "nodes:\n".to_owned();
    for number in 1..=agents {
        let command = format!("exec {} scale-bridge {}", program.display(), socket.display());
        writeln!(text, "  - {{name: a{number}, role: client, reach: 'exec:{command}'}}")?;
    }
    let path = scratch.join("fleet.yaml");
    fs::write(&path, text)?;
    Ok(path)
}

fn flags(address: &str, options: &Options, fleet: &Path, run: &Path) -> Vec<String> {
    let fixed = "--yes-exec --yes-load --anonymous --op mixed --mix get=45,stat=30,put=15,delete=10 --obj.size 1MiB \
                 --warmup 0s --no-ceiling --objects 2000";
    let mut flags: Vec<String> = vec!["bench".to_owned()];
    flags.extend(fixed.split_whitespace().map(str::to_owned));
    for (flag, value) in [
        ("--host", address.to_owned()),
        ("--concurrent", EACH.to_string()),
        ("--duration", format!("{}m", options.minutes)),
        ("--fleet", fleet.display().to_string()),
        ("--output", run.display().to_string()),
    ] {
        flags.extend([flag.to_owned(), value]);
    }
    flags
}

/// What came of it, as a table, and whether the bounds hold.
fn judged(options: &Options, samples: &[Sample], served: &Served) -> Result<(String, bool), Failure> {
    let samples_in = |phase: Phase| samples.iter().filter(move |sample| sample.phase == phase).collect::<Vec<_>>();
    let loading = samples_in(Phase::Loading);
    let (Some(first), Some(last)) = (loading.first(), loading.last()) else {
        return Err("the point was never seen under way: read coordinator.txt".into());
    };
    let cores = (last.cpu_s - first.cpu_s) / (last.at_s - first.at_s);
    let resident = loading.iter().map(|sample| sample.resident_bytes).max().unwrap_or(0);
    let mean = |from: usize, to: usize| {
        let part = &loading[loading.len() * from / 5..loading.len() * to / 5];
        part.iter().map(|sample| sample.resident_bytes as f64).sum::<f64>() / part.len().max(1) as f64
    };
    let growth = mean(4, 5) / mean(1, 2) - 1.0;
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let after = samples_in(Phase::After);
    let peak = samples.iter().map(|sample| sample.peak_bytes).max().unwrap_or(0);
    let after_s = after.last().map_or(0.0, |end| end.at_s - last.at_s);
    let after_cpu_s = after.last().map_or(0.0, |end| end.cpu_s - last.cpu_s);
    let ops = synthetic::OPERATIONS.len();
    let rows = [
        ("agents served", format!("{}", served.agents), format!("{}", options.agents), served.agents == options.agents),
        ("agents that lapsed or were cut off", format!("{}", served.lapsed), "0".to_owned(), served.lapsed == 0),
        (
            "operations × occupied buckets of an interval",
            format!("{ops} × {}", served.buckets_min),
            "4 × 500".to_owned(),
            ops >= 4 && served.buckets_min >= 500,
        ),
        (
            "intervals that were told",
            format!("{}", served.intervals),
            "each".to_owned(),
            served.intervals == served.due,
        ),
        ("point, seconds", format!("{:.0}", last.at_s - first.at_s), String::new(), true),
        ("MiB from all agents", format!("{:.0}", mib(served.bytes as f64)), String::new(), true),
        (
            "**processor seconds a second, in the point**",
            format!("{cores:.3}"),
            format!("{CORES_MAX}"),
            cores <= CORES_MAX,
        ),
        (
            "**MiB resident at the most, in the point**",
            format!("{:.0}", mib(resident as f64)),
            format!("{:.0}", mib(RESIDENT_BYTES_MAX as f64)),
            resident <= RESIDENT_BYTES_MAX,
        ),
        (
            "its growth from the second to the last fifth, %",
            format!("{:.1}", growth * 100.0),
            format!("{:.0}", GROWTH_MAX * 100.0),
            growth <= GROWTH_MAX,
        ),
        (
            "processor seconds behind the point, report included",
            format!("{after_cpu_s:.0} in {after_s:.0} s"),
            String::new(),
            true,
        ),
        ("MiB resident at the most, report included", format!("{:.0}", mib(peak as f64)), String::new(), true),
    ];
    let mut text = format!(
        "{} agents for {} minutes\n\n| | measured | bound | |\n|---|---|---|---|\n",
        options.agents, options.minutes
    );
    for (what, measured, bound, holds) in &rows {
        let verdict = if bound.is_empty() {
            ""
        } else if *holds {
            "holds"
        } else {
            "**missed**"
        };
        writeln!(text, "| {what} | {measured} | {bound} | {verdict} |")?;
    }
    Ok((text, rows.iter().all(|(.., holds)| *holds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_quoted() {
        for (args, quoted) in [("--agents 1025", "\"1025\""), ("--fast 1", "--fast"), ("--out", "--out")] {
            let args: Vec<String> = args.split(' ').map(String::from).collect();
            let error = Options::parse(&args).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(quoted), "{args:?}: {error}");
        }
    }

    #[test]
    fn a_bound_that_is_missed_is_told() {
        let options = Options::parse(&[]).unwrap();
        let sample = |second: u32, cpu_s: f64, phase| Sample {
            at_s: f64::from(second),
            cpu_s,
            resident_bytes: 100 << 20,
            peak_bytes: 120 << 20,
            phase,
        };
        let served = Served { agents: 1000, lapsed: 0, intervals: 9, due: 9, bytes: 1, buckets_min: 600 };
        let run = |cores: f64, served: &Served| {
            let samples: Vec<Sample> =
                (0..50).map(|second| sample(second, cores * f64::from(second), Phase::Loading)).collect();
            judged(&options, &samples, served).unwrap()
        };
        assert!(run(0.2, &served).1);
        let (text, passed) = run(0.6, &served);
        assert!(!passed && text.contains("0.600 | 0.5 | **missed**"), "{text}");
        assert!(!run(0.2, &Served { lapsed: 1, ..served }).1);
        assert!(judged(&options, &[sample(1, 0.0, Phase::Before)], &served).is_err());
    }
}
