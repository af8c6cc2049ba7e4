//! The findings that follow from the figures of a run. Each check is a file below: what it tests and why its thresholds
//! are what they are, its function, and tests that make it speak and keep it silent. `docs/method/checks.md` lists all.

use std::collections::BTreeSet;

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::Interval;

use crate::counters;
use crate::open_loop;
use crate::records::Records;
use crate::view::{MachineSample, Measure, Point, Series, View, load_in_words};

mod backoff;
mod bimodal;
mod bond;
mod bottleneck;
mod canary;
mod client_cpu;
mod client_lost;
mod client_version;
mod clock;
mod disturbed;
mod drift;
mod ended_early;
mod errors;
mod few_stalls;
mod imported;
mod incomplete;
mod late_starts;
mod left_at_target;
mod levels;
mod littles_law;
mod never_answered;
mod not_steady;
mod not_stored;
mod packet_loss;
mod still_rising;
mod stolen_time;
mod stopped;
mod target_lost;
mod throttling;
mod too_short;
mod uneven_curve;
mod uneven_hosts;
mod unreadable;
mod unverified;
mod wire_bytes;
mod working_set;

pub use canary::canary_tripped;
pub use client_lost::{client_lost, intervals_merged, stood_still};
pub use client_version::client_versions;
pub use imported::{ImportedFile, imported};
pub use left_at_target::{CountPrecision, LeftAtTarget, kept_at_target, left_at_target};
pub use not_stored::{
    ConfirmedSet, ShownSet, against_head, against_heads, against_listing, not_checked, not_headed, not_stored,
};
pub use unreadable::unreadable;
pub use unverified::unverified;

/// A check of one series, which is given its name.
type OfSeries = fn(&Run<'_>, &str, &Series) -> Option<Finding>;

const OF_SERIES: [OfSeries; 25] = [
    disturbed::of_series,
    not_steady::of_series,
    too_short::none_ended,
    too_short::of_series,
    too_short::unended,
    too_short::pieces,
    still_rising::of_series,
    bottleneck::of_series,
    littles_law::of_series,
    wire_bytes::unaccounted,
    wire_bytes::overhead,
    client_cpu::thread,
    client_cpu::interrupts,
    client_cpu::softirq,
    bond::of_series,
    working_set::of_series,
    uneven_hosts::of_series,
    bimodal::of_series,
    levels::of_series,
    drift::of_series,
    few_stalls::of_series,
    uneven_curve::of_series,
    throttling::of_series,
    backoff::of_series,
    late_starts::of_series,
];

/// Checks of the whole run.
const OF_RUN: [fn(&Run<'_>) -> Option<Finding>; 8] = [
    errors::wrong_in_warmup,
    stolen_time::of_run,
    packet_loss::of_run,
    clock::of_run,
    stopped::of_run,
    working_set::unknown,
    incomplete::of_run,
    client_version::of_run,
];

/// Everything there is to say of a run, most severe first.
#[must_use]
pub fn findings(view: &View, records: &Records) -> Vec<Finding> {
    let run = &Run { view, records, samples: counters::samples(&records.readings) };
    let mut all = records.findings.clone();
    for series in &view.series {
        let label = &format!("{} {}", series.workload, series.size);
        for point in &series.points {
            all.extend(errors::of_point(label, point, run));
            all.extend(errors::in_warmup(label, point));
            all.extend(never_answered::of_point(label, point));
            all.extend(target_lost::of_point(label, point, run));
            all.extend(ended_early::of_point(label, point, run));
        }
        all.extend(series.at_each().into_iter().flat_map(|point| open_loop::findings(label, series, point)));
        all.extend(OF_SERIES.iter().filter_map(|check| check(run, label, series)));
        all.extend(open_loop::missed(label, series, &records.manifest.requested));
        all.extend(open_loop::contradicted(label, series, &records.manifest.requested));
    }
    all.extend(ended_early::without_figures(run));
    all.extend(OF_RUN.iter().filter_map(|check| check(run)));
    all.iter_mut().for_each(|found| disturbed::spoilt(run, found));
    sort(&mut all);
    all
}

/// Gravest first, each once.
pub(crate) fn sort(all: &mut Vec<Finding>) {
    all.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.points.cmp(&b.points)));
    all.dedup();
}

/// Whether so many requests failed that the figures should not be used.
#[must_use]
pub fn requests_failed(view: &View) -> Option<&Finding> {
    use FindingKind::{EndedEarly, NeverAnswered, NotStored, RequestErrors, TargetLost, TooShort, WrongBody};
    let of_requests = |kind| matches!(kind, EndedEarly | NeverAnswered | NotStored | RequestErrors | TargetLost);
    let severe = |kind| of_requests(kind) || matches!(kind, TooShort | WrongBody);
    view.findings.iter().find(|f| f.severity == Severity::Critical && severe(f.kind))
}

/// Whether other load on this machine left points without an answer: their figures say nothing of the target.
#[must_use]
pub fn spoilt_by_others(view: &View) -> Option<&Finding> {
    view.findings.iter().find(|f| f.severity == Severity::Critical && f.kind == FindingKind::Disturbed)
}

/// What says that something of the run is known to be left at the target, or could not be looked for, though it was to
/// go.
#[must_use]
pub fn left_behind(view: &View) -> Option<&Finding> {
    let left = |f: &Finding| f.kind == FindingKind::LeftBehind && f.severity >= Severity::Warning;
    view.findings.iter().find(|f| left(f) && f.confidence >= Confidence::Likely)
}

