//! A captured folder is read as a machine.

use linerate_host::{Root, Unreadable, machine, reading};
use linerate_record::machine::{Machine, MachineBond, MachineNic};
use linerate_record::reading::{Memory, Pressure, TcpCounters};
use std::fs;
use std::path::Path;

const NET_DEV: &str = "Inter-| Receive | Transmit\n face |bytes |bytes\n\
    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\n\
    ens1f0: 20 2 0 0 0 0 0 0 30 3 0 0 0 0 0 0\n\
    bond0: 20 2 0 0 0 0 0 0 30 3 0 0 0 0 0 0\n\
    ens1f1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

/// A machine of 112 processors on two nodes, with one member of its bond down.
const FILES: [(&str, &str); 33] = [
    ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Gold 6348\nflags\t\t: fpu vme\n"),
    ("proc/sys/kernel/osrelease", "5.14.0-427.el9.x86_64\n"),
    ("proc/sys/kernel/hostname", "store-17.example.net\n"),
    ("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\nCached: 300 kB\nDirty: 2 kB\n"),
    ("proc/net/dev", NET_DEV),
    ("proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 900 4\n"),
    ("proc/stat", "cpu  3 0 0 9\ncpu0 1 0 0 4 0 0 2\ncpu1 2 0 0 5 0 0 3\n"),
    ("proc/diskstats", "259 0 nvme0n1 1 0 8 1 2 0 16 1 0 5 9\n259 1 nvme0n1p1 1 0 8 1 2 0 16 1 0 5 9\n"),
    ("proc/pressure/cpu", "some avg10=0.00 total=1\n"),
    ("proc/pressure/io", "some avg10=0.00 total=2\n"),
    ("proc/pressure/memory", "some avg10=0.00 total=3\n"),
    ("sys/devices/system/cpu/online", "0-111\n"),
    ("sys/devices/system/node/online", "0-1\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/class/net/lo/flags", "0x9\n"),
    ("sys/class/net/lo/mtu", "65536\n"),
    ("sys/class/net/ens1f0/flags", "0x1903\n"),
    ("sys/class/net/ens1f0/mtu", "9000\n"),
    ("sys/class/net/ens1f0/speed", "25000\n"),
    ("sys/class/net/ens1f0/address", "02:00:5e:10:00:01\n"),
    ("sys/class/net/ens1f0/device/uevent", "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:b1:00.0\n"),
    ("sys/class/net/ens1f0/device/numa_node", "1\n"),
    ("sys/class/net/bond0/flags", "0x1403\n"),
    ("sys/class/net/bond0/mtu", "9000\n"),
    ("sys/class/net/bond0/speed", "50000\n"),
    ("sys/class/net/bond0/lower_ens1f0/flags", "0x1903\n"),
    ("sys/class/net/bond0/lower_ens1f1/flags", "0x1002\n"),
    ("sys/class/net/bond0/bonding/mode", "802.3ad 4\n"),
    ("sys/class/net/bond0/bonding/slaves", "ens1f0 ens1f1\n"),
    ("sys/class/net/bond0/bonding/xmit_hash_policy", "layer2+3 2\n"),
    ("sys/class/net/bond0/bonding/miimon", "100\n"),
    ("sys/class/net/ens1f1/bonding_slave/state", "backup\n"),
    ("sys/class/net/ens1f1/flags", "0x1002\n"),
];

fn captured(folder: &Path) -> Root {
    for (path, text) in FILES {
        write(folder, path, text.as_bytes());
    }
    Root::captured(folder)
}

fn write(folder: &Path, path: &str, content: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a path in a folder")).expect("a writable folder");
    fs::write(path, content).expect("a writable folder");
}

fn paths(unreadable: &[Unreadable]) -> Vec<&str> {
    unreadable.iter().map(|reported| reported.path.as_str()).collect()
}

#[test]
fn a_captured_machine_is_read_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let nic = |name: &str, mtu_bytes, gbits_per_s: Option<u64>| MachineNic {
        name: name.to_owned(),
        mtu_bytes,
        speed_bits_per_s: gbits_per_s.map(|speed| speed * 1_000_000_000),
        ..MachineNic::default()
    };
    let bond = MachineBond {
        mode: "802.3ad".to_owned(),
        xmit_hash_policy: Some("layer2+3".to_owned()),
        members: vec!["ens1f0".to_owned(), "ens1f1".to_owned()],
    };
    let expected = Machine {
        kernel: "5.14.0-427.el9.x86_64".to_owned(),
        cpu_model: "Intel(R) Xeon(R) Gold 6348".to_owned(),
        cpus: 112,
        numa_nodes: 2,
        memory_bytes: 1000 * 1024,
        nics: vec![
            nic("lo", 65536, None),
            MachineNic { driver: Some("mlx5_core".to_owned()), numa_node: Some(1), ..nic("ens1f0", 9000, Some(25)) },
            MachineNic { over: bond.members.clone(), bond: Some(bond), ..nic("bond0", 9000, Some(50)) },
        ],
        clocksource: "tsc".to_owned(),
        virtualized: false,
    };
    assert_eq!(machine(&captured(folder.path())), (expected, vec![]));
}

