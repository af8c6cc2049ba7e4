//! Kinds of errors, as run folders have them.

/// Beginnings of the kinds that are answers, if wrong ones.
const ANSWERS: [&str; 7] = ["http ", "short body", "long body", "wrong ", "reply ", "listing ", "malformed: "];

/// Whether an error of this kind is an answer: the target was there, and said something that is no success. The others
/// cost a connection or came to nothing in their time, or are not known.
#[must_use]
pub fn is_answer(kind: &str) -> bool {
    ANSWERS.iter().any(|answer| kind.starts_with(answer))
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
}
