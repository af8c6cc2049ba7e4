//! What nodes of several kinds give: a load that asks all of them evenly is held by the slowest kind, and one that does
//! not is held by what each of its nodes carries of it.
//!
//! A byte of a node's own clients takes more of its resources than one of other nodes' clients, of which it only moves
//! shards. So what a node gives its own clients follows from its own resources and from what all nodes give together.

use linerate_record::site::Site;

use super::forecast::HypotheticalSite;
use super::node_figures::{self, OperationFigures};
use super::score::named_nodes;
use crate::ceilings::ResourceLimit;

/// Halvings after which a throughput is known well below any error of a figure.
const HALVINGS: u32 = 28;

/// The same as a share of it.
const KNOWN: f64 = 1e-6;

/// What a client byte takes of a resource of a node.
#[derive(Clone, Debug, PartialEq)]
struct Need {
    limit: ResourceLimit,
    /// Seconds that one of the node's own clients takes beyond one of any node's clients.
    own_s: f64,
    /// Seconds that one of any node's clients takes.
    any_s: f64,
}

/// The nodes of one group.
#[derive(Clone, Debug, PartialEq)]
struct Kind {
    place: usize,
    nodes: f64,
    needs: Vec<Need>,
}

/// What each kind of nodes carries of a load of one operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MixedLoad {
    kinds: Vec<Kind>,
    /// What no spread of the load changes: drives, racks, clients.
    of_all: ResourceLimit,
}

/// How a load of several kinds of nodes is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadSpread {
    Even,
    /// As figures of all nodes show.
    Measured,
    /// With as many requests at each node.
    AsMany,
}

/// Whether a site has several kinds of nodes, whatever its odd nodes.
pub(super) fn is_mixed(world: &HypotheticalSite) -> bool {
    let stated: &Site = world.even.as_deref().unwrap_or(&world.site);
    stated.groups.iter().filter(|group| group.count > 0).count() > 1
}

/// The group of the nodes that the odd ones are otherwise like; nothing where there are no such.
pub(super) fn peers(world: &HypotheticalSite) -> Option<usize> {
    let (groups, outlier) = (&world.site.groups, world.outlier.as_ref()?.group);
    let name = &groups.get(outlier)?.name;
    groups.iter().enumerate().position(|(place, of)| place != outlier && of.count > 0 && of.name == *name)
}

