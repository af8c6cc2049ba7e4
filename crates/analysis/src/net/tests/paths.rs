//! How long packets may be: what is named where they are lost.

use linerate_record::finding::Severity;
use linerate_record::net::{NetIcmpReply, NetOp, NetPair, NetProbeSize, NetProbed, NetRun};

use super::world::{self, LinkWorld};
use crate::net::view;
use crate::net::view::{NetFinding, NetFindingKind, NetPathVerdict, NetView};
use crate::net::{median_per_s, rounds};

/// What a stream finds where its interface, its path and its kernel have these MTUs.
fn probed(interface_bytes: u32, carried: u32, taken_bytes: u32) -> NetProbed {
    let size = |bytes, received| NetProbeSize { bytes, sent: 6, received, refused: 0 };
    let sizes = if carried >= interface_bytes {
        vec![size(interface_bytes, 1)]
    } else {
        vec![size(576, 1), size(carried, 2), size(carried + 1, 0), size(interface_bytes, 0)]
    };
    let icmp = (taken_bytes < interface_bytes)
        .then(|| NetIcmpReply { mtu_bytes: taken_bytes, by: "10.9.9.9".parse().unwrap() });
    NetProbed { interface_bytes, taken_bytes: Some(taken_bytes), icmp, sizes }
}

/// So many machines with interfaces of 9000 bytes, all of whose pairs find this, by their senders and receivers.
fn viewed(nodes: u32, probe_pair: impl Fn(u32, u32) -> NetProbed) -> NetView {
    let world = LinkWorld { streams: vec![1], ..LinkWorld::healthy(nodes, 5) };
    let run = world::run(&world);
    let mut load = run.load.clone();
    load.op = NetOp::Mtu;
    let run = NetRun { load, ..run };
    let mut visits = world::visits(&world);
    for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs) {
        let probed = vec![probe_pair(pair.from, pair.to)];
        *pair = NetPair { from: pair.from, to: pair.to, probed, ..NetPair::default() };
    }
    assert_eq!(run.checked(visits.clone()).map(|visits| visits.len()), Ok(visits.len()));
    assert_eq!(median_per_s(&run.load, &visits[0]), None);
    view(&run, &visits)
}

fn whole(_: u32, _: u32) -> NetProbed {
    probed(9_000, 9_000, 9_000)
}

/// The only claim about paths.
fn only(view: &NetView, kind: NetFindingKind) -> &NetFinding {
    let of_paths = |finding: &&NetFinding| {
        matches!(
            finding.kind,
            NetFindingKind::MtuBlackHole
                | NetFindingKind::MtuMismatch
                | NetFindingKind::MtuKnown
                | NetFindingKind::NoProbes
                | NetFindingKind::SilentPaths
                | NetFindingKind::UnevenPorts
        )
    };
    let found: Vec<&NetFinding> = view.findings.iter().filter(of_paths).collect();
    let [finding] = found[..] else { panic!("one claim: {found:?}") };
    assert_eq!(finding.kind, kind, "{finding:?}");
    assert!(view.answer.contains(&finding.claim), "{}", view.answer);
    finding
}

#[test]
fn paths_that_carry_what_interfaces_send_are_said_so_and_nothing_else_is() {
    let view = viewed(4, whole);
    assert_eq!(view.findings, []);
    assert_eq!(view.warnings, Vec::<String>::new());
    assert_eq!(view.answer, "all 12 pairs carry packets of 9000 bytes, which is all that their interfaces send");
    let path = view.pairs[0].path.as_ref().unwrap();
    assert_eq!((path.verdict, path.carried_bytes, path.lost_bytes), (NetPathVerdict::Whole, Some(9_000), None));
    assert_eq!((path.receiver_interface_bytes, path.probes_sent), (Some(9_000), 18));
    assert!(view.pairs.iter().all(|pair| pair.per_s.is_none() && pair.limit.is_none() && pair.visits == 3));
    assert!(view.nodes.iter().all(|node| (node.sends_to, node.receives_from) == (3, 3)));
    assert!(view.slow.nodes.is_empty() && view.slow.lacking.contains("no rates"), "{:?}", view.slow);
}

#[test]
fn a_black_hole_is_named_with_its_side() {
    let hole = |is_hit: fn(u32, u32) -> bool| {
        move |from, to| if is_hit(from, to) { probed(9_000, 1_500, 9_000) } else { whole(from, to) }
    };
    type Hit = fn(u32, u32) -> bool;
    let cases: [(u32, Hit, &[u32], &str, &str); 5] = [
        (4, |_, to| to == 2, &[2], "what goes to n3 is carried in packets of 1500 bytes at most", "way carries 9000"),
        (4, |from, to| from == 2 || to == 2, &[2], "what goes to and from n3", "the other way too"),
        (8, |from, to| (from, to) == (1, 6), &[1, 6], "n2 → n7 carries packets of 1500 bytes", "way carries 9000"),
        (2, |from, _| from == 1, &[0, 1], "n2 → n1 carries packets of 1500 bytes", "way carries 9000"),
        (8, |_, _| true, &[], "the network between all machines carries packets of 1500 bytes", "the other way too"),
    ];
    for (nodes, is_hit, named, claim, evidence) in cases {
        let view = viewed(nodes, hole(is_hit));
        let finding = only(&view, NetFindingKind::MtuBlackHole);
        assert_eq!((finding.nodes.as_slice(), finding.severity), (named, Severity::Critical), "{finding:?}");
        assert!(finding.claim.contains(claim) && finding.claim.contains("nobody tells"), "{claim}: {}", finding.claim);
        assert!(finding.evidence.contains(evidence), "{evidence}: {}", finding.evidence);
        assert!(finding.evidence.contains("1501 bytes never came"), "{}", finding.evidence);
        let rounds = rounds(nodes, view.load.way);
        let all: usize = rounds.iter().map(Vec::len).sum();
        assert_eq!(view.pairs.len(), all, "all are measured");
    }
}

