//! What nodes hold whose shards are placed by capacity, one to a node, and where that goes when one is lost: Ceph.

use linerate_record::plan::FailureScope;
use linerate_record::site::{NodeGroup, Site};

use crate::layout::Pool;
use crate::layout::capacity::{filled_bytes, node_bytes};

/// Ceph puts nothing on a drive by backfilling that is fuller than this (`mon_osd_backfillfull_ratio`). At 0.95
/// (`mon_osd_full_ratio`) it stops writes altogether.
pub(super) const FULLEST: f64 = 0.9;

/// What one node of a kind has to do, as a share of all that is restored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RebuildShare {
    /// Of what is read.
    pub(super) read: f64,
    /// Of what is written.
    pub(super) written: f64,
}

/// A node or a drive of one kind of nodes is lost.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Loss {
    pub(super) bytes: f64,
    /// The drives of its node.
    pub(super) drives: u32,
    /// A node of each of the pool's groups, where those that are left take all.
    pub(super) shares: Vec<RebuildShare>,
    /// How full the fullest of them is then, from 0 to 1 and above: more than 1 does not fit.
    pub(super) fullest: f64,
    /// How full drives are that are left in the node of a lost one, where they alone take it; infinite without such.
    pub(super) node_fullest: f64,
}

/// Nodes of one kind.
#[derive(Clone, Copy, Debug)]
struct Kind {
    count: f64,
    bytes: f64,
}

/// What it means to lose the largest drive, or all, of a node of the group at this place of the pool, while so much of
/// what fits is stored.
pub(super) fn loss(site: &Site, pool: &Pool, place: usize, lost: FailureScope, stored_share: f64) -> Loss {
    let groups: Vec<&NodeGroup> = pool.groups.iter().map(|&of| &site.groups[of]).collect();
    let kinds: Vec<Kind> =
        groups.iter().map(|group| Kind { count: f64::from(group.count), bytes: node_bytes(group) as f64 }).collect();
    let whole = filled_bytes(site, pool) as f64 * stored_share;
    let shards = f64::from(pool.geometry.shards);
    let before = held(&kinds, whole, shards);
    let (node, drive) = (kinds[place].bytes, largest(groups[place]));
    let gone = if lost == FailureScope::Node { node } else { drive };
    let bytes = before[place] * if node > 0.0 { gone / node } else { 0.0 };
    // What is left: the others as they were, and of the node what it has besides.
    let mut left = kinds.clone();
    left[place].count -= 1.0;
    left.push(Kind { count: f64::from(u8::from(lost == FailureScope::Drive && node > gone)), bytes: node - gone });
    let after = held(&left, whole, shards);
    let mut had = before.clone();
    had.push(before[place] - bytes);
    let sum = |value_at: &dyn Fn(usize) -> f64| (0..left.len()).map(|i| left[i].count * value_at(i)).sum::<f64>();
    let (read, written) = (sum(&|i| had[i]), sum(&|i| (after[i] - had[i]).max(0.0)));
    let part = |of: f64, all: f64| if all > 0.0 { of / all } else { 0.0 };
    let share =
        |i: usize| RebuildShare { read: part(had[i], read), written: part((after[i] - had[i]).max(0.0), written) };
    let full = |i: usize| if left[i].count > 0.0 { part(after[i], left[i].bytes) } else { 0.0 };
    Loss {
        bytes,
        drives: groups[place].drives_per_node(),
        shares: (0..kinds.len()).map(share).collect(),
        fullest: (0..left.len()).map(full).fold(0.0, f64::max),
        node_fullest: if node > drive { before[place] / (node - drive) } else { f64::INFINITY },
    }
}

/// The largest drive of a node.
fn largest(group: &NodeGroup) -> f64 {
    let capacities = group.drives.iter().filter(|drives| drives.count > 0).map(|drives| drives.capacity_bytes);
    capacities.max().unwrap_or(0) as f64
}

/// The part of a node's bytes that its largest drive has: the busiest.
pub(super) fn of_busiest_drive(group: &NodeGroup) -> f64 {
    let all = node_bytes(group) as f64;
    if all > 0.0 { largest(group) / all } else { f64::from(group.drives_per_node().max(1)).recip() }
}

/// What a node of each kind holds of so many bytes: by its capacity, but no more than one shard of each object.
fn held(kinds: &[Kind], whole: f64, shards: f64) -> Vec<f64> {
    let most = whole / shards.max(1.0);
    let mut is_capped = vec![false; kinds.len()];
    loop {
        let sum = |capped: bool, extract: fn(&Kind) -> f64| -> f64 {
            kinds
                .iter()
                .zip(&is_capped)
                .filter(|(_, is)| **is == capped)
                .map(|(kind, _)| kind.count * extract(kind))
                .sum()
        };
        let free = sum(false, |kind| kind.bytes);
        let level = if free > 0.0 { (whole - most * sum(true, |_| 1.0)).max(0.0) / free } else { 0.0 };
        let over = |(i, kind): (usize, &Kind)| {
            (!is_capped[i] && kind.count > 0.0 && level * kind.bytes > most * (1.0 + 1e-12)).then_some(i)
        };
        let Some(next) = kinds.iter().enumerate().find_map(over) else {
            let held_bytes = |(kind, is): (&Kind, &bool)| if *is { most } else { level * kind.bytes };
            return kinds.iter().zip(&is_capped).map(held_bytes).collect();
        };
        is_capped[next] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_hold_by_capacity_and_no_more_than_a_shard_of_each_object() {
        let kinds = |of: &[(f64, f64)]| of.iter().map(|&(count, bytes)| Kind { count, bytes }).collect::<Vec<_>>();
        for (nodes, whole, shards, expected) in [
            (vec![(4.0, 100.0)], 200.0, 3.0, vec![50.0]),
            (vec![(3.0, 100.0), (3.0, 50.0)], 270.0, 3.0, vec![60.0, 30.0]),
            // A node of 1,000 holds no more than a third.
            (vec![(1.0, 1000.0), (4.0, 50.0)], 150.0, 3.0, vec![50.0, 25.0]),
        ] {
            let found = held(&kinds(&nodes), whole, shards);
            assert!(
                found.iter().zip(&expected).all(|(a, b): (&f64, &f64)| (a - b).abs() < 1e-9),
                "{nodes:?}: {found:?}"
            );
        }
    }
}
