//! The view of a run: every figure that a report shows, computed once.
//!
//! `linerate report RUN --format json` is this structure. Times are nanoseconds or milliseconds and throughputs are
//! bytes or requests per second, as the names say.

use std::collections::BTreeMap;

use linerate_record::finding::Finding;
pub use linerate_record::histogram::Latency;
use linerate_record::load::Workload;
use linerate_record::machine::Machine;
use linerate_record::run::{Client, IntervalRow, LoadRequest, MaybeKnown, Op, PointSizes, StopReason, Target};
use serde::{Deserialize, Serialize};

use crate::canary::Canary;
pub use crate::estimate::Estimate;
use crate::knee::{Knee, KneeVisit};
use crate::slo::RateSearchResult;

mod clients;
mod growth;
mod open;
mod predicted_curve;
mod sent_requests;
mod summary;

pub(crate) use clients::ceiling_of;
pub use clients::{ClientFigures, ClientFull, ClientNic, ClientSpread};
pub use growth::{Growth, GrowthPlan, PlannedClients};
pub(crate) use open::load_in_words;
pub use open::{BoundFigures, OpenLoop, OutstandingGrowth, OutstandingThird};
pub use predicted_curve::PredictedCurve;
pub use sent_requests::SentRequests;
pub(crate) use summary::is_visit;
pub use summary::{Best, Failures, Summary, too_many_failed};

/// Version of [`View`]'s JSON.
pub const VIEW_SCHEMA: u32 = 2;

/// Everything a report shows of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// [`VIEW_SCHEMA`].
    pub schema: u32,
    /// What was run, where, against what.
    pub run: RunSummary,
    /// One series per workload, size and number of clients, in the order asked.
    pub series: Vec<Series>,
    /// What more clients gave, for each workload and size that several numbers of clients drove; empty without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growth: Vec<Growth>,
    /// What linerate itself drove against the null target on this machine, per workload and size.
    pub ceilings: Vec<ClientCeiling>,
    /// All requests of the load, as a server counts them; empty in folders of versions that did not record it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<SentRequests>,
    /// What the canary showed; absent without one.
    #[serde(default)]
    pub canary: Option<Canary>,
    /// The whole run over time.
    pub timeline: Timeline,
    /// What there is to say, most severe first.
    pub findings: Vec<Finding>,
}

/// What was run, where, against what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Name of the run.
    pub id: String,
    /// What the run is about, where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Version of linerate that measured.
    pub linerate_version: String,
    /// When the run began, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// From the first point's begin to the last record, in milliseconds.
    pub elapsed_ms: u64,
    /// Whether every point that was asked for was measured to its end: none was cut short by Ctrl-C, `--error-limit` or
    /// `--abort-if`.
    pub complete: bool,
    /// Length of one interval in milliseconds.
    pub interval_ms: u64,
    #[serde(rename = "asked")]
    pub requested: LoadRequest,
    pub target: Target,
    /// Where the load came from; of several clients, the first one's.
    pub machine: Machine,
    /// Where the load came from, where there were several; empty with one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<Client>,
    /// Event-loop threads of all clients together.
    #[serde(default)]
    pub threads: u32,
    /// Processors of all clients' machines together.
    #[serde(default)]
    pub processors: u32,
}

/// Whether a figure is what most points have: it is left out of the JSON of each then.
fn is_none_of_it<T: Default + PartialEq>(figure: &T) -> bool {
    *figure == T::default()
}

/// The unit in which a series' throughput is told first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Body bytes per second.
    Bytes,
    /// Requests per second: for operations without bodies, and bodies below 64 KiB.
    Requests,
}

impl Measure {
    /// What an interval's row has of it.
    pub(crate) fn of_row(self, row: &IntervalRow) -> f64 {
        match self {
            Measure::Bytes => row.moved_bytes as f64,
            Measure::Requests => row.requests as f64,
        }
    }
}

/// Mean body below which requests per second tell more than bytes per second.
const SMALL_BODY_BYTES: f64 = 65_536.0;

/// By which throughput requests are judged that ended, with so many bytes of bodies: by requests where bodies are small
/// or absent, by bytes otherwise. `moved` says whether any bytes moved.
pub(crate) fn headline_measure(requests: u64, bytes: u64, moved: bool) -> Measure {
    if (requests == 0 && !moved) || (bytes as f64) < SMALL_BODY_BYTES * requests as f64 {
        Measure::Requests
    } else {
        Measure::Bytes
    }
}

