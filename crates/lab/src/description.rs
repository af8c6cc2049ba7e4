//! A lab as a site file and as a fleet file, by which all other verbs take it.

use std::fmt::Write as _;

use crate::engine::{EngineSpec, LabEngine};
use crate::folder::LabRecord;
use crate::names::{Machine, machines};
use crate::spec::{DriveSpec, LabSpec, NodeSpec, Plane, PlaneSpec};

/// A token bucket counts a packet with its Ethernet header of 14 bytes. On a wire, a checksum, the preamble and the gap
/// come with each, 38 bytes in all, and a link's speed is stated of all that.
const COUNTED_BYTES: f64 = 14.0;
const ON_WIRE_BYTES: f64 = 38.0;

/// What a drive without a limit is described with: nothing that binds.
const UNLIMITED_BYTES_PER_S: f64 = 4e9;
/// The same of a link.
const UNLIMITED_BITS_PER_S: f64 = 1e11;

/// Drives of 4 MiB objects and larger are sequential; a limit of operations is stated as it is.
const UNLIMITED_IOPS: f64 = 500_000.0;

fn speed_bits_per_s(rate_bits_per_s: f64, plane: PlaneSpec) -> f64 {
    let mtu = f64::from(plane.mtu_bytes);
    rate_bits_per_s * (mtu + ON_WIRE_BYTES) / (mtu + COUNTED_BYTES)
}

/// The site file of a lab.
#[must_use]
pub fn site(record: &LabRecord) -> String {
    let spec = &record.spec;
    let mut text = format!(
        "# The lab {0}: what limits it has, as linerate lab made them. A shaped link carries the frames of a wire\n\
         # that is 1.6 % faster at an MTU of 1500: its speed counts the preamble, the checksum and the gap of each.\n\
         name: {0}\nnodes:\n",
        record.name
    );
    let kinds = kinds(spec);
    for (number, kind) in kinds.iter().enumerate() {
        text.push_str(&node_kind(spec, kind, &kinds[..number]));
    }
    text.push_str("planes:\n");
    for (plane, of_plane) in spec.planes() {
        let around = if of_plane.vxlan { ", encapsulation: vxlan" } else { "" };
        let _ = writeln!(text, "  {plane}: {{link: {}, mtu: {}{around}}}", plane.interface(), of_plane.mtu_bytes);
    }
    if let Some(rate) = spec.rack_uplink_bits_per_s.filter(|_| spec.racks() > 1) {
        let _ = writeln!(text, "fabric: {{rack_uplinks: {}}}", bits(speed_bits_per_s(rate, spec.public)));
    }
    let rate = spec.clients.iter().filter_map(|client| client.bits_per_s).next();
    let speed = rate.map_or(UNLIMITED_BITS_PER_S, |rate| speed_bits_per_s(rate, spec.public));
    let mtu = spec.public.mtu_bytes;
    let _ = writeln!(text, "clients: {{count: {}, speed: {}, mtu: {mtu}}}", spec.clients.len(), bits(speed));
    text.push_str("entry: client-side\n");
    let engine = |of: &EngineSpec| engine(of, of.copies(spec));
    let _ = writeln!(text, "engine: {}", record.engine.as_ref().map_or("minio".to_owned(), engine));
    text.push_str("data: {object_size: 4MiB}\n");
    text
}

fn engine(of: &EngineSpec, copies: u32) -> String {
    match of.product {
        LabEngine::Minio => {
            let protection = of.parity.map_or(String::new(), |parity| format!(", protection: EC:{parity}"));
            format!("{{product: minio{protection}, tls: false, internal_tls: false}}")
        }
        LabEngine::Garage => format!("{{product: garage, protection: {copies}x, tls: false}}"),
    }
}

/// Nodes of a kind, which are one after another and all alike.
fn kinds(spec: &LabSpec) -> Vec<&[NodeSpec]> {
    spec.nodes.chunk_by(|a, b| NodeSpec { rack: b.rack, ..a.clone() } == *b).collect()
}

