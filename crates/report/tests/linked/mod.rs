//! What was measured of the links of a made-up fleet, of which the second machine sends slowly.

use linerate_analysis::net::view::NetView;
use linerate_analysis::net::{rounds, splits, turns, view};
use linerate_record::histogram::{empty as no_times, encode};
use linerate_record::machine::{Machine, MachineNic};
use linerate_record::net::{
    NET_SCHEMA, NetClassComparison, NetDatagrams, NetExchanges, NetIcmpReply, NetLoad, NetLocation, NetMachine,
    NetNode, NetOffloads, NetOp, NetPair, NetProbeSize, NetProbed, NetRoute, NetRun, NetSent, NetSpace, NetVisit,
    NetWay,
};

/// Bytes per second of a pair that nothing slows: 24.0 Gb/s.
const USUAL: f64 = 3e9;

fn run(nodes: u32, streams: &[u32], visits: u32) -> NetRun {
    let nic = MachineNic {
        name: "eth0".to_owned(),
        speed_bits_per_s: Some(25_000_000_000),
        mtu_bytes: 9_000,
        ..MachineNic::default()
    };
    let node = |at: u32| NetNode {
        name: format!("node{:02}", at + 1),
        address: format!("10.0.{}.{}", at / 250, at % 250 + 1),
        interface: "eth0".to_owned(),
        machine: Machine { cpus: 16, nics: vec![nic.clone()], ..Machine::default() },
        place: None,
        rack: None,
    };
    NetRun {
        schema: NET_SCHEMA,
        linerate: "1.2.3".to_owned(),
        began_unix_ms: 1_800_000_000_000,
        command: ["linerate", "net", "--fleet", "fleet.yaml"].map(str::to_owned).to_vec(),
        seed: 7,
        load: NetLoad {
            op: NetOp::Stream,
            way: NetWay::Ring,
            streams: streams.to_vec(),
            is_searched: false,
            duration_ms: 10_000,
            warmup_ms: 2_000,
            interval_ms: 500,
            visits,
            send_bytes: 1 << 20,
            max_bytes_per_s: None,
            offloads: NetOffloads::default(),
            sampled_of_rounds: None,
            members: None,
        },
        requested_visits: None,
        nodes: (0..nodes).map(node).collect(),
        against: None,
        stated_oversubscription: None,
        bonds_by_model: Vec::new(),
        remarks: vec!["hosts are in two racks".to_owned()],
    }
}

/// Between -1 and 1, another for each number.
fn wobble(number: u32) -> f64 {
    f64::from(number.wrapping_mul(2_654_435_769) >> 8) / f64::from(1_u32 << 23) - 1.0
}

fn pair(from: u32, to: u32, streams: u32, number: u32) -> NetPair {
    let of_streams = if streams == 1 { 0.6 } else { 0.97 };
    let of_sender = if from == 1 { 0.55 } else { 1.0 };
    let own = 1.0 + 0.01 * wobble(1_000 * from + to) + 0.004 * wobble(number.wrapping_mul(7_919) + 31 * from + to);
    let bytes_per_s = USUAL * of_streams * of_sender * own;
    let received = |interval: u32| (0.5 * bytes_per_s * (1.0 + 0.002 * wobble(interval + number))) as u64;
    let received_bytes: Vec<u64> = (0..20).map(received).collect();
    let bytes: u64 = received_bytes.iter().sum();
    NetPair {
        from,
        to,
        received_bytes,
        stream_bytes: vec![bytes / u64::from(streams); streams as usize],
        sent: NetSent {
            acknowledged_bytes: bytes,
            segments: bytes / 8_948,
            retransmitted_segments: bytes / 8_948 / 4_000,
            busy_us: 12_000_000 * u64::from(streams),
            round_trip_us: 210,
            least_round_trip_us: 45,
            congestion_window_segments: 70,
            segment_bytes: 8_948,
            ..NetSent::default()
        },
        ..NetPair::default()
    }
}

fn machine(node: u32, streams: u32) -> NetMachine {
    let busiest_ns = if streams == 1 || node == 1 { 9_900_000_000 } else { 6_000_000_000 };
    NetMachine {
        node,
        over_ms: 10_000,
        send_cpu_ns: 11_000_000_000,
        send_busiest_ns: busiest_ns,
        receive_cpu_ns: 14_000_000_000,
        receive_busiest_ns: 7_000_000_000,
        values: Vec::new(),
        members: Vec::new(),
        queues: Vec::new(),
    }
}

fn visits(nodes: u32, run: &NetRun) -> Vec<NetVisit> {
    visits_for(&rounds(nodes, NetWay::Ring), run)
}

fn visits_for(all: &[Vec<(u32, u32)>], run: &NetRun) -> Vec<NetVisit> {
    let order = turns(all.len(), &run.load.streams, run.load.visits, run.seed);
    let visit = |(number, turn): (u32, &linerate_analysis::net::NetVisitPlan)| NetVisit {
        visit: number,
        repetition: turn.repetition,
        round: turn.round,
        streams: turn.streams,
        member: None,
        through: NetRoute::Direct,
        at_ms: 12_000 * u64::from(number),
        pairs: all[turn.round as usize].iter().map(|&(from, to)| pair(from, to, turn.streams, number)).collect(),
        machines: (0..run.nodes.len() as u32).map(|node| machine(node, turn.streams)).collect(),
    };
    (1..).zip(&order).map(visit).collect()
}