/// Points that differ in concurrency alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// `get`, `put`, …, or `mixed get=45,…`.
    pub workload: MaybeKnown<Workload>,
    /// Object size, as asked.
    pub size: MaybeKnown<PointSizes>,
    /// So many of the run's clients, the first ones, drove it; absent where their number was not varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Bytes that each GET reads of an object that is longer; absent where it reads whole objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_bytes: Option<u64>,
    /// Which throughput tells the story.
    pub measure: Measure,
    /// The points measured, by rising concurrency or rate; one that was visited again has a point per visit. Points
    /// without a single whole interval are left out.
    pub points: Vec<Point>,
    /// All visits of a concurrency or rate as one point, for each that was visited again: bytes, requests, times and
    /// histograms added up, throughput with the interval that knows what visits differ by. Its number is that of the
    /// visit whose throughput is nearest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<Point>,
    /// Where more concurrency stopped paying; absent with a single concurrency, or where nothing succeeded.
    pub knee: Option<Knee>,
    /// The highest rate at which the bounds of `--slo` held; absent without such a search.
    #[serde(default)]
    pub sustained: Option<RateSearchResult>,
    /// What the site can do of it; absent where no site was described, and where the model says nothing of such a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<PredictedCurve>,
    /// What bound the best point; absent without points.
    pub limit: Option<SeriesLimit>,
    /// What its points come to.
    #[serde(default)]
    pub summary: Summary,
}

/// Who bound a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    Client,
    /// This machine's processors, which client and target share.
    Machine,
    /// Not the target: others had this machine's processors, or a quota kept linerate from them.
    Disturbed,
    /// A NIC of this machine.
    Nic,
    /// `--max-rate`.
    RateCap,
    /// `--rate`: the target was not seen to fall behind it.
    #[serde(rename = "asked-rate")]
    RequestedRate,
    /// The requests in flight that an open loop may have at most: others waited for them.
    Slots,
    /// linerate rested after connections that failed, or paused because the target asked for it.
    #[serde(rename = "rests")]
    Backoff,
    /// Requests that the target never answered: too many, or they held most slots.
    Hanging,
    /// The target, or the way to it.
    Target,
    /// The target, or this machine's processors, which it shares: there is no reading of these.
    Unread,
}

/// Who bound the best point of a series, and how that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesLimit {
    pub bound: Bottleneck,
    pub claim: String,
    /// The readings it rests on.
    pub evidence: String,
    /// What to do next.
    pub remedy: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its number in the run.
    pub point: u32,
    /// Requests kept in flight.
    pub concurrency: u32,
    /// Time measured, warm-up excluded, in milliseconds.
    pub measured_ms: u64,
    /// Warm-up that was cut off before, in milliseconds.
    pub warmup_ms: u64,
    /// Whether its throughput kept one level while it was measured; not looked at in a ceiling.
    pub steady: bool,
    /// Why it ended; absent where the run was killed before.
    pub ended: Option<StopReason>,
    /// Body bytes per second.
    pub bytes_per_s: Estimate,
    /// Requests per second.
    pub requests_per_s: Estimate,
    pub requests: u64,
    /// Body bytes of requests that succeeded.
    pub bytes: u64,
    /// Body bytes that moved in the time measured, of requests that began before it or ended after it too, and without
    /// those of requests that failed. Throughput is told of these.
    pub moved_bytes: i64,
    /// Requests that were in flight at the end and had not ended when they were given up; absent where there was none.
    /// Throughput is told without their bytes, and the width of the bracket is what they would add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unended: Option<Unended>,
    /// Those of them that hung, which are among the errors too; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hung: Option<HungRequests>,
    /// Whether fewer requests ended than were in flight at a time: their throughput is no best, and has no interval.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub too_few_ended: bool,
    /// Requests that failed, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Requests that succeeded in the warm-up.
    #[serde(default)]
    pub warmup_requests: u64,
    /// Requests that failed in the warm-up, by kind; they are in no other figure.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub warmup_errors: BTreeMap<String, u64>,
    /// Of these, those of an imported run that failed behind the measured time, which is left out too.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub failed_at_end: u64,
    /// Attempts that failed and were made again, by kind.
    #[serde(default)]
    pub retries: BTreeMap<String, u64>,
    /// Attempts that the target refused because it was asked too much.
    #[serde(default)]
    pub throttled: u64,
    /// The longest pause that a reply asked for by `Retry-After`, in seconds.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub retry_after_s: u64,
    /// Share of the time of all slots that they rested after connections that failed, from 0 to 1.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub rested_share: f64,
    /// The same because the target asked for a pause.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub paused_share: f64,
    /// The open loop; absent in a closed one.
    #[serde(default)]
    pub open: Option<OpenLoop>,
    /// Time to first byte.
    pub ttfb: Latency,
    /// Time to last byte.
    pub total: Latency,
    /// Processor time of linerate; absent where another client drove the load.
    pub client_cpu: Option<CpuCost>,
    /// Mean share of their time that the event-loop threads ran, 0 to 1; absent where another client drove the load.
    pub client_busy: Option<f64>,
    /// Processor time of the target, where it could be read.
    pub target_cpu: Option<CpuCost>,
    /// Mean share of all processors of this machine in use, 0 to 1; absent without readings.
    pub machine_busy: Option<f64>,
    /// Per operation; more than one only in a mixed workload.
    pub ops: Vec<OpFigures>,
    /// Per host of the target.
    pub hosts: Vec<HostFigures>,
    /// By how many clients its figures are: those of whom all drove load all the time; absent where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven_by: Option<u32>,
    /// Per client; empty where there was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientFigures>,
    /// How far they are apart; absent where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_spread: Option<ClientSpread>,
}