fn node_kind(spec: &LabSpec, nodes: &[NodeSpec], before: &[&[NodeSpec]]) -> String {
    let node = &nodes[0];
    let racks = nodes.iter().map(|node| node.rack).max().unwrap_or(1) - node.rack + 1;
    // Kinds of one name that differ by more than their rack have a number.
    let alike = before.iter().filter(|kind| kind[0].kind == node.kind).count();
    let name = if alike == 0 { node.kind.clone() } else { format!("{}-{}", node.kind, alike + 1) };
    let cores = node.cores.map_or(2, |cores| cores.ceil().max(1.0) as u32);
    let mut text = format!("  - name: {name}\n    count: {}\n    racks: {racks}\n", nodes.len());
    let _ = writeln!(text, "    sockets: 1\n    cores: {cores}\n    memory: 8GiB");
    if !node.drives.is_empty() {
        text.push_str("    drives:\n");
        let drives: Vec<&[DriveSpec]> = node.drives.chunk_by(PartialEq::eq).collect();
        drives.iter().for_each(|alike| text.push_str(&drive_kind(alike)));
    }
    text.push_str("    nics:\n");
    let mut bonds = String::new();
    for (plane, of_plane) in spec.planes() {
        let rate = match plane {
            Plane::Public => node.public_bits_per_s,
            Plane::Private => node.private_bits_per_s,
        };
        let (link, ports) = (plane.interface(), node.bond(plane).map_or(1, |bond| bond.ports));
        let speed = rate.map_or(UNLIMITED_BITS_PER_S, |rate| speed_bits_per_s(rate, of_plane)) / f64::from(ports);
        let nic = if ports > 1 { format!("{link}p") } else { link.to_owned() };
        let _ = writeln!(text, "      - {{name: {nic}, ports: {ports}, speed: {}, lanes: 16}}", bits(speed));
        if let Some(bond) = node.bond(plane) {
            let _ = writeln!(bonds, "      - {{name: {link}, nics: {nic}, {}}}", bond.site_keys());
        }
    }
    if !bonds.is_empty() {
        let _ = write!(text, "    bonds:\n{bonds}");
    }
    text
}

fn drive_kind(alike: &[DriveSpec]) -> String {
    let DriveSpec { size_bytes, limits } = alike[0];
    let rate = |limit: Option<f64>| format!("{:.0}B/s", limit.unwrap_or(UNLIMITED_BYTES_PER_S));
    let iops = |limit: Option<f64>| format!("{:.0}", limit.unwrap_or(UNLIMITED_IOPS));
    format!(
        "      - {{count: {}, capacity: {:.0}MiB, read: {}, write: {}, read_iops: {}, write_iops: {}, lanes: 0}}\n",
        alike.len(),
        size_bytes as f64 / f64::from(1 << 20),
        rate(limits.read_bytes_per_s),
        rate(limits.write_bytes_per_s),
        iops(limits.read_iops),
        iops(limits.write_iops),
    )
}

fn bits(rate: f64) -> String {
    format!("{}Mb/s", (rate / 1e3).round() / 1e3)
}

