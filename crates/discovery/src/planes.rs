//! Which links carry the clients' traffic and the traffic among nodes, by what the engine is connected to.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use linerate_record::discovery::{DiscoveryFinding, DiscoveryKind, EnginePeer};

use crate::node::DiscoveredNode;
use crate::ports::Interfaces;
use crate::size_text::speed;
use crate::tree::{SiteEntry, assumed, derived, mapping, read, read_as};
use crate::votes::{Vote, named, settled, vote};

/// A link that is not used is worth a finding where it is so much faster than the one in use.
const FASTER: f64 = 1.5;

/// Layers of interfaces over each other that are looked through.
const LAYERS_MAX: usize = 8;

/// The links of both planes. One that is shared carries all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    pub(crate) public: Plane,
    pub(crate) private: Option<Plane>,
}

/// A plane, by what nodes say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plane {
    pub(crate) link: String,
    /// The interface over the link that packets leave by: a VLAN has an MTU of its own.
    interface: String,
    /// Nodes that use it, and those of which it is known; none where it is assumed, and why.
    known: Result<(u32, u32), &'static str>,
    /// The kernel's word for the tunnel that its packets are in.
    tunnel: Option<String>,
    is_ipv6: bool,
}

/// Traffic of one plane as one node has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    link: String,
    interface: String,
    tunnel: Option<String>,
    /// Whether the link below a tunnel is a guess.
    is_guess: bool,
    is_ipv6: bool,
}

/// What the engine's connections show; where they show nothing, the fastest link.
pub(crate) fn planes(storage: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) -> Planes {
    let own = node_addresses(storage);
    let among = path_vote(storage, "link of the traffic among nodes", |peer| own.contains(&peer.address), findings);
    let is_client = |peer: &EnginePeer| peer.is_inbound && !own.contains(&peer.address);
    let clients = path_vote(storage, "link of the clients' traffic", is_client, findings);
    let private = among.map(plane);
    let public = clients.map(plane).unwrap_or_else(|| {
        let (link, why) = match &private {
            Some(private) => (private.link.clone(), "that of the traffic among nodes: no client was connected"),
            None => (fastest_link(storage), "the fastest: the engine had no connections that could be seen"),
        };
        let is_ipv6 = private.as_ref().is_some_and(|plane| plane.is_ipv6);
        Plane { interface: link.clone(), link, known: Err(why), tunnel: None, is_ipv6 }
    });
    unused_faster(storage, &public, private.as_ref(), findings);
    folded(public, private, findings)
}

/// A site has one plane a link.
fn folded(public: Plane, private: Option<Plane>, findings: &mut Vec<DiscoveryFinding>) -> Planes {
    let private = match private {
        Some(private) if private.link == public.link => private,
        other => return Planes { public, private: other },
    };
    if public.known.is_err() {
        // What is known of the one plane is what is seen of the traffic among nodes.
        return Planes { public: Plane { known: public.known, ..private }, private: None };
    }
    if private.tunnel != public.tunnel {
        let in_words = |plane: &Plane| plane.tunnel.clone().unwrap_or_else(|| "no tunnel".to_owned());
        findings.push(DiscoveryFinding {
            kind: DiscoveryKind::Unread,
            claim: format!(
                "{} carries the clients' traffic in {} and that among nodes in {}, and a site has one plane a link: \
                 what a tunnel costs of one of them is not in the plan",
                public.link,
                in_words(&public),
                in_words(&private)
            ),
            remedy: "take 3 % off what the tunnel carries at an MTU of 1500".to_owned(),
            nodes: Vec::new(),
        });
    }
    Planes { public, private: None }
}

