//! What racks carry where all of their machines send to other racks at once, beside what the same machines reach within
//! their racks.
//!
//! Sums are over all machines of a rack. A visit in which one of them has no figures, or no partner, is none of the
//! rack's: those that are left have more of its uplinks each. The ratio is that of a repetition, whose rounds across
//! and within take turns, so that what goes on meanwhile is in both. How: `docs/method/net.md`.

use std::collections::BTreeMap;

use linerate_record::lines::listed;
use linerate_record::net::{NetPair, NetRun, NetVisit, NetWay};

use super::classes::{ByRepetition, logs, mean, ratio, whole};
use super::pairs::{NetSamples, rate};
use super::streams::MATTERS;
use super::view::{
    NetBisection, NetBisectionOutcome, NetInterval, NetRackFigures, NetRackSide, NetRatio, NetRatioVerdict,
    NetSplitFigures,
};

/// Racks that a sentence names at the most.
const NAMED: usize = 4;

/// Sums, by a rack's place and whether it sends.
type Sums = BTreeMap<(usize, bool), ByRepetition>;

/// Racks of a run.
struct NetRacks<'r> {
    names: Vec<&'r str>,
    /// Of each machine the place of its rack.
    of: Vec<Option<usize>>,
    /// Machines of each rack.
    machines: Vec<usize>,
}

fn racks(run: &NetRun) -> NetRacks<'_> {
    let mut names: Vec<&str> = run.nodes.iter().filter_map(|node| node.rack.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    let place = |name: &str| names.binary_search(&name).ok();
    let rack_places: Vec<Option<usize>> = run.nodes.iter().map(|node| node.rack.as_deref().and_then(place)).collect();
    let machines = (0..names.len()).map(|rack| rack_places.iter().filter(|of| **of == Some(rack)).count()).collect();
    NetRacks { names, of: rack_places, machines }
}

/// The places of the racks of a pair's ends.
fn ends(racks: &NetRacks<'_>, pair: &NetPair) -> Option<(usize, usize)> {
    let rack_at = |node: u32| racks.of.get(node as usize).copied().flatten();
    rack_at(pair.from).zip(rack_at(pair.to))
}

/// Whether all pairs of a visit are between racks; `None` where they are neither that nor all within.
fn is_across(racks: &NetRacks<'_>, visit: &NetVisit) -> Option<bool> {
    let mut all = visit.pairs.iter().map(|pair| ends(racks, pair).map(|(from, to)| from != to));
    let first = all.next()??;
    all.all(|of| of == Some(first)).then_some(first)
}

/// What racks carry, with each number of streams; nothing of another way.
pub(super) fn bisection(seen: &NetSamples<'_>) -> Vec<NetBisection> {
    if seen.run.load.way != NetWay::Bisection {
        return Vec::new();
    }
    let racks = racks(seen.run);
    seen.run.load.streams.iter().map(|streams| with_streams(seen, &racks, *streams)).collect()
}

fn with_streams(seen: &NetSamples<'_>, racks: &NetRacks<'_>, streams: u32) -> NetBisection {
    let numbers = seen.run.load.streams.len();
    let [across, within] = [true, false].map(|is_across| sums(seen, racks, streams, is_across));
    let both = |key: &(usize, bool)| Some((*key, logs(across.get(key)?, within.get(key)?)));
    let each: Sums = across.keys().filter_map(both).filter(|(_, logs)| !logs.is_empty()).collect();
    let side = |rack: usize, sends: bool| NetRackSide {
        across_per_s: across.get(&(rack, sends)).and_then(mean),
        within_per_s: within.get(&(rack, sends)).and_then(mean),
        ratio: each.get(&(rack, sends)).and_then(|logs| ratio(logs, each.len().saturating_mul(numbers))),
    };
    let of_racks = racks.names.iter().enumerate().map(|(rack, name)| NetRackFigures {
        name: (*name).to_owned(),
        machines: u32::try_from(racks.machines[rack]).unwrap_or(u32::MAX),
        sends: side(rack, true),
        receives: side(rack, false),
    });
    let of_racks: Vec<NetRackFigures> = of_racks.collect();
    let [across_all, within_all] = together([&across, &within], &each);
    let of_all = ratio(&logs(&across_all, &within_all), numbers);
    let is_capped = seen.run.load.max_bytes_per_s.is_some();
    let outcome = outcome(of_all.as_ref(), is_capped);
    NetBisection {
        streams,
        outcome,
        across_per_s: mean(&across_all),
        within_per_s: mean(&within_all),
        ratio: of_all,
        oversubscription: of_all.map(|of| turned(of.ratio)),
        stated: seen.run.stated_oversubscription,
        lacking: lacking(&of_racks, of_all.as_ref(), outcome, is_capped),
        said: String::new(),
        racks: of_racks,
        splits: splits(seen, racks, streams),
    }
}

