//! Where machines are, and by which ways pairs are measured: at the receiver's own address, at that of a Service in
//! front of it, and at its address in a second network.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use ipnet::IpNet;
use linerate_analysis::net::rounds_of_hosts;
use linerate_fleet::description::FleetNode;
use linerate_fleet::net_protocol::NetAddress;
use linerate_fleet::node_reach::NodeReach;
use linerate_record::fleet::NodeRole;
use linerate_record::net::{NetClass, NetClassComparison, NetLocation, NetOp, NetRoute, NetSpace, NetWay};

use super::flags::NetFlags;
use super::net_fleet::NetFleet;
use crate::files::site_update;
use crate::terminal::failure::Failure;

/// One round by one way.
pub(super) struct RoutedRound {
    pub(super) through: NetRoute,
    /// Senders and receivers, by their numbers in the run.
    pub(super) pairs: Vec<(u32, u32)>,
}

/// Where machines are sent to.
pub(super) struct FoundAddresses {
    /// At their own addresses.
    pub(super) own: Vec<NetAddress>,
    /// In the second network, those that have one there.
    pub(super) second: Vec<Option<NetAddress>>,
}

/// Classes that a message names.
const LISTED_CLASSES: usize = 12;

/// Whether it matters where machines are.
pub(super) fn depends_on_placement(flags: &NetFlags, nodes: &[&FleetNode]) -> bool {
    let is_stated = |node: &&FleetNode| node.host.is_some() || node.network.is_some() || node.service.is_some();
    nodes.iter().any(is_stated) || flags.second_network.is_some() || flags.compare.is_some()
}

fn host_name(node: &FleetNode) -> &str {
    node.host.as_deref().unwrap_or(&node.name)
}

/// In whose network a machine is; a pod has its own, unless the fleet's file says that it has that of its host.
fn net_space(node: &FleetNode) -> NetSpace {
    let usual = if matches!(node.reach, NodeReach::Kube(_)) { NetSpace::Pod } else { NetSpace::Host };
    node.network.unwrap_or(usual)
}

/// Groups of rounds in which machines that share a host are not measured at the same time.
pub(super) fn rounds_without_shared_hosts(nodes: &[&FleetNode], way: NetWay) -> Vec<Vec<Vec<(u32, u32)>>> {
    let names: Vec<&str> = nodes.iter().map(|node| host_name(node)).collect();
    let hosts: Vec<usize> =
        names.iter().map(|name| names.iter().position(|other| other == name).unwrap_or(usize::MAX)).collect();
    rounds_of_hosts(&hosts, way)
}

/// Each round by each way that there is to its receivers. Of two that send to each other at the same time, neither does
/// by a way that only one of them has: alone it would have the link to itself.
pub(super) fn routed_rounds(rounds: &[Vec<(u32, u32)>], has: impl Fn(NetRoute, u32) -> bool) -> Vec<RoutedRound> {
    let has = &has;
    let round_by_route = |through: NetRoute| {
        let leg = move |round: &Vec<(u32, u32)>| RoutedRound {
            through,
            pairs: round
                .iter()
                .copied()
                .filter(|&(from, to)| has(through, to) && (has(through, from) || !round.contains(&(to, from))))
                .collect(),
        };
        rounds.iter().map(leg).filter(|leg| !leg.pairs.is_empty())
    };
    NetRoute::ALL.into_iter().flat_map(round_by_route).collect()
}

/// Whether a machine is to be reached by a way, before it is known which addresses it has.
pub(super) fn has_route(flags: &NetFlags, nodes: &[&FleetNode], through: NetRoute, to: u32) -> bool {
    match through {
        NetRoute::Direct => true,
        NetRoute::Service => {
            nodes.get(to as usize).is_some_and(|node| node.service.is_some()) && why_no_service(flags).is_none()
        }
        NetRoute::Second => flags.second_network.is_some(),
    }
}

/// What of the flags does not go with these machines.
pub(super) fn check(flags: &NetFlags, nodes: &[&FleetNode], routed_rounds: &[RoutedRound]) -> Result<(), Failure> {
    let with_service = nodes.iter().find(|node| node.service.is_some());
    if let Some(node) = with_service.filter(|_| flags.port.is_none() && routed_rounds.iter().any(is_through_service)) {
        return Err(Failure::usage(format!(
            "the service of {} leads to one port of its agent: give that with --port, such as --port 5301",
            node.name
        )));
    }
    if let Some(network) = flags.second_network.filter(|_| flags.op(false) == NetOp::Mtu) {
        return Err(Failure::usage(format!(
            "--second-network is for rates, and --op mtu has none: measure its paths with --network {network}"
        )));
    }
    // Pods of storage nodes may have the networks of these, which only their places tell.
    let is_virtual = |node: &&FleetNode| {
        net_space(node) == NetSpace::Pod && (depends_on_placement(flags, nodes) || node.role == NodeRole::Client)
    };
    let has_pods = nodes.iter().any(is_virtual);
    if flags.into.is_some() && has_pods {
        return Err(Failure::usage(site_update::PODS_TEXT));
    }
    let Some(comparison) = flags.against() else { return Ok(()) };
    let all = classes(nodes, routed_rounds);
    let Some(missing) = [comparison.class, comparison.base].into_iter().find(|class| !all.contains(class)) else {
        return Ok(());
    };
    let names: Vec<String> = all.iter().take(LISTED_CLASSES).map(ToString::to_string).collect();
    let what = format!("--compare: the fleet has no pair of the class {missing}; it has {}", names.join(", "));
    Err(Failure::usage(format!("{what}. Say where agents are with host: and network: in the fleet file")))
}

