//! Simulated fleets whose truth is known: healthy ones name no node, and what is planted in one is named first. The
//! simulator shares no code with what judges: it draws what interfaces, drives and engines would show.

use linerate_model::diagnosis::diagnose;
use linerate_record::diagnosis::{Cause, Diagnosis};
use linerate_record::readings::{OtherName, READINGS_SCHEMA, ReadMeasure, ReadSeries, Readings, StatedMachine};
use linerate_record::site::Site;
use linerate_worlds::SeededRng;

const SIZES: [u32; 5] = [4, 8, 16, 56, 484];

/// Instants of a window: 15 s apart, ten minutes.
const STEPS: usize = 40;

/// What a link of 25 Gb/s carries as interfaces count it, of packets of 9,000 bytes.
const LINK_BYTES_PER_S: f64 = 25e9 / 8.0 * (9014.0 / 9038.0);

fn site(nodes: u32) -> Site {
    let text = format!(
        "nodes:
  name: node
  count: {nodes}
  cores: 32
  memory: 256GiB
  drives: {{count: 2, capacity: 4TB, read: 5GB/s, write: 2GB/s}}
  nics: {{name: p0, ports: 2, speed: 25Gb/s}}
  bonds: {{name: bond0, nics: p0}}
planes:
  public: {{link: bond0, mtu: 9000}}
entry: client-side
engine: {{product: minio}}
data: {{object_size: 4MiB}}
"
    );
    linerate_site::read(&text, "simulated").unwrap_or_else(|error| panic!("{error}"))
}

/// What is the matter with one node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Injected {
    Nothing,
    SlowLink,
    /// The same in both directions, at one level.
    SlowBothWays,
    SlowDrive,
    Quota,
    /// Clients ask one node for more, and exporters tell that less exactly than its link does.
    RequestedMore,
    /// That of a proxy in the pod of the engine.
    QuotaOfAnother,
    Losses,
    OtherProgram,
    AllRequests,
    /// One member carries all, everywhere.
    OneMember,
}

/// Readings of a fleet at so much of its links.
struct Fleet {
    rng: SeededRng,
    readings: Readings,
}

impl Fleet {
    fn add(&mut self, of: ReadMeasure, node: u32, part: &str, values: Vec<Option<f64>>) {
        let machine = format!("node{node}");
        self.readings.series.push(ReadSeries { of, machine, part: part.to_owned(), values });
    }

    /// Values about a middle, that vary by so much from node to node and from instant to instant.
    fn about(&mut self, middle: f64, among: f64, within: f64) -> Vec<Option<f64>> {
        let of_node = middle * (among * self.rng.normal()).exp();
        (0..STEPS).map(|_| Some(of_node * (within * self.rng.normal()).exp())).collect()
    }
}

