//! A storage cluster under a closed loop, piece by piece: nodes whose links carry one piece after the other.
//!
//! Each node has a link in and a link out; each takes a time of 1 for an object and serves in the order of arrival. An
//! object is moved in pieces, which are passed on as they come. A request goes to any node; when its last piece has
//! arrived, the next one begins. Clients may be the nodes themselves: then a piece goes out of one and into the other,
//! or takes no link where a node asks itself.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::rng::SeededRng;

/// Where clients are, and whom they ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientPlacement {
    /// On machines with links that never are full, each request to any node.
    Elsewhere,
    /// The same, with as many requests at each node, as far as that can be.
    ElsewhereAtEach,
    /// The same, which ask the nodes in turn.
    ElsewhereInTurn,
    /// On the nodes, each of which asks any node, itself too.
    OnNodes,
    /// On the nodes, each of which asks itself alone.
    AtHome,
}

/// Nodes of one drive each, and how objects are cut over them.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    pub nodes: usize,
    /// Shards of an object, each on a node of its own.
    pub shards: usize,
    pub clients: ClientPlacement,
    /// Shards that an object is read from.
    pub data: usize,
    /// Pieces in which an object is passed on.
    pub pieces: usize,
    /// Times that the serving node asks all nodes something small after a write's last piece and waits for the last
    /// answer: a lock, a commit. What it asks waits behind what is on the links.
    pub rounds: usize,
}

/// A node whose links, in both directions, carry a share of what the others' do.
#[derive(Clone, Copy, Debug)]
pub struct SlowNode {
    pub node: usize,
    pub share: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Any `data` shards go to the node that serves, and the object from there.
    Get,
    /// The object goes to the node that serves, and its shards from there to their nodes.
    Put,
}

/// Objects that end in the time that a link takes for one, with so many requests in flight: over `requests`, after as
/// many again for settling. Where clients are the nodes, these keep as many each, as far as that can be.
#[must_use]
pub fn objects_per_link_time(
    cluster: Cluster,
    requested: Operation,
    in_flight: usize,
    requests: usize,
    seed: u64,
) -> f64 {
    objects_of_nodes(cluster, None, requested, in_flight, requests, seed).iter().sum()
}

/// The same of what each node serves, where one may be slow.
#[must_use]
pub fn objects_of_nodes(
    cluster: Cluster,
    slow: Option<SlowNode>,
    requested: Operation,
    in_flight: usize,
    requests: usize,
    seed: u64,
) -> Vec<f64> {
    let mut run = Run {
        cluster,
        slow,
        served: vec![0; cluster.nodes],
        begun: 0,
        requested,
        rng: SeededRng::new(seed, 7),
        links: vec![VecDeque::new(); 3 * cluster.nodes],
        ends: BinaryHeap::new(),
        sent: 0,
        flights: Vec::new(),
        now: 0.0,
    };
    for place in 0..in_flight {
        run.flights.push(Flight::default());
        run.begin(place);
    }
    let (mut ended, mut settled_at) = (0, 0.0);
    while let Some(Reverse((Due(at), _, link))) = run.ends.pop() {
        run.now = at;
        if run.passed(link) {
            ended += 1;
            if ended == requests {
                settled_at = at;
                run.served.fill(0);
            }
            if ended == 2 * requests {
                break;
            }
        }
    }
    run.served.iter().map(|served| f64::from(*served) / (run.now - settled_at)).collect()
}

/// A request in flight.
#[derive(Clone, Default)]
struct Flight {
    /// The node that serves it.
    at: usize,
    /// Nodes that have its shards.
    holders: Vec<usize>,
    /// Shards of each piece that are still to come.
    missing: Vec<usize>,
    /// Pieces that have arrived.
    arrived: usize,
}

/// A piece, or a shard of one, on a link.
#[derive(Clone, Copy)]
struct Part {
    flight: usize,
    piece: usize,
    takes: f64,
    /// The whole piece is between client and node; else the link that a shard goes on to.
    whole: bool,
    then: Option<usize>,
}

/// An instant, in times of a link, with an order.
#[derive(Clone, Copy, PartialEq)]
struct Due(f64);

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

struct Run {
    cluster: Cluster,
    slow: Option<SlowNode>,
    /// Requests that each node has ended.
    served: Vec<u32>,
    /// Requests that were begun.
    begun: usize,
    requested: Operation,
    rng: SeededRng,
    /// Links out of each node, then those in, then what each node moves to itself in no time: what is on them, the
    /// first being moved.
    links: Vec<VecDeque<Part>>,
    /// When the first of a link has passed, in the order in which it was begun.
    ends: BinaryHeap<Reverse<(Due, u64, usize)>>,
    sent: u64,
    flights: Vec<Flight>,
    now: f64,
}

impl Run {
    fn begin(&mut self, place: usize) {
        let Cluster { nodes, shards, data, pieces, rounds, clients } = self.cluster;
        let mut order: Vec<usize> = (0..nodes).collect();
        for last in (1..nodes).rev() {
            let other = (self.rng.unit() * (last + 1) as f64) as usize;
            order.swap(last, other.min(last));
        }
        let any = ((self.rng.unit() * nodes as f64) as usize).min(nodes - 1);
        let is_fixed = matches!(clients, ClientPlacement::AtHome | ClientPlacement::ElsewhereAtEach);
        let at = match clients {
            _ if is_fixed => place % nodes,
            ClientPlacement::ElsewhereInTurn => self.begun % nodes,
            _ => any,
        };
        self.begun += 1;
        order.truncate(if self.requested == Operation::Get { data } else { shards });
        let missing = vec![order.len(); pieces + rounds];
        self.flights[place] = Flight { at, holders: order, missing, arrived: 0 };
        for piece in 0..pieces {
            match self.requested {
                Operation::Get => self.shards(place, piece),
                Operation::Put => self.whole(place, piece),
            }
        }
    }

