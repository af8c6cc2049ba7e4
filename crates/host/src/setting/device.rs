//! Devices behind names. Whoever renames an interface takes its name and leaves its settings; whoever makes another
//! one of that name has no part in what was changed. So what is changed back is found by its number.

use std::io;
use std::os::fd::AsFd as _;

use linerate_record::journal::{Address, Beside, Device, DeviceKind};
use linerate_record::knob::{DeviceClass, Knob, Place};

use super::file::{self, Links, names};
use super::space::Inside;
use super::spot::{self, Spot};
use super::{netlink, sysctl};

/// What a setting was of is not there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Gone {
    /// With everything in it.
    #[error("its network namespace is gone")]
    Namespace,
    /// It may have another name in another namespace.
    #[error("{0} is gone: what has its name, if anything, is another device")]
    Device(String),
}

impl Gone {
    /// What an error says to be gone.
    pub(crate) fn of(error: &io::Error) -> Option<&Gone> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<Gone> for io::Error {
    fn from(gone: Gone) -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, gone)
    }
}

/// The devices that a setting and what moves with it are of. One that has no number here is left out, and goes by its
/// name.
pub(super) fn of(inside: &Inside<'_>, knob: &Knob, place: &Place, beside: &[Beside]) -> Vec<Device> {
    let own = place.device.clone().and_then(|name| Some((kind(knob)?, name)));
    let others = beside.iter().filter_map(|beside| named(&beside.address));
    let mut wanted: Vec<(DeviceKind, String)> = Vec::new();
    for one in own.into_iter().chain(others) {
        if !wanted.contains(&one) {
            wanted.push(one);
        }
    }
    let all = there(inside, wanted.iter().map(|(kind, _)| *kind));
    all.into_iter()
        .filter(|device| wanted.iter().any(|(kind, name)| (*kind, name) == (device.kind, &device.name)))
        .collect()
}

fn kind(knob: &Knob) -> Option<DeviceKind> {
    match knob.locator.device_class()? {
        DeviceClass::Nic | DeviceClass::Bond => Some(DeviceKind::Interface),
        DeviceClass::Disk => Some(DeviceKind::Disk),
        DeviceClass::Cpu | DeviceClass::Mount => None,
    }
}

/// Names that devices had, and the ones that they have.
pub(super) struct Now<'d> {
    then: &'d [Device],
    there: Vec<Device>,
}

impl<'d> Now<'d> {
    /// Where known devices are by now.
    pub(super) fn of(inside: &Inside<'_>, devices: &'d [Device]) -> Now<'d> {
        Now { then: devices, there: there(inside, devices.iter().map(|device| device.kind)) }
    }

    /// The name that a device has by now; the same where it was not known by more than its name.
    fn name(&self, kind: DeviceKind, then: &str) -> Result<String, Gone> {
        let Some(known) = self.then.iter().find(|device| device.kind == kind && device.name == then) else {
            return Ok(then.to_owned());
        };
        let of_kind = || self.there.iter().filter(|device| device.kind == kind);
        let is_another = |device: &&Device| {
            device.identity.is_some() && known.identity.is_some() && device.identity != known.identity
        };
        let by_number = of_kind().find(|device| device.number == known.number && !is_another(device));
        // Hardware that was in another namespace meanwhile may come back under another number.
        let by_identity = || of_kind().find(|device| known.identity.is_some() && device.identity == known.identity);
        let found = by_number.or_else(by_identity);
        found.map(|device| device.name.clone()).ok_or_else(|| Gone::Device(then.to_owned()))
    }

    /// Where a setting is by now.
    pub(super) fn place(&self, knob: &Knob, place: &Place) -> Result<Place, Gone> {
        let device = match (&place.device, kind(knob)) {
            (Some(name), Some(kind)) => Some(self.name(kind, name)?),
            (device, _) => device.clone(),
        };
        Ok(Place { device, ..place.clone() })
    }

    /// What moved besides, where it is by now; what is gone with its device is left out.
    pub(super) fn besides(&self, besides: &[Beside]) -> Vec<Beside> {
        let now = |beside: &Beside| {
            let address = match named(&beside.address) {
                Some((kind, then)) => renamed(&beside.address, &then, &self.name(kind, &then).ok()?),
                None => beside.address.clone(),
            };
            Some(Beside { address, value: beside.value.clone() })
        };
        besides.iter().filter_map(now).collect()
    }
}

const INTERFACES: &str = "class/net/";
const DISKS: &str = "block/";
const OF_IPV6: &str = "net.ipv6.conf.";

