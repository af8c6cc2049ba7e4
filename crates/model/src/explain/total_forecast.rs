//! What a hypothesis says of the total of a load: of one that is spread evenly, as figures of nodes show, or with as
//! many requests at each node.

use super::forecast::{HypotheticalSite, OperationCeiling};
use super::joint_likelihood::{Density, JointLoad};
use super::likelihood::{self, InFlight, UnknownCause, is_explained};
use super::mixed_node_kinds::{self, LoadSpread, group_rate};
use super::score::{HIDDEN_SIGMAS, ObservedFigures, SAME, UNSEEN, curve_error, named_nodes};
use super::sentences;
use crate::ceilings::ResourceLimit;

/// So many standard errors of the share of odd nodes are allowed for in what it says of the total.
const SHARE_SIGMAS: f64 = 2.0;

/// What a hypothesis says of a total.
pub(super) struct TotalForecast<'a> {
    ceiling: &'a OperationCeiling,
    /// The odd nodes whose figures say how far they hold the others back.
    pub(super) load: Option<JointLoad<'a>>,
    /// Between what its ceiling lies: left open by a slow node that can hide in the error of figures, or among them.
    pub(super) range: (f64, f64),
    /// The same of the other load, where nothing says which it was: with as many requests at each node, others run on
    /// beside a slow one, which holds all of them to its pace where clients ask nodes in turn.
    instead: Option<(f64, f64)>,
    /// The highest ceiling that it can have.
    pub(super) most: f64,
    /// What it is wrong by: its own error, and that of the curve where it is held against one.
    pub(super) sigma: f64,
    /// Whether it is held against one.
    pub(super) in_flight: InFlight,
}

impl<'a> TotalForecast<'a> {
    pub(super) fn new(
        evidence: &ObservedFigures,
        world: &HypotheticalSite,
        ceiling: &'a OperationCeiling,
        reads: bool,
        own_sigma: f64,
    ) -> TotalForecast<'a> {
        let sigma = own_sigma.hypot(curve_error(ceiling.reach));
        let is_known = evidence.in_flight[usize::from(!reads)].is_some();
        let in_flight = if is_known { InFlight::Known } else { InFlight::Unknown };
        if let Some(range) = of_spread(evidence, world, ceiling, reads) {
            return TotalForecast { ceiling, load: None, range, instead: None, most: range.1, sigma, in_flight };
        }
        let most = most(evidence, world, ceiling, reads, own_sigma);
        let load = JointLoad::new(evidence, world, ceiling, reads);
        let even = ceiling.even_bytes_per_s;
        let alone = is_open(evidence, world, reads);
        let range = load.as_ref().map_or((even, if alone { even } else { most }), |load| {
            let [a, b] = [SHARE_SIGMAS, -SHARE_SIGMAS].map(|sigmas| load.total_bytes_per_s(sigmas).min(most));
            (a.min(b), a.max(b))
        });
        let instead = (alone && most > even * (1.0 + SAME)).then_some((most, most));
        TotalForecast { ceiling, load, range, instead, most, sigma, in_flight }
    }

    /// What requests in flight reach of a range.
    pub(super) fn reached(&self, (low, high): (f64, f64)) -> (f64, f64) {
        (low * self.ceiling.reach, high * self.ceiling.most_reach)
    }

    /// The same of the other load.
    pub(super) fn instead_reached(&self) -> Option<(f64, f64)> {
        let (reach, most_reach) = self.ceiling.own_reach;
        self.instead.map(|(low, high)| (low * reach, high * most_reach))
    }

    /// What it predicts, as near to what was measured as it can be.
    pub(super) fn nearest(&self, observed: f64) -> f64 {
        nearest(observed, self.reached(self.range), self.instead_reached())
    }

    /// Whether of two loads the one with as many requests at each node is nearer to what was measured.
    pub(super) fn is_instead(&self, observed: f64) -> bool {
        is_instead(observed, self.reached(self.range), self.instead_reached())
    }

    /// The density of a total of either load, where nothing says which it was.
    pub(super) fn over_loads(&self, observed: f64, unknown: UnknownCause) -> Density {
        let in_turn = self.density(self.range, observed, unknown);
        let instead = self.instead_reached().zip(self.instead);
        instead
            .map_or(in_turn, |(reached, (_, top))| in_turn.or(UNSEEN, self.density_of(reached, top, observed, unknown)))
    }

    pub(super) fn density(&self, range: (f64, f64), observed: f64, unknown: UnknownCause) -> Density {
        self.density_of(self.reached(range), range.1, observed, unknown)
    }

    /// Where what a ceiling gives is a range: either end, or anywhere from the least on up to the ceiling itself, for
    /// how long a request takes alone is known least of all.
    fn density_of(&self, (low, high): (f64, f64), top: f64, observed: f64, unknown: UnknownCause) -> Density {
        let density_at = |ceiling: f64| {
            let (at_ceiling, below) = likelihood::densities(observed / ceiling, self.sigma, unknown, self.in_flight);
            Density { at_ceiling, below }
        };
        let at_low = density_at(low);
        if top / low - 1.0 < self.sigma {
            return at_low;
        }
        let at_high = density_at(high);
        // The figure errs at both of its ends.
        let below = |end: f64| likelihood::normal_tail((observed / end - 1.0) / self.sigma);
        let between = (below(top) - below(low)).max(0.0) / (top / low).ln();
        let on_curve = (1.0 - likelihood::ABOVE_CURVE) / 2.0;
        Density {
            at_ceiling: on_curve * (at_low.at_ceiling + at_high.at_ceiling) + likelihood::ABOVE_CURVE * between,
            below: on_curve * (at_low.below + at_high.below),
        }
    }
}