/// The mean sum of each rack and side in each repetition, over the visits across or within in which all of its machines
/// have figures.
fn sums(seen: &NetSamples<'_>, racks: &NetRacks<'_>, streams: u32, across: bool) -> Sums {
    let mut all: BTreeMap<(usize, bool), BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    let is_one = |visit: &&NetVisit| visit.streams == streams && is_across(racks, visit) == Some(across);
    for visit in seen.visits.iter().filter(is_one) {
        let mut sums_by_rack: BTreeMap<(usize, bool), Vec<f64>> = BTreeMap::new();
        for pair in &visit.pairs {
            let (Some((from, to)), Ok(per_s)) = (ends(racks, pair), rate(pair, &seen.run.load)) else { continue };
            sums_by_rack.entry((from, true)).or_default().push(per_s);
            sums_by_rack.entry((to, false)).or_default().push(per_s);
        }
        for (key, rates) in sums_by_rack.into_iter().filter(|((rack, _), rates)| rates.len() == racks.machines[*rack]) {
            all.entry(key).or_default().entry(visit.repetition).or_default().push(rates.iter().sum());
        }
    }
    let middle = |of: BTreeMap<u32, Vec<f64>>| -> ByRepetition {
        of.into_iter().map(|(repetition, sums)| (repetition, sums.iter().sum::<f64>() / sums.len() as f64)).collect()
    };
    all.into_iter().map(|(key, of)| (key, middle(of))).collect()
}

/// What all racks send, across and within, of as many racks and repetitions as have both without a gap.
fn together(both: [&Sums; 2], each: &Sums) -> [ByRepetition; 2] {
    let (keys, of): (Vec<(usize, bool)>, Vec<ByRepetition>) =
        each.iter().filter(|((_, sends), _)| *sends).map(|(key, of)| (*key, of.clone())).unzip();
    let (kept, repetitions) = whole(&of);
    both.map(|sums| {
        let sum_over_kept = |repetition: &u32| {
            let values = kept.iter().filter_map(|place| sums.get(&keys[*place])?.get(repetition));
            (*repetition, values.sum::<f64>())
        };
        repetitions.iter().map(sum_over_kept).collect()
    })
}

/// One by a ratio.
fn turned(of: NetInterval) -> NetInterval {
    NetInterval { mean: 1.0 / of.mean, low: of.high.map(f64::recip), high: of.low.map(f64::recip) }
}

/// Less is said beyond chance, and that nothing is lost where less would be outside of the interval.
fn outcome(ratio: Option<&NetRatio>, is_capped: bool) -> NetBisectionOutcome {
    let Some(of) = ratio.filter(|_| !is_capped) else { return NetBisectionOutcome::Untold };
    match of.verdict {
        NetRatioVerdict::Less if of.ratio.mean <= 1.0 - MATTERS => NetBisectionOutcome::Oversubscribed,
        _ if of.ratio.low.is_some_and(|low| low > 1.0 - MATTERS) => NetBisectionOutcome::Whole,
        _ => NetBisectionOutcome::Untold,
    }
}

