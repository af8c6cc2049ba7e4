//! `cargo xtask links`: processor time per GiB of `linerate net` beside iperf3, each end of its own, on 127.0.0.1.
//!
//! Both run in each round, one after the other, in turn who is first, and ratios are taken within a round. Both send
//! blocks of the same size; linerate's receiver discards what came without a copy, and iperf3's reads it. On loopback
//! the sender's processor time has what the kernel receives with: of both alike. Figures are written as they arrive.
//! What kernels save, of which there is no bound: `links/offloads.rs`.

mod offloads;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::median::median;
use crate::process::Running;
use crate::{Outcome, success_if};

pub(crate) const USAGE: &str = "usage: cargo xtask links [--rounds N] [--seconds S] [--linerate PATH] [--iperf3 PATH] \
                                [--out FOLDER]
  N (7) rounds of linerate net beside iperf3 on 127.0.0.1, S (3) seconds each, with 1 stream and with 8;
  then of datagrams at once (GSO, GRO) beside single ones, and of sends without a copy beside others";

/// Most of iperf3's processor time that each end may take, as the median of rounds.
const SENDER_MOST: f64 = 1.0;
const RECEIVER_MOST: f64 = 0.5;

const STREAMS: [u32; 2] = [1, 8];

/// What both hand to the kernel at once.
const BLOCK: &str = "128K";

const GIB: f64 = (1u64 << 30) as f64;

/// How long a server has to listen.
const LISTENS_WITHIN: Duration = Duration::from_millis(500);

struct Options {
    rounds: usize,
    seconds: u32,
    linerate: PathBuf,
    iperf3: PathBuf,
    out: PathBuf,
}

