//! The way of what is restored: who reads, who sends, who writes.

use linerate_record::plan::FailureScope;
use linerate_record::site::Product;

use super::node_shares::{FULLEST, Loss, RebuildShare};
use crate::layout::Pool;

/// Bytes per byte restored, of one node. On drives: of one drive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Node {
    pub(super) ingress: f64,
    pub(super) egress: f64,
    pub(super) drive_read: f64,
    pub(super) drive_write: f64,
}

/// What is moved, by whom.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecoveryTraffic {
    /// Bytes read per byte restored, all together.
    pub(super) reads: f64,
    /// Each of the nodes that read, the busiest of their drives: of each of the pool's groups.
    pub(super) sources: Vec<Node>,
    /// The node that takes what is restored, where it is one: each of the drives that are written.
    pub(super) target: Node,
    /// Where it goes, and what holds meanwhile.
    pub(super) why: String,
}

/// The way of what a drive or a node held; nothing where what is left does not restore it. `loss`: where shards are
/// placed by capacity, what that makes of the loss, with the part of a node's bytes that the busiest drive of each
/// group has, and how much may be stored where nobody states it.
pub(super) fn way(
    product: Product,
    pool: &Pool,
    lost: FailureScope,
    drives_per_node: u32,
    loss: Option<&Placed>,
) -> Option<RecoveryTraffic> {
    let drives = f64::from(drives_per_node.max(1));
    match (product, loss) {
        (Product::Minio | Product::Rustfs, _) => healed(pool, lost, drives),
        (Product::CephRgw, Some(loss)) => recovered(pool, lost, loss),
        (Product::CephRgw, None) => None,
        (Product::Garage, _) => resynced(pool, lost, drives),
    }
}

/// A loss where shards are placed by capacity.
pub(super) struct Placed {
    pub(super) loss: Loss,
    /// The part of a node's bytes that its busiest drive has, for each of the pool's groups.
    pub(super) busiest: Vec<f64>,
    /// Where nobody states what is stored: how much of it may be, in words, for what is left to take what was lost.
    pub(super) room: Option<String>,
}

/// A set's replaced drives are healed by the node that has them: it reads k shards and writes what is missing
/// (`healErasureSet` of MinIO's `cmd/global-heal.go`, which each node starts for its own drives).
fn healed(pool: &Pool, lost: FailureScope, drives: f64) -> Option<RecoveryTraffic> {
    let (n, k) = (f64::from(pool.geometry.shards), f64::from(pool.geometry.data));
    let of_node = pool.geometry.shards.div_ceil(pool.nodes);
    // Shards of an object that are lost together; and those of it that each other node of the set holds, at the most.
    let gone = if lost == FailureScope::Node { f64::from(of_node) } else { 1.0 };
    let left = n - gone;
    if pool.geometry.parity == 0 || left < k {
        return None;
    }
    let reads = k / gone;
    let remote = match lost {
        FailureScope::Node => 1.0,
        FailureScope::Drive => (n - f64::from(of_node)) / (n - 1.0),
    };
    // Shards that are left are read alike. A lost node's objects are of all of its drives, and so of all of each other
    // node's.
    let of_each = reads / left;
    let (written, read) = if lost == FailureScope::Node { (drives, drives) } else { (1.0, 1.0) };
    let shards_of_node = f64::from(of_node);
    let sent = if pool.nodes > 1 { of_each * shards_of_node } else { 0.0 };
    let on_drive = match lost {
        FailureScope::Node => of_each * shards_of_node / read,
        FailureScope::Drive => of_each,
    };
    Some(RecoveryTraffic {
        reads,
        sources: vec![Node { egress: sent, drive_read: on_drive, ..Node::default() }; pool.groups.len()],
        target: Node { ingress: reads * remote, drive_write: 1.0 / written, ..Node::default() },
        why: "rebuilt onto the replacement drives; until then new objects are written with more parity".to_owned(),
    })
}

