//! Requests that failed and wait to be made again.
//!
//! A request keeps its slot while it waits, so that there are never more of them than requests in flight, and its times
//! count from its first attempt: what a retry hides from errors shows in latencies.

use std::collections::VecDeque;

use crate::request_failure::RequestFailure;
use crate::request_spec::RequestSpec;

/// When a request began, and how often it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstAttempt {
    /// Start of its first attempt.
    pub(crate) first_ns: u64,
    /// When it was due, in an open loop.
    pub(crate) intended_ns: Option<u64>,
    pub(crate) failed: u32,
    /// Whether it began after the end of the point, to keep the load up: it is in no figure.
    pub(crate) is_alongside: bool,
}

impl FirstAttempt {
    /// A request that starts now.
    pub(crate) const fn starting(now_ns: u64, intended_ns: Option<u64>) -> Self {
        FirstAttempt { first_ns: now_ns, intended_ns, failed: 0, is_alongside: false }
    }

    /// The same with so much time left out that was not the target's.
    pub(crate) const fn less(self, held_ns: u64) -> Self {
        FirstAttempt { first_ns: self.first_ns.saturating_add(held_ns), ..self }
    }
}

/// Requests to make again, in the order in which they failed.
pub(crate) struct Retries {
    most: u32,
    waiting: VecDeque<(RequestSpec, FirstAttempt)>,
}

impl Retries {
    /// Each request is made again up to `most` times.
    pub(crate) const fn new(most: u32) -> Self {
        Retries { most, waiting: VecDeque::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes a request that failed, if it is to be made again.
    pub(crate) fn take(&mut self, request_spec: RequestSpec, since: FirstAttempt, why: &RequestFailure) -> bool {
        let again = since.failed < self.most && why.is_worth_another_try();
        if again {
            self.waiting.push_back((request_spec, FirstAttempt { failed: since.failed + 1, ..since }));
        }
        again
    }

    /// When those that wait began.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &FirstAttempt> {
        self.waiting.iter().map(|(_, since)| since)
    }

    /// Those that wait, and when they began.
    pub(crate) fn asks(&self) -> impl Iterator<Item = (RequestSpec, FirstAttempt)> {
        self.waiting.iter().copied()
    }

    /// The next to make again.
    pub(crate) fn next(&mut self) -> Option<(RequestSpec, FirstAttempt)> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::run::Op;

    use super::*;
    use crate::request_spec::Subject;

    #[test]
    fn a_request_is_made_again_so_many_times_from_its_first_start_on() {
        let request_spec = RequestSpec { op: Op::Get, subject: Subject::Bucket, range: None, host: 0, call: None };
        let mut retries = Retries::new(2);
        let mut since = FirstAttempt::starting(5, Some(3));
        for failed in 1..=2 {
            assert!(retries.take(request_spec, since, &RequestFailure::Timeout));
            (_, since) = retries.next().unwrap();
            assert_eq!(since, FirstAttempt { first_ns: 5, intended_ns: Some(3), failed, is_alongside: false });
        }
        assert!(!retries.take(request_spec, since, &RequestFailure::Timeout) && retries.is_empty());
    }

    #[test]
    fn an_answer_that_was_wrong_is_not_asked_away() {
        let request_spec = RequestSpec { op: Op::Get, subject: Subject::Bucket, range: None, host: 0, call: None };
        let status = |status| RequestFailure::Status(status, None);
        for (why, again) in [
            (RequestFailure::Connect("refused"), true),
            (RequestFailure::Reset, true),
            (RequestFailure::Unanswered, true),
            (RequestFailure::Closed, true),
            (status(503), true),
            (status(429), true),
            (status(404), false),
            (status(403), false),
            (RequestFailure::WrongBody, false),
            (RequestFailure::ShortBody, false),
            (RequestFailure::LongBody, false),
            (RequestFailure::Redirect(307, "other".into()), false),
        ] {
            assert_eq!(Retries::new(1).take(request_spec, FirstAttempt::starting(0, None), &why), again, "{why}");
        }
    }
}