fn fleet(nodes: u32, injected: Injected, at: u32, seed: u64) -> Readings {
    let readings = Readings {
        schema: READINGS_SCHEMA,
        source: "simulated".to_owned(),
        begin_unix_ms: 1_795_000_000_000,
        step_ms: 15_000,
        steps: STEPS as u32,
        interval_ms: 15_000,
        rate_over_ms: 60_000,
        ..Readings::default()
    };
    let mut fleet = Fleet { rng: SeededRng::new(seed, u64::from(nodes)), readings };
    // The whole load rises and falls, and all nodes with it.
    let load: Vec<f64> = (0..STEPS).map(|_| (0.1 * fleet.rng.normal()).exp()).collect();
    for node in 1..=nodes {
        let is_it = node == at;
        let is = |what: Injected| is_it && injected == what;
        let links = if injected == Injected::OneMember { 0.48 } else { 0.4 };
        let received = if injected == Injected::SlowBothWays { links } else { 0.6 * links };
        for (of, share) in [(ReadMeasure::LinkSent, links), (ReadMeasure::LinkReceived, received)] {
            let requested = if is(Injected::AllRequests) { 2.0 } else { 1.0 };
            let requested = if is(Injected::RequestedMore) && of == ReadMeasure::LinkSent { 1.7 } else { requested };
            let middle = share * 2.0 * LINK_BYTES_PER_S * requested;
            let mut bond = fleet.about(middle, 0.04, 0.04);
            bond.iter_mut().zip(&load).for_each(|(value, load)| *value = value.map(|value| value * load));
            if is(Injected::SlowLink) && of == ReadMeasure::LinkSent || is(Injected::SlowBothWays) {
                bond = fleet.about(0.8 * middle, 0.0, 0.004);
            }
            let first = if injected == Injected::OneMember { 0.999 } else { 0.5 + 0.03 * fleet.rng.normal() };
            let member = |share: f64| bond.iter().map(|value| value.map(|value| value * share)).collect();
            fleet.add(of, node, "p0a", member(first));
            fleet.add(of, node, "p0b", member(1.0 - first));
            fleet.add(of, node, "bond0", bond.clone());
        }
        let busy = fleet.about(if is(Injected::OtherProgram) { 24.0 } else { 9.0 }, 0.06, 0.05);
        fleet.add(ReadMeasure::CoresBusy, node, "", busy);
        fleet.add(ReadMeasure::Cores, node, "", vec![Some(32.0); STEPS]);
        // The kernel counts what a quota stops as waiting for a processor.
        let waits = if is(Injected::OtherProgram) || is(Injected::Quota) { 0.6 } else { 0.03 };
        let waited = fleet.about(waits, 0.3, 0.2);
        fleet.add(ReadMeasure::CpuPressure, node, "", waited);
        let again = fleet.about(if is(Injected::Losses) { 0.03 } else { 2e-4 }, 0.5, 0.5);
        fleet.add(ReadMeasure::Retransmitted, node, "", again);
        for drive in ["nvme0n1", "nvme1n1"] {
            let slow = is(Injected::SlowDrive) && drive == "nvme1n1";
            let latency = fleet.about(if slow { 4e-3 } else { 5e-4 }, 0.2, 0.2);
            fleet.add(ReadMeasure::DriveLatency, node, drive, latency);
            let queue = fleet.about(if slow { 12.0 } else { 1.5 }, 0.25, 0.2);
            fleet.add(ReadMeasure::DriveQueue, node, drive, queue);
        }
        let of_quota = [(Injected::Quota, "s3/minio-0/minio"), (Injected::QuotaOfAnother, "s3/minio-0/istio-proxy")];
        for (_, container) in of_quota.into_iter().filter(|(quota, _)| is(*quota)) {
            let throttled = fleet.about(0.6, 0.0, 0.1);
            fleet.add(ReadMeasure::Throttled, node, container, throttled);
        }
        let factor = if is(Injected::AllRequests) { 2.5 } else { 1.0 };
        let factor = if is(Injected::RequestedMore) { 1.7 } else { factor };
        let sent = fleet.about(factor * 2e9, if injected == Injected::RequestedMore { 0.15 } else { 0.05 }, 0.1);
        fleet.add(ReadMeasure::ClientSent, node, "", sent);
        let received = fleet.about(1e9, 0.05, 0.1);
        fleet.add(ReadMeasure::ClientReceived, node, "", received);
        let in_flight = fleet.about(factor * 12.0, 0.25, 0.3);
        fleet.add(ReadMeasure::InFlight, node, "", in_flight);
    }
    fleet.readings
}

fn judged(nodes: u32, injected: Injected, at: u32, seed: u64) -> Diagnosis {
    let readings = fleet(nodes, injected, at, seed);
    assert_eq!(readings.check(), Ok(()));
    diagnose(&site(nodes), &readings, &[]).unwrap_or_else(|error| panic!("{nodes} nodes, {injected:?}: {error}"))
}

fn windows(nodes: u32) -> u64 {
    if nodes > 100 { 4 } else { 25 }
}

#[test]
fn healthy_fleets_of_every_size_name_no_node() {
    let (mut named, mut all) = (Vec::new(), 0);
    for nodes in SIZES {
        for seed in 0..windows(nodes) {
            let diagnosis = judged(nodes, Injected::Nothing, 0, seed);
            assert_eq!((diagnosis.nodes.len(), diagnosis.unheard), (nodes as usize, 0));
            all += 1;
            named.extend(diagnosis.suspects.into_iter().filter_map(|one| one.node.map(|_| (nodes, seed, one.claim))));
        }
    }
    assert!(named.len() * 50 <= all, "{} of {all}: {named:?}", named.len());
}

