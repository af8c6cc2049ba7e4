//! `cargo labs links`: processor time per GiB of `linerate net` beside iperf3, each end of its own, on 127.0.0.1.
//!
//! In each round iperf3 runs, linerate with a receiver that reads as iperf3's does, and linerate with one that
//! discards: one after another, each in turn the first, and ratios are taken within a round. All send blocks of the
//! same size. On loopback the kernel receives on the processor of whichever end has it do so, which moves time between
//! ends: the sender's is bounded like with like, where both read; where one discards, both ends are bounded together.
//! Figures are written as they arrive. What kernels save, of which there is no bound: `links/offloads.rs`.

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

pub(crate) const USAGE: &str =
    "usage: cargo labs links [--rounds N] [--seconds S] [--block KIB] [--linerate PATH] [--iperf3 PATH] [--out FOLDER]
  N (7) rounds of linerate net beside iperf3 on 127.0.0.1, S (3) seconds each, KIB (1024) at once, with 1 stream and
  with 8, with a receiver that reads and one that discards;
  then of datagrams at once (GSO, GRO) beside single ones, and of sends without a copy beside others";

const STREAMS: [u32; 2] = [1, 8];

/// What both hand to the kernel at once, unless a flag says so: the most that iperf3 does, and what linerate does by
/// itself. iperf3 does 128 KiB by itself.
const BLOCK_KIB: u32 = 1024;

const GIB: f64 = (1u64 << 30) as f64;

/// How long a server has to listen.
const LISTENS_WITHIN: Duration = Duration::from_millis(500);

struct Options {
    rounds: usize,
    seconds: u32,
    block_kib: u32,
    linerate: PathBuf,
    iperf3: PathBuf,
    out: PathBuf,
}

