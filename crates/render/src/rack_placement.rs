//! Which node each ordinal of a StatefulSet is bound to.
//!
//! The endpoints of a pool are drive 1 of every ordinal, then drive 2 of every ordinal, and a set is consecutive
//! endpoints ([`linerate_model::layout::minio`]): a set is a window of consecutive ordinals, round and round. The
//! spread over racks that a scheduler keeps is of all pods, and not of each window, so that the order is computed here
//! and bound by the volumes.

use linerate_model::layout::minio::node_for_endpoint;

/// The most shards of a set that one rack may have, and does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RackShare {
    /// The most that it has of any set.
    pub most: u32,
    /// How many a set can lose.
    pub parity: u32,
}

/// The node of each ordinal: of node N, counted from 0 through rack after rack, the ordinal's place has N.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RackPlacement {
    /// The node of each ordinal.
    pub node_of: Vec<u32>,
    /// The rack of each ordinal.
    pub rack_of: Vec<u32>,
    /// What a rack has of a set at most.
    pub share: RackShare,
}

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementError {
    /// The least that a rack has of some set, in the best order that was found.
    pub share: RackShare,
    /// Whether no order has less: it is the share of the largest rack of a set, rounded up.
    pub is_certain: bool,
}

/// Places the nodes of racks, so that no rack has more of a set than it can lose. One rack is no constraint: a site
/// without racks is not spread over any.
///
/// # Errors
/// Where no order that was tried does.
pub fn place(racks: &[u32], set_drives: u32, sets: u32, parity: u32) -> Result<RackPlacement, PlacementError> {
    let nodes: u32 = racks.iter().sum();
    let mut best: Option<(u32, Vec<u32>)> = None;
    for order in [round(racks), dealt(racks, nodes, set_drives), even(racks)] {
        let most = most_of_a_rack(&order, racks.len(), set_drives, sets);
        // The first of equals: the order does not depend on how many are tried.
        if best.as_ref().is_none_or(|(least, _)| most < *least) {
            best = Some((most, order));
        }
    }
    let (mut most, mut rack_of) = best.unwrap_or_default();
    let largest = u64::from(racks.iter().copied().max().unwrap_or(0));
    let least = (u64::from(set_drives) * largest).div_ceil(u64::from(nodes.max(1)));
    let is_certain = least > u64::from(parity);
    if racks.len() > 1 && most > parity && !is_certain {
        let order = swapped(rack_of.clone(), racks.len(), set_drives, sets, parity);
        let found = most_of_a_rack(&order, racks.len(), set_drives, sets);
        if found < most {
            (most, rack_of) = (found, order);
        }
    }
    let share = RackShare { most, parity };
    if racks.len() > 1 && most > parity {
        return Err(PlacementError { share, is_certain });
    }
    Ok(RackPlacement { node_of: nodes_in(&rack_of, racks), rack_of, share })
}

/// The racks in turn, those that have no node left passed over.
fn round(racks: &[u32]) -> Vec<u32> {
    let rows = racks.iter().copied().max().unwrap_or(0);
    let row = |row: u32| (0_u32..).zip(racks).filter(move |(_, nodes)| **nodes > row).map(|(rack, _)| rack);
    (0..rows).flat_map(row).collect()
}

/// The nodes, rack after rack, dealt to the sets like cards: where sets share no node, none is more even. Each set then
/// has its own in the order of racks.
fn dealt(racks: &[u32], nodes: u32, set_drives: u32) -> Vec<u32> {
    let hands = (nodes / set_drives.clamp(1, nodes.max(1))).max(1);
    let all: Vec<u32> = (0_u32..).zip(racks).flat_map(|(rack, &nodes)| (0..nodes).map(move |_| rack)).collect();
    let of_hand = |hand: u32| all.iter().copied().skip(hand as usize).step_by(hands as usize);
    (0..hands).flat_map(of_hand).collect()
}

/// Each rack's nodes at even distances: node j of n at (2j + 1) / 2n of the way.
fn even(racks: &[u32]) -> Vec<u32> {
    let spread = |(rack, &nodes): (u32, &u32)| (0..nodes).map(move |j| (u64::from(2 * j + 1), u64::from(nodes), rack));
    let mut all: Vec<(u64, u64, u32)> = (0_u32..).zip(racks).flat_map(spread).collect();
    // Fractions are compared by their cross products.
    all.sort_by(|a, b| (a.0 * b.1, a.2).cmp(&(b.0 * a.1, b.2)));
    all.into_iter().map(|(_, _, rack)| rack).collect()
}

/// Swaps that are weighed at most, and where chance begins: the same racks give the same order.
const SWAPS_MAX: usize = 200_000;
const CHANCE: u64 = 0x9e37_79b9_7f4a_7c15;

