//! Requests of an open loop that started late through linerate's own fault: what users would have waited for is then
//! not what was measured.
//!
//! PointFinding once for a series, of the point in which it matters most, with the numbers of all. A tenth of the 99th
//! percentile is within what is read off a report; a tenth of a millisecond is what a wake-up may take.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::units::duration_ns;

use super::{PointFinding, Run, worst};
use crate::view::{Point, Series};

/// Late starts matter from this share of the 99th percentile of latencies on.
const LATE_SHARE: f64 = 0.10;

/// Late starts below this matter to nobody.
const LATE_MIN_NS: u64 = 100_000;

const REMEDY: &str = "latencies from the due time include it: give linerate its own processors, or a lower --rate";

pub(super) fn of_series(_run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::LateStarts, REMEDY, label, series, of_point)
}

fn of_point(point: &Point) -> Option<PointFinding> {
    let open = point.open.as_ref()?;
    let (late, whole) = (open.late.p99_ns, open.total_intended.p99_ns);
    // Where no request succeeded, no latency was measured.
    let is_measured = open.total_intended.count > 0;
    let latency = if is_measured {
        format!("their p99 latency is {}", duration_ns(whole as f64))
    } else {
        "none succeeded".to_owned()
    };
    (late >= LATE_MIN_NS && late as f64 >= LATE_SHARE * whole as f64).then(|| PointFinding {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        badness: if is_measured { late as f64 / whole.max(1) as f64 } else { 1.0 },
        claim: format!("the client started requests late, by {} at p99", duration_ns(late as f64)),
        evidence: format!(
            "requests that were due, with a slot and a host ready, started p50 {} and p99 {} later; {latency}",
            duration_ns(open.late.p50_ns as f64),
            duration_ns(late as f64),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{point, records};
    use crate::view::{Latency, OpenLoop};

    fn late_by(number: u32, late_ns: u64) -> Point {
        let open = OpenLoop {
            requested_per_s: 100.0 * f64::from(number),
            at_random: true,
            due: 1_000,
            backlog: 0,
            backlog_max: 0,
            outstanding_first: 1,
            outstanding_last: 1,
            bounds: Vec::new(),
            short_by_chance: 0.0,
            growth: crate::view::OutstandingGrowth::default(),
            intervals_with_backlog: 0,
            late: Latency { p50_ns: 10_000, p99_ns: late_ns, ..Latency::default() },
            ttfb_intended: Latency::default(),
            total_intended: Latency { count: 900, p99_ns: 10_000_000, ..Latency::default() },
        };
        Point { point: number, open: Some(open), ..point(1024, 0.0) }
    }

    #[test]
    fn late_starts_are_told_where_they_matter() {
        for (late_ns, reported) in [(50_000, false), (500_000, false), (2_000_000, true)] {
            assert_eq!(of_point(&late_by(1, late_ns)).is_some(), reported, "{late_ns}");
        }
    }

    #[test]
    fn no_latency_is_told_of_requests_that_all_failed() {
        let mut late = late_by(1, 2_000_000);
        assert!(of_point(&late).is_some_and(|found| found.evidence.ends_with("; their p99 latency is 10.0 ms")));
        late.open.as_mut().expect("an open loop").total_intended = Latency::default();
        let found = of_point(&late).expect("they were late");
        assert!(
            found.evidence.ends_with("started p50 10.0 µs and p99 2.00 ms later; none succeeded"),
            "{}",
            found.evidence
        );
        assert!(found.badness <= 1.0, "points of which more is known are told first");
    }

    #[test]
    fn several_points_with_late_starts_are_told_once_by_the_worst() {
        let records = records(&[1], |_| 5);
        let view = build(&records).unwrap();
        let points = vec![late_by(1, 2_000_000), late_by(2, 4_000_000), late_by(3, 50_000), late_by(4, 3_000_000)];
        let series = Series { points, ..view.series[0].clone() };
        let run = Run { view: &view, records: &records, samples: Vec::new() };
        let reported = of_series(&run, "get 4KiB", &series).unwrap();
        assert_eq!(reported.claim, "the client started requests late, by 4.00 ms at p99 (get 4KiB, 200/s)");
        assert_eq!(reported.points, [1, 2, 4]);
    }
}
