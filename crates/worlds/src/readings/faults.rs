//! What is the matter with a cluster: the table of causes in readings.

use super::scraper::ClockJump;
use super::simulated_cluster::{PRIVATE_IN, PRIVATE_OUT, PUBLIC_IN, PUBLIC_OUT, SharedLimit, SimulatedCluster, WAYS};
use super::{FaultLocation, InjectedFault};
use crate::rng::SeededRng;

fn at(node: usize) -> FaultLocation {
    FaultLocation { node: Some(node), part: None }
}

/// A load that leaves something of everything, and what each node does under it.
fn usual(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> f64 {
    let share = rng.between(0.55, 0.8);
    simulated_cluster.fill(share)
}

/// The way out of nodes, or into them, that carries most under the load.
fn fullest_way(simulated_cluster: &SimulatedCluster, ways: [usize; 2]) -> (usize, f64) {
    let (moment, _) = simulated_cluster.still(simulated_cluster.requests);
    let middle = |way: usize| {
        let mut all: Vec<f64> = moment.nodes.iter().map(|node| node.link[way]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let way = if middle(ways[0]) >= middle(ways[1]) { ways[0] } else { ways[1] };
    (way, middle(way) / simulated_cluster.link_bytes_per_s)
}

fn narrow(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng, ways: [usize; 2], node: usize) {
    let (way, used) = fullest_way(simulated_cluster, ways);
    simulated_cluster.nodes[node].link[way] = used * rng.between(0.35, 0.8);
}

/// Has as many requests under way as what is narrow now can take: clients in a closed loop go on until it is full.
fn pressed(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) {
    let before = simulated_cluster.requests;
    let share = rng.between(0.97, 0.99);
    simulated_cluster.fill(share);
    simulated_cluster.requests = simulated_cluster.requests.max(before);
}

fn sends_slowly(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    narrow(simulated_cluster, rng, [PUBLIC_OUT, PRIVATE_OUT], node);
    pressed(simulated_cluster, rng);
    at(node)
}

fn receives_slowly(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    narrow(simulated_cluster, rng, [PUBLIC_IN, PRIVATE_IN], node);
    pressed(simulated_cluster, rng);
    at(node)
}

fn both_slowly(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    let share = rng.between(0.35, 0.8);
    let used = fullest_way(simulated_cluster, [PUBLIC_OUT, PRIVATE_OUT])
        .1
        .max(fullest_way(simulated_cluster, [PUBLIC_IN, PRIVATE_IN]).1);
    simulated_cluster.nodes[node].link = [share * used; WAYS];
    pressed(simulated_cluster, rng);
    at(node)
}

fn negotiated(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let (node, plane) = (simulated_cluster.any(rng), usize::from(simulated_cluster.planes == 2 && rng.happens(0.5)));
    let share = if simulated_cluster.port_bits_per_s > 10e9 { 0.4 } else { 0.1 };
    let cluster_node = &mut simulated_cluster.nodes[node];
    cluster_node.said_speed[plane] = share;
    (cluster_node.link[2 * plane], cluster_node.link[2 * plane + 1]) = (share, share);
    at(node)
}

fn member_lost(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    simulated_cluster.bonded();
    usual(simulated_cluster, rng);
    let (node, plane) = (simulated_cluster.any(rng), usize::from(simulated_cluster.planes == 2 && rng.happens(0.5)));
    let cluster_node = &mut simulated_cluster.nodes[node];
    cluster_node.said_speed[plane] = 0.5;
    (cluster_node.busiest[2 * plane], cluster_node.busiest[2 * plane + 1]) = (1.0, 1.0);
    at(node)
}

fn one_member(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    simulated_cluster.bonded();
    for node in &mut simulated_cluster.nodes {
        node.busiest = std::array::from_fn(|_| 0.999 - 0.02 * rng.unit());
    }
    let share = rng.between(0.9, 0.97);
    simulated_cluster.fill(share);
    FaultLocation::default()
}

fn drive(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> (usize, usize, FaultLocation) {
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    let drive = ((rng.unit() * simulated_cluster.nodes[node].drives.len() as f64) as usize)
        .min(simulated_cluster.nodes[node].drives.len() - 1);
    (node, drive, FaultLocation { node: Some(node), part: Some(format!("nvme{drive}n1")) })
}

fn slow_drive(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    let (node, drive, place) = drive(simulated_cluster, rng);
    simulated_cluster.nodes[node].drives[drive].pace = rng.factor(0.1, 0.3);
    simulated_cluster.nodes[node].drives[drive].alone_s *= rng.factor(2.0, 5.0);
    place
}

fn failing_drive(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    let (node, drive, place) = drive(simulated_cluster, rng);
    simulated_cluster.nodes[node].drives[drive].pace = rng.between(0.4, 0.9);
    simulated_cluster.nodes[node].drives[drive].alone_s *= rng.factor(8.0, 40.0);
    place
}

fn engine_cores(simulated_cluster: &SimulatedCluster, node: usize) -> f64 {
    let (moment, _) = simulated_cluster.still(simulated_cluster.requests);
    moment.nodes[node].cores - simulated_cluster.nodes[node].others_cores - 0.01 * simulated_cluster.cores
}

fn quota(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    simulated_cluster.nodes[node].quota = Some(engine_cores(simulated_cluster, node) * rng.between(0.4, 0.8));
    at(node)
}

fn quota_everywhere(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let share = rng.between(0.4, 0.8);
    let cores: Vec<f64> =
        (0..simulated_cluster.nodes.len()).map(|node| engine_cores(simulated_cluster, node)).collect();
    let middle = cores.iter().sum::<f64>() / cores.len() as f64;
    simulated_cluster.nodes.iter_mut().for_each(|node| node.quota = Some(share * middle));
    FaultLocation::default()
}

fn other_program(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    simulated_cluster.nodes[node].others_cores = rng.between(0.5, 0.85) * simulated_cluster.cores;
    at(node)
}

fn other_traffic(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let (node, way) = (simulated_cluster.any(rng), [PUBLIC_OUT, PUBLIC_IN][usize::from(rng.happens(0.5))]);
    simulated_cluster.nodes[node].others_link[way] = rng.between(0.3, 0.7) * simulated_cluster.link_bytes_per_s;
    at(node)
}

fn other_drive_work(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    let (node, drive, place) = drive(simulated_cluster, rng);
    let by = rng.between(0.5, 0.85);
    if rng.happens(0.5) {
        simulated_cluster.nodes[node].drives[drive].others_read = by * simulated_cluster.read_bytes_per_s;
    } else {
        simulated_cluster.nodes[node].drives[drive].others_write = by * simulated_cluster.write_bytes_per_s;
    }
    place
}

/// A node's drives are filled anew, by way of the plane among nodes, from what all the others have.
fn healing(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    let each = rng.between(0.3, 0.5) * simulated_cluster.write_bytes_per_s;
    let drives = simulated_cluster.nodes[node].drives.len();
    let all = (each * drives as f64).min(0.5 * simulated_cluster.link_bytes_per_s);
    let (way_in, way_out) =
        if simulated_cluster.planes == 2 { (PRIVATE_IN, PRIVATE_OUT) } else { (PUBLIC_IN, PUBLIC_OUT) };
    let from_each = all / (simulated_cluster.nodes.len() - 1) as f64;
    for (place, of) in simulated_cluster.nodes.iter_mut().enumerate() {
        if place == node {
            of.others_link[way_in] = all;
            of.drives.iter_mut().for_each(|drive| drive.others_write = all / drives as f64);
        } else {
            of.others_link[way_out] = from_each;
            of.drives.iter_mut().for_each(|drive| drive.others_read = from_each / drives as f64);
        }
    }
    at(node)
}

fn losses(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    simulated_cluster.nodes[node].lost = rng.factor(0.005, 0.03);
    // Of few nodes, each sends much to the one that loses, and all send again: then only errors tell which it is.
    simulated_cluster.nodes[node].shows_errors = rng.happens(0.5) || simulated_cluster.nodes.len() < FEW;
    if simulated_cluster.nodes[node].shows_errors {
        simulated_cluster.lacking.retain(|of| *of != "link-errors");
    }
    at(node)
}

/// Fewer nodes than this all send again much of what they send, if one of them loses it.
const FEW: usize = 12;

/// Large packets to and from one node vanish, until paths are probed anew.
fn mtu(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    while simulated_cluster.nodes.len() < FEW {
        *simulated_cluster = SimulatedCluster::draw(rng);
    }
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    simulated_cluster.nodes[node].lost = rng.factor(0.02, 0.1);
    at(node)
}

fn one_entry(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let (node, rest) = (simulated_cluster.any(rng), if rng.happens(0.5) { 1e-6 } else { rng.between(0.02, 0.2) });
    simulated_cluster
        .nodes
        .iter_mut()
        .enumerate()
        .filter(|(place, _)| *place != node)
        .for_each(|(_, of)| of.entry *= rest);
    at(node)
}

fn memory(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    let per_s = usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    simulated_cluster.nodes[node].memory = rng.between(0.25, 0.6);
    simulated_cluster.nodes[node].alone_s = simulated_cluster.nodes.len() as f64 / per_s * rng.between(1.1, 2.0);
    at(node)
}

fn stolen(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    simulated_cluster.nodes[node].stolen = rng.between(0.15, 0.5) * simulated_cluster.cores;
    at(node)
}

fn slow_engine(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    let per_s = usual(simulated_cluster, rng);
    let node = simulated_cluster.any(rng);
    simulated_cluster.nodes[node].alone_s = simulated_cluster.nodes.len() as f64 / per_s * rng.between(1.2, 2.5);
    pressed(simulated_cluster, rng);
    at(node)
}

fn links_full(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    let share = rng.between(0.93, 0.98);
    simulated_cluster.fill(share);
    let out = fullest_way(simulated_cluster, [PUBLIC_OUT, PRIVATE_OUT]);
    let into = fullest_way(simulated_cluster, [PUBLIC_IN, PRIVATE_IN]);
    let way = if out.1 >= into.1 { out.0 } else { into.0 };
    FaultLocation { node: None, part: (simulated_cluster.planes == 1).then(|| simulated_cluster.interfaces(way / 2).0) }
}

fn drives_full(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let (moment, _) = simulated_cluster.still(simulated_cluster.requests);
    let drive = |node: &super::window::NodeMoment| {
        node.read.iter().sum::<f64>() / node.read.len() as f64 / simulated_cluster.read_bytes_per_s
            + node.written.iter().sum::<f64>() / node.read.len() as f64 / simulated_cluster.write_bytes_per_s
    };
    let used = moment.nodes.iter().map(drive).sum::<f64>() / moment.nodes.len() as f64;
    let narrower = used / (moment.fullest * rng.between(1.3, 2.0));
    simulated_cluster.read_bytes_per_s *= narrower;
    simulated_cluster.write_bytes_per_s *= narrower;
    let share = rng.between(0.93, 0.98);
    simulated_cluster.fill(share);
    FaultLocation { node: None, part: Some("drives".to_owned()) }
}

fn processors_full(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let (moment, _) = simulated_cluster.still(simulated_cluster.requests);
    let used = moment.nodes.iter().map(|node| node.cores_use).sum::<f64>() / moment.nodes.len() as f64;
    let more = moment.fullest * rng.between(1.3, 2.0) / used;
    simulated_cluster.effort.iter_mut().for_each(|effort| *effort *= more);
    let share = rng.between(0.93, 0.98);
    simulated_cluster.fill(share);
    FaultLocation { node: None, part: Some(String::new()) }
}

fn at_rest(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    let share = rng.between(0.08, 0.35);
    simulated_cluster.fill(share);
    FaultLocation::default()
}

fn in_use(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    let share = rng.between(0.4, 0.75);
    simulated_cluster.fill(share);
    FaultLocation::default()
}

/// Something that no host counts lets only a share of the requests pass.
fn held(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng, is_within: bool) -> f64 {
    let per_s = usual(simulated_cluster, rng);
    let share = rng.between(0.35, 0.75);
    simulated_cluster.shared = SharedLimit { most_per_s: share * per_s, is_within, wanders: 0.03, is_queue: false };
    share
}

fn lock(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, true);
    FaultLocation::default()
}

fn request_limit(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, true);
    simulated_cluster.shared.is_queue = true;
    FaultLocation::default()
}

fn slow_clients(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, false);
    FaultLocation::default()
}

/// Every client has few requests under way, or small windows: a request takes its time, and nothing waits.
fn few_requests(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    let per_s = usual(simulated_cluster, rng);
    simulated_cluster.requests = (0.1 * simulated_cluster.requests).max(2.0 * simulated_cluster.nodes.len() as f64);
    simulated_cluster.apart_s = simulated_cluster.requests / (per_s * rng.between(0.3, 0.7));
    FaultLocation::default()
}

fn names_slow(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    few_requests(simulated_cluster, rng);
    simulated_cluster.shared = SharedLimit { most_per_s: 1e9, wanders: 0.3, is_within: false, is_queue: false };
    simulated_cluster.wander = 0.05;
    FaultLocation::default()
}

fn between_racks(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, true);
    simulated_cluster.shared.wanders = 0.1;
    let more = rng.factor(3.0, 10.0);
    for node in 0..simulated_cluster.nodes.len() {
        if simulated_cluster.racks < 3 || simulated_cluster.rack(node) < 2 {
            simulated_cluster.again_times[node] *= more;
        }
    }
    FaultLocation::default()
}

