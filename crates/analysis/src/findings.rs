//! The findings that follow from the figures of a run.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::{Ended, Interval, PointLine};
use linerate_record::units::count;

use crate::knee::{Outcome, SHARE};
use crate::open_loop;
use crate::view::{Bound, MachineSample, Point, Records, Series, View};

/// Share of TCP segments sent again from which packets count as lost.
const RETRANSMITS_SHARE: f64 = 0.001;

/// Shortest time without a sign of life that can mean a target that hangs.
const HUNG_MIN_MS: u64 = 1_000;

/// Shortest time in which requests fail and none succeeds that can mean a target that is lost: intervals are short, and
/// one in which the only request that ended failed is none.
const LOST_MIN_MS: u64 = 200;

/// How a body that differs is counted.
const WRONG_BODY: &str = "wrong body";

const DISTRUST: &str = "do not trust this target with data: read its logs and check its drives and memory";

/// Everything there is to say of a run, gravest first.
#[must_use]
pub fn findings(view: &View, records: &Records) -> Vec<Finding> {
    let mut all = records.findings.clone();
    for series in &view.series {
        let label = format!("{} {}", series.workload, series.size);
        all.extend(series.points.iter().filter_map(|p| request_errors(&label, p)));
        all.extend(series.points.iter().filter_map(|p| target_lost(&label, p, records)));
        all.extend(series.points.iter().filter_map(|p| ended_early(&label, p)));
        all.extend(not_steady(&label, series));
        all.extend(too_short(&label, series));
        all.extend(series.points.iter().flat_map(|p| open_loop::findings(&label, p)));
        all.extend(still_rising(&label, series, records));
        all.extend(bound_elsewhere(&label, series));
        all.extend(open_loop::missed(&label, series, &records.manifest.asked));
    }
    all.extend(without_figures(view, records));
    all.extend(wrong_in_warmup(records));
    all.extend(machine_findings(view));
    if !view.run.complete {
        all.push(incomplete(view));
    }
    all.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.points.cmp(&b.points)));
    all.dedup();
    all
}

/// Whether so many requests failed that the figures should not be used.
#[must_use]
pub fn requests_failed(view: &View) -> bool {
    use FindingKind::{EndedEarly, RequestErrors, TargetLost, WrongBody};
    let grave = |f: &Finding| matches!(f.kind, EndedEarly | RequestErrors | TargetLost | WrongBody);
    view.findings.iter().any(|f| f.severity == Severity::Serious && grave(f))
}

/// Whether something that the user set a threshold for was beyond it.
#[must_use]
pub fn threshold_missed(view: &View) -> bool {
    view.findings.iter().any(|f| matches!(f.kind, FindingKind::SloMissed | FindingKind::CanaryTripped))
}

fn request_errors(label: &str, point: &Point) -> Option<Finding> {
    let errors = point.error_count();
    if errors == 0 {
        return None;
    }
    let share = errors as f64 / (errors + point.requests) as f64;
    let kinds: Vec<String> = point.errors.iter().map(|(kind, n)| format!("{kind}: {n}")).collect();
    let wrong = point.errors.keys().any(|k| k == WRONG_BODY);
    Some(Finding {
        kind: if wrong { FindingKind::WrongBody } else { FindingKind::RequestErrors },
        severity: if wrong || share >= 0.01 { Severity::Serious } else { Severity::Warning },
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("{:.3} % of requests failed ({label}, {} in flight)", share * 100.0, point.concurrency),
        evidence: kinds.join(", "),
        remedy: if wrong {
            DISTRUST.into()
        } else {
            "read the target's log at that time; a failed request costs the target work that no figure here counts"
                .into()
        },
    })
}

/// Time in which requests failed and none succeeded, or nothing ended and nothing moved for longer than any request
/// took: a handful of refused connections, or of requests that hang, may stand for minutes.
fn target_lost(label: &str, point: &Point, records: &Records) -> Option<Finding> {
    let silent = |i: &&Interval| {
        let failed = i.rows.iter().any(|r| !r.errors.is_empty());
        // In an open loop there may be nothing to wait for.
        let idle = i.open.as_ref().is_some_and(|o| o.backlog == 0 && o.in_flight == 0);
        (i.held_back == 0 && !idle || failed) && i.rows.iter().all(|r| r.requests == 0 && r.moved_bytes <= 0)
    };
    let of_point: Vec<&Interval> = records.intervals.iter().filter(|i| i.point == point.point && !i.warmup).collect();
    let mut lost_ms = 0;
    for stretch in of_point.chunk_by(|a, b| silent(a) == silent(b)).filter(|s| s.first().is_some_and(silent)) {
        let stretch_ms: u64 = stretch.iter().map(|i| i.to_ms - i.from_ms).sum();
        let failed = stretch.iter().flat_map(|i| &i.rows).any(|r| !r.errors.is_empty());
        let hung = stretch_ms >= HUNG_MIN_MS && stretch_ms * 1_000_000 > 2 * point.total.max_ns;
        lost_ms += if (failed && stretch_ms >= LOST_MIN_MS) || hung { stretch_ms } else { 0 };
    }
    // In an open loop of a low rate there may have been nothing to answer.
    if point.open.is_none() && point.requests == 0 && point.error_count() == 0 && point.moved_bytes <= 0 {
        lost_ms = point.measured_ms;
    }
    (lost_ms > 0).then(|| Finding {
        kind: FindingKind::TargetLost,
        severity: Severity::Serious,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!(
            "the target was lost for {:.1} s ({label}, {} in flight)",
            lost_ms as f64 / 1e3,
            point.concurrency
        ),
        evidence: "intervals in which no request succeeded and nothing moved".into(),
        remedy: "see on the timeline when, and in the target's log why; then run again".into(),
    })
}

