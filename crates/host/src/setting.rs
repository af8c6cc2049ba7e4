//! Settings of a machine: read, and changed where that can be done at run time.
//!
//! A [`Locator`] says where a setting lives; one file below says of each kind how it is got at. What a good value is,
//! nobody here knows.

mod bounds;
mod congestion;
mod coupled;
mod device;
mod ethtool;
mod file;
mod gone;
mod interrupts;
mod kernel_build;
mod namespace;
mod namespaces;
pub(crate) mod netlink;
mod other_netns;
mod process;
mod qdisc;
mod read_only;
mod resolved_locator;
mod reversibility;
mod space_identity;
mod stacked_interfaces;
mod sysctl;
mod sysfs;
mod value_text;

use std::io;
use std::os::fd::AsFd as _;

use linerate_record::journal::{CoupledSetting, Device};
use linerate_record::knob::{
    CurrentText, DeviceClass, Domain, Knob, Locator, Missing, Setting, SettingId, Space, fits, same,
};

use crate::machine;
use crate::root::Root;
pub use coupled::in_words as alongside_in_words;
pub(crate) use ethtool::{PortStatistics, interface_mbits_per_s, pauses_received, port_statistics};
pub(crate) use gone::Gone;
pub use kernel_build::KernelBuild;
pub use namespace::identity;
pub(crate) use namespace::within_process;
use namespace::{InNamespace, within};
pub(crate) use netlink::{QueueCount, interface_kinds, interface_name, interface_to, queue_counts};
pub(crate) use resolved_locator::is_at;
use resolved_locator::resolve;
pub(crate) use space_identity::identity_as_meant;
pub use space_identity::{is_unmoved, space_identity};
pub use sysfs::require_device_name;
use value_text::{LONGEST_VALUE_BYTES, SettingReading};

/// Whether a setting can be changed while the machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changeable {
    Yes,
    /// It cannot, and why, with what to do instead.
    No(&'static str),
}

/// Whether settings of this kind can be changed while the machine runs.
#[must_use]
pub fn changeable(locator: &Locator) -> Changeable {
    Changeable::No(match locator {
        // `net/ipv6/addrconf.c: addrconf_disable_ipv6` takes the addresses of every interface away.
        Locator::Sysctl { name: "net.ipv6.conf.all.disable_ipv6" } => {
            "every interface loses its addresses, and rollback does not restore them: boot with ipv6.disable=1"
        }
        Locator::Sysctl { .. }
        | Locator::Sysfs { .. }
        | Locator::Mtu
        | Locator::Offload { .. }
        | Locator::Ring { .. }
        | Locator::Channels => return Changeable::Yes,
        Locator::Interrupts => "drivers and irqbalance move interrupts too: set it in irqbalance's policy",
        Locator::ReceiveHash => "linerate does not set it: use ethtool -N",
        Locator::MountOption { .. } => {
            "set it where the file system is mounted (fstab, StorageClass), and mount it again"
        }
        Locator::BootArgument { .. } => "set it in the boot loader's configuration, and reboot",
        Locator::KernelVersion => "install another kernel, and reboot",
        Locator::Limit { .. } => "set it where the process is started (unit, container runtime), and restart it",
        Locator::Timer { .. } => "use systemctl enable --now",
        Locator::Component { .. } => "set it in the component's configuration, and restart it",
        Locator::HelmValue { .. } => "set it in the values of the chart's release",
    })
}

/// Whether writing a setting moves others of the same device or machine: such are written first, so that the others are
/// what they shall be in the end.
#[must_use]
pub fn moves_others(locator: &Locator) -> bool {
    match locator {
        Locator::Sysfs { path } => {
            path.ends_with("/scheduler") || path.ends_with("/enabled") || path.ends_with("/mode")
        }
        Locator::Channels => true,
        _ => false,
    }
}

/// Reads one setting. Where that does not work, the value is missing and the reason stands beside it.
#[must_use]
pub fn read(root: &Root, knob: &Knob, place: &SettingId) -> Setting {
    read_with_build(&KernelBuild::new(root), knob, place)
}

/// The same where what the kernel was built with may be asked for again.
fn read_with_build(built: &KernelBuild<'_>, knob: &Knob, place: &SettingId) -> Setting {
    setting(place, within(built.root, &place.space, None, |in_namespace| read_inside(in_namespace, built, knob, place)))
}

