//! What is asked of a bench, and the cells that it visits.

use std::path::PathBuf;
use std::time::Duration;

use super::Failure;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const SIZES_BYTES: [u64; 5] = [4 * KIB, 64 * KIB, MIB, 4 * MIB, 64 * MIB];
const QUICK_SIZES_BYTES: [u64; 3] = [4 * KIB, MIB, 64 * MIB];
/// Over TLS, what counts is the cost of bytes.
const TLS_SIZE_BYTES: u64 = 4 * MIB;

pub(super) const USAGE: &str =
    "usage: cargo labs bench [--quick] [--rounds N] [--seconds S] [--limit S] [--out DIR] [--data DIR] \
                     [--only WORDS]
  --quick       3 rounds of 1 s over 3 sizes, without warp
  --rounds N    rounds over all cells (5)
  --seconds S   whole seconds that each client is measured in each round and cell (3)
  --limit S     begin nothing after so many seconds (1620; quick 210)
  --out DIR     where results go (runs/bench-<date>)
  --data DIR    where MinIO's folders go (/dev/shm where it has room, else the temporary folder)
  --only WORDS  only cells whose name contains WORDS, such as 'MinIO GET' or '4 KiB'
MINIO=path names the server, else it is sought on PATH and in target/servers; WARP=path adds warp,
BEFORE=path another build of linerate, such as that of an earlier tree.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum TargetKind {
    MinIo,
    Null,
    NullTls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Op {
    Get,
    Put,
}

/// One place of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Cell {
    pub(super) target: TargetKind,
    pub(super) op: Op,
    pub(super) size_bytes: u64,
}

pub(super) struct Options {
    pub(super) rounds: usize,
    pub(super) seconds: u64,
    pub(super) limit: Duration,
    pub(super) out: Option<PathBuf>,
    pub(super) data: Option<PathBuf>,
    pub(super) only: Option<String>,
    pub(super) quick: bool,
}

impl Options {
    pub(super) fn parse(args: &[String]) -> Result<Options, Failure> {
        let quick = args.iter().any(|arg| arg == "--quick");
        let (rounds, seconds, limit_s) = if quick { (3, 1, 210) } else { (5, 3, 1620) };
        let limit = Duration::from_secs(limit_s);
        let mut options = Options { rounds, seconds, limit, out: None, data: None, only: None, quick };
        let mut args = args.iter().filter(|arg| *arg != "--quick");
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{flag} lacks its value\n{USAGE}"));
            match flag.as_str() {
                "--rounds" => options.rounds = usize::try_from(number(flag, value()?, 1..=100)?)?,
                "--seconds" => options.seconds = number(flag, value()?, 1..=60)?,
                "--limit" => options.limit = Duration::from_secs(number(flag, value()?, 1..=86_400)?),
                "--out" => options.out = Some(value()?.into()),
                "--data" => options.data = Some(value()?.into()),
                "--only" => options.only = Some(value()?.clone()),
                _ => return Err(format!("unknown argument {flag:?}\n{USAGE}").into()),
            }
        }
        if options.cells().is_empty() {
            let cells = Options { only: None, ..options }.cells();
            let names: Vec<String> = cells.iter().map(ToString::to_string).collect();
            return Err(format!("--only fits no cell; cells are {}", names.join(", ")).into());
        }
        Ok(options)
    }

    pub(super) fn sizes(&self) -> &'static [u64] {
        if self.quick { &QUICK_SIZES_BYTES } else { &SIZES_BYTES }
    }

    /// All cells asked for, in the order in which a round visits them.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for target in [TargetKind::MinIo, TargetKind::Null] {
            for op in [Op::Get, Op::Put] {
                cells.extend(self.sizes().iter().map(|&size_bytes| Cell { target, op, size_bytes }));
            }
        }
        let over_tls = |op| Cell { target: TargetKind::NullTls, op, size_bytes: TLS_SIZE_BYTES };
        cells.extend([Op::Get, Op::Put].map(over_tls));
        cells.retain(|cell| self.only.as_ref().is_none_or(|words| cell.to_string().contains(words.as_str())));
        cells
    }

    /// Objects of this size: enough to spread, few enough to be written in a moment.
    pub(super) fn objects(&self, size_bytes: u64) -> u64 {
        (512 * MIB / size_bytes).clamp(8, 64)
    }
}

impl TargetKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            TargetKind::MinIo => "MinIO",
            TargetKind::Null => "null",
            TargetKind::NullTls => "null TLS",
        }
    }
}

impl Cell {
    /// Whether cost is told per request; per GiB otherwise.
    pub(super) fn per_request(self) -> bool {
        self.size_bytes <= 64 * KIB
    }

    pub(super) fn unit(self) -> &'static str {
        if self.per_request() { "µs/request" } else { "s/GiB" }
    }

    pub(super) fn say_cost(self, cost: f64) -> String {
        format!("{} {}", self.digits(cost), self.unit())
    }

    pub(super) fn digits(self, cost: f64) -> String {
        if self.per_request() { format!("{cost:.1}") } else { format!("{cost:.4}") }
    }
}

pub(super) fn number(flag: &str, value: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, Failure> {
    match value.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("{flag} {value:?}: expected a whole number from {} to {}", range.start(), range.end()).into()),
    }
}

/// `4 KiB`, `1 MiB`.
pub(super) fn say_size(size_bytes: u64) -> String {
    if size_bytes >= MIB { format!("{} MiB", size_bytes / MIB) } else { format!("{} KiB", size_bytes / KIB) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &str) -> Result<Options, Failure> {
        Options::parse(&args.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn cells_are_two_targets_by_two_operations_by_the_sizes_and_one_size_over_tls() {
        for (args, cells) in
            [("", 22), ("--quick", 14), ("--only GET", 11), ("--only null --quick", 8), ("--only TLS", 2)]
        {
            assert_eq!(parse(args).unwrap().cells().len(), cells, "{args:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_quoted() {
        for (args, quoted) in
            [("--rounds 0", "\"0\""), ("--colour", "--colour"), ("--out", "--out"), ("--only x", "4 KiB")]
        {
            let error = parse(args).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(quoted), "{args:?}: {error}");
        }
    }
}