/// Points that were given up before they had a figure: they are in no series, and must not go untold.
fn without_figures(view: &View, records: &Records) -> Vec<Finding> {
    let told = |point: u32| view.series.iter().flat_map(|s| &s.points).any(|p| p.point == point);
    let given_up = records.points.iter().filter_map(|line| match line {
        PointLine::End(end) if matches!(end.ended, Ended::NoSuccess | Ended::ErrorLimit) && !told(end.point) => {
            Some((end.point, end.ended))
        }
        _ => None,
    });
    let finding = |(point, ended)| Finding {
        kind: FindingKind::EndedEarly,
        severity: Severity::Serious,
        confidence: Confidence::Certain,
        points: vec![point],
        claim: if ended == Ended::ErrorLimit {
            format!("point {point} was ended in its warm-up: more requests failed than --error-limit allows")
        } else {
            format!("point {point} was given up in its warm-up: requests failed, and none succeeded")
        },
        evidence: errors_of(records, point),
        remedy: "check credentials, bucket and the target's log, then run again".into(),
    };
    given_up.map(finding).collect()
}

/// Every kind of error of a point, its warm-up included.
fn errors_of(records: &Records, point: u32) -> String {
    let mut kinds = BTreeMap::<&str, u64>::new();
    for (kind, n) in
        records.intervals.iter().filter(|i| i.point == point).flat_map(|i| i.whole_rows()).flat_map(|r| &r.errors)
    {
        *kinds.entry(kind).or_default() += n;
    }
    kinds.iter().map(|(kind, n)| format!("{kind}: {n}")).collect::<Vec<_>>().join(", ")
}

/// A body that differs is as grave in the warm-up as later.
fn wrong_in_warmup(records: &Records) -> Option<Finding> {
    let wrong = |i: &&Interval| i.warmup && i.rows.iter().any(|r| r.errors.contains_key(WRONG_BODY));
    let mut points: Vec<u32> = records.intervals.iter().filter(wrong).map(|i| i.point).collect();
    points.dedup();
    (!points.is_empty()).then(|| Finding {
        kind: FindingKind::WrongBody,
        severity: Severity::Serious,
        confidence: Confidence::Certain,
        points,
        claim: "bodies differed from what was written, in a warm-up".into(),
        evidence: "requests counted as wrong body".into(),
        remedy: DISTRUST.into(),
    })
}

fn ended_early(label: &str, point: &Point) -> Option<Finding> {
    let (severity, why, remedy) = match point.ended {
        Some(Ended::NoSuccess) => (
            Severity::Serious,
            "requests failed, and none succeeded for ten seconds",
            "check credentials, bucket and the target's log, then run again",
        ),
        Some(Ended::ErrorLimit) => (
            Severity::Serious,
            "more requests failed than --error-limit allows",
            "see the kinds of errors of this point, and the target's log",
        ),
        Some(Ended::ObjectsExhausted) => {
            (Severity::Note, "every object was deleted before its time was up", "raise --objects for a longer point")
        }
        Some(Ended::Interrupted) => (Severity::Warning, "it was interrupted", ""),
        Some(Ended::Canary) => (Severity::Warning, "the canary exceeded a bound of --abort-if", "load the target less"),
        Some(Ended::Duration | Ended::Precise) | None => return None,
    };
    Some(Finding {
        kind: FindingKind::EndedEarly,
        severity,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("the point ended early: {why} ({label}, {} in flight)", point.concurrency),
        evidence: format!("{:.1} s measured{}", point.measured_ms as f64 / 1e3, kinds_of(point)),
        remedy: remedy.into(),
    })
}

fn kinds_of(point: &Point) -> String {
    let kinds: Vec<String> = point.errors.iter().map(|(kind, n)| format!("{kind}: {n}")).collect();
    if kinds.is_empty() { String::new() } else { format!("; failed: {}", kinds.join(", ")) }
}

fn not_steady(label: &str, series: &Series) -> Option<Finding> {
    let (points, evidence) = those(series, |p| !p.steady)?;
    Some(Finding {
        kind: FindingKind::NotSteady,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        points,
        claim: format!("throughput had not settled when points ended ({label})"),
        evidence: format!("its later part differs from what came before, {evidence}"),
        remedy: "see on the timeline how it moved, and give a longer --duration".into(),
    })
}

