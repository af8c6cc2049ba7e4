//! Goodput over the number of streams: all pairs together, and from which number on more give no more.

use std::collections::BTreeMap;

use super::pairs::{mean_of, median};
use super::view::{NetEnough, NetEnoughOutcome, NetInterval, NetPairEnough, NetPairFigures, NetStreamsFigures};

/// Less than this much more, as a share, is no more: what a difference must be to matter.
pub(super) const MATTERS: f64 = 0.10;

/// Fewest senders whose scatter says how far a mean over pairs can be trusted.
const SENDERS_LEAST: usize = 3;

/// All pairs together for each number of streams, in ascending order.
pub(super) fn whole(pairs: &[NetPairFigures]) -> Vec<NetStreamsFigures> {
    let mut of: BTreeMap<u32, Vec<(u32, NetInterval)>> = BTreeMap::new();
    for pair in pairs {
        if let Some(rate) = pair.bytes_per_s {
            of.entry(pair.streams).or_default().push((pair.from, rate));
        }
    }
    of.into_iter().map(|(streams, rates)| figures(streams, &rates)).collect()
}

fn figures(streams: u32, rates: &[(u32, NetInterval)]) -> NetStreamsFigures {
    let means: Vec<f64> = rates.iter().map(|(_, rate)| rate.mean).collect();
    let mean = means.iter().sum::<f64>() / means.len().max(1) as f64;
    let values = rates.iter().map(|(from, rate)| (*from, rate.mean, rate.high.map(|high| high - rate.mean)));
    let half = half_width(values);
    NetStreamsFigures {
        streams,
        pairs: u32::try_from(means.len()).unwrap_or(u32::MAX),
        bytes_per_s: NetInterval {
            mean,
            low: half.map(|half| (mean - half).max(0.0)),
            high: half.map(|half| mean + half),
        },
        slowest_bytes_per_s: means.iter().copied().fold(f64::INFINITY, f64::min),
        fastest_bytes_per_s: means.iter().copied().fold(0.0, f64::max),
        median_bytes_per_s: median(means).unwrap_or(0.0),
    }
}

/// Half the width of the 95 % interval of a mean over pairs: pairs of one sender share its machine, so that senders are
/// what is independent. With few of them, what the pairs' own intervals say.
fn half_width(values: impl Iterator<Item = (u32, f64, Option<f64>)>) -> Option<f64> {
    let mut senders: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let (mut squares, mut count) = (Some(0.0), 0.0);
    for (from, value, half) in values {
        senders.entry(from).or_default().push(value);
        squares = squares.zip(half).map(|(sum, half)| sum + half * half);
        count += 1.0;
    }
    if senders.len() >= SENDERS_LEAST {
        let means: Vec<f64> = senders.values().map(|of| of.iter().sum::<f64>() / of.len() as f64).collect();
        return mean_of(&means).1;
    }
    squares.filter(|_| count > 0.0).map(|squares: f64| squares.sqrt() / count)
}

/// From which of these numbers of streams on more give no more, where `gain` says by how much the logarithm of goodput
/// grows from one to a larger one, with half the width of its interval.
fn enough(streams: &[u32], gain: impl Fn(u32, u32) -> Option<(f64, f64)>) -> NetEnough {
    let Some((last, before)) = streams.split_last().filter(|(_, before)| !before.is_empty()) else {
        return NetEnough::default();
    };
    let larger = |one: u32| streams.iter().copied().filter(move |other| *other > one);
    let gives_more = |one: u32, other: u32| gain(one, other).is_some_and(|(more, half)| more - half > 0.0);
    let is_short = |one: u32| larger(one).any(|other| gives_more(one, other));
    let most = (1.0 + MATTERS).ln();
    let is_enough = |one: u32| larger(one).all(|other| gain(one, other).is_some_and(|(more, half)| more + half < most));
    if let Some(found) = before.iter().copied().find(|one| is_enough(*one)) {
        let perhaps = before.iter().copied().find(|one| *one >= found || !is_short(*one));
        return NetEnough { outcome: NetEnoughOutcome::Found, streams: Some(found), perhaps_from: perhaps };
    }
    let is_rising = before.iter().all(|one| gives_more(*one, *last));
    let outcome = if is_rising { NetEnoughOutcome::StillRising } else { NetEnoughOutcome::Untold };
    NetEnough { outcome, ..NetEnough::default() }
}

/// Goodputs of one pair by number of streams.
type OfPair<'p> = BTreeMap<u32, &'p NetInterval>;

fn by_pair(pairs: &[NetPairFigures]) -> BTreeMap<(u32, u32), OfPair<'_>> {
    let mut of: BTreeMap<(u32, u32), OfPair<'_>> = BTreeMap::new();
    for pair in pairs {
        if let Some(rate) = &pair.bytes_per_s {
            of.entry((pair.from, pair.to)).or_default().insert(pair.streams, rate);
        }
    }
    of
}

