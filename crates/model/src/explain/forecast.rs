//! What a hypothesis predicts, by the same ceilings as a plan.

use std::borrow::Cow;
use std::cell::OnceCell;

use linerate_record::plan::{Resource, Work};
use linerate_record::site::Site;

use super::deviation::{HeldNode, OutlierNodes, SiteParts, Variant};
use super::mixed_node_kinds::{MixedLoad, group_rate, is_mixed, peers};
use crate::ceilings::{ResourceLimit, limits, limits_beyond_nodes, limits_by_themselves, own_shares};
use crate::curve::{course_at_one, curve_model};
use crate::layout::{Geometries, geometries};

/// The size of objects where the site does not say it: large enough that bytes bind, and not operations.
const OBJECT_BYTES: u64 = 64 << 20;

/// Halvings after which a share is known well below any error of a figure.
const HALVINGS: u32 = 20;

/// What is asked of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationQuery {
    /// Nothing.
    No,
    Ceiling,
    /// What it reaches of that with so many requests in flight.
    At(u64),
}

/// A site under a hypothesis.
#[derive(Clone, Debug)]
pub(super) struct HypotheticalSite<'a> {
    pub(super) site: Site,
    /// How objects are cut there.
    pub(super) geometries: Geometries,
    /// The node that differs, or the two that do.
    pub(super) outlier: Option<OutlierNodes>,
    /// What processors of all nodes do of what the model takes.
    pub(super) cpu_share: f64,
    /// Where a node differs, the site with all deviations but that: racks and clients are those of it.
    pub(super) even: Option<Cow<'a, Site>>,
}

impl HypotheticalSite<'_> {
    /// The group of the one node that all clients ask, where they ask no other.
    pub(super) fn requested_alone(&self) -> Option<usize> {
        self.outlier.as_ref().filter(|outlier| outlier.is_requested_alone).map(|outlier| outlier.group)
    }
}

/// The ceiling of one operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OperationCeiling {
    /// Client bytes per second of the whole site, spread evenly: what holds the slowest holds all.
    pub(super) even_bytes_per_s: f64,
    /// The same if each node goes as fast as it can by itself.
    pub(super) own_bytes_per_s: f64,
    /// The odd node's own ceiling relative to the others'; 1 without such.
    pub(super) outlier_share: f64,
    /// The same with the others at their ceiling and nothing for these on its resources.
    pub(super) bare_share: f64,
    /// The most that the odd node gives its own clients while all nodes are asked evenly; infinite without such.
    pub(super) outlier_bytes_per_s: f64,
    /// Share of the ceiling that the requests in flight reach by the curve; 1 where they are not known.
    pub(super) reach: f64,
    /// The same if they never meet at a node while another is idle, as those that ask nodes in turn seldom do.
    pub(super) most_reach: f64,
    /// The first of both for nodes that were measured each by itself: of a load over all nodes, whatever this one is.
    pub(super) reach_of_each: f64,
    /// Both where each node goes as fast as it can by itself: what they reach of the ceiling of the others.
    pub(super) own_reach: (f64, f64),
    /// How odd nodes load themselves and the others, where such are and the others are of one kind.
    pub(super) outlier_load: Option<OutlierLoad>,
    /// What nodes of each kind carry, where there are several.
    pub(super) mixed: Option<MixedLoad>,
    pub(super) bottleneck: Resource,
    /// Whose: a group's place.
    pub(super) group: Option<usize>,
}

impl OperationCeiling {
    /// Whether both say the same, to a relative difference.
    pub(super) fn resembles(&self, other: &OperationCeiling, difference: f64) -> bool {
        let near = |a: f64, b: f64| (a / b - 1.0).abs() <= difference;
        near(self.even_bytes_per_s * self.reach, other.even_bytes_per_s * other.reach)
            && near(self.own_bytes_per_s * self.reach, other.own_bytes_per_s * other.reach)
            && near(self.outlier_share, other.outlier_share)
    }
}

/// Ceilings of the operations that are asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Forecast {
    pub(super) get: Option<OperationCeiling>,
    pub(super) put: Option<OperationCeiling>,
}

impl Forecast {
    pub(super) fn ceiling_for(&self, reads: bool) -> Option<&OperationCeiling> {
        if reads { self.get.as_ref() } else { self.put.as_ref() }
    }