impl MixedLoad {
    /// From the limits of a load that is spread evenly, the lowest first, and from what nodes of each group give by
    /// themselves.
    pub(super) fn new(site: &Site, even: &[ResourceLimit], alone: &[(usize, Vec<ResourceLimit>)]) -> Option<MixedLoad> {
        let nodes = f64::from(site.nodes());
        let mut of_all: Option<ResourceLimit> = None;
        let mut kinds: Vec<Kind> = site
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.count > 0)
            .map(|(place, group)| Kind { place, nodes: f64::from(group.count), needs: Vec::new() })
            .collect();
        // Each of hundreds of limits asks for its kind, and for what that has alone.
        let mut places: Vec<(Option<usize>, &[ResourceLimit])> = vec![(None, &[]); site.groups.len()];
        kinds.iter().enumerate().for_each(|(kind, of)| places[of.place].0 = Some(kind));
        alone.iter().for_each(|(place, of)| places[*place].1 = of);
        for limit in even {
            let (kind, of_kind) = limit.group.and_then(|place| places.get(place).copied()).unwrap_or((None, &[]));
            let of_itself = of_kind.iter().find(|of| of.group == limit.group && of.resource == limit.resource);
            // What its own clients do not ask for at all is not among what it has alone.
            let own_s = of_itself.map_or(0.0, |of| 1.0 / of.limit_bytes_per_s);
            let of_others_s = ((nodes / limit.limit_bytes_per_s - own_s) / (nodes - 1.0)).max(0.0);
            let need = Need { limit: *limit, own_s: own_s - of_others_s, any_s: of_others_s };
            match kind.and_then(|kind| kinds.get_mut(kind)) {
                Some(kind) if need.own_s > 1e-9 * own_s => kind.push(need),
                // The lowest is first.
                _ => of_all = of_all.or(Some(*limit)),
            }
        }
        let none = ResourceLimit { limit_bytes_per_s: f64::INFINITY, ..*even.first()? };
        Some(MixedLoad { kinds, of_all: of_all.unwrap_or(none) })
    }

    /// What each node of each group gives with as many requests at each: those that are full give what is left of them,
    /// and all others the same, so much that requests wait alike. Requests that stand at one resource share it by how
    /// often they pass it, which makes it proportionally fair.
    pub(super) fn as_many(&self) -> Vec<(usize, f64)> {
        let most = self.kinds.iter().map(|kind| kind.left(0.0)).fold(0.0, f64::max);
        let (mut low, mut high) = (0.0, most.min(self.of_all.limit_bytes_per_s));
        for _ in 0..HALVINGS {
            if high - low <= KNOWN * high {
                break;
            }
            let level = f64::midpoint(low, high);
            *if self.is_too_much(level) { &mut high } else { &mut low } = level;
        }
        let total = self.total(low);
        self.kinds.iter().map(|kind| (kind.place, kind.left(total).min(low))).collect()
    }

    /// The total with as many requests at each node, and what holds it.
    pub(super) fn as_many_bytes_per_s(&self) -> ResourceLimit {
        let rates = self.as_many();
        let total = self.kinds.iter().zip(&rates).map(|(kind, (_, rate))| kind.nodes * rate).sum();
        ResourceLimit { limit_bytes_per_s: total, ..self.of_spread(|place| group_rate(&rates, place)) }
    }

    /// The most that all give together where nodes of each group give in such proportions, and what holds it.
    pub(super) fn of_spread(&self, rate: impl Fn(usize) -> f64) -> ResourceLimit {
        let sum: f64 = self.kinds.iter().map(|kind| kind.nodes * rate(kind.place)).sum();
        let of_kind = |kind: &Kind| {
            let share = rate(kind.place) / sum;
            let limit_by_need = move |need: &Need| ResourceLimit {
                limit_bytes_per_s: 1.0 / (need.own_s * share + need.any_s),
                ..need.limit
            };
            kind.needs.iter().map(limit_by_need).collect::<Vec<_>>()
        };
        let of_kinds = self.kinds.iter().flat_map(of_kind);
        of_kinds.fold(self.of_all, |a, b| if b.limit_bytes_per_s < a.limit_bytes_per_s { b } else { a })
    }

    /// What all give where no node gives more than a level: where what is left of a total is that total. What is left
    /// falls in straight pieces, so that a step along the piece at hand is mostly the last or the one before.
    fn total(&self, level: f64) -> f64 {
        let all: f64 = self.kinds.iter().map(|kind| kind.nodes).sum();
        let (mut low, mut high) = (0.0, self.of_all.limit_bytes_per_s.min(all * level));
        let mut at = high;
        for step in 0..HALVINGS {
            let (given, slope) = self.given(at, level);
            if given >= at {
                low = at;
            } else {
                high = at;
            }
            // At the most that there can be, more is left than that.
            if (step == 0 && given >= at) || high - low <= 1e-9 * high {
                return low;
            }
            let along = at + (given - at) / (1.0 - slope);
            if (along - at).abs() <= 1e-9 * at {
                return along;
            }
            at = if along > low && along < high { along } else { f64::midpoint(low, high) };
        }
        low
    }

    /// What all nodes give of their own where all give a total and none more than a level, and how that changes with
    /// the total.
    fn given(&self, total: f64, level: f64) -> (f64, f64) {
        let of_kind = |kind: &Kind| match kind.fullest(total) {
            Some(need) if need.left(total) < level => {
                let slope = if need.left(total) > 0.0 { -need.any_s / need.own_s } else { 0.0 };
                (kind.nodes * need.left(total), kind.nodes * slope)
            }
            _ => (kind.nodes * level, 0.0),
        };
        self.kinds.iter().map(of_kind).fold((0.0, 0.0), |(a, b), (given, slope)| (a + given, b + slope))
    }

    /// Whether nodes that are not full give more than what waits at the full ones leaves them.
    fn is_too_much(&self, level: f64) -> bool {
        let all: f64 = self.kinds.iter().map(|kind| kind.nodes).sum();
        let total = self.total(level);
        let (given, _) = self.given(total, level);
        if total >= self.of_all.limit_bytes_per_s * (1.0 - 1e-9) && given > total * (1.0 + 1e-9) {
            return true;
        }
        let waiting = |kind: &Kind| {
            let own = kind.left(total);
            let need = kind.fullest(total).filter(|_| own < level);
            need.map_or(0.0, |need| kind.nodes * (1.0 / own - 1.0 / level) * need.any_s / need.own_s)
        };
        let is_full = total < all * level * (1.0 - 1e-9);
        is_full && self.kinds.iter().map(waiting).sum::<f64>() > 1.0 / level
    }
}

