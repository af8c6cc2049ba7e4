//! Fleets whose links are known, and what is measured of them.

use linerate_record::machine::{Machine, MachineNic};
use linerate_record::net::{
    NET_SCHEMA, NetLoad, NetMachine, NetNode, NetOffloads, NetOp, NetPair, NetRoute, NetRun, NetSent, NetVisit, NetWay,
};
use linerate_worlds::SeededRng;

use crate::net::{NetVisitPlan, rounds, sampled, turns};

/// Something that is slow by a factor.
#[derive(Clone, Copy, Debug)]
pub(super) enum InjectedSlowness {
    Sender(u32, f64),
    Receiver(u32, f64),
    Pair(u32, u32, f64),
    /// All pairs of the visit with this number.
    Visit(u32, f64),
    /// Such a share of the visits of each pair.
    NowAndThen(f64, f64),
    /// What a machine sends and receives, up to the visit with this number.
    Until(u32, u32, f64),
}

/// A fleet and how it is measured.
#[derive(Clone, Debug)]
pub(super) struct LinkWorld {
    pub(super) nodes: u32,
    pub(super) way: NetWay,
    /// Rounds that are measured, at the most.
    pub(super) rounds: usize,
    pub(super) visits: u32,
    pub(super) streams: Vec<u32>,
    /// What machines, pairs and visits of a pair scatter by.
    pub(super) scatter: [f64; 3],
    pub(super) plants: Vec<InjectedSlowness>,
    pub(super) seed: u64,
}

impl LinkWorld {
    pub(super) fn healthy(nodes: u32, seed: u64) -> LinkWorld {
        LinkWorld {
            nodes,
            way: NetWay::Ring,
            rounds: 8,
            visits: 3,
            streams: vec![4],
            scatter: [0.01, 0.01, 0.02],
            plants: Vec::new(),
            seed,
        }
    }

    pub(super) fn with(self, plants: &[InjectedSlowness]) -> LinkWorld {
        LinkWorld { plants: plants.to_vec(), ..self }
    }
}

const INTERVALS: usize = 20;

/// Goodput of a healthy pair, in bytes per second: 16 of 25 Gb/s, so that no port is full.
pub(super) const USUAL: f64 = 2e9;

pub(super) fn run(world: &LinkWorld) -> NetRun {
    let nic = MachineNic {
        name: "eth0".to_owned(),
        speed_bits_per_s: Some(25_000_000_000),
        mtu_bytes: 9_000,
        ..MachineNic::default()
    };
    let node = |at: u32| NetNode {
        name: format!("n{}", at + 1),
        address: format!("10.0.{}.{}", at / 250, at % 250 + 1),
        interface: "eth0".to_owned(),
        machine: Machine { cpus: 16, nics: vec![nic.clone()], ..Machine::default() },
        place: None,
        rack: None,
    };
    NetRun {
        schema: NET_SCHEMA,
        linerate: "0.0.0".to_owned(),
        began_unix_ms: 1_800_000_000_000,
        command: vec!["linerate".to_owned(), "net".to_owned()],
        seed: world.seed,
        load: NetLoad {
            op: NetOp::Stream,
            way: world.way,
            streams: world.streams.clone(),
            is_searched: false,
            duration_ms: 10_000,
            warmup_ms: 2_000,
            interval_ms: 500,
            visits: world.visits,
            send_bytes: 1 << 20,
            max_bytes_per_s: None,
            offloads: NetOffloads::default(),
            sampled_of_rounds: None,
            members: None,
        },
        requested_visits: None,
        nodes: (0..world.nodes).map(node).collect(),
        against: None,
        stated_oversubscription: None,
        bonds_by_model: Vec::new(),
        remarks: Vec::new(),
    }
}

