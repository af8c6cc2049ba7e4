//! What is read, with its words.

use serde::{Deserialize, Serialize};

use crate::units::{bits_per_s, bytes_per_s_iec, count, duration_ns, percent};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadMeasure {
    /// Bytes that an interface received per second.
    LinkReceived,
    /// Bytes that an interface sent per second.
    LinkSent,
    /// Bytes per second that an interface negotiated.
    LinkSpeed,
    /// Packets that an interface received and dropped, per second.
    LinkReceivedDrops,
    /// Packets that an interface should have sent and dropped, per second.
    LinkSentDrops,
    /// Packets with errors of an interface, both ways, per second.
    LinkErrors,
    /// Share of TCP segments that were sent again.
    Retransmitted,
    /// Packets per second that a processor's queue had no room for.
    QueueDrops,
    /// Busy cores.
    CoresBusy,
    /// Cores that there are.
    Cores,
    /// How busy the busiest core is, as a share.
    BusiestCore,
    /// Cores that work for interrupts of the network and of drives.
    CoresSoftirq,
    /// Cores that a hypervisor gave to others.
    CoresStolen,
    /// Share of the time in which some task waited for a processor.
    CpuPressure,
    /// Share of the time in which some task waited for a drive.
    IoPressure,
    /// Share of the time in which some task waited for memory.
    MemoryPressure,
    /// Share of memory that is left for programs.
    MemoryAvailable,
    /// Bytes read from a drive per second.
    DriveRead,
    /// Bytes written to a drive per second.
    DriveWritten,
    /// Share of the time in which a drive had something to do.
    DriveBusy,
    /// Requests that wait at a drive or are served by it.
    DriveQueue,
    /// Seconds that a request to a drive took.
    DriveLatency,
    /// Share of a container's periods in which it was out of its processor quota.
    Throttled,
    /// Bytes of objects that the engine sent to clients per second.
    ClientSent,
    /// Bytes of objects that the engine received from clients per second.
    ClientReceived,
    /// Requests of clients that the engine is at.
    InFlight,
    /// Requests of clients that wait until the engine begins with them.
    Waiting,
    /// Requests that the engine answered with an error, per second.
    RequestErrors,
    /// The largest packet of an interface, in bytes.
    LinkMtu,
    /// Pause frames that an interface received, per second: the switch told it to wait.
    LinkPaused,
    /// Packets per second that the rings of an interface had no room for.
    LinkRingDrops,
    /// How busy the busiest thread of a program is, as a share of one core.
    BusiestThread,
    /// The frequency of cores that are busy, as a share of the most that they have.
    CoreFrequency,
    /// Cores that the processes of the engine use.
    EngineCores,
    /// Bytes discarded on a drive per second.
    DriveDiscarded,
    /// Degrees Celsius of a drive.
    DriveTemperature,
    /// How often the carrier of an interface was lost or found, per second.
    LinkCarrierChanges,
}

impl ReadMeasure {
    /// What every machine has whenever it is read at all, as long as anything is read of it.
    pub const ALWAYS: [ReadMeasure; 3] = [ReadMeasure::LinkReceived, ReadMeasure::LinkSent, ReadMeasure::CoresBusy];

    pub const ALL: [ReadMeasure; 37] = [
        ReadMeasure::LinkReceived,
        ReadMeasure::LinkSent,
        ReadMeasure::LinkSpeed,
        ReadMeasure::LinkReceivedDrops,
        ReadMeasure::LinkSentDrops,
        ReadMeasure::LinkErrors,
        ReadMeasure::Retransmitted,
        ReadMeasure::QueueDrops,
        ReadMeasure::CoresBusy,
        ReadMeasure::Cores,
        ReadMeasure::BusiestCore,
        ReadMeasure::CoresSoftirq,
        ReadMeasure::CoresStolen,
        ReadMeasure::CpuPressure,
        ReadMeasure::IoPressure,
        ReadMeasure::MemoryPressure,
        ReadMeasure::MemoryAvailable,
        ReadMeasure::DriveRead,
        ReadMeasure::DriveWritten,
        ReadMeasure::DriveBusy,
        ReadMeasure::DriveQueue,
        ReadMeasure::DriveLatency,
        ReadMeasure::Throttled,
        ReadMeasure::ClientSent,
        ReadMeasure::ClientReceived,
        ReadMeasure::InFlight,
        ReadMeasure::Waiting,
        ReadMeasure::RequestErrors,
        ReadMeasure::LinkMtu,
        ReadMeasure::LinkPaused,
        ReadMeasure::LinkRingDrops,
        ReadMeasure::BusiestThread,
        ReadMeasure::CoreFrequency,
        ReadMeasure::EngineCores,
        ReadMeasure::DriveDiscarded,
        ReadMeasure::DriveTemperature,
        ReadMeasure::LinkCarrierChanges,
    ];

