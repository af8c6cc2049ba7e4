//! What single resources carry, and how they are told.

use linerate_record::plan::{Ceiling, Resource, Work};
use linerate_record::site::{BondMode, Encapsulation, Entry, Site, TrafficPolicy, TransmitHash};

use super::pcie::lanes_bytes_per_s;
use super::{ResourceLimit, ceilings, limits};
use crate::layout::geometries;
use crate::test_site;

const GET: Work = Work { object_bytes: 64 << 20, read_share: 1.0 };
const PUT: Work = Work { object_bytes: 64 << 20, read_share: 0.0 };

fn find(site: &Site, work: &Work, resource: Resource) -> Option<ResourceLimit> {
    limits(site, &geometries(site).unwrap(), work).into_iter().find(|limit| limit.resource == resource)
}

fn ceiling_of(site: &Site, work: &Work, resource: Resource) -> Ceiling {
    let all = ceilings(site, &geometries(site).unwrap(), work);
    all.into_iter().find(|ceiling| ceiling.resource == resource).expect("the resource is used")
}

fn near(value: f64, expected: f64, what: &str) {
    assert!((value / expected - 1.0).abs() < 2e-3, "{what}: {value}, expected {expected}");
}

#[test]
fn each_ceiling_stands_beside_the_lowest_of_its_work() {
    let site = test_site::site();
    for (object_bytes, are_small) in [(64 << 20, false), (1 << 20, false), (64 << 10, true)] {
        let work = Work { object_bytes, read_share: 1.0 };
        let all = ceilings(&site, &geometries(&site).unwrap(), &work);
        let lowest = all[0].limit_bytes_per_s;
        assert_eq!((all[0].headroom_bytes_per_s, all[0].utilisation_share), (0.0, 1.0));
        for ceiling in &all[1..] {
            near(lowest + ceiling.headroom_bytes_per_s, ceiling.limit_bytes_per_s, "headroom");
            near(ceiling.utilisation_share * ceiling.limit_bytes_per_s, lowest, "in use");
        }
        let requests_per_s = are_small.then(|| lowest / object_bytes as f64);
        assert_eq!(all[0].limit_requests_per_s, requests_per_s, "{object_bytes}");
    }
}

#[test]
fn lanes_carry_the_nics_that_are_sold_for_them() {
    // Generation, lanes, Gb/s of the NIC that fits, and of the next that does not.
    let cases = [(3, 8, 50.0, 100.0), (3, 16, 100.0, 200.0), (4, 16, 200.0, 400.0), (5, 16, 400.0, 800.0)];
    for (generation, lanes, fits, exceeds) in cases {
        let gigabits_per_s = lanes_bytes_per_s(generation, lanes) * 8.0 / 1e9;
        assert!(gigabits_per_s > fits && gigabits_per_s < exceeds, "{generation} × {lanes}: {gigabits_per_s} Gb/s");
    }
    assert!(lanes_bytes_per_s(1, 16) < lanes_bytes_per_s(2, 16) && lanes_bytes_per_s(2, 16) < lanes_bytes_per_s(3, 16));
    assert!(lanes_bytes_per_s(6, 16) > lanes_bytes_per_s(5, 16));
    assert_eq!(lanes_bytes_per_s(4, 0), 0.0);
}

#[test]
fn a_rack_carries_what_leaves_it() {
    let mut site = test_site::site();
    assert_eq!(find(&site, &GET, Resource::RackUp), None, "a fabric that does not oversubscribe");
    site.clients.count = 0;
    site.groups[0].count = 16;
    site.groups[0].racks = 4;
    site.fabric.rack_uplink_bits_per_s = Some(400e9);
    let f = 15.0 / 16.0;
    // Four of sixteen nodes: a quarter of clients' bytes, and of those among nodes what goes to the other twelve.
    let up = find(&site, &GET, Resource::RackUp).expect("uplinks are stated");
    near(up.demand, 0.25 * (1.0 + f * 12.0 / 15.0), "GET up");
    let down = find(&site, &GET, Resource::RackDown).expect("shards come in");
    near(down.demand, 0.25 * f * 12.0 / 15.0, "GET down");
    site.groups[0].racks = 1;
    site.clients.count = 0;
    near(find(&site, &GET, Resource::RackUp).expect("clients read").demand, 1.0, "all nodes in one rack");
}