#[test]
fn what_is_planted_at_one_node_is_named_first_in_fleets_of_every_size() {
    let plants = [
        (Injected::SlowLink, Cause::SlowLinkSending),
        (Injected::SlowDrive, Cause::SlowDrive),
        (Injected::Quota, Cause::Quota),
        (Injected::Losses, Cause::LossyLink),
        (Injected::OtherProgram, Cause::BusyProcessors),
        (Injected::AllRequests, Cause::UnevenLoad),
    ];
    let (mut late, mut all) = (Vec::new(), 0);
    for nodes in SIZES {
        for (injected, cause) in plants {
            for seed in 0..windows(nodes).div_ceil(5) {
                let at = 1 + (seed as u32 * 7) % nodes;
                let diagnosis = judged(nodes, injected, at, 1000 + seed);
                let first = diagnosis.suspects.first();
                let is_first = first.is_some_and(|first| {
                    first.cause == cause && first.node.as_deref() == Some(&format!("node{at}")[..])
                });
                all += 1;
                if !is_first {
                    late.push(format!("{nodes} nodes, {injected:?} at {at}, {seed}: {:?}", diagnosis.answer));
                }
            }
        }
    }
    assert!(late.len() * 20 <= all, "{} of {all}:\n{}", late.len(), late.join("\n"));
}

#[test]
fn what_is_there_in_half_of_a_window_or_at_few_instants_alone_is_seen_and_leads_nothing() {
    /// From here on something is the matter.
    const BEGIN: usize = STEPS / 2;
    let mut seen = 0;
    for injected in [Injected::SlowDrive, Injected::OtherProgram, Injected::Losses] {
        let (whole, healthy) = (fleet(8, injected, 3, 5), fleet(8, Injected::Nothing, 3, 5));
        let mut half = whole.clone();
        for (series, healthy) in half.series.iter_mut().zip(&healthy.series) {
            series.values[..BEGIN].copy_from_slice(&healthy.values[..BEGIN]);
        }
        let mut short = whole.clone();
        short.steps = 1;
        short.series.iter_mut().for_each(|series| series.values.truncate(1));
        let judge = |readings: &Readings| diagnose(&site(8), readings, &[]).unwrap_or_else(|error| panic!("{error}"));
        let [whole, half, short] = [&whole, &half, &short].map(judge);
        assert!(whole.suspects[0].weight > 0.6 && whole.outlier.iter().all(|one| one.is_lasting), "{injected:?}");
        for (window, of_window) in [("half", &half), ("short", &short)] {
            let lead = of_window.suspects.first().map_or(0.0, |suspect| suspect.weight);
            assert!(lead < of_window.none_of_these, "{injected:?}, {window}: {:?}", of_window.suspects);
        }
        seen += half.outlier.len();
        let is_said = |claim: &str| claim.ends_with(", but not in both halves of the window");
        assert!(half.outlier.iter().all(|one| is_said(&one.claim)), "{injected:?}: {:?}", half.outlier);
        assert!(short.warnings.iter().any(|warning| warning.contains("at 1 of 1 instants")), "{:?}", short.warnings);
    }
    assert!(seen > 0, "none of it is seen");
}

#[test]
fn a_node_whose_links_carry_nothing_has_not_more_of_the_requests() {
    let mut readings = fleet(8, Injected::AllRequests, 3, 5);
    let is_link = |of: ReadMeasure| matches!(of, ReadMeasure::LinkSent | ReadMeasure::LinkReceived);
    let of_node = readings.series.iter_mut().filter(|one| one.machine == "node3" && is_link(one.of));
    of_node.for_each(|one| one.values.fill(Some(108.0)));
    let diagnosis = diagnose(&site(8), &readings, &[]).unwrap_or_else(|error| panic!("{error}"));
    let uneven = diagnosis.suspects.iter().find(|suspect| suspect.cause == Cause::UnevenLoad);
    assert_eq!(uneven, None, "{}", diagnosis.answer);
}

#[test]
fn two_ways_of_a_node_at_one_level_are_both_said_and_none_is_picked() {
    for (nodes, seed) in [(16, 1), (16, 2), (56, 3)] {
        let diagnosis = judged(nodes, Injected::SlowBothWays, 3, 3000 + seed);
        let first = diagnosis.suspects.first().unwrap_or_else(|| panic!("{nodes}: {}", diagnosis.answer));
        let is_way = matches!(first.cause, Cause::SlowLinkSending | Cause::SlowLinkReceiving);
        assert!(is_way && first.node.as_deref() == Some("node3"), "{nodes}: {}", diagnosis.answer);
        for part in ["not separated", "bond0 sends", "bond0 receives"] {
            assert!(diagnosis.answer.contains(part), "{nodes}, {part}: {}", diagnosis.answer);
        }
        assert_eq!(first.gives, None, "what healing one of them gives, nobody knows");
    }
}

