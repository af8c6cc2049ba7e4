//! What an open loop shows beyond a closed one: whether the target kept up, and whether linerate did.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::{Asked, Interval, PointSpec, RateSearchSpec};
use linerate_record::slo::{LatencyBound, Slo};
use linerate_record::units::{count, duration_ns};

use crate::histogram::{self, DecodeError};
use crate::slo::{self, Limits, Measured, Outcome, Sustained};
use crate::view::{Bound, BoundFigures, Latency, Limit, OpenLoop, Point, Series};

/// Share of the rate asked for from which it counts as reached.
const RATE_REACHED: f64 = 0.98;

/// Growth of what is outstanding, as a share of what fell due, from which a target does not keep up.
const GROWTH_SHARE: f64 = 0.01;

/// Late starts matter from this share of the 99th percentile of latencies on.
const LATE_SHARE: f64 = 0.10;

/// Late starts below this matter to nobody.
const LATE_MIN_NS: u64 = 100_000;

/// Share of their time from which linerate's threads are to be suspected first.
const THREADS_BUSY: f64 = 0.85;

/// The open loop of the measured intervals of a point; `None` for a closed one. `ttfb` and `total` are from when
/// requests were due.
///
/// # Errors
/// [`DecodeError`] where a histogram is damaged.
pub(crate) fn figures(
    spec: &PointSpec,
    slo: Option<&Slo>,
    measured: &[&Interval],
    (ttfb, total): (Latency, Latency),
) -> Result<Option<OpenLoop>, DecodeError> {
    let Some(asked_per_s) = spec.rate_per_s else { return Ok(None) };
    let of_intervals: Vec<_> = measured.iter().filter_map(|i| i.open.as_ref()).collect();
    let (Some(first), Some(last)) = (of_intervals.first(), of_intervals.last()) else { return Ok(None) };
    let mut late = histogram::empty();
    for open in &of_intervals {
        histogram::add_encoded(&mut late, &open.late)?;
    }
    let mut bounds = Vec::new();
    for bound in slo.iter().flat_map(|slo| &slo.0) {
        bounds.push(bound_figures(*bound, asked_per_s, measured)?);
    }
    let outstanding = |backlog: u64, in_flight: u32| backlog + u64::from(in_flight);
    Ok(Some(OpenLoop {
        asked_per_s,
        due: of_intervals.iter().map(|o| o.due).sum(),
        bounds,
        backlog: last.backlog,
        backlog_max: of_intervals.iter().map(|o| o.backlog).max().unwrap_or(0),
        outstanding_first: outstanding(first.backlog, first.in_flight),
        outstanding_last: outstanding(last.backlog, last.in_flight),
        intervals_with_backlog: of_intervals.iter().filter(|o| o.backlog > 0 && o.in_flight >= spec.concurrency).count()
            as u32,
        late: histogram::summarize(&late),
        ttfb_intended: ttfb,
        total_intended: total,
    }))
}

/// How one bound fared: of the requests answered, failed and left unanswered, how many took longer.
fn bound_figures(bound: LatencyBound, asked_per_s: f64, measured: &[&Interval]) -> Result<BoundFigures, DecodeError> {
    let mut of_intervals = Vec::new();
    for interval in measured {
        let mut intended = histogram::empty();
        for row in &interval.rows {
            row.total_intended.as_ref().map_or(Ok(()), |e| histogram::add_encoded(&mut intended, e))?;
        }
        let failed: u64 = interval.rows.iter().flat_map(|r| r.errors.values()).sum();
        let longer = intended.count_between(bound.bound_ns.saturating_add(1), u64::MAX);
        of_intervals.push((intended.len() + failed, longer + failed));
    }
    let outstanding =
        |i: Option<&&Interval>| i.and_then(|i| i.open.as_ref()).map_or(0, |o| o.backlog + u64::from(o.in_flight));
    let due: u64 = measured.iter().filter_map(|i| i.open.as_ref()).map(|o| o.due).sum();
    let growth = outstanding(measured.last()).saturating_sub(outstanding(measured.first()));
    // That a few more are under way at one end than at the other is chance.
    let unanswered = if is_trend(growth as f64, due) { growth } else { 0 };
    let ended: u64 = of_intervals.iter().map(|i| i.0).sum();
    let over = of_intervals.iter().map(|i| i.1).sum::<u64>() + unanswered;
    let count = ended + unanswered;
    let mut figures = BoundFigures { bound, count, over, effective: slo::effective(&of_intervals), held: false };
    let spent_s = measured.iter().map(|i| i.to_ms - i.from_ms).sum::<u64>() as f64 / 1e3;
    let visit = visit(asked_per_s, ended as f64 / spent_s.max(1e-3), &[figures], 0);
    figures.held = slo::judge(&[visit], &Limits::new(vec![bound.share_over()])).rate_per_s.is_some();
    Ok(figures)
}

