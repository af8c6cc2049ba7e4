//! Multipart uploads: an object is created, sent part by part, and completed; or aborted, where something failed.
//!
//! One request of an upload takes one slot, as any other does. Parts of one upload follow each other, or go out several
//! at a time. An upload allocates: its id, an `ETag` per part, and the document that completes it.

use std::collections::VecDeque;

use linerate_record::run::Op;

use crate::ledger::Ledger;
use crate::object_id::ObjectId;
use crate::request_failure::{RequestFailure, beginning};
use crate::request_spec::{ByteRange, RequestSpec, Subject, UploadCall, UploadStep};
use crate::retry::FirstAttempt;
use crate::sigv4::push_encoded_query;
use crate::xml::{error_code, root, walk};

/// Smallest part but the last that S3 takes: 5 MiB.
pub const PART_BYTES_MIN: u64 = 5 << 20;

/// Most parts of an object: S3's own limit.
pub const PARTS_MAX: u64 = 10_000;

/// Most uploads that failed and may linger at the target that are remembered for the end, per thread.
const LOST_MAX: usize = 1_000;

/// Longest reply to a call of an upload that is kept.
pub(crate) const REPLY_BYTES_MAX: usize = 64 << 10;

/// How objects are cut into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Length of each but the last.
    pub bytes: u64,
    /// How many of one object may be in flight at once.
    pub concurrent: u32,
}

impl Parts {
    /// How many an object has; an empty one has one.
    #[must_use]
    pub const fn count_for(self, size_bytes: u64) -> u64 {
        let parts = size_bytes.div_ceil(if self.bytes == 0 { 1 } else { self.bytes });
        if parts == 0 { 1 } else { parts }
    }
}

/// An upload that was neither completed nor aborted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedUpload {
    pub id: ObjectId,
    pub size_bytes: u64,
    /// Its id; `None` where it was asked for, and the answer did not come.
    pub upload_id: Option<String>,
}

/// What a reply must hold, whatever its status: S3 may answer 200 to the completion of an upload, and then fail.
pub(crate) fn judge(step: UploadStep, reply: &[u8]) -> Result<(), RequestFailure> {
    if !matches!(step, UploadStep::Part(_)) && root(reply) == Some(b"Error") {
        return Err(RequestFailure::Status(200, error_code(reply)));
    }
    match step {
        UploadStep::Create if upload_id(reply).is_none() => Err(RequestFailure::Lacking("an upload id")),
        UploadStep::Part(_) if reply.is_empty() => Err(RequestFailure::Lacking("an ETag")),
        UploadStep::Complete if walk(reply, &["CompleteMultipartUploadResult"], |_, _, _| Ok(())).is_err() => {
            Err(RequestFailure::Lacking("a result"))
        }
        UploadStep::Abort if !reply.trim_ascii().is_empty() => Err(RequestFailure::NotS3(beginning(reply))),
        _ => Ok(()),
    }
}

fn upload_id(reply: &[u8]) -> Option<String> {
    let mut id = String::new();
    let reported = walk(reply, &["InitiateMultipartUploadResult"], |_, name, text| {
        if name == "UploadId" {
            id = text.trim().to_owned();
        }
        Ok(())
    });
    reported.ok()?;
    (!id.is_empty()).then_some(id)
}

/// An upload that has ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompletedUpload {
    pub(crate) size_bytes: u64,
    pub(crate) since: FirstAttempt,
}

/// An upload that has neither ended nor failed.
pub(crate) struct UploadUnderWay<'a> {
    /// As its calls name it.
    pub(crate) number: u32,
    pub(crate) host: u32,
    pub(crate) since: FirstAttempt,
    /// Bytes that intervals count.
    pub(crate) moved: &'a Ledger,
}

/// The uploads of one thread.
pub(crate) struct Uploads {
    parts: Parts,
    open: Vec<Option<Upload>>,
    free: Vec<u32>,
    /// Uploads of which a request could start now.
    ready: VecDeque<u32>,
    lost: Vec<UnfinishedUpload>,
    /// Uploads that may linger, beyond those remembered.
    forgotten: u64,
}

