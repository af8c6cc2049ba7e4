//! TCP of a network namespace, by `/proc/net/snmp`: `Retransmitted`.
//!
//! - Tells: segments that were sent again, as a share of those that were sent, as node_exporter's
//!   `node_netstat_Tcp_RetransSegs` by `node_netstat_Tcp_OutSegs`.
//! - Cannot tell: to whom, and whose connections they were: other programs of the namespace count, loopback too, and
//!   pods with a network of their own do not. Sockets of the engine are read apart (`sockets`).
//! - Needs no privilege. One file; each second is often enough.

use linerate_record::reading::TcpCounters;
use linerate_record::readings::ReadMeasure;

use super::Reader;
use super::counter_delta::grown;
use crate::tcp::parse_snmp;

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct TcpSegments {
    then: Option<(u64, TcpCounters)>,
}

pub(super) fn look(state: &mut TcpSegments, at: &mut Reader<'_>) {
    let path = at.network("snmp");
    let now = at.parsed_wholly(&path, parse_snmp).map(|now| (at.now_ms, now));
    let then = std::mem::replace(&mut state.then, now);
    let both = then.zip(now).filter(|((then_ms, _), (now_ms, _))| then_ms < now_ms);
    at.tell_any(ReadMeasure::Retransmitted, "", both.and_then(|((_, then), (_, now))| share(then, now)));
}

/// None where nothing was sent.
fn share(then: TcpCounters, now: TcpCounters) -> Option<f64> {
    let sent = grown(then.out_segments, now.out_segments).filter(|sent| *sent > 0.0)?;
    Some((grown(then.retransmitted_segments, now.retransmitted_segments)? / sent).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_again_is_a_share_of_what_was_sent() {
        let counters = |out_segments, retransmitted_segments| TcpCounters { out_segments, retransmitted_segments };
        for (then, now, expected) in [
            (counters(100, 5), counters(300, 15), Some(0.05)),
            (counters(100, 5), counters(300, 5), Some(0.0)),
            (counters(100, 5), counters(100, 6), None),
            (counters(100, 5), counters(99, 6), None),
            (counters(100, 5), counters(300, 4), None),
            (counters(0, 0), counters(1, u64::MAX), Some(1.0)),
        ] {
            assert_eq!(share(then, now), expected, "{then:?} {now:?}");
        }
    }
}