/// The device of a setting beside another.
fn named(address: &Address) -> Option<(DeviceKind, String)> {
    let first = |rest: &str| rest.split('/').next().unwrap_or_default().to_owned();
    match address {
        Address::Feature { device, .. } | Address::Interrupts { device } => {
            Some((DeviceKind::Interface, device.clone()))
        }
        Address::Sysctl(name) => {
            let (part, _) = name.strip_prefix(OF_IPV6)?.split_once('.')?;
            Some((DeviceKind::Interface, part.replace('/', ".")))
        }
        Address::Sysfs(path) => match (path.strip_prefix(INTERFACES), path.strip_prefix(DISKS)) {
            (Some(rest), _) => Some((DeviceKind::Interface, first(rest))),
            (_, Some(rest)) => Some((DeviceKind::Disk, first(rest))),
            _ => None,
        },
    }
}

fn renamed(address: &Address, then: &str, now: &str) -> Address {
    let moved = |text: &str, prefix: &str, then: &str, now: &str| {
        let rest = text.strip_prefix(prefix)?.strip_prefix(then)?;
        Some(format!("{prefix}{now}{rest}"))
    };
    match address {
        Address::Feature { name, .. } => Address::Feature { device: now.to_owned(), name: name.clone() },
        Address::Interrupts { .. } => Address::Interrupts { device: now.to_owned() },
        Address::Sysctl(text) => {
            let moved = moved(text, OF_IPV6, &sysctl::part(then), &sysctl::part(now));
            Address::Sysctl(moved.unwrap_or_else(|| text.clone()))
        }
        Address::Sysfs(path) => {
            let moved = [INTERFACES, DISKS].into_iter().find_map(|prefix| moved(path, prefix, then, now));
            Address::Sysfs(moved.unwrap_or_else(|| path.clone()))
        }
    }
}

/// The devices that there are, of these kinds.
fn there(inside: &Inside<'_>, kinds: impl Iterator<Item = DeviceKind> + Clone) -> Vec<Device> {
    let is_asked = |kind| kinds.clone().any(|one| one == kind);
    let mut all = Vec::new();
    if is_asked(DeviceKind::Interface) {
        // By netlink, which is of this thread's namespace whatever /sys shows.
        let live = inside.root.is_live().then(|| netlink::interfaces().unwrap_or_default());
        all.extend(live.unwrap_or_else(|| numbered(inside, DeviceKind::Interface, "class/net", "ifindex")));
    }
    if is_asked(DeviceKind::Disk) {
        all.extend(numbered(inside, DeviceKind::Disk, "block", "diskseq"));
    }
    all
}

fn numbered(inside: &Inside<'_>, kind: DeviceKind, folder: &str, file: &str) -> Vec<Device> {
    let Ok(tree) = inside.sysfs(folder) else { return Vec::new() };
    let number = |name: &str| {
        let text = file::read(tree.as_fd(), &format!("{folder}/{name}/{file}"), Links::WithinTheTree).ok()?;
        text.trim().parse().ok()
    };
    let all = names(tree.as_fd(), folder).unwrap_or_default().into_iter();
    all.filter_map(|name| Some(Device { kind, number: number(&name)?, name, identity: None })).collect()
}

/// Where a setting is by now, as a spot.
pub(super) fn spot_now(now: &Now<'_>, knob: &Knob, place: &Place) -> io::Result<Spot> {
    let place = now.place(knob, place)?;
    spot::spot(&knob.locator, place.device.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, number: u64, identity: Option<&str>) -> Device {
        Device { kind: DeviceKind::Interface, name: name.to_owned(), number, identity: identity.map(str::to_owned) }
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
            let now = Now { then: &then, there };
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
            let address = Address::Sysfs(path.to_owned());
            assert_eq!(named(&address), Some((kind, name.to_owned())));
            assert_eq!(renamed(&address, name, "b"), Address::Sysfs(after.to_owned()));
        }
        let address = Address::Sysctl("net.ipv6.conf.eth0/7.mtu".to_owned());
        assert_eq!(named(&address), Some((DeviceKind::Interface, "eth0.7".to_owned())));
        assert_eq!(renamed(&address, "eth0.7", "b.8"), Address::Sysctl("net.ipv6.conf.b/8.mtu".to_owned()));
        for none in [Address::Sysctl("vm.dirty_ratio".to_owned()), Address::Sysfs("kernel/mm/x".to_owned())] {
            assert_eq!(named(&none), None, "{none:?}");
        }
    }
}
