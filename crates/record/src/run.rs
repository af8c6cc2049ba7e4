//! The run folder: everything recorded of one invocation.
//!
//! | file | written | holds |
//! |---|---|---|
//! | `run.json` | once, before any load | [`Manifest`]: what was asked, of what, on which machine |
//! | `points.jsonl` | as points begin and end | [`PointLine`] |
//! | `intervals.jsonl` | as intervals end | [`Interval`]: counts and latency histograms per host and operation |
//! | `canary.jsonl` | as its requests end | [`crate::canary::CanaryLine`]; with a canary only |
//! | `readings.jsonl` | each second | [`crate::reading::Reading`] |
//! | `findings.jsonl` | as they are found, and at the end | [`crate::finding::Finding`] |
//! | `report.html` | at the end | the rendered report |
//!
//! Files of lines hold one JSON value a line and are only ever appended to, so a killed run is readable up to its last
//! whole line. No file holds a credential. `docs/run-folder.md` states the schema for readers of other languages.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::canary::AbortRules;
use crate::machine::Machine;
use crate::slo::Slo;
use crate::units::count;

/// Version of the folder's schema. Readers refuse a larger one.
pub const SCHEMA: u32 = 2;

/// Most points that one run may hold.
pub const POINTS_MAX: usize = 4096;

/// Bytes of `intervals.jsonl` that a run aims to stay below, by lengthening its intervals.
pub const INTERVALS_BYTES_MAX: u64 = 256 << 20;

/// An S3 operation that linerate drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// `GetObject`, whole or a range.
    Get,
    /// `PutObject`.
    Put,
    /// `HeadObject`.
    Stat,
    /// `DeleteObject`, of objects that the run wrote.
    Delete,
    /// `ListObjectsV2`, one page.
    List,
    /// A multipart upload, from its creation to its completion.
    Multipart,
    /// `UploadPart`, as a part of a multipart upload.
    Part,
}

impl Op {
    /// Every operation, in the order in which reports list them.
    pub const ALL: [Op; 7] = [Op::Get, Op::Put, Op::Stat, Op::Delete, Op::List, Op::Multipart, Op::Part];

    /// How many there are.
    pub const COUNT: usize = Op::ALL.len();

    /// The name used in flags, folders and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Op::Get => "get",
            Op::Put => "put",
            Op::Stat => "stat",
            Op::Delete => "delete",
            Op::List => "list",
            Op::Multipart => "multipart",
            Op::Part => "part",
        }
    }

    /// Position in [`Op::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether an operation moves object bodies, so that its throughput is told in bytes.
    #[must_use]
    pub const fn moves_bodies(self) -> bool {
        matches!(self, Op::Get | Op::Put | Op::Multipart | Op::Part)
    }

    /// Whether its requests are parts of another operation's: their rows are told beside that one's, and are in no sum
    /// with it.
    #[must_use]
    pub const fn is_detail(self) -> bool {
        matches!(self, Op::Part)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown operation {0:?}: use get, put, multipart, stat (or head), delete, list or mixed")]
pub struct UnknownOp(pub String);

impl FromStr for Op {
    type Err = UnknownOp;

    fn from_str(text: &str) -> Result<Self, UnknownOp> {
        match text.trim().to_ascii_lowercase().as_str() {
            "get" => Ok(Op::Get),
            "put" => Ok(Op::Put),
            "stat" | "head" => Ok(Op::Stat),
            "delete" => Ok(Op::Delete),
            "list" => Ok(Op::List),
            "multipart" => Ok(Op::Multipart),
            _ => Err(UnknownOp(text.to_owned())),
        }
    }
}

/// `run.json`: what was asked, of what, on which machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Name of the run; also part of every object key that the run writes.
    pub id: String,
    /// What the run is about, where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Version of linerate that wrote the folder.
    pub linerate_version: String,
    /// When the run began, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// Seed of object bodies, sizes and choices: with it, any body can be made again.
    pub seed: u64,
    /// What the user asked for, defaults filled in.
    pub asked: Asked,
    /// What the load was driven at.
    pub target: Target,
    /// Where the load came from.
    pub machine: Machine,
    /// Length of an interval of `intervals.jsonl`, in milliseconds.
    pub interval_ms: u64,
    /// Largest size that `intervals.jsonl` can reach, in bytes.
    pub intervals_bytes_max: u64,
}

