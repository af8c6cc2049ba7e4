//! What kernels take off a program's hands where flows ask for it, and what came of that: datagrams that go through
//! them several at once (GSO, GRO), bytes that are sent without a copy, and bytes that are discarded.

use serde::{Deserialize, Serialize};

use super::{NetOp, NetPair};
use crate::plausibility::COUNT_MAX;

/// What flows ask of kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetOffloads {
    /// Whether datagrams go through kernels several at once.
    #[serde(default)]
    pub gso: NetGso,
    /// Whether streams are sent without a copy (`MSG_ZEROCOPY`).
    #[serde(default)]
    pub zerocopy: bool,
    /// Whether what streams bring is copied to the receiver, as programs read it: else its kernel discards it
    /// (`MSG_TRUNC`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads: bool,
}

/// Whether a sender's kernel is given several datagrams at once, which it cuts (GSO), and a receiver's hands on several
/// at once, which it joined (GRO).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetGso {
    /// Never: each datagram by itself.
    #[default]
    Off,
    /// From a rate on at which a burst of them takes no longer than a queue notices.
    Auto,
    On,
}

impl NetOffloads {
    /// Whether nothing is asked for: so it is in folders of versions that had none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == NetOffloads::default()
    }

    /// Whether this op can have what is asked for.
    #[must_use]
    pub fn applies_to(self, op: NetOp) -> bool {
        (self.gso == NetGso::Off || matches!(op, NetOp::Udp { .. }))
            && (!(self.zerocopy || self.reads) || op == NetOp::Stream)
    }
}

/// Datagrams that went through one kernel several at once: a sender's that cut them (`UDP_SEGMENT`), or a receiver's
/// that joined them (`UDP_GRO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetBursts {
    /// Sends, or reads, of datagrams that count.
    pub calls: u64,
    /// The number of the error by which the kernel refused, on one stream or more, so that each datagram went by itself
    /// there; absent where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u16>,
}

/// What became of sends without a copy, from the begin of the flows to the end of the visit: the warm-up is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetZeroCopy {
    /// Sends; none where the kernel refused all.
    pub sends: u64,
    /// Those of them that were copied as ever, because the kernel may keep no more memory where it is (`ENOBUFS`).
    #[serde(default)]
    pub unkept: u64,
    /// Those of the others that the kernel said it is done with.
    pub noted: u64,
    /// Those of these that it copied all the same (`SO_EE_CODE_ZEROCOPY_COPIED`).
    pub copied: u64,
    /// The number of the error by which the kernel refused, on one stream or more, to send without a copy at all;
    /// absent where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u16>,
}

impl NetBursts {
    /// All of them together; none where there are none.
    #[must_use]
    pub fn sum(all: impl Iterator<Item = NetBursts>) -> Option<NetBursts> {
        all.reduce(|sum, of| NetBursts {
            calls: sum.calls.saturating_add(of.calls),
            refused: sum.refused.or(of.refused),
        })
    }

    /// What is wrong with it, of so many datagrams.
    ///
    /// # Errors
    /// Why, in words for a person.
    pub fn check(&self, datagrams: u64) -> Result<(), String> {
        if self.calls <= datagrams.min(COUNT_MAX) {
            return Ok(());
        }
        Err(format!("{} sends or reads of {datagrams} datagrams", self.calls))
    }
}

impl NetZeroCopy {
    /// All of them together; none where there are none.
    #[must_use]
    pub fn sum(all: impl Iterator<Item = NetZeroCopy>) -> Option<NetZeroCopy> {
        all.reduce(|sum, of| NetZeroCopy {
            sends: sum.sends.saturating_add(of.sends),
            unkept: sum.unkept.saturating_add(of.unkept),
            noted: sum.noted.saturating_add(of.noted),
            copied: sum.copied.saturating_add(of.copied),
            refused: sum.refused.or(of.refused),
        })
    }

    /// Share of the sends of which it is known that were copied, by the kernel or because it could keep no more; absent
    /// where nothing is known of any.
    #[must_use]
    pub fn copied_share(&self) -> Option<f64> {
        let known = self.noted.saturating_add(self.unkept);
        (known > 0).then(|| self.copied.saturating_add(self.unkept) as f64 / known as f64)
    }

    /// What is wrong with it.
    ///
    /// # Errors
    /// Why, in words for a person.
    pub fn check(&self) -> Result<(), String> {
        let is_sound = self.sends <= COUNT_MAX
            && self.copied <= self.noted
            && self.noted.saturating_add(self.unkept) <= self.sends;
        if is_sound {
            return Ok(());
        }
        Err(format!(
            "{} sends without a copy, of which the kernel noted {} and copied {}, and could not keep {}",
            self.sends, self.noted, self.copied, self.unkept
        ))
    }
}