/// By how much one goodput exceeds another, as the difference of logarithms, with half the width of its interval.
fn gain(one: &NetInterval, other: &NetInterval) -> (f64, Option<f64>) {
    let half = |rate: &NetInterval| rate.high.map(|high| (high - rate.mean) / rate.mean);
    let both = half(one).zip(half(other)).map(|(a, b)| a.hypot(b));
    ((other.mean / one.mean).ln(), both)
}

/// The same for each pair and for all of them; of each pair nothing where one number was measured.
pub(super) fn over_streams(pairs: &[NetPairFigures], streams: &[u32]) -> (NetEnough, Vec<NetPairEnough>) {
    if streams.len() < 2 {
        return (NetEnough::default(), Vec::new());
    }
    let of = by_pair(pairs);
    let of_pairs = of.iter().map(|(&(from, to), rates)| {
        let known: Vec<u32> = rates.keys().copied().collect();
        let gain = |one, other| {
            let (more, half) = gain(rates.get(&one)?, rates.get(&other)?);
            Some((more, half?))
        };
        NetPairEnough { from, to, enough: enough(&known, gain) }
    });
    let of_all = |one: u32, other: u32| {
        let gains = of.iter().filter_map(|((from, _), rates)| {
            let (more, half) = gain(rates.get(&one)?, rates.get(&other)?);
            Some((*from, more, half))
        });
        let gains: Vec<(u32, f64, Option<f64>)> = gains.collect();
        let mean = gains.iter().map(|(_, more, _)| more).sum::<f64>() / gains.len().max(1) as f64;
        Some((mean, half_width(gains.into_iter())?))
    };
    (enough(streams, of_all), of_pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(from: u32, streams: u32, mean: f64, half_share: Option<f64>) -> NetPairFigures {
        let low = half_share.map(|share| mean * (1.0 - share));
        let high = half_share.map(|share| mean * (1.0 + share));
        let bytes_per_s = Some(NetInterval { mean, low, high });
        NetPairFigures { from, to: from + 1, streams, visits: 3, bytes_per_s, ..NetPairFigures::default() }
    }

    fn of_one(rates: &[(u32, f64)], half_share: f64) -> NetEnough {
        let pairs: Vec<NetPairFigures> =
            rates.iter().map(|&(streams, mean)| pair(0, streams, mean, Some(half_share))).collect();
        let streams: Vec<u32> = rates.iter().map(|(streams, _)| *streams).collect();
        let (whole, pairs) = over_streams(&pairs, &streams);
        let of_pair = NetPairEnough { from: 0, to: 1, enough: whole.clone() };
        assert_eq!(pairs, if streams.len() > 1 { vec![of_pair] } else { vec![] });
        whole
    }

    #[test]
    fn more_streams_give_no_more_only_where_intervals_say_so() {
        let levelled = [(1, 10.0), (2, 19.0), (4, 24.5), (8, 24.6), (16, 24.4)];
        let found = of_one(&levelled, 0.02);
        assert_eq!((found.outcome, found.streams, found.perhaps_from), (NetEnoughOutcome::Found, Some(4), Some(4)));
        assert_eq!(of_one(&levelled, 0.3).outcome, NetEnoughOutcome::Untold);
        assert_eq!(of_one(&[(1, 10.0), (2, 20.0), (4, 30.0)], 0.02).outcome, NetEnoughOutcome::StillRising);
        assert_eq!(of_one(&[(1, 30.0), (2, 25.0)], 0.02).streams, Some(1), "more streams may give less");
        assert_eq!(of_one(&[(4, 30.0)], 0.02).outcome, NetEnoughOutcome::Single);
        // 6 % more, give or take 5 %: two may be enough, but that is not shown.
        let vague = of_one(&[(2, 23.2), (4, 24.6), (8, 24.6)], 0.035);
        assert_eq!((vague.streams, vague.perhaps_from), (Some(4), Some(4)));
        let vaguer = of_one(&[(2, 23.6), (4, 24.6), (8, 24.6)], 0.045);
        assert_eq!((vaguer.streams, vaguer.perhaps_from), (Some(4), Some(2)));
    }

    #[test]
    fn of_many_pairs_senders_say_what_the_mean_is_worth() {
        let all = |spread: f64| -> Vec<NetPairFigures> {
            let of = |streams, mean: f64| {
                (0..4).map(move |from| pair(from, streams, mean * (1.0 + spread * f64::from(from)), None))
            };
            of(1, 10.0).chain(of(4, 24.0)).chain(of(8, 24.2)).collect()
        };
        let (whole, of_pairs) = over_streams(&all(0.02), &[1, 4, 8]);
        assert_eq!(
            (whole.outcome, whole.streams),
            (NetEnoughOutcome::Found, Some(4)),
            "without any interval of a pair"
        );
        assert!(of_pairs.iter().all(|of| of.enough.outcome == NetEnoughOutcome::Untold));
        let figures = &super::whole(&all(0.02))[1];
        assert_eq!((figures.streams, figures.pairs), (4, 4));
        assert!((figures.bytes_per_s.mean - 24.72).abs() < 1e-9 && figures.slowest_bytes_per_s == 24.0, "{figures:?}");
        assert!(figures.bytes_per_s.low.is_some_and(|low| low > 23.0 && low < 24.72));
    }
}
