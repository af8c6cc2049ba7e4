//! Two runs of links, pair by pair: how much more or less the second one gives.
//!
//! Intervals are those of ratios of two means, each with its interval over visits. They know what visits of a run
//! differ by, and not what runs do: two runs of the same links, minutes apart, differ too. So nothing is called here.
//! Several runs a side are blocks: a ratio is that of the two runs of a block, and its interval is by what blocks
//! differ.
//!
//! Where it is known of which class pairs are, those of a class are taken together: what an overlay takes of pairs of
//! pods is not to be diluted by pairs of hosts.

use std::collections::BTreeMap;

use linerate_record::net::{NetClass, NetLoad, NetOp};
use linerate_record::units::percent;
use serde::{Deserialize, Serialize};

use super::classes::{class_costs, overlay_of_segments, ratio_from_logs};
use super::pairs::{mean_and_interval, of_ratio};
use super::ports;
use super::sentences::{costs_said, plural, ratio_said};
use super::streams::gain;
use super::view::{NetCosts, NetInterval, NetPairFigures, NetRatio, NetView};
use crate::median::median;

/// The version of [`NetComparison`] as JSON.
pub const NET_COMPARISON_SCHEMA: u32 = 1;

/// Fewest visits of a pair in each run by which its ratio has an interval.
const VISITS_LEAST: u32 = 2;

/// How many of such intervals have what is true in them.
const COVERED: f64 = 0.95;

/// What became of links from run A to run B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetComparison {
    /// [`NET_COMPARISON_SCHEMA`].
    pub schema: u32,
    /// What each stream did in both.
    pub op: NetOp,
    /// The whole in a sentence.
    pub answer: String,
    /// What whoever reads the answer has to know first.
    pub warnings: Vec<String>,
    /// All pairs together, or those of each class, for each number of streams that both runs have.
    pub streams: Vec<NetStreamsRatio>,
    /// Each pair with each number of streams that both runs have, the ratio that fell most first.
    pub pairs: Vec<NetPairRatio>,
    /// Pairs with a number of streams that have figures in one of the runs alone.
    pub unmatched: u32,
    /// Runs of each side; absent where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
}

/// All pairs, or those of one class, with one number of streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetStreamsRatio {
    /// Streams of each pair.
    pub streams: u32,
    /// Their class; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<NetClass>,
    /// Pairs that both runs have.
    pub pairs: u32,
    /// The median of their ratios: B's rate by A's.
    pub median_ratio: f64,
    /// Pairs whose ratio has an interval.
    pub known: u32,
    /// Those of them whose whole interval lies below 1.
    pub less: u32,
    /// Those whose whole interval lies above 1.
    pub more: u32,
    /// B's rate by A's over all pairs, by blocks; absent where each side has one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_blocks: Option<NetRatio>,
    /// What bytes cost in B and in A, of the median pair: of two values, the first is B's.
    #[serde(default)]
    pub costs: NetCosts,
    /// It in a sentence.
    #[serde(default)]
    pub said: String,
}

/// One pair with one number of streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetPairRatio {
    pub from: String,
    pub to: String,
    pub streams: u32,
    /// Its class; absent where it is not known, or not the same in both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<NetClass>,
    /// Its mean rate in A.
    pub a_per_s: f64,
    /// The same in B.
    pub b_per_s: f64,
    /// B's by A's, with the ends of its 95 % interval where both have two visits or more.
    pub ratio: NetInterval,
    /// Visits in A and in B.
    pub visits: [u32; 2],
    /// What bytes cost in B and in A: of two values, the first is B's.
    #[serde(default)]
    pub costs: NetCosts,
}

