//! The run folder: everything recorded of one invocation.
//!
//! | file | written | holds |
//! |---|---|---|
//! | `run.json` | once, before any load | [`Manifest`]: what was asked, of what, from which machines |
//! | `points.jsonl` | as points begin and end | [`PointLine`] |
//! | `intervals.jsonl` | as intervals end | [`Interval`]: counts and latency histograms per host and operation |
//! | `canary.jsonl` | as its requests end | [`crate::canary::CanaryLine`]; with a canary only |
//! | `readings.jsonl` | each second | [`crate::reading::Reading`] |
//! | `findings.jsonl` | as they are found, and at the end | [`crate::finding::Finding`] |
//! | `report.html` | at the end | the rendered report |
//!
//! Files of lines hold one JSON value a line and are only ever appended to, so a killed run is readable up to its last
//! whole line. No file holds a credential. `docs/run-folder.md` states the schema for readers of other languages.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::fmt;

pub use failure_kind::{FailureKind, is_answer, is_throttling};
pub use in_flight::{AwaitedLatencies, InFlightRow, MOVED_MAX, MOVED_OF_CLIENT_MAX, coarse};
pub use interval::{Interval, IntervalRow, OpenInterval, merged, summed};
pub use manifest::{CLIENTS_MAX, Client, ClientClock, LOCAL, Manifest};
pub use merge::{in_sequence, side_by_side};
pub use outside_intervals::OutsideRow;
pub use point_sizes::PointSizes;
pub use resolved::{DefaultSearchLimits, Resolved, series};
use serde::{Deserialize, Serialize};

use crate::canary::AbortRules;
pub use crate::load::TargetKind;
use crate::load::{ErrorLimit, HostSelect, Lookup, Payload, Spacing, Unique, Workload, Write};
pub use crate::maybe_known::MaybeKnown;
pub use crate::op::{Op, UnknownOp};
use crate::slo::Slo;
use crate::units::{Rate, count};

pub mod failure_kind;
mod in_flight;
mod interval;
mod manifest;
mod merge;
mod outside_intervals;
mod point_sizes;
mod resolved;

/// Version of the folder's schema, the only one that is read.
pub const SCHEMA: u32 = 3;

/// Most points that one run may hold.
pub const POINTS_MAX: usize = 4096;

/// Bytes of `intervals.jsonl` that a run aims to stay below, by lengthening its intervals.
pub const INTERVALS_BYTES_MAX: u64 = 256 << 20;

/// What the user asked for, defaults filled in, as readers are told it: [`LoadRequest::new`] makes it of a load, and it
/// is written alone where nothing else is known of one. Holds no credential.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRequest {
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
    /// Longest time for which a visit of a point is measured, in milliseconds; a warm-up that is not given is part of
    /// it.
    pub duration_ms: u64,
    /// What all visits of a series may take, in milliseconds: its points are visited in rounds. Absent where each is
    /// visited once, and in searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_ms: Option<u64>,
    /// Time before a visit is measured, in milliseconds; absent where it follows from all visits of a series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_ms: Option<u64>,
    /// Event-loop threads of each client; 0 where another tool measured.
    pub threads: u32,
    /// Objects written beforehand for operations that read: as asked, or of the first size.
    pub objects: u64,
    pub bucket: String,
    /// Key prefix below which the run writes.
    pub prefix: String,
    /// `signed`, `unsigned`, `streaming`, `streaming-trailer` or `unsigned-trailer`.
    pub payload: MaybeKnown<Payload>,
    /// Length of a part of multipart uploads, in bytes; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_bytes: Option<u64>,
    /// Parts of one object in flight at once; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_concurrent: Option<u32>,
    /// `multipart` where objects to read or to delete were written so beforehand; absent for `put`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<MaybeKnown<Write>>,
    /// `tail` or `full`: how bodies differ from each other.
    pub unique: MaybeKnown<Unique>,
    /// Whether bodies read are compared with what was written.
    pub verify: bool,
    /// Length of a range read, in bytes; absent where whole objects are read.
    pub range_bytes: Option<u64>,
    /// The cap on the load: requests (`500/s`) or body bytes (`209715200B/s`) per second.
    pub max_rate: Option<MaybeKnown<Rate>>,
    /// How requests are spaced in an open loop, `constant` or `poisson`; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<MaybeKnown<Spacing>>,
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
    pub error_limit: Option<MaybeKnown<ErrorLimit>>,
    /// `round-robin` or `least-outstanding`.
    pub host_select: MaybeKnown<HostSelect>,
    /// Local addresses that connections were made from in turn; empty where the routes gave one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<MaybeKnown<IpAddr>>,
    /// Whether objects were left at the target.
    pub noclear: bool,
    /// Whether objects already at the target were read, in place of objects of the run.
    pub list_existing: bool,
    /// Memory of each host of the target, in bytes, where the user told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_memory_bytes: Option<u64>,
    /// Flags of warp that change a load and have no field here, with their values; absent where linerate measured, and
    /// where a file does not have its command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warp_flags: Option<BTreeMap<String, String>>,
}