/// What the user asked for, defaults filled in. Holds no credential.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The points to measure, in order; empty where the search chooses them.
    pub points: Vec<PointSpec>,
    /// The search for the knee of each series; absent where concurrencies were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSpec>,
    /// The search for the highest rate at which `slo` holds, in each of several series; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_search: Option<RateSearchSpec>,
    /// Bounds on latencies (`p99=50ms`) that an open loop is held against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// Longest time for which a point is measured, in milliseconds; a warm-up that is found is part of it.
    pub duration_ms: u64,
    /// Time before a point is measured, in milliseconds; absent where it is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_ms: Option<u64>,
    /// Half the width of the 95 % interval of its throughput at which a point ends, as a share of the mean; absent
    /// where a point takes its whole time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Event-loop threads.
    pub threads: u32,
    /// Objects written beforehand for operations that read: as asked, or of the first size.
    pub objects: u64,
    /// Bucket.
    pub bucket: String,
    /// Key prefix below which the run writes.
    pub prefix: String,
    /// `signed`, `unsigned`, `streaming`, `streaming-trailer` or `unsigned-trailer`.
    pub payload: String,
    /// Length of a part of multipart uploads, in bytes; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_bytes: Option<u64>,
    /// Parts of one object in flight at once; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_concurrent: Option<u32>,
    /// `multipart` where objects to read or to delete were written so beforehand; absent for `put`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
    /// `tail` or `full`: how bodies differ from each other.
    pub unique: String,
    /// Whether bodies read are compared with what was written.
    pub verify: bool,
    /// Length of a range read, in bytes; absent where whole objects are read.
    pub range_bytes: Option<u64>,
    /// The cap on the load: requests (`500/s`) or body bytes (`209715200B/s`) per second.
    pub max_rate: Option<String>,
    /// How requests are spaced in an open loop, `constant` or `poisson`; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<String>,
    /// Bounds on the canary that end the run; absent without a canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort_if: Option<AbortRules>,
    /// Requests of the canary per second; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_per_s: Option<f64>,
    /// Times that a failed request was made again.
    #[serde(default)]
    pub retries: u32,
    /// Failed requests (`100`) or their share (`1%`) from which the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_limit: Option<String>,
    /// `round-robin` or `least-outstanding`.
    pub host_select: String,
    /// Local addresses that connections were made from in turn; empty where the routes gave one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Whether objects were left at the target.
    pub noclear: bool,
    /// Whether objects already at the target were read, in place of objects of the run.
    pub list_existing: bool,
    /// Memory of each host of the target, in bytes, where the user told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_memory_bytes: Option<u64>,
}

/// The search for the knee, in each of several series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchSpec {
    /// Least concurrency that may be tried.
    pub lowest: u32,
    /// Highest concurrency that may be tried.
    pub highest: u32,
    /// Longest time of all points of one series, in milliseconds.
    pub series_ms: u64,
    /// What is searched, in order.
    pub series: Vec<SeriesSpec>,
}

/// The search for the highest rate that keeps the bounds on latencies, in each of several series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateSearchSpec {
    /// Lowest rate that may be tried, in requests per second.
    pub lowest_per_s: f64,
    /// Highest rate that may be tried, in requests per second.
    pub highest_per_s: f64,
    /// Share within which the rate is sought.
    pub precision: f64,
    /// Longest time of all points of one series, in milliseconds.
    pub series_ms: u64,
    /// What is searched, in order.
    pub series: Vec<SeriesSpec>,
}

/// What points that differ in concurrency or rate alone have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesSpec {
    /// As in [`PointSpec`].
    pub workload: String,
    /// As in [`PointSpec`].
    pub size: String,
}

/// One cell of the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointSpec {
    /// `get`, `put`, `stat`, `delete`, `list`, `multipart`, or `mixed get=45,put=15,…`.
    pub workload: String,
    /// Object size or distribution, as the user wrote it.
    pub size: String,
    /// Requests kept in flight over all hosts; in an open loop, the most.
    pub concurrency: u32,
    /// Requests due per second, whatever becomes of those before; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
}

