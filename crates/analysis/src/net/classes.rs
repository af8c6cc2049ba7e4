//! Classes of pairs, such as those of pods on two hosts: what each gives beside pairs between the hosts themselves, and
//! one of them against another.
//!
//! A class's rate in a repetition is the mean of its pairs. A ratio is that of two classes between the same two hosts
//! in the same repetition, and over all hosts the geometric mean of these: how hosts differ, and what goes on while it
//! lasts, is in both. Its interval is by what repetitions differ, and what is said of it allows for how many ratios
//! there are. How: `docs/method/net.md`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use linerate_record::net::{NetClass, NetClassComparison, NetOp, NetRoute, NetRun, NetSpace, NetVisit};

use super::framing::{FramedWay, framing_ratio, seen_overlay};
use super::pairs::{self, NetSamples, mean_and_interval, of_rate, of_ratio};
use super::ports;
use super::view::{
    NetAgainst, NetAgainstPair, NetClassFigures, NetCosts, NetInterval, NetPairFigures, NetRatio, NetRatioVerdict,
};
use crate::median::median;
use crate::student;

/// Outside of an interval of 95 %, on either side.
const TAIL: f64 = 0.025;

/// Reasons of pairs without figures that a class has at the most.
const REASONS: usize = 4;

/// A pair of a class, with one number of streams.
#[derive(Clone, Debug)]
pub(super) struct ClassedPair {
    class: NetClass,
    /// Whether its packets are of IPv6.
    is_v6: bool,
    rates: BTreeMap<u32, f64>,
    figures: NetPairFigures,
}

pub(super) type ByRepetition = BTreeMap<u32, f64>;

/// Two hosts, and pairs of two classes from the first to the second.
type OfHosts<'p> = ((String, String), [Vec<&'p ClassedPair>; 2]);

/// Visits by one way. All of them as a rule, which are not copied then.
pub(super) fn of_way(visits: &[NetVisit], through: NetRoute) -> Cow<'_, [NetVisit]> {
    if visits.iter().all(|visit| visit.through == through) {
        return Cow::Borrowed(visits);
    }
    Cow::Owned(visits.iter().filter(|visit| visit.through == through).cloned().collect())
}

/// Pairs with figures or without, by all ways, where it is known where their machines are. `seen` and `direct` have
/// samples and figures of those at machines' own addresses, in the order in which they were seen.
pub(super) fn classed(visits: &[NetVisit], seen: &NetSamples<'_>, direct: &[NetPairFigures]) -> Vec<ClassedPair> {
    let run = seen.run;
    // Lengths of packets are no rates.
    if run.load.op == NetOp::Mtu || run.nodes.iter().all(|node| node.place.is_none()) {
        return Vec::new();
    }
    let mut all = of_pairs(seen, NetRoute::Direct, direct.to_vec());
    for through in NetRoute::ALL.into_iter().filter(|through| !through.is_direct()) {
        let visits = of_way(visits, through);
        let seen = pairs::seen(run, &visits);
        let figures = seen.pairs.iter().map(|(key, of)| pairs::figures(&seen, *key, of).0).collect();
        all.extend(of_pairs(&seen, through, figures));
    }
    all
}

