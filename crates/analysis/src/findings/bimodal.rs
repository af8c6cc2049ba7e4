//! Latencies of two kinds: two modes with a valley between them.
//!
//! A cache that hits or misses, a path that is slow, a queue that is full now and then: the median then tells of one
//! kind and the tail of the other. Latencies are counted in steps of an eighth of an octave and smoothed over three; a
//! valley must be empty or below 15 % of the lower mode, each side must hold 5 % of the requests, and the modes must be
//! half an octave apart. Mixed workloads and sizes are of several kinds by their nature and left out.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::histogram::Latencies;
use linerate_record::load::Workload;
use linerate_record::run::{MaybeKnown, merged};
use linerate_record::units::duration_ns;

use super::{PointFinding, Run, worst};
use crate::view::{Point, Series};

/// Steps per doubling of latency.
const STEPS_PER_OCTAVE: f64 = 8.0;

/// Height of the valley, as a share of the lower mode.
const VALLEY: f64 = 0.15;

/// Share of requests on each side.
const SIDE: f64 = 0.05;

/// Steps between the modes.
const APART: usize = 4;

/// Fewest requests of which a distribution is looked at.
const REQUESTS_MIN: u64 = 500;

/// Fewest requests in a step that is a mode.
const MODE_MIN: f64 = 20.0;

const REMEDY: &str = "see on the timeline whether the modes alternate or occur together; compare the hosts, and read a \
                      larger set (--objects) to rule out a cache";

pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    // One operation and one size.
    if !matches!(series.workload, MaybeKnown::Known(Workload::Single(_))) || series.size.bytes().is_none() {
        return None;
    }
    worst(FindingKind::BimodalLatency, REMEDY, label, series, |point| of_point(run, point))
}

fn of_point(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    if point.requests < REQUESTS_MIN {
        return None;
    }
    let measured = run.measured(point.point);
    let latencies = merged(measured.iter().flat_map(|i| i.whole_rows())).ok()?;
    let modes = modes(&latencies)?;
    Some(PointFinding {
        severity: Severity::Note,
        confidence: Confidence::Certain,
        badness: modes.high_ns / modes.low_ns,
        claim: format!("latencies have two modes: {} and {}", duration_ns(modes.low_ns), duration_ns(modes.high_ns)),
        evidence: format!(
            "{:.0} % of requests are in the slower mode, and few took about {}",
            modes.high_share * 100.0,
            duration_ns(modes.valley_ns)
        ),
    })
}

/// Two modes and the valley between them.
struct Modes {
    low_ns: f64,
    valley_ns: f64,
    high_ns: f64,
    /// Share of requests beyond the valley.
    high_share: f64,
}

fn modes(latencies: &Latencies) -> Option<Modes> {
    let step = |ns: u64| ((ns.max(1) as f64).log2() * STEPS_PER_OCTAVE) as usize;
    let first = step(latencies.min());
    let mut counts = vec![0.0; step(latencies.max()) - first + 1];
    let last = counts.len() - 1;
    for value in latencies.iter_recorded() {
        counts[(step(value.value_iterated_to()) - first).min(last)] += value.count_since_last_iteration() as f64;
    }
    let smooth: Vec<f64> = (0..counts.len())
        .map(|i| {
            let around = &counts[i.saturating_sub(1)..(i + 2).min(counts.len())];
            around.iter().sum::<f64>() / around.len() as f64
        })
        .collect();
    let highest = |range: std::ops::Range<usize>| range.max_by(|&a, &b| smooth[a].total_cmp(&smooth[b]));
    let mut deepest: Option<(f64, [usize; 3])> = None;
    for valley in 1..counts.len().saturating_sub(1) {
        let (Some(low), Some(high)) = (highest(0..valley), highest(valley + 1..counts.len())) else { continue };
        let lower = smooth[low].min(smooth[high]);
        let depth = smooth[valley] / lower.max(1e-9);
        let below = counts[..=valley].iter().sum::<f64>() / latencies.len() as f64;
        let fits = lower >= MODE_MIN && high - low >= APART && below >= SIDE && 1.0 - below >= SIDE;
        if fits && depth <= VALLEY && deepest.is_none_or(|(least, _)| depth < least) {
            deepest = Some((depth, [low, valley, high]));
        }
    }
    let (_, [low, valley, high]) = deepest?;
    let at_ns = |i: usize| (((first + i) as f64 + 0.5) / STEPS_PER_OCTAVE).exp2();
    let beyond = counts[valley + 1..].iter().sum::<f64>() / latencies.len() as f64;
    Some(Modes { low_ns: at_ns(low), valley_ns: at_ns(valley), high_ns: at_ns(high), high_share: beyond })
}

#[cfg(test)]
mod tests {
    use linerate_record::histogram;

    use super::*;
    use crate::build::build;
    use crate::build::tests::records;
    use crate::long_run::tests::noise;

    /// The finding of latencies around 1 ms, of which a share lies around `times` as much.
    fn finding_of(share: f64, times: f64, spread: f64, seed: u64) -> Option<Finding> {
        let mut records = records(&[4], |_| 100);
        let mut gauss = noise(seed);
        for interval in &mut records.intervals {
            for row in &mut interval.rows {
                let mut total = histogram::empty();
                for i in 0..row.requests {
                    let slow = (i as f64) < share * row.requests as f64;
                    let typical = if slow { 1e6 * times } else { 1e6 };
                    total.record((typical * (spread * gauss()).exp()) as u64).unwrap();
                }
                row.total = histogram::encode(&total);
            }
        }
        build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::BimodalLatency)
    }

    #[test]
    fn two_modes_are_told_with_their_latencies_and_shares() {
        let found = finding_of(0.3, 8.0, 0.15, 1).unwrap();
        assert!(found.severity == Severity::Note && found.evidence.starts_with("30 % of requests"), "{found:?}");
        assert!(finding_of(0.06, 20.0, 0.15, 2).is_some());
    }

    #[test]
    fn one_mode_a_shoulder_and_a_rare_tail_are_not() {
        for seed in 0..20 {
            assert_eq!(finding_of(0.0, 1.0, 0.5, seed), None, "one wide mode");
            assert_eq!(finding_of(0.4, 1.5, 0.4, seed), None, "a shoulder");
            assert_eq!(finding_of(0.02, 30.0, 0.2, seed), None, "two in a hundred are a tail");
        }
    }
}
