//! Sites whose figures are explained.

use std::collections::BTreeMap;

use linerate_record::explanation::{Observations, Observed, Quantity};
use linerate_record::site::{
    Bond, BondMode, Clients, ClientsOn, Drives, Encapsulation, IpVersion, Kernel, Nic, NodeGroup, Pcie, Plane, Planes,
    Site, SwitchHash, TransmitHash,
};

/// What no test changes of the sites here: what holds where a site file says nothing.
const REST: &str = "\
nodes:
  count: 1
  drives: {count: 1, capacity: 1TB}
  nics: {speed: 25Gb/s}
engine: {product: minio, tls: true, internal_tls: false}
";

/// A site of nodes with twelve NVMe drives and a bond of two ports for each of two planes.
pub(crate) fn site(name: &str, nodes: u32, speed_bits_per_s: f64, mtu_bytes: u32) -> Site {
    Site {
        name: name.to_owned(),
        groups: vec![group(nodes, speed_bits_per_s)],
        planes: Planes { public: plane("bond0", mtu_bytes), private: Some(plane("bond1", mtu_bytes)) },
        clients: no_clients(),
        assumed: BTreeMap::new(),
        ..linerate_site::read(REST, "tests").expect("a site")
    }
}

/// Clients that are not described.
pub(crate) fn no_clients() -> Clients {
    Clients {
        on: ClientsOn::Machines,
        per_core_bytes_per_s: None,
        count: 0,
        racks: 0,
        ports: 1,
        speed_bits_per_s: 25e9,
        bond: None,
        transmit_hash: TransmitHash::Layer34,
        mtu_bytes: 9000,
        connections: 64,
    }
}

fn group(count: u32, speed_bits_per_s: f64) -> NodeGroup {
    NodeGroup {
        name: "storage".to_owned(),
        count,
        racks: 1,
        sockets: 2,
        cores: 96,
        kernel: Some(Kernel { major: 6, minor: 8 }),
        memory_bytes: 512 << 30,
        memory_bytes_per_s: 400e9,
        pcie: Pcie { generation: 5, lanes_per_socket: 80 },
        drives: vec![drives(12, 5e9, 3e9)],
        nics: vec![nic("p0", 2, speed_bits_per_s), nic("p1", 2, speed_bits_per_s)],
        bonds: vec![bond("bond0", "p0"), bond("bond1", "p1")],
    }
}

/// NVMe drives.
pub(crate) fn drives(count: u32, read_bytes_per_s: f64, write_bytes_per_s: f64) -> Drives {
    Drives {
        count,
        capacity_bytes: 7_680_000_000_000,
        read_bytes_per_s,
        write_bytes_per_s,
        read_iops: 800_000.0,
        write_iops: 200_000.0,
        lanes: 4,
        generation: 4,
        numa_node: None,
    }
}

/// A NIC on sixteen lanes of PCIe 5.
pub(crate) fn nic(name: &str, ports: u32, speed_bits_per_s: f64) -> Nic {
    Nic { name: name.to_owned(), ports, speed_bits_per_s, lanes: 16, generation: 5, numa_node: None }
}

/// An LACP bond over one NIC.
pub(crate) fn bond(name: &str, nic: &str) -> Bond {
    Bond {
        name: name.to_owned(),
        nics: vec![nic.to_owned()],
        mode: BondMode::Lacp,
        transmit_hash: TransmitHash::Layer34,
        switch_hash: SwitchHash::L4,
    }
}

/// A plane of native IPv4 with timestamps.
pub(crate) fn plane(link: &str, mtu_bytes: u32) -> Plane {
    Plane { link: link.to_owned(), mtu_bytes, encapsulation: Encapsulation::None, timestamps: true, ip: IpVersion::V4 }
}

/// Throughputs of the whole site, in bytes per second.
pub(crate) fn observed(get: Option<f64>, put: Option<f64>, error_share: f64) -> Observations {
    let observed_figure = |what, rate: Option<f64>| {
        rate.map(|bytes_per_s| Observed { what, bytes_per_s, error_share: None, in_flight: None })
    };
    let figures = observed_figure(Quantity::Get, get).into_iter().chain(observed_figure(Quantity::Put, put)).collect();
    Observations { figures, error_share, nodes_alone: false }
}
