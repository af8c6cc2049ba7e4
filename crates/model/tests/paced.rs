//! Loads that are paced beside clients whose link is shaped, drawn by a generator of their own: both are steady, and
//! only one of them is a limit. It draws what interfaces and sockets show, and shares no code with what judges.

use std::net::Ipv4Addr;

use linerate_model::diagnosis::diagnose;
use linerate_record::diagnosis::{Cause, Diagnosis};
use linerate_record::readings::{
    READINGS_SCHEMA, ReadMeasure, ReadSeries, Readings, SocketGroup, SocketRead, SocketRemote, StatedMachine,
};
use linerate_record::site::Site;
use linerate_worlds::SeededRng;

const NODES: usize = 4;
const STEPS: usize = 60;
/// What a link of nodes carries: 25 Gb/s.
const LINK_BYTES_PER_S: f64 = 25e9 / 8.0;

fn site() -> Site {
    let text = "nodes:
  name: node
  count: 4
  cores: 32
  memory: 256GiB
  drives: {count: 2, capacity: 4TB, read: 50GB/s, write: 20GB/s}
  nics: {name: p0, ports: 1, speed: 25Gb/s}
planes:
  public: {link: p0, mtu: 9000}
entry: client-side
engine: {product: minio}
data: {object_size: 4MiB}
";
    linerate_site::read(text, "simulated").unwrap_or_else(|error| panic!("{error}"))
}

/// What makes clients steady.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Steady {
    /// Requests begin at a rate, and each is served at once.
    Paced,
    /// A shaper before each client lets so much through, and requests queue up before it.
    Shaped,
}

struct Drawn {
    rng: SeededRng,
    readings: Readings,
}

impl Drawn {
    fn add(&mut self, of: ReadMeasure, machine: &str, values: Vec<f64>) {
        let (machine, values) = (machine.to_owned(), values.into_iter().map(Some).collect());
        self.readings.series.push(ReadSeries { of, machine, part: "p0".to_owned(), values });
    }

    /// So much, that varies by a share from instant to instant.
    fn about(&mut self, middle: f64, within: f64) -> Vec<f64> {
        (0..STEPS).map(|_| (middle * (1.0 + within * self.rng.normal())).max(0.0)).collect()
    }
}

/// A window in which each of some clients gets this share of its link; `are_sockets_read` says whether agents saw them.
fn window(steady: Steady, share: f64, are_sockets_read: bool, seed: u64) -> Readings {
    let clients = 1 + (seed % 3) as usize;
    let stated = |(machine, is_client): (String, bool)| StatedMachine { machine, is_client, kind: None, rack: None };
    let nodes = (1..=NODES).map(|node| (format!("node{node}"), false));
    let machines = nodes.chain((1..=clients).map(|client| (format!("client{client}"), true)));
    let readings = Readings {
        schema: READINGS_SCHEMA,
        source: "live".to_owned(),
        begin_unix_ms: 1_795_000_000_000,
        step_ms: 1_000,
        steps: STEPS as u32,
        interval_ms: 1_000,
        rate_over_ms: 1_000,
        stated: machines.map(stated).collect(),
        ..Readings::default()
    };
    let mut drawn = Drawn { rng: SeededRng::new(seed, 77), readings };
    // Which node serves which object is by chance, whatever the sum is.
    let all = drawn.rng.between(0.1, 0.5) * LINK_BYTES_PER_S;
    let rate = all * NODES as f64 / clients as f64;
    for node in 1..=NODES {
        let name = format!("node{node}");
        let sent = drawn.about(all, 0.25);
        drawn.add(ReadMeasure::LinkSent, &name, sent);
        let received = drawn.about(0.5 * all, 0.3);
        drawn.add(ReadMeasure::LinkReceived, &name, received);
        if are_sockets_read {
            let at = |busy: f64| SocketRemote {
                busy_us: (busy * 10.0 * 60e6) as u64,
                ..remote((all * 60.0 / clients as f64) as u64)
            };
            let busy = drawn.rng.between(0.01, 0.2);
            let busy = if steady == Steady::Paced { busy } else { 0.5 + busy };
            let remotes = (1..=clients).map(|client| SocketRemote {
                address: Ipv4Addr::new(10, 0, 1, client as u8).into(),
                machine: Some(format!("client{client}")),
                ..at(busy)
            });
            let remotes = remotes.collect();
            let read =
                SocketRead { machine: name, over_ms: 60_000, looks: 30, interval_ms: 2_000, ..SocketRead::default() };
            drawn.readings.sockets.push(SocketRead { sockets: 10, remotes, ..read });
        }
    }
    for client in 1..=clients {
        let name = format!("client{client}");
        let received = drawn.about(rate, 0.004);
        drawn.add(ReadMeasure::LinkReceived, &name, received);
        let sent = drawn.about(0.01 * rate, 0.02);
        drawn.add(ReadMeasure::LinkSent, &name, sent);
        drawn.add(ReadMeasure::LinkSpeed, &name, vec![rate / share; STEPS]);
    }
    drawn.readings
}