impl Point {
    /// The estimate that tells the story of a series of this measure.
    #[must_use]
    pub const fn throughput(&self, measure: Measure) -> &Estimate {
        match measure {
            Measure::Bytes => &self.bytes_per_s,
            Measure::Requests => &self.requests_per_s,
        }
    }

    /// Whether a request ended in the time measured, well or not: without one there is no throughput.
    #[must_use]
    pub fn has_ended_requests(&self) -> bool {
        self.requests > 0 || self.error_count() > 0
    }

    /// Whether its throughput may be the best of a series, and the knee: as many requests ended as were in flight, and
    /// those that did not end leave it open by 2 % at the most.
    #[must_use]
    pub fn may_be_best(&self) -> bool {
        self.has_ended_requests() && !self.too_few_ended && self.unended.is_none_or(|unended| !unended.is_wide)
    }

    /// Body bytes that moved in the time measured, whatever became of their requests.
    #[must_use]
    pub fn all_moved_bytes(&self) -> i64 {
        self.moved_bytes + self.unended.map_or(0, |unended| unended.moved_bytes)
    }

    /// What the search for the knee needs of it.
    #[must_use]
    pub const fn visit(&self, measure: Measure) -> KneeVisit {
        KneeVisit {
            concurrency: self.concurrency,
            throughput: *self.throughput(measure),
            p50_ns: self.total.p50_ns,
            p99_ns: self.total.p99_ns,
            spent_ms: self.warmup_ms + self.measured_ms,
        }
    }

    /// The latency that comes first: in an open loop from when requests were due, which includes a wait for the target
    /// to come back.
    #[must_use]
    pub fn first_latency(&self) -> &Latency {
        self.open.as_ref().map_or(&self.total, |open| &open.total_intended)
    }

    #[must_use]
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Requests that ended in the time measured or failed behind it: those that hung did neither.
    #[must_use]
    pub fn ended_count(&self) -> u64 {
        (self.requests + self.error_count()).saturating_sub(self.hung.map_or(0, |hung| hung.requests))
    }

    /// Requests that failed in the warm-up, and those behind the measured time of an imported run.
    #[must_use]
    pub fn warmup_error_count(&self) -> u64 {
        self.warmup_errors.values().sum()
    }

    /// Requests that ended, well or not, the warm-up included.
    #[must_use]
    pub fn ended_with_warmup(&self) -> u64 {
        self.requests + self.error_count() + self.warmup_requests + self.warmup_error_count()
    }

    /// Attempts that failed and were made again.
    #[must_use]
    pub fn retry_count(&self) -> u64 {
        self.retries.values().sum()
    }
}

/// Requests that were given up open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unended {
    pub requests: u64,
    /// Body bytes that they moved in the time measured.
    pub moved_bytes: i64,
    /// Body bytes per second with theirs: the upper end of the bracket.
    pub bytes_per_s: f64,
    /// Whether the bracket is wider than 2 % of its upper end.
    pub is_wide: bool,
}

/// Requests that had waited for longer than any that ended took when they were given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HungRequests {
    pub requests: u64,
    /// How long the one had waited that had waited least.
    pub least_ns: u64,
    /// The median and the longest of those that ended.
    pub ended_p50_ns: u64,
    pub ended_max_ns: u64,
}

