//! Devices behind names. Whoever renames an interface takes its name and leaves its settings; whoever makes another
//! one of that name, or of that index, has no part in what was changed. So what is changed back is found by the node of
//! its folder in sysfs: `fs/kernfs/dir.c` gives each one that no other has during a boot, and keeps it when it is
//! renamed.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use linerate_record::journal::{CoupledSetting, Device, DeviceKind, RecordedLocator};
use linerate_record::knob::{DeviceClass, Knob, Locator, SettingId};

use super::file::{self, Links, names};
use super::gone::Gone;
use super::namespace::{InNamespace, own_sysfs};
use super::resolved_locator::{self, ResolvedLocator};
use super::{netlink, sysctl};

/// The index of a loopback interface: `LOOPBACK_IFINDEX` of `include/net/net_namespace.h`.
const LOOPBACK: u64 = 1;

/// The devices that a setting and what moves with it are of, and the loopback interface of its network namespace. One
/// that has no number here is left out, and goes by its name.
pub(super) fn touched_devices(
    in_namespace: &InNamespace<'_>,
    knob: &Knob,
    place: &SettingId,
    coupled: &[CoupledSetting],
) -> Vec<Device> {
    let own = place.device.clone().and_then(|name| Some((kind(knob)?, name)));
    let others = coupled.iter().filter_map(|coupled| named(&coupled.locator));
    let mut wanted: Vec<(DeviceKind, String)> = Vec::new();
    for one in own.into_iter().chain(others) {
        if !wanted.contains(&one) {
            wanted.push(one);
        }
    }
    let of_space = (in_namespace.root.is_live() && is_of_network(knob)).then_some(DeviceKind::Interface);
    let all = there(in_namespace, wanted.iter().map(|(kind, _)| *kind).chain(of_space));
    let is_wanted = |device: &Device| {
        let is_loopback = of_space == Some(device.kind) && device.number == LOOPBACK;
        is_loopback || wanted.iter().any(|(kind, name)| (*kind, name) == (device.kind, &device.name))
    };
    all.into_iter().filter(is_wanted).collect()
}

/// Whether a setting is a network namespace's. Others have one value for the machine, wherever they are written.
pub(super) fn is_of_network(knob: &Knob) -> bool {
    let is_of_interface = matches!(knob.locator.device_class(), Some(DeviceClass::Nic | DeviceClass::Bond));
    is_of_interface || matches!(knob.locator, Locator::Sysctl { name } if name.starts_with("net."))
}

/// The node of the loopback interface among devices, which is its network namespace's own.
fn loopback(devices: &[Device]) -> Option<u64> {
    let is_it = |device: &&Device| device.kind == DeviceKind::Interface && device.number == LOOPBACK;
    devices.iter().find(is_it)?.node
}

/// What tells this thread's network namespace from a later one of the same inode, where this process can see it.
pub(super) fn node_of_space() -> Option<u64> {
    loopback(&live_interfaces())
}

fn kind(knob: &Knob) -> Option<DeviceKind> {
    match knob.locator.device_class()? {
        DeviceClass::Nic | DeviceClass::Bond => Some(DeviceKind::Interface),
        DeviceClass::Disk => Some(DeviceKind::Disk),
        DeviceClass::Cpu | DeviceClass::Mount => None,
    }
}

/// Names that devices had, and the ones that they have.
pub(super) struct DeviceNames<'d> {
    then: &'d [Device],
    there: Vec<Device>,
}

