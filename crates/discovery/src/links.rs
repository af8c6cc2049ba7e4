//! Cards and bonds of the links that carry the planes.

use linerate_record::discovery::{DiscoveryFinding, DiscoveryKind};
use linerate_record::knob::PcieDevice;
use linerate_record::machine::Machine;

use crate::node::DiscoveredNode;
use crate::pcie::generation;
use crate::planes::Planes;
use crate::ports::Interfaces;
use crate::size_text::speed;
use crate::tree::{SiteEntry, assumed, derived, list, read_as};
use crate::votes::{Vote, named, settled, vote};

/// The speed of a port where no node states one.
const ASSUMED_SPEED: &str = "25Gb/s";

/// Ports of one card that a link is made of.
#[derive(Clone, Debug, PartialEq)]
struct Card {
    name: String,
    ports: u32,
    speed_bits_per_s: Option<u64>,
    lanes: Option<u32>,
    generation: Option<u32>,
    numa_node: Option<u32>,
}

/// A link of a node.
#[derive(Clone, Debug, PartialEq)]
struct NodeLink {
    name: String,
    cards: Vec<Card>,
    /// Mode and transmit hash of a bond.
    bond: Option<(String, Option<String>)>,
}

/// The generation of a node's sockets: at least that of its fastest device.
pub(crate) fn bus(nodes: &[DiscoveredNode<'_>]) -> Option<SiteEntry> {
    let fastest = |node: &DiscoveredNode<'_>| {
        let devices = node.state.snapshot.devices.pcie.iter();
        devices.filter_map(|device| generation(device.speed_gt_per_s.1.max(device.speed_gt_per_s.0))).max()
    };
    let vote = vote(nodes, fastest)?;
    Some(assumed("pcie", &vote.value.to_string(), "the generation of the fastest device; the sockets' is not stated"))
}

