//! Machines and pairs that are slow beyond chance.
//!
//! The logarithm of a pair's goodput is taken as what its sender and its receiver give with others, by a median polish
//! (Tukey, Exploratory Data Analysis, 1977), plus what is the pair's own. Of an even number of values the larger one of
//! the middle two counts: a single slow pair then makes neither of two machines slow that have two pairs each. What is
//! a pair's own is held against its machines' other pairs alone, for the same reason.
//!
//! What is slow is decided by [`outliers`], and of machines by `slow/groups.rs`, over all senders, receivers and pairs
//! together. It is called only where it lies outside of the intervals of what was measured, too, and where visits that
//! are slow now and then do not explain it (`slow/by_visits.rs`). How often healthy fleets are called:
//! `docs/method/net.md`.

mod by_visits;
mod directions;
mod groups;
mod median_polish;
mod too_few;

use std::collections::BTreeSet;

use super::pairs::NetSamples;
use super::streams::MATTERS;
use super::view::{NetPairFigures, NetSide, NetSlow, NetSlowNode, NetSlowPair};
use crate::estimate::COSINES;
use crate::median::median;
use crate::outlier::{FALSE_ALARMS, LEAST, Outlier, OutlierSide, OutlierThreshold, PRIOR_DEGREES, outliers};
use crate::student;
use by_visits::{ByVisits, of_machine, of_pair, of_visit};
use groups::slow_ones;
use median_polish::{MedianPolish, NetCell, polished, scatter};
use too_few::VISITS_LEAST;

/// What healthy machines and pairs are taken to scatter by, as a share: a judgement, which counts as ten observations.
const PRIOR_SCATTER: f64 = 0.03;

/// Fewest pairs of a machine on one side by which it is compared.
pub(super) const PAIRS_LEAST: usize = 2;

/// Middles of few values have heavier tails than a normal distribution: chance counts so many times.
const TAILS: usize = 10;

/// Fewest pairs of a visit of which the visit itself can be the reason.
const VISIT_LEAST: usize = 4;

/// From so many pairs on, those that lie within three times their scatter are not looked at one by one: chance over so
/// many comparisons is beyond that.
const MANY: usize = 5_000;
const WITHIN: f64 = 3.0;

/// A visit in which nearly all pairs were slower than in their others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SlowVisit {
    /// Its place among the visits.
    pub(super) place: usize,
    /// How much less three quarters of its pairs or more gave, as a share.
    pub(super) less_share: f64,
}

/// What the comparison says.
#[derive(Debug, Default)]
pub(super) struct NetCompared {
    pub(super) slow: NetSlow,
    pub(super) visits: Vec<SlowVisit>,
    /// How much more each machine sends and receives than the median one, as shares.
    pub(super) sends_share: Vec<Option<f64>>,
    pub(super) receives_share: Vec<Option<f64>>,
}

/// Nothing that is called, of so many machines, and why.
pub(super) fn nothing(nodes: usize, lacking: String) -> NetCompared {
    NetCompared {
        slow: NetSlow { lacking, least_share: MATTERS, ..NetSlow::default() },
        sends_share: vec![None; nodes],
        receives_share: vec![None; nodes],
        ..NetCompared::default()
    }
}

