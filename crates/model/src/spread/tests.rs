use linerate_record::site::{Bond, BondMode, Encapsulation, IpVersion, Kernel, Plane, SwitchHash, TransmitHash};

use super::placement::{MacAssignment, MemberSelection, Peers, egress, ingress, switched};
use super::*;

const ROUNDS: u32 = 301;
const FREE: f64 = f64::INFINITY;

fn bond(mode: BondMode, transmit_hash: TransmitHash, switch_hash: SwitchHash) -> Bond {
    Bond { name: "bond0".to_owned(), nics: vec!["nic".to_owned()], mode, transmit_hash, switch_hash }
}

fn plane(encapsulation: Encapsulation) -> Plane {
    Plane { link: "bond0".to_owned(), mtu_bytes: 9000, encapsulation, timestamps: true, ip: IpVersion::V4 }
}

const fn peers(count: u32) -> Peers {
    Peers { count, routed: false, macs: MacAssignment::Vendor }
}

const fn routed(count: u32) -> Peers {
    Peers { routed: true, ..peers(count) }
}

const fn from_ip(count: u32) -> Peers {
    Peers { macs: MacAssignment::FromIp, ..peers(count) }
}

fn lacp(policy: TransmitHash, encapsulation: Encapsulation, peers: Peers, members: u32, flows: u32) -> Bundle {
    let bond = bond(BondMode::Lacp, policy, SwitchHash::L4);
    let placement = egress(&bond, Some(Kernel { major: 6, minor: 12 }), &plane(encapsulation), peers);
    Bundle { members, flows, flow_cap: FREE, placement }
}

fn random(members: u32, flows: u32) -> Bundle {
    let placement = Placement { choosing: MemberSelection::PerFlow, why: "at random" };
    Bundle { members, flows, flow_cap: FREE, placement }
}

/// Chances of 0, 1, … members having a flow, where each flow takes one at random.
fn occupied(members: usize, flows: u32) -> Vec<f64> {
    let mut chances = vec![0.0; members + 1];
    chances[0] = 1.0;
    for _ in 0..flows {
        for taken in (0..=members).rev() {
            let stays = chances[taken] * taken as f64 / members as f64;
            let grows =
                if taken == 0 { 0.0 } else { chances[taken - 1] * (members + 1 - taken) as f64 / members as f64 };
            chances[taken] = stays + grows;
        }
    }
    chances
}

#[test]
fn random_placement_gives_the_exact_distribution() {
    for (members, flows) in [(2, 1), (2, 3), (2, 6), (4, 4), (4, 9), (8, 20)] {
        let found = shares(&random(members, flows), 11, 4001);
        let chances = occupied(members as usize, flows);
        for (part, share) in [(0.05, found.p5), (0.5, found.p50), (0.95, found.p95)] {
            // The quantile is right where it holds for a chance that is a hundredth off.
            let taken = (share * f64::from(members)).round() as usize;
            let below: f64 = chances[..taken].iter().sum();
            let up_to: f64 = below + chances[taken];
            assert!(below <= part + 0.015 && up_to >= part - 0.015, "{members} {flows} {part}: {share} {chances:?}");
        }
    }
}

#[test]
fn flows_to_fill_are_those_at_which_the_exact_median_turns() {
    for members in [2_u32, 3, 4, 8] {
        let fills = |flows: u32| occupied(members as usize, flows)[members as usize] > 0.5;
        let exact = (1..).find(|&flows| fills(flows)).unwrap();
        let found = flows_to_fill(&random(members, 1), 5, 4001).unwrap();
        assert!(found.abs_diff(exact) <= 1, "{members}: {found} and {exact}");
    }
    assert_eq!(flows_to_fill(&random(1, 1), 5, ROUNDS), Some(1));
    let slow = Bundle { flow_cap: 0.1, ..random(1, 1) };
    assert_eq!(flows_to_fill(&slow, 5, ROUNDS), Some(10));
    assert_eq!(flows_to_fill(&random(0, 1), 5, ROUNDS), None);
}

