//! Members of bonds: by which of them flows leave, as the kernel's hash tells it, source ports that lead to one of
//! them, and what each carried.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use linerate_fleet::message_limits::printable;
use linerate_fleet::net_protocol::{NetRoundOrder, NetSendOrder};
use linerate_flows::{FlowEnds, FlowSource};
use linerate_host::Root;
use linerate_host::bonds::{BondNow, EgressInterface, MemberNow, bonds, neighbour_mac, way_out};
use linerate_model::bond::hash::{Addresses, Header, Packet, Rules, member, rules};
use linerate_model::bond::{Direction, MemberChoice, choice};
use linerate_record::net::{NET_MEMBERS_MAX, NetMember, NetMemberState, NetNoPrediction, NetOp, NetPredictedMembers};
use linerate_record::site::{BondMode, Kernel, TransmitHash};

use crate::run::source_addresses;

/// Source ports are chosen from here on, up to the last: what the kernel gives by itself as a rule, and no service's.
const SOURCE_PORTS_FROM: u16 = 1 << 15;
const SOURCE_PORTS: u16 = 1 << 15;

/// So many times as many ports as flows are tried, and so many more: others may have some of them.
const BIND_ATTEMPTS_FACTOR: usize = 8;
const BIND_ATTEMPTS_EXTRA: usize = 64;

/// Policies that look at the MAC address of the next hop.
const MAC_HASH_POLICIES: [&str; 3] = ["layer2", "layer2+3", "encap2+3"];

/// How long it may take until a neighbour answers.
const NEIGHBOUR_TIMEOUT: Duration = Duration::from_secs(1);

/// The bond by which flows to one machine leave.
pub(super) struct EgressBond {
    source: IpAddr,
    bond: String,
    mode: String,
    policy: Option<String>,
    /// Members that send, as the kernel counts them.
    members: Vec<String>,
    selector: MemberSelector,
}

/// What chooses the member of a packet.
struct MemberSelector {
    mode: Option<BondMode>,
    policy: Option<TransmitHash>,
    rules: Rules,
    source_mac: [u8; 6],
    destination_mac: Option<[u8; 6]>,
    /// Whether packets come to the bond without a VLAN's tag.
    is_untagged: bool,
}

/// What is known of flows to one machine before they are made.
pub(super) struct StreamAim {
    /// Its number in the run.
    pub(super) to: u32,
    /// Where its flows come from, where that is chosen.
    pub(super) source: Option<FlowSource>,
    leaving: Option<EgressBond>,
    aimed: Option<u32>,
    op: NetOp,
}

/// Finds the bond by which flows to a machine leave, and source ports that lead to the member that is asked for.
pub(super) fn stream_aim(root: &Root, order: &NetRoundOrder, to: &NetSendOrder) -> StreamAim {
    let leaving = egress_bond(root, to.address);
    let hit = order.member.zip(leaving.as_ref()).filter(|(_, leaving)| leaving.why(order.op).is_none());
    let aimed = hit.map(|(member, leaving)| member % leaving.count());
    let chosen =
        || hit.zip(aimed).map(|((_, leaving), member_index)| leaving.member_source(member_index, to, order.point));
    let source = match (&leaving, to.ports.as_slice()) {
        (_, []) => chosen(),
        (Some(leaving), ports) => Some(FlowSource { address: leaving.source, ports: ports.to_vec() }),
        (None, _) => None,
    };
    StreamAim { to: to.to, source, aimed, leaving, op: order.op }
}

impl StreamAim {
    /// What is told of it, once it is known which ports flows have.
    pub(super) fn net_aim(self, flows: &[FlowEnds]) -> Option<NetPredictedMembers> {
        let leaving = self.leaving?;
        // Connections are made all the time, from ports that the kernel gives.
        let flows: &[FlowEnds] = if self.op == NetOp::Connect { &[] } else { flows };
        let streams: Option<Vec<u32>> = flows.iter().map(|flow| leaving.member_index(self.op, flow)).collect();
        Some(NetPredictedMembers {
            why: leaving.why(self.op),
            bond: printable(&leaving.bond),
            mode: printable(&leaving.mode),
            policy: leaving.policy.as_deref().map(printable),
            members: leaving.members.iter().map(|name| printable(name)).collect(),
            aimed: self.aimed,
            streams: streams.unwrap_or_default(),
            ports: flows.iter().map(|flow| flow.source.port()).collect(),
        })
    }
}

