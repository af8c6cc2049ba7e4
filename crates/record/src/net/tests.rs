use super::*;
use crate::plan::Resource;

/// A bond of which flows get such a share.
fn spread(share_p50: f64) -> Spread {
    Spread {
        resource: Resource::PublicEgress,
        group: Some("all".to_owned()),
        members: 2,
        counted_members: None,
        flows: 64,
        share_p5: 0.8,
        share_p50,
        share_p95: 1.0,
        flows_to_fill: None,
        why: "layer3+4".to_owned(),
    }
}

fn run() -> NetRun {
    let node = |name: &str| NetNode {
        name: name.to_owned(),
        address: "10.0.0.1".to_owned(),
        interface: "eth0".to_owned(),
        machine: Machine::default(),
        place: None,
        rack: None,
    };
    NetRun {
        schema: NET_SCHEMA,
        linerate: "0.1.0".to_owned(),
        began_unix_ms: 0,
        command: Vec::new(),
        seed: 1,
        load: NetLoad {
            op: NetOp::Stream,
            way: NetWay::OneWay,
            streams: vec![2],
            is_searched: false,
            duration_ms: 400,
            warmup_ms: 100,
            interval_ms: 100,
            visits: 1,
            send_bytes: 1024,
            max_bytes_per_s: None,
            offloads: NetOffloads::default(),
            sampled_of_rounds: None,
            members: None,
        },
        requested_visits: Some(2),
        nodes: vec![node("a"), node("b")],
        against: None,
        stated_oversubscription: None,
        bonds_by_model: Vec::new(),
        remarks: Vec::new(),
    }
}

fn visit() -> NetVisit {
    let (received_bytes, stream_bytes) = (vec![100; 4], vec![200; 2]);
    let pair = NetPair { from: 0, to: 1, received_bytes, stream_bytes, ..NetPair::default() };
    let machine = NetMachine { node: 1, over_ms: 400, ..NetMachine::default() };
    NetVisit {
        visit: 1,
        repetition: 1,
        round: 0,
        streams: 2,
        member: None,
        through: NetRoute::Direct,
        at_ms: 0,
        pairs: vec![pair],
        machines: vec![machine],
    }
}

#[test]
fn folders_of_schema_1_have_streams() {
    let written = serde_json::to_value(run().load).unwrap();
    assert_eq!((written.get("op"), written.get("offloads")), (None, None));
    assert_eq!(serde_json::from_value::<NetLoad>(written).unwrap(), run().load);
}