/// Sends of ten sockets over a minute.
fn remote(sent_bytes: u64) -> SocketRemote {
    SocketRemote {
        address: Ipv4Addr::LOCALHOST.into(),
        group: SocketGroup::Client,
        machine: None,
        sockets: 10,
        sent_bytes,
        received_bytes: 0,
        sent_segments: sent_bytes / 9_000,
        retransmitted_segments: 0,
        busy_us: 0,
        window_limited_us: 0,
        buffer_limited_us: 0,
        open_us: 600_000_000,
        round_trip_us: 200,
        delivery_bytes_per_s: LINK_BYTES_PER_S as u64,
    }
}

fn judged(steady: Steady, share: f64, are_sockets_read: bool, seed: u64) -> Diagnosis {
    let readings = window(steady, share, are_sockets_read, seed);
    assert_eq!(readings.check(), Ok(()));
    diagnose(&site(), &readings, &[]).unwrap_or_else(|error| panic!("{error}"))
}

const SEEDS: u64 = 40;

#[test]
fn a_paced_load_is_told_as_one_and_names_no_link() {
    for (share, are_sockets_read) in [(0.1, true), (0.3, true), (0.7, true), (0.1, false), (0.4, false)] {
        for seed in 0..SEEDS {
            let diagnosis = judged(Steady::Paced, share, are_sockets_read, seed);
            let case = format!("{share} {are_sockets_read} {seed}: {}", diagnosis.answer);
            let blamed = diagnosis.suspects.iter().find(|one| one.cause == Cause::ClientLimit);
            assert!(blamed.is_none(), "{case}: {blamed:?}");
            let first = diagnosis.suspects.first().unwrap_or_else(|| panic!("{case}"));
            assert_eq!((first.cause, first.node.as_ref()), (Cause::PacedLoad, None), "{case}");
            assert!(first.claim.contains("--rate") && !first.claim.contains("p0"), "{case}");
            assert!(first.claim.contains("nothing to send") == are_sockets_read, "{case}");
        }
    }
}

#[test]
fn a_client_whose_link_is_shaped_is_still_at_a_limit_of_its_own() {
    for (share, are_sockets_read) in [(0.1, true), (0.5, true), (0.7, false)] {
        for seed in 0..SEEDS {
            let diagnosis = judged(Steady::Shaped, share, are_sockets_read, seed);
            let case = format!("{share} {are_sockets_read} {seed}: {}", diagnosis.answer);
            let first = diagnosis.suspects.first().unwrap_or_else(|| panic!("{case}"));
            assert_eq!(first.cause, Cause::ClientLimit, "{case}");
            assert!(first.claim.contains("the link p0 receives"), "{case}");
        }
    }
}