#[test]
fn some_traffic_uses_one_member_however_many_flows_there_are() {
    use Encapsulation::{Ipip, None as Native, Vxlan, Wireguard};
    use TransmitHash::{Encap23, Layer2, Layer23, Layer34, VlanSrcMac};
    let cases = [
        (Layer2, Native, peers(1), "one peer"),
        (Layer2, Native, routed(100), "router"),
        (Layer23, Native, peers(1), "one peer"),
        (Layer23, Native, from_ip(200), "cancel"),
        (Encap23, Vxlan, peers(1), "one peer"),
        (Layer34, Wireguard, peers(1), "tunnel"),
        (Layer34, Ipip, peers(1), "tunnel"),
        (VlanSrcMac, Native, peers(100), "own MAC"),
    ];
    for (policy, encapsulation, peers, why) in cases {
        let bundle = lacp(policy, encapsulation, peers, 2, 10_000);
        let found = spread_of_link(Resource::PrivateEgress, Some("storage"), &bundle, 1, 21);
        let name = format!("{policy:?} {encapsulation:?} {peers:?}: {found:?}");
        assert_eq!((found.share_p5, found.share_p95, found.flows_to_fill), (0.5, 0.5, None), "{name}");
        assert!(found.why.contains(why), "{name}");
    }
}

#[test]
fn other_traffic_fills_a_bond_with_few_flows() {
    use Encapsulation::{Geneve, Ipip, None as Native, Vxlan, Wireguard};
    use TransmitHash::{Encap34, Layer2, Layer23, Layer34};
    let cases = [
        (Layer34, Native, peers(1)),
        (Layer34, Native, routed(100)),
        (Layer34, Vxlan, peers(1)),
        (Layer34, Geneve, peers(1)),
        (Layer34, Wireguard, peers(55)),
        (Encap34, Ipip, peers(1)),
        (Encap34, Wireguard, peers(1)),
        (Layer2, Native, peers(55)),
        (Layer2, Native, from_ip(55)),
        (Layer23, Native, routed(55)),
    ];
    for (policy, encapsulation, peers) in cases {
        let bundle = lacp(policy, encapsulation, peers, 2, 55);
        let found = spread_of_link(Resource::PublicEgress, None, &bundle, 1, ROUNDS);
        assert_eq!(found.share_p5, 1.0, "{policy:?} {encapsulation:?} {peers:?}: {found:?}");
        assert!(
            found.flows_to_fill.is_some_and(|flows| flows <= 8),
            "{policy:?} {encapsulation:?} {peers:?}: {found:?}"
        );
    }
}

#[test]
fn modes_place_as_they_say() {
    use BondMode::{ActiveBackup, BalanceAlb, BalanceRr, BalanceTlb, Broadcast};
    let share = |placement: Placement| shares(&Bundle { members: 4, flows: 8, flow_cap: FREE, placement }, 1, 21).p50;
    let native = plane(Encapsulation::None);
    let v6 = Plane { ip: IpVersion::V6, ..native.clone() };
    for (mode, sends, receives) in
        [(ActiveBackup, 0.25, 0.25), (Broadcast, 0.25, 0.25), (BalanceTlb, 0.75, 0.25), (BalanceAlb, 0.75, 0.75)]
    {
        let bond = bond(mode, TransmitHash::Layer2, SwitchHash::L4);
        assert_eq!(share(egress(&bond, None, &native, peers(3))), sends, "{mode:?} sending");
        assert_eq!(share(ingress(&bond, &native, peers(3))), receives, "{mode:?} receiving");
        assert!(share(ingress(&bond, &v6, peers(3))) <= receives, "{mode:?} receiving IPv6");
    }
    let turns = egress(&bond(BalanceRr, TransmitHash::Layer2, SwitchHash::L4), None, &native, peers(1));
    let one = Bundle { members: 4, flows: 1, flow_cap: FREE, placement: turns.clone() };
    assert_eq!(shares(&one, 1, 3).p50, 1.0, "packets take turns, so that one flow fills all");
    assert_eq!(shares(&Bundle { flow_cap: 0.5, ..one }, 1, 3).p50, 0.125);
    assert!(turns.why.contains("out of order"));
    let by_ports = egress(&bond(BalanceTlb, TransmitHash::Layer34, SwitchHash::L4), None, &native, peers(1));
    assert_eq!(share(by_ports), 1.0, "balance-tlb deals out what its policy tells apart");
    let alb = ingress(&bond(BalanceAlb, TransmitHash::Layer2, SwitchHash::L4), &native, routed(9));
    assert_eq!(share(alb), 0.25, "ARP does not reach behind a router");
}

