//! Goodput over the number of streams: all pairs together, from which number on more give no more, and which numbers a
//! search measures next.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::net::{NET_STREAMS_MAX, NetRoute, NetRun, NetVisit};

use super::classes::{of_way, whole as without_gaps};
use super::limits::REQUESTED_REACHED;
use super::pairs::{NetSamples, mean_and_interval, of_rate, seen};
use super::view::{
    NetInterval, NetPairFigures, NetPairSaturation, NetSaturation, NetSaturationOutcome, NetSearchEnd,
    NetStreamsFigures,
};
use crate::median::median;

/// Less than this much more, as a share, is no more: what a difference must be to matter.
pub(super) const MATTERS: f64 = 0.10;

/// Goodputs of each pair by number of streams and repetition.
type Repeated = BTreeMap<(u32, u32), BTreeMap<u32, BTreeMap<u32, f64>>>;

fn repeated(seen: &NetSamples<'_>) -> Repeated {
    let mut goodputs = Repeated::new();
    for (&(from, to, streams), pair) in &seen.pairs {
        for visit in &pair.visits {
            let repetition = seen.visits[visit.place].repetition;
            goodputs.entry((from, to)).or_default().entry(streams).or_default().insert(repetition, visit.per_s);
        }
    }
    goodputs
}

/// All pairs together for each number of streams, in ascending order.
pub(super) fn whole(seen: &NetSamples<'_>, pairs: &[NetPairFigures]) -> Vec<NetStreamsFigures> {
    let mut goodputs_by_pair: BTreeMap<u32, Vec<NetInterval>> = BTreeMap::new();
    for pair in pairs {
        if let Some(rate) = pair.per_s {
            goodputs_by_pair.entry(pair.streams).or_default().push(rate);
        }
    }
    let all = repeated(seen);
    goodputs_by_pair.into_iter().map(|(streams, rates)| figures(streams, &rates, &all)).collect()
}

fn figures(streams: u32, rates: &[NetInterval], all: &Repeated) -> NetStreamsFigures {
    let means: Vec<f64> = rates.iter().map(|rate| rate.mean).collect();
    let mean = means.iter().sum::<f64>() / means.len().max(1) as f64;
    let of_pairs = all.values().filter_map(|of| of.get(&streams).cloned());
    let half = over_repetitions(of_pairs.collect()).map(|(_, half)| half);
    let half = half.or_else(|| of_intervals(rates.iter().map(|rate| rate.high.map(|high| high - rate.mean))));
    NetStreamsFigures {
        streams,
        pairs: u32::try_from(means.len()).unwrap_or(u32::MAX),
        per_s: of_rate(mean, half),
        slowest_per_s: means.iter().copied().fold(f64::INFINITY, f64::min),
        fastest_per_s: means.iter().copied().fold(0.0, f64::max),
        median_per_s: median(means).unwrap_or(0.0),
    }
}

/// The mean over pairs with half the width of its interval, by what repetitions differ: all pairs of one share what
/// went on at the time. Of as many pairs and repetitions as have figures without a gap; `None` with fewer than two.
fn over_repetitions(pairs: Vec<BTreeMap<u32, f64>>) -> Option<(f64, f64)> {
    let (mut kept, mut known) = without_gaps(&pairs);
    if known.len() < 2 {
        // One repetition of many pairs has no interval, and several of a few have.
        known = pairs.iter().flat_map(|pair| pair.keys().copied()).collect();
        kept = (0..pairs.len()).filter(|place| pairs[*place].len() == known.len()).collect();
    }
    let sum_in = |repetition: &u32| kept.iter().filter_map(|place| pairs[*place].get(repetition)).sum::<f64>();
    let means: Vec<f64> = known.iter().map(|repetition| sum_in(repetition) / kept.len() as f64).collect();
    let (mean, half) = if kept.is_empty() { (0.0, None) } else { mean_and_interval(&means) };
    half.map(|half| (mean, half))
}