/// Points in which not every request in flight had the time to end once: what they moved is not what they did.
fn too_short(label: &str, series: &Series) -> Option<Finding> {
    let timed = |p: &Point| matches!(p.ended, Some(Ended::Duration)) && p.moved_bytes > 0 && p.error_count() == 0;
    let (points, evidence) = those(series, |p| timed(p) && p.requests < u64::from(p.concurrency))?;
    Some(Finding {
        kind: FindingKind::TooShort,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points,
        claim: format!("points were too short for their requests to end ({label})"),
        evidence: format!("fewer requests ended than were in flight, {evidence}"),
        remedy: "give a --duration of several times the latency".into(),
    })
}

/// The points of a series of which something holds, and which they are in words.
fn those(series: &Series, holds: impl Fn(&Point) -> bool) -> Option<(Vec<u32>, String)> {
    let held: Vec<&Point> = series.points.iter().filter(|p| holds(p)).collect();
    let concurrencies: Vec<String> = held.iter().map(|p| p.concurrency.to_string()).collect();
    let told = format!("at {} in flight", concurrencies.join(", "));
    (!held.is_empty()).then(|| (held.iter().map(|p| p.point).collect(), told))
}

fn still_rising(label: &str, series: &Series, records: &Records) -> Option<Finding> {
    let knee = series.knee.as_ref().filter(|k| k.outcome == Outcome::StillRising)?;
    let next = knee.concurrency.saturating_mul(2);
    let remedy = match &records.manifest.asked.search {
        Some(search) if search.highest > knee.concurrency => "give a longer --duration: its time was spent".to_owned(),
        Some(_) => format!("go on with --max-concurrent {}", next.saturating_mul(2)),
        None => format!("go on with --concurrent {next},{}", next.saturating_mul(2)),
    };
    Some(Finding {
        kind: FindingKind::StillRising,
        severity: Severity::Note,
        confidence: Confidence::Likely,
        points: series.points.last().map(|p| p.point).into_iter().collect(),
        claim: format!("throughput still rose at {} in flight, the most tried ({label})", knee.concurrency),
        evidence: format!("nothing below reached {:.0} % of it", SHARE * 100.0),
        remedy,
    })
}

/// A figure that says nothing of the target deserves a warning.
fn bound_elsewhere(label: &str, series: &Series) -> Option<Finding> {
    let limit = series.limit.as_ref()?;
    let kind = match limit.bound {
        Bound::Client => FindingKind::ClientBound,
        Bound::Nic => FindingKind::NicBound,
        Bound::RateCap => FindingKind::RateCapped,
        Bound::AskedRate | Bound::Machine | Bound::Target => return None,
    };
    Some(Finding {
        kind,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        points: series.points.iter().map(|p| p.point).collect(),
        claim: format!("{} ({label})", limit.claim),
        evidence: limit.evidence.clone(),
        remedy: limit.remedy.clone(),
    })
}

fn machine_findings(view: &View) -> Vec<Finding> {
    let samples = &view.timeline.machine;
    let mut found = Vec::new();
    let mean = |f: fn(&MachineSample) -> f64| samples.iter().map(f).sum::<f64>() / samples.len().max(1) as f64;
    let steal = mean(|s| s.steal);
    if steal >= 0.02 {
        found.push(Finding {
            kind: FindingKind::StolenTime,
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            points: Vec::new(),
            claim: format!("the hypervisor took {:.1} % of this machine's processor time", steal * 100.0),
            evidence: "steal in /proc/stat, mean over the run".into(),
            remedy: "repeat at another time or on a machine of its own; compare only within one run".into(),
        });
    }
    let drops = mean(|s| s.nics.iter().map(|n| n.drops_per_s).sum());
    let (retransmits, segments) = (mean(|s| s.retransmits_per_s), mean(|s| s.segments_per_s));
    if drops >= 1.0 || retransmits >= RETRANSMITS_SHARE * segments.max(1_000.0) {
        found.push(Finding {
            kind: FindingKind::PacketLoss,
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            points: Vec::new(),
            claim: "packets were lost while measuring".into(),
            evidence: format!(
                "{} drops/s, {} retransmitted segments/s, mean over the run",
                count(drops),
                count(retransmits)
            ),
            remedy: "look at the timeline for when, and at the switch and NIC counters for where".into(),
        });
    }
    found
}

fn incomplete(view: &View) -> Finding {
    let measured = view.series.iter().map(|s| s.points.len()).sum::<usize>();
    Finding {
        kind: FindingKind::Incomplete,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "the run did not come to its end".into(),
        evidence: match &view.run.asked.search {
            Some(search) => {
                format!("{measured} points have figures, of {} series to search", search.series.len())
            }
            None => format!("{measured} of {} points have figures", view.run.asked.points.len()),
        },
        remedy: "the figures of the points that are here stand; run the others again".into(),
    }
}
