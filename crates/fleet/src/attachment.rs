//! Streams to an agent that listens: they break and are attached again, and no byte is lost or said twice.
//!
//! Before the messages of [`crate::protocol`], each stream says whose it is: a token that the coordinator drew when it
//! began, and how many bytes it has taken so far. Both ends keep the last of what they sent, and send again what the
//! other has not taken. So a stream may end anywhere, in the middle of a message, and the messages never know of it.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::protocol::{Decoder, FrameError, TEXT_BYTES_MAX, frame};

/// The version of what is said before the first message.
pub const ATTACH_VERSION: u32 = 1;

/// What each end keeps of what it sent: more than the buffers between both ends hold. Those are of a pipe, a socket or
/// two on a node, and a connection each to the API server and to the coordinator.
pub const KEPT_BYTES_MAX: usize = 4 << 20;

/// How finely the age of what was sent is known.
const MARKED_EACH: Duration = Duration::from_secs(1);

/// Longest first word of a stream, with its length.
pub const FIRST_BYTES_MAX: usize = 4096;

/// What a stream says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attach {
    /// Its [`ATTACH_VERSION`].
    pub attach: u32,
    /// Whose stream it is: nobody else knows it.
    pub token: String,
    /// Whether there was a stream of this token before.
    pub is_again: bool,
    /// Bytes that the coordinator has taken from the agent.
    pub taken: u64,
}

/// What the agent answers first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttachAnswer {
    Taken {
        /// Bytes that the agent has taken from the coordinator.
        taken: u64,
        /// For how long it goes on without a message.
        lease_ms: u64,
    },
    /// Nothing follows.
    Refused(AttachRefusal),
}

/// Why an agent does not take a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum AttachRefusal {
    /// Another coordinator has it.
    #[error("another coordinator has been using this agent for {for_s} s")]
    Busy { for_s: u64 },
    /// Nobody of that token is known: the lease lapsed meanwhile, or the agent is another one.
    #[error("the agent no longer knows this coordinator: its lease lapsed, or its pod was restarted")]
    Unknown,
    /// What was lost on the way is not kept any more.
    #[error("more data was lost in transit than the agent or its coordinator keeps")]
    Lost,
    #[error("the agent expects version {attach} of the attach protocol, but this linerate has {ATTACH_VERSION}")]
    Version { attach: u32 },
    /// It ends, or its time is over.
    #[error("the agent is ending")]
    Ending,
    /// Its machine cannot be changed through it.
    #[error("{why}")]
    #[serde(rename = "unfit")]
    NoFitReason { why: String },
}

/// The first word of a stream, taken from bytes in any pieces.
#[derive(Debug, Default)]
pub struct FirstWord {
    decoder: Decoder,
    bytes: usize,
}

impl FirstWord {
    /// Takes bytes; the word where it is whole, with the bytes behind it.
    ///
    /// # Errors
    /// [`FrameError`] where it is none.
    pub fn take<M: serde::de::DeserializeOwned>(&mut self, bytes: &[u8]) -> Result<Option<(M, Vec<u8>)>, FrameError> {
        self.bytes += bytes.len();
        self.decoder.take(bytes);
        match self.decoder.message()? {
            Some(word) => Ok(Some((word, std::mem::take(&mut self.decoder).into_rest()))),
            None if self.bytes > FIRST_BYTES_MAX => {
                Err(FrameError::Content(format!("a first word of more than {FIRST_BYTES_MAX} bytes")))
            }
            None => Ok(None),
        }
    }

    /// What came and was not understood, as text.
    #[must_use]
    pub fn rest(&self) -> String {
        self.decoder.rest()
    }
}

/// A first word as it goes out; both kinds are short.
#[must_use]
pub fn word(word: &impl Serialize) -> Vec<u8> {
    frame(word).unwrap_or_default()
}

/// The last of what was sent, and how much that was in all.
#[derive(Clone, Debug, Default)]
pub struct SentBytes {
    bytes: VecDeque<u8>,
    sent: u64,
    /// When so much had been sent, oldest first: since the first stream.
    marks: VecDeque<(Duration, u64)>,
}

impl SentBytes {
    /// Takes what was sent.
    pub fn push(&mut self, bytes: &[u8]) {
        self.sent += bytes.len() as u64;
        self.bytes.extend(bytes);
        let excess = self.bytes.len().saturating_sub(KEPT_BYTES_MAX);
        self.bytes.drain(..excess);
    }

    /// Lets go of what was sent longer ago than that; `now` is since the first stream. For a sender whose receiver ends
    /// when it hears nothing for half as long: bytes come in order, so whoever has not taken these took nothing since.
    pub fn forget(&mut self, now: Duration, older: Duration) {
        if self.marks.back().is_none_or(|(at, _)| now >= *at + MARKED_EACH) {
            self.marks.push_back((now, self.sent));
        }
        while let Some((_, sent)) = self.marks.pop_front_if(|(at, _)| now >= *at + older) {
            let still = usize::try_from(self.sent - sent).unwrap_or(usize::MAX);
            self.bytes.drain(..self.bytes.len().saturating_sub(still));
        }
    }

    /// What is to be sent again to who has taken so much; none where it is not kept, or was never sent.
    #[must_use]
    pub fn since(&self, taken: u64) -> Option<Vec<u8>> {
        let missing = usize::try_from(self.sent.checked_sub(taken)?).ok()?;
        let from = self.bytes.len().checked_sub(missing)?;
        Some(self.bytes.range(from..).copied().collect())
    }
}

/// What to do about a stream that asks for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachVerdict {
    /// It is the first of its token: begin.
    Begin,
    /// It is the next one of the token that has the agent.
    Resume,
    /// Say so, and close it.
    Refuse(AttachRefusal),
}