/// Half the width of the interval of a mean over pairs, by their own intervals.
fn of_intervals(halves: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let (mut squares, mut count) = (Some(0.0_f64), 0.0);
    for half in halves {
        squares = squares.zip(half).map(|(sum, half)| sum + half * half);
        count += 1.0;
    }
    squares.filter(|_| count > 0.0).map(|squares| squares.sqrt() / count)
}

/// From which of these numbers of streams on more give no more, where `gain` says by how much the logarithm of goodput
/// grows from one to a larger one, with half the width of its interval.
fn enough(streams: &[u32], gain: impl Fn(u32, u32) -> Option<(f64, f64)>) -> NetSaturation {
    let Some((last, before)) = streams.split_last().filter(|(_, before)| !before.is_empty()) else {
        return NetSaturation::default();
    };
    let larger = |one: u32| streams.iter().copied().filter(move |other| *other > one);
    let gives_more = |one: u32, other: u32| gain(one, other).is_some_and(|(more, half)| more - half > 0.0);
    let is_short = |one: u32| larger(one).any(|other| gives_more(one, other));
    let most = (1.0 + MATTERS).ln();
    let is_enough = |one: u32| larger(one).all(|other| gain(one, other).is_some_and(|(more, half)| more + half < most));
    if let Some(found) = before.iter().copied().find(|one| is_enough(*one)) {
        let perhaps = before.iter().copied().find(|one| *one >= found || !is_short(*one));
        return NetSaturation { outcome: NetSaturationOutcome::Found, streams: Some(found), perhaps_from: perhaps };
    }
    let is_rising = before.iter().all(|one| gives_more(*one, *last));
    let outcome = if is_rising { NetSaturationOutcome::StillRising } else { NetSaturationOutcome::Untold };
    NetSaturation { outcome, ..NetSaturation::default() }
}

/// Goodputs of one pair by number of streams.
type OfPair<'p> = BTreeMap<u32, &'p NetInterval>;

fn by_pair(pairs: &[NetPairFigures]) -> BTreeMap<(u32, u32), OfPair<'_>> {
    let mut goodputs_by_pair: BTreeMap<(u32, u32), OfPair<'_>> = BTreeMap::new();
    for pair in pairs {
        if let Some(rate) = &pair.per_s {
            goodputs_by_pair.entry((pair.from, pair.to)).or_default().insert(pair.streams, rate);
        }
    }
    goodputs_by_pair
}

/// By how much one goodput exceeds another, as the difference of logarithms, with half the width of its interval.
pub(super) fn gain(one: &NetInterval, other: &NetInterval) -> (f64, Option<f64>) {
    let half = |rate: &NetInterval| rate.high.map(|high| (high - rate.mean) / rate.mean);
    let both = half(one).zip(half(other)).map(|(a, b)| a.hypot(b));
    ((other.mean / one.mean).ln(), both)
}

/// The same for each pair and for all of them; of each pair nothing where one number was measured.
pub(super) fn over_streams(
    seen: &NetSamples<'_>,
    pairs: &[NetPairFigures],
    streams: &[u32],
) -> (NetSaturation, Vec<NetPairSaturation>) {
    if streams.len() < 2 {
        return (NetSaturation::default(), Vec::new());
    }
    let (of, all) = (by_pair(pairs), repeated(seen));
    let is_searched = seen.run.load.is_searched;
    let of_pairs = of.iter().map(|(&(from, to), rates)| {
        let known: Vec<u32> = rates.keys().copied().collect();
        let own: Repeated = all.get_key_value(&(from, to)).map(|(pair, of)| (*pair, of.clone())).into_iter().collect();
        let gain = |one, other| {
            if is_searched {
                return by_steps(&own, &known, (one, other));
            }
            let (more, half) = gain(rates.get(&one)?, rates.get(&other)?);
            Some((more, half?))
        };
        NetPairSaturation { from, to, enough: enough(&known, gain) }
    });
    let of_pairs = of_pairs.collect();
    let of_all = |one, other| {
        let by_steps = by_steps(&all, streams, (one, other));
        // Numbers of a search that are not of one step were measured at other times.
        if is_searched { by_steps } else { by_steps.or_else(|| by_intervals(&of, (one, other))) }
    };
    (enough(streams, of_all), of_pairs)
}

