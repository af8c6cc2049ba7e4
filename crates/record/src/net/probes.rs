//! What probes found of how long packets may be between machines: datagrams of many sizes that nobody may fragment.

use core::net::IpAddr;
use core::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::NetOp;

/// Lengths that a packet of a probe can have, headers included: from what each link of IPv4 carries (RFC 791) to a
/// header of IPv6 with all that its length field counts.
pub const NET_PACKET_BYTES: RangeInclusive<u32> = 68..=65_575;

/// Most probes of a stream in a visit.
pub const NET_PROBES_MAX: u32 = 512;

/// From so many probes of one size on, that none came is no chance.
pub const NET_PROBE_TRIES: u32 = 3;

/// How often the least size that does not come is tried before it is believed: probes that are lost by chance in the
/// middle of a search make it end at their size.
pub const NET_PROBE_TRIES_AT_END: u32 = 2 * NET_PROBE_TRIES;

/// What one stream found of its path in a visit. Lengths are those of whole packets, headers of IP and UDP included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetProbed {
    /// The MTU of the interface by which the sender's kernel sends, as that says where it refuses a longer datagram.
    pub interface_bytes: u32,
    /// What the sender's kernel takes for the MTU of the path once all probes were sent, and so sends to others;
    /// absent where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_bytes: Option<u32>,
    /// The least MTU that came back by ICMP; absent where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp: Option<NetIcmpReply>,
    /// Sizes that were tried, in ascending order.
    pub sizes: Vec<NetProbeSize>,
}

/// What somebody on the path said of a packet that was too long for what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetIcmpReply {
    /// The MTU of what comes next.
    pub mtu_bytes: u32,
    pub by: IpAddr,
}

/// Probes of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetProbeSize {
    /// How long its packets are.
    pub bytes: u32,
    pub sent: u32,
    /// Received, as the receiver says, each once.
    pub received: u32,
    /// Refused by the sender's own kernel.
    #[serde(default, skip_serializing_if = "is_none_refused")]
    pub refused: u32,
}

/// As serde asks for it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none_refused(count: &u32) -> bool {
    *count == 0
}

impl NetProbeSize {
    /// How often it was tried.
    #[must_use]
    pub const fn tries(&self) -> u32 {
        self.sent.saturating_add(self.refused)
    }

    /// Whether so many were tried that something of this size would have come.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.received == 0 && self.tries() >= NET_PROBE_TRIES
    }
}

impl NetProbed {
    /// What of it cannot have been found.
    ///
    /// # Errors
    /// Why, in words for a person.
    pub fn check(&self) -> Result<(), String> {
        let mtus = [Some(self.interface_bytes), self.taken_bytes, self.icmp.map(|said| said.mtu_bytes)];
        if let Some(mtu) = mtus.into_iter().flatten().find(|mtu| !NET_PACKET_BYTES.contains(mtu)) {
            return Err(format!("an MTU of {mtu}"));
        }
        if self.sizes.len() > NET_PROBES_MAX as usize || self.sizes.iter().any(|of| of.tries() == 0) {
            return Err(format!("{} sizes of probes, or one without any", self.sizes.len()));
        }
        if self.sizes.windows(2).any(|two| two[0].bytes >= two[1].bytes) {
            return Err("sizes of probes out of order".to_owned());
        }
        let cannot_be = |of: &&NetProbeSize| {
            !NET_PACKET_BYTES.contains(&of.bytes) || of.bytes > self.interface_bytes || of.received > of.sent
        };
        if let Some(NetProbeSize { bytes, sent, received, .. }) = self.sizes.iter().find(cannot_be) {
            let interface = self.interface_bytes;
            return Err(format!("{received} of {sent} probes of {bytes} bytes, by an interface of {interface}"));
        }
        let tried: u64 = self.sizes.iter().map(|of| u64::from(of.sent) + u64::from(of.refused)).sum();
        if tried > u64::from(2 * NET_PROBES_MAX) {
            return Err(format!("{tried} probes, of {NET_PROBES_MAX}"));
        }
        Ok(())
    }
}

