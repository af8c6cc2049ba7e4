//! Which links carry the clients' traffic and the traffic among nodes, by what the engine is connected to.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use linerate_record::discovery::{DiscoveryFinding, DiscoveryKind, EnginePeer};

use crate::node::DiscoveredNode;
use crate::ports::{fastest, is_link, link_speed};
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
    tunnel: Option<String>,
    is_ipv6: bool,
}

/// What the engine's connections show; where they show nothing, the fastest link.
pub(crate) fn planes(storage: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) -> Planes {
    let own: BTreeSet<IpAddr> = storage.iter().flat_map(addresses).collect();
    let among = path_vote(storage, "link of the traffic among nodes", |peer| own.contains(&peer.address), findings);
    let is_client = |peer: &EnginePeer| peer.is_inbound && !own.contains(&peer.address);
    let clients = path_vote(storage, "link of the clients' traffic", is_client, findings);
    let private = among.map(plane);
    let public = clients.map(plane).unwrap_or_else(|| {
        let (link, why) = match &private {
            Some(private) => (private.link.clone(), "that of the traffic among nodes: no client was connected"),
            None => (fastest_link(storage), "the fastest: the engine had no connections that could be seen"),
        };
        Plane { link, known: Err(why), tunnel: None, is_ipv6: private.as_ref().is_some_and(|plane| plane.is_ipv6) }
    });
    unused_faster(storage, &public, private.as_ref(), findings);
    let private = private.filter(|private| private.link != public.link || private.tunnel != public.tunnel);
    Planes { public, private }
}

fn addresses(node: &DiscoveredNode<'_>) -> Vec<IpAddr> {
    let facts = &node.state.facts;
    facts.addresses.iter().chain(facts.engines.iter().flat_map(|engine| &engine.addresses)).copied().collect()
}

fn plane(vote: Vote<'_, Path>) -> Plane {
    let known = Ok((crate::votes::count(vote.nodes.len()), crate::votes::count(vote.readable())));
    let Path { link, tunnel, is_ipv6 } = vote.value;
    Plane { link, known, tunnel, is_ipv6 }
}

/// The path of most connections with some peers, as most nodes have it.
fn path_vote<'a>(
    storage: &[DiscoveredNode<'a>],
    what: &str,
    is_counted: impl Fn(&EnginePeer) -> bool,
    findings: &mut Vec<DiscoveryFinding>,
) -> Option<Vote<'a, Path>> {
    let path = |node: &DiscoveredNode<'a>| {
        let mut counts: BTreeMap<(&str, bool), u32> = BTreeMap::new();
        for peer in node.state.facts.engines.iter().flat_map(|engine| &engine.peers).filter(|peer| is_counted(peer)) {
            let Some(interface) = peer.interface.as_ref().filter(|name| is_site_name(name)) else { continue };
            *counts.entry((interface, peer.address.is_ipv6())).or_default() += peer.connections;
        }
        let ((interface, is_ipv6), _) = counts.into_iter().max_by_key(|(_, connections)| *connections)?;
        Some(path(node, interface, is_ipv6))
    };
    settled(what, vote(storage, path), |path| path.link.clone(), findings)
}

/// Whether a site can have an interface by its name: a kernel allows more.
fn is_site_name(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_good)
}

/// The link below an interface, through VLANs and bridges, and the tunnel on the way.
fn path(node: &DiscoveredNode<'_>, interface: &str, is_ipv6: bool) -> Path {
    let machine = node.machine();
    if let Some(tunnel) = node.state.facts.tunnels.get(interface) {
        let link = fastest(machine).map_or_else(|| interface.to_owned(), |nic| nic.name.clone());
        return Path { link, tunnel: Some(tunnel.clone()), is_ipv6 };
    }
    let mut link = interface;
    for _ in 0..LAYERS_MAX {
        let below = machine.nics.iter().find(|nic| nic.name == link && nic.bond.is_none()).map(|nic| &nic.over);
        match below.map(Vec::as_slice) {
            Some([only]) => link = only,
            _ => break,
        }
    }
    Path { link: link.to_owned(), tunnel: None, is_ipv6 }
}

fn fastest_link(storage: &[DiscoveredNode<'_>]) -> String {
    let link = |node: &DiscoveredNode<'_>| {
        let machine = node.machine();
        let any = || machine.nics.iter().find(|nic| nic.name != "lo");
        fastest(machine).or_else(any).map(|nic| nic.name.clone())
    };
    vote(storage, link).map_or_else(|| "eth0".to_owned(), |vote| vote.value)
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
            let machine = node.machine();
            let own = machine.nics.iter().find(|nic| nic.name == plane.link)?;
            let own_speed = link_speed(machine, own)?;
            let others = machine.nics.iter().filter(|nic| is_link(machine, nic) && !used.contains(&nic.name.as_str()));
            let faster = others
                .filter(|nic| link_speed(machine, nic).is_some_and(|speed| speed as f64 >= own_speed as f64 * FASTER));
            let best = faster.max_by_key(|nic| link_speed(machine, nic))?;
            Some((own_speed, best.name.clone(), link_speed(machine, best)?))
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
        let nic = node.machine().nics.iter().find(|nic| nic.name == plane.link)?;
        Some(nic.mtu_bytes).filter(|mtu| *mtu > 0)
    };
    let what = format!("MTU of {}", plane.link);
    let mtu = settled(&what, vote(storage, mtu), u32::to_string, findings);
    entries.extend(mtu.map(|vote| read("mtu", &vote, &format!("/sys/class/net/{}/mtu", plane.link))));
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
