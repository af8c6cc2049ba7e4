//! A knob: one setting of a machine or a cluster, described; a change of it; and files of changes.
//!
//! The catalogue is a table of [`Knob`]s in the room `settings`; here are the words that it is written in. Places,
//! values and changes cross a disk, in audits, in files of changes and in the journal. A row ([`Knob`], [`Locator`])
//! does not: it is here because the catalogue states it and `host` acts by it, and neither knows the other.

pub mod domain;
mod reach;
mod relief;
mod value;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use domain::Domain;
pub use reach::reaches;
pub use relief::RelievedResource;
pub use value::{CurrentText, as_grouped, fits, same, same_in};

/// Where a setting acts. A pod's network namespace starts from the kernel's defaults for many settings, whatever the
/// host says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The whole machine: one value, whoever asks.
    Host,
    /// Each network namespace has its own value.
    NetworkNamespace,
    /// A device: a disk, an interface, a bond.
    Device,
    /// A mounted file system.
    Mount,
    /// A process, inherited by its children.
    Process,
    /// A component of Kubernetes, or a chart's release.
    Cluster,
}

/// When a changed value acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TakesEffect {
    /// For what is there already too.
    AtOnce,
    /// For sockets made (or connections that begin) afterwards.
    NewSocket,
    /// For network namespaces made afterwards: copied from the initial one at that time.
    NewNamespace,
    /// When the process that uses it starts anew, or the file system is mounted anew.
    Restart,
    /// When the machine boots.
    Reboot,
    /// Never: the kernel keeps the name and ignores the value, or has dropped it.
    Never,
}

/// The part of a machine or cluster that a knob belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    Vm,
    Cpu,
    /// The kernel at large.
    Kernel,
    /// Files and file systems.
    Fs,
    Block,
    Net,
    /// Interfaces and their queues.
    Nic,
    Bond,
    Conntrack,
    /// The kernel's command line and version.
    Boot,
    Limits,
    Kubernetes,
    /// Cluster DNS.
    Dns,
    Cni,
    /// The S3 engine.
    Engine,
}

/// Where a setting lives. `host` (and later `kube`) reads and writes it; nothing else knows paths.
///
/// Patterns name devices by a class in braces: `{disk}`, `{nic}`, `{bond}`, `{cpu}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Locator {
    /// A file below `proc/sys`, by the name that `sysctl` uses: `net.core.rmem_max`.
    Sysctl {
        name: &'static str,
    },
    /// A file below `sys`, relative to it: `kernel/mm/transparent_hugepage/enabled`, `block/{disk}/queue/scheduler`. A
    /// `*` stands for every entry there (the queues of an interface), all of which have the same value.
    Sysfs {
        path: &'static str,
    },
    /// The MTU of an interface.
    Mtu,
    /// A feature of an interface as `ethtool -k` names it: `tcp-segmentation-offload`.
    Offload {
        feature: &'static str,
    },
    /// Rings of an interface: `rx` or `tx`.
    Ring {
        side: &'static str,
    },
    /// Combined queues of an interface.
    Channels,
    /// Where an interface's interrupts are handled: `local`, only on processors of its NUMA node, or `anywhere`.
    Interrupts,
    /// Which fields of UDP over IPv4 choose an interface's receive queue, as `ethtool -N rx-flow-hash udp4` has it:
    /// `sd`, `sdfn`.
    ReceiveHash,
    /// An option of the mounts of a file system type: `noatime` of `xfs`. Its value is what follows `=`, `present`
    /// where nothing does, and `absent` where the mount does not have it; sizes as `/proc/mounts` has them (`256k`).
    MountOption {
        /// The file system's type.
        fs: &'static str,
        /// The option, without its value.
        option: &'static str,
    },
    /// An argument of the kernel's command line: `skew_tick`. Its value is as that of a mount option.
    BootArgument {
        name: &'static str,
    },
    KernelVersion,
    /// A hard resource limit of the engine's process, as `/proc/PID/limits` names it: `Max open files`.
    Limit {
        name: &'static str,
    },
    /// A systemd timer: `fstrim.timer`. Its value is `active` or `inactive`.
    Timer {
        /// The unit.
        unit: &'static str,
    },
    /// A key of a component's configuration: `kubelet` and `kubeAPIQPS`, `etcd` and `heartbeat-interval`.
    Component {
        component: &'static str,
        /// The key or flag.
        key: &'static str,
    },
    /// A value of a chart: `cilium` and `bpf.datapathMode`.
    HelmValue {
        chart: &'static str,
        /// The path of the value.
        path: &'static str,
    },
}

