//! Where flows go: which of a bundle's members each takes.

use linerate_record::rng::SeededRng;
use linerate_record::site::{Bond, BondMode, Encapsulation, IpVersion, Kernel, Plane, SwitchHash, TransmitHash};

use crate::bond::hash::{Addresses, Header, Packet, Rules, member, rules};
use crate::bond::{Direction, MemberChoice, choice};

/// Where a storage server listens; the other port is the connection's own.
const SERVICE_PORT: u16 = 9000;
/// Linux's `ip_local_port_range`, by default. `connect` gives even ones first (`__inet_hash_connect`, since 4.2).
const LOCAL_PORTS: (u16, u16) = (32_768, 60_999);
/// Ports of VXLAN (RFC 7348) and WireGuard; the latter is the same at both ends.
const VXLAN_PORT: u16 = 4789;
const WIREGUARD_PORT: u16 = 51_820;

/// How MAC addresses come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MacAssignment {
    /// As vendors number cards: unrelated to anything.
    Vendor,
    /// From the IP address, as OVN-Kubernetes makes those of its ports (`0a:58` and the IPv4 address).
    FromIp,
}

/// Who is at the other end of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peers {
    /// How many, by IP address.
    pub count: u32,
    /// Whether they are behind a router, so that frames to and from them all bear the router's MAC address.
    pub routed: bool,
    /// How MAC addresses come about, at both ends.
    pub macs: MacAssignment,
}

/// How members are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MemberSelection {
    One,
    /// Packets take turns: all members evenly, whatever the flows.
    Turns,
    /// Each flow by itself, at random.
    PerFlow,
    /// All flows of a peer together, peers at random.
    PerPeer(u32),
    /// Dealt out evenly: each flow, or with a number of peers all flows of a peer together.
    Dealt(Option<u32>),
    /// By a transmit hash of the kernel.
    Hashed(Hashing),
}

/// What a transmit hash is fed with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hashing {
    pub policy: TransmitHash,
    /// The kernel; a current one where it is not known.
    pub kernel: Option<Kernel>,
    /// What packets are put into before they reach the bond.
    pub encapsulation: Encapsulation,
    /// Version of IP that connections use.
    pub ip: IpVersion,
    pub peers: Peers,
}

/// How members are chosen, and why so.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub choosing: MemberSelection,
    /// Why, in one sentence without a full stop.
    pub why: &'static str,
}

impl MemberSelection {
    /// Peers whose flows stay together, 0 where that does not matter.
    #[must_use]
    pub const fn peers(&self) -> u32 {
        match self {
            Self::PerPeer(peers) | Self::Dealt(Some(peers)) => *peers,
            Self::Hashed(hashing) => hashing.peers.count,
            _ => 0,
        }
    }

    /// The flow from which on another takes no member that is not taken; absent where each flow may.
    #[must_use]
    pub const fn distinct_flows(&self) -> Option<u32> {
        match self {
            Self::One => Some(1),
            Self::PerPeer(peers) | Self::Dealt(Some(peers)) => Some(*peers),
            Self::Hashed(hashing) => distinct_flows(hashing.policy, hashing.encapsulation, hashing.peers),
            Self::Turns | Self::PerFlow | Self::Dealt(None) => None,
        }
    }

    /// Members that flows reach at the most, however many there are: no more than groups of flows that are told apart.
    #[must_use]
    pub fn reach(&self, members: u32) -> u32 {
        self.distinct_flows().map_or(members, |groups| groups.max(1).min(members))
    }
}

const fn placement(choosing: MemberSelection, why: &'static str) -> Placement {
    Placement { choosing, why }
}

/// Whether a hash over ports tells flows of two nodes apart, outside of the tunnel.
const fn has_ports_outside(encapsulation: Encapsulation) -> bool {
    match encapsulation {
        Encapsulation::None | Encapsulation::Vxlan | Encapsulation::Geneve => true,
        Encapsulation::Wireguard | Encapsulation::Ipip => false,
    }
}

