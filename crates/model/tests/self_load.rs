//! Clients that run on the storage nodes: by hand, against a simulation that shares no code with the model, and as it
//! was published.

use std::path::Path;

use linerate_model::ceilings::limits;
use linerate_model::curve::curve_model;
use linerate_model::explain::explain;
use linerate_model::layout::{Geometries, Geometry, GeometryKind};
use linerate_model::plan::{PlanRequest, plan};
use linerate_model::traffic::traffic;
use linerate_record::explanation::{Explanation, Observations, Observed, Quantity};
use linerate_record::plan::{Resource, Work};
use linerate_record::site::*;
use linerate_site::read;
use linerate_worlds::{self as worlds, Cluster, objects_per_link_time};

use crate::sites::{sets, shared, uniform};

const GIB: f64 = 1_073_741_824.0;
const GET: Work = Work { object_bytes: 64 << 20, read_share: 1.0 };
const PUT: Work = Work { object_bytes: 64 << 20, read_share: 0.0 };

fn on_nodes(mut site: Site, entry: Entry) -> Site {
    site.clients.on = ClientsOn::Nodes;
    site.clients.per_core_bytes_per_s = Some(15e9);
    site.entry = entry;
    site
}

fn limit(site: &Site, geometries: &Geometries, work: &Work, resource: Resource) -> f64 {
    let all = limits(site, geometries, work);
    let found = all.iter().find(|limit| limit.resource == resource);
    found.unwrap_or_else(|| panic!("no {resource:?} in {all:?}")).limit_bytes_per_s
}

fn near(found: f64, by_hand: f64, what: &str) {
    assert!((found / by_hand - 1.0).abs() < 0.002, "{what}: {found}, by hand {by_hand}");
}

/// 32 × 100 Gb/s, one link, 12+4, each node asks itself. A shard of 64 MiB is 64 × (87,382 + 32) = 5,594,496 bytes.
///
/// A link carries 12.5 GB/s × 8948/9038 = 12.3755 GB/s, all of them 396.017. GET: of 12 shards and 16 × 512 bytes of
/// metadata 31/32 come from other nodes, 1.000496 × 0.96875 = 0.96923 bytes per byte in and out: 408.59 GB/s. PUT: 16
/// shards, 1.333954 × 0.96875 = 1.29227: 306.45 GB/s.
#[test]
fn nodes_that_ask_themselves_have_links_for_shards_alone() {
    let site = on_nodes(shared(uniform("32", 32, 1, 100e9, 9000)), Entry::Local);
    let geometry = sets(12, 4);
    for (work, by_hand) in [(&GET, 408.59e9), (&PUT, 306.45e9)] {
        for resource in [Resource::PublicIngress, Resource::PublicEgress] {
            near(limit(&site, &geometry, work, resource), by_hand, &format!("{work:?} {resource:?}"));
        }
        assert_eq!(
            limits(&site, &geometry, work)[0].limit_bytes_per_s,
            limit(&site, &geometry, work, Resource::PublicEgress)
        );
    }
    // Clients that ask any node take 31/32 of the object out and in besides: 396.017 / (0.96923 + 0.96877) = 204.34.
    let spread = on_nodes(site.clone(), Entry::ClientSide);
    near(limit(&spread, &geometry, &GET, Resource::PublicIngress), 204.34e9, "GET, spread");
    // 1.29227 + 0.96877 = 2.26104: 175.15.
    near(limit(&spread, &geometry, &PUT, Resource::PublicEgress), 175.15e9, "PUT, spread");
    // Elsewhere, all of the object goes out: 396.017 / (0.96923 + 1.00001) = 201.10; and nothing of it comes in.
    let mut elsewhere = site;
    (elsewhere.clients.on, elsewhere.entry) = (ClientsOn::Machines, Entry::ClientSide);
    near(limit(&elsewhere, &geometry, &GET, Resource::PublicEgress), 201.10e9, "GET, elsewhere");
    near(limit(&elsewhere, &geometry, &GET, Resource::PublicIngress), 408.59e9, "GET, elsewhere");
}

