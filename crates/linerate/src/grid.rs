//! Flags → points: the grid of operations, sizes and concurrencies, and how each point is timed.

use std::num::NonZero;
use std::time::Duration;

use linerate_load::session::Workload;
use linerate_load::sizes::{self, Sizes};
use linerate_record::run::{INTERVALS_BYTES_MAX, Op, POINTS_MAX, PointSpec};
use linerate_record::units::Bytes;

use crate::cli::Work;
use crate::failure::Failure;

/// Most requests in flight.
const CONCURRENCY_MAX: u32 = 65_536;

/// Largest row of `intervals.jsonl`: two histograms with every bucket in use.
pub(crate) const ROW_BYTES_MAX: u64 = 32 << 10;

/// What is written beforehand for reading, per size, unless `--objects` says otherwise.
const READ_SET_BYTES: f64 = (512u64 << 20) as f64;

/// Objects written beforehand for one point of deletes, unless `--objects` says otherwise.
const DELETE_SET_OBJECTS: u64 = 5_000;

/// One workload of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) workload: Workload,
}

/// What is to be measured: every workload at every size at every concurrency.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) workloads: Vec<Named>,
    pub(crate) sizes: Vec<Sizes>,
    pub(crate) concurrencies: Vec<u32>,
}

impl Grid {
    /// Reads the grid from the flags.
    pub(crate) fn parse(work: &Work) -> Result<Self, Failure> {
        let grid = Grid {
            workloads: workloads(&work.op, &mix(work)?)?,
            sizes: sizes::parse_list(&work.obj_size).map_err(Failure::usage)?,
            concurrencies: concurrencies(&work.concurrent)?,
        };
        let points = grid.workloads.len() * grid.sizes.len() * grid.concurrencies.len();
        if points > POINTS_MAX {
            return Err(Failure::usage(format!("{points} points exceed the {POINTS_MAX} of one run: name fewer")));
        }
        if work.duration < Duration::from_millis(100) {
            return Err(Failure::usage(format!("--duration {:?} is too short: give 100ms or more", work.duration)));
        }
        Ok(grid)
    }

    /// The points in the order in which they are measured.
    pub(crate) fn points(&self) -> Vec<PointSpec> {
        let mut points = Vec::new();
        for named in &self.workloads {
            for size in &self.sizes {
                for &concurrency in &self.concurrencies {
                    points.push(PointSpec { workload: named.name.clone(), size: size.to_string(), concurrency });
                }
            }
        }
        points
    }
}

/// Processors that this process may use.
pub(crate) fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, NonZero::get).try_into().unwrap_or(1)
}

fn workloads(ops: &str, mix: &str) -> Result<Vec<Named>, Failure> {
    let mut named: Vec<Named> = Vec::new();
    for word in ops.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        let one = if word.eq_ignore_ascii_case("mixed") {
            let (name, weights) = parse_mix(mix)?;
            Named { name, workload: Workload::Mixed(weights) }
        } else {
            let op: Op = word.parse().map_err(Failure::usage)?;
            Named { name: op.to_string(), workload: Workload::Single(op) }
        };
        if !named.contains(&one) {
            named.push(one);
        }
    }
    if named.is_empty() {
        return Err(Failure::usage("--op is empty: name at least one operation, such as get"));
    }
    Ok(named)
}

/// `--mix`, or what warp's `--get-distrib` and so on say in its form: whole numbers in the same proportion.
fn mix(work: &Work) -> Result<String, Failure> {
    let given = &work.distrib;
    let weights = [
        ("get", given.get_distrib, 45.0),
        ("stat", given.stat_distrib, 30.0),
        ("put", given.put_distrib, 15.0),
        ("delete", given.delete_distrib, 10.0),
    ];
    if weights.iter().all(|(_, weight, _)| weight.is_none()) {
        return Ok(work.mix.clone());
    }
    let mut parts = Vec::new();
    for (op, weight, default) in weights {
        let thousandths = weight.unwrap_or(default) * 1e3;
        if !(0.0..=1e9).contains(&thousandths) {
            let fix = "give a number from 0 to 1000000";
            return Err(Failure::usage(format!("invalid --{op}-distrib {:?}: {fix}", weight.unwrap_or(default))));
        }
        parts.push((op, thousandths.round() as u64));
    }
    let divisor = parts.iter().fold(0, |divisor, &(_, n)| greatest_common_divisor(divisor, n)).max(1);
    let parts: Vec<String> = parts.iter().map(|(op, n)| format!("{op}={}", n / divisor)).collect();
    Ok(parts.join(","))
}

const fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Reads `get=45,put=15`; the name tells the weights that are not zero.
fn parse_mix(text: &str) -> Result<(String, [u32; 5]), Failure> {
    let fail =
        |why: &str| Failure::usage(format!("invalid mix {text:?}: {why}, such as get=45,stat=30,put=15,delete=10"));
    let mut weights = [0u32; 5];
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (op, weight) = part.split_once('=').ok_or_else(|| fail("write OP=WEIGHT pairs"))?;
        let op: Op = op.parse().map_err(Failure::usage)?;
        let weight = weight.trim().parse().ok().filter(|&w: &u32| w <= 1_000_000);
        weights[op.index()] = weight.ok_or_else(|| fail("a weight is a whole number up to 1000000"))?;
    }
    if weights.iter().all(|&w| w == 0) {
        return Err(fail("give at least one weight above 0"));
    }
    if weights[Op::Delete.index()] > weights[Op::Put.index()] {
        return Err(fail("delete may not exceed put, since only objects of the run are deleted"));
    }
    let parts: Vec<String> =
        Op::ALL.iter().filter(|o| weights[o.index()] > 0).map(|o| format!("{o}={}", weights[o.index()])).collect();
    Ok((format!("mixed {}", parts.join(",")), weights))
}

/// Reads `16`, `1,2,4` and `1..64` (doubling, its end included).
fn concurrencies(text: &str) -> Result<Vec<u32>, Failure> {
    let fail = || {
        Failure::usage(format!(
            "invalid concurrency {text:?}: write a number from 1 to {CONCURRENCY_MAX}, a list 1,2,4 or \
             a doubling sweep 1..64"
        ))
    };
    let number =
        |word: &str| word.trim().parse::<u32>().ok().filter(|n| (1..=CONCURRENCY_MAX).contains(n)).ok_or_else(fail);
    let mut all = Vec::new();
    for part in text.split(',').filter(|p| !p.trim().is_empty()) {
        match part.split_once("..") {
            None => all.push(number(part)?),
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from > to {
                    return Err(fail());
                }
                all.extend(std::iter::successors(Some(from), |&n| n.checked_mul(2)).take_while(|&n| n < to));
                all.push(to);
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    if all.is_empty() { Err(fail()) } else { Ok(all) }
}

/// How a point is cut into intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    pub(crate) interval_ms: u64,
    /// Intervals of warm-up.
    pub(crate) warmup: u64,
    /// Intervals in all.
    pub(crate) all: u64,
    /// Largest size of `intervals.jsonl` in a run of so many points.
    pub(crate) bytes_max: u64,
}

/// Twenty intervals a point, each of 100 ms to a second; longer where the run folder would grow too large.
pub(crate) fn timing(work: &Work, points: usize, hosts: usize, ops: usize) -> Timing {
    let ms = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
    let (duration_ms, warmup_ms) = (ms(work.duration), ms(work.warmup));
    let rows_bytes = (hosts * ops) as u64 * ROW_BYTES_MAX * points as u64;
    let lines_max = (INTERVALS_BYTES_MAX / rows_bytes.max(1)).max(4);
    let for_size_ms = (duration_ms + warmup_ms).div_ceil(lines_max);
    let fine_ms = (duration_ms / 20).clamp(100, 1_000) / 10 * 10;
    let interval_ms = fine_ms.max(for_size_ms).min(duration_ms);
    let warmup = warmup_ms.div_ceil(interval_ms);
    let all = warmup + duration_ms.div_ceil(interval_ms);
    Timing { interval_ms, warmup, all, bytes_max: all * rows_bytes }
}

/// Objects to write beforehand for operations that read.
pub(crate) fn read_set_objects(work: &Work, sizes: &Sizes) -> u64 {
    let fitting = (READ_SET_BYTES / sizes.mean().max(1.0)) as u64;
    work.objects.unwrap_or(fitting.clamp(16, 1_000))
}

/// Objects to write beforehand for one point of deletes.
pub(crate) fn delete_set_objects(work: &Work) -> u64 {
    work.objects.unwrap_or(DELETE_SET_OBJECTS)
}

/// The load in words, for whoever must consent to it.
pub(crate) fn in_words(grid: &Grid, work: &Work, points: usize) -> String {
    let names: Vec<&str> = grid.workloads.iter().map(|w| w.name.as_str()).collect();
    let most = grid.concurrencies.last().copied().unwrap_or(0);
    let largest = grid.sizes.iter().map(Sizes::max).max().unwrap_or(0);
    let cap = if work.max_rate.is_some() { "capped by --max-rate" } else { "as fast as it can" };
    format!(
        "{points} points of {} with up to {most} requests in flight and objects up to {} would load it {cap}",
        names.join(", "),
        Bytes(largest)
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn work(flags: &str) -> Work {
        let words = ["linerate", "bench"].into_iter().chain(flags.split_whitespace());
        match Cli::try_parse_from(words).unwrap().verb {
            Verb::Bench(flags) => flags.work,
            _ => unreachable!("the verb is bench"),
        }
    }

    #[test]
    fn concurrency_reads_as_number_list_or_doubling() {
        for (text, expected) in
            [("16", vec![16]), ("4,1,4", vec![1, 4]), ("1..8", vec![1, 2, 4, 8]), ("3..10,64", vec![3, 6, 10, 64])]
        {
            assert_eq!(concurrencies(text).unwrap(), expected, "{text}");
        }
        for text in ["", "0", "x", "8..2", "1..", "70000", "-1"] {
            let error = concurrencies(text).unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("1..64"), "{error}");
        }
    }

    #[test]
    fn mixes_read_by_name_and_never_delete_more_than_they_write() {
        assert_eq!(parse_mix("put=1, get=3").unwrap(), ("mixed get=3,put=1".into(), [3, 1, 0, 0, 0]));
        for (text, part) in [
            ("get", "OP=WEIGHT"),
            ("get=0", "above 0"),
            ("get=1,delete=1", "exceed put"),
            ("gte=1", "gte"),
            ("get=-1", "whole"),
        ] {
            let error = parse_mix(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn distributions_of_warp_are_mixes() {
        for (flags, expected) in [
            ("", "get=45,stat=30,put=15,delete=10"),
            ("--mix get=1", "get=1"),
            ("--get-distrib 45", "get=9,stat=6,put=3,delete=2"),
            (
                "--get-distrib 0.5 --stat-distrib 0 --put-distrib 0.25 --delete-distrib 0.25",
                "get=2,stat=0,put=1,delete=1",
            ),
        ] {
            assert_eq!(mix(&work(flags)).unwrap(), expected, "{flags}");
        }
        for flags in ["--get-distrib=-1", "--put-distrib NaN", "--put-distrib 1e12"] {
            assert!(mix(&work(flags)).unwrap_err().to_string().contains("-distrib"), "{flags}");
        }
        assert!(Grid::parse(&work("--op mixed --delete-distrib 20")).unwrap_err().to_string().contains("exceed put"));
    }

    #[test]
    fn the_grid_is_every_combination_in_the_order_named() {
        let grid = Grid::parse(&work("--op put,get,put --obj.size 1KiB,2KiB --concurrent 2,1")).unwrap();
        let points = grid.points();
        assert_eq!(points.len(), 8);
        assert_eq!((points[0].workload.as_str(), points[0].size.as_str(), points[0].concurrency), ("put", "1KiB", 1));
        assert_eq!((points[7].workload.as_str(), points[7].concurrency), ("get", 2));
        assert!(Grid::parse(&work("--op copy")).is_err());
        assert!(Grid::parse(&work("--duration 1ms")).is_err());
    }

    #[test]
    fn intervals_are_twenty_a_point_and_bounded_on_disk() {
        let short = timing(&work("--duration 2s --warmup 500ms"), 24, 1, 1);
        assert_eq!((short.interval_ms, short.warmup, short.all), (100, 5, 25));
        let usual = timing(&work("--duration 60s --warmup 10s"), 1, 4, 1);
        assert_eq!((usual.interval_ms, usual.warmup, usual.all), (1_000, 10, 70));
        let day = timing(&work("--duration 24h"), 1, 16, 1);
        assert!(day.bytes_max <= INTERVALS_BYTES_MAX + 16 * 2 * ROW_BYTES_MAX, "{day:?}");
        let wide = timing(&work("--duration 10s"), 100, 1024, 5);
        assert!(wide.all - wide.warmup >= 3, "a point keeps a few intervals: {wide:?}");
    }

    #[test]
    fn read_sets_are_half_a_gigabyte_or_as_asked() {
        let size = |text: &str| text.parse::<Sizes>().unwrap();
        assert_eq!(read_set_objects(&work(""), &size("4MiB")), 128);
        assert_eq!(read_set_objects(&work(""), &size("4KiB")), 1_000);
        assert_eq!(read_set_objects(&work(""), &size("1GiB")), 16);
        assert_eq!(read_set_objects(&work("--objects 7"), &size("4MiB")), 7);
    }
}
