//! How often healthy fleets are called slow, and what is planted found.

use super::viewed;
use super::world::{InjectedSlowness, LinkWorld};
use crate::net::view::{NetFindingKind, NetSide, NetView};
use linerate_record::net::NetWay;

/// Machines and the rounds that are measured of them.
const FLEETS: [(u32, usize); 6] = [(3, 8), (4, 8), (8, 8), (16, 6), (56, 6), (200, 4)];

/// Seeds of a fleet of so many machines.
fn seeds(nodes: u32) -> u64 {
    u64::from((2_400 / nodes).clamp(12, 300))
}

/// Machines that are called with what they do, and pairs.
type Called = (Vec<(u32, NetSide)>, Vec<(u32, u32)>);

fn slow(view: &NetView) -> Called {
    let nodes = view.slow.nodes.iter().map(|one| (one.node, one.side)).collect();
    (nodes, view.slow.pairs.iter().map(|one| (one.from, one.to)).collect())
}

#[test]
fn healthy_fleets_of_every_size_are_called_slow_no_more_often_than_stated() {
    for (nodes, rounds) in FLEETS {
        for (visits, scatter) in
            [(1, [0.01, 0.01, 0.01]), (2, [0.02, 0.02, 0.03]), (3, [0.01, 0.01, 0.1]), (4, [0.03; 3])]
        {
            let seeds = seeds(nodes);
            let called = (0..seeds).filter(|seed| {
                let world = LinkWorld { rounds, visits, scatter, ..LinkWorld::healthy(nodes, *seed) };
                slow(&viewed(&world)) != (vec![], vec![])
            });
            let called = called.count();
            let most = (0.01 * seeds as f64).ceil() as usize + 1;
            assert!(called <= most, "{nodes} machines, {visits} visits, {scatter:?}: {called} of {seeds}");
        }
    }
}

#[test]
fn visits_that_are_slow_now_and_then_make_nobody_slow_more_often_than_stated() {
    for (nodes, rounds) in [(8, 8), (16, 6)] {
        for (visits, share) in [(2, 0.1), (3, 0.05), (3, 0.1)] {
            let seeds = seeds(nodes);
            let called = (0..seeds).filter(|seed| {
                let world = LinkWorld { rounds, visits, ..LinkWorld::healthy(nodes, *seed) };
                slow(&viewed(&world.with(&[InjectedSlowness::NowAndThen(share, 0.5)]))) != (vec![], vec![])
            });
            let called = called.count();
            // By the mean of visits alone, from a tenth of them to nearly all would be.
            let most = (0.01 * seeds as f64).ceil() as usize + 2;
            assert!(called <= most, "{nodes} machines, {visits} visits, {share}: {called} of {seeds}");
        }
    }
}

#[test]
fn pairs_that_are_slow_each_for_itself_make_no_slow_visit() {
    let seeds = 200;
    let reported = (0..seeds).filter(|seed| {
        let view = viewed(&LinkWorld::healthy(4, *seed).with(&[InjectedSlowness::NowAndThen(0.3, 0.5)]));
        view.findings.iter().any(|finding| finding.kind == NetFindingKind::SlowVisit)
    });
    let reported = reported.count();
    assert!(reported <= 3, "{reported} of {seeds}");
}

#[test]
fn a_machine_that_was_slow_for_a_part_of_the_run_is_not_called() {
    for (until, is_called) in [(5, false), (21, true)] {
        // Of 21 visits.
        let view = viewed(&LinkWorld::healthy(8, 2).with(&[InjectedSlowness::Until(2, until, 0.5)]));
        let called = slow(&view).0.iter().any(|(node, _)| *node == 2);
        assert_eq!(called, is_called, "{until}: {}", view.answer);
    }
}

/// How often a plant is found, and how often anything else is called.
fn found(
    nodes: u32,
    rounds: usize,
    plant: impl Fn(u32) -> InjectedSlowness,
    is_it: impl Fn(u32, &NetView) -> bool,
) -> (u64, u64) {
    let seeds = seeds(nodes).min(60);
    let (mut found, mut innocent) = (0, 0);
    for seed in 0..seeds {
        let at = u32::try_from(seed).unwrap() % nodes;
        let world = LinkWorld { rounds, ..LinkWorld::healthy(nodes, 1_000 + seed) }.with(&[plant(at)]);
        let view = viewed(&world);
        let called = slow(&view);
        let is_found = is_it(at, &view);
        found += u64::from(is_found);
        innocent += u64::from(called.0.len() + called.1.len() > usize::from(is_found));
    }
    assert!(innocent * 25 <= seeds, "{nodes} machines: {innocent} of {seeds} with an innocent that is called");
    (found, seeds)
}