/// Compares machines and pairs with one number of streams.
pub(super) fn compare(seen: &NetSamples<'_>, pairs: &[&NetPairFigures]) -> NetCompared {
    let nodes = seen.run.nodes.len();
    let mut cells: Vec<NetCell> = pairs.iter().filter_map(|pair| cell(seen, pair)).collect();
    if let ([one, other], 2) = (cells.as_slice(), nodes) {
        return directions::compared([one, other], pairs);
    }
    if cells.len() < LEAST {
        return nothing(nodes, "fewer than three pairs have figures: none can be compared with others".to_owned());
    }
    let short = shortfalls(seen, &cells, &polished(nodes, &cells));
    let effects = visit_effects(&short);
    cells.iter_mut().for_each(|cell| cell.forget(&effects));
    let table = polished(nodes, &cells);
    let sides = [&table.sends, &table.receives];
    let known = sides.map(|side| side.iter().filter(|effect| effect.is_some()).count());
    let compared = known.map(|known| if known >= LEAST { known } else { 0 });
    let family = cells.len() + compared.iter().sum::<usize>();
    let measured = measured_scatter(&cells);
    let residuals = scatter(&table.residuals);
    let by_side = [NetSide::Sends, NetSide::Receives]
        .map(|side| slow_side(seen, &cells, &table, side, measured.max(residuals), family));
    let slow = NetSlow {
        comparisons: u32::try_from(too_few::callable(&cells) + compared.iter().sum::<usize>()).unwrap_or(u32::MAX),
        false_alarm_share: FALSE_ALARMS,
        least_share: MATTERS,
        scatter_share: Some(residuals.exp_m1()),
        lacking: too_few::lacking(nodes, compared, &cells),
        nodes: both_sides(by_side),
        pairs: slow_pairs(&cells, &table, pairs, measured, family),
    };
    let share = |effects: &[Option<f64>]| effects.iter().map(|effect| effect.map(f64::exp_m1)).collect();
    NetCompared {
        slow,
        visits: slow_visits(&effects, &short),
        sends_share: share(&table.sends),
        receives_share: share(&table.receives),
    }
}

fn cell(seen: &NetSamples<'_>, pair: &NetPairFigures) -> Option<NetCell> {
    let rate = pair.per_s?;
    let seen_pair = seen.pairs.get(&(pair.from, pair.to, pair.streams))?;
    let visits: Vec<(usize, f64)> = seen_pair.visits.iter().map(|visit| (visit.place, visit.per_s.ln())).collect();
    let value = visits.iter().map(|(_, log)| log).sum::<f64>() / visits.len() as f64;
    let half = rate.high.map(|high| (high / rate.mean).ln());
    Some(NetCell { from: pair.from as usize, to: pair.to as usize, value, visits, half })
}

/// How much less the pairs of each visit gave than their machines do, as logarithms.
fn shortfalls(seen: &NetSamples<'_>, cells: &[NetCell], table: &MedianPolish) -> Vec<Vec<f64>> {
    let mut short: Vec<Vec<f64>> = vec![Vec::new(); seen.visits.len()];
    for cell in cells {
        let of_machines = table.of_machines(cell);
        for (place, log) in &cell.visits {
            short[*place].push(log - of_machines);
        }
    }
    short.iter_mut().for_each(|short| short.sort_unstable_by(f64::total_cmp));
    short
}

/// How much less each visit gave than its pairs did in all of theirs: what three quarters of its pairs fall short by,
/// so that a few slow ones do not make a visit.
fn visit_effects(short: &[Vec<f64>]) -> Vec<f64> {
    let effect = |short: &Vec<f64>| {
        let at = short.get(3 * short.len() / 4).copied().unwrap_or(0.0);
        if short.len() >= VISIT_LEAST { at.min(0.0) } else { 0.0 }
    };
    // Less than what matters is left where it is: scatter, which is judged as such.
    let bar = (1.0 - 0.5 * MATTERS).ln();
    short.iter().map(effect).map(|effect| if effect <= bar { effect } else { 0.0 }).collect()
}

/// Visits that were slow by what matters, where that is no accident: of few pairs, each may be slow for itself.
fn slow_visits(effects: &[f64], short: &[Vec<f64>]) -> Vec<SlowVisit> {
    let by_pairs = ByVisits::new(short, of_visit);
    let is_certain = |place: usize| by_pairs.chance(place, 0.0, effects[place], effects.len()) <= FALSE_ALARMS;
    let shares = effects.iter().enumerate().map(|(place, effect)| (place, -effect.exp_m1()));
    let slow = shares.filter(|(place, less)| *less >= MATTERS && is_certain(*place));
    slow.map(|(place, less_share)| SlowVisit { place, less_share }).collect()
}

