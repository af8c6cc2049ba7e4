//! Members of bonds: what is said of bytes that are known.

use linerate_record::machine::{MachineBond, MachineNic};
use linerate_record::net::{NetHalved, NetMember, NetMemberState, NetNoPrediction, NetPredictedMembers};

use super::world::{self, LinkWorld};
use super::*;
use crate::net::stray_search::{StraySearch, strayed};
use crate::net::view::{NetArrival, NetPairMembers};

/// By which member each stream left, and on which one it arrived.
type Carried = Vec<(usize, usize)>;

const NAMES: [&str; 2] = ["a0", "a1"];

/// Frames are this much larger than what they bring.
const FRAMING: f64 = 1.06;

/// Two machines with bonds, one of which sends to the other, in visits of so many streams each. `left` has the member
/// of each stream in each visit, as predicted, and `carried` that by which it goes and on which it arrives.
fn viewed_with(left: &[Vec<u32>], carried: &[Vec<(usize, usize)>], change: fn(&mut NetVisit)) -> NetView {
    let (run, visits) = visited(left, carried, change);
    let visits = run.checked(visits).unwrap();
    view(&run, &visits)
}

/// The same, as it was measured.
fn visited(left: &[Vec<u32>], carried: &[Vec<(usize, usize)>], change: fn(&mut NetVisit)) -> (NetRun, Vec<NetVisit>) {
    let world = LinkWorld { visits: 1, rounds: 1, streams: vec![1], ..LinkWorld::healthy(2, 1) };
    let mut run = world::run(&world);
    let bond = MachineBond {
        mode: "802.3ad".to_owned(),
        xmit_hash_policy: Some("layer3+4".to_owned()),
        members: NAMES.map(str::to_owned).to_vec(),
    };
    for node in &mut run.nodes {
        node.interface = "bond0".to_owned();
        let bond = Some(bond.clone());
        node.machine.nics =
            vec![MachineNic { name: "bond0".to_owned(), mtu_bytes: 9_000, bond, ..MachineNic::default() }];
    }
    (run.load.visits, run.load.streams) = (64, vec![left[0].len() as u32]);
    let first = world::visits(&world).remove(0);
    let visit = |(number, (left, carried)): (usize, (&Vec<u32>, &Carried))| {
        let streams = left.len() as u32;
        let mut pair = world::pair(0, 1, streams, vec![1_000_000 * u64::from(streams); 20]);
        pair.aim = Some(NetPredictedMembers {
            bond: "bond0".to_owned(),
            mode: "802.3ad".to_owned(),
            policy: Some("layer3+4".to_owned()),
            members: NAMES.map(str::to_owned).to_vec(),
            aimed: Some(left[0]),
            streams: left.clone(),
            ports: (0..streams as u16).map(|stream| 40_000 + stream).collect(),
            why: None,
        });
        let bytes = |is_it: &dyn Fn(&(usize, usize)) -> bool| {
            let count = carried.iter().filter(|of| is_it(of)).count();
            (count as f64 * 20e6 * FRAMING) as u64 + 9_000
        };
        let member = |place: usize, sent_bytes, received_bytes| NetMember {
            bond: "bond0".to_owned(),
            name: NAMES[place].to_owned(),
            state: NetMemberState::Sends,
            sent_bytes,
            received_bytes,
        };
        let sends = [0, 1].map(|place| member(place, bytes(&|of| of.0 == place), 2_000));
        let receives = [0, 1].map(|place| member(place, 2_000, bytes(&|of| of.1 == place)));
        let machine = |node, members: [NetMember; 2]| NetMachine { members: members.to_vec(), ..world::machine(node) };
        let mut visit = NetVisit {
            visit: number as u32 + 1,
            repetition: number as u32 + 1,
            streams,
            pairs: vec![pair],
            machines: vec![machine(0, sends), machine(1, receives)],
            ..first.clone()
        };
        change(&mut visit);
        visit
    };
    let visits: Vec<NetVisit> = left.iter().zip(carried).enumerate().map(visit).collect();
    (run, visits)
}

fn only(view: &NetView) -> &NetPairMembers {
    let [of] = view.members.as_slice() else { panic!("{:?}", view.members) };
    of
}

fn has(view: &NetView, kind: NetFindingKind) -> bool {
    view.findings.iter().any(|finding| finding.kind == kind)
}

/// All streams of a visit by one member, of the next by the other, as predicted.
fn in_turn(streams: usize) -> (Vec<Vec<u32>>, Vec<Carried>) {
    let left = (0..4).map(|visit| vec![visit % 2; streams]).collect();
    let carried = (0..4).map(|visit| vec![(visit % 2, visit % 2); streams]).collect();
    (left, carried)
}