    /// Whether both say the same, to a relative difference.
    pub(super) fn resembles(&self, other: &Forecast, difference: f64) -> bool {
        [true, false].into_iter().all(|reads| match (self.ceiling_for(reads), other.ceiling_for(reads)) {
            (Some(a), Some(b)) => a.resembles(b, difference),
            (a, b) => a.is_none() && b.is_none(),
        })
    }
}

/// What clients do, if they only read or only write.
pub(super) fn work(site: &Site, reads: bool) -> Work {
    let object_bytes = if site.data.object_bytes == 0 { OBJECT_BYTES } else { site.data.object_bytes };
    Work { object_bytes, read_share: f64::from(u8::from(reads)) }
}

/// The site with deviations; nothing where the engine does not run so.
pub(super) fn world<'a>(site: &'a Site, stated: &Geometries, variants: &[&Variant]) -> Option<HypotheticalSite<'a>> {
    let mut changed = site.clone();
    let (of_one, of_all): (Vec<&Variant>, Vec<&Variant>) =
        variants.iter().partition(|variant| variant.outlier.is_some());
    of_all.iter().for_each(|variant| (variant.change)(&mut changed));
    let recut = of_all.iter().any(|variant| variant.parts.meet(SiteParts::LAYOUT.and(SiteParts::DRIVES)));
    let geometries = if recut { geometries(&changed).ok()? } else { stated.clone() };
    // One node that differs is a group of its own, but no pool of its own: the layout is made before.
    let even = if of_all.is_empty() { Cow::Borrowed(site) } else { Cow::Owned(changed.clone()) };
    let even = (!of_one.is_empty()).then_some(even);
    of_one.iter().for_each(|variant| (variant.change)(&mut changed));
    // Uplinks of one rack that are held back are there in all racks.
    let even = even.map(|even| match even.fabric == changed.fabric {
        true => even,
        false => Cow::Owned(Site { fabric: changed.fabric.clone(), ..even.into_owned() }),
    });
    let geometries = geometries.with_parts(&changed);
    let outlier = of_one.iter().find_map(|variant| variant.outlier.clone());
    let cpu_share = variants.iter().map(|variant| variant.cpu_share).product();
    Some(HypotheticalSite { site: changed, geometries, outlier, cpu_share, even })
}

/// What is predicted for reads, writes or both.
pub(super) fn forecast(world: &HypotheticalSite, get: OperationQuery, put: OperationQuery) -> Forecast {
    let unrestricted = UnrestrictedLimits::new(world);
    Forecast { get: ceiling(&unrestricted, true, get), put: ceiling(&unrestricted, false, put) }
}

fn ceiling(unrestricted: &UnrestrictedLimits, reads: bool, requested: OperationQuery) -> Option<OperationCeiling> {
    if requested == OperationQuery::No {
        return None;
    }
    let world = unrestricted.world;
    let all = of_load(unrestricted, reads);
    let first = all.first()?;
    let (reach, most_reach) = reach(world, reads, requested, &all, world.requested_alone());
    let mut ceiling = OperationCeiling {
        even_bytes_per_s: first.limit_bytes_per_s,
        own_bytes_per_s: first.limit_bytes_per_s,
        outlier_share: 1.0,
        bare_share: 1.0,
        outlier_bytes_per_s: f64::INFINITY,
        outlier_load: None,
        mixed: None,
        reach,
        most_reach,
        reach_of_each: reach,
        own_reach: (reach, most_reach),
        bottleneck: first.resource,
        group: first.group,
    };
    if world.requested_alone().is_some() {
        ceiling.reach_of_each = self::reach(world, reads, requested, &held(unrestricted, reads), None).0;
        return Some(ceiling);
    }
    if is_mixed(world) {
        return Some(of_kinds(unrestricted, reads, &all, ceiling));
    }
    let Some(group) = world.outlier.as_ref().map(|outlier| outlier.group) else { return Some(ceiling) };
    let others: Vec<ResourceLimit> = all.iter().filter(|limit| limit.group != Some(group)).copied().collect();
    ceiling.own_reach = self::reach(world, reads, requested, &others, None);
    let of_outlier = all.iter().find(|limit| limit.group == Some(group));
    let of_others = all.iter().find(|limit| limit.group != Some(group));
    if let (Some(outlier), Some(others)) = (of_outlier, of_others) {
        let nodes = f64::from(world.site.nodes());
        let of_them = f64::from(world.site.groups.get(group).map_or(1, |group| group.count));
        ceiling.outlier_bytes_per_s = outlier.limit_bytes_per_s / nodes;
        ceiling.outlier_share = (outlier.limit_bytes_per_s / others.limit_bytes_per_s).min(1.0);
        ceiling.bare_share = ceiling.outlier_share;
        ceiling.own_bytes_per_s = others.limit_bytes_per_s * (nodes - of_them * (1.0 - ceiling.outlier_share)) / nodes;
        if let Some(load) = OutlierLoad::new(unrestricted, reads, &all) {
            ceiling.outlier_share = load.least_share();
            ceiling.own_bytes_per_s = load.total_bytes_per_s(ceiling.outlier_share);
            ceiling.outlier_load = Some(load);
        }
        ceiling.own_bytes_per_s = ceiling.own_bytes_per_s.max(ceiling.even_bytes_per_s);
    }
    Some(ceiling)
}