/// Compares B with A.
///
/// # Errors
/// Why they cannot be compared, and what to do about it.
pub fn compare(a: &NetView, b: &NetView) -> Result<NetComparison, String> {
    if a.load.op != b.load.op {
        let op_key = |view: &NetView| view.load.op.key();
        let what = if op_key(a) == op_key(b) { "sizes" } else { "--op" };
        return Err(format!(
            "the runs are of --op {} and --op {}, and differ in {what}: compare runs of the same load",
            op_key(a),
            op_key(b)
        ));
    }
    let is_v6 = [b, a].map(|view| view.nodes.iter().any(|node| ports::is_v6(&node.address)));
    let (of_a, of_b) = (known(a), known(b));
    let both = of_a.iter().filter_map(|(key, one)| Some((key, *one, *of_b.get(key)?)));
    let mut pairs: Vec<NetPairRatio> = both.filter_map(|(key, a, b)| ratio(key, (a, b), is_v6)).collect();
    if a.load.op == NetOp::Mtu {
        return Err("paths have no rates to compare: hold the tables of linerate report against each other".to_owned());
    }
    if pairs.is_empty() {
        return Err("the runs have no pair of machines with the same number of streams in common: measure the same \
                    machines, by the same names, with the same --streams"
            .to_owned());
    }
    pairs.sort_by(|a, b| a.ratio.mean.total_cmp(&b.ratio.mean));
    let unmatched = of_a.len() + of_b.len() - 2 * pairs.len();
    let mut streams = of_streams(&pairs, |kind, ratio| {
        costs([&of_b, &of_a].map(|of| of_keys(of, &pairs, kind)), is_v6, kind.0, ratio)
    });
    streams.iter_mut().for_each(|of| of.said = said(of));
    Ok(NetComparison {
        schema: NET_COMPARISON_SCHEMA,
        op: a.load.op,
        answer: answer(&streams),
        warnings: warnings(&a.load, &b.load, unmatched),
        streams,
        pairs,
        unmatched: u32::try_from(unmatched).unwrap_or(u32::MAX),
        blocks: None,
    })
}

/// Compares runs of B with those of A: the first of each are a block, and so on.
///
/// # Errors
/// Why they cannot be compared, and what to do about it.
pub fn compare_blocks(a: &[NetView], b: &[NetView]) -> Result<NetComparison, String> {
    if a.len() != b.len() {
        let (of_a, of_b) = (plural(a.len(), "run"), plural(b.len(), "run"));
        return Err(format!(
            "{of_a} of A and {of_b} of B are no blocks: name as many of each, in the order they were made"
        ));
    }
    let blocks = a.iter().zip(b).map(|(a, b)| compare(a, b)).collect::<Result<Vec<NetComparison>, String>>()?;
    let Some((first, others)) = blocks.split_first() else { return Err("no runs to compare".to_owned()) };
    if others.is_empty() {
        return Ok(first.clone());
    }
    let known: Vec<BlockPairs<'_>> = blocks.iter().map(by_key).collect();
    let mut pairs: Vec<NetPairRatio> = first.pairs.iter().filter_map(|pair| over_blocks(&known, pair)).collect();
    if pairs.is_empty() {
        return Err(
            "no pair of machines has figures in all runs: measure the same machines by the same names".to_owned()
        );
    }
    pairs.sort_by(|a, b| a.ratio.mean.total_cmp(&b.ratio.mean));
    let mut streams = of_streams(&pairs, |kind, ratio| middle_costs(&of_blocks(&blocks, kind), ratio));
    let comparisons = streams.len();
    for of in &mut streams {
        let kind = (of.class, of.streams);
        let logs: Vec<f64> = known.iter().filter_map(|block| mean_log(block, &pairs, kind)).collect();
        of.by_blocks = (!logs.is_empty()).then(|| ratio_from_logs(&logs, comparisons));
        let ratio = of.by_blocks.map_or(of.median_ratio, |by_blocks| by_blocks.ratio.mean);
        of.costs.rest_ratio = of.costs.framing_ratio.map(|framing| ratio / framing);
        of.said = said_of_blocks(of);
    }
    let mut warnings: Vec<String> = blocks.iter().flat_map(|block| block.warnings.iter().cloned()).collect();
    warnings.sort_unstable();
    warnings.dedup();
    Ok(NetComparison {
        schema: NET_COMPARISON_SCHEMA,
        op: first.op,
        answer: answer(&streams),
        warnings,
        streams,
        pairs,
        unmatched: blocks.iter().map(|block| block.unmatched).max().unwrap_or(0),
        blocks: u32::try_from(blocks.len()).ok(),
    })
}

fn answer(streams: &[NetStreamsRatio]) -> String {
    streams.iter().map(|of| of.said.as_str()).collect::<Vec<_>>().join("; ")
}