fn egress_bond(root: &Root, to: SocketAddr) -> Option<EgressBond> {
    let source = source_addresses::source_toward(to)?;
    let interface = if_addrs::get_if_addrs().ok()?.into_iter().find(|of| of.ip() == source)?.name;
    let way = way_out(root, &interface)?;
    let bond = bonds(root).into_iter().find(|bond| bond.name == way.bond)?;
    let is_by_mac =
        bond.policy.as_deref().is_some_and(|policy| MAC_HASH_POLICIES.contains(&policy)) && is_hashing_mode(&bond.mode);
    let destination_mac = if is_by_mac { neighbour(root, &interface, to) } else { None };
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Some(egress_of_bond(bond, &way, source, destination_mac, kernel_version(&release)))
}

/// A mode by the driver's name.
fn bond_mode(name: &str) -> Option<BondMode> {
    serde_json::from_value(name.into()).ok()
}

/// Whether a mode chooses members by a hash.
fn is_hashing_mode(mode: &str) -> bool {
    bond_mode(mode).is_some_and(|mode| choice(mode, Direction::Egress) == MemberChoice::TransmitHash)
}

fn egress_of_bond(
    bond: BondNow,
    way: &EgressInterface,
    source: IpAddr,
    destination_mac: Option<[u8; 6]>,
    kernel: Option<Kernel>,
) -> EgressBond {
    // The driver keeps a policy in modes too that do not hash.
    let policy = bond.policy.filter(|_| is_hashing_mode(&bond.mode));
    let selector = MemberSelector {
        mode: bond_mode(&bond.mode),
        policy: policy.as_deref().and_then(|policy| serde_json::from_value(policy.into()).ok()),
        rules: rules(kernel),
        source_mac: way.source_mac,
        destination_mac,
        is_untagged: way.is_bond,
    };
    let sends = bond.members.into_iter().filter(|member| member.sends).take(NET_MEMBERS_MAX);
    let members = sends.map(|member| member.name).collect();
    EgressBond { source, bond: bond.name, mode: bond.mode, policy, members, selector }
}

/// The MAC address of a machine on an interface's own network. Where it is not known yet, a connection that says
/// nothing makes the kernel ask for it.
fn neighbour(root: &Root, interface: &str, to: SocketAddr) -> Option<[u8; 6]> {
    neighbour_mac(root, interface, to.ip()).or_else(|| {
        let _ = to.is_ipv4().then(|| TcpStream::connect_timeout(&to, NEIGHBOUR_TIMEOUT));
        neighbour_mac(root, interface, to.ip())
    })
}

/// The version of a release such as `6.12.48+deb13-amd64`.
fn kernel_version(release: &str) -> Option<Kernel> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some(Kernel { major: numbers.next()?.parse().ok()?, minor: numbers.next()?.parse().ok()? })
}

impl EgressBond {
    /// How many members send.
    fn count(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX).max(1)
    }

    /// Why source ports choose no member, or why it cannot be told by which one a flow leaves.
    fn why(&self, op: NetOp) -> Option<NetNoPrediction> {
        let Some(mode) = self.selector.mode.filter(|_| !self.members.is_empty()) else {
            return Some(NetNoPrediction::NotKnown);
        };
        match choice(mode, Direction::Egress) {
            MemberChoice::TransmitHash => self.selector.why(!op.is_of_datagrams()),
            MemberChoice::Turns => Some(NetNoPrediction::Turns),
            MemberChoice::Load => Some(NetNoPrediction::ByLoad),
            MemberChoice::None if mode == BondMode::Broadcast => Some(NetNoPrediction::Everywhere),
            MemberChoice::None => Some(NetNoPrediction::StandBy),
            MemberChoice::SwitchHash => Some(NetNoPrediction::NotKnown),
        }
    }

    /// The place of the member by which a flow leaves; none where that cannot be told.
    fn member_index(&self, op: NetOp, flow: &FlowEnds) -> Option<u32> {
        match self.why(op) {
            None | Some(NetNoPrediction::NoPorts) => self.selector.member_index(self.count(), flow),
            Some(NetNoPrediction::StandBy) => Some(0),
            Some(_) => None,
        }
    }

    /// Ports that lead to a member, more than there are flows. Another round begins at another one: those of the round
    /// before may not be free yet.
    fn member_source(&self, member_index: u32, to: &NetSendOrder, point: u32) -> FlowSource {
        let most = BIND_ATTEMPTS_FACTOR * to.streams as usize + BIND_ATTEMPTS_EXTRA;
        let first = (point.wrapping_mul(2_654_435_769) >> 17) as u16;
        let all = (0..SOURCE_PORTS).map(|step| SOURCE_PORTS_FROM + (first + step) % SOURCE_PORTS);
        let leads = |port: &u16| {
            let flow = FlowEnds { source: SocketAddr::new(self.source, *port), destination: to.address };
            self.selector.member_index(self.count(), &flow) == Some(member_index)
        };
        FlowSource { address: self.source, ports: all.filter(leads).take(most).collect() }
    }
}

