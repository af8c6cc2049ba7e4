//! The factors that engines are known by, and what each way in adds.

use linerate_record::plan::Work;
use linerate_record::site::{Engine, Entry, Product, Site, TrafficPolicy};

use super::{NodeFlow, NodeTraffic, traffic};
use crate::layout::objects::{Footprint, footprint};
use crate::layout::{Geometries, Geometry, GeometryKind};
use crate::test_site;

const MIB: u64 = 1 << 20;

fn geometry(data: u32, parity: u32) -> Geometry {
    Geometry { shards: data + parity, data, parity, sets: 1, kind: GeometryKind::Sets }
}

/// 64 MiB objects on 16 nodes.
fn node(change: impl Fn(&mut Site), geometries: impl Into<Geometries>, read_share: f64) -> NodeTraffic {
    let mut site = test_site::site();
    change(&mut site);
    traffic(&site, &geometries.into(), &Work { object_bytes: 64 * MIB, read_share }).nodes[0]
}

/// To a thousandth: heads, hashes and metadata are below it.
fn is(flow: NodeFlow, ingress: f64, egress: f64, what: &str) {
    assert!((flow.ingress - ingress).abs() < 1e-3, "{what}: {flow:?}, expected {ingress} in");
    assert!((flow.egress - egress).abs() < 1e-3, "{what}: {flow:?}, expected {egress} out");
}

#[test]
fn each_engine_moves_what_its_protection_asks() {
    use Product::{CephRgw, Garage, Minio, Rustfs};
    let f = 15.0 / 16.0;
    let (coded, copied) = (geometry(10, 4), geometry(1, 2));
    // Product, local shards, geometry, then among nodes: front and back, of GET and of PUT.
    let cases = [
        (Minio, false, coded, [0.0, 0.0], [f, 1.4 * f]),
        (Minio, true, coded, [0.0, 0.0], [f, 1.4 * f]),
        (Rustfs, false, coded, [0.0, 0.0], [1.4 * f, 1.4 * f]),
        (Rustfs, true, coded, [0.0, 0.0], [1.0 - 14.0 / 160.0, 1.4 * f]),
        (CephRgw, false, coded, [f, f], [0.9, 1.3]),
        (CephRgw, false, copied, [f, f], [0.0, 2.0]),
        (Garage, false, copied, [0.0, 0.0], [1.0 - 3.0 / 16.0, 3.0 * f]),
    ];
    for (product, local_shards, geometry, front, back) in cases {
        for (place, read_share) in [(0, 1.0), (1, 0.0)] {
            let change = |site: &mut Site| {
                site.engine.product = product;
                site.engine.local_shards = local_shards;
            };
            let node = node(change, geometry, read_share);
            let what = format!("{product:?} local {local_shards} {geometry:?} read {read_share}");
            is(node.front, front[place], front[place], &what);
            is(node.back, back[place], back[place], &what);
            is(node.client, 1.0 - read_share, read_share, &what);
        }
    }
}

#[test]
fn ceph_on_fewer_hosts_than_shards_keeps_some_of_them_at_home() {
    let change = |site: &mut Site| {
        site.engine.product = Product::CephRgw;
        site.groups[0].count = 4;
    };
    // 14 shards on 4 nodes: of the 13 others, 3.5 − 1 are on the primary's node.
    let back = node(change, geometry(10, 4), 0.0).back;
    is(back, 1.3 * 10.5 / 13.0, 1.3 * 10.5 / 13.0, "four hosts");
}

#[test]
fn a_way_in_that_forwards_moves_every_byte_once_more() {
    use TrafficPolicy::{Cluster, Local};
    let h = 15.0 / 16.0;
    let cases = [
        (Entry::ClientSide, 0.0),
        (Entry::ClusterMesh, 0.0),
        (Entry::Bgp { policy: Local }, 0.0),
        (Entry::NodePort { policy: Local }, 0.0),
        (Entry::Bgp { policy: Cluster }, h),
        (Entry::NodePort { policy: Cluster }, h),
    ];
    for (entry, hop) in cases {
        for read_share in [1.0, 0.0] {
            let node = node(|site| site.entry = entry, geometry(10, 4), read_share);
            is(node.hop, hop, hop, &format!("{entry:?}, read {read_share}"));
        }
    }
}