/// What a policy tells apart: flows, or so many groups of them.
const fn distinct_flows(policy: TransmitHash, encapsulation: Encapsulation, peers: Peers) -> Option<u32> {
    match policy {
        TransmitHash::VlanSrcMac => Some(1),
        TransmitHash::Layer2 if peers.routed => Some(1),
        TransmitHash::Layer34 if has_ports_outside(encapsulation) => None,
        TransmitHash::Encap34 => None,
        _ => Some(peers.count),
    }
}

/// How a node chooses members of a bond for what it sends.
#[must_use]
pub fn egress(bond: &Bond, kernel: Option<Kernel>, plane: &Plane, peers: Peers) -> Placement {
    let policy = bond.transmit_hash;
    match choice(bond.mode, Direction::Egress) {
        MemberChoice::None => one_member(bond.mode, Direction::Egress),
        MemberChoice::Turns => {
            placement(MemberSelection::Turns, "balance-rr sends packets in turn: all members, but out of order")
        }
        MemberChoice::Load => {
            let together = if bond.mode == BondMode::BalanceAlb {
                Some(peers.count)
            } else {
                distinct_flows(policy, plane.encapsulation, peers)
            };
            placement(
                MemberSelection::Dealt(together),
                "the driver distributes destinations over members by their load",
            )
        }
        MemberChoice::TransmitHash | MemberChoice::SwitchHash => {
            let Plane { encapsulation, ip, .. } = *plane;
            let hashing = Hashing { policy, kernel, encapsulation, ip, peers };
            placement(MemberSelection::Hashed(hashing), why_hashed(&hashing))
        }
    }
}

/// How the switch chooses members of a bond for what a node receives.
#[must_use]
pub fn ingress(bond: &Bond, plane: &Plane, peers: Peers) -> Placement {
    match choice(bond.mode, Direction::Ingress) {
        MemberChoice::None => one_member(bond.mode, Direction::Ingress),
        MemberChoice::Load if peers.routed || plane.ip == IpVersion::V6 => placement(
            MemberSelection::One,
            "balance-alb balances received traffic by ARP: not IPv6, and not traffic from a router",
        ),
        MemberChoice::Load => placement(
            MemberSelection::Dealt(Some(peers.count)),
            "balance-alb answers ARP with each member in turn, so that each peer has one",
        ),
        _ => switched(bond.switch_hash, plane, peers),
    }
}

/// How a switch chooses among equal-cost paths, or members of a bond, for the traffic between `peers` and a node.
///
/// Its hash and seed are its own, so that which member it takes is random; what of a flow it hashes is not.
#[must_use]
pub fn switched(hash: SwitchHash, plane: &Plane, peers: Peers) -> Placement {
    match hash {
        SwitchHash::L2 if peers.routed => placement(
            MemberSelection::One,
            "the switch hashes MAC addresses, and all traffic has the router's: one member, always",
        ),
        SwitchHash::L2 => {
            placement(MemberSelection::PerPeer(peers.count), "the switch hashes MAC addresses: each peer one member")
        }
        SwitchHash::L3 => {
            placement(MemberSelection::PerPeer(peers.count), "the switch hashes IP addresses: each peer one member")
        }
        SwitchHash::L4 if !has_ports_outside(plane.encapsulation) => placement(
            MemberSelection::PerPeer(peers.count),
            "the switch hashes ports, but all packets of the tunnel have the same: each peer one member",
        ),
        SwitchHash::L4 => {
            placement(MemberSelection::PerFlow, "the switch hashes addresses and ports: each flow one member")
        }
    }
}

fn one_member(mode: BondMode, direction: Direction) -> Placement {
    let why = match (mode, direction) {
        (BondMode::ActiveBackup, _) => "active-backup uses one member",
        (BondMode::Broadcast, _) => "broadcast sends everything on every member: no more than one's worth",
        _ => "balance-tlb receives on one member",
    };
    placement(MemberSelection::One, why)
}