/// Addresses of storage nodes: their own, and those with connections both ways, since clients take none. Nodes that
/// were not read, or that the fleet lacks, are known by that.
fn node_addresses(storage: &[DiscoveredNode<'_>]) -> BTreeSet<IpAddr> {
    let mut own: BTreeSet<IpAddr> = storage.iter().flat_map(addresses).collect();
    let engines = || storage.iter().flat_map(|node| &node.state.facts.engines);
    let peers = |is_inbound: bool| -> BTreeSet<IpAddr> {
        let all = engines().flat_map(|engine| &engine.peers).filter(|peer| peer.is_inbound == is_inbound);
        all.map(|peer| peer.address).collect()
    };
    own.extend(peers(true).intersection(&peers(false)));
    own
}

fn addresses(node: &DiscoveredNode<'_>) -> Vec<IpAddr> {
    let facts = &node.state.facts;
    facts.addresses.iter().chain(facts.engines.iter().flat_map(|engine| &engine.addresses)).copied().collect()
}

fn plane(vote: Vote<'_, Path>) -> Plane {
    let counts = (crate::votes::count(vote.nodes.len()), crate::votes::count(vote.readable()));
    let Path { link, interface, tunnel, is_guess, is_ipv6 } = vote.value;
    let guess = "the fastest: which link the tunnel uses is not read";
    Plane { link, interface, known: if is_guess { Err(guess) } else { Ok(counts) }, tunnel, is_ipv6 }
}

/// The path of most connections with some peers, as most nodes have it.
fn path_vote<'a>(
    storage: &[DiscoveredNode<'a>],
    what: &str,
    is_counted: impl Fn(&EnginePeer) -> bool,
    findings: &mut Vec<DiscoveryFinding>,
) -> Option<Vote<'a, Path>> {
    let path = |node: &DiscoveredNode<'a>| {
        let interfaces = Interfaces::new(node.machine());
        let mut counts: BTreeMap<(&str, bool), u64> = BTreeMap::new();
        for peer in node.state.facts.engines.iter().flat_map(|engine| &engine.peers).filter(|peer| is_counted(peer)) {
            let Some(interface) = peer.interface.as_ref().filter(|name| is_site_name(name)) else { continue };
            let count = counts.entry((interface, peer.address.is_ipv6())).or_default();
            *count = count.saturating_add(u64::from(peer.connections));
        }
        let mut counts: Vec<((&str, bool), u64)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, connections)| std::cmp::Reverse(*connections));
        // Interfaces without a link below lead to pods of the node itself.
        counts.into_iter().find_map(|((interface, is_ipv6), _)| path(node, &interfaces, interface, is_ipv6))
    };
    let in_words = |path: &Path| {
        let tunnel = path.tunnel.as_ref().map_or_else(String::new, |tunnel| format!(" in {tunnel}"));
        let ip = if path.is_ipv6 { ", IPv6" } else { "" };
        format!("{}{tunnel}{ip}", path.interface)
    };
    settled(what, vote(storage, path), in_words, findings)
}

/// Whether a site can have an interface by its name: a kernel allows more.
fn is_site_name(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_good)
}

/// Interfaces by which Cilium leads to pods of other nodes, whose tunnel is another interface.
const TO_TUNNEL: [&str; 2] = ["cilium_host", "cilium_net"];

/// The link below an interface, through VLANs and bridges, or the tunnel on the way. None where there is no link below.
fn path(node: &DiscoveredNode<'_>, interfaces: &Interfaces<'_>, interface: &str, is_ipv6: bool) -> Option<Path> {
    let tunnels = &node.state.facts.tunnels;
    let behind = || TO_TUNNEL.contains(&interface).then(|| tunnels.values().next()).flatten();
    if let Some(tunnel) = tunnels.get(interface).or_else(behind) {
        let link = interfaces.fastest()?.name.clone();
        let is_guess = interfaces.links().nth(1).is_some();
        return Some(Path { interface: link.clone(), link, tunnel: Some(tunnel.clone()), is_guess, is_ipv6 });
    }
    let mut link = interface;
    for _ in 0..LAYERS_MAX {
        let Some(nic) = interfaces.get(link).filter(|nic| nic.bond.is_none()) else { break };
        // Of a bridge, the ports of guests stand on nothing.
        let has_link = |name: &&String| {
            interfaces.get(name).is_some_and(|nic| nic.driver.is_some() || !nic.over.is_empty() || nic.bond.is_some())
        };
        let below: Vec<&String> = nic.over.iter().filter(has_link).collect();
        link = match (&below[..], &nic.over[..]) {
            ([only], _) => only.as_str(),
            ([], [only]) => only.as_str(),
            _ => break,
        };
    }
    // In a container or a namespace there is nothing else than interfaces without a card.
    let is_link = interfaces.get(link).is_some_and(|nic| interfaces.is_link(nic));
    let has_links = interfaces.links().next().is_some();
    (is_link || !has_links).then(|| Path {
        link: link.to_owned(),
        interface: interface.to_owned(),
        tunnel: None,
        is_guess: false,
        is_ipv6,
    })
}