/// The same where nodes are of several kinds: what each gives as fast as it can follows from what it carries, and an
/// odd node is held against those of its kind.
fn of_kinds(
    unrestricted: &UnrestrictedLimits,
    reads: bool,
    all: &[ResourceLimit],
    ceiling: OperationCeiling,
) -> OperationCeiling {
    let (world, site) = (unrestricted.world, &unrestricted.world.site);
    let places: Vec<usize> = (0..site.groups.len()).filter(|&place| site.groups[place].count > 0).collect();
    let alone: Vec<(usize, Vec<ResourceLimit>)> =
        places.iter().copied().zip(alone(unrestricted, &places, reads)).collect();
    let Some(mixed) = MixedLoad::new(site, all, &alone) else { return ceiling };
    let rates = mixed.as_many();
    let total =
        places.iter().map(|&place| f64::from(site.groups[place].count) * group_rate(&rates, place)).sum::<f64>();
    let mut ceiling = OperationCeiling { own_bytes_per_s: total.max(ceiling.even_bytes_per_s), ..ceiling };
    if let Some(outlier) = world.outlier.as_ref().map(|outlier| outlier.group) {
        let even =
            |place| all.iter().find(|of| of.group == Some(place)).map_or(f64::INFINITY, |of| of.limit_bytes_per_s);
        let own = group_rate(&rates, outlier);
        ceiling.outlier_bytes_per_s = own.max(even(outlier) / f64::from(site.nodes()));
        if let Some(peers) = peers(world) {
            ceiling.outlier_share = (own / group_rate(&rates, peers)).min(1.0);
            ceiling.bare_share = (even(outlier) / even(peers)).min(1.0);
        }
    }
    OperationCeiling { mixed: Some(mixed), ..ceiling }
}

/// Shares of the ceiling that requests in flight reach: by the curve, whose requests go to any node, and if none waits
/// for another. With the place of the group of which one node is asked, they all are there.
fn reach(
    world: &HypotheticalSite,
    reads: bool,
    requested: OperationQuery,
    limits: &[ResourceLimit],
    at_one: Option<usize>,
) -> (f64, f64) {
    let OperationQuery::At(in_flight) = requested else { return (1.0, 1.0) };
    let (site, geometries, work) = (&world.site, &world.geometries, work(&world.site, reads));
    let curve_model = match at_one {
        Some(place) => course_at_one(site, geometries, &work, limits, place),
        None => curve_model(site, geometries, &work, limits),
    };
    curve_model.map_or((1.0, 1.0), |curve_model| {
        let by_curve = curve_model.share(in_flight as f64);
        (by_curve, (curve_model.share(1.0) * in_flight as f64).min(1.0).max(by_curve))
    })
}

/// Limits of a world's site before any of its nodes is held back, each operation's computed once: processors are held
/// back by both.
struct UnrestrictedLimits<'a> {
    world: &'a HypotheticalSite<'a>,
    reads: OnceCell<Vec<ResourceLimit>>,
    writes: OnceCell<Vec<ResourceLimit>>,
}

impl UnrestrictedLimits<'_> {
    fn new<'a>(world: &'a HypotheticalSite<'a>) -> UnrestrictedLimits<'a> {
        UnrestrictedLimits { world, reads: OnceCell::new(), writes: OnceCell::new() }
    }

    fn limits(&self, reads: bool) -> &[ResourceLimit] {
        let computed_limits = || limits_of(self.world, reads);
        if reads { &self.reads } else { &self.writes }.get_or_init(computed_limits)
    }
}