/// One sentence on what a policy makes of this traffic.
fn why_hashed(hashing: &Hashing) -> &'static str {
    let Hashing { policy, encapsulation, ip, peers, .. } = *hashing;
    let in_tunnel = encapsulation != Encapsulation::None;
    match policy {
        TransmitHash::VlanSrcMac => "vlan+srcmac hashes the node's own MAC address: one member, always",
        TransmitHash::Layer2 if peers.routed => {
            "layer2 hashes MAC addresses, and all traffic goes to the router's: one member, always"
        }
        TransmitHash::Layer2 if peers.count == 1 => {
            "layer2 hashes MAC addresses, and there is one peer: one member, always"
        }
        TransmitHash::Layer2 => "layer2 hashes the last bytes of MAC addresses: each peer one member",
        TransmitHash::Layer23 | TransmitHash::Encap23
            if peers.macs == MacAssignment::FromIp && !peers.routed && ip == IpVersion::V4 =>
        {
            "MAC addresses made from IP addresses cancel those in layer2+3: peers of one /24 share a member"
        }
        TransmitHash::Layer23 | TransmitHash::Encap23 if peers.count == 1 => {
            "layer2+3 hashes addresses, and there is one peer: one member, always"
        }
        TransmitHash::Layer23 | TransmitHash::Encap23 => "layer2+3 hashes addresses: each peer one member",
        TransmitHash::Layer34 if !has_ports_outside(encapsulation) => {
            "layer3+4 hashes ports, but all packets of the tunnel have the same: each peer one member"
        }
        TransmitHash::Layer34 if in_tunnel => {
            "layer3+4 hashes the tunnel's UDP source port, which follows from the flow: each flow one member"
        }
        TransmitHash::Layer34 => "layer3+4 hashes addresses and ports: each flow one member",
        TransmitHash::Encap34 => "encap3+4 takes the hash of the TCP socket, random for each connection",
    }
}

/// Flows being placed one by one, round after round. Peers have them in turn.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    choosing: MemberSelection,
    members: u32,
    /// The next flow of this round.
    next: u32,
    /// Of peers whose flows share a member: the member of each that has had a flow.
    taken: Vec<u32>,
    /// Of hashed placements, what this round's packets have in common, and a packet to each peer that has had a flow,
    /// without what differs by flow.
    node: Option<Node>,
    packets: Vec<Packet>,
}

/// What packets of one round have in common.
#[derive(Clone, Copy, Debug)]
struct Node {
    rules: Rules,
    /// The first of the peers' addresses, one of which is this node's own.
    first: u32,
    own: u32,
    own_mac: [u8; 6],
    router: [u8; 6],
}

impl Placing {
    pub(super) const fn new(choosing: MemberSelection, members: u32) -> Self {
        Self { choosing, members, next: 0, taken: Vec::new(), node: None, packets: Vec::new() }
    }

    pub(super) fn begin(&mut self, rng: &mut SeededRng) {
        self.next = 0;
        self.taken.clear();
        self.packets.clear();
        if let MemberSelection::Hashed(hashing) = &self.choosing {
            self.node = Some(node(hashing, rng));
        }
    }

    /// The member of one more flow.
    pub(super) fn place(&mut self, rng: &mut SeededRng) -> u32 {
        let (flow, members) = (self.next, self.members);
        self.next += 1;
        match self.choosing {
            MemberSelection::One => 0,
            MemberSelection::Turns | MemberSelection::Dealt(None) => flow % members,
            MemberSelection::Dealt(Some(peers)) => flow % peers.max(1) % members,
            MemberSelection::PerFlow => rng.below_u32(members),
            MemberSelection::PerPeer(peers) => {
                let peer = flow % peers.max(1);
                if peer as usize == self.taken.len() {
                    self.taken.push(rng.below_u32(members));
                }
                self.taken[peer as usize]
            }
            MemberSelection::Hashed(hashing) => self.hashed(&hashing, flow, rng),
        }
    }

