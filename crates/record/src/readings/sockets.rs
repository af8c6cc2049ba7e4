//! What the TCP sockets of an engine did over a window, by whom they lead to.

// Addresses alone: `std::net` also has what acts, which is not for this crate.
use core::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::rng::mixed;

/// The sockets of one machine's engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SocketRead {
    /// Which machine, as series name it.
    pub machine: String,
    /// For how long they were looked at, in milliseconds.
    pub over_ms: u64,
    /// Looks, at equal intervals but for those that were stretched.
    pub looks: u32,
    /// The longest time between two looks, in milliseconds. A socket that opens and closes between two is not seen.
    pub interval_ms: u64,
    /// The most sockets that one look saw.
    pub sockets: u32,
    /// Processor time that all looks took, in microseconds.
    pub took_us: u64,
    /// By whom they lead to, those with the most bytes first.
    pub remotes: Vec<SocketRemote>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SocketGroup {
    Client,
    /// Another node's of the same cluster, to this one.
    FromPeer,
    /// This node's, to another of the same cluster.
    ToPeer,
    /// An address of a node, and that node has no such connection: clients behind address translation.
    Translated,
}

/// Sockets that lead to one address, in one direction of who connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SocketRemote {
    pub address: IpAddr,
    /// Whose connections these are.
    pub group: SocketGroup,
    /// The machine with that address, as series name it; absent where none that was read has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Sockets that were seen.
    pub sockets: u32,
    /// Bytes that this side sent and the other acknowledged.
    pub sent_bytes: u64,
    /// Bytes that this side received.
    pub received_bytes: u64,
    /// Segments that this side sent with data, those sent again included.
    pub sent_segments: u64,
    /// Those of them that were sent again.
    pub retransmitted_segments: u64,
    /// Time in which a socket had data under way or waiting to be sent, over all sockets, in microseconds.
    pub busy_us: u64,
    /// That part of it in which the receiver's window was what limited it.
    pub window_limited_us: u64,
    /// That part of it in which this side's send buffer was.
    pub buffer_limited_us: u64,
    /// Time for which sockets were there, over all of them, in microseconds: what is not busy of it had nothing to
    /// send.
    pub open_us: u64,
    /// The median of smoothed round-trip times of those that sent, in microseconds.
    pub round_trip_us: u64,
    /// The median of delivery rates of those that sent, in bytes per second.
    pub delivery_bytes_per_s: u64,
}

/// Most addresses of which one machine tells sums, each counted once for each direction.
pub const REMOTES_MAX: usize = 4096;

/// Most sockets of which one machine tells hashes, in each direction.
pub const HASHES_MAX: usize = 65_536;

/// Most addresses of its own that one machine tells.
pub const ADDRESSES_MAX: usize = 64;

/// Most ranges of ports that one machine looks at.
pub const PORTS_MAX: usize = 64;

/// What one machine saw of the sockets of its engine, before anybody knows whose the others' addresses are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SocketsSeen {
    /// Between the first look and the last, in milliseconds.
    pub over_ms: u64,
    pub looks: u32,
    /// The longest time between two looks, in milliseconds.
    pub interval_ms: u64,
    /// The most sockets that one look saw.
    pub sockets: u32,
    /// Processor time that all looks took, in microseconds.
    pub took_us: u64,
    /// Sums by address and direction, those with the most bytes first; at most [`REMOTES_MAX`].
    pub remotes: Vec<RemoteSums>,
    /// Sockets that are in no sum, because there were more addresses or more sockets than are kept.
    pub left_out: u64,
    /// Hashes of sockets whose other side connected to this one ([`pair_hash`]), sorted; at most [`HASHES_MAX`].
    #[serde(with = "words")]
    pub met: Vec<u64>,
    /// The same of sockets with which this side connected to another.
    #[serde(with = "words")]
    pub made: Vec<u64>,
    /// Whether some hashes are in neither list, because there were more than a list takes.
    pub is_more: bool,
    /// This side's addresses, as its sockets have them, sorted; at most [`ADDRESSES_MAX`].
    pub addresses: Vec<IpAddr>,
    /// The engine's ports, by which sockets were chosen; at most [`PORTS_MAX`].
    pub ports: Vec<PortRange>,
}

/// Ports from one to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortRange {
    pub first: u16,
    /// The last, not below the first.
    pub last: u16,
}

/// Which side of a connection began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenedBy {
    /// The other: this side's port is one of the engine's.
    Them,
    /// This one: the other side's port is one of the engine's.
    Us,
}