impl MemberSelector {
    /// The same of modes that hash.
    fn why(&self, is_tcp: bool) -> Option<NetNoPrediction> {
        match self.policy {
            None => Some(NetNoPrediction::NotKnown),
            Some(TransmitHash::Encap34) if is_tcp => Some(NetNoPrediction::SocketHash),
            Some(TransmitHash::Layer34 | TransmitHash::Encap34) => None,
            Some(TransmitHash::VlanSrcMac) if !self.is_untagged => Some(NetNoPrediction::VlanTag),
            Some(TransmitHash::VlanSrcMac) => Some(NetNoPrediction::NoPorts),
            Some(TransmitHash::Layer2 | TransmitHash::Layer23 | TransmitHash::Encap23) => match self.destination_mac {
                Some(_) => Some(NetNoPrediction::NoPorts),
                None => Some(NetNoPrediction::NextHop),
            },
        }
    }

    /// The place of the member by which a flow leaves, of so many.
    fn member_index(&self, members: u32, flow: &FlowEnds) -> Option<u32> {
        let addresses = match (flow.source.ip().to_canonical(), flow.destination.ip().to_canonical()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4(source.octets(), destination.octets()),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6(source.octets(), destination.octets()),
            _ => return None,
        };
        let packet = Packet {
            source_mac: self.source_mac,
            destination_mac: self.destination_mac.unwrap_or_default(),
            vlan: None,
            outer: Header { addresses, ports: Some([flow.source.port(), flow.destination.port()]) },
            inner: None,
            socket_hash: None,
        };
        Some(member(self.policy?, self.rules, members, &packet))
    }
}

/// What members carried between two looks, and whether they sent all the time.
pub(super) fn member_traffic(before: &[BondNow], after: &[BondNow]) -> Vec<NetMember> {
    let of_bond = |after: &BondNow| -> Vec<NetMember> {
        let before = before.iter().find(|bond| bond.name == after.name);
        let was = |name: &str| before.and_then(|bond| bond.members.iter().find(|member| member.name == name));
        after.members.iter().map(|member| one_member_traffic(&after.name, was(&member.name), member)).collect()
    };
    let mut all: Vec<NetMember> = after.iter().flat_map(of_bond).collect();
    all.truncate(NET_MEMBERS_MAX);
    all
}