/// Each has its own share, as the fullest of them has clients; the nodes' racks stay as they are.
#[test]
fn racks_of_clients_have_uplinks_of_their_own() {
    let mut site = test_site::site();
    (site.groups[0].count, site.groups[0].racks) = (16, 4);
    site.fabric.rack_uplink_bits_per_s = Some(400e9);
    assert_eq!(find(&site, &GET, Resource::ClientRackDown), None, "clients have no racks of their own");
    let of_nodes = find(&site, &GET, Resource::RackDown).expect("shards come in");
    for (clients, racks, fullest) in [(8, 1, 8), (16, 2, 8), (10, 3, 4), (2, 5, 1)] {
        (site.clients.count, site.clients.racks) = (clients, racks);
        let case = format!("{clients} clients in {racks} racks");
        let share = f64::from(fullest) / f64::from(clients);
        near(find(&site, &GET, Resource::ClientRackDown).expect("clients read").demand, share, &case);
        near(find(&site, &PUT, Resource::ClientRackUp).expect("clients write").demand, share, &case);
        assert_eq!(find(&site, &GET, Resource::RackDown), Some(of_nodes), "{case}");
        let ceiling = ceiling_of(&site, &GET, Resource::ClientRackDown);
        let value = |name: &str| ceiling.inputs.iter().find(|of| of.name == name).map(|of| of.value.clone());
        assert_eq!(value("clients in the fullest rack"), Some(fullest.to_string()), "{case}");
        assert_eq!(value("nodes in the fullest rack"), None, "{case}");
        let assumed: Vec<_> = ceiling.inputs.iter().filter(|of| of.assumed).map(|of| of.path.as_deref()).collect();
        assert_eq!(assumed, [Some("fabric.rack_uplinks")], "{case}: it is stated of the nodes' racks");
    }
}

/// A site that states a ratio is told of that, and not of a speed that it does not state.
#[test]
fn uplinks_of_a_rack_are_told_by_the_key_that_states_them() {
    let mut site = test_site::site();
    (site.groups[0].count, site.groups[0].racks) = (16, 4);
    site.fabric.rack_uplink_bits_per_s = Some(400e9);
    let reported = |site: &Site| -> Vec<(String, String)> {
        let inputs = ceiling_of(site, &GET, Resource::RackUp).inputs.into_iter();
        inputs.filter_map(|of| Some((of.path.filter(|path| path.starts_with("fabric."))?, of.value))).collect()
    };
    assert_eq!(reported(&site), [("fabric.rack_uplinks".to_owned(), "400 Gb/s".to_owned())]);
    site.fabric.oversubscription = Some(2.0);
    assert_eq!(reported(&site), [("fabric.oversubscription".to_owned(), "2:1".to_owned())]);
    let inputs = ceiling_of(&site, &GET, Resource::RackUp).inputs;
    assert!(inputs.iter().any(|of| of.name == "uplinks of a rack" && of.value == "400 Gb/s" && of.path.is_none()));
}

#[test]
fn clients_limit_by_their_own_ports_and_packets() {
    let mut site = test_site::site();
    site.clients.count = 2;
    site.clients.ports = 2;
    site.clients.speed_bits_per_s = 10e9;
    site.clients.mtu_bytes = 1500;
    let one = 2.0 * 10e9 / 8.0 * 1448.0 / 1538.0;
    near(find(&site, &GET, Resource::ClientIngress).expect("they read").limit_bytes_per_s, 2.0 * one, "two clients");
    site.clients.bond = Some(linerate_record::site::BondMode::ActiveBackup);
    near(find(&site, &GET, Resource::ClientIngress).expect("they read").limit_bytes_per_s, one, "one port of each");
    let mtu = ceiling_of(&site, &GET, Resource::PublicEgress).inputs.into_iter().find(|input| input.name == "MTU");
    assert_eq!(mtu.expect("framing is told").value, "1500 B", "TCP agrees on the smaller segment");
    site.clients.count = 0;
    assert_eq!(find(&site, &GET, Resource::ClientIngress), None, "not described");
    assert!(ceiling_of(&site, &GET, Resource::PublicEgress).inputs.iter().any(|input| input.value == "9000 B"));
}

