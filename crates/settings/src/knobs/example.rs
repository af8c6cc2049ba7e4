//! A storage node and a site of eight of them, of which pages and tests say what rows advise.

use std::collections::BTreeMap;

use linerate_record::knob::{DeviceClass, Devices, Disk, Mount, SettingId, Snapshot, Space};
use linerate_record::machine::{Machine, MachineBond, MachineNic};
use linerate_record::site::{NodeGroup, Pcie, Site};

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
        devices: Devices {
            disks: (0..4).map(disk).collect(),
            mounts: (0..4).map(mount).collect(),
            ..Devices::default()
        },
        is_initial_netns: true,
        ..Snapshot::default()
    }
}

/// What is said of the site, but for its nodes.
const SITE: &str = "\
name: eight
nodes:
  count: 8
  drives: {count: 1, capacity: 1TB}
  nics: {ports: 2, speed: 25Gb/s}
clients: {count: 64, speed: 25Gb/s, connections: 256}
engine: {product: minio, tls: true, internal_tls: false}
";

/// Eight nodes with one plane on `bond0`, MinIO, 64 clients of 256 connections, objects of 64 MiB.
#[expect(clippy::expect_used, reason = "the text is a constant, which the manual and the tests of all rows read")]
pub(crate) fn site() -> Site {
    let stated = linerate_site::read(SITE, "the example").expect("a site");
    Site { groups: vec![group(8)], assumed: BTreeMap::new(), ..stated }
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
pub(crate) fn place_of(row: &KnobRow, device: Option<&str>) -> SettingId {
    let first = row.knob.locator.device_class().map(|class| match class {
        DeviceClass::Disk => "nvme0n1",
        DeviceClass::Nic => "ens1f0",
        DeviceClass::Bond => "bond0",
        DeviceClass::Cpu => "cpu0",
        DeviceClass::Mount => "/data0",
    });
    SettingId { knob: row.knob.id.to_owned(), device: device.or(first).map(str::to_owned), space: Space::Host }
}
