//! The command line. `--help` is the manual: each flag says what it means, its unit and its default.

mod choices;
mod reading;
mod site;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use linerate_load::session::ErrorLimit;
use linerate_record::canary::AbortRules;
use linerate_record::slo::Slo;
use linerate_record::units::{Bytes, Rate, Share, parse_duration};

use crate::timing::{Precision, WarmUp};

use crate::audit::AuditFlags;
use crate::capture::CaptureFlags;
use crate::clean::CleanFlags;
use crate::experiment::ExperimentFlags;
use crate::import::ImportFlags;
use crate::knobs::KnobsFlags;
use crate::shell::{CompletionsFlags, ManFlags};
use crate::tune::TuneFlags;

pub(crate) use choices::{
    ArrivalsFlag, Given, GivenFlags, HostSelectFlag, LookupFlag, PayloadFlag, TargetKind, UniqueFlag, WriteFlag,
};
pub(crate) use reading::{ReportFlags, RunFormat, RunsFlags};
pub(crate) use site::{ExplainFlags, PlanFlags, SiteFormat, quantity};

/// The bucket, where none is named.
pub(crate) const BUCKET: &str = "linerate-bench";

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    this machine failed: a file, a process, a thread
  2    bad usage
  3    the target could not be reached, refused the calls before the load, or kept what was to be deleted
  4    one percent or more of the requests of a point failed, a body was wrong, or the target was lost
  5    a threshold was missed, or not shown to be kept: --slo, --abort-if, --fail-if, --fail-if-slower, audit --check
  6    tune, experiment: some changes were not made, or some settings not restored; each is named
  7    experiment analyze: what differs is an association, or confounded with time: no effect of the arm
  130  interrupted; what was measured until then is in the run folder

Start with `linerate bench`: it needs no server and no flags.";

/// S3 object storage at the speed of its hardware: measure it, and prove it.
#[derive(Parser, Debug)]
#[command(name = "linerate", version, after_help = AFTER_HELP, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Measure what an S3 endpoint does: throughput and latency at each concurrency and object size.
    Bench(Box<BenchFlags>),
    /// Render a run folder again, as text, JSON, CSV, HTML or JUnit's XML, and hold it against thresholds.
    Report(ReportFlags),
    /// List the runs in a folder: when, against what, and what came of them.
    Runs(RunsFlags),
    /// Compare two runs, or two groups of runs, and call only the differences that the data supports.
    Compare(CompareFlags),
    /// Predict from a description of a cluster what it can do, what holds it back, and what would next.
    Plan(PlanFlags),
    /// Find what can have held a cluster back: which deviations from its description fit what was measured.
    Explain(ExplainFlags),
    /// Tell whether something helps, and what cannot be told.
    Experiment(Box<ExperimentFlags>),
    /// Delete what a run left at its target: one that was killed or interrupted twice, or that had --noclear.
    Clean(CleanFlags),
    /// Run one of the targets that need no cluster, to load it from elsewhere.
    Target(TargetFlags),
    /// Make a run folder of what another tool measured.
    Import(ImportFlags),
    /// Tell how this machine differs from a profile, what each difference may cost, and what else is in its way.
    Audit(AuditFlags),
    /// Record this machine as files that `audit --root` reads; names, addresses and serial numbers are left out.
    Capture(CaptureFlags),
    /// Tell what each setting of a machine or a cluster is: where it acts, when, what is advised and why.
    Knobs(KnobsFlags),
    /// Change settings of this machine, undoably: nothing stays that is not confirmed.
    Tune(TuneFlags),
    /// Print the completions of a shell.
    Completions(CompletionsFlags),
    /// Write manual pages.
    Man(ManFlags),
}

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

What it writes: objects below PREFIX/linerate-RUN/ only, deleted again after each point. It deletes nothing else.
Memory: 30 KiB per host, operation and thread for latencies, 60 KiB in an open loop; a 256 KiB body pool, and up to
2 MiB of hash states for random sizes; buffers of 0.5 MiB per thread, 1 MiB and up to 150 KiB per connection with TLS;
the intervals of a point when it ends, and twice those of the run when it is reported (see Disk).
Disk: intervals are lengthened, down to four a point, so that those of a run fit 256 MiB at 4 KiB a row (a usual one has
0.5 to 3); run.json states what the largest rows could take.";

