use linerate_record::site::Protection;

use super::*;
use crate::layout::{layout, pools};
use crate::test_site::site;

/// Nodes of 10 drives of 10 TB that read 2 GB/s and write 1 GB/s, on links of 100 Gb/s.
fn site_with(product: Product, protection: Protection, nodes: u32) -> Site {
    let mut site = site();
    (site.engine.product, site.engine.protection) = (product, protection);
    let group = &mut site.groups[0];
    (group.count, group.racks) = (nodes, 1);
    let drives = &mut group.drives[0];
    (drives.count, drives.capacity_bytes) = (10, 10_000_000_000_000);
    (drives.read_bytes_per_s, drives.write_bytes_per_s) = (2e9, 1e9);
    group.nics[1].ports = 1;
    site
}

fn restorations(site: &Site) -> Vec<RecoveryTime> {
    restoring(site, &pools(site).unwrap(), layout(site).unwrap().usable_bytes)
}

const SETS: Protection = Protection::Sets { set_drives: None, parity: None };

#[test]
fn a_replaced_drive_is_written_and_a_replaced_node_is_sent_k_shards_for_each() {
    // 16 nodes: sets of 16, 12+4. A drive: 12 shards come over the link of one node, 12.5 GB/s × goodput g / 12 = 1.04
    // × g GB/s; the drive writes 1 GB/s. Which of them is the bottleneck follows from g = 0.99 at MTU 9000: the drive.
    let site = site_with(Product::Minio, SETS, 16);
    let (_, link) = among_nodes(&site, &site.groups[0], Direction::Ingress);
    assert!((0.98..1.0).contains(&(link / 12.5e9)), "{link}");
    let all = restorations(&site);
    let [drive, node] = &all[..] else { panic!("{all:?}") };
    assert_eq!((drive.rebuild.read_bytes_per_byte, drive.rebuild.bottleneck), (12.0, Resource::DriveBandwidth));
    assert!((drive.rebuild.alone_bytes_per_s / 1e9 - 1.0).abs() < 1e-9, "{drive:?}");
    // 10 TB at 1 GB/s: 10,000 s, and four times as long at a quarter.
    assert!((drive.rebuild.alone_s - 10_000.0).abs() < 1e-6 && (drive.rebuild.shared_s - 40_000.0).abs() < 1e-6);
    // A node: ten drives write 10 GB/s, and the link brings a twelfth of its 12.5 × g.
    assert_eq!(node.rebuild.bottleneck, Resource::PrivateIngress);
    assert!((node.rebuild.alone_bytes_per_s - link / 12.0).abs() < 1.0, "{node:?}");
    assert!((node.rebuild.alone_s - 100e12 * 12.0 / link).abs() < 1e-3, "{node:?}");
    assert!(node.rebuild.taken_full && node.rebuild.share_assumed);
    // At a quarter: of the link in a quarter, of it out the 15th part of that; of the drives link / 12 / 10 GB/s of it.
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
    assert!(near(node.used(Resource::PrivateIngress), 0.25), "{node:?}");
    assert!(near(node.used(Resource::PrivateEgress), 0.25 / 15.0), "{node:?}");
    assert!(near(node.used(Resource::DriveBandwidth), 0.25 * link / 12.0 / 10e9), "{node:?}");
    assert_eq!(node.used(Resource::PublicEgress), 0.0);
}

#[test]
fn shards_that_are_lost_together_are_restored_from_one_reading() {
    // 4 nodes: sets of 8 (40 drives), 4+4, two shards a node: 4 shards are read for 2. Six are left, two a node, so
    // that each of three nodes sends 2 × 2 / 6.
    let site = site_with(Product::Minio, SETS, 4);
    let node = &restorations(&site)[1];
    assert_eq!(node.rebuild.read_bytes_per_byte, 2.0, "{node:?}");
    let (_, link) = among_nodes(&site, &site.groups[0], Direction::Ingress);
    assert!((node.rebuild.alone_bytes_per_s - link / 2.0).abs() < 1.0, "{node:?}");
    assert!((node.used(Resource::PrivateEgress) - 0.25 / 3.0).abs() < 1e-9, "{node:?}");
}