/// Every limit, the lowest first.
pub(super) fn all_limits(world: &HypotheticalSite, reads: bool) -> Vec<ResourceLimit> {
    of_load(&UnrestrictedLimits::new(world), reads)
}

/// The same: of a load over all nodes, or of one that asks a single node.
fn of_load(unrestricted: &UnrestrictedLimits, reads: bool) -> Vec<ResourceLimit> {
    unrestricted
        .world
        .requested_alone()
        .map_or_else(|| held(unrestricted, reads), |place| of_one(unrestricted, place, reads))
}

/// Limits of the site of a world, by what its processors do.
fn limits_of(world: &HypotheticalSite, reads: bool) -> Vec<ResourceLimit> {
    let mut all = limits(&world.site, &world.geometries, &work(&world.site, reads));
    hold_processors(world, &mut all);
    all.sort_by(|a, b| a.limit_bytes_per_s.total_cmp(&b.limit_bytes_per_s));
    all
}

fn hold_processors(world: &HypotheticalSite, all: &mut [ResourceLimit]) {
    let of_processors = all.iter_mut().filter(|limit| limit.resource == Resource::Cpu);
    of_processors.for_each(|limit| limit.limit_bytes_per_s *= world.cpu_share);
}

/// What a node of a group gives while only it serves: every limit of it, and of other nodes, whose shards it moves; the
/// lowest first.
pub(super) fn limits_alone(world: &HypotheticalSite, place: usize, reads: bool) -> Vec<ResourceLimit> {
    of_one(&UnrestrictedLimits::new(world), place, reads)
}

fn of_one(unrestricted: &UnrestrictedLimits, place: usize, reads: bool) -> Vec<ResourceLimit> {
    let mut all = alone(unrestricted, &[place], reads).pop().unwrap_or_default();
    all.extend(of_others(unrestricted, place, reads));
    all.sort_by(|a, b| a.limit_bytes_per_s.total_cmp(&b.limit_bytes_per_s));
    all
}

/// What nodes of other groups carry for clients of one node. Those of its own group carry less for it than it does.
fn of_others(unrestricted: &UnrestrictedLimits, place: usize, reads: bool) -> Vec<ResourceLimit> {
    let groups = &unrestricted.world.site.groups;
    let places: Vec<usize> = (0..groups.len()).filter(|&other| other != place && groups[other].count > 0).collect();
    let (nodes, by_themselves) = (f64::from(unrestricted.world.site.nodes()), alone(unrestricted, &places, reads));
    let limit_for_others = |limit: ResourceLimit| {
        let of_group = places.iter().position(|other| limit.group == Some(*other))?;
        let (_, of_other) = seconds(&limit, &by_themselves[of_group], nodes);
        (of_other > 0.0).then(|| ResourceLimit { limit_bytes_per_s: 1.0 / of_other, ..limit })
    };
    held(unrestricted, reads).into_iter().filter(|limit| !is_of_rack(limit)).filter_map(limit_for_others).collect()
}

/// What nodes of these groups have themselves, while only one serves; in no order.
fn alone(unrestricted: &UnrestrictedLimits, places: &[usize], reads: bool) -> Vec<Vec<ResourceLimit>> {
    let world = unrestricted.world;
    let mut all = limits_by_themselves(&world.site, &world.geometries, &work(&world.site, reads), places);
    for of_one in &mut all {
        hold_processors(world, of_one);
        if let Some((outlier, hold)) = world.outlier.as_ref().and_then(|outlier| Some((outlier, outlier.hold?))) {
            hold_back(unrestricted, outlier.group, hold, of_one);
        }
    }
    all
}

/// What the odd node gives while only it serves, relative to what any of its kind does.
pub(super) fn outlier_share_alone(world: &HypotheticalSite, reads: bool) -> f64 {
    let Some(outlier) = world.outlier.as_ref().map(|outlier| outlier.group) else { return 1.0 };
    let lowest_alone = |place| limits_alone(world, place, reads).first().map(|limit| limit.limit_bytes_per_s);
    lowest_alone(outlier)
        .zip(peers(world).and_then(lowest_alone))
        .map_or(1.0, |(outlier, others)| (outlier / others).min(1.0))
}

