//! Points beside which something else had this machine: [`disturbance`] has what counts.
//!
//! Where processors were full or shared with the target, or a quota or heat held them back, the figures are those of
//! the disturbance. Where the target is elsewhere and there were processors to spare, caches and memory were shared all
//! the same: a note.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::histogram;
use linerate_record::run::failure_kind::NEVER_ANSWERED;

use super::{PointFinding, Run, worst};
use crate::disturbance;
use crate::target_outages::lost_ms;
use crate::view::{Point, Series};

const REMEDY: &str = "stop the disturbance, or measure at another time; do not compare these figures with others";

/// How many times as long as the median latency of what was answered a silence may be that other programs explain: what
/// shares a processor with many waits for its turn, and each request does.
const TURNS: f64 = 100.0;

pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::Disturbed, REMEDY, label, series, |point| of_point(run, point))
}

/// Turns what is said of a target that was silent, or too slow for its point, while others had this machine: that is
/// the disturbance, and none of the target's doing.
pub(super) fn spoilt(run: &Run<'_>, found: &mut Finding) {
    let is_silence = matches!(found.kind, FindingKind::TargetLost | FindingKind::TooShort);
    if !is_silence || found.severity != Severity::Critical || found.points.is_empty() {
        return;
    }
    let points = run.view.series.iter().flat_map(|series| &series.points);
    let is_its = |point: &&Point| found.points.contains(&point.point);
    // Bodies that move are no silence: such a point is too short, whoever ran at the same time.
    if found.kind == FindingKind::TooShort && points.clone().filter(is_its).any(|point| point.all_moved_bytes() > 0) {
        return;
    }
    let others = |point: &Point| disturbance::of_point(point, &run.measured(point.point), run.records, &run.samples);
    let others = |point: &Point| others(point).filter(|_| is_silence_alone(point) && !is_quick_else(run, point));
    let mut disturbed = points.filter(is_its).map(others);
    let Some(first) = disturbed.next().flatten().filter(disturbance::OtherLoad::explains_silence) else { return };
    if !disturbed.all(|others| others.is_some_and(|others| others.explains_silence())) {
        return;
    }
    found.kind = FindingKind::Disturbed;
    found.claim = format!("disturbed by other load: {}", found.claim);
    found.evidence = [first.in_words(), vec![found.evidence.clone()]].concat().join("; ");
    REMEDY.clone_into(&mut found.remedy);
}

/// Whether nothing but time passed in a point: a connection that is refused or closed is the target's own doing,
/// however busy this machine is.
fn is_silence_alone(point: &Point) -> bool {
    point
        .errors
        .keys()
        .chain(point.warmup_errors.keys())
        .all(|kind| kind.contains("timeout") || kind.contains("timed out") || kind == NEVER_ANSWERED)
}

/// Whether requests that were answered in the point took so much less time than the silence in it that other programs,
/// which ran at the same time, do not explain it. That is the median of those that ended, in its warm-up too: the tail
/// of all has those that never do.
fn is_quick_else(run: &Run<'_>, point: &Point) -> bool {
    let silence_ns = lost_ms(point, &run.measured(point.point), run.records) as f64 * 1e6;
    let mut ended = histogram::empty();
    let rows = run.records.intervals.iter().filter(|i| i.point == point.point).flat_map(|i| i.whole_rows());
    let is_read = rows.map(|row| histogram::add_encoded(&mut ended, &row.total)).all(|added| added.is_ok());
    is_read && !ended.is_empty() && silence_ns > TURNS * ended.value_at_quantile(0.5) as f64
}

fn of_point(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    let others = disturbance::of_point(point, &run.measured(point.point), run.records, &run.samples)?;
    let reported = others.in_words();
    let severity = if others.is_severe() { Severity::Warning } else { Severity::Note };
    let claim = match severity {
        Severity::Note => "other programs ran at the same time as the load",
        _ => "the run was disturbed",
    };
    (!reported.is_empty()).then(|| PointFinding {
        severity,
        confidence: Confidence::Likely,
        badness: others.foreign.unwrap_or_default(),
        claim: claim.to_owned(),
        evidence: reported.join("; "),
    })
}