#[test]
fn small_objects_on_disks_are_restored_as_fast_as_disks_seek() {
    let mut site = site_with(Product::Minio, SETS, 16);
    let disks = &mut site.groups[0].drives[0];
    (disks.read_bytes_per_s, disks.write_bytes_per_s) = (250e6, 250e6);
    (disks.read_iops, disks.write_iops) = (150.0, 150.0);
    // 64 KiB in 12 + 4: 5,462 bytes of a shard with its hash 32, in xl.meta with 512 of metadata: two blocks of 4 KiB.
    // Written by one access for it and two for the journal: 50 objects a second on the disk that replaces another.
    site.data.object_bytes = 64 << 10;
    let drive = &restorations(&site)[0];
    assert_eq!(drive.rebuild.bottleneck, Resource::DriveOperations, "{drive:?}");
    assert!((drive.rebuild.alone_bytes_per_s - 50.0 * 8192.0).abs() < 1e-6, "{drive:?}");
    assert!((drive.rebuild.alone_s - 10e12 / (50.0 * 8192.0)).abs() < 1e-3, "{drive:?}");
    // A quarter of its operations is used so, and hardly any of its bandwidth.
    assert!((drive.used(Resource::DriveOperations) - 0.25).abs() < 1e-9, "{drive:?}");
    assert!(drive.used(Resource::DriveBandwidth) < 0.001, "{drive:?}");
    // Large ones by their bytes: a shard of 1 GiB / 12 takes 0.36 s, and its six accesses 0.04 s.
    site.data.object_bytes = 1 << 30;
    let drive = &restorations(&site)[0].rebuild;
    assert_eq!(drive.bottleneck, Resource::DriveBandwidth, "{drive:?}");
    assert!((drive.alone_bytes_per_s - 250e6).abs() < 1.0, "{drive:?}");
    // Nobody states how large they are: by their bytes.
    site.data.object_bytes = 0;
    let drive = &restorations(&site)[0];
    assert_eq!(drive.rebuild.bottleneck, Resource::DriveBandwidth, "{drive:?}");
    assert_eq!(drive.used(Resource::DriveOperations), drive.used(Resource::DriveBandwidth));
}

#[test]
fn what_is_stored_and_the_stated_share_count() {
    let mut site = site_with(Product::Minio, SETS, 16);
    // 1.6 PB raw, 1.2 PB usable, 0.3 PB stored: a quarter of each drive.
    site.data.stored_bytes = 300_000_000_000_000;
    site.goals.rebuild_share = Some(0.5);
    let drive = &restorations(&site)[0].rebuild;
    assert!((drive.restored_bytes - 2.5e12).abs() < 1e3 && !drive.taken_full && !drive.share_assumed, "{drive:?}");
    assert!((drive.alone_s - 2_500.0).abs() < 1e-6 && (drive.shared_s - 5_000.0).abs() < 1e-6, "{drive:?}");
}

#[test]
fn ceph_restores_onto_all_nodes_and_onto_none_where_there_are_as_many_as_shards() {
    let coded = Protection::Erasure { data: 2, parity: 2 };
    // 9 nodes, 8 left: per byte 2 are read and 1 is written, over 80 drives: (2 / 2 + 1 / 1) / 80 ns. Links: 2 / 8 in.
    let site = site_with(Product::CephRgw, coded, 9);
    let (_, link) = among_nodes(&site, &site.groups[0], Direction::Ingress);
    let node = &restorations(&site)[1].rebuild;
    let slowest = (2.0 / 8.0 / link).max(2.0 / 80.0 / 1e9);
    assert!((node.alone_bytes_per_s * slowest - 1.0).abs() < 1e-9, "{node:?}");
    assert_eq!((node.share, node.bottleneck), (0.5, Resource::DriveBandwidth), "{node:?}");
    assert!(node.why.starts_with("restored onto the 8 remaining nodes"), "{node:?}");
    // 4 nodes: three are left for four shards. The node that replaces it takes all, ten drives of 1 GB/s.
    let node = &restorations(&site_with(Product::CephRgw, coded, 4))[1].rebuild;
    assert!(node.why.starts_with("no node is left for 1 of 4 shards"), "{node:?}");
    assert!((node.alone_bytes_per_s - 10e9).abs() < 1.0, "{node:?}");
}

#[test]
fn copies_are_read_once_and_what_has_no_other_shards_is_not_restored() {
    let copies = |copies| Protection::Replicas { copies };
    // Ten drives of 1 GB/s are slower than the link's 12.4.
    let node = &restorations(&site_with(Product::Garage, copies(3), 3))[1].rebuild;
    assert_eq!((node.read_bytes_per_byte, node.bottleneck), (1.0, Resource::DriveBandwidth), "{node:?}");
    assert!((node.alone_bytes_per_s - 10e9).abs() < 1.0, "{node:?}");
    assert!(restorations(&site_with(Product::CephRgw, copies(1), 3)).is_empty());
    // One node: a set of 10, 6+4. A drive is healed from the same node, the node is not.
    let alone = restorations(&site_with(Product::Minio, SETS, 1));
    assert_eq!(alone.iter().map(|restoring| restoring.rebuild.lost).collect::<Vec<_>>(), [FailureScope::Drive]);
    assert_eq!(alone[0].used(Resource::PrivateIngress), 0.0);
}