#[test]
fn switches_place_by_what_they_hash() {
    let choosing = |hash, encapsulation, peers| switched(hash, &plane(encapsulation), peers).choosing;
    assert_eq!(choosing(SwitchHash::L2, Encapsulation::None, routed(9)), MemberSelection::One);
    assert_eq!(choosing(SwitchHash::L2, Encapsulation::None, peers(9)), MemberSelection::PerPeer(9));
    assert_eq!(choosing(SwitchHash::L3, Encapsulation::Vxlan, routed(9)), MemberSelection::PerPeer(9));
    assert_eq!(choosing(SwitchHash::L4, Encapsulation::Wireguard, peers(9)), MemberSelection::PerPeer(9));
    assert_eq!(choosing(SwitchHash::L4, Encapsulation::Vxlan, peers(9)), MemberSelection::PerFlow);
}

#[test]
fn the_same_seed_gives_the_same_spread_and_another_seed_another() {
    let bundle = Bundle { flow_cap: 0.1, ..random(8, 40) };
    let spread = |seed| spread_of_link(Resource::RackUp, None, &bundle, seed, 50);
    assert_eq!(spread(9), spread(9));
    assert_ne!(spread(9), spread(10));
}

/// Source 4: two members of 100 Gb/s, one peer, pods over Geneve with an MTU of 1400; one stream gives 16 Gb/s.
#[test]
fn the_measured_bond_is_filled_as_its_policies_allow() {
    let member = 100.0 * 1348.0 / 1496.0;
    let gb_s = |policy, flows| {
        let bundle = lacp(policy, Encapsulation::Geneve, peers(1), 2, flows);
        let bundle = Bundle { flow_cap: 16.0 / member, ..bundle };
        shares(&bundle, 4, 1001).p50 * 2.0 * member
    };
    assert!((gb_s(TransmitHash::Layer2, 1) - 16.0).abs() < 0.01);
    assert!((gb_s(TransmitHash::Layer2, 8) - 90.1).abs() < 0.1);
    assert!((gb_s(TransmitHash::Layer23, 24) - 90.1).abs() < 0.1);
    assert!((gb_s(TransmitHash::Layer34, 4) - 64.0).abs() < 0.01);
    assert!((gb_s(TransmitHash::Layer34, 24) - 180.2).abs() < 0.1);
}

/// What a plan costs must not grow with its nodes: of so many peers, a placement ends once all members have flows.
#[test]
fn a_placement_ends_when_more_flows_change_nothing() {
    use Encapsulation::{None as Native, Wireguard};
    use TransmitHash::{Layer2, Layer23, Layer34, VlanSrcMac};
    let cases = [
        lacp(Layer34, Native, peers(50_000), 2, 1024),
        lacp(Layer23, Native, peers(50_000), 4, 1024),
        lacp(Layer2, Native, peers(50_000), 2, 1024),
        lacp(Layer34, Wireguard, peers(50_000), 2, 1024),
        lacp(Layer2, Native, routed(50_000), 2, 1024),
        lacp(VlanSrcMac, Native, peers(50_000), 2, 1024),
        random(16, 1024),
        Bundle { placement: switched(SwitchHash::L3, &plane(Native), peers(50_000)), ..random(8, 1024) },
    ];
    for bundle in cases {
        let rounds = 100;
        let flows = placed(&bundle, most_flows(&bundle), 1, rounds).flows;
        // Throwing at random, all of m members are hit after m × (1 + 1/2 + … + 1/m) throws on average: 54 of 16.
        let most = u64::from(rounds) * 4 * u64::from(bundle.members);
        assert!(flows <= most, "{flows} of at most {most}: {bundle:?}");
    }
}