/// What to do about a stream, where the agent is held by a token for so many seconds, or by nobody.
#[must_use]
pub fn verdict(requested: &Attach, held: Option<(&str, u64)>) -> AttachVerdict {
    if requested.attach != ATTACH_VERSION {
        return AttachVerdict::Refuse(AttachRefusal::Version { attach: ATTACH_VERSION });
    }
    match held {
        Some((token, _)) if token == requested.token => AttachVerdict::Resume,
        Some((_, for_s)) => AttachVerdict::Refuse(AttachRefusal::Busy { for_s }),
        None if requested.is_again || requested.token.is_empty() || requested.token.len() > TEXT_BYTES_MAX => {
            AttachVerdict::Refuse(AttachRefusal::Unknown)
        }
        None => AttachVerdict::Begin,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attach(token: &str, is_again: bool) -> Attach {
        Attach { attach: ATTACH_VERSION, token: token.to_owned(), is_again, taken: 0 }
    }

    #[test]
    fn one_coordinator_has_an_agent_and_only_it_comes_back() {
        let refused = |refusal| AttachVerdict::Refuse(refusal);
        for (requested, held, expected) in [
            (attach("a", false), None, AttachVerdict::Begin),
            (attach("a", true), None, refused(AttachRefusal::Unknown)),
            (attach("", false), None, refused(AttachRefusal::Unknown)),
            (attach("a", true), Some(("a", 3)), AttachVerdict::Resume),
            // The answer to its first word was lost.
            (attach("a", false), Some(("a", 3)), AttachVerdict::Resume),
            (attach("b", false), Some(("a", 3)), refused(AttachRefusal::Busy { for_s: 3 })),
            (attach("b", true), Some(("a", 3)), refused(AttachRefusal::Busy { for_s: 3 })),
            (Attach { attach: 9, ..attach("a", true) }, Some(("a", 3)), refused(AttachRefusal::Version { attach: 1 })),
        ] {
            assert_eq!(verdict(&requested, held), expected, "{requested:?} {held:?}");
        }
        assert!(AttachRefusal::Busy { for_s: 3 }.to_string().contains("another coordinator"));
    }

    #[test]
    fn a_first_word_cut_anywhere_leaves_what_is_behind_it() {
        let bytes = [word(&attach("t", false)), b"behind".to_vec()].concat();
        let length = bytes.len() - 6;
        for cut in 0..bytes.len() {
            let mut first = FirstWord::default();
            let came = first.take::<Attach>(&bytes[..cut]).unwrap();
            assert_eq!(came.is_some(), cut >= length, "{cut}");
            let (requested, rest) = match came {
                Some((requested, rest)) => (requested, [rest, bytes[cut..].to_vec()].concat()),
                None => first.take::<Attach>(&bytes[cut..]).unwrap().unwrap(),
            };
            assert_eq!((requested, rest.as_slice()), (attach("t", false), &b"behind"[..]), "{cut}");
        }
    }

    #[test]
    fn a_first_word_without_end_is_refused() {
        let mut first = FirstWord::default();
        let length = u32::to_le_bytes(1 << 19);
        assert!(first.take::<Attach>(&length).unwrap().is_none());
        assert!(first.take::<Attach>(&[b' '; 4093]).is_err());
        assert!(FirstWord::default().take::<Attach>(b"GET / HTTP/1.1\r\n").is_err());
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_not_kept_is_known() {
        let mut kept = SentBytes::default();
        for _ in 0..5 {
            kept.push(&vec![7; 1 << 20]);
        }
        assert_eq!(kept.bytes.len(), KEPT_BYTES_MAX);
        assert_eq!(kept.since(1 << 20).map(|bytes| bytes.len()), Some(4 << 20));
        assert_eq!(kept.since((1 << 20) - 1), None);
        assert_eq!(kept.since((5 << 20) + 1), None);
        assert_eq!(kept.since(5 << 20), Some(Vec::new()));
    }

    #[test]
    fn what_is_old_is_not_kept_and_what_is_not_is() {
        let mut kept = SentBytes::default();
        // A hundred bytes each half second, for an hour.
        for half in 0..7_200u32 {
            let now = Duration::from_millis(500) * half;
            kept.forget(now, Duration::from_secs(60));
            kept.push(&[7; 100]);
            assert!(kept.bytes.len() <= 12_400 && kept.marks.len() <= 62, "{}", kept.bytes.len());
        }
        assert!(kept.bytes.capacity() <= 32 << 10, "{}", kept.bytes.capacity());
        assert_eq!(kept.since(720_000 - 12_000).map(|bytes| bytes.len()), Some(12_000), "a minute of it");
        assert_eq!(kept.since(720_000 - 12_600), None);
        assert_eq!(kept.since(720_000), Some(Vec::new()));
    }

    proptest! {
        /// A stream that breaks anywhere, again and again: all bytes come, each once and in order.
        #[test]
        fn nothing_is_lost_and_nothing_comes_twice(
            pieces in proptest::collection::vec((0..300_usize, 0..400_usize), 1..40),
        ) {
            let (mut kept, mut came, mut said) = (SentBytes::default(), Vec::<u8>::new(), Vec::<u8>::new());
            for (number, (length, arrives)) in pieces.into_iter().enumerate() {
                let piece: Vec<u8> = (0..length).map(|i| (number * 31 + i) as u8).collect();
                // What was lost of the streams before goes first on each new one.
                let mut stream = kept.since(came.len() as u64).unwrap();
                kept.push(&piece);
                said.extend(&piece);
                stream.extend(&piece);
                stream.truncate(arrives);
                came.extend(stream);
            }
            came.extend(kept.since(came.len() as u64).unwrap());
            prop_assert_eq!(came, said);
        }
    }
}