/// What processor time bought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuCost {
    /// Processors in use, on average.
    pub cores: f64,
    /// Microseconds of processor time per successful request.
    pub us_per_request: f64,
    /// Seconds of processor time per GiB of bodies; absent where no bodies moved.
    pub s_per_gib: Option<f64>,
}

/// Figures of one operation at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpFigures {
    pub op: Op,
    pub requests: u64,
    /// Body bytes of requests that succeeded.
    #[serde(default)]
    pub bytes: u64,
    pub errors: u64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Body bytes per second.
    pub bytes_per_s: f64,
    /// Time to first byte.
    pub ttfb: Latency,
    /// Time to last byte.
    pub total: Latency,
}

/// Figures of one host at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFigures {
    /// `host:port`.
    pub host: String,
    pub requests: u64,
    pub errors: u64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Body bytes per second.
    pub bytes_per_s: f64,
    /// Median time to first byte, in nanoseconds.
    pub ttfb_p50_ns: u64,
    /// Median time to last byte, in nanoseconds.
    pub total_p50_ns: u64,
    /// 99th percentile of the time to last byte, in nanoseconds.
    pub total_p99_ns: u64,
    /// Times to first byte from this value on are at least what they say: some requests had none. Absent where
    /// none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttfb_at_least_ns: Option<u64>,
    /// The same of times to last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_at_least_ns: Option<u64>,
}

/// What linerate drove against the null target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientCeiling {
    pub workload: MaybeKnown<Workload>,
    pub size: MaybeKnown<PointSizes>,
    /// So many of the run's clients drove it; absent where all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// The point it was measured at.
    pub point: Point,
    /// The same without TLS, in a run over TLS: what TLS costs is the difference in processor time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<Point>,
}

/// The run over time, in two tracks with a shared clock (milliseconds since the run began).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// When each point began and ended, for shading.
    pub spans: Vec<TimelineSpan>,
    /// What was driven; at most [`LOAD_SAMPLES_MAX`](crate::build::timeline::LOAD_SAMPLES_MAX) samples, neighbours
    /// averaged beyond that.
    pub load: Vec<LoadSample>,
    /// What this machine did meanwhile, between one reading and the next.
    pub machine: Vec<MachineSample>,
}

/// One point on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineSpan {
    pub point: u32,
    /// What it was, such as `get 4MiB × 16`.
    pub label: String,
    pub from_ms: u64,
    pub to_ms: u64,
}

/// What was driven in one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSample {
    /// End of the interval.
    pub at_ms: u64,
    pub point: u32,
    /// Set in the warm-up.
    pub warmup: bool,
    /// Body bytes per second.
    pub bytes_per_s: f64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Failed requests per second.
    pub errors_per_s: f64,
    /// Median time to last byte, in nanoseconds; absent in an interval where nothing ended.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the time to last byte, in nanoseconds.
    pub p99_ns: Option<u64>,
}

/// What this machine did between two readings. Shares are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineSample {
    pub at_ms: u64,
    /// Mean share in use, over processors.
    pub cpu_busy: f64,
    /// Share in use of the busiest processor.
    pub cpu_busiest: f64,
    /// Mean share in software interrupts.
    pub softirq: f64,
    /// Mean share taken by the hypervisor.
    pub steal: f64,
    /// Share in use of each processor, in the kernel's order.
    pub cpus: Vec<f64>,
    /// Interfaces that moved anything during the run.
    pub nics: Vec<NicSample>,
    /// TCP segments sent, per second.
    pub segments_per_s: f64,
    /// TCP retransmits, per second.
    pub retransmits_per_s: f64,
    /// Block devices that moved anything during the run.
    pub disks: Vec<DiskSample>,
    /// Memory available, in bytes.
    pub memory_available_bytes: u64,
    /// Share of time in which some task waited for a processor; absent where the kernel keeps no pressure figures.
    pub pressure_cpu: Option<f64>,
    /// The same for I/O.
    pub pressure_io: Option<f64>,
    /// The same for memory.
    pub pressure_memory: Option<f64>,
}

/// One interface between two readings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NicSample {
    pub name: String,
    /// Received, in bytes per second.
    pub rx_bytes_per_s: f64,
    /// Sent, in bytes per second.
    pub tx_bytes_per_s: f64,
    /// Packets dropped in either direction, per second.
    pub drops_per_s: f64,
}

/// One block device between two readings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskSample {
    pub name: String,
    /// Read, in bytes per second.
    pub read_bytes_per_s: f64,
    /// Written, in bytes per second.
    pub write_bytes_per_s: f64,
    /// Share of time with a request in flight.
    pub busy: f64,
}
