//! How long it takes to place and share 100,000 flows.

use criterion::{Criterion, criterion_group, criterion_main};
use linerate_model::spread::mesh::{Mesh, MeshSide, mesh_shares};
use linerate_model::spread::placement::{MacAssignment, Peers, egress};
use linerate_model::spread::{Bundle, shares};
use linerate_record::site::{Bond, BondMode, Encapsulation, IpVersion, Plane, SwitchHash, TransmitHash};

const FLOWS: u32 = 100_000;

fn bundle() -> Bundle {
    let bond = Bond {
        name: "bond0".to_owned(),
        nics: vec!["nic".to_owned()],
        mode: BondMode::Lacp,
        transmit_hash: TransmitHash::Layer34,
        switch_hash: SwitchHash::L4,
    };
    let link = "bond0".to_owned();
    let plane =
        Plane { link, mtu_bytes: 9000, encapsulation: Encapsulation::None, timestamps: true, ip: IpVersion::V4 };
    let peers = Peers { count: 483, routed: false, macs: MacAssignment::Vendor };
    Bundle { members: 4, flows: FLOWS, flow_cap: 1e-4, placement: egress(&bond, None, &plane, peers) }
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("100,000 flows");
    group.sample_size(10);
    let bundle = bundle();
    group.bench_function("by layer3+4 over 4 members, 100 rounds", |bencher| {
        bencher.iter(|| shares(&bundle, 1, 100));
    });
    let side = MeshSide { nodes: 484, members: 2, member_bytes_per_s: 6e9, pairs_share: false };
    for (name, flow_bytes_per_s) in [("free", f64::INFINITY), ("capped", 5e6)] {
        let mesh = Mesh { from: side, to: side, flows: FLOWS, flow_bytes_per_s };
        group.bench_function(format!("{name}, max-min among 484 nodes with two members each, one round"), |bencher| {
            bencher.iter(|| mesh_shares(&mesh, 1, 1));
        });
    }
    group.finish();
}

criterion_group!(spread, benches);
criterion_main!(spread);
