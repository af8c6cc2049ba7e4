//! Who bound a point, and the findings that follow from the figures.
//!
//! The verdict is drawn from readings, in this order, and names them: the cap that the user set; linerate's own
//! threads; a NIC of this machine; this machine's processors, where the target shares them; and only when none of
//! these was full, the target.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::{Ended, Interval};
use linerate_record::units::{bits_per_s, count};

use crate::view::{Bound, Ceiling, Limit, MachineSample, Measure, Point, Records, Series, View};

/// Share of its time from which an event-loop thread counts as full.
const THREAD_FULL: f64 = 0.90;

/// Share of the machine's processors from which it counts as full.
const MACHINE_FULL: f64 = 0.93;

/// Share of a link's speed from which a NIC counts as full: framing takes up to 6 % of it.
const NIC_FULL: f64 = 0.90;

/// Share of TCP segments sent again from which packets count as lost.
const RETRANSMITS_SHARE: f64 = 0.001;

/// Share of the null target's throughput from which linerate itself is taken to be the limit.
const CEILING_NEAR: f64 = 0.90;

/// Mean share of this machine's processors in use during the measured part of a point; `None` without a reading in it.
#[must_use]
pub fn machine_busy(samples: &[MachineSample], intervals: &[&Interval]) -> Option<f64> {
    let inside = samples_of(samples, intervals);
    (!inside.is_empty()).then(|| inside.iter().map(|s| s.cpu_busy).sum::<f64>() / inside.len() as f64)
}

/// Samples whose later reading falls into the measured part of a point, or just after it: a sample speaks of the second
/// before it.
fn samples_of<'a>(samples: &'a [MachineSample], intervals: &[&Interval]) -> Vec<&'a MachineSample> {
    let measured = || intervals.iter().filter(|i| !i.warmup);
    let (Some(from), Some(to)) = (measured().map(|i| i.from_ms).min(), measured().map(|i| i.to_ms).max()) else {
        return Vec::new();
    };
    let inside = |s: &&MachineSample| s.at_ms > from + 300 && s.at_ms <= to + 300;
    samples.iter().filter(inside).collect()
}

const MORE_CLIENT: &str = "raise --threads if processors are free, or drive the load from more machines";

/// Who bound the best point of a series.
#[must_use]
pub fn find(series: &Series, ceiling: Option<&Ceiling>, records: &Records, samples: &[MachineSample]) -> Option<Limit> {
    let measure = series.measure;
    let best = series.points.iter().max_by(|a, b| a.throughput(measure).mean.total_cmp(&b.throughput(measure).mean))?;
    if best.requests == 0 {
        return None;
    }
    let intervals: Vec<&Interval> = records.intervals.iter().filter(|i| i.point == best.point).collect();
    rate_cap(best, &intervals)
        .or_else(|| client(best, ceiling, measure, records))
        .or_else(|| nic(&intervals, records, samples))
        .or_else(|| machine(best, records))
        .or_else(|| Some(target(best, ceiling, measure)))
}

fn rate_cap(best: &Point, intervals: &[&Interval]) -> Option<Limit> {
    let measured: Vec<_> = intervals.iter().filter(|i| !i.warmup).collect();
    let held = measured.iter().filter(|i| i.held_back > 0).count();
    (held * 2 > measured.len()).then(|| Limit {
        bound: Bound::RateCap,
        claim: "--max-rate bound it: the target could do more".into(),
        evidence: format!(
            "requests waited for the cap in {held} of {} intervals, at {} requests/s",
            measured.len(),
            count(best.requests_per_s.mean)
        ),
        remedy: "raise or drop --max-rate to find the limit".into(),
    })
}

