//! `cargo labs corpus`: real clusters in which it is known what is wrong, as figures and readings that `explain` is
//! held against. Root, a MinIO, iperf3, ping, ss, curl and dd; half a minute a world, and hours for all.

mod design;
mod faults;
mod lab;
mod record;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::Outcome;
use record::{Options, recorded, remaining};

pub(crate) const USAGE: &str = "usage: cargo labs corpus COMMAND
  list                 all worlds with what each is for, as in labs/corpus/worlds.tsv
  record [FLAGS]       record worlds that are not there yet, until all are or the time is over
  status [FLAGS]       how many there are, how many were discarded and why, and how long the rest takes
  --out FOLDER         where worlds are kept (runs/corpus)
  --minutes N          for how long worlds are begun (60)
  --only WORDS         only worlds with this in their names
  --linerate PATH      the program (target/release/linerate)
MINIO=path names the engine";

pub(crate) fn run(args: &[String]) -> Outcome {
    let (command, flags) = args.split_first().ok_or(USAGE)?;
    match command.as_str() {
        "list" if flags.is_empty() => print!("{}", design::table()),
        "record" => record::record(&options(flags)?)?,
        "status" => print_status(&options(flags)?.out)?,
        "--help" => println!("{USAGE}"),
        _ => return Err(format!("{command:?} is no command\n{USAGE}").into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn options(flags: &[String]) -> Result<Options, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no repository")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let minio = std::env::var_os("MINIO").map_or_else(|| root.join("target/servers/minio"), PathBuf::from);
    let mut options = Options {
        out: root.join("runs/corpus"),
        linerate: target.join("release/linerate"),
        minio,
        minutes: 60.0,
        only: String::new(),
    };
    for pair in flags.chunks(2) {
        let [flag, value] = pair else { return Err(format!("{pair:?} has no value\n{USAGE}")) };
        match flag.as_str() {
            "--out" => options.out = PathBuf::from(value),
            "--linerate" => options.linerate = PathBuf::from(value),
            "--only" => options.only.clone_from(value),
            "--minutes" => {
                let minutes = value.parse().ok().filter(|minutes: &f64| *minutes > 0.0);
                options.minutes = minutes.ok_or_else(|| format!("{value:?} is no time in minutes\n{USAGE}"))?;
            }
            _ => return Err(format!("{flag} is no flag\n{USAGE}")),
        }
    }
    Ok(options)
}

/// How far the corpus is.
fn print_status(out: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let attempts = recorded(out)?;
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut discarded: BTreeMap<String, usize> = BTreeMap::new();
    for attempt in &attempts {
        match &attempt.discarded {
            None => *counted.entry(&attempt.used_for).or_default() += 1,
            Some(why) => {
                let reason = why.split(':').next().unwrap_or_default();
                *discarded.entry(format!("{reason} ({})", attempt.kind)).or_default() += 1;
            }
        }
    }
    let (due, time) = remaining(&attempts);
    println!(
        "{} attempts, {} that count; {due} worlds to record, {:.0} min",
        attempts.len(),
        counted.values().sum::<usize>(),
        time.as_secs_f64() / 60.0
    );
    counted.iter().for_each(|(name, n)| println!("  {n:4} {name}"));
    discarded.iter().for_each(|(why, n)| println!("  {n:4} discarded, {why}"));
    Ok(())
}
