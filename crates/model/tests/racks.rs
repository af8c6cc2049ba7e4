//! Simulated clusters of racks whose truth is known: what each node sends to each other passes its own link, its rack's
//! uplinks, a spine and all of that again at the other end, and each loses what it loses. The simulator shares no code
//! with what judges: it counts what sockets of each node would.

use linerate_model::diagnosis::diagnose;
use linerate_record::diagnosis::{Cause, Diagnosis, Suspect};
use linerate_record::readings::{
    READINGS_SCHEMA, ReadMeasure, ReadSeries, Readings, SocketGroup, SocketRead, SocketRemote, StatedMachine,
};
use linerate_record::site::Site;
use linerate_worlds::SeededRng;

/// Racks, and nodes in each.
const SIZES: [(usize, usize); 6] = [(2, 2), (2, 8), (3, 2), (3, 5), (4, 4), (8, 6)];

const SPINES: usize = 4;
const WINDOW_MS: u64 = 60_000;

/// What loses, and how much of what passes it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Injected {
    Nothing,
    /// The link of a node, out and in.
    Link(usize),
    /// Uplinks of a rack: out of it, into it.
    Uplinks(usize, [bool; 2]),
    /// What leads from one rack to another, and back where it is so said.
    Path([usize; 2], bool),
    Spines,
    Spine(usize),
    /// Spines that so many of ten pairs of nodes pass, each by one path.
    SpinesOfPairs(usize),
    /// A moment between two nodes, the first to the second.
    Burst([usize; 2]),
    /// All send to one node at once: its queue overflows.
    Incast(usize),
    /// Moments of so many of all pairs of nodes, wherever they are.
    Bursts(f64),
}

/// How a cluster is drawn.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    racks: usize,
    each: usize,
    injected: Injected,
    /// Share of segments that what is planted loses.
    lost: f64,
    /// Share that every pair loses, and how much receivers differ in it, as a logarithm.
    usual: f64,
    receivers: f64,
    /// Whether nodes of a rack exchange anything among themselves: with sets across racks, none does.
    is_within: bool,
    /// Bytes per second that a node sends to all others.
    sends_per_s: f64,
}

impl Cluster {
    fn with_racks((racks, each): (usize, usize), injected: Injected) -> Cluster {
        Cluster { racks, each, injected, lost: 0.02, usual: 1e-4, receivers: 0.0, is_within: true, sends_per_s: 200e6 }
    }

    fn rack(&self, node: usize) -> usize {
        node / self.each
    }

    /// The share of segments that are lost between two nodes over a spine, beside what every path loses.
    fn lost(&self, from: usize, to: usize, spine: usize) -> f64 {
        let (a, b) = (self.rack(from), self.rack(to));
        let crosses = a != b;
        let is_it = match self.injected {
            Injected::Nothing | Injected::Bursts(_) => false,
            Injected::Link(node) => from == node || to == node,
            Injected::Uplinks(rack, [out, into]) => crosses && (out && a == rack || into && b == rack),
            Injected::Path([one, other], back) => (a, b) == (one, other) || back && (b, a) == (one, other),
            Injected::Spines => crosses,
            Injected::Spine(one) => crosses && spine == one,
            Injected::SpinesOfPairs(of_ten) => crosses && (from * 7919 + to * 104_729 + from * to) % 97 % 10 < of_ten,
            Injected::Burst([one, other]) => (from, to) == (one, other),
            Injected::Incast(node) => to == node,
        };
        if is_it { self.lost } else { 0.0 }
    }
}