/// An order in which places were swapped to where they are in the way least, until no rack has more of a set than
/// `parity`, or too many were tried.
fn swapped(mut rack_of: Vec<u32>, racks: usize, set_drives: u32, sets: u32, parity: u32) -> Vec<u32> {
    let mut held = RackContents::new(&rack_of, racks, set_drives, sets, parity);
    let (nodes, mut chance) = (rack_of.len(), CHANCE);
    for _ in 0..SWAPS_MAX / nodes.max(1) {
        let Some((set, rack)) = picked(&held.too_much(), &mut chance) else { break };
        let of_rack: Vec<usize> =
            (0..nodes).filter(|&i| rack_of[i] == rack && held.of_place[i].contains(&set)).collect();
        let Some(place) = picked(&of_rack, &mut chance) else { break };
        let others: Vec<usize> = (0..nodes).filter(|&other| rack_of[other] != rack).collect();
        let weighed: Vec<(i64, usize)> = others
            .into_iter()
            .map(|other| {
                let change = held.swap(place, other, &rack_of);
                rack_of.swap(place, other);
                held.swap(place, other, &rack_of);
                rack_of.swap(place, other);
                (change, other)
            })
            .collect();
        let least = weighed.iter().map(|(change, _)| *change).min();
        let best: Vec<usize> =
            weighed.into_iter().filter(|(change, _)| Some(*change) == least).map(|(_, other)| other).collect();
        let Some(other) = picked(&best, &mut chance) else { break };
        held.swap(place, other, &rack_of);
        rack_of.swap(place, other);
    }
    rack_of
}

/// One of several, at random from a seed. By Marsaglia's xorshift and not by [`linerate_record::rng`]: of a site whose
/// racks need swaps, the draws decide which rack each node is in, and what was rendered and deployed has to stay.
fn picked<T: Copy>(all: &[T], chance: &mut u64) -> Option<T> {
    *chance ^= *chance << 13;
    *chance ^= *chance >> 7;
    *chance ^= *chance << 17;
    let i = chance.checked_rem(all.len() as u64)?;
    all.get(i as usize).copied()
}

/// What racks have of sets.
struct RackContents {
    /// Shards of each set in each rack.
    shards: Vec<Vec<u32>>,
    /// The sets of each place, one as often as it comes by.
    of_place: Vec<Vec<usize>>,
    parity: u32,
}

impl RackContents {
    fn new(rack_of: &[u32], racks: usize, set_drives: u32, sets: u32, parity: u32) -> RackContents {
        let nodes = rack_of.len() as u32;
        let distinct = sets.min(nodes) as usize;
        let (mut shards, mut of_place) = (vec![vec![0; racks]; distinct], vec![Vec::new(); rack_of.len()]);
        for (set, shards) in shards.iter_mut().enumerate() {
            let first = set as u64 * u64::from(set_drives);
            for endpoint in first..first + u64::from(set_drives) {
                let place = node_for_endpoint(endpoint, nodes) as usize;
                shards[rack_of[place] as usize] += 1;
                of_place[place].push(set);
            }
        }
        RackContents { shards, of_place, parity }
    }

    /// Sets and racks that have more of them than may be lost.
    fn too_much(&self) -> Vec<(usize, u32)> {
        let of_set = |(set, shards): (usize, &Vec<u32>)| {
            let racks = (0_u32..).zip(shards).filter(|(_, held)| **held > self.parity);
            racks.map(|(rack, _)| (set, rack)).collect::<Vec<_>>()
        };
        self.shards.iter().enumerate().flat_map(of_set).collect()
    }

    /// Counts two places in each other's rack, and says by how many shards there is more of what is too much.
    fn swap(&mut self, one: usize, other: usize, rack_of: &[u32]) -> i64 {
        let (from, to) = (rack_of[one] as usize, rack_of[other] as usize);
        self.shift(one, from, to) + self.shift(other, to, from)
    }

    fn shift(&mut self, place: usize, from: usize, to: usize) -> i64 {
        let mut change = 0;
        for &set in &self.of_place[place] {
            let shards = &mut self.shards[set];
            change -= i64::from(shards[from] > self.parity);
            shards[from] -= 1;
            change += i64::from(shards[to] >= self.parity);
            shards[to] += 1;
        }
        change
    }
}

/// The node of each ordinal: the next of its rack.
fn nodes_in(rack_of: &[u32], racks: &[u32]) -> Vec<u32> {
    let mut next: Vec<u32> = racks
        .iter()
        .scan(0, |end, &nodes| {
            *end += nodes;
            Some(*end - nodes)
        })
        .collect();
    let mut node = |&rack: &u32| {
        let next = &mut next[rack as usize];
        *next += 1;
        *next - 1
    };
    rack_of.iter().map(&mut node).collect()
}