/// What bytes cost of pairs of a class on both sides, by what segments tell: on one host nothing is encapsulated.
fn costs(figures: [Vec<&NetPairFigures>; 2], is_v6: [bool; 2], class: Option<NetClass>, ratio: f64) -> NetCosts {
    let is_same = class.is_some_and(|class| class.is_same);
    let overlay_bytes = if is_same { Some([0, 0]) } else { overlay_of_segments(&figures) };
    class_costs(figures, is_v6, overlay_bytes, Some(ratio))
}

/// The same pair in each block; none where it has no figures in one.
fn over_blocks(blocks: &[BlockPairs<'_>], pair: &NetPairRatio) -> Option<NetPairRatio> {
    let all: Option<Vec<&NetPairRatio>> = blocks.iter().map(|block| block.get(&pair_key(pair)).copied()).collect();
    let all = all?;
    let mean = |extract: fn(&NetPairRatio) -> f64| all.iter().map(|one| extract(one)).sum::<f64>() / all.len() as f64;
    let logs: Vec<f64> = all.iter().map(|one| one.ratio.mean.ln()).collect();
    let ratio = ratio_from_logs(&logs, 1).ratio;
    let visits = |side: usize| all.iter().map(|one| one.visits[side]).fold(0, u32::saturating_add);
    Some(NetPairRatio {
        a_per_s: mean(|one| one.a_per_s),
        b_per_s: mean(|one| one.b_per_s),
        ratio,
        visits: [visits(0), visits(1)],
        costs: middle_costs(&all.iter().map(|one| one.costs).collect::<Vec<_>>(), ratio.mean),
        ..pair.clone()
    })
}

fn by_key(block: &NetComparison) -> BlockPairs<'_> {
    block.pairs.iter().map(|pair| (pair_key(pair), pair)).collect()
}

/// The mean logarithm of a block's ratios, of the pairs that all blocks have.
fn mean_log(block: &BlockPairs<'_>, pairs: &[NetPairRatio], kind: PairKind) -> Option<f64> {
    let of_kind = pairs.iter().filter(|pair| (pair.class, pair.streams) == kind);
    let logs: Vec<f64> = of_kind.filter_map(|pair| Some(block.get(&pair_key(pair))?.ratio.mean.ln())).collect();
    (!logs.is_empty()).then(|| mean_and_interval(&logs).0)
}

/// What bytes cost, of the median block.
fn middle_costs(all: &[NetCosts], ratio: f64) -> NetCosts {
    let both = |extract: fn(&NetCosts) -> [Option<f64>; 2]| {
        [0, 1].map(|side: usize| median(all.iter().filter_map(|costs| extract(costs)[side]).collect()))
    };
    let framing_ratio = median(all.iter().filter_map(|costs| costs.framing_ratio).collect());
    NetCosts {
        framing_ratio,
        rest_ratio: framing_ratio.map(|framing| ratio / framing),
        sender_cpu_s_per_gib: both(|costs| costs.sender_cpu_s_per_gib),
        receiver_cpu_s_per_gib: both(|costs| costs.receiver_cpu_s_per_gib),
        sender_busy_s_per_gib: both(|costs| costs.sender_busy_s_per_gib),
        receiver_busy_s_per_gib: both(|costs| costs.receiver_busy_s_per_gib),
        // Of the first block: segments are those of links.
        ..all.first().copied().unwrap_or_default()
    }
}

/// What bytes of such pairs cost in each block.
fn of_blocks(blocks: &[NetComparison], kind: PairKind) -> Vec<NetCosts> {
    let is_it = |of: &&NetStreamsRatio| (of.class, of.streams) == kind;
    let with = blocks.iter().filter_map(|block| block.streams.iter().find(is_it));
    with.map(|of| of.costs).collect()
}

fn said_of_blocks(of: &NetStreamsRatio) -> String {
    let streams = plural(of.streams as usize, "stream");
    let pairs = plural(of.pairs as usize, "pair");
    let class = of_class(of);
    let Some(ratio) = &of.by_blocks else { return format!("{class}with {streams} nothing is in all blocks") };
    format!(
        "{class}with {streams} B gives {} of A over {pairs}{}",
        ratio_said(ratio, "block"),
        costs_said(&of.costs, ["B", "A"])
    )
}

/// `other/pod-pod: `; nothing where that is not known.
fn of_class(of: &NetStreamsRatio) -> String {
    of.class.map_or_else(String::new, |class| format!("{class}: "))
}

/// Pairs that are taken together: of a class, where that is known, and with a number of streams.
type PairKind = (Option<NetClass>, u32);

