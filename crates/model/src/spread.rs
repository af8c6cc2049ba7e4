//! How flows fill what has several members: a bond, or equal-cost paths.
//!
//! A flow sticks to one member. Flows are placed many times over, by the kernel's own hashes or at random where a
//! switch's hash is not known, and what they then get is counted: the distribution of that, and from how many flows on
//! the bundle is as good as full. [`mesh`] does the same with bundles at both ends of each flow, where what is lost at
//! one end is not regained at the other.

pub mod max_min;
pub mod mesh;
pub mod placement;

use linerate_record::plan::{Resource, Spread};

use crate::chance::Dice;
use placement::{Choosing, Placement, Placing};

/// The share of all members from which on a bundle counts as filled.
const FILLED: f64 = 0.95;

/// Members and the flows over them, in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// Members (or paths) of equal speed.
    pub members: u32,
    /// Flows at once.
    pub flows: u32,
    /// The most that one flow carries, in speeds of one member; infinite where only the bundle limits it.
    pub flow_cap: f64,
    /// How flows choose.
    pub placement: Placement,
}

/// Shares of all members' sum that flows get together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
}

/// Quantiles by the lower nearest rank, so that each is a share that happened.
fn quantiles(mut shares: Vec<f64>) -> Shares {
    shares.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| {
        let rank = (part * shares.len() as f64).ceil() as usize;
        shares.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    Shares { p5: at(0.05), p50: at(0.5), p95: at(0.95) }
}

/// What members carry with so many flows on each. On parallel links, max-min sharing fills each member as far as its
/// own flows ask.
fn share(flows_of_members: &[u32], flow_cap: f64) -> f64 {
    let carried = |&flows: &u32| if flows == 0 { 0.0 } else { (f64::from(flows) * flow_cap).min(1.0) };
    flows_of_members.iter().map(carried).sum::<f64>() / flows_of_members.len() as f64
}

/// The distribution of what a bundle carries, over `rounds` placements.
#[must_use]
pub fn shares(bundle: &Bundle, seed: u64, rounds: u32) -> Shares {
    if bundle.members == 0 {
        return Shares { p5: 0.0, p50: 0.0, p95: 0.0 };
    }
    if bundle.placement.choosing == Choosing::Turns {
        let asked = if bundle.flows == 0 { 0.0 } else { f64::from(bundle.flows) * bundle.flow_cap };
        let share = (asked / f64::from(bundle.members)).min(1.0);
        return Shares { p5: share, p50: share, p95: share };
    }
    let mut dice = Dice::new(seed);
    let mut placing = Placing::new(bundle.placement.choosing, bundle.members);
    quantiles((0..rounds).map(|_| share(placing.place(bundle.flows, &mut dice), bundle.flow_cap)).collect())
}

/// Flows from which the median reaches 95 % of all members; `None` where no number does.
#[must_use]
pub fn flows_to_fill(bundle: &Bundle, seed: u64, rounds: u32) -> Option<u32> {
    let per_member = (1.0 / bundle.flow_cap.max(1e-4)).clamp(1.0, 1e4).ceil() as u32;
    // With 64 flows for each that would do, no member stays empty by chance. Every peer has to have one.
    let most = (64 * per_member).saturating_mul(bundle.members).max(bundle.placement.choosing.peers());
    let fills = |flows: u32| shares(&Bundle { flows, ..bundle.clone() }, seed, rounds).p50 >= FILLED;
    if bundle.members == 0 || !fills(most) {
        return None;
    }
    let (mut too_few, mut enough) = (0, most);
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if fills(middle) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    Some(enough)
}

/// How a bundle fills, as a plan tells it. The same seed gives the same answer.
#[must_use]
pub fn spread_of_link(resource: Resource, group: Option<&str>, bundle: &Bundle, seed: u64, rounds: u32) -> Spread {
    let shares = shares(bundle, seed, rounds);
    Spread {
        resource,
        group: group.map(str::to_owned),
        members: bundle.members,
        flows: bundle.flows,
        share_p5: shares.p5,
        share_p50: shares.p50,
        share_p95: shares.p95,
        flows_to_fill: flows_to_fill(bundle, seed, rounds),
        why: bundle.placement.why.clone(),
    }
}

#[cfg(test)]
mod tests;