/// What each byte of a node's own clients, and each of any other node's, takes of the odd nodes' bottleneck: their own
/// share, and that of shards for others. So what they give follows from what the others do, and the total with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutlierLoad {
    nodes: f64,
    outlier: f64,
    /// Of each resource that holds the others, the seconds that a byte of all of theirs takes together, and one of all
    /// odd nodes'.
    of_others: Vec<(f64, f64)>,
    /// Of each resource of an odd node, the seconds that a byte of its own clients takes, and one of another node's.
    seconds: Vec<(f64, f64)>,
    /// The least share that they give of what each of the others does where all wait for them, with as many requests at
    /// each node: that of their own clients follows from how often their requests pass the bottleneck, and how often
    /// others' do. It is all of what others get where that is as often, as at a private link that sends.
    pub(super) waiting_share: f64,
}

impl OutlierLoad {
    /// Nothing where no node is odd, where the others are of several kinds, or where the bottleneck of the odd ones is
    /// not theirs alone.
    fn new(unrestricted: &UnrestrictedLimits, reads: bool, all: &[ResourceLimit]) -> Option<OutlierLoad> {
        let world = unrestricted.world;
        let group = world.outlier.as_ref()?.group;
        let groups = &world.site.groups;
        let mut others = (0..groups.len()).filter(|&place| place != group && groups[place].count > 0);
        let (peers, None) = (others.next()?, others.next()) else { return None };
        let mut alone = alone(unrestricted, &[group, peers], reads);
        let (alone_of_peers, alone) = (alone.pop()?, alone.pop()?);
        let (nodes, outlier) = (f64::from(world.site.nodes()), f64::from(groups.get(group)?.count));
        let of_rack = rack_load(unrestricted, group, reads);
        let taken_by_odd = |limit: &ResourceLimit| {
            if let Some(of_rack) = of_rack.as_ref().filter(|_| is_of_rack(limit)) {
                return Some(of_rack(limit));
            }
            if is_of_rack(limit) {
                return None;
            }
            Some(seconds(limit, &alone, nodes))
        };
        let mut of_outlier = all.iter().filter(|limit| limit.group == Some(group)).map(taken_by_odd);
        let seconds: Vec<_> = std::iter::once(of_outlier.next()??).chain(of_outlier.flatten()).collect();
        let is_whole_rack = world.outlier.as_ref().is_some_and(|of| of.rack.is_some());
        let shares = is_whole_rack.then(|| own_shares_of_rack(world, reads));
        let taken_by_others = |limit: &ResourceLimit| taken_of_others(limit, &alone_of_peers, nodes, outlier, shares);
        let of_others: Vec<_> = all.iter().filter(|limit| limit.group != Some(group)).map(taken_by_others).collect();
        let load = OutlierLoad { nodes, outlier, of_others, seconds, waiting_share: 1.0 };
        Some(OutlierLoad { waiting_share: load.waiting_share(), ..load })
    }

    /// What an odd node gives, as a share of what each of the others does.
    pub(super) fn share(&self, of_others: f64) -> f64 {
        let share_left = |&(own, other): &(f64, f64)| {
            let left = 1.0 - (self.nodes - self.outlier) * other * of_others;
            left / ((own + (self.outlier - 1.0) * other) * of_others)
        };
        self.seconds.iter().map(share_left).fold(1.0, f64::min).max(0.0)
    }