impl fmt::Display for PointSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate_per_s {
            Some(per_s) => write!(f, "{} {} at {}/s", self.workload, self.size, count(per_s)),
            None => write!(f, "{} {} × {}", self.workload, self.size, self.concurrency),
        }
    }
}

/// What the load was driven at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// `s3` for `--host`, `embedded` or `null`.
    pub kind: String,
    /// `host:port` of each host, in the order of the host numbers in [`Row`]; followed by the address in brackets where
    /// several addresses of one name were loaded.
    pub hosts: Vec<String>,
    /// The `Server` header of the first reply, where there was one.
    pub server: Option<String>,
    /// `path` or `host`.
    pub lookup: String,
    /// Region in signatures.
    pub region: String,
    /// Whether the target's processes run on this machine and share its processors.
    pub on_this_machine: bool,
    /// Whether there was no bucket, so that the run made it: recorded before it does.
    #[serde(default)]
    pub bucket_made: bool,
    /// TLS, where it was spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsUsed>,
}

/// How TLS was spoken with a target: what its first host agreed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsUsed {
    /// `TLSv1.3` or `TLSv1.2`.
    pub version: String,
    /// The cipher suite, as IANA names it.
    pub cipher: String,
    /// Whether certificates were verified.
    pub verified: bool,
}

/// A line of `points.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum PointLine {
    /// A point begins: connections are made and the warm-up starts.
    Begin(PointBegin),
    /// A point has ended.
    End(PointEnd),
    /// The search of a series has come to its end: no more points follow of it.
    Searched(Searched),
}

/// The search of a series has come to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// The series.
    #[serde(flatten)]
    pub series: SeriesSpec,
}

/// Why a point is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Part of the grid that the user asked for.
    Measure,
    /// Against the null target: what linerate itself can drive, over TLS where the run speaks it.
    Ceiling,
    /// The same without TLS, in a run that speaks it: the difference is what TLS costs.
    #[serde(rename = "plain-ceiling")]
    PlainCeiling,
}

/// A point begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointBegin {
    /// Number of the point in this run, from 0.
    pub point: u32,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// Why it is measured.
    pub purpose: Purpose,
    /// The cell.
    #[serde(flatten)]
    pub spec: PointSpec,
    /// Bytes of all objects that the point's reads choose from; absent where it reads none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_set_bytes: Option<u64>,
}

/// Why a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its time was up.
    Duration,
    /// Its throughput was known as precisely as asked.
    Precise,
    /// Every object to delete was deleted.
    ObjectsExhausted,
    /// Ctrl-C.
    Interrupted,
    /// Requests failed, and none succeeded for ten seconds.
    NoSuccess,
    /// More requests failed than `--error-limit` allows.
    ErrorLimit,
    /// The canary exceeded a bound of `--abort-if`.
    Canary,
}

/// A point has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointEnd {
    /// Number of the point.
    pub point: u32,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// Why.
    pub ended: Ended,
    /// Connections made during the point.
    pub connections: u64,
    /// What was warm-up, in milliseconds from the start of its first interval: intervals that start before are in no
    /// figure. Absent in schema 1, where intervals are flagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_ms: Option<u64>,
}

/// A line of `intervals.jsonl`: what happened in one interval of one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Number of the point.
    pub point: u32,
    /// Start, in milliseconds since the run began.
    pub from_ms: u64,
    /// End, in milliseconds since the run began.
    pub to_ms: u64,
    /// Set while the point warms up, in schema 1 only: since then the point's end tells its warm-up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warmup: bool,
    /// Processor time of the linerate process, in nanoseconds.
    pub client_cpu_ns: u64,
    /// Processor time of each event-loop thread, in nanoseconds.
    pub thread_cpu_ns: Vec<u64>,
    /// Processor time of the target's process, where it is one that linerate started or was told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cpu_ns: Option<u64>,
    /// Most requests that waited for `--max-rate` at one time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_back: u32,
    /// What the schedule of an open loop asked for; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenInterval>,
    /// One row per host and operation that had a request end in this interval.
    pub rows: Vec<Row>,
}

impl Interval {
    /// The rows that add up: those of parts are told beside those of their uploads.
    pub fn whole_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.op.is_detail())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
const fn is_none_of_them(n: &u64) -> bool {
    *n == 0
}

