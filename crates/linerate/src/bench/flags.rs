//! Flags of `linerate bench`, each with its text and its default.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use linerate_record::canary::AbortRules;
use linerate_record::load::stops::parse_canary_rate;
use linerate_record::load::{Choice as _, ErrorLimit, Payload, Precision, Spacing, Unique, WarmUp, Write};
use linerate_record::slo::Slo;
use linerate_record::units::{Bytes, Rate, parse_duration};

use crate::credentials::Keys;
use crate::endpoint::flags::TargetChoice;
use crate::failure::Failure;
use crate::offered;

const BENCH_EXAMPLES: &str = "\
Examples:
  linerate bench
      measures the embedded S3 target: no server, no credentials, nothing left behind
  AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… linerate bench --host 'minio-{1...4}:9000' --yes-load
      measures a cluster of four, GET and PUT at 64 KiB and 4 MiB, with as many requests in flight as it takes
  linerate bench --host localhost:9000 --op get --obj.size 1MiB --concurrent 16 --duration 30s --verify
      one point, every byte compared with what was written
  linerate bench --host localhost:9000 --op get --obj.size 64KiB --rate 100/s,200/s --arrivals poisson
      an open loop: latencies that hide no wait, at two rates
  linerate bench --host localhost:9000 --op get --obj.size 64KiB --slo p99=50ms
      the highest rate at which 99 of 100 requests take no longer than 50 ms
  linerate bench --op mixed --mix get=45,stat=30,put=15,delete=10 --obj.size 4096:10740,8192:1685
  linerate bench --op multipart --obj.size 1GiB --part.size 64MiB --part.concurrent 4 --payload unsigned-trailer
      objects uploaded in parts, as current AWS SDKs do; latencies of objects, and of parts in the page and the JSON

What it writes: objects whose keys begin with PREFIXlinerate-RUN-xxxxxxxx/ only (a PREFIX that is to be a folder ends
with a slash), deleted again after each point. It deletes nothing else.
Memory: 30 KiB per host, operation and thread for latencies, 60 KiB in an open loop; a 256 KiB body pool, and up to
2 MiB of hash states for random sizes; buffers of 0.5 MiB per thread, 1 MiB and up to 150 KiB per connection with TLS;
the intervals of a point when it ends, and twice those of the run when it is reported (see Disk).
Disk: intervals are lengthened, down to four a point, so that those of a run fit 256 MiB at 4 KiB a row (a usual one has
0.5 to 3); run.json states what the largest rows could take.

Exit codes:
  0    measured
  1    this machine failed: a file, a process, a thread
  2    bad usage: every mistake of the command line and of --config at once
  3    the target could not be reached, refused the calls before the load, or kept what was to be deleted
  4    one percent or more of the requests of a point failed, a body was wrong, or the target was lost
  5    --slo or --abort-if was missed, or not shown to be kept
  130  interrupted; what was measured until then is in the run folder";

#[derive(Args, Debug)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct BenchFlags {
    /// Flags from a YAML file in the layout of warp's `run`, where its keys mean the same. Flags given beside it go
    /// before those of the file, and those before the environment.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The whole load as JSON on standard input, as one linerate tells another what to do.
    #[arg(long, value_name = "-", hide = true, value_parser = ["-"], conflicts_with = "config")]
    pub(crate) description: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetChoice,
    #[command(flatten)]
    pub(crate) keys: Keys,
    #[command(flatten)]
    pub(crate) work: WorkFlags,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Which of them were given, as the reader of the command line notes.
    #[arg(skip)]
    pub(crate) given: GivenFlags,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Work")]