/// Ceph of 2+2 on so many nodes of each kind, with drives of so many TB, and so much of what fits stored.
fn of_kinds(kinds: &[(u32, u64)], stored_share: f64) -> Site {
    let mut site = site_with(Product::CephRgw, Protection::Erasure { data: 2, parity: 2 }, 4);
    let first = site.groups[0].clone();
    site.groups = kinds
        .iter()
        .enumerate()
        .map(|(i, &(count, capacity))| {
            let mut group = first.clone();
            (group.name, group.count) = (format!("kind{i}-"), count);
            group.drives[0].capacity_bytes = capacity * 1_000_000_000_000;
            group
        })
        .collect();
    site.data.stored_bytes = (layout(&site).unwrap().usable_bytes as f64 * stored_share) as u64;
    site
}

#[test]
fn ceph_restores_onto_nodes_by_their_capacity() {
    // Four nodes of 200 TB and eight of 50 TB at 40 %: of 1,200 TB 480 are held, 80 and 20 a node. When a large one is
    // gone, each TB is at 480 / 1,000: of the 80 the three take 16 each, the eight 4.
    let node = &restorations(&of_kinds(&[(4, 20), (8, 5)], 0.4))[1];
    assert!((node.rebuild.restored_bytes / 80e12 - 1.0).abs() < 1e-9, "{node:?}");
    assert!(node.rebuild.why.starts_with("restored onto the 11 remaining nodes"), "{node:?}");
    // A large node writes a fifth of it to ten drives of 1 GB/s, and reads 2 × 80 / 400 of it at 2 GB/s: 0.4 s of 10
    // drives a GB. Were all eleven alike, it would be 1/11 and 2 / 11 / 2: less than half of that.
    assert_eq!(node.rebuild.bottleneck, Resource::DriveBandwidth);
    let seconds = 0.2 / 10e9 + 0.4 / 20e9;
    assert!((node.rebuild.alone_bytes_per_s * seconds - 1.0).abs() < 1e-6, "{node:?}");
}

#[test]
fn ceph_restores_nothing_onto_nodes_that_are_full_or_would_be() {
    for (kinds, stored, takes) in [
        // 8 nodes at 70 % are 7 at 80 %, and those at 80 % 91 %.
        (vec![(8, 10)], 0.70, true),
        (vec![(8, 10)], 0.80, false),
        (vec![(8, 10)], 0.93, false),
        // One large node among small ones takes with it what these have no room for.
        (vec![(1, 20), (5, 10)], 0.60, true),
        (vec![(1, 20), (5, 10)], 0.68, false),
    ] {
        let node = &restorations(&of_kinds(&kinds, stored))[1].rebuild;
        let onto_all = node.why.starts_with("restored onto the");
        assert_eq!(onto_all, takes, "{kinds:?} at {stored}: {node:?}");
        assert!(takes || node.why.contains("% full with it, and backfilling stops at 90 %"), "{node:?}");
        // Once it is replaced, its drives alone are written to.
        assert!(takes || node.alone_bytes_per_s <= 10e9 * (1.0 + 1e-9), "{node:?}");
    }
    // A drive: the nine that are left in its node, where no other node is free of the others' shards.
    for (stored, takes) in [(0.80, true), (0.82, false)] {
        let drive = &restorations(&of_kinds(&[(4, 10)], stored))[0].rebuild;
        assert_eq!(drive.why.starts_with("restored onto the other drives of its node"), takes, "{stored}: {drive:?}");
        assert!(takes || drive.alone_bytes_per_s <= 1e9 * (1.0 + 1e-9), "{drive:?}");
    }
}

#[test]
fn where_nobody_states_what_is_stored_a_plan_says_up_to_what_the_others_take_it() {
    // Eight nodes of 100 TB, 2+2: 400 TB usable. Seven are at 90 % with 7 / 8 × 0.9 of it: 315 TB.
    let node = &restorations(&of_kinds(&[(8, 10)], 0.0))[1].rebuild;
    assert!(node.taken_full && node.why.contains("at most 315 TB is stored"), "{node:?}");
}
