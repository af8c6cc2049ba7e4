//! The networks of a lab, as lines of `ip -batch`: a switch a plane, and with racks one a rack below it.

use std::net::Ipv4Addr;

use crate::names::{LabName, Machine, machines};
use crate::spec::{LabSpec, Plane, PlaneSpec};

/// Interface of a machine through VXLAN.
const OVERLAY: &str = "vxlan0";

/// What VXLAN over IPv4 puts around a packet.
const VXLAN_BYTES: u32 = 50;

/// Where a machine's packets of a plane are addressed to.
fn address_interface(plane: Plane, spec: PlaneSpec) -> &'static str {
    if spec.vxlan { OVERLAY } else { plane.interface() }
}

/// The switch's end of an uplink, and the rack's.
fn uplink_ports(plane: Plane, rack: u32) -> [String; 2] {
    [format!("s{rack}-{}", plane.interface()), format!("u{rack}-{}", plane.interface())]
}

/// Ports on which uplinks are shaped: each sends one way.
#[must_use]
pub fn shaped_uplinks(spec: &LabSpec) -> Vec<String> {
    let racks = if spec.racks() > 1 && spec.rack_uplink_bits_per_s.is_some() { spec.racks() } else { 0 };
    let planes: Vec<Plane> = spec.planes().map(|(plane, _)| plane).collect();
    planes.iter().flat_map(|plane| (1..=racks).flat_map(|rack| uplink_ports(*plane, rack))).collect()
}

/// The bridge that a machine's port is on: its rack's, or the plane's.
fn bridge(spec: &LabSpec, machine: Machine, plane: Plane) -> String {
    match machine {
        Machine::Node(_) if spec.racks() > 1 => rack_bridge(plane, spec.nodes[machine.index()].rack),
        _ => plane.to_string(),
    }
}

fn rack_bridge(plane: Plane, rack: u32) -> String {
    format!("r{rack}-{}", plane.interface())
}

/// Where a neighbour sends to: the switch of the public plane, which throws it away.
#[must_use]
pub const fn sink_address() -> Ipv4Addr {
    Ipv4Addr::new(10, 231, 3, 1)
}

/// Lines for the namespace of the switches, in which ports of machines come to be.
#[must_use]
pub fn switch_lines(spec: &LabSpec) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    for (plane, of_plane) in spec.planes() {
        let mtu = of_plane.mtu_bytes;
        let bridge = |name: &str| [format!("link add {name} type bridge"), format!("link set {name} mtu {mtu} up")];
        lines.extend(bridge(&plane.to_string()));
        for rack in (1..=spec.racks()).filter(|_| spec.racks() > 1) {
            let name = rack_bridge(plane, rack);
            lines.extend(bridge(&name));
            let [of_spine, of_rack] = uplink_ports(plane, rack);
            lines.push(format!("link add {of_spine} mtu {mtu} type veth peer name {of_rack} mtu {mtu}"));
            lines.push(format!("link set {of_spine} master {plane} up"));
            lines.push(format!("link set {of_rack} master {name} up"));
        }
    }
    lines.push(format!("address add {}/16 dev {}", sink_address(), Plane::Public));
    lines
}

/// Lines for the namespace of a machine: its interfaces, each by a cable to its switch, and its addresses.
#[must_use]
pub fn machine_lines(lab: &LabName, spec: &LabSpec, machine: Machine) -> Vec<String> {
    let mut lines = vec!["link set lo up".to_owned()];
    let switch = lab.switch_namespace();
    for (plane, of_plane) in spec.planes().filter(|(plane, _)| machine.planes(spec).any(|has| has == *plane)) {
        let (interface, mtu) = (plane.interface(), of_plane.mtu_bytes);
        let cables = machine.cables(spec, plane);
        for [own, port] in &cables {
            lines.push(format!("link add {own} mtu {mtu} type veth peer name {port} mtu {mtu} netns {switch}"));
        }
        if let Some(bond) = machine.bond(spec, plane) {
            let members = cables.iter().map(|[own, _]| own);
            lines.extend(bond_lines(interface, mtu, &bond.node_end(), members));
        }
        lines.push(format!("link set {interface} up"));
        let address = machine.address(plane);
        if of_plane.vxlan {
            let mtu = mtu - VXLAN_BYTES;
            lines.push(format!("address add {}/16 dev {interface}", underlay(address)));
            lines.push(format!(
                "link add {OVERLAY} mtu {mtu} type vxlan id 231 group 239.231.0.1 dev {interface} dstport 4789 ttl 2"
            ));
            lines.push(format!("link set {OVERLAY} up"));
        }
        lines.push(format!("address add {address}/16 dev {}", address_interface(plane, of_plane)));
    }
    lines
}