    fn hashed(&mut self, hashing: &Hashing, flow: u32, rng: &mut SeededRng) -> u32 {
        let node = *self.node.get_or_insert_with(|| node(hashing, rng));
        let peer = (flow % hashing.peers.count.max(1)) as usize;
        if peer == self.packets.len() {
            self.packets.push(packet(hashing, &node, peer as u32, rng));
        }
        let packet = &mut self.packets[peer];
        give_flow(packet, hashing, rng);
        member(hashing.policy, node.rules, self.members, packet)
    }
}

/// Nodes' addresses are neighbours; where they start, and which of them is this node, is random.
fn node(hashing: &Hashing, rng: &mut SeededRng) -> Node {
    let count = hashing.peers.count.max(1);
    // Up to 253 of them fit one /24 without its first and last address.
    let first = (rng.below_u32(250) << 8) + 1 + rng.below_u32(254_u32.saturating_sub(count).max(1));
    let own = first + rng.below_u32(count + 1);
    let own_mac = mac(hashing.peers.macs, own, rng);
    Node { rules: rules(hashing.kernel), first, own, own_mac, router: mac(MacAssignment::Vendor, 0, rng) }
}

/// A packet from this node to a peer.
fn packet(hashing: &Hashing, node: &Node, peer: u32, rng: &mut SeededRng) -> Packet {
    let own = node.own;
    let host = node.first + peer + u32::from(node.first + peer >= own);
    let nodes = Header { addresses: addresses(IpVersion::V4, own, host), ports: None };
    let pods = Header { addresses: addresses(hashing.ip, own, host), ports: None };
    let (outer, inner) = match hashing.encapsulation {
        Encapsulation::None => (pods, None),
        Encapsulation::Ipip => (nodes, Some(pods)),
        Encapsulation::Vxlan | Encapsulation::Geneve | Encapsulation::Wireguard => (nodes, None),
    };
    let peer_mac = mac(hashing.peers.macs, host, rng);
    let destination_mac = if hashing.peers.routed { node.router } else { peer_mac };
    Packet { source_mac: node.own_mac, destination_mac, vlan: None, outer, inner, socket_hash: None }
}

/// Ports of another flow, and the hash of its socket.
fn give_flow(packet: &mut Packet, hashing: &Hashing, rng: &mut SeededRng) {
    let random = rng.bits();
    let range = u64::from(LOCAL_PORTS.1 - LOCAL_PORTS.0);
    let local = LOCAL_PORTS.0 + (random % range) as u16;
    let connection = [SERVICE_PORT, local & !1];
    match hashing.encapsulation {
        Encapsulation::None => packet.outer.ports = Some(connection),
        Encapsulation::Vxlan | Encapsulation::Geneve => packet.outer.ports = Some([local, VXLAN_PORT]),
        Encapsulation::Wireguard => packet.outer.ports = Some([WIREGUARD_PORT; 2]),
        Encapsulation::Ipip => packet.inner.iter_mut().for_each(|inner| inner.ports = Some(connection)),
    }
    packet.socket_hash = Some((random >> 32) as u32);
}

fn mac(macs: MacAssignment, host: u32, rng: &mut SeededRng) -> [u8; 6] {
    let [_, b, c, d] = host.to_be_bytes();
    let [e, f, g, ..] = rng.bits().to_be_bytes();
    match macs {
        MacAssignment::Vendor => [0x02, 0, 0, e, f, g],
        MacAssignment::FromIp => [0x0a, 0x58, 10, b, c, d],
    }
}

fn addresses(ip: IpVersion, source: u32, destination: u32) -> Addresses {
    let v4 = |host: u32| {
        let [_, b, c, d] = host.to_be_bytes();
        [10, b, c, d]
    };
    let v6 = |host: u32| {
        let mut address = [0xfd; 16];
        address[12..].copy_from_slice(&host.to_be_bytes());
        address
    };
    match ip {
        IpVersion::V4 => Addresses::V4(v4(source), v4(destination)),
        IpVersion::V6 => Addresses::V6(v6(source), v6(destination)),
    }
}
