//! Clusters that others have measured or planned, and what the model says of each.

use linerate_model::ceilings::{ResourceLimit, limits};
use linerate_model::ethernet::goodput_share;
use linerate_model::layout::{Geometries, Geometry, GeometryKind};
use linerate_model::traffic::traffic;
use linerate_record::plan::{Resource, Work};
use linerate_record::site::*;

use crate::sites::{sets, shared, uniform};

const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1024.0 * MIB;
const TIB: f64 = 1024.0 * GIB;

fn work(object_bytes: u64, read_share: f64) -> Work {
    Work { object_bytes, read_share }
}

fn get() -> Work {
    work(64 << 20, 1.0)
}

fn put() -> Work {
    work(64 << 20, 0.0)
}

fn limit(site: &Site, geometries: &Geometries, work: &Work, resource: Resource) -> ResourceLimit {
    let all = limits(site, geometries, work);
    *all.iter().find(|limit| limit.resource == resource).unwrap_or_else(|| panic!("no {resource:?} in {all:?}"))
}

fn near(value: f64, expected: f64, within: f64, what: &str) {
    assert!((value - expected).abs() <= within, "{what}: {value}, expected {expected} ± {within}");
}

#[test]
fn nodes_484_at_400_gb_s_give_21_79_tib_s_only_where_clients_have_the_nic_alone() {
    let split = uniform("484", 484, 1, 400e9, 9000);
    let geometry = sets(12, 4);
    let alone = limit(&split, &geometry, &get(), Resource::PublicEgress);
    near(alone.limit_bytes_per_s / TIB, 21.79, 0.005, "split planes");
    let shared = limit(&shared(split), &geometry, &get(), Resource::PublicEgress);
    near(shared.limit_bytes_per_s / TIB, 10.9, 0.05, "one plane");
}

/// 152 GiB/s of GET over 56 nodes; two members of 25 Gb/s on each plane are assumed.
#[test]
fn nodes_56_read_at_99_percent_of_one_member_or_98_percent_of_a_shared_pair() {
    let geometry = sets(10, 4);
    let node_bits_per_s = 152.0 * GIB / 56.0 * 8.0;
    near(node_bits_per_s / 1e9, 23.32, 0.02, "client traffic of a node in Gb/s");
    let observed = 152.0 * GIB;

    let mut one = uniform("56", 56, 2, 25e9, 1500);
    one.groups[0].bonds[0].mode = BondMode::ActiveBackup;
    let member = limit(&one, &geometry, &get(), Resource::PublicEgress);
    near(observed / member.limit_bytes_per_s, 0.99, 0.005, "of one member at MTU 1500");

    let pair = limit(&shared(uniform("56", 56, 2, 25e9, 1500)), &geometry, &get(), Resource::PublicEgress);
    near(observed / pair.limit_bytes_per_s, 0.98, 0.005, "of a shared plane of two");
    near(pair.capacity * 8.0 / 1e9, 47.1, 0.05, "two members in Gb/s");
    near(pair.demand * node_bits_per_s / 1e9, 46.2, 0.05, "with east-west traffic in Gb/s");
}

/// 81 GiB/s of PUT on the same nodes.
#[test]
fn nodes_56_write_at_73_percent_of_one_member_at_10_plus_4_and_cannot_at_8_plus_8() {
    let observed = 81.0 * GIB;
    let one_member = |mtu_bytes, geometry: Geometries| {
        let mut site = uniform("56", 56, 2, 25e9, mtu_bytes);
        for bond in &mut site.groups[0].bonds {
            bond.mode = BondMode::ActiveBackup;
        }
        let busiest = limits(&site, &geometry, &put())
            .into_iter()
            .find(|limit| matches!(limit.resource, Resource::PrivateIngress | Resource::PrivateEgress))
            .expect("PUT moves shards among nodes");
        (observed / busiest.limit_bytes_per_s, busiest.demand * observed / 56.0 * 8.0 / 1e9)
    };
    near(one_member(1500, sets(10, 4)).0, 0.73, 0.006, "10+4 of one member");
    let (share, gigabits_per_s) = one_member(1500, sets(8, 8));
    assert!(share > 1.0, "8+8 would need {share} of one member");
    near(gigabits_per_s, 24.4, 0.05, "8+8 in Gb/s");
    near(one_member(9000, sets(8, 8)).0, 0.99, 0.005, "8+8 at MTU 9000");
}

#[test]
fn an_overlay_costs_its_framing_and_no_more() {
    // MiB/s before and after, as measured.
    let measured = [("GET", get(), 22_954.0, 22_287.0), ("PUT", put(), 15_415.0, 12_522.0)];
    for (mtu_bytes, cost_percent) in [(1500, 3.45), (9000, 0.56)] {
        for (name, work, native_mib_per_s, overlay_mib_per_s) in measured {
            let native = shared(uniform("overlay", 16, 1, 100e9, mtu_bytes));
            let mut overlay = native.clone();
            overlay.planes.public.encapsulation = Encapsulation::Vxlan;
            let geometry = sets(12, 4);
            let resource = Resource::PublicEgress;
            let (before, after) =
                (limit(&native, &geometry, &work, resource), limit(&overlay, &geometry, &work, resource));
            let cost = 100.0 * (1.0 - after.limit_bytes_per_s / before.limit_bytes_per_s);
            near(cost, cost_percent, 0.005, &format!("{name} at MTU {mtu_bytes}"));
            let lost = 100.0 * (1.0 - overlay_mib_per_s / native_mib_per_s);
            assert!((lost - cost).abs() > 0.5, "{name} at MTU {mtu_bytes}: framing alone would explain {lost} %");
        }
    }
}