#[test]
fn what_senders_know_is_no_black_hole_until_they_go_on() {
    let view = viewed(4, |_, _| probed(9_000, 1_450, 1_450));
    let finding = only(&view, NetFindingKind::MtuKnown);
    assert_eq!(finding.severity, Severity::Note);
    assert!(finding.evidence.contains("takes 1450 bytes for the path, by ICMP of 10.9.9.9"), "{}", finding.evidence);
    assert!(view.answer.contains("0 of 12 pairs carry all"), "{}", view.answer);
    // Somebody said so, and something beyond it carries less still.
    let view = viewed(4, |_, _| probed(9_000, 1_400, 1_450));
    let finding = only(&view, NetFindingKind::MtuBlackHole);
    assert!(finding.evidence.contains("though 10.9.9.9 says 1450 by ICMP"), "{}", finding.evidence);
}

#[test]
fn of_interfaces_that_differ_the_fewer_are_named() {
    let mixed = |is_small: fn(u32) -> bool| {
        move |from, to| match (is_small(from), is_small(to)) {
            (true, _) => probed(1_500, 1_500, 1_500),
            (false, true) => probed(9_000, 1_504, 9_000),
            (false, false) => whole(from, to),
        }
    };
    let view = viewed(4, mixed(|node| node == 1));
    let finding = only(&view, NetFindingKind::MtuMismatch);
    assert_eq!(finding.nodes, [1]);
    let part = "n2 takes packets of 1500 bytes, and n1, n3, n4 send up to 9000 bytes";
    assert!(finding.claim.contains(part), "{}", finding.claim);
    assert!(finding.remedy.contains("nic.mtu of eth0 of n2: 9000 bytes"), "{}", finding.remedy);
    let view = viewed(4, mixed(|node| node != 1));
    let finding = only(&view, NetFindingKind::MtuMismatch);
    assert_eq!(finding.nodes, [1]);
    let part = "n2 sends packets of up to 9000 bytes, and n1, n3, n4 take 1500 bytes";
    assert!(finding.claim.contains(part), "{}", finding.claim);
    // Of two, the smaller.
    let view = viewed(2, mixed(|node| node == 0));
    assert_eq!(only(&view, NetFindingKind::MtuMismatch).nodes, [0]);
}

#[test]
fn where_nothing_comes_or_the_time_is_short_no_mtu_is_made_up() {
    let size = |bytes, sent| NetProbeSize { bytes, sent, received: 0, refused: 0 };
    let probed_sizes = |sizes: Vec<NetProbeSize>| NetProbed { sizes, ..whole(0, 1) };
    let view =
        viewed(3, |from, to| if to == 0 { probed_sizes(vec![size(576, 6), size(9_000, 3)]) } else { whole(from, to) });
    let finding = only(&view, NetFindingKind::NoProbes);
    assert!(finding.claim.contains("no probe came on 2 of 6 pairs: n2 → n1, n3 → n1"), "{}", finding.claim);
    let view = viewed(3, |from, to| if to == 0 { probed_sizes(vec![size(9_000, 3)]) } else { whole(from, to) });
    assert_eq!(view.findings, []);
    assert!(view.warnings[0].contains("too short to find the largest packet of 2 pairs"), "{:?}", view.warnings);
}

/// Two machines whose pairs probe with two streams each: the second one of those that the first machine sends finds
/// this.
fn with_second(second: &NetProbed) -> NetView {
    let world = LinkWorld { streams: vec![2], ..LinkWorld::healthy(2, 5) };
    let mut run = world::run(&world);
    run.load.op = NetOp::Mtu;
    let mut visits = world::visits(&world);
    for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs) {
        let probed = vec![whole(0, 1), if pair.from == 0 { second.clone() } else { whole(0, 1) }];
        *pair = NetPair { from: pair.from, to: pair.to, probed, ..NetPair::default() };
    }
    view(&run, &visits)
}

#[test]
fn streams_that_go_other_ways_are_judged_by_the_worst() {
    let view = with_second(&probed(9_000, 1_500, 9_000));
    let path = view.pairs[0].path.as_ref().unwrap();
    assert_eq!((path.verdict, path.carried_bytes), (NetPathVerdict::BlackHole, Some(1_500)));
    assert_eq!((path.carried_most_bytes, path.silent_searches), (Some(9_000), 0));
    let finding = only(&view, NetFindingKind::MtuBlackHole);
    assert!(finding.evidence.contains("other streams carry more"), "{}", finding.evidence);
}

#[test]
fn a_path_that_carries_nothing_beside_others_is_named() {
    let size = |bytes, sent| NetProbeSize { bytes, sent, received: 0, refused: 0 };
    let dead = NetProbed { sizes: vec![size(576, 6), size(9_000, 3)], ..whole(0, 1) };
    let view = with_second(&dead);
    let path = view.pairs[0].path.as_ref().unwrap();
    assert_eq!((path.verdict, path.silent_searches), (NetPathVerdict::Whole, 3));
    let finding = only(&view, NetFindingKind::SilentPaths);
    assert!(finding.claim.contains("on 1 of 2 pairs: n1 → n2"), "{}", finding.claim);
    assert!(finding.evidence.contains("in 3 searches not one came, others carry 9000 bytes"), "{}", finding.evidence);
    // Its time was over before it tried the least.
    let view = with_second(&NetProbed { sizes: vec![size(9_000, 3)], ..whole(0, 1) });
    assert_eq!((view.pairs[0].path.as_ref().unwrap().silent_searches, view.findings.len()), (0, 0));
}