/// Lines that make cables a bond: a member is down while it becomes one.
fn bond_lines<'a>(name: &str, mtu: u32, made_with: &str, members: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut lines = vec![format!("link add {name} mtu {mtu} {made_with}")];
    lines.extend(
        members.flat_map(|member| [format!("link set {member} master {name}"), format!("link set {member} up")]),
    );
    lines
}

/// The address of the same machine below an overlay.
fn underlay(address: Ipv4Addr) -> Ipv4Addr {
    let [_, _, kind, number] = address.octets();
    Ipv4Addr::new(10, 233, kind, number)
}

/// Lines for the namespace of the switches once the cables of all machines are there.
#[must_use]
pub fn port_lines(spec: &LabSpec) -> Vec<String> {
    let ports = machines(spec).flat_map(|machine| machine.planes(spec).map(move |plane| (machine, plane)));
    let of_port = |(machine, plane): (Machine, Plane)| {
        let (port, cables) = (machine.port(plane), machine.cables(spec, plane));
        let mtu = spec.planes().find(|(of, _)| *of == plane).map_or(1500, |(_, of_plane)| of_plane.mtu_bytes);
        let bond = machine.bond(spec, plane).map_or_else(Vec::new, |bond| {
            bond_lines(&port, mtu, &bond.switch_end(), cables.iter().map(|[_, of_switch]| of_switch))
        });
        bond.into_iter().chain([format!("link set {port} master {} up", bridge(spec, machine, plane))])
    };
    ports.flat_map(of_port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonds::BondSpec;
    use crate::spec::tests::uniform;

    #[test]
    fn machines_are_on_the_bridge_of_their_rack_and_clients_on_the_spine() {
        let mut spec = uniform(4, 1);
        spec.nodes[2].rack = 2;
        spec.rack_uplink_bits_per_s = Some(1e8);
        spec.private = Some(PlaneSpec { mtu_bytes: 9000, vxlan: false });
        let lines = port_lines(&spec);
        for line in [
            "link set n1-eth0 master r1-eth0 up",
            "link set n3-eth0 master r2-eth0 up",
            "link set n3-eth1 master r2-eth1 up",
            "link set c1-eth0 master public up",
        ] {
            assert!(lines.iter().any(|other| other == line), "{line}: {lines:?}");
        }
        assert_eq!(lines.len(), 9, "nodes are on two planes, and the client on one");
        assert_eq!(shaped_uplinks(&spec).len(), 8);
        let switch = switch_lines(&spec).join("\n");
        assert!(switch.contains("link add s2-eth1 mtu 9000 type veth peer name u2-eth1 mtu 9000"), "{switch}");
    }

    #[test]
    fn a_link_of_several_ports_is_a_bond_at_both_ends() {
        let mut spec = uniform(2, 1);
        spec.nodes[1].public_bond = Some(BondSpec::lacp(2));
        let own = machine_lines(&"lab".parse().unwrap(), &spec, Machine::Node(2)).join("\n");
        for line in [
            "link add eth0p2 mtu 1500 type veth peer name n2-eth0p2 mtu 1500 netns lab-switch",
            "link add eth0 mtu 1500 type bond miimon 100 mode 802.3ad lacp_rate fast xmit_hash_policy layer3+4",
            "link set eth0p1 master eth0",
            "address add 10.231.1.2/16 dev eth0",
        ] {
            assert!(own.lines().any(|other| other == line), "{line}: {own}");
        }
        let ports = port_lines(&spec).join("\n");
        assert!(ports.contains("link set n2-eth0p2 master n2-eth0\n"), "{ports}");
        assert!(ports.contains("link set n2-eth0 master public up"), "{ports}");
        assert!(!ports.contains("n1-eth0p1"), "the first node has one port: {ports}");
        let longest = Machine::Node(64).cables(&spec, Plane::Private);
        assert!(longest[0][1].len() < 16, "a name of an interface");
    }

    #[test]
    fn an_overlay_has_the_address_and_room_for_its_headers() {
        let mut spec = uniform(2, 1);
        spec.public.vxlan = true;
        let lines = machine_lines(&"lab".parse().unwrap(), &spec, Machine::Node(2)).join("\n");
        assert!(lines.contains("address add 10.233.1.2/16 dev eth0"), "{lines}");
        assert!(lines.contains("link add vxlan0 mtu 1450 type vxlan"), "{lines}");
        assert!(lines.ends_with("address add 10.231.1.2/16 dev vxlan0"), "{lines}");
    }
}