/// Sockets of a node. `busy` has how much more each receiver loses than others.
fn sockets(simulated_cluster: &Cluster, from: usize, busy: &[f64], rng: &mut SeededRng) -> SocketRead {
    const CONNECTIONS: usize = 8;
    let nodes = simulated_cluster.racks * simulated_cluster.each;
    let others: Vec<usize> = (0..nodes)
        .filter(|to| {
            *to != from && (simulated_cluster.is_within || simulated_cluster.rack(*to) != simulated_cluster.rack(from))
        })
        .collect();
    let bytes_each = simulated_cluster.sends_per_s * WINDOW_MS as f64 / 1e3 / others.len() as f64;
    let mut remotes = Vec::new();
    for to in others {
        let bytes = bytes_each * (0.3 * rng.normal()).exp();
        let usual = simulated_cluster.usual * busy[to] * (0.8 * rng.normal()).exp();
        let each = bytes / 8_948.0 / CONNECTIONS as f64;
        let burst = match simulated_cluster.injected {
            Injected::Bursts(share) if rng.happens(share) => rng.between(0.006, 0.03),
            _ => 0.0,
        };
        let of_one = |rng: &mut SeededRng| {
            let spine = ((rng.unit() * SPINES as f64) as usize).min(SPINES - 1);
            let lost = usual + burst + simulated_cluster.lost(from, to, spine) * (0.2 * rng.normal()).exp();
            rng.poisson(each * lost)
        };
        let again: u64 = (0..CONNECTIONS).map(|_| of_one(rng)).sum();
        remotes.push(SocketRemote {
            address: format!("10.0.{}.{}", to / 250, 1 + to % 250).parse().expect("an address"),
            group: SocketGroup::ToPeer,
            machine: Some(name(to)),
            sockets: CONNECTIONS as u32,
            sent_bytes: bytes as u64,
            received_bytes: bytes as u64,
            sent_segments: (each * CONNECTIONS as f64) as u64 + again,
            retransmitted_segments: again,
            busy_us: 10_000_000,
            window_limited_us: 0,
            buffer_limited_us: 0,
            open_us: 60_000_000,
            round_trip_us: 200,
            delivery_bytes_per_s: 100_000_000,
        });
    }
    let machine = name(from);
    SocketRead { machine, over_ms: WINDOW_MS, looks: 31, interval_ms: 2_000, remotes, ..SocketRead::default() }
}

fn name(node: usize) -> String {
    format!("node{}", node + 1)
}

fn readings(simulated_cluster: &Cluster, seed: u64) -> Readings {
    const STEPS: usize = 60;
    let nodes = simulated_cluster.racks * simulated_cluster.each;
    let mut rng = SeededRng::new(seed, nodes as u64);
    let mut readings = Readings {
        schema: READINGS_SCHEMA,
        source: "live".to_owned(),
        step_ms: WINDOW_MS / STEPS as u64,
        steps: STEPS as u32,
        interval_ms: 1_000,
        rate_over_ms: 1_000,
        ..Readings::default()
    };
    let busy: Vec<f64> = (0..nodes).map(|_| (simulated_cluster.receivers * rng.normal()).exp()).collect();
    for node in 0..nodes {
        let machine = name(node);
        let again = (0..STEPS).map(|_| Some(1e-4 * (0.5 * rng.normal()).exp())).collect();
        let measure = ReadMeasure::Retransmitted;
        readings.series.push(ReadSeries { of: measure, machine: machine.clone(), part: String::new(), values: again });
        let rack = Some(format!("r{}", simulated_cluster.rack(node) + 1));
        readings.stated.push(StatedMachine { machine, is_client: false, kind: None, rack });
        readings.sockets.push(sockets(simulated_cluster, node, &busy, &mut rng));
    }
    readings
}

fn site(simulated_cluster: &Cluster, fabric: &str) -> Site {
    let text = format!(
        "nodes:
  name: node
  count: {}
  racks: {}
  cores: 32
  drives: {{count: 2, capacity: 4TB, read: 5GB/s, write: 2GB/s}}
  nics: {{name: p0, speed: 25Gb/s}}
planes:
  public: {{link: p0, mtu: 9000}}
{fabric}
engine: {{product: minio}}
data: {{object_size: 4MiB}}
",
        simulated_cluster.racks * simulated_cluster.each,
        simulated_cluster.racks
    );
    linerate_site::read(&text, "simulated").unwrap_or_else(|error| panic!("{error}"))
}

