//! Two runs of links, pair by pair: how much more or less the second one gives.
//!
//! Intervals are those of ratios of two means, each with its interval over visits. They know what visits of a run
//! differ by, and not what runs do: two runs of the same links, minutes apart, differ too. So nothing is called here.

use std::collections::BTreeMap;

use linerate_record::net::{NetLoad, NetOp};
use linerate_record::units::percent;
use serde::{Deserialize, Serialize};

use super::answer::plural;
use super::streams::gain;
use super::view::{NetInterval, NetPairFigures, NetView};
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
    /// All pairs together, for each number of streams that both runs have.
    pub streams: Vec<NetStreamsRatio>,
    /// Each pair with each number of streams that both runs have, the ratio that fell most first.
    pub pairs: Vec<NetPairRatio>,
    /// Pairs with a number of streams that have figures in one of the runs alone.
    pub unmatched: u32,
}

/// All pairs with one number of streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetStreamsRatio {
    /// Streams of each pair.
    pub streams: u32,
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
}

/// One pair with one number of streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetPairRatio {
    /// Who sends.
    pub from: String,
    /// Who receives.
    pub to: String,
    /// Streams.
    pub streams: u32,
    /// Its mean rate in A.
    pub a_per_s: f64,
    /// The same in B.
    pub b_per_s: f64,
    /// B's by A's, with the ends of its 95 % interval where both have two visits or more.
    pub ratio: NetInterval,
    /// Visits in A and in B.
    pub visits: [u32; 2],
}

/// Compares B with A.
///
/// # Errors
/// Why they cannot be compared, and what to do about it.
pub fn compare(a: &NetView, b: &NetView) -> Result<NetComparison, String> {
    if a.load.op != b.load.op {
        let of = |view: &NetView| view.load.op.key();
        let what = if of(a) == of(b) { "sizes" } else { "--op" };
        return Err(format!(
            "the runs are of --op {} and --op {}, and differ in {what}: compare runs of the same load",
            of(a),
            of(b)
        ));
    }
    let (of_a, of_b) = (known(a), known(b));
    let both = of_a.iter().filter_map(|(key, one)| Some((key, *one, *of_b.get(key)?)));
    let mut pairs: Vec<NetPairRatio> = both.filter_map(|(key, a, b)| ratio(key, a, b)).collect();
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
    let streams = of_streams(&pairs);
    Ok(NetComparison {
        schema: NET_COMPARISON_SCHEMA,
        op: a.load.op,
        answer: streams.iter().map(said).collect::<Vec<_>>().join("; "),
        warnings: warnings(&a.load, &b.load, unmatched),
        streams,
        pairs,
        unmatched: u32::try_from(unmatched).unwrap_or(u32::MAX),
    })
}

/// A pair by the names of its machines, and streams.
type PairKey<'v> = (&'v str, &'v str, u32);

/// Pairs with figures.
fn known(view: &NetView) -> BTreeMap<PairKey<'_>, &NetPairFigures> {
    let with_figures = view.pairs.iter().filter(|pair| pair.per_s.is_some());
    with_figures.map(|pair| ((view.name(pair.from), view.name(pair.to), pair.streams), pair)).collect()
}

fn ratio(&(from, to, streams): &PairKey<'_>, a: &NetPairFigures, b: &NetPairFigures) -> Option<NetPairRatio> {
    let (of_a, of_b) = (a.per_s?, b.per_s?);
    let (more, half) = gain(&of_a, &of_b);
    let half = half.filter(|_| a.visits.min(b.visits) >= VISITS_LEAST);
    Some(NetPairRatio {
        from: from.to_owned(),
        to: to.to_owned(),
        streams,
        a_per_s: of_a.mean,
        b_per_s: of_b.mean,
        ratio: NetInterval {
            mean: more.exp(),
            low: half.map(|half| (more - half).exp()),
            high: half.map(|half| (more + half).exp()),
        },
        visits: [a.visits, b.visits],
    })
}

fn of_streams(pairs: &[NetPairRatio]) -> Vec<NetStreamsRatio> {
    let mut of: BTreeMap<u32, Vec<NetInterval>> = BTreeMap::new();
    for pair in pairs {
        of.entry(pair.streams).or_default().push(pair.ratio);
    }
    let count = |ratios: &[NetInterval], is_it: fn(&NetInterval) -> bool| {
        u32::try_from(ratios.iter().filter(|ratio| is_it(ratio)).count()).unwrap_or(u32::MAX)
    };
    let whole = |(streams, ratios): (u32, Vec<NetInterval>)| NetStreamsRatio {
        streams,
        pairs: count(&ratios, |_| true),
        median_ratio: median(ratios.iter().map(|ratio| ratio.mean).collect()).unwrap_or(1.0),
        known: count(&ratios, |ratio| ratio.high.is_some()),
        less: count(&ratios, |ratio| ratio.high.is_some_and(|high| high < 1.0)),
        more: count(&ratios, |ratio| ratio.low.is_some_and(|low| low > 1.0)),
    };
    of.into_iter().map(whole).collect()
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
        "with {} B gives {gives} at the median of {}; {intervals}",
        plural(of.streams as usize, "stream"),
        plural(of.pairs as usize, "pair")
    )
}

fn warnings(a: &NetLoad, b: &NetLoad, unmatched: usize) -> Vec<String> {
    let differing: [(&str, bool); 7] = [
        ("--members", a.members != b.members),
        ("which way flows go", a.way != b.way),
        ("--duration", a.duration_ms != b.duration_ms),
        ("--warmup", a.warmup_ms != b.warmup_ms),
        ("--send-size", a.send_bytes != b.send_bytes),
        ("--max-rate", a.max_bytes_per_s != b.max_bytes_per_s),
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
    fn pairs_of_one_visit_have_a_ratio_and_no_interval() {
        let found = compare(&viewed_world(4, 1, 1), &viewed_world(4, 3, 2)).unwrap();
        assert!(found.pairs.iter().all(|pair| pair.ratio.low.is_none() && pair.ratio.high.is_none()));
        assert!(found.answer.contains("takes two visits or more"), "{}", found.answer);
    }
}