/// A pair by the names of its machines, and streams.
type PairKey<'v> = (&'v str, &'v str, u32);

/// Pairs of a block.
type BlockPairs<'c> = BTreeMap<PairKey<'c>, &'c NetPairRatio>;

fn pair_key(pair: &NetPairRatio) -> PairKey<'_> {
    (pair.from.as_str(), pair.to.as_str(), pair.streams)
}

fn known(view: &NetView) -> BTreeMap<PairKey<'_>, &NetPairFigures> {
    let with_figures = view.pairs.iter().filter(|pair| pair.per_s.is_some());
    with_figures.map(|pair| ((view.name(pair.from), view.name(pair.to), pair.streams), pair)).collect()
}

fn ratio(
    &(from, to, streams): &PairKey<'_>,
    (a, b): (&NetPairFigures, &NetPairFigures),
    is_v6: [bool; 2],
) -> Option<NetPairRatio> {
    let (of_a, of_b) = (a.per_s?, b.per_s?);
    let (more, half) = gain(&of_a, &of_b);
    let half = half.filter(|_| a.visits.min(b.visits) >= VISITS_LEAST);
    let class = a.class.filter(|class| b.class == Some(*class));
    Some(NetPairRatio {
        from: from.to_owned(),
        to: to.to_owned(),
        streams,
        class,
        a_per_s: of_a.mean,
        b_per_s: of_b.mean,
        ratio: of_ratio(more, half),
        visits: [a.visits, b.visits],
        costs: costs([vec![b], vec![a]], is_v6, class, more.exp()),
    })
}

/// Figures of such pairs that are compared.
fn of_keys<'v>(
    of: &BTreeMap<PairKey<'_>, &'v NetPairFigures>,
    pairs: &[NetPairRatio],
    kind: PairKind,
) -> Vec<&'v NetPairFigures> {
    let with = pairs.iter().filter(|pair| (pair.class, pair.streams) == kind);
    with.filter_map(|pair| of.get(&pair_key(pair)).copied()).collect()
}

fn of_streams(pairs: &[NetPairRatio], costs: impl Fn(PairKind, f64) -> NetCosts) -> Vec<NetStreamsRatio> {
    let mut ratios_by_streams: BTreeMap<PairKind, Vec<NetInterval>> = BTreeMap::new();
    for pair in pairs {
        ratios_by_streams.entry((pair.class, pair.streams)).or_default().push(pair.ratio);
    }
    let count = |ratios: &[NetInterval], is_it: fn(&NetInterval) -> bool| {
        u32::try_from(ratios.iter().filter(|ratio| is_it(ratio)).count()).unwrap_or(u32::MAX)
    };
    let middle = |ratios: &[NetInterval]| median(ratios.iter().map(|ratio| ratio.mean).collect()).unwrap_or(1.0);
    let whole = |((class, streams), ratios): (PairKind, Vec<NetInterval>)| NetStreamsRatio {
        streams,
        class,
        pairs: count(&ratios, |_| true),
        median_ratio: middle(&ratios),
        by_blocks: None,
        costs: costs((class, streams), middle(&ratios)),
        said: String::new(),
        known: count(&ratios, |ratio| ratio.high.is_some()),
        less: count(&ratios, |ratio| ratio.high.is_some_and(|high| high < 1.0)),
        more: count(&ratios, |ratio| ratio.low.is_some_and(|low| low > 1.0)),
    };
    ratios_by_streams.into_iter().map(whole).collect()
}

/// What all pairs with one number of streams say.
fn said(of: &NetStreamsRatio) -> String {
    let share = of.median_ratio - 1.0;
    let gives = if share.abs() < 0.000_5 {
        "as much as A".to_owned()
    } else if share < 0.0 {
        format!("{} less than A", percent(-share))
    } else {
        format!("{} more than A", percent(share))
    };
    let intervals = if of.known == 0 {
        "no ratio has an interval, which takes two visits or more in each run".to_owned()
    } else {
        let by_chance = f64::from(of.known) * (1.0 - COVERED);
        format!(
            "by the intervals of visits, {} give less and {} more, where chance alone makes about {} of them",
            of.less,
            of.more,
            by_chance.round()
        )
    };
    format!(
        "{}with {} B gives {gives} at the median of {}; {intervals}",
        of_class(of),
        plural(of.streams as usize, "stream"),
        plural(of.pairs as usize, "pair")
    )
}