#[test]
fn one_entry_node_limits_a_site_to_about_its_own_link() {
    let mut site = test_site::site();
    let link = find(&site, &GET, Resource::PublicEgress).expect("clients read").capacity;
    site.entry = Entry::L2Announcement { dsr: false, policy: TrafficPolicy::Cluster };
    for (work, what) in [(&GET, "GET"), (&PUT, "PUT")] {
        let entry = find(&site, work, Resource::EntryNode).expect("one node takes all");
        assert!(entry.limit_bytes_per_s <= link * 1.001, "{what}: {entry:?}, link {link}");
        assert_eq!(limits(&site, &geometries(&site).unwrap(), work)[0].resource, Resource::EntryNode, "{what}");
    }
    site.entry = Entry::L2Announcement { dsr: true, policy: TrafficPolicy::Cluster };
    // Replies go directly: of requests alone the node that takes them has more than any other.
    let relieved = find(&site, &GET, Resource::EntryNode);
    assert!(relieved.is_none_or(|limit| limit.limit_bytes_per_s > 1e3 * link), "DSR relieves GET: {relieved:?}");
    assert!(find(&site, &PUT, Resource::EntryNode).is_some());
    site.entry = Entry::ClientSide;
    assert_eq!(find(&site, &PUT, Resource::EntryNode), None);
}

#[test]
fn one_entry_node_limits_a_site_to_what_its_nic_its_sockets_and_its_memory_carry() {
    let mut base = test_site::site();
    (base.planes.private, base.clients.count) = (None, 0);
    base.entry = Entry::L2Announcement { dsr: false, policy: TrafficPolicy::Local };
    let others = 15.0 / 16.0;
    let layout = geometries(&base).unwrap().pools()[0];
    let stored = f64::from(layout.shards) / f64::from(layout.data);
    let lanes = lanes_bytes_per_s(3, 8);
    let check = |site: &Site, work: &Work, expected: f64, narrowest: &str| {
        let entry = find(site, work, Resource::EntryNode).expect("one node takes all");
        // Headers and hashes take up to 3 % besides.
        let share = entry.limit_bytes_per_s / expected;
        assert!((0.97..=1.0).contains(&share), "{narrowest}: {share} of {expected}");
        assert_eq!(limits(site, &geometries(site).unwrap(), work)[0], entry, "{narrowest}");
        let ceiling = ceiling_of(site, work, Resource::EntryNode);
        let reported =
            ceiling.inputs.iter().find(|input| input.name == "narrowest of the node").map(|input| &input.value);
        assert_eq!(reported.map(String::as_str), Some(narrowest));
        near(ceiling.capacity / ceiling.demand, entry.limit_bytes_per_s, narrowest);
    };
    let mut nic = base.clone();
    nic.groups[0].nics.iter_mut().for_each(|nic| (nic.lanes, nic.generation) = (8, 3));
    check(&nic, &GET, lanes, "lanes of its narrowest NIC");
    check(&nic, &PUT, lanes / (others * stored), "lanes of its narrowest NIC");
    nic.entry = Entry::L2Announcement { dsr: true, policy: TrafficPolicy::Cluster };
    check(&nic, &PUT, lanes / (1.0 + others * stored / 16.0), "lanes of its narrowest NIC");
    let mut sockets = base.clone();
    (sockets.groups[0].pcie.generation, sockets.groups[0].pcie.lanes_per_socket) = (3, 4);
    check(&sockets, &GET, lanes / (others + 1.0 / 16.0), "lanes of its sockets");
    let mut memory = base.clone();
    memory.groups[0].memory_bytes_per_s = 10e9;
    check(&memory, &GET, 8e9 / (2.0 * (1.0 + others) + 1.0 / 16.0), "memory");
    let mut cores = base;
    (cores.groups[0].cores, cores.engine.tls) = (1, true);
    let by_bytes = 1.0 / 11.1e9 + others / 5.25e9 + 1.0 / 4e9 + 1.0 / 11.9e9;
    check(&cores, &GET, 1.0 / by_bytes, "processors, in client bytes");
}

#[test]
fn planes_on_one_link_weigh_by_what_their_packets_take() {
    let mut site = test_site::site();
    site.clients.count = 0;
    let apart = find(&site, &GET, Resource::PublicEgress).expect("clients read");
    let mut together = site.clone();
    together.planes.private.as_mut().expect("two planes").link = site.planes.public.link.clone();
    let same = find(&together, &GET, Resource::PublicEgress).expect("clients read");
    assert_eq!(find(&together, &GET, Resource::PrivateEgress), None, "one link, one ceiling");
    near(same.demand, apart.demand + 15.0 / 16.0, "alike");
    together.planes.private.as_mut().expect("two planes").encapsulation = Encapsulation::Vxlan;
    let overlay = find(&together, &GET, Resource::PublicEgress).expect("clients read");
    near(overlay.demand, 1.0 + 15.0 / 16.0 * 8948.0 / 8898.0, "VXLAN among nodes takes more");
}

