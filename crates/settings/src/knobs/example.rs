//! A storage node and a site of eight of them, of which pages and tests say what rows advise.

use std::collections::BTreeMap;

use linerate_record::knob::{DeviceClass, Devices, Disk, Mount, SettingPlace, Snapshot, Space};
use linerate_record::machine::{Machine, MachineBond, MachineNic};
use linerate_record::site::{
    BondMode, Clients, ClientsOn, Data, Encapsulation, Engine, Entry, Fabric, Goals, IpVersion, NodeGroup, Pcie, Plane,
    Planes, Product, Protection, Site, SwitchHash, TransmitHash, VARIABILITY,
};

use super::KnobRow;

/// 64 processors on two sockets, 256 GiB, a bond of two ports of 25 Gb/s, one port of 1 Gb/s, four NVMe drives.
pub(crate) fn machine() -> Snapshot {
    let nic = |name: &str, gbit: u64| MachineNic {
        name: name.to_owned(),
        speed_bits_per_s: (gbit > 0).then_some(gbit * 1_000_000_000),
        mtu_bytes: 1500,
        numa_node: Some(0),
        ..MachineNic::default()
    };
    let members = vec!["ens1f0".to_owned(), "ens1f1".to_owned()];
    let bond = MachineBond {
        mode: "802.3ad".to_owned(),
        xmit_hash_policy: Some("layer2".to_owned()),
        members: members.clone(),
    };
    let nics = vec![
        nic("lo", 0),
        nic("ens1f0", 25),
        nic("ens1f1", 25),
        nic("eno1", 1),
        MachineNic { over: members, bond: Some(bond), ..nic("bond0", 50) },
    ];
    let disk = |n: u32| Disk {
        name: format!("nvme{n}n1"),
        rotational: false,
        bytes: 7_680_000_000_000,
        discards: true,
        numa_node: Some(n % 2),
    };
    let mount = |n: u32| Mount {
        device: format!("/dev/nvme{n}n1"),
        path: format!("/data{n}"),
        fs: "xfs".to_owned(),
        options: vec!["rw".to_owned(), "relatime".to_owned(), "inode64".to_owned()],
    };
    Snapshot {
        machine: Machine {
            kernel: "6.8.0-31-generic".to_owned(),
            cpus: 64,
            numa_nodes: 2,
            memory_bytes: 256 << 30,
            nics,
            ..Machine::default()
        },
        devices: Devices { disks: (0..4).map(disk).collect(), pcie: Vec::new(), mounts: (0..4).map(mount).collect() },
        is_initial_netns: true,
        ..Snapshot::default()
    }
}

/// Eight nodes with one plane on `bond0`, MinIO, 64 clients of 256 connections, objects of 64 MiB.
pub(crate) fn site() -> Site {
    let plane = Plane {
        link: "bond0".to_owned(),
        mtu_bytes: 1500,
        encapsulation: Encapsulation::None,
        timestamps: true,
        ip: IpVersion::V4,
    };
    Site {
        name: "eight".to_owned(),
        groups: vec![group(8)],
        planes: Planes { public: plane, private: None },
        fabric: Fabric { rack_uplink_bits_per_s: None, spines: 0, path_hash: SwitchHash::L4 },
        clients: Clients {
            on: ClientsOn::Machines,
            per_core_bytes_per_s: None,
            count: 64,
            racks: 0,
            ports: 1,
            speed_bits_per_s: 25e9,
            bond: None::<BondMode>,
            transmit_hash: TransmitHash::Layer34,
            mtu_bytes: 1500,
            connections: 256,
        },
        engine: Engine {
            product: Product::Minio,
            protection: Protection::Sets { set_drives: None, parity: None },
            tls: true,
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
        assumed: BTreeMap::new(),
    }
}

fn group(count: u32) -> NodeGroup {
    NodeGroup {
        name: "storage".to_owned(),
        count,
        racks: 1,
        sockets: 2,
        cores: 32,
        kernel: None,
        memory_bytes: 256 << 30,
        memory_bytes_per_s: 300e9,
        pcie: Pcie { generation: 4, lanes_per_socket: 64 },
        drives: Vec::new(),
        nics: Vec::new(),
        bonds: Vec::new(),
    }
}

/// The place of a row on [`machine`]: a device of its class where it is of devices.
pub(crate) fn place_of(row: &KnobRow, device: Option<&str>) -> SettingPlace {
    let first = row.knob.locator.device_class().map(|class| match class {
        DeviceClass::Disk => "nvme0n1",
        DeviceClass::Nic => "ens1f0",
        DeviceClass::Bond => "bond0",
        DeviceClass::Cpu => "cpu0",
        DeviceClass::Mount => "/data0",
    });
    SettingPlace { knob: row.knob.id.to_owned(), device: device.or(first).map(str::to_owned), space: Space::Host }
}