/// A class of devices that a pattern stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceClass {
    /// Whole disks, no partitions, loops or device mappings.
    Disk,
    /// Physical interfaces and the members of bonds.
    Nic,
    Bond,
    Cpu,
    /// Mounts, by their mount points.
    Mount,
}

/// One setting on one machine, addressed: which knob, in whose namespaces, of which device.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SettingId {
    /// The knob's id: `net.core.rmem_max`, `block.scheduler`.
    pub knob: String,
    /// The device, for knobs of devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    #[serde(default)]
    pub space: Space,
}

/// Whose namespaces a setting is read or changed in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Space {
    #[default]
    Host,
    /// A process's; the pid is of the initial pid namespace.
    Pid(u32),
    /// A network namespace by name, as `ip netns` has it.
    Netns(String),
}

impl fmt::Display for SettingId {
    /// `net.core.rmem_max`, `block.scheduler of nvme0n1`, `net.core.somaxconn in namespaces of process 4711`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.knob)?;
        if let Some(device) = &self.device {
            write!(f, " of {device}")?;
        }
        match &self.space {
            Space::Host => Ok(()),
            Space::Pid(pid) => write!(f, " in the namespaces of process {pid}"),
            Space::Netns(name) => write!(f, " in network namespace {name}"),
        }
    }
}

/// A setting as it was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    pub place: SettingId,
    /// Its text, without a final newline; of selections such as `[none] mq-deadline`, the chosen word, and of a bond's
    /// `802.3ad 4` the first.
    pub value: Option<String>,
    /// What it can be, where the kernel lists that; of rings and queues of an interface, the largest alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Why there is no value: absent on this kernel, not permitted, unreadable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
}

/// Why a setting could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why", content = "reason")]
pub enum Missing {
    /// This machine has no such setting.
    Absent,
    /// Reading it needs more rights.
    NotPermitted,
    /// Anything else, as the kernel says it.
    Unreadable(String),
}

/// All settings of a machine at one time, and what advice needs to know of it besides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// What the machine is made of.
    pub machine: crate::machine::Machine,
    /// Devices that knobs and topology checks are about.
    #[serde(default)]
    pub devices: Devices,
    /// S3 servers found on it.
    #[serde(default)]
    pub engines: Vec<EngineProcess>,
    /// Settings read, in the host's namespaces and in those of each engine that has its own.
    pub settings: Vec<Setting>,
    /// Sysctls of network namespaces that the kernel does not show inside one, hence cannot be set there.
    #[serde(default)]
    pub is_initial_netns: bool,
    /// Sysctls that files of the machine set at boot, in the order in which they are set: the last of a name wins.
    #[serde(default)]
    pub configured: Vec<Configured>,
    /// What could not be read besides settings, with the reason.
    #[serde(default)]
    pub unreadable: Vec<String>,
}

/// A sysctl as a file has it that is applied at boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configured {
    /// The file, relative to the root: `etc/sysctl.d/90-s3.conf`.
    pub file: String,
    /// The name, with dots.
    pub name: String,
    pub value: String,
    /// Whether this kernel has such a setting.
    pub is_there: bool,
}

/// A running S3 server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineProcess {
    pub pid: u32,
    /// The program's name: `minio`, `rustfs`, `radosgw`, `garage`.
    pub program: String,
    /// Whether its network namespace is not the initial one.
    pub own_network: bool,
}

/// Devices of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Devices {
    pub disks: Vec<Disk>,
    /// PCIe functions that are NICs or NVMe controllers.
    pub pcie: Vec<PcieDevice>,
    /// Mounted file systems on disks.
    pub mounts: Vec<Mount>,
    /// Members of bonds that carry nothing, although they are up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside_lacp: Vec<OutsideLacp>,
}

/// A member of a bond of mode 802.3ad that is up, and in another LACP aggregator than the one that the bond uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideLacp {
    pub bond: String,
    pub member: String,
    /// The member's aggregator, by the driver's number.
    pub aggregator: u64,
    /// The aggregator that the bond uses.
    pub used: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// `nvme0n1`.
    pub name: String,
    pub rotational: bool,
    pub bytes: u64,
    /// Whether it takes discards.
    pub discards: bool,
    /// NUMA node of its controller.
    pub numa_node: Option<u32>,
}