/// NICs, and bonds where a link is one.
pub(crate) fn entries(
    nodes: &[DiscoveredNode<'_>],
    planes: &Planes,
    findings: &mut Vec<DiscoveryFinding>,
) -> Vec<SiteEntry> {
    let mut names = vec![planes.public.link.as_str()];
    names.extend(planes.private.iter().map(|plane| plane.link.as_str()).filter(|link| *link != planes.public.link));
    let (mut nics, mut bonds) = (Vec::new(), Vec::new());
    for name in names {
        let Some(vote) = vote(nodes, |node| node_link(node, name)) else {
            nics.push(unknown_port(name));
            continue;
        };
        differences(name, &vote, findings);
        nics.extend(vote.value.cards.iter().map(|card| card_entries(card, &vote)));
        if let Some((mode, hash)) = &vote.value.bond {
            bonds.push(bond_entries(name, mode, hash.as_deref(), &vote));
        }
        members_down(name, nodes, findings);
    }
    let mut entries = vec![list("nics", nics)];
    if !bonds.is_empty() {
        entries.push(list("bonds", bonds));
    }
    entries
}

fn unknown_port(name: &str) -> Vec<SiteEntry> {
    let because = "no node shows such an interface";
    vec![derived("name", name, "the plane"), assumed("speed", ASSUMED_SPEED, because)]
}

fn card_entries(card: &Card, vote: &Vote<'_, NodeLink>) -> Vec<SiteEntry> {
    let folder = format!("/sys/class/net/{}", card.name);
    let mut entries = vec![derived("name", &card.name, "the first port of the card")];
    if card.ports > 1 {
        entries.push(read_as("ports", vote, &card.ports.to_string(), "ports of the bond on this card"));
    }
    entries.push(match card.speed_bits_per_s {
        Some(bits) => read_as("speed", vote, &speed(bits), &format!("{folder}/speed")),
        None => assumed("speed", ASSUMED_SPEED, "the interface is virtual and states none: write what limits it"),
    });
    for (key, value) in [("lanes", card.lanes), ("generation", card.generation), ("numa_node", card.numa_node)] {
        entries.extend(value.map(|value| read_as(key, vote, &value.to_string(), "/sys/bus/pci, as negotiated")));
    }
    entries
}

fn bond_entries(name: &str, mode: &str, hash: Option<&str>, vote: &Vote<'_, NodeLink>) -> Vec<SiteEntry> {
    let place = format!("/sys/class/net/{name}/bonding");
    let cards: Vec<&str> = vote.value.cards.iter().map(|card| card.name.as_str()).collect();
    let cards = if let [one] = cards[..] { one.to_owned() } else { format!("[{}]", cards.join(", ")) };
    let mut entries = vec![
        read_as("name", vote, name, &place),
        read_as("nics", vote, &cards, &format!("{place}/slaves")),
        read_as("mode", vote, mode, &format!("{place}/mode")),
    ];
    entries.extend(hash.map(|hash| read_as("transmit_hash", vote, hash, &format!("{place}/xmit_hash_policy"))));
    entries
}

/// The link of a name, as a node has it.
fn node_link(node: &DiscoveredNode<'_>, name: &str) -> Option<NodeLink> {
    let machine = node.machine();
    let nic = machine.nics.iter().find(|nic| nic.name == name)?;
    let ports: Vec<&str> = match &nic.bond {
        Some(bond) => bond.members.iter().map(String::as_str).collect(),
        None => vec![name],
    };
    let mut cards: Vec<(Option<&str>, Card)> = Vec::new();
    let mut sorted = ports;
    sorted.sort_unstable();
    for port in sorted {
        let function = node.state.snapshot.devices.pcie.iter().find(|device| device.name == port);
        let slot = function.and_then(|device| device.address.rsplit_once('.')).map(|(slot, _)| slot);
        let speed_bits_per_s = port_speed(machine, port);
        match cards
            .iter_mut()
            .find(|(known, card)| known.is_some() && *known == slot && card.speed_bits_per_s == speed_bits_per_s)
        {
            Some((_, card)) => card.ports += 1,
            None => cards.push((slot, card(port, speed_bits_per_s, function))),
        }
    }
    let bond = nic.bond.as_ref().map(|bond| (bond.mode.clone(), bond.xmit_hash_policy.clone()));
    Some(NodeLink { name: name.to_owned(), cards: cards.into_iter().map(|(_, card)| card).collect(), bond })
}

fn port_speed(machine: &Machine, port: &str) -> Option<u64> {
    machine.nics.iter().find(|nic| nic.name == port)?.speed_bits_per_s
}

fn card(port: &str, speed_bits_per_s: Option<u64>, function: Option<&PcieDevice>) -> Card {
    Card {
        name: port.to_owned(),
        ports: 1,
        speed_bits_per_s,
        lanes: function.map(|device| device.lanes.0).filter(|lanes| (1..=32).contains(lanes)),
        generation: function.and_then(|device| generation(device.speed_gt_per_s.0)),
        numa_node: function.and_then(|device| device.numa_node),
    }
}

/// In what links of the same name differ from node to node.
fn differences(name: &str, vote: &Vote<'_, NodeLink>, findings: &mut Vec<DiscoveryFinding>) {
    for (other, nodes) in &vote.others {
        let parts = [
            ("ports", ports_in_words(&vote.value), ports_in_words(other)),
            ("mode and hash", bond_in_words(&vote.value), bond_in_words(other)),
            ("slots", slots_in_words(&vote.value), slots_in_words(other)),
        ];
        let Some((what, most, few)) = parts.into_iter().find(|(_, most, few)| most != few) else { continue };
        findings.push(DiscoveryFinding {
            kind: DiscoveryKind::Contradiction,
            claim: format!("{what} of {name}: {most} on {}; {few} on {}", named(&vote.nodes), named(nodes)),
            remedy: "make them alike, or describe them as kinds of nodes of their own".to_owned(),
            nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        });
    }
}

fn ports_in_words(link: &NodeLink) -> String {
    let part = |card: &Card| {
        let speed = card.speed_bits_per_s.map_or_else(|| "unknown speed".to_owned(), speed);
        format!("{} × {speed}", card.ports)
    };
    link.cards.iter().map(part).collect::<Vec<_>>().join(" and ")
}

fn bond_in_words(link: &NodeLink) -> String {
    match &link.bond {
        Some((mode, hash)) => [mode.as_str(), hash.as_deref().unwrap_or_default()].join(" ").trim().to_owned(),
        None => "no bond".to_owned(),
    }
}

fn slots_in_words(link: &NodeLink) -> String {
    let number = |value: Option<u32>| value.map_or_else(|| "?".to_owned(), |value| value.to_string());
    let part = |card: &Card| format!("{} ×{} of generation {}", card.name, number(card.lanes), number(card.generation));
    link.cards.iter().map(part).collect::<Vec<_>>().join(" and ")
}

/// Members of a bond that are down: the site has them, since the plan is of what there should be.
fn members_down(name: &str, nodes: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) {
    let down = |node: &DiscoveredNode<'_>| {
        let machine = node.machine();
        let bond = machine.nics.iter().find(|nic| nic.name == name)?.bond.as_ref()?;
        let is_up = |member: &&String| machine.nics.iter().any(|nic| nic.name == **member);
        let up = bond.members.iter().filter(is_up).count();
        (up < bond.members.len()).then_some((up, bond.members.len()))
    };
    for node in nodes {
        let Some((up, all)) = down(node) else { continue };
        findings.push(DiscoveryFinding {
            kind: DiscoveryKind::Contradiction,
            claim: format!("{}: {up} of {all} members of {name} are up", node.name),
            remedy: "check cable, transceiver and switch port of the others".to_owned(),
            nodes: vec![node.name.to_owned()],
        });
    }
}

/// The client machines of the fleet, so many with those that were not read.
pub(crate) fn clients(
    clients: &[DiscoveredNode<'_>],
    count: u32,
    findings: &mut Vec<DiscoveryFinding>,
) -> Option<Vec<SiteEntry>> {
    if clients.is_empty() {
        return None;
    }
    let mut entries = vec![derived("count", &count.to_string(), "nodes of the fleet with the role client")];
    let fastest = |node: &DiscoveredNode<'_>| {
        let interfaces = Interfaces::new(node.machine());
        interfaces.speed(interfaces.fastest()?)
    };
    entries.push(match settled("fastest link of clients", vote(clients, fastest), |bits| speed(*bits), findings) {
        Some(vote) => read_as("speed", &vote, &speed(vote.value), "the fastest link"),
        None => assumed("speed", ASSUMED_SPEED, "no interface states one: write what limits it"),
    });
    Some(entries)
}
