//! What is the matter with a hall: the table of causes in readings.

use super::hall::{Hall, PRIVATE_IN, PRIVATE_OUT, PUBLIC_IN, PUBLIC_OUT, SharedLimit, WAYS};
use super::scrape::ClockJump;
use super::{ReadPlant, Whereabouts};
use crate::dice::Dice;

fn at(node: usize) -> Whereabouts {
    Whereabouts { node: Some(node), part: None }
}

/// A load that leaves something of everything, and what each node does under it.
fn usual(hall: &mut Hall, dice: &mut Dice) -> f64 {
    let share = dice.between(0.55, 0.8);
    hall.fill(share)
}

/// The way out of nodes, or into them, that carries most under the load.
fn fullest_way(hall: &Hall, ways: [usize; 2]) -> (usize, f64) {
    let (moment, _) = hall.still(hall.requests);
    let middle = |way: usize| {
        let mut all: Vec<f64> = moment.nodes.iter().map(|node| node.link[way]).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let way = if middle(ways[0]) >= middle(ways[1]) { ways[0] } else { ways[1] };
    (way, middle(way) / hall.link_bytes_per_s)
}

fn narrow(hall: &mut Hall, dice: &mut Dice, ways: [usize; 2], node: usize) {
    let (way, used) = fullest_way(hall, ways);
    hall.nodes[node].link[way] = used * dice.between(0.35, 0.8);
}

/// Has as many requests under way as what is narrow now can take: clients in a closed loop go on until it is full.
fn pressed(hall: &mut Hall, dice: &mut Dice) {
    let before = hall.requests;
    let share = dice.between(0.97, 0.99);
    hall.fill(share);
    hall.requests = hall.requests.max(before);
}

fn sends_slowly(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let node = hall.any(dice);
    narrow(hall, dice, [PUBLIC_OUT, PRIVATE_OUT], node);
    pressed(hall, dice);
    at(node)
}

fn receives_slowly(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let node = hall.any(dice);
    narrow(hall, dice, [PUBLIC_IN, PRIVATE_IN], node);
    pressed(hall, dice);
    at(node)
}

fn both_slowly(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let node = hall.any(dice);
    let share = dice.between(0.35, 0.8);
    let used = fullest_way(hall, [PUBLIC_OUT, PRIVATE_OUT]).1.max(fullest_way(hall, [PUBLIC_IN, PRIVATE_IN]).1);
    hall.nodes[node].link = [share * used; WAYS];
    pressed(hall, dice);
    at(node)
}

fn negotiated(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let (node, plane) = (hall.any(dice), usize::from(hall.planes == 2 && dice.happens(0.5)));
    let share = if hall.port_bits_per_s > 10e9 { 0.4 } else { 0.1 };
    let of = &mut hall.nodes[node];
    of.said_speed[plane] = share;
    (of.link[2 * plane], of.link[2 * plane + 1]) = (share, share);
    at(node)
}

fn member_lost(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    hall.bonded();
    usual(hall, dice);
    let (node, plane) = (hall.any(dice), usize::from(hall.planes == 2 && dice.happens(0.5)));
    let of = &mut hall.nodes[node];
    of.said_speed[plane] = 0.5;
    (of.busiest[2 * plane], of.busiest[2 * plane + 1]) = (1.0, 1.0);
    at(node)
}

fn one_member(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    hall.bonded();
    for node in &mut hall.nodes {
        node.busiest = std::array::from_fn(|_| 0.999 - 0.02 * dice.unit());
    }
    let share = dice.between(0.9, 0.97);
    hall.fill(share);
    Whereabouts::default()
}

fn drive(hall: &mut Hall, dice: &mut Dice) -> (usize, usize, Whereabouts) {
    usual(hall, dice);
    let node = hall.any(dice);
    let drive = ((dice.unit() * hall.nodes[node].drives.len() as f64) as usize).min(hall.nodes[node].drives.len() - 1);
    (node, drive, Whereabouts { node: Some(node), part: Some(format!("nvme{drive}n1")) })
}

fn slow_drive(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    let (node, drive, place) = drive(hall, dice);
    hall.nodes[node].drives[drive].pace = dice.factor(0.1, 0.3);
    hall.nodes[node].drives[drive].alone_s *= dice.factor(2.0, 5.0);
    place
}

fn failing_drive(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    let (node, drive, place) = drive(hall, dice);
    hall.nodes[node].drives[drive].pace = dice.between(0.4, 0.9);
    hall.nodes[node].drives[drive].alone_s *= dice.factor(8.0, 40.0);
    place
}

fn engine_cores(hall: &Hall, node: usize) -> f64 {
    let (moment, _) = hall.still(hall.requests);
    moment.nodes[node].cores - hall.nodes[node].others_cores - 0.01 * hall.cores
}

fn quota(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let node = hall.any(dice);
    hall.nodes[node].quota = Some(engine_cores(hall, node) * dice.between(0.4, 0.8));
    at(node)
}

fn quota_everywhere(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let share = dice.between(0.4, 0.8);
    let cores: Vec<f64> = (0..hall.nodes.len()).map(|node| engine_cores(hall, node)).collect();
    let middle = cores.iter().sum::<f64>() / cores.len() as f64;
    hall.nodes.iter_mut().for_each(|node| node.quota = Some(share * middle));
    Whereabouts::default()
}

fn other_program(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let node = hall.any(dice);
    hall.nodes[node].others_cores = dice.between(0.5, 0.85) * hall.cores;
    at(node)
}

fn other_traffic(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let (node, way) = (hall.any(dice), [PUBLIC_OUT, PUBLIC_IN][usize::from(dice.happens(0.5))]);
    hall.nodes[node].others_link[way] = dice.between(0.3, 0.7) * hall.link_bytes_per_s;
    at(node)
}

fn other_drive_work(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    let (node, drive, place) = drive(hall, dice);
    let by = dice.between(0.5, 0.85);
    if dice.happens(0.5) {
        hall.nodes[node].drives[drive].others_read = by * hall.read_bytes_per_s;
    } else {
        hall.nodes[node].drives[drive].others_write = by * hall.write_bytes_per_s;
    }
    place
}

/// A node's drives are filled anew, by way of the plane among nodes, from what all the others have.
fn healing(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let node = hall.any(dice);
    let each = dice.between(0.3, 0.5) * hall.write_bytes_per_s;
    let drives = hall.nodes[node].drives.len();
    let all = (each * drives as f64).min(0.5 * hall.link_bytes_per_s);
    let (way_in, way_out) = if hall.planes == 2 { (PRIVATE_IN, PRIVATE_OUT) } else { (PUBLIC_IN, PUBLIC_OUT) };
    let from_each = all / (hall.nodes.len() - 1) as f64;
    for (place, of) in hall.nodes.iter_mut().enumerate() {
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

fn losses(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let node = hall.any(dice);
    hall.nodes[node].lost = dice.factor(0.005, 0.03);
    // Of few nodes, each sends much to the one that loses, and all send again: then only errors tell which it is.
    hall.nodes[node].shows_errors = dice.happens(0.5) || hall.nodes.len() < FEW;
    if hall.nodes[node].shows_errors {
        hall.lacking.retain(|of| *of != "link-errors");
    }
    at(node)
}

/// Fewer nodes than this all send again much of what they send, if one of them loses it.
const FEW: usize = 12;

/// Large packets to and from one node vanish, until paths are probed anew.
fn mtu(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    while hall.nodes.len() < FEW {
        *hall = Hall::draw(dice);
    }
    usual(hall, dice);
    let node = hall.any(dice);
    hall.nodes[node].lost = dice.factor(0.02, 0.1);
    at(node)
}

fn one_entry(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let (node, rest) = (hall.any(dice), if dice.happens(0.5) { 1e-6 } else { dice.between(0.02, 0.2) });
    hall.nodes.iter_mut().enumerate().filter(|(place, _)| *place != node).for_each(|(_, of)| of.entry *= rest);
    at(node)
}

fn memory(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    let per_s = usual(hall, dice);
    let node = hall.any(dice);
    hall.nodes[node].memory = dice.between(0.25, 0.6);
    hall.nodes[node].alone_s = hall.nodes.len() as f64 / per_s * dice.between(1.1, 2.0);
    at(node)
}

fn stolen(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let node = hall.any(dice);
    hall.nodes[node].stolen = dice.between(0.15, 0.5) * hall.cores;
    at(node)
}

fn slow_engine(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    let per_s = usual(hall, dice);
    let node = hall.any(dice);
    hall.nodes[node].alone_s = hall.nodes.len() as f64 / per_s * dice.between(1.2, 2.5);
    pressed(hall, dice);
    at(node)
}

fn links_full(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    let share = dice.between(0.93, 0.98);
    hall.fill(share);
    let out = fullest_way(hall, [PUBLIC_OUT, PRIVATE_OUT]);
    let into = fullest_way(hall, [PUBLIC_IN, PRIVATE_IN]);
    let way = if out.1 >= into.1 { out.0 } else { into.0 };
    Whereabouts { node: None, part: (hall.planes == 1).then(|| hall.interfaces(way / 2).0) }
}

fn drives_full(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let (moment, _) = hall.still(hall.requests);
    let drive = |node: &super::watched::NodeMoment| {
        node.read.iter().sum::<f64>() / node.read.len() as f64 / hall.read_bytes_per_s
            + node.written.iter().sum::<f64>() / node.read.len() as f64 / hall.write_bytes_per_s
    };
    let used = moment.nodes.iter().map(drive).sum::<f64>() / moment.nodes.len() as f64;
    let narrower = used / (moment.fullest * dice.between(1.3, 2.0));
    hall.read_bytes_per_s *= narrower;
    hall.write_bytes_per_s *= narrower;
    let share = dice.between(0.93, 0.98);
    hall.fill(share);
    Whereabouts { node: None, part: Some("drives".to_owned()) }
}

fn processors_full(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let (moment, _) = hall.still(hall.requests);
    let used = moment.nodes.iter().map(|node| node.cores_use).sum::<f64>() / moment.nodes.len() as f64;
    let more = moment.fullest * dice.between(1.3, 2.0) / used;
    hall.effort.iter_mut().for_each(|effort| *effort *= more);
    let share = dice.between(0.93, 0.98);
    hall.fill(share);
    Whereabouts { node: None, part: Some(String::new()) }
}

fn at_rest(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    let share = dice.between(0.08, 0.35);
    hall.fill(share);
    Whereabouts::default()
}

fn in_use(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    let share = dice.between(0.4, 0.75);
    hall.fill(share);
    Whereabouts::default()
}

/// Something that no host counts lets only a share of the requests pass.
fn held(hall: &mut Hall, dice: &mut Dice, is_within: bool) -> f64 {
    let per_s = usual(hall, dice);
    let share = dice.between(0.35, 0.75);
    hall.shared = SharedLimit { most_per_s: share * per_s, is_within, wanders: 0.03, is_queue: false };
    share
}

fn lock(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, true);
    Whereabouts::default()
}

fn request_limit(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, true);
    hall.shared.is_queue = true;
    Whereabouts::default()
}

fn slow_clients(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, false);
    Whereabouts::default()
}

