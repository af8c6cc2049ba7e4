//! Two runs, or two groups of runs, side by side: what differs, and what the data cannot tell apart.
//!
//! Points are matched by workload, size, requests in flight and the number of clients that drove them: load of fewer
//! clients is another load. A difference is called one only where both sides have
//! three runs, a test over those says so, and the family of all tests of the comparison is held to 5 % (Holm);
//! otherwise the comparison says how large a difference it could have seen, or that it could have seen none.
//! docs/method/compare.md tells how, decision 0011 why it refuses so often.

use std::cmp::Ordering;

use linerate_record::histogram::DecodeError;
use linerate_record::load::Workload;
use linerate_record::run::{MaybeKnown, PointSizes, SeriesSpec, Target};
use linerate_record::units::count;
use serde::{Deserialize, Serialize};

use crate::build;
use crate::knee::{Knee, KneeOutcome};
use crate::records::Records;
use crate::view::{Bottleneck, Measure, Point, Series, View};

mod contrast;
mod samples;
mod setup;

pub use setup::SetupDifference;

use samples::Figures;

/// Version of [`Comparison`]'s JSON.
pub const COMPARISON_SCHEMA: u32 = 2;

/// Runs of each side from which a difference can be called one: what changes from run to run takes three to be seen.
pub const RUNS_MIN: usize = 3;

/// How often a comparison of equals may call any difference at all.
pub const ALPHA: f64 = 0.05;

/// How often a difference of the size told as detectable would be seen.
pub const POWER: f64 = 0.8;

/// Everything a report shows of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: u32,
    /// What is compared with.
    pub a: ComparedRuns,
    pub b: ComparedRuns,
    /// Whether both sides have [`RUNS_MIN`] runs: without, figures are told and nothing is tested.
    pub enough_runs: bool,
    /// Whether all runs of one side began before those of the other: then time may be the difference.
    pub apart_in_time: bool,
    /// Contrasts tested, over which Holm's correction is taken.
    pub tests: u32,
    /// One per workload and size that both arms measured.
    pub series: Vec<SeriesComparison>,
    /// Points that one arm alone has, such as `get 4MiB × 16 (A only)`.
    pub unmatched: Vec<String>,
    /// What differs in how the runs were set up.
    pub setup: Vec<SetupDifference>,
    /// Whether B is slower than a threshold allows; absent where none was given.
    pub threshold: Option<ComparisonThreshold>,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRuns {
    /// Its runs, in the order given.
    pub runs: Vec<ArmRun>,
}

/// A run of an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmRun {
    /// Name of the run.
    pub id: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// Version of linerate that measured.
    pub linerate_version: String,
    pub target: Target,
    /// Whether every point asked for was measured to its end.
    pub complete: bool,
}

/// Points of one workload and size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesComparison {
    pub workload: MaybeKnown<Workload>,
    /// Object size, as asked.
    pub size: MaybeKnown<PointSizes>,
    /// So many clients drove it; absent where their number was not varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Which throughput is compared.
    pub measure: Measure,
    /// Who bound the best point of A's first run, where that is known.
    pub a_bound: Option<Bottleneck>,
    /// The same of B.
    pub b_bound: Option<Bottleneck>,
    /// In each run of A in which it was found, the least concurrency that was enough. It is told, and not tested.
    pub a_knees: Vec<u32>,
    /// The same of B.
    pub b_knees: Vec<u32>,
    /// Points of equal concurrency, by rising concurrency.
    pub points: Vec<PointComparison>,
}

/// A point of A beside one of B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointComparison {
    /// Requests per second that both were asked for, in an open loop; absent in a closed one.
    #[serde(default)]
    pub rate_per_s: Option<f64>,
    /// Requests in flight in A: of its first run, where runs differ.
    pub a_concurrency: u32,
    /// Requests in flight in B.
    pub b_concurrency: u32,
    /// By how many clients the figures of both are; absent where one process drove them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driven_by: Option<u32>,
    /// Requests that failed in A.
    pub a_errors: u64,
    /// Requests that failed in B.
    pub b_errors: u64,
    /// Runs of A in which no request of it succeeded: these have no figures.
    #[serde(default)]
    pub a_failed_runs: u32,
    /// The same of B.
    #[serde(default)]
    pub b_failed_runs: u32,
    pub contrasts: Vec<MetricComparison>,
    /// What is not compared, since requests that had not ended leave it unknown in a run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownMetric>,
}

/// A figure that is not compared: of some runs only a bound of it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownMetric {
    pub metric: Metric,
    /// Runs of A in which requests that had not ended leave it unknown.
    pub a_runs: u32,
    /// The same of B.
    pub b_runs: u32,
}

