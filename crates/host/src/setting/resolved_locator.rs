//! A locator with its device filled in: one place that can be read, and perhaps written.

use std::io;
use std::os::fd::AsFd as _;

use linerate_record::journal::RecordedLocator;
use linerate_record::knob::Locator;

use super::file::{self, Links};
use super::namespace::InNamespace;
use super::value_text::{SettingReading, invalid, number, switch};
use super::{ethtool, interrupts, netlink, process, read_only, sysctl, sysfs};

/// Where one setting is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ResolvedLocator {
    /// Below `proc/sys`.
    Sysctl(String),
    /// Below `sys`; a `*` stands for every entry.
    Sysfs(String),
    Mtu(String),
    /// A feature as ethtool names it: one or several of the kernel's.
    Offload(String, &'static str),
    /// One feature, as the kernel names it.
    Feature(String, String),
    Ring(String, &'static str),
    Channels(String),
    ReceiveHash(String),
    Interrupts(String),
    /// The same of each interrupt: `30=0-3 31=4`.
    Affinities(String),
    MountOption(String, &'static str, &'static str),
    BootArgument(&'static str),
    KernelVersion,
    Limit(&'static str),
    Timer(&'static str),
    Elsewhere(&'static str),
}

/// Fills the device in.
pub(super) fn resolve(locator: &Locator, device: Option<&str>) -> io::Result<ResolvedLocator> {
    let class = locator.device_class();
    if class.is_none() && device.is_some() {
        return Err(invalid("a device is given, but the setting does not belong to a device"));
    }
    let of_device = || {
        let device = device.map(str::to_owned);
        device.ok_or_else(|| invalid("the setting belongs to a device, but none is given"))
    };
    let interface = || of_device().and_then(|name| sysfs::require_device_name(&name).map(|()| name));
    Ok(match *locator {
        Locator::Sysctl { name } => ResolvedLocator::Sysctl(sysctl::path(name)?),
        Locator::Sysfs { path } => ResolvedLocator::Sysfs(match class {
            Some(_) => sysfs::fill(path, &interface()?)?,
            None => path.to_owned(),
        }),
        Locator::Mtu => ResolvedLocator::Mtu(interface()?),
        Locator::Offload { feature } => ResolvedLocator::Offload(interface()?, feature),
        Locator::Ring { side } => ResolvedLocator::Ring(interface()?, side),
        Locator::Channels => ResolvedLocator::Channels(interface()?),
        Locator::Interrupts => ResolvedLocator::Interrupts(interface()?),
        Locator::ReceiveHash => ResolvedLocator::ReceiveHash(interface()?),
        Locator::MountOption { fs, option } => ResolvedLocator::MountOption(of_device()?, fs, option),
        Locator::BootArgument { name } => ResolvedLocator::BootArgument(name),
        Locator::KernelVersion => ResolvedLocator::KernelVersion,
        Locator::Limit { name } => ResolvedLocator::Limit(name),
        Locator::Timer { unit } => ResolvedLocator::Timer(unit),
        Locator::Component { .. } | Locator::HelmValue { .. } => {
            ResolvedLocator::Elsewhere("of the cluster, not of this machine")
        }
    })
}

/// Where a setting that is coupled to another is, from a journal: checked as carefully as from anywhere.
pub(super) fn from_recorded(address: &RecordedLocator) -> io::Result<ResolvedLocator> {
    Ok(match address {
        RecordedLocator::Sysctl(name) => ResolvedLocator::Sysctl(sysctl::path(name)?),
        RecordedLocator::Sysfs(path) => ResolvedLocator::Sysfs(path.clone()),
        RecordedLocator::Feature { device, name } => {
            sysfs::require_device_name(device)?;
            ResolvedLocator::Feature(device.clone(), name.clone())
        }
        RecordedLocator::Interrupts { device } => {
            sysfs::require_device_name(device)?;
            ResolvedLocator::Affinities(device.clone())
        }
    })
}

/// Whether a setting that is coupled to another is the one that a locator tells of a device.
pub(crate) fn is_at(address: &RecordedLocator, locator: &Locator, device: Option<&str>) -> bool {
    let (Ok(noted), Ok(reported)) = (from_recorded(address), resolve(locator, device)) else { return false };
    // What moves with another interface's MTU is noted by its file.
    let reported = if let ResolvedLocator::Mtu(device) = reported {
        ResolvedLocator::Sysfs(format!("class/net/{device}/mtu"))
    } else {
        reported
    };
    noted == reported
}

pub(super) fn read(in_namespace: &InNamespace<'_>, resolved: &ResolvedLocator) -> io::Result<SettingReading> {
    let alone = |text: String| (text, Vec::new());
    match resolved {
        ResolvedLocator::Sysctl(path) => file::read(in_namespace.sysctls()?.as_fd(), path, Links::None).map(alone),
        ResolvedLocator::Sysfs(path) => sysfs::read(in_namespace, path),
        ResolvedLocator::Mtu(device) if !in_namespace.root.is_live() => {
            sysfs::read(in_namespace, &format!("class/net/{device}/mtu"))
        }
        ResolvedLocator::Mtu(device) => netlink::mtu(device).map(|mtu| alone(mtu.to_string())),
        ResolvedLocator::MountOption(path, fs, option) => {
            read_only::mount_option(in_namespace, path, fs, option).map(alone)
        }
        ResolvedLocator::BootArgument(name) => read_only::boot_argument(in_namespace, name).map(alone),
        ResolvedLocator::KernelVersion => {
            file::read(in_namespace.sysctls()?.as_fd(), "kernel/osrelease", Links::None).map(alone)
        }
        ResolvedLocator::Limit(name) => process::limit(in_namespace, name).map(alone),
        ResolvedLocator::Timer(unit) => read_only::timer(in_namespace, unit).map(alone),
        ResolvedLocator::Interrupts(device) => interrupts::read(in_namespace, device).map(alone),
        ResolvedLocator::Affinities(device) => interrupts::affinities(in_namespace, device).map(alone),
        ResolvedLocator::Elsewhere(where_) => Err(io::Error::other(*where_)),
        ResolvedLocator::Offload(..)
        | ResolvedLocator::Feature(..)
        | ResolvedLocator::Ring(..)
        | ResolvedLocator::Channels(..)
        | ResolvedLocator::ReceiveHash(..)
            if !in_namespace.root.is_live() =>
        {
            Err(io::Error::other("a capture has no files of what ethtool shows"))
        }
        ResolvedLocator::Offload(device, feature) => ethtool::offload(device, feature).map(alone),
        ResolvedLocator::Feature(device, name) => ethtool::feature(device, name).map(alone),
        ResolvedLocator::Ring(device, side) => ethtool::ring(device, side),
        ResolvedLocator::Channels(device) => ethtool::channels(device),
        ResolvedLocator::ReceiveHash(device) => {
            let release = file::read(in_namespace.sysctls()?.as_fd(), "kernel/osrelease", Links::None)?;
            ethtool::receive_hash(device, release.trim()).map(alone)
        }
    }
}

pub(super) fn write(in_namespace: &InNamespace<'_>, resolved: &ResolvedLocator, value: &str) -> io::Result<()> {
    match resolved {
        ResolvedLocator::Sysctl(path) => {
            let write = if in_namespace.root.is_live() { file::write } else { file::replace };
            write(in_namespace.sysctls()?.as_fd(), path, value, Links::None)
        }
        ResolvedLocator::Sysfs(path) => sysfs::write(in_namespace, path, value),
        ResolvedLocator::Affinities(device) => interrupts::set_affinities(in_namespace, device, value),
        ResolvedLocator::Mtu(device) if !in_namespace.root.is_live() => {
            sysfs::write(in_namespace, &format!("class/net/{device}/mtu"), value)
        }
        ResolvedLocator::Mtu(device) => netlink::set_mtu(device, number(value)?),
        ResolvedLocator::Offload(..)
        | ResolvedLocator::Feature(..)
        | ResolvedLocator::Ring(..)
        | ResolvedLocator::Channels(..)
            if !in_namespace.root.is_live() =>
        {
            Err(io::Error::other("a capture has no files of what ethtool shows"))
        }
        ResolvedLocator::Offload(device, feature) => ethtool::set_offload(device, feature, switch(value)?),
        ResolvedLocator::Feature(device, name) => ethtool::set_features(device, &[name.as_str()], switch(value)?),
        ResolvedLocator::Ring(device, side) => ethtool::set_ring(device, side, number(value)?),
        ResolvedLocator::Channels(device) => ethtool::set_channels(device, number(value)?),
        _ => Err(io::Error::new(io::ErrorKind::Unsupported, "it cannot be changed while the machine runs")),
    }
}