/// As many requests in flight as nodes, or fewer, at links that are in use by a tenth.
#[test]
fn a_light_load_says_so_and_names_no_bottleneck() {
    for (nodes, seed) in [(8, 1), (16, 2), (56, 3)] {
        let mut readings = fleet(nodes, Injected::AllRequests, 2, seed);
        for series in &mut readings.series {
            let factor = match series.of {
                ReadMeasure::LinkSent | ReadMeasure::LinkReceived | ReadMeasure::CoresBusy => 0.25,
                ReadMeasure::ClientSent | ReadMeasure::ClientReceived => 0.25,
                ReadMeasure::InFlight => 0.02,
                _ => 1.0,
            };
            series.values.iter_mut().for_each(|value| *value = value.map(|value| factor * value));
        }
        let diagnosis = diagnose(&site(nodes), &readings, &[]).unwrap();
        let begins = "the load was light: the highest utilisation is ";
        assert!(diagnosis.answer.starts_with(begins), "{nodes}: {}", diagnosis.answer);
        assert!(diagnosis.answer.contains(&format!("in flight at {nodes} nodes")), "{}", diagnosis.answer);
    }
}

#[test]
fn a_container_beside_the_engine_that_is_out_of_its_quota_is_told_by_its_name_and_convicts_no_node() {
    for nodes in SIZES {
        let diagnosis = judged(nodes, Injected::QuotaOfAnother, 2, 31);
        let convicted = diagnosis.suspects.iter().find(|one| one.cause == Cause::Quota);
        assert!(convicted.is_none(), "{nodes}: {convicted:?}");
        let reported: Vec<&String> = diagnosis.caveats.iter().filter(|one| one.contains("istio-proxy")).collect();
        let [reported] = &reported[..] else { panic!("{nodes}: {reported:?}") };
        assert!(
            reported.contains("s3/minio-0/istio-proxy on node2") && reported.contains("of its periods"),
            "{reported}"
        );
    }
}

#[test]
fn a_node_that_clients_ask_for_more_is_seldom_said_to_work_for_somebody_else() {
    let (mut wrong, mut all) = (Vec::new(), 0);
    for nodes in SIZES {
        for seed in 0..windows(nodes).div_ceil(2) {
            let diagnosis = judged(nodes, Injected::RequestedMore, 2, 2000 + seed);
            let first = diagnosis.suspects.first().filter(|first| first.weight > diagnosis.none_of_these);
            all += 1;
            wrong
                .extend(first.filter(|first| first.cause == Cause::OtherWork).map(|first| (nodes, seed, first.weight)));
        }
    }
    // What a gauge says of one node may be a third less than its link.
    assert!(wrong.len() * 20 <= all, "{} of {all}: {wrong:?}", wrong.len());
}

#[test]
fn one_member_that_carries_all_is_named_first_and_no_node_is() {
    for nodes in SIZES {
        let diagnosis = judged(nodes, Injected::OneMember, 0, 5);
        let first = diagnosis.suspects.first().unwrap_or_else(|| panic!("{nodes}: nothing is named"));
        assert_eq!((first.cause, first.part.as_str()), (Cause::BondMembers, "bond0"), "{nodes}: {}", first.claim);
        let sent = diagnosis.members.iter().find(|members| members.is_sent).unwrap_or_else(|| panic!("no members"));
        assert_eq!((sent.members, sent.on_one_nodes), (2, nodes));
        assert!(sent.busiest_used_share > 0.9, "{sent:?}");
    }
}

#[test]
fn readings_of_nobody_say_so_and_are_no_error() {
    let nobody = Readings { schema: READINGS_SCHEMA, step_ms: 1000, steps: 2, ..Readings::default() };
    let diagnosis = diagnose(&site(4), &nobody, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(diagnosis.answer.contains("no machine of these readings"), "{}", diagnosis.answer);
    assert_eq!((diagnosis.unheard, diagnosis.suspects.len()), (4, 0));
}

/// A node that was lost after some instants: what is left of it is steady by chance, and says nothing.
#[test]
fn a_node_that_was_lost_on_the_way_is_no_cause() {
    for (seed, left) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 6)] {
        let mut readings = fleet(4, Injected::Nothing, 0, seed);
        for series in readings.series.iter_mut().filter(|series| series.machine == "node4") {
            series.values[left..].fill(None);
        }
        let diagnosis = diagnose(&site(4), &readings, &[]).unwrap_or_else(|error| panic!("{left}: {error}"));
        let named: Vec<_> = diagnosis.suspects.iter().filter(|suspect| suspect.node.is_some()).collect();
        assert!(named.is_empty(), "{left} instants left: {named:?}");
    }
}

