//! What a hypothesis predicts, by the same ceilings as a plan.

use linerate_record::plan::{Resource, Work};
use linerate_record::site::Site;

use super::deviation::{Odd, Parts, Variant};
use crate::ceilings::{Limit, limits};
use crate::curve::course;
use crate::layout::{Geometry, geometry};

/// The size of objects where the site does not say it: large enough that bytes bind, and not operations.
const OBJECT_BYTES: u64 = 64 << 20;

/// What is asked of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing.
    No,
    /// Its ceiling.
    Ceiling,
    /// What it reaches of that with so many requests in flight.
    At(u64),
}

/// A site under a hypothesis.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// With its deviations.
    pub(super) site: Site,
    /// How objects are cut there.
    pub(super) geometry: Geometry,
    /// The node that differs.
    pub(super) odd: Option<Odd>,
    /// Where a node differs, the site with all deviations but that: racks and clients are those of it.
    pub(super) even: Option<Site>,
}

/// The ceiling of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ceiling {
    /// Client bytes per second of the whole site, spread evenly: what holds the slowest holds all.
    pub(super) even_bytes_per_s: f64,
    /// The same if each node goes as fast as it can by itself.
    pub(super) own_bytes_per_s: f64,
    /// The odd node's own ceiling relative to the others'; 1 without such.
    pub(super) odd_share: f64,
    /// Share of the ceiling that the requests in flight reach by the curve; 1 where they are not known.
    pub(super) reach: f64,
    /// What binds.
    pub(super) binds: Resource,
    /// Whose: a group's place.
    pub(super) group: Option<usize>,
}

/// Ceilings of the operations that are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Forecast {
    /// Reads.
    pub(super) get: Option<Ceiling>,
    /// Writes.
    pub(super) put: Option<Ceiling>,
}

impl Forecast {
    /// Reads or writes.
    pub(super) fn of(&self, reads: bool) -> Option<&Ceiling> {
        if reads { self.get.as_ref() } else { self.put.as_ref() }
    }

    /// Whether both say the same, to a relative difference.
    pub(super) fn resembles(&self, other: &Forecast, difference: f64) -> bool {
        [true, false].into_iter().all(|reads| match (self.of(reads), other.of(reads)) {
            (Some(a), Some(b)) => {
                let near = |a: f64, b: f64| (a / b - 1.0).abs() <= difference;
                near(a.even_bytes_per_s * a.reach, b.even_bytes_per_s * b.reach)
                    && near(a.own_bytes_per_s * a.reach, b.own_bytes_per_s * b.reach)
                    && near(a.odd_share, b.odd_share)
            }
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
pub(super) fn world(site: &Site, stated: &Geometry, variants: &[&Variant]) -> Option<World> {
    let mut changed = site.clone();
    let (of_one, of_all): (Vec<&Variant>, Vec<&Variant>) = variants.iter().partition(|variant| variant.odd.is_some());
    of_all.iter().for_each(|variant| (variant.change)(&mut changed));
    let recut = of_all.iter().any(|variant| variant.parts.meet(Parts::LAYOUT.and(Parts::DRIVES)));
    let geometry = if recut { geometry(&changed).ok()? } else { *stated };
    // One node that differs is a group of its own, but no pool of its own: the layout is made before.
    let even = (!of_one.is_empty()).then(|| changed.clone());
    of_one.iter().for_each(|variant| (variant.change)(&mut changed));
    let odd = of_one.iter().find_map(|variant| variant.odd.clone());
    Some(World { site: changed, geometry, odd, even })
}

/// What is predicted for reads, writes or both.
pub(super) fn forecast(world: &World, get: Asked, put: Asked) -> Forecast {
    Forecast { get: ceiling(world, true, get), put: ceiling(world, false, put) }
}

fn ceiling(world: &World, reads: bool, asked: Asked) -> Option<Ceiling> {
    if asked == Asked::No {
        return None;
    }
    let all = all_limits(world, reads);
    let first = all.first()?;
    let mut ceiling = Ceiling {
        even_bytes_per_s: first.limit_bytes_per_s,
        own_bytes_per_s: first.limit_bytes_per_s,
        odd_share: 1.0,
        reach: reach(world, reads, asked, &all),
        binds: first.resource,
        group: first.group,
    };
    let Some(odd) = &world.odd else { return Some(ceiling) };
    let of_odd = all.iter().find(|limit| limit.group == Some(odd.group));
    let of_others = all.iter().find(|limit| limit.group != Some(odd.group));
    if let (Some(odd), Some(others)) = (of_odd, of_others) {
        let nodes = f64::from(world.site.nodes());
        ceiling.odd_share = (odd.limit_bytes_per_s / others.limit_bytes_per_s).min(1.0);
        ceiling.own_bytes_per_s = others.limit_bytes_per_s * (nodes - 1.0 + ceiling.odd_share) / nodes;
        ceiling.own_bytes_per_s = ceiling.own_bytes_per_s.max(ceiling.even_bytes_per_s);
    }
    Some(ceiling)
}

fn reach(world: &World, reads: bool, asked: Asked, limits: &[Limit]) -> f64 {
    let Asked::At(in_flight) = asked else { return 1.0 };
    let course = course(&world.site, &world.geometry, &work(&world.site, reads), limits);
    course.map_or(1.0, |course| course.share(in_flight as f64))
}

/// Every limit, the lowest first.
pub(super) fn all_limits(world: &World, reads: bool) -> Vec<Limit> {
    let work = work(&world.site, reads);
    let mut all = limits(&world.site, &world.geometry, &work);
    if let Some(even) = &world.even {
        all.retain(|limit| limit.group.is_some());
        all.extend(limits(even, &world.geometry, &work).into_iter().filter(|limit| limit.group.is_none()));
        all.sort_by(|a, b| a.limit_bytes_per_s.total_cmp(&b.limit_bytes_per_s));
    }
    all
}
