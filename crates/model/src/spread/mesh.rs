//! Flows between many nodes, with a bundle at both ends of each.

use linerate_record::rng::{SeededRng, mixed};

use crate::spread::max_min::{Flow, max_min};
use crate::spread::{Shares, quantiles};

/// Nodes at one end of all flows, alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshSide {
    pub nodes: u32,
    /// Members of each node's bundle.
    pub members: u32,
    /// What one member carries.
    pub member_bytes_per_s: f64,
    /// Whether all flows between two nodes share a member.
    pub pairs_share: bool,
}

impl MeshSide {
    fn bytes_per_s(&self) -> f64 {
        f64::from(self.nodes) * f64::from(self.members) * self.member_bytes_per_s
    }

    /// The member that a flow of a node with a far node takes.
    fn member(&self, node: u32, far: u32, salt: u64, rng: &mut SeededRng) -> u32 {
        let pair = mixed(salt ^ (u64::from(node) << 32 | u64::from(far)));
        let member = if self.pairs_share {
            SeededRng::from_state(pair).below_u32(self.members)
        } else {
            rng.below_u32(self.members)
        };
        node * self.members + member
    }
}

/// Flows and their ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mesh {
    pub from: MeshSide,
    pub to: MeshSide,
    /// Flows at once. Senders have them in turn; to whom each goes is random.
    pub flows: u32,
    /// The most that one flow carries; infinite where only links limit it.
    pub flow_bytes_per_s: f64,
}

/// The distribution of what all flows carry together, with max-min sharing, as a share of what the lesser side's links
/// carry, over `rounds` placements.
#[must_use]
pub fn mesh_shares(mesh: &Mesh, seed: u64, rounds: u32) -> Shares {
    let mut rng = SeededRng::from_state(seed);
    let (from, to) = (&mesh.from, &mesh.to);
    let all = from.bytes_per_s().min(to.bytes_per_s());
    if all <= 0.0 {
        return Shares { p5: 0.0, p50: 0.0, p95: 0.0 };
    }
    let sending = from.nodes * from.members;
    let mut links = vec![from.member_bytes_per_s; sending as usize];
    links.resize((sending + to.nodes * to.members) as usize, to.member_bytes_per_s);
    let round = |_| {
        let salt = rng.bits();
        let flows: Vec<Flow> = (0..mesh.flows)
            .map(|flow| {
                let (sender, receiver) = (flow % from.nodes, rng.below_u32(to.nodes));
                let sends = from.member(sender, receiver, salt, &mut rng);
                let receives = sending + to.member(receiver, sender, !salt, &mut rng);
                Flow { links: vec![sends, receives], cap: mesh.flow_bytes_per_s }
            })
            .collect();
        max_min(&links, &flows).iter().sum::<f64>() / all
    };
    quantiles((0..rounds).map(round).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOND: MeshSide = MeshSide { nodes: 16, members: 2, member_bytes_per_s: 3e9, pairs_share: false };

    fn median(flows: u32, from: MeshSide, to: MeshSide) -> f64 {
        mesh_shares(&Mesh { from, to, flows, flow_bytes_per_s: f64::INFINITY }, 3, 21).p50
    }

    #[test]
    fn more_flows_fill_more_and_many_fill_all() {
        let shares = [16, 64, 256, 4096].map(|flows| median(flows, BOND, BOND));
        assert!(shares.is_sorted(), "{shares:?}");
        assert!(shares[0] < 0.5 && shares[3] > 0.97, "{shares:?}");
    }

    #[test]
    fn what_bonds_lose_at_both_ends_is_more_than_at_one() {
        let wide = MeshSide { members: 1, member_bytes_per_s: 6e9, ..BOND };
        let (one, both) = (median(64, BOND, wide), median(64, BOND, BOND));
        assert!(both < one - 0.03, "{both} and {one}");
    }

    #[test]
    fn pairs_that_share_a_member_gain_nothing_by_more_flows() {
        let pair = MeshSide { nodes: 1, pairs_share: true, ..BOND };
        for flows in [1, 10, 100] {
            assert!((median(flows, pair, pair) - 0.5).abs() < 1e-9, "{flows}");
        }
    }

    #[test]
    fn nothing_is_carried_without_nodes_or_flows() {
        assert!(median(0, BOND, BOND).abs() < f64::EPSILON);
        assert!(median(9, BOND, MeshSide { nodes: 0, ..BOND }).abs() < f64::EPSILON);
    }

    #[test]
    fn capped_flows_carry_their_caps_where_links_have_room() {
        let mesh = Mesh { from: BOND, to: BOND, flows: 16, flow_bytes_per_s: 1e6 };
        let shares = mesh_shares(&mesh, 1, 11);
        assert!((shares.p5 - 16e6 / (32.0 * 3e9)).abs() < 1e-12, "{shares:?}");
    }
}