#[test]
fn streams_that_leave_as_predicted_are_each_known_to() {
    for streams in [1, 8, 256] {
        let (left, carried) = in_turn(streams);
        let view = viewed_with(&left, &carried, |_| ());
        let leaves = only(&view).leaves.as_ref().unwrap();
        assert_eq!((leaves.visits, leaves.left_out), (4, 0));
        assert_eq!((leaves.alone_streams, leaves.strayed_streams), (4 * streams as u32, 0));
        assert!(leaves.strayed_share.is_some_and(|share| share < 1e-3), "{leaves:?}");
        let predicted: Vec<u32> = leaves.members.iter().map(|member| member.predicted_streams).collect();
        assert_eq!(predicted, [2 * streams as u32; 2]);
        assert!(!has(&view, NetFindingKind::StrayedStreams) && !has(&view, NetFindingKind::SwitchHash));
        // Four single streams lead from each of two members to one by chance in one of eight.
        let said = if streams == 1 { NetArrival::Untold } else { NetArrival::AsSent };
        assert_eq!(only(&view).arrives.as_ref().unwrap().says, said);
    }
}

#[test]
fn a_single_stream_that_strays_is_counted() {
    for streams in [2, 8, 256] {
        let (left, mut carried) = in_turn(streams);
        carried[1][0].0 = 0;
        let view = viewed_with(&left, &carried, |_| ());
        let leaves = only(&view).leaves.as_ref().unwrap();
        assert_eq!((leaves.alone_streams, leaves.strayed_streams), (4 * streams as u32, 1), "{streams}");
        assert!(has(&view, NetFindingKind::StrayedStreams));
    }
}

#[test]
fn streams_of_which_none_strayed_alone_are_a_possible_claim_and_others_a_likely_one() {
    let (left, mut carried) = in_turn(8);
    carried[1][0].0 = 0;
    type Change = fn(&mut NetVisit);
    let unparted: Change = |visit| {
        let halved = NetHalved { rounds: 6, strays: Vec::new(), unparted: vec![[0, 7]] };
        visit.pairs[0].halved = (visit.visit == 2).then_some(halved);
    };
    let cases: [(Change, Confidence); 2] = [(unparted, Confidence::Possible), (|_| (), Confidence::Likely)];
    for (change, confidence) in cases {
        let view = viewed_with(&left, &carried, change);
        let finding = view.findings.iter().find(|finding| finding.kind == NetFindingKind::StrayedStreams).unwrap();
        assert_eq!(finding.confidence, confidence, "{finding:?}");
    }
}

/// A bond that sends these of its streams by its second member, whatever was predicted: halves of them are measured as
/// the first visit was, until each is named.
#[test]
fn strays_of_a_bond_are_found_by_halves_of_its_streams() {
    for (streams, strays) in [(8_u32, vec![5_u32]), (16, vec![0, 15]), (256, vec![200])] {
        let measured = |requested: std::ops::Range<u32>| {
            let at = |stream: u32| usize::from(strays.contains(&stream));
            let carried: Carried = requested.clone().map(|stream| (at(stream), 0)).collect();
            let (run, visits) = visited(&[vec![0; requested.len()]], &[carried], |_| ());
            (strayed(&run, &visits[0], (0, 1)), run, visits)
        };
        let (first, run, mut visits) = measured(0..streams);
        let first = first.unwrap();
        assert_eq!((first.streams, first.by.as_str()), (strays.len() as u32, "a1"));
        let mut halving = StraySearch::new(streams, &first);
        while let Some(requested) = halving.wants() {
            halving.take(measured(requested).0.as_ref());
        }
        let pair = &mut visits[0].pairs[0];
        pair.halved = Some(halving.found(pair.aim.as_ref().unwrap()));
        let said = view(&run, &run.checked(visits).unwrap());
        let leaves = only(&said).leaves.as_ref().unwrap();
        let ports: Vec<u32> = leaves.strays.iter().map(|stray| u32::from(stray.port)).collect();
        let expected: Vec<u32> = strays.iter().map(|stray| 40_000 + stray).collect();
        assert_eq!((ports, leaves.unparted_streams), (expected, 0), "{streams}");
        let finding = said.findings.iter().find(|finding| finding.kind == NetFindingKind::StrayedStreams).unwrap();
        let named = format!("alone, those from port {} by a1 and not a0", 40_000 + strays[0]);
        assert!(finding.evidence.contains(&named), "{finding:?}");
    }
    let (left, carried) = in_turn(8);
    let (run, visits) = visited(&left, &carried, |_| ());
    assert!(visits.iter().all(|visit| strayed(&run, visit, (0, 1)).is_some_and(|strayed| strayed.streams == 0)));
    let (run, mut visits) = visited(&left, &carried, |visit| visit.pairs[0].aim = None);
    assert_eq!(strayed(&run, &visits.remove(0), (0, 1)), None, "nothing was predicted");
}