/// The open loop in one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenInterval {
    /// Requests that fell due.
    pub due: u64,
    /// Requests that were due and not started at its end.
    pub backlog: u64,
    /// Requests in flight at its end.
    pub in_flight: u32,
    /// By how much requests started late through linerate's own fault: a slot was free, a host was ready, and the
    /// request was due.
    pub late: EncodedHistogram,
    /// How long what is outstanding at its end, waiting or in flight, has been due; absent in folders of versions that
    /// did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ages: Option<EncodedHistogram>,
}

/// Requests of one operation to one host that ended in one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Index into [`Target::hosts`].
    pub host: u32,
    /// Operation.
    pub op: Op,
    /// Requests that succeeded.
    pub requests: u64,
    /// Body bytes of requests that succeeded, counted when the request ended.
    pub bytes: u64,
    /// Body bytes that moved in this interval, whichever request they belong to. A request that fails takes back what
    /// it had moved, so that this can be negative; over a point it is the bytes of successes and of what was in flight.
    pub moved_bytes: i64,
    /// Requests that failed, by kind: `connect`, `timeout`, `http 503`, … Never in the histograms.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Attempts that failed and were made again, by kind; their requests are counted once they have ended.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retries: BTreeMap<String, u64>,
    /// Attempts that the target refused because it was asked too much: 429, and 503 with `SlowDown` or `Retry-After`.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub throttled: u64,
    /// Time from the start of a request, that of its first attempt, to the first byte of its response.
    pub ttfb: EncodedHistogram,
    /// Time from the start of a request, that of its first attempt, to the last byte of its response.
    pub total: EncodedHistogram,
    /// Time from the instant at which a request was due to the first byte of its response; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttfb_intended: Option<EncodedHistogram>,
    /// Time from the instant at which a request was due to the last byte of its response; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_intended: Option<EncodedHistogram>,
}

impl Row {
    /// One of which nothing has been counted.
    #[must_use]
    pub const fn none(host: u32, op: Op) -> Row {
        Row {
            host,
            op,
            requests: 0,
            bytes: 0,
            moved_bytes: 0,
            errors: BTreeMap::new(),
            retries: BTreeMap::new(),
            throttled: 0,
            ttfb: EncodedHistogram(String::new()),
            total: EncodedHistogram(String::new()),
            ttfb_intended: None,
            total_intended: None,
        }
    }
}

/// A latency histogram in nanoseconds, two significant digits, in the HdrHistogram V2 encoding, base64. Empty
/// for no values. HdrHistogram libraries read it, those that take only the compressed form after `docs/run-folder.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EncodedHistogram(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_round_trip_and_keep_their_index() {
        for (i, op) in Op::ALL.into_iter().enumerate() {
            assert_eq!(op.index(), i);
            // Parts are told, and asked for only as a part of multipart.
            assert_eq!(op.name().parse::<Op>().ok(), (!op.is_detail()).then_some(op));
        }
        assert_eq!("HEAD".parse::<Op>(), Ok(Op::Stat));
        let error = "gte".parse::<Op>().unwrap_err().to_string();
        assert!(error.contains("\"gte\""), "{error}");
    }

    #[test]
    fn point_lines_are_flat_and_tagged() {
        let line = PointLine::Begin(PointBegin {
            point: 3,
            at_ms: 12,
            purpose: Purpose::Measure,
            spec: PointSpec { workload: "get".into(), size: "4MiB".into(), concurrency: 16, rate_per_s: None },
            read_set_bytes: None,
        });
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"event":"begin","point":3,"at_ms":12,"purpose":"measure","#,
                r#""workload":"get","size":"4MiB","concurrency":16}"#
            )
        );
        assert_eq!(serde_json::from_str::<PointLine>(&text).unwrap(), line);
    }

    #[test]
    fn an_interval_from_a_newer_writer_still_reads() {
        let text = r#"{"point":0,"from_ms":0,"to_ms":100,"client_cpu_ns":5,"thread_cpu_ns":[5],"rows":[],"new":1}"#;
        let interval: Interval = serde_json::from_str(text).unwrap();
        assert!(!interval.warmup);
        assert_eq!(interval.target_cpu_ns, None);
    }
}