fn judged_with(simulated_cluster: &Cluster, fabric: &str, seed: u64, change: impl Fn(&mut Readings)) -> Diagnosis {
    let mut readings = readings(simulated_cluster, seed);
    change(&mut readings);
    assert_eq!(readings.check(), Ok(()));
    diagnose(&site(simulated_cluster, fabric), &readings, &[])
        .unwrap_or_else(|error| panic!("{simulated_cluster:?}: {error}"))
}

fn judged(simulated_cluster: &Cluster, seed: u64) -> Diagnosis {
    judged_with(simulated_cluster, "", seed, |_| ())
}

/// Suspects of the network.
fn lossy(diagnosis: &Diagnosis) -> Vec<&Suspect> {
    let is_it =
        |one: &&Suspect| matches!(one.cause, Cause::LossyLink | Cause::RackUplinks | Cause::RackPath | Cause::Fabric);
    diagnosis.suspects.iter().filter(is_it).collect()
}

/// What is told must be one suspect, of this cause and part, that leads.
fn is_reported(diagnosis: &Diagnosis, cause: Cause, part: &str, what: &str) {
    let (first, lossy) = (diagnosis.suspects.first(), lossy(diagnosis));
    let is_first = first.is_some_and(|first| (first.cause, first.part.as_str()) == (cause, part));
    assert!(is_first && lossy.len() == 1, "{what}: {lossy:#?}");
    assert!(first.is_some_and(|first| first.weight > diagnosis.none_of_these), "{what}: {first:?}");
}

#[test]
fn healthy_clusters_and_one_moment_of_one_pair_name_nothing() {
    let mut named = Vec::new();
    let mut all = 0;
    for size in SIZES {
        for injected in [Injected::Nothing, Injected::Burst([0, size.1])] {
            for (seed, is_within) in (0..60).flat_map(|seed| [(seed, true), (seed, false)]) {
                // Every other one is so loaded that queues of receivers overflow, of some more than of others.
                let (usual, receivers) = if seed % 2 == 0 { (1e-4, 0.0) } else { (1e-3, 0.5) };
                let simulated_cluster = Cluster { is_within, usual, receivers, ..Cluster::with_racks(size, injected) };
                let diagnosis = judged(&simulated_cluster, seed);
                assert_eq!(diagnosis.racks.len(), size.0);
                all += 1;
                // A receiver that loses much more than others is one, and no rack.
                let is_wrong = |one: &&&Suspect| receivers == 0.0 || one.cause != Cause::LossyLink;
                let suspects = lossy(&diagnosis);
                named.extend(
                    suspects.iter().filter(is_wrong).map(|one| format!("{simulated_cluster:?} {seed}: {}", one.claim)),
                );
            }
        }
    }
    assert!(named.len() * 500 <= all, "{} of {all}: {named:#?}", named.len());
}

/// In clusters of six nodes or fewer, queues of a quarter of all pairs of nodes that overflow for moments are no rack:
/// they lie on some way between racks now and then.
#[test]
fn bursts_of_many_pairs_in_small_clusters_seldom_look_like_racks() {
    const WINDOWS: u64 = 200;
    let mut named = Vec::new();
    let sizes = [(2, 2), (2, 3), (3, 2)];
    for size in sizes {
        for seed in 0..WINDOWS {
            let diagnosis = judged(&Cluster::with_racks(size, Injected::Bursts(0.25)), 800 + seed);
            let first = diagnosis.suspects.first().filter(|first| first.weight > diagnosis.none_of_these);
            let is_rack = |one: &&Suspect| one.cause != Cause::LossyLink;
            named.extend(first.filter(is_rack).map(|one| format!("{size:?} {seed}: {}", one.claim)));
        }
    }
    let all = WINDOWS as usize * sizes.len();
    assert!(20 * named.len() <= all, "{} of {all}: {named:#?}", named.len());
}