/// What is wrong with what a pair says of them.
pub(super) fn check(pair: &NetPair) -> Result<(), String> {
    let datagrams = pair.datagrams.unwrap_or_default();
    pair.gso.map_or(Ok(()), |of| of.check(datagrams.sent))?;
    pair.gro.map_or(Ok(()), |of| of.check(datagrams.received))?;
    pair.zerocopy.map_or(Ok(()), |of| of.check())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetDatagrams;

    #[test]
    fn what_is_asked_for_is_of_an_op_that_can_have_it() {
        let udp = NetOp::Udp { datagram_bytes: 100 };
        let (copied, discarded) = (false, false);
        for (gso, zerocopy, reads, op, is_of) in [
            (NetGso::Off, copied, discarded, NetOp::Connect, true),
            (NetGso::Auto, copied, discarded, udp, true),
            (NetGso::On, copied, discarded, udp, true),
            (NetGso::Auto, copied, discarded, NetOp::Mtu, false),
            (NetGso::On, copied, discarded, NetOp::Stream, false),
            (NetGso::Off, true, discarded, NetOp::Stream, true),
            (NetGso::Off, true, true, NetOp::Stream, true),
            (NetGso::Off, true, discarded, udp, false),
            (NetGso::Off, copied, true, udp, false),
            (NetGso::Off, true, discarded, NetOp::Request { request_bytes: 1, answer_bytes: 1 }, false),
        ] {
            let requested = NetOffloads { gso, zerocopy, reads };
            assert_eq!(requested.applies_to(op), is_of, "{requested:?} {op:?}");
        }
        assert!(NetOffloads::default().is_none());
        assert!(!NetOffloads { gso: NetGso::Auto, ..NetOffloads::default() }.is_none());
    }

    #[test]
    fn counts_of_streams_add_up_and_one_that_was_refused_is_told_of_all() {
        let bursts = |calls, refused| NetBursts { calls, refused };
        let all = [bursts(3, None), bursts(4, Some(5)), bursts(u64::MAX, Some(22))];
        assert_eq!(NetBursts::sum(all.into_iter()), Some(bursts(u64::MAX, Some(5))));
        assert_eq!(NetBursts::sum(std::iter::empty()), None);
        let one = NetZeroCopy { sends: 10, unkept: 2, noted: 6, copied: 3, refused: None };
        let sum = NetZeroCopy::sum([one, one].into_iter()).unwrap();
        assert_eq!(sum, NetZeroCopy { sends: 20, unkept: 4, noted: 12, copied: 6, refused: None });
        assert_eq!(sum.copied_share(), Some(10.0 / 16.0));
        assert_eq!(NetZeroCopy { sends: 9, ..NetZeroCopy::default() }.copied_share(), None);
    }

    #[test]
    fn counts_that_cannot_be_are_refused() {
        let datagrams = NetDatagrams { sent: 10, received: 8, ..NetDatagrams::default() };
        let zerocopy = NetZeroCopy { sends: 5, unkept: 1, noted: 4, copied: 4, refused: None };
        let bursts = |calls| Some(NetBursts { calls, refused: None });
        let sound = NetPair {
            datagrams: Some(datagrams),
            gso: bursts(10),
            gro: bursts(8),
            zerocopy: Some(zerocopy),
            ..NetPair::default()
        };
        assert_eq!(check(&sound), Ok(()));
        assert_eq!(check(&NetPair::default()), Ok(()));
        let wrong = [
            (NetPair { gso: bursts(11), ..sound.clone() }, "11 sends or reads of 10 datagrams"),
            (NetPair { gro: bursts(9), ..sound.clone() }, "9 sends or reads of 8 datagrams"),
            (NetPair { datagrams: None, ..sound.clone() }, "of 0 datagrams"),
            (NetPair { zerocopy: Some(NetZeroCopy { noted: 5, ..zerocopy }), ..sound.clone() }, "noted 5"),
            (NetPair { zerocopy: Some(NetZeroCopy { copied: 5, ..zerocopy }), ..sound.clone() }, "copied 5"),
            (
                NetPair { zerocopy: Some(NetZeroCopy { sends: u64::MAX, ..zerocopy }), ..sound.clone() },
                "without a copy",
            ),
        ];
        for (pair, part) in wrong {
            let why = check(&pair).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }

    #[test]
    fn what_is_asked_for_is_written_in_words() {
        let requested = NetOffloads { gso: NetGso::Auto, ..NetOffloads::default() };
        let written = serde_json::to_value(requested).unwrap();
        assert_eq!(written, serde_json::json!({"gso": "auto", "zerocopy": false}));
        assert_eq!(serde_json::from_value::<NetOffloads>(written).unwrap(), requested);
        let read = NetOffloads { reads: true, ..requested };
        assert_eq!(serde_json::from_value::<NetOffloads>(serde_json::to_value(read).unwrap()).unwrap(), read);
        assert_eq!(serde_json::from_str::<NetOffloads>("{}").unwrap(), NetOffloads::default());
    }
}
