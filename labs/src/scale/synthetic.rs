//! Figures that nobody measured, as large as those of a busy agent.

use linerate_record::histogram::{EncodedHistogram, empty, encode};
use linerate_record::machine::Machine;
use linerate_record::reading::{CpuTimes, DiskCounters, NicCounters, Reading};
use linerate_record::run::{Interval, IntervalRow, Op};

/// What each agent does.
pub(super) const OPERATIONS: [Op; 4] = [Op::Get, Op::Stat, Op::Put, Op::Delete];

/// Buckets of a histogram that hold something.
const BUCKETS: usize = 600;

/// Histograms that agents take turns through.
const VARIANTS: usize = 16;

/// Processors of an agent's machine: a tenth of a KiB of each reading.
const PROCESSORS: u32 = 16;

/// What agents tell, made beforehand.
pub(super) struct Figures {
    histograms: Vec<EncodedHistogram>,
    requests: u64,
    /// The fewest buckets of a histogram that hold something.
    pub(super) buckets_min: usize,
}

impl Figures {
    pub(super) fn new() -> Figures {
        let (mut histograms, mut buckets_min, mut requests) = (Vec::new(), usize::MAX, 0);
        for variant in 0..VARIANTS {
            let mut histogram = empty();
            // Each value is beyond the bucket of the one before: they have two digits.
            let mut ns = 50_000.0 * (1.0 + variant as f64 / VARIANTS as f64);
            for bucket in 0..BUCKETS {
                histogram.saturating_record_n(ns as u64, 1 + (bucket as u64 * 7 + variant as u64) % 90);
                ns *= 1.0158;
            }
            buckets_min = buckets_min.min(histogram.iter_recorded().count());
            requests = requests.max(histogram.len());
            histograms.push(encode(&histogram));
        }
        Figures { histograms, requests, buckets_min }
    }

    /// Interval number `number` of an agent.
    pub(super) fn interval(&self, agent: usize, number: u64, (from_ms, to_ms): (u64, u64)) -> Interval {
        let rows = OPERATIONS.into_iter().enumerate().map(|(place, op)| {
            let variant = agent + place + usize::try_from(number).unwrap_or(0);
            let histogram_at = |more: usize| self.histograms[(variant + more) % VARIANTS].clone();
            let bytes = if matches!(op, Op::Get | Op::Put) { self.requests << 20 } else { 0 };
            let moved_bytes = i64::try_from(bytes).unwrap_or(0);
            let row = IntervalRow::with(0, op, histogram_at(0), histogram_at(1));
            IntervalRow { requests: self.requests, bytes, moved_bytes, ..row }
        });
        Interval {
            from_ms,
            to_ms,
            client_cpu_ns: (to_ms - from_ms) * 500_000,
            thread_cpu_ns: vec![(to_ms - from_ms) * 60_000; 8],
            rows: rows.collect(),
            ..Interval::default()
        }
    }
}

/// Counters of an agent's machine, which rise with time.
pub(super) fn reading(at_ms: u64) -> Reading {
    let cpu = |cpu: u32| CpuTimes {
        cpu,
        user_ms: at_ms / 3,
        system_ms: at_ms / 4,
        idle_ms: at_ms / 3,
        ..CpuTimes::default()
    };
    let nic = |name: &str| NicCounters {
        name: name.to_owned(),
        rx_bytes: at_ms * 1_000_000,
        tx_bytes: at_ms * 900_000,
        ..NicCounters::default()
    };
    let disk = DiskCounters { name: "nvme0n1".to_owned(), ..DiskCounters::default() };
    Reading {
        at_ms,
        cpus: (0..PROCESSORS).map(cpu).collect(),
        nics: vec![nic("eth0"), nic("eth1")],
        disks: vec![disk],
        ..Reading::default()
    }
}

pub(super) fn machine() -> Machine {
    Machine {
        kernel: "6.12.0".to_owned(),
        cpu_model: "pretended".to_owned(),
        cpus: PROCESSORS,
        numa_nodes: 1,
        memory_bytes: 64 << 30,
        clocksource: "tsc".to_owned(),
        ..Machine::default()
    }
}