/// Two hosts with an agent of their own and a pod each, measured at their own addresses: pods against hosts.
pub(crate) fn placed() -> NetView {
    let mut run = run(4, &[1, 8], 3);
    for (place, node) in run.nodes.iter_mut().enumerate() {
        let space = if place < 2 { NetSpace::Host } else { NetSpace::Pod };
        node.place = Some(NetLocation { host: format!("n{}", place % 2 + 1), space, service: None, second: None });
    }
    let class = |text: &str| text.parse().expect("a class");
    let (class, base) = (class("other/pod-pod"), class("other/host-host"));
    run.against = Some(NetClassComparison { class, base, overlay_bytes: Some(50) });
    view(&run, &visits(4, &run))
}

/// Four racks of two machines, of which half of what the machines can send is carried to others.
pub(crate) fn racked() -> NetView {
    let mut run = run(8, &[1, 8], 3);
    let rack = |node: u32| node as usize / 2;
    for (place, node) in (0_u32..).zip(&mut run.nodes) {
        node.rack = Some(format!("r{}", rack(place)));
    }
    (run.load.way, run.load.sampled_of_rounds, run.stated_oversubscription) = (NetWay::Bisection, Some(6), Some(1.5));
    let racks: Vec<usize> = (0..8).map(rack).collect();
    let mut visits = visits_for(&splits(&racks, 4, run.seed).rounds, &run);
    for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs).filter(|pair| rack(pair.from) != rack(pair.to)) {
        pair.received_bytes.iter_mut().for_each(|bytes| *bytes /= 2);
    }
    view(&run, &visits)
}

/// So many machines, one and eight streams, three visits of each.
pub(crate) fn linked(nodes: u32) -> NetView {
    let run = run(nodes, &[1, 8], 3);
    view(&run, &visits(nodes, &run))
}

/// All pairs of many machines with one number of streams, once.
pub(crate) fn largest() -> NetView {
    let run = run(204, &[8], 1);
    view(&run, &visits(204, &run))
}

/// The same four machines of which one pair was never connected.
pub(crate) fn failed() -> NetView {
    let run = run(4, &[8], 3);
    let mut visits = visits(4, &run);
    let lost = visits.iter_mut().flat_map(|visit| &mut visit.pairs).filter(|pair| (pair.from, pair.to) == (3, 0));
    for pair in lost {
        (pair.received_bytes, pair.error) = (Vec::new(), Some("connection to 10.0.0.1:7007 refused".to_owned()));
    }
    view(&run, &visits)
}

/// Machines of which this is measured, of what was counted as bytes of streams.
fn of_op(op: NetOp, change: fn(&mut NetPair)) -> NetView {
    let mut run = run(4, &[8], 3);
    run.load.op = op;
    let mut visits = visits(4, &run);
    visits.iter_mut().flat_map(|visit| &mut visit.pairs).for_each(change);
    view(&run, &visits)
}

fn exchanges(pair: &mut NetPair) {
    let interval_counts: Vec<u64> = pair.received_bytes.iter().map(|bytes| bytes >> 16).collect();
    let mut times = no_times();
    let all: u64 = interval_counts.iter().sum();
    times.record_n(85_000, all - all / 50).expect("it is within an hour");
    times.record_n(420_000, all / 50).expect("it is within an hour");
    pair.exchanges = Some(NetExchanges { interval_counts, times: encode(&times) });
}

/// Four machines that ask each other.
pub(crate) fn requested() -> NetView {
    of_op(NetOp::Request { request_bytes: 1, answer_bytes: 4_096 }, exchanges)
}

/// Four machines that connect to each other.
pub(crate) fn connected() -> NetView {
    of_op(NetOp::Connect, exchanges)
}

/// Four machines that send datagrams to each other.
pub(crate) fn datagrams() -> NetView {
    of_op(NetOp::Udp { datagram_bytes: 1_472 }, |pair| {
        let received = pair.received_bytes.iter().sum::<u64>() / 1_472;
        let (missing, jitter_ns) = (received / 200, 7_300);
        let sent = received + missing;
        pair.datagrams =
            Some(NetDatagrams { sent, received, missing, reordered: 12, duplicates: 3, socket_drops: 40, jitter_ns });
    })
}

/// Four machines between which packets are probed: to the second one, long ones are lost, and from the first to the
/// last, a router says what it carries.
pub(crate) fn probed() -> NetView {
    of_op(NetOp::Mtu, |pair| {
        let size = |bytes, sent, received| NetProbeSize { bytes, sent, received, refused: 0 };
        let less = |carried| vec![size(576, 1, 1), size(carried, 1, 1), size(carried + 1, 6, 0), size(9_000, 3, 0)];
        let probed_path =
            |sizes, taken, icmp| NetProbed { interface_bytes: 9_000, taken_bytes: Some(taken), icmp, sizes };
        let icmp = NetIcmpReply { mtu_bytes: 1_450, by: "10.0.9.1".parse().expect("an address") };
        let of_path = match (pair.from, pair.to) {
            (_, 1) => probed_path(less(1_500), 9_000, None),
            (0, 3) => probed_path(less(1_450), 1_450, Some(icmp)),
            _ => probed_path(vec![size(9_000, 1, 1)], 9_000, None),
        };
        (pair.probed, pair.sent) = (vec![of_path; 8], NetSent::default());
    })
}

/// A run of which nothing came.
pub(crate) fn empty() -> NetView {
    view(&run(4, &[8], 3), &[])
}
