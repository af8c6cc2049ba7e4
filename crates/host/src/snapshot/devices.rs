//! Devices that settings and topology are about: disks, PCIe functions, mounts.

use linerate_record::device_name::nvme_head_of_path;
use linerate_record::knob::{Devices, Disk, Mount, OutsideLacp, PcieDevice};
use linerate_record::machine::Machine;

use crate::root::{Root, names, text};

/// The kernel counts sectors of 512 bytes, whatever the device's are.
const BYTES_PER_SECTOR: u64 = 512;

/// File systems on disks that data is kept on.
const ON_DISKS: [&str; 6] = ["xfs", "ext4", "ext3", "btrfs", "f2fs", "zfs"];

pub(super) fn devices(root: &Root, machine: &Machine) -> Devices {
    let pcie = pcie(root);
    Devices { disks: disks(root, &pcie), mounts: mounts(root), pcie, outside_lacp: outside_lacp(root, machine) }
}

/// Members of bonds that are up and in another aggregator than the active one: after a mistake at the switch, or of
/// another speed. A number that is no number, or 0, says that there is none (`drivers/net/bonding/bond_sysfs.c`,
/// `bonding_show_ad_aggregator`, and `bond_sysfs_slave.c`, `ad_aggregator_id_show`).
fn outside_lacp(root: &Root, machine: &Machine) -> Vec<OutsideLacp> {
    let mut found = Vec::new();
    let aggregator = |path: String| number(root, &path).filter(|id| *id > 0);
    for (nic, bond) in machine.nics.iter().filter_map(|nic| Some((nic, nic.bond.as_ref()?))) {
        let of_bond = || aggregator(format!("sys/class/net/{}/bonding/ad_aggregator", nic.name));
        let Some(used) = (bond.mode == "802.3ad").then(of_bond).flatten() else { continue };
        for member in bond.members.iter().filter(|member| machine.nics.iter().any(|nic| nic.name == **member)) {
            let own = aggregator(format!("sys/class/net/{member}/bonding_slave/ad_aggregator_id"));
            found.extend(own.filter(|own| *own != used).map(|aggregator| OutsideLacp {
                bond: nic.name.clone(),
                member: member.clone(),
                aggregator,
                used,
            }));
        }
    }
    found
}

