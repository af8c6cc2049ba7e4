//! What a datagram says of itself, and what a receiver makes of the numbers and times of those that come.
//!
//! It begins with 16 secret bytes of its flow, its number (8 bytes, the high one first, whose highest bit says that it
//! counts) and when it was sent by the sender's clock (8 bytes, in nanoseconds); the rest means nothing. Numbers count
//! those that count, and those of the warm-up, from 0.

use linerate_record::net::{NET_PROBES_MAX, NET_STREAMS_MAX, NetDatagrams, NetOp};
use linerate_record::plausibility::COUNT_MAX;

use crate::plan::FlowPlan;

/// Length of a flow's secret.
pub(crate) const SECRET_BYTES: usize = 16;

/// The bit of a number that says that it counts.
const COUNTS: u64 = 1 << 63;

/// So far behind the highest number, one that came before is told from one that did not: at a million datagrams a
/// second, a delay of 65 ms. What comes later still is left out, and so is among the missing.
const WINDOW: u64 = 1 << 16;

/// What RFC 3550 divides a change by (section 6.4.1).
const JITTER_GAIN: f64 = 16.0;

/// Longest jitter that is told: an hour.
const JITTER_MOST_NS: f64 = 3.6e12;

/// A sender may be so far ahead of what its rate asks for: clocks of both ends differ by less, and the 5 ms for which
/// one that woke late makes up are in it.
const AHEAD_NS: u64 = 1_000_000_000;

/// Besides, more datagrams than go at once.
const AHEAD: u64 = 256;

/// Most numbers of one flow: those of all flows of a sender together can still be told.
const NUMBERS_MAX: u64 = COUNT_MAX / NET_STREAMS_MAX as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatagramHead {
    pub(crate) number: u64,
    pub(crate) counts: bool,
    pub(crate) sent_ns: u64,
}

impl DatagramHead {
    /// Writes it at the begin of a datagram, which is that long at the least.
    pub(crate) fn write(self, secret: &[u8; SECRET_BYTES], datagram: &mut [u8]) {
        let number = self.number | if self.counts { COUNTS } else { 0 };
        datagram[..16].copy_from_slice(secret);
        datagram[16..24].copy_from_slice(&number.to_be_bytes());
        datagram[24..32].copy_from_slice(&self.sent_ns.to_be_bytes());
    }

    /// Of a datagram of the flow with this secret; none where it is of another.
    pub(crate) fn read(secret: &[u8; SECRET_BYTES], datagram: &[u8]) -> Option<DatagramHead> {
        let (own, rest) = datagram.split_first_chunk::<SECRET_BYTES>()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let (sent_ns, _) = rest.split_first_chunk::<8>()?;
        let number = u64::from_be_bytes(*number);
        let head = DatagramHead {
            number: number & !COUNTS,
            counts: number & COUNTS != 0,
            sent_ns: u64::from_be_bytes(*sent_ns),
        };
        (own == secret).then_some(head)
    }
}

/// How many datagrams of a flow can have been sent. Whoever listens to a flow knows its secret, and may say that he is
/// its sender: a number beyond all that were sent would make as many missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SendableDatagrams {
    /// So many, whenever it is.
    Most(u64),
    /// So many per second.
    PerSecond(f64),
}

impl SendableDatagrams {
    /// How many, so long after the flow began to count.
    pub(crate) fn by(self, counted_ns: u64) -> u64 {
        match self {
            SendableDatagrams::Most(most) => most,
            SendableDatagrams::PerSecond(per_s) => {
                let sent = per_s * counted_ns.saturating_add(AHEAD_NS) as f64 / 1e9;
                (sent as u64).saturating_add(AHEAD).min(NUMBERS_MAX)
            }
        }
    }
}

impl FlowPlan {
    /// Length of each datagram, where all have one.
    pub(crate) const fn datagram_bytes(&self) -> Option<usize> {
        match self.op {
            NetOp::Udp { datagram_bytes } => Some(datagram_bytes as usize),
            _ => None,
        }
    }

    /// How many datagrams of each flow of a sender can have been sent.
    pub(crate) fn sendable(&self, from: u32) -> SendableDatagrams {
        let NetOp::Udp { datagram_bytes } = self.op else { return SendableDatagrams::Most(NET_PROBES_MAX.into()) };
        let streams = self.receives.iter().find(|of| of.from == from).map_or(1, |of| of.streams);
        let bytes = f64::from(datagram_bytes.max(1));
        // Without a rate, one is sent each second.
        SendableDatagrams::PerSecond(self.stream_bytes_per_s(streams).unwrap_or(bytes) / bytes)
    }
}

