//! How long it takes to plan a site at 484 numbers of nodes, and to lay out one.
//!
//! `cargo bench -p linerate-model --bench plan`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use linerate_model::layout::layout;
use linerate_model::plan::{PlanRequest, plan};
use linerate_model::scaling::{scaling, with_nodes};
use linerate_record::plan::Work;
use linerate_record::site::Site;

/// Two bonds of two ports, twelve drives, MinIO with its own sets.
const SITE: &str = include_str!("site.json");

fn plans(criterion: &mut Criterion) {
    let site: Site = serde_json::from_str(SITE).expect("the site beside this file is whole");
    let works = [1.0, 0.0].map(|read_share| Work { object_bytes: 4 << 20, read_share });
    criterion.bench_function("scaling_1_to_484", |bencher| {
        bencher.iter(|| scaling(black_box(&site), 1..=484, &works));
    });
    let large = with_nodes(&site, 484);
    criterion.bench_function("layout_of_484", |bencher| bencher.iter(|| layout(black_box(&large))));
    // All that the command computes: ceilings, spread of flows, layout, findings and the curve.
    let requested = PlanRequest { nodes: Some(1..=484), ..PlanRequest::default() };
    criterion.bench_function("plan_of_484", |bencher| bencher.iter(|| plan(black_box(&large), &requested)));
}

criterion_group!(benches, plans);
criterion_main!(benches);