#[test]
fn a_rack_of_which_all_nodes_are_gone_at_once_is_named_and_none_of_its_nodes_is() {
    const STEPS: usize = 60;
    for (size, is_read, until) in
        [((3, 4), true, 40), ((3, 4), false, 40), ((4, 4), true, 59), ((4, 4), false, 59), ((2, 3), true, 30)]
    {
        let simulated_cluster = Cluster::with_racks(size, Injected::Nothing);
        let diagnosis = judged_with(&simulated_cluster, "", 11, |readings| {
            let mut rng = SeededRng::new(5, 5);
            for node in 0..size.0 * size.1 {
                let is_it = simulated_cluster.rack(node) == 1;
                let carried = |rng: &mut SeededRng, step: usize| match is_it && (20..until).contains(&step) {
                    true if is_read => Some(0.0),
                    true => None,
                    false => Some(1e9 * (0.2 * rng.normal()).exp()),
                };
                for of in [ReadMeasure::LinkSent, ReadMeasure::LinkReceived] {
                    let values = (0..STEPS).map(|step| carried(&mut rng, step)).collect();
                    readings.series.push(ReadSeries { of, machine: name(node), part: "p0".to_owned(), values });
                }
            }
        });
        let case = format!("{size:?} {is_read} {until}");
        is_reported(&diagnosis, Cause::RackUplinks, "r2", &case);
        // Nodes that answer and carry nothing may as well be drained.
        let begins = if is_read { "rack r2 carries nothing: at " } else { "rack r2 is gone: at " };
        assert!(diagnosis.answer.starts_with(begins), "{case}: {}", diagnosis.answer);
        assert_eq!(diagnosis.answer.contains("drained, or asked for nothing"), is_read, "{case}");
        let of_nodes: Vec<&Suspect> = diagnosis.suspects.iter().filter(|one| one.node.is_some()).collect();
        assert!(of_nodes.is_empty(), "{case}: {of_nodes:#?}");
    }
}

/// What is lost of the second rack's looks at each step, of sixty, while others are read.
fn with_holes(is_lost: impl Fn(usize) -> bool, is_idle: impl Fn(usize) -> bool) -> Diagnosis {
    let simulated_cluster = Cluster::with_racks((4, 2), Injected::Nothing);
    judged_with(&simulated_cluster, "", 11, |readings| {
        let mut rng = SeededRng::new(5, 5);
        for node in 0..8 {
            let is_it = simulated_cluster.rack(node) == 1;
            let mut carried = |step: usize| {
                let usual = if is_idle(step) { 1e5 } else { 1e9 };
                let bytes = usual * (0.2 * rng.normal()).exp();
                (!is_it || !is_lost(step)).then_some(bytes)
            };
            let values: Vec<Option<f64>> = (0..60).map(&mut carried).collect();
            for of in [ReadMeasure::LinkSent, ReadMeasure::LinkReceived] {
                let (machine, part, values) = (name(node), "p0".to_owned(), values.clone());
                readings.series.push(ReadSeries { of, machine, part, values });
            }
        }
    })
}

#[test]
fn looks_that_are_lost_together_now_and_then_or_before_the_load_are_no_rack_that_is_gone() {
    let is_rack = |diagnosis: &Diagnosis| diagnosis.suspects.iter().any(|one| one.cause == Cause::RackUplinks);
    assert!(!is_rack(&with_holes(|step| step % 5 < 2, |_| false)), "two at a time, twelve times");
    assert!(!is_rack(&with_holes(|step| (5..20).contains(&step), |step| step < 30)), "before the load");
    let short = with_holes(|step| (30..34).contains(&step), |_| false);
    let first = short.suspects.first().expect("a suspect");
    assert!(first.claim.starts_with("rack r2 is gone: at 4 of 60 instants"), "{first:#?}");
    assert!(first.weight < 0.8, "for four of sixty instants: {first:#?}");
}

