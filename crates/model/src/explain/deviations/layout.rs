//! Objects are cut otherwise than stated: another parity, other sets, other pools.

use linerate_record::explanation::Observations;
use linerate_record::site::{Protection, Site, key};

use crate::explain::deviation::{SiteParts, Variant};
use crate::explain::readings::ReadingId;
use crate::layout::{Geometry, largest, pools};

/// Shards of data and parity of erasure-coded pools as they are made.
const POOLS: [(u32, u32); 9] = [(2, 1), (2, 2), (3, 2), (4, 2), (4, 3), (6, 3), (8, 3), (8, 4), (10, 4)];

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let Ok(pools) = pools(site) else { return Vec::new() };
    let stated = largest(site, &pools).geometry;
    match site.engine.protection {
        Protection::Sets { .. } => sets(site, &stated),
        Protection::Erasure { data, parity } => POOLS
            .iter()
            .filter(|&&pool| pool != (data, parity))
            .map(|&(data, parity)| {
                new_variant(site, format!("{data}+{parity}"), COST, Protection::Erasure { data, parity })
            })
            .collect(),
        Protection::Replicas { copies } => (1..=4)
            .filter(|&other| other != copies)
            .map(|copies| new_variant(site, format!("{copies} copies"), COST, Protection::Replicas { copies }))
            .collect(),
    }
}

/// What another layout costs. Engines report their own, so that one is rarely wrong, and their choice follows from
/// their sources, so that it is rarely wrong either where nobody stated it.
const COST: f64 = 4.5;

/// Other parities of the same sets, and other sets with each parity. Sets must divide the drives; which of them the
/// engine would choose is not asked, since an older choice stays with the data.
fn sets(site: &Site, stated: &Geometry) -> Vec<Variant> {
    let drives: u32 = site.groups.iter().map(|group| group.count * group.drives_per_node()).sum();
    let mut found = Vec::new();
    for shards in (2..=16).filter(|&size| drives.is_multiple_of(size)) {
        for parity in 0..=shards / 2 {
            if (shards, parity) == (stated.shards, stated.parity) {
                continue;
            }
            let other_set = if shards == stated.shards { 0.0 } else { 1.5 };
            let protection = Protection::Sets { set_drives: Some(shards), parity: Some(parity) };
            let cost = COST + other_set;
            found.push(new_variant(site, format!("{}+{parity}", shards - parity), cost, protection));
        }
    }
    found
}

fn new_variant(site: &Site, value: String, cost: f64, protection: Protection) -> Variant {
    let claim = format!("objects are cut as {value}");
    let link = if site.planes.private.is_some() { "the private plane" } else { "the network" };
    Variant::new("layout", value, claim, cost, SiteParts::LAYOUT, move |site| site.engine.protection = protection)
        .against(stated(site))
        .shown_by(ReadingId::Layout)
        .cured_by(
            format!("state the layout as it is; one of less parity writes less over {link}"),
            "less parity survives fewer failures, and applies only to objects written afterwards",
        )
}

/// What the site says of it, if it does.
fn stated(site: &Site) -> Option<String> {
    let reported = match site.engine.protection {
        Protection::Sets { parity: None, .. } => return None,
        Protection::Sets { set_drives: Some(shards), parity: Some(parity) } => {
            format!("{}+{parity}", shards.saturating_sub(parity))
        }
        Protection::Sets { set_drives: None, parity: Some(parity) } => format!("parity of {parity}"),
        Protection::Erasure { data, parity } => format!("{data}+{parity}"),
        Protection::Replicas { copies } => format!("{copies} copies"),
    };
    (!site.is_assumed(key::ENGINE_PROTECTION)).then(|| format!("{}: {reported}", key::ENGINE_PROTECTION))
}