/// Datagrams of one flow by their numbers.
pub(crate) struct SequenceCount {
    /// One beyond the highest number that came.
    next: u64,
    /// A bit for each of the last numbers, at its place in a ring.
    came: Vec<u64>,
    received: u64,
    reordered: u64,
    duplicates: u64,
}

impl SequenceCount {
    pub(crate) fn new() -> SequenceCount {
        SequenceCount { next: 0, came: vec![0; (WINDOW / 64) as usize], received: 0, reordered: 0, duplicates: 0 }
    }

    fn bit(number: u64) -> (usize, u64) {
        ((number % WINDOW / 64) as usize, 1 << (number % 64))
    }

    /// Notes one that came; whether it is a new one.
    pub(crate) fn note(&mut self, number: u64) -> bool {
        if number >= self.next {
            let skipped = (number - self.next).min(WINDOW);
            for missing in number - skipped..number {
                let (word, bit) = SequenceCount::bit(missing);
                self.came[word] &= !bit;
            }
            let (word, bit) = SequenceCount::bit(number);
            self.came[word] |= bit;
            self.next = number + 1;
            self.received += 1;
            return true;
        }
        if self.next - number > WINDOW {
            return false;
        }
        let (word, bit) = SequenceCount::bit(number);
        if self.came[word] & bit != 0 {
            self.duplicates += 1;
            return false;
        }
        self.came[word] |= bit;
        self.received += 1;
        self.reordered += 1;
        true
    }

    pub(crate) fn counted(&self, jitter: &Jitter, socket_drops: u64) -> NetDatagrams {
        NetDatagrams {
            sent: 0,
            received: self.received,
            missing: self.next.saturating_sub(self.received),
            reordered: self.reordered,
            duplicates: self.duplicates,
            socket_drops,
            jitter_ns: jitter.ns.min(JITTER_MOST_NS) as u64,
        }
    }
}

/// Jitter of arrivals of one flow, by section 6.4.1 of RFC 3550. Clocks of both ends may differ by any amount.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Jitter {
    transit_ns: Option<u64>,
    ns: f64,
}

impl Jitter {
    pub(crate) fn note(&mut self, sent_ns: u64, arrived_ns: u64) {
        let transit_ns = arrived_ns.wrapping_sub(sent_ns);
        if let Some(before) = self.transit_ns.replace(transit_ns) {
            let change = transit_ns.wrapping_sub(before).cast_signed().unsigned_abs() as f64;
            self.ns += (change - self.ns) / JITTER_GAIN;
        }
    }
}

