//! How many datagrams of a flow go through a kernel at once: the sender's cuts what it is given (`UDP_SEGMENT`), and
//! the receiver's hands on what it has joined (`UDP_GRO`).
//!
//! What is given at once leaves at once, as fast as the port sends: at a low rate, queues on the way would drop of a
//! burst what they carry of datagrams one by one. So there are none unless they are short by the flow's own rate. Both
//! ends know that rate, and come to the same.

use std::io;

use linerate_record::net::{NET_DATAGRAM_BYTES, NetBursts, NetGso, NetOp};
use rustix::io::Errno;

use crate::plan::FlowPlan;

/// A burst has what is due of its flow within so long, at the most. In 100 µs, a port of 10 Gb/s sends 125 kB, and
/// switches keep more; arrivals differ by less than a scheduler's turn.
const BURST_NS: f64 = 100_000.0;

/// Fewer datagrams at once save too little to send bursts.
const LEAST: f64 = 8.0;

/// Most datagrams into which every kernel cuts (`UDP_MAX_SEGMENTS` of include/linux/udp.h; newer ones take more).
const MOST: usize = 64;

/// Most bytes that are given at once: what UDP over IPv4 carries, of which the kernel makes one packet first.
const MOST_BYTES: usize = *NET_DATAGRAM_BYTES.end() as usize;

/// How many datagrams of this length a flow of this rate sends at once; 1 where each goes by itself.
pub(crate) fn burst(gso: NetGso, datagram_bytes: usize, bytes_per_s: Option<f64>) -> usize {
    let bytes = datagram_bytes.max(1);
    let most = (MOST_BYTES / bytes).clamp(1, MOST);
    let due = bytes_per_s.unwrap_or(0.0) * BURST_NS / 1e9 / bytes as f64;
    match gso {
        NetGso::On => most,
        NetGso::Auto if due >= LEAST => (due as usize).min(most),
        NetGso::Auto | NetGso::Off => 1,
    }
}

impl FlowPlan {
    /// Whether flows of a sender are to be read several datagrams at once: where they are sent so.
    pub(crate) fn joins(&self, from: u32) -> bool {
        let NetOp::Udp { datagram_bytes } = self.op else { return false };
        let streams = self.receives.iter().find(|of| of.from == from).map_or(1, |of| of.streams);
        burst(self.offloads.gso, datagram_bytes as usize, self.stream_bytes_per_s(streams)) > 1
    }
}

/// Asks a kernel for bursts, where they are meant; what is counted of them, and whether it refused.
pub(crate) fn requested(is_meant: bool, ask: impl FnOnce() -> io::Result<()>) -> Option<NetBursts> {
    is_meant.then(|| NetBursts { calls: 0, refused: ask().err().map(|error| number(&error)) })
}

/// The number of an error of the system.
pub(crate) fn number(error: &io::Error) -> u16 {
    error.raw_os_error().and_then(|number| u16::try_from(number).ok()).unwrap_or(0)
}

/// Whether a kernel that refuses a burst so may take the same datagrams one by one: a driver or IPsec is in the way,
/// the path does not carry one of them whole, or it knows of no bursts.
pub(crate) fn is_of_bursts(errno: Errno) -> bool {
    matches!(errno, Errno::IO | Errno::INVAL | Errno::MSGSIZE | Errno::NOPROTOOPT | Errno::OPNOTSUPP)
}

#[cfg(test)]
mod tests {
    use linerate_record::net::NetOffloads;

    use super::*;
    use crate::plan::ExpectedFlows;

    #[test]
    fn bursts_are_sent_from_a_rate_on_at_which_they_are_short() {
        // Eight datagrams of 1,472 bytes within 100 µs are 942 Mb/s.
        for (gso, bytes, bits_per_s, expected) in [
            (NetGso::Off, 1_472, 100e9, 1),
            (NetGso::Auto, 1_472, 0.0, 1),
            (NetGso::Auto, 1_472, 20e6, 1),
            (NetGso::Auto, 1_472, 0.94e9, 1),
            (NetGso::Auto, 1_472, 0.95e9, 8),
            (NetGso::Auto, 1_472, 2e9, 16),
            (NetGso::Auto, 1_472, 100e9, 44),
            (NetGso::Auto, 100, 1e9, 64),
            (NetGso::Auto, 8_972, 5e9, 1),
            (NetGso::Auto, 8_972, 6e9, 7),
            (NetGso::Auto, 40_000, 100e9, 1),
            (NetGso::On, 1_472, 1e3, 44),
            (NetGso::On, 32, 1e3, 64),
            (NetGso::On, 65_507, 1e9, 1),
        ] {
            let burst_bytes = burst(gso, bytes, Some(bits_per_s / 8.0));
            assert_eq!(burst_bytes, expected, "{gso:?} of {bytes} B at {bits_per_s} b/s");
            assert!(burst_bytes * bytes <= 65_507, "{gso:?} of {bytes} B");
            let longest_ns = burst_bytes as f64 * bytes as f64 * 8e9 / bits_per_s;
            assert!(gso == NetGso::On || burst_bytes == 1 || longest_ns <= 100_000.0, "{bits_per_s}: {longest_ns} ns");
        }
        assert_eq!((burst(NetGso::Auto, 100, None), burst(NetGso::On, 0, None)), (1, 64));
    }

    #[test]
    fn a_receiver_joins_what_its_sender_sends_at_once() {
        let plan = |op, most_bytes_per_s| FlowPlan {
            point: 1,
            op,
            own: 1,
            sends: Vec::new(),
            receives: vec![ExpectedFlows { from: 0, streams: 1 }, ExpectedFlows { from: 2, streams: 4 }],
            warmup_ns: 0,
            duration_ns: 1,
            interval_ns: 1,
            send_bytes: 1,
            max_bytes_per_s: Some(most_bytes_per_s),
            offloads: NetOffloads { gso: NetGso::Auto, ..NetOffloads::default() },
            threads: 1,
        };
        let udp = NetOp::Udp { datagram_bytes: 1_472 };
        let joins = |plan: &FlowPlan| [plan.joins(0), plan.joins(2)];
        assert_eq!(joins(&plan(udp, 125e6)), [true, false], "each of four streams has a quarter of it");
        assert_eq!(joins(&plan(udp, 500e6)), [true, true]);
        assert_eq!(joins(&plan(udp, 12e6)), [false, false]);
        assert_eq!(joins(&plan(NetOp::Mtu, 500e6)), [false, false]);
    }

    #[test]
    fn a_kernel_that_refuses_is_told_by_its_error() {
        assert_eq!(requested(false, || Err(io::ErrorKind::Other.into())), None);
        assert_eq!(requested(true, || Ok(())), Some(NetBursts { calls: 0, refused: None }));
        let refused = requested(true, || Err(Errno::NOPROTOOPT.into()));
        assert_eq!(refused, Some(NetBursts { calls: 0, refused: Some(92) }));
        for (errno, is_of) in
            [(Errno::IO, true), (Errno::INVAL, true), (Errno::MSGSIZE, true), (Errno::CONNREFUSED, false)]
        {
            assert_eq!(is_of_bursts(errno), is_of, "{errno:?}");
        }
    }
}
