//! Pools of one site that lay out objects differently, and what a failed node costs them: by hand.

use linerate_model::explain::singles;
use linerate_model::layout::geometries;
use linerate_model::plan::{PlanRequest, degraded_bytes_per_s, plan};
use linerate_model::traffic::traffic;
use linerate_record::explanation::Observations;
use linerate_record::plan::{Resource, Work};
use linerate_record::site::{Product, Site};

/// Sets of 16 (12 + 4) on 32 nodes, and one of 8 (4 + 4) on two.
const LARGE_AND_SMALL: &str = "
nodes:
  - name: large
    count: 32
    drives: {count: 8, capacity: 15TB, read: 6GB/s, write: 3GB/s}
    nics: {ports: 1, speed: 25Gb/s}
  - name: small
    count: 2
    drives: {count: 4, capacity: 4TB, read: 6GB/s, write: 3GB/s}
    nics: {ports: 1, speed: 100Gb/s}
engine: {product: minio, protection: EC:4}
planes: {public: {mtu: 9000}}
";

/// Hard drives limit the first pool. Both have sets of 16 (12 + 4): of 16 nodes, and of 4.
const DISKS_AND_FLASH: &str = "
nodes:
  - name: disks
    count: 48
    drives: {count: 8, capacity: 16TB, read: 250MB/s, write: 240MB/s, read_iops: 150, write_iops: 150, lanes: 0}
    nics: {ports: 1, speed: 100Gb/s}
  - name: flash
    count: 4
    drives: {count: 8, capacity: 4TB, read: 6GB/s, write: 3GB/s}
    nics: {ports: 1, speed: 100Gb/s}
engine: {product: minio, protection: EC:4}
planes: {public: {mtu: 9000}}
data: {object_size: 64MiB}
";

const ONE_ENTRY: &str = "
nodes:
  count: 8
  drives: {count: 8, capacity: 7.68TB, read: 6GB/s, write: 3GB/s}
  nics: {ports: 1, speed: 100Gb/s}
engine: {product: minio, protection: EC:4}
entry: {path: l2-announcement, policy: local}
planes: {public: {mtu: 9000}}
";

const GET: Work = Work { object_bytes: 64 << 20, read_share: 1.0 };
const PUT: Work = Work { object_bytes: 64 << 20, read_share: 0.0 };

fn site(text: &str) -> Site {
    linerate_site::read(text, "site.yaml").expect("it is whole")
}

fn near(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < 2e-3, "{what}: {found}, not {expected}");
}

/// The lowest ceiling of a work, with all nodes and without one.
fn whole_and_degraded(site: &Site, work: &Work) -> (f64, f64) {
    let geometries = geometries(site).expect("it starts");
    let whole = linerate_model::ceilings::limits(site, &geometries, work)[0].limit_bytes_per_s;
    let down = degraded_bytes_per_s(site, &geometries, work).expect("it starts").expect("a quorum is left");
    (whole, down)
}

#[test]
fn each_pool_takes_objects_by_its_capacity_and_moves_them_by_its_own_layout() {
    let site = site(LARGE_AND_SMALL);
    let made = plan(&site, &PlanRequest::default()).expect("it starts");
    let lowest = &made.works[1].ceilings[0];
    assert_eq!((lowest.resource, lowest.group.as_deref()), (Resource::PublicIngress, Some("large")));
    let large = 32.0 * 8.0 * 15.0 / (32.0 * 8.0 * 15.0 + 2.0 * 4.0 * 4.0);
    // What clients send, and of what the other 33 nodes serve a 32nd of the larger pool's objects.
    let per_byte = 1.0 + large / 32.0 * 33.0 * 16.0 / 12.0;
    near(lowest.demand, per_byte, "into a node of the larger pool");
    near(lowest.limit_bytes_per_s, 41.4 * f64::from(1 << 30), "PUT");
    let reported = lowest.inputs.iter().find(|input| input.name == "shards").expect("the layout is an input");
    assert_eq!(reported.value, "12 data + 4 parity");
    let mut alone = site.clone();
    alone.groups.truncate(1);
    let alone = plan(&alone, &PlanRequest::default()).expect("it starts").works[1].ceilings[0].limit_bytes_per_s;
    assert!(alone < lowest.limit_bytes_per_s, "two faster nodes more give no less: {alone}");
    let layout = &made.layout;
    assert_eq!((layout.data_shards, layout.parity_shards, layout.sets, layout.set_drives), (12, 4, 16, 16));
    let pools: Vec<_> = layout.pools.iter().map(|pool| (pool.data_shards, pool.parity_shards, pool.sets)).collect();
    assert_eq!(pools, [(12, 4, 16), (4, 4, 1)]);
}

#[test]
fn what_nodes_of_pools_with_different_layouts_send_is_received() {
    let mut site = site(LARGE_AND_SMALL);
    for (product, local_shards) in [(Product::Minio, false), (Product::Rustfs, false), (Product::Rustfs, true)] {
        (site.engine.product, site.engine.local_shards) = (product, local_shards);
        for work in [GET, PUT, Work { object_bytes: 4096, read_share: 0.5 }] {
            let moved = traffic(&site, &geometries(&site).expect("it starts"), &work);
            let sum = |extract: fn(&linerate_model::traffic::NodeTraffic) -> f64| -> f64 {
                site.groups.iter().zip(&moved.nodes).map(|(group, node)| f64::from(group.count) * extract(node)).sum()
            };
            let what = format!("{product:?}, local {local_shards}, {work:?}");
            near(sum(|node| node.back.egress), sum(|node| node.back.ingress), &what);
        }
    }
}

#[test]
fn a_node_that_is_set_apart_stays_in_its_pool() {
    let site = site(LARGE_AND_SMALL);
    let nothing = Observations { figures: Vec::new(), error_share: 0.02, nodes_alone: false };
    let all = singles(&site, &nothing).expect("it starts");
    let mut seen = 0;
    for single in all.iter().filter(|single| single.site.groups.len() > site.groups.len()) {
        let Some(place) = single.outlier_group else { continue };
        let large = single.site.groups[place].name == "large";
        assert_eq!(single.geometries.for_group(place).shards, if large { 16 } else { 8 }, "{:?}", single.deviation);
        seen += 1;
    }
    assert!(seen > 2, "{seen}");
}

/// A node of the first pool holds one of 16 shards of a set. Reads take k of the 15 that are left; writes are of
/// 11 + 5. A node of the second holds four, of sets that the first pool's drives are no part of.
#[test]
fn a_node_down_takes_shards_of_its_own_pool_only() {
    let site = site(DISKS_AND_FLASH);
    let (whole, down) = whole_and_degraded(&site, &GET);
    near(down / whole, 15.0 / 16.0, "GET");
    let (whole, down) = whole_and_degraded(&site, &PUT);
    near(down / whole, 11.0 / 12.0, "PUT");
}

/// The node that takes every connection sends what it does not keep: of 12 + 4 with two shards to a node 14 shards of a
/// twelfth. Without a node objects are of 10 + 6 with 14 written, and 12 shards of a tenth are sent.
#[test]
fn a_node_down_makes_the_shards_that_are_sent_larger() {
    let (whole, down) = whole_and_degraded(&site(ONE_ENTRY), &PUT);
    near(down / whole, (14.0 / 12.0) / (12.0 / 10.0), "PUT");
}
