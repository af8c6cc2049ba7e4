//! What an open loop shows beyond a closed one: whether the target kept up, and whether linerate did.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::Interval;
use linerate_record::units::{count, duration_ns};

use crate::histogram::{self, DecodeError};
use crate::view::{Bound, Latency, Limit, OpenLoop, Point};

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
    asked_per_s: Option<f64>,
    measured: &[&Interval],
    (ttfb, total): (Latency, Latency),
) -> Result<Option<OpenLoop>, DecodeError> {
    let Some(asked_per_s) = asked_per_s else { return Ok(None) };
    let of_intervals: Vec<_> = measured.iter().filter_map(|i| i.open.as_ref()).collect();
    let (Some(first), Some(last)) = (of_intervals.first(), of_intervals.last()) else { return Ok(None) };
    let mut late = histogram::empty();
    for open in &of_intervals {
        histogram::add_encoded(&mut late, &open.late)?;
    }
    let outstanding = |backlog: u64, in_flight: u32| backlog + u64::from(in_flight);
    Ok(Some(OpenLoop {
        asked_per_s,
        due: of_intervals.iter().map(|o| o.due).sum(),
        backlog: last.backlog,
        backlog_max: of_intervals.iter().map(|o| o.backlog).max().unwrap_or(0),
        outstanding_first: outstanding(first.backlog, first.in_flight),
        outstanding_last: outstanding(last.backlog, last.in_flight),
        intervals_with_backlog: of_intervals.iter().filter(|o| o.backlog > 0).count() as u32,
        late: histogram::summarize(&late),
        ttfb_intended: ttfb,
        total_intended: total,
    }))
}

/// Whether requests fell due faster than they were answered: more were outstanding at the end than at the beginning,
/// by more than chance (a Poisson process scatters by the root of its count) and by more than a trifle.
fn fell_behind(open: &OpenLoop) -> bool {
    let growth = open.outstanding_last as f64 - open.outstanding_first as f64;
    growth > GROWTH_SHARE * open.due as f64 + 3.0 * (open.due as f64).sqrt()
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
        let busy = point.client_busy >= THREADS_BUSY;
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
                point.client_busy * 100.0
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
    use linerate_record::run::OpenInterval;

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
            intervals_with_backlog: 0,
            late: Latency::default(),
            ttfb_intended: Latency::default(),
            total_intended: Latency { p99_ns: 10_000_000, ..Latency::default() },
        }
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
        lost.client_busy = 0.97;
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
        let open = figures(Some(100.0), &[&a, &b, &c], none()).unwrap().unwrap();
        assert_eq!((open.due, open.backlog, open.backlog_max, open.intervals_with_backlog), (150, 2, 9, 2));
        assert_eq!((open.outstanding_first, open.outstanding_last, open.late.count), (3, 6, 15));
        assert_eq!(figures(None, &[&a], none()).unwrap(), None);
    }
}
