//! How an engine cuts an object into shards, and where these go.
//!
//! Each group of nodes is a pool of its own where the engine has erasure sets (MinIO, RustFS); all groups are one pool
//! where shards or copies are placed anew for each object (Ceph) or for each partition (Garage).

use linerate_record::plan::{LayoutPlan, PoolLayout};
use linerate_record::site::{NodeGroup, Product, Protection, Site};

pub mod alternatives;
pub mod capacity;
pub mod degraded;
pub mod error;
mod explanations;
pub mod failure_tolerance;
pub mod minio;
pub mod objects;
mod scattered;

pub use degraded::{Degraded, degraded};
pub use error::LayoutError;

use capacity::{filled_bytes, inline_bytes, usable_bytes, years_to_full};
use failure_tolerance::tolerances;

/// How an object lies on drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Shards (or copies) of an object: n.
    pub shards: u32,
    /// Shards that an object is read from: k.
    pub data: u32,
    /// Shards that can be lost: n − k.
    pub parity: u32,
    /// How many sets of drives there are; 1 where objects are scattered.
    pub sets: u32,
    /// How shards find their drives.
    pub kind: GeometryKind,
}

/// How shards find their drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryKind {
    /// A set of drives holds all shards of an object.
    Sets,
    /// Drives are chosen anew for each object.
    Scattered,
    Replicas,
}

impl Geometry {
    /// How an object is cut, however many sets there are: shards and data.
    pub(crate) fn cut(&self) -> (u32, u32) {
        (self.shards, self.data)
    }
}

/// The geometries of a site's pools, and which of them the nodes of each group have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometries {
    pools: Vec<Geometry>,
    /// The pool of each group, in the site's order; the first, for groups beyond these and for those without nodes.
    of_groups: Vec<usize>,
}

impl From<Geometry> for Geometries {
    /// One pool of all groups.
    fn from(geometry: Geometry) -> Self {
        Geometries { pools: vec![geometry], of_groups: Vec::new() }
    }
}

impl Geometries {
    fn of_pools(site: &Site, pools: &[Pool]) -> Self {
        let pool_of = |group| pools.iter().position(|pool| pool.groups.contains(&group)).unwrap_or(0);
        Geometries {
            pools: pools.iter().map(|pool| pool.geometry).collect(),
            of_groups: (0..site.groups.len()).map(pool_of).collect(),
        }
    }

    #[must_use]
    pub fn pools(&self) -> &[Geometry] {
        &self.pools
    }

    /// The pool of a group, by its place in the site's list.
    #[must_use]
    pub fn pool_of(&self, group: usize) -> usize {
        self.of_groups.get(group).copied().unwrap_or(0)
    }

    /// Of a group's pool.
    #[must_use]
    pub fn for_group(&self, group: usize) -> &Geometry {
        &self.pools[self.pool_of(group)]
    }

    /// The same where nodes of a group are set apart as another group of its name: they stay in its pool.
    pub(crate) fn with_parts(mut self, site: &Site) -> Self {
        for part in &site.groups[self.of_groups.len().min(site.groups.len())..] {
            let whole = site.groups.iter().position(|group| group.name == part.name).unwrap_or(0);
            self.of_groups.push(self.pool_of(whole));
        }
        self
    }
}

/// Nodes that share a geometry.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Places in the site's list of the groups whose nodes these are; those without nodes are left out.
    pub groups: Vec<usize>,
    pub nodes: u32,
    /// Drives of all nodes.
    pub drives: u64,
    /// Nodes of each rack, in the order of the nodes' names: names run through rack after rack.
    pub racks: Vec<u32>,
    /// How objects lie on it.
    pub geometry: Geometry,
}

/// The pools of a site.
///
/// # Errors
/// Where the engine does not start on these nodes and drives, or has no such protection.
pub fn pools(site: &Site) -> Result<Vec<Pool>, LayoutError> {
    let groups: Vec<usize> = (0..site.groups.len()).filter(|&place| site.groups[place].count > 0).collect();
    if groups.is_empty() {
        return Err(LayoutError::NoNodes { site: site.name.clone() });
    }
    if let Some(group) = groups.iter().map(|&place| &site.groups[place]).find(|group| group.drives_per_node() == 0) {
        return Err(LayoutError::NoDrives { group: group.name.clone() });
    }
    match (site.engine.product, site.engine.protection) {
        (Product::Minio | Product::Rustfs, Protection::Sets { set_drives, parity }) => {
            set_pools(site, &groups, set_drives, parity)
        }
        (Product::CephRgw, Protection::Erasure { data, parity }) => {
            let geometry = Geometry { shards: data + parity, data, parity, sets: 1, kind: GeometryKind::Scattered };
            scattered::pool(site, groups, geometry).map(|pool| vec![pool])
        }
        (Product::CephRgw | Product::Garage, Protection::Replicas { copies }) => {
            let parity = copies.saturating_sub(1);
            let geometry = Geometry { shards: copies, data: 1, parity, sets: 1, kind: GeometryKind::Replicas };
            scattered::pool(site, groups, geometry).map(|pool| vec![pool])
        }
        (product, _) => Err(LayoutError::Protection {
            product: explanations::product(product),
            fix: explanations::protections(product),
        }),
    }
}