impl Kind {
    /// Keeps a need unless another takes as much of everything.
    fn push(&mut self, need: Need) {
        if !self.needs.iter().any(|of| of.own_s >= need.own_s && of.any_s >= need.any_s) {
            self.needs.push(need);
        }
    }

    fn fullest(&self, total: f64) -> Option<&Need> {
        self.needs.iter().min_by(|a, b| a.left(total).total_cmp(&b.left(total)))
    }

    /// What is left of each node for its own clients while all give a total.
    fn left(&self, total: f64) -> f64 {
        self.fullest(total).map_or(f64::INFINITY, |need| need.left(total))
    }
}

impl Need {
    fn left(&self, total: f64) -> f64 {
        ((1.0 - self.any_s * total) / self.own_s).max(0.0)
    }
}

/// What nodes of a group give, by its place.
pub(super) fn group_rate(rates: &[(usize, f64)], place: usize) -> f64 {
    rates.iter().find(|(of, _)| *of == place).map_or(0.0, |(_, rate)| *rate)
}

/// What a node of each kind gives by the figures of one load: the median of its kind. A kind that has none gives what
/// the middle one of all gives, as far as it can with as many requests at each.
pub(super) fn medians(figures: &OperationFigures, site: &Site, mixed: Option<&MixedLoad>) -> Vec<(usize, f64)> {
    let known = figures.medians(site);
    let as_many = mixed.map(MixedLoad::as_many).unwrap_or_default();
    let most = |place| as_many.iter().find(|(of, _)| *of == place).map_or(f64::INFINITY, |(_, rate)| *rate);
    let median_or_most = |place| match group_rate(&known, place) {
        rate if rate > 0.0 => (place, rate),
        _ => (place, figures.median_bytes_per_s.min(most(place))),
    };
    (0..site.groups.len()).map(median_or_most).collect()
}

/// What nodes of each group give in the mean, where figures of one load are there for all nodes: of a group whose odd
/// node no figure names, what its kind gives.
pub(super) fn measured(figures: &OperationFigures, world: &HypotheticalSite) -> Option<Vec<(usize, f64)>> {
    let site = &world.site;
    if figures.alone || figures.nodes.len() != site.nodes() as usize {
        return None;
    }
    let named = named_nodes(world);
    let outlier = world.outlier.as_ref().map(|outlier| outlier.group);
    let measured_rate = |place: usize| {
        let is_named = outlier == Some(place) && !named.is_empty();
        let kind = if outlier == Some(place) { peers(world).unwrap_or(place) } else { place };
        let is_of = |node: &str| match named.iter().any(|of| of == node) {
            true => is_named,
            false => !is_named && node_figures::kind_of(site, node) == kind,
        };
        let rates: Vec<f64> = figures.rates().filter(|(node, ..)| is_of(node)).map(|(_, rate, _)| rate).collect();
        (!rates.is_empty()).then(|| (place, rates.iter().sum::<f64>() / rates.len() as f64))
    };
    (0..site.groups.len()).filter(|&place| site.groups[place].count > 0).map(measured_rate).collect()
}

#[cfg(test)]
mod tests {
    use linerate_record::plan::Resource;

    use super::*;

