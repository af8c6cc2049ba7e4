//! Flags of `linerate bench`, each with its text and its default.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use linerate_record::canary::AbortRules;
use linerate_record::load::stops::parse_canary_rate;
use linerate_record::load::{Choice as _, ErrorLimit, OBJECTS_MAX, Payload, Precision, Spacing, Unique, WarmUp, Write};
use linerate_record::slo::Slo;
use linerate_record::threshold::Threshold;
use linerate_record::units::{Bytes, Rate, parse_duration};

use crate::credentials::endpoint::flags::TargetChoice;
use crate::credentials::keys::Keys;
use crate::remote::node_access::flags::ReachFlags;
use crate::terminal::choice_flags;
use crate::terminal::failure::Failure;

const EXAMPLES_HELP: &str = "\
Examples:
  linerate bench
      measures the embedded S3 target: no server, no credentials, nothing left behind
  AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… linerate bench --host 'minio-{1...4}:9000' --yes-load
      measures a cluster of four, GET and PUT at 64 KiB and 4 MiB, and searches for the best concurrency
  linerate bench --host localhost:9000 --op get --obj.size 1MiB --concurrent 16 --duration 30s --verify
      one point, every byte compared with what was written
  linerate bench --host localhost:9000 --op get --obj.size 64KiB --rate 100/s,200/s --arrivals poisson
      an open loop at two rates: latencies include the time that requests wait to be sent
  linerate bench --host localhost:9000 --op get --obj.size 64KiB --slo p99=50ms
      the highest rate at which 99 % of requests take at most 50 ms
  linerate bench --fleet fleet.yaml --clients 1,2,4 --host 'minio-{1...4}:9000' --yes-load --op get --concurrent 64
      the same load from 1, 2 and 4 machines, each with 64 requests in flight
  linerate bench --op mixed --mix get=45,stat=30,put=15,delete=10 --obj.size 4096:10740,8192:1685
  linerate bench --op multipart --obj.size 1GiB --part.size 64MiB --part.concurrent 4 --payload unsigned-trailer
      objects uploaded in parts, as current AWS SDKs do; the HTML page and the JSON have latencies of parts too

What it writes: only objects whose keys begin with PREFIXlinerate-RUN-xxxxxxxx/ (end PREFIX with a slash to make it a
folder). It deletes them after each point, and deletes nothing else.
Memory: 30 KiB per host, operation and thread for latencies, 60 KiB in an open loop; a 256 KiB body pool, and up to
2 MiB of hash states for random sizes; buffers of 0.5 MiB per thread, 1 MiB and up to 150 KiB per connection with TLS;
the intervals of a point when it ends, and twice those of the run when it is reported (see Disk).
Disk: intervals are long enough (at least four per point) to keep a run within 256 MiB, at 4 KiB per row; a typical row
has 0.5 to 3 KiB. run.json states the size that the largest possible rows would take.

Exit codes:
  0    measured
  1    this machine failed: a file, a process, a thread
  2    bad usage: every mistake of the command line and of --config at once
  3    the target or a client of --fleet could not be reached, all clients were lost, or one was with --require-all or
       while objects were written beforehand; the target refused the calls before the load, or did not delete the
       run's objects
  4    1 % or more of a point's requests failed, a body was wrong, objects missing or unchecked, or the target lost
  5    a bound of --slo, --abort-if or --fail-if was missed, or not shown to be met
  8    disturbed by other load: this machine's other programs, or its hypervisor, left points without an answer
  130  interrupted; the run folder has all measurements so far";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES_HELP)]
