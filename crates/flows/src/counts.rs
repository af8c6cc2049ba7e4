//! What both ends count, and when.

use std::thread;
use std::time::Duration;

use linerate_record::histogram::{Latencies, empty, encode};
use linerate_record::net::{NetBursts, NetDatagrams, NetExchanges, NetProbed, NetSent, NetZeroCopy};
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
    /// What was answered, where that is counted.
    pub exchanges: Option<NetExchanges>,
    /// Datagrams that were sent while it counts, where there are any.
    pub datagrams: Option<u64>,
    /// Sends of these, where several were to go at once.
    pub gso: Option<NetBursts>,
    /// What became of sends without a copy, where they were asked for.
    pub zerocopy: Option<NetZeroCopy>,
    /// What each of them found of its path, where paths are probed.
    pub probed: Vec<NetProbed>,
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
    /// Bytes of each while it counts, in the order of their numbers.
    pub stream_bytes: Vec<u64>,
    /// What became of datagrams, but for how many were sent.
    pub datagrams: Option<NetDatagrams>,
    /// Reads that brought them, where several were to come at once.
    pub gro: Option<NetBursts>,
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

/// The instants of a point, and the clock that tells when they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointClock {
    pub(crate) instants: Instants,
    pub(crate) clock: Clock,
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

    /// Whether counting begins then, an interval ends, or all do.
    pub(crate) fn is_edge(&self, at_ns: u64) -> bool {
        at_ns > 0 && self.next_edge_ns(at_ns - 1) == at_ns
    }

    /// The first such instant after this one; the end, from the last one on.
    pub(crate) fn next_edge_ns(&self, now_ns: u64) -> u64 {
        match now_ns.checked_sub(self.counts_ns) {
            None => self.counts_ns,
            Some(since_ns) => {
                let interval_ns = self.interval_ns.max(1);
                (self.counts_ns + (since_ns / interval_ns + 1) * interval_ns).min(self.end_ns)
            }
        }
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

/// What one thread knows of a flow at its end.
#[derive(Default)]
pub(crate) struct FlowSent {
    /// What the kernel tells of its socket; none where that is no socket of TCP, or there were many.
    pub(crate) info: Option<Vec<u8>>,
    pub(crate) exchanges: Option<ExchangeCount>,
    /// Datagrams that were sent while it counts.
    pub(crate) datagrams: Option<u64>,
    /// Sends of these, where several were to go at once.
    pub(crate) gso: Option<NetBursts>,
    /// What became of sends without a copy, where they were asked for.
    pub(crate) zerocopy: Option<NetZeroCopy>,
    /// What it found of its path.
    pub(crate) probed: Option<NetProbed>,
}

/// What became of the flows of a thread that sends.
pub(crate) struct SentByThread {
    /// To whom, and what is known of it at the end, or why it ended before.
    pub(crate) flows: Vec<(u32, Result<FlowSent, String>)>,
    pub(crate) cpu_ns: u64,
}

/// Exchanges that came to their end: how many in each interval, and how long each took.
pub(crate) struct ExchangeCount {
    interval_counts: Vec<u64>,
    times: Latencies,
}

impl ExchangeCount {
    pub(crate) fn new(instants: &Instants) -> ExchangeCount {
        ExchangeCount { interval_counts: vec![0; instants.intervals()], times: empty() }
    }

    /// Notes one that ends now, if it counts.
    pub(crate) fn note(&mut self, instants: &Instants, begun_ns: u64, now_ns: u64) {
        let place = instants.interval_at(now_ns).and_then(|interval| self.interval_counts.get_mut(interval));
        if let Some(count) = place {
            *count += 1;
            self.times.saturating_record(now_ns.saturating_sub(begun_ns));
        }
    }

    /// All of them together; none where there are none.
    pub(crate) fn sum<'c>(counts: impl Iterator<Item = &'c ExchangeCount>) -> Option<NetExchanges> {
        let (mut interval_counts, mut times, mut is_any) = (Vec::new(), empty(), false);
        for count in counts {
            is_any = true;
            interval_counts.resize(count.interval_counts.len(), 0);
            interval_counts.iter_mut().zip(&count.interval_counts).for_each(|(sum, count)| *sum += count);
            // All have the same bounds, so that none is beyond them.
            let _ = times.add(&count.times);
        }
        is_any.then(|| NetExchanges { interval_counts, times: encode(&times) })
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
pub(crate) fn sum_tcp_info(infos: &[Vec<u8>]) -> NetSent {
    let sum = |field: linerate_record::tcp_info::InfoField| infos.iter().map(|info| field.read_from(info)).sum();
    let middle = |field: linerate_record::tcp_info::InfoField| {
        let mut values: Vec<u64> = infos.iter().map(|info| field.read_from(info)).collect();
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

#[cfg(test)]
mod tests {
    use linerate_record::histogram::add_encoded;

    use super::*;

    #[test]
    fn edges_are_where_counting_begins_where_intervals_end_and_where_all_do() {
        let instants = Instants { begin_ns: 0, counts_ns: 10, end_ns: 25, interval_ns: 6 };
        let edges: Vec<u64> = (0..40).filter(|at| instants.is_edge(*at)).collect();
        assert_eq!(edges, [10, 16, 22, 25]);
        let next: Vec<u64> = [0, 9, 10, 15, 16, 22, 24, 25, 99].iter().map(|at| instants.next_edge_ns(*at)).collect();
        assert_eq!(next, [10, 10, 16, 16, 22, 25, 25, 25, 25]);
        // Counting that begins at once has no edge before it.
        assert!(!Instants { counts_ns: 0, ..instants }.is_edge(0));
        assert_eq!(Instants { counts_ns: 0, ..instants }.next_edge_ns(0), 6);
    }

    #[test]
    fn exchanges_count_in_the_interval_in_which_they_end_and_as_long_as_they_took() {
        let instants = Instants { begin_ns: 0, counts_ns: 1_000_000, end_ns: 3_000_000, interval_ns: 1_000_000 };
        let (mut one, mut other) = (ExchangeCount::new(&instants), ExchangeCount::new(&instants));
        one.note(&instants, 0, 999_999);
        one.note(&instants, 990_000, 1_090_000);
        one.note(&instants, 1_900_000, 2_100_000);
        other.note(&instants, 2_950_000, 2_999_999);
        other.note(&instants, 2_999_999, 3_000_000);
        let all = ExchangeCount::sum([&one, &other].into_iter()).unwrap();
        assert_eq!(all.interval_counts, [1, 2]);
        let mut times = empty();
        add_encoded(&mut times, &all.times).unwrap();
        assert_eq!(times.len(), 3);
        for (quantile, ns) in [(0.3, 49_999.0), (0.5, 100_000.0), (1.0, 200_000.0)] {
            let share = times.value_at_quantile(quantile) as f64 / ns;
            assert!((0.99..=1.01).contains(&share), "{quantile}: {share}");
        }
        assert_eq!(ExchangeCount::sum(std::iter::empty()), None);
    }
}
