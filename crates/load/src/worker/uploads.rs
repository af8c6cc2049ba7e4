//! What a thread makes of the calls of multipart uploads: a part is told as a part, and an upload as a whole.

use linerate_record::run::Op;

use super::Worker;
use crate::failure::Failure;
use crate::multipart::Step;
use crate::request::{Ask, Subject};

impl Worker<'_> {
    /// Whether something can be started: a request of an upload under way, or one that is yet to be chosen.
    pub(super) fn has_work(&self) -> bool {
        !self.exhausted || self.uploads.is_ready()
    }

    /// Whether what happens now is counted.
    fn counts(&self) -> bool {
        !self.draining && !self.time_is_up()
    }

    /// Counts body bytes of a part for its upload too.
    pub(super) fn moved_of_upload(&mut self, ask: Ask, bytes: i64) {
        if let Some(call) = ask.call
            && !self.uploads.has_failed(call)
        {
            self.tally.moved(ask.host, Op::Multipart, bytes);
            self.uploads.moved(call, bytes);
        }
    }

    /// Books a call that succeeded.
    pub(super) fn call_succeeded(&mut self, place: usize, bytes: u64, first_byte_ns: u64, now_ns: u64) {
        let Some(connection) = self.places[place].connection.as_mut() else { return };
        let exchange = &mut connection.exchange;
        let (ask, started_ns, reply) = (exchange.ask, exchange.started_ns, std::mem::take(&mut exchange.reply));
        let Some(call) = ask.call else { return };
        let completed = self.uploads.succeeded(call, &reply, connection.checksum());
        self.rests[ask.host as usize].backoff_ns = 0;
        self.tick(now_ns, false);
        if completed.is_some() {
            self.choice.written(ask.subject);
        }
        if !self.counts() {
            return;
        }
        let mut success = |op, bytes, from_ns: u64| {
            let since = |at_ns: u64| at_ns.saturating_sub(from_ns);
            self.tally.success(ask.host, op, bytes, since(first_byte_ns), since(now_ns));
        };
        match (call.step, completed) {
            (Step::Part(_), _) => success(Op::Part, bytes, started_ns),
            (_, Some(whole)) => success(Op::Multipart, whole.size_bytes, whole.started_ns),
            _ => {}
        }
    }

    /// Books a request that failed. An upload fails once, with the first of its calls that does.
    pub(super) fn failed(&mut self, ask: Ask, why: &Failure) {
        let Some(call) = ask.call else {
            self.count_failure(ask.host, ask.op, why);
            return;
        };
        // A status is an answer, and nothing was sent where there was no connection.
        let settled = matches!(why, Failure::Status(..) | Failure::Connect(_));
        let broken = self.uploads.failed(call, settled);
        // That an upload could not be aborted is no failure of the load: it is aborted again at the end.
        if call.step != Step::Abort {
            self.count_failure(ask.host, ask.op, why);
        }
        let Some(moved_bytes) = broken.filter(|_| self.counts()) else { return };
        self.tally.moved(ask.host, Op::Multipart, -moved_bytes);
        if ask.op == Op::Part {
            self.tally.failure(ask.host, Op::Multipart, &why.to_string());
        }
    }
}

impl Ask {
    /// Whether it changes what the target holds, so that its end is waited for.
    pub(super) const fn changes(&self) -> bool {
        matches!(self.op, Op::Put | Op::Delete | Op::Part | Op::Multipart)
    }

    /// Whether an object may be stored by it after it was given up. What is left of an upload is aborted.
    pub(super) fn may_be_stored(&self) -> bool {
        let completes = self.call.is_some_and(|call| call.step == Step::Complete);
        matches!(self.subject, Subject::Own { .. }) && (self.op == Op::Put || completes)
    }
}