#[test]
fn a_slow_sender_a_slow_receiver_and_a_slow_pair_are_found_alone() {
    for (nodes, rounds) in FLEETS.into_iter().filter(|(nodes, _)| *nodes > 3) {
        let is_node =
            |side| move |at, view: &NetView| view.slow.nodes.iter().any(|one| (one.node, one.side) == (at, side));
        let sender = found(nodes, rounds, |at| InjectedSlowness::Sender(at, 0.6), is_node(NetSide::Sends));
        let receiver = found(nodes, rounds, |at| InjectedSlowness::Receiver(at, 0.6), is_node(NetSide::Receives));
        let is_pair = |at, view: &NetView| view.slow.pairs.iter().any(|one| one.from == at);
        let pair = |at| InjectedSlowness::Pair(at, (at + 1) % nodes, 0.5);
        // Of larger fleets a sample of rounds is measured, which has the pair by chance.
        let pair = (nodes <= 8).then(|| found(nodes, rounds, pair, is_pair));
        for (what, found) in [("sender", Some(sender)), ("receiver", Some(receiver)), ("pair", pair)] {
            let Some((found, seeds)) = found else { continue };
            assert!(found * 10 >= seeds * 9, "{nodes} machines, slow {what}: {found} of {seeds}");
        }
    }
}

#[test]
fn a_slow_pair_among_many_is_found_where_its_round_was_measured() {
    let world = LinkWorld { rounds: 60, ..LinkWorld::healthy(40, 5) }.with(&[InjectedSlowness::Pair(7, 30, 0.6)]);
    assert_eq!(slow(&viewed(&world)), (vec![], vec![(7, 30)]));
}

#[test]
fn a_machine_that_is_slow_both_ways_is_one_finding_and_hides_no_slow_pair() {
    let plants =
        [InjectedSlowness::Sender(5, 0.5), InjectedSlowness::Receiver(5, 0.55), InjectedSlowness::Pair(2, 9, 0.5)];
    let world = LinkWorld { rounds: 20, ..LinkWorld::healthy(16, 3) }.with(&plants);
    let view = viewed(&world);
    assert_eq!(slow(&view), (vec![(5, NetSide::Both)], vec![(2, 9)]));
    let kinds = |kind| view.findings.iter().filter(|finding| finding.kind == kind).count();
    assert_eq!((kinds(NetFindingKind::SlowNode), kinds(NetFindingKind::SlowPair)), (1, 1));
    let less = view.slow.nodes[0].less_share;
    assert!((0.4..0.6).contains(&less), "{less}");
    assert!(view.answer.contains("n6 sends and receives less than others"), "{}", view.answer);
}

#[test]
fn a_visit_that_is_slow_as_a_whole_makes_no_pair_and_no_machine_slow() {
    for visits in [1, 2] {
        let world = LinkWorld { visits, ..LinkWorld::healthy(8, 21) }.with(&[InjectedSlowness::Visit(3, 0.6)]);
        let view = viewed(&world);
        assert_eq!(slow(&view), (vec![], vec![]), "{visits}");
        let finding = view.findings.iter().find(|finding| finding.kind == NetFindingKind::SlowVisit).unwrap();
        assert!(finding.claim.starts_with("visit 3 is slower") || finding.claim.starts_with("round"), "{finding:?}");
    }
}

#[test]
fn what_is_within_the_intervals_or_does_not_matter_is_not_called() {
    let little = LinkWorld::healthy(16, 8).with(&[InjectedSlowness::Sender(3, 0.93)]);
    assert_eq!(slow(&viewed(&little)), (vec![], vec![]));
    // A pair that is slow by a third in visits that scatter by as much.
    let vague = LinkWorld { scatter: [0.01, 0.01, 0.35], visits: 2, ..LinkWorld::healthy(8, 8) };
    assert_eq!(slow(&viewed(&vague.with(&[InjectedSlowness::Pair(1, 2, 0.65)]))), (vec![], vec![]));
}

#[test]
fn a_single_round_compares_pairs_alone() {
    let one = LinkWorld { rounds: 1, ..LinkWorld::healthy(16, 1) }.with(&[InjectedSlowness::Sender(4, 0.5)]);
    let view = viewed(&one);
    assert_eq!((view.slow.nodes.len(), view.slow.pairs.len(), view.slow.pairs[0].from), (0, 1, 4));
    assert!(view.slow.lacking.contains("machines are not compared"), "{:?}", view.slow);
}

