//! The view of a run: every figure that a report shows, computed once.
//!
//! `linerate report RUN --format json` is this structure. Times are nanoseconds or milliseconds and throughputs are
//! bytes or requests per second, as the names say.

use std::collections::BTreeMap;

use linerate_record::finding::Finding;
use linerate_record::machine::Machine;
use linerate_record::run::{Asked, Ended, Op, Target};
use linerate_record::slo::LatencyBound;
use serde::{Deserialize, Serialize};

use crate::canary::Canary;
use crate::estimate::REACH;
use crate::knee::{self, Knee, Measured};
use crate::slo::Sustained;
use crate::usl::Fit;

mod build;
mod shape;
mod sound;
mod tails;
pub mod timeline;

pub use build::{Records, build};
pub(crate) use build::{measure_of, with_warm_ups};

/// Version of [`View`]'s JSON.
pub const VIEW_SCHEMA: u32 = 2;

/// Everything a report shows of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// [`VIEW_SCHEMA`].
    pub schema: u32,
    /// What was run, where, against what.
    pub run: RunSummary,
    /// One series per workload and size, in the order asked.
    pub series: Vec<Series>,
    /// What linerate itself drove against the null target on this machine, per workload and size.
    pub ceilings: Vec<Ceiling>,
    /// What the canary showed; absent without one.
    #[serde(default)]
    pub canary: Option<Canary>,
    /// The whole run over time.
    pub timeline: Timeline,
    /// What there is to say, gravest first.
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
    /// Whether every point that was asked for has ended.
    pub complete: bool,
    /// Length of one interval in milliseconds.
    pub interval_ms: u64,
    /// What was asked.
    pub asked: Asked,
    /// What was loaded.
    pub target: Target,
    /// Where the load came from.
    pub machine: Machine,
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

/// Points that differ in concurrency alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// `get`, `put`, …, or `mixed get=45,…`.
    pub workload: String,
    /// Object size, as asked.
    pub size: String,
    /// Which throughput tells the story.
    pub measure: Measure,
    /// The points measured, by rising concurrency; one that was visited again has a point per visit. Points without a
    /// single whole interval are left out.
    pub points: Vec<Point>,
    /// Where more concurrency stopped paying; absent with a single concurrency, or where nothing succeeded.
    pub knee: Option<Knee>,
    /// The Universal Scalability Law fitted to the points; absent with too few.
    pub scaling: Option<Scaling>,
    /// The highest rate at which the bounds of `--slo` held; absent without such a search.
    #[serde(default)]
    pub sustained: Option<Sustained>,
    /// What bound the best point; absent without points.
    pub limit: Option<Limit>,
}

/// The Universal Scalability Law of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// The law, with its uncertainty, and whether the points refuse it.
    #[serde(flatten)]
    pub law: Fit,
    /// The law as `[concurrency, throughput]`, over the concurrencies measured; empty where the points refuse it.
    pub curve: Vec<[f64; 2]>,
}

/// Who bound a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// linerate's own threads.
    Client,
    /// This machine's processors, which client and target share.
    Machine,
    /// Not the target: others had this machine's processors, or a quota kept linerate from them.
    Disturbed,
    /// A NIC of this machine.
    Nic,
    /// `--max-rate`.
    RateCap,
    /// `--rate`: the target kept up with it.
    AskedRate,
    /// The target, or the way to it.
    Target,
}

/// Who bound the best point of a series, and how that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Who.
    pub bound: Bound,
    /// One sentence.
    pub claim: String,
    /// The readings it rests on.
    pub evidence: String,
    /// What to do next.
    pub remedy: String,
}

/// One measured point.
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
    pub ended: Option<Ended>,
    /// Body bytes per second.
    pub bytes_per_s: Estimate,
    /// Requests per second.
    pub requests_per_s: Estimate,
    /// Requests that succeeded.
    pub requests: u64,
    /// Body bytes of requests that succeeded.
    pub bytes: u64,
    /// Body bytes that moved in the time measured, of requests that began before it or ended after it too, and without
    /// those of requests that failed. Throughput is told of these.
    pub moved_bytes: i64,
    /// Requests that failed, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Attempts that failed and were made again, by kind.
    #[serde(default)]
    pub retries: BTreeMap<String, u64>,
    /// Attempts that the target refused because it was asked too much.
    #[serde(default)]
    pub throttled: u64,
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

    /// What the search for the knee needs of it.
    #[must_use]
    pub const fn visit(&self, measure: Measure) -> Measured {
        Measured {
            concurrency: self.concurrency,
            throughput: *self.throughput(measure),
            p50_ns: self.total.p50_ns,
            p99_ns: self.total.p99_ns,
            spent_ms: self.warmup_ms + self.measured_ms,
        }
    }

    /// Up to which period a disturbance is in the intervals of its figures, in milliseconds: what comes back more
    /// seldom, or is remembered for longer, a point of this length cannot know.
    #[must_use]
    pub const fn reach_ms(&self) -> u64 {
        self.measured_ms / REACH
    }

    /// Requests that failed.
    #[must_use]
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }
}

impl Series {
    /// The throughput at the concurrency that gives most, all of its visits together; that of the best point where
    /// there is no curve.
    #[must_use]
    pub fn best(&self) -> Option<Estimate> {
        let of_all = self.knee.as_ref().map(|knee| knee.best);
        of_all.or_else(|| self.typical().map(|point| *point.throughput(self.measure)))
    }

