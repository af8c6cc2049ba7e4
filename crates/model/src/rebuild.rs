//! What restoring a failed drive or node takes: bytes, time, and what it leaves to clients.
//!
//! Time is bytes over what the narrowest of links and drives restores per second. Drives move bytes, and they do
//! operations: each object is read and written by itself, so that small ones are restored as fast as drives seek. It is
//! the least that it can take: listing and pauses cost more.

use linerate_record::plan::{FailureScope, Rebuild, Resource};
use linerate_record::site::{Drives, NodeGroup, Product, Site, key};
use linerate_record::units::bytes_si;

use crate::bond::Direction;
use crate::ceilings::among_nodes;
use crate::layout::objects::kept;
use crate::layout::{GeometryKind, Pool};

mod node_shares;
mod recovery_traffic;

use node_shares::{FULLEST, loss, of_busiest_drive};
use recovery_traffic::{Placed, RecoveryTraffic, way};

/// Share of the bottleneck that Ceph's recovery has: the reservation of mClock's profile `balanced`, the default
/// (`osd_mclock_profile`).
const CEPH_SHARE: f64 = 0.5;
/// What the others are taken to have. None of them bounds it: MinIO's healing pauses 250 ms at the most after an object
/// while 100 requests or more are in service, and then goes on (`waitForLowIO` of `cmd/background-heal-ops.go`).
const OTHER_SHARE: f64 = 0.25;

/// How restoring goes, with what it uses.
#[derive(Clone, Debug, PartialEq)]
pub struct RecoveryTime {
    /// As a plan tells it.
    pub rebuild: Rebuild,
    /// Seconds that a byte restored takes of each resource, of the node that is busiest.
    seconds: Vec<(Resource, f64)>,
}

impl RecoveryTime {
    /// The share of a resource that restoring uses while clients are served.
    #[must_use]
    pub fn used(&self, resource: Resource) -> f64 {
        let is_known = self.seconds.iter().any(|(used, _)| *used == resource);
        // Where nobody states how large objects are, operations on drives are taken to be as busy as their bandwidth.
        let used_resource =
            if resource == Resource::DriveOperations && !is_known { Resource::DriveBandwidth } else { resource };
        let rate = self.rebuild.share * self.rebuild.alone_bytes_per_s;
        self.seconds
            .iter()
            .filter(|(used, _)| *used == used_resource)
            .map(|(_, seconds)| rate * seconds)
            .fold(0.0, f64::max)
    }
}

/// What restoring takes after the loss of a drive and of a node, of the pool where it takes longest. What cannot be
/// restored is left out.
#[must_use]
pub fn restoring(site: &Site, pools: &[Pool], usable_bytes: u64) -> Vec<RecoveryTime> {
    let longest = |lost| {
        of_pools(site, pools, lost, usable_bytes)?
            .into_iter()
            .max_by(|a, b| a.rebuild.alone_s.total_cmp(&b.rebuild.alone_s))
    };
    [FailureScope::Drive, FailureScope::Node].into_iter().filter_map(longest).collect()
}

/// The same of each pool; nothing where one of them cannot be restored.
pub(crate) fn of_pools(
    site: &Site,
    pools: &[Pool],
    lost: FailureScope,
    usable_bytes: u64,
) -> Option<Vec<RecoveryTime>> {
    pools.iter().map(|pool| of_pool(site, pool, lost, usable_bytes)).collect()
}

fn of_pool(site: &Site, pool: &Pool, lost: FailureScope, usable_bytes: u64) -> Option<RecoveryTime> {
    if site.engine.product != Product::CephRgw {
        let (held_bytes, taken_full) = held_bytes(site, pool, lost, usable_bytes);
        return restored(site, pool, lost, held_bytes, taken_full, None);
    }
    // Nodes of each kind hold, and leave to the others, what their capacity says.
    let stored = site.data.stored_bytes;
    let stored_share = if stored == 0 { 1.0 } else { (stored as f64 / usable_bytes.max(1) as f64).min(1.0) };
    let restoring_place = |place: usize| {
        let loss = loss(site, pool, place, lost, stored_share);
        let is_of_node = lost == FailureScope::Drive && pool.nodes == pool.geometry.shards;
        let fullest = if is_of_node { loss.node_fullest } else { loss.fullest };
        let room = (stored == 0 && pool.nodes >= pool.geometry.shards)
            .then(|| room(usable_bytes as f64 * (FULLEST / fullest).min(1.0)));
        let busiest = groups(site, pool).map(of_busiest_drive).collect();
        restored(site, pool, lost, loss.bytes, stored == 0, Some(&Placed { loss, busiest, room }))
    };
    let all: Option<Vec<RecoveryTime>> = (0..pool.groups.len()).map(restoring_place).collect();
    all?.into_iter().max_by(|a, b| a.rebuild.alone_s.total_cmp(&b.rebuild.alone_s))
}

/// Up to what is stored the drives that are left take what was lost.
fn room(bytes: f64) -> String {
    format!(
        "they have room for it while at most {} is stored; above that, drives are over {:.0} % full, and backfilling \
         stops",
        bytes_si(bytes),
        100.0 * FULLEST
    )
}