#[derive(Args, Debug)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct BenchFlags {
    /// Flags from a YAML file in the layout of warp's `run`, where its keys mean the same. Flags given beside it go
    /// before those of the file, and those before the environment.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: TargetChoice,
    #[command(flatten)]
    pub(crate) keys: Keys,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Which of them were given, as the reader of the command line notes.
    #[arg(skip)]
    pub(crate) given: GivenFlags,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Target")]
pub(crate) struct TargetChoice {
    /// Hosts of the S3 target: `host:port`, a comma list, `minio-{1...16}:9000`, `http://host:port`,
    /// `https://host:port` or `file:PATH` with one a line. The port is 80, or 443 with TLS, where none is given; of a
    /// name with several addresses, the first that takes a connection is loaded.
    /// [env: WARP_HOST, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL]
    #[arg(long, value_name = "HOSTS")]
    pub(crate) host: Option<String>,
    /// Load every address of each host name, as hosts of their own; the name stays in requests and in TLS.
    #[arg(long)]
    pub(crate) resolve_host: bool,
    /// Speak TLS with hosts that are named without https://, or with linerate's own target. [env: WARP_TLS]
    #[arg(long)]
    pub(crate) tls: bool,
    /// Certificates to believe beside the system's (which SSL_CERT_FILE and SSL_CERT_DIR replace): a PEM file with one
    /// or more, of authorities or of servers themselves.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Believe any certificate, whoever issued it and for whatever name. The report says so.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Local addresses, or interfaces for their first address, that connections are made from in turn: one per NIC, so
    /// that all are used where the target's replies go back to where requests came from. Which interface requests leave
    /// by is for the routes to say. [default: the route's]
    #[arg(long, value_name = "ADDR|INTERFACE,…")]
    pub(crate) source: Option<String>,
    /// Host, keys and lookup of an alias of mc, and bucket and prefix where named: `MC_HOST_<NAME>`, or config.json in
    /// MC_CONFIG_DIR or ~/.mc.
    #[arg(long, value_name = "NAME[/BUCKET[/PREFIX]]", conflicts_with_all = ["host", "target", "drive"])]
    pub(crate) alias: Option<String>,
    /// A target of linerate's own, whatever the environment names: `embedded`, a real S3 server (s3s-fs) in a process
    /// of its own on this machine, or `null`, which stores nothing and shows linerate's own ceiling. [default: embedded
    /// where no host is named]
    #[arg(long, value_enum, conflicts_with = "host")]
    pub(crate) target: Option<TargetKind>,
    /// Folder in which the embedded target keeps its objects, in a sub-folder that it makes and removes. [default: a
    /// temporary folder]
    #[arg(long, value_name = "DIR", conflicts_with = "host")]
    pub(crate) drive: Option<PathBuf>,
    /// Process on this machine whose processor time is that of the target.
    #[arg(long, value_name = "PID")]
    pub(crate) target_pid: Option<u32>,
    /// Memory of each host of the target, such as 64GiB: says whether what is read can have come from its page cache.
    /// [default: this machine's where the target is on it]
    #[arg(long, value_name = "SIZE")]
    pub(crate) target_memory: Option<Bytes>,
    /// Load a target that is not on this machine without asking. An unbounded sweep can hurt production: see
    /// --max-rate.
    #[arg(long)]
    pub(crate) yes_load: bool,
    /// Bucket. Made where it does not exist, and then removed again at the end.
    #[arg(long, default_value = BUCKET)]
    pub(crate) bucket: String,
    /// Prefix of every key written; with --list-existing, of the objects to read.
    #[arg(long, default_value = "")]
    pub(crate) prefix: String,
    /// Whether the bucket is named in the path or in the host name.
    #[arg(long, value_enum, default_value_t = LookupFlag::Path)]
    pub(crate) lookup: LookupFlag,
    /// How requests are shared over several hosts.
    #[arg(long, value_enum, default_value_t = HostSelectFlag::RoundRobin)]
    pub(crate) host_select: HostSelectFlag,
}