/// The most shards of a set that are in one rack.
fn most_of_a_rack(rack_of: &[u32], racks: usize, set_drives: u32, sets: u32) -> u32 {
    let nodes = rack_of.len() as u32;
    let (set_drives, mut most) = (u64::from(set_drives), 0);
    // Sets begin anew behind as many as the nodes have places to begin at.
    for set in 0..u64::from(sets.min(nodes)) {
        let mut held = vec![0_u32; racks];
        for endpoint in set * set_drives..(set + 1) * set_drives {
            held[rack_of[node_for_endpoint(endpoint, nodes) as usize] as usize] += 1;
        }
        most = most.max(held.into_iter().max().unwrap_or(0));
    }
    most
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn evenly(nodes: u32, racks: u32) -> Vec<u32> {
        (0..racks).map(|rack| nodes / racks + u32::from(rack < nodes % racks)).collect()
    }

    /// Every endpoint of every set counted.
    fn counted(placement: &RackPlacement, racks: &[u32], set_drives: u32, sets: u32) -> u32 {
        let nodes = racks.iter().sum::<u32>();
        let ends: Vec<u32> = racks
            .iter()
            .scan(0, |end, n| {
                *end += n;
                Some(*end)
            })
            .collect();
        let rack = |node: u32| ends.iter().position(|end| node < *end).unwrap();
        let mut most = 0;
        for set in 0..sets {
            let mut held = vec![0; racks.len()];
            for endpoint in set * set_drives..(set + 1) * set_drives {
                held[rack(placement.node_of[(endpoint % nodes) as usize])] += 1;
            }
            most = most.max(held.into_iter().max().unwrap());
        }
        most
    }

    #[test]
    fn sites_of_racks_are_placed_or_refused() {
        for (nodes, racks, set_drives, drives, parity, most) in [
            (56, 4, 14, 20, 4, Ok(4)),
            (56, 8, 14, 20, 4, Ok(2)),
            (484, 22, 11, 20, 4, Ok(1)),
            (16, 4, 16, 12, 4, Ok(4)),
            (16, 1, 16, 12, 4, Ok(16)),
            (8, 4, 16, 8, 4, Ok(4)),
            (8, 2, 8, 8, 4, Ok(4)),
            (56, 3, 14, 20, 4, Err((5, true))),
            (56, 2, 14, 20, 4, Err((7, true))),
            (10, 4, 10, 4, 4, Ok(3)),
            (24, 5, 16, 2, 4, Ok(4)),
            (22, 7, 16, 8, 3, Ok(3)),
            (24, 10, 15, 10, 2, Ok(2)),
            (29, 4, 10, 10, 3, Ok(3)),
        ] {
            let racks_of = evenly(nodes, racks);
            let placed = place(&racks_of, set_drives, nodes * drives / set_drives, parity);
            let found = placed.map(|placed| placed.share.most).map_err(|error| (error.share.most, error.is_certain));
            assert_eq!(found, most, "{nodes} nodes in {racks} racks, sets of {set_drives}");
        }
    }

    /// Draws of every version: others would give nodes of rendered sites other racks.
    #[test]
    fn draws_are_those_of_every_version() {
        let (all, mut chance) = ((0..1000).collect::<Vec<u32>>(), CHANCE);
        let picks: Vec<_> = (0..6).filter_map(|_| picked(&all, &mut chance)).collect();
        assert_eq!(picks, [989, 574, 30, 260, 268, 465]);
    }

    proptest! {
        #[test]
        fn every_node_has_one_ordinal_and_no_set_more_of_a_rack_than_is_said(
            nodes in 1_u32..120, racks in 1_u32..20, set_drives in 2_u32..=16, drives in 1_u32..24, parity in 0_u32..=8,
        ) {
            prop_assume!((nodes * drives).is_multiple_of(set_drives));
            let racks = evenly(nodes, racks.min(nodes));
            let sets = nodes * drives / set_drives;
            match place(&racks, set_drives, sets, parity) {
                Ok(placed) => {
                    let mut all = placed.node_of.clone();
                    all.sort_unstable();
                    prop_assert_eq!(all, (0..nodes).collect::<Vec<_>>());
                    prop_assert_eq!(placed.share.most, counted(&placed, &racks, set_drives, sets));
                    prop_assert!(racks.len() == 1 || placed.share.most <= parity);
                    prop_assert_eq!(&place(&racks, set_drives, sets, parity), &Ok(placed));
                }
                Err(error) => prop_assert!(racks.len() > 1 && error.share.most > parity),
            }
        }

        /// Where sets share no node, no order is more even than the one that is found.
        #[test]
        fn sets_of_their_own_nodes_are_as_even_as_can_be(
            hands in 1_u32..12, set_drives in 2_u32..=16, racks in 1_u32..20,
        ) {
            let nodes = hands * set_drives;
            let racks = evenly(nodes, racks.min(nodes));
            let least = racks.iter().map(|held| held.div_ceil(hands)).max().unwrap();
            let placed = place(&racks, set_drives, hands, 16).unwrap();
            prop_assert_eq!(placed.share.most, least);
        }
    }
}