/// By how much the logarithm of goodput grows over all pairs from one number of streams to a larger one, with half the
/// width of its interval: by the repetitions in which both were measured, else by those of the numbers between them, of
/// which each step of a search has two.
fn by_steps(all: &Repeated, streams: &[u32], (one, other): (u32, u32)) -> Option<(f64, f64)> {
    let add = |(sum, half): (f64, f64), (more, of): (f64, f64)| (sum + more, half.hypot(of));
    let between: Vec<u32> = streams.iter().copied().filter(|of| (one..=other).contains(of)).collect();
    let mut steps = between.windows(2).map(|step| alongside(all, (step[0], step[1])));
    alongside(all, (one, other)).or_else(|| steps.try_fold((0.0, 0.0), |sum, step| Some(add(sum, step?))))
}

/// By the repetitions that both numbers have.
fn alongside(all: &Repeated, (one, other): (u32, u32)) -> Option<(f64, f64)> {
    let gains = all.values().filter_map(|of| {
        let (one, other) = (of.get(&one)?, of.get(&other)?);
        let each = one.iter().filter_map(|(at, rate)| Some((*at, (other.get(at)? / rate).ln())));
        Some(each.collect::<BTreeMap<u32, f64>>())
    });
    over_repetitions(gains.collect())
}

/// By the intervals of pairs' own goodputs.
fn by_intervals(of: &BTreeMap<(u32, u32), OfPair<'_>>, (one, other): (u32, u32)) -> Option<(f64, f64)> {
    let gains = of.values().filter_map(|rates| Some(gain(rates.get(&one)?, rates.get(&other)?)));
    let gains: Vec<(f64, Option<f64>)> = gains.collect();
    let mean = gains.iter().map(|(more, _)| more).sum::<f64>() / gains.len().max(1) as f64;
    Some((mean, of_intervals(gains.into_iter().map(|(_, half)| half))?))
}

/// The two numbers of streams that a search measures next, beside each other: the larger one of its last step, and
/// twice as many. It ends where neither of two steps one after another, nor both together, show that more streams give
/// more, where one brought no figures, and where twice as many are more than a pair has.
///
/// # Errors
/// Why it ends.
pub fn searched_on(run: &NetRun, visits: &[NetVisit]) -> Result<[u32; 2], NetSearchEnd> {
    let visits = of_way(visits, NetRoute::Direct);
    let seen = seen(run, &visits);
    let all = repeated(&seen);
    let streams: BTreeSet<u32> = all.values().flat_map(BTreeMap::keys).copied().collect();
    let streams: Vec<u32> = streams.into_iter().collect();
    let Some(&last) = streams.last().filter(|last| run.load.streams.last() == Some(*last)) else {
        return Err(NetSearchEnd::NoFigures);
    };
    if last > NET_STREAMS_MAX / 2 {
        return Err(NetSearchEnd::MostStreams);
    }
    let rises = |one: u32, other: u32| by_steps(&all, &streams, (one, other)).is_some_and(|(more, half)| more > half);
    let is_one_step = streams.len() == 2;
    let goes_on = is_one_step || rises(last / 2, last) || rises(last / 4, last / 2) || rises(last / 4, last);
    if goes_on {
        return Ok([last, 2 * last]);
    }
    let rates = all.values().filter_map(|of| of.get(&last)).flat_map(BTreeMap::values);
    let allowed = run.load.max_bytes_per_s.filter(|_| run.load.op.is_of_bytes());
    let is_limited =
        allowed.zip(median(rates.copied().collect())).is_some_and(|(most, rate)| rate >= REQUESTED_REACHED * most);
    Err(if is_limited { NetSearchEnd::MaxRate } else { NetSearchEnd::NoMore })
}