#[test]
fn uplinks_of_one_rack_are_told_whichever_way_they_lose_and_no_node_of_it_is() {
    for size in SIZES.into_iter().filter(|(racks, _)| *racks > 2) {
        for ways in [[true, true], [true, false], [false, true]] {
            for (seed, is_within) in (0..5).flat_map(|seed| [(seed, true), (seed, false)]) {
                let (rack, lost) = (seed as usize % size.0, 0.008 * (1.0 + seed as f64));
                let simulated_cluster =
                    Cluster { is_within, lost, ..Cluster::with_racks(size, Injected::Uplinks(rack, ways)) };
                let part = format!("r{}", rack + 1);
                is_reported(
                    &judged(&simulated_cluster, 100 + seed),
                    Cause::RackUplinks,
                    &part,
                    &format!("{simulated_cluster:?} {seed}"),
                );
            }
        }
    }
}

#[test]
fn a_path_between_two_racks_is_told_where_there_are_more() {
    for size in SIZES.into_iter().filter(|(racks, _)| *racks > 2) {
        for (seed, back) in (0..5).flat_map(|seed| [(seed, true), (seed, false)]) {
            let simulated_cluster = Cluster::with_racks(size, Injected::Path([0, 2], back));
            is_reported(
                &judged(&simulated_cluster, 200 + seed),
                Cause::RackPath,
                "r1, r3",
                &format!("{simulated_cluster:?} {seed}"),
            );
        }
    }
}

#[test]
fn spines_are_told_by_all_that_crosses_and_of_two_racks_that_it_is_not_known_which() {
    for size in SIZES {
        for (seed, injected) in (0..5).flat_map(|seed| [(seed, Injected::Spines), (seed, Injected::Spine(1))]) {
            // Of one spine in four, a quarter of the connections lose.
            let lost = if injected == Injected::Spines { 0.02 } else { 0.08 };
            let simulated_cluster = Cluster { lost, ..Cluster::with_racks(size, injected) };
            let diagnosis = judged(&simulated_cluster, 300 + seed);
            is_reported(&diagnosis, Cause::Fabric, "", &format!("{simulated_cluster:?} {seed}"));
            let is_unknown = diagnosis.answer.contains("two racks do not tell which");
            assert_eq!(is_unknown, size.0 == 2, "{}", diagnosis.answer);
        }
    }
    // With sets across racks, nothing is sent within them, and nothing tells it from what every link loses.
    let simulated_cluster = Cluster { is_within: false, ..Cluster::with_racks((4, 4), Injected::Spines) };
    assert!(lossy(&judged(&simulated_cluster, 1)).is_empty());
}

#[test]
fn a_spine_that_some_pairs_of_nodes_pass_is_no_rack_s_uplinks() {
    let mut reported = [0; 2];
    for size in [(3, 3), (4, 4), (3, 5), (6, 2)] {
        for (seed, of_ten) in (0..10).flat_map(|seed| [(seed, 5), (seed, 6)]) {
            let simulated_cluster =
                Cluster { lost: 0.04, ..Cluster::with_racks(size, Injected::SpinesOfPairs(of_ten)) };
            let diagnosis = judged(&simulated_cluster, 600 + seed);
            reported[0] += lossy(&diagnosis).iter().filter(|one| one.cause == Cause::Fabric).count();
            reported[1] += lossy(&diagnosis).iter().filter(|one| one.cause == Cause::RackUplinks).count();
        }
    }
    assert!(reported[0] >= 20 && reported[1] == 0, "of 80, {} fabric, {} uplinks", reported[0], reported[1]);
}

#[test]
fn a_link_of_a_node_stays_a_link_of_that_node() {
    for size in SIZES {
        for (seed, is_within) in (0..5).flat_map(|seed| [(seed, true), (seed, false)]) {
            let nodes = size.0 * size.1;
            // Of so few pairs, two that lose are no link's.
            if nodes < 6 && !is_within {
                continue;
            }
            let node = (7 * seed as usize) % nodes;
            let simulated_cluster = Cluster { is_within, ..Cluster::with_racks(size, Injected::Link(node)) };
            let diagnosis = judged(&simulated_cluster, 400 + seed);
            is_reported(&diagnosis, Cause::LossyLink, "", &format!("{simulated_cluster:?} {seed}"));
            assert_eq!(diagnosis.suspects[0].node, Some(name(node)));
            // What overflows the queue of one receiver is none of its rack.
            let simulated_cluster = Cluster { is_within, ..Cluster::with_racks(size, Injected::Incast(node)) };
            let of_racks = judged(&simulated_cluster, 500 + seed).suspects;
            assert!(
                of_racks.iter().all(|one| one.cause == Cause::LossyLink),
                "{simulated_cluster:?} {seed}: {of_racks:#?}"
            );
        }
    }
}