/// Of what is predicted of either load, that which is nearest to what was measured.
pub(super) fn nearest(observed: f64, range: (f64, f64), instead: Option<(f64, f64)>) -> f64 {
    let nearest_within = |(least, most): (f64, f64)| observed.clamp(least.min(most), most);
    let other = instead.filter(|_| is_instead(observed, range, instead));
    nearest_within(other.unwrap_or(range))
}

/// Whether that is the other load.
fn is_instead(observed: f64, range: (f64, f64), instead: Option<(f64, f64)>) -> bool {
    let miss = |(least, most): (f64, f64)| (observed / observed.clamp(least.min(most), most)).ln().abs();
    instead.is_some_and(|instead| miss(instead) < miss(range))
}

/// The highest ceiling that the total can have.
fn most(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
    sigma: f64,
) -> f64 {
    let named = !named_nodes(world).is_empty();
    let hidden = ceiling.outlier_share > 1.0 - HIDDEN_SIGMAS * sigma;
    // Nothing says which load several kinds of nodes had, unless all have figures.
    let open = named || hidden || is_open(evidence, world, reads) || ceiling.mixed.is_some();
    if open { ceiling.own_bytes_per_s } else { ceiling.even_bytes_per_s }
}

/// Whether no figure of a node says which load it was: there is none, or a slow node that none names may be one of
/// those that have none.
fn is_open(evidence: &ObservedFigures, world: &HypotheticalSite, reads: bool) -> bool {
    let figures = evidence.nodes(reads);
    // What each gives by itself tells nothing of a load over all.
    let figures = if figures.alone { 0 } else { figures.nodes.len() };
    let is_among_others =
        world.outlier.is_some() && named_nodes(world).is_empty() && figures < world.site.nodes() as usize;
    figures == 0 || is_among_others
}

/// What several kinds of nodes give together of a load that is spread as figures of all nodes show, from the least to
/// the most that the error of odd nodes leaves open.
fn of_spread(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
) -> Option<(f64, f64)> {
    let (mixed, figures) = (ceiling.mixed.as_ref()?, evidence.nodes(reads));
    let rates = mixed_node_kinds::measured(figures, world)?;
    let outlier = world.outlier.as_ref().map(|outlier| outlier.group).filter(|_| !named_nodes(world).is_empty());
    let sigma = figures.mean_figure(named_nodes(world)).map_or(0.0, |(_, sigma, _)| sigma);
    let at = |sigmas: f64| {
        let factor = |place| if outlier == Some(place) { 1.0 + sigmas * sigma } else { 1.0 };
        mixed.of_spread(|place| factor(place) * group_rate(&rates, place)).limit_bytes_per_s
    };
    let [a, b] = [SHARE_SIGMAS, -SHARE_SIGMAS].map(at);
    Some((a.min(b), a.max(b)))
}

/// By how many standard errors nodes that have figures give more beside named odd ones than these leave them, if all
/// nodes give as much as the others of their kind: where no total tells. The nodes are of one load.
pub(super) fn beyond_outlier(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
) -> Option<f64> {
    let figures = evidence.nodes(reads);
    let ((mean, sigma, median), outlier) = figures.mean_figure(named_nodes(world)).zip(world.outlier.as_ref())?;
    if figures.alone {
        return None;
    }
    let Some(mixed) = &ceiling.mixed else {
        return Some(JointLoad::new(evidence, world, ceiling, reads)?.exceeded_sigmas());
    };
    let medians = mixed_node_kinds::medians(figures, &world.site, Some(mixed));
    let rate = |place| if place == outlier.group { mean * median } else { group_rate(&medians, place) };
    let groups = world.site.groups.iter().enumerate();
    let total: f64 = groups.map(|(place, group)| f64::from(group.count) * rate(place)).sum();
    Some((total / mixed.of_spread(rate).limit_bytes_per_s - 1.0) / sigma)
}

