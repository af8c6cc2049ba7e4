//! Readings for people: what each tells, what it cannot, what it needs, and how often it is taken.

use linerate_record::readings::ReadMeasure;

use super::{frequency, links, port_drops, temperature, threads};

/// Of what a look reads each time.
const EACH_LOOK_MS: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
pub struct ReadingAbout {
    /// What it is called.
    pub name: &'static str,
    pub of: &'static [ReadMeasure],
    /// What it tells, and by which files.
    pub tells: &'static str,
    pub cannot: &'static str,
    /// The privilege that it needs, and the kernel.
    pub needs: &'static str,
    /// The least time between two looks at it, in milliseconds.
    pub least_ms: u64,
}

const NO_PRIVILEGE: &str = "no privilege";

/// One row a reading.
pub const ABOUT: &[ReadingAbout] = &[
    ReadingAbout {
        name: "links",
        of: &[
            ReadMeasure::LinkReceived,
            ReadMeasure::LinkSent,
            ReadMeasure::LinkReceivedDrops,
            ReadMeasure::LinkSentDrops,
            ReadMeasure::LinkErrors,
        ],
        tells: "what each interface, including members of bonds, carried, and its drops and errors (/proc/net/dev)",
        cannot: "traffic that bypasses the kernel, and whose traffic it is",
        needs: NO_PRIVILEGE,
        least_ms: EACH_LOOK_MS,
    },
    ReadingAbout {
        name: "speeds of links",
        of: &[ReadMeasure::LinkSpeed, ReadMeasure::LinkMtu],
        tells: "the speed that each interface negotiated, and its MTU (/sys/class/net, or netlink)",
        cannot: "links without a speed; the speed of a virtual link is what its driver claims",
        needs: NO_PRIVILEGE,
        least_ms: links::SYS_LEAST_MS,
    },
    ReadingAbout {
        name: "rings",
        of: &[ReadMeasure::LinkRingDrops, ReadMeasure::LinkPaused],
        tells: "packets that a port had no room for (/sys/class/net/*/statistics) and pause frames (ethtool's netlink)",
        cannot: "what drivers count only under names of their own (ethtool -S); namespaces that /sys does not show",
        needs: "no privilege; pause frames need Linux 5.10 and a driver that counts them",
        least_ms: port_drops::LEAST_MS,
    },
    ReadingAbout {
        name: "queues of processors",
        of: &[ReadMeasure::QueueDrops],
        tells: "packets that a processor's backlog had no room for (/proc/net/softnet_stat)",
        cannot: "of which interface they were",
        needs: NO_PRIVILEGE,
        least_ms: EACH_LOOK_MS,
    },
    ReadingAbout {
        name: "TCP",
        of: &[ReadMeasure::Retransmitted],
        tells: "segments that were sent again as a share of those sent (/proc/net/snmp)",
        cannot: "to whom, and whose connections they were",
        needs: NO_PRIVILEGE,
        least_ms: EACH_LOOK_MS,
    },
    ReadingAbout {
        name: "processors",
        of: &[
            ReadMeasure::CoresBusy,
            ReadMeasure::Cores,
            ReadMeasure::BusiestCore,
            ReadMeasure::CoresSoftirq,
            ReadMeasure::CoresStolen,
        ],
        tells: "what cores did (/proc/stat)",
        cannot: "which program it was, and that two cores are hyper-threads of one",
        needs: NO_PRIVILEGE,
        least_ms: EACH_LOOK_MS,
    },
    ReadingAbout {
        name: "frequencies",
        of: &[ReadMeasure::CoreFrequency],
        tells: "the frequency of cores that were busy at least half of the time, of at most 64 cores (cpufreq)",
        cannot: "why a frequency is low; machines without cpufreq, such as most virtual ones",
        needs: "no privilege; before Linux 5.18 each file interrupts its core",
        least_ms: frequency::LEAST_MS,
    },
    ReadingAbout {
        name: "threads",
        of: &[ReadMeasure::BusiestThread],
        tells: "the busiest thread of each program of the engine (/proc/PID/task), of at most 4,096",
        cannot: "goroutines and tasks, which move between threads",
        needs: NO_PRIVILEGE,
        least_ms: threads::LEAST_MS,
    },
    ReadingAbout {
        name: "the engine's processes",
        of: &[ReadMeasure::EngineCores, ReadMeasure::Throttled],
        tells: "cores that the engine's processes use, and periods in which a quota was used up (cgroups)",
        cannot: "work of the kernel on their behalf",
        needs: NO_PRIVILEGE,
        least_ms: EACH_LOOK_MS,
    },
    ReadingAbout {
        name: "pressure",
        of: &[ReadMeasure::CpuPressure, ReadMeasure::IoPressure, ReadMeasure::MemoryPressure],
        tells: "the share of the time in which some task waited (/proc/pressure)",
        cannot: "which task, and how many",
        needs: "no privilege; Linux 4.20 with CONFIG_PSI, on RHEL 8 and 9 booted with psi=1",
        least_ms: EACH_LOOK_MS,
    },
    ReadingAbout {
        name: "memory",
        of: &[ReadMeasure::MemoryAvailable],
        tells: "memory that programs could have (/proc/meminfo)",
        cannot: "limits of cgroups, and one NUMA node that is full",
        needs: NO_PRIVILEGE,
        least_ms: EACH_LOOK_MS,
    },
    ReadingAbout {
        name: "drives",
        of: &[
            ReadMeasure::DriveRead,
            ReadMeasure::DriveWritten,
            ReadMeasure::DriveBusy,
            ReadMeasure::DriveQueue,
            ReadMeasure::DriveLatency,
            ReadMeasure::DriveDiscarded,
        ],
        tells: "what each whole drive did, and how long requests took (/proc/diskstats); if the engine's arguments \
                name its folders, only the drives that hold these folders",
        cannot: "whose requests they were",
        needs: NO_PRIVILEGE,
        least_ms: EACH_LOOK_MS,
    },
    ReadingAbout {
        name: "drives' heat",
        of: &[ReadMeasure::DriveTemperature],
        tells: "the composite temperature of NVMe drives (hwmon)",
        cannot: "SATA and SAS drives, and whether a drive has slowed itself",
        needs: "no privilege; Linux 5.5 with CONFIG_NVME_HWMON",
        least_ms: temperature::LEAST_MS,
    },
];