fn client(best: &Point, ceiling: Option<&Ceiling>, measure: Measure, records: &Records) -> Option<Limit> {
    let near = ceiling.map(|c| best.throughput(measure).mean / c.point.throughput(measure).mean);
    let threads = records.manifest.asked.threads;
    if best.client_busy >= THREAD_FULL {
        return Some(Limit {
            bound: Bound::Client,
            claim: "linerate itself bound it: its threads had no time left".into(),
            evidence: format!("{threads} event-loop threads ran {:.0} % of the time", best.client_busy * 100.0),
            remedy: MORE_CLIENT.into(),
        });
    }
    near.filter(|&n| n >= CEILING_NEAR).map(|n| Limit {
        bound: Bound::Client,
        claim: "linerate itself bound it: the null target was no faster".into(),
        evidence: format!("{:.0} % of what linerate drove against the null target on this machine", n * 100.0),
        remedy: MORE_CLIENT.into(),
    })
}

fn nic(intervals: &[&Interval], records: &Records, samples: &[MachineSample]) -> Option<Limit> {
    let inside = samples_of(samples, intervals);
    for nic in &records.manifest.machine.nics {
        let Some(speed) = nic.speed_bits_per_s.filter(|&s| s > 0) else { continue };
        let of_nic = inside.iter().flat_map(|s| &s.nics).filter(|n| n.name == nic.name);
        let busiest = of_nic.map(|n| n.rx_bytes_per_s.max(n.tx_bytes_per_s) * 8.0).fold(0.0, f64::max);
        if busiest >= NIC_FULL * speed as f64 {
            return Some(Limit {
                bound: Bound::Nic,
                claim: format!("this machine's NIC {} bound it", nic.name),
                evidence: format!("{} of {} in one direction", bits_per_s(busiest), bits_per_s(speed as f64)),
                remedy: "drive the load from more machines or over a faster link".into(),
            });
        }
    }
    None
}

fn machine(best: &Point, records: &Records) -> Option<Limit> {
    let busy = best.machine_busy.filter(|&b| b >= MACHINE_FULL && records.manifest.target.on_this_machine)?;
    let target = best.target_cpu.map_or_else(String::new, |t| format!(", the target {:.2}", t.cores));
    Some(Limit {
        bound: Bound::Machine,
        claim: "this machine's processors bound it: client and target share them".into(),
        evidence: format!(
            "{:.0} % of {} processors busy; linerate used {:.2} of them{target}",
            busy * 100.0,
            records.manifest.machine.cpus,
            best.client_cpu.cores
        ),
        remedy: "drive the load from another machine to see what the target does with processors of its own".into(),
    })
}

fn target(best: &Point, ceiling: Option<&Ceiling>, measure: Measure) -> Limit {
    let headroom = ceiling.map_or_else(String::new, |c| {
        let times = c.point.throughput(measure).mean / best.throughput(measure).mean;
        format!("; against the null target linerate drove {times:.1} × as much")
    });
    let machine =
        best.machine_busy.map_or_else(String::new, |b| format!(", this machine's processors {:.0} %", b * 100.0));
    Limit {
        bound: Bound::Target,
        claim: "the target, or the way to it, bound it".into(),
        evidence: format!(
            "linerate's threads were busy {:.0} % of the time{machine}{headroom}",
            best.client_busy * 100.0
        ),
        remedy: "look at the target's own processors, drives and links at that time".into(),
    }
}

