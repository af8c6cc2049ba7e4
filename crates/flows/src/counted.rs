//! What both ends count, and when.

use std::thread;
use std::time::Duration;

use linerate_record::net::NetSent;
use linerate_record::tcp_info::{
    ACKNOWLEDGED, BUFFER_LIMITED, BUSY, CONGESTION_WINDOW, DATA_SEGMENTS, LEAST_ROUND_TRIP, RETRANSMITTED, ROUND_TRIP,
    SENT_SEGMENT_BYTES, WINDOW_LIMITED,
};
use linerate_wire::clock::{Clock, thread_cpu_ns};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a sender knows of its flows to one receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentFlows {
    /// Who receives, by its number in the run.
    pub to: u32,
    /// What its kernel counted, over all of them.
    pub sent: NetSent,
    /// Why there are no figures.
    pub error: Option<String>,
}

/// What a receiver counted of the flows of one sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceivedFlows {
    /// Who sends, by its number in the run.
    pub from: u32,
    /// Bytes in each interval that counts, over all of them.
    pub interval_bytes: Vec<u64>,
    /// Bytes of each while it counts.
    pub stream_bytes: Vec<u64>,
    /// Why there are no figures.
    pub error: Option<String>,
}

/// The instants of a point, in nanoseconds of one clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instants {
    pub(crate) begin_ns: u64,
    pub(crate) counts_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) interval_ns: u64,
}

/// How often a thread that waits for its begin looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

impl Instants {
    /// How many intervals count.
    pub(crate) fn intervals(&self) -> usize {
        self.end_ns.saturating_sub(self.counts_ns).div_ceil(self.interval_ns.max(1)) as usize
    }

    /// In which interval an instant is, if it counts.
    pub(crate) fn interval_at(&self, now_ns: u64) -> Option<usize> {
        let counts = (self.counts_ns..self.end_ns).contains(&now_ns);
        counts.then(|| ((now_ns - self.counts_ns) / self.interval_ns.max(1)) as usize)
    }

    /// Waits for the begin; false where the point is to end before it.
    pub(crate) fn wait_to_begin(&self, clock: Clock, stop: &AtomicBool) -> bool {
        loop {
            let left = Duration::from_nanos(self.begin_ns.saturating_sub(clock.now_ns()));
            if left.is_zero() || stop.load(Ordering::Relaxed) {
                return !stop.load(Ordering::Relaxed);
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

/// Processor time of a thread while it counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CountedCpu {
    begun_ns: Option<u64>,
}

impl CountedCpu {
    /// Takes the time where counting begins.
    pub(crate) fn at(&mut self, now_ns: u64, instants: &Instants) {
        if self.begun_ns.is_none() && now_ns >= instants.counts_ns {
            self.begun_ns = Some(thread_cpu_ns());
        }
    }

    /// What was used since.
    pub(crate) fn used_ns(self) -> u64 {
        self.begun_ns.map_or(0, |begun_ns| thread_cpu_ns().saturating_sub(begun_ns))
    }
}

/// The sum of what a kernel tells of several sockets: counts are added, of others it is the median.
pub(crate) fn sum_of(infos: &[Vec<u8>]) -> NetSent {
    let sum = |field: linerate_record::tcp_info::InfoField| infos.iter().map(|info| field.of(info)).sum();
    let middle = |field: linerate_record::tcp_info::InfoField| {
        let mut values: Vec<u64> = infos.iter().map(|info| field.of(info)).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    // Until an answer was timed, the kernel tells the most there is.
    let least = Some(middle(LEAST_ROUND_TRIP)).filter(|least| *least < u64::from(u32::MAX));
    NetSent {
        acknowledged_bytes: sum(ACKNOWLEDGED),
        segments: sum(DATA_SEGMENTS),
        retransmitted_segments: sum(RETRANSMITTED),
        busy_us: sum(BUSY),
        window_limited_us: sum(WINDOW_LIMITED),
        buffer_limited_us: sum(BUFFER_LIMITED),
        round_trip_us: middle(ROUND_TRIP),
        least_round_trip_us: least.unwrap_or_default(),
        congestion_window_segments: middle(CONGESTION_WINDOW),
        segment_bytes: middle(SENT_SEGMENT_BYTES),
    }
}
