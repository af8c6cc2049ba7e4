//! A locator with its device filled in: one place that can be read, and perhaps written.

use std::io;
use std::os::fd::AsFd as _;

use linerate_record::journal::Address;
use linerate_record::knob::Locator;

use super::file::{self, Links};
use super::space::Inside;
use super::{SettingReading, ethtool, interrupts, netlink, process, sysctl, sysfs, unchanging};

/// Where one setting is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spot {
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
pub(super) fn spot(locator: &Locator, device: Option<&str>) -> io::Result<Spot> {
    let class = locator.device_class();
    if class.is_none() && device.is_some() {
        return Err(invalid("a device is given, but the setting does not belong to a device"));
    }
    let of_device = || {
        device.map(str::to_owned).ok_or_else(|| {
            invalid(
                "the setting belongs to a device, but none is \
                                                                        given",
            )
        })
    };
    let interface = || of_device().and_then(|name| sysfs::require_device_name(&name).map(|()| name));
    Ok(match *locator {
        Locator::Sysctl { name } => Spot::Sysctl(sysctl::path(name)?),
        Locator::Sysfs { path } => Spot::Sysfs(match class {
            Some(_) => sysfs::fill(path, &interface()?)?,
            None => path.to_owned(),
        }),
        Locator::Mtu => Spot::Mtu(interface()?),
        Locator::Offload { feature } => Spot::Offload(interface()?, feature),
        Locator::Ring { side } => Spot::Ring(interface()?, side),
        Locator::Channels => Spot::Channels(interface()?),
        Locator::Interrupts => Spot::Interrupts(interface()?),
        Locator::ReceiveHash => Spot::ReceiveHash(interface()?),
        Locator::MountOption { fs, option } => Spot::MountOption(of_device()?, fs, option),
        Locator::BootArgument { name } => Spot::BootArgument(name),
        Locator::KernelVersion => Spot::KernelVersion,
        Locator::Limit { name } => Spot::Limit(name),
        Locator::Timer { unit } => Spot::Timer(unit),
        Locator::Component { .. } | Locator::HelmValue { .. } => Spot::Elsewhere("of the cluster, not of this machine"),
    })
}

/// The spot of a setting beside another, from a journal: as carefully as from anywhere.
pub(super) fn of_address(address: &Address) -> io::Result<Spot> {
    Ok(match address {
        Address::Sysctl(name) => Spot::Sysctl(sysctl::path(name)?),
        Address::Sysfs(path) => Spot::Sysfs(path.clone()),
        Address::Feature { device, name } => {
            sysfs::require_device_name(device)?;
            Spot::Feature(device.clone(), name.clone())
        }
        Address::Interrupts { device } => {
            sysfs::require_device_name(device)?;
            Spot::Affinities(device.clone())
        }
    })
}

/// Whether a setting beside another is the one of a device that a locator tells.
pub(crate) fn is_at(address: &Address, locator: &Locator, device: Option<&str>) -> bool {
    let (Ok(noted), Ok(told)) = (of_address(address), spot(locator, device)) else { return false };
    // What moves with another interface's MTU is noted by its file.
    let told = if let Spot::Mtu(device) = told { Spot::Sysfs(format!("class/net/{device}/mtu")) } else { told };
    noted == told
}

pub(super) fn read(inside: &Inside<'_>, spot: &Spot) -> io::Result<SettingReading> {
    let alone = |text: String| (text, Vec::new());
    match spot {
        Spot::Sysctl(path) => file::read(inside.sysctls()?.as_fd(), path, Links::None).map(alone),
        Spot::Sysfs(path) => sysfs::read(inside, path),
        Spot::Mtu(device) if !inside.root.is_live() => sysfs::read(inside, &format!("class/net/{device}/mtu")),
        Spot::Mtu(device) => netlink::mtu(device).map(|mtu| alone(mtu.to_string())),
        Spot::MountOption(path, fs, option) => unchanging::mount_option(inside, path, fs, option).map(alone),
        Spot::BootArgument(name) => unchanging::boot_argument(inside, name).map(alone),
        Spot::KernelVersion => file::read(inside.sysctls()?.as_fd(), "kernel/osrelease", Links::None).map(alone),
        Spot::Limit(name) => process::limit(inside, name).map(alone),
        Spot::Timer(unit) => unchanging::timer(inside, unit).map(alone),
        Spot::Interrupts(device) => interrupts::read(inside, device).map(alone),
        Spot::Affinities(device) => interrupts::affinities(inside, device).map(alone),
        Spot::Elsewhere(where_) => Err(io::Error::other(*where_)),
        Spot::Offload(..) | Spot::Feature(..) | Spot::Ring(..) | Spot::Channels(..) | Spot::ReceiveHash(..)
            if !inside.root.is_live() =>
        {
            Err(io::Error::other("a capture has no files of what ethtool shows"))
        }
        Spot::Offload(device, feature) => ethtool::offload(device, feature).map(alone),
        Spot::Feature(device, name) => ethtool::feature(device, name).map(alone),
        Spot::Ring(device, side) => ethtool::ring(device, side),
        Spot::Channels(device) => ethtool::channels(device),
        Spot::ReceiveHash(device) => {
            let release = file::read(inside.sysctls()?.as_fd(), "kernel/osrelease", Links::None)?;
            ethtool::receive_hash(device, release.trim()).map(alone)
        }
    }
}

pub(super) fn write(inside: &Inside<'_>, spot: &Spot, value: &str) -> io::Result<()> {
    match spot {
        Spot::Sysctl(path) => {
            let write = if inside.root.is_live() { file::write } else { file::replace };
            write(inside.sysctls()?.as_fd(), path, value, Links::None)
        }
        Spot::Sysfs(path) => sysfs::write(inside, path, value),
        Spot::Affinities(device) => interrupts::set_affinities(inside, device, value),
        Spot::Mtu(device) if !inside.root.is_live() => sysfs::write(inside, &format!("class/net/{device}/mtu"), value),
        Spot::Mtu(device) => netlink::set_mtu(device, number(value)?),
        Spot::Offload(..) | Spot::Feature(..) | Spot::Ring(..) | Spot::Channels(..) if !inside.root.is_live() => {
            Err(io::Error::other("a capture has no files of what ethtool shows"))
        }
        Spot::Offload(device, feature) => ethtool::set_offload(device, feature, switch(value)?),
        Spot::Feature(device, name) => ethtool::set_features(device, &[name.as_str()], switch(value)?),
        Spot::Ring(device, side) => ethtool::set_ring(device, side, number(value)?),
        Spot::Channels(device) => ethtool::set_channels(device, number(value)?),
        _ => Err(io::Error::new(io::ErrorKind::Unsupported, "it cannot be changed while the machine runs")),
    }
}

pub(super) fn number(value: &str) -> io::Result<u32> {
    value.trim().parse().map_err(|_| invalid(format!("{value:?} is not a whole number")))
}

pub(super) fn switch(value: &str) -> io::Result<bool> {
    match value.trim() {
        "on" => Ok(true),
        "off" => Ok(false),
        other => Err(invalid(format!("{other:?} is neither on nor off"))),
    }
}

/// What was asked for cannot be.
pub(super) fn invalid(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.into())
}