/// 8 nodes of 2 × 25 Gb/s on each of two planes, MTU 1500, 6+2, requests spread over all. A shard is 64 × (174,763 +
/// 32) = 11,186,880 bytes.
///
/// A link carries 6.25 GB/s × 1448/1538 = 5.88426 GB/s, all of them 47.0741. Of the object and its heads 7/8 cross the
/// public plane both ways: 0.875016, 53.798 GB/s. GET's shards: 1.000246 × 0.875 = 0.875215, 53.786. PUT's: 1.333641 ×
/// 0.875 = 1.166936, 40.340.
#[test]
fn nodes_that_ask_all_have_clients_and_shards_each_on_their_plane() {
    let site = on_nodes(uniform("8", 8, 2, 25e9, 1500), Entry::ClientSide);
    let geometry = sets(6, 2);
    for (work, private) in [(&GET, 53.786e9), (&PUT, 40.340e9)] {
        for resource in [Resource::PublicIngress, Resource::PublicEgress] {
            near(limit(&site, &geometry, work, resource), 53.798e9, &format!("{work:?} {resource:?}"));
        }
        for resource in [Resource::PrivateIngress, Resource::PrivateEgress] {
            near(limit(&site, &geometry, work, resource), private, &format!("{work:?} {resource:?}"));
        }
    }
}

/// Garage, 6 × 10 Gb/s, 3 copies, MTU 1500, each node asks itself: half of what is read lies there. All links carry
/// 6 × 1.25 × 1448/1538 = 7.0611 GB/s. GET: 0.5, 14.122 GB/s. PUT: 3 × 5/6 = 2.5, 2.8244 GB/s.
#[test]
fn nodes_that_ask_themselves_and_hold_copies_have_half_of_the_reads_at_home() {
    let mut site = on_nodes(shared(uniform("6", 6, 1, 10e9, 1500)), Entry::Local);
    site.engine.product = Product::Garage;
    let geometry = Geometry { shards: 3, data: 1, parity: 2, sets: 1, kind: GeometryKind::Replicas }.into();
    near(limit(&site, &geometry, &GET, Resource::PublicEgress), 14.122e9, "GET");
    near(limit(&site, &geometry, &PUT, Resource::PublicIngress), 2.8244e9, "PUT");
}

/// 16 nodes in 4 racks: of what a node asks, 15/16 leave it, 12/15 of these the rack: 0.75, as of shards. Of a quarter
/// of the site: 0.25 × (0.75 + 0.75 × 1.0005) = 0.3752, where clients elsewhere take 0.25 × (1 + 0.7504) = 0.4376.
#[test]
fn racks_keep_what_their_own_nodes_ask_of_each_other() {
    let mut site = on_nodes(shared(uniform("16", 16, 1, 100e9, 9000)), Entry::ClientSide);
    site.groups[0].racks = 4;
    site.fabric.rack_uplink_bits_per_s = Some(400e9);
    let carried = 50e9 * 8948.0 / 9038.0;
    near(limit(&site, &sets(12, 4), &GET, Resource::RackUp), carried / 0.3752, "on nodes");
    site.clients.on = ClientsOn::Machines;
    near(limit(&site, &sets(12, 4), &GET, Resource::RackUp), carried / 0.4376, "elsewhere");
}

/// As in the first test, GET, 32 × 64 cores and 500 GB/s of memory.
///
/// Received and sent: 0.96923 of shards and 1.00002 between node and client, each: 1.96925/5.25 + 1.96925/11.1 ns;
/// HighwayHash 1/11.9; the client's own work 1/15: 0.70321 ns, 2,912.4 GB/s. Memory: 2 × 2 × 0.96923 by the NIC,
/// 2.00004 over the loopback, 1.00146 of drives: 6.87842 of 400 GB/s a node, 1,860.9 GB/s.
#[test]
fn clients_on_nodes_take_of_their_processors_and_memory() {
    let site = on_nodes(shared(uniform("32", 32, 1, 100e9, 9000)), Entry::Local);
    let geometry = sets(12, 4);
    near(limit(&site, &geometry, &GET, Resource::Cpu), 2_912.4e9, "processors");
    near(limit(&site, &geometry, &GET, Resource::Memory), 1_860.9e9, "memory");
    let mut dear = site.clone();
    dear.clients.per_core_bytes_per_s = Some(1e9);
    // 0.70321 - 0.06667 + 1 ns.
    near(limit(&dear, &geometry, &GET, Resource::Cpu), 2048.0 / 1.63654 * 1e9, "a dear client");
    let reported = plan(&site, &PlanRequest::default()).unwrap();
    let cpu = reported.works[0].ceilings.iter().find(|ceiling| ceiling.resource == Resource::Cpu).unwrap();
    let own = cpu.inputs.iter().find(|input| input.path.as_deref() == Some("clients.per_core")).unwrap();
    assert!(!own.assumed && own.value.starts_with("14.0 GiB/s"), "{own:?}");
}