/// Sums over the sockets that lead to one address, in one direction: the fields of [`SocketRemote`] before it is known
/// whose connections they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteSums {
    /// The address; IPv4 also where the socket is one of IPv6.
    pub address: IpAddr,
    pub opened_by: OpenedBy,
    /// Sockets that were seen.
    pub sockets: u32,
    /// Bytes that this side sent and the other acknowledged.
    pub sent_bytes: u64,
    /// Bytes that this side received.
    pub received_bytes: u64,
    /// Segments that this side sent with data, those sent again included.
    pub sent_segments: u64,
    /// Segments that were sent again; also those without data, such as the first of a connection.
    pub retransmitted_segments: u64,
    /// Time in which a socket had data under way or waiting to be sent, over all sockets, in microseconds.
    pub busy_us: u64,
    /// That part of it in which the receiver's window was what limited it.
    pub window_limited_us: u64,
    /// That part of it in which this side's send buffer was.
    pub buffer_limited_us: u64,
    /// Time for which sockets were there, over all of them, in microseconds.
    pub open_us: u64,
    /// The median of smoothed round-trip times of those that sent, in microseconds; 0 where none did.
    pub round_trip_us: u64,
    /// The median of delivery rates of those that sent, in bytes per second; 0 where none did.
    pub delivery_bytes_per_s: u64,
}

/// What was counted of some sockets, to be held against what can be.
struct SocketCounts {
    bytes: [u64; 2],
    segments: [u64; 2],
    /// There, busy, limited by the window, limited by the buffer.
    times: [u64; 4],
}

/// More than any machine counts in a window: sums of thousands of them fit.
const COUNT_MAX: u64 = 1 << 50;

impl SocketCounts {
    fn check(&self) -> Result<(), String> {
        let all = self.bytes.iter().chain(&self.segments).chain(&self.times);
        if let Some(count) = all.copied().find(|count| *count > COUNT_MAX) {
            return Err(format!("a count of {count} of sockets"));
        }
        let [open, busy, window, buffer] = self.times;
        // Clocks of the kernel's count in milliseconds, socket by socket.
        let slack = open / 10 + 1_000_000;
        if busy > open + slack || window.max(buffer) > busy + slack {
            return Err(format!(
                "sockets that are there for {open} µs, busy for {busy} µs and limited for {window} µs"
            ));
        }
        Ok(())
    }
}

impl SocketRead {
    /// What cannot have been seen: somebody else may have written it.
    ///
    /// # Errors
    /// What is wrong, quoted.
    pub fn check(&self) -> Result<(), String> {
        if self.remotes.len() > 2 * REMOTES_MAX {
            return Err(format!("{} addresses are more than a machine tells", self.remotes.len()));
        }
        let sums = |of: &SocketRemote| SocketCounts {
            bytes: [of.sent_bytes, of.received_bytes],
            segments: [of.sent_segments, of.retransmitted_segments],
            times: [of.open_us, of.busy_us, of.window_limited_us, of.buffer_limited_us],
        };
        self.remotes.iter().map(sums).try_for_each(|of| of.check())
    }
}

impl SocketsSeen {
    /// What cannot have been seen: another machine says it.
    ///
    /// # Errors
    /// What is wrong, quoted.
    pub fn check(&self) -> Result<(), String> {
        for (what, length, most) in [
            ("addresses of others", self.remotes.len(), 2 * REMOTES_MAX),
            ("hashes of sockets", self.met.len().max(self.made.len()), HASHES_MAX),
            ("own addresses", self.addresses.len(), ADDRESSES_MAX),
            ("ranges of ports", self.ports.len(), PORTS_MAX),
        ] {
            if length > most {
                return Err(format!("{length} {what} are more than the {most} that a machine tells"));
            }
        }
        let sums = |of: &RemoteSums| SocketCounts {
            bytes: [of.sent_bytes, of.received_bytes],
            segments: [of.sent_segments, of.retransmitted_segments],
            times: [of.open_us, of.busy_us, of.window_limited_us, of.buffer_limited_us],
        };
        self.remotes.iter().map(sums).try_for_each(|of| of.check())?;
        match [&self.met, &self.made].into_iter().any(|hashes| !hashes.is_sorted_by(|a, b| a < b)) {
            true => Err("hashes of sockets are not in order".to_owned()),
            false => Ok(()),
        }
    }
}

