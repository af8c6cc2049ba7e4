//! What holds of the ceilings of any site.

use linerate_model::ceilings::{ResourceLimit, ceilings, limits};
use linerate_model::layout::{Geometries, Geometry, GeometryKind};
use linerate_model::traffic::{NodeFlow, traffic};
use linerate_record::plan::Work;
use linerate_record::site::*;
use proptest::prelude::*;

use crate::sites;
use crate::sites::{group, shared, uniform};

/// A site of one or two groups, with any engine and way in, and a geometry that it can have.
fn site() -> impl Strategy<Value = (Site, Geometries)> {
    let engines = (0..4_usize, any::<[bool; 6]>(), 0..8_usize);
    let sizes = (1..64_u32, 0..16_u32, 1..4_u32, 1..13_u32, 1..9_u32, 0..5_u32);
    let hardware = (1e9..4e11_f64, prop::sample::select(vec![1500_u32, 9000]), 1..64_u32, 0..40_u32, 1..6_u32);
    (engines, sizes, hardware).prop_map(|((product, flags, entry), (n0, n1, ports, drives, data, parity), hardware)| {
        let (speed, mtu_bytes, cores, clients, racks) = hardware;
        let mut site = uniform("any", n0, ports, speed, mtu_bytes);
        if n1 > 0 {
            site.groups.push(group("other", n1, ports, speed * 0.5));
            site.groups[1].drives[0].capacity_bytes /= 2;
        }
        for group in &mut site.groups {
            group.drives[0].count = drives;
            group.cores = cores;
            group.racks = racks;
        }
        site.clients.count = clients;
        site.clients.racks = clients.min(2);
        site.fabric.rack_uplink_bits_per_s = flags[0].then_some(speed * 3.0);
        site.engine.tls = flags[1];
        site.engine.internal_tls = flags[2];
        site.engine.encryption = flags[3];
        site.engine.local_shards = flags[4];
        site.engine.product = [Product::Minio, Product::Rustfs, Product::CephRgw, Product::Garage][product];
        site.entry = entries()[entry];
        if flags[5] {
            site = shared(site);
        }
        let geometry = match site.engine.product {
            Product::Garage => {
                Geometry { shards: 1 + parity, data: 1, parity, sets: 1, kind: GeometryKind::Replicas }.into()
            }
            _ => sites::sets(data, parity),
        };
        (site, geometry)
    })
}

fn entries() -> [Entry; 8] {
    use TrafficPolicy::{Cluster, Local};
    [
        Entry::ClientSide,
        Entry::ClusterMesh,
        Entry::Bgp { policy: Cluster },
        Entry::Bgp { policy: Local },
        Entry::NodePort { policy: Cluster },
        Entry::L2Announcement { dsr: false, policy: Cluster },
        Entry::L2Announcement { dsr: true, policy: Cluster },
        Entry::L2Announcement { dsr: false, policy: Local },
    ]
}

fn work() -> impl Strategy<Value = Work> {
    let sizes = prop::sample::select(vec![1_u64, 4096, 131_072, 1_048_577, 4 << 20, 64 << 20]);
    (sizes, prop::sample::select(vec![0.0, 0.3, 1.0]))
        .prop_map(|(object_bytes, read_share)| Work { object_bytes, read_share })
}

fn lowest(site: &Site, geometries: &Geometries, work: &Work) -> f64 {
    limits(site, geometries, work).first().map_or(f64::INFINITY, |limit| limit.limit_bytes_per_s)
}

/// Makes one thing better, in every group alike.
type Upgrade = fn(&mut NodeGroup);