/// A PCIe function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PcieDevice {
    /// Address: `0000:3b:00.0`.
    pub address: String,
    /// The interface or disk behind it.
    pub name: String,
    /// Present and largest transfer rate of a lane, in 10^9 transfers per second.
    pub speed_gt_per_s: (f64, f64),
    /// Present and largest number of lanes.
    pub lanes: (u32, u32),
    /// NUMA node.
    pub numa_node: Option<u32>,
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Device: `/dev/nvme0n1`.
    pub device: String,
    pub path: String,
    /// Type: `xfs`.
    pub fs: String,
    /// Options, as `/proc/mounts` has them.
    pub options: Vec<String>,
}

/// What a row advises for one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The value to set.
    pub value: String,
    /// Why, for this machine: with the figures that it follows from.
    pub why: String,
    /// Whether a reading that it follows from is not to be believed; the reason says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_uncertain: bool,
}

/// One knob moved from a prior value to a new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub place: SettingId,
    /// What it was when the change was planned.
    pub prior: String,
    /// What it shall be.
    pub new: String,
    pub scope: Scope,
    pub takes_effect: TakesEffect,
    pub why: String,
    pub risk: String,
}

/// A file of changes: what `tune diff` writes and `tune apply` reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// The version of this layout.
    pub schema: u32,
    /// The machine it was made for: a hash of its machine id, never the id itself.
    pub machine: String,
    /// The profile that it follows, or [`BY_HAND`].
    pub profile: String,
    /// In the order in which they are made.
    pub changes: Vec<Change>,
    /// Which namespaces the changes mean. Numbers of processes and names are given again; a file of schema 1 has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spaces: Vec<SpaceIdentity>,
}

/// The version of [`ChangeSet`].
pub const CHANGES_SCHEMA: u32 = 2;

/// What stands for a profile where values were given by hand: the same ones, whichever machine it is.
pub const BY_HAND: &str = "values by hand";

/// What stood behind a space when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceIdentity {
    pub space: Space,
    /// The inode of its network namespace.
    pub net: u64,
    /// The inode of the folder of its loopback interface in sysfs: an inode of a network namespace is given again, this
    /// is not. Absent where it could not be seen, and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u64>,
    /// When its process started, in clock ticks since the machine booted (`proc_pid_stat(5)`, field 22).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ticks: Option<u64>,
    /// The boot during which that was, by its id: inodes and ticks are told anew in each.
    pub boot: String,
}

impl Locator {
    /// The class of devices that the setting is repeated for, where it is.
    #[must_use]
    pub fn device_class(&self) -> Option<DeviceClass> {
        match self {
            Locator::Sysfs { path } if path.contains("{disk}") => Some(DeviceClass::Disk),
            Locator::Sysfs { path } if path.contains("{nic}") => Some(DeviceClass::Nic),
            Locator::Sysfs { path } if path.contains("{bond}") => Some(DeviceClass::Bond),
            Locator::Sysfs { path } if path.contains("{cpu}") => Some(DeviceClass::Cpu),
            Locator::Mtu
            | Locator::Offload { .. }
            | Locator::Ring { .. }
            | Locator::Channels
            | Locator::Interrupts
            | Locator::ReceiveHash => Some(DeviceClass::Nic),
            Locator::MountOption { .. } => Some(DeviceClass::Mount),
            _ => None,
        }
    }
}

/// A row of the catalogue: one setting, described.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Unique and stable: `net.core.rmem_max`, `block.scheduler`, `bond.xmit_hash_policy`.
    pub id: &'static str,
    /// What it belongs to.
    pub layer: Layer,
    pub locator: Locator,
    pub scope: Scope,
    /// When a change acts.
    pub takes_effect: TakesEffect,
    /// What it can be set to.
    pub takes: Domain,
    /// The kernel's (or component's) default, as text; with what it depends on.
    pub default: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// Why the advice is what it is, and where sources disagree, why this side.
    pub why: &'static str,
    /// The kind of what it relieves.
    pub relief: RelievedResource,
    /// What it relieves: the resource whose ceiling it touches, in words.
    pub relieves: &'static str,
    /// What changing it costs or risks.
    pub risk: &'static str,
    /// Where this was established: documents, kernel files with their versions.
    pub sources: &'static [&'static str],
    /// The first kernel in which it works, where that matters: (4, 9).
    pub since: Option<(u32, u32)>,
    /// The first kernel in which it does not work any more.
    pub until: Option<(u32, u32)>,
    /// Names under which sources have it, misspelt ones included.
    pub also_called: &'static [&'static str],
    /// Who else owns it on a Kubernetes node, so that it is never changed there: `Some("Cilium")`.
    pub owned_by: Option<&'static str>,
}