/// Pairs by one way, with the figures of each.
fn of_pairs(seen: &NetSamples<'_>, through: NetRoute, figures: Vec<NetPairFigures>) -> Vec<ClassedPair> {
    let run = seen.run;
    let classed = |((key, of), figures): ((&(u32, u32, u32), &pairs::PairSamples<'_>), NetPairFigures)| {
        let class = run.class_of((key.0, key.1), through)?;
        let rates = of.visits.iter().map(|visit| (seen.visits[visit.place].repetition, visit.per_s)).collect();
        Some(ClassedPair { class, is_v6: is_v6(run, key.1, through), rates, figures })
    };
    seen.pairs.iter().zip(figures).filter_map(classed).collect()
}

/// Whether packets that go to a machine by a way are of IPv6.
fn is_v6(run: &NetRun, to: u32, through: NetRoute) -> bool {
    let node = run.nodes.get(to as usize);
    let place = node.and_then(|node| node.place.as_ref());
    let address = match through {
        NetRoute::Direct => node.map(|node| &node.address),
        NetRoute::Service => place.and_then(|place| place.service.as_ref()),
        NetRoute::Second => place.and_then(|place| place.second.as_ref()),
    };
    address.is_some_and(|address| ports::is_v6(address))
}

/// How many classes pairs at machines' own addresses are of.
pub(super) fn direct_classes(all: &[ClassedPair]) -> usize {
    all.iter().map(|pair| pair.class).filter(|class| class.through.is_direct()).collect::<BTreeSet<_>>().len()
}

/// The figures of each class.
pub(super) fn classes(run: &NetRun, all: &[ClassedPair]) -> Vec<NetClassFigures> {
    let mut figures_by_class: BTreeMap<(NetClass, u32), Vec<&ClassedPair>> = BTreeMap::new();
    for pair in all {
        figures_by_class.entry((pair.class, pair.figures.streams)).or_default().push(pair);
    }
    let to_hosts = |&(class, streams): &(NetClass, u32)| {
        let base = class.base();
        let both = if base == class { Vec::new() } else { matched(run, all, [class, base], streams) };
        let each: Vec<ByRepetition> =
            both.iter().map(|(_, two)| log_ratios(two)).filter(|logs| !logs.is_empty()).collect();
        let (logs, over) = (joined(&each), whole(&each).0.len());
        (!logs.is_empty()).then_some(((class, streams), (logs, over)))
    };
    let ratios: BTreeMap<(NetClass, u32), (ByRepetition, usize)> =
        figures_by_class.keys().filter_map(to_hosts).collect();
    let figures = |(key, pairs): (&(NetClass, u32), &Vec<&ClassedPair>)| {
        let (class, streams) = *key;
        let with = pairs.iter().filter(|pair| !pair.rates.is_empty()).count();
        let reasons: BTreeSet<&String> = pairs.iter().flat_map(|pair| &pair.figures.reasons).collect();
        NetClassFigures {
            class,
            streams,
            pairs: u32::try_from(with).unwrap_or(u32::MAX),
            failed: u32::try_from(pairs.len() - with).unwrap_or(u32::MAX),
            visits: pairs.iter().map(|pair| pair.figures.visits).sum(),
            failed_visits: pairs.iter().map(|pair| pair.figures.failed).sum(),
            reasons: reasons.into_iter().take(REASONS).cloned().collect(),
            per_s: mean(&series(pairs)),
            least_round_trip_us: middle(pairs, |figures| figures.least_round_trip_us),
            sender_cpu_s_per_gib: middle(pairs, |figures| figures.sender_cpu_s_per_gib),
            receiver_cpu_s_per_gib: middle(pairs, |figures| figures.receiver_cpu_s_per_gib),
            to_host: ratios.get(key).and_then(|(logs, _)| ratio(logs, ratios.len())),
            to_host_over: ratios.get(key).and_then(|(_, hosts)| u32::try_from(*hosts).ok()),
        }
    };
    figures_by_class.iter().map(figures).collect()
}

/// Classes that somebody asked for against each other, with each number of streams.
pub(super) fn against(run: &NetRun, all: &[ClassedPair]) -> Vec<NetAgainst> {
    let Some(requested) = run.against.filter(|_| !all.is_empty()) else { return Vec::new() };
    run.load.streams.iter().map(|streams| against_with(run, all, requested, *streams)).collect()
}

/// Pairs of a class by the hosts that send and receive.
fn by_hosts<'p>(
    run: &NetRun,
    all: &'p [ClassedPair],
    class: NetClass,
    streams: u32,
) -> BTreeMap<(String, String), Vec<&'p ClassedPair>> {
    let mut pairs_by_hosts: BTreeMap<(String, String), Vec<&ClassedPair>> = BTreeMap::new();
    for pair in all.iter().filter(|pair| (pair.class, pair.figures.streams) == (class, streams)) {
        let host = |node: u32| Some(run.nodes.get(node as usize)?.place.as_ref()?.host.clone());
        if let Some(hosts) = host(pair.figures.from).zip(host(pair.figures.to)) {
            pairs_by_hosts.entry(hosts).or_default().push(pair);
        }
    }
    pairs_by_hosts
}

/// Each two hosts that have pairs of both classes.
fn matched<'p>(run: &NetRun, all: &'p [ClassedPair], two: [NetClass; 2], streams: u32) -> Vec<OfHosts<'p>> {
    let [one, mut other] = two.map(|class| by_hosts(run, all, class, streams));
    one.into_iter().filter_map(|(hosts, pairs)| other.remove(&hosts).map(|others| (hosts, [pairs, others]))).collect()
}

fn log_ratios(two: &[Vec<&ClassedPair>; 2]) -> ByRepetition {
    let [own, other] = two.each_ref().map(|pairs| series(pairs));
    logs(&own, &other)
}