struct Upload {
    id: ObjectId,
    size_bytes: u64,
    host: u32,
    since: FirstAttempt,
    state: State,
    in_flight: u32,
    /// Those of them that were started, and do not wait for their turn under a cap.
    started: u32,
    /// What the thread had waited for the cap when the last of them ended, which left nothing under way.
    idle_capped_ns: u64,
    next_part: u32,
    queued: bool,
    upload_id: String,
    /// The same, encoded for a query.
    encoded_id: Vec<u8>,
    sent: Vec<Sent>,
    document: Vec<u8>,
    moved: Ledger,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Creating,
    Sending,
    Completing,
    Failed,
    Aborting,
}

/// What is known of a part that was sent.
#[derive(Clone, Default)]
struct Sent {
    etag: String,
    checksum: Option<[u8; 8]>,
}

impl Upload {
    /// What could be asked for now.
    fn next(&self, parts: Parts) -> Option<UploadStep> {
        let all = self.sent.len() as u32;
        match self.state {
            State::Sending if self.next_part < all && self.in_flight < parts.concurrent.max(1) => {
                Some(UploadStep::Part(self.next_part + 1))
            }
            State::Sending if self.next_part == all && self.in_flight == 0 => Some(UploadStep::Complete),
            State::Failed if self.in_flight == 0 => Some(UploadStep::Abort),
            _ => None,
        }
    }

    fn take(&mut self, step: UploadStep) {
        self.in_flight += 1;
        match step {
            UploadStep::Create => {}
            UploadStep::Part(number) => self.next_part = number,
            UploadStep::Complete => {
                self.state = State::Completing;
                self.document = document(&self.sent);
            }
            UploadStep::Abort => self.state = State::Aborting,
        }
    }

    fn request_spec(&self, upload: u32, step: UploadStep, parts: Parts) -> RequestSpec {
        let range = match step {
            UploadStep::Part(number) => {
                let start = u64::from(number - 1) * parts.bytes;
                Some(ByteRange { start, length: parts.bytes.min(self.size_bytes - start) })
            }
            _ => None,
        };
        RequestSpec {
            op: if range.is_some() { Op::Part } else { Op::Multipart },
            subject: Subject::Own { id: self.id, size_bytes: self.size_bytes },
            range,
            host: self.host,
            call: Some(UploadCall { upload, step }),
        }
    }

    fn unfinished(&self) -> UnfinishedUpload {
        let upload_id = (!self.upload_id.is_empty()).then(|| self.upload_id.clone());
        UnfinishedUpload { id: self.id, size_bytes: self.size_bytes, upload_id }
    }
}

/// The document that completes an upload.
fn document(sent: &[Sent]) -> Vec<u8> {
    let mut out = String::from("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (i, part) in sent.iter().enumerate() {
        let etag = quick_xml::escape::escape(part.etag.as_str());
        out.push_str(&format!("<Part><PartNumber>{}</PartNumber><ETag>{etag}</ETag>", i + 1));
        if let Some(checksum) = &part.checksum {
            out.push_str(&format!("<ChecksumCRC32C>{}</ChecksumCRC32C>", String::from_utf8_lossy(checksum)));
        }
        out.push_str("</Part>");
    }
    out.push_str("</CompleteMultipartUpload>");
    out.into_bytes()
}

impl Uploads {
    pub(crate) fn new(parts: Parts) -> Self {
        let (open, free, lost) = (Vec::new(), Vec::new(), Vec::new());
        Uploads { parts, open, free, ready: VecDeque::new(), lost, forgotten: 0 }
    }