    /// In words, as the first of a row.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ReadMeasure::LinkReceived => "received on",
            ReadMeasure::LinkSent => "sent on",
            ReadMeasure::LinkSpeed => "speed of",
            ReadMeasure::LinkReceivedDrops => "packets received and dropped on",
            ReadMeasure::LinkSentDrops => "packets dropped instead of sent on",
            ReadMeasure::LinkErrors => "packets with errors on",
            ReadMeasure::Retransmitted => "TCP segments sent again",
            ReadMeasure::QueueDrops => "packets that a processor's queue had no room for",
            ReadMeasure::CoresBusy => "busy cores",
            ReadMeasure::Cores => "cores",
            ReadMeasure::BusiestCore => "busiest core",
            ReadMeasure::CoresSoftirq => "cores busy with interrupts",
            ReadMeasure::CoresStolen => "cores given to others by the hypervisor",
            ReadMeasure::CpuPressure => "time in which tasks waited for processors",
            ReadMeasure::IoPressure => "time in which tasks waited for drives",
            ReadMeasure::MemoryPressure => "time in which tasks waited for memory",
            ReadMeasure::MemoryAvailable => "memory available",
            ReadMeasure::DriveRead => "read from",
            ReadMeasure::DriveWritten => "written to",
            ReadMeasure::DriveBusy => "time busy of",
            ReadMeasure::DriveQueue => "requests at",
            ReadMeasure::DriveLatency => "latency of",
            ReadMeasure::Throttled => "periods out of processor quota of",
            ReadMeasure::ClientSent => "sent to clients",
            ReadMeasure::ClientReceived => "received from clients",
            ReadMeasure::InFlight => "requests in flight",
            ReadMeasure::Waiting => "requests waiting",
            ReadMeasure::RequestErrors => "failed requests",
            ReadMeasure::LinkMtu => "MTU of",
            ReadMeasure::LinkPaused => "pause frames on",
            ReadMeasure::LinkRingDrops => "packets that rings had no room for on",
            ReadMeasure::BusiestThread => "busiest thread of",
            ReadMeasure::CoreFrequency => "frequency of busy cores",
            ReadMeasure::EngineCores => "cores used by",
            ReadMeasure::DriveDiscarded => "discarded on",
            ReadMeasure::DriveTemperature => "temperature of",
            ReadMeasure::LinkCarrierChanges => "changes of carrier of",
        }
    }

    /// A value as people read it.
    #[must_use]
    pub fn amount(self, value: f64) -> String {
        match self {
            ReadMeasure::LinkReceived | ReadMeasure::LinkSent | ReadMeasure::LinkSpeed => bits_per_s(8.0 * value),
            ReadMeasure::DriveRead
            | ReadMeasure::DriveWritten
            | ReadMeasure::DriveDiscarded
            | ReadMeasure::ClientSent
            | ReadMeasure::ClientReceived => bytes_per_s_iec(value),
            ReadMeasure::LinkReceivedDrops
            | ReadMeasure::LinkSentDrops
            | ReadMeasure::LinkErrors
            | ReadMeasure::QueueDrops
            | ReadMeasure::LinkPaused
            | ReadMeasure::LinkRingDrops
            | ReadMeasure::LinkCarrierChanges
            | ReadMeasure::RequestErrors => format!("{} a second", count(value)),
            ReadMeasure::Retransmitted
            | ReadMeasure::BusiestCore
            | ReadMeasure::CpuPressure
            | ReadMeasure::IoPressure
            | ReadMeasure::MemoryPressure
            | ReadMeasure::MemoryAvailable
            | ReadMeasure::DriveBusy
            | ReadMeasure::BusiestThread
            | ReadMeasure::CoreFrequency
            | ReadMeasure::Throttled => percent(value),
            ReadMeasure::DriveTemperature => format!("{} °C", count(value)),
            ReadMeasure::DriveLatency => duration_ns(value * 1e9),
            ReadMeasure::CoresBusy
            | ReadMeasure::Cores
            | ReadMeasure::CoresSoftirq
            | ReadMeasure::CoresStolen
            | ReadMeasure::EngineCores
            | ReadMeasure::LinkMtu
            | ReadMeasure::DriveQueue
            | ReadMeasure::InFlight
            | ReadMeasure::Waiting => count(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_measure_has_a_name_and_an_amount() {
        for (place, of) in ReadMeasure::ALL.into_iter().enumerate() {
            assert!(!of.name().is_empty() && !of.amount(0.5).is_empty(), "{of:?}");
            assert!(ReadMeasure::ALL[..place].iter().all(|other| *other != of && other.name() != of.name()), "{of:?}");
        }
    }
}