#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Credentials")]
pub(crate) struct Keys {
    /// Access key. [env: WARP_ACCESS_KEY, AWS_ACCESS_KEY_ID]
    #[arg(long, value_name = "KEY")]
    pub(crate) access_key: Option<String>,
    /// Secret key. Prefer the environment: every user of this machine can read the arguments of a process.
    /// [env: WARP_SECRET_KEY, AWS_SECRET_ACCESS_KEY]
    #[arg(long, value_name = "KEY")]
    pub(crate) secret_key: Option<String>,
    /// Session token of temporary credentials. [env: WARP_SESSION_TOKEN, AWS_SESSION_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) session_token: Option<String>,
    /// Profile of ~/.aws/credentials and ~/.aws/config, for what no flag says. Read unasked, as `default`, where
    /// neither flags nor the environment give keys. [env: AWS_PROFILE]
    #[arg(long, value_name = "NAME", conflicts_with = "anonymous")]
    pub(crate) profile: Option<String>,
    /// Region in signatures. [env: WARP_REGION, AWS_REGION, AWS_DEFAULT_REGION] [default: us-east-1]
    #[arg(long)]
    pub(crate) region: Option<String>,
    /// Send unsigned requests, for a public bucket.
    #[arg(long, conflicts_with_all = ["access_key", "secret_key", "session_token"])]
    pub(crate) anonymous: bool,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Work")]
pub(crate) struct Work {
    /// Operations, each measured on its own: get, put, multipart (objects uploaded in parts), stat (head), delete,
    /// list; or mixed.
    #[arg(long, value_name = "LIST", default_value = "get,put")]
    pub(crate) op: String,
    /// Weights of `--op mixed`.
    #[arg(long, value_name = "OP=WEIGHT,…", default_value = "get=45,stat=30,put=15,delete=10")]
    pub(crate) mix: String,
    #[command(flatten)]
    pub(crate) distrib: Distrib,
    /// Object sizes: a list (`64KiB,4MiB`), `random:4KiB-1MiB`, `lognormal:256KiB/1.5` (median, and the standard
    /// deviation of the natural logarithm; cut at 1 byte and 5 GiB), or one weighted distribution
    /// (`4096:10740,8192:1685`). [default: 64KiB,4MiB; 4KiB for stat, delete and list, which move no bodies]
    #[arg(long = "obj.size", value_name = "SIZES")]
    pub(crate) obj_size: Option<String>,
    /// Read ranges of this length in place of whole objects, at random multiples of it.
    #[arg(long, value_name = "SIZE")]
    pub(crate) range_size: Option<Bytes>,
    /// Requests in flight over all hosts: `auto` searches the knee, the least that give 95 % of the best throughput; or
    /// a number, a list, or a doubling sweep `1..64`. A search takes at most twelve times --duration per operation and
    /// size.
    #[arg(long, value_name = "auto|LIST", default_value = "auto")]
    pub(crate) concurrent: String,
    /// Open loop: so many requests fall due per second over all threads and hosts (`500/s`, or a list `100/s,200/s`),
    /// whether or not those before were answered. Latencies are told from when a request was due, and from when it
    /// started; --concurrent is the most in flight [default: 1024], and points take their whole --duration. Without it,
    /// a closed loop: a request follows as soon as one ends.
    #[arg(long, value_name = "LIST", conflicts_with = "max_rate")]
    pub(crate) rate: Option<String>,
    /// How the requests of an open loop are spaced. [default: constant]
    #[arg(long, value_enum)]
    pub(crate) arrivals: Option<ArrivalsFlag>,
    /// Bounds on latencies from when requests were due, such as `p99=50ms` or `p50=5ms,p99.9=1s`. Searches the highest
    /// rate at which all hold, up to --max-rate, and ends with code 5 where none does. With --rate, a check: ends with
    /// code 5 where one of these rates misses, or requests are too few to show that it holds (a p99 takes 400).
    #[arg(long, value_name = "BOUNDS")]
    pub(crate) slo: Option<Slo>,
    /// Most requests in flight that the search tries.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) max_concurrent: u32,
    /// Length of the parts of multipart uploads, but for the last: 5 MiB to 5 GiB.
    #[arg(long = "part.size", value_name = "SIZE", default_value = "16MiB")]
    pub(crate) part_size: Bytes,
    /// Parts of one object in flight at once. Each takes one of --concurrent, so that fewer objects are under way.
    #[arg(long = "part.concurrent", value_name = "N", default_value = "1")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) part_concurrent: u32,
    /// Longest time of each point. A warm-up that is found is part of it, one that is given comes before. [default: 30s
    /// where --concurrent is given and --precision may end a point sooner; 10s otherwise]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Warm-up of each point, which is part of no figure: `auto` finds it in what was measured (MSER-5); or a time.
    #[arg(long, value_name = "auto|TIME", default_value = "auto")]
    pub(crate) warmup: WarmUp,
    /// A point ends as soon as its throughput is known this well, after 10 s at the soonest: half its 95 % confidence
    /// interval, as a share of the mean. `none` takes the whole --duration.
    #[arg(long, value_name = "SHARE", default_value = "2%")]
    pub(crate) precision: Precision,
    /// Objects written beforehand per size, for operations that read; per point for delete. [default: 512 MiB worth,
    /// 16 to 1000; 5000 for delete]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub(crate) objects: Option<u64>,
    /// How objects are written beforehand: with one PUT each, or in parts.
    #[arg(long, value_enum, default_value_t = WriteFlag::Put)]
    pub(crate) write: WriteFlag,
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
    #[arg(long, value_enum, default_value_t = PayloadFlag::Signed)]
    pub(crate) payload: PayloadFlag,
    /// Bytes that make each body unique: the last 16 (`tail`), or a word of every block, against targets that
    /// deduplicate or compress (`full`; costs a pass over the body, two when it is signed).
    #[arg(long, value_enum, default_value_t = UniqueFlag::Tail)]
    pub(crate) unique: UniqueFlag,
    /// Cap on a closed loop: requests (`500/s`) or body bytes (`200MiB/s`) per second. With --slo, the highest rate
    /// that is tried.
    #[arg(long, value_name = "RATE")]
    pub(crate) max_rate: Option<Rate>,
    /// Longest time for one request, and for one call before and after the load; one that deletes many objects gets a
    /// minute where this is less.
    #[arg(long, value_parser = parse_duration, default_value = "60s")]
    pub(crate) timeout: Duration,
    /// Times that a request is made again after a failed connection, a timeout, 408, 429 or 5xx. Its latency then
    /// counts from its first attempt; failed attempts are counted by kind, apart from errors.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) retries: u32,
    /// End the run once more than so many requests (`100`), or more than such a share of at least a hundred (`1%`),
    /// have failed at a point. Ends with code 4.
    #[arg(long, value_name = "N|P%", value_parser = parse_error_limit)]
    pub(crate) error_limit: Option<ErrorLimit>,
    /// End the run as soon as a canary exceeds one of these bounds, such as `p99>200ms` or `p50>20ms,errors>1%`: a
    /// trickle of small requests beside the load, from before it on, that stands for other users of the target. A
    /// bound that is just kept ends a run once in three million of them. Ends with code 5.
    #[arg(long, value_name = "BOUNDS")]
    pub(crate) abort_if: Option<AbortRules>,
    /// Requests of the canary per second.
    #[arg(long, value_name = "N", default_value = "5", value_parser = parse_canary_rate)]
    pub(crate) canary_rate: f64,
    /// Event-loop threads. [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
}

/// Reads `5`: as few as let twenty come in ten seconds, and no load of their own.
fn parse_canary_rate(text: &str) -> Result<f64, String> {
    let rate = text.trim().trim_end_matches("/s").parse().ok();
    rate.filter(|r| (2.0..=100.0).contains(r))
        .ok_or_else(|| "write requests per second from 2 to 100, such as 5".into())
}

impl Work {
    /// Whether requests fall due by a schedule.
    pub(crate) const fn is_open(&self) -> bool {
        self.rate.is_some() || self.slo.is_some()
    }
}

/// Reads `100` and `1%`.
fn parse_error_limit(text: &str) -> Result<ErrorLimit, String> {
    let limit = match text.trim().strip_suffix('%') {
        Some(percent) => {
            percent.trim().parse().ok().filter(|p: &f64| (0.0..100.0).contains(p)).map(|p| ErrorLimit::Share(p / 100.0))
        }
        None => text.trim().parse().ok().map(ErrorLimit::Count),
    };
    limit.ok_or_else(|| "write a number of requests such as 100, or a share such as 1%".to_owned())
}

/// warp's way to write `--mix`.
#[derive(Args, Debug)]
pub(crate) struct Distrib {
    /// Weight of GET in `--op mixed`, in place of --mix; what is not named keeps its default.
    #[arg(long, value_name = "WEIGHT", conflicts_with = "mix")]
    pub(crate) get_distrib: Option<f64>,
    /// Weight of STAT in `--op mixed`.
    #[arg(long, value_name = "WEIGHT", conflicts_with = "mix")]
    pub(crate) stat_distrib: Option<f64>,
    /// Weight of PUT in `--op mixed`.
    #[arg(long, value_name = "WEIGHT", conflicts_with = "mix")]
    pub(crate) put_distrib: Option<f64>,
    /// Weight of DELETE in `--op mixed`, at most that of PUT.
    #[arg(long, value_name = "WEIGHT", conflicts_with = "mix")]
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
    /// Do not measure linerate's own ceiling against the null target first.
    #[arg(long)]
    pub(crate) no_ceiling: bool,
}

const COMPARE_HELP: &str = "\
Points are matched by operation, size and requests in flight. Throughput, p50 and p99 of each are tested, and all tests
together are held to 5 %: between equals, at most one comparison in twenty calls any difference (Holm). Where none is
shown, it says how large a difference would have been seen. Method: docs/method/compare.md.

Nothing is called of fewer than three runs a side: two runs of the same thing, minutes apart, differ too. Run A B B A A
B and give all three of each; or let linerate experiment --with a='FLAGS' --with b='FLAGS' draw the order and run them.
Knees at different concurrencies are told and not tested.

Examples:
  linerate compare runs/a1,runs/a2,runs/a3 runs/b1,runs/b2,runs/b3
  linerate compare runs/main1,runs/main2,runs/main3 runs/new1,runs/new2,runs/new3 --fail-if-slower 5% --format json
  linerate compare runs/1120-0931-get runs/1121-1402-get

Exit codes: 0 compared, whatever came of it; 5 with --fail-if-slower, where a throughput is shown to be that much lower;
2 where a folder is no run, the two have no point in common, or --fail-if-slower is asked of fewer than three runs a
side.";

#[derive(Args, Debug)]
#[command(after_help = COMPARE_HELP)]
pub(crate) struct CompareFlags {
    /// Run folder to compare with, or several of the same thing: `RUN,RUN`.
    #[arg(value_name = "A")]
    pub(crate) a: Runs,
    /// Run folder to compare, or several.
    #[arg(value_name = "B")]
    pub(crate) b: Runs,
    /// Exit with code 5 where the data shows that B's throughput is lower than A's by more than this share, such as
    /// `5%`: a one-sided test at 5 % over all points, of three runs a side or more. What merely looks slower does not
    /// count.
    #[arg(long, value_name = "SHARE")]
    pub(crate) fail_if_slower: Option<Share>,
    /// Format.
    #[arg(long, short, value_enum, default_value_t = CompareFormat::Text)]
    pub(crate) format: CompareFormat,
    /// File to write. [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Run folders parted by commas.
#[derive(Clone, Debug)]
pub(crate) struct Runs(pub(crate) Vec<PathBuf>);

impl FromStr for Runs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let runs: Vec<PathBuf> = text.split(',').filter(|p| !p.is_empty()).map(PathBuf::from).collect();
        match runs.iter().enumerate().find(|(i, run)| runs[..*i].contains(run)) {
            _ if runs.is_empty() => Err(format!("no run folder in {text:?}: name one, such as runs/1120-0931-get")),
            Some((_, run)) => Err(format!("{} is named twice in {text:?}: name each run once", run.display())),
            None => Ok(Runs(runs)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// For a terminal.
    Text,
    /// The comparison, with a versioned schema.
    Json,
    /// One row per figure compared.
    Csv,
    /// One self-contained file.
    Html,
}

#[derive(Args, Debug)]
#[command(after_help = "The server ends when its standard input does. It prints `listening ADDRESS` first, and with \
 --tls then `ca FILE`.")]
pub(crate) struct TargetFlags {
    /// Which one.
    #[arg(value_enum)]
    pub(crate) kind: TargetKind,
    /// Address to listen on. Port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Folder in which the embedded target makes its own sub-folder, removed at the end. [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) drive: Option<PathBuf>,
    /// Speak TLS, with a certificate made at start for localhost and --listen; the certificate of the authority that
    /// vouches for it is in a temporary file, removed at the end, for --ca-file.
    #[arg(long)]
    pub(crate) tls: bool,
    /// Threads of the null target. [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
}

/// The name under which a choice is written in run folders: the one that the flag takes.
pub(crate) fn name_of(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Every flag of every verb says what it means, and no default contradicts its text.
    #[test]
    fn every_flag_teaches() {
        for verb in Cli::command().get_subcommands().filter(|v| v.get_name() != "help") {
            assert!(verb.get_about().is_some(), "{}", verb.get_name());
            for arg in verb.get_arguments().filter(|a| a.get_id() != "help") {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.len() > 5, "{} {}: {help:?}", verb.get_name(), arg.get_id());
                let stated = arg.get_default_values().len() + usize::from(help.contains("[default:"));
                let takes_value = arg.get_action().takes_values();
                assert!(stated <= usize::from(takes_value), "{}: two defaults", arg.get_id());
            }
        }
    }

    /// The code, the help and the documents name the same exit codes and say the same of them.
    #[test]
    fn exit_codes_are_documented() {
        let rows = |text: &str, cut: fn(&str) -> Option<(&str, &str)>| -> Vec<(u8, String)> {
            let rows = text.lines().filter_map(cut);
            rows.filter_map(|(code, meaning)| Some((code.trim().parse().ok()?, meaning.trim().to_owned()))).collect()
        };
        let of_help = rows(AFTER_HELP, |line| line.trim().split_once(' '));
        let table: fn(&str) -> Option<(&str, &str)> =
            |line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ");
        assert_eq!(rows(include_str!("../../../docs/exit-codes.md"), table), of_help);
        assert_eq!(rows(include_str!("../../../README.md"), table), of_help);
        let consts = |line: &'static str| {
            line.trim().strip_prefix("pub(crate) const ")?.strip_suffix(';')?.split_once(": u8 = ")
        };
        let of_code = include_str!("failure.rs").lines().filter_map(consts).map(|(_, code)| code.parse().unwrap());
        let of_code: Vec<u8> = std::iter::once(0).chain(of_code).collect();
        assert_eq!(of_code, of_help.iter().map(|row| row.0).collect::<Vec<_>>());
    }

