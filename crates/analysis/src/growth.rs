//! Growth over the number of clients: what more of them gave, and where that ended.
//!
//! The curve is the throughput of each number of clients, at the concurrency that gave most with it. Where growth ended
//! is the knee of that curve, by the statistics of [`crate::knee`]: the least number of clients, of those measured,
//! that gives [`SHARE`](crate::knee::SHARE) of the most that any gave, with those that may be it at 95 %. Numbers
//! between those measured are no candidates: nobody drove them. Of the largest number nothing is claimed but what it
//! gave: what comes behind it nobody knows. Method: `docs/method/clients.md`.

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::knee::{self, KneeOutcome, KneeVisit, MeasuredRung, SecondRise};
use crate::student::NORMAL_95;

/// A ratio of two throughputs with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// What so many clients gave in one visit of their best concurrency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthVisit {
    pub clients: u32,
    /// Requests in flight of all of them.
    pub concurrency: u32,
    /// Throughput: bytes or requests per second, the same in all visits.
    pub throughput: Estimate,
}

/// How throughput goes on with more clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthOutcome {
    /// More clients than [`GrowthVerdict::ended_at`] buy no throughput.
    Ended,
    /// More clients cost throughput: the largest number gives clearly less than the best.
    Falls,
    /// The largest number is the only one that gives so much: nothing says that growth ended.
    Rising,
    /// Growth may have ended, or go on to the largest number: the data do not tell these apart.
    Undecided,
    /// Throughput levels off at `--max-rate`: what is seen is the cap.
    Capped,
    /// Throughput is so unsteady with some number of clients that nothing can be said.
    Unsteady,
}

/// What each number of clients gave, and where growth ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowthVerdict {
    /// How throughput goes on.
    pub outcome: GrowthOutcome,
    /// Where growth ended: the least number of clients that gives 95 % of the best. With [`GrowthOutcome::Rising`] the
    /// largest number measured.
    pub ended_at: u32,
    /// Least number of clients that may be it, at 95 %.
    pub lowest: u32,
    /// Largest number of clients that may be it, at 95 %.
    pub highest: u32,
    /// Where throughput rises again after it had levelled off or fallen, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rises_again: Option<SecondRise>,
    /// What the largest number gave, as a multiple of what `ended_at` gave; absent where they are the same.
    pub largest_of_end: Option<Range>,
    /// By rising number of clients.
    pub points: Vec<GrowthPoint>,
}

/// What so many clients gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowthPoint {
    pub clients: u32,
    /// Requests in flight of all of them together, at which they gave most.
    pub concurrency: u32,
    /// Throughput there, all visits together.
    pub throughput: Estimate,
    /// The same per client.
    pub per_client: f64,
    /// Visits of that concurrency.
    pub visits: u32,
    /// Throughput as a multiple of what the number before gave; absent of the smallest.
    pub of_previous: Option<Range>,
    /// Throughput as a multiple of what the largest number gave; absent of that.
    pub of_largest: Option<Range>,
    /// Throughput per client as a share of what it was with the smallest number; absent of that.
    pub efficiency: Option<Range>,
}

/// What visits of several numbers of clients tell; `None` with one number, or where nothing succeeded.
#[must_use]
pub fn judge(visits: &[GrowthVisit]) -> Option<GrowthVerdict> {
    let knee_visits = as_knee_visits(visits);
    let rungs = knee::measured(&knee_visits);
    let (first, last) = (rungs.first()?, rungs.last()?);
    let judged = knee::judge_measured(&knee_visits);
    if first.concurrency == last.concurrency || judged.outcome == KneeOutcome::Nothing {
        return None;
    }
    let at = |clients: u32| rungs.iter().find(|rung| rung.concurrency == clients);
    let outcome = match judged.outcome {
        KneeOutcome::Unsteady => GrowthOutcome::Unsteady,
        KneeOutcome::StillRising if judged.lowest >= last.concurrency => GrowthOutcome::Rising,
        _ if judged.highest >= last.concurrency => GrowthOutcome::Undecided,
        KneeOutcome::Retrograde => GrowthOutcome::Falls,
        _ => GrowthOutcome::Ended,
    };
    let concurrency = |clients: u32| {
        let visits_with = visits.iter().filter(|v| v.clients == clients);
        visits_with.max_by(|a, b| a.throughput.mean.total_cmp(&b.throughput.mean)).map_or(0, |v| v.concurrency)
    };
    let points = rungs.iter().enumerate().map(|(i, rung)| GrowthPoint {
        clients: rung.concurrency,
        concurrency: concurrency(rung.concurrency),
        throughput: rung.throughput,
        per_client: rung.throughput.mean / f64::from(rung.concurrency.max(1)),
        visits: rung.visits,
        of_previous: i.checked_sub(1).and_then(|before| ratio(rung, &rungs[before])),
        of_largest: (rung.concurrency != last.concurrency).then(|| ratio(rung, last)).flatten(),
        efficiency: (i > 0).then(|| ratio(rung, first)).flatten().map(|of| {
            let more = f64::from(rung.concurrency) / f64::from(first.concurrency);
            Range { value: of.value / more, low: of.low / more, high: of.high / more }
        }),
    });
    Some(GrowthVerdict {
        outcome,
        ended_at: judged.concurrency,
        lowest: judged.lowest,
        highest: judged.highest,
        rises_again: judged.rises_again,
        largest_of_end: at(judged.concurrency)
            .filter(|end| end.concurrency != last.concurrency)
            .and_then(|end| ratio(last, end)),
        points: points.collect(),
    })
}

