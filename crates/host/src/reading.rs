//! All counters of a machine at one instant.

use crate::cpu::parse_stat;
use crate::disk::parse_diskstats;
use crate::memory::parse_meminfo;
use crate::nic::parse_net_dev;
use crate::pressure::pressure;
use crate::root::{ReadPass, Root, Unreadable, read_as};
use crate::tcp::parse_snmp;
use linerate_record::reading::Reading;

/// Room for `/proc/stat` of a few hundred processors, so that the kernel makes each file's text once only.
const BUFFER_BYTES: usize = 64 << 10;

/// Reads all counters, `at_ms` milliseconds after the run began. Made to run each second beside a load test: eight
/// small files, no folder listed.
///
/// The wall clock, how long it took, and whether time stood still, is the caller's to read, beside the clock that gave
/// it `at_ms`.
/// Network counters are those of this process's network namespace. Counters that could not be read are 0 or left out,
/// and the second value says so; the same faults come again with each reading.
#[must_use]
pub fn reading(root: &Root, at_ms: u64) -> (Reading, Vec<Unreadable>) {
    let mut pass = ReadPass { bytes: Vec::with_capacity(BUFFER_BYTES), unreadable: Vec::new() };
    let reading = Reading {
        client: 0,
        at_ms,
        took_ms: 0,
        unix_ms: None,
        slept_ms: 0,
        continued: false,
        nics: read_as(root, "proc/net/dev", &mut pass, parse_net_dev),
        tcp: read_as(root, "proc/net/snmp", &mut pass, parse_snmp),
        disks: read_as(root, "proc/diskstats", &mut pass, parse_diskstats),
        cpus: read_as(root, "proc/stat", &mut pass, parse_stat),
        memory: read_as(root, "proc/meminfo", &mut pass, parse_meminfo),
        pressure: pressure(root, &mut pass),
        look: None,
    };
    (reading, pass.unreadable)
}