impl SeriesComparison {
    /// How a point of it was loaded: `× 16`, or `200/s` in an open loop, and by how many of its clients where some were
    /// lost.
    #[must_use]
    pub fn load(&self, point: &PointComparison) -> String {
        let PointComparison { rate_per_s, b_concurrency: concurrency, driven_by, .. } = *point;
        SeriesPosition { rate_per_s, concurrency, driven_by }.name(self.clients)
    }

    /// A point of it, as [`ComparisonThreshold`] names it.
    #[must_use]
    pub fn point_name(&self, point: &PointComparison) -> String {
        format!("{} {} {}", self.workload, self.size, self.load(point))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Bytes or requests per second, as the series' measure says.
    Throughput,
    /// Median time to last byte, in nanoseconds.
    P50,
    /// 99th percentile of the time to last byte, in nanoseconds.
    P99,
}

impl Metric {
    /// Every metric, in the order in which reports list them.
    pub const ALL: [Metric; 3] = [Metric::Throughput, Metric::P50, Metric::P99];
}

/// One figure of A beside that of B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricComparison {
    pub metric: Metric,
    pub a: SideEstimate,
    pub b: SideEstimate,
    /// B / A − 1: 0.05 is 5 % more.
    pub share: f64,
    /// What that varies by; absent where there are too few runs for an interval.
    pub change: Option<RelativeChange>,
    /// What may be said.
    pub verdict: CompareVerdict,
    /// Whether the difference is for the better: more throughput, less latency; absent where none is called.
    #[serde(default)]
    pub better: Option<bool>,
    /// What there is too little of for a test; absent where it was tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<InsufficientData>,
}

/// What there is of what a test takes more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsufficientData {
    pub of: MissingData,
    /// So many in A: runs that have the figure, or what the run has that has least.
    pub a: u64,
    /// The same in B.
    pub b: u64,
    /// So many it takes of each; of requests, about so many, as they came here.
    pub needed: u64,
}

/// What a test can lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingData {
    /// Runs of a side.
    Runs,
    /// Intervals of a run.
    Intervals,
    /// Requests of a run.
    Requests,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideEstimate {
    /// The figure; the geometric mean of runs where there are several.
    pub value: f64,
    /// Lower end of its 95 % interval; absent where there is too little data.
    pub low_95: Option<f64>,
    pub high_95: Option<f64>,
}

/// How sure B against A is, as shares: 0.05 is 5 % more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelativeChange {
    /// Lower end of the 95 % interval, at the level at which the family of all tests holds this one: without 0 where a
    /// difference is called, and with it where none is.
    pub low_95: f64,
    pub high_95: f64,
    /// How probable a change as large is between equals, taken by itself.
    pub p: f64,
    /// The same, corrected for all tests of the comparison: a difference is called one below [`ALPHA`].
    pub p_holm: f64,
    /// The least change that this comparison would have called a difference with probability [`POWER`].
    pub detectable: f64,
    /// Whether not even a doubling would have been called one.
    #[serde(default)]
    pub too_unsteady: bool,
    /// Where no difference is called, `detectable`; absent where not even a doubling would have been called, and where
    /// more was measured: what is called nothing must not be beyond what is said to be seen.
    #[serde(default)]
    pub shown_from: Option<f64>,
    /// Standard error of the logarithm of B / A.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub df: f64,
}

/// What the data supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompareVerdict {
    /// B's figure is higher.
    Higher,
    /// B's figure is lower.
    Lower,
    /// No difference is shown. That is not to say that there is none.
    NotShown,
    /// There is too little data to say anything.
    TooFew,
    /// A side has fewer than [`RUNS_MIN`] runs: two runs of one thing differ too, and nothing here says by how much.
    FewRuns,
}

/// Whether B is slower than A by more than a share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonThreshold {
    /// The share of A's throughput that B may lose.
    pub share: f64,
    /// Points of which the data shows that B loses more, or in which more runs of B than of A have no success at all.
    pub missed: Vec<String>,
    /// Points that could not be tested.
    pub untested: Vec<String>,
}

/// One run, as compared.
struct Run {
    records: Records,
    view: View,
}

