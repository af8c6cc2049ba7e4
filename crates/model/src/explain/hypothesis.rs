//! All hypotheses of a site, and which of them survive.

use std::collections::BTreeMap;

use linerate_record::explanation::Observations;
use linerate_record::site::Site;

use super::cause_families::{self, Misses};
use super::deviation::Variant;
use super::forecast::{Forecast, HypotheticalSite, forecast, world};
use super::predictions::lacks_of_nodes;
use super::score::{ObservedFigures, Score, score};
use crate::layout::Geometries;

/// The name of the hypothesis without a deviation.
pub(super) const AS_DESCRIBED: &str = "as-described";

/// The most pairs that are looked at, the likeliest beforehand first.
const MOST_PAIRS: u32 = 20_000;

/// The same times kinds of nodes: each has ceilings of its own to compute for every pair.
const MOST_PAIRS_OF_KINDS: u32 = 20_000;

/// A hypothesis is dropped when its weight is less than e to the minus this of the best one's.
const FLOOR: f64 = 12.0;

/// The same for pairs: two coincidences are told only where they come within a hundredth.
const FLOOR_OF_PAIRS: f64 = 4.6;

/// What it costs at the most that the cause is none that was enumerated, in log odds: as much as an ordinary deviation.
const NONE_OF_THESE: f64 = 3.0;

/// So likely is a cause that was not enumerated, relative to all single ones together that were: a judgement. The more
/// there are, the easier one of them fits by chance.
const SHARE_OF_NONE: f64 = 0.5;

/// So likely are two unrelated causes at once, all pairs of them together, relative to one that was not enumerated, at
/// the most: a judgement. There are thousands, of which one or the other fits anything.
const SHARE_OF_PAIRS: f64 = 0.25;

/// Weights that are further apart than e to this are not told apart: a larger one is no finite number.
const MOST_LN: f64 = 600.0;

/// Forecasts that differ by less are the same: the deviation is without effect on what was observed.
const NO_EFFECT: f64 = 1e-6;

/// A hypothesis with its marks.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Places of its deviations in the list.
    chosen: Vec<usize>,
    pub(super) forecast: Forecast,
    marks: Score,
    /// Log of prior and likelihood.
    ln_weight: f64,
    /// Its share of all survivors' weight.
    pub(super) weight: f64,
}

/// What came of looking at all hypotheses.
pub(super) struct Search<'a> {
    /// The site as described, and what is predicted of it.
    pub(super) described: (HypotheticalSite<'a>, Forecast),
    /// What survives, the weightiest first.
    pub(super) survivors: Vec<Candidate>,
    /// The share of the weight that something has which was not enumerated.
    pub(super) none_of_these: f64,
    /// For reads and for writes, what comes nearest to the total without being refuted by another figure.
    pub(super) nearest: Vec<Candidate>,
    /// For reads and for writes, what allows most.
    pub(super) highest: [Option<Candidate>; 2],
    /// By how much hypotheses of one deviation miss totals, where there are only such.
    pub(super) misses: Option<Vec<Misses>>,
    /// How many were looked at.
    pub(super) considered: u32,
    /// Pairs that were not.
    pub(super) cut_off: u64,
}

impl Candidate {
    pub(super) fn variants<'a>(&self, all: &'a [Variant]) -> Vec<&'a Variant> {
        self.chosen.iter().map(|&place| &all[place]).collect()
    }

    pub(super) fn name(&self, all: &[Variant]) -> String {
        if self.chosen.is_empty() {
            return AS_DESCRIBED.to_owned();
        }
        self.variants(all).iter().map(|variant| variant.name()).collect::<Vec<_>>().join(" + ")
    }

    /// The most that it allows of a total.
    pub(super) fn most_bytes_per_s(&self, reads: bool) -> Option<f64> {
        self.marks.most[usize::from(!reads)]
    }

    /// What it says, in words.
    pub(super) fn claim(&self, all: &[Variant]) -> String {
        if self.chosen.is_empty() {
            return "the site as described".to_owned();
        }
        self.variants(all).iter().map(|variant| variant.claim.as_str()).collect::<Vec<_>>().join(", and ")
    }

    /// The same for all values of one free number.
    fn family(&self, all: &[Variant]) -> Vec<String> {
        let family_name = |variant: &&Variant| match (&variant.outlier, variant.free) {
            (_, false) => variant.name(),
            (Some(outlier), true) => format!("{} of {} of {}", variant.id, variant.place, outlier.who()),
            (None, true) => variant.id.to_owned(),
        };
        self.variants(all).iter().map(family_name).collect()
    }

    fn survives(&self) -> bool {
        !self.marks.refuted && self.marks.accounts
    }
}

