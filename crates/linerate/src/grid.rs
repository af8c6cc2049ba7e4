//! Flags → points: the grid of operations, sizes and concurrencies.

use std::num::NonZero;

use linerate_analysis::knee::STEPS_MAX;
use linerate_load::session::Workload;
use linerate_load::sizes::{self, Sizes};
use linerate_record::run::{Op, POINTS_MAX, SeriesSpec};
use linerate_record::units::{Bytes, Rate, bytes_iec, count};

use crate::cli::Work;
use crate::failure::Failure;

/// Most requests in flight.
const CONCURRENCY_MAX: u32 = 65_536;

/// What `--concurrent` says where the concurrency is searched.
const SEARCHED: &str = "auto";

/// Most requests in flight of an open loop, unless told otherwise: a second of a thousand requests per second.
const CONCURRENCY_OPEN: u32 = 1024;

/// Most requests per second of an open loop: even gaps of more are shorter than any wake-up.
const RATE_MAX: f64 = 10_000_000.0;

/// Sizes of objects, unless told otherwise.
const SIZES: &str = "64KiB,4MiB";

/// The same of operations that move no bodies: one that is soon written.
const SIZE_WITHOUT_BODIES: &str = "4KiB";

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

/// What differs from point to point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Level {
    /// Requests in flight; in an open loop, the most.
    pub(crate) concurrency: u32,
    /// Requests due per second, in an open loop.
    pub(crate) rate_per_s: Option<f64>,
}

/// At which concurrencies or rates a series is measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Levels {
    /// These, rising.
    Given(Vec<u32>),
    /// Those that the search for the knee asks for, up to this one.
    Searched(u32),
    /// An open loop at these rates, rising, with at most so many requests in flight.
    Rates { concurrency: u32, all: Vec<f64> },
    /// An open loop at the rates that the search for the highest one asks for, up to this one.
    HighestRate { concurrency: u32, highest_per_s: f64 },
}

impl Levels {
    /// The highest that there may be.
    pub(crate) fn highest(&self) -> u32 {
        match self {
            Levels::Given(all) => all.last().copied().unwrap_or(1),
            Levels::Searched(highest) => *highest,
            Levels::Rates { concurrency, .. } | Levels::HighestRate { concurrency, .. } => *concurrency,
        }
    }

    /// Those that are known beforehand; `None` where a search chooses them.
    pub(crate) fn given(&self) -> Option<Vec<Level>> {
        match self {
            Levels::Given(all) => {
                Some(all.iter().map(|&concurrency| Level { concurrency, rate_per_s: None }).collect())
            }
            Levels::Rates { concurrency, all } => {
                let at = |&rate| Level { concurrency: *concurrency, rate_per_s: Some(rate) };
                Some(all.iter().map(at).collect())
            }
            Levels::Searched(_) | Levels::HighestRate { .. } => None,
        }
    }
}

/// What is to be measured: every workload at every size is a series, measured at several concurrencies.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub(crate) workloads: Vec<Named>,
    pub(crate) sizes: Vec<Sizes>,
    pub(crate) levels: Levels,
    /// Sizes of workloads without bodies, where none were named.
    small: Option<Vec<Sizes>>,
}

impl Grid {
    /// Reads the grid from the flags.
    pub(crate) fn parse(work: &Work) -> Result<Self, Failure> {
        let workloads = mix(work).and_then(|mix| workloads(&work.op, &mix));
        let given = work.obj_size.as_deref();
        let sizes = sizes::parse_list(given.unwrap_or(SIZES)).map_err(Failure::usage);
        let small = given.is_none().then(|| sizes::parse_list(SIZE_WITHOUT_BODIES).ok()).flatten();
        let grid = match (workloads, sizes, levels(work)) {
            (Ok(workloads), Ok(sizes), Ok(levels)) => Grid { workloads, sizes, small, levels },
            (workloads, sizes, levels) => {
                let wrong = [workloads.err(), sizes.err(), levels.err()].into_iter().flatten();
                return Err(Failure::of_mistakes(wrong.flat_map(Failure::mistakes).collect()));
            }
        };
        let per_series = match &grid.levels {
            Levels::Given(all) => all.len(),
            Levels::Rates { all, .. } => all.len(),
            Levels::Searched(_) | Levels::HighestRate { .. } => STEPS_MAX,
        };
        let points = grid.series().len() * per_series;
        if points > POINTS_MAX {
            return Err(Failure::usage(format!("{points} points exceed the {POINTS_MAX} of one run: name fewer")));
        }
        Ok(grid)
    }