/// Reads the settings of many knobs in the same namespaces, each of every device of its class.
#[must_use]
pub fn read_all<'k>(root: &Root, space: &Space, knobs: impl IntoIterator<Item = &'k Knob>) -> Vec<Setting> {
    let knobs: Vec<&Knob> = knobs.into_iter().collect();
    let place =
        |knob: &Knob, device: Option<String>| SettingId { knob: knob.id.to_owned(), device, space: space.clone() };
    let built = KernelBuild::new(root);
    let all = within(root, space, None, |in_namespace| {
        let mut all = Vec::new();
        for knob in &knobs {
            for device in devices_for_locator(in_namespace, &knob.locator) {
                let place = place(knob, device);
                let found = read_inside(in_namespace, &built, knob, &place);
                all.push(setting(&place, found));
            }
        }
        Ok(all)
    });
    all.unwrap_or_else(|error| {
        let missing = |knob: &&Knob| {
            let place = place(knob, None);
            Setting { place, value: None, choices: Vec::new(), missing: Some(missing(&error)) }
        };
        knobs.iter().map(missing).collect()
    })
}

/// The devices of a class that there are in a space, sorted: their names, or the mount points of mounts.
#[must_use]
pub fn devices(root: &Root, space: &Space, class: DeviceClass) -> Vec<String> {
    within(root, space, None, |in_namespace| Ok(sysfs::devices(in_namespace, class))).unwrap_or_default()
}

fn devices_for_locator(in_namespace: &InNamespace<'_>, locator: &Locator) -> Vec<Option<String>> {
    match (locator, locator.device_class()) {
        (Locator::MountOption { fs, .. }, _) => {
            read_only::mount_points(in_namespace, fs).into_iter().map(Some).collect()
        }
        (_, Some(class)) => sysfs::devices(in_namespace, class).into_iter().map(Some).collect(),
        (_, None) => vec![None],
    }
}

fn setting(place: &SettingId, found: io::Result<SettingReading>) -> Setting {
    let place = place.clone();
    match found {
        Ok((value, choices)) => Setting { place, value: Some(value), choices, missing: None },
        Err(error) => Setting { place, value: None, choices: Vec::new(), missing: Some(missing(&error)) },
    }
}

fn missing(error: &io::Error) -> Missing {
    match error.kind() {
        io::ErrorKind::NotFound => Missing::Absent,
        io::ErrorKind::PermissionDenied => Missing::NotPermitted,
        _ => Missing::Unreadable(error.to_string()),
    }
}

fn read_inside(
    in_namespace: &InNamespace<'_>,
    built: &KernelBuild<'_>,
    knob: &Knob,
    place: &SettingId,
) -> io::Result<SettingReading> {
    let (value, choices) = resolved_locator::read(in_namespace, &resolve(&knob.locator, place.device.as_deref())?)?;
    let choices = match (knob.locator, knob.takes) {
        (Locator::Sysctl { name: qdisc::NAME }, Domain::Words(words)) => qdisc::offered(built, words, &value),
        _ => choices,
    };
    Ok((value, choices))
}

/// One setting of the machine, wherever its device is by now.
#[derive(Clone, Copy)]
pub(crate) struct SettingTarget<'a> {
    pub(crate) root: &'a Root,
    pub(crate) knob: &'a Knob,
    pub(crate) place: &'a SettingId,
    /// The inode of its network namespace, where it is known.
    pub(crate) net: Option<u64>,
    /// The devices that it and what moves with it are of, where they are known.
    pub(crate) devices: &'a [Device],
}

/// What a setting was, with what moves with it and the devices of all that.
pub(crate) struct Before {
    pub(crate) value: String,
    pub(crate) coupled: Vec<CoupledSetting>,
    pub(crate) devices: Vec<Device>,
}

/// A setting and what moves with it, read at one time in one network namespace.
pub(crate) fn read_with_coupled(root: &Root, knob: &Knob, place: &SettingId, net: Option<u64>) -> io::Result<Before> {
    within(root, &place.space, required_netns(knob, net), |in_namespace| {
        let resolved = resolve(&knob.locator, place.device.as_deref())?;
        let (value, _) = resolved_locator::read(in_namespace, &resolved)?;
        let coupled = coupled::read(in_namespace, &resolved);
        let devices = device::touched_devices(in_namespace, knob, place, &coupled);
        Ok(Before { value, coupled, devices })
    })
}

/// The network namespace in which a setting has to be found again. What has one value for the machine outlives the one
/// in which it was written.
fn required_netns(knob: &Knob, net: Option<u64>) -> Option<u64> {
    net.filter(|_| device::is_of_network(knob))
}

/// A setting where it is by now: its place, and its value.
pub(crate) fn read_now(target: &SettingTarget<'_>) -> io::Result<(SettingId, String)> {
    let SettingTarget { root, knob, place, net, devices } = *target;
    within(root, &place.space, required_netns(knob, net), |in_namespace| {
        let now = device::DeviceNames::resolve(in_namespace, devices)?.place(knob, place)?;
        let resolved = resolve(&knob.locator, now.device.as_deref())?;
        Ok((now, resolved_locator::read(in_namespace, &resolved)?.0))
    })
}

