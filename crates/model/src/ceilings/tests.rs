//! What single resources carry, and how they are told.

use linerate_record::plan::{Ceiling, Resource, Work};
use linerate_record::site::{Encapsulation, Entry, Site, TrafficPolicy};

use super::pcie::lanes_bytes_per_s;
use super::{Limit, ceilings, limits};
use crate::layout::geometry;
use crate::sites;

const GET: Work = Work { object_bytes: 64 << 20, read_share: 1.0 };
const PUT: Work = Work { object_bytes: 64 << 20, read_share: 0.0 };

fn find(site: &Site, work: &Work, resource: Resource) -> Option<Limit> {
    limits(site, &geometry(site).unwrap(), work).into_iter().find(|limit| limit.resource == resource)
}

fn told(site: &Site, work: &Work, resource: Resource) -> Ceiling {
    let all = ceilings(site, &geometry(site).unwrap(), work);
    all.into_iter().find(|ceiling| ceiling.resource == resource).expect("the resource is used")
}

fn near(value: f64, expected: f64, what: &str) {
    assert!((value / expected - 1.0).abs() < 2e-3, "{what}: {value}, expected {expected}");
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
    let mut site = sites::site();
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
    site.clients.count = 8;
    site.clients.racks = 1;
    near(find(&site, &GET, Resource::RackDown).expect("clients read").demand, 1.0, "all clients in one rack");
    site.groups[0].racks = 1;
    site.clients.count = 0;
    near(find(&site, &GET, Resource::RackUp).expect("clients read").demand, 1.0, "all nodes in one rack");
}

#[test]
fn clients_limit_by_their_own_ports_and_packets() {
    let mut site = sites::site();
    site.clients.count = 2;
    site.clients.ports = 2;
    site.clients.speed_bits_per_s = 10e9;
    site.clients.mtu_bytes = 1500;
    let one = 2.0 * 10e9 / 8.0 * 1448.0 / 1538.0;
    near(find(&site, &GET, Resource::ClientIngress).expect("they read").limit_bytes_per_s, 2.0 * one, "two clients");
    site.clients.bond = Some(linerate_record::site::BondMode::ActiveBackup);
    near(find(&site, &GET, Resource::ClientIngress).expect("they read").limit_bytes_per_s, one, "one port of each");
    let mtu = told(&site, &GET, Resource::PublicEgress).inputs.into_iter().find(|input| input.name == "MTU");
    assert_eq!(mtu.expect("framing is told").value, "1500 B", "TCP agrees on the smaller segment");
    site.clients.count = 0;
    assert_eq!(find(&site, &GET, Resource::ClientIngress), None, "not described");
    assert!(told(&site, &GET, Resource::PublicEgress).inputs.iter().any(|input| input.value == "9000 B"));
}

#[test]
fn one_entry_node_limits_a_site_to_about_its_own_link() {
    let mut site = sites::site();
    let link = find(&site, &GET, Resource::PublicEgress).expect("clients read").capacity;
    site.entry = Entry::L2Announcement { dsr: false, policy: TrafficPolicy::Cluster };
    for (work, what) in [(&GET, "GET"), (&PUT, "PUT")] {
        let entry = find(&site, work, Resource::EntryNode).expect("one node takes all");
        assert!(entry.limit_bytes_per_s <= link * 1.001, "{what}: {entry:?}, link {link}");
        assert_eq!(limits(&site, &geometry(&site).unwrap(), work)[0].resource, Resource::EntryNode, "{what}");
    }
    site.entry = Entry::L2Announcement { dsr: true, policy: TrafficPolicy::Cluster };
    let relieved = find(&site, &GET, Resource::EntryNode).expect("one node takes all");
    assert!(relieved.limit_bytes_per_s > 4.0 * link, "DSR relieves GET: {relieved:?}");
    site.entry = Entry::ClientSide;
    assert_eq!(find(&site, &GET, Resource::EntryNode), None);
}

#[test]
fn planes_on_one_link_weigh_by_what_their_packets_take() {
    let mut site = sites::site();
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
    let site = sites::site();
    let mix = Work { object_bytes: 64 << 20, read_share: 0.5 };
    let of = |work| find(&site, work, Resource::DriveBandwidth).expect("drives are used").limit_bytes_per_s;
    near(of(&mix), 2.0 / (1.0 / of(&GET) + 1.0 / of(&PUT)), "half and half");
}

#[test]
fn a_ceiling_tells_which_inputs_nobody_stated() {
    let mut site = sites::site();
    let name = site.groups[0].name.clone();
    let before = told(&site, &GET, Resource::Cpu);
    let cores = |ceiling: &Ceiling| ceiling.inputs.iter().find(|input| input.name == "cores").cloned();
    assert!(!cores(&before).expect("cores are an input").assumed);
    site.assumed.insert(format!("nodes.{name}.cores"), "not stated".to_owned());
    site.assumed.insert("planes.public.mtu".to_owned(), "not stated".to_owned());
    assert!(cores(&told(&site, &GET, Resource::Cpu)).expect("cores are an input").assumed);
    let network = told(&site, &GET, Resource::PublicEgress);
    assert!(network.inputs.iter().any(|input| input.name == "MTU" && input.assumed), "{network:?}");
    assert!(before.inputs.iter().any(|input| input.path.is_none() && input.assumed), "constants are estimates");
}
