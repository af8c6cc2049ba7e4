//! How long an explanation takes.

#[path = "../tests/explained_sites/mod.rs"]
mod explained_sites;
#[path = "../tests/explained_sites/published.rs"]
mod published;

use criterion::{Criterion, criterion_group, criterion_main};
use explained_sites::{drives, observed, site};
use linerate_model::explain::explain;
use linerate_record::explanation::{Observed, Quantity};
use linerate_record::site::{Protection, Site};
use published::fifty_six;

/// Bytes of a GiB.
const GIB: f64 = 1_073_741_824.0;

/// 484 nodes with 400 Gb/s ports.
fn four_hundred_eighty_four() -> Site {
    let mut site = site("484 nodes", 484, 400e9, 9000);
    site.groups[0].racks = 22;
    site.groups[0].drives = vec![drives(24, 14e9, 9e9)];
    site.engine.protection = Protection::Sets { set_drives: None, parity: Some(4) };
    site
}

fn explanations(criterion: &mut Criterion) {
    let large = four_hundred_eighty_four();
    let totals = observed(Some(9000.0 * GIB), Some(4000.0 * GIB), 0.02);
    criterion.bench_function("explain 484 nodes", |bench| bench.iter(|| explain(&large, &totals).is_ok()));
    let mut of_nodes = totals.clone();
    for node in 0..484_u32 {
        let bytes_per_s = if node == 77 { 9.0 } else { 18.0 + f64::from(node % 7) * 0.05 } * GIB;
        let what = Quantity::NodeGet { node: format!("storage-{node}") };
        of_nodes.figures.push(Observed { what, bytes_per_s, error_share: None, in_flight: None });
    }
    criterion.bench_function("explain 484 nodes, with a figure of each", |bench| {
        bench.iter(|| explain(&large, &of_nodes).is_ok());
    });
    let small = fifty_six();
    let totals = observed(Some(152.0 * GIB), Some(81.0 * GIB), 0.02);
    criterion.bench_function("explain 56 nodes", |bench| bench.iter(|| explain(&small, &totals).is_ok()));
}

criterion_group!(benches, explanations);
criterion_main!(benches);