    #[test]
    fn groups_of_runs_are_parted_by_commas_and_hold_each_run_once() {
        assert_eq!("a,b/c".parse::<Runs>().unwrap().0, [PathBuf::from("a"), PathBuf::from("b/c")]);
        for (text, part) in [("", "no run folder"), (",", "no run folder"), ("a,b,a", "a is named twice")] {
            let error = text.parse::<Runs>().unwrap_err();
            assert!(error.contains(part) && error.contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn error_limits_are_counts_or_shares() {
        for (text, limit) in
            [("100", ErrorLimit::Count(100)), ("0", ErrorLimit::Count(0)), ("0.5%", ErrorLimit::Share(0.005))]
        {
            assert_eq!(parse_error_limit(text), Ok(limit), "{text}");
        }
        for text in ["", "-1", "100%", "x%", "1/s", "nan%"] {
            assert!(parse_error_limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn examples_of_the_help_parse() {
        let lines = BENCH_EXAMPLES.lines().filter(|l| l.contains("linerate bench"));
        for line in lines {
            let (_, flags) = line.split_once("linerate bench").unwrap();
            let words = flags.split_whitespace().map(|w| w.trim_matches('\''));
            Cli::try_parse_from(["linerate", "bench"].into_iter().chain(words))
                .unwrap_or_else(|e| panic!("{line}: {e}"));
        }
    }
}
