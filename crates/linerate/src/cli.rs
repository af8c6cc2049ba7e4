//! The command line. `--help` is the manual: each flag says what it means, its unit and its default.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use linerate_record::units::{Bytes, Rate, parse_duration};

use crate::import::ImportFlags;
use crate::shell::{CompletionsFlags, ManFlags};

/// The bucket, where none is named.
pub(crate) const BUCKET: &str = "linerate-bench";

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    this machine failed: a file, a process, a thread
  2    bad usage
  3    the target could not be reached, or refused the calls before the load
  4    one percent or more of the requests of a point failed, a body was wrong, or the target was lost
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
    /// Render a run folder again, as text, JSON, CSV or HTML.
    Report(ReportFlags),
    /// Run one of the targets that need no cluster, to load it from elsewhere.
    Target(TargetFlags),
    /// Make a run folder of what another tool measured.
    Import(ImportFlags),
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
      measures a cluster of four, GET and PUT at 64 KiB and 4 MiB, with 1, 2, 4 … 64 requests in flight
  linerate bench --host localhost:9000 --op get --obj.size 1MiB --concurrent 16 --duration 30s --verify
      one point, every byte compared with what was written
  linerate bench --op mixed --mix get=45,stat=30,put=15,delete=10 --obj.size 4096:10740,8192:1685

What it writes: objects below PREFIX/linerate-RUN/ only, deleted again after each point. It deletes nothing else.
Memory: 30 KiB per host, operation and thread for latencies; a 256 KiB body pool, and up to 2 MiB of hash states for
random sizes; buffers of 0.5 MiB per thread; the intervals of a point while it runs, and those of the run when it is
reported (see Disk).
Disk: at most 256 MiB of intervals per run folder, for which intervals are lengthened down to four a point; run.json
states the bound.";

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
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Target")]
pub(crate) struct TargetChoice {
    /// Hosts of the S3 target: `host:port`, a comma list, `minio-{1...16}:9000`, `http://host:port` or `file:PATH`
    /// with one a line. [env: WARP_HOST, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL]
    #[arg(long, value_name = "HOSTS")]
    pub(crate) host: Option<String>,
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
    /// Operations, each measured on its own: get, put, stat (head), delete, list; or mixed.
    #[arg(long, value_name = "LIST", default_value = "get,put")]
    pub(crate) op: String,
    /// Weights of `--op mixed`.
    #[arg(long, value_name = "OP=WEIGHT,…", default_value = "get=45,stat=30,put=15,delete=10")]
    pub(crate) mix: String,
    #[command(flatten)]
    pub(crate) distrib: Distrib,
    /// Object sizes: a list (`64KiB,4MiB`), `random:4KiB-1MiB`, or one weighted distribution (`4096:10740,8192:1685`).
    #[arg(long = "obj.size", value_name = "SIZES", default_value = "64KiB,4MiB")]
    pub(crate) obj_size: String,
    /// Read ranges of this length in place of whole objects, at random multiples of it.
    #[arg(long, value_name = "SIZE")]
    pub(crate) range_size: Option<Bytes>,
    /// Requests in flight over all hosts: a number, a list, or a doubling sweep `1..64`.
    #[arg(long, value_name = "LIST", default_value = "1..64")]
    pub(crate) concurrent: String,
    /// How long each point is measured.
    #[arg(long, value_parser = parse_duration, default_value = "5s")]
    pub(crate) duration: Duration,
    /// How long each point runs before it is measured.
    #[arg(long, value_parser = parse_duration, default_value = "1s")]
    pub(crate) warmup: Duration,
    /// Objects written beforehand per size, for operations that read; per point for delete. [default: 512 MiB worth,
    /// 16 to 1000; 5000 for delete]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub(crate) objects: Option<u64>,
    /// Read objects that are in the bucket already, below --prefix, in place of writing some. Never deletes them.
    #[arg(long)]
    pub(crate) list_existing: bool,
    /// Leave the objects that the run wrote.
    #[arg(long, alias = "keep-data")]
    pub(crate) noclear: bool,
    /// Compare every byte read with what was written.
    #[arg(long)]
    pub(crate) verify: bool,
    /// Whether signatures cover bodies.
    #[arg(long, value_enum, default_value_t = PayloadFlag::Signed)]
    pub(crate) payload: PayloadFlag,
    /// Bytes that make each body unique: the last 16 (`tail`), or a word of every block, against targets that
    /// deduplicate or compress (`full`; costs a pass over the body, two when it is signed).
    #[arg(long, value_enum, default_value_t = UniqueFlag::Tail)]
    pub(crate) unique: UniqueFlag,
    /// Cap on the load: requests (`500/s`) or body bytes (`200MiB/s`) per second.
    #[arg(long, value_name = "RATE")]
    pub(crate) max_rate: Option<Rate>,
    /// Longest time for one request.
    #[arg(long, value_parser = parse_duration, default_value = "60s")]
    pub(crate) timeout: Duration,
    /// Event-loop threads. [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
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
    /// Print nothing but errors.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Address on which OpenMetrics are served at /metrics while the run goes on, such as 127.0.0.1:9091; port 0 takes
    /// a free one. Whoever reaches the address can read them.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Do not measure linerate's own ceiling against the null target first.
    #[arg(long)]
    pub(crate) no_ceiling: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReportFlags {
    /// Run folder.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Format.
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// File to write. [default: standard output; report.html in the run folder for html]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "The server ends when its standard input does. It prints `listening ADDRESS` first.")]
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
    /// Threads of the null target. [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetKind {
    /// A real S3 server over a folder. Keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
    Embedded,
    /// Answers as fast as the kernel allows and stores nothing.
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LookupFlag {
    /// http://host/bucket/key
    Path,
    /// http://bucket.host/key
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HostSelectFlag {
    /// Each host in turn.
    #[value(alias = "roundrobin")]
    RoundRobin,
    /// The host with the fewest requests in flight.
    #[value(alias = "weighed")]
    LeastOutstanding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PayloadFlag {
    /// The signature covers the body's SHA-256, as most clients do over plain HTTP.
    Signed,
    /// UNSIGNED-PAYLOAD, as most clients do over TLS: the target does not hash bodies.
    Unsigned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UniqueFlag {
    /// The last 16 bytes.
    Tail,
    /// Every 4 KiB block.
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For a terminal.
    Text,
    /// The view, with a versioned schema.
    Json,
    /// One row per point.
    Csv,
    /// One self-contained file.
    Html,
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
