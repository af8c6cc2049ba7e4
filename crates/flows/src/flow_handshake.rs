//! What both ends of a flow say before any byte of it: that they have the token of one run. The token itself never
//! crosses the network; who listens to one flow cannot begin another, because only the machine that it names takes it,
//! once, and none of a point that is over.
//!
//! The one that connects says 16 bytes that name the protocol, 16 that it drew, the point, its own number, that of who
//! is to take it, that of the flow (4 bytes each, the high one first), and HMAC-SHA-256 of all of it under the token.
//! The one that listens answers with HMAC-SHA-256 of that, after another 16 bytes.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Which protocol this is, in its version.
const MAGIC: [u8; 16] = *b"linerate-flow-2\n";
/// What an answer begins with before its proof is made; it is not sent.
const ANSWER: [u8; 16] = *b"linerate-takes-2";
const SAID_BYTES: usize = 48;
pub(crate) const PROOF_BYTES: usize = 32;

/// Length of what the one that connects says.
pub const PREFACE_BYTES: usize = SAID_BYTES + PROOF_BYTES;

/// Length of the answer.
pub const ANSWER_BYTES: usize = PROOF_BYTES;

/// Length of a token.
pub const TOKEN_BYTES: usize = 32;

/// The bit of a flow's number that says that it is closed as soon as it is proven: nothing is sent on it.
pub const ONCE: u32 = 1 << 31;

/// The secret of one run, which all its machines have. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct FlowToken([u8; TOKEN_BYTES]);

impl fmt::Debug for FlowToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(token)")
    }
}

impl FlowToken {
    /// Of random bytes.
    #[must_use]
    pub const fn new(bytes: [u8; TOKEN_BYTES]) -> FlowToken {
        FlowToken(bytes)
    }

    /// Of 64 hexadecimal digits, as a coordinator sends it.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<FlowToken> {
        let digits: Vec<u8> =
            text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
        let (pairs, rest) = digits.as_chunks::<2>();
        let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
        rest.is_empty().then(|| bytes.try_into().ok().map(FlowToken)).flatten()
    }

    /// As 64 hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn mac(&self, parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        parts.iter().for_each(|part| mac.update(part));
        Some(mac)
    }

    pub(crate) fn proof(&self, parts: &[&[u8]]) -> [u8; PROOF_BYTES] {
        // A key of any length will do for HMAC.
        self.mac(parts).map(|mac| mac.finalize().into_bytes().into()).unwrap_or_default()
    }

    /// Whether a proof is one of these parts, in a time that does not depend on where it differs.
    pub(crate) fn is_proof(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        self.mac(parts).is_some_and(|mac| mac.verify_slice(proof).is_ok())
    }
}

/// Which flow it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowName {
    /// Of which point of the run.
    pub point: u32,
    /// Who sends, by its number in the run.
    pub from: u32,
    pub to: u32,
    /// Counts the flows of a sender to this receiver, from 0.
    pub flow: u32,
}

impl FlowName {
    /// Whether it is closed as soon as it is proven.
    #[must_use]
    pub const fn is_once(self) -> bool {
        self.flow & ONCE != 0
    }
}

/// What the one that connects says.
#[must_use]
pub fn preface(token: &FlowToken, name: FlowName, drawn: [u8; 16]) -> [u8; PREFACE_BYTES] {
    let mut said = [0; PREFACE_BYTES];
    said[..16].copy_from_slice(&MAGIC);
    said[16..32].copy_from_slice(&drawn);
    for (place, number) in [name.point, name.from, name.to, name.flow].into_iter().enumerate() {
        said[32 + 4 * place..36 + 4 * place].copy_from_slice(&number.to_be_bytes());
    }
    let proof = token.proof(&[&said[..SAID_BYTES]]);
    said[SAID_BYTES..].copy_from_slice(&proof);
    said
}

/// Which flow begins so, where it has the token, and the answer; none where it has not.
#[must_use]
pub fn named(token: &FlowToken, said: &[u8; PREFACE_BYTES]) -> Option<(FlowName, [u8; ANSWER_BYTES])> {
    let (text, proof) = said.split_at(SAID_BYTES);
    if text[..16] != MAGIC || !token.is_proof(&[text], proof) {
        return None;
    }
    let number = |place: usize| u32::from_be_bytes([text[place], text[place + 1], text[place + 2], text[place + 3]]);
    let name = FlowName { point: number(32), from: number(36), to: number(40), flow: number(44) };
    Some((name, token.proof(&[&ANSWER, said])))
}

/// Whether an answer to this preface is of one who has the token.
#[must_use]
pub fn is_answer(token: &FlowToken, said: &[u8; PREFACE_BYTES], answer: &[u8; ANSWER_BYTES]) -> bool {
    token.is_proof(&[&ANSWER, said], answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: FlowName = FlowName { point: 3, from: 0x0102_0304, to: 5, flow: 7 };

    #[test]
    fn both_ends_know_each_other_by_the_token_and_it_is_not_said() {
        let token = FlowToken::new([9; 32]);
        let said = preface(&token, NAME, [5; 16]);
        let (name, answer) = named(&token, &said).unwrap();
        assert_eq!(name, NAME);
        assert!(is_answer(&token, &said, &answer));
        assert!(!said.windows(8).any(|part| part == [9; 8]), "{said:?}");
        assert_eq!(format!("{token:?}"), "(token)");
        assert_eq!(FlowToken::from_hex(&token.to_hex()), Some(token));
    }

    #[test]
    fn nothing_else_begins_a_flow() {
        let (token, other) = (FlowToken::new([9; 32]), FlowToken::new([8; 32]));
        let said = preface(&token, NAME, [5; 16]);
        assert_eq!(named(&other, &said), None);
        for place in 0..PREFACE_BYTES {
            let mut wrong = said;
            wrong[place] ^= 1;
            assert_eq!(named(&token, &wrong), None, "{place}");
        }
        let (_, answer) = named(&token, &said).unwrap();
        assert!(!is_answer(&other, &said, &answer));
        let again = preface(&token, NAME, [6; 16]);
        assert!(!is_answer(&token, &again, &answer), "an answer is one to what was drawn");
        assert!(!is_answer(&token, &said, &said[SAID_BYTES..].try_into().unwrap()), "what was said is no answer");
    }

    #[test]
    fn a_token_is_64_digits() {
        let digits = "0f".repeat(32);
        assert_eq!(FlowToken::from_hex(&digits), Some(FlowToken::new([15; 32])));
        for wrong in ["", "0f", &digits[1..], &format!("{digits}0f"), &digits.replace('f', "g")] {
            assert_eq!(FlowToken::from_hex(wrong), None, "{wrong:?}");
        }
    }
}