/// What is the same for all hypotheses.
struct Question<'a> {
    site: &'a Site,
    geometries: &'a Geometries,
    observations: &'a Observations,
    evidence: &'a ObservedFigures,
    variants: &'a [Variant],
}

impl Question<'_> {
    fn candidate(&self, chosen: &[usize]) -> Option<Candidate> {
        let variants: Vec<&Variant> = chosen.iter().map(|&place| &self.variants[place]).collect();
        let world = world(self.site, self.geometries, &variants)?;
        let forecast = forecast(&world, self.evidence.requested(true), self.evidence.requested(false));
        let marks = score(self.evidence, &world, &forecast);
        let cost: f64 = variants.iter().map(|variant| variant.cost).sum();
        let ln_weight = marks.ln_likelihood - cost;
        Some(Candidate { chosen: chosen.to_vec(), forecast, marks, ln_weight, weight: 0.0 })
    }

    /// How certainly there is something unknown beside it, by all figures: those of nodes are asked of the few that are
    /// kept.
    fn lacks(&self, candidate: &Candidate) -> f64 {
        let world = world(self.site, self.geometries, &candidate.variants(self.variants));
        let of_nodes =
            |world: HypotheticalSite| lacks_of_nodes(self.observations, self.evidence, &world, &candidate.forecast);
        candidate.marks.lacks.max(world.map_or(0.0, of_nodes))
    }
}

/// Looks at the site as described, at each deviation, and at pairs. Nothing where the site has no ceiling at all.
pub(super) fn search<'a>(
    site: &'a Site,
    geometries: &Geometries,
    observations: &Observations,
    evidence: &ObservedFigures,
    variants: &[Variant],
) -> Option<Search<'a>> {
    // Thousands of copies are made of it, and no ceiling asks what was assumed.
    let bare = Site { assumed: BTreeMap::new(), ..site.clone() };
    let question = Question { site: &bare, geometries, observations, evidence, variants };
    let described = question.candidate(&[])?;
    let no_ceiling =
        [true, false].into_iter().any(|reads| evidence.has(reads) && described.forecast.ceiling_for(reads).is_none());
    if no_ceiling {
        return None;
    }
    let singles: Vec<Option<Candidate>> = (0..variants.len()).map(|place| question.candidate(&[place])).collect();
    let mut nearest = Nearest::default();
    let mut kept: Vec<Candidate> = Vec::new();
    nearest.offer(evidence, &described);
    // Figures of nodes alone say nothing of ceilings: that nothing is wrong stands unless a node is odd.
    if described.survives() || evidence.totals.is_empty() && !described.marks.refuted {
        kept.push(described.clone());
    }
    // A node that is slow by itself may be fast enough for the load over all of them.
    let is_of_nodes_alone = evidence.get.alone || evidence.put.alone;
    let of_singles = variants.iter().zip(&singles).filter_map(|(variant, single)| Some((variant, single.as_ref()?)));
    for (variant, single) in of_singles {
        nearest.offer(evidence, single);
        let is_named = variant.outlier.as_ref().is_some_and(|outlier| !outlier.nodes.is_empty());
        let changes = !single.forecast.resembles(&described.forecast, NO_EFFECT) || (is_of_nodes_alone && is_named);
        if single.survives() && changes {
            kept.push(single.clone());
        }
    }
    let mut considered = 1 + singles.len() as u32;
    let priors = priors(&question, &singles, &described);
    let (pairs, cut_off) = pairs(&question, &singles, &priors, &mut kept, &mut nearest);
    considered += pairs;
    let of_effect = variants.iter().zip(&singles).filter_map(|(variant, single)| {
        let single = single.as_ref().filter(|single| !single.forecast.resembles(&described.forecast, NO_EFFECT));
        Some((variant.id, &single?.marks))
    });
    let world = world(site, geometries, &[])?;
    let ln_none = evidence.ln_of_anything(&described.forecast, &described.marks) - cost_of_none(&priors);
    let (survivors, none_of_these) = weighed(&question, kept, ln_none);
    let of_survivors = survivors.iter().map(|survivor| (survivor.weight, &survivor.marks));
    let misses = cause_families::misses(evidence, &described.marks, of_effect, of_survivors);
    Some(Search {
        survivors,
        none_of_these,
        misses,
        highest: nearest.highest.clone(),
        nearest: nearest.found(),
        described: (world, described.forecast),
        considered,
        cut_off,
    })
}