    /// The series in the order in which they are measured.
    pub(crate) fn series(&self) -> Vec<SeriesSpec> {
        let of = |named: &Named| {
            let workload = named.name.clone();
            let spec = move |size: &Sizes| SeriesSpec { workload: workload.clone(), size: size.to_string() };
            self.sizes_of(&named.workload).iter().map(spec).collect::<Vec<_>>()
        };
        self.workloads.iter().flat_map(of).collect()
    }

    /// The sizes at which a workload is measured: one small one where it moves no bodies and none was named.
    pub(crate) fn sizes_of(&self, workload: &Workload) -> &[Sizes] {
        match (&self.small, workload) {
            (Some(small), Workload::Single(Op::Stat | Op::Delete | Op::List)) => small,
            _ => &self.sizes,
        }
    }

    /// Every size that may be measured.
    pub(crate) fn all_sizes(&self) -> impl Iterator<Item = &Sizes> {
        self.sizes.iter().chain(self.small.iter().flatten())
    }

    /// What is written beforehand in all: objects and bytes, those for one point of deletes counted once. What is
    /// written by the load itself nobody knows before.
    pub(crate) fn beforehand(&self, work: &Work) -> (u64, f64) {
        let of = |named: &Named, sizes: &Sizes| {
            let deletes = named.workload == Workload::Single(Op::Delete);
            let reads = [Op::Get, Op::Stat, Op::List].into_iter().any(|op| named.workload.has(op));
            match (work.list_existing, deletes, reads) {
                (false, true, _) => delete_set_objects(work),
                (false, _, true) => read_set_objects(work, sizes),
                _ => 0,
            }
        };
        let each =
            self.workloads.iter().flat_map(|named| self.sizes_of(&named.workload).iter().map(move |s| (named, s)));
        each.map(|(named, sizes)| (of(named, sizes), sizes.mean()))
            .fold((0, 0.0), |(objects, bytes), (n, mean)| (objects + n, n as f64 * mean + bytes))
    }