    /// So many nodes, and what their own clients and any others take of each of their resources.
    type Row<'r> = (f64, &'r [[f64; 2]]);

    fn limit(limit_bytes_per_s: f64) -> ResourceLimit {
        let resource = Resource::PublicEgress;
        ResourceLimit { resource, group: Some(0), limit_bytes_per_s, demand: 1.0, capacity: 1.0 }
    }

    /// Kinds of so many nodes, each with what its own clients take of a resource, what any node's do, and the most that
    /// all have together.
    fn load(kinds: &[Row<'_>], most: f64) -> MixedLoad {
        let need = |&[own_s, any_s]: &[f64; 2]| Need { limit: limit(1.0), own_s: own_s - any_s, any_s };
        let kind = |(place, (nodes, needs)): (usize, &Row<'_>)| {
            let mut kind = Kind { place, nodes: *nodes, needs: Vec::new() };
            needs.iter().map(need).for_each(|need| kind.push(need));
            kind
        };
        MixedLoad { kinds: kinds.iter().enumerate().map(kind).collect(), of_all: limit(most) }
    }

    /// The product of what all nodes give, which as many requests at each make as large as it can be: by a way that
    /// raises the price of what is too full, and lowers that of what is not.
    fn by_prices(load: &MixedLoad) -> Vec<f64> {
        let takes = |kind: &Kind, of: &Kind, need: &Need| {
            of.nodes * need.any_s + if kind.place == of.place { need.own_s } else { 0.0 }
        };
        let of_kind = |kind: &Kind| -> Vec<(f64, Vec<f64>)> {
            let row = |need: &Need| (kind.nodes, load.kinds.iter().map(|of| takes(kind, of, need)).collect());
            kind.needs.iter().map(row).collect()
        };
        let mut rows: Vec<(f64, Vec<f64>)> = load.kinds.iter().flat_map(of_kind).collect();
        rows.push((1.0, load.kinds.iter().map(|of| of.nodes / load.of_all.limit_bytes_per_s).collect()));
        let (mut prices, mut rates) = (vec![1.0; rows.len()], Vec::new());
        for _ in 0..200_000 {
            let price =
                |place: usize| prices.iter().zip(&rows).map(|(price, (_, row))| price * row[place]).sum::<f64>();
            rates = load.kinds.iter().enumerate().map(|(place, kind)| kind.nodes / price(place)).collect();
            for (price, (_, row)) in prices.iter_mut().zip(&rows) {
                *price *= row.iter().zip(&rates).map(|(takes, rate)| takes * rate).sum::<f64>();
            }
        }
        rates
    }

    #[test]
    fn as_many_requests_at_each_node_are_proportionally_fair() {
        let rows: [(&[Row<'_>], f64); 6] = [
            (&[(8.0, &[[1.0, 0.125]])], 1e9),
            (&[(4.0, &[[0.4, 0.05]]), (4.0, &[[1.0, 0.125]])], 1e9),
            (&[(4.0, &[[0.4, 0.05]]), (4.0, &[[1.0, 0.125]])], 5.0),
            (&[(2.0, &[[0.1, 0.0]]), (6.0, &[[1.0, 0.0]])], 1e9),
            (&[(3.0, &[[1.0, 0.2]]), (1.0, &[[1.5, 0.3]]), (4.0, &[[0.5, 0.1], [0.2, 0.15]])], 1e9),
            (&[(3.0, &[[1.0, 0.02]]), (1.0, &[[3.0, 0.02]]), (4.0, &[[0.5, 0.01]])], 1e9),
        ];
        for (kinds, most) in rows {
            let load = load(kinds, most);
            let (found, expected) = (load.as_many(), by_prices(&load));
            for ((_, rate), expected) in found.iter().zip(&expected) {
                assert!((rate / expected - 1.0).abs() < 1e-3, "{kinds:?} {most}: {found:?} {expected:?}");
            }
            let total: f64 = load.kinds.iter().zip(&found).map(|(kind, (_, rate))| kind.nodes * rate).sum();
            let of_spread = load.of_spread(|place| group_rate(&found, place)).limit_bytes_per_s;
            assert!((total / of_spread - 1.0).abs() < 1e-3, "{kinds:?} {most}: {total} {of_spread}");
            assert!((load.as_many_bytes_per_s().limit_bytes_per_s / total - 1.0).abs() < 1e-9);
        }
    }
}