#[test]
fn uplinks_and_a_link_of_a_node_elsewhere_are_both_told() {
    let simulated_cluster = Cluster::with_racks((4, 6), Injected::Uplinks(1, [true, true]));
    let diagnosis = judged_with(&simulated_cluster, "", 7, |readings| {
        for read in &mut readings.sockets {
            let is_it = |name: &str| name == "node20";
            let remotes = read.remotes.iter_mut();
            let machine = read.machine.clone();
            remotes
                .filter(|row| is_it(&machine) || row.machine.as_deref().is_some_and(is_it))
                .for_each(|row| row.retransmitted_segments = row.sent_segments / 20);
        }
    });
    let mut reported: Vec<(Cause, &str)> =
        lossy(&diagnosis).iter().map(|one| (one.cause, one.node.as_deref().unwrap_or(&one.part))).collect();
    reported.sort_unstable();
    assert_eq!(reported, [(Cause::LossyLink, "node20"), (Cause::RackUplinks, "r2")], "{:#?}", diagnosis.suspects);
}

#[test]
fn racks_that_are_known_of_few_are_judged_by_these_and_one_alone_by_nothing() {
    let simulated_cluster = Cluster::with_racks((4, 4), Injected::Uplinks(1, [true, true]));
    let one_rack = judged_with(&simulated_cluster, "", 1, |readings| {
        readings.stated.iter_mut().filter(|one| one.rack.as_deref() != Some("r2")).for_each(|one| one.rack = None);
    });
    assert_eq!((one_rack.racks.len(), one_rack.rack_pairs.len()), (1, 1));
    assert!(lossy(&one_rack).iter().all(|one| one.node.is_none()), "{:#?}", one_rack.suspects);
    assert!(one_rack.warnings[0].contains("no rack of 12 of 16 nodes"), "{:?}", one_rack.warnings);
    let most = judged_with(&simulated_cluster, "", 1, |readings| readings.stated[15].rack = None);
    is_reported(&most, Cause::RackUplinks, "r2", "fifteen of sixteen");
}

#[test]
fn what_uplinks_carry_tells_full_ones_from_faulty_ones() {
    // Four nodes, each with 12 of 15 others beyond its rack, at 200 MB/s: 640 MB/s, or 5.12 Gb/s.
    let simulated_cluster = Cluster::with_racks((4, 4), Injected::Uplinks(1, [true, true]));
    for (fabric, claim, shown) in [
        ("fabric: {rack_uplinks: 5.4Gb/s}", "the uplinks of rack r2 are full", "they are full, and drop"),
        ("fabric: {rack_uplinks: 40Gb/s}", "the uplinks of rack r2 lose packets", "they have room, so that a fault"),
        ("", "the uplinks of rack r2 lose packets", "does not state its uplinks (fabric.rack_uplinks)"),
    ] {
        let diagnosis = judged_with(&simulated_cluster, fabric, 1, |_| ());
        let first = diagnosis.suspects.first().unwrap_or_else(|| panic!("{fabric}: nothing"));
        assert!(first.claim.starts_with(claim) && first.evidence[1].contains(shown), "{fabric}: {first:#?}");
    }
    let racks_judged = judged_with(&simulated_cluster, "fabric: {rack_uplinks: 5.4Gb/s}", 1, |_| ()).racks;
    assert_eq!(racks_judged.iter().map(|rack| rack.name.as_str()).collect::<Vec<_>>(), ["r1", "r2", "r3", "r4"]);
    assert!(
        racks_judged.iter().all(|rack| rack.sent_share.is_some_and(|share| (0.85..1.15).contains(&share))),
        "{racks_judged:#?}"
    );
}