#[test]
fn a_mix_of_reads_and_writes_shares_a_drives_time() {
    let site = test_site::site();
    let mix = Work { object_bytes: 64 << 20, read_share: 0.5 };
    let limit_for = |work| find(&site, work, Resource::DriveBandwidth).expect("drives are used").limit_bytes_per_s;
    near(limit_for(&mix), 2.0 / (1.0 / limit_for(&GET) + 1.0 / limit_for(&PUT)), "half and half");
}

#[test]
fn a_ceiling_tells_which_inputs_nobody_stated() {
    let mut site = test_site::site();
    let name = site.groups[0].name.clone();
    let before = ceiling_of(&site, &GET, Resource::Cpu);
    let cores = |ceiling: &Ceiling| ceiling.inputs.iter().find(|input| input.name == "cores").cloned();
    assert!(!cores(&before).expect("cores are an input").assumed);
    site.assumed.insert(format!("nodes.{name}.cores"), "not stated".to_owned());
    site.assumed.insert("planes.public.mtu".to_owned(), "not stated".to_owned());
    assert!(cores(&ceiling_of(&site, &GET, Resource::Cpu)).expect("cores are an input").assumed);
    let network = ceiling_of(&site, &GET, Resource::PublicEgress);
    assert!(network.inputs.iter().any(|input| input.name == "MTU" && input.assumed), "{network:?}");
    assert!(before.inputs.iter().any(|input| input.path.is_none() && input.assumed), "constants are estimates");
}

/// Somebody who states speeds and leaves out names is told nothing of his speeds.
#[test]
fn only_the_values_that_nobody_stated_are_told_as_such() {
    let text =
        "nodes: {count: 8, drives: {count: 4, capacity: 4TB}, nics: [{ports: 1, speed: 100Gb/s}]}\nengine: minio\n";
    let assumed = |text: &str| -> Vec<String> {
        let site = linerate_site::read(text, "site.yaml").expect("it is whole");
        let inputs = ceiling_of(&site, &GET, Resource::PublicEgress).inputs;
        inputs.into_iter().filter(|input| input.assumed).map(|input| input.name).collect()
    };
    assert!(!linerate_site::read(text, "site.yaml").expect("it is whole").assumed.is_empty());
    assert_eq!(assumed(text), ["MTU"]);
    assert_eq!(assumed(&text.replace("ports: 1, ", "")), ["ports of nic0", "MTU"]);
    let bonded = text.replace("ports: 1", "ports: 2");
    assert_eq!(assumed(&bonded), ["NICs of bond0", "mode of bond0", "MTU"]);
}

/// One client and one other node are two peers: what each takes may go over a member of its own.
#[test]
fn two_peers_on_one_link_may_have_a_member_each() {
    let mut site = test_site::site();
    site.planes.private = None;
    site.groups[0].count = 2;
    site.clients.count = 1;
    let bond = |site: &mut Site, mode, hash| {
        let group = &mut site.groups[0];
        let link = site.planes.public.link.clone();
        let bond = group.bonds.iter_mut().find(|bond| bond.name == link).expect("the plane is on a bond");
        (bond.mode, bond.transmit_hash) = (mode, hash);
    };
    let egress = |site: &Site| find(site, &GET, Resource::PublicEgress).expect("nodes send");
    bond(&mut site, BondMode::Lacp, TransmitHash::Layer34);
    let full = egress(&site).capacity;
    bond(&mut site, BondMode::Lacp, TransmitHash::Layer2);
    // All that clients are sent is on one of two members, and it is two thirds of the bytes.
    near(egress(&site).capacity, full * 0.75, "a member each");
    let reached =
        ceiling_of(&site, &GET, Resource::PublicEgress).inputs.into_iter().find(|of| of.name == "members reached");
    let reached = reached.expect("not all are").value;
    assert!(reached.starts_with("1 of 2 by clients, 1 by other nodes, 2 together at best"), "{reached}");
    bond(&mut site, BondMode::ActiveBackup, TransmitHash::Layer2);
    near(egress(&site).capacity, full * 0.5, "one for all");
    bond(&mut site, BondMode::Lacp, TransmitHash::VlanSrcMac);
    near(egress(&site).capacity, full * 0.5, "one MAC address");
}