fn against_with(run: &NetRun, all: &[ClassedPair], requested: NetClassComparison, streams: u32) -> NetAgainst {
    let both = matched(run, all, [requested.class, requested.base], streams);
    // Each number of streams has a ratio of its own.
    let numbers = run.load.streams.len();
    let mut of_all: Vec<ByRepetition> = Vec::new();
    let mut pairs: Vec<NetAgainstPair> = Vec::new();
    for (hosts, two) in &both {
        let [own, other] = two.each_ref().map(|pairs| series(pairs));
        let logs = logs(&own, &other);
        let found = (ratio(&logs, both.len().saturating_mul(numbers)), mean(&own), mean(&other));
        let (Some(ratio), Some(one), Some(two_mean)) = found else { continue };
        of_all.push(logs);
        let (from, to) = hosts.clone();
        let costs = costs(requested, [two[0].as_slice(), two[1].as_slice()], Some(ratio.ratio.mean));
        pairs.push(NetAgainstPair { from, to, per_s: [one.mean, two_mean.mean], ratio, costs });
    }
    let whole = ratio(&joined(&of_all), numbers);
    let sides = [0, 1].map(|side| both.iter().flat_map(|(_, two)| two[side].iter().copied()).collect::<Vec<_>>());
    let costs = costs(requested, [&sides[0], &sides[1]], whole.map(|whole| whole.ratio.mean));
    NetAgainst { requested, streams, ratio: whole, costs, pairs, said: String::new() }
}

/// Repetitions that all have.
fn common<'s>(all: impl Iterator<Item = &'s ByRepetition>) -> BTreeSet<u32> {
    let sets = all.map(|of| of.keys().copied().collect::<BTreeSet<u32>>());
    sets.reduce(|all, own| all.intersection(&own).copied().collect()).unwrap_or_default()
}

/// As much as there is without a gap: the places of those that have as many repetitions as some number, and the
/// repetitions that all of these have. So a machine that was lost midway costs its own pairs, and not the repetitions
/// of all others.
pub(super) fn whole(all: &[ByRepetition]) -> (Vec<usize>, BTreeSet<u32>) {
    let counts: BTreeSet<usize> = all.iter().map(BTreeMap::len).filter(|count| *count > 0).collect();
    let with = |least: usize| {
        let kept: Vec<usize> = (0..all.len()).filter(|place| all[*place].len() >= least).collect();
        let repetitions = common(kept.iter().map(|place| &all[*place]));
        (kept, repetitions)
    };
    // Of as much, that of more repetitions, which is the last.
    let most = counts.into_iter().map(with).max_by_key(|(kept, repetitions)| kept.len() * repetitions.len());
    most.unwrap_or_default()
}

/// The mean of each repetition, of those that have a value in all of them: one that lacks some would be of others.
fn joined(all: &[ByRepetition]) -> ByRepetition {
    let (kept, repetitions) = whole(all);
    let values = |repetition: u32| kept.iter().filter_map(move |place| all[*place].get(&repetition));
    let mean_in = |repetition: u32| values(repetition).sum::<f64>() / kept.len() as f64;
    repetitions.into_iter().map(|repetition| (repetition, mean_in(repetition))).collect()
}

/// The same of the rates of pairs with figures.
fn series(pairs: &[&ClassedPair]) -> ByRepetition {
    joined(&pairs.iter().map(|pair| pair.rates.clone()).collect::<Vec<ByRepetition>>())
}

pub(super) fn mean(of: &ByRepetition) -> Option<NetInterval> {
    let values: Vec<f64> = of.values().copied().collect();
    let (mean, half) = mean_and_interval(&values);
    (!values.is_empty()).then(|| of_rate(mean, half))
}

/// Logarithms of one by another, for each repetition that both have.
pub(super) fn logs(one: &ByRepetition, other: &ByRepetition) -> ByRepetition {
    one.iter().filter_map(|(repetition, rate)| Some((*repetition, (rate / other.get(repetition)?).ln()))).collect()
}

pub(super) fn ratio(logs: &ByRepetition, comparisons: usize) -> Option<NetRatio> {
    let logs: Vec<f64> = logs.values().copied().collect();
    (!logs.is_empty()).then(|| ratio_from_logs(&logs, comparisons))
}

