//! How flows fill what has several members: a bond, or equal-cost paths.
//!
//! A flow sticks to one member. Flows are placed many times over, by the kernel's own hashes or at random where a
//! switch's hash is not known, and what they then get is counted: the distribution of that, and from how many flows on
//! the bundle is as good as full. [`mesh`] does the same with bundles at both ends of each flow, where what is lost at
//! one end is not regained at the other.

pub(crate) mod link_peers;
pub mod max_min;
pub mod mesh;
pub mod placement;

use linerate_record::plan::{Resource, Spread};
use linerate_record::rng::SeededRng;

use placement::{MemberSelection, Placement, Placing};

/// The share of all members from which on a bundle counts as filled.
const FILLED: f64 = 0.95;
/// The share that is all but rounding.
const FULL: f64 = 1.0 - 1e-9;
/// Peers looked at: so many are four blocks of 256 addresses, and of those that are placed by chance no member of 16
/// stays empty.
const PEERS_MAX: u32 = 1024;

/// Members and the flows over them, in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// Members (or paths) of equal speed.
    pub members: u32,
    pub flows: u32,
    /// The most that one flow carries, in speeds of one member; infinite where only the bundle limits it.
    pub flow_cap: f64,
    pub placement: Placement,
}

/// Shares of all members' sum that flows get together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// 5th percentile.
    pub p5: f64,
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

/// The distribution of what a bundle carries, over `rounds` placements.
#[must_use]
pub fn shares(bundle: &Bundle, seed: u64, rounds: u32) -> Shares {
    placed(bundle, bundle.flows, seed, rounds).shares(bundle)
}

/// Flows from which the median reaches 95 % of all members; `None` where no number does.
#[must_use]
pub fn flows_to_fill(bundle: &Bundle, seed: u64, rounds: u32) -> Option<u32> {
    placed(bundle, most_flows(bundle), seed, rounds).flows_to_fill(bundle)
}

/// Flows that fill a bundle if any number does.
fn most_flows(bundle: &Bundle) -> u32 {
    let per_member = (1.0 / bundle.flow_cap.max(1e-4)).clamp(1.0, 1e4).ceil() as u32;
    // With 64 flows for each that would do, no member stays empty by chance. Every peer has to have one.
    let peers = bundle.placement.choosing.peers().min(PEERS_MAX);
    (64 * per_member).saturating_mul(bundle.members).max(peers)
}

/// What placements of flows came to.
struct Placed {
    /// What members carry of their sum, of each placement.
    shares: Vec<f64>,
    /// Of each placement that filled the bundle, the flows that it took.
    fills: Vec<u32>,
    rounds: u32,
    /// Flows of all placements: what it costs.
    flows: u64,
}

/// Places flows until `most` or as many as the bundle has are there, or more of them change nothing, in each of
/// `rounds` placements.
fn placed(bundle: &Bundle, most: u32, seed: u64, rounds: u32) -> Placed {
    let mut all = Placed { shares: Vec::new(), fills: Vec::new(), rounds, flows: 0 };
    // Taking turns, packets fill all members evenly: that is arithmetic.
    if bundle.members == 0 || bundle.placement.choosing == MemberSelection::Turns {
        return all;
    }
    let mut rng = SeededRng::from_state(seed);
    let mut placing = Placing::new(bundle.placement.choosing, bundle.members);
    let mut on = vec![0; bundle.members as usize];
    for _ in 0..rounds {
        on.fill(0);
        placing.begin(&mut rng);
        round(bundle, most, &mut placing, &mut on, &mut rng, &mut all);
    }
    all
}

/// One placement. On parallel links, max-min sharing fills each member as far as its own flows ask.
fn round(bundle: &Bundle, most: u32, placing: &mut Placing, on: &mut [u32], rng: &mut SeededRng, all: &mut Placed) {
    let cap = bundle.flow_cap;
    let carried = |flows: u32| if flows == 0 { 0.0 } else { (f64::from(flows) * cap).min(1.0) };
    // A flow that takes all of a member leaves nothing for another to add.
    let apart = if cap >= 1.0 { bundle.placement.choosing.distinct_flows().unwrap_or(u32::MAX) } else { u32::MAX };
    let last = most.max(bundle.flows).min(apart.max(1));
    let (mut sum, mut share_at, mut full_from) = (0.0, 0.0, None);
    for flow in 1..=last {
        let member = &mut on[placing.place(rng) as usize];
        let before = carried(*member);
        *member += 1;
        sum += carried(*member) - before;
        all.flows += 1;
        let share = (sum / f64::from(bundle.members)).min(1.0);
        if flow <= bundle.flows {
            share_at = share;
        }
        if full_from.is_none() && share >= FILLED && flow <= most {
            full_from = Some(flow);
        }
        if share >= FULL || full_from.is_some() && flow >= bundle.flows {
            break;
        }
    }
    // Nearer to one than sums of rounded numbers come.
    all.shares.push(if share_at >= FULL { 1.0 } else { share_at });
    all.fills.extend(full_from);
}

impl Placed {
    fn shares(&self, bundle: &Bundle) -> Shares {
        if bundle.placement.choosing == MemberSelection::Turns && bundle.members > 0 {
            let requested = if bundle.flows == 0 { 0.0 } else { f64::from(bundle.flows) * bundle.flow_cap };
            let share = (requested / f64::from(bundle.members)).min(1.0);
            return Shares { p5: share, p50: share, p95: share };
        }
        quantiles(self.shares.clone())
    }

    /// What half of all placements need: more flows never carry less.
    fn flows_to_fill(mut self, bundle: &Bundle) -> Option<u32> {
        if bundle.placement.choosing == MemberSelection::Turns && bundle.members > 0 {
            let flows = (FILLED * f64::from(bundle.members) / bundle.flow_cap).ceil().max(1.0);
            return (flows <= f64::from(most_flows(bundle))).then_some(flows as u32);
        }
        self.fills.sort_unstable();
        // The median is the lower of the two in the middle: one placement more than half has to be full.
        self.fills.get((self.rounds / 2) as usize).copied()
    }
}

/// How a bundle fills, as a plan tells it. The same seed gives the same answer.
#[must_use]
pub fn spread_of_link(resource: Resource, group: Option<&str>, bundle: &Bundle, seed: u64, rounds: u32) -> Spread {
    let placed = placed(bundle, most_flows(bundle), seed, rounds);
    let shares = placed.shares(bundle);
    let reached = bundle.placement.choosing.reach(bundle.members);
    Spread {
        counted_members: (reached < bundle.members).then_some(reached),
        resource,
        group: group.map(str::to_owned),
        members: bundle.members,
        flows: bundle.flows,
        share_p5: shares.p5,
        share_p50: shares.p50,
        share_p95: shares.p95,
        flows_to_fill: placed.flows_to_fill(bundle),
        why: bundle.placement.why.to_owned(),
    }
}

#[cfg(test)]
mod tests;