/// Every client has few requests under way, or small windows: a request takes its time, and nothing waits.
fn few_requests(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    let per_s = usual(hall, dice);
    hall.requests = (0.1 * hall.requests).max(2.0 * hall.nodes.len() as f64);
    hall.apart_s = hall.requests / (per_s * dice.between(0.3, 0.7));
    Whereabouts::default()
}

fn names_slow(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    few_requests(hall, dice);
    hall.shared = SharedLimit { most_per_s: 1e9, wanders: 0.3, is_within: false, is_queue: false };
    hall.wander = 0.05;
    Whereabouts::default()
}

fn between_racks(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, true);
    hall.shared.wanders = 0.1;
    let more = dice.factor(3.0, 10.0);
    for node in 0..hall.nodes.len() {
        if hall.racks < 3 || hall.rack(node) < 2 {
            hall.again_times[node] *= more;
        }
    }
    Whereabouts::default()
}

fn narrow_uplink(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    usual(hall, dice);
    let used = fullest_way(hall, [PUBLIC_OUT, PRIVATE_OUT]).1.max(fullest_way(hall, [PUBLIC_IN, PRIVATE_IN]).1);
    hall.uplink = Some((0, used * dice.between(0.4, 0.75)));
    let more = dice.factor(1.0, 3.0);
    for node in (0..hall.nodes.len()).filter(|node| hall.rack(*node) == 0).collect::<Vec<usize>>() {
        hall.again_times[node] *= more;
    }
    Whereabouts::default()
}

