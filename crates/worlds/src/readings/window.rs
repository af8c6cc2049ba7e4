//! A cluster over a window: what passes in each part of it, and what exporters count of that.

use super::closed_network::Circulation;
use super::simulated_cluster::{
    PRIVATE_IN, PRIVATE_OUT, PUBLIC_IN, PUBLIC_OUT, RedundancyScheme, SimulatedCluster, WAYS,
};
use crate::rng::SeededRng;

/// What one node does at an instant.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeMoment {
    /// Bytes a second that each way of each plane carries, others' among them.
    pub(super) link: [f64; WAYS],
    /// The same as a share of what it can.
    pub(super) link_use: [f64; WAYS],
    pub(super) cores: f64,
    pub(super) cores_use: f64,
    /// Share of periods in which the engine is out of its quota.
    pub(super) out_of_quota: f64,
    pub(super) read: Vec<f64>,
    pub(super) written: Vec<f64>,
    /// Requests at each drive.
    pub(super) at_drive: Vec<f64>,
    pub(super) client_sent: f64,
    pub(super) client_received: f64,
    pub(super) in_flight: f64,
    pub(super) waiting: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Moment {
    pub(super) nodes: Vec<NodeMoment>,
    /// The fullest of everything.
    pub(super) fullest: f64,
}

/// What requests take at an instant, and what is served by it.
struct ServedLoad {
    demands: Vec<f64>,
    /// Demands that are those of one node.
    each: usize,
    /// Bytes a request has of each way of each node.
    ways: Vec<[f64; WAYS]>,
    cores: Vec<f64>,
    read: Vec<f64>,
    written: Vec<f64>,
    entry: Vec<f64>,
}

/// How shares of nodes wander.
#[derive(Clone, Debug)]
pub(super) struct NodeVariation {
    entry: Vec<f64>,
    kept: Vec<f64>,
    links: f64,
    shared: f64,
    requests: f64,
}

impl NodeVariation {
    pub(super) fn still(nodes: usize) -> Self {
        NodeVariation { entry: vec![0.0; nodes], kept: vec![0.0; nodes], links: 0.0, shared: 0.0, requests: 0.0 }
    }

    /// Goes on by a part: half of what was there stays.
    pub(super) fn go_on(&mut self, rng: &mut SeededRng) {
        let mut next = |value: &mut f64| *value = 0.6 * *value + 0.8 * rng.normal();
        self.entry.iter_mut().chain(&mut self.kept).for_each(&mut next);
        [&mut self.links, &mut self.shared, &mut self.requests].into_iter().for_each(next);
    }
}

/// Processors that others use leave at least so much to the engine: a scheduler is fair.
const FAIR: f64 = 0.5;

/// What a share of lost segments leaves of a link, among flows with the windows of such networks.
fn left_by_losses(lost: f64) -> f64 {
    1.0 / (1.0 + 40.0 * lost)
}

impl SimulatedCluster {
    /// Shares of the nodes, which together are 1.
    fn shares(
        &self,
        extract: fn(&super::simulated_cluster::SimulatedNode) -> f64,
        wander: &[f64],
        by: f64,
    ) -> Vec<f64> {
        let each: Vec<f64> =
            self.nodes.iter().zip(wander).map(|(node, wander)| extract(node) * (by * wander).exp()).collect();
        let all: f64 = each.iter().sum();
        each.into_iter().map(|share| share / all).collect()
    }

    fn cores_used(&self, node: usize) -> f64 {
        let node = &self.nodes[node];
        let left = (self.cores - node.others_cores - node.stolen).max(FAIR * (self.cores - node.stolen));
        node.quota.map_or(left, |quota| quota.min(left))
    }

    fn capacity(&self, node: usize, way: usize, wander: f64) -> f64 {
        let cluster_node = &self.nodes[node];
        let members = if self.members > 1 { 0.5 / cluster_node.busiest[way] } else { 1.0 };
        let all = self.link_bytes_per_s * cluster_node.link[way] * members * left_by_losses(cluster_node.lost);
        let steady = (-self.links_wander * wander.abs()).exp();
        (all * steady - cluster_node.others_link[way]).max(0.1 * all)
    }