impl<'d> DeviceNames<'d> {
    /// Where known devices are by now.
    ///
    /// # Errors
    /// Where their network namespace is gone.
    pub(super) fn resolve(in_namespace: &InNamespace<'_>, devices: &'d [Device]) -> Result<DeviceNames<'d>, Gone> {
        let now = DeviceNames { then: devices, there: there(in_namespace, devices.iter().map(|device| device.kind)) };
        now.require_space()?;
        Ok(now)
    }

    /// The name that a device has by now; the same where it was not known by more than its name.
    fn name(&self, kind: DeviceKind, then: &str) -> Result<String, Gone> {
        let Some(known) = self.then.iter().find(|device| device.kind == kind && device.name == then) else {
            return Ok(then.to_owned());
        };
        let found = self.found(known).ok_or_else(|| Gone::Device(then.to_owned()))?;
        Ok(found.name.clone())
    }

    /// The device that was known, where it is there. An index is given anew (`ip link add … index N`), so it tells a
    /// device only in journals of earlier versions, and where there is no sysfs.
    fn found(&self, known: &Device) -> Option<&Device> {
        let of_kind = || self.there.iter().filter(|device| device.kind == known.kind);
        let is_another = |device: &&Device| {
            device.identity.is_some() && known.identity.is_some() && device.identity != known.identity
        };
        // An interface has another index in another network namespace; a disk with other contents is another disk.
        let has_number = |device: &&Device| device.number == known.number;
        let by_itself = if known.node.is_some() {
            of_kind()
                .find(|device| device.node == known.node && (known.kind == DeviceKind::Interface || has_number(device)))
        } else {
            of_kind().find(|device| has_number(device) && !is_another(device))
        };
        // Hardware whose driver was loaded anew, if there is one such.
        let mut same = of_kind().filter(|device| known.identity.is_some() && device.identity == known.identity);
        by_itself.or_else(|| same.next().filter(|_| same.next().is_none()))
    }

    /// Refuses where the namespace is another of the same inode: `nsfs` gives those anew, but a namespace's loopback
    /// interface comes and goes with it.
    fn require_space(&self) -> Result<(), Gone> {
        let is_another = match (loopback(self.then), loopback(&self.there)) {
            (Some(then), Some(now)) => then != now,
            // What cannot be told is no reason to leave it as it is.
            _ => false,
        };
        if is_another { Err(Gone::Namespace) } else { Ok(()) }
    }

    /// Where a setting is by now.
    pub(super) fn place(&self, knob: &Knob, place: &SettingId) -> Result<SettingId, Gone> {
        let device = match (&place.device, kind(knob)) {
            (Some(name), Some(kind)) => Some(self.name(kind, name)?),
            (device, _) => device.clone(),
        };
        Ok(SettingId { device, ..place.clone() })
    }

    /// What moved besides, where it is by now; what is gone with its device is left out.
    pub(super) fn besides(&self, besides: &[CoupledSetting]) -> Vec<CoupledSetting> {
        let now = |coupled: &CoupledSetting| {
            let locator = match named(&coupled.locator) {
                Some((kind, then)) => renamed(&coupled.locator, &then, &self.name(kind, &then).ok()?),
                None => coupled.locator.clone(),
            };
            Some(CoupledSetting { locator, value: coupled.value.clone() })
        };
        besides.iter().filter_map(now).collect()
    }
}

const INTERFACES: &str = "class/net/";
const DISKS: &str = "block/";
const OF_IPV6: &str = "net.ipv6.conf.";

/// The device of a setting beside another.
fn named(locator: &RecordedLocator) -> Option<(DeviceKind, String)> {
    let first = |rest: &str| rest.split('/').next().unwrap_or_default().to_owned();
    match locator {
        RecordedLocator::Feature { device, .. } | RecordedLocator::Interrupts { device } => {
            Some((DeviceKind::Interface, device.clone()))
        }
        RecordedLocator::Sysctl(name) => {
            let (part, _) = name.strip_prefix(OF_IPV6)?.split_once('.')?;
            Some((DeviceKind::Interface, part.replace('/', ".")))
        }
        RecordedLocator::Sysfs(path) => match (path.strip_prefix(INTERFACES), path.strip_prefix(DISKS)) {
            (Some(rest), _) => Some((DeviceKind::Interface, first(rest))),
            (_, Some(rest)) => Some((DeviceKind::Disk, first(rest))),
            _ => None,
        },
    }
}

fn renamed(locator: &RecordedLocator, then: &str, now: &str) -> RecordedLocator {
    let moved = |text: &str, prefix: &str, then: &str, now: &str| {
        let rest = text.strip_prefix(prefix)?.strip_prefix(then)?;
        Some(format!("{prefix}{now}{rest}"))
    };
    match locator {
        RecordedLocator::Feature { name, .. } => {
            RecordedLocator::Feature { device: now.to_owned(), name: name.clone() }
        }
        RecordedLocator::Interrupts { .. } => RecordedLocator::Interrupts { device: now.to_owned() },
        RecordedLocator::Sysctl(text) => {
            let moved = moved(text, OF_IPV6, &sysctl::part(then), &sysctl::part(now));
            RecordedLocator::Sysctl(moved.unwrap_or_else(|| text.clone()))
        }
        RecordedLocator::Sysfs(path) => {
            let moved = [INTERFACES, DISKS].into_iter().find_map(|prefix| moved(path, prefix, then, now));
            RecordedLocator::Sysfs(moved.unwrap_or_else(|| path.clone()))
        }
    }
}

