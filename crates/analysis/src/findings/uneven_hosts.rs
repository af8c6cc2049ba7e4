//! Hosts of a target that do not do alike.
//!
//! One slow host holds up every object that is spread over it. A host is told where its median latency is half as much
//! again as the median host's, and the lower end of its interval still clearly above; or, where requests go to the
//! host with the fewest in flight, where it took a fifth more or less than its share, with an interval that leaves the
//! even share out. Three standard errors: there are many hosts to choose the worst from.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::load::HostSelect;
use linerate_record::run::{IntervalRow, merged};
use linerate_record::units::duration_ns;

use super::{PointFinding, Run, worst};
use crate::view::{HostFigures, Point, Series};
use crate::{long_run, quantile, student};

/// How many times the median host's latency is uneven.
const SLOWER: f64 = 1.5;

/// How many times it is at the lower end of the interval.
const SLOWER_AT_LEAST: f64 = 1.2;

/// How far from an even share of requests is uneven.
const SHARE_OFF: f64 = 0.20;

/// Fewest requests of a host that are worth a median.
const REQUESTS_MIN: u64 = 100;

/// Probability that no more than noise lies beyond an interval's end, on either side: three standard errors.
const BEYOND: f64 = 0.001_35;

const REMEDY: &str = "look at that host's drives, links and processors, and at what else runs on it";

pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::UnevenHosts, REMEDY, label, series, |point| {
        let hosts = point.hosts.iter().filter(|h| h.requests >= REQUESTS_MIN).count();
        if hosts < 2 { None } else { slower(run, point).or_else(|| share(run, point)) }
    })
}

/// The host of the longest median latency, where that stands out.
fn slower(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    let mut hosts: Vec<(usize, &HostFigures)> =
        point.hosts.iter().enumerate().filter(|(_, h)| h.requests >= REQUESTS_MIN).collect();
    hosts.sort_by_key(|(_, h)| h.total_p50_ns);
    // Of two, the faster one is what the other is held against.
    let typical_ns = hosts.get((hosts.len() - 1) / 2)?.1.total_p50_ns as f64;
    let &(number, slowest) = hosts.last()?;
    let times = slowest.total_p50_ns as f64 / typical_ns.max(1.0);
    if times <= SLOWER {
        return None;
    }
    let rows: Vec<Vec<&IntervalRow>> = run
        .measured(point.point)
        .into_iter()
        .map(|i| i.whole_rows().filter(|r| r.host as usize == number).collect())
        .collect();
    let merged = merged(rows.iter().flatten().copied()).ok()?;
    let [median] = quantile::quantiles(&merged, &rows, [0.5]).ok()?;
    let spread = median?.spread.ok()?;
    let low = times * (-student::quantile(1.0 - BEYOND, spread.df) * spread.variance.sqrt()).exp();
    (low > SLOWER_AT_LEAST).then(|| PointFinding {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        badness: times,
        claim: format!("{} took {times:.1} times as long as the median host", slowest.host),
        evidence: format!("median {} against {}", duration_ns(slowest.total_p50_ns as f64), duration_ns(typical_ns)),
    })
}

/// The host whose share of requests is furthest from even, where it could have taken another.
fn share(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    if !run.records.manifest.requested.host_select.is(&HostSelect::LeastOutstanding) {
        return None;
    }
    let hosts = point.hosts.len() as f64;
    let off = |h: &HostFigures| h.requests as f64 * hosts / point.requests.max(1) as f64 - 1.0;
    let (number, furthest) = point.hosts.iter().enumerate().max_by(|a, b| off(a.1).abs().total_cmp(&off(b.1).abs()))?;
    let shares: Vec<f64> = run
        .measured(point.point)
        .into_iter()
        .filter_map(|i| {
            let all: u64 = i.whole_rows().map(|r| r.requests).sum();
            let own: u64 = i.whole_rows().filter(|r| r.host as usize == number).map(|r| r.requests).sum();
            (all > 0).then(|| own as f64 * hosts / all as f64 - 1.0)
        })
        .collect();
    let mean = long_run::mean(&shares)?;
    let sure = mean.mean.abs() > student::quantile(1.0 - BEYOND, mean.df) * mean.variance.sqrt();
    (off(furthest).abs() > SHARE_OFF && sure).then(|| PointFinding {
        severity: Severity::Note,
        confidence: Confidence::Certain,
        badness: off(furthest).abs(),
        claim: format!("{} took {:+.0} % of an even share of requests", furthest.host, off(furthest) * 100.0),
        evidence: "requests went to the host with the fewest in flight, so a faster host gets more of them".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{records, row};

    /// The finding of a host that takes `requests` per interval beside one that takes 50, `times` as long.
    fn finding_of(times: u64, requests: u64, select: HostSelect) -> Option<Finding> {
        let mut records = records(&[8], |_| 50);
        for interval in &mut records.intervals {
            interval.rows = vec![row(0, 50, 1 << 20, 1_000_000), row(1, requests, 1 << 20, 1_000_000 * times / 10)];
        }
        records.manifest.requested.host_select = select.into();
        build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::UnevenHosts)
    }

    #[test]
    fn a_slow_host_is_named_with_how_slow_it_is() {
        let found = finding_of(30, 50, HostSelect::RoundRobin).unwrap();
        assert!(found.severity == Severity::Warning && found.claim.contains("b:9000 took 3.0 times"), "{found:?}");
        assert_eq!(finding_of(13, 50, HostSelect::RoundRobin), None, "30 % slower is within what hosts differ by");
        assert_eq!(finding_of(30, 1, HostSelect::RoundRobin), None, "ten requests are too few to say");
    }

    #[test]
    fn a_host_that_takes_another_share_is_a_note_where_shares_are_free() {
        let found = finding_of(10, 90, HostSelect::LeastOutstanding).unwrap();
        assert!(found.severity == Severity::Note && found.claim.contains('%'), "{found:?}");
        assert_eq!(finding_of(10, 55, HostSelect::LeastOutstanding), None);
        assert_eq!(
            finding_of(10, 90, HostSelect::RoundRobin),
            None,
            "a host that is given its turn says nothing by it"
        );
    }
}