/// Classes of the pairs that are to be measured.
pub(super) fn classes(nodes: &[&FleetNode], routed_rounds: &[RoutedRound]) -> BTreeSet<NetClass> {
    let places: Vec<NetLocation> = nodes.iter().map(|node| net_place(node, None)).collect();
    let class = |through: NetRoute, (from, to): (u32, u32)| {
        Some(NetClass::between(places.get(from as usize)?, places.get(to as usize)?, through))
    };
    let pairs = routed_rounds.iter().flat_map(|leg| leg.pairs.iter().map(move |pair| (leg.through, *pair)));
    pairs.filter_map(|(through, pair)| class(through, pair)).collect()
}

fn is_through_service(leg: &RoutedRound) -> bool {
    leg.through == NetRoute::Service
}

/// Addresses in the second network, of the machines that have one there beside that at which they are sent to anyway.
pub(super) fn second_addresses(
    flags: &NetFlags,
    fleet: &NetFleet<'_>,
    own: &[NetAddress],
) -> Result<Vec<Option<NetAddress>>, Failure> {
    let Some(network) = flags.second_network else { return Ok(vec![None; fleet.linked.len()]) };
    let machines: Vec<&[NetAddress]> = fleet.linked.iter().map(|of| of.addresses.as_slice()).collect();
    let found = other_addresses_in(network, &machines, own);
    if found.iter().all(Option::is_none) {
        let why = format!(
            "--second-network {network}: no machine has another address in it than it is sent to anyway: leave it out, \
             or name another"
        );
        return Err(Failure::usage(why));
    }
    Ok(found)
}

/// Of each machine its first address in a network that is not the one at which it is sent to.
fn other_addresses_in(network: IpNet, machines: &[&[NetAddress]], own: &[NetAddress]) -> Vec<Option<NetAddress>> {
    let second_address = |(all, own): (&&[NetAddress], &NetAddress)| {
        all.iter()
            .find(|second_address| network.contains(&second_address.address) && second_address.address != own.address)
            .cloned()
    };
    machines.iter().zip(own).map(second_address).collect()
}

/// Where each machine is sent to by a way; at its own address where it has none by that.
pub(super) fn addresses_by_route(fleet: &NetFleet<'_>, found: &FoundAddresses, through: NetRoute) -> Vec<SocketAddr> {
    let socket_address = |(number, socket_address): (usize, &super::net_fleet::LinkedMachine)| {
        let own = SocketAddr::new(found.own[number].address, socket_address.port);
        let other = match through {
            NetRoute::Direct => None,
            NetRoute::Service => fleet.nodes[socket_address.node].service,
            NetRoute::Second => {
                found.second[number].as_ref().map(|of_second| SocketAddr::new(of_second.address, socket_address.port))
            }
        };
        other.unwrap_or(own)
    };
    fleet.linked.iter().enumerate().map(socket_address).collect()
}

/// Where a machine is.
pub(super) fn net_place(node: &FleetNode, second: Option<&NetAddress>) -> NetLocation {
    NetLocation {
        host: host_name(node).to_owned(),
        space: net_space(node),
        service: node.service.map(|address| address.to_string()),
        second: second.map(|of| of.address.to_string()),
    }
}

/// Why no machine is to be reached through a Service; none where they are.
fn why_no_service(flags: &NetFlags) -> Option<&'static str> {
    if flags.members {
        Some("their addresses are translated on the way, so that no port chooses a member")
    } else if flags.op(false).is_of_datagrams() {
        Some("datagrams go to ports that they do not have")
    } else {
        None
    }
}

/// What is remarked of ways that are left out.
pub(super) fn omitted_routes_text(flags: &NetFlags, nodes: &[&FleetNode]) -> Option<String> {
    let why = why_no_service(flags).filter(|_| nodes.iter().any(|node| node.service.is_some()))?;
    Some(format!("pairs through Services are left out: {why}"))
}

