//! The keys of a fingerprint: what the machine tells under them, an experiment and the command line look up. They are
//! in the files of experiments.

use crate::knob::SettingId;

/// Release and build of the kernel.
pub const KERNEL: &str = "kernel";
/// The id of the boot.
pub const BOOT: &str = "boot";
/// Processors that are online.
pub const PROCESSORS: &str = "processors";
/// The clock source.
pub const CLOCK_SOURCE: &str = "clocksource";
/// Governors of all processors.
pub const GOVERNOR: &str = "frequency.governor";
/// Processors that linerate may use.
pub const AFFINITY: &str = "affinity";
/// Interfaces by which packets to the targets leave.
pub const INTERFACES: &str = "interfaces";
/// The network namespace of linerate.
pub const CLIENT_NETNS: &str = "client.netns";
/// Quotas of linerate's cgroups.
pub const CLIENT_CGROUP: &str = "client.cgroup";
/// The file that the target runs.
pub const TARGET_PROGRAM: &str = "target.program";
/// When the target started.
pub const TARGET_STARTED: &str = "target.started";
/// The network namespace of the target.
pub const TARGET_NETNS: &str = "target.netns";
/// Processors that the target may use.
pub const TARGET_AFFINITY: &str = "target.affinity";
/// Quotas of the target's cgroups.
pub const TARGET_CGROUP: &str = "target.cgroup";
/// What the target calls itself.
pub const TARGET_SERVER: &str = "target.server";
/// How the target speaks TLS.
pub const TARGET_TLS: &str = "target.tls";
/// The hosts that are loaded.
pub const TARGET_HOSTS: &str = "target.hosts";

/// What an interface is told under: the end of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicKey {
    Speed,
    /// Its MTU.
    Mtu,
    Duplex,
    Driver,
    /// Of a bond, the members that carry.
    Active,
    /// How often its carrier went or came.
    Flaps,
}

impl NicKey {
    const ALL: [NicKey; 6] =
        [NicKey::Speed, NicKey::Mtu, NicKey::Duplex, NicKey::Driver, NicKey::Active, NicKey::Flaps];

    const fn word(self) -> &'static str {
        match self {
            NicKey::Speed => "speed",
            NicKey::Mtu => "mtu",
            NicKey::Duplex => "duplex",
            NicKey::Driver => "driver",
            NicKey::Active => "active",
            NicKey::Flaps => "flaps",
        }
    }

    /// The key of an interface: `nic.eth0.mtu`.
    #[must_use]
    pub fn for_interface(self, interface: &str) -> String {
        format!("{OF_NIC}{interface}.{}", self.word())
    }

    /// What a key tells of an interface; nothing where it tells of none.
    #[must_use]
    pub fn read(key: &str) -> Option<NicKey> {
        let (_, word) = key.strip_prefix(OF_NIC)?.rsplit_once('.')?;
        NicKey::ALL.into_iter().find(|one| one.word() == word)
    }
}

const OF_NIC: &str = "nic.";
const OF_TARGET: &str = "target.";
const OF_SETTING: &str = "setting ";

/// The key of a setting: `setting net.core.rmem_max`.
#[must_use]
pub fn of_setting(place: &SettingId) -> String {
    format!("{OF_SETTING}{place}")
}

/// Whether a key is one of a setting.
#[must_use]
pub fn is_of_setting(key: &str) -> bool {
    key.starts_with(OF_SETTING)
}

/// Whether a key is one of an interface, of whatever name.
#[must_use]
pub fn is_of_nic(key: &str) -> bool {
    key.starts_with(OF_NIC)
}

/// Whether a key is one of the target.
#[must_use]
pub fn is_of_target(key: &str) -> bool {
    key.starts_with(OF_TARGET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_an_interface_is_read_as_it_was_written_whatever_its_name() {
        for interface in ["eth0", "eth0.100", "br-1", "mtu"] {
            for key in NicKey::ALL {
                assert_eq!(NicKey::read(&key.for_interface(interface)), Some(key), "{interface} {key:?}");
                assert!(
                    is_of_nic(&key.for_interface(interface)) && !is_of_target(&key.for_interface(interface)),
                    "{interface} {key:?}"
                );
            }
        }
        for other in ["nic.mtu", "nic.eth0.wings", "setting nic.eth0.mtu", "kernel", ""] {
            assert_eq!(NicKey::read(other), None, "{other}");
        }
        assert_eq!(NicKey::Mtu.for_interface("eth0"), "nic.eth0.mtu", "files of experiments have it");
    }
}