/// What holds a total of the site without odd nodes, at which spread of the load: the one that figures of nodes show;
/// else an even one, unless the total is above what that allows and other kinds of nodes give more beside the slowest.
pub(super) fn binding(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
    observed: f64,
) -> Option<(ResourceLimit, LoadSpread)> {
    let mixed = ceiling.mixed.as_ref()?;
    if let Some(rates) = mixed_node_kinds::measured(evidence.nodes(reads), world) {
        return Some((mixed.of_spread(|place| group_rate(&rates, place)), LoadSpread::Measured));
    }
    let as_many = mixed.as_many_bytes_per_s();
    let is_more = as_many.limit_bytes_per_s > ceiling.even_bytes_per_s * (1.0 + SAME);
    (is_more && observed > ceiling.even_bytes_per_s).then_some((as_many, LoadSpread::AsMany))
}

/// What the site as described gives, and what holds it: several kinds of nodes at the spread of the load that figures
/// of nodes show, each at the median of its kind, or with as many requests at each, where that is the load; without
/// figures, evenly, unless more is given than an even one gives.
pub(super) fn mended(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
    now: &NodeLoad,
) -> (f64, String) {
    let limit_in_words = |limit: ResourceLimit| {
        (limit.limit_bytes_per_s, sentences::resource_in_words(world, limit.resource, limit.group))
    };
    let of_mixed = ceiling.mixed.as_ref().and_then(|mixed| {
        let as_many = now.is_as_many.then(|| mixed.as_many_bytes_per_s());
        let of_medians =
            || medians(evidence, world, reads).map(|medians| mixed.of_spread(|place| group_rate(&medians, place)));
        let of_total = || Some(binding(evidence, world, ceiling, reads, now.bytes_per_s.0)?.0);
        as_many.or_else(of_medians).or_else(of_total)
    });
    of_mixed.map_or_else(|| (ceiling.even_bytes_per_s, sentences::bottleneck(world, ceiling)), limit_in_words)
}

/// What nodes of each kind give by the figures of one load, if each kind has some.
fn medians(evidence: &ObservedFigures, world: &HypotheticalSite, reads: bool) -> Option<Vec<(usize, f64)>> {
    let (figures, groups) = (evidence.nodes(reads), &world.site.groups);
    let medians = figures.medians(&world.site);
    let is_whole = (0..groups.len()).all(|place| groups[place].count == 0 || group_rate(&medians, place) > 0.0);
    (is_whole && !figures.alone).then_some(medians)
}

/// What a hypothesis gives of a total.
pub(super) struct NodeLoad {
    /// From the least to the most.
    pub(super) bytes_per_s: (f64, f64),
    /// Whether nobody measured it.
    pub(super) is_predicted: bool,
    /// Whether that is, or may be, of a load with as many requests at each node.
    pub(super) is_as_many: bool,
    /// Whether nothing says that it was not of an even load.
    pub(super) is_open: bool,
}

/// What was measured, where that is explained. Without a figure, what its requests in flight reach of what either load
/// leaves.
pub(super) fn now_given(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
) -> Option<NodeLoad> {
    // Nodes that are asked in turn all give the same.
    let of_outlier = evidence.nodes(reads).mean_figure(named_nodes(world)).filter(|_| !evidence.nodes(reads).alone);
    let shows_outlier = of_outlier.is_some_and(|(mean, sigma, _)| mean < 1.0 - HIDDEN_SIGMAS * sigma);
    let Some((observed, sigma)) = evidence.total(reads) else {
        let error = evidence.nodes(reads).nodes.first().map_or(0.0, |(.., sigma)| *sigma);
        let said = TotalForecast::new(evidence, world, ceiling, reads, error);
        let ((least, most), instead) = (said.reached(said.range), said.instead_reached());
        let most = instead.map_or(most, |(_, instead)| instead.max(most));
        return Some(NodeLoad {
            bytes_per_s: (least, most),
            is_predicted: true,
            is_as_many: instead.is_some() || shows_outlier,
            is_open: instead.is_some(),
        });
    };
    let said = TotalForecast::new(evidence, world, ceiling, reads, sigma);
    let is_explained = is_explained(observed / said.nearest(observed), said.sigma, 1);
    let is_as_many = shows_outlier || said.is_instead(observed);
    is_explained.then_some(NodeLoad {
        bytes_per_s: (observed, observed),
        is_predicted: false,
        is_as_many,
        is_open: false,
    })
}
