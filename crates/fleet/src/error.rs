//! Why an agent is given up.

use crate::lease::EndReason;
use crate::protocol::{PROTOCOL, TEXT_BYTES_MAX};

/// Why nothing more is heard of an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    #[error("no answer within {0} s")]
    Mute(i64),
    /// It answered, and then did not.
    #[error("the agent froze: no answer for {0} s")]
    Frozen(i64),
    /// It takes too long over its machine.
    #[error("the agent took longer than {0} s to read the machine")]
    Slow(i64),
    /// What came is no message.
    #[error("this is not an agent: it wrote {0:?}")]
    NoAgent(String),
    /// An agent of another protocol.
    #[error("the agent is linerate {theirs} and speaks protocol {protocol}; this linerate speaks {PROTOCOL}")]
    Version { theirs: String, protocol: u32 },
    /// It said what cannot be.
    #[error("the agent's answer is not valid: {0}")]
    Lie(String),
    /// It cannot load, or takes too long over it.
    #[error("the agent failed: {0}")]
    Failed(String),
    /// It does not do what it was asked.
    #[error("the agent refused: {0}")]
    Refused(String),
    /// It ended before it greeted.
    #[error("the agent ended before it answered")]
    Ended,
    /// It ended later, without a word.
    #[error("the agent ended")]
    Gone,
    /// It ended, and said why.
    #[error("the agent ended: {}", .0.in_words())]
    Left(EndReason),
    /// It was ended there.
    #[error("a signal ended the agent")]
    Signalled,
}

/// What an agent wrote and cannot have meant, in few words: they may quote it.
pub(crate) fn lie(what: &str) -> AgentError {
    AgentError::Lie(what.chars().take(TEXT_BYTES_MAX).collect())
}