    /// Throughput at each concurrency of a closed loop, all of its visits together.
    #[must_use]
    pub fn together(&self) -> Vec<(u32, Estimate)> {
        let closed = self.points.iter().filter(|point| point.open.is_none());
        knee::together(&closed.map(|point| point.visit(self.measure)).collect::<Vec<_>>())
    }

    /// The visit that stands for the concurrency that gives most: the one whose throughput is nearest to that of all
    /// its visits together. The highest would be the luckiest.
    #[must_use]
    pub fn typical(&self) -> Option<&Point> {
        let mean = |point: &Point| point.throughput(self.measure).mean;
        match &self.knee {
            Some(knee) => {
                let visits = self.points.iter().filter(|p| p.concurrency == knee.best_concurrency);
                visits.min_by(|a, b| (mean(a) - knee.best.mean).abs().total_cmp(&(mean(b) - knee.best.mean).abs()))
            }
            None => self.points.iter().max_by(|a, b| mean(a).total_cmp(&mean(b))),
        }
    }
}

/// What an open loop shows beyond a closed one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Requests per second that were asked for.
    pub asked_per_s: f64,
    /// Whether requests fell due at random, and not evenly.
    #[serde(default)]
    pub at_random: bool,
    /// Requests that fell due in the time measured.
    pub due: u64,
    /// Requests that were due and not started at the end.
    pub backlog: u64,
    /// The most at the end of an interval.
    pub backlog_max: u64,
    /// Backlog and requests in flight at the end of the first interval measured.
    pub outstanding_first: u64,
    /// The same at the end of the last.
    pub outstanding_last: u64,
    /// How the bounds of `--slo` fared, in their order; empty without one.
    #[serde(default)]
    pub bounds: Vec<BoundFigures>,
    /// Intervals at whose end requests were due and not started because the most were in flight.
    pub intervals_with_backlog: u32,
    /// By how much requests started late through linerate's own fault.
    pub late: Latency,
    /// Time to first byte from when requests were due.
    pub ttfb_intended: Latency,
    /// Time to last byte from when requests were due.
    pub total_intended: Latency,
}

/// One bound of `--slo` at one point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundFigures {
    /// The bound.
    #[serde(flatten)]
    pub bound: LatencyBound,
    /// Requests whose fate was known at the end: answered, failed, or outstanding for longer than the bound.
    pub count: u64,
    /// Those of them that took longer than the bound, or failed, or were still outstanding after it.
    pub over: u64,
    /// How many independent requests `count` is worth.
    pub effective: f64,
    /// Whether no more than the share allowed took longer, and the rate was reached.
    pub held: bool,
    /// The 95 % interval of the share that took longer, from 0 to 1; absent in views of versions without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_95: Option<[f64; 2]>,
}

impl BoundFigures {
    /// Whether the interval of the share leaves no doubt that the bound was held, or missed.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        let allowed = self.bound.share_over();
        self.share_95.is_some_and(|[low, high]| high <= allowed || low > allowed)
    }
}

/// A mean over intervals with its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval, which knows of what comes back within a quarter of the time
    /// measured; absent with fewer than eight intervals, or where the point was not steady.
    pub half_width_95: Option<f64>,
    /// Intervals averaged.
    pub intervals: u32,
    /// How many independent intervals they are worth, by their autocorrelation.
    pub effective: f64,
}

/// Quantiles of a latency distribution, in nanoseconds; all zero where nothing was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Values recorded.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// The 95 % interval of the 99th percentile; absent where requests are too few to bound it on either side, and for
    /// latencies of which none is made: to the first byte, and of one operation or host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_95_ns: Option<[u64; 2]>,
    /// The same of the 99.9th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_95_ns: Option<[u64; 2]>,
    /// Largest.
    pub max_ns: u64,
    /// The distribution as `[percentile, nanoseconds]`, percentile rising from 0 to 100.
    pub distribution: Vec<[f64; 2]>,
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
    /// Operation.
    pub op: Op,
    /// Requests that succeeded.
    pub requests: u64,
    /// Requests that failed.
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
    /// Requests that succeeded.
    pub requests: u64,
    /// Requests that failed.
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
}

/// What linerate drove against the null target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Workload.
    pub workload: String,
    /// Object size.
    pub size: String,
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
    pub spans: Vec<Span>,
    /// What was driven; at most [`timeline::LOAD_SAMPLES_MAX`] samples, neighbours averaged beyond that.
    pub load: Vec<LoadSample>,
    /// What this machine did meanwhile, between one reading and the next.
    pub machine: Vec<MachineSample>,
}

/// One point on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Its number.
    pub point: u32,
    /// What it was, such as `get 4MiB × 16`.
    pub label: String,
    /// Begin.
    pub from_ms: u64,
    /// End.
    pub to_ms: u64,
}

/// What was driven in one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadSample {
    /// End of the interval.
    pub at_ms: u64,
    /// The point.
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
    /// The later reading.
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
    /// TCP segments sent again, per second.
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
    /// Interface name.
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
    /// Device name.
    pub name: String,
    /// Read, in bytes per second.
    pub read_bytes_per_s: f64,
    /// Written, in bytes per second.
    pub write_bytes_per_s: f64,
    /// Share of time with a request in flight.
    pub busy: f64,
}

#[cfg(test)]
pub(crate) mod tests;