    /// What calls outside of points keep to: the cap, or the lowest rate of an open loop.
    pub(crate) fn cap(&self, work: &Work) -> Option<Rate> {
        match &self.levels {
            Levels::Rates { all, .. } => all.first().copied().map(Rate::Requests),
            _ => work.max_rate,
        }
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
fn parse_mix(text: &str) -> Result<(String, [u32; Op::COUNT]), Failure> {
    let fail =
        |why: &str| Failure::usage(format!("invalid mix {text:?}: {why}, such as get=45,stat=30,put=15,delete=10"));
    let mut weights = [0u32; Op::COUNT];
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (op, weight) = part.split_once('=').ok_or_else(|| fail("write OP=WEIGHT pairs"))?;
        let op: Op = op.parse().map_err(Failure::usage)?;
        let weight = weight.trim().parse().ok().filter(|&w: &u32| w <= 1_000_000);
        weights[op.index()] = weight.ok_or_else(|| fail("a weight is a whole number up to 1000000"))?;
    }
    if weights.iter().all(|&w| w == 0) {
        return Err(fail("give at least one weight above 0"));
    }
    if weights[Op::Delete.index()] > weights[Op::Put.index()] + weights[Op::Multipart.index()] {
        return Err(fail("delete may not exceed put and multipart, since only objects of the run are deleted"));
    }
    let parts: Vec<String> =
        Op::ALL.iter().filter(|o| weights[o.index()] > 0).map(|o| format!("{o}={}", weights[o.index()])).collect();
    Ok((format!("mixed {}", parts.join(",")), weights))
}

/// Whether the concurrencies of closed loops are given, and not searched.
pub(crate) fn is_given(work: &Work) -> bool {
    !work.is_open() && work.concurrent.trim() != SEARCHED
}

fn levels(work: &Work) -> Result<Levels, Failure> {
    let text = work.concurrent.trim();
    if !work.is_open() {
        return match text {
            SEARCHED => Ok(Levels::Searched(work.max_concurrent)),
            _ => concurrencies(text).map(Levels::Given),
        };
    }
    let concurrency = match text {
        SEARCHED => CONCURRENCY_OPEN,
        _ => match concurrencies(text)?.as_slice() {
            [one] => *one,
            _ => {
                let why = "an open loop takes one number, the most requests in flight";
                return Err(Failure::usage(format!("invalid concurrency {text:?}: {why}")));
            }
        },
    };
    match (&work.rate, work.max_rate) {
        (Some(text), _) => Ok(Levels::Rates { concurrency, all: rates(text)? }),
        (None, None) => Ok(Levels::HighestRate { concurrency, highest_per_s: RATE_MAX }),
        (None, Some(Rate::Requests(highest_per_s))) => Ok(Levels::HighestRate { concurrency, highest_per_s }),
        (None, Some(rate)) => {
            let why = "--slo searches in requests per second, such as 500/s";
            Err(Failure::usage(format!("invalid --max-rate {rate}: {why}")))
        }
    }
}

/// Reads `500/s` and `100/s,200/s`.
fn rates(text: &str) -> Result<Vec<f64>, Failure> {
    let fail =
        || Failure::usage(format!("invalid rate {text:?}: write requests per second such as 500/s or 100/s,200/s"));
    let mut all = Vec::new();
    for part in text.split(',').filter(|p| !p.trim().is_empty()) {
        match part.parse() {
            Ok(Rate::Requests(per_s)) if per_s <= RATE_MAX => all.push(per_s),
            _ => return Err(fail()),
        }
    }
    all.sort_by(f64::total_cmp);
    all.dedup();
    if all.is_empty() { Err(fail()) } else { Ok(all) }
}

/// Reads `16`, `1,2,4` and `1..64` (doubling, its end included).
fn concurrencies(text: &str) -> Result<Vec<u32>, Failure> {
    let fail = || {
        Failure::usage(format!(
            "invalid concurrency {text:?}: write a number from 1 to {CONCURRENCY_MAX}, a list 1,2,4 or \
             a doubling sweep 1..64, or auto"
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

/// Objects to write beforehand for operations that read.
pub(crate) fn read_set_objects(work: &Work, sizes: &Sizes) -> u64 {
    let fitting = (READ_SET_BYTES / sizes.mean().max(1.0)) as u64;
    work.objects.unwrap_or(fitting.clamp(16, 1_000))
}

/// Objects to write beforehand for one point of deletes.
pub(crate) fn delete_set_objects(work: &Work) -> u64 {
    work.objects.unwrap_or(DELETE_SET_OBJECTS)
}

/// The load and what it writes in words, for whoever must consent to it.
pub(crate) fn in_words(grid: &Grid, work: &Work) -> String {
    format!("{} would load it {}; {}", what_in_words(grid), cap_in_words(grid, work), written_in_words(grid, work))
}

/// The load in words.
pub(crate) fn load_in_words(grid: &Grid, work: &Work) -> String {
    format!("{}, {}", what_in_words(grid), cap_in_words(grid, work))
}

fn cap_in_words(grid: &Grid, work: &Work) -> String {
    match &grid.levels {
        Levels::Rates { all, .. } => {
            format!("with up to {} requests per second", count(all.last().copied().unwrap_or(0.0)))
        }
        _ if work.max_rate.is_some() => "capped by --max-rate".to_owned(),
        _ => "as fast as it can".to_owned(),
    }
}

fn what_in_words(grid: &Grid) -> String {
    let names: Vec<&str> = grid.workloads.iter().map(|w| w.name.as_str()).collect();
    let (names, most) = (names.join(", "), grid.levels.highest());
    let all_sizes = grid.workloads.iter().flat_map(|named| grid.sizes_of(&named.workload));
    let largest = Bytes(all_sizes.map(Sizes::max).max().unwrap_or(0));
    let series = grid.series().len();
    let what = match &grid.levels {
        Levels::Given(all) => format!("{} points of {names}", series * all.len()),
        Levels::Rates { all, .. } => format!("{} points of {names}", series * all.len()),
        Levels::HighestRate { .. } => format!("{series} searches for the highest rate of {names}"),
        Levels::Searched(_) => format!("{series} searches for the knee of {names}"),
    };
    format!("{what} with up to {most} requests in flight and objects up to {largest}")
}

/// What would be written, in words.
pub(crate) fn written_in_words(grid: &Grid, work: &Work) -> String {
    let (objects, bytes) = grid.beforehand(work);
    let beforehand = (objects > 0).then(|| {
        let deletes = grid.workloads.iter().any(|named| named.workload == Workload::Single(Op::Delete));
        let again = if deletes { ", those to delete anew for each point" } else { "" };
        format!("{} in {objects} objects beforehand{again}", bytes_iec(bytes))
    });
    let writing: Vec<&str> =
        grid.workloads.iter().filter(|named| named.workload.writes()).map(|named| named.name.as_str()).collect();
    let load = (!writing.is_empty()).then(|| format!("by {} what the target takes in its time", writing.join(", ")));
    let all: Vec<String> = beforehand.into_iter().chain(load).collect();
    let end = if work.noclear { "which stays" } else { "which is deleted again" };
    if all.is_empty() {
        "nothing would be written".to_owned()
    } else {
        format!("written: {}, {end}", all.join(" and "))
    }
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
        assert_eq!(parse_mix("put=1, get=3").unwrap(), ("mixed get=3,put=1".into(), [3, 1, 0, 0, 0, 0, 0]));
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
        let series = grid.series();
        assert_eq!((series.len(), grid.levels), (4, Levels::Given(vec![1, 2])));
        assert_eq!((series[0].workload.as_str(), series[0].size.as_str()), ("put", "1KiB"));
        assert_eq!((series[3].workload.as_str(), series[3].size.as_str()), ("get", "2KiB"));
        assert!(Grid::parse(&work("--op copy")).is_err());
    }

    #[test]
    fn rates_make_an_open_loop_with_a_bound_on_requests_in_flight() {
        let levels = |flags: &str| Grid::parse(&work(flags)).map(|grid| grid.levels).map_err(|e| e.to_string());
        let rates = |concurrency, all: &[f64]| Ok(Levels::Rates { concurrency, all: all.to_vec() });
        assert_eq!(levels("--rate 200/s,0.1k/s,200"), rates(1024, &[100.0, 200.0]));
        assert_eq!(levels("--rate 5 --concurrent 8"), rates(8, &[5.0]));
        assert_eq!(levels("--rate 5 --slo p99=1s"), rates(1024, &[5.0]));
        let search = |highest_per_s| Ok(Levels::HighestRate { concurrency: 1024, highest_per_s });
        assert_eq!(levels("--slo p99=1s"), search(RATE_MAX));
        assert_eq!(levels("--slo p99=1s --max-rate 700/s"), search(700.0));
        let open = work("--rate 300,200");
        assert_eq!(Grid::parse(&open).unwrap().cap(&open), Some(Rate::Requests(200.0)));
        for (flags, part) in [
            ("--rate 1MiB/s", "\"1MiB/s\""),
            ("--rate 0/s", "500/s"),
            ("--rate 1/s,x", "\"1/s,x\""),
            ("--rate 100000000/s", "500/s"),
            ("--rate 5 --concurrent 1,2", "one number"),
            ("--slo p99=1s --max-rate 5MiB/s", "--slo"),
        ] {
            let error = levels(flags).unwrap_err();
            assert!(error.contains(part), "{flags}: {error}");
        }
    }

    #[test]
    fn the_knee_is_searched_unless_concurrencies_are_given() {
        let searched = Grid::parse(&work("--op get --max-concurrent 32")).unwrap();
        assert_eq!(searched.levels, Levels::Searched(32));
        assert!(in_words(&searched, &work("")).contains("2 searches for the knee of get with up to 32"));
        let many = vec!["1KiB"; 50].join(",");
        let error = Grid::parse(&work(&format!("--op get,put --obj.size {many}"))).map(|g| g.series().len());
        assert!(error.is_err() || error.is_ok_and(|n| n < 86), "a run holds 4096 points");
    }

    #[test]
    fn what_moves_no_bodies_has_one_small_size_unless_told_otherwise() {
        let sizes = |flags: &str| {
            let series = Grid::parse(&work(flags)).unwrap().series();
            series.iter().map(|s| format!("{} {}", s.workload, s.size)).collect::<Vec<_>>().join(", ")
        };
        for op in ["stat", "delete", "list"] {
            assert_eq!(sizes(&format!("--op {op}")), format!("{op} 4KiB"));
            assert_eq!(sizes(&format!("--op {op} --obj.size 1MiB,2MiB")), format!("{op} 1MiB, {op} 2MiB"));
        }
        assert_eq!(sizes("--op get,stat"), "get 64KiB, get 4MiB, stat 4KiB");
    }

    #[test]
    fn what_would_be_written_is_told_before() {
        for (flags, told) in [
            ("--op get --concurrent 2", "written: 574 MiB in 1128 objects beforehand, which is deleted again"),
            ("--op stat --noclear", "written: 3.91 MiB in 1000 objects beforehand, which stays"),
            ("--op delete", "19.5 MiB in 5000 objects beforehand, those to delete anew for each point"),
            ("--op put --obj.size 1MiB", "written: by put what the target takes in its time, which is deleted again"),
            ("--op get,put --obj.size 1MiB --objects 10", "10.0 MiB in 10 objects beforehand and by put what"),
            ("--op get --list-existing", "nothing would be written"),
        ] {
            let work = work(flags);
            let grid = Grid::parse(&work).unwrap();
            assert!(in_words(&grid, &work).contains(told), "{flags}: {}", in_words(&grid, &work));
        }
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