#[test]
fn the_table_has_every_pair_of_racks_with_what_the_middle_pair_of_nodes_lost() {
    let diagnosis = judged(&Cluster::with_racks((3, 5), Injected::Uplinks(2, [false, true])), 9);
    assert_eq!(diagnosis.rack_pairs.len(), 9);
    for pair in &diagnosis.rack_pairs {
        assert_eq!(pair.node_pairs, if pair.from == pair.to { 20 } else { 25 });
        let is_lossy = pair.to == "r3" && pair.from != "r3";
        assert_eq!(pair.retransmitted_share > 0.01, is_lossy, "{pair:?}");
        assert!(pair.sent_segments > pair.retransmitted_segments && pair.retransmitted_segments > 0, "{pair:?}");
    }
}

/// Adds so many clients in a rack of their own, or in none, to which every node sends, and which send to every node
/// where they are said to. `lost` has what is lost from a rack to another; clients are in the one behind the last.
fn with_clients(
    readings: &mut Readings,
    simulated_cluster: &Cluster,
    (rack, clients): (Option<&str>, usize),
    sends: bool,
    lost: impl Fn(usize, usize) -> f64,
) {
    let nodes = simulated_cluster.racks * simulated_cluster.each;
    let sample = readings.sockets[0].remotes[0].clone();
    let row = |other: String, share: f64| {
        let (sent_segments, address) = (100_000, "10.9.0.1".parse().expect("an address"));
        let retransmitted_segments = (share * 1e5) as u64;
        let group = SocketGroup::Client;
        SocketRemote { address, group, machine: Some(other), sent_segments, retransmitted_segments, ..sample.clone() }
    };
    for client in 1..=clients {
        let client = &format!("client{client}")[..];
        let machine = client.to_owned();
        let stated = StatedMachine { machine, is_client: true, kind: None, rack: rack.map(str::to_owned) };
        readings.stated.push(stated);
        let again = ReadSeries { machine: client.to_owned(), ..readings.series[0].clone() };
        readings.series.push(again);
        let to = (0..nodes).map(|to| row(name(to), lost(simulated_cluster.racks, simulated_cluster.rack(to))));
        let remotes = if sends { to.collect() } else { Vec::new() };
        let (over_ms, looks, interval_ms) = (WINDOW_MS, 31, 2_000);
        let machine = client.to_owned();
        readings.sockets.push(SocketRead { machine, over_ms, looks, interval_ms, remotes, ..SocketRead::default() });
        for from in 0..nodes {
            let of_client = row(client.to_owned(), lost(simulated_cluster.rack(from), simulated_cluster.racks));
            readings.sockets[from].remotes.push(of_client);
        }
    }
}

#[test]
fn pairs_of_a_node_and_a_client_tell_whose_uplinks_of_two_racks_lose() {
    // Two racks of two nodes each: their own pairs do not tell which of both.
    for (ways, sends) in [([true, true], false), ([true, true], true), ([true, false], false), ([false, true], true)] {
        let simulated_cluster = Cluster { lost: 0.3, ..Cluster::with_racks((2, 2), Injected::Uplinks(1, ways)) };
        let lost = |from: usize, to: usize| if ways[0] && from == 1 || ways[1] && to == 1 { 0.3 } else { 1e-5 };
        let judged_rack = |rack| {
            judged_with(&simulated_cluster, "", 3, |readings| {
                with_clients(readings, &simulated_cluster, (rack, 2), sends, lost)
            })
        };
        let diagnosis = judged_rack(Some("r3"));
        is_reported(&diagnosis, Cause::RackUplinks, "r2", &format!("{ways:?} {sends}"));
        assert!(diagnosis.answer.contains("on the other ways from rack to rack 0"), "{}", diagnosis.answer);
        let few: Vec<(&str, &str)> = diagnosis
            .rack_pairs
            .iter()
            .filter(|pair| pair.is_too_few)
            .map(|pair| (pair.from.as_str(), pair.to.as_str()))
            .collect();
        let all: &[(&str, &str)] = if sends { &[] } else { &[("r3", "r1"), ("r3", "r2")] };
        assert_eq!(few, all);
        let without = judged_rack(None);
        let unknown = without.suspects.iter().find(|one| one.cause == Cause::Fabric).expect("a suspect");
        assert!(unknown.claim.contains("are sent again, within racks 0"), "{}", unknown.claim);
    }
}