#[test]
fn of_two_machines_each_direction_is_held_against_the_other() {
    for seed in 0..40 {
        let alike = viewed(&LinkWorld::healthy(2, seed));
        assert_eq!(slow(&alike), (vec![], vec![]), "{seed}: {:?}", alike.slow);
        let said = "neither direction gives a tenth less than the other beyond chance";
        assert!(alike.slow.lacking == said && alike.answer.contains(said), "{seed}: {}", alike.answer);
    }
    for (way, seed) in [(NetWay::OneWay, 1), (NetWay::Ring, 2), (NetWay::BothWays, 3)] {
        let world = LinkWorld { way, ..LinkWorld::healthy(2, seed) }.with(&[InjectedSlowness::Pair(1, 0, 0.5)]);
        let view = viewed(&world);
        assert_eq!(slow(&view), (vec![], vec![(1, 0)]), "{way:?}");
        assert!(view.answer.contains("n2 → n1 gives "), "{}", view.answer);
        assert!(view.answer.contains("less than the other way;"), "{}", view.answer);
        let finding = view.findings.iter().find(|finding| finding.kind == NetFindingKind::SlowPair).unwrap();
        assert!(finding.claim.ends_with("less than the other way"), "{finding:?}");
        assert!(finding.evidence.contains(" the other way; ") && finding.remedy.contains("that way"), "{finding:?}");
    }
    let once = viewed(&LinkWorld { visits: 1, ..LinkWorld::healthy(2, 1) }.with(&[InjectedSlowness::Pair(1, 0, 0.5)]));
    assert_eq!(slow(&once), (vec![], vec![]));
    assert!(once.answer.contains("--visits 3 says more"), "{}", once.answer);
}

#[test]
fn what_is_known_to_limit_a_slow_pair_is_its_remedy() {
    let world = LinkWorld::healthy(8, 4).with(&[InjectedSlowness::Pair(1, 2, 0.3)]);
    let run = super::world::run(&world);
    let remedy = |visits: &[linerate_record::net::NetVisit]| {
        let view = crate::net::view(&run, visits);
        assert_eq!(slow(&view), (vec![], vec![(1, 2)]));
        let finding = view.findings.into_iter().find(|finding| finding.kind == NetFindingKind::SlowPair);
        finding.unwrap().remedy
    };
    let mut visits = super::world::visits(&world);
    assert!(remedy(&visits).starts_with("the path between both"), "nothing else is known");
    for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs).filter(|pair| (pair.from, pair.to) == (1, 2)) {
        pair.sent.window_limited_us = pair.sent.busy_us / 10 * 9;
    }
    let said = remedy(&visits);
    assert!(said.starts_with("net.ipv4.tcp_rmem") && said.contains("; else the path between both"), "{said}");
}

#[test]
fn machines_of_a_rack_that_are_slow_with_others_alone_are_one_finding_of_the_rack() {
    let world = LinkWorld { rounds: 23, ..LinkWorld::healthy(24, 6) };
    let rack = |node: u32| node / 4;
    let halved = |is_slow: fn(bool, bool) -> bool| {
        let mut run = super::world::run(&world);
        for (place, node) in (0..).zip(&mut run.nodes) {
            node.rack = Some(format!("r{}", rack(place)));
        }
        let mut visits = super::world::visits(&world);
        for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs) {
            if is_slow(rack(pair.from) == 2, rack(pair.to) == 2) {
                pair.received_bytes.iter_mut().for_each(|bytes| *bytes /= 2);
            }
        }
        crate::net::view(&run, &visits)
    };
    let kinds = |view: &NetView| {
        let count = |kind| view.findings.iter().filter(|finding| finding.kind == kind).count();
        (count(NetFindingKind::SlowRack), count(NetFindingKind::SlowNode))
    };
    let uplink = halved(|from, to| from != to);
    assert_eq!(kinds(&uplink), (1, 0), "{:?}", uplink.findings);
    let finding = uplink.findings.iter().find(|finding| finding.kind == NetFindingKind::SlowRack).unwrap();
    let mut nodes = finding.nodes.clone();
    nodes.sort_unstable();
    assert_eq!(nodes, [8, 9, 10, 11]);
    assert!(finding.claim.starts_with("rack r2 sends and receives less to and from other racks, by "), "{finding:?}");
    assert!(finding.evidence.starts_with("4 of its 4 machines"), "{finding:?}");
    assert!(uplink.answer.contains(&finding.claim), "{}", uplink.answer);
    let one_way = halved(|from, to| from && !to);
    assert_eq!(kinds(&one_way), (1, 0), "{:?}", one_way.findings);
    assert!(one_way.answer.contains("rack r2 sends "), "{}", one_way.answer);
    // Slow with each other too: the machines, or their ports.
    assert_eq!(kinds(&halved(|from, to| from || to)), (0, 4));
}