/// What of the streams of a pair, so many at the most, cannot have been found: none probe but those of one op.
///
/// # Errors
/// Why, in words for a person.
pub fn check_probed(probed: &[NetProbed], op: NetOp, streams: u32) -> Result<(), String> {
    let most = if op == NetOp::Mtu { streams as usize } else { 0 };
    if probed.len() > most {
        return Err(format!("{} streams that probed, of op {}", probed.len(), op.key()));
    }
    probed.iter().try_for_each(NetProbed::check)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probed() -> NetProbed {
        let size = |bytes, sent, received| NetProbeSize { bytes, sent, received, refused: 0 };
        let icmp = Some(NetIcmpReply { mtu_bytes: 1_400, by: "10.0.0.1".parse().unwrap() });
        let sizes = vec![size(576, 1, 1), size(1_400, 1, 1), size(1_401, 6, 0), size(1_500, 3, 0)];
        NetProbed { interface_bytes: 1_500, taken_bytes: Some(1_400), icmp, sizes }
    }

    #[test]
    fn what_probes_cannot_have_found_is_refused() {
        assert_eq!(probed().check(), Ok(()));
        type Wrong = fn(&mut NetProbed);
        let wrong: [(Wrong, &str); 11] = [
            (|of| (of.sizes[3].sent, of.sizes[3].refused) = (u32::MAX, u32::MAX), "probes, of 512"),
            (|of| of.sizes[2].sent = 0, "or one without any"),
            (|of| of.sizes = vec![NetProbeSize { bytes: 576, sent: 1, ..NetProbeSize::default() }; 513], "513 sizes"),
            (|of| of.interface_bytes = 67, "an MTU of 67"),
            (|of| of.taken_bytes = Some(65_576), "an MTU of 65576"),
            (|of| of.icmp.as_mut().unwrap().mtu_bytes = 0, "an MTU of 0"),
            (|of| of.interface_bytes = 1_499, "0 of 3 probes of 1500 bytes, by an interface of 1499"),
            (|of| of.sizes.swap(0, 1), "out of order"),
            (|of| of.sizes[0].bytes = 10, "1 of 1 probes of 10 bytes"),
            (|of| of.sizes[1].received = 2, "2 of 1 probes of 1400 bytes"),
            (|of| of.sizes[3].refused = u32::MAX, "probes, of 512"),
        ];
        for (change, part) in wrong {
            let mut probed = probed();
            change(&mut probed);
            let why = probed.check().unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }

    #[test]
    fn streams_probe_where_that_is_asked_for_and_no_more_than_there_are() {
        assert_eq!(check_probed(&[probed(), probed()], NetOp::Mtu, 2), Ok(()));
        assert_eq!(check_probed(&[], NetOp::Stream, 2), Ok(()));
        for (op, streams) in [(NetOp::Mtu, 1), (NetOp::Stream, 2), (NetOp::Udp { datagram_bytes: 100 }, 2)] {
            let why = check_probed(&[probed(), probed()], op, streams).unwrap_err();
            assert!(why.contains("2 streams that probed"), "{why}");
        }
        let wrong = NetProbed { interface_bytes: 7, ..probed() };
        assert!(check_probed(&[probed(), wrong], NetOp::Mtu, 2).unwrap_err().contains("an MTU of 7"));
    }

    #[test]
    fn a_size_is_lost_only_where_it_was_tried_often_and_nothing_of_it_came() {
        let is_size_lost = |sent, received, refused| NetProbeSize { bytes: 1_500, sent, received, refused }.is_lost();
        assert_eq!(
            (is_size_lost(3, 0, 0), is_size_lost(1, 0, 2), is_size_lost(2, 0, 0), is_size_lost(6, 1, 0)),
            (true, true, false, false)
        );
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let text = serde_json::to_string(&probed()).unwrap();
        assert!(text.contains("\"by\":\"10.0.0.1\"") && !text.contains("refused"), "{text}");
        assert_eq!(serde_json::from_str::<NetProbed>(&text).unwrap(), probed());
    }
}