#[test]
fn streams_by_several_members_are_judged_by_shares() {
    let left = vec![vec![0, 0, 0, 1]];
    // What may be anybody's, 4 KiB/s of each member, is a thousandth.
    for (carried, strayed) in [(vec![0, 0, 0, 1], 0.0), (vec![1, 1, 1, 0], 0.499)] {
        let carried = vec![carried.into_iter().map(|place| (place, place)).collect()];
        let view = viewed_with(&left, &carried, |_| ());
        let leaves = only(&view).leaves.as_ref().unwrap();
        assert_eq!((leaves.alone_streams, leaves.members[0].predicted_streams), (0, 3));
        assert!((leaves.strayed_share.unwrap() - strayed).abs() < 1e-3, "{leaves:?}");
        assert_eq!(has(&view, NetFindingKind::StrayedStreams), strayed > 0.0);
    }
}

#[test]
fn answers_to_what_a_machine_receives_are_no_streams_that_stray() {
    type Change = fn(&mut NetVisit);
    // The first machine gets six times what it sends. Its answers of TCP, 66 bytes for two segments of 1,448, go by its
    // first member.
    let answers: Change = |visit| {
        let bytes: u64 = visit.pairs[0].received_bytes.iter().sum();
        visit.pairs.push(world::pair(1, 0, visit.streams, vec![6 * bytes / 20; 20]));
        visit.machines[0].members[0].sent_bytes += (0.0228 * 6.0 * bytes as f64) as u64;
    };
    let alone = in_turn(8);
    let by_both = (vec![vec![0, 0, 0, 1]; 4], vec![vec![(0, 0), (0, 0), (0, 0), (1, 1)]; 4]);
    for (left, carried) in [alone, by_both] {
        let view = viewed_with(&left, &carried, answers);
        let leaves = view.members.iter().find(|of| (of.from, of.to) == (0, 1)).and_then(|of| of.leaves.as_ref());
        let leaves = leaves.unwrap();
        assert_eq!((leaves.visits, leaves.strayed_streams), (4, 0), "{leaves:?}");
        assert!(leaves.strayed_share.is_some_and(|share| share < 0.01), "{leaves:?}");
        assert!(!has(&view, NetFindingKind::StrayedStreams), "{:?}", view.findings);
    }
}

#[test]
fn a_visit_in_which_members_came_or_went_is_left_out() {
    let (left, carried) = in_turn(8);
    let view = viewed_with(&left, &carried, |visit| {
        if visit.visit == 2 {
            visit.machines[0].members[1].state = NetMemberState::Changed;
        }
        if visit.visit == 3 {
            visit.machines[0].members[1].state = NetMemberState::Idle;
        }
    });
    let leaves = only(&view).leaves.as_ref().unwrap();
    assert_eq!((leaves.visits, leaves.left_out, leaves.alone_streams), (2, 2, 16));
}

#[test]
fn who_chose_the_member_of_arrivals_is_said_where_chance_is_not_enough() {
    let says = |left: Vec<Vec<u32>>, arrived: Vec<Vec<usize>>| {
        let carried: Vec<Vec<(usize, usize)>> = left
            .iter()
            .zip(&arrived)
            .map(|(left, arrived)| left.iter().zip(arrived).map(|(left, at)| (*left as usize, *at)).collect())
            .collect();
        let view = viewed_with(&left, &carried, |_| ());
        let arrives = only(&view).arrives.clone().unwrap();
        (arrives.says, arrives.chance, has(&view, NetFindingKind::SwitchHash))
    };
    let two = |streams: usize| vec![vec![0; streams], vec![1; streams]];
    // Sixteen streams by two members, all on one: two times 2^-16.
    let (arrival, chance, is_found) = says(two(8), vec![vec![1; 8], vec![1; 8]]);
    assert_eq!((arrival, is_found), (NetArrival::OneMember, true));
    assert!((chance / 2.0_f64.powi(-15) - 1.0).abs() < 1e-6, "{chance}");
    // Seven of eight: 2 * 9 / 256.
    let (arrival, chance, is_found) = says(vec![vec![0, 1, 0, 1, 0, 1, 0, 1]], vec![vec![1, 1, 1, 1, 1, 1, 1, 0]]);
    assert_eq!((arrival, is_found), (NetArrival::Spread, false));
    assert!((chance - 18.0 / 256.0).abs() < 1e-9, "{chance}");
    let (arrival, _, is_found) = says(two(1), vec![vec![0], vec![0]]);
    assert_eq!((arrival, is_found), (NetArrival::Untold, false));
    let mixed = |ones: usize| (0..32).map(|place| usize::from(place < ones)).collect::<Vec<usize>>();
    let by_both = || vec![(0..32).map(|place| place % 2).collect::<Vec<u32>>()];
    assert_eq!(says(by_both(), vec![mixed(16)]).0, NetArrival::Spread);
    assert_eq!(says(by_both(), vec![mixed(29)]).0, NetArrival::Uneven);
}