/// What became of the datagrams of several flows together; none where there are none.
pub(crate) fn sum_datagrams(all: &[NetDatagrams]) -> Option<NetDatagrams> {
    let sum = |field: fn(&NetDatagrams) -> u64| all.iter().map(field).fold(0, u64::saturating_add);
    let mut jitters: Vec<u64> = all.iter().map(|of| of.jitter_ns).collect();
    jitters.sort_unstable();
    Some(NetDatagrams {
        sent: sum(|of| of.sent),
        received: sum(|of| of.received),
        missing: sum(|of| of.missing),
        reordered: sum(|of| of.reordered),
        duplicates: sum(|of| of.duplicates),
        socket_drops: sum(|of| of.socket_drops),
        jitter_ns: *jitters.get(jitters.len() / 2)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Received, missing, reordered and duplicates of numbers that come in this order.
    fn counted(numbers: impl IntoIterator<Item = u64>) -> [u64; 4] {
        let mut count = SequenceCount::new();
        numbers.into_iter().for_each(|number| _ = count.note(number));
        let NetDatagrams { received, missing, reordered, duplicates, .. } = count.counted(&Jitter::default(), 0);
        [received, missing, reordered, duplicates]
    }

    #[test]
    fn losses_late_ones_and_second_ones_are_told_apart() {
        let cases: [(&str, Vec<u64>, [u64; 4]); 8] = [
            ("all", vec![0, 1, 2, 3], [4, 0, 0, 0]),
            ("none", vec![], [0, 0, 0, 0]),
            ("the first is lost", vec![1, 2], [2, 1, 0, 0]),
            ("two in the middle are lost", vec![0, 3], [2, 2, 0, 0]),
            ("one is late", vec![0, 2, 3, 1], [4, 0, 1, 0]),
            ("one comes twice", vec![0, 1, 1, 2], [3, 0, 0, 1]),
            ("a late one comes twice", vec![0, 2, 1, 1], [3, 0, 1, 1]),
            ("beyond what is remembered", vec![0, 2, WINDOW + 3, 1, 2], [3, WINDOW + 1, 0, 0]),
        ];
        for (name, numbers, expected) in cases {
            assert_eq!(counted(numbers), expected, "{name}");
        }
    }

    #[test]
    fn places_of_the_ring_are_used_again_and_hold_nothing_of_before() {
        // Each third is lost, over many times the length of the ring.
        let numbers = (0..5 * WINDOW).filter(|number| number % 3 != 2);
        let received = 10 * WINDOW / 3 + 1;
        assert_eq!(counted(numbers.clone()), [received, 5 * WINDOW - received, 0, 0]);
        // A jump longer than the ring forgets all of it.
        let far = 7 * WINDOW + 5;
        assert_eq!(counted((0..WINDOW).chain([far, far - WINDOW + 1, far - 1])), [WINDOW + 3, far - 2 - WINDOW, 2, 0]);
        assert_eq!(counted([u64::MAX >> 1]), [1, u64::MAX >> 1, 0, 0], "the highest number that there is");
    }

    proptest! {
        #[test]
        fn what_is_sent_is_received_or_missing_in_whatever_order_it_comes(
            numbers in proptest::collection::vec(0_u64..300, 1..600),
        ) {
            let mut known = numbers.clone();
            known.sort_unstable();
            known.dedup();
            let highest = known[known.len() - 1];
            let [received, missing, reordered, duplicates] = counted(numbers.iter().copied());
            prop_assert_eq!(received, known.len() as u64);
            prop_assert_eq!(received + missing, highest + 1);
            prop_assert_eq!(received + duplicates, numbers.len() as u64);
            prop_assert!(reordered < received);
        }
    }

    #[test]
    fn no_more_can_be_sent_than_the_rate_asks_for_and_all_of_it_can_be_told() {
        assert_eq!(SendableDatagrams::Most(512).by(u64::MAX), 512);
        for (per_s, counted_ns, most) in [
            (0.001, 0, 256),
            (1_000.0, 0, 1_256),
            (1_000.0, 3_600_000_000_000, 3_601_256),
            (1e300, 0, NUMBERS_MAX),
            (1e6, u64::MAX, NUMBERS_MAX),
        ] {
            assert_eq!(SendableDatagrams::PerSecond(per_s).by(counted_ns), most, "{per_s} per second");
        }
        let mut one = SequenceCount::new();
        one.note(NUMBERS_MAX - 1);
        let all = vec![one.counted(&Jitter::default(), 0); NET_STREAMS_MAX as usize];
        assert_eq!(sum_datagrams(&all).unwrap().check(), Ok(()));
    }

    #[test]
    fn a_head_is_read_by_its_secret_alone_and_only_whole() {
        let head = DatagramHead { number: 0x0102_0304_0506, counts: true, sent_ns: u64::MAX };
        let mut datagram = [0; 40];
        head.write(&[7; 16], &mut datagram);
        assert_eq!(DatagramHead::read(&[7; 16], &datagram), Some(head));
        assert_eq!(DatagramHead::read(&[6; 16], &datagram), None);
        for length in 0..32 {
            assert_eq!(DatagramHead::read(&[7; 16], &datagram[..length]), None, "{length}");
        }
    }

    #[test]
    fn jitter_is_that_of_the_rfc_whatever_clocks_say() {
        for offset in [0, u64::MAX - 50, 1 << 63] {
            let mut jitter = Jitter::default();
            // Each second one takes 16 µs longer: every change is 16 µs, and the mean comes near it.
            jitter.note(offset, 1_000);
            jitter.note(offset.wrapping_add(100_000), 117_000);
            assert!((jitter.ns - 1_000.0).abs() < 1e-6, "{jitter:?}");
            for number in 2..400 {
                let late = if number % 2 == 0 { 0 } else { 16_000 };
                jitter.note(offset.wrapping_add(100_000 * number), 1_000 + 100_000 * number + late);
            }
            assert!((jitter.ns - 16_000.0).abs() < 1.0, "{jitter:?}");
        }
        let mut steady = Jitter::default();
        (0..100).for_each(|number| steady.note(1_000 * number, 5 + 1_000 * number));
        assert!(steady.ns.abs() < 1e-9);
    }
}