    /// Sends the shards of a piece; one of the node itself is there at once.
    fn shards(&mut self, place: usize, piece: usize) {
        let Cluster { nodes, data, pieces, .. } = self.cluster;
        let (at, holders) = (self.flights[place].at, self.flights[place].holders.clone());
        let takes = if piece < pieces { 1.0 / (data * pieces) as f64 } else { 0.0 };
        for holder in holders {
            let (from, to) = if self.requested == Operation::Get { (holder, at) } else { (at, holder) };
            if holder == at {
                self.flights[place].missing[piece] -= 1;
            } else {
                self.put_on(from, Part { flight: place, piece, takes, whole: false, then: Some(nodes + to) });
            }
        }
        if self.requested == Operation::Get && self.flights[place].missing[piece] == 0 {
            self.whole(place, piece);
        }
    }

    /// Moves a whole piece between a client and the node that serves it.
    fn whole(&mut self, place: usize, piece: usize) {
        let Cluster { nodes, pieces, clients, .. } = self.cluster;
        let (at, from) = (self.flights[place].at, place % nodes);
        let reads = self.requested == Operation::Get;
        let (out, into) = if reads { (at, nodes + from) } else { (from, nodes + at) };
        let takes = 1.0 / pieces as f64;
        let are_elsewhere = !matches!(clients, ClientPlacement::OnNodes | ClientPlacement::AtHome);
        let (link, then, takes) = if are_elsewhere {
            (if reads { out } else { into }, None, takes)
        } else if at == from {
            (2 * nodes + at, None, 0.0)
        } else {
            (out, Some(into), takes)
        };
        self.put_on(link, Part { flight: place, piece, takes, whole: true, then });
    }

    fn put_on(&mut self, link: usize, part: Part) {
        self.links[link].push_back(part);
        if self.links[link].len() == 1 {
            self.move_first(link);
        }
    }

    fn move_first(&mut self, link: usize) {
        if let Some(part) = self.links[link].front() {
            self.sent += 1;
            let is_slow = |slow: &SlowNode| link < 2 * self.cluster.nodes && link % self.cluster.nodes == slow.node;
            let speed = self.slow.filter(is_slow).map_or(1.0, |slow| slow.share);
            self.ends.push(Reverse((Due(self.now + part.takes / speed), self.sent, link)));
        }
    }

    /// The first of a link has passed: whether that ended a request.
    fn passed(&mut self, link: usize) -> bool {
        let Some(part) = self.links[link].pop_front() else { return false };
        self.move_first(link);
        if let Some(next) = part.then {
            self.put_on(next, Part { then: None, ..part });
            return false;
        }
        match (self.requested, part.whole) {
            (Operation::Put, true) => {
                self.shards(part.flight, part.piece);
                return false;
            }
            (_, true) => return self.arrived(part.flight),
            (_, false) => self.flights[part.flight].missing[part.piece] -= 1,
        }
        if self.flights[part.flight].missing[part.piece] > 0 {
            return false;
        }
        if self.requested == Operation::Get {
            self.whole(part.flight, part.piece);
            return false;
        }
        self.arrived(part.flight)
    }

    fn arrived(&mut self, place: usize) -> bool {
        let Cluster { pieces, rounds, .. } = self.cluster;
        let rounds = if self.requested == Operation::Put { rounds } else { 0 };
        self.flights[place].arrived += 1;
        let arrived = self.flights[place].arrived;
        let ended = arrived == pieces + rounds;
        if ended {
            self.served[self.flights[place].at] += 1;
            self.begin(place);
        } else if arrived >= pieces {
            self.shards(place, arrived);
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_alone_takes_the_sum_of_its_links_for_one_piece() {
        // Two nodes: the only shard comes from the node itself in half of the requests, else over two links.
        let cluster =
            Cluster { nodes: 2, shards: 2, data: 1, pieces: 1, rounds: 0, clients: ClientPlacement::Elsewhere };
        let rate = objects_per_link_time(cluster, Operation::Get, 1, 20_000, 1);
        assert!((1.0 / rate - 2.0).abs() < 0.02, "{rate}");
    }

    #[test]
    fn many_requests_reach_what_the_links_carry() {
        // Out of each of four nodes go 1.75 bytes for a byte that is read, into each 2.5 for one that is written.
        // Where clients are on the nodes, 3/4 of what they ask leave them; where each asks itself, nothing does.
        for (clients, get, put) in [
            (ClientPlacement::Elsewhere, 1.75, 2.5),
            (ClientPlacement::OnNodes, 1.5, 2.25),
            (ClientPlacement::AtHome, 0.75, 1.5),
        ] {
            let cluster = Cluster { nodes: 4, shards: 4, data: 2, pieces: 8, rounds: 0, clients };
            for (requested, moved) in [(Operation::Get, get), (Operation::Put, put)] {
                let (rate, most) = (objects_per_link_time(cluster, requested, 256, 4_000, 1), 4.0 / moved);
                assert!((0.95..1.02).contains(&(rate / most)), "{clients:?} {requested:?}: {rate} of {most}");
            }
        }
    }
}