/// Why a search that measured this went no further; none where there was none.
pub(super) fn search_ended(run: &NetRun, visits: &[NetVisit]) -> Option<NetSearchEnd> {
    let is_whole = run.requested_visits.is_none_or(|requested| visits.len() >= requested as usize);
    let ended = || if is_whole { searched_on(run, visits).err() } else { None };
    run.load.is_searched.then(|| ended().unwrap_or(NetSearchEnd::CutShort))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(from: u32, streams: u32, mean: f64, half_share: Option<f64>) -> NetPairFigures {
        let low = half_share.map(|share| mean * (1.0 - share));
        let high = half_share.map(|share| mean * (1.0 + share));
        let per_s = Some(NetInterval { mean, low, high });
        NetPairFigures { from, to: from + 1, streams, visits: 3, per_s, ..NetPairFigures::default() }
    }

    /// Nothing of visits: what pairs' own intervals say.
    fn judged(pairs: &[NetPairFigures], streams: &[u32]) -> (NetSaturation, Vec<NetPairSaturation>) {
        let run = crate::net::tests::a_run();
        over_streams(&crate::net::pairs::seen(&run, &[]), pairs, streams)
    }

    fn of_one(rates: &[(u32, f64)], half_share: f64) -> NetSaturation {
        let pairs: Vec<NetPairFigures> =
            rates.iter().map(|&(streams, mean)| pair(0, streams, mean, Some(half_share))).collect();
        let streams: Vec<u32> = rates.iter().map(|(streams, _)| *streams).collect();
        let (whole, pairs) = judged(&pairs, &streams);
        let of_pair = NetPairSaturation { from: 0, to: 1, enough: whole.clone() };
        assert_eq!(pairs, if streams.len() > 1 { vec![of_pair] } else { vec![] });
        whole
    }

    #[test]
    fn more_streams_give_no_more_only_where_intervals_say_so() {
        let levelled = [(1, 10.0), (2, 19.0), (4, 24.5), (8, 24.6), (16, 24.4)];
        let found = of_one(&levelled, 0.02);
        assert_eq!((found.outcome, found.streams, found.perhaps_from), (NetSaturationOutcome::Found, Some(4), Some(4)));
        assert_eq!(of_one(&levelled, 0.3).outcome, NetSaturationOutcome::Untold);
        assert_eq!(of_one(&[(1, 10.0), (2, 20.0), (4, 30.0)], 0.02).outcome, NetSaturationOutcome::StillRising);
        assert_eq!(of_one(&[(1, 30.0), (2, 25.0)], 0.02).streams, Some(1), "more streams may give less");
        assert_eq!(of_one(&[(4, 30.0)], 0.02).outcome, NetSaturationOutcome::Single);
        // 6 % more, give or take 5 %: two may be enough, but that is not shown.
        let vague = of_one(&[(2, 23.2), (4, 24.6), (8, 24.6)], 0.035);
        assert_eq!((vague.streams, vague.perhaps_from), (Some(4), Some(4)));
        let vaguer = of_one(&[(2, 23.6), (4, 24.6), (8, 24.6)], 0.045);
        assert_eq!((vaguer.streams, vaguer.perhaps_from), (Some(4), Some(2)));
    }

    #[test]
    fn repetitions_say_what_a_mean_over_pairs_is_worth_and_slow_pairs_do_not_widen_it() {
        let repetitions =
            |usual: f64| -> BTreeMap<u32, f64> { (1..).zip([usual, usual * 1.01, usual * 0.99]).collect() };
        let (mean, half) = over_repetitions(vec![repetitions(10.0), repetitions(30.0)]).unwrap();
        // Student's t of two degrees of freedom: 4.303.
        assert!((mean - 20.0).abs() < 1e-9 && (half - 4.303 * 0.2 / 3.0_f64.sqrt()).abs() < 1e-3, "{mean} ± {half}");
        let mut short = repetitions(500.0);
        short.remove(&2);
        assert_eq!(
            over_repetitions(vec![repetitions(10.0), repetitions(30.0), short]),
            Some((mean, half)),
            "not in all of them"
        );
        assert_eq!(over_repetitions(vec![[(1, 5.0)].into()]), None);
        assert_eq!(over_repetitions(vec![]), None);
        assert_eq!(of_intervals([Some(3.0), Some(4.0)].into_iter()), Some(2.5));
        assert_eq!(of_intervals([Some(3.0), None].into_iter()), None);
    }
}