fn one_member_traffic(bond: &str, before: Option<&MemberNow>, after: &MemberNow) -> NetMember {
    let is_same = |before: &&MemberNow| {
        let counts_on = before.sent_bytes <= after.sent_bytes && before.received_bytes <= after.received_bytes;
        counts_on && before.sends == after.sends && before.failures == after.failures
    };
    let same = before.filter(is_same);
    let state = match same {
        Some(_) if after.sends => NetMemberState::Sends,
        Some(_) => NetMemberState::Idle,
        None => NetMemberState::Changed,
    };
    let since = |of: fn(&MemberNow) -> u64| before.map_or(0, |before| of(after).saturating_sub(of(before)));
    NetMember {
        bond: printable(bond),
        name: printable(&after.name),
        state,
        sent_bytes: since(|member| member.sent_bytes),
        received_bytes: since(|member| member.received_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member_now(name: &str, sends: bool) -> MemberNow {
        MemberNow { name: name.to_owned(), sends, failures: 1, sent_bytes: 1_000, received_bytes: 500 }
    }

    fn bond(mode: &str, policy: &str) -> BondNow {
        BondNow {
            name: "bond0".to_owned(),
            mode: mode.to_owned(),
            policy: Some(policy.to_owned()),
            members: vec![member_now("a0", true), member_now("a1", true), member_now("a2", false)],
        }
    }

    fn leaving_by(mode: &str, policy: &str, is_bond: bool, destination_mac: Option<[u8; 6]>) -> EgressBond {
        let way = EgressInterface { bond: "bond0".to_owned(), is_bond, source_mac: [2, 0, 0, 0, 0, 0x11] };
        let source = "10.0.0.1".parse().unwrap();
        egress_of_bond(bond(mode, policy), &way, source, destination_mac, kernel_version("6.12.48+deb13-amd64"))
    }

    const FAR: Option<[u8; 6]> = Some([2, 0, 0, 0, 0, 0x23]);
    const UDP: NetOp = NetOp::Udp { datagram_bytes: 1_472 };

    fn to(streams: u32) -> NetSendOrder {
        NetSendOrder { to: 1, address: "10.0.0.2:9000".parse().unwrap(), streams, ports: Vec::new() }
    }

    #[test]
    fn what_cannot_be_aimed_says_why() {
        let cases = [
            ("802.3ad", "layer3+4", true, FAR, NetOp::Stream, None),
            ("balance-xor", "layer3+4", false, None, NetOp::Stream, None),
            ("balance-xor", "layer2", true, FAR, NetOp::Stream, Some(NetNoPrediction::NoPorts)),
            ("balance-xor", "layer2+3", true, None, NetOp::Stream, Some(NetNoPrediction::NextHop)),
            ("802.3ad", "encap3+4", true, FAR, NetOp::Stream, Some(NetNoPrediction::SocketHash)),
            ("802.3ad", "encap3+4", true, FAR, UDP, None),
            ("802.3ad", "vlan+srcmac", false, FAR, NetOp::Stream, Some(NetNoPrediction::VlanTag)),
            ("802.3ad", "vlan+srcmac", true, FAR, NetOp::Stream, Some(NetNoPrediction::NoPorts)),
            ("active-backup", "layer2", true, FAR, NetOp::Stream, Some(NetNoPrediction::StandBy)),
            ("balance-rr", "layer2", true, FAR, NetOp::Stream, Some(NetNoPrediction::Turns)),
            ("balance-tlb", "layer2", true, FAR, NetOp::Stream, Some(NetNoPrediction::ByLoad)),
            ("broadcast", "layer2", true, FAR, NetOp::Stream, Some(NetNoPrediction::Everywhere)),
            ("802.3ad", "layer9", true, FAR, NetOp::Stream, Some(NetNoPrediction::NotKnown)),
            ("team", "layer2", true, FAR, NetOp::Stream, Some(NetNoPrediction::NotKnown)),
        ];
        for (mode, policy, is_bond, mac, op, why) in cases {
            let leaving = leaving_by(mode, policy, is_bond, mac);
            assert_eq!(leaving.why(op), why, "{mode} {policy}");
            assert_eq!(leaving.members, ["a0", "a1"], "a member that does not send is not counted");
        }
    }

    #[test]
    fn ports_lead_to_the_member_that_is_asked_for_and_others_come_next_time() {
        let leaving = leaving_by("802.3ad", "layer3+4", true, FAR);
        for member_index in [0, 1] {
            let source = leaving.member_source(member_index, &to(16), 3);
            assert_eq!(source.ports.len(), 16 * BIND_ATTEMPTS_FACTOR + BIND_ATTEMPTS_EXTRA);
            assert!(source.ports.iter().all(|port| *port >= SOURCE_PORTS_FROM));
            let ends = |port: u16| FlowEnds { source: (source.address, port).into(), destination: to(1).address };
            let stream_aim = StreamAim {
                to: 1,
                source: None,
                leaving: Some(leaving_by("802.3ad", "layer3+4", true, FAR)),
                aimed: Some(member_index),
                op: NetOp::Stream,
            };
            let flows: Vec<FlowEnds> = source.ports.iter().take(16).map(|port| ends(*port)).collect();
            let net_aim = stream_aim.net_aim(&flows).unwrap();
            assert_eq!(
                (net_aim.only(), net_aim.aimed, net_aim.streams.len()),
                (Some(member_index), Some(member_index), 16)
            );
            assert_eq!(net_aim.ports, source.ports[..16]);
            assert_eq!(net_aim.check(16), Ok(()));
        }
        assert_ne!(leaving.member_source(0, &to(1), 3).ports[0], leaving.member_source(0, &to(1), 4).ports[0]);
    }

    #[test]
    fn members_that_came_went_or_lost_their_link_have_changed() {
        let member = |name, sends, failures, sent_bytes| MemberNow { failures, sent_bytes, ..member_now(name, sends) };
        let before = BondNow {
            members: vec![
                member("same", true, 1, 10),
                member("down", false, 1, 10),
                member("blinked", true, 1, 10),
                member("fell", true, 1, 10),
                member("anew", true, 1, 10),
            ],
            ..bond("802.3ad", "layer2")
        };
        let after = BondNow {
            members: vec![
                member("same", true, 1, 30),
                member("down", false, 1, 10),
                member("blinked", true, 2, 15),
                member("fell", false, 2, 15),
                member("anew", true, 1, 5),
                member("new", true, 0, 5),
            ],
            ..before.clone()
        };
        let found: Vec<(NetMemberState, u64)> =
            member_traffic(&[before], &[after]).iter().map(|of| (of.state, of.sent_bytes)).collect();
        let (sends, rests, changed) = (NetMemberState::Sends, NetMemberState::Idle, NetMemberState::Changed);
        assert_eq!(found, [(sends, 20), (rests, 0), (changed, 5), (changed, 5), (changed, 0), (changed, 0)]);
        assert_eq!(member_traffic(&[bond("802.3ad", "layer2")], &[]), []);
    }

    #[test]
    fn a_release_begins_with_its_version() {
        assert_eq!(kernel_version("6.12.48+deb13-amd64"), Some(Kernel { major: 6, minor: 12 }));
        assert_eq!(kernel_version("5.4-rc1"), Some(Kernel { major: 5, minor: 4 }));
        assert_eq!((kernel_version("6"), kernel_version("")), (None, None));
    }
}