fn narrow_uplink(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    usual(simulated_cluster, rng);
    let used = fullest_way(simulated_cluster, [PUBLIC_OUT, PRIVATE_OUT])
        .1
        .max(fullest_way(simulated_cluster, [PUBLIC_IN, PRIVATE_IN]).1);
    simulated_cluster.uplink = Some((0, used * rng.between(0.4, 0.75)));
    let more = rng.factor(1.0, 3.0);
    for node in
        (0..simulated_cluster.nodes.len()).filter(|node| simulated_cluster.rack(*node) == 0).collect::<Vec<usize>>()
    {
        simulated_cluster.again_times[node] *= more;
    }
    FaultLocation::default()
}

fn switch_neighbour(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, true);
    simulated_cluster.shared.wanders = 0.2;
    simulated_cluster.links_wander = 0.2;
    simulated_cluster.again *= rng.factor(3.0, 10.0);
    FaultLocation::default()
}

fn lossy_clients(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, true);
    simulated_cluster.again = rng.factor(2e-3, 1e-2);
    FaultLocation::default()
}

fn clock(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, false);
    let (node, from_s) = (simulated_cluster.any(rng), rng.between(0.3, 0.8) * simulated_cluster.lasts_s());
    let by_s = rng.between(0.5, 3.0) * simulated_cluster.scraper.interval_s * if rng.happens(0.5) { 1.0 } else { -1.0 };
    simulated_cluster.nodes[node].jump = ClockJump { from_s, by_s };
    FaultLocation::default()
}