fn warnings(a: &NetLoad, b: &NetLoad, unmatched: usize) -> Vec<String> {
    let differing: [(&str, bool); 10] = [
        ("--members", a.members != b.members),
        ("which way flows go", a.way != b.way),
        ("--duration", a.duration_ms != b.duration_ms),
        ("--warmup", a.warmup_ms != b.warmup_ms),
        ("--send-size", a.send_bytes != b.send_bytes),
        ("--max-rate", a.max_bytes_per_s != b.max_bytes_per_s),
        ("--gso", a.offloads.gso != b.offloads.gso),
        ("--zerocopy", a.offloads.zerocopy != b.offloads.zerocopy),
        ("--read", a.offloads.reads != b.offloads.reads),
        ("which rounds were measured", a.sampled_of_rounds != b.sampled_of_rounds),
    ];
    let names: Vec<&str> = differing.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect();
    let of_load = (!names.is_empty()).then(|| format!("the loads differ in {}", names.join(", ")));
    let left = (unmatched > 0)
        .then(|| format!("{} with figures in one of the runs alone: left out", plural(unmatched, "pair")));
    of_load.into_iter().chain(left).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::viewed_world;
    use super::*;

    #[test]
    fn each_pair_has_its_ratio_with_an_interval_and_runs_of_other_loads_are_refused() {
        let (a, mut b) = (viewed_world(4, 3, 1), viewed_world(4, 3, 2));
        let same = compare(&a, &b).unwrap();
        assert_eq!((same.pairs.len(), same.unmatched, same.warnings.len()), (12, 0, 0));
        for pair in &same.pairs {
            let (low, high) = (pair.ratio.low.unwrap(), pair.ratio.high.unwrap());
            assert!(low < pair.ratio.mean && pair.ratio.mean < high, "{pair:?}");
            assert!((pair.ratio.mean - pair.b_per_s / pair.a_per_s).abs() < 1e-9, "{pair:?}");
        }
        assert!(same.pairs.is_sorted_by(|one, other| one.ratio.mean <= other.ratio.mean));
        // Half of everything.
        for rate in b.pairs.iter_mut().filter_map(|pair| pair.per_s.as_mut()) {
            *rate = NetInterval {
                mean: rate.mean / 2.0,
                low: rate.low.map(|low| low / 2.0),
                high: rate.high.map(|high| high / 2.0),
            };
        }
        let half = compare(&a, &b).unwrap();
        assert_eq!((half.streams.len(), half.streams[0].less, half.streams[0].more), (1, 12, 0), "{half:?}");
        assert!(half.answer.contains("less than A at the median of 12 pairs"), "{}", half.answer);
        b.pairs[0].per_s = None;
        b.load.duration_ms += 1;
        let short = compare(&a, &b).unwrap();
        assert_eq!((short.pairs.len(), short.unmatched), (11, 1));
        assert_eq!(
            short.warnings,
            ["the loads differ in --duration", "1 pair with figures in one of the runs alone: left out"]
        );
        b.nodes.iter_mut().for_each(|node| node.name.push('x'));
        assert!(compare(&a, &b).unwrap_err().contains("no pair of machines"));
        b.load.op = NetOp::Connect;
        assert!(compare(&a, &b).unwrap_err().contains("--op stream and --op connect, and differ in --op"));
    }

    #[test]
    fn blocks_give_a_ratio_with_an_interval_and_say_what_bytes_cost() {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for block in 0..3 {
            a.push(viewed_world(4, 3, 10 + block));
            let mut of_b = viewed_world(4, 3, 20 + block);
            for pair in &mut of_b.pairs {
                pair.segment_bytes = Some(8_898);
                let part = |value: f64| 0.97 * value;
                pair.per_s = pair.per_s.map(|rate| NetInterval {
                    mean: part(rate.mean),
                    low: rate.low.map(part),
                    high: rate.high.map(part),
                });
            }
            b.push(of_b);
        }
        let found = compare_blocks(&a, &b).unwrap();
        assert_eq!((found.blocks, found.pairs.len(), found.streams.len()), (Some(3), 12, 1));
        let whole = &found.streams[0];
        let ratio = whole.by_blocks.unwrap();
        // Machines of each world differ by a hundredth.
        assert!((0.95..0.99).contains(&ratio.ratio.mean), "{ratio:?}");
        assert!(ratio.ratio.low.unwrap() < ratio.ratio.mean && ratio.ratio.mean < ratio.ratio.high.unwrap());
        assert_eq!((ratio.repetitions, whole.costs.overlay_bytes), (3, Some([50, 0])));
        assert!((whole.costs.framing_ratio.unwrap() - 8_898.0 / 8_948.0).abs() < 1e-9, "{whole:?}");
        assert!(found.pairs.iter().all(|pair| pair.visits == [9, 9] && pair.ratio.low.is_some()));
        assert!(
            found.answer.contains("95 % by 3 blocks") && found.answer.contains("framing explains 0.994"),
            "{}",
            found.answer
        );
        // One block is two runs, and of nothing else but blocks can be made.
        assert_eq!(compare_blocks(&a[..1], &b[..1]).unwrap(), compare(&a[0], &b[0]).unwrap());
        assert!(compare_blocks(&a, &b[..2]).unwrap_err().contains("3 runs of A and 2 runs of B are no blocks"));
        assert!(compare_blocks(&[], &[]).is_err());
    }

    #[test]
    fn pairs_of_a_class_are_taken_together_and_not_diluted_by_those_of_others() {
        let class = |text: &str| text.parse::<NetClass>().unwrap();
        let classes = [class("other/host-host"), class("other/pod-pod"), class("same/host-pod")];
        let place = |view: &mut NetView| {
            for (number, pair) in view.pairs.iter_mut().enumerate() {
                pair.class = Some(classes[number % 3]);
                pair.segment_bytes = Some(1_448);
            }
        };
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for block in 0..3 {
            let mut of_a = viewed_world(4, 3, 10 + block);
            place(&mut of_a);
            let mut of_b = viewed_world(4, 3, 20 + block);
            place(&mut of_b);
            // Those of pods are halved, and their segments are shorter, also where nothing is between two hosts.
            for pair in of_b.pairs.iter_mut().filter(|pair| pair.class != Some(classes[0])) {
                let half = |value: f64| 0.5 * value;
                let is_other = pair.class == Some(classes[1]);
                pair.segment_bytes = Some(1_398);
                pair.per_s = pair.per_s.filter(|_| is_other).map_or(pair.per_s, |rate| {
                    Some(NetInterval { mean: half(rate.mean), low: rate.low.map(half), high: rate.high.map(half) })
                });
            }
            a.push(of_a);
            b.push(of_b);
        }
        let found = compare_blocks(&a, &b).unwrap();
        let streams_at = |place: usize| &found.streams[place];
        assert_eq!([0, 1, 2].map(|place| streams_at(place).class), classes.map(Some));
        assert_eq!([0, 1, 2].map(|place| streams_at(place).pairs), [4; 3]);
        let ratios = [0, 1, 2].map(|place| streams_at(place).by_blocks.unwrap().ratio.mean);
        assert!((ratios[0] - 1.0).abs() < 0.03 && (ratios[1] - 0.5).abs() < 0.02, "{ratios:?}");
        assert_eq!(streams_at(1).by_blocks.unwrap().verdict, crate::net::view::NetRatioVerdict::Less);
        let overlays = [0, 1, 2].map(|place| streams_at(place).costs.overlay_bytes);
        assert_eq!(overlays, [Some([0, 0]), Some([50, 0]), Some([0, 0])]);
        assert!(found.answer.contains("other/pod-pod: with 4 streams B gives 0."), "{}", found.answer);
        let two = compare(&a[0], &b[0]).unwrap();
        assert!(two.answer.contains("; other/pod-pod: with 4 streams B gives"), "{}", two.answer);
        // A pair that is of another class in the other run is of none.
        b[0].pairs[0].class = Some(classes[1]);
        let found = compare(&a[0], &b[0]).unwrap();
        assert_eq!(found.pairs.iter().filter(|pair| pair.class.is_none()).count(), 1);
    }

    #[test]
    fn pairs_of_one_visit_have_a_ratio_and_no_interval() {
        let found = compare(&viewed_world(4, 1, 1), &viewed_world(4, 3, 2)).unwrap();
        assert!(found.pairs.iter().all(|pair| pair.ratio.low.is_none() && pair.ratio.high.is_none()));
        assert!(found.answer.contains("takes two visits or more"), "{}", found.answer);
    }
}
