//! Sites as values, for tests.

use linerate_model::layout::{Geometries, Geometry, GeometryKind};
use linerate_record::site::*;

/// What no test changes of the sites here: what holds where a site file says nothing.
const REST: &str = "\
nodes:
  count: 1
  drives: {count: 1, capacity: 1TB}
  nics: {speed: 25Gb/s}
engine: {product: minio}
";

/// A uniform site on one bond or NIC for each plane.
pub(crate) fn uniform(name: &str, nodes: u32, ports: u32, speed_bits_per_s: f64, mtu_bytes: u32) -> Site {
    let plane = |link: &str| Plane {
        link: link.to_owned(),
        mtu_bytes,
        encapsulation: Encapsulation::None,
        timestamps: true,
        ip: IpVersion::V4,
    };
    Site {
        name: name.to_owned(),
        groups: vec![group("storage", nodes, ports, speed_bits_per_s)],
        planes: Planes { public: plane("public"), private: Some(plane("private")) },
        clients: Clients {
            on: ClientsOn::Machines,
            per_core_bytes_per_s: None,
            count: 0,
            racks: 0,
            ports: 1,
            speed_bits_per_s: 100e9,
            bond: None,
            transmit_hash: TransmitHash::Layer34,
            mtu_bytes,
            connections: 16,
        },
        assumed: Default::default(),
        ..linerate_site::read(REST, "tests").expect("a site")
    }
}

/// Nodes with a bond for each plane.
pub(crate) fn group(name: &str, nodes: u32, ports: u32, speed_bits_per_s: f64) -> NodeGroup {
    let nic =
        |name: &str| Nic { name: name.to_owned(), ports, speed_bits_per_s, lanes: 16, generation: 5, numa_node: None };
    let bond = |name: &str, nic: &str| Bond {
        name: name.to_owned(),
        nics: vec![nic.to_owned()],
        mode: BondMode::Lacp,
        transmit_hash: TransmitHash::Layer34,
        switch_hash: SwitchHash::L4,
    };
    NodeGroup {
        name: name.to_owned(),
        count: nodes,
        racks: 1,
        sockets: 2,
        cores: 64,
        kernel: None,
        memory_bytes: 512 << 30,
        memory_bytes_per_s: 500e9,
        pcie: Pcie { generation: 5, lanes_per_socket: 80 },
        drives: vec![Drives {
            count: 8,
            capacity_bytes: 7_680_000_000_000,
            read_bytes_per_s: 6.8e9,
            write_bytes_per_s: 4.0e9,
            read_iops: 1e6,
            write_iops: 200e3,
            lanes: 4,
            generation: 4,
            numa_node: None,
        }],
        nics: vec![nic("nic-public"), nic("nic-private")],
        bonds: vec![bond("public", "nic-public"), bond("private", "nic-private")],
    }
}

/// The same site with everything on the public plane's link.
pub(crate) fn shared(mut site: Site) -> Site {
    site.planes.private = None;
    site
}

/// k + m in sets.
pub(crate) fn sets(data: u32, parity: u32) -> Geometries {
    Geometry { shards: data + parity, data, parity, sets: 1, kind: GeometryKind::Sets }.into()
}
