//! A site made from one machine, where nobody wrote one: as if all nodes were like it.

use std::collections::BTreeMap;

use linerate_record::knob::Snapshot;
use linerate_record::machine;
use linerate_record::site::{
    BondMode, Clients, ClientsOn, Data, Encapsulation, Engine, Entry, Fabric, Goals, IpVersion, NodeGroup, Pcie, Plane,
    Planes, Product, Protection, Site, SwitchHash, TransmitHash, VARIABILITY,
};

/// Clients that are assumed, each with as many connections.
const CLIENTS: u32 = 16;

/// Interfaces that stand on no card and lead to no other machine.
const INSIDE: [&str; 8] = ["lo", "docker", "veth", "cni", "cilium", "lxc", "ifb", "dummy"];

/// A site of one node like this machine. What it assumes, and why, is in [`Site::assumed`].
#[must_use]
pub fn site_of(snapshot: &Snapshot) -> Site {
    let machine = &snapshot.machine;
    let link = link(machine);
    let mut assumed = BTreeMap::new();
    let mut because = |path: &str, reason: &str| {
        assumed.insert(path.to_owned(), reason.to_owned());
    };
    because("nodes.machine.count", "one: this machine; other nodes are not known");
    because("planes.public.link", "the machine's fastest interface carries the load");
    because("planes.private", "none: clients' and nodes' traffic share it");
    because("planes.public.encapsulation", "none");
    because("clients.count", "16, of 16 connections each");
    because("data.object_size", "64 MiB");
    let program = snapshot.engines.first().map(|engine| engine.program.as_str());
    if program.is_none() {
        because("engine.product", "MinIO: no server was found on the machine");
    }
    let product = match program {
        Some("rustfs") => Product::Rustfs,
        Some("radosgw") => Product::CephRgw,
        Some("garage") => Product::Garage,
        _ => Product::Minio,
    };
    let plane = Plane {
        link: link.map_or_else(String::new, |nic| nic.name.clone()),
        mtu_bytes: link.map_or(1500, |nic| nic.mtu_bytes),
        encapsulation: Encapsulation::None,
        timestamps: true,
        ip: IpVersion::V4,
    };
    Site {
        name: "this machine".to_owned(),
        groups: vec![group(machine)],
        planes: Planes { public: plane, private: None },
        fabric: Fabric { rack_uplink_bits_per_s: None, spines: 0, path_hash: SwitchHash::L4 },
        clients: clients(),
        engine: Engine {
            product,
            protection: Protection::Sets { set_drives: None, parity: None },
            tls: false,
            internal_tls: false,
            encryption: false,
            versioned: false,
            local_shards: false,
        },
        entry: Entry::ClientSide,
        data: Data {
            stored_bytes: 0,
            growth_per_year: 0.0,
            retention_years: 0.0,
            object_bytes: 64 << 20,
            variability: VARIABILITY,
        },
        goals: Goals::default(),
        assumed,
    }
}

/// The interface that carries the load: the fastest, a bond before its members, and where no speed is stated the first
/// with a driver.
fn link(machine: &machine::Machine) -> Option<&machine::MachineNic> {
    let outside = || machine.nics.iter().filter(|nic| !INSIDE.iter().any(|inside| nic.name.starts_with(inside)));
    let fastest = outside().filter(|nic| nic.speed_bits_per_s.is_some());
    let fastest = fastest.max_by_key(|nic| (nic.speed_bits_per_s, nic.bond.is_some()));
    let bond = || outside().find(|nic| nic.bond.is_some());
    fastest.or_else(bond).or_else(|| outside().find(|nic| nic.driver.is_some())).or_else(|| outside().next())
}

fn clients() -> Clients {
    Clients {
        on: ClientsOn::Machines,
        per_core_bytes_per_s: None,
        count: CLIENTS,
        racks: 0,
        ports: 1,
        speed_bits_per_s: 25e9,
        bond: None::<BondMode>,
        transmit_hash: TransmitHash::Layer34,
        mtu_bytes: 1500,
        connections: CLIENTS,
    }
}

fn group(machine: &machine::Machine) -> NodeGroup {
    NodeGroup {
        name: "machine".to_owned(),
        count: 1,
        racks: 1,
        sockets: machine.numa_nodes.max(1),
        cores: machine.cpus.max(1),
        kernel: None,
        memory_bytes: machine.memory_bytes,
        memory_bytes_per_s: 204.8e9 * f64::from(machine.numa_nodes.max(1)),
        pcie: Pcie { generation: 4, lanes_per_socket: 64 },
        drives: Vec::new(),
        nics: Vec::new(),
        bonds: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::machine;
    use linerate_record::knob::EngineProcess;

    #[test]
    fn a_bond_goes_before_its_members_and_the_server_that_runs_is_the_engine() {
        let mut snapshot = machine();
        snapshot.engines.push(EngineProcess { pid: 7, program: "garage".to_owned(), own_network: false });
        let site = site_of(&snapshot);
        assert_eq!(site.planes.public.link, "bond0");
        assert_eq!(site.engine.product, Product::Garage);
        assert!(!site.assumed.contains_key("engine.product") && site.assumed.len() == 6);
    }
}