/// What every pair can do, by sender and receiver.
fn truth(world: &LinkWorld, rng: &mut SeededRng) -> Vec<Vec<f64>> {
    let nodes = world.nodes as usize;
    let [of_node, of_pair, _] = world.scatter;
    let sends: Vec<f64> = (0..nodes).map(|_| (of_node * rng.normal()).exp()).collect();
    let receives: Vec<f64> = (0..nodes).map(|_| (of_node * rng.normal()).exp()).collect();
    let pair = |from: usize, to: usize, rng: &mut SeededRng| {
        let mut rate = USUAL * sends[from] * receives[to] * (of_pair * rng.normal()).exp();
        for plant in &world.plants {
            match *plant {
                InjectedSlowness::Sender(node, factor) if node as usize == from => rate *= factor,
                InjectedSlowness::Receiver(node, factor) if node as usize == to => rate *= factor,
                InjectedSlowness::Pair(a, b, factor) if (a as usize, b as usize) == (from, to) => rate *= factor,
                _ => {}
            }
        }
        rate
    };
    (0..nodes).map(|from| (0..nodes).map(|to| pair(from, to, rng)).collect()).collect()
}

/// Intervals of a visit, neighbours correlated.
fn intervals(rate: f64, rng: &mut SeededRng) -> Vec<u64> {
    let mut x = rng.normal();
    let mut one = || {
        x = 0.5 * x + 0.87 * rng.normal();
        (0.5 * rate * (0.01 * x).exp()) as u64
    };
    (0..INTERVALS).map(|_| one()).collect()
}

pub(super) fn visits(world: &LinkWorld) -> Vec<NetVisit> {
    let mut rng = SeededRng::new(world.seed, 77);
    let truth = truth(world, &mut rng);
    let all = sampled(&rounds(world.nodes, world.way), world.rounds, world.seed);
    let order = turns(all.len(), &world.streams, world.visits, world.seed);
    let visit = |(number, turn): (u32, &NetVisitPlan)| {
        let slow = world.plants.iter().filter_map(|plant| match plant {
            InjectedSlowness::Visit(visit, factor) if *visit == number => Some(*factor),
            _ => None,
        });
        let of_visit: f64 = slow.product();
        let pairs = all[turn.round as usize].iter().map(|&(from, to)| {
            let scattered = (world.scatter[2] * rng.normal()).exp();
            let of_time = |plant: &InjectedSlowness| match *plant {
                InjectedSlowness::NowAndThen(share, factor) if rng.happens(share) => factor,
                InjectedSlowness::Until(node, last, factor) if number <= last && [from, to].contains(&node) => factor,
                _ => 1.0,
            };
            let of_time: f64 = world.plants.iter().map(of_time).product();
            let rate = truth[from as usize][to as usize] * scattered * of_visit * of_time;
            pair(from, to, turn.streams, intervals(rate, &mut rng))
        });
        let pairs = pairs.collect();
        NetVisit { machines: (0..world.nodes).map(machine).collect(), ..of_turn(number, turn, pairs) }
    };
    (1..).zip(&order).map(visit).collect()
}

/// The visit that is due in a turn, without readings of machines.
pub(super) fn of_turn(number: u32, turn: &NetVisitPlan, pairs: Vec<NetPair>) -> NetVisit {
    NetVisit {
        visit: number,
        repetition: turn.repetition,
        round: turn.round,
        streams: turn.streams,
        member: None,
        through: NetRoute::Direct,
        at_ms: 12_000 * u64::from(number),
        pairs,
        machines: Vec::new(),
    }
}

/// A pair of which nothing at either end is full.
pub(super) fn pair(from: u32, to: u32, streams: u32, received_bytes: Vec<u64>) -> NetPair {
    let bytes: u64 = received_bytes.iter().sum();
    NetPair {
        from,
        to,
        stream_bytes: vec![bytes / u64::from(streams); streams as usize],
        received_bytes,
        sent: NetSent {
            acknowledged_bytes: bytes,
            segments: bytes / 8_948,
            busy_us: 12_000_000 * u64::from(streams),
            round_trip_us: 180,
            least_round_trip_us: 40,
            congestion_window_segments: 64,
            segment_bytes: 8_948,
            ..NetSent::default()
        },
        ..NetPair::default()
    }
}

pub(super) fn machine(node: u32) -> NetMachine {
    NetMachine {
        node,
        over_ms: 10_000,
        send_cpu_ns: 4_000_000_000,
        send_busiest_ns: 3_000_000_000,
        receive_cpu_ns: 6_000_000_000,
        receive_busiest_ns: 5_000_000_000,
        values: Vec::new(),
        members: Vec::new(),
        queues: Vec::new(),
    }
}