#[test]
fn a_slow_senders_own_queue_is_its_remedy() {
    let world = LinkWorld::healthy(8, 4).with(&[InjectedSlowness::Sender(1, 0.5)]);
    let run = super::world::run(&world);
    let mut visits = super::world::visits(&world);
    let remedy = |visits: &[linerate_record::net::NetVisit]| {
        let view = crate::net::view(&run, visits);
        let finding = view.findings.into_iter().find(|finding| finding.kind == NetFindingKind::SlowNode);
        finding.unwrap().remedy
    };
    assert!(remedy(&visits).starts_with("compare it with a machine that is not slow"));
    for machine in visits.iter_mut().flat_map(|visit| &mut visit.machines).filter(|machine| machine.node == 1) {
        machine.queues = vec![linerate_record::net::NetQueue {
            interface: "eth0".to_owned(),
            discipline: "htb".to_owned(),
            dropped: 0,
            held_back: 20_000,
        }];
    }
    let said = remedy(&visits);
    assert!(said.starts_with("the limit of rates on the sender: tc -s qdisc show dev eth0; compare it"), "{said}");
}

#[test]
fn a_single_visit_accuses_nobody_and_the_answer_says_how_many_are_needed() {
    let once = |nodes: u32, rounds: usize, way: NetWay, plant: InjectedSlowness| {
        let world = LinkWorld { visits: 1, rounds, way, ..LinkWorld::healthy(nodes, 4) };
        viewed(&world.with(&[plant]))
    };
    for (case, view, said) in [
        ("a pair", once(8, 7, NetWay::Ring, InjectedSlowness::Pair(1, 2, 0.3)), "no pair can be called slow"),
        ("one round", once(16, 1, NetWay::Ring, InjectedSlowness::Sender(4, 0.3)), "nothing can be called slow"),
        ("all to one", once(8, 8, NetWay::Incast, InjectedSlowness::Receiver(3, 0.3)), "no pair can be called slow"),
    ] {
        assert_eq!(slow(&view), (vec![], vec![]), "{case}");
        for part in [said, "--visits 3 says more, and 2 are the least"] {
            assert!(view.answer.contains(part), "{case}: {}", view.answer);
        }
        let is_slow = |kind| matches!(kind, NetFindingKind::SlowNode | NetFindingKind::SlowPair);
        assert!(!view.findings.iter().any(|finding| is_slow(finding.kind)), "{case}: {:?}", view.findings);
    }
    // What a machine sends in seven visits is more than one.
    let view = once(8, 7, NetWay::Ring, InjectedSlowness::Sender(4, 0.5));
    assert_eq!(slow(&view), (vec![(4, NetSide::Sends)], vec![]), "{}", view.answer);
}

#[test]
fn a_pair_with_one_visit_left_is_not_called_where_others_have_more() {
    let world = LinkWorld::healthy(8, 4).with(&[InjectedSlowness::Pair(1, 2, 0.3)]);
    let run = super::world::run(&world);
    let mut visits = super::world::visits(&world);
    let of_pair = visits.iter_mut().flat_map(|visit| &mut visit.pairs).filter(|pair| (pair.from, pair.to) == (1, 2));
    of_pair.skip(1).for_each(|pair| pair.error = Some("refused".to_owned()));
    let view = crate::net::view(&run, &visits);
    assert_eq!((slow(&view), view.slow.lacking.as_str()), ((vec![], vec![]), ""));
}

#[test]
fn ways_without_rings_find_a_slow_machine_too() {
    for way in [NetWay::OneWay, NetWay::BothWays, NetWay::Incast] {
        let world =
            LinkWorld { way, rounds: 30, ..LinkWorld::healthy(12, 6) }.with(&[InjectedSlowness::Sender(4, 0.6)]);
        assert_eq!(slow(&viewed(&world)), (vec![(4, NetSide::Sends)], vec![]), "{way:?}");
    }
}