impl NetFlags {
    /// Classes that are to be held against each other.
    pub(super) fn against(&self) -> Option<NetClassComparison> {
        let (class, base) = self.compare?.0;
        Some(NetClassComparison { class, base, overlay_bytes: self.overlay.map(super::flags::Overlay::bytes) })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use linerate_analysis::net::rounds;

    use super::super::flags::tests::Line;
    use super::*;

    const FLEET: &str = "\
nodes:
  - {name: 'n1-pod{0...1}', role: client, host: n1, reach: 'kube://x/p{0...1}', service: '10.96.0.{7...8}:5301'}
  - {name: n1-host, role: client, host: n1, network: host, reach: 'kube://x/h1'}
  - {name: n2-pod0, role: client, host: n2, reach: 'kube://x/p2'}
  - {name: n2-host, role: client, host: n2, reach: here}
";

    fn flags(more: &str) -> NetFlags {
        Line::parse_from(["net", "--fleet", "f"].into_iter().chain(more.split_whitespace())).net
    }

    fn legs_of(flags: &NetFlags, nodes: &[&FleetNode]) -> Vec<RoutedRound> {
        let way = if flags.way(nodes.len()) == NetWay::BothWays { NetWay::BothWays } else { NetWay::OneWay };
        let rounds = rounds_without_shared_hosts(nodes, way).concat();
        routed_rounds(&rounds, |through, to| has_route(flags, nodes, through, to))
    }

    #[test]
    fn pairs_are_measured_by_each_way_that_their_receivers_have() {
        let fleet = linerate_fleet::description::read(FLEET, "f.yaml").unwrap();
        let nodes: Vec<&FleetNode> = fleet.iter().collect();
        let spaces: Vec<&str> = nodes.iter().map(|node| net_space(node).key()).collect();
        assert_eq!(spaces, ["pod", "pod", "host", "pod", "host"]);
        let count = |more: &str, through| {
            let routed_rounds = legs_of(&flags(more), &nodes);
            routed_rounds.iter().filter(|leg| leg.through == through).map(|leg| leg.pairs.len()).sum::<usize>()
        };
        for (more, direct, service, second) in [
            ("", 20, 8, 0),
            ("--second-network 10.9.0.0/16", 20, 8, 20),
            ("--op mtu", 20, 0, 0),
            ("--op udp --max-rate 1Mb/s", 20, 0, 0),
            // The two pods that have a Service, to each other: of other pairs, one of the two ways alone has one.
            ("--both-ways", 20, 2, 0),
            ("--op connect", 20, 8, 0),
            ("--members", 20, 0, 0),
        ] {
            let found = [NetRoute::Direct, NetRoute::Service, NetRoute::Second].map(|of| count(more, of));
            assert_eq!(found, [direct, service, second], "{more}");
        }
        assert!(omitted_routes_text(&flags("--members"), &nodes).is_some_and(|why| why.contains("chooses a member")));
        assert_eq!(omitted_routes_text(&flags(""), &nodes), None);
        assert!(depends_on_placement(&flags(""), &nodes));
    }

    #[test]
    fn what_does_not_go_with_the_machines_is_refused_before_any_is_reached() {
        let fleet = linerate_fleet::description::read(FLEET, "f.yaml").unwrap();
        let nodes: Vec<&FleetNode> = fleet.iter().collect();
        let checked = |more: &str| {
            let flags = flags(more);
            check(&flags, &nodes, &legs_of(&flags, &nodes)).map_err(|failure| failure.to_string())
        };
        for more in ["--port 5301", "--op mtu", "--port 5301 --compare other/pod-pod=other/host-host --overlay vxlan"] {
            assert_eq!(checked(more), Ok(()), "{more}");
        }
        for (more, part) in [
            ("", "the service of n1-pod0 leads to one port"),
            ("--port 5301 --into site.yaml", "those of pods are virtual"),
            ("--port 5301 --compare same/pod-pod=same/host-host", "no pair of the class same/host-host; it has other/"),
            ("--op mtu --second-network 10.9.0.0/16", "with --network 10.9.0.0/16"),
            ("--port 5301 --compare other/pod-pod/second=other/pod-pod", "no pair of the class other/pod-pod/second"),
        ] {
            let why = checked(more).unwrap_err();
            assert!(why.contains(part), "{more}: {why}");
        }
    }

    #[test]
    fn where_nobody_says_where_machines_are_it_does_not_matter() {
        let fleet = linerate_fleet::description::read("nodes: [{name: 'a{1...3}', role: client}]", "f.yaml").unwrap();
        let nodes: Vec<&FleetNode> = fleet.iter().collect();
        assert!(!depends_on_placement(&flags(""), &nodes));
        assert_eq!(rounds_without_shared_hosts(&nodes, NetWay::OneWay).concat(), rounds(3, NetWay::OneWay));
    }

    #[test]
    fn an_address_in_the_second_network_is_another_than_machines_are_sent_to_anyway() {
        let address =
            |text: &str| NetAddress { interface: "eth0".to_owned(), address: text.parse().unwrap(), prefix_bits: 24 };
        let both = [address("10.1.0.1"), address("10.9.0.1")];
        let one = [address("10.1.0.2")];
        let own = [address("10.1.0.1"), address("10.1.0.2")];
        let found = |network: &str| -> Vec<Option<String>> {
            let found = other_addresses_in(network.parse().unwrap(), &[&both, &one], &own);
            found.into_iter().map(|of| of.map(|of| of.address.to_string())).collect()
        };
        assert_eq!(found("10.9.0.0/16"), [Some("10.9.0.1".to_owned()), None]);
        assert_eq!(found("10.1.0.0/16"), [None::<String>, None]);
    }
}