#[test]
fn what_is_sent_is_received_and_nothing_more_than_with_clients_elsewhere() {
    for (entry, parity) in [(Entry::ClientSide, 2), (Entry::Local, 4)] {
        for nodes in [1_u32, 2, 7, 32] {
            let mut site = on_nodes(uniform("any", nodes, 1, 25e9, 1500), entry);
            let geometry = sets(8, parity);
            let here = traffic(&site, &geometry, &Work { object_bytes: 4 << 20, read_share: 0.4 }).nodes[0];
            site.clients.on = ClientsOn::Machines;
            let there = traffic(&site, &geometry, &Work { object_bytes: 4 << 20, read_share: 0.4 }).nodes[0];
            assert!((here.client.ingress - here.client.egress).abs() < 1e-12, "{nodes}: {:?}", here.client);
            let (crossed, all) = (here.client.ingress, there.client.ingress + there.client.egress);
            let far = if entry == Entry::Local { 0.0 } else { 1.0 - 1.0 / f64::from(nodes) };
            assert!((crossed - far * all).abs() < 1e-12, "{nodes}: {crossed} of {all}");
            assert_eq!(
                (here.back, here.drive_read, here.drive_write),
                (there.back, there.drive_read, there.drive_write)
            );
        }
    }
}

/// Nodes of one drive each behind one slow link, so that links alone bind.
fn namespaces(nodes: u32, data: u32, parity: u32, entry: Entry) -> Site {
    let mut site = on_nodes(shared(uniform("namespaces", nodes, 1, 200e6, 1500)), entry);
    site.groups[0].drives[0].count = 1;
    site.engine.protection = Protection::Sets { set_drives: Some(data + parity), parity: Some(parity) };
    site.data.object_bytes = 4 << 20;
    site
}

/// Objects in the time of one on a link, by the model: a link's payload per second over an object.
fn modelled(site: &Site, geometries: &Geometries, reads: bool, in_flight: u32) -> (f64, f64) {
    let work = Work { object_bytes: 4 << 20, read_share: f64::from(u8::from(reads)) };
    let all = limits(site, geometries, &work);
    let link = 200e6 / 8.0 * 1448.0 / 1538.0;
    let curve_model = curve_model(site, geometries, &work, &all).expect("links limit it");
    (all[0].limit_bytes_per_s / link, curve_model.share(f64::from(in_flight)))
}

#[test]
fn a_simulation_of_links_gives_the_same_ceilings_and_nearly_the_same_curve() {
    let mut reported = Vec::new();
    for (nodes, data, parity) in [(2, 1, 1), (4, 2, 2), (6, 3, 3), (8, 6, 2), (8, 2, 2)] {
        for (entry, clients) in
            [(Entry::ClientSide, worlds::ClientPlacement::OnNodes), (Entry::Local, worlds::ClientPlacement::AtHome)]
        {
            let (site, geometry) = (namespaces(nodes, data, parity, entry), sets(data, parity));
            let shards = (data + parity) as usize;
            let cluster = Cluster { nodes: nodes as usize, shards, data: data as usize, pieces: 8, rounds: 0, clients };
            for (reads, requested) in [(true, worlds::Operation::Get), (false, worlds::Operation::Put)] {
                let run = |in_flight, rounds| {
                    objects_per_link_time(Cluster { rounds, ..cluster }, requested, in_flight, 4_000, 1)
                };
                let (most, _) = modelled(&site, &geometry, reads, 1);
                let full = run(64 * nodes as usize, 0) / most;
                assert!((0.95..1.01).contains(&full), "{nodes}: {data}+{parity} {entry:?} {requested:?}: {full}");
                for each in [2, 4, 16] {
                    let in_flight = each * nodes;
                    let simulated = run(in_flight as usize, 2) / most;
                    let predicted = modelled(&site, &geometry, reads, in_flight).1;
                    let error = predicted / simulated - 1.0;
                    reported.push((nodes, data, entry, requested, in_flight, predicted, simulated, error));
                }
            }
        }
    }
    let lines: Vec<String> = reported.iter().map(|of| format!("{of:.3?}")).collect();
    // Where nodes ask themselves, few of many nodes hold an object: what the holders' links are asked is uneven. Writes
    // that are spread wait for the slowest of several shards, as those of clients elsewhere do.
    let bound = |entry, requested| match (entry, requested) {
        (Entry::Local, worlds::Operation::Get) => 0.18,
        (Entry::Local, worlds::Operation::Put) => 0.24,
        (_, worlds::Operation::Get) => 0.09,
        (_, worlds::Operation::Put) => 0.27,
    };
    assert!(reported.iter().all(|of| of.7.abs() < bound(of.2, of.3)), "{lines:#?}");
    let mean = reported.iter().map(|of| of.7.abs()).sum::<f64>() / reported.len() as f64;
    assert!(mean < 0.07, "{mean}: {lines:#?}");
}