/// Pools of erasure sets: the first pool's size of a set decides the parity of all, as `newErasureServerPools` of
/// MinIO's `cmd/erasure-server-pool.go` has it.
fn set_pools(
    site: &Site,
    groups: &[usize],
    stated: Option<u32>,
    parity: Option<u32>,
) -> Result<Vec<Pool>, LayoutError> {
    let mut common = parity;
    let mut pools = Vec::with_capacity(groups.len());
    for &place in groups {
        let group = &site.groups[place];
        let shards = set_size_of(group, stated)?;
        let parity = *common.get_or_insert(minio::default_parity(shards));
        if parity > shards / 2 {
            return Err(LayoutError::Parity { parity, set_drives: shards, group: group.name.clone() });
        }
        let drives = u64::from(group.count) * u64::from(group.drives_per_node());
        let sets = u32::try_from(drives / u64::from(shards)).unwrap_or(u32::MAX);
        let geometry = Geometry { shards, data: shards - parity, parity, sets, kind: GeometryKind::Sets };
        pools.push(Pool { groups: vec![place], nodes: group.count, drives, racks: nodes_per_rack(group), geometry });
    }
    Ok(pools)
}

fn set_size_of(group: &NodeGroup, stated: Option<u32>) -> Result<u32, LayoutError> {
    let (nodes, drives_per_node) = (group.count, group.drives_per_node());
    if let Some(size) = minio::set_size(nodes, drives_per_node, stated) {
        return Ok(size);
    }
    let group = group.name.clone();
    Err(match stated {
        Some(set_drives) => {
            let known = explanations::numbers(&minio::set_sizes(nodes, drives_per_node, false));
            LayoutError::StatedSet { set_drives, group, nodes, drives_per_node, known }
        }
        None => {
            let near = explanations::numbers(&minio::near_counts(nodes, drives_per_node));
            LayoutError::NoSymmetricSet { group, nodes, drives_per_node, near }
        }
    })
}

/// Nodes of each rack of a group: spread evenly, the first racks take what is left over.
pub(crate) fn nodes_per_rack(group: &NodeGroup) -> Vec<u32> {
    let racks = group.racks.clamp(1, group.count.max(1));
    (0..racks).map(|rack| group.count / racks + u32::from(rack < group.count % racks)).collect()
}

/// The geometries of a site's pools.
///
/// # Errors
/// As [`pools`].
pub fn geometries(site: &Site) -> Result<Geometries, LayoutError> {
    Ok(Geometries::of_pools(site, &pools(site)?))
}

/// The pool that takes the most objects: they go to pools by their capacity. The first of equals.
pub(crate) fn largest<'a>(site: &Site, pools: &'a [Pool]) -> &'a Pool {
    let mut largest = &pools[0];
    for pool in &pools[1..] {
        if filled_bytes(site, pool) > filled_bytes(site, largest) {
            largest = pool;
        }
    }
    largest
}

/// How a site's engine lays data out, how much fits, what can fail, and what could be chosen instead.
///
/// # Errors
/// As [`pools`].
pub fn layout(site: &Site) -> Result<LayoutPlan, LayoutError> {
    let pools = pools(site)?;
    let largest = largest(site, &pools);
    let is_alike = |pool: &&Pool| pool.geometry.cut() == largest.geometry.cut();
    let (raw_bytes, usable_bytes) = (capacity::raw_bytes(site), usable_bytes(site, &pools));
    let (read_tolerance, write_tolerance) = tolerances(site.engine.product, &pools);
    Ok(LayoutPlan {
        set_drives: largest.geometry.shards,
        data_shards: largest.geometry.data,
        parity_shards: largest.geometry.parity,
        sets: pools.iter().filter(|pool| is_alike(pool)).map(|pool| pool.geometry.sets).sum(),
        pools: pools.iter().map(|pool| pool_layout(site, pool)).collect(),
        raw_bytes,
        usable_bytes,
        goal_within_reach: site.goals.usable_bytes.map(|goal| goal <= usable_bytes),
        usable_share: if raw_bytes > 0 { usable_bytes as f64 / raw_bytes as f64 } else { 0.0 },
        years_to_full: years_to_full(&site.data, usable_bytes),
        read_tolerance,
        write_tolerance,
        inline_bytes: inline_bytes(&site.engine, &pools),
        why: explanations::of_pools(site, &pools),
        alternatives: alternatives::alternatives(site, largest),
    })
}

fn pool_layout(site: &Site, pool: &Pool) -> PoolLayout {
    PoolLayout {
        groups: pool.groups.iter().map(|&place| site.groups[place].name.clone()).collect(),
        set_drives: pool.geometry.shards,
        data_shards: pool.geometry.data,
        parity_shards: pool.geometry.parity,
        sets: pool.geometry.sets,
    }
}

#[cfg(test)]
mod tests;