/// The devices that there are, of these kinds.
fn there(in_namespace: &InNamespace<'_>, kinds: impl Iterator<Item = DeviceKind> + Clone) -> Vec<Device> {
    let is_requested = |kind| kinds.clone().any(|one| one == kind);
    let mut all = Vec::new();
    if is_requested(DeviceKind::Interface) {
        // By netlink, which is of this thread's namespace whatever /sys shows.
        let live = in_namespace.root.is_live().then(live_interfaces);
        all.extend(live.unwrap_or_else(|| numbered(in_namespace, DeviceKind::Interface, "class/net", "ifindex")));
    }
    if is_requested(DeviceKind::Disk) {
        all.extend(numbered(in_namespace, DeviceKind::Disk, "block", "diskseq"));
    }
    all
}

fn live_interfaces() -> Vec<Device> {
    let mut all = netlink::interfaces().unwrap_or_default();
    let Ok(tree) = own_sysfs() else { return all };
    for device in &mut all {
        let path = format!("class/net/{}", device.name);
        let is_it = number(&tree, &format!("{path}/ifindex")) == Some(device.number);
        device.node = file::node(tree.as_fd(), &path).ok().filter(|_| is_it);
    }
    all
}

/// The interfaces or disks that sysfs shows with a number. Disks have one since Linux 5.15.
fn numbered(in_namespace: &InNamespace<'_>, kind: DeviceKind, folder: &str, file: &str) -> Vec<Device> {
    let Ok(tree) = in_namespace.sysfs(folder) else { return Vec::new() };
    let device = |name: String| {
        let path = format!("{folder}/{name}");
        // A captured machine's folders are copies.
        let node = if in_namespace.root.is_live() { file::node(tree.as_fd(), &path).ok() } else { None };
        let number = number(&tree, &format!("{path}/{file}")).or(node.map(|_| 0))?;
        Some(Device { kind, number, name, identity: None, node })
    };
    names(tree.as_fd(), folder).unwrap_or_default().into_iter().filter_map(device).collect()
}

fn number(tree: &OwnedFd, path: &str) -> Option<u64> {
    file::read(tree.as_fd(), path, Links::WithinTheTree).ok()?.trim().parse().ok()
}