    fn taken(&self, wandering: &NodeVariation) -> ServedLoad {
        let count = self.nodes.len();
        let entry = self.shares(|node| node.entry, &wandering.entry, self.wander);
        let kept = self.shares(|node| node.kept, &wandering.kept, 0.7 * self.wander);
        let (size, gets, puts) = (self.object_bytes, self.gets, 1.0 - self.gets);
        let (times, elsewhere) = (self.kept_bytes(), 1.0 - 1.0 / count as f64);
        let drives = self.nodes[0].drives.len();
        let each = WAYS + 2 + drives;
        let mut taken = ServedLoad {
            demands: Vec::with_capacity(each * count + 2),
            each,
            ways: Vec::with_capacity(count),
            cores: Vec::with_capacity(count),
            read: Vec::with_capacity(count),
            written: Vec::with_capacity(count),
            entry,
        };
        for (node, of) in self.nodes.iter().enumerate() {
            let (came, keeps) = (taken.entry[node] * size, kept[node] * size);
            let mut ways = [0.0; WAYS];
            ways[PUBLIC_OUT] += gets * came + 0.002 * puts * came;
            ways[PUBLIC_IN] += puts * came + 0.002 * gets * came;
            match self.keeping {
                RedundancyScheme::Sets => {
                    ways[PRIVATE_OUT] += elsewhere * (gets * keeps + puts * came * times);
                    ways[PRIVATE_IN] += elsewhere * (gets * came + puts * keeps * times);
                }
                RedundancyScheme::Gateways => {
                    ways[PUBLIC_OUT] += elsewhere * (gets * keeps + puts * came);
                    ways[PUBLIC_IN] += elsewhere * (gets * came + puts * keeps);
                    ways[PRIVATE_OUT] += elsewhere * puts * keeps * (times - 1.0);
                    ways[PRIVATE_IN] += elsewhere * puts * keeps * (times - 1.0);
                }
            }
            if self.planes == 1 {
                ways[PUBLIC_OUT] += std::mem::take(&mut ways[PRIVATE_OUT]);
                ways[PUBLIC_IN] += std::mem::take(&mut ways[PRIVATE_IN]);
            }
            let cores = of.effort * (self.effort[0] * came + self.effort[1] * keeps * times.powf(puts));
            let (read, written) = (gets * keeps, puts * keeps * times);
            taken.demands.extend((0..WAYS).map(|way| ways[way] / self.capacity(node, way, wandering.links)));
            taken.demands.push(cores / self.cores_used(node));
            taken.demands.push(of.alone_s * taken.entry[node]);
            let share = 1.0 / drives as f64;
            taken.demands.extend(of.drives.iter().map(|drive| {
                let others = drive.others_read / self.read_bytes_per_s + drive.others_write / self.write_bytes_per_s;
                let left = (drive.pace - others).max(0.1 * drive.pace);
                share * (read / self.read_bytes_per_s + written / self.write_bytes_per_s) / left
            }));
            taken.ways.push(ways);
            taken.cores.push(cores);
            taken.read.push(share * read);
            taken.written.push(share * written);
        }
        taken.demands.push(self.shared_demand(wandering));
        taken.demands.push(self.uplink_demand(&taken));
        taken
    }

    fn shared_demand(&self, wandering: &NodeVariation) -> f64 {
        if self.shared.most_per_s <= 0.0 {
            return 0.0;
        }
        1.0 / (self.shared.most_per_s * (self.shared.wanders * wandering.shared).exp())
    }

    /// What a rack's uplink takes, if one is narrow: the traffic of its nodes with those of other racks.
    fn uplink_demand(&self, taken: &ServedLoad) -> f64 {
        let Some((rack, share)) = self.uplink else { return 0.0 };
        let nodes: Vec<usize> = (0..self.nodes.len()).filter(|node| self.rack(*node) == rack).collect();
        let bytes: f64 =
            nodes.iter().map(|node| taken.ways[*node].iter().fold(0.0, |most: f64, way| most.max(*way))).sum();
        bytes / (share * nodes.len() as f64 * self.link_bytes_per_s)
    }