impl Knob {
    /// A row without content, from which a table takes the fields that a row of it does not state.
    pub const NONE: Knob = Knob {
        id: "",
        layer: Layer::Kernel,
        locator: Locator::KernelVersion,
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        takes: Domain::Text(""),
        default: "",
        summary: "",
        why: "",
        relief: RelievedResource::Nothing,
        relieves: "",
        risk: "",
        sources: &[],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    };

    /// The default where it is a number on every machine: `default` is that number, or that number and what it means
    /// (`0: off`). One that depends on a kernel, or that has a unit, is none.
    #[must_use]
    pub fn default_number(&self) -> Option<&'static str> {
        let number = self.default.split_once(':').map_or(self.default, |(number, _)| number);
        number.parse::<i64>().is_ok().then_some(number)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::Host => "host",
            Scope::NetworkNamespace => "network namespace",
            Scope::Device => "device",
            Scope::Mount => "mount",
            Scope::Process => "process",
            Scope::Cluster => "cluster",
        })
    }
}

impl fmt::Display for TakesEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TakesEffect::AtOnce => "at once",
            TakesEffect::NewSocket => "new sockets",
            TakesEffect::NewNamespace => "new namespaces",
            TakesEffect::Restart => "restart",
            TakesEffect::Reboot => "reboot",
            TakesEffect::Never => "never",
        })
    }
}

impl Layer {
    /// Every layer, from the machine to the cluster.
    pub const ALL: [Layer; 15] = [
        Layer::Vm,
        Layer::Cpu,
        Layer::Kernel,
        Layer::Fs,
        Layer::Block,
        Layer::Net,
        Layer::Nic,
        Layer::Bond,
        Layer::Conntrack,
        Layer::Boot,
        Layer::Limits,
        Layer::Kubernetes,
        Layer::Dns,
        Layer::Cni,
        Layer::Engine,
    ];

    /// What flags, files and folders call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Layer::Vm => "vm",
            Layer::Cpu => "cpu",
            Layer::Kernel => "kernel",
            Layer::Fs => "fs",
            Layer::Block => "block",
            Layer::Net => "net",
            Layer::Nic => "nic",
            Layer::Bond => "bond",
            Layer::Conntrack => "conntrack",
            Layer::Boot => "boot",
            Layer::Limits => "limits",
            Layer::Kubernetes => "kubernetes",
            Layer::Dns => "dns",
            Layer::Cni => "cni",
            Layer::Engine => "engine",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Locator {
    /// Where a person finds it: `sysctl net.core.rmem_max`, `/sys/block/{disk}/queue/scheduler`, `ethtool -g: rx`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Locator::Sysctl { name } => write!(f, "sysctl {name}"),
            Locator::Sysfs { path } => write!(f, "/sys/{path}"),
            Locator::Mtu => f.write_str("ip link: mtu"),
            Locator::Offload { feature } => write!(f, "ethtool -k: {feature}"),
            Locator::Ring { side } => write!(f, "ethtool -g: {side}"),
            Locator::Channels => f.write_str("ethtool -l: combined"),
            Locator::Interrupts => f.write_str("/proc/irq/*/smp_affinity_list"),
            Locator::ReceiveHash => f.write_str("ethtool -n rx-flow-hash udp4"),
            Locator::MountOption { fs, option } => write!(f, "mount -t {fs}: {option}"),
            Locator::BootArgument { name } => write!(f, "kernel command line: {name}"),
            Locator::KernelVersion => f.write_str("uname -r"),
            Locator::Limit { name } => write!(f, "limit: {name}"),
            Locator::Timer { unit } => write!(f, "systemd: {unit}"),
            Locator::Component { component, key } => write!(f, "{component}: {key}"),
            Locator::HelmValue { chart, path } => write!(f, "Helm, {chart}: {path}"),
        }
    }
}

#[cfg(test)]
mod tests;