#[test]
fn what_cannot_be_predicted_is_said_with_what_was_seen() {
    let (left, carried) = in_turn(8);
    let view = viewed_with(&left, &carried, |visit| {
        let aim = visit.pairs[0].aim.as_mut().unwrap();
        (aim.streams, aim.aimed, aim.why) = (Vec::new(), None, Some(NetNoPrediction::SocketHash));
    });
    let leaves = only(&view).leaves.as_ref().unwrap();
    assert_eq!((leaves.strayed_share, leaves.alone_streams), (None, 0));
    assert!((leaves.members[0].carried_share - 0.5).abs() < 1e-3, "{leaves:?}");
    let finding = view.findings.iter().find(|finding| finding.kind == NetFindingKind::SenderHash).unwrap();
    assert!(finding.claim.contains("not predictable"), "{finding:?}");
    let plain = viewed(&LinkWorld::healthy(2, 1));
    assert_eq!(plain.members, []);
}

#[test]
fn what_a_site_gets_of_bonds_by_the_model_stands_beside_what_pairs_get_of_theirs() {
    use linerate_record::plan::{Resource, Spread};

    let (left, carried) = in_turn(4);
    let (mut run, visits) = visited(&left, &carried, |_| ());
    let spread = |resource| Spread {
        resource,
        group: Some("all".to_owned()),
        members: 2,
        counted_members: None,
        flows: 448,
        share_p5: 0.88,
        share_p50: 0.93,
        share_p95: 0.97,
        flows_to_fill: Some(620),
        why: "layer3+4".to_owned(),
    };
    run.bonds_by_model = [Resource::PublicEgress, Resource::PublicIngress].map(spread).to_vec();
    let measured = |run: &NetRun| -> Vec<Option<f64>> {
        let view = view(run, &visits);
        let spreads = view.bonds_by_model.iter().map(|of| &of.spread);
        assert!(spreads.eq(&run.bonds_by_model), "{:?}", view.bonds_by_model);
        view.bonds_by_model.iter().map(|of| of.measured_share).collect()
    };
    assert_eq!(measured(&run), [None, None], "no speed is known");
    // Four streams bring 80 MB in 10 s, with what frames have, of bonds of 200 Mb/s and 100 Mb/s.
    for (node, bits) in [(0, 200_000_000), (1, 100_000_000)] {
        run.nodes[node].machine.nics[0].speed_bits_per_s = Some(bits);
    }
    let [sent, received] = measured(&run)[..] else { panic!("two of them") };
    let near = |share: Option<f64>, of: f64| share.is_some_and(|share| (share / of - 1.0).abs() < 0.01);
    assert!(near(sent, 80e6 * FRAMING / 250e6) && near(received, 80e6 * FRAMING / 125e6), "{sent:?} {received:?}");
    run.load.members = Some(2);
    assert_eq!(measured(&run), [None, None], "streams that are aimed at one member do not get all of them");
    (run.load.members, run.load.max_bytes_per_s) = (None, Some(1e9));
    assert_eq!(measured(&run), [None, None], "they are held to a rate");
    run.load.max_bytes_per_s = None;
    run.load.way = NetWay::Incast;
    assert_eq!(measured(&run), [None, None], "all share the port of one");
    (run.load.way, run.load.op) = (NetWay::Ring, NetOp::Connect);
    assert_eq!(measured(&run), [None, None], "connections fill nothing");
    (run.load.op, run.bonds_by_model[1].resource) = (NetOp::Stream, Resource::PrivateIngress);
    assert_eq!(measured(&run), [None, None], "one of two planes was measured");
}
