use linerate_record::plan::Tolerance;
use linerate_record::site::Drives;
use proptest::prelude::*;

use super::failure_tolerance::{quorum, rack_for_node, racks_survived_in_turn};
use super::*;
use crate::test_site::site;

/// What MinIO's own functions returned: see the head of the file.
const TABLE: &str = include_str!("../../tests/data/minio_sets.csv");

fn rows() -> impl Iterator<Item = Vec<Option<u32>>> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| line.split(',').map(|cell| cell.parse().ok()).collect())
}

#[test]
fn sets_are_those_that_minio_itself_makes() {
    let mut refused = 0;
    for row in rows() {
        let [Some(nodes), Some(drives), Some(stated), set_drives, sets, parity, most] = row[..] else {
            panic!("a row of seven cells, not {row:?}")
        };
        let case = format!("{nodes} nodes × {drives} drives, stated {stated}");
        let size = minio::set_size(nodes, drives, (stated > 0).then_some(stated));
        assert_eq!(size, set_drives, "{case}");
        let Some(size) = size else {
            refused += 1;
            continue;
        };
        assert_eq!(Some(nodes * drives / size), sets, "{case}");
        assert_eq!(Some(minio::default_parity(size)), parity, "{case}");
        let held = |set: Vec<u32>| set.iter().map(|node| set.iter().filter(|other| *other == node).count()).max();
        let found = minio::distinct_sets(nodes, size, nodes * drives / size).filter_map(held).max();
        assert_eq!(found.map(|most| most as u32), most, "{case}");
    }
    assert!(refused > 100, "the table has refusals: {refused}");
    assert!(rows().count() > 1_500);
}

fn sets(nodes: u32, drives: u32) -> Site {
    let mut site = site();
    site.groups[0].count = nodes;
    site.groups[0].racks = 1;
    site.groups[0].drives[0].count = drives;
    site.groups[0].drives[0].capacity_bytes = 1_000_000_000_000;
    site.engine.product = Product::Minio;
    site.engine.protection = Protection::Sets { set_drives: None, parity: None };
    site
}

fn protected(product: Product, protection: Protection, nodes: u32) -> Site {
    let mut site = sets(nodes, 4);
    site.engine.product = product;
    site.engine.protection = protection;
    site
}

#[test]
fn fifty_six_nodes_give_sets_of_fourteen_and_seventy_one_percent() {
    let plan = layout(&sets(56, 12)).unwrap();
    assert_eq!((plan.set_drives, plan.data_shards, plan.parity_shards, plan.sets), (14, 10, 4, 48));
    assert_eq!(plan.raw_bytes, 672_000_000_000_000);
    assert!((plan.usable_share - 10.0 / 14.0).abs() < 1e-9, "{}", plan.usable_share);
    assert_eq!(plan.usable_bytes, 480_000_000_000_000);
    assert_eq!(plan.read_tolerance, Tolerance { drives: 4, nodes: 4, racks: 0 });
    assert!(plan.why.starts_with("14 is the largest of the sizes 2, 4, 7, 8 or 14"), "{}", plan.why);
}

#[test]
fn a_prime_number_of_nodes_is_refused_with_the_nearest_that_work() {
    let error = layout(&sets(17, 12)).unwrap_err().to_string();
    assert!(error.contains("17 nodes × 12 drives") && error.contains("use 16 or 18 nodes"), "{error}");
}

#[test]
fn what_an_engine_lacks_is_refused_with_what_it_has() {
    let replicas = Protection::Replicas { copies: 3 };
    for (product, protection, nodes, part) in [
        (Product::Minio, replicas, 4, "state `sets`"),
        (Product::CephRgw, Protection::Sets { set_drives: None, parity: None }, 4, "state `erasure`"),
        (Product::Garage, Protection::Erasure { data: 2, parity: 1 }, 4, "state `replicas`"),
        (Product::Garage, replicas, 2, "need 3 nodes, but the site has 2"),
        (Product::CephRgw, Protection::Erasure { data: 0, parity: 2 }, 4, "at least 1"),
        (Product::Garage, Protection::Replicas { copies: 0 }, 4, "at least 1"),
        (Product::Minio, Protection::Sets { set_drives: Some(5), parity: None }, 4, "can be 2, 4, 8 or 16"),
        (Product::Minio, Protection::Sets { set_drives: None, parity: Some(9) }, 4, "give at most 8"),
    ] {
        let error = layout(&protected(product, protection, nodes)).unwrap_err().to_string();
        assert!(error.contains(part), "{product:?} {protection:?} on {nodes}: {error}");
    }
}