#[test]
fn one_node_that_takes_every_connection_carries_the_whole_site() {
    use TrafficPolicy::{Cluster, Local};
    let (others, f) = (15.0 / 16.0, 15.0 / 16.0);
    // Entry, read share, then the entry node per client byte of the site: clients, hop, back.
    let cases = [
        (false, Cluster, 1.0, (0.0, 1.0), (others, 0.0), f / 16.0),
        (true, Cluster, 1.0, (0.0, 1.0 / 16.0), (0.0, 0.0), f / 16.0),
        (true, Cluster, 0.0, (1.0, 0.0), (0.0, others), 1.4 * f / 16.0),
        (false, Local, 0.0, (1.0, 0.0), (0.0, 0.0), 1.4 * f),
    ];
    for (dsr, policy, read_share, client, hop, sent) in cases {
        let mut site = test_site::site();
        site.entry = Entry::L2Announcement { dsr, policy };
        let moved = traffic(&site, &geometry(10, 4).into(), &Work { object_bytes: 64 * MIB, read_share });
        let what = format!("{:?} read {read_share}", site.entry);
        let entry = moved.entry.expect("one node takes all")[0];
        is(entry.client, client.0, client.1, &what);
        is(entry.hop, hop.0, hop.1, &what);
        let busier = if policy == Local { entry.back.egress } else { entry.back.egress.max(entry.back.ingress) };
        assert!((busier - sent).abs() < 1e-3, "{what}: {entry:?}");
    }
    assert!(node(|_| (), geometry(10, 4), 1.0).client.egress > 0.0);
}

#[test]
fn nodes_with_more_capacity_hold_and_send_more() {
    let mut site = test_site::site();
    site.groups.push(site.groups[0].clone());
    site.groups[1].name = "large".to_owned();
    site.groups[1].drives[0].capacity_bytes *= 3;
    let moved = traffic(&site, &geometry(10, 4).into(), &Work { object_bytes: 64 * MIB, read_share: 1.0 });
    let (small, large) = (&moved.nodes[0], &moved.nodes[1]);
    assert!((large.drive_read / small.drive_read - 3.0).abs() < 1e-9, "{small:?} {large:?}");
    assert!((large.back.egress / small.back.egress - 3.0).abs() < 1e-9);
    assert!(large.back.ingress < small.back.ingress, "it finds more at home");
    assert!((large.client.egress - small.client.egress).abs() < 1e-12, "requests are spread evenly");
}

#[test]
fn an_inline_object_is_read_from_every_drive_and_a_large_one_from_k() {
    let engine = test_site::site().engine;
    let footprint_with = |engine: &Engine, bytes| footprint(engine, &geometry(10, 4), bytes, true);
    let (small, large) = (footprint_with(&engine, MIB), footprint_with(&engine, 8 * MIB));
    assert!(small.inline && !large.inline);
    assert!((small.moved_bytes - 1.4).abs() < 0.02, "{small:?}");
    assert!((large.moved_bytes - 1.0).abs() < 0.002, "{large:?}");
    let per_request = |foot: &Footprint, bytes: u64| foot.drive_read_ops * bytes as f64;
    assert!((per_request(&small, MIB) - 14.0).abs() < 1e-6, "metadata of each drive");
    assert!((per_request(&large, 8 * MIB) - 24.0).abs() < 1e-6, "and a file of each of k");
    let versioned = Engine { versioned: true, ..engine };
    assert!(!footprint_with(&versioned, MIB).inline, "an eighth where versions are kept");
}

#[test]
fn encryption_hashes_and_codes_are_counted_where_they_happen() {
    let change = |site: &mut Site| {
        site.engine.tls = true;
        site.engine.internal_tls = true;
        site.engine.encryption = true;
    };
    let put = node(change, geometry(10, 4), 0.0).passes;
    let f = 15.0 / 16.0;
    assert!((put.encrypted - (1.0 + 2.0 * 1.4 * f + 1.0)).abs() < 3e-3, "{put:?}");
    assert_eq!((put.md5, put.coded), (1.0, 4.0));
    assert!((put.highway - 1.4).abs() < 1e-9);
    let get = node(|_| (), geometry(10, 4), 1.0).passes;
    assert_eq!((get.md5, get.coded, get.encrypted, get.highway), (0.0, 0.0, 0.0, 1.0));
}
