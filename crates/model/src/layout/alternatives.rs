//! Other layouts for the same nodes and drives, ranked.
//!
//! The rank is usable share × (1 / write cost) × (1 − 2^−t)², t being the nodes that may fail for writes (drives, where
//! there is one node). Usable share and write cost weigh alike: both are money, one in drives and one in links. Each
//! further failure that is survived halves what is missing to certainty; it weighs twice, for data that is gone is not
//! bought again. The figure is for comparing layouts of one site and says nothing beyond.

use linerate_record::plan::LayoutChoice;
use linerate_record::site::{Product, Site};

use super::failure_tolerance::tolerances;
use super::minio::{default_parity, set_sizes};
use super::{Geometry, GeometryKind, Pool};

/// As many as a reader looks at.
const SHOWN: usize = 8;
/// Least tolerance of the nodes, in choices that are shown beside the chosen one: data without any is not kept.
const LEAST_PARITY: u32 = 1;
/// Profiles of erasure-coded pools that Ceph's documentation and operators use: k, m.
const CEPH_PROFILES: [(u32, u32); 7] = [(2, 1), (2, 2), (4, 2), (6, 3), (8, 3), (8, 4), (10, 4)];
const COPIES: [u32; 3] = [2, 3, 5];

/// Layouts that could be chosen, the best first; the chosen one is always among them.
#[must_use]
pub fn alternatives(site: &Site, pool: &Pool) -> Vec<LayoutChoice> {
    let mut geometries = candidates(site, pool);
    if !geometries.iter().any(|geometry| same(geometry, &pool.geometry)) {
        geometries.push(pool.geometry);
    }
    let mut choices: Vec<LayoutChoice> = geometries.iter().map(|&geometry| choice(site, pool, geometry)).collect();
    // Ties are broken by what is cheaper to rebuild, so that the order is always the same.
    choices.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then(a.set_drives.cmp(&b.set_drives)).then(a.parity_shards.cmp(&b.parity_shards))
    });
    let mut place = 0;
    choices.retain(|choice| {
        place += 1;
        place <= SHOWN || choice.chosen
    });
    choices
}

fn same(a: &Geometry, b: &Geometry) -> bool {
    (a.shards, a.data, a.kind) == (b.shards, b.data, b.kind)
}

fn candidates(site: &Site, pool: &Pool) -> Vec<Geometry> {
    match site.engine.product {
        Product::Minio | Product::Rustfs => sets(site, pool),
        Product::CephRgw => {
            let coded = CEPH_PROFILES.iter().map(|&(data, parity)| scattered(data, parity));
            fitting(pool, coded.chain(COPIES.into_iter().map(replicas)))
        }
        Product::Garage => fitting(pool, COPIES.into_iter().map(replicas)),
    }
}

fn sets(site: &Site, pool: &Pool) -> Vec<Geometry> {
    let drives_per_node = site.groups[pool.groups[0]].drives_per_node();
    let sizes = set_sizes(pool.nodes, drives_per_node, true);
    let of_size = |shards: u32| {
        let sets = u32::try_from(pool.drives / u64::from(shards)).unwrap_or(u32::MAX);
        (LEAST_PARITY..=shards / 2).map(move |parity| Geometry {
            shards,
            data: shards - parity,
            parity,
            sets,
            kind: GeometryKind::Sets,
        })
    };
    sizes.into_iter().flat_map(of_size).collect()
}

fn scattered(data: u32, parity: u32) -> Geometry {
    Geometry { shards: data + parity, data, parity, sets: 1, kind: GeometryKind::Scattered }
}

fn replicas(copies: u32) -> Geometry {
    Geometry { shards: copies, data: 1, parity: copies - 1, sets: 1, kind: GeometryKind::Replicas }
}

/// Those whose shards each find a node of their own.
fn fitting(pool: &Pool, geometries: impl Iterator<Item = Geometry>) -> Vec<Geometry> {
    geometries.filter(|geometry| geometry.shards <= pool.nodes).collect()
}

fn choice(site: &Site, pool: &Pool, geometry: Geometry) -> LayoutChoice {
    let other = Pool { geometry, ..pool.clone() };
    let (_, writes) = tolerances(site.engine.product, std::slice::from_ref(&other));
    let usable_share = f64::from(geometry.data) / f64::from(geometry.shards);
    let write_cost = usable_share.recip();
    let survived = if pool.nodes == 1 { writes.drives } else { writes.nodes };
    let chosen = same(&geometry, &pool.geometry);
    LayoutChoice {
        set_drives: geometry.shards,
        parity_shards: geometry.parity,
        usable_share,
        write_cost,
        nodes_lost: writes.nodes,
        score: score(usable_share, write_cost, survived),
        chosen,
        why: why(&geometry, writes.nodes, pool.nodes),
    }
}

/// The rank of a layout: larger is better.
#[must_use]
pub fn score(usable_share: f64, write_cost: f64, survived: u32) -> f64 {
    let kept = 1.0 - 0.5_f64.powi(i32::try_from(survived).unwrap_or(i32::MAX));
    usable_share / write_cost * kept * kept
}

fn why(geometry: &Geometry, nodes_lost: u32, nodes: u32) -> String {
    let usable = 100.0 * f64::from(geometry.data) / f64::from(geometry.shards);
    let cost = f64::from(geometry.shards) / f64::from(geometry.data);
    let losses = match nodes_lost {
        _ if nodes == 1 => "one node, whose loss is not survived".to_owned(),
        0 => "writes stop with the first node that fails".to_owned(),
        1 => "writes survive any one node".to_owned(),
        more => format!("writes survive any {more} nodes"),
    };
    let default = match geometry.kind {
        GeometryKind::Sets if default_parity(geometry.shards) == geometry.parity => "; the default parity",
        _ => "",
    };
    format!("{usable:.0} % usable, {cost:.2} bytes written per byte, {losses}{default}")
}