#[test]
fn tolerance_is_what_each_engines_quorum_leaves() {
    let coded = |data, parity| Protection::Erasure { data, parity };
    let copies = |copies| Protection::Replicas { copies };
    let set = |parity| Protection::Sets { set_drives: None, parity: Some(parity) };
    for (product, protection, nodes, reads, writes) in [
        (Product::CephRgw, coded(2, 2), 12, 1, 1),
        (Product::CephRgw, coded(2, 1), 12, 1, 1),
        (Product::CephRgw, coded(8, 3), 12, 2, 2),
        (Product::CephRgw, copies(3), 12, 1, 1),
        (Product::Garage, copies(3), 12, 1, 1),
        (Product::Garage, copies(2), 12, 1, 0),
        (Product::Garage, copies(1), 12, 0, 0),
        (Product::Minio, set(8), 16, 8, 7),
        (Product::Minio, set(4), 16, 4, 4),
        (Product::Rustfs, set(0), 16, 0, 0),
        (Product::Minio, set(4), 8, 2, 2),
        (Product::Minio, set(8), 4, 2, 1),
        (Product::Minio, set(2), 1, 0, 0),
    ] {
        let plan = layout(&protected(product, protection, nodes)).unwrap();
        let found = (plan.read_tolerance.nodes, plan.write_tolerance.nodes);
        assert_eq!(found, (reads, writes), "{product:?} {protection:?} on {nodes} nodes");
    }
}

#[test]
fn racks_survive_by_the_order_of_names() {
    let mut site = sets(56, 12);
    site.groups[0].racks = 14;
    let pool = &pools(&site).unwrap()[0];
    assert_eq!(layout(&site).unwrap().read_tolerance.racks, 1, "4 nodes in a row share a rack, parity is 4");
    assert_eq!(racks_survived_in_turn(pool, 4), 4, "14 nodes in a row are in 14 racks");
    site.groups[0].racks = 7;
    assert_eq!(layout(&site).unwrap().read_tolerance.racks, 0, "8 nodes in a row share a rack");
}

#[test]
fn garages_zones_hold_one_copy_each_where_there_are_enough() {
    for (racks, writes) in [(1, 0), (2, 0), (3, 1), (4, 1)] {
        let mut site = protected(Product::Garage, Protection::Replicas { copies: 3 }, 12);
        site.groups[0].racks = racks;
        assert_eq!(layout(&site).unwrap().write_tolerance.racks, writes, "{racks} racks");
    }
}

#[test]
fn the_smallest_drive_decides_what_sets_hold_but_not_what_is_weighed() {
    let mut site = sets(4, 4);
    let smaller = Drives { capacity_bytes: 500_000_000_000, ..site.groups[0].drives[0].clone() };
    site.groups[0].drives.push(smaller);
    assert_eq!(layout(&site).unwrap().usable_bytes, 32 * 500_000_000_000 / 16 * 12);
    site.engine.product = Product::CephRgw;
    site.engine.protection = Protection::Erasure { data: 2, parity: 2 };
    assert_eq!(layout(&site).unwrap().usable_bytes, (16_000_000_000_000 + 8_000_000_000_000) / 2);
}

#[test]
fn pools_have_the_first_ones_parity_and_the_one_that_takes_the_most_objects_speaks() {
    let mut site = sets(16, 4);
    let mut second = site.groups[0].clone();
    "second".clone_into(&mut second.name);
    second.count = 9;
    site.groups.push(second);
    let pools = pools(&site).unwrap();
    assert_eq!(pools.iter().map(|pool| pool.geometry.shards).collect::<Vec<_>>(), [16, 9]);
    assert_eq!(pools.iter().map(|pool| pool.geometry.parity).collect::<Vec<_>>(), [4, 4]);
    let geometries = geometries(&site).unwrap();
    assert_eq!((geometries.for_group(0).shards, geometries.for_group(1).shards), (16, 9));
    let plan = layout(&site).unwrap();
    assert_eq!((plan.set_drives, plan.data_shards, plan.sets), (16, 12, 4));
    let reported = |pool: &PoolLayout| (pool.groups.clone(), pool.set_drives, pool.data_shards, pool.sets);
    let [first, second] = [site.groups[0].name.clone(), "second".to_owned()];
    assert_eq!(
        plan.pools.iter().map(reported).collect::<Vec<_>>(),
        [(vec![first], 16, 12, 4), (vec![second], 9, 5, 4)]
    );
    assert!(plan.why.contains("second: 9 is") && plan.why.contains("16 is"), "{}", plan.why);
    // Pools that are alike are told together.
    site.groups[1].count = 16;
    let plan = layout(&site).unwrap();
    assert_eq!((plan.set_drives, plan.sets, plan.pools.len()), (16, 8, 2));
}

#[test]
fn alternatives_are_ranked_and_the_chosen_one_is_marked() {
    for (nodes, drives) in [(56, 12), (4, 1), (1, 8), (13, 3), (16, 2)] {
        let plan = layout(&sets(nodes, drives)).unwrap();
        let case = format!("{nodes} nodes × {drives} drives: {:?}", plan.alternatives);
        assert_eq!(plan.alternatives.iter().filter(|choice| choice.chosen).count(), 1, "{case}");
        assert!(plan.alternatives.is_sorted_by(|a, b| a.score >= b.score), "{case}");
        assert!(plan.alternatives.len() <= 9 && plan.alternatives[0].score > 0.0, "{case}");
    }
}

