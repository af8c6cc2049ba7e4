//! What a thread makes of the calls of multipart uploads: a part is told as a part, and an upload as a whole.

use linerate_record::run::Op;

use super::Worker;
use super::ending::EndTimes;
use crate::request_failure::RequestFailure;
use crate::request_spec::UploadStep;
use crate::request_spec::{RequestSpec, Subject};

impl Worker<'_> {
    /// Whether something can be started: a request of an upload under way, or one that is yet to be chosen.
    pub(super) fn has_work(&self) -> bool {
        self.next.is_some() || !self.exhausted || self.uploads.is_ready()
    }

    /// Counts body bytes of a part for its upload too.
    pub(super) fn moved_of_upload(&mut self, request_spec: RequestSpec, bytes: i64) {
        if let Some(call) = request_spec.call
            && !self.uploads.has_failed(call)
        {
            self.tally.moved(request_spec.host, Op::Multipart, bytes);
            self.uploads.moved(call, self.ticks.number(), bytes);
        }
    }

    /// Books a call that succeeded.
    pub(super) fn call_succeeded(&mut self, place: usize, bytes: u64, first_byte_ns: u64, now_ns: u64) {
        let capped_ns = self.capped_ns(now_ns);
        let Some(connection) = self.places.get_mut(place) else { return };
        let exchange = &mut connection.exchange;
        let (request_spec, since, reply) = (exchange.request_spec, exchange.since, std::mem::take(&mut exchange.reply));
        let Some(call) = request_spec.call else { return };
        self.uploads.ended(call, capped_ns);
        let completed = self.uploads.succeeded(call, &reply, connection.checksum());
        self.backoffs.succeeded(request_spec.host as usize);
        self.tick(now_ns, false);
        if completed.is_some() {
            self.choice.written(request_spec.subject);
        }
        if !self.counts() {
            if let Some(whole) = completed {
                let ends = EndTimes { first_byte_ns, end_ns: now_ns };
                self.settled(request_spec.host, Op::Multipart, whole.since, Some(ends));
            }
            self.answered_alongside(request_spec.op, bytes);
            return;
        }
        match (call.step, completed) {
            (UploadStep::Part(_), _) => {
                self.tally_success(request_spec.host, Op::Part, bytes, since, first_byte_ns, now_ns)
            }
            (_, Some(whole)) => {
                self.tally_success(
                    request_spec.host,
                    Op::Multipart,
                    whole.size_bytes,
                    whole.since,
                    first_byte_ns,
                    now_ns,
                );
            }
            _ => {}
        }
    }

    /// Notes a call that failed for good. An upload fails once, with the first of its calls that does.
    pub(super) fn upload_failed(&mut self, request_spec: RequestSpec, why: &RequestFailure) {
        let Some(call) = request_spec.call else { return };
        // A status is an answer, and nothing was sent where there was no connection.
        let settled = matches!(why, RequestFailure::Status(..) | RequestFailure::Connect(_));
        self.uploads.ended(call, self.capped_ns);
        let broken = self.uploads.failed(call, settled);
        let Some((since, moved)) = broken else { return };
        if !self.counts() {
            self.take_out(request_spec.host, Op::Multipart, &moved);
            self.settled(request_spec.host, Op::Multipart, since, None);
            return;
        }
        self.tally.moved(request_spec.host, Op::Multipart, -moved.sum());
        if request_spec.op == Op::Part {
            self.tally.failure(request_spec.host, Op::Multipart, &why.to_string());
        }
    }
}

impl RequestSpec {
    /// Whether it gives an upload up.
    pub(super) fn aborts(&self) -> bool {
        self.call.is_some_and(|call| call.step == UploadStep::Abort)
    }

    /// Whether it changes what the target holds, so that its end is waited for.
    pub(super) const fn changes(&self) -> bool {
        matches!(self.op, Op::Put | Op::Delete | Op::Part | Op::Multipart)
    }

    /// Whether an object may be stored by it after it was given up. What is left of an upload is aborted.
    pub(super) fn may_be_stored(&self) -> bool {
        let completes = self.call.is_some_and(|call| call.step == UploadStep::Complete);
        matches!(self.subject, Subject::Own { .. }) && (self.op == Op::Put || completes)
    }
}
