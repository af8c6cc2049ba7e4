//! A site that tests change.

use std::collections::BTreeMap;

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
engine: {product: minio}
data: {object_size: 4MiB}
";

/// Sixteen nodes of twelve NVMe drives, two bonds of two 100 Gb/s ports, MinIO: nothing is the matter with it.
pub(crate) fn site() -> Site {
    Site {
        name: "sixteen".to_owned(),
        groups: vec![group()],
        planes: Planes { public: plane("public"), private: Some(plane("private")) },
        clients: Clients {
            on: ClientsOn::Machines,
            per_core_bytes_per_s: None,
            count: 32,
            racks: 0,
            ports: 1,
            speed_bits_per_s: 100e9,
            bond: None,
            transmit_hash: TransmitHash::Layer34,
            mtu_bytes: 9000,
            connections: 64,
        },
        assumed: BTreeMap::new(),
        ..linerate_site::read(REST, "tests").expect("a site")
    }
}

fn group() -> NodeGroup {
    NodeGroup {
        name: "storage".to_owned(),
        count: 16,
        racks: 4,
        sockets: 2,
        cores: 64,
        kernel: Some(Kernel { major: 6, minor: 12 }),
        memory_bytes: 512 << 30,
        memory_bytes_per_s: 400e9,
        pcie: Pcie { generation: 5, lanes_per_socket: 80 },
        drives: vec![Drives {
            count: 12,
            capacity_bytes: 15_360_000_000_000,
            read_bytes_per_s: 5e9,
            write_bytes_per_s: 2.5e9,
            read_iops: 800_000.0,
            write_iops: 150_000.0,
            lanes: 4,
            generation: 4,
            numa_node: None,
        }],
        nics: vec![nic("p0"), nic("p1")],
        bonds: vec![bond("public", "p0"), bond("private", "p1")],
    }
}

fn nic(name: &str) -> Nic {
    Nic { name: name.to_owned(), ports: 2, speed_bits_per_s: 100e9, lanes: 16, generation: 5, numa_node: None }
}

fn bond(name: &str, nic: &str) -> Bond {
    Bond {
        name: name.to_owned(),
        nics: vec![nic.to_owned()],
        mode: BondMode::Lacp,
        transmit_hash: TransmitHash::Layer34,
        switch_hash: SwitchHash::L4,
    }
}

fn plane(link: &str) -> Plane {
    Plane {
        link: link.to_owned(),
        mtu_bytes: 9000,
        encapsulation: Encapsulation::None,
        timestamps: true,
        ip: IpVersion::V4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_of_the_benchmarks_is_this_one() {
        let alongside: Site = serde_json::from_str(include_str!("../benches/site.json")).unwrap();
        let written = serde_json::to_string_pretty(&site()).unwrap();
        assert_eq!(alongside, site(), "benches/site.json should be:\n{written}");
    }
}