pub(crate) struct WorkFlags {
    /// Operations, each measured on its own: get, put, multipart (objects uploaded in parts), stat (head), delete,
    /// list; or mixed.
    #[arg(long, value_name = "LIST", default_value = "get,put")]
    pub(crate) op: String,
    /// Weights of `--op mixed`. Reports name a mix by percent, where these are whole numbers.
    #[arg(long, value_name = "OP=WEIGHT,…", default_value = "get=45,stat=30,put=15,delete=10")]
    pub(crate) mix: String,
    #[command(flatten)]
    pub(crate) distrib: Distrib,
    /// Object sizes: a list (`64KiB,4MiB`), `random:4KiB-1MiB`, `lognormal:256KiB/1.5` (median, and the standard
    /// deviation of the natural logarithm; cut at 1 byte and 5 GiB), or one weighted distribution
    /// (`4096:10740,8192:1685`). [default: 64KiB,4MiB; 4KiB for stat, delete and list, which move no bodies]
    #[arg(long = "obj.size", value_name = "SIZES", allow_negative_numbers = true)]
    pub(crate) obj_size: Option<String>,
    /// Read ranges of this length in place of whole objects, at random multiples of it.
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) range_size: Option<Bytes>,
    /// Requests in flight over all hosts: `auto` searches the knee, the least that give 95 % of the best throughput; or
    /// a number, a list, or a doubling sweep `1..64`. A search takes at most twelve times --duration per operation and
    /// size.
    #[arg(long, value_name = "auto|LIST", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) concurrent: String,
    /// Open loop: so many requests fall due per second over all threads and hosts (`500/s`, or a list `100/s,200/s`),
    /// whether or not those before were answered. Latencies are reported from when a request was due, and from when it
    /// started; --concurrent is the most in flight [default: 1024], and points take their whole --duration. Without it,
    /// a closed loop: a request follows as soon as one ends.
    #[arg(long, value_name = "LIST", conflicts_with = "max_rate", allow_negative_numbers = true)]
    pub(crate) rate: Option<String>,
    /// How the requests of an open loop are spaced. [default: constant]
    #[arg(long, value_parser = offered::spacings())]
    pub(crate) arrivals: Option<Spacing>,
    /// Bounds on latencies from when requests were due, such as `p99=50ms` or `p50=5ms,p99.9=1s`. Searches the highest
    /// rate at which all hold, up to --max-rate, and ends with code 5 where none is shown to. With --rate, a check:
    /// ends with code 5 where one of these rates misses, or requests are too few to show that it holds (a p99 takes
    /// 400).
    #[arg(long, value_name = "BOUNDS")]
    pub(crate) slo: Option<Slo>,
    /// Most requests in flight that the search tries.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) max_concurrent: u32,
    /// Length of the parts of multipart uploads, but for the last: 5 MiB to 5 GiB.
    #[arg(long = "part.size", value_name = "SIZE", default_value = "16MiB", allow_negative_numbers = true)]
    pub(crate) part_size: Bytes,
    /// Parts of one object in flight at once. Each takes one of --concurrent, so that fewer objects are under way.
    #[arg(long = "part.concurrent", value_name = "N", default_value = "1", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) part_concurrent: u32,
    /// Longest time of each point. A warm-up that is found is part of it, one that is given comes before. [default: 30s
    /// where --concurrent is given and --precision may end a point sooner; 10s otherwise]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) duration: Option<Duration>,
    /// Warm-up of each point, which is part of no figure: `auto` finds it in what was measured (MSER-5); or a time.
    #[arg(long, value_name = "auto|TIME", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) warmup: WarmUp,
    /// A point ends as soon as its throughput is known this well, after 10 s at the soonest: half its 95 % confidence
    /// interval, as a share of the mean. `none` takes the whole --duration.
    #[arg(long, value_name = "SHARE", default_value = "2%", allow_negative_numbers = true)]
    pub(crate) precision: Precision,
    /// Objects written beforehand per size, for operations that read; per point for delete. [default: 512 MiB worth,
    /// 16 to 1000; 5000 for delete]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) objects: Option<u64>,
    /// How objects are written beforehand: with one PUT each, or in parts.
    #[arg(long, value_parser = offered::writes(), default_value = Write::Put.name())]
    pub(crate) write: Write,
    /// Read objects that are in the bucket already, below --prefix, in place of writing some. Never deletes them.
    #[arg(long)]
    pub(crate) list_existing: bool,
    /// Leave the objects that the run wrote.
    #[arg(long, alias = "keep-data")]
    pub(crate) noclear: bool,
    /// Compare every byte read with what was written.
    #[arg(long)]
    pub(crate) verify: bool,
    /// How the body of a PUT, or of a part, is sent, and what vouches for it: the value of `x-amz-content-sha256`.
    #[arg(long, value_parser = offered::payloads(), default_value = Payload::Signed.name())]
    pub(crate) payload: Payload,
    /// Bytes that make each body unique: the last 16 (`tail`), or a word of every block, against targets that
    /// deduplicate or compress (`full`; costs a pass over the body, two when it is signed).
    #[arg(long, value_parser = offered::uniques(), default_value = Unique::Tail.name())]
    pub(crate) unique: Unique,
    /// Cap on a closed loop: requests (`500/s`) or body bytes (`200MiB/s`) per second. With --slo, the highest rate
    /// that is tried.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub(crate) max_rate: Option<Rate>,
    /// Longest time for one request, and for one call before and after the load; one that deletes many objects gets a
    /// minute where this is less.
    #[arg(long, value_parser = parse_duration, default_value = "60s", allow_negative_numbers = true)]
    pub(crate) timeout: Duration,
    /// Times that a request is made again after a failed connection, a timeout, 408, 429 or 5xx. Its latency then
    /// counts from its first attempt; failed attempts are counted by kind, apart from errors.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) retries: u32,
    /// End the run once more than so many requests (`100`), or more than such a share of at least a hundred (`1%`),
    /// have failed at a point. Ends with code 4.
    #[arg(long, value_name = "N|P%", allow_negative_numbers = true)]
    pub(crate) error_limit: Option<ErrorLimit>,
    /// End the run as soon as a canary exceeds one of these bounds, such as `p99>200ms` or `p50>20ms,errors>1%`: a
    /// trickle of small requests beside the load, from before it on, that stands for other users of the target. A
    /// bound that is just kept ends a run once in three million of them. At the end of the run, all of them are judged
    /// together. Ends with code 5.
    #[arg(long, value_name = "BOUNDS")]
    pub(crate) abort_if: Option<AbortRules>,
    /// Requests of the canary per second.
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_canary_rate, allow_negative_numbers = true)]
    pub(crate) canary_rate: f64,
    /// Event-loop threads. [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) threads: Option<u32>,
}