/// Why nothing, or not all, can be said.
fn lacking(
    racks: &[NetRackFigures],
    ratio: Option<&NetRatio>,
    outcome: NetBisectionOutcome,
    is_capped: bool,
) -> String {
    let whole = match ratio {
        None => "no rack has figures of all of its machines, across racks and within".to_owned(),
        Some(_) if is_capped => "each pair was capped, and what racks carry beyond that is not known".to_owned(),
        Some(of) if of.repetitions < 2 => "one repetition has no interval: --visits 3 says more".to_owned(),
        Some(_) if outcome == NetBisectionOutcome::Untold => {
            "the interval is too wide to tell a tenth: more --visits or longer ones (--duration) make it narrower"
                .to_owned()
        }
        Some(_) => String::new(),
    };
    let unjudged = racks.iter().filter(|rack| rack.sends.ratio.is_none() || rack.receives.ratio.is_none());
    let unjudged: Vec<&str> = unjudged.map(|rack| rack.name.as_str()).collect();
    if ratio.is_none() || unjudged.is_empty() {
        return whole;
    }
    let names = listed(&unjudged, NAMED);
    let parts = [whole, format!("in no round across and within do all machines have figures of: {names}")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<String>>().join("; ")
}

fn splits(seen: &NetSamples<'_>, racks: &NetRacks<'_>, streams: u32) -> Vec<NetSplitFigures> {
    let is_one = |visit: &&NetVisit| visit.streams == streams && is_across(racks, visit) == Some(true);
    let mut rounds: BTreeMap<u32, Vec<&NetVisit>> = BTreeMap::new();
    for visit in seen.visits.iter().filter(is_one) {
        rounds.entry(visit.round).or_default().push(visit);
    }
    let split = |(round, visits): (u32, Vec<&NetVisit>)| {
        let pairs = visits.first().map(|visit| visit.pairs.as_slice()).unwrap_or_default();
        let sides = sides(racks, pairs);
        let mean_rate = |there: bool| {
            let sum = |visit: &&NetVisit| Some((visit.repetition, one_way(seen, racks, visit, &sides, there)?));
            mean(&visits.iter().filter_map(sum).collect())
        };
        NetSplitFigures {
            round,
            first: sides.iter().filter(|(_, is_first)| **is_first).map(|(rack, _)| *rack as u32).collect(),
            pairs: u32::try_from(pairs.len()).unwrap_or(u32::MAX),
            there_per_s: mean_rate(true),
            back_per_s: mean_rate(false),
        }
    };
    rounds.into_iter().map(split).collect()
}

/// What one half sends to the other in a visit; `None` where a pair has no figures.
fn one_way(
    seen: &NetSamples<'_>,
    racks: &NetRacks<'_>,
    visit: &NetVisit,
    sides: &BTreeMap<usize, bool>,
    there: bool,
) -> Option<f64> {
    let is_its = |pair: &&NetPair| ends(racks, pair).and_then(|(from, _)| sides.get(&from)) == Some(&there);
    visit.pairs.iter().filter(is_its).map(|pair| rate(pair, &seen.run.load).ok()).sum()
}

/// In which half each rack is that takes part: the first one's, or the other. Machines that meet are in different ones.
fn sides(racks: &NetRacks<'_>, pairs: &[NetPair]) -> BTreeMap<usize, bool> {
    let ends: Vec<(usize, usize)> = pairs.iter().filter_map(|pair| ends(racks, pair)).collect();
    let first = ends.iter().map(|(from, to)| *from.min(to)).min();
    let mut sides: BTreeMap<usize, bool> = first.into_iter().map(|rack| (rack, true)).collect();
    // Each turn finds one rack more at the least.
    for _ in 0..racks.names.len() {
        let before = sides.len();
        for &(from, to) in &ends {
            for (known, other) in [(from, to), (to, from)] {
                if let Some(side) = sides.get(&known).copied() {
                    sides.entry(other).or_insert(!side);
                }
            }
        }
        if sides.len() == before {
            break;
        }
    }
    sides
}