/// Writes a value and gives what the setting then is, with what moved with it.
pub(crate) fn write(target: &SettingTarget<'_>, value: &str) -> io::Result<(String, Vec<CoupledSetting>)> {
    let SettingTarget { root, knob, place, net, devices } = *target;
    allowed_value(value).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
    within(root, &place.space, required_netns(knob, net), |in_namespace| {
        let now = device::DeviceNames::resolve(in_namespace, devices)?.place(knob, place)?;
        if now != *place {
            let why = format!("it is now named {}: make a new file", now.device.unwrap_or_default());
            return Err(io::Error::other(why));
        }
        let resolved = resolve(&knob.locator, place.device.as_deref())?;
        let elsewhere = reversibility::elsewhere_before(in_namespace, &resolved, value)?;
        resolved_locator::write(in_namespace, &resolved, value)?;
        reversibility::elsewhere_after(in_namespace, &resolved, elsewhere.as_ref())?;
        let (now, _) = resolved_locator::read(in_namespace, &resolved)?;
        Ok((now, coupled::read(in_namespace, &resolved)))
    })
}

/// Refuses a sysctl of the machine that this process could not write to. Nothing is written.
///
/// # Errors
/// What the kernel says to that, or that there is no such sysctl.
pub fn require_writable(root: &Root, sysctl: &str) -> io::Result<()> {
    let path = sysctl::path(sysctl)?;
    within(root, &Space::Host, None, |in_namespace| {
        file::require_writable(in_namespace.sysctls()?.as_fd(), &path, file::Links::None)
    })
}

/// Puts a setting and what moved with it back, and says what it is then. Where `became` tells what the others were
/// after the change, one that somebody has moved since is left alone, unless the setting itself is back already.
///
/// # Errors
/// What the kernel says, or what of the others is not as before.
pub(crate) fn restore_value(
    target: &SettingTarget<'_>,
    prior: &str,
    coupled: &[CoupledSetting],
    became: &[CoupledSetting],
) -> io::Result<String> {
    let SettingTarget { root, knob, place, net, devices } = *target;
    within(root, &place.space, required_netns(knob, net), |in_namespace| {
        let devices = device::DeviceNames::resolve(in_namespace, devices)?;
        let (coupled, became) = (devices.besides(coupled), devices.besides(became));
        let resolved = match device::resolve_now(&devices, knob, place) {
            // What stays without the device is restored all the same.
            Err(error) if Gone::from_error(&error).is_some() => {
                coupled::restore_value(in_namespace, &coupled::still_ours(in_namespace, &coupled, &became))?;
                return Err(error);
            }
            other => other?,
        };
        let is_prior = |now: &str| same(&knob.locator, now, prior);
        let is_back = is_prior(&resolved_locator::read(in_namespace, &resolved)?.0);
        // Where it is back already, whoever did that may have died before the others were.
        let besides = coupled::still_ours(in_namespace, &coupled, if is_back { &[] } else { &became });
        let written = if is_back { Ok(()) } else { resolved_locator::write(in_namespace, &resolved, prior) };
        let moved = coupled::restore_value(in_namespace, &besides);
        let (now, _) = resolved_locator::read(in_namespace, &resolved)?;
        if !is_prior(&now) {
            return written.map(|()| now);
        }
        moved.map(|()| now)
    })
}

/// What cannot be a value of any setting, and why.
pub(crate) fn allowed_value(value: &str) -> Result<(), String> {
    let shown: String = value.chars().take(40).collect();
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(format!("value {shown:?} has a line break or a control character: give one line"));
    }
    if value.len() > LONGEST_VALUE_BYTES {
        return Err(format!("value {shown:?}… has {} bytes: at most {LONGEST_VALUE_BYTES} are accepted", value.len()));
    }
    Ok(())
}

/// What cannot be a value of this setting, and why: by its domain, and by what this machine has. What the kernel takes
/// of the rest, only it knows.
pub(crate) fn fitting_value(
    built: &KernelBuild<'_>,
    knob: &Knob,
    place: &SettingId,
    value: &str,
) -> Result<(), String> {
    let Setting { value: now, choices, .. } = read_with_build(built, knob, place);
    let processors = machine::possible_processors(built.root);
    let choices = bounds::most(built, &knob.locator).map_or(choices, |most| vec![most.to_string()]);
    let seen = CurrentText { now: now.as_deref(), choices: &choices, processors };
    match (knob.locator, knob.takes) {
        (Locator::Sysctl { name: congestion::NAME }, _) => {
            fits(knob, &seen, value)?;
            congestion::offered(built, &place.space, value.trim())
        }
        // Why it is none of those that there are, before that it is none.
        (Locator::Sysctl { name: qdisc::NAME }, Domain::Words(words))
            if words.contains(&value.trim()) && now.as_deref() != Some(value.trim()) =>
        {
            qdisc::require(built, value.trim())
        }
        _ => fits(knob, &seen, value),
    }
}

