//! What both ends of a session say before any message: that they have the token of one `linerate net serve`. They say
//! it over a channel that nobody between them can read (TLS), and prove it of what is that channel's own alone, as RFC
//! 9266 binds proofs to TLS. So the token never crosses the network, and whoever stands between has two channels, of
//! which the proof of one is none on the other.
//!
//! The one that connects says 16 bytes that name the protocol, and HMAC-SHA-256 of these and of the channel's own bytes
//! under the token. The one that listens answers with a word of 16 bytes, and with the same of that word, but where it
//! refuses: then nothing was proven, and nothing is.

use crate::flow_handshake::{FlowToken, PROOF_BYTES};

/// What is said first.
const ASKS: [u8; WORD_BYTES] = *b"linerate-serve-1";

/// The words of an answer.
const TAKES: [u8; WORD_BYTES] = *b"linerate-takes-1";
const BUSY: [u8; WORD_BYTES] = *b"linerate-inuse-1";
const REFUSES: [u8; WORD_BYTES] = *b"linerate-other-1";

const WORD_BYTES: usize = 16;

/// Length of what is a channel's own.
pub const CHANNEL_BYTES: usize = 32;

/// Length of what either end says.
pub const SESSION_BYTES: usize = WORD_BYTES + PROOF_BYTES;

/// What the one that listens answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionAnswer {
    Takes,
    /// Somebody else who has the token is served.
    Busy,
    /// The token is another one, or the version.
    Refuses,
}

/// What the one that connects says.
#[must_use]
pub fn attach_request(token: &FlowToken, channel: &[u8; CHANNEL_BYTES]) -> [u8; SESSION_BYTES] {
    said(token, channel, ASKS)
}

/// Whether it was said by one who has the token, on this channel.
#[must_use]
pub fn is_attach_request(token: &FlowToken, channel: &[u8; CHANNEL_BYTES], said: &[u8; SESSION_BYTES]) -> bool {
    is_said(token, channel, ASKS, said)
}

/// What the one that listens answers.
#[must_use]
pub fn answer(token: &FlowToken, channel: &[u8; CHANNEL_BYTES], answer: SessionAnswer) -> [u8; SESSION_BYTES] {
    match answer {
        SessionAnswer::Takes => said(token, channel, TAKES),
        SessionAnswer::Busy => said(token, channel, BUSY),
        SessionAnswer::Refuses => {
            let mut said = [0; SESSION_BYTES];
            said[..WORD_BYTES].copy_from_slice(&REFUSES);
            said
        }
    }
}

/// What was answered; none where it was by nobody who has the token, or in no words of this version.
#[must_use]
pub fn answered(token: &FlowToken, channel: &[u8; CHANNEL_BYTES], said: &[u8; SESSION_BYTES]) -> Option<SessionAnswer> {
    if said[..WORD_BYTES] == REFUSES {
        return Some(SessionAnswer::Refuses);
    }
    let all = [(TAKES, SessionAnswer::Takes), (BUSY, SessionAnswer::Busy)];
    all.into_iter().find(|(word, _)| is_said(token, channel, *word, said)).map(|(_, answer)| answer)
}

fn said(token: &FlowToken, channel: &[u8; CHANNEL_BYTES], word: [u8; WORD_BYTES]) -> [u8; SESSION_BYTES] {
    let mut said = [0; SESSION_BYTES];
    said[..WORD_BYTES].copy_from_slice(&word);
    said[WORD_BYTES..].copy_from_slice(&token.proof(&[&word, channel]));
    said
}

fn is_said(
    token: &FlowToken,
    channel: &[u8; CHANNEL_BYTES],
    word: [u8; WORD_BYTES],
    said: &[u8; SESSION_BYTES],
) -> bool {
    said[..WORD_BYTES] == word && token.is_proof(&[&word, channel], &said[WORD_BYTES..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNEL: [u8; CHANNEL_BYTES] = [5; CHANNEL_BYTES];

    #[test]
    fn both_ends_prove_the_token_on_one_channel_and_on_no_other() {
        let (token, other) = (FlowToken::new([9; 32]), FlowToken::new([8; 32]));
        let elsewhere = [6; CHANNEL_BYTES];
        let first = attach_request(&token, &CHANNEL);
        assert!(is_attach_request(&token, &CHANNEL, &first));
        assert!(!is_attach_request(&other, &CHANNEL, &first) && !is_attach_request(&token, &elsewhere, &first));
        assert!(!first.windows(8).any(|part| part == [9; 8]), "the token is not said");
        for kind in [SessionAnswer::Takes, SessionAnswer::Busy] {
            let second = answer(&token, &CHANNEL, kind);
            assert_eq!(answered(&token, &CHANNEL, &second), Some(kind));
            assert_eq!((answered(&other, &CHANNEL, &second), answered(&token, &elsewhere, &second)), (None, None));
        }
        let refused = answer(&token, &CHANNEL, SessionAnswer::Refuses);
        assert_eq!(answered(&other, &CHANNEL, &refused), Some(SessionAnswer::Refuses));
        assert_eq!(answered(&token, &CHANNEL, &first), None, "what was asked is no answer");
    }

    #[test]
    fn what_differs_in_any_byte_is_not_believed() {
        let token = FlowToken::new([9; 32]);
        let (first, second) = (attach_request(&token, &CHANNEL), answer(&token, &CHANNEL, SessionAnswer::Takes));
        for place in 0..SESSION_BYTES {
            let (mut one, mut other) = (first, second);
            one[place] ^= 1;
            other[place] ^= 1;
            assert!(!is_attach_request(&token, &CHANNEL, &one), "{place}");
            assert_eq!(answered(&token, &CHANNEL, &other), None, "{place}");
        }
    }
}