#[test]
fn clients_whose_links_are_full_are_no_rack_that_loses() {
    let simulated_cluster = Cluster::with_racks((3, 3), Injected::Nothing);
    // Queues of full links of clients overflow by a hundredth.
    let lost = |_: usize, to: usize| if to == 3 { 0.01 } else { 1e-4 };
    let diagnosis = judged_with(&simulated_cluster, "", 5, |readings| {
        with_clients(readings, &simulated_cluster, (Some("r4"), 2), true, lost)
    });
    assert!(lossy(&diagnosis).iter().all(|one| one.cause == Cause::LossyLink), "{:#?}", diagnosis.suspects);
    let lost = |_: usize, to: usize| if to == 3 { 0.05 } else { 1e-4 };
    let diagnosis = judged_with(&simulated_cluster, "", 5, |readings| {
        with_clients(readings, &simulated_cluster, (Some("r4"), 2), true, lost)
    });
    is_reported(&diagnosis, Cause::RackUplinks, "r4", "what clients receive");
}

/// Twelve clients of which all lose alike are a rack whose uplinks do, unless their own links are full or not read.
#[test]
fn a_rack_of_clients_that_all_lose_alike_is_named_and_not_each_of_its_clients() {
    let simulated_cluster = Cluster::with_racks((3, 3), Injected::Nothing);
    for (sends, both) in [(false, false), (true, true)] {
        let lost = |from: usize, to: usize| if to == 3 || both && from == 3 { 0.015 } else { 1e-4 };
        let judged_use = |used: Option<f64>| {
            judged_with(&simulated_cluster, "", 5, |readings| {
                with_clients(readings, &simulated_cluster, (Some("r4"), 12), sends, lost);
                for client in (1..=12).filter(|_| used.is_some()) {
                    for of in [ReadMeasure::LinkSent, ReadMeasure::LinkReceived, ReadMeasure::LinkSpeed] {
                        let share = if of == ReadMeasure::LinkSpeed { Some(1.0) } else { used };
                        let (machine, part) = (format!("client{client}"), "eth0".to_owned());
                        let values = vec![share.map(|share| 3.125e9 * share); 60];
                        readings.series.push(ReadSeries { of, machine, part, values });
                    }
                }
            })
        };
        let case = format!("{sends} {both}");
        let roomy = judged_use(Some(0.2));
        is_reported(&roomy, Cause::RackUplinks, "r4", &case);
        assert!(roomy.suspects.iter().all(|one| one.node.is_none()), "{case}: {:#?}", roomy.suspects);
        for used in [Some(0.95), None] {
            let racks = judged_use(used).suspects.into_iter().filter(|one| one.cause == Cause::RackUplinks).count();
            assert_eq!(racks, 0, "{case} {used:?}");
        }
    }
}

#[test]
fn the_largest_sites_are_judged_and_more_racks_than_are_compared_are_told() {
    let simulated_cluster = Cluster::with_racks((22, 22), Injected::Uplinks(12, [true, true]));
    is_reported(&judged(&simulated_cluster, 1), Cause::RackUplinks, "r13", "484 nodes");
    let many = judged_with(&Cluster::with_racks((65, 2), Injected::Nothing), "", 1, |_| ());
    assert!(many.caveats.iter().any(|one| one.contains("names 65 racks")), "{:?}", many.caveats);
    assert_eq!(many.rack_pairs.len() + many.racks.len(), 0);
}