#[test]
fn visits_that_cannot_be_of_a_run_are_refused_with_the_reason() {
    assert!(run().checked(vec![visit()]).is_ok());
    type Wrong = fn(&mut NetRun, &mut NetVisit);
    let wrong: [(Wrong, &str); 32] = [
        (|run, _| run.stated_oversubscription = Some(0.0), "an oversubscription that is none"),
        (|run, _| run.bonds_by_model = vec![spread(1.01)], "shares of bonds by a model that can be none"),
        (|run, _| run.bonds_by_model = vec![spread(f64::NAN)], "shares of bonds by a model that can be none"),
        (|run, _| run.bonds_by_model = vec![spread(0.9); 257], "shares of bonds by a model that can be none"),
        (|_, visit| visit.machines[0].queues = vec![NetQueue::default(); 65], "65 queues of interfaces"),
        (|_, visit| visit.pairs[0].gso = Some(NetBursts { calls: 1, refused: None }), "1 sends or reads of 0"),
        (|_, visit| visit.pairs[0].halved = Some(NetHalved { rounds: 99, ..NetHalved::default() }), "99 rounds"),
        (
            |_, visit| {
                let probed = NetProbed { interface_bytes: 1_500, taken_bytes: None, icmp: None, sizes: Vec::new() };
                visit.pairs[0].probed = vec![probed];
            },
            "1 streams that probed, of op stream",
        ),
        (|run, _| run.load.op = NetOp::Request { request_bytes: 1, answer_bytes: 0 }, "an op request"),
        (|run, _| run.load.op = NetOp::Udp { datagram_bytes: 31 }, "an op udp"),
        (
            |_, visit| {
                let interval_counts = vec![1; 4];
                visit.pairs[0].exchanges = Some(NetExchanges { interval_counts, ..NetExchanges::default() });
            },
            "0 times of 4 answers",
        ),
        (
            |_, visit| {
                let times = EncodedHistogram("no histogram".to_owned());
                visit.pairs[0].exchanges = Some(NetExchanges { interval_counts: Vec::new(), times });
            },
            "HdrHistogram",
        ),
        (
            |_, visit| {
                let datagrams = NetDatagrams { sent: 4, received: 3, missing: 2, ..NetDatagrams::default() };
                visit.pairs[0].datagrams = Some(datagrams);
            },
            "3 datagrams received and 2 missing, of 4 sent",
        ),
        (|run, _| run.nodes.clear(), "0 machines"),
        (|run, _| run.load.interval_ms = 0, "no time"),
        (|run, _| run.load.max_bytes_per_s = Some(f64::NAN), "a limit"),
        (|run, _| run.load.warmup_ms = u64::MAX, "400 ms after 18446744073709551615 ms are longer"),
        (|run, _| run.load.duration_ms = u64::MAX, "18446744073709551615 ms after 100 ms are longer"),
        (|run, _| run.load.duration_ms = 200_000, "2000 intervals are more"),
        (|run, _| run.load.streams = vec![2, 0], "streams other than"),
        (|run, _| run.load.visits = 0, "1 visits, of 0"),
        (|run, _| run.requested_visits = Some(0), "1 visits, of 0"),
        (|_, visit| visit.machines[0].send_busiest_ns = 1 << 40, "what machine 1 did"),
        (|_, visit| visit.machines[0].receive_busiest_ns = u64::MAX, "what machine 1 did"),
        (|_, visit| visit.streams = 3, "visit 1 cannot have been: 3 streams"),
        (|_, visit| visit.pairs[0].to = 2, "a pair of 0 and 2"),
        (|_, visit| visit.pairs[0].to = 0, "a pair of 0 and 0"),
        (|_, visit| visit.pairs[0].received_bytes.push(1), "5 intervals, of 4"),
        (|_, visit| visit.pairs[0].sent.busy_us = u64::MAX, "a count of"),
        (|_, visit| visit.machines[0].node = 9, "what machine 9 did"),
        (|_, visit| visit.machines[0].members = vec![NetMember::default(); 65], "65 members of bonds"),
        (
            |_, visit| {
                visit.pairs[0].aim = Some(NetPredictedMembers { streams: vec![0], ..NetPredictedMembers::default() })
            },
            "member 0 of a bond that sends by 0",
        ),
    ];
    for (change, part) in wrong {
        let (mut run, mut visit) = (run(), visit());
        change(&mut run, &mut visit);
        let why = run.checked(vec![visit]).unwrap_err();
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[test]
fn pairs_have_classes_where_it_is_known_where_their_machines_are() {
    let mut run = run();
    assert_eq!(run.class_of((0, 1), NetRoute::Direct), None);
    let place = |host: &str, space| NetLocation { host: host.to_owned(), space, service: None, second: None };
    run.nodes[0].place = Some(place("n1", NetSpace::Pod));
    assert_eq!(run.class_of((0, 1), NetRoute::Direct), None);
    run.nodes[1].place = Some(place("n2", NetSpace::Host));
    let class = |run: &NetRun, pair| run.class_of(pair, NetRoute::Service).map(|class| class.to_string());
    assert_eq!(class(&run, (0, 1)).as_deref(), Some("other/pod-host/service"));
    run.nodes[1].place = Some(place("n1", NetSpace::Host));
    assert_eq!(class(&run, (1, 0)).as_deref(), Some("same/host-pod/service"));
    assert_eq!(class(&run, (0, 2)), None);
}

#[test]
fn a_run_of_more_ways_has_more_visits_and_bytes_of_encapsulation_are_bounded() {
    let mut run = run();
    run.requested_visits = None;
    // Both of one way, by their own addresses.
    assert_eq!(run.checked(vec![visit(), visit()]).map(|visits| visits.len()), Ok(2));
    assert!(run.checked(vec![visit(), visit(), visit()]).unwrap_err().contains("3 visits, of 2"));
    let service = Some("10.96.0.7:5301".to_owned());
    run.nodes[1].place = Some(NetLocation { host: "n2".to_owned(), space: NetSpace::Pod, service, second: None });
    let through = NetVisit { through: NetRoute::Service, ..visit() };
    assert_eq!(run.checked(vec![visit(), visit(), through.clone(), through]).map(|visits| visits.len()), Ok(4));
    let class: NetClass = "other/pod-pod".parse().unwrap();
    run.against =
        Some(NetClassComparison { class, base: class.base(), overlay_bytes: Some(NET_OVERLAY_BYTES_MAX + 1) });
    assert!(run.checked(vec![visit()]).unwrap_err().contains("513 bytes of encapsulation"));
}

#[test]
fn a_visit_at_the_machines_own_addresses_is_written_as_ever() {
    let written = serde_json::to_value(visit()).unwrap();
    assert_eq!(written.get("through"), None);
    let through = NetVisit { through: NetRoute::Service, ..visit() };
    let written = serde_json::to_value(&through).unwrap();
    assert_eq!(written["through"], "service");
    assert_eq!(serde_json::from_value::<NetVisit>(written).unwrap(), through);
}
