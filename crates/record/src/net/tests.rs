use super::*;

fn run() -> NetRun {
    let node = |name: &str| NetNode {
        name: name.to_owned(),
        address: "10.0.0.1".to_owned(),
        interface: "eth0".to_owned(),
        machine: Machine::default(),
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
            duration_ms: 400,
            warmup_ms: 100,
            interval_ms: 100,
            visits: 1,
            send_bytes: 1024,
            max_bytes_per_s: None,
            sampled_of_rounds: None,
            members: None,
        },
        asked_visits: Some(2),
        nodes: vec![node("a"), node("b")],
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
        at_ms: 0,
        pairs: vec![pair],
        machines: vec![machine],
    }
}

#[test]
fn folders_of_schema_1_have_streams() {
    let written = serde_json::to_value(run().load).unwrap();
    assert_eq!(written.get("op"), None);
    assert_eq!(serde_json::from_value::<NetLoad>(written).unwrap().op, NetOp::Stream);
}

#[test]
fn visits_that_cannot_be_of_a_run_are_refused_with_the_reason() {
    assert!(run().checked(vec![visit()]).is_ok());
    type Wrong = fn(&mut NetRun, &mut NetVisit);
    let wrong: [(Wrong, &str); 25] = [
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
        (|run, _| run.asked_visits = Some(0), "1 visits, of 0"),
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
            |_, visit| visit.pairs[0].aim = Some(NetAim { streams: vec![0], ..NetAim::default() }),
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