const UPGRADES: &[(&str, Upgrade)] = &[
    ("faster reading", |group| group.drives[0].read_bytes_per_s *= 1.5),
    ("faster writing", |group| group.drives[0].write_bytes_per_s *= 1.5),
    ("more read operations", |group| group.drives[0].read_iops *= 2.0),
    ("more write operations", |group| group.drives[0].write_iops *= 2.0),
    ("more drives", |group| group.drives[0].count += 1),
    ("faster NICs", |group| group.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s *= 2.0)),
    ("more ports", |group| group.nics.iter_mut().for_each(|nic| nic.ports += 1)),
    ("more lanes of NICs", |group| group.nics.iter_mut().for_each(|nic| nic.lanes *= 2)),
    ("newer PCIe", |group| group.pcie.generation += 1),
    ("more lanes", |group| group.pcie.lanes_per_socket += 16),
    ("more cores", |group| group.cores += 1),
    ("faster memory", |group| group.memory_bytes_per_s *= 1.2),
];

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn better_hardware_never_lowers_a_ceiling((site, geometry) in site(), work in work()) {
        let before = limits(&site, &geometry, &work);
        for (what, upgrade) in UPGRADES {
            let mut better = site.clone();
            better.groups.iter_mut().for_each(upgrade);
            for limit in limits(&better, &geometry, &work) {
                let was = before.iter().find(|old| old.resource == limit.resource && old.group == limit.group);
                let was = was.expect("the same resources").limit_bytes_per_s;
                prop_assert!(limit.limit_bytes_per_s >= was * (1.0 - 1e-9), "{}: {:?} was {}", what, limit, was);
            }
        }
    }

    #[test]
    fn what_is_sent_is_received((site, geometry) in site(), work in work()) {
        // Of an L2 announcement, the entry node's own figures stand beside those of the others.
        prop_assume!(!matches!(site.entry, Entry::L2Announcement { .. }) || site.groups.len() == 1);
        let moved = traffic(&site, &geometry, &work);
        let nodes = f64::from(site.nodes());
        let mut sums = [NodeFlow::default(); 4];
        for (place, (group, node)) in site.groups.iter().zip(&moved.nodes).enumerate() {
            let count = f64::from(group.count) - f64::from(u32::from(moved.entry.is_some()));
            for (sum, flow) in sums.iter_mut().zip([node.client, node.front, node.back, node.hop]) {
                *sum = sum.plus(flow.scaled(count / nodes));
            }
            if let Some(entry) = moved.entry.as_ref().map(|nodes| &nodes[place]) {
                for (sum, flow) in sums.iter_mut().zip([entry.client, entry.front, entry.back, entry.hop]) {
                    *sum = sum.plus(flow);
                }
            }
        }
        prop_assert!(close(sums[0].egress, moved.clients.ingress), "to clients: {:?} {:?}", sums[0], moved.clients);
        prop_assert!(close(sums[0].ingress, moved.clients.egress), "from clients: {:?} {:?}", sums[0], moved.clients);
        for sum in &sums[1..] {
            prop_assert!(close(sum.ingress, sum.egress), "among nodes: {:?}", sums);
        }
    }

    #[test]
    fn scaling_all_speeds_scales_every_ceiling((site, geometry) in site(), work in work(), by in 0.1..10.0_f64) {
        let mut scaled = site.clone();
        for group in &mut scaled.groups {
            group.memory_bytes_per_s *= by;
            for drives in &mut group.drives {
                drives.read_bytes_per_s *= by;
                drives.write_bytes_per_s *= by;
                drives.read_iops *= by;
                drives.write_iops *= by;
            }
            group.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s *= by);
        }
        scaled.clients.speed_bits_per_s *= by;
        scaled.fabric.rack_uplink_bits_per_s = site.fabric.rack_uplink_bits_per_s.map(|speed| speed * by);
        let after = limits(&scaled, &geometry, &work);
        for limit in limits(&site, &geometry, &work) {
            use linerate_record::plan::Resource::{Cpu, EntryNode, PcieDrives, PcieNic, PcieSocket};
            let now = after.iter().find(|new| new.resource == limit.resource && new.group == limit.group);
            let factor = now.expect("the same resources").limit_bytes_per_s / limit.limit_bytes_per_s;
            if limit.resource == EntryNode {
                // It may be of lanes, of cores, or of what is scaled.
                prop_assert!(factor > by.min(1.0) * 0.999 && factor < by.max(1.0) * 1.001, "{:?}: {}", limit, factor);
                continue;
            }
            // Cores and lanes come in whole numbers and stay.
            let expected = if matches!(limit.resource, Cpu | PcieNic | PcieDrives | PcieSocket) { 1.0 } else { by };
            prop_assert!(close(factor, expected), "{:?}: {} for {}", limit, factor, expected);
        }
    }

    #[test]
    fn numbers_and_explanations_are_the_same_ceilings((site, geometry) in site(), work in work()) {
        let (numbers, reported) = (limits(&site, &geometry, &work), ceilings(&site, &geometry, &work));
        prop_assert_eq!(numbers.len(), reported.len());
        for (limit, ceiling) in numbers.iter().zip(&reported) {
            prop_assert_eq!(limit.resource, ceiling.resource);
            prop_assert_eq!(limit.limit_bytes_per_s, ceiling.limit_bytes_per_s);
            prop_assert_eq!((limit.demand, limit.capacity), (ceiling.demand, ceiling.capacity));
            prop_assert_eq!(limit.group.map(|place| &site.groups[place].name), ceiling.group.as_ref());
            prop_assert!(!ceiling.formula.is_empty() && !ceiling.inputs.is_empty() && !ceiling.source.is_empty());
        }
        // Which of several that tie comes first is not left to their last bits.
        let most = numbers.iter().map(|limit| limit.limit_bytes_per_s).fold(f64::INFINITY, f64::min) * (1.0 + 1e-9);
        let is_before = |a: &ResourceLimit, b: &ResourceLimit| {
            match [a, b].map(|limit| limit.limit_bytes_per_s <= most) {
                [true, true] => (a.resource as usize, a.group) <= (b.resource as usize, b.group),
                _ => a.limit_bytes_per_s <= b.limit_bytes_per_s,
            }
        };
        prop_assert!(numbers.is_sorted_by(is_before), "{:?}", numbers);
        prop_assert!(numbers.iter().all(|limit| limit.limit_bytes_per_s.is_finite()), "{:?}", numbers);
    }

    #[test]
    fn a_mix_lies_between_reading_and_writing((site, geometry) in site(), read_share in 0.0..1.0_f64) {
        let lowest_at = |read_share| lowest(&site, &geometry, &Work { object_bytes: 8 << 20, read_share });
        let (get, put, mix) = (lowest_at(1.0), lowest_at(0.0), lowest_at(read_share));
        // Both directions of a link, and those of PCIe, are there for either: a mix may exceed both, never their sum.
        prop_assert!(mix >= get.min(put) * (1.0 - 1e-9), "{} of {} and {}", mix, get, put);
        prop_assert!(mix <= get + put, "{} of {} and {}", mix, get, put);
    }

    #[test]
    fn a_ceiling_of_the_site_is_that_of_its_weakest_group((site, geometry) in site(), work in work()) {
        prop_assume!(site.groups.len() == 2);
        let mut weak = site.clone();
        weak.groups[1].nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = 1e6);
        let first = limits(&weak, &geometry, &work)[0];
        let ways_in = matches!(weak.entry, Entry::L2Announcement { .. });
        prop_assert!(first.group == Some(1) || ways_in, "{:?}", first);
    }
}