fn stuck_counter(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, false);
    let node = simulated_cluster.any(rng);
    simulated_cluster.nodes[node].stuck =
        Some(["link-sent", "link-received", "client-sent", "cores-busy"][(rng.unit() * 4.0) as usize % 4]);
    FaultLocation::default()
}

/// Clients ask one node less than the others: a balancer's weights, an address that few know.
fn requested_less(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, false);
    let node = simulated_cluster.any(rng);
    simulated_cluster.nodes[node].entry = rng.between(0.2, 0.6);
    FaultLocation::default()
}

/// Clients read a few objects again and again: those drives of as many nodes do more.
fn hot_objects(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, false);
    let (data, parity) = simulated_cluster.shards;
    let more = rng.between(0.3, 0.6) * simulated_cluster.read_bytes_per_s;
    for node in simulated_cluster.nodes.iter_mut().take((data + parity) as usize) {
        node.drives[0].others_read = more;
    }
    FaultLocation::default()
}

/// Two causes, each too small to be told.
fn two_mild(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, false);
    let (one, other) = (simulated_cluster.any(rng), simulated_cluster.any(rng));
    simulated_cluster.nodes[one].others_cores += 0.05 * simulated_cluster.cores;
    simulated_cluster.nodes[other].drives[0].pace *= 0.9;
    simulated_cluster.nodes[other].drives[0].alone_s *= 1.25;
    FaultLocation::default()
}

