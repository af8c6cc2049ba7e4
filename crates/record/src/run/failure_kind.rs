//! Kinds of errors, as run folders have them: only here the text of one is read.

use std::collections::BTreeMap;

use crate::units::grouped;

/// How a body is counted that is not what was written.
pub const WRONG_BODY: &str = "wrong body";

/// The kind of requests that were in flight at the end of a point, and failed while they were waited for.
pub const FAILED_LATER: &str = "failed while it was waited for";
/// The kind of requests that hung: when they were given up, they had waited for longer than any that ended took.
pub const NEVER_ANSWERED: &str = "not answered when it was given up";
/// How a body is counted that ended before its length.
pub const SHORT_BODY: &str = "short body";
/// How a body is counted that went on behind its length.
pub const LONG_BODY: &str = "long body";

/// Beginnings of the other kinds that are answers, if wrong ones.
const ANSWERS: [&str; 4] = ["wrong ", "reply ", "listing ", "malformed: "];

/// Parts by which a kind is known that asks for fewer requests, whichever tool counted it.
const THROTTLING: [&str; 6] =
    ["http 503", "http 429", "SlowDown", "TooManyRequests", "RequestLimitExceeded", "ServiceUnavailable"];

/// Counts by kind as text: `http 503: 1204, timeout: 2`.
#[must_use]
pub fn counts(of_kinds: &BTreeMap<String, u64>) -> String {
    of_kinds.iter().map(|(kind, n)| format!("{kind}: {}", grouped(*n))).collect::<Vec<_>>().join(", ")
}

/// What the kind of an error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind<'a> {
    /// A status that is no success, with S3's code or another host where the reply named one: `503 SlowDown`.
    Status(&'a str),
    /// [`WRONG_BODY`].
    WrongBody,
    /// [`SHORT_BODY`].
    ShortBody,
    /// [`LONG_BODY`].
    LongBody,
    /// Another answer that was wrong.
    WrongAnswer,
    /// TLS failed.
    Tls,
    /// A connection failed, or nothing came in time; also what is not known.
    Unanswered,
}

impl<'a> FailureKind<'a> {
    /// Reads a kind, whoever wrote it.
    #[must_use]
    pub fn read(kind: &'a str) -> Self {
        match (kind, kind.strip_prefix("http ")) {
            (_, Some(status)) => FailureKind::Status(status),
            (WRONG_BODY, _) => FailureKind::WrongBody,
            (kind, _) if kind.starts_with(SHORT_BODY) => FailureKind::ShortBody,
            (kind, _) if kind.starts_with(LONG_BODY) => FailureKind::LongBody,
            (kind, _) if ANSWERS.iter().any(|answer| kind.starts_with(answer)) => FailureKind::WrongAnswer,
            (kind, _) if kind.starts_with("tls") => FailureKind::Tls,
            _ => FailureKind::Unanswered,
        }
    }

    /// Whether it is an answer: the target was there, and said something that is no success. The others cost a
    /// connection or came to nothing in their time, or are not known.
    #[must_use]
    pub const fn is_answer(self) -> bool {
        !matches!(self, FailureKind::Tls | FailureKind::Unanswered)
    }

    /// Whether the same request may succeed when it is made again. A wrong answer stays wrong.
    #[must_use]
    pub fn may_pass(self) -> bool {
        match self {
            FailureKind::Status(status) => ["5", "429", "408"].iter().any(|start| status.starts_with(start)),
            FailureKind::Unanswered => true,
            _ => false,
        }
    }
}

/// Whether an error of this kind is an answer.
#[must_use]
pub fn is_answer(kind: &str) -> bool {
    FailureKind::read(kind).is_answer()
}

/// Whether an error of this kind asks for fewer requests: a limit of the target, and not a fault.
#[must_use]
pub fn is_throttling(kind: &str) -> bool {
    THROTTLING.iter().any(|part| kind.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_what_nobody_answered() {
        for kind in ["http 503 SlowDown", "http 307 to other", "wrong body", "wrong length in HEAD", "short body"] {
            assert!(is_answer(kind), "{kind}");
        }
        for kind in ["reply without a length", "reply before the whole body", "listing of others", "malformed: head"] {
            assert!(is_answer(kind), "{kind}");
        }
        for kind in ["connect: refused", "tls: expired", "timeout", "connection reset", "closed without a reply"] {
            assert!(!is_answer(kind), "{kind}");
        }
        for kind in ["closed before the whole reply", "no answer", "", "dial tcp: connection refused"] {
            assert!(!is_answer(kind), "{kind}");
        }
    }

    #[test]
    fn what_may_pass_is_told_from_what_stays_wrong_and_from_limits() {
        for (kind, read, may_pass, throttling) in [
            ("http 503 SlowDown", FailureKind::Status("503 SlowDown"), true, true),
            ("http 500", FailureKind::Status("500"), true, false),
            ("http 429", FailureKind::Status("429"), true, true),
            ("http 408", FailureKind::Status("408"), true, false),
            ("http 403 AccessDenied", FailureKind::Status("403 AccessDenied"), false, false),
            ("wrong body", FailureKind::WrongBody, false, false),
            ("short body", FailureKind::ShortBody, false, false),
            ("long body", FailureKind::LongBody, false, false),
            ("wrong range", FailureKind::WrongAnswer, false, false),
            ("tls: expired", FailureKind::Tls, false, false),
            ("connect: refused", FailureKind::Unanswered, true, false),
            ("no answer", FailureKind::Unanswered, true, false),
            ("Please reduce your request rate (SlowDown).", FailureKind::Unanswered, true, true),
        ] {
            assert_eq!(FailureKind::read(kind), read, "{kind}");
            assert_eq!((read.may_pass(), is_throttling(kind)), (may_pass, throttling), "{kind}");
        }
    }
}