impl Options {
    fn parse(args: &[String], root: &Path) -> Result<Options, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let (linerate, out) = (target.join("release/linerate"), root.join("runs/links"));
        let mut options = Options { rounds: 7, seconds: 3, linerate, iperf3: PathBuf::from("iperf3"), out };
        for pair in args.chunks(2) {
            let [flag, value] = pair else { return Err(format!("{pair:?} has no value\n{USAGE}")) };
            let wrong = || format!("{flag} {value} is no number above 0\n{USAGE}");
            match flag.as_str() {
                "--rounds" => options.rounds = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
                "--seconds" => options.seconds = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
                "--linerate" => options.linerate = PathBuf::from(value),
                "--iperf3" => options.iperf3 = PathBuf::from(value),
                "--out" => options.out = PathBuf::from(value),
                _ => return Err(format!("{flag} is no flag\n{USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Processor time per GiB of both ends, and the rate.
#[derive(Clone, Copy, Debug)]
struct Cost {
    sender_s_per_gib: f64,
    receiver_s_per_gib: f64,
    bytes_per_s: f64,
}

impl Cost {
    /// What the sender and the receiver cost, as parts of what they cost elsewhere.
    fn by(self, other: Cost) -> [f64; 2] {
        [self.sender_s_per_gib / other.sender_s_per_gib, self.receiver_s_per_gib / other.receiver_s_per_gib]
    }

    fn as_json(self, client: &str, round: usize, streams: u32) -> Value {
        json!({
            "client": client, "round": round, "streams": streams, "bytes_per_s": self.bytes_per_s,
            "sender_cpu_s_per_gib": self.sender_s_per_gib, "receiver_cpu_s_per_gib": self.receiver_s_per_gib,
        })
    }
}

/// Measures, prints, and fails where a bound is missed.
pub(crate) fn run(args: &[String]) -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no repository")?.to_owned();
    let options = Options::parse(args, &root)?;
    fs::create_dir_all(&options.out)?;
    let fleet = options.out.join("fleet.yaml");
    fs::write(&fleet, "nodes:\n  - {name: a, role: client, reach: here}\n  - {name: b, role: client, reach: here}\n")?;
    let mut rounds = File::create(options.out.join("rounds.jsonl"))?;
    let mut ratios: BTreeMap<u32, Vec<[f64; 2]>> = BTreeMap::new();
    for round in 0..options.rounds {
        for streams in STREAMS {
            let ours = || by_linerate(&options, &fleet, streams);
            let theirs = || by_iperf3(&options, streams);
            let (ours, theirs) = in_turn(round, ours, theirs)?;
            writeln!(rounds, "{}", ours.as_json("linerate", round, streams))?;
            writeln!(rounds, "{}", theirs.as_json("iperf3", round, streams))?;
            let ratio = ours.by(theirs);
            println!("round {round}, {streams} streams: sender {:.3}, receiver {:.3} of iperf3's", ratio[0], ratio[1]);
            ratios.entry(streams).or_default().push(ratio);
        }
    }
    let table = table(&ratios);
    fs::write(options.out.join("table.md"), &table)?;
    print!("{table}");
    let saved = offloads::run(&options, &fleet, &mut rounds)?;
    fs::write(options.out.join("table.md"), format!("{table}\n{saved}"))?;
    print!("\n{saved}");
    let medians = |end: usize| ratios.values().map(move |of| of_all(of, end).1);
    Ok(success_if(medians(0).all(|median| median <= SENDER_MOST) && medians(1).all(|median| median <= RECEIVER_MOST)))
}

/// What both give. Who is first alternates, so that a drift of the machine meets both alike.
fn in_turn<T>(
    round: usize,
    one: impl FnOnce() -> Result<T, Box<dyn Error>>,
    other: impl FnOnce() -> Result<T, Box<dyn Error>>,
) -> Result<(T, T), Box<dyn Error>> {
    if round.is_multiple_of(2) {
        let one = one()?;
        Ok((one, other()?))
    } else {
        let other = other()?;
        Ok((one()?, other))
    }
}

/// Least, median and most of one end's ratios.
fn of_all(ratios: &[[f64; 2]], end: usize) -> (f64, f64, f64) {
    let all: Vec<f64> = ratios.iter().map(|ratio| ratio[end]).collect();
    let middle = median(&all).unwrap_or(f64::NAN);
    (all.iter().copied().fold(f64::NAN, f64::min), middle, all.iter().copied().fold(f64::NAN, f64::max))
}

fn table(ratios: &BTreeMap<u32, Vec<[f64; 2]>>) -> String {
    let mut table =
        "| streams | end | processor time of iperf3's: median (least to most) | bound |\n|---|---|---|---|\n"
            .to_owned();
    for (streams, of) in ratios {
        for (end, (name, most)) in [("sender", SENDER_MOST), ("receiver", RECEIVER_MOST)].into_iter().enumerate() {
            let (least, median, greatest) = of_all(of, end);
            table += &format!("| {streams} | {name} | {median:.3} ({least:.3} to {greatest:.3}) | {most} |\n");
        }
    }
    table
}

fn by_linerate(options: &Options, fleet: &Path, streams: u32) -> Result<Cost, Box<dyn Error>> {
    cost(&measured(options, fleet, streams, &[])?)
}

/// What `linerate net` says of a run with these flags besides: each machine sends to the other in turn.
fn measured(options: &Options, fleet: &Path, streams: u32, more: &[&str]) -> Result<Value, Box<dyn Error>> {
    let folder = options.out.join("of-one-run");
    let _ = fs::remove_dir_all(&folder);
    let output = Command::new(&options.linerate)
        .args(["net", "--fleet"])
        .arg(fleet)
        .args(["--network", "127.0.0.0/8", "--one-way", "--visits", "1", "--warmup", "100ms", "--send-size", "128KiB"])
        .args(more)
        .args(["--json", "--yes-load", "--streams", &streams.to_string(), "--duration"])
        .arg(format!("{}s", options.seconds))
        .arg("-o")
        .arg(&folder)
        .output()
        .map_err(|error| format!("{}: {error}; cargo build --release -p linerate", options.linerate.display()))?;
    if !output.status.success() {
        return Err(format!("linerate net: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let view: Value = serde_json::from_slice(&output.stdout)?;
    fs::remove_dir_all(&folder)?;
    Ok(view)
}

/// The mean of a figure over the pairs of a run.
fn mean(view: &Value, of: &dyn Fn(&Value) -> Option<f64>) -> Result<f64, Box<dyn Error>> {
    let pairs = view["pairs"].as_array().filter(|pairs| !pairs.is_empty()).ok_or("linerate net told no pairs")?;
    let all: Option<Vec<f64>> = pairs.iter().map(of).collect();
    let all = all.ok_or("a pair of linerate net lacks a figure")?;
    Ok(all.iter().sum::<f64>() / all.len() as f64)
}

/// What both ends of a run cost, over its pairs.
fn cost(view: &Value) -> Result<Cost, Box<dyn Error>> {
    Ok(Cost {
        sender_s_per_gib: mean(view, &|pair| pair["sender_cpu_s_per_gib"].as_f64())?,
        receiver_s_per_gib: mean(view, &|pair| pair["receiver_cpu_s_per_gib"].as_f64())?,
        bytes_per_s: mean(view, &|pair| pair["per_s"]["mean"].as_f64())?,
    })
}

fn by_iperf3(options: &Options, streams: u32) -> Result<Cost, Box<dyn Error>> {
    const PORT: &str = "5299";
    let of = |error: std::io::Error| format!("{}: {error}; Debian's package is iperf3", options.iperf3.display());
    let server = Command::new(&options.iperf3)
        .args(["-s", "-1", "-B", "127.0.0.1", "-p", PORT])
        .stdout(Stdio::null())
        .spawn()
        .map_err(of)?;
    let _server = Running(server);
    thread::sleep(LISTENS_WITHIN);
    let output = Command::new(&options.iperf3)
        .args(["-c", "127.0.0.1", "-p", PORT, "-J", "-l", BLOCK, "-P", &streams.to_string()])
        .args(["-t", &options.seconds.to_string()])
        .output()
        .map_err(of)?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let of = |value: &Value, what: &str| value.as_f64().ok_or_else(|| format!("iperf3 told no {what}: {report}"));
    let end = &report["end"];
    let bytes = of(&end["sum_received"]["bytes"], "bytes")?;
    let seconds = of(&end["sum_sent"]["seconds"], "seconds")?;
    let cpu = |side: &str| of(&end["cpu_utilization_percent"][side], side).map(|percent| percent / 100.0 * seconds);
    Ok(Cost {
        sender_s_per_gib: cpu("host_total")? / (bytes / GIB),
        receiver_s_per_gib: cpu("remote_total")? / (bytes / GIB),
        bytes_per_s: bytes / seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_rounds_is_judged() {
        let ratios = [[0.9, 0.2], [1.4, 0.1], [0.8, 0.6]];
        assert_eq!(of_all(&ratios, 0), (0.8, 0.9, 1.4));
        assert_eq!(of_all(&ratios, 1), (0.1, 0.2, 0.6));
        let text = table(&BTreeMap::from([(8, ratios.to_vec())]));
        assert!(text.contains("| 8 | receiver | 0.200 (0.100 to 0.600) | 0.5 |"), "{text}");
    }
}