/// Whether a run went well but for what its target kept: its figures are as good as any.
#[must_use]
pub fn is_only_left_behind(view: &View) -> bool {
    view.run.complete && left_behind(view).is_some()
}

/// What says that something that the user set a threshold for was beyond it or, where nothing was, is not shown to be
/// within it.
#[must_use]
pub fn threshold_missed(view: &View) -> Option<&Finding> {
    use FindingKind::{CanaryTripped, SloInDoubt, SloMissed};
    let beyond = view.findings.iter().find(|f| matches!(f.kind, SloMissed | CanaryTripped));
    beyond.or_else(|| view.findings.iter().find(|f| f.kind == SloInDoubt))
}

/// What checks look at.
struct Run<'a> {
    view: &'a View,
    records: &'a Records,
    /// What this machine did from reading to reading; more of them than the view's timeline keeps.
    samples: Vec<MachineSample>,
}

impl<'a> Run<'a> {
    /// The intervals of a point outside its warm-up.
    fn measured(&self, point: u32) -> Vec<&'a Interval> {
        self.records.intervals.iter().filter(|i| i.point == point && !i.warmup).collect()
    }

    /// What this machine did while a point was measured.
    fn samples(&self, point: u32) -> Vec<&MachineSample> {
        counters::samples_of(&self.samples, &self.measured(point))
    }

    /// A mean over everything this machine did.
    fn mean(&self, extract: fn(&MachineSample) -> f64) -> f64 {
        self.samples.iter().map(extract).sum::<f64>() / self.samples.len().max(1) as f64
    }
}

/// What a check has to say of one point.
struct PointFinding {
    severity: Severity,
    confidence: Confidence,
    /// How bad it is, to find the worst of several points.
    badness: f64,
    /// Without the point, which is added.
    claim: String,
    evidence: String,
}

/// One finding of all points of a series of which a check has something to say: it tells the worst, and names the
/// others.
fn worst(
    kind: FindingKind,
    remedy: &str,
    label: &str,
    series: &Series,
    check: impl Fn(&Point) -> Option<PointFinding>,
) -> Option<Finding> {
    worst_of(kind, remedy, label, series.points.iter(), check)
}

/// The same of these points.
fn worst_of<'p>(
    kind: FindingKind,
    remedy: &str,
    label: &str,
    points: impl Iterator<Item = &'p Point>,
    check: impl Fn(&Point) -> Option<PointFinding>,
) -> Option<Finding> {
    let reported: Vec<(&Point, PointFinding)> = points.filter_map(|p| Some((p, check(p)?))).collect();
    let severity = reported.iter().map(|(_, reported)| reported.severity).max()?;
    let worst = reported.iter().filter(|(_, reported)| reported.severity == severity);
    let (point, worst) = worst.max_by(|(_, a), (_, b)| a.badness.total_cmp(&b.badness))?;
    Some(Finding {
        kind,
        severity,
        confidence: worst.confidence,
        points: BTreeSet::from_iter(reported.iter().map(|(point, _)| point.point)).into_iter().collect(),
        claim: format!("{} ({label}, {})", worst.claim, load_in_words(point)),
        evidence: worst.evidence.clone(),
        remedy: remedy.to_owned(),
    })
}

/// Throughput of each whole interval of a point: bytes or requests per second.
fn rates(run: &Run<'_>, point: u32, measure: Measure) -> Vec<f64> {
    let measured = run.measured(point);
    let whole_ms = counters::usual_ms(&measured);
    let whole = measured.into_iter().filter(|i| i.to_ms - i.from_ms == whole_ms && whole_ms > 0);
    whole
        .map(|i| i.whole_rows().map(|row| measure.of_row(row)).sum::<f64>() * 1e3 / (i.to_ms - i.from_ms) as f64)
        .collect()
}

/// What is judged of a series: each visit, and all visits of a concurrency or rate together where they are enough,
/// since what they differ by is in their interval.
fn judged(series: &Series) -> impl Iterator<Item = &Point> {
    let visits = series.points.iter().filter(|point| series.of_enough_visits(point).is_none());
    visits.chain(series.pooled.iter().filter(|row| series.of_enough_visits(row).is_some()))
}

/// Throughput of each whole interval of what is judged, in the order of time.
fn rates_judged(run: &Run<'_>, series: &Series, point: &Point) -> Vec<f64> {
    if series.of_enough_visits(point).is_none() {
        return rates(run, point.point, series.measure);
    }
    series.visits_of(point).flat_map(|visit| rates(run, visit.point, series.measure)).collect()
}

/// The points of a series of which something holds, and which they are in words.
fn those(series: &Series, holds: impl Fn(&Point) -> bool) -> Option<(Vec<u32>, String)> {
    let held: Vec<&Point> = series.points.iter().filter(|p| holds(p)).collect();
    let loads = |is_open: bool| held.iter().filter(move |p| p.open.is_some() == is_open);
    let mut closed: Vec<String> = loads(false).map(|p| p.concurrency.to_string()).collect();
    closed.dedup();
    let closed = (!closed.is_empty()).then(|| format!("{} in flight", closed.join(", ")));
    let reported: Vec<String> = closed.into_iter().chain(loads(true).map(|p| load_in_words(p))).collect();
    let reported = format!("at {}", reported.join(", "));
    (!held.is_empty()).then(|| (held.iter().map(|p| p.point).collect(), reported))
}