    /// The same while the others give as much as they can beside them, or where all wait for the odd ones.
    fn least_share(&self) -> f64 {
        let is_left = |share: f64| self.alongside(share) >= self.most_of_others(share);
        if is_left(1.0) {
            return 1.0;
        }
        let (mut least, mut most) = (0.0, 1.0);
        // The less odd nodes give, the less they hold the others back: until these are full themselves.
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(least, most);
            *if is_left(middle) { &mut least } else { &mut most } = middle;
        }
        self.share(self.most_of_others(least)).max(self.waiting_share)
    }

    /// What each of the others gives at the most while each odd node gives such a share of it: the less these give, the
    /// less they ask of the others, and send them.
    fn most_of_others(&self, share: f64) -> f64 {
        let most_for_pair = |(others, outlier): &(f64, f64)| 1.0 / (others + outlier * share);
        self.of_others.iter().map(most_for_pair).fold(f64::INFINITY, f64::min)
    }

    fn waiting_share(&self) -> f64 {
        let (mut least, mut most) = (0.0, 1.0);
        // The less their own clients get, the more does what others ask of them bind.
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(least, most);
            *if middle < self.waiting_where(middle) { &mut least } else { &mut most } = middle;
        }
        most
    }

    /// The same for the bottleneck while their own clients get this share.
    fn waiting_where(&self, share: f64) -> f64 {
        let first = self.seconds.iter().min_by(|a, b| self.others(a, share).total_cmp(&self.others(b, share)));
        let waiting_share = |(own, other): &(f64, f64)| self.outlier * other / (own + (self.outlier - 1.0) * other);
        first.map_or(1.0, waiting_share)
    }

    /// What each of the others gives where a resource of the odd nodes is full.
    fn others(&self, (own, other): &(f64, f64), share: f64) -> f64 {
        1.0 / ((own + (self.outlier - 1.0) * other) * share + (self.nodes - self.outlier) * other)
    }

    /// What each of the others gives at the most beside odd nodes that give such a share, whatever it has itself.
    pub(super) fn alongside(&self, share: f64) -> f64 {
        self.seconds.iter().map(|of| self.others(of, share)).fold(f64::INFINITY, f64::min)
    }

    /// What all give together while each odd node, at its limit, gives such a share.
    pub(super) fn total_bytes_per_s(&self, share: f64) -> f64 {
        let others = self.alongside(share).min(self.most_of_others(share));
        others * (self.nodes - self.outlier + self.outlier * share)
    }
}

/// Of a limit of a node, the seconds that a byte of its own clients takes, and one of another node's. `alone` is what
/// the node gives while only it serves.
fn seconds(limit: &ResourceLimit, alone: &[ResourceLimit], nodes: f64) -> (f64, f64) {
    // What its own clients do not ask for at all is not among what it has alone.
    let alone = alone.iter().find(|alone| alone.resource == limit.resource);
    let own = alone.map_or(0.0, |alone| 1.0 / alone.limit_bytes_per_s);
    let of_all = nodes / limit.limit_bytes_per_s;
    (own, ((of_all - own) / (nodes - 1.0)).max(0.0))
}

/// Of a limit that is not the odd nodes', the seconds that a byte of all others' clients takes together, and one of all
/// odd nodes'. `shares`: what of its own uplinks a rack takes itself, where the odd nodes are a whole one.
fn taken_of_others(
    limit: &ResourceLimit,
    alone: &[ResourceLimit],
    nodes: f64,
    outlier: f64,
    shares: Option<[f64; 2]>,
) -> (f64, f64) {
    let others = nodes - outlier;
    if let Some([up, down]) = shares.filter(|_| is_of_rack(limit)) {
        let own = if limit.resource == Resource::RackUp { up } else { down };
        let of_outlier = (1.0 - own) * outlier / others;
        return ((1.0 - of_outlier) * nodes / limit.limit_bytes_per_s, of_outlier * nodes / limit.limit_bytes_per_s);
    }
    // What belongs to no node has its part of all alike.
    let (own, other) = match limit.group {
        Some(_) => seconds(limit, alone, nodes),
        None => (1.0 / limit.limit_bytes_per_s, 1.0 / limit.limit_bytes_per_s),
    };
    (own + (others - 1.0) * other, outlier * other)
}

