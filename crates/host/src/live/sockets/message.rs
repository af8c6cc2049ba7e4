//! What the kernel answers: one message a socket.
//!
//! Formats: `include/uapi/linux/{netlink,inet_diag}.h`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linerate_record::tcp_info::{
    ACKNOWLEDGED, BUFFER_LIMITED, BUSY, DATA_SEGMENTS, DELIVERY_RATE, InfoField, RECEIVED, RETRANSMITTED, ROUND_TRIP,
    WINDOW_LIMITED,
};

use super::request::BY_FAMILY;
use crate::setting::netlink::attributes;

const HEADER_BYTES: usize = 16;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLM_F_DUMP_INTR`: what was told changed meanwhile.
const INTERRUPTED: u16 = 0x10;
/// `struct inet_diag_msg`, behind which attributes stand.
const SOCKET_BYTES: usize = 72;
/// `INET_DIAG_INFO`: an attribute that is a `struct tcp_info`.
pub(super) const INFO: u16 = 2;

/// What a socket has counted since it is there; 0 where the kernel does not tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// The first segment of a connection, and the last, count as a byte each in what is acknowledged; the last does in
    /// what is received.
    pub(super) acknowledged_bytes: u64,
    pub(super) received_bytes: u64,
    pub(super) busy_us: u64,
    pub(super) window_limited_us: u64,
    pub(super) buffer_limited_us: u64,
    pub(super) data_segments: u32,
    pub(super) retransmitted: u32,
}

/// A socket as one dump tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TcpSocket {
    /// Its number, which no other of its network namespace ever has.
    pub(super) cookie: u64,
    pub(super) state: u8,
    pub(super) inode: u32,
    /// IPv4 within IPv6 is IPv4.
    pub(super) local: (IpAddr, u16),
    pub(super) remote: (IpAddr, u16),
    pub(super) counted: Counted,
    pub(super) round_trip_us: u64,
    pub(super) delivery_bytes_per_s: u64,
    /// How much the kernel tells of it; 0 of what is none any more and waits for its time to end.
    pub(super) info_bytes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DumpMessage<'b> {
    Socket(TcpSocket),
    /// The end, with what [`crate::setting::netlink::acknowledged`] makes an error of.
    End(&'b [u8]),
    /// Nothing that was asked for.
    Other,
}

/// A message of one datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message<'b> {
    pub(super) sequence: u32,
    /// Whether what is told changed meanwhile.
    pub(super) is_interrupted: bool,
    pub(super) reported: DumpMessage<'b>,
}

/// Tells each message of a datagram; gives whether its end is the end of one.
pub(super) fn messages<'b>(mut bytes: &'b [u8], tell: &mut dyn FnMut(Message<'b>)) -> bool {
    while !bytes.is_empty() {
        let Some((message, rest)) = message(bytes) else { return false };
        bytes = rest;
        tell(message);
    }
    true
}

fn message(bytes: &[u8]) -> Option<(Message<'_>, &[u8])> {
    let length = word(bytes, 0)? as usize;
    let short = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let (kind, flags) = (short(4)?, short(6)?);
    let content = bytes.get(HEADER_BYTES..length)?;
    let reported = match kind {
        DONE | ERROR => DumpMessage::End(content),
        BY_FAMILY => socket(content).map_or(DumpMessage::Other, DumpMessage::Socket),
        _ => DumpMessage::Other,
    };
    let message = Message { sequence: word(bytes, 8)?, is_interrupted: flags & INTERRUPTED != 0, reported };
    Some((message, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// `struct inet_diag_msg`: family, state, two more bytes; ports, the high byte first; addresses; interface; cookie;
/// five words, of which the last is the inode.
fn socket(content: &[u8]) -> Option<TcpSocket> {
    let fixed = content.get(..SOCKET_BYTES)?;
    let port = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let address = |at: usize| address(fixed[0], fixed.get(at..at + 16)?);
    let info = attributes(&content[SOCKET_BYTES..]).find(|(kind, _)| *kind == INFO).map_or(&[][..], |(_, info)| info);
    let narrow = |field: InfoField| u32::try_from(field.read_from(info)).unwrap_or_default();
    Some(TcpSocket {
        // Two words, the low one first.
        cookie: u64::from(word(fixed, 48)?) << 32 | u64::from(word(fixed, 44)?),
        state: fixed[1],
        inode: word(fixed, 68)?,
        local: (address(8)?, port(4)),
        remote: (address(24)?, port(6)),
        counted: Counted {
            acknowledged_bytes: ACKNOWLEDGED.read_from(info),
            received_bytes: RECEIVED.read_from(info),
            busy_us: BUSY.read_from(info),
            window_limited_us: WINDOW_LIMITED.read_from(info),
            buffer_limited_us: BUFFER_LIMITED.read_from(info),
            data_segments: narrow(DATA_SEGMENTS),
            retransmitted: narrow(RETRANSMITTED),
        },
        round_trip_us: ROUND_TRIP.read_from(info),
        delivery_bytes_per_s: DELIVERY_RATE.read_from(info),
        info_bytes: info.len(),
    })
}

/// `AF_INET` and `AF_INET6`.
const V4: u8 = 2;
const V6: u8 = 10;

fn address(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    let octets: [u8; 16] = bytes.try_into().ok()?;
    match family {
        V4 => Some(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()),
        V6 => Some(IpAddr::from(Ipv6Addr::from(octets)).to_canonical()),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Both dumps of a network namespace with two connections to `[::]:9000`, by 127.0.0.1 and by ::1, as Linux 6.18
    /// told them: 7,525,280 and 50,000 bytes to and fro by the first, over a link of 100 Mb/s, with a small buffer and
    /// to a reader that stopped for a while; 7,000 bytes by the second. What is expected of the first is what
    /// `getsockopt(TCP_INFO)` told then.
    const LINUX_6_18: &str = include_str!("../../../tests/data/sock_diag_6_18.hex");

    fn captured() -> Vec<u8> {
        let hex: Vec<u8> = LINUX_6_18.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let pairs = hex.as_chunks::<2>().0.iter();
        pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn parse_messages(bytes: &[u8]) -> (Vec<TcpSocket>, usize, bool) {
        let (mut sockets, mut ends) = (Vec::new(), 0);
        let is_whole = messages(bytes, &mut |message| match message.reported {
            DumpMessage::Socket(socket) => sockets.push(socket),
            DumpMessage::End(_) => ends += 1,
            DumpMessage::Other => (),
        });
        (sockets, ends, is_whole)
    }

    #[test]
    fn what_a_kernel_has_told_is_understood() {
        let (sockets, ends, is_whole) = parse_messages(&captured());
        assert!(is_whole && ends == 2);
        let mut reported: Vec<(String, u16, u64, u64)> = sockets
            .iter()
            .map(|socket| {
                let to = format!("{} to {}", socket.local.0, socket.remote.0);
                let port = socket.local.1.min(socket.remote.1);
                assert_eq!((port, socket.state, socket.info_bytes > 190), (9000, 1, true), "{socket:?}");
                assert!(socket.cookie > 0 && socket.inode > 0 && socket.round_trip_us > 0, "{socket:?}");
                (to, socket.local.1, socket.counted.acknowledged_bytes, socket.counted.received_bytes)
            })
            .collect();
        reported.sort();
        let expected = [
            ("127.0.0.1 to 127.0.0.1", 9000, 50_000, 7_525_280),
            ("127.0.0.1 to 127.0.0.1", 37_984, 7_525_281, 50_000),
            ("::1 to ::1", 9000, 0, 7000),
            ("::1 to ::1", 36_800, 7001, 0),
        ];
        let expected: Vec<_> =
            expected.into_iter().map(|(to, port, sent, received)| (to.to_owned(), port, sent, received)).collect();
        assert_eq!(reported, expected);
        let sender = sockets.iter().find(|socket| socket.local.1 == 37_984).unwrap();
        let expected = Counted {
            acknowledged_bytes: 7_525_281,
            received_bytes: 50_000,
            busy_us: 1_124_000,
            window_limited_us: 252_000,
            buffer_limited_us: 160_000,
            data_segments: 5208,
            retransmitted: 10,
        };
        assert_eq!((sender.counted, sender.round_trip_us, sender.delivery_bytes_per_s), (expected, 5846, 21_895_161));
    }

    #[test]
    fn an_answer_that_is_cut_anywhere_is_not_whole_and_what_came_before_is_told() {
        let bytes = captured();
        let (all, ..) = parse_messages(&bytes);
        // Where a message begins, and where it ends without what fills it up to a multiple of four.
        let mut ends = vec![(0, 0)];
        while ends[ends.len() - 1].1 < bytes.len() {
            let begin = ends[ends.len() - 1].1.next_multiple_of(4);
            ends.push((begin, begin + word(&bytes, begin).unwrap() as usize));
        }
        for length in 0..bytes.len() {
            let (sockets, _, is_whole) = parse_messages(&bytes[..length]);
            assert!(all.starts_with(&sockets), "{length}");
            let expected = ends.iter().any(|(_, end)| (*end..=end.next_multiple_of(4)).contains(&length));
            assert_eq!(is_whole, expected, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0_usize..1600) {
            parse_messages(&bytes);
            let mut captured = captured();
            let end = (at + bytes.len()).min(captured.len());
            captured.splice(at..end, bytes);
            parse_messages(&captured);
        }
    }
}