#[test]
fn what_is_not_there_carries_nothing_and_what_is_not_described_limits_nothing() {
    let site = uniform("zero", 4, 2, 25e9, 1500);
    let geometry = sites::sets(2, 2);
    let get = Work { object_bytes: 4 << 20, read_share: 1.0 };
    let zeroed: &[(&str, Upgrade)] = &[
        ("ports", |group| group.nics.iter_mut().for_each(|nic| nic.ports = 0)),
        ("speed", |group| group.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = 0.0)),
        ("cores", |group| group.cores = 0),
        ("memory", |group| group.memory_bytes_per_s = 0.0),
        ("reading", |group| group.drives[0].read_bytes_per_s = 0.0),
        ("lanes", |group| group.pcie.lanes_per_socket = 0),
        ("bond", |group| group.bonds.clear()),
    ];
    for (what, change) in zeroed {
        let mut changed = site.clone();
        changed.groups.iter_mut().for_each(change);
        assert_eq!(lowest(&changed, &geometry, &get), 0.0, "without {what}");
    }
    let mut empty = site.clone();
    empty.groups[0].count = 0;
    assert!(limits(&empty, &geometry, &get).is_empty(), "no nodes");
    assert!(limits(&site, &geometry, &Work { object_bytes: 0, read_share: 1.0 }).is_empty(), "no bytes");
    let mut one = site.clone();
    one.groups[0].count = 1;
    one.entry = Entry::L2Announcement { dsr: false, policy: TrafficPolicy::Cluster };
    let node = traffic(&one, &geometry, &get).nodes[0];
    assert_eq!((node.back, node.hop), (NodeFlow::default(), NodeFlow::default()), "one node speaks to no other");
}