fn switch_neighbour(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, true);
    hall.shared.wanders = 0.2;
    hall.links_wander = 0.2;
    hall.again *= dice.factor(3.0, 10.0);
    Whereabouts::default()
}

fn lossy_clients(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, true);
    hall.again = dice.factor(2e-3, 1e-2);
    Whereabouts::default()
}

fn clock(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, false);
    let (node, from_s) = (hall.any(dice), dice.between(0.3, 0.8) * hall.lasts_s());
    let by_s = dice.between(0.5, 3.0) * hall.scraper.interval_s * if dice.happens(0.5) { 1.0 } else { -1.0 };
    hall.nodes[node].jump = ClockJump { from_s, by_s };
    Whereabouts::default()
}

fn stuck_counter(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, false);
    let node = hall.any(dice);
    hall.nodes[node].stuck =
        Some(["link-sent", "link-received", "client-sent", "cores-busy"][(dice.unit() * 4.0) as usize % 4]);
    Whereabouts::default()
}

/// Clients ask one node less than the others: a balancer's weights, an address that few know.
fn asked_less(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, false);
    let node = hall.any(dice);
    hall.nodes[node].entry = dice.between(0.2, 0.6);
    Whereabouts::default()
}

/// Clients read a few objects again and again: those drives of as many nodes do more.
fn hot_objects(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, false);
    let (data, parity) = hall.shards;
    let more = dice.between(0.3, 0.6) * hall.read_bytes_per_s;
    for node in hall.nodes.iter_mut().take((data + parity) as usize) {
        node.drives[0].others_read = more;
    }
    Whereabouts::default()
}