/// 32 × i3en.24xlarge, one shared NIC of 100 GbE, drives of a node together 23.98 and 12.94 GB/s.
fn i3en() -> Site {
    let mut site = shared(uniform("i3en", 32, 1, 100e9, 9000));
    let group = &mut site.groups[0];
    group.drives[0].read_bytes_per_s = 23.98e9 / 8.0;
    group.drives[0].write_bytes_per_s = 12.94e9 / 8.0;
    // Lanes of a virtual machine's devices are not known.
    group.drives[0].lanes = 0;
    group.nics.iter_mut().for_each(|nic| nic.lanes = 0);
    group.cores = 48;
    group.memory_bytes_per_s = 256e9;
    site
}

#[test]
fn i3en_reads_183_2_gb_s_with_90_of_100_gb_s_on_the_wire() {
    let site = i3en();
    let egress = limit(&site, &sets(12, 4), &get(), Resource::PublicEgress);
    let bits_per_s = egress.demand * 183.2e9 / 32.0 * 8.0;
    near(bits_per_s / 1e9, 90.0, 0.5, "GET egress of a node in Gb/s");
    let lowest = limits(&site, &sets(12, 4), &get())[0];
    assert_eq!(lowest.resource, Resource::PublicEgress, "what binds GET");
}

#[test]
fn i3en_writes_171_3_gb_s_only_with_parity_up_to_4() {
    for parity in 1..=8 {
        let lowest = limits(&i3en(), &sets(16 - parity, parity), &put())[0];
        let fits = lowest.limit_bytes_per_s >= 171.3e9;
        assert_eq!(fits, parity <= 4, "parity {parity}: {lowest:?}");
    }
}

#[test]
fn ceph_on_12_nodes_reads_111_gib_s_with_192_gb_s_out_of_each() {
    let mut site = shared(uniform("ceph", 12, 2, 100e9, 9000));
    site.engine.product = Product::CephRgw;
    site.engine.protection = Protection::Erasure { data: 2, parity: 2 };
    site.engine.tls = true;
    site.groups[0].drives[0].count = 24;
    let work = work(32 << 20, 1.0);
    let geometry = Geometry { kind: GeometryKind::Scattered, ..*sets(2, 2).for_group(0) }.into();
    let egress = limit(&site, &geometry, &work, Resource::PublicEgress);
    near(egress.demand, 1.0 + 11.0 / 12.0 + 0.5, 0.001, "bytes out per client byte");
    near(egress.demand * 111.0 * GIB / 12.0 * 8.0 / 1e9, 192.0, 0.5, "GET egress of a node in Gb/s");
    assert_eq!(limits(&site, &geometry, &work)[0].resource, Resource::PublicEgress, "the bond binds");
}

/// One stream over VXLAN lost 30 %, many lost 0.5 %: what a link loses is framing, what a stream loses is not a
/// ceiling of the link.
#[test]
fn encapsulation_costs_a_40_gb_s_link_about_half_a_percent() {
    let share = |encapsulation| goodput_share(9000, encapsulation, IpVersion::V4, true);
    let (native, overlay) = (share(Encapsulation::None) * 40.0, share(Encapsulation::Vxlan) * 40.0);
    near(native, 39.5, 0.15, "native in Gb/s");
    near(overlay, 39.3, 0.15, "VXLAN in Gb/s");
    near(1.0 - overlay / native, 1.0 - 39.3 / 39.5, 0.001, "cost");
}

/// Four nodes in network namespaces behind `tbf` of 200 Mbit/s both ways, 2+2, 4 MiB. `tbf` counts 14 bytes beside the
/// IP packet where a wire counts 38: a wire of this speed takes as long for a full packet.
#[test]
fn four_namespaces_at_200_mbit_s_give_52_1_and_36_5_mib_s() {
    let mut site = shared(uniform("namespaces", 4, 1, 200e6 * 1538.0 / 1514.0, 1500));
    site.groups[0].drives[0].count = 1;
    let geometry = sets(2, 2);
    for (name, read_share, expected) in [("GET", 1.0, 52.1), ("PUT", 0.0, 36.5)] {
        let work = work(4 << 20, read_share);
        let lowest = limits(&site, &geometry, &work)[0];
        near(lowest.limit_bytes_per_s / MIB, expected, 0.06, name);
        let f = 0.75;
        let node = traffic(&site, &geometry, &work).nodes[0];
        let factor = if read_share > 0.0 { 1.0 + f } else { 1.0 + 2.0 * f };
        let busier = node.public().plus(node.private());
        near(busier.egress.max(busier.ingress), factor, 0.003, "bytes per client byte");
    }
}
