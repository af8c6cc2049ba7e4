//! What the plan says of each kind of nodes, as those who watch it need it.

use linerate_model::bond::Direction::{self, Egress, Ingress};
use linerate_model::bond::{line_rate_bits_per_s, ports, usable_members};
use linerate_model::ethernet::Framing;
use linerate_record::site::{BondMode, NodeGroup, Plane, key};

use crate::deployment::{DeployedPool, Deployment};

/// The label that each series of a node of the site has: its kind. Monitors give it.
pub(super) const KIND: &str = "storage_kind";

/// Bytes of a frame that interfaces count beside the packet: its header (`Documentation/networking/statistics.rst`).
const COUNTED_BYTES: u32 = 14;

/// A link of a kind of nodes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WatchedLink<'s> {
    pub(super) name: &'s str,
    /// The key that names it.
    pub(super) key: &'static str,
    /// Ports, where it is a bond.
    pub(super) members: Option<u32>,
    /// What the kernel says of it: of all ports together, and of one where a bond's others wait.
    pub(super) shown_bits_per_s: f64,
    pub(super) mtu_bytes: u32,
    /// What its counters show at most, by direction.
    sends_bytes_per_s: f64,
    receives_bytes_per_s: f64,
}

/// Drives of a kind on each node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WatchedDrives<'s> {
    /// Where they are mounted.
    pub(super) mounts: &'s [String],
    /// Their key in the site.
    pub(super) key: String,
    pub(super) read_bytes_per_s: f64,
    pub(super) write_bytes_per_s: f64,
}

/// A kind of nodes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WatchedKind<'s> {
    pub(super) name: &'s str,
    /// The pool's number, as the engine counts it.
    pub(super) pool: usize,
    /// In the order of the ordinals.
    pub(super) machines: Vec<&'s str>,
    pub(super) links: Vec<WatchedLink<'s>>,
    pub(super) mounts: &'s [String],
    pub(super) drives: Vec<WatchedDrives<'s>>,
    /// Drives of an erasure set, and how many of them it can lose.
    pub(super) shards: u32,
    pub(super) parity: u32,
}

impl WatchedLink<'_> {
    /// What its counters show at most.
    pub(super) fn ceiling_bytes_per_s(&self, direction: Direction) -> f64 {
        if direction == Egress { self.sends_bytes_per_s } else { self.receives_bytes_per_s }
    }
}

impl WatchedKind<'_> {
    /// The matcher of its series.
    pub(super) fn matcher(&self) -> String {
        format!("{KIND}=\"{}\"", self.name)
    }
}

/// All kinds of nodes.
pub(super) fn kinds<'s>(deployment: &'s Deployment<'_>) -> Vec<WatchedKind<'s>> {
    deployment.pools.iter().enumerate().map(|(i, pool)| kind(deployment, pool, i)).collect()
}

fn kind<'s>(deployment: &'s Deployment<'_>, pool: &'s DeployedPool<'_>, i: usize) -> WatchedKind<'s> {
    WatchedKind {
        name: &pool.group.name,
        pool: i,
        machines: pool.machines.iter().map(String::as_str).collect(),
        links: links(deployment, pool.group),
        mounts: pool.mounts,
        drives: drives(pool),
        shards: pool.geometry.shards,
        parity: pool.geometry.parity,
    }
}

fn links<'s>(deployment: &'s Deployment<'_>, group: &'s NodeGroup) -> Vec<WatchedLink<'s>> {
    let planes = &deployment.site.planes;
    let mut all = vec![link(group, &planes.public, key::PLANES_PUBLIC)];
    if let Some(private) = planes.private.as_ref().filter(|private| private.link != planes.public.link) {
        all.push(link(group, private, key::PLANES_PRIVATE));
    }
    all
}

fn link<'s>(group: &NodeGroup, plane: &'s Plane, key: &'static str) -> WatchedLink<'s> {
    let bond = group.bonds.iter().find(|bond| bond.name == plane.link);
    let (all, speed_bits_per_s) = (ports(group, &plane.link), line_rate_bits_per_s(group, &plane.link));
    let (packet, framed) = (f64::from(plane.mtu_bytes), f64::from(Framing::Ethernet.overhead_bytes()));
    let counted = (packet + f64::from(COUNTED_BYTES)) / (packet + framed);
    let ceiling = |direction| {
        let usable = bond.map_or(all, |bond| usable_members(bond.mode, all, direction));
        speed_bits_per_s / 8.0 * f64::from(usable) / f64::from(all.max(1)) * counted
    };
    // bond_ethtool_get_link_ksettings: the active one's, and of broadcast the slowest one's.
    let waiting = bond.is_some_and(|bond| matches!(bond.mode, BondMode::ActiveBackup | BondMode::Broadcast));
    WatchedLink {
        name: &plane.link,
        key,
        members: bond.map(|_| all),
        shown_bits_per_s: speed_bits_per_s / f64::from(if waiting { all.max(1) } else { 1 }),
        mtu_bytes: plane.mtu_bytes,
        sends_bytes_per_s: ceiling(Egress),
        receives_bytes_per_s: ceiling(Ingress),
    }
}

fn drives<'s>(pool: &'s DeployedPool<'_>) -> Vec<WatchedDrives<'s>> {
    // A provisioner has folders of its own: nothing here knows them.
    if pool.mounts.is_empty() {
        return Vec::new();
    }
    let mut begin = 0;
    let kinds = pool.group.drives.iter().enumerate();
    kinds
        .map(|(i, drives)| {
            let end = (begin + drives.count as usize).min(pool.mounts.len());
            let mounts = &pool.mounts[begin..end];
            begin = end;
            WatchedDrives {
                mounts,
                key: format!("nodes.{}.drives.{i}", pool.group.name),
                read_bytes_per_s: drives.read_bytes_per_s,
                write_bytes_per_s: drives.write_bytes_per_s,
            }
        })
        .collect()
}

/// An expression that is one of several texts. A point stands for itself; none has another sign of expressions.
pub(super) fn match_any<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    texts.into_iter().map(|text| text.replace('.', "[.]")).collect::<Vec<_>>().join("|")
}

/// A ceiling as a number of PromQL.
pub(super) fn number(bytes_per_s: f64) -> String {
    format!("{bytes_per_s:.0}")
}