fn handshakes(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    few_requests(simulated_cluster, rng);
    let (moment, _) = simulated_cluster.still(simulated_cluster.requests);
    let used = moment.nodes.iter().map(|node| node.cores_use).sum::<f64>() / moment.nodes.len() as f64;
    let more = (rng.between(0.35, 0.65) / used).max(1.0);
    simulated_cluster.effort.iter_mut().for_each(|effort| *effort *= more);
    FaultLocation::default()
}

fn collections(simulated_cluster: &mut SimulatedCluster, rng: &mut SeededRng) -> FaultLocation {
    held(simulated_cluster, rng, true);
    simulated_cluster.shared.wanders = rng.between(0.15, 0.4);
    FaultLocation::default()
}

type FaultApplier = fn(&mut SimulatedCluster, &mut SeededRng) -> FaultLocation;

const fn row(
    name: &'static str,
    stands_for: &'static str,
    (causes, needs): (&'static [&'static str], &'static [&'static str]),
    injected_fault: FaultApplier,
) -> InjectedFault {
    InjectedFault { name, stands_for, causes, alike: &[], needs, is_healthy: false, injected_fault }
}

/// A node at a limit through which what it serves goes in and out in step: that of either link, or of the engine.
const fn one_of_node(row: InjectedFault) -> InjectedFault {
    InjectedFault { alike: &["slow-link-sending", "slow-link-receiving", "slow-node"], ..row }
}

const fn healthy(
    name: &'static str,
    stands_for: &'static str,
    causes: &'static [&'static str],
    injected_fault: FaultApplier,
) -> InjectedFault {
    InjectedFault { name, stands_for, causes, alike: &[], needs: &[], is_healthy: true, injected_fault }
}