/// How likely each single deviation is beforehand that changes anything. Which node a hypothesis names was not known
/// beforehand: that is one of those that name none.
fn priors(question: &Question, singles: &[Option<Candidate>], described: &Candidate) -> Vec<f64> {
    let prior = |(variant, single): (&Variant, &Option<Candidate>)| {
        let is_named = variant.outlier.as_ref().is_some_and(|outlier| !outlier.nodes.is_empty());
        let changes = single.as_ref().is_some_and(|of| !of.forecast.resembles(&described.forecast, NO_EFFECT));
        if changes && !is_named { (-variant.cost).exp() } else { 0.0 }
    };
    question.variants.iter().zip(singles).map(prior).collect()
}

/// What it costs that the cause is none that was enumerated.
fn cost_of_none(priors: &[f64]) -> f64 {
    -(SHARE_OF_NONE * priors.iter().sum::<f64>()).clamp((-NONE_OF_THESE).exp(), 1.0).ln()
}

/// What each pair costs beyond both of its parts, so that all that there are together are not likelier beforehand than
/// a share of what was not enumerated. `order` as [`pairs`] has it.
fn cost_of_pairs(priors: &[f64], order: &[(f64, usize, usize)]) -> f64 {
    let all: f64 = order.iter().map(|(_, a, b)| priors[*a] * priors[*b]).sum();
    (all.ln() + cost_of_none(priors) - SHARE_OF_PAIRS.ln()).max(0.0)
}