fn visit(rate_per_s: f64, achieved_per_s: f64, bounds: &[BoundFigures], spent_ms: u64) -> Measured {
    Measured {
        rate_per_s,
        achieved_per_s,
        count: bounds.iter().map(|b| b.count).max().unwrap_or(0),
        effective: bounds.iter().map(|b| b.effective).collect(),
        over: bounds.iter().map(|b| b.over).collect(),
        spent_ms,
    }
}

/// What a point tells the search for the highest rate; `None` for one of a closed loop, or without `--slo`.
#[must_use]
pub fn visit_of(point: &Point) -> Option<Measured> {
    let open = point.open.as_ref().filter(|open| !open.bounds.is_empty())?;
    let spent_ms = point.warmup_ms + point.measured_ms;
    let failed_per_s = point.error_count() as f64 * 1e3 / point.measured_ms.max(1) as f64;
    Some(visit(open.asked_per_s, point.requests_per_s.mean + failed_per_s, &open.bounds, spent_ms))
}

/// How far the search for the highest rate may go.
#[must_use]
pub fn limits(slo: &Slo, search: &RateSearchSpec, point_ms: u64) -> Limits {
    let shares_over = slo.0.iter().map(LatencyBound::share_over).collect();
    let (lowest_per_s, highest_per_s) = (search.lowest_per_s, search.highest_per_s);
    let (precision, budget_ms) = (search.precision, search.series_ms);
    Limits { lowest_per_s, highest_per_s, precision, point_ms, budget_ms, ..Limits::new(shares_over) }
}

/// The highest rate that the points of a series tell; `None` where it was not searched.
pub(crate) fn sustained(series: &Series, asked: &Asked) -> Option<Sustained> {
    let visits: Vec<Measured> = series.points.iter().filter_map(visit_of).collect();
    let (slo, search) = (asked.slo.as_ref()?, asked.rate_search.as_ref()?);
    (!visits.is_empty()).then(|| slo::judge(&visits, &limits(slo, search, asked.duration_ms)))
}

/// That bounds were missed: by each rate that was asked for, or by the lowest that a search may try.
pub(crate) fn missed(label: &str, series: &Series, asked: &Asked) -> Vec<Finding> {
    let Some(slo) = &asked.slo else { return Vec::new() };
    let share = |b: &BoundFigures| format!("{:.3} % over {}", 100.0 * b.over as f64 / b.count.max(1) as f64, b.bound);
    let finding = |point: &Point, claim| {
        let bounds = point.open.iter().flat_map(|open| &open.bounds);
        Finding {
            kind: FindingKind::SloMissed,
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            points: vec![point.point],
            claim,
            evidence: bounds.map(share).collect::<Vec<_>>().join(", "),
            remedy: "see when on the timeline, and what the target did then; or ask for less".into(),
        }
    };
    let misses = |p: &&Point| p.open.as_ref().is_some_and(|open| open.bounds.iter().any(|b| !b.held));
    match &series.sustained {
        Some(sustained) if sustained.outcome == Outcome::NoneHolds => {
            series.points.first().map_or(Vec::new(), |lowest| {
                vec![finding(lowest, format!("{slo} did not hold at any rate that was tried ({label})"))]
            })
        }
        Some(_) => Vec::new(),
        None => {
            let rate = |p: &Point| p.open.as_ref().map_or(0.0, |open| open.asked_per_s);
            let told = |p| finding(p, format!("{slo} did not hold at {}/s ({label})", count(rate(p))));
            series.points.iter().filter(misses).map(told).collect()
        }
    }
}

/// Whether requests fell due faster than they were answered: more were outstanding at the end than at the beginning,
/// by more than chance (a Poisson process scatters by the root of its count) and by more than a trifle.
fn fell_behind(open: &OpenLoop) -> bool {
    let growth = open.outstanding_last as f64 - open.outstanding_first as f64;
    is_trend(growth, open.due)
}

fn is_trend(growth: f64, due: u64) -> bool {
    growth > GROWTH_SHARE * due as f64 + 3.0 * (due as f64).sqrt()
}