/// Ceph's primaries read k shards (one copy), their own among them, and send what is restored to where CRUSH then has
/// it: to all nodes that are left, if these are at least as many as shards and have room.
fn recovered(pool: &Pool, lost: FailureScope, placed: &Placed) -> Option<RecoveryTraffic> {
    let (n, k, nodes) = (pool.geometry.shards, f64::from(pool.geometry.data), pool.nodes);
    let (others, loss) = (nodes - 1, &placed.loss);
    if pool.geometry.parity == 0 || others == 0 {
        return None;
    }
    let of_all = |source: &dyn Fn(RebuildShare, f64) -> Node| -> Vec<Node> {
        loss.shares.iter().zip(&placed.busiest).map(|(share, busiest)| source(*share, *busiest)).collect()
    };
    let spread = |why: String| {
        let source = |share: RebuildShare, busiest: f64| Node {
            ingress: (k - 1.0) * share.read + share.written,
            egress: k * share.read,
            drive_read: k * share.read * busiest,
            drive_write: share.written * busiest,
        };
        let why = placed.room.as_ref().map_or(why.clone(), |room| format!("{why}; {room}"));
        RecoveryTraffic { reads: k, sources: of_all(&source), target: Node::default(), why }
    };
    let onto_node = |written: u32, why: String| {
        let source = |share: RebuildShare, busiest: f64| Node {
            ingress: (k - 1.0) * share.read,
            egress: k * share.read,
            drive_read: k * share.read * busiest,
            drive_write: 0.0,
        };
        let target = Node { ingress: 1.0, drive_write: f64::from(written.max(1)).recip(), ..Node::default() };
        RecoveryTraffic { reads: k, sources: of_all(&source), target, why }
    };
    let (word, left) = if pool.geometry.data == 1 { ("copies", others) } else { ("shards", others) };
    // Where nobody states what is stored, drives are taken to be full, and how much may be stored is told instead.
    let has_room = |fullest: f64| placed.room.is_some() || fullest <= FULLEST;
    let stops = |fullest: f64| {
        format!("would be {:.0} % full with it, and backfilling stops at {:.0} %", 100.0 * fullest, 100.0 * FULLEST)
    };
    Some(match lost {
        FailureScope::Node if left >= n && has_room(loss.fullest) => {
            spread(format!("restored onto the {others} remaining nodes, once it is marked out"))
        }
        FailureScope::Node if left >= n => onto_node(
            loss.drives,
            format!(
                "the fullest of the {others} remaining nodes {}: restored completely only onto the replacement node",
                stops(loss.fullest)
            ),
        ),
        FailureScope::Node => onto_node(
            loss.drives,
            format!(
                "no node is left for {} of {n} {word}: placement groups stay undersized, new objects have {left} of \
                 {n} {word}, and nothing is restored until the node is replaced",
                n - left
            ),
        ),
        FailureScope::Drive if nodes > n && has_room(loss.fullest) => {
            spread(format!("restored onto drives of all {nodes} nodes"))
        }
        FailureScope::Drive if nodes > n => onto_node(
            1,
            format!("the fullest remaining drives {}: restored onto the replacement drive", stops(loss.fullest)),
        ),
        FailureScope::Drive if loss.drives > 1 && has_room(loss.node_fullest) => {
            let why = "restored onto the other drives of its node: no other node is free of the others' shards";
            let why = placed.room.as_ref().map_or(why.to_owned(), |room| format!("{why}; {room}"));
            onto_node(loss.drives - 1, why)
        }
        FailureScope::Drive if loss.drives > 1 => onto_node(
            1,
            format!("the other drives of its node {}: restored onto the replacement drive", stops(loss.node_fullest)),
        ),
        FailureScope::Drive => onto_node(1, "restored onto the replacement drive: no other node is left".to_owned()),
    })
}

/// Garage's layout names the nodes of each copy: what was lost is fetched by the node that has it again.
fn resynced(pool: &Pool, lost: FailureScope, drives: f64) -> Option<RecoveryTraffic> {
    let others = pool.nodes - 1;
    if pool.geometry.parity == 0 || others == 0 {
        return None;
    }
    let each = f64::from(others).recip();
    let written = if lost == FailureScope::Node { drives } else { 1.0 };
    Some(RecoveryTraffic {
        reads: 1.0,
        sources: vec![Node { egress: each, drive_read: each / drives, ..Node::default() }; pool.groups.len()],
        target: Node { ingress: 1.0, drive_write: 1.0 / written, ..Node::default() },
        why: "fetched by the replacement; until then objects have one copy less".to_owned(),
    })
}