impl LoadRequest {
    /// Whether another tool measured: linerate's own runs have threads, and know it.
    #[must_use]
    pub const fn is_imported(&self) -> bool {
        self.threads == 0
    }
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
    /// Most requests in flight, of all clients together; absent in folders of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
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
    pub workload: MaybeKnown<Workload>,
    /// As in [`PointSpec`].
    pub size: MaybeKnown<PointSizes>,
    /// As in [`PointSpec`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
}

/// One cell of the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointSpec {
    /// `get`, `put`, `stat`, `delete`, `list`, `multipart`, or `mixed get=45,put=15,…`.
    pub workload: MaybeKnown<Workload>,
    /// Object size or distribution, as the user wrote it.
    pub size: MaybeKnown<PointSizes>,
    /// Requests kept in flight over all hosts, by all clients together; in an open loop, the most.
    pub concurrency: u32,
    /// Requests due per second from all clients together, whatever becomes of those before; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// So many of the manifest's clients, the first ones in its order, drove it; absent for a run of one machine, and
    /// where all of them did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
}

impl fmt::Display for PointSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rate_per_s {
            Some(per_s) => write!(f, "{} {} at {}/s", self.workload, self.size, count(per_s))?,
            None => write!(f, "{} {} × {}", self.workload, self.size, self.concurrency)?,
        }
        match self.clients {
            Some(1) => f.write_str(" from 1 client"),
            Some(clients) => write!(f, " from {clients} clients"),
            None => Ok(()),
        }
    }
}

/// What the load was driven at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// `s3` for `--host`, `embedded` or `null`.
    pub kind: MaybeKnown<TargetKind>,
    /// `host:port` of each host, in the order of the host numbers in [`IntervalRow`]; followed by the address in
    /// brackets where several addresses of one name were loaded.
    pub hosts: Vec<String>,
    /// The `Server` header of the first reply, where there was one.
    pub server: Option<String>,
    /// `path` or `host`.
    pub lookup: MaybeKnown<Lookup>,
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
    /// Objects were written that points read or delete.
    Written(ObjectsWritten),
}

/// Objects were written that points read or delete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectsWritten {
    /// Milliseconds since the run began, when that had ended.
    pub at_ms: u64,
    /// The requests that wrote them.
    #[serde(rename = "beside")]
    pub alongside: Vec<OutsideRow>,
}

/// The search of a series has come to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Milliseconds since the run began.
    pub at_ms: u64,
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointBegin {
    /// Number of the point in this run, from 0.
    pub point: u32,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// Why it is measured.
    pub purpose: Purpose,
    #[serde(flatten)]
    pub spec: PointSpec,
    /// Bytes of all objects that the point's reads choose from; absent where it reads none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_set_bytes: Option<u64>,
}

/// Why a point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
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
    /// All clients that drove it were lost, or one was and `--require-all` was given.
    ClientsLost,
}

impl StopReason {
    /// Whether it ended the run with the point, which was not measured to its end then.
    #[must_use]
    pub const fn ends_the_run(self) -> bool {
        matches!(self, StopReason::Interrupted | StopReason::ErrorLimit | StopReason::Canary | StopReason::ClientsLost)
    }
}

/// A point has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointEnd {
    /// Number of the point.
    pub point: u32,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    pub ended: StopReason,
    /// Connections made during the point.
    pub connections: u64,
    /// What was warm-up, in milliseconds from the start of its first interval: intervals that start before are in no
    /// figure. Absent in imported folders, whose intervals are flagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_ms: Option<u64>,
    /// Requests of the point that are in none of its intervals; of a client that was lost, it is not known. Absent in
    /// folders of versions that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "beside")]
    pub alongside: Option<Vec<OutsideRow>>,
    /// Requests that were in flight when its last interval ended and did not end well in the time for which they were
    /// waited for; empty where all did. Absent in folders of versions that did not wait for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<Vec<InFlightRow>>,
    /// Clients that were lost in it, each until when it may have driven load: longer than its last interval says, since
    /// intervals arrive late.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostClient>,
}

/// A client that was lost in a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostClient {
    /// Index into [`Manifest::clients`].
    pub client: u32,
    /// When it was known to be lost, in milliseconds since the run began.
    pub at_ms: u64,
}

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
            spec: PointSpec {
                workload: MaybeKnown::read("get"),
                size: MaybeKnown::read("4MiB"),
                concurrency: 16,
                rate_per_s: None,
                clients: None,
            },
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
}