    /// Whether no upload is under way.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.open.iter().all(Option::is_none)
    }

    /// Whether a request of an upload could start now.
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next request of an upload that is under way, the oldest that waits first.
    pub(crate) fn next(&mut self) -> Option<RequestSpec> {
        while let Some(&number) = self.ready.front() {
            if let Some(upload) = self.open[number as usize].as_mut() {
                if let Some(step) = upload.next(self.parts) {
                    upload.take(step);
                    return Some(upload.request_spec(number, step, self.parts));
                }
                upload.queued = false;
            }
            self.ready.pop_front();
        }
        None
    }

    /// Takes up a new object; returns the request that creates its upload.
    pub(crate) fn begin(&mut self, id: ObjectId, size_bytes: u64, host: u32, since: FirstAttempt) -> RequestSpec {
        let number = self.free.pop().unwrap_or_else(|| {
            self.open.push(None);
            (self.open.len() - 1) as u32
        });
        let mut upload = Upload {
            id,
            size_bytes,
            host,
            since,
            state: State::Creating,
            in_flight: 0,
            started: 1,
            idle_capped_ns: 0,
            next_part: 0,
            queued: false,
            upload_id: String::new(),
            encoded_id: Vec::new(),
            sent: vec![Sent::default(); self.parts.count_for(size_bytes) as usize],
            document: Vec::new(),
            moved: Ledger::default(),
        };
        upload.take(UploadStep::Create);
        let request_spec = upload.request_spec(number, UploadStep::Create, self.parts);
        self.open[number as usize] = Some(upload);
        request_spec
    }

    /// What a call needs beside its object: the upload's id, encoded, and the document that it sends.
    pub(crate) fn texts(&self, call: UploadCall) -> (&[u8], &[u8]) {
        match &self.open[call.upload as usize] {
            Some(upload) if call.step == UploadStep::Complete => (&upload.encoded_id, &upload.document),
            Some(upload) => (&upload.encoded_id, b""),
            None => (b"", b""),
        }
    }

    /// Notes body bytes that an interval counts for an upload.
    pub(crate) fn moved(&mut self, call: UploadCall, interval: u64, bytes: i64) {
        if let Some(upload) = self.open[call.upload as usize].as_mut() {
            upload.moved.add(interval, bytes);
        }
    }

    /// Uploads that have neither ended nor failed.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = UploadUnderWay<'_>> {
        let lives = |upload: &Upload| !matches!(upload.state, State::Failed | State::Aborting);
        self.open.iter().zip(0..).filter_map(move |(upload, number)| {
            let Upload { host, since, moved, .. } = upload.as_ref().filter(|upload| lives(upload))?;
            Some(UploadUnderWay { number, host: *host, since: *since, moved })
        })
    }

    /// Notes that a call is started which [`Uploads::next`] gave out, at a thread that has waited so long for the cap.
    /// While nothing of an upload is under way, what it waits for the cap is no time of its own.
    pub(crate) fn started(&mut self, call: UploadCall, capped_ns: u64) {
        let Some(upload) = self.open[call.upload as usize].as_mut() else { return };
        if upload.started == 0 {
            upload.since = upload.since.less(capped_ns.saturating_sub(upload.idle_capped_ns));
        }
        upload.started += 1;
    }

    /// Notes that a call has ended, well or not, at a thread that has waited so long for the cap.
    pub(crate) fn ended(&mut self, call: UploadCall, capped_ns: u64) {
        let Some(upload) = self.open[call.upload as usize].as_mut() else { return };
        upload.started = upload.started.saturating_sub(1);
        upload.idle_capped_ns = capped_ns;
    }

    /// Notes a call that succeeded; returns the upload where that was its last.
    pub(crate) fn succeeded(
        &mut self,
        call: UploadCall,
        reply: &[u8],
        checksum: Option<[u8; 8]>,
    ) -> Option<CompletedUpload> {
        let upload = self.open[call.upload as usize].as_mut()?;
        upload.in_flight -= 1;
        match call.step {
            UploadStep::Create => {
                upload.upload_id = upload_id(reply).unwrap_or_default();
                push_encoded_query(&upload.upload_id, &mut upload.encoded_id);
                upload.state = State::Sending;
            }
            UploadStep::Part(number) => {
                let etag = String::from_utf8_lossy(reply).into_owned();
                upload.sent[number as usize - 1] = Sent { etag, checksum };
            }
            UploadStep::Complete => {
                let completed = CompletedUpload { size_bytes: upload.size_bytes, since: upload.since };
                self.remove(call.upload);
                return Some(completed);
            }
            // What its parts had moved was taken back when it failed.
            UploadStep::Abort => {
                self.remove(call.upload);
                return None;
            }
        }
        self.queue(call.upload);
        None
    }

    /// Notes a call that failed; `settled` where the target said so itself. Returns, for an upload that fails by it,
    /// when it began, and the body bytes that were counted for it.
    pub(crate) fn failed(&mut self, call: UploadCall, settled: bool) -> Option<(FirstAttempt, Ledger)> {
        let upload = self.open[call.upload as usize].as_mut()?;
        upload.in_flight -= 1;
        let before = upload.state;
        match call.step {
            // A refused creation leaves nothing; one that was not answered may have left an upload of unknown id.
            UploadStep::Create => {
                let (unfinished, since) = (upload.unfinished(), upload.since);
                self.remove(call.upload);
                if !settled {
                    self.lose(unfinished);
                }
                return Some((since, Ledger::default()));
            }
            UploadStep::Abort => {
                let unfinished = upload.unfinished();
                self.remove(call.upload);
                self.lose(unfinished);
                return None;
            }
            UploadStep::Part(_) | UploadStep::Complete => upload.state = State::Failed,
        }
        let (since, moved) = (upload.since, std::mem::take(&mut upload.moved));
        self.queue(call.upload);
        (before != State::Failed).then_some((since, moved))
    }

    /// Whether an upload has failed already: what its other parts move is in vain.
    pub(crate) fn has_failed(&self, call: UploadCall) -> bool {
        let state = self.open[call.upload as usize].as_ref().map(|u| u.state);
        matches!(state, Some(State::Failed | State::Aborting) | None)
    }

    /// Uploads that may be at the target, for the end; and how many more there may be.
    pub(crate) fn take_unfinished(&mut self) -> (Vec<UnfinishedUpload>, u64) {
        let open = self.open.drain(..).flatten().map(|upload| upload.unfinished());
        let mut unfinished = std::mem::take(&mut self.lost);
        unfinished.extend(open);
        (unfinished, self.forgotten)
    }

    fn queue(&mut self, number: u32) {
        if let Some(upload) = self.open[number as usize].as_mut()
            && !upload.queued
            && upload.next(self.parts).is_some()
        {
            upload.queued = true;
            self.ready.push_back(number);
        }
    }

    fn remove(&mut self, number: u32) {
        self.open[number as usize] = None;
        self.free.push(number);
    }

    fn lose(&mut self, unfinished: UnfinishedUpload) {
        if self.lost.len() < LOST_MAX {
            self.lost.push(unfinished);
        } else {
            self.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: ObjectId = ObjectId { set: 1, seq: 2 };
    const CREATED: &[u8] =
        b"<InitiateMultipartUploadResult><UploadId>a/b&amp;c</UploadId></InitiateMultipartUploadResult>";

    fn steps(uploads: &mut Uploads) -> Vec<RequestSpec> {
        std::iter::from_fn(|| uploads.next()).collect()
    }

    fn step(request_spec: &RequestSpec) -> UploadStep {
        request_spec.call.unwrap().step
    }

    #[test]
    fn what_an_upload_waits_for_a_cap_is_no_time_of_its_own_but_while_a_part_is_under_way() {
        let mut uploads = Uploads::new(Parts { bytes: 100, concurrent: 2 });
        let create = uploads.begin(ID, 300, 0, FirstAttempt::starting(1_000, None));
        // What ends has a call, and the thread's wait for the cap until then.
        let end = |uploads: &mut Uploads, request_spec: &RequestSpec, capped_ns: u64, reply: &[u8]| {
            uploads.ended(request_spec.call.unwrap(), capped_ns);
            uploads.succeeded(request_spec.call.unwrap(), reply, None)
        };
        end(&mut uploads, &create, 10, CREATED);
        let parts = steps(&mut uploads);
        // Nothing was under way for 40 of the cap; the second part is held back while the first goes on.
        uploads.started(parts[0].call.unwrap(), 50);
        uploads.started(parts[1].call.unwrap(), 90);
        end(&mut uploads, &parts[0], 100, b"e");
        end(&mut uploads, &parts[1], 120, b"e");
        let last = steps(&mut uploads).remove(0);
        uploads.started(last.call.unwrap(), 150);
        end(&mut uploads, &last, 150, b"e");
        let complete = steps(&mut uploads).remove(0);
        uploads.started(complete.call.unwrap(), 155);
        let completed = end(&mut uploads, &complete, 155, b"");
        assert_eq!(completed.unwrap().since.first_ns, 1_000 + 40 + 30 + 5);
    }

    #[test]
    fn parts_follow_each_other_and_the_last_is_what_is_left() {
        let mut uploads = Uploads::new(Parts { bytes: 100, concurrent: 1 });
        let create = uploads.begin(ID, 250, 3, FirstAttempt::starting(77, None));
        assert_eq!((create.op, create.host, uploads.next().is_none()), (Op::Multipart, 3, true));
        uploads.succeeded(create.call.unwrap(), CREATED, None);
        for (number, start, length) in [(1, 0, 100), (2, 100, 100), (3, 200, 50)] {
            let asks = steps(&mut uploads);
            assert_eq!(asks.len(), 1, "one at a time");
            assert_eq!((step(&asks[0]), asks[0].range), (UploadStep::Part(number), Some(ByteRange { start, length })));
            assert_eq!(uploads.texts(asks[0].call.unwrap()).0, b"a%2Fb%26c");
            let checksum = (number == 2).then_some(*b"AAAAAA==");
            uploads.succeeded(asks[0].call.unwrap(), format!("\"e{number}\"").as_bytes(), checksum);
        }
        let complete = steps(&mut uploads)[0];
        let document = String::from_utf8(uploads.texts(complete.call.unwrap()).1.to_vec()).unwrap();
        assert!(document.contains("<Part><PartNumber>1</PartNumber><ETag>&quot;e1&quot;</ETag></Part>"), "{document}");
        assert!(document.contains("&quot;e2&quot;</ETag><ChecksumCRC32C>AAAAAA==</ChecksumCRC32C>"), "{document}");
        let completed = uploads.succeeded(complete.call.unwrap(), b"", None);
        assert_eq!(completed, Some(CompletedUpload { size_bytes: 250, since: FirstAttempt::starting(77, None) }));
        assert!(uploads.is_empty() && !uploads.is_ready() && uploads.take_unfinished().0.is_empty());
    }

    #[test]
    fn parts_in_flight_are_bounded_and_completion_waits_for_all() {
        let mut uploads = Uploads::new(Parts { bytes: 100, concurrent: 3 });
        let create = uploads.begin(ID, 500, 0, FirstAttempt::starting(0, None));
        uploads.succeeded(create.call.unwrap(), CREATED, None);
        let first = steps(&mut uploads);
        assert_eq!(
            first.iter().map(step).collect::<Vec<_>>(),
            [UploadStep::Part(1), UploadStep::Part(2), UploadStep::Part(3)]
        );
        uploads.succeeded(first[1].call.unwrap(), b"e", None);
        let second = steps(&mut uploads);
        uploads.succeeded(first[0].call.unwrap(), b"e", None);
        let third = steps(&mut uploads);
        assert_eq!((step(&second[0]), step(&third[0])), (UploadStep::Part(4), UploadStep::Part(5)));
        for request_spec in [first[2], second[0]] {
            uploads.succeeded(request_spec.call.unwrap(), b"e", None);
            assert!(uploads.next().is_none(), "one part is still in flight");
        }
        uploads.succeeded(third[0].call.unwrap(), b"e", None);
        assert_eq!(step(&steps(&mut uploads)[0]), UploadStep::Complete);
    }

    #[test]
    fn a_failed_part_aborts_its_upload_once_the_others_have_ended() {
        let mut uploads = Uploads::new(Parts { bytes: 100, concurrent: 2 });
        let create = uploads.begin(ID, 500, 0, FirstAttempt::starting(0, None));
        uploads.succeeded(create.call.unwrap(), CREATED, None);
        let parts = steps(&mut uploads);
        uploads.moved(parts[0].call.unwrap(), 2, 60);
        uploads.moved(parts[0].call.unwrap(), 3, 40);
        assert_eq!(
            uploads.under_way().map(|upload| (upload.host, upload.since, upload.moved.sum())).collect::<Vec<_>>(),
            [(0, FirstAttempt::starting(0, None), 100)]
        );
        let (_, moved) = uploads.failed(parts[1].call.unwrap(), true).expect("the object fails with its first part");
        assert_eq!(moved.entries(), [(2, 60), (3, 40)]);
        assert_eq!(uploads.under_way().count(), 0);
        assert!(uploads.next().is_none() && uploads.has_failed(parts[0].call.unwrap()));
        assert_eq!(uploads.failed(parts[0].call.unwrap(), true), None, "and only once");
        let abort = steps(&mut uploads)[0];
        assert_eq!((step(&abort), abort.op), (UploadStep::Abort, Op::Multipart));
        assert_eq!(uploads.failed(abort.call.unwrap(), true), None);
        assert!(uploads.is_empty());
        assert_eq!(uploads.take_unfinished().0[0].upload_id.as_deref(), Some("a/b&c"), "it may linger");
    }

    #[test]
    fn what_may_linger_is_told_at_the_end() {
        let mut uploads = Uploads::new(Parts { bytes: 100, concurrent: 1 });
        let refused = uploads.begin(ID, 1, 0, FirstAttempt::starting(0, None));
        assert_eq!(uploads.failed(refused.call.unwrap(), true).map(|(_, moved)| moved.sum()), Some(0));
        let unanswered = uploads.begin(ID, 2, 0, FirstAttempt::starting(0, None));
        uploads.failed(unanswered.call.unwrap(), false);
        let under_way = uploads.begin(ID, 3, 0, FirstAttempt::starting(0, None));
        uploads.succeeded(under_way.call.unwrap(), CREATED, None);
        let (unfinished, forgotten) = uploads.take_unfinished();
        let reported: Vec<_> = unfinished.iter().map(|u| (u.size_bytes, u.upload_id.as_deref())).collect();
        assert_eq!((reported, forgotten), (vec![(2, None), (3, Some("a/b&c"))], 0));
    }

    #[test]
    fn replies_are_judged_by_what_they_hold() {
        let internal = b"  <?xml version=\"1.0\"?><Error><Code>InternalError</Code></Error>";
        let result = b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>";
        for (step, reply, expected) in [
            (UploadStep::Create, CREATED, Ok(())),
            (UploadStep::Create, b"<UploadId></UploadId>", Err("reply without an upload id")),
            (UploadStep::Part(1), b"\"e\"", Ok(())),
            (UploadStep::Part(1), b"", Err("reply without an ETag")),
            (UploadStep::Complete, result, Ok(())),
            (UploadStep::Complete, internal, Err("http 200 InternalError")),
            (UploadStep::Complete, b"", Err("reply without a result")),
            (UploadStep::Abort, b"", Ok(())),
            (UploadStep::Abort, b" \r\n", Ok(())),
            (UploadStep::Abort, b"OK", Err("reply is not S3's: \"OK\"")),
        ] {
            let judged = judge(step, reply).map_err(|why| why.to_string());
            assert_eq!(judged, expected.map_err(str::to_owned), "{step:?}");
        }
    }

    #[test]
    fn an_empty_object_has_one_part() {
        let parts = Parts { bytes: 100, concurrent: 1 };
        assert_eq!([0, 1, 100, 101].map(|size| parts.count_for(size)), [1, 1, 1, 2]);
    }
}