/// warp's way to write `--mix`.
#[derive(Args, Debug)]
pub(crate) struct Distrib {
    /// Weight of GET in `--op mixed`, in place of --mix; what is not named keeps its default.
    #[arg(long, value_name = "WEIGHT", conflicts_with = "mix", allow_negative_numbers = true)]
    pub(crate) get_distrib: Option<f64>,
    /// Weight of STAT in `--op mixed`.
    #[arg(long, value_name = "WEIGHT", conflicts_with = "mix", allow_negative_numbers = true)]
    pub(crate) stat_distrib: Option<f64>,
    /// Weight of PUT in `--op mixed`.
    #[arg(long, value_name = "WEIGHT", conflicts_with = "mix", allow_negative_numbers = true)]
    pub(crate) put_distrib: Option<f64>,
    /// Weight of DELETE in `--op mixed`, at most that of PUT.
    #[arg(long, value_name = "WEIGHT", conflicts_with = "mix", allow_negative_numbers = true)]
    pub(crate) delete_distrib: Option<f64>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Run folder, which must not exist yet. [default: runs/DATE-TIME-OPS]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// What the run is about, for people: stands above its report.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Description of the cluster that is loaded, as linerate plan reads it: the report draws what it can do under what
    /// was measured. The folder keeps it.
    #[arg(long, value_name = "FILE")]
    pub(crate) site: Option<PathBuf>,
    /// Print nothing but errors.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Address on which OpenMetrics are served at /metrics while the run goes on, such as 127.0.0.1:9091; port 0 takes
    /// a free one. Whoever reaches the address can read them.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Tell what would be measured, written and deleted, and how long it takes, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not measure the client ceiling against the null target first.
    #[arg(long)]
    pub(crate) no_ceiling: bool,
}

/// What who reads a command line of bench does with its flags: it may change them, and says what is wrong with them.
pub(crate) type Judge<'a> = &'a dyn Fn(&mut BenchFlags) -> Result<(), Failure>;

/// Reads a command line of bench, and has it judged. What reads command lines knows every verb, so that a verb is
/// handed it.
pub(crate) type Reader = fn(&[OsString], Judge<'_>) -> Result<Box<BenchFlags>, Failure>;

/// Who gave a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagSource {
    /// It stands on the command line.
    Typed,
    /// A file of flags has it.
    InFile,
}

/// Flags that were given, by their ids, and who gave each.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenFlags(pub(crate) BTreeMap<String, FlagSource>);

impl GivenFlags {
    pub(crate) fn get(&self, id: &str) -> Option<FlagSource> {
        self.0.get(id).copied()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn examples_of_the_help_parse() {
        let lines: Vec<&str> = BENCH_EXAMPLES.lines().filter(|l| l.contains("linerate bench")).collect();
        assert!(lines.len() > 3, "{BENCH_EXAMPLES}");
        for line in lines {
            let (_, flags) = line.split_once("linerate bench").unwrap();
            let words = flags.split_whitespace().map(|w| w.trim_matches('\''));
            Cli::try_parse_from(["linerate", "bench"].into_iter().chain(words))
                .unwrap_or_else(|e| panic!("{line}: {e}"));
        }
    }
}
