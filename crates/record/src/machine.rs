//! What is written down of the machine that a run was made on. No host name, address or serial number.

use serde::{Deserialize, Serialize};

/// The machine on which linerate ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel release, as `uname -r` gives it.
    pub kernel: String,
    /// Processor model, as `/proc/cpuinfo` gives it.
    pub cpu_model: String,
    pub cpus: u32,
    /// NUMA nodes online.
    pub numa_nodes: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Network interfaces that are up, loopback included.
    pub nics: Vec<MachineNic>,
    /// Clock source, as the kernel names it.
    pub clocksource: String,
    /// Set where the kernel says that it runs under a hypervisor.
    pub virtualized: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineNic {
    pub name: String,
    /// Link speed in bits per second, decimal, as the driver states it. Absent where it states none (loopback, veth on
    /// old kernels, links that are down).
    pub speed_bits_per_s: Option<u64>,
    /// MTU in bytes.
    pub mtu_bytes: u32,
    /// Driver name, where there is one.
    pub driver: Option<String>,
    /// NUMA node of the device, where the kernel knows it.
    pub numa_node: Option<u32>,
    /// Interfaces that this one stands on, and that count its bytes too: the members of a bond, the ports of a bridge,
    /// the link of a VLAN.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<String>,
    /// How it spreads flows over its members, where it is a bond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bond: Option<MachineBond>,
}

/// A bond, as the kernel names its settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineBond {
    /// Such as `802.3ad` or `active-backup`.
    pub mode: String,
    /// Which fields of a packet choose the member it is sent on, such as `layer3+4`; absent in modes that do not hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xmit_hash_policy: Option<String>,
    /// Its members, up or not.
    pub members: Vec<String>,
}