/// The ratio that logarithms are of, each of a repetition or of a block, and what can be said of it beside so many.
pub(super) fn ratio_from_logs(logs: &[f64], comparisons: usize) -> NetRatio {
    let (mean, half) = mean_and_interval(logs);
    let degrees = logs.len() as f64 - 1.0;
    // Bonferroni's: each of so many is given a part of the chance.
    let wider = |half: f64| {
        let tail = TAIL / comparisons.max(1) as f64;
        half * student::quantile(1.0 - tail, degrees) / student::quantile(1.0 - TAIL, degrees)
    };
    let verdict = match half.map(wider) {
        Some(half) if mean + half < 0.0 => NetRatioVerdict::Less,
        Some(half) if mean - half > 0.0 => NetRatioVerdict::More,
        _ => NetRatioVerdict::Untold,
    };
    NetRatio { ratio: of_ratio(mean, half), verdict, repetitions: u32::try_from(logs.len()).unwrap_or(u32::MAX) }
}

/// The median of what pairs have.
fn middle(pairs: &[&ClassedPair], extract: fn(&NetPairFigures) -> Option<f64>) -> Option<f64> {
    median(pairs.iter().filter_map(|pair| extract(&pair.figures)).collect())
}

fn costs(requested: NetClassComparison, two: [&[&ClassedPair]; 2], ratio: Option<f64>) -> NetCosts {
    let figures = two.map(|pairs| pairs.iter().map(|pair| &pair.figures).collect::<Vec<_>>());
    let is_v6 = two.map(|pairs| pairs.iter().any(|pair| pair.is_v6));
    let said = requested.overlay_bytes.map(|bytes| around(requested, bytes));
    // On one host nothing is encapsulated, and segments of it tell nothing of those between two.
    let reported = said.or_else(|| match (requested.class.is_same, requested.base.is_same) {
        (false, false) => overlay_of_segments(&figures),
        (true, true) => Some([0, 0]),
        _ => None,
    });
    class_costs(figures, is_v6, reported, ratio)
}

/// What is around packets of both classes where that of the first was said: the second has the same where its packets
/// go to pods of another host in the same network.
fn around(requested: NetClassComparison, bytes: u32) -> [u32; 2] {
    let NetClassComparison { class, base, .. } = requested;
    let is_second = |of: NetClass| of.through == NetRoute::Second;
    let has_it_too = !base.is_same && base.to == NetSpace::Pod && is_second(base) == is_second(class);
    [if class.is_same { 0 } else { bytes }, if has_it_too { bytes } else { 0 }]
}

fn segments(two: &[Vec<&NetPairFigures>; 2]) -> [Option<u32>; 2] {
    two.each_ref().map(|pairs| {
        let middle = median(pairs.iter().filter_map(|pair| pair.segment_bytes).map(f64::from).collect());
        middle.map(|bytes| bytes.round() as u32)
    })
}

/// What segments of both sides tell of an encapsulation.
pub(super) fn overlay_of_segments(two: &[Vec<&NetPairFigures>; 2]) -> Option<[u32; 2]> {
    let [one, other] = segments(two);
    seen_overlay([one?, other?])
}

/// What the bytes of pairs on two sides cost, with so many bytes around packets where that is known.
pub(super) fn class_costs(
    two: [Vec<&NetPairFigures>; 2],
    is_v6: [bool; 2],
    overlay_bytes: Option<[u32; 2]>,
    ratio: Option<f64>,
) -> NetCosts {
    let medians = |field: fn(&NetPairFigures) -> Option<f64>| {
        two.each_ref().map(|pairs| median(pairs.iter().filter_map(|pair| field(pair)).collect()))
    };
    let segment_bytes = segments(&two);
    let known = segment_bytes[0].zip(segment_bytes[1]);
    let framing_ratio = known.zip(overlay_bytes).and_then(|((one, other), overlay)| {
        let way = |side: usize, segment_bytes: u32| FramedWay {
            segment_bytes,
            is_v6: is_v6[side],
            overlay_bytes: overlay[side],
        };
        framing_ratio(way(0, one), way(1, other))
    });
    NetCosts {
        segment_bytes,
        overlay_bytes,
        framing_ratio,
        rest_ratio: ratio.zip(framing_ratio).map(|(ratio, framing)| ratio / framing),
        sender_cpu_s_per_gib: medians(|of| of.sender_cpu_s_per_gib),
        receiver_cpu_s_per_gib: medians(|of| of.receiver_cpu_s_per_gib),
        sender_busy_s_per_gib: medians(|of| of.sender_busy_s_per_gib),
        receiver_busy_s_per_gib: medians(|of| of.receiver_busy_s_per_gib),
    }
}