/// How full the fullest of some resources is while each node of each group gives so much, and whose it is.
pub(super) fn fullest(
    world: &HypotheticalSite,
    reads: bool,
    given: &[f64],
    resources: &[Resource],
) -> Option<(f64, Option<usize>)> {
    let (unrestricted, groups) = (UnrestrictedLimits::new(world), &world.site.groups);
    let total: f64 = groups.iter().zip(given).map(|(group, rate)| f64::from(group.count) * rate).sum();
    let nodes = f64::from(world.site.nodes());
    let fullness = |limit: ResourceLimit| {
        let of_all = total / limit.limit_bytes_per_s;
        let Some((place, own)) = limit.group.and_then(|place| Some((place, *given.get(place)?))) else {
            return (of_all, limit.group);
        };
        // A site of one node has no other's clients.
        let is_even = (own * nodes / total - 1.0).abs() < 1e-9;
        let of_rack = rack_load(&unrestricted, place, reads).filter(|_| is_of_rack(&limit));
        let (of_own, of_other) = match of_rack {
            _ if is_even => return (of_all, limit.group),
            Some(of_rack) => of_rack(&limit),
            None => seconds(&limit, &alone(&unrestricted, &[place], reads).pop().unwrap_or_default(), nodes),
        };
        (of_own * own + of_other * (total - own), limit.group)
    };
    let requested = held(&unrestricted, reads).into_iter().filter(|limit| resources.contains(&limit.resource));
    requested.map(fullness).max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Whether a limit is that of uplinks of the nodes' racks.
fn is_of_rack(limit: &ResourceLimit) -> bool {
    limit.resource.is_of_rack()
}

/// What a byte takes of the uplinks of a rack whose nodes are the odd ones, where these are held back: the same as
/// [`OutlierLoad::seconds`], as if each of its nodes passed all of them.
fn rack_load(
    unrestricted: &UnrestrictedLimits,
    group: usize,
    reads: bool,
) -> Option<impl Fn(&ResourceLimit) -> (f64, f64)> {
    let world = unrestricted.world;
    world.outlier.as_ref().filter(|outlier| matches!(outlier.hold, Some(HeldNode::Uplinks { .. })))?;
    let [up, down] = own_shares_of_rack(world, reads);
    let (nodes, outlier) = (f64::from(world.site.nodes()), f64::from(world.site.groups.get(group)?.count));
    Some(move |limit: &ResourceLimit| {
        let of_all = nodes / limit.limit_bytes_per_s;
        let own = if limit.resource == Resource::RackUp { up } else { down };
        let other = (1.0 - own) * of_all / (nodes - outlier).max(1.0);
        (own * of_all - (outlier - 1.0) * other, other)
    })
}

/// What of all that passes uplinks of a rack, up and down, its own nodes' clients ask for.
fn own_shares_of_rack(world: &HypotheticalSite, reads: bool) -> [f64; 2] {
    let site = world.even.as_deref().unwrap_or(&world.site);
    own_shares(site, &world.geometries, &work(&world.site, reads))
}

fn held(unrestricted: &UnrestrictedLimits, reads: bool) -> Vec<ResourceLimit> {
    let world = unrestricted.world;
    let mut all = unrestricted.limits(reads).to_vec();
    if let Some(even) = &world.even {
        all.retain(|limit| limit.group.is_some());
        all.extend(limits_beyond_nodes(even, &world.geometries, &work(&world.site, reads)));
    }
    if let Some((outlier, hold)) = world.outlier.as_ref().and_then(|outlier| Some((outlier, outlier.hold?))) {
        hold_back(unrestricted, outlier.group, hold, &mut all);
        if let HeldNode::Uplinks { share } = hold {
            // Those of one rack; the others' stay as they are.
            let of_rack = all.iter().filter(|limit| is_of_rack(limit)).map(|limit| ResourceLimit {
                group: Some(outlier.group),
                limit_bytes_per_s: share * limit.limit_bytes_per_s,
                ..*limit
            });
            all.extend(of_rack.collect::<Vec<_>>());
        }
    }
    all.sort_by(|a, b| a.limit_bytes_per_s.total_cmp(&b.limit_bytes_per_s));
    all
}

fn hold_back(unrestricted: &UnrestrictedLimits, group: usize, hold: HeldNode, all: &mut [ResourceLimit]) {
    let (resources, share) = match hold {
        HeldNode::Links { resources, share } => (resources, share),
        // No node has them.
        HeldNode::Uplinks { share } => (&[][..], share),
        HeldNode::Processors { share } => {
            // What the processors have in reserve, by the operation that leaves the least.
            let reserve = [true, false].map(|reads| reserve(unrestricted.limits(reads), group));
            (&[Resource::Cpu][..], share / reserve[0].min(reserve[1]))
        }
    };
    let of_node = all.iter_mut().filter(|limit| limit.group == Some(group));
    for limit in of_node.filter(|limit| resources.contains(&limit.resource)) {
        limit.limit_bytes_per_s *= share;
    }
}

/// What the processors of a group could do, relative to the group's bottleneck.
fn reserve(all: &[ResourceLimit], group: usize) -> f64 {
    let lowest_where = |is: &dyn Fn(&ResourceLimit) -> bool| {
        let these = all.iter().filter(|limit| limit.group == Some(group) && is(limit));
        these.map(|limit| limit.limit_bytes_per_s).fold(f64::INFINITY, f64::min)
    };
    lowest_where(&|limit| limit.resource == Resource::Cpu) / lowest_where(&|_| true)
}