/// Pairs of deviations that combine, as far as they could still come near the best. A pair is kept where it outweighs
/// both of its parts.
fn pairs(
    question: &Question,
    singles: &[Option<Candidate>],
    priors: &[f64],
    kept: &mut Vec<Candidate>,
    nearest: &mut Nearest,
) -> (u32, u64) {
    let mut order: Vec<(f64, usize, usize)> = Vec::new();
    for (b, second) in question.variants.iter().enumerate() {
        for (a, first) in question.variants[..b].iter().enumerate() {
            if singles[a].is_some() && singles[b].is_some() && !first.parts.meet(second.parts) {
                order.push((first.cost + second.cost, a, b));
            }
        }
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let more = cost_of_pairs(priors, &order);
    order.iter_mut().for_each(|(cost, ..)| *cost += more);
    let most_likely = question.evidence.most_ln_likelihood();
    let mut best = kept.iter().map(|candidate| candidate.ln_weight).fold(f64::NEG_INFINITY, f64::max);
    let kinds = u32::try_from(question.site.groups.len()).unwrap_or(u32::MAX);
    let most = MOST_PAIRS.min(MOST_PAIRS_OF_KINDS / kinds.max(1));
    let mut considered = 0;
    for (cost, a, b) in &order {
        if considered == most || most_likely - cost < best - FLOOR_OF_PAIRS {
            break;
        }
        considered += 1;
        let (Some(first), Some(second)) = (&singles[*a], &singles[*b]) else { continue };
        let Some(mut pair) = question.candidate(&[*a, *b]) else { continue };
        pair.ln_weight -= more;
        nearest.offer(question.evidence, &pair);
        let adds = |part: &Candidate| {
            (part.marks.refuted || pair.ln_weight > part.ln_weight)
                && !pair.forecast.resembles(&part.forecast, NO_EFFECT)
        };
        if pair.survives() && adds(first) && adds(second) && pair.ln_weight >= best - FLOOR_OF_PAIRS {
            best = best.max(pair.ln_weight);
            kept.push(pair);
        }
    }
    // What could not come near the best any more was judged by its prior; only the bound on their number cuts off.
    let left = order.len() as u64 - u64::from(considered);
    (considered, if considered == most { left } else { 0 })
}

/// Values of one free number become one candidate, the best of them with the weight of all; the rest is measured
/// against the best.
fn weighed(question: &Question, mut kept: Vec<Candidate>, ln_none: f64) -> (Vec<Candidate>, f64) {
    kept.sort_by(|a, b| b.ln_weight.total_cmp(&a.ln_weight));
    let best = kept.first().map_or(0.0, |first| first.ln_weight);
    let mut families: Vec<(Vec<String>, Candidate)> = Vec::new();
    for candidate in kept {
        let weight = (candidate.ln_weight - best).exp();
        let family = candidate.family(question.variants);
        match families.iter_mut().find(|(known, _)| *known == family) {
            Some((_, first)) => first.weight += weight,
            None => families.push((family, Candidate { weight, ..candidate })),
        }
    }
    let most = families.iter().map(|(_, candidate)| candidate.weight).fold(0.0, f64::max);
    families.retain(|(_, candidate)| {
        let floor = if candidate.chosen.len() > 1 { FLOOR_OF_PAIRS } else { FLOOR };
        candidate.weight >= most * (-floor).exp()
    });
    let none = if families.is_empty() { 1.0 } else { (ln_none - best).min(MOST_LN).exp() };
    // What leaves a figure unexplained has something unknown beside it, and is no likelier than that.
    let alongside = families.iter().map(|(_, of)| of.weight * question.lacks(of));
    let none = alongside.fold(none, f64::max);
    let sum: f64 = none + families.iter().map(|(_, candidate)| candidate.weight).sum::<f64>();
    let mut survivors: Vec<Candidate> =
        families.into_iter().map(|(_, candidate)| Candidate { weight: candidate.weight / sum, ..candidate }).collect();
    survivors.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    (survivors, none / sum)
}

/// For each operation, what predicts its total best of all that no figure refutes, and what allows most of all.
#[derive(Default)]
struct Nearest {
    get: Option<(f64, Candidate)>,
    put: Option<(f64, Candidate)>,
    highest: [Option<Candidate>; 2],
}

impl Nearest {
    fn offer(&mut self, evidence: &ObservedFigures, candidate: &Candidate) {
        for &(reads, observed, _) in &evidence.totals {
            let index = usize::from(!reads);
            let Some((allowed, predicted)) = candidate.marks.most[index].zip(candidate.marks.nearest[index]) else {
                continue;
            };
            let highest = &mut self.highest[index];
            let most = highest.as_ref().and_then(|known| known.marks.most[index]);
            if most.is_none_or(|most| allowed > most * (1.0 + NO_EFFECT)) {
                *highest = Some(candidate.clone());
            }
            let miss = (observed / predicted - 1.0).abs();
            let place = if reads { &mut self.get } else { &mut self.put };
            if !candidate.marks.refuted && place.as_ref().is_none_or(|(least, _)| miss < *least) {
                *place = Some((miss, candidate.clone()));
            }
        }
    }

    fn found(self) -> Vec<Candidate> {
        self.get.into_iter().chain(self.put).map(|(_, candidate)| candidate).collect()
    }
}