/// Clients in the place of requests in flight.
pub(crate) fn as_knee_visits(visits: &[GrowthVisit]) -> Vec<KneeVisit> {
    let visit = |v: &GrowthVisit| KneeVisit {
        concurrency: v.clients,
        throughput: v.throughput,
        p50_ns: 0,
        p99_ns: 0,
        spent_ms: 0,
    };
    visits.iter().map(visit).collect()
}

/// One throughput as a multiple of another, with its 95 % interval: that of the difference of their logarithms.
fn ratio(of: &MeasuredRung, base: &MeasuredRung) -> Option<Range> {
    if of.throughput.mean <= 0.0 || base.throughput.mean <= 0.0 {
        return None;
    }
    let value = of.throughput.mean / base.throughput.mean;
    let error = (of.error / of.throughput.mean).hypot(base.error / base.throughput.mean);
    let factor = (NORMAL_95 * error).exp();
    Some(Range { value, low: value / factor, high: value * factor })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(clients: u32, mean: f64, half: f64) -> GrowthVisit {
        let throughput = Estimate { mean, half_width_95: Some(half * mean), intervals: 60 };
        GrowthVisit { clients, concurrency: 16 * clients, throughput }
    }

    fn judged(curve: &[(u32, f64)], half: f64) -> GrowthVerdict {
        judge(&curve.iter().map(|&(clients, mean)| visit(clients, mean, half)).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn growth_ends_at_a_number_that_was_measured_with_those_that_may_be_it() {
        let found = judged(&[(7, 70.0), (14, 140.0), (28, 278.0), (100, 280.0), (195, 284.0)], 0.01);
        assert_eq!((found.outcome, found.ended_at), (GrowthOutcome::Ended, 28));
        assert_eq!((found.lowest, found.highest), (28, 28));
        let largest_end = found.largest_of_end.unwrap();
        assert!(
            (largest_end.value - 284.0 / 278.0).abs() < 1e-9
                && largest_end.low < largest_end.value
                && largest_end.high > largest_end.value,
            "{largest_end:?}"
        );
        let [first, second, .., last] = &found.points[..] else { panic!("{found:?}") };
        assert_eq!((first.of_previous, first.efficiency, last.of_largest), (None, None, None));
        assert!((second.of_previous.unwrap().value - 2.0).abs() < 1e-9);
        assert!((second.efficiency.unwrap().value - 1.0).abs() < 1e-9);
        assert!((first.of_largest.unwrap().value - 70.0 / 284.0).abs() < 1e-9);
        assert!((last.efficiency.unwrap().value - 284.0 / 70.0 * 7.0 / 195.0).abs() < 1e-9);
        assert_eq!((last.clients, last.concurrency, last.visits), (195, 16 * 195, 1));
    }

    #[test]
    fn of_the_largest_number_nothing_is_claimed() {
        let rising = judged(&[(1, 10.0), (2, 20.0), (4, 40.0), (8, 80.0)], 0.01);
        assert_eq!((rising.outcome, rising.ended_at, rising.largest_of_end), (GrowthOutcome::Rising, 8, None));
        // Four give 94 to 99 % of what eight give: whether that is enough is not known.
        let vague = judged(&[(1, 10.0), (2, 20.0), (4, 38.6), (8, 40.0)], 0.03);
        assert_eq!((vague.outcome, vague.highest), (GrowthOutcome::Undecided, 8), "{vague:?}");
        // Four give 91 % here, and may as well give 96 %.
        let lean = judged(&[(1, 10.0), (2, 20.0), (4, 36.5), (8, 40.0)], 0.05);
        assert_eq!((lean.outcome, lean.ended_at, lean.highest), (GrowthOutcome::Undecided, 8, 8), "{lean:?}");
        assert!(lean.lowest < 8, "{lean:?}");
    }

    #[test]
    fn clients_that_cost_throughput_are_told_and_so_is_what_is_too_unsteady() {
        let falls = judged(&[(1, 10.0), (2, 20.0), (4, 38.0), (8, 25.0)], 0.02);
        assert_eq!((falls.outcome, falls.ended_at), (GrowthOutcome::Falls, 4));
        assert_eq!(judged(&[(1, 10.0), (2, 20.0), (4, 38.0)], 0.4).outcome, GrowthOutcome::Unsteady);
        assert_eq!(judge(&[visit(4, 10.0, 0.01), visit(4, 11.0, 0.01)]), None, "one number");
        assert_eq!(judge(&[visit(1, 0.0, 0.0), visit(2, 0.0, 0.0)]), None, "nothing succeeded");
        assert_eq!(judge(&[]), None);
    }
}