/// Machines that a fleet names are those, whatever they call themselves.
#[test]
fn a_machine_that_says_another_name_is_not_taken_for_that_one() {
    let mut readings = fleet(4, Injected::Losses, 3, 7);
    let machine = |node: u32| format!("node{node}");
    readings.names.push(OtherName { machine: machine(1), name: machine(3) });
    let stated = |node| StatedMachine { machine: machine(node), is_client: false, kind: None, rack: None };
    readings.stated = (1..=4).map(stated).collect();
    let diagnosis = diagnose(&site(4), &readings, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(diagnosis.nodes.len(), 4);
    let first = diagnosis.suspects.first().unwrap_or_else(|| panic!("{}", diagnosis.answer));
    assert_eq!((first.cause, first.node.as_deref()), (Cause::LossyLink, Some("node3")));
}

/// A fleet of which one node differs, at a thousandth of its load.
fn at_rest(nodes: u32, seed: u64) -> Readings {
    let mut readings = fleet(nodes, Injected::AllRequests, 2, seed);
    let is_load = |of: ReadMeasure| {
        matches!(of, ReadMeasure::LinkSent | ReadMeasure::LinkReceived | ReadMeasure::ClientSent)
            || matches!(of, ReadMeasure::ClientReceived | ReadMeasure::InFlight)
    };
    for series in readings.series.iter_mut().filter(|one| is_load(one.of)) {
        series.values.iter_mut().for_each(|value| *value = value.map(|value| 1e-3 * value));
    }
    readings.series.iter_mut().filter(|one| one.of == ReadMeasure::CoresBusy).for_each(|one| {
        one.values.iter_mut().for_each(|value| *value = value.map(|value| 0.05 * value));
    });
    readings
}

#[test]
fn a_window_without_a_load_says_so_first_and_names_no_node_for_its_load() {
    for (nodes, seed) in [(4, 1), (16, 2), (56, 3)] {
        let diagnosis = diagnose(&site(nodes), &at_rest(nodes, seed), &[]).unwrap();
        let answer = &diagnosis.answer;
        let begins = "no load was seen from 2026-11-18 11:06:40 UTC to 2026-11-18 11:16:25 UTC (9 min 45 s)";
        assert!(answer.starts_with(begins), "{answer}");
        assert!(diagnosis.suspects.iter().all(|one| one.cause != Cause::UnevenLoad), "{:?}", diagnosis.suspects);
        assert!(diagnosis.outlier.is_empty() || answer.contains(&diagnosis.outlier[0].claim), "{answer}");
        // What is no matter of load is told beside it.
        let mut slower = at_rest(nodes, seed);
        add_speeds(&mut slower, nodes, None);
        let alongside = diagnose(&site(nodes), &slower, &[]).unwrap();
        assert!(
            alongside.answer.starts_with(begins) && alongside.answer.contains("node3: speed of bond0: 25.0 Gb/s"),
            "{}",
            alongside.answer
        );
    }
    let loaded = diagnose(&site(16), &fleet(16, Injected::Nothing, 1, 1), &[]).unwrap();
    assert!(!loaded.answer.contains("no load"), "{}", loaded.answer);
}

#[test]
fn an_answer_of_fewer_than_half_of_the_nodes_begins_with_their_number() {
    let answer = |site_nodes, readings: &Readings| diagnose(&site(site_nodes), readings, &[]).unwrap().answer;
    let begins = "of 56 nodes only 16 were read: no load was seen from ";
    assert!(answer(56, &at_rest(16, 2)).starts_with(begins), "{}", answer(56, &at_rest(16, 2)));
    let loaded = fleet(16, Injected::Nothing, 1, 1);
    assert!(answer(40, &loaded).starts_with("of 40 nodes only 16 were read: "), "{}", answer(40, &loaded));
    assert!(!answer(32, &loaded).contains("were read: "), "{}", answer(32, &loaded));
}

/// Speeds of bonds, of which that of the third node is half, and the second member of that one which carries nothing.
fn add_speeds(readings: &mut Readings, nodes: u32, idle: Option<&str>) {
    for node in 1..=nodes {
        let speed = if node == 3 { 25e9 / 8.0 } else { 50e9 / 8.0 };
        let (machine, part) = (format!("node{node}"), "bond0".to_owned());
        let values = vec![Some(speed); STEPS];
        readings.series.push(ReadSeries { of: ReadMeasure::LinkSpeed, machine, part, values });
    }
    let Some(idle) = idle else { return };
    for of in [ReadMeasure::LinkSent, ReadMeasure::LinkReceived] {
        let of_node = readings.series.iter_mut().filter(|one| one.of == of && one.machine == "node3");
        let mut parts: Vec<&mut ReadSeries> = of_node.collect();
        let whole = parts.iter().find(|one| one.part == "bond0").expect("a bond").values.clone();
        for one in parts.iter_mut().filter(|one| one.part != "bond0") {
            one.values = if one.part == idle { vec![Some(0.0); STEPS] } else { whole.clone() };
        }
    }
}

#[test]
fn a_bond_that_lost_a_member_is_one_suspect_that_names_the_member() {
    for injected in [Injected::Nothing, Injected::SlowLink] {
        let mut readings = fleet(16, injected, 3, 4);
        add_speeds(&mut readings, 16, Some("p0b"));
        let diagnosis = diagnose(&site(16), &readings, &[]).unwrap();
        let first = diagnosis.suspects.first().expect("a suspect");
        assert_eq!(first.claim, "bond0 of node3 lost a member: p0b carries nothing", "{injected:?}");
        assert_eq!(diagnosis.answer, first.claim);
        let remedy = &first.remedy;
        assert!(remedy.starts_with("/proc/net/bonding/bond0") && remedy.contains("ethtool p0b"), "{remedy}");
        let others = diagnosis.suspects[1..].iter().filter(|one| one.part == "bond0").count();
        assert_eq!(others, 0, "{:#?}", diagnosis.suspects);
    }
    let mut readings = fleet(16, Injected::Nothing, 3, 4);
    add_speeds(&mut readings, 16, None);
    let diagnosis = diagnose(&site(16), &readings, &[]).unwrap();
    assert!(diagnosis.answer.starts_with("the port bond0 of node3 negotiated 25.0 Gb/s"), "{}", diagnosis.answer);
}

#[test]
fn more_or_fewer_nodes_than_the_site_has_are_a_warning() {
    let warned = |nodes: u32, site_nodes: u32, without: &str| {
        let mut readings = fleet(nodes, Injected::Nothing, 1, 1);
        readings.series.retain(|one| one.machine != without);
        diagnose(&site(site_nodes), &readings, &[]).unwrap().warnings
    };
    for (nodes, site_nodes, without, said) in [
        (60, 56, "", "60 machines were read, and the site has 56 nodes: select its own with --select"),
        (56, 56, "node17", "55 of 56 nodes were read: node17 has no readings"),
        (4, 5, "", "4 of 5 nodes were read: node5 has no readings"),
        (1, 4, "", "1 of 4 nodes was read: node2, node3, node4 have no readings"),
        (4, 1, "", "4 machines were read, and the site has 1 node:"),
    ] {
        let warnings = warned(nodes, site_nodes, without);
        assert!(warnings.first().is_some_and(|first| first.starts_with(said)), "{said}: {warnings:?}");
    }
    assert_eq!(warned(4, 4, ""), [""; 0]);
}

#[test]
fn bytes_of_clients_beyond_what_links_carried_are_the_first_warning() {
    let warned = |times: f64, without: &str| {
        let mut readings = fleet(4, Injected::Nothing, 1, 1);
        readings.series.retain(|one| one.of != ReadMeasure::LinkSent || one.machine != without);
        for one in readings.series.iter_mut().filter(|one| one.of == ReadMeasure::ClientSent) {
            one.values.iter_mut().flatten().for_each(|value| *value *= times);
        }
        diagnose(&site(4), &readings, &[]).unwrap().warnings
    };
    assert_eq!(warned(1.0, ""), [""; 0]);
    let warnings = warned(4.0, "");
    assert!(warnings[0].starts_with("GET ") && warnings[0].contains("that the nodes' links sent"), "{warnings:?}");
    assert!(!warned(4.0, "node2").iter().any(|one| one.starts_with("GET ")), "not all links were read");
}