/// The fleet file of a lab: each machine by its namespace.
#[must_use]
pub fn fleet(record: &LabRecord) -> String {
    let row = |machine: Machine| {
        let role = match machine {
            Machine::Node(_) => "storage",
            Machine::Client(_) => "client",
        };
        let rack = machine.node(&record.spec).map_or(String::new(), |node| format!(", rack: rack{}", node.rack));
        format!("  - {{name: {machine}, role: {role}, reach: 'netns://{}'{rack}}}\n", record.name.namespace(machine))
    };
    format!("nodes:\n{}", machines(&record.spec).map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use linerate_record::site::{BondMode, Protection};

    use super::*;
    use crate::bonds::BondSpec;
    use crate::folder::LAB_SCHEMA;
    use crate::spec::DriveLimits;
    use crate::spec::tests::uniform;

    fn record(spec: LabSpec) -> LabRecord {
        let engine = EngineSpec { product: LabEngine::Minio, binary: "minio".into(), parity: Some(2) };
        let name = "lab".parse().unwrap();
        LabRecord {
            schema: LAB_SCHEMA,
            name,
            id: "0123".to_owned(),
            spec,
            engine: Some(engine),
            drives: Vec::new(),
            makes_names_folder: false,
            scaled: None,
        }
    }

    #[test]
    fn the_site_file_says_what_the_lab_is() {
        let mut spec = uniform(6, 2);
        spec.private = Some(PlaneSpec { mtu_bytes: 9000, vxlan: false });
        for (number, node) in (0_u32..).zip(&mut spec.nodes) {
            (node.rack, node.private_bits_per_s) = (1 + number / 2, Some(1e8));
            let limits = DriveLimits { write_bytes_per_s: Some(5e6), write_iops: Some(70.0), ..DriveLimits::default() };
            node.drives.iter_mut().for_each(|drive| drive.limits = limits);
        }
        spec.rack_uplink_bits_per_s = Some(3e8);
        let site = linerate_site::read(&site(&record(spec)), "site.yaml").unwrap_or_else(|error| panic!("{error}"));
        let [group] = &site.groups[..] else { panic!("{:?}", site.groups) };
        assert_eq!((group.count, group.racks, group.drives[0].count, group.nics.len()), (6, 3, 2, 2));
        assert_eq!((group.drives[0].write_bytes_per_s, group.drives[0].write_iops), (5e6, 70.0));
        // 1500 bytes are 1514 to the token bucket, and 1538 on a wire.
        assert!((group.nics[0].speed_bits_per_s / 2e8 - 1538.0 / 1514.0).abs() < 1e-5, "{:?}", group.nics);
        assert!((group.nics[1].speed_bits_per_s / 1e8 - 9038.0 / 9014.0).abs() < 1e-5, "{:?}", group.nics);
        assert_eq!(site.planes.private.as_ref().map(|plane| plane.mtu_bytes), Some(9000));
        assert!(site.fabric.rack_uplink_bits_per_s.is_some_and(|rate| (3e8..3.1e8).contains(&rate)));
        assert_eq!(site.engine.protection, Protection::Sets { set_drives: None, parity: Some(2) });
    }

    #[test]
    fn nodes_that_differ_are_kinds_of_their_own() {
        let mut spec = uniform(4, 2);
        spec.nodes[2..].iter_mut().for_each(|node| node.public_bits_per_s = Some(1e8));
        let site = linerate_site::read(&site(&record(spec)), "site.yaml").unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<&str> = site.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["node", "node-2"]);
        assert_eq!(site.groups.iter().map(|group| group.count).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(site.planes.public.link, Plane::Public.interface());
    }

    #[test]
    fn a_link_of_several_ports_is_a_bond_of_the_site() {
        let mut spec = uniform(2, 1);
        let bond = BondSpec { mode: BondMode::BalanceXor, ..BondSpec::lacp(2) };
        spec.nodes.iter_mut().for_each(|node| node.public_bond = Some(bond));
        let site = linerate_site::read(&site(&record(spec)), "site.yaml").unwrap_or_else(|error| panic!("{error}"));
        let group = &site.groups[0];
        assert_eq!((group.nics[0].ports, group.bonds[0].name.as_str()), (2, Plane::Public.interface()));
        assert_eq!((group.bonds[0].mode, group.bonds[0].transmit_hash), (bond.mode, bond.transmit_hash));
        assert!((group.nics[0].speed_bits_per_s / 1e8 - 1538.0 / 1514.0).abs() < 1e-5, "{:?}", group.nics);
    }

    #[test]
    fn the_fleet_file_reaches_each_machine_by_its_namespace() {
        let fleet = fleet(&record(uniform(2, 1)));
        assert!(fleet.contains("{name: node2, role: storage, reach: 'netns://lab-node2', rack: rack1}"), "{fleet}");
        assert!(fleet.ends_with("{name: client1, role: client, reach: 'netns://lab-client1'}\n"), "{fleet}");
    }
}