/// The verdict on a point that reached the rate asked for.
pub(crate) fn limit(best: &Point) -> Option<Limit> {
    let open = best.open.as_ref()?;
    let reached = best.requests_per_s.mean / open.asked_per_s;
    (reached >= RATE_REACHED && !fell_behind(open)).then(|| Limit {
        bound: Bound::AskedRate,
        claim: format!("the target kept up with the {} requests/s that were asked for", count(open.asked_per_s)),
        evidence: format!("{:.1} % of them were answered, {} were waiting at the end", reached * 100.0, open.backlog),
        remedy: "raise --rate to find the limit, or let --slo find the highest rate under a bound".into(),
    })
}

/// What the open loop of a point gives to say.
pub(crate) fn findings(label: &str, point: &Point) -> Vec<Finding> {
    let Some(open) = &point.open else { return Vec::new() };
    let finding = |kind, claim, evidence, remedy: &str| Finding {
        kind,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim,
        evidence,
        remedy: remedy.to_owned(),
    };
    let rate = count(open.asked_per_s);
    let mut found = Vec::new();
    if fell_behind(open) {
        let busy_share = point.client_busy.unwrap_or(0.0);
        let busy = busy_share >= THREADS_BUSY;
        found.push(finding(
            FindingKind::FellBehind,
            format!(
                "{} not keep up with {rate} requests/s: backlog {} at the end ({label})",
                if busy { "linerate's threads, full, did" } else { "the target, or the way to it, did" },
                open.backlog
            ),
            format!(
                "{} requests fell due and {} were answered; outstanding rose from {} to {}; linerate's threads ran \
                 {:.0} % of the time",
                open.due,
                point.requests,
                open.outstanding_first,
                open.outstanding_last,
                busy_share * 100.0
            ),
            "latencies from when requests were due grow with the length of such a point: ask for a lower --rate",
        ));
    } else if open.intervals_with_backlog * 2 > point.requests_per_s.intervals {
        found.push(finding(
            FindingKind::FellBehind,
            format!("requests waited because {} were in flight already ({label}, {rate}/s)", point.concurrency),
            format!("a backlog in {} intervals, at most {}", open.intervals_with_backlog, open.backlog_max),
            "raise --concurrent: an open loop needs as many slots as the target needs at its slowest",
        ));
    }
    let (late, whole) = (open.late.p99_ns, open.total_intended.p99_ns);
    if late >= LATE_MIN_NS && late as f64 >= LATE_SHARE * whole as f64 {
        found.push(finding(
            FindingKind::LateStarts,
            format!("the client was late by p99 {} ({label}, {rate}/s)", duration_ns(late as f64)),
            format!(
                "requests that were due, with a slot and a host ready, started p50 {} and p99 {} later; their p99 \
                 latency is {}",
                duration_ns(open.late.p50_ns as f64),
                duration_ns(late as f64),
                duration_ns(whole as f64)
            ),
            "latencies from when requests were due contain it: give linerate processors of its own, or a lower --rate",
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use linerate_record::run::{OpenInterval, Row};

    use super::*;
    use crate::view::tests::point;
    use crate::view::{Estimate, Latency};

    fn open(due: u64, first: u64, last: u64) -> OpenLoop {
        OpenLoop {
            asked_per_s: 100.0,
            due,
            backlog: last,
            backlog_max: last,
            outstanding_first: first,
            outstanding_last: last,
            bounds: Vec::new(),
            intervals_with_backlog: 0,
            late: Latency::default(),
            ttfb_intended: Latency::default(),
            total_intended: Latency { p99_ns: 10_000_000, ..Latency::default() },
        }
    }

    fn spec(rate_per_s: Option<f64>) -> PointSpec {
        PointSpec { workload: "get".into(), size: "4KiB".into(), concurrency: 4, rate_per_s }
    }

    fn at(open: OpenLoop, per_s: f64) -> Point {
        let requests_per_s = Estimate { mean: per_s, intervals: 10, ..Estimate::default() };
        Point { open: Some(open), requests_per_s, ..point(1024, 0.0) }
    }

    fn kinds(point: &Point) -> Vec<FindingKind> {
        findings("get 4KiB", point).iter().map(|f| f.kind).collect()
    }

    #[test]
    fn a_target_that_keeps_up_is_told_from_one_that_does_not() {
        let kept = at(open(1_000, 5, 9), 100.0);
        assert_eq!(kinds(&kept), []);
        assert_eq!(limit(&kept).map(|l| l.bound), Some(Bound::AskedRate));
        let lost = at(open(1_000, 5, 400), 60.0);
        assert_eq!(kinds(&lost), [FindingKind::FellBehind]);
        assert_eq!(limit(&lost), None);
        // Even a rate that was reached may hide a queue that grows.
        assert_eq!(limit(&at(open(100_000, 5, 1_990), 98.1)), None);
        // What a Poisson process gathers by chance is no trend.
        assert_eq!(kinds(&at(open(1_000, 5, 80), 97.0)), []);
    }

    #[test]
    fn who_is_suspected_follows_from_the_threads_time() {
        let mut lost = at(open(1_000, 5, 400), 60.0);
        assert!(findings("get", &lost)[0].claim.starts_with("the target"));
        lost.client_busy = Some(0.97);
        assert!(findings("get", &lost)[0].claim.starts_with("linerate's threads"));
    }

    #[test]
    fn late_starts_are_told_where_they_matter() {
        for (late_ns, told) in [(50_000, false), (500_000, false), (2_000_000, true)] {
            let late = Latency { p50_ns: 10_000, p99_ns: late_ns, ..Latency::default() };
            let point = at(OpenLoop { late, ..open(1_000, 5, 5) }, 100.0);
            assert_eq!(!kinds(&point).is_empty(), told, "{late_ns}");
        }
    }

    #[test]
    fn too_few_slots_are_told_where_a_backlog_stays_and_does_not_grow() {
        let point = at(OpenLoop { intervals_with_backlog: 6, ..open(1_000, 50, 50) }, 100.0);
        assert!(findings("get", &point)[0].remedy.contains("--concurrent"));
    }

    #[test]
    fn figures_add_up_over_intervals_and_a_closed_loop_has_none() {
        let late = {
            let mut late = histogram::empty();
            late.record_n(20_000, 5).unwrap();
            histogram::encode(&late)
        };
        let interval = |backlog, in_flight| Interval {
            open: Some(OpenInterval { due: 50, backlog, in_flight, late: late.clone() }),
            ..crate::view::tests::interval()
        };
        let (a, b, c) = (interval(0, 3), interval(9, 4), interval(2, 4));
        let none = || (Latency::default(), Latency::default());
        let open = figures(&spec(Some(100.0)), None, &[&a, &b, &c], none()).unwrap().unwrap();
        assert_eq!((open.due, open.backlog, open.backlog_max, open.intervals_with_backlog), (150, 2, 9, 2));
        assert_eq!((open.outstanding_first, open.outstanding_last, open.late.count), (3, 6, 15));
        assert_eq!(figures(&spec(None), None, &[&a], none()).unwrap(), None);
    }

    #[test]
    fn what_failed_and_what_was_left_unanswered_took_longer_than_any_bound() {
        let slo: Slo = "p90=10ms,p50=1ms".parse().unwrap();
        let mut intended = histogram::empty();
        intended.record_n(500_000, 60).unwrap();
        intended.record_n(5_000_000, 30).unwrap();
        intended.record_n(50_000_000, 3).unwrap();
        let row = Row {
            total_intended: Some(histogram::encode(&intended)),
            errors: [("timeout".to_owned(), 6)].into(),
            ..crate::view::tests::row(0, 93, 0, 1_000_000)
        };
        let interval = |in_flight| Interval {
            from_ms: 0,
            to_ms: 1_000,
            open: Some(OpenInterval { due: 100, backlog: 0, in_flight, late: histogram::encode(&histogram::empty()) }),
            rows: vec![row.clone()],
            ..crate::view::tests::interval()
        };
        let none = || (Latency::default(), Latency::default());
        let (steady, grown) = (interval(3), interval(53));
        let bounds = |of: &[&Interval]| figures(&spec(Some(100.0)), Some(&slo), of, none()).unwrap().unwrap().bounds;
        let kept = bounds(&[&steady, &steady]);
        assert_eq!((kept[0].count, kept[0].over, kept[0].held), (198, 18, true), "nine of ninety-nine");
        assert_eq!((kept[1].count, kept[1].over, kept[1].held), (198, 78, true));
        let lost = bounds(&[&steady, &grown]);
        assert_eq!((lost[0].count, lost[0].over, lost[0].held), (248, 68, false), "fifty were left unanswered");
        let slow = figures(&spec(Some(300.0)), Some(&slo), &[&steady], none()).unwrap().unwrap();
        assert!(!slow.bounds[0].held, "a rate that was not reached does not hold");
    }
}