/// Where a setting is by now, as a spot.
pub(super) fn resolve_now(now: &DeviceNames<'_>, knob: &Knob, place: &SettingId) -> io::Result<ResolvedLocator> {
    let place = now.place(knob, place)?;
    resolved_locator::resolve(&knob.locator, place.device.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, number: u64, identity: Option<&str>) -> Device {
        let identity = identity.map(str::to_owned);
        Device { kind: DeviceKind::Interface, name: name.to_owned(), number, identity, node: None }
    }

    #[test]
    fn an_index_that_was_given_by_hand_makes_no_device_another() {
        let interface = |name: &str, number, node| Device { node, ..device(name, number, None) };
        let disk = |name: &str, number, node| Device { kind: DeviceKind::Disk, ..interface(name, number, node) };
        let own = Some("pci/0000:01:00.0 02:00:00:00:00:01");
        let hardware = |name: &str, number, node| Device { node, ..device(name, number, own) };
        for (then, there, name) in [
            (interface("a", 2, Some(70)), vec![interface("b", 2, Some(70))], Some("b")),
            (interface("a", 2, Some(70)), vec![interface("a", 2, Some(71))], None),
            (interface("a", 2, Some(70)), vec![interface("a", 2, Some(71)), interface("c", 9, Some(70))], Some("c")),
            (interface("a", 2, Some(70)), vec![interface("a", 2, None)], None),
            // A journal of an earlier version.
            (interface("a", 2, None), vec![interface("a", 2, Some(71))], Some("a")),
            (hardware("a", 2, Some(70)), vec![interface("a", 2, Some(71)), hardware("c", 5, Some(72))], Some("c")),
            (hardware("a", 2, Some(70)), vec![hardware("b", 2, Some(71)), hardware("c", 5, Some(72))], None),
            (disk("a", 2, Some(70)), vec![disk("b", 2, Some(70))], Some("b")),
            (disk("a", 2, Some(70)), vec![disk("a", 3, Some(70))], None),
        ] {
            let then = [then];
            let now = DeviceNames { then: &then, there: there.clone() };
            assert_eq!(now.name(then[0].kind, "a").ok().as_deref(), name, "{then:?} {there:?}");
        }
    }

    #[test]
    fn another_namespace_of_the_same_inode_is_told_by_its_loopback_interface() {
        let lo = |node| Device { node, ..device("lo", LOOPBACK, None) };
        for (then, there, is_it) in [
            (vec![lo(Some(7))], vec![lo(Some(7))], true),
            (vec![lo(Some(7))], vec![lo(Some(8))], false),
            (vec![lo(None)], vec![lo(Some(8))], true),
            (vec![lo(Some(7))], vec![lo(None)], true),
            (vec![], vec![lo(Some(8))], true),
        ] {
            let now = DeviceNames { then: &then, there };
            assert_eq!(now.require_space().is_ok(), is_it, "{then:?}");
        }
    }

    #[test]
    fn each_interface_has_a_node_of_its_own() {
        let all = live_interfaces();
        // Without the right to mount there is none.
        let mut nodes: Vec<u64> = all.iter().filter_map(|device| device.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        assert!(nodes.is_empty() || nodes.len() == all.len(), "{all:?}");
    }

    #[test]
    fn a_device_is_found_by_its_number_and_by_what_stands_behind_it_and_never_by_its_name() {
        let (own, other) = (Some("pci/0000:01:00.0 02:00:00:00:00:01"), Some("pci/0000:02:00.0"));
        for (then, there, name) in [
            (device("a", 2, None), vec![device("a", 2, None)], Some("a")),
            (device("a", 2, None), vec![device("a", 7, None), device("b", 2, None)], Some("b")),
            (device("a", 2, None), vec![device("a", 7, None)], None),
            (device("a", 2, own), vec![device("b", 7, own)], Some("b")),
            (device("a", 2, own), vec![device("a", 2, other)], None),
            (device("a", 2, own), vec![device("a", 2, other), device("c", 5, own)], Some("c")),
            (device("b", 3, None), vec![device("a", 9, None)], None),
        ] {
            let then = [then];
            let now = DeviceNames { then: &then, there };
            assert_eq!(now.name(DeviceKind::Interface, &then[0].name).ok().as_deref(), name, "{then:?}");
            assert_eq!(now.name(DeviceKind::Interface, "x").unwrap(), "x", "nothing is known of it");
            assert_eq!(now.name(DeviceKind::Disk, "a").unwrap(), "a", "a disk is no interface");
        }
    }

    #[test]
    fn addresses_follow_their_device() {
        let cases = [
            ("class/net/eth0.7/mtu", "class/net/b/mtu", DeviceKind::Interface, "eth0.7"),
            ("class/net/eth0/queues/rx-*/rps_cpus", "class/net/b/queues/rx-*/rps_cpus", DeviceKind::Interface, "eth0"),
            ("block/sda/queue/nr_requests", "block/b/queue/nr_requests", DeviceKind::Disk, "sda"),
        ];
        for (path, after, kind, name) in cases {
            let locator = RecordedLocator::Sysfs(path.to_owned());
            assert_eq!(named(&locator), Some((kind, name.to_owned())));
            assert_eq!(renamed(&locator, name, "b"), RecordedLocator::Sysfs(after.to_owned()));
        }
        let locator = RecordedLocator::Sysctl("net.ipv6.conf.eth0/7.mtu".to_owned());
        assert_eq!(named(&locator), Some((DeviceKind::Interface, "eth0.7".to_owned())));
        assert_eq!(renamed(&locator, "eth0.7", "b.8"), RecordedLocator::Sysctl("net.ipv6.conf.b/8.mtu".to_owned()));
        for none in
            [RecordedLocator::Sysctl("vm.dirty_ratio".to_owned()), RecordedLocator::Sysfs("kernel/mm/x".to_owned())]
        {
            assert_eq!(named(&none), None, "{none:?}");
        }
    }
}