/// What a pair's mean is off by for want of time, as a standard deviation of logarithms: the middle of what visits or
/// intervals say of each pair.
fn measured_scatter(cells: &[NetCell]) -> f64 {
    let weighted_variance = |cell: &NetCell| {
        let degrees = if cell.visits.len() > 1 { (cell.visits.len() - 1) as f64 } else { f64::from(COSINES) };
        let error = cell.half? / student::quantile(0.975, degrees);
        // The median of χ² by its degrees (Wilson and Hilferty, PNAS 17, 1931).
        let middle = (1.0 - 2.0 / (9.0 * degrees)).powi(3);
        Some(error.powi(2) / middle)
    };
    median(cells.iter().filter_map(weighted_variance).collect()).unwrap_or(0.0).sqrt()
}

/// The variance of a middle of so many values, the larger one of two, in variances of one.
fn of_middle(count: usize) -> f64 {
    match count {
        0 => 0.0,
        1 => 1.0,
        2 => 0.68,
        _ => std::f64::consts::FRAC_PI_2 / count as f64,
    }
}

fn bar(scatter: f64, family: usize) -> OutlierThreshold {
    OutlierThreshold { scatter, least: -(1.0 - MATTERS).ln(), side: OutlierSide::Low, family: TAILS * family }
}

/// Machines that are slow on one side, where means of pairs have this scatter, a standard deviation of logarithms.
fn slow_side(
    seen: &NetSamples<'_>,
    cells: &[NetCell],
    table: &MedianPolish,
    side: NetSide,
    pair_scatter: f64,
    family: usize,
) -> Vec<NetSlowNode> {
    let (effects, of) = match side {
        NetSide::Receives => (&table.receives, &table.by_receiver),
        NetSide::Sends | NetSide::Both => (&table.sends, &table.by_sender),
    };
    let known: Vec<(usize, f64)> =
        effects.iter().enumerate().filter_map(|(node, effect)| Some((node, (*effect)?))).collect();
    let values: Vec<f64> = known.iter().map(|(_, effect)| *effect).collect();
    let typical = median(known.iter().map(|(node, _)| of[*node].len() as f64).collect()).unwrap_or(1.0) as usize;
    let of_pairs = of_middle(typical) * pair_scatter.powi(2);
    let bar = bar((PRIOR_SCATTER.powi(2) + of_pairs).sqrt(), family);
    let is_certain = |node: usize, outlier: &Outlier| {
        // Of incast, all that a machine receives may be of one visit.
        let places = of[node].iter().flat_map(|cell| cells[*cell].visits.iter().map(|(place, _)| *place));
        if places.collect::<BTreeSet<usize>>().len() < VISITS_LEAST {
            return false;
        }
        let own: Vec<f64> = of[node].iter().map(|cell| table.less_other_side(&cells[*cell], *cell, side)).collect();
        is_outside(&own, outlier, pair_scatter, bar.least)
    };
    let middle = |node: usize| {
        let rates = of[node].iter().map(|cell| cells[*cell].value.exp());
        median(rates.collect()).unwrap_or(0.0)
    };
    let others = median((0..seen.run.nodes.len()).filter(|node| !of[*node].is_empty()).map(middle).collect());
    let beyond = |place: &usize| cells[*place].visits_beyond(table.less_other_side(&cells[*place], *place, side));
    let visits: Vec<Vec<f64>> = of.iter().map(|places| places.iter().flat_map(beyond).collect()).collect();
    let by_visits = ByVisits::new(&visits, of_machine);
    let called = |outlier: Outlier| {
        let node = known[outlier.place].0;
        let chance = by_visits.chance(node, outlier.others, outlier.distance, family).max(outlier.chance);
        (chance <= FALSE_ALARMS && is_certain(node, &outlier)).then(|| NetSlowNode {
            node: u32::try_from(node).unwrap_or(u32::MAX),
            side,
            less_share: -outlier.distance.exp_m1(),
            sigmas: outlier.sigmas,
            chance,
            per_s: middle(node),
            others_per_s: others.unwrap_or(0.0),
        })
    };
    slow_ones(&values, &bar).into_iter().filter_map(called).collect()
}