/// Compares the runs of `b` with those of `a`. With a `threshold`, also tests of each throughput whether B falls short
/// of `1 − threshold` of A's.
///
/// # Errors
/// [`DecodeError`] where a histogram of a folder is damaged.
pub fn compare(a: &[Records], b: &[Records], threshold: Option<f64>) -> Result<Comparison, DecodeError> {
    let arms = [runs(a)?, runs(b)?];
    let (mut series, mut unmatched) = (Vec::new(), Vec::new());
    for of in names(&arms) {
        match one_series(&arms, &of)? {
            Some(found) => {
                unmatched.extend(lonely_points(&arms, &of, &found));
                series.push(found);
            }
            None => unmatched.push(format!("{} ({} only)", name(&of), owner(&arms, &of))),
        }
    }
    let mut all: Vec<&mut MetricComparison> =
        series.iter_mut().flat_map(|s| &mut s.points).flat_map(|p| &mut p.contrasts).collect();
    let tests = contrast::judge(&mut all);
    let threshold = threshold.map(|share| contrast::threshold(share, &series));
    Ok(Comparison {
        schema: COMPARISON_SCHEMA,
        a: arm(&arms[0]),
        b: arm(&arms[1]),
        enough_runs: a.len().min(b.len()) >= RUNS_MIN,
        apart_in_time: apart_in_time(a, b),
        tests,
        series,
        unmatched,
        setup: setup::differences(a, b),
        threshold,
    })
}

/// Whether all runs of one side began before those of the other.
fn apart_in_time(a: &[Records], b: &[Records]) -> bool {
    let began = |runs: &[Records]| runs.iter().map(|run| run.manifest.started_unix_ms).collect::<Vec<u64>>();
    let (a, b) = (began(a), began(b));
    a.iter().max() < b.iter().min() || b.iter().max() < a.iter().min()
}

fn runs(records: &[Records]) -> Result<Vec<Run>, DecodeError> {
    records
        .iter()
        .map(|records| {
            let flagged = build::with_warm_ups(build::together(records)?.as_ref());
            Ok(Run { records: flagged, view: build::build(records)? })
        })
        .collect()
}

fn arm(runs: &[Run]) -> ComparedRuns {
    let run = |run: &Run| ArmRun {
        id: run.view.run.id.clone(),
        started_unix_ms: run.view.run.started_unix_ms,
        linerate_version: run.view.run.linerate_version.clone(),
        target: run.view.run.target.clone(),
        complete: run.view.run.complete,
    };
    ComparedRuns { runs: runs.iter().map(run).collect() }
}

/// Series of either arm, in the order of the first that has them. Equal mixes are one, whoever wrote them.
fn names(arms: &[Vec<Run>; 2]) -> Vec<SeriesSpec> {
    let mut names = Vec::new();
    for series in arms.iter().flatten().flat_map(|run| &run.view.series) {
        let (workload, size) = (series.workload.clone(), series.size.clone());
        let name = SeriesSpec { workload, size, clients: series.clients };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn find<'a>(run: &'a Run, of: &SeriesSpec) -> Option<&'a Series> {
    run.view.series.iter().find(|s| s.workload == of.workload && s.size == of.size && s.clients == of.clients)
}

/// What a series is called: `get 4MiB`, and `get 4MiB from 28 clients` where their number was varied.
fn name(of: &SeriesSpec) -> String {
    let from = match of.clients {
        None => String::new(),
        Some(1) => " from 1 client".to_owned(),
        Some(clients) => format!(" from {clients} clients"),
    };
    format!("{} {}{from}", of.workload, of.size)
}

/// Which arm has a series that the other has not.
fn owner(arms: &[Vec<Run>; 2], of: &SeriesSpec) -> &'static str {
    if arms[0].iter().any(|run| find(run, of).is_some()) { "A" } else { "B" }
}

/// Where in a series a point is.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct SeriesPosition {
    /// Asked for in an open loop.
    rate_per_s: Option<f64>,
    concurrency: u32,
    /// Clients whose figures it has.
    driven_by: Option<u32>,
}

impl SeriesPosition {
    fn new(series: &Series, point: &Point) -> Self {
        // Of a run with one client, no point says how many drove it.
        let driven_by = point.driven_by.or(series.clients);
        SeriesPosition {
            rate_per_s: point.open.as_ref().map(|open| open.requested_per_s),
            concurrency: point.concurrency,
            driven_by,
        }
    }

    /// Beside the name of its series, which `clients` drive.
    fn name(self, clients: Option<u32>) -> String {
        let load =
            self.rate_per_s.map_or_else(|| format!("× {}", self.concurrency), |rate| format!("{}/s", count(rate)));
        // Where some of a point's clients were lost, that may be why it has no counterpart.
        match (self.driven_by, clients) {
            (Some(driven), Some(requested)) if driven < requested => format!("{load} by {driven} of them"),
            _ => load,
        }
    }
}

/// Places that an arm measured of a series.
fn places(arm: &[Run], of: &SeriesSpec) -> Vec<SeriesPosition> {
    let series = arm.iter().filter_map(|run| find(run, of));
    let mut all: Vec<SeriesPosition> =
        series.flat_map(|s| s.points.iter().map(|point| SeriesPosition::new(s, point))).collect();
    all.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    all.dedup();
    all
}