const SENDS: &[&str] = &["slow-link-sending"];
const RECEIVES: &[&str] = &["slow-link-receiving"];
const LOSSY: (&[&str], &[&str]) = (&["lossy-link"], &["retransmitted"]);
const SPEED: (&[&str], &[&str]) = (&["link-speed"], &["link-speed"]);
const QUOTA: (&[&str], &[&str]) = (&["quota"], &[]);
const SERVED: (&[&str], &[&str]) = (&["other-work"], &["client-sent", "client-received"]);
const UNDER_WAY: (&[&str], &[&str]) = (&[], &["client-sent", "client-received", "in-flight"]);
const NONE: (&[&str], &[&str]) = (&[], &[]);

/// Every cause: those that a table of suspects can have, those that none has, and what is healthy.
pub const READ_FAULTS: [InjectedFault; 41] = [
    one_of_node(row("sends slowly", "a shaper or a policer of what one port sends", (SENDS, &[]), sends_slowly)),
    one_of_node(row("receives slowly", "the same of what it receives", (RECEIVES, &[]), receives_slowly)),
    one_of_node(row(
        "slow both ways",
        "one port shaped both ways",
        (&["slow-link-sending", "slow-link-receiving"], &[]),
        both_slowly,
    )),
    row("negotiated less", "a port that came up at a lower speed", SPEED, negotiated),
    row("member lost", "a bond of which one member is down", SPEED, member_lost),
    row("one member", "a hash that sends all by one member, everywhere", (&["bond-members"], &[]), one_member),
    row("slow drive", "a drive at a tenth to a third of its pace", (&["slow-drive"], &[]), slow_drive),
    row("failing drive", "a drive that tries again and again", (&["slow-drive"], &[]), failing_drive),
    row("quota", "a container's limit of processors, on one node", QUOTA, quota),
    row("quota everywhere", "the same on all nodes", QUOTA, quota_everywhere),
    row("other program", "another program on one node's processors", (&["busy-processors"], &[]), other_program),
    row("other traffic", "a backup over one node's link", SERVED, other_traffic),
    row("other drive work", "another program on one drive", (&["other-work"], &[]), other_drive_work),
    row("healing", "drives of a node that are filled anew", SERVED, healing),
    row("losses", "a cable or a module that loses packets", LOSSY, losses),
    row("mtu", "a port whose MTU is smaller than its peers'", LOSSY, mtu),
    row("one entry", "clients that know one node only, or mostly", (&["uneven-load"], &[]), one_entry),
    row("memory", "a node that is short of memory", (&["memory"], &["memory-pressure"]), memory),
    row("stolen", "a hypervisor that gives processors to others", (&["stolen-processors"], &[]), stolen),
    one_of_node(row(
        "slow engine",
        "one node's engine that waits for itself",
        (&["slow-node"], &["in-flight"]),
        slow_engine,
    )),
    row("lock", "a lock of the whole engine", NONE, lock),
    row("request limit", "an engine that takes so many requests and no more", NONE, request_limit),
    row("slow clients", "clients whose own links or processors are full", NONE, slow_clients),
    row("few requests", "too few requests in flight, or small windows", NONE, few_requests),
    row("slow names", "a resolver that takes its time", NONE, names_slow),
    row("between racks", "a switch that drops between two racks only", NONE, between_racks),
    row("narrow uplink", "one rack's uplinks", NONE, narrow_uplink),
    row("switch neighbour", "others' traffic on the switches", NONE, switch_neighbour),
    row("lossy clients", "losses at the clients' side", NONE, lossy_clients),
    row("clock", "a scraper's clock that jumps, and slow clients", NONE, clock),
    row("stuck counter", "a counter that stands still, and slow clients", NONE, stuck_counter),
    row("asked less", "a node that clients ask less, and slow clients", UNDER_WAY, requested_less),
    row("hot objects", "a few objects that all read, and slow clients", NONE, hot_objects),
    row("two mild", "two small causes, and slow clients", NONE, two_mild),
    row("handshakes", "a new connection for each request", NONE, handshakes),
    row("collections", "pauses of a runtime, on all nodes", NONE, collections),
    healthy("at rest", "a load that is small", &[], at_rest),
    healthy("in use", "a load that leaves something of everything", &[], in_use),
    healthy("links full", "as much as links carry", &["full"], links_full),
    healthy("drives full", "as much as drives do", &["full"], drives_full),
    healthy("processors full", "as much as processors do", &["full"], processors_full),
];