/// A connection as a number that is the same at both ends, on every machine and in every version: FNV-1a of 64 bits
/// over 36 bytes, which are the address of the side that was connected to (16 bytes, IPv4 as in `::ffff:0:0/96`), its
/// port (2 bytes, the high one first), then address and port of the side that connected; mixed at the end as by
/// `splitmix64`, since FNV-1a leaves the upper bits of short texts alike.
#[must_use]
pub fn pair_hash(met: (IpAddr, u16), made: (IpAddr, u16)) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (address, port) in [met, made] {
        let octets = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        for byte in octets.into_iter().chain(port.to_be_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    mixed(hash)
}

/// Numbers of 64 bits as base64 of their bytes, the low one of each first: as decimal numbers they would take twice the
/// room.
mod words {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use super::HASHES_MAX;

    pub(super) fn serialize<S: Serializer>(words: &[u64], to: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
        let text = String::deserialize(from)?;
        if text.len() > (8 * HASHES_MAX).div_ceil(3) * 4 {
            return Err(de::Error::custom(format!("more than {HASHES_MAX} hashes of sockets")));
        }
        let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
        let (words, rest) = bytes.as_chunks::<8>();
        match rest.is_empty() {
            true => Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect()),
            false => Err(de::Error::custom("hashes of sockets are not of 8 bytes each")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR_V4: u64 = 0xfd25_c498_a045_b8e6;
    const PAIR_V6: u64 = 0xf255_bce4_d144_8ccd;

    #[test]
    fn a_connection_has_the_same_number_everywhere_and_for_ever() {
        let at = |text: &str, port| (text.parse::<IpAddr>().unwrap(), port);
        let (server, client) = (at("10.0.0.1", 9000), at("10.0.0.2", 40_000));
        // Anchored: machines of different versions compare these numbers.
        assert_eq!(pair_hash(server, client), PAIR_V4);
        assert_eq!(pair_hash(at("::ffff:10.0.0.1", 9000), client), PAIR_V4, "IPv4 within IPv6 is IPv4");
        assert_eq!(pair_hash(at("2001:db8::1", 443), at("2001:db8::2", 1)), PAIR_V6);
        assert_ne!(pair_hash(client, server), PAIR_V4, "which side was connected to is part of it");
    }

    #[test]
    fn what_was_seen_comes_back_from_json_and_is_bounded() {
        let met = vec![1, u64::MAX / 3, u64::MAX];
        let sums = RemoteSums {
            address: "10.0.0.2".parse().unwrap(),
            opened_by: OpenedBy::Them,
            sockets: 1,
            sent_bytes: COUNT_MAX,
            received_bytes: 2,
            sent_segments: 3,
            retransmitted_segments: 4,
            busy_us: 5,
            window_limited_us: 6,
            buffer_limited_us: 7,
            open_us: 8,
            round_trip_us: 9,
            delivery_bytes_per_s: 10,
        };
        let ports = vec![PortRange { first: 9000, last: 9001 }];
        let seen = SocketsSeen { met, ports, remotes: vec![sums], ..SocketsSeen::default() };
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<SocketsSeen>(&text).unwrap(), seen, "{text}");
        assert_eq!(seen.check(), Ok(()));
        let full = SocketsSeen { made: vec![7; HASHES_MAX], ..SocketsSeen::default() };
        let text = serde_json::to_string(&full).unwrap();
        assert_eq!(serde_json::from_str::<SocketsSeen>(&text).unwrap(), full);
        let with = |change: fn(&mut RemoteSums)| {
            let mut wrong = seen.clone();
            wrong.remotes.iter_mut().for_each(change);
            wrong
        };
        for (wrong, why) in [
            (SocketsSeen { met: vec![0; HASHES_MAX + 1], ..seen.clone() }, "65537 hashes"),
            (SocketsSeen { met: vec![2, 1], ..seen.clone() }, "not in order"),
            (SocketsSeen { met: vec![7; 3], ..seen.clone() }, "not in order"),
            (with(|of| of.sent_bytes = u64::MAX), "a count of 18446744073709551615"),
            (with(|of| of.busy_us = 1 << 40), "busy for 1099511627776"),
            (SocketsSeen { addresses: vec!["::1".parse().unwrap(); 65], ..seen.clone() }, "65 own addresses"),
        ] {
            assert!(wrong.check().unwrap_err().contains(why), "{:?}", wrong.check());
        }
        for (text, why) in [("AAAA", "8 bytes each"), ("?", "Invalid"), (&"A".repeat(800_000), "more than 65536")] {
            let text = serde_json::to_string(&SocketsSeen::default()).unwrap().replacen(
                r#""met":"""#,
                &format!(r#""met":"{text}""#),
                1,
            );
            let error = serde_json::from_str::<SocketsSeen>(&text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