fn word(root: &Root, path: &str) -> Option<String> {
    let text = text(root, path, &mut Vec::new()).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn number(root: &Root, path: &str) -> Option<u64> {
    word(root, path)?.parse().ok()
}

/// A NUMA node; the kernel says -1 where there is none.
fn numa_node(root: &Root, path: &str) -> Option<u32> {
    word(root, path)?.parse().ok()
}

fn disks(root: &Root, pcie: &[PcieDevice]) -> Vec<Disk> {
    let all = names(root, "sys/block").into_iter();
    let mut disks: Vec<Disk> =
        all.filter(|name| is_disk(root, name)).filter_map(|name| disk(root, name, pcie)).collect();
    disks.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
    disks
}

/// Paths of a multipath NVMe device (`nvme0c1n1`) stand beside it and are no disks.
fn is_disk(root: &Root, name: &str) -> bool {
    let has = |folder: &str| !names(root, &format!("sys/block/{name}/{folder}")).is_empty();
    nvme_head_of_path(name).is_none() && crate::disk::is_disk(name, has("device"), has("slaves"))
}

fn disk(root: &Root, name: String, pcie: &[PcieDevice]) -> Option<Disk> {
    let folder = format!("sys/block/{name}");
    let bytes = number(root, &format!("{folder}/size"))?.saturating_mul(BYTES_PER_SECTOR);
    if bytes == 0 {
        return None;
    }
    // An NVMe controller has its node itself, other disks their host's bus device.
    let nodes = ["device/numa_node", "device/device/numa_node"];
    let own = nodes.iter().find_map(|node| numa_node(root, &format!("{folder}/{node}")));
    let behind = || pcie.iter().find(|device| device.name == name)?.numa_node;
    let limit = ["discard_max_hw_bytes", "discard_max_bytes"];
    let limit = limit.iter().find_map(|file| number(root, &format!("{folder}/queue/{file}")));
    Some(Disk {
        rotational: number(root, &format!("{folder}/queue/rotational")) == Some(1),
        bytes,
        discards: limit.is_some_and(|bytes| bytes > 0),
        numa_node: own.or_else(behind),
        name,
    })
}

/// NICs and NVMe controllers, by the classes of the PCI code and ID assignment specification. Virtual functions are
/// none: what they carry, the port of their physical function carries.
fn pcie(root: &Root) -> Vec<PcieDevice> {
    let is_one = |address: &String| {
        let class = word(root, &format!("sys/bus/pci/devices/{address}/class")).unwrap_or_default();
        let is_virtual = || root.0.join(format!("sys/bus/pci/devices/{address}/physfn")).exists();
        (class.starts_with("0x02") || class.starts_with("0x0108")) && !is_virtual()
    };
    names(root, "sys/bus/pci/devices").into_iter().filter(is_one).map(|address| function(root, address)).collect()
}

fn function(root: &Root, address: String) -> PcieDevice {
    let folder = format!("sys/bus/pci/devices/{address}");
    let speed = |file: &str| {
        // `16.0 GT/s PCIe`, or `Unknown`.
        let text = word(root, &format!("{folder}/{file}")).unwrap_or_default();
        text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
    };
    // 63 and 255 are what a width reads as that the device does not state.
    let width = |file: &str| {
        let lanes = number(root, &format!("{folder}/{file}")).unwrap_or(0);
        u32::try_from(lanes).ok().filter(|lanes| *lanes <= 32).unwrap_or(0)
    };
    PcieDevice {
        name: behind(root, &folder).unwrap_or_else(|| address.clone()),
        speed_gt_per_s: (speed("current_link_speed"), speed("max_link_speed")),
        lanes: (width("current_link_width"), width("max_link_width")),
        numa_node: numa_node(root, &format!("{folder}/numa_node")),
        address,
    }
}

/// The interface or disk behind a function.
fn behind(root: &Root, folder: &str) -> Option<String> {
    let first = |path: String| names(root, &path).into_iter().next();
    let virtio = || names(root, folder).into_iter().find(|name| name.starts_with("virtio"));
    let namespace = || {
        let controller = first(format!("{folder}/nvme"))?;
        let all = names(root, &format!("{folder}/nvme/{controller}"));
        let of_controller = |name: &String| name.starts_with(&format!("{controller}n"));
        let path = || {
            all.iter()
                .find(|name| name.starts_with("nvme") && name.contains('n') && nvme_head_of_path(name).is_none())
                .cloned()
        };
        all.iter().find(|name| of_controller(name)).cloned().or_else(path).or(Some(controller))
    };
    first(format!("{folder}/net")).or_else(|| first(format!("{folder}/{}/net", virtio()?))).or_else(namespace)
}

/// Mounts of file systems on disks, as often as they are mounted: into containers too.
fn mounts(root: &Root) -> Vec<Mount> {
    let text = word(root, "proc/1/mounts").or_else(|| word(root, "proc/self/mounts")).unwrap_or_default();
    let mut found: Vec<Mount> = Vec::new();
    for line in text.lines() {
        let mut columns = line.split(' ');
        let (Some(device), Some(path), Some(fs), Some(options)) =
            (columns.next(), columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        if ON_DISKS.contains(&fs) && !device.contains(char::is_control) {
            found.push(Mount {
                device: unescaped(device),
                path: unescaped(path),
                fs: fs.to_owned(),
                options: options.split(',').map(str::to_owned).collect(),
            });
        }
    }
    found
}

/// What stands as octal digits in a list of mounts (`fs/proc_namespace.c`, `mangle`).
pub(crate) const MANGLED: [(&str, &str); 5] =
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\")];

/// A path as it is, of one in a list of mounts.
pub(crate) fn unescaped(text: &str) -> String {
    MANGLED.iter().fold(text.to_owned(), |text, (code, meant)| text.replace(code, meant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_record::machine::{MachineBond, MachineNic};
    use std::fs;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::captured(folder.path());
        (folder, root)
    }

    #[test]
    fn links_disks_and_mounts_are_what_files_say() {
        let pci = "sys/bus/pci/devices/0000:3b:00.0";
        let nvme = "sys/bus/pci/devices/0000:5e:00.0";
        let files = [
            (format!("{pci}/class"), "0x020000\n"),
            (format!("{pci}/current_link_speed"), "8.0 GT/s PCIe\n"),
            (format!("{pci}/max_link_speed"), "16.0 GT/s PCIe\n"),
            (format!("{pci}/current_link_width"), "8\n"),
            (format!("{pci}/max_link_width"), "16\n"),
            (format!("{pci}/numa_node"), "1\n"),
            (format!("{pci}/net/ens1f0/mtu"), "1500\n"),
            (format!("{nvme}/class"), "0x010802\n"),
            (format!("{nvme}/max_link_speed"), "Unknown\n"),
            (format!("{nvme}/max_link_width"), "255\n"),
            (format!("{nvme}/numa_node"), "-1\n"),
            (format!("{nvme}/nvme/nvme0/nvme0n1/size"), "8\n"),
            ("sys/bus/pci/devices/0000:00:1f.0/class".to_owned(), "0x060100\n"),
            ("sys/block/nvme0n1/size".to_owned(), "15002931888\n"),
            ("sys/block/nvme0n1/queue/rotational".to_owned(), "0\n"),
            ("sys/block/nvme0n1/queue/discard_max_bytes".to_owned(), "2199023255040\n"),
            ("sys/block/nvme0n1/device/numa_node".to_owned(), "0\n"),
            ("sys/bus/pci/devices/0000:3b:00.2/class".to_owned(), "0x020000\n"),
            ("sys/bus/pci/devices/0000:3b:00.2/physfn/class".to_owned(), "0x020000\n"),
            ("sys/bus/pci/devices/0000:3b:00.2/net/ens1f0v0/mtu".to_owned(), "1500\n"),
            ("sys/block/loop0/size".to_owned(), "8\n"),
            ("sys/block/drbd0/size".to_owned(), "8\n"),
            ("sys/block/zd0/size".to_owned(), "8\n"),
            ("sys/block/cache0/size".to_owned(), "8\n"),
            ("sys/block/cache0/slaves/sda/size".to_owned(), "8\n"),
            ("sys/block/nvme0c0n1/size".to_owned(), "8\n"),
            (
                "proc/self/mounts".to_owned(),
                "proc /proc proc rw 0 0\n/dev/nvme0n1 /data0 xfs rw,noatime 0 0\n\
                 /dev/nvme0n1 /pod\\040x xfs rw 0 0\nodd\n",
            ),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_folder, root) = machine(&files);
        let devices = devices(&root, &Machine::default());
        assert_eq!(devices.pcie.len(), 2, "{:?}", devices.pcie);
        let card = &devices.pcie[0];
        assert_eq!((card.name.as_str(), card.lanes, card.numa_node), ("ens1f0", (8, 16), Some(1)));
        assert!((card.speed_gt_per_s.0 - 8.0).abs() < 1e-9 && (card.speed_gt_per_s.1 - 16.0).abs() < 1e-9);
        assert_eq!((devices.pcie[1].name.as_str(), devices.pcie[1].lanes.1), ("nvme0n1", 0));
        assert_eq!(devices.disks.len(), 1, "{:?}", devices.disks);
        let disk = &devices.disks[0];
        assert_eq!((disk.bytes, disk.discards, disk.rotational), (7_681_501_126_656, true, false));
        assert_eq!(disk.numa_node, Some(0));
        assert_eq!(devices.mounts.len(), 2);
        assert_eq!(devices.mounts[1].path, "/pod x");
        assert_eq!((devices.mounts[0].path.as_str(), devices.mounts[0].options.len()), ("/data0", 2));
    }

    #[test]
    fn a_member_that_is_up_in_another_aggregator_is_outside() {
        let member =
            |name: &str, id: &str| (format!("sys/class/net/{name}/bonding_slave/ad_aggregator_id"), id.to_owned());
        let files = [
            ("sys/class/net/bond0/bonding/ad_aggregator".to_owned(), "2\n".to_owned()),
            member("p0", "2\n"),
            member("p1", "1\n"),
            member("p2", "N/A\n"),
            member("down", "3\n"),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let (_folder, root) = machine(&files);
        let nic = |name: &str| MachineNic { name: name.to_owned(), ..MachineNic::default() };
        let members = ["p0", "p1", "p2", "down"].map(str::to_owned).to_vec();
        let found = |mode: &str| {
            let bond = MachineBond { mode: mode.to_owned(), members: members.clone(), ..MachineBond::default() };
            let bond = MachineNic { bond: Some(bond), ..nic("bond0") };
            let of = Machine { nics: vec![nic("p0"), nic("p1"), nic("p2"), bond], ..Machine::default() };
            outside_lacp(&root, &of).into_iter().map(|one| (one.member, one.aggregator, one.used)).collect::<Vec<_>>()
        };
        assert_eq!(found("802.3ad"), [("p1".to_owned(), 1, 2)]);
        assert_eq!(found("balance-xor"), []);
    }
}