/// `restored_bytes` were lost; `taken_full` says whether that is taken to be all that fits.
fn restored(
    site: &Site,
    pool: &Pool,
    lost: FailureScope,
    restored_bytes: f64,
    taken_full: bool,
    placed: Option<&Placed>,
) -> Option<RecoveryTime> {
    let way = way(site.engine.product, pool, lost, drives_per_node(site, pool), placed)?;
    let seconds = seconds(site, pool, &way);
    let &(bottleneck, slowest) = seconds.iter().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let (share, share_assumed) = share(site);
    let alone_bytes_per_s = 1.0 / slowest;
    let alone_s = restored_bytes * slowest;
    let rebuild = Rebuild {
        lost,
        restored_bytes,
        taken_full,
        read_bytes_per_byte: way.reads,
        bottleneck,
        alone_bytes_per_s,
        alone_s,
        share,
        share_assumed,
        shared_s: alone_s / share,
        why: way.why,
        source: source(site.engine.product).to_owned(),
    };
    (alone_bytes_per_s.is_finite() && alone_bytes_per_s > 0.0).then_some(RecoveryTime { rebuild, seconds })
}

fn groups<'a>(site: &'a Site, pool: &'a Pool) -> impl Iterator<Item = &'a NodeGroup> {
    pool.groups.iter().map(|&place| &site.groups[place])
}

/// Drives of the node that has the fewest.
fn drives_per_node(site: &Site, pool: &Pool) -> u32 {
    groups(site, pool).map(NodeGroup::drives_per_node).min().unwrap_or(0)
}

/// Bytes of shards or copies that a drive or a node holds, and whether that is all that it can hold, since nobody
/// stated what is stored. Drives of a set fill alike; of Garage's nodes the largest is looked at.
fn held_bytes(site: &Site, pool: &Pool, lost: FailureScope, usable_bytes: u64) -> (f64, bool) {
    let filled = || groups(site, pool).flat_map(|group| &group.drives).filter(|drives| drives.count > 0);
    let capacities = || filled().map(|drives| drives.capacity_bytes);
    let in_sets = pool.geometry.kind == GeometryKind::Sets;
    let drive = if in_sets { capacities().min() } else { capacities().max() }.unwrap_or(0) as f64;
    let node = |group: &NodeGroup| -> f64 {
        if in_sets {
            return f64::from(group.drives_per_node()) * drive;
        }
        group.drives.iter().map(|drives| f64::from(drives.count) * drives.capacity_bytes as f64).sum()
    };
    let whole = match lost {
        FailureScope::Drive => drive,
        FailureScope::Node => groups(site, pool).map(node).fold(0.0, f64::max),
    };
    match site.data.stored_bytes {
        0 => (whole, true),
        stored => (whole * (stored as f64 / usable_bytes.max(1) as f64).min(1.0), false),
    }
}

fn share(site: &Site) -> (f64, bool) {
    let usual = if site.engine.product == Product::CephRgw { CEPH_SHARE } else { OTHER_SHARE };
    let is_marked = site.assumed.contains_key(key::GOALS_REBUILD_SHARE);
    site.goals.rebuild_share.map_or((usual, true), |stated| (stated, is_marked))
}

/// Seconds of each resource per byte restored, at the node that is busiest, of the slowest nodes.
fn seconds(site: &Site, pool: &Pool, way: &RecoveryTraffic) -> Vec<(Resource, f64)> {
    let mut all = Vec::new();
    for (group, source) in groups(site, pool).zip(&way.sources) {
        let links = [
            (Direction::Ingress, source.ingress.max(way.target.ingress)),
            (Direction::Egress, source.egress.max(way.target.egress)),
        ];
        for (direction, bytes) in links {
            let (resource, bytes_per_s) = among_nodes(site, group, direction);
            all.push((resource, bytes / bytes_per_s));
        }
        let slowest = |figure: fn(&Drives) -> f64| {
            group.drives.iter().filter(|drives| drives.count > 0).map(figure).fold(f64::INFINITY, f64::min)
        };
        // Of the busiest drive: reads and writes take turns on it.
        let on_drives = |read_s: f64, write_s: f64| {
            [source, &way.target]
                .map(|of| of.drive_read * read_s + of.drive_write * write_s)
                .into_iter()
                .fold(0.0, f64::max)
        };
        let (read, write) = (slowest(|drives| drives.read_bytes_per_s), slowest(|drives| drives.write_bytes_per_s));
        all.push((Resource::DriveBandwidth, on_drives(1.0 / read, 1.0 / write)));
        if site.data.object_bytes > 0 {
            let kept = kept(&site.engine, &pool.geometry, site.data.object_bytes);
            let (read, write) = (slowest(|drives| drives.read_iops), slowest(|drives| drives.write_iops));
            let operations = on_drives(kept.reads / kept.bytes / read, kept.writes / kept.bytes / write);
            all.push((Resource::DriveOperations, operations));
        }
    }
    all
}

const fn source(product: Product) -> &'static str {
    match product {
        Product::Minio => {
            "MinIO's cmd/global-heal.go (healErasureSet) and cmd/background-heal-ops.go (waitForLowIO): no bound of \
             its own (docs/method/layout.md, \"Restoring\")"
        }
        Product::Rustfs => "assumed to rebuild as MinIO does (docs/method/layout.md, \"Restoring\")",
        Product::CephRgw => {
            "mClock's profile balanced, the default: half for recovery (osd_mclock_profile; docs/method/layout.md, \
             \"Restoring\")"
        }
        Product::Garage => {
            "Garage's block resync, without a bound by default in bytes \
             (docs/method/layout.md, \"Restoring\")"
        }
    }
}

#[cfg(test)]
mod tests;