/// What is said of a value of which this machine does not tell whether its kernel takes it; `None` where it does.
#[must_use]
pub fn doubt(built: &KernelBuild<'_>, knob: &Knob, value: &str) -> Option<String> {
    match knob.locator {
        Locator::Sysctl { name: qdisc::NAME } => qdisc::doubt(built, value.trim()),
        _ => None,
    }
}

/// Whether the kernel zeroes each of two settings when the other is written.
#[must_use]
pub fn zero_each_other(one: &Locator, other: &Locator) -> bool {
    match (one, other) {
        (Locator::Sysctl { name: one }, Locator::Sysctl { name: other }) => coupled::are_twins(one, other),
        _ => false,
    }
}

/// Why changing a setting to a value could not be rolled back; `None` where it can, or nothing would change.
#[must_use]
pub fn irreversible(root: &Root, knob: &Knob, place: &SettingId, new: &str) -> Option<String> {
    let why = within(root, &place.space, None, |in_namespace| {
        let resolved = resolve(&knob.locator, place.device.as_deref())?;
        let (prior, _) = resolved_locator::read(in_namespace, &resolved)?;
        Ok(if same(&knob.locator, &prior, new) {
            None
        } else {
            reversibility::refusal(in_namespace, &resolved, &prior, new)
        })
    });
    // What cannot be read is told by whoever reads it next.
    why.ok().flatten()
}

/// Other interfaces whose MTU the kernel moves when that of one is set to a value: their names, what it is and what it
/// will be. None of other settings.
#[must_use]
pub fn followers(root: &Root, knob: &Knob, place: &SettingId, new: &str) -> Vec<(String, u32, u32)> {
    let (Locator::Mtu, Some(device), Ok(new)) = (knob.locator, &place.device, new.trim().parse()) else {
        return Vec::new();
    };
    within(root, &place.space, None, |in_namespace| Ok(reversibility::followers(in_namespace, device, new)))
        .unwrap_or_default()
}

/// Why a setting must not be changed by anybody but its owner; `None` where it may.
#[must_use]
pub fn owner(root: &Root, knob: &Knob, place: &SettingId) -> Option<String> {
    if let Some(owner) = knob.owned_by {
        return Some(format!("it belongs to {owner}"));
    }
    if let Locator::Sysctl { name } = knob.locator
        && (name.starts_with("net.ipv4.conf.all.") || name.starts_with("net.ipv6.conf.all."))
    {
        return owner_of_all(root, &place.space);
    }
    let is_of_interface = matches!(knob.locator.device_class(), Some(DeviceClass::Nic | DeviceClass::Bond));
    let device = place.device.as_deref().filter(|_| is_of_interface)?;
    match &place.space {
        Space::Pid(_) => Some(format!("interface {device} of a process's own network namespace belongs to the CNI")),
        Space::Netns(name) if name.starts_with("cni-") => {
            Some(format!("interface {device} of network namespace {name} belongs to the CNI"))
        }
        Space::Host | Space::Netns(_) => {
            let made_by_cni =
                within(root, &place.space, None, |in_namespace| Ok(sysfs::is_of_a_cni(in_namespace, device)));
            made_by_cni.unwrap_or(false).then(|| format!("interface {device} belongs to the CNI"))
        }
    }
}

/// Why what reaches every interface of a space must be left alone: one of them is the CNI's.
fn owner_of_all(root: &Root, space: &Space) -> Option<String> {
    let of_cni = |in_namespace: &InNamespace<'_>| {
        let all = sysfs::interfaces(in_namespace).into_iter();
        let is_pods = in_namespace.pid.is_some() && in_namespace.is_foreign();
        Ok(all.filter(|name| name != "lo").find(|name| is_pods || sysfs::is_of_a_cni(in_namespace, name)))
    };
    let found = match space {
        Space::Netns(name) if name.starts_with("cni-") => Some("eth0".to_owned()),
        _ => within(root, space, None, of_cni).unwrap_or_default(),
    };
    found.map(|device| format!("it reaches every interface, and {device} belongs to the CNI"))
}

#[cfg(test)]
pub(crate) mod tests;