impl Options {
    fn parse(args: &[String], root: &Path) -> Result<Options, String> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let (linerate, out) = (target.join("release/linerate"), root.join("runs/links"));
        let mut options =
            Options { rounds: 7, seconds: 3, block_kib: BLOCK_KIB, linerate, iperf3: PathBuf::from("iperf3"), out };
        for pair in args.chunks(2) {
            let [flag, value] = pair else { return Err(format!("{pair:?} has no value\n{USAGE}")) };
            let wrong = || format!("{flag} {value} is no number above 0\n{USAGE}");
            match flag.as_str() {
                "--rounds" => options.rounds = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
                "--seconds" => options.seconds = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
                "--block" => options.block_kib = value.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?,
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

/// Ends of which the processor time is held against others'.
const ENDS: [&str; 3] = ["sender", "receiver", "both ends"];

impl Cost {
    /// That of each of the ends.
    const fn of_ends(self) -> [f64; 3] {
        [self.sender_s_per_gib, self.receiver_s_per_gib, self.sender_s_per_gib + self.receiver_s_per_gib]
    }

    /// What the ends cost, as parts of what they cost elsewhere.
    fn by(self, other: Cost) -> [f64; 3] {
        let (own, other) = (self.of_ends(), other.of_ends());
        [0, 1, 2].map(|end| own[end] / other[end])
    }

    fn as_json(self, client: &str, round: usize, streams: u32) -> Value {
        json!({
            "client": client, "round": round, "streams": streams, "bytes_per_s": self.bytes_per_s,
            "sender_cpu_s_per_gib": self.sender_s_per_gib, "receiver_cpu_s_per_gib": self.receiver_s_per_gib,
        })
    }
}

/// How linerate's receiver takes what arrives.
struct Receiver {
    what: &'static str,
    flags: &'static [&'static str],
    /// Most of iperf3's processor time that each of the ends may take, as the median of rounds; none where it is stated
    /// alone.
    most: [Option<f64>; 3],
}

const RECEIVERS: [Receiver; 2] = [
    Receiver { what: "reads", flags: &["--read"], most: [Some(1.0), None, None] },
    Receiver { what: "discards", flags: &[], most: [None, Some(0.5), Some(1.0)] },
];

/// Ratios of rounds, by streams and by the place of a receiver.
type Ratios = BTreeMap<(u32, usize), Vec<[f64; 3]>>;

/// Measures, prints, and fails where a bound is missed.
pub(crate) fn run(args: &[String]) -> Outcome {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no repository")?.to_owned();
    let options = Options::parse(args, &root)?;
    fs::create_dir_all(&options.out)?;
    let fleet = options.out.join("fleet.yaml");
    fs::write(&fleet, "nodes:\n  - {name: a, role: client, reach: here}\n  - {name: b, role: client, reach: here}\n")?;
    let mut rounds = File::create(options.out.join("rounds.jsonl"))?;
    let mut ratios = Ratios::new();
    for round in 0..options.rounds {
        for streams in STREAMS {
            let ours = |of: &'static Receiver| {
                let (options, fleet) = (&options, &fleet);
                move || cost(&measured(options, fleet, streams, of.flags)?)
            };
            let [read, discarded, theirs] =
                in_turn(round, [&ours(&RECEIVERS[0]), &ours(&RECEIVERS[1]), &|| by_iperf3(&options, streams)])?;
            writeln!(rounds, "{}", theirs.as_json("iperf3", round, streams))?;
            for (place, own) in [read, discarded].into_iter().enumerate() {
                let what = RECEIVERS[place].what;
                writeln!(rounds, "{}", own.as_json(&format!("linerate {what}"), round, streams))?;
                let ratio = own.by(theirs);
                let [sender, receiver, both] = ratio;
                println!(
                    "round {round}, {streams} streams, linerate {what}: sender {sender:.3}, receiver {receiver:.3}, \
                     both {both:.3} of iperf3's"
                );
                ratios.entry((streams, place)).or_default().push(ratio);
            }
        }
    }
    let table = table(&ratios);
    fs::write(options.out.join("table.md"), &table)?;
    print!("{table}");
    let saved = offloads::run(&options, &fleet, &mut rounds)?;
    fs::write(options.out.join("table.md"), format!("{table}\n{saved}"))?;
    print!("\n{saved}");
    Ok(success_if(are_met(&ratios)))
}

/// What all give. Who is first goes round, so that a drift of the machine meets all alike.
fn in_turn<T, const N: usize>(
    round: usize,
    all: [&dyn Fn() -> Result<T, Box<dyn Error>>; N],
) -> Result<[T; N], Box<dyn Error>> {
    let mut given = [const { None }; N];
    for place in (0..N).map(|place| (round + place) % N) {
        given[place] = Some(all[place]()?);
    }
    let given: Vec<T> = given.into_iter().flatten().collect();
    given.try_into().map_err(|_| "not all ran".into())
}

/// Least, median and most of one end's ratios.
fn of_all(ratios: &[[f64; 3]], end: usize) -> (f64, f64, f64) {
    let all: Vec<f64> = ratios.iter().map(|ratio| ratio[end]).collect();
    let middle = median(&all).unwrap_or(f64::NAN);
    (all.iter().copied().fold(f64::NAN, f64::min), middle, all.iter().copied().fold(f64::NAN, f64::max))
}

fn are_met(ratios: &Ratios) -> bool {
    ratios.iter().all(|((_, place), of)| {
        let bounds = RECEIVERS[*place].most.into_iter().enumerate();
        bounds.filter_map(|(end, most)| Some((end, most?))).all(|(end, most)| of_all(of, end).1 <= most)
    })
}

fn table(ratios: &Ratios) -> String {
    let mut table =
        "| streams | linerate's receiver | end | processor time of iperf3's: median (least to most) | bound |\n\
                     |---|---|---|---|---|\n"
            .to_owned();
    for ((streams, place), of) in ratios {
        let Receiver { what, most, .. } = &RECEIVERS[*place];
        for (end, name) in ENDS.into_iter().enumerate() {
            let (least, median, greatest) = of_all(of, end);
            let bound = most[end].map_or("stated".to_owned(), |most| most.to_string());
            table +=
                &format!("| {streams} | {what} | {name} | {median:.3} ({least:.3} to {greatest:.3}) | {bound} |\n");
        }
    }
    table
}

/// What `linerate net` says of a run with these flags besides: each machine sends to the other in turn.
fn measured(options: &Options, fleet: &Path, streams: u32, more: &[&str]) -> Result<Value, Box<dyn Error>> {
    let folder = options.out.join("of-one-run");
    let _ = fs::remove_dir_all(&folder);
    let output = Command::new(&options.linerate)
        .args(["net", "--fleet"])
        .arg(fleet)
        .args(["--network", "127.0.0.0/8", "--one-way", "--visits", "1", "--warmup", "100ms"])
        .args(more)
        .args(["--send-size", &format!("{}KiB", options.block_kib)])
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
fn mean(view: &Value, extract: &dyn Fn(&Value) -> Option<f64>) -> Result<f64, Box<dyn Error>> {
    let pairs = view["pairs"].as_array().filter(|pairs| !pairs.is_empty()).ok_or("linerate net told no pairs")?;
    let all: Option<Vec<f64>> = pairs.iter().map(extract).collect();
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
    let start_error =
        |error: std::io::Error| format!("{}: {error}; Debian's package is iperf3", options.iperf3.display());
    let server = Command::new(&options.iperf3)
        .args(["-s", "-1", "-B", "127.0.0.1", "-p", PORT])
        .stdout(Stdio::null())
        .spawn()
        .map_err(start_error)?;
    let _server = Running(server);
    thread::sleep(LISTENS_WITHIN);
    let output = Command::new(&options.iperf3)
        .args([
            "-c",
            "127.0.0.1",
            "-p",
            PORT,
            "-J",
            "-l",
            &format!("{}K", options.block_kib),
            "-P",
            &streams.to_string(),
        ])
        .args(["-t", &options.seconds.to_string()])
        .output()
        .map_err(start_error)?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let number = |value: &Value, what: &str| value.as_f64().ok_or_else(|| format!("iperf3 told no {what}: {report}"));
    let end = &report["end"];
    let bytes = number(&end["sum_received"]["bytes"], "bytes")?;
    let seconds = number(&end["sum_sent"]["seconds"], "seconds")?;
    let cpu = |side: &str| number(&end["cpu_utilization_percent"][side], side).map(|percent| percent / 100.0 * seconds);
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
    fn the_middle_of_the_rounds_is_judged_by_the_bounds_of_its_receiver() {
        let ratios = |receiver: f64| {
            let rates = |sender: f64, both: f64| [sender, receiver, both];
            Ratios::from([
                ((8, 1), vec![rates(0.9, 0.2), rates(1.8, 0.1), rates(1.4, 7.0)]),
                ((8, 0), vec![rates(0.9, 3.0)]),
            ])
        };
        assert_eq!(of_all(&ratios(0.5)[&(8, 1)], 0), (0.9, 1.4, 1.8));
        assert!(are_met(&ratios(0.5)) && !are_met(&ratios(0.51)));
        assert!(!are_met(&Ratios::from([((1, 0), vec![[1.01, 0.1, 0.1]])])), "a sender is bounded where both read");
        assert!(!are_met(&Ratios::from([((1, 1), vec![[0.1, 0.1, 1.01]])])), "both ends are where one discards");
        let text = table(&ratios(0.2));
        for part in [
            "| 8 | discards | receiver | 0.200 (0.200 to 0.200) | 0.5 |",
            "| 8 | discards | sender | 1.400 (0.900 to 1.800) | stated |",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn each_is_the_first_in_turn_and_stands_in_its_own_place() {
        let order = std::cell::RefCell::new(Vec::new());
        let numbered = |number: u32| {
            let order = &order;
            move || {
                order.borrow_mut().push(number);
                Ok(number)
            }
        };
        for round in 0..3 {
            assert_eq!(in_turn(round, [&numbered(0), &numbered(1), &numbered(2)]).unwrap(), [0, 1, 2]);
        }
        assert_eq!(*order.borrow(), [0, 1, 2, 1, 2, 0, 2, 0, 1]);
    }
}