fn fastest_link(storage: &[DiscoveredNode<'_>]) -> String {
    let link = |node: &DiscoveredNode<'_>| {
        let any = || node.machine().nics.iter().find(|nic| nic.name != "lo");
        Interfaces::new(node.machine()).fastest().or_else(any).map(|nic| nic.name.clone())
    };
    vote(storage, link).map(|vote| vote.value).filter(|name| is_site_name(name)).unwrap_or_else(|| "eth0".to_owned())
}

/// Links that carry neither plane and are faster than one that does.
fn unused_faster(
    storage: &[DiscoveredNode<'_>],
    public: &Plane,
    private: Option<&Plane>,
    findings: &mut Vec<DiscoveryFinding>,
) {
    let planes = [("the clients' traffic", Some(public)), ("the traffic among nodes", private)];
    let used: Vec<&str> = planes.iter().filter_map(|(_, plane)| Some(plane.as_ref()?.link.as_str())).collect();
    for (what, plane) in planes {
        let Some(plane) = plane.filter(|plane| plane.known.is_ok() && plane.tunnel.is_none()) else { continue };
        let unused = |node: &DiscoveredNode<'_>| {
            let interfaces = Interfaces::new(node.machine());
            let own_speed = interfaces.speed(interfaces.get(&plane.link)?)?;
            let others = interfaces.links().filter(|nic| !used.contains(&nic.name.as_str()));
            let faster = others.filter_map(|nic| Some((interfaces.speed(nic)?, nic)));
            let (speed, best) = faster.max_by_key(|(speed, _)| *speed)?;
            (speed as f64 >= own_speed as f64 * FASTER).then(|| (own_speed, best.name.clone(), speed))
        };
        let Some(vote) = vote(storage, unused) else { continue };
        let (own, other, faster) = &vote.value;
        findings.push(DiscoveryFinding {
            kind: DiscoveryKind::Plane,
            claim: format!(
                "{what} runs over {} ({}), and {other} ({}) carries none, on {}",
                plane.link,
                speed(*own),
                speed(*faster),
                named(&vote.nodes)
            ),
            remedy: format!(
                "if {other} is meant to carry it: check the addresses of the endpoints, routes and node IPs"
            ),
            nodes: vote.nodes.iter().map(|name| (*name).to_owned()).collect(),
        });
    }
}

/// The keys of both planes.
pub(crate) fn entries(
    planes: &Planes,
    storage: &[DiscoveredNode<'_>],
    findings: &mut Vec<DiscoveryFinding>,
) -> Vec<SiteEntry> {
    let mut entries = vec![mapping("public", of_plane(&planes.public, storage, findings))];
    entries.extend(planes.private.iter().map(|plane| mapping("private", of_plane(plane, storage, findings))));
    entries
}

fn of_plane(plane: &Plane, storage: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) -> Vec<SiteEntry> {
    let link = match plane.known {
        Ok((nodes, readable)) => {
            derived("link", &plane.link, &format!("connections of the engine, {nodes} of {readable} nodes"))
        }
        Err(why) => assumed("link", &plane.link, why),
    };
    let mut entries = vec![link];
    let mtu = |node: &DiscoveredNode<'_>| {
        let nic = node.machine().nics.iter().find(|nic| nic.name == plane.interface)?;
        Some(nic.mtu_bytes).filter(|mtu| *mtu > 0)
    };
    let what = format!("MTU of {}", plane.interface);
    let mtu = settled(&what, vote(storage, mtu), u32::to_string, findings);
    entries.extend(mtu.map(|vote| match plane.known {
        Ok(_) => read("mtu", &vote, &format!("/sys/class/net/{}/mtu", plane.interface)),
        Err(_) => assumed("mtu", &vote.value.to_string(), "that of the link, which is assumed"),
    }));
    if let Some(tunnel) = plane.tunnel.as_deref().filter(|word| ["vxlan", "geneve", "wireguard", "ipip"].contains(word))
    {
        entries.push(derived("encapsulation", tunnel, "the interface to the other ends of connections"));
    }
    let timestamps = vote(storage, |node| node.state.facts.timestamps);
    entries.extend(timestamps.map(|vote| {
        read_as("timestamps", &vote, if vote.value { "true" } else { "false" }, "net.ipv4.tcp_timestamps")
    }));
    if plane.is_ipv6 {
        entries.push(derived("ip", "ipv6", "connections of the engine"));
    }
    entries
}
