//! What a Linux kernel tells of a TCP socket: the fields of `struct tcp_info` (`include/uapi/linux/tcp.h`), by their
//! places.
//!
//! The kernel only ever adds at its end, so a shorter one is an older kernel's; a distribution may have added to an old
//! one, so that its length tells, not its version.

#[derive(Clone, Copy, Debug)]
pub struct InfoField {
    /// As the kernel calls it.
    pub name: &'static str,
    at: usize,
    bytes: usize,
    /// Since which Linux it is there.
    pub since: &'static str,
}

const fn field(name: &'static str, at: usize, bytes: usize, since: &'static str) -> InfoField {
    InfoField { name, at, bytes, since }
}

/// The largest payload that is sent in a segment, in bytes.
pub const SENT_SEGMENT_BYTES: InfoField = field("tcpi_snd_mss", 16, 4, "2.6");
/// Smoothed round-trip time, in microseconds.
pub const ROUND_TRIP: InfoField = field("tcpi_rtt", 68, 4, "2.6");
/// The congestion window, in segments.
pub const CONGESTION_WINDOW: InfoField = field("tcpi_snd_cwnd", 80, 4, "2.6");
/// Segments that were sent again, whatever they hold.
pub const RETRANSMITTED: InfoField = field("tcpi_total_retrans", 100, 4, "2.6");
/// Bytes that were sent and acknowledged.
pub const ACKNOWLEDGED: InfoField = field("tcpi_bytes_acked", 120, 8, "4.1");
/// Bytes that were received.
pub const RECEIVED: InfoField = field("tcpi_bytes_received", 128, 8, "4.1");
/// The least round-trip time of late, in microseconds.
pub const LEAST_ROUND_TRIP: InfoField = field("tcpi_min_rtt", 148, 4, "4.6");
/// Segments with data that were sent.
pub const DATA_SEGMENTS: InfoField = field("tcpi_data_segs_out", 156, 4, "4.6");
/// Bytes per second.
pub const DELIVERY_RATE: InfoField = field("tcpi_delivery_rate", 160, 8, "4.9");
/// Microseconds in which there was something to send, in steps of the kernel's tick (`net/ipv4/tcp.c:
/// tcp_get_info_chrono_stats`).
pub const BUSY: InfoField = field("tcpi_busy_time", 168, 8, "4.10");
/// That part of it in which the receiver's window was the limit.
pub const WINDOW_LIMITED: InfoField = field("tcpi_rwnd_limited", 176, 8, "4.10");
/// That part of it in which the send buffer was.
pub const BUFFER_LIMITED: InfoField = field("tcpi_sndbuf_limited", 184, 8, "4.10");

/// Those that a watch of sockets reads.
pub const WATCHED_FIELDS: [InfoField; 9] = [
    ROUND_TRIP,
    RETRANSMITTED,
    ACKNOWLEDGED,
    RECEIVED,
    DATA_SEGMENTS,
    DELIVERY_RATE,
    BUSY,
    WINDOW_LIMITED,
    BUFFER_LIMITED,
];

impl InfoField {
    /// Whether a kernel whose `struct tcp_info` has so many bytes has it.
    #[must_use]
    pub fn is_in(self, info_bytes: usize) -> bool {
        info_bytes >= self.at + self.bytes
    }

    /// Its value; 0 where the kernel does not tell it.
    #[must_use]
    pub fn read_from(self, info: &[u8]) -> u64 {
        let Some(bytes) = info.get(self.at..self.at + self.bytes) else { return 0 };
        match (<[u8; 4]>::try_from(bytes), <[u8; 8]>::try_from(bytes)) {
            (Ok(word), _) => u64::from(u32::from_ne_bytes(word)),
            (_, Ok(word)) => u64::from_ne_bytes(word),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_tells_less_is_read_as_far_as_it_goes() {
        let fields: Vec<(usize, usize)> =
            WATCHED_FIELDS.iter().map(|field| (field.at, field.at + field.bytes)).collect();
        assert!(fields.is_sorted_by(|a, b| a.1 <= b.0), "{fields:?}");
        let info: Vec<u8> = (0..192).map(|at| u8::from(at % 4 == 0)).collect();
        for length in 0..=info.len() {
            for field in WATCHED_FIELDS {
                let expected = if field.is_in(length) { [0x1_u64, 0x1_0000_0001][field.bytes / 8] } else { 0 };
                assert_eq!(field.read_from(&info[..length]), expected, "{field:?} of {length} bytes");
            }
        }
    }
}