#[test]
fn an_interface_without_a_carrier_is_not_up_whatever_its_administrator_set() {
    for (file, text, is_up) in [
        ("carrier", "1\n", true),
        ("carrier", "0\n", false),
        ("operstate", "unknown\n", true),
        ("operstate", "lowerlayerdown\n", false),
        ("bonding_slave/mii_status", "up\n", true),
        ("bonding_slave/mii_status", "going back\n", true),
        ("bonding_slave/mii_status", "down\n", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let root = captured(folder.path());
        write(folder.path(), &format!("sys/class/net/ens1f0/{file}"), text.as_bytes());
        let (found, unreadable) = machine(&root);
        assert_eq!(found.nics.iter().any(|nic| nic.name == "ens1f0"), is_up, "{file} {text:?}");
        assert_eq!(unreadable, []);
    }
}

#[test]
fn a_captured_machine_gives_its_counters() {
    let folder = tempfile::tempdir().unwrap();
    let (read, unreadable) = reading(&captured(folder.path()), 1500);
    assert_eq!(unreadable, []);
    assert_eq!(read.at_ms, 1500);
    assert_eq!(read.cpus.iter().map(|times| times.softirq_ms).collect::<Vec<_>>(), [20, 30]);
    assert_eq!(read.nics.iter().map(|nic| nic.tx_bytes).collect::<Vec<_>>(), [10, 30, 30, 0]);
    assert_eq!(read.tcp, TcpCounters { out_segments: 900, retransmitted_segments: 4 });
    assert_eq!(
        read.disks.iter().map(|disk| (disk.name.as_str(), disk.read_bytes)).collect::<Vec<_>>(),
        [("nvme0n1", 4096)]
    );
    let memory = Memory { available_bytes: 600 * 1024, cached_bytes: 300 * 1024, dirty_bytes: 2048 };
    assert_eq!(read.memory, memory);
    assert_eq!(read.pressure, Some(Pressure { cpu_some_us: 1, io_some_us: 2, memory_some_us: 3 }));
}

#[test]
fn each_missing_file_costs_its_own_part_and_is_told_once() {
    let reported_by_machine = [
        "proc/cpuinfo",
        "proc/sys/kernel/osrelease",
        "proc/meminfo",
        "proc/net/dev",
        "sys/devices/system/cpu/online",
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "sys/class/net/ens1f0/flags",
        "sys/class/net/ens1f0/mtu",
    ];
    let reported_by_reading =
        ["proc/stat", "proc/net/dev", "proc/net/snmp", "proc/diskstats", "proc/meminfo", "proc/pressure/io"];
    let mut checked = 0;
    for (path, _) in FILES {
        let folder = tempfile::tempdir().unwrap();
        let root = captured(folder.path());
        fs::remove_file(folder.path().join(path)).unwrap();
        let (_, of_machine) = machine(&root);
        let (_, of_reading) = reading(&root, 0);
        for (reported, expected) in [(of_machine, &reported_by_machine[..]), (of_reading, &reported_by_reading[..])] {
            if expected.contains(&path) {
                assert_eq!(paths(&reported), [path]);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, reported_by_machine.len() + reported_by_reading.len());
}

#[test]
fn an_empty_folder_is_a_machine_of_which_nothing_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::captured(folder.path());
    let (read, unreadable) = reading(&root, 7);
    assert_eq!(read, linerate_record::reading::Reading { at_ms: 7, ..Default::default() });
    assert_eq!(paths(&unreadable), ["proc/net/dev", "proc/net/snmp", "proc/diskstats", "proc/stat", "proc/meminfo"]);
    let (made_of, unreadable) = machine(&root);
    assert_eq!(made_of, Machine::default());
    assert_eq!(unreadable.len(), 7, "{unreadable:?}");
    assert!(unreadable.iter().all(|reported| !reported.to_string().contains(&*folder.path().to_string_lossy())));
}

#[test]
fn a_kernel_without_numa_has_one_node() {
    let folder = tempfile::tempdir().unwrap();
    let root = captured(folder.path());
    fs::remove_file(folder.path().join("sys/devices/system/node/online")).unwrap();
    let (made_of, unreadable) = machine(&root);
    assert_eq!((made_of.numa_nodes, unreadable), (1, vec![]));
}

#[test]
fn content_that_no_kernel_writes_is_told_and_nothing_panics() {
    let contents: [&[u8]; 7] =
        [b"", b"\n\n\n", b"\xff\xfe\x00", b"-1", b"99999999999999999999999999", b"cpu0 1 2", b"eth0: 1 2 3"];
    for content in contents {
        let folder = tempfile::tempdir().unwrap();
        let root = captured(folder.path());
        for (path, _) in FILES {
            write(folder.path(), path, content);
        }
        let (_, of_machine) = machine(&root);
        let (_, of_reading) = reading(&root, 0);
        assert!(paths(&of_machine).contains(&"proc/net/dev"), "{content:?}: {of_machine:?}");
        assert!(paths(&of_reading).contains(&"proc/stat"), "{content:?}: {of_reading:?}");
    }
}

#[test]
fn a_network_name_that_is_not_utf_8_is_kept_with_its_counters() {
    let folder = tempfile::tempdir().unwrap();
    let root = captured(folder.path());
    write(folder.path(), "proc/net/dev", b"n\xffc: 20 2 0 0 0 0 0 0 30 3 0 0 0 0 0 0\n");
    let (read, unreadable) = reading(&root, 0);
    assert_eq!((read.nics[0].name.as_str(), read.nics[0].rx_bytes, unreadable), ("n\u{fffd}c", 20, vec![]));
}