/// MinIO's page of 2021, as `examples` has it.
fn published() -> Site {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/minio-i3en-32-self.yaml");
    let text = std::fs::read_to_string(path).expect("a file of the repository");
    read(&text, "minio-i3en-32-self.yaml").expect("it is whole")
}

fn explained(site: &Site) -> Explanation {
    let figure =
        |what, gib_per_s: f64| Observed { what, bytes_per_s: gib_per_s * GIB, error_share: None, in_flight: None };
    let figures = vec![figure(Quantity::Get, 325.0), figure(Quantity::Put, 165.0)];
    explain(site, &Observations { figures, error_share: 0.02, nodes_alone: false }).expect("the engine runs")
}

#[test]
fn what_was_published_is_possible_with_clients_on_the_nodes_that_ask_themselves_and_not_else() {
    let site = published();
    let reported = plan(&site, &PlanRequest::default()).unwrap();
    let lowest: Vec<_> = reported.works.iter().map(|work| &work.ceilings[0]).collect();
    // As in the first test, at an MTU of 9001: 380.5 and 285.4 GiB/s.
    near(lowest[0].limit_bytes_per_s, 380.53 * GIB, "GET");
    near(lowest[1].limit_bytes_per_s, 285.41 * GIB, "PUT");
    assert!(325.0 * GIB < lowest[0].limit_bytes_per_s && 165.0 * GIB < lowest[1].limit_bytes_per_s);
    let described = |explanation: &Explanation| explanation.survivors.iter().any(|one| one.id == "as-described");
    let explanation = explained(&site);
    assert!(described(&explanation), "{:#?}", explanation.described);
    let varied = explanation.survivors.iter().flat_map(|one| &one.deviations);
    let varied: Vec<_> = varied.filter(|deviation| deviation.id.starts_with("clients")).collect();
    assert!(varied.is_empty(), "{varied:#?}");

    for (on, entry) in [(ClientsOn::Nodes, Entry::ClientSide), (ClientsOn::Machines, Entry::ClientSide)] {
        let mut other = site.clone();
        other.clients.on = on;
        other.entry = entry;
        assert!(!described(&explained(&other)), "{on:?} {entry:?}");
    }
}

#[test]
fn a_curve_over_nodes_and_a_size_keep_a_client_on_each_node() {
    let site = published();
    let requested = PlanRequest { nodes: Some(16..=64), need: "get=325GiB/s".parse().ok(), ..PlanRequest::default() };
    let reported = plan(&site, &requested).unwrap();
    let scaling = reported.scaling.unwrap();
    let at = |nodes: u32| scaling.points.iter().find(|point| point.nodes == nodes).unwrap().limits_bytes_per_s[0];
    // 12.3755 GB/s a node over (N − 1)/N × 1.000496.
    for nodes in [16_u32, 32, 64] {
        let others = 1.0 - 1.0 / f64::from(nodes);
        near(at(nodes), f64::from(nodes) * 12.3755e9 / (others * 1.000496), &format!("{nodes} nodes"));
    }
    let sizing = reported.sizing.unwrap();
    // 27 nodes would give 27 × 12.3755 / (26/27 × 1.0005) = 346.8 GB/s, less than 349.0.
    assert_eq!(sizing.nodes, Some(28), "{sizing:?}");
    assert!(sizing.why.ends_with("a client runs on each node, and the result is for these clients"), "{sizing:?}");
    let curve = reported.works[0].curve.as_ref().unwrap();
    assert_eq!(curve.clients.map(|point| point.in_flight), Some(32 * 20));
}
