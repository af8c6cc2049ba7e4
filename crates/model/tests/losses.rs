//! One link that loses packets in a small fleet of which only a Prometheus told, and what looks like it: drawn segment
//! by segment by a generator that shares no code with what judges.

use linerate_model::diagnosis::diagnose;
use linerate_record::diagnosis::{Cause, Diagnosis};
use linerate_record::readings::{READINGS_SCHEMA, ReadMeasure, ReadSeries, Readings};
use linerate_record::site::Site;
use linerate_worlds::SeededRng;

const STEPS: usize = 24;
const LINK_BYTES_PER_S: f64 = 25e6;
/// Segments of a node in one instant.
const SEGMENTS: f64 = 6e4;

fn site(nodes: usize) -> Site {
    let text = format!(
        "nodes:
  name: node
  count: {nodes}
  cores: 8
  memory: 64GiB
  drives: {{count: 1, capacity: 4TB, read: 5GB/s, write: 5GB/s}}
  nics: {{name: eth0, speed: 200Mb/s}}
planes:
  public: {{link: eth0, mtu: 1500}}
entry: client-side
engine: {{product: minio}}
data: {{object_size: 4MiB}}
"
    );
    linerate_site::read(&text, "simulated").unwrap_or_else(|error| panic!("{error}"))
}

/// What is the matter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drawn {
    /// The link of the first node loses a share of its packets, both ways.
    Lossy(f64),
    /// Queues overflow now and then, at the first node most.
    Bursts,
    /// Links are nearly full, and all nodes lose alike.
    Alike,
    /// The first node sends twice as much again as the others, at no time much.
    Twice,
}

/// How many of so many segments are lost.
fn lost(rng: &mut SeededRng, segments: f64, share: f64) -> f64 {
    rng.poisson(segments * share) as f64
}

/// Shares sent again over windows of four instants, as a rate over scrapes has them.
fn sent_again(rng: &mut SeededRng, drawn: Drawn, node: usize, nodes: usize) -> Vec<f64> {
    let is_first = node == 0;
    let to_first = 0.45 / (nodes - 1) as f64;
    let at_once: Vec<f64> = (0..STEPS + 3)
        .map(|_| {
            let share = match drawn {
                Drawn::Lossy(share) if is_first => share,
                Drawn::Lossy(share) => share * to_first,
                Drawn::Bursts if rng.happens(if is_first { 0.3 } else { 0.1 }) => rng.between(0.01, 0.08),
                Drawn::Bursts => 1e-4,
                Drawn::Alike => 0.015 * (0.4 * rng.normal()).exp(),
                Drawn::Twice => (if is_first { 0.012 } else { 0.006 }) * (0.15 * rng.normal()).exp(),
            };
            lost(rng, SEGMENTS, share) / SEGMENTS
        })
        .collect();
    at_once.windows(4).map(|four| four.iter().sum::<f64>() / 4.0).collect()
}

fn judged(nodes: usize, drawn: Drawn, used: f64, seed: u64) -> Diagnosis {
    let mut rng = SeededRng::new(seed, nodes as u64);
    let mut series = Vec::new();
    for node in 0..nodes {
        let mut add = |of: ReadMeasure, part: &str, values: Vec<f64>| {
            let (machine, values) = (format!("node{}", node + 1), values.into_iter().map(Some).collect());
            series.push(ReadSeries { of, machine, part: part.to_owned(), values });
        };
        for (of, share) in [(ReadMeasure::LinkSent, used), (ReadMeasure::LinkReceived, 0.45 * used)] {
            let of_node = share * (1.0 + 0.03 * rng.normal());
            let values = (0..STEPS).map(|_| LINK_BYTES_PER_S * of_node * (1.0 + 0.07 * rng.normal())).collect();
            add(of, "eth0", values);
        }
        add(ReadMeasure::Retransmitted, "", sent_again(&mut rng, drawn, node, nodes));
    }
    let readings = Readings {
        schema: READINGS_SCHEMA,
        source: "prometheus".to_owned(),
        begin_unix_ms: 1_795_000_000_000,
        step_ms: 5_000,
        steps: STEPS as u32,
        interval_ms: 5_000,
        rate_over_ms: 20_000,
        series,
        ..Readings::default()
    };
    assert_eq!(readings.check(), Ok(()));
    diagnose(&site(nodes), &readings, &[]).unwrap_or_else(|error| panic!("{error}"))
}

const SEEDS: u64 = 50;

/// How many windows have this node's losses first.
fn named(nodes: usize, drawn: Drawn, used: f64) -> u64 {
    let is_first = |seed: &u64| {
        let diagnosis = judged(nodes, drawn, used, *seed);
        let first = diagnosis.suspects.first();
        first.is_some_and(|one| one.cause == Cause::LossyLink && one.node.as_deref() == Some("node1"))
    };
    (0..SEEDS).filter(is_first).count() as u64
}

#[test]
fn a_link_that_loses_all_the_time_is_named_in_small_fleets_whose_links_are_nearly_full() {
    for nodes in [4, 5, 8] {
        for used in [0.5, 0.75, 0.82] {
            for share in [0.02, 0.03, 0.05] {
                let count = named(nodes, Drawn::Lossy(share), used);
                assert!(20 * count >= 19 * SEEDS, "{nodes} nodes at {used}, {share}: {count} of {SEEDS}");
            }
        }
    }
}

#[test]
fn queues_that_overflow_by_turns_and_nodes_that_lose_alike_are_no_lossy_link() {
    for nodes in [4, 5, 8] {
        for drawn in [Drawn::Bursts, Drawn::Alike, Drawn::Twice] {
            let count = named(nodes, drawn, 0.82);
            assert!(20 * count <= SEEDS, "{nodes} nodes, {drawn:?}: {count} of {SEEDS}");
        }
    }
}

/// What readings do not separate, they say, and what would.
#[test]
fn losses_and_full_links_that_look_alike_are_both_told_with_what_separates_them() {
    let mut reported = 0;
    for seed in 0..SEEDS {
        let diagnosis = judged(4, Drawn::Twice, 0.88, seed);
        let first = diagnosis.suspects.first().unwrap_or_else(|| panic!("{}", diagnosis.answer));
        if first.cause != Cause::Full {
            continue;
        }
        let next = diagnosis.next.clone().unwrap_or_default();
        let is_reported = diagnosis.answer.contains("losses at node1 look alike") && next.contains("explain --live");
        reported += u64::from(is_reported);
    }
    assert!(2 * reported > SEEDS, "{reported} of {SEEDS}");
    let diagnosis = judged(4, Drawn::Alike, 0.88, 1);
    assert!(!diagnosis.answer.contains("look alike"), "{}", diagnosis.answer);
}