pub(crate) struct BenchFlags {
    /// Flags from a YAML file in the layout of warp's `run`; its keys have the same meaning. Flags on the command line
    /// override the file, and the file overrides the environment.
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
    pub(crate) fleet: FleetChoice,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Which of them were given, as the reader of the command line notes.
    #[arg(skip)]
    pub(crate) given: FlagSources,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Work")]
pub(crate) struct WorkFlags {
    /// Operations, each measured on its own: get, put, multipart (objects uploaded in parts), stat (head), delete,
    /// list; or mixed.
    #[arg(long, value_name = "LIST", default_value = "get,put")]
    pub(crate) op: String,
    /// Weights of `--op mixed`. Reports show a mix in percent if these are whole numbers.
    #[arg(long, value_name = "OP=WEIGHT,…", default_value = "get=45,stat=30,put=15,delete=10")]
    pub(crate) mix: String,
    #[command(flatten)]
    pub(crate) distrib: Distrib,
    /// Object sizes: a list (`64KiB,4MiB`), `random:4KiB-1MiB`, `lognormal:256KiB/1.5` (median, and the standard
    /// deviation of the natural logarithm; cut at 1 byte and 5 GiB), or one weighted distribution
    /// (`4096:10740,8192:1685`). [default: 64KiB,4MiB; 4KiB for stat, delete and list, which move no bodies]
    #[arg(long = "obj.size", value_name = "SIZES", allow_negative_numbers = true)]
    pub(crate) obj_size: Option<String>,
    /// Read ranges of this length instead of whole objects, at random multiples of it.
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(crate) range_size: Option<Bytes>,
    /// Requests in flight over all hosts: `auto` searches for the knee, the lowest concurrency that gives 95 % of the
    /// best throughput; or a number, a list, or a doubling sweep `1..64`, per client with --fleet.
    #[arg(long, value_name = "auto|LIST", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) concurrent: String,
    /// Requests due per second over all threads and hosts, an open loop (`500/s`, or a list `100/s,200/s`),
    /// whether or not earlier ones were answered. Latencies are reported from when a request was due, and from when it
    /// started; --concurrent is the maximum in flight [default: 1024]. With
    /// --fleet, the rate is that of all clients together, each of which takes an even share. Without this flag, the
    /// load is a closed loop: the next request starts as soon as one ends.
    #[arg(long, value_name = "LIST", conflicts_with = "max_rate", allow_negative_numbers = true)]
    pub(crate) rate: Option<String>,
    /// How the requests of an open loop are spaced. [default: constant]
    #[arg(long, value_parser = choice_flags::spacings())]
    pub(crate) arrivals: Option<Spacing>,
    /// Bounds on latencies from when requests were due, such as `p99=50ms` or `p50=5ms,p99.9=1s`. Searches for the
    /// highest rate at which all of them hold, up to --max-rate, and ends with code 5 if no rate is shown to meet them.
    /// With --rate, checks these rates: ends with code 5 if one of them misses a bound, or has too few requests to show
    /// that it holds (a p99 takes 400).
    #[arg(long, value_name = "BOUNDS")]
    pub(crate) slo: Option<Slo>,
    /// Highest concurrency that the search tries, per client with --fleet.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) max_concurrent: u32,
    /// Length of the parts of multipart uploads, except the last: 5 MiB to 5 GiB.
    #[arg(long = "part.size", value_name = "SIZE", default_value = "16MiB", allow_negative_numbers = true)]
    pub(crate) part_size: Bytes,
    /// Parts of one object in flight at once. Each part counts towards --concurrent, so fewer objects are in progress.
    #[arg(long = "part.concurrent", value_name = "N", default_value = "1", allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) part_concurrent: u32,
    /// Time that all measurements of one operation and size take together. It is spent in rounds: each concurrency, or
    /// each of --rate, is visited once per round, in random order, for 5 to 15 s. From six visits on, ± is a 95 %
    /// interval that covers what visits differ by; fewer are a quick look. 12m gives six visits to twelve
    /// concurrencies. [default: 2m, with --slo alone 3m; with --duration, one visit each, and twelve times --duration
    /// for a search]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) time: Option<Duration>,
    /// Duration of each visit, without a warm-up given with --warmup; a search for the knee divides it into three.
    /// Without --time, each concurrency or rate is visited once. [default: 10s, or what --time leaves for each]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_negative_numbers = true)]
    pub(crate) duration: Option<Duration>,
    /// Warm-up of each visit, excluded from all figures: a time before --duration; or `auto`, a tenth of the visit and
    /// at most 1 s, or longer if most visits of the operation and size begin otherwise than they go on.
    #[arg(long, value_name = "auto|TIME", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) warmup: WarmUp,
    /// Accepted for scripts of before: no point ends early any more. See --time.
    #[arg(long, value_name = "SHARE", default_value = "none", allow_negative_numbers = true, hide = true)]
    pub(crate) precision: Precision,
    #[command(flatten)]
    pub(crate) autoterm: AutoTerm,
    /// Objects written beforehand per size, for operations that read; per point for delete, for all clients together.
    /// With --list-existing, the most that are listed. [default: 512 MiB worth, 16 to 1000; 5000 for delete; 10000 with
    /// --list-existing]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=OBJECTS_MAX))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) objects: Option<u64>,
    /// How objects are written beforehand: with one PUT each, or in parts.
    #[arg(long, value_parser = choice_flags::writes(), default_value = Write::Put.name())]
    pub(crate) write: Write,
    /// Read objects that are already in the bucket, below --prefix, instead of writing new ones. Never deletes them.
    /// With --fleet, all clients list and read the same objects.
    #[arg(long)]
    pub(crate) list_existing: bool,
    /// Do not delete the objects that the run wrote.
    #[arg(long, alias = "keep-data")]
    pub(crate) noclear: bool,
    /// Compare every byte read with what was written.
    #[arg(long)]
    pub(crate) verify: bool,
    /// How the body of a PUT or a part is sent and authenticated: the value of `x-amz-content-sha256`.
    #[arg(long, value_parser = choice_flags::payloads(), default_value = Payload::Signed.name())]
    pub(crate) payload: Payload,
    /// Bytes that make each body unique: the last 16 (`tail`), or a word of every block (`full`), for targets that
    /// deduplicate or compress. `full` costs a pass over the body, or two if it is signed.
    #[arg(long, value_parser = choice_flags::uniques(), default_value = Unique::Tail.name())]
    pub(crate) unique: Unique,
    /// Cap on a closed loop: requests (`500/s`) or body bytes (`200MiB/s`) per second. With --slo, the highest rate
    /// that the search tries.
    #[arg(long, value_name = "RATE", allow_negative_numbers = true)]
    pub(crate) max_rate: Option<Rate>,
    /// Time limit of one request, and of one call before and after the load. A call deletes up to 1,000 objects, but at
    /// most one for each 20 ms of this time.
    #[arg(long, value_parser = parse_duration, default_value = "60s", allow_negative_numbers = true)]
    pub(crate) timeout: Duration,
    /// How often a request is retried after a failed connection, a timeout, 408, 429 or 5xx. Its latency counts from
    /// the first attempt; failed attempts are counted by kind, separately from errors.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) retries: u32,
    /// End the run, with code 4, once more requests of a point have failed than this number (`100`), or than this share
    /// of at least a hundred requests (`1%`).
    #[arg(long, value_name = "N|P%", allow_negative_numbers = true)]
    pub(crate) error_limit: Option<ErrorLimit>,
    /// End the run, with code 5, as soon as the canary exceeds one of these bounds, such as `p99>200ms` or
    /// `p50>20ms,errors>1%`. The canary is a trickle of small requests that represents other users of the target; it
    /// starts before the load and runs alongside it. A bound that is only just met ends one run in three million by
    /// chance. At the end of the run, all requests of the canary are judged together.
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
    /// Weight of GET in `--op mixed`, instead of --mix; other operations keep their default.
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

/// warp's automatic termination, which ends nothing here.
#[derive(Args, Debug)]
pub(crate) struct AutoTerm {
    /// warp's automatic termination: a series takes its --time instead.
    #[arg(long, hide = true)]
    pub(crate) autoterm: bool,
    /// warp's stable time: a series takes its --time instead.
    #[arg(long = "autoterm.dur", value_name = "TIME", value_parser = parse_duration, hide = true)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) autoterm_dur: Option<Duration>,
    /// warp's stable range, in percent: a series takes its --time instead.
    #[arg(long = "autoterm.pct", value_name = "PERCENT", value_parser = percent, hide = true)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) autoterm_pct: Option<f64>,
}

/// Reads `--autoterm.pct`.
fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim().trim_end_matches('%').parse().ok();
    percent.filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(|| "write percent such as 7.5".to_owned())
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Clients")]
pub(crate) struct FleetChoice {
    /// Load from the nodes with role client in this fleet file instead of from this machine, all at the same time.
    /// --concurrent and --threads are then per client; --rate and --max-rate are shared among them. Reads draw from one
    /// set of objects, the same for every number of clients; each client writes and deletes objects of its own. This
    /// machine must reach the target too: it creates the bucket, and lists and deletes objects.
    #[arg(long, value_name = "FLEET")]
    pub(crate) fleet: Option<PathBuf>,
    /// Numbers of clients to load from, one after the other: a list (`7,14,28`), the first ones in the fleet file; or
    /// `auto`, doubling from 1 to all. [default: all]
    #[arg(long, value_name = "auto|LIST", requires = "fleet")]
    pub(crate) clients: Option<String>,
    /// End the run if a client is lost. Without this flag, it continues with the others.
    #[arg(long, requires = "fleet")]
    pub(crate) require_all: bool,
    #[command(flatten)]
    pub(crate) reach: ReachFlags,
    /// Consent to running the commands in the fleet file.
    #[arg(long, requires = "fleet")]
    pub(crate) yes_exec: bool,
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
    /// Show every visit, and the readings and remedies behind each sentence. The HTML page and
    /// `linerate report RUN --why` have them anyway.
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) why: bool,
    /// Title of the run, shown at the top of its report.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Site file of the cluster under load, as for linerate plan: the report draws its predicted curve next to the
    /// measurements. The run folder keeps a copy.
    #[arg(long, value_name = "FILE")]
    pub(crate) site: Option<PathBuf>,
    /// Print only errors.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Address that serves OpenMetrics at /metrics during the run, such as 127.0.0.1:9091; port 0 takes a free port.
    /// Anyone who can reach the address can read them. With --fleet, counts are those of all clients together, without
    /// hosts and kinds of errors; latencies follow as clients send them, and the rest after each point.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// End with code 5 if this is true: `[OPERATION.]throughput<RATE`, `[OPERATION.]p99>TIME` (p50, p90, p99, p99.9; at
    /// the best throughput) or `[OPERATION.]errors>SHARE`. May be given several times.
    #[arg(long, value_name = "THRESHOLD")]
    pub(crate) fail_if: Vec<Threshold>,
    /// Show what would be measured, written and deleted, and how long it would take, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not measure the client ceiling against the null target first.
    #[arg(long)]
    pub(crate) no_ceiling: bool,
}

/// What who reads a command line of bench does with its flags: it may change them, and says what is wrong with them.
pub(crate) type FlagsCheck<'a> = &'a dyn Fn(&mut BenchFlags) -> Result<(), Failure>;

/// Reads a command line of bench, and has it judged. What reads command lines knows every verb, so that a verb is
/// handed it.
pub(crate) type BenchParser = fn(&[OsString], FlagsCheck<'_>) -> Result<Box<BenchFlags>, Failure>;

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
pub(crate) struct FlagSources(pub(crate) BTreeMap<String, FlagSource>);

impl FlagSources {
    pub(crate) fn get(&self, id: &str) -> Option<FlagSource> {
        self.0.get(id).copied()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::definition::Cli;

    #[test]
    fn examples_of_the_help_parse() {
        let lines: Vec<&str> = EXAMPLES_HELP.lines().filter(|l| l.contains("linerate bench")).collect();
        assert!(lines.len() > 3, "{EXAMPLES_HELP}");
        for line in lines {
            let (_, flags) = line.split_once("linerate bench").unwrap();
            let words = flags.split_whitespace().map(|w| w.trim_matches('\''));
            Cli::try_parse_from(["linerate", "bench"].into_iter().chain(words))
                .unwrap_or_else(|e| panic!("{line}: {e}"));
        }
    }
}