    /// What happens with so many requests under way.
    pub(super) fn moment(&self, flow: &mut Circulation, wandering: &NodeVariation, requests: f64) -> Moment {
        let taken = self.taken(wandering);
        let requests = requests.max(0.02);
        flow.settle(&taken.demands, requests, self.apart_s);
        let per_s = flow.per_s;
        let shared = flow.queued[taken.demands.len() - 2];
        let kept: f64 = (0..self.nodes.len())
            .map(|node| flow.queued[node * taken.each..][PRIVATE_OUT] + drive_use(flow, &taken, node))
            .sum();
        let mut moment = Moment::default();
        for (node, of) in self.nodes.iter().enumerate() {
            let at = &flow.queued[node * taken.each..(node + 1) * taken.each];
            let share = taken.entry[node];
            let mut now = NodeMoment::default();
            for way in 0..WAYS {
                now.link[way] = per_s * taken.ways[node][way] + of.others_link[way];
                now.link_use[way] = per_s * taken.demands[node * taken.each + way];
            }
            let engine = per_s * taken.cores[node];
            now.cores = (engine + of.others_cores + 0.01 * self.cores).min(self.cores - of.stolen);
            now.cores_use = (now.cores + of.stolen) / self.cores;
            now.out_of_quota = of.quota.map_or(0.0, |quota| ((engine / quota - 0.5) / 0.5).clamp(0.0, 1.0).powi(2));
            now.read = of.drives.iter().map(|drive| per_s * taken.read[node] + drive.others_read).collect();
            now.written = of.drives.iter().map(|drive| per_s * taken.written[node] + drive.others_write).collect();
            now.at_drive = (0..of.drives.len())
                .map(|drive| {
                    let alone = of.drives[drive].others_read / self.read_bytes_per_s
                        + of.drives[drive].others_write / self.write_bytes_per_s;
                    at[WAYS + 2 + drive] * (1.0 + 0.5 * alone) + alone
                })
                .collect();
            now.client_sent = per_s * share * self.gets * self.object_bytes;
            now.client_received = per_s * share * (1.0 - self.gets) * self.object_bytes;
            let within = if self.shared.is_within { shared * share } else { 0.0 };
            let own: f64 = at[PUBLIC_OUT] + at[PUBLIC_IN] + at[PRIVATE_IN] + at[WAYS] + at[WAYS + 1];
            now.in_flight = own + share * kept + within + 0.3 * per_s * share * self.apart_s;
            now.waiting = if self.shared.is_queue { within } else { 0.0 };
            let full = (0..taken.each).map(|station| per_s * taken.demands[node * taken.each + station]);
            moment.fullest = full.fold(moment.fullest, f64::max);
            moment.nodes.push(now);
        }
        moment
    }

    /// What happens at rest from wandering.
    pub(super) fn still(&self, requests: f64) -> (Moment, f64) {
        let mut flow = Circulation::default();
        let moment = self.moment(&mut flow, &NodeVariation::still(self.nodes.len()), requests);
        (moment, flow.per_s)
    }

    /// Has so many requests under way that the fullest of everything is at this share; requests a second with that.
    pub(super) fn fill(&mut self, share: f64) -> f64 {
        let (mut low, mut high) =
            (1.0_f64, 200.0 * self.nodes.len() as f64 * (1.0 + self.nodes[0].drives.len() as f64));
        for _ in 0..24 {
            let middle = (low * high).sqrt();
            if self.still(middle).0.fullest < share { low = middle } else { high = middle }
        }
        self.requests = high;
        self.still(high).1
    }

    /// Every part of the window.
    pub(super) fn watched(&self, rng: &mut SeededRng) -> Vec<Moment> {
        let (mut flow, mut wandering) = (Circulation::default(), NodeVariation::still(self.nodes.len()));
        let parts = self.scraper.all_parts();
        let [rises, there, ends] = self.phases;
        let moments = (0..parts).map(|part| {
            wandering.go_on(rng);
            let at = part as f64 / parts as f64;
            let load = match at {
                at if at < rises || at > ends => 0.03,
                at if at < there => 0.03 + 0.97 * (at - rises) / (there - rises),
                _ => 1.0,
            };
            self.moment(&mut flow, &wandering, self.requests * load * (0.04 * wandering.requests).exp())
        });
        moments.collect()
    }
}

fn drive_use(flow: &Circulation, taken: &ServedLoad, node: usize) -> f64 {
    flow.queued[node * taken.each + WAYS + 2..(node + 1) * taken.each].iter().sum()
}