#[test]
fn a_node_down_costs_its_sets_more_than_its_share() {
    let site = sets(56, 12);
    let geometry = geometries(&site).unwrap();
    let geometry = geometry.for_group(0);
    let one = degraded(Product::Minio, geometry, 56, 1, true).unwrap();
    assert_eq!(one.serving_nodes, 55);
    assert!((one.shard_reads - 14.0 / 13.0).abs() < 1e-12, "{one:?}");
    assert!((one.shard_writes - 10.0 / 9.0).abs() < 1e-12, "{one:?}");
    assert!((one.reconstructed - 10.0 / 14.0).abs() < 1e-12, "{one:?}");
    assert!((one.rebuild_reads - 10.0).abs() < 1e-12, "{one:?}");
    assert!(degraded(Product::Minio, geometry, 56, 4, true).is_some());
    assert!(degraded(Product::Minio, geometry, 56, 5, true).is_none());
    let none = degraded(Product::Minio, geometry, 56, 0, true).unwrap();
    assert_eq!((none.shard_reads, none.shard_writes, none.rebuild_reads), (1.0, 1.0, 0.0));
}

/// The most nodes of which any may go, by losing every combination of them.
fn by_trial(units: u32, sets: &[Vec<u32>], needed: u32) -> u32 {
    let survives =
        |lost: u32| sets.iter().all(|set| set.iter().filter(|&&unit| lost & (1 << unit) == 0).count() as u32 >= needed);
    let worst = (0..1_u32 << units).filter(|&lost| !survives(lost)).map(u32::count_ones).min();
    worst.map_or(units, |fatal| fatal - 1)
}

proptest! {
    #[test]
    fn tolerance_is_what_losing_every_combination_shows(
        nodes in 1_u32..=12,
        drives in 1_u32..=6,
        racks in 1_u32..=12,
        stated in proptest::option::of(2_u32..=16),
        parity in proptest::option::of(0_u32..=4),
    ) {
        let mut site = sets(nodes, drives);
        site.groups[0].racks = racks;
        site.engine.protection = Protection::Sets { set_drives: stated, parity };
        let Ok(plan) = layout(&site) else { return Ok(()) };
        let pool = &pools(&site).unwrap()[0];
        let geometry = pool.geometry;
        prop_assert_eq!(geometry.data + geometry.parity, geometry.shards);
        prop_assert_eq!(geometry.sets * geometry.shards, nodes * drives);
        let endpoints: Vec<u32> = (0..u64::from(nodes * drives)).map(|e| minio::node_for_endpoint(e, nodes)).collect();
        let of_nodes: Vec<Vec<u32>> = endpoints.chunks(geometry.shards as usize).map(<[u32]>::to_vec).collect();
        let in_rack = |set: &Vec<u32>| set.iter().map(|&node| rack_for_node(&pool.racks, node)).collect::<Vec<u32>>();
        let of_racks: Vec<Vec<u32>> = of_nodes.iter().map(in_rack).collect();
        let racks = pool.racks.len() as u32;
        let quorum = quorum(Product::Minio, &geometry);
        for (tolerance, needed) in [(plan.read_tolerance, quorum.read), (plan.write_tolerance, quorum.write)] {
            prop_assert_eq!(tolerance.nodes, by_trial(nodes, &of_nodes, needed));
            prop_assert_eq!(tolerance.racks, by_trial(racks, &of_racks, needed));
            prop_assert_eq!(tolerance.drives, geometry.shards - needed);
        }
    }

    #[test]
    fn nodes_of_racks_add_up_and_differ_by_one_at_most(count in 1_u32..500, racks in 1_u32..40) {
        let mut site = sets(count, 1);
        site.groups[0].racks = racks;
        let of_racks = nodes_per_rack(&site.groups[0]);
        prop_assert_eq!(of_racks.iter().sum::<u32>(), count);
        prop_assert!(of_racks.iter().max().unwrap() - of_racks.iter().min().unwrap() <= 1);
    }
}

/// 4 KiB on 16 drives of a set of 12+4: a block of `xl.meta` on each of them, which is 64 KiB.
#[test]
fn small_objects_fill_whole_blocks_on_every_drive() {
    let mut site = sets(16, 4);
    site.engine.protection = Protection::Sets { set_drives: Some(16), parity: Some(4) };
    let raw: u64 = 64_000_000_000_000;
    for (object_bytes, usable) in [
        (4 << 10, raw / 16),
        (0, raw / 16 * 12),
        (64 << 20, raw / 16 * 12),
        // A shard of 85 KiB in `xl.meta`: 22 blocks.
        ((1 << 20) - 4096, raw / (16 * 22 * 4096) * ((1 << 20) - 4096)),
    ] {
        site.data.object_bytes = object_bytes;
        let found = layout(&site).unwrap().usable_bytes;
        assert!((found as f64 / usable as f64 - 1.0).abs() < 1e-6, "{object_bytes}: {found}, not {usable}");
    }
}