/// Whether a machine's pairs themselves show that it is slow: more than half of them are slow by what matters, and the
/// difference is beyond the interval of their middle.
fn is_outside(own: &[f64], outlier: &Outlier, scatter: f64, least: f64) -> bool {
    let mut sorted = own.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(upper) = sorted.get(sorted.len() / 2) else { return false };
    let count = own.len() as f64;
    let from_middle: Vec<f64> = own.iter().map(|value| (value - upper).abs()).collect();
    let scattered = median_polish::OF_MEDIAN * median(from_middle).unwrap_or(0.0);
    let degrees = PRIOR_DEGREES + count - 1.0;
    let moderated = ((PRIOR_DEGREES * scatter.powi(2) + (count - 1.0) * scattered.powi(2)) / degrees).sqrt();
    let half = student::quantile(0.975, degrees) * moderated * of_middle(own.len()).sqrt();
    *upper - outlier.others <= -least && outlier.distance.abs() > half
}

/// One entry for each machine, whatever it does slowly; the slowest first.
fn both_sides([sends, receives]: [Vec<NetSlowNode>; 2]) -> Vec<NetSlowNode> {
    let mut all = sends;
    for one in receives {
        match all.iter_mut().find(|other| other.node == one.node) {
            Some(other) if other.less_share >= one.less_share => other.side = NetSide::Both,
            Some(other) => *other = NetSlowNode { side: NetSide::Both, ..one },
            None => all.push(one),
        }
    }
    all.sort_by(|a, b| b.less_share.total_cmp(&a.less_share));
    all
}

fn slow_pairs(
    cells: &[NetCell],
    table: &MedianPolish,
    pairs: &[&NetPairFigures],
    measured: f64,
    family: usize,
) -> Vec<NetSlowPair> {
    let others = |of: &[Vec<usize>]| {
        let counts = of.iter().filter(|cells| !cells.is_empty()).map(|cells| (cells.len() - 1) as f64);
        median(counts.collect()).unwrap_or(0.0) as usize
    };
    let inflation = 1.0 + of_middle(others(&table.by_sender)) + of_middle(others(&table.by_receiver));
    let mut bar = bar((inflation * (PRIOR_SCATTER.powi(2) + measured.powi(2))).sqrt(), family);
    if cells.len() > MANY {
        bar.least = bar.least.max(WITHIN * scatter(&table.residuals));
    }
    let rate = |cell: &NetCell| {
        let key = |pair: &&NetPairFigures| (pair.from as usize, pair.to as usize);
        let place = pairs.binary_search_by_key(&(cell.from, cell.to), key).ok()?;
        pairs[place].per_s
    };
    let visits: Vec<Vec<f64>> =
        cells.iter().zip(&table.residuals).map(|(cell, own)| cell.visits_beyond(*own).collect()).collect();
    let by_visits = ByVisits::new(&visits, of_pair);
    let called = |outlier: Outlier| {
        let cell = &cells[outlier.place];
        if cell.visits.len() < VISITS_LEAST {
            return None;
        }
        let rate = rate(cell)?;
        let expected = cell.value - table.residuals[outlier.place] + outlier.others;
        // What is within the interval of the pair itself is no difference.
        let is_outside = cell.half.is_some_and(|half| cell.value + half < expected);
        let chance = by_visits.chance(outlier.place, outlier.others, outlier.distance, family).max(outlier.chance);
        (is_outside && chance <= FALSE_ALARMS).then(|| NetSlowPair {
            from: u32::try_from(cell.from).unwrap_or(u32::MAX),
            to: u32::try_from(cell.to).unwrap_or(u32::MAX),
            less_share: -outlier.distance.exp_m1(),
            sigmas: outlier.sigmas,
            chance,
            per_s: rate.mean,
            expected_per_s: expected.exp(),
        })
    };
    let mut found: Vec<NetSlowPair> = outliers(&table.residuals, &bar).into_iter().filter_map(called).collect();
    found.sort_by(|a, b| b.less_share.total_cmp(&a.less_share));
    found
}