/// Two causes, each too small to be told.
fn two_mild(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, false);
    let (one, other) = (hall.any(dice), hall.any(dice));
    hall.nodes[one].others_cores += 0.05 * hall.cores;
    hall.nodes[other].drives[0].pace *= 0.9;
    hall.nodes[other].drives[0].alone_s *= 1.25;
    Whereabouts::default()
}

fn handshakes(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    few_requests(hall, dice);
    let (moment, _) = hall.still(hall.requests);
    let used = moment.nodes.iter().map(|node| node.cores_use).sum::<f64>() / moment.nodes.len() as f64;
    let more = (dice.between(0.35, 0.65) / used).max(1.0);
    hall.effort.iter_mut().for_each(|effort| *effort *= more);
    Whereabouts::default()
}

fn collections(hall: &mut Hall, dice: &mut Dice) -> Whereabouts {
    held(hall, dice, true);
    hall.shared.wanders = dice.between(0.15, 0.4);
    Whereabouts::default()
}

type Plant = fn(&mut Hall, &mut Dice) -> Whereabouts;

const fn row(
    name: &'static str,
    stands_for: &'static str,
    (causes, needs): (&'static [&'static str], &'static [&'static str]),
    plant: Plant,
) -> ReadPlant {
    ReadPlant { name, stands_for, causes, alike: &[], needs, is_healthy: false, plant }
}

/// A node at a limit through which what it serves goes in and out in step: that of either link, or of the engine.
const fn one_of_node(row: ReadPlant) -> ReadPlant {
    ReadPlant { alike: &["slow-link-sending", "slow-link-receiving", "slow-node"], ..row }
}

const fn healthy(
    name: &'static str,
    stands_for: &'static str,
    causes: &'static [&'static str],
    plant: Plant,
) -> ReadPlant {
    ReadPlant { name, stands_for, causes, alike: &[], needs: &[], is_healthy: true, plant }
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
pub const READ_PLANTS: [ReadPlant; 41] = [
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
    row("asked less", "a node that clients ask less, and slow clients", UNDER_WAY, asked_less),
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
