//! Readings of this machine: cumulative counters, as the kernel keeps them, and the instant at which they were read.
//!
//! Counters are stored as read. Differences and rates are taken by `linerate-analysis`, so that a sample which was
//! lost costs resolution and no truth.

use serde::{Deserialize, Serialize};

/// All counters at one instant: a line of `readings.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Index into [`crate::run::Manifest::clients`]: of whose machine.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub client: u32,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// How long after that instant the last counter was read, in milliseconds: more than none on a busy machine.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub took_ms: u64,
    /// Wall-clock time at that instant, in milliseconds since the Unix epoch; absent where it could not be read within
    /// 5 ms of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_ms: Option<u64>,
    /// How long the machine has slept since the run began, in milliseconds: the run's clock stands meanwhile.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub slept_ms: u64,
    /// Whether this process was told to go on (SIGCONT) since the reading before: it was stopped.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub continued: bool,
    /// One entry per processor, in the kernel's order. Empty where `/proc/stat` could not be read.
    #[serde(default)]
    pub cpus: Vec<CpuTimes>,
    /// One entry per network interface.
    #[serde(default)]
    pub nics: Vec<NicCounters>,
    /// TCP counters of this network namespace.
    #[serde(default)]
    pub tcp: TcpCounters,
    /// One entry per whole block device.
    #[serde(default)]
    pub disks: Vec<DiskCounters>,
    #[serde(default)]
    pub memory: Memory,
    /// Pressure stall totals, where the kernel keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// Who had the processors since the look before; absent where none was taken at this reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<ProcessorSample>,
}

/// A look at who had this machine's processors. Not counters, but what came to them since the look before: processes
/// come and go, and all of their counters would be many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorSample {
    /// Time since the look before, in milliseconds.
    pub over_ms: u64,
    /// Processor time of all programs, and of the kernel for them; interrupts are not in it.
    pub used_ms: u64,
    /// That of linerate, of the target and of the kernel's threads; absent where the target is on this machine and
    /// which process it is cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_ms: Option<u64>,
    /// That of other programs, as far as processes can be seen.
    pub foreign_ms: u64,
    /// The same by the program's name, the most first; of many, the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramTime>,
    /// How often a processor was slowed for heat, where processors count it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub slowed: u64,
    /// The quota of processor time that cut linerate most; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_quota: Option<QuotaPeriods>,
    /// The same of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_quota: Option<QuotaPeriods>,
}

/// Processor time of all processes of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramTime {
    /// The name, of 15 characters at most. Programs choose it themselves.
    pub name: String,
    /// Their processor time, in milliseconds.
    pub cpu_ms: u64,
}

/// Periods of a cgroup's quota of processor time (100 ms each unless set otherwise) in which there was something to
/// run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaPeriods {
    pub periods: u64,
    /// Those in which the quota was used up.
    pub throttled: u64,
}

/// What a measurement did not have of a machine over a while, from counters at both ends of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineShare {
    /// Who else had the processors; absent where their times could not be read.
    pub processors: Option<ProcessorShares>,
    /// Whether a processor was slowed for heat; absent where none counts it.
    pub slowed: Option<bool>,
    /// Quotas that bind this process, the cgroup's own and those above.
    pub client_quotas: Vec<QuotaPeriods>,
    /// The same of the target, where it is on this machine.
    pub target_quotas: Option<Vec<QuotaPeriods>>,
}

/// Shares of the time of all processors, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessorShares {
    /// That other guests of the hypervisor had.
    pub stolen: f64,
    /// That programs had which are not of the measurement.
    pub foreign: f64,
}

/// Time that one processor has spent, in milliseconds since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    pub cpu: u32,
    /// User code, niced or not, guests included.
    pub user_ms: u64,
    /// Kernel code outside interrupts.
    pub system_ms: u64,
    pub irq_ms: u64,
    /// Software interrupts: on a storage node, mostly the network stack.
    pub softirq_ms: u64,
    /// Taken by the hypervisor.
    pub steal_ms: u64,
    /// Idle with I/O outstanding.
    pub iowait_ms: u64,
    pub idle_ms: u64,
}

/// Counters of one network interface since it came up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicCounters {
    pub name: String,
    /// Bytes received, link-layer headers included.
    pub rx_bytes: u64,
    /// Bytes sent, link-layer headers included.
    pub tx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets dropped on receipt.
    pub rx_dropped: u64,
    /// Packets dropped before sending.
    pub tx_dropped: u64,
    /// Receive errors.
    pub rx_errors: u64,
    /// Send errors.
    pub tx_errors: u64,
}

/// TCP counters of a network namespace since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpCounters {
    /// Segments sent, retransmissions excluded.
    pub out_segments: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
}

/// Counters of one block device since boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// Device name without `/dev/`.
    pub name: String,
    pub reads: u64,
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Time with at least one request in flight, in milliseconds.
    pub busy_ms: u64,
}

/// Memory of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Memory that a new process could have without swapping.
    pub available_bytes: u64,
    /// Page cache.
    pub cached_bytes: u64,
    /// Pages waiting to be written back.
    pub dirty_bytes: u64,
}

/// Pressure stall information: microseconds since boot during which some task waited for a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// Waiting for a processor.
    pub cpu_some_us: u64,
    /// Waiting for I/O.
    pub io_some_us: u64,
    pub memory_some_us: u64,
}