/// Everything there is to say of a run, gravest first.
#[must_use]
pub fn findings(view: &View, records: &Records) -> Vec<Finding> {
    let mut all = records.findings.clone();
    for series in &view.series {
        let label = format!("{} {}", series.workload, series.size);
        all.extend(series.points.iter().filter_map(|p| request_errors(&label, p)));
        all.extend(series.points.iter().filter_map(|p| target_lost(&label, p, records)));
        all.extend(series.points.iter().filter_map(|p| ended_early(&label, p)));
        all.extend(still_rising(&label, series));
        all.extend(bound_elsewhere(&label, series));
    }
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

fn request_errors(label: &str, point: &Point) -> Option<Finding> {
    let errors = point.error_count();
    if errors == 0 {
        return None;
    }
    let share = errors as f64 / (errors + point.requests) as f64;
    let kinds: Vec<String> = point.errors.iter().map(|(kind, n)| format!("{kind}: {n}")).collect();
    let wrong = point.errors.keys().any(|k| k == "wrong body");
    Some(Finding {
        kind: if wrong { FindingKind::WrongBody } else { FindingKind::RequestErrors },
        severity: if wrong || share >= 0.01 { Severity::Serious } else { Severity::Warning },
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("{:.3} % of requests failed ({label}, {} in flight)", share * 100.0, point.concurrency),
        evidence: kinds.join(", "),
        remedy: if wrong {
            "do not trust this target with data: read the objects named in its logs and check its drives".into()
        } else {
            "read the target's log at that time; a failed request costs the target work that no figure here counts"
                .into()
        },
    })
}

/// Intervals in which requests failed and none succeeded: a handful of refused connections may stand for minutes.
fn target_lost(label: &str, point: &Point, records: &Records) -> Option<Finding> {
    let lost = |i: &&Interval| {
        i.point == point.point && i.rows.iter().all(|r| r.requests == 0) && i.rows.iter().any(|r| !r.errors.is_empty())
    };
    let lost_ms: u64 = records.intervals.iter().filter(lost).map(|i| i.to_ms - i.from_ms).sum();
    // A target that takes requests and never answers gives neither successes nor failures.
    let hung = point.requests == 0 && point.error_count() == 0;
    let lost_ms = if hung { point.measured_ms } else { lost_ms };
    let evidence = if hung { "no request ended" } else { "intervals in which requests failed and none succeeded" };
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
        evidence: evidence.into(),
        remedy: "see on the timeline when, and in the target's log why; then run again".into(),
    })
}

fn ended_early(label: &str, point: &Point) -> Option<Finding> {
    let (severity, why, remedy) = match point.ended {
        Some(Ended::NoSuccess) => (
            Severity::Serious,
            "requests failed, and none succeeded for ten seconds",
            "check credentials, bucket and the target's log, then run again",
        ),
        Some(Ended::ObjectsExhausted) => {
            (Severity::Note, "every object was deleted before its time was up", "raise --objects for a longer point")
        }
        Some(Ended::Interrupted) => (Severity::Warning, "it was interrupted", ""),
        Some(Ended::Duration) | None => return None,
    };
    Some(Finding {
        kind: FindingKind::EndedEarly,
        severity,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("the point ended early: {why} ({label}, {} in flight)", point.concurrency),
        evidence: format!("{:.1} s measured", point.measured_ms as f64 / 1e3),
        remedy: remedy.into(),
    })
}

fn still_rising(label: &str, series: &Series) -> Option<Finding> {
    let enough = series.enough.as_ref().filter(|e| e.still_rising)?;
    let next = enough.best_concurrency.saturating_mul(2);
    Some(Finding {
        kind: FindingKind::StillRising,
        severity: Severity::Note,
        confidence: Confidence::Likely,
        points: series.points.last().map(|p| p.point).into_iter().collect(),
        claim: format!("throughput still rose at {} in flight, the most tried ({label})", enough.best_concurrency),
        evidence: format!("the point before reached less than {:.0} % of it", enough.share * 100.0),
        remedy: format!("go on with --concurrent {next},{}", next.saturating_mul(2)),
    })
}

/// A figure that says nothing of the target deserves a warning.
fn bound_elsewhere(label: &str, series: &Series) -> Option<Finding> {
    let limit = series.limit.as_ref()?;
    let kind = match limit.bound {
        Bound::Client => FindingKind::ClientBound,
        Bound::Nic => FindingKind::NicBound,
        Bound::RateCap => FindingKind::RateCapped,
        Bound::Machine | Bound::Target => return None,
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
        evidence: format!("{measured} of {} points have figures", view.run.asked.points.len()),
        remedy: "the figures of the points that are here stand; run the others again".into(),
    }
}