fn lonely_points(arms: &[Vec<Run>; 2], of: &SeriesSpec, found: &SeriesComparison) -> Vec<String> {
    let mut lonely = Vec::new();
    let compared = |place: SeriesPosition| {
        let matched = |p: &PointComparison| (p.rate_per_s, p.a_concurrency, p.driven_by);
        found.points.iter().any(|p| matched(p) == (place.rate_per_s, place.concurrency, place.driven_by))
    };
    for (arm, arm_name) in arms.iter().zip(["A", "B"]) {
        for place in places(arm, of).into_iter().filter(|&place| !compared(place)) {
            lonely.push(format!("{} {} ({arm_name} only)", name(of), place.name(of.clients)));
        }
    }
    lonely
}

/// A series that both arms have.
fn one_series(arms: &[Vec<Run>; 2], of: &SeriesSpec) -> Result<Option<SeriesComparison>, DecodeError> {
    let first = |arm: &[Run]| arm.iter().find_map(|run| find(run, of).cloned());
    let (Some(a), Some(b)) = (first(&arms[0]), first(&arms[1])) else { return Ok(None) };
    let both = places(&arms[1], of);
    let mut points = Vec::new();
    for place in places(&arms[0], of).into_iter().filter(|place| both.contains(place)) {
        points.extend(pair(arms, of, a.measure, place)?);
    }
    let knees = |arm: &[Run]| arm.iter().filter_map(|run| find(run, of).and_then(knee)).collect();
    Ok(Some(SeriesComparison {
        workload: of.workload.clone(),
        size: of.size.clone(),
        clients: of.clients,
        measure: a.measure,
        a_bound: a.limit.map(|limit| limit.bound),
        b_bound: b.limit.map(|limit| limit.bound),
        a_knees: knees(&arms[0]),
        b_knees: knees(&arms[1]),
        points,
    }))
}

/// The concurrency at which a series' throughput stopped paying, where it did.
fn knee(series: &Series) -> Option<u32> {
    let found = |knee: &&Knee| matches!(knee.outcome, KneeOutcome::Found | KneeOutcome::Retrograde);
    series.knee.as_ref().filter(found).map(|knee| knee.concurrency)
}

/// The points of both arms at a place; `None` where an arm has none.
fn pair(
    arms: &[Vec<Run>; 2],
    of: &SeriesSpec,
    measure: Measure,
    place: SeriesPosition,
) -> Result<Option<PointComparison>, DecodeError> {
    let mut sides = [Vec::<Figures>::new(), Vec::new()];
    for (arm, side) in arms.iter().zip(&mut sides) {
        for run in arm {
            let Some(series) = find(run, of) else { continue };
            let points = || series.points.iter().filter(|p| SeriesPosition::new(series, p) == place);
            let Some(first) = points().next() else { continue };
            let numbers: Vec<u32> = points().map(|p| p.point).collect();
            let row = series.together_of(first).unwrap_or(first);
            side.extend(samples::figures(&run.records, &numbers, row, measure)?);
        }
    }
    let [a, b] = sides;
    if a.is_empty() || b.is_empty() {
        return Ok(None);
    }
    let errors = |side: &[Figures]| side.iter().map(|figures| figures.errors).sum();
    let runs_in_which = |side: &[Figures], is_so: &dyn Fn(&Figures) -> bool| {
        u32::try_from(side.iter().filter(|figures| is_so(figures)).count()).unwrap_or(u32::MAX)
    };
    let failed = |side: &[Figures]| runs_in_which(side, &|figures| figures.by_metric(Metric::Throughput).is_none());
    let unknown = Metric::ALL.map(|metric| {
        let runs = |side| runs_in_which(side, &|figures| figures.is_unknown(metric));
        UnknownMetric { metric, a_runs: runs(&a), b_runs: runs(&b) }
    });
    Ok(Some(PointComparison {
        rate_per_s: place.rate_per_s,
        a_concurrency: place.concurrency,
        b_concurrency: place.concurrency,
        driven_by: place.driven_by,
        a_errors: errors(&a),
        b_errors: errors(&b),
        a_failed_runs: failed(&a),
        b_failed_runs: failed(&b),
        contrasts: Metric::ALL.into_iter().filter_map(|metric| contrast::compare_metric(metric, &a, &b)).collect(),
        unknown: unknown.into_iter().filter(|unknown| (unknown.a_runs, unknown.b_runs) != (0, 0)).collect(),
    }))
}

#[cfg(test)]
mod tests;
