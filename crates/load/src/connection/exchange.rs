//! The exchange in flight on a connection: what was asked, what has moved, and what the reply said so far.

use linerate_record::run::Op;
use linerate_wire::response::{self, BodyFraming, Chunks, ContentRange, Head};

use super::list_reply::{ExpectedListing, ListReply};
use crate::body::Bodies;
use crate::ledger::Ledger;
use crate::multipart::REPLY_BYTES_MAX;
use crate::request_failure::{location_host, retry_after_ns};
use crate::request_spec::{RequestSpec, Subject};
use crate::retry::FirstAttempt;
use crate::streaming::BodyLayout;

/// What is kept of a body that is no object's: enough for the root of a document, and for an error's code.
const DOCUMENT_BYTES_MAX: usize = 2 << 10;

/// Longest body that is no object's: what S3 sends is a tenth of it.
const OTHER_BODY_BYTES_MAX: u64 = 64 << 20;

/// The exchange in flight.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) request_spec: RequestSpec,
    pub(crate) verify: bool,
    pub(crate) since: FirstAttempt,
    /// Start of this attempt.
    pub(crate) started_ns: u64,
    /// How long the host asks to be left alone.
    pub(crate) retry_after_ns: Option<u64>,
    /// Where a redirect leads.
    pub(super) location: Option<String>,
    pub(super) first_byte_ns: u64,
    pub(super) layout: BodyLayout,
    /// Bytes sent behind the head: of the body, and of its frames where it goes out in chunks.
    pub(super) sent: u64,
    pub(super) status: u16,
    pub(super) keep_alive: bool,
    pub(super) framing: BodyFraming,
    pub(super) chunks: Chunks,
    pub(super) received: u64,
    pub(super) content_length: Option<u64>,
    pub(super) content_range: Option<ContentRange>,
    pub(super) wrong: bool,
    /// What a call of a multipart upload was answered: the body, or a part's `ETag`.
    pub(crate) reply: Vec<u8>,
    /// Body bytes that were counted as moved already.
    pub(crate) counted_bytes: i64,
    /// Those of them that intervals have.
    pub(crate) ledger: Ledger,
}

impl Exchange {
    pub(crate) fn new(request_spec: RequestSpec, verify: bool, since: FirstAttempt, started_ns: u64) -> Self {
        Exchange {
            request_spec,
            verify,
            since,
            started_ns,
            retry_after_ns: None,
            location: None,
            first_byte_ns: 0,
            layout: BodyLayout::empty(),
            sent: 0,
            status: 0,
            keep_alive: false,
            framing: BodyFraming::Length(0),
            chunks: Chunks::default(),
            received: 0,
            content_length: None,
            content_range: None,
            wrong: false,
            reply: Vec::new(),
            counted_bytes: 0,
            ledger: Ledger::default(),
        }
    }

    /// Whether something is left to send behind the head.
    pub(super) fn unsent(&self) -> bool {
        self.sent < self.layout.wire_bytes()
    }

    pub(super) fn body_sent(&self) -> u64 {
        self.layout.body_bytes(self.sent)
    }

    /// Body bytes that have moved so far, and none where the request failed.
    pub(crate) fn moved_bytes(&self, failed: bool) -> i64 {
        let moved = match self.request_spec.op {
            _ if failed => 0,
            Op::Get if (200..300).contains(&self.status) => self.received,
            Op::Put | Op::Part => self.body_sent(),
            _ => 0,
        };
        i64::try_from(moved).unwrap_or(i64::MAX)
    }

    /// When the first byte of a response came that is no refusal.
    pub(crate) fn first_byte_of_success_ns(&self) -> Option<u64> {
        (self.first_byte_ns > 0 && self.status < 300).then_some(self.first_byte_ns)
    }

    /// Bytes of a body that a GET must bring.
    pub(super) fn expected_bytes(&self) -> u64 {
        self.request_spec.range.map_or_else(|| self.request_spec.subject.size_bytes(), |r| r.length)
    }

    /// Whether more came than the object has.
    pub(super) fn is_too_long(&self) -> bool {
        let announced = if let BodyFraming::Length(length) = self.framing { length } else { 0 };
        // A whole object in place of a range is told by its status.
        let is_object = self.request_spec.op == Op::Get && self.status == self.expected_status();
        self.received.max(announced) > if is_object { self.expected_bytes() } else { self.other_body_bytes_max() }
    }

    /// Longest body beside the one that was asked for: an object in place of its range is read to its end.
    fn other_body_bytes_max(&self) -> u64 {
        if self.request_spec.op == Op::Get {
            self.request_spec.subject.size_bytes().max(OTHER_BODY_BYTES_MAX)
        } else {
            OTHER_BODY_BYTES_MAX
        }
    }

    /// Takes what a head says.
    pub(super) fn begin_reply(&mut self, head: &Head, bytes: &[u8]) {
        (self.status, self.framing, self.keep_alive) = (head.status, head.framing, head.keep_alive);
        (self.content_length, self.content_range) = (head.content_length, head.content_range);
        if head.status >= 300 {
            note_refusal(self, bytes);
        }
        if self.request_spec.op == Op::Part
            && let Some(etag) = response::header(bytes, "etag")
        {
            self.reply.extend_from_slice(etag.as_bytes());
        }
    }

    pub(super) const fn expected_status(&self) -> u16 {
        if self.request_spec.range.is_some() { 206 } else { 200 }
    }

    /// Whether received bytes can go unseen.
    pub(super) fn discards(&self) -> bool {
        let is_object = self.request_spec.op == Op::Get && self.status < 300;
        is_object && !self.verify && matches!(self.framing, BodyFraming::Length(_))
    }
}

/// What the head of a refusal says beyond its status.
fn note_refusal(exchange: &mut Exchange, head: &[u8]) {
    match exchange.status {
        301 | 302 | 303 | 307 | 308 => exchange.location = response::header(head, "location").and_then(location_host),
        429 | 503 => exchange.retry_after_ns = response::header(head, "retry-after").and_then(retry_after_ns),
        _ => {}
    }
}

/// What is seen of a body that is no object's.
#[derive(Debug, Default)]
pub(super) struct OtherBody {
    pub(super) document: Vec<u8>,
    /// All of it, where it is a listing.
    pub(super) listed: ListReply,
}

impl OtherBody {
    pub(super) fn begin(&mut self, op: Op) {
        self.document.clear();
        if op == Op::List {
            self.listed.begin();
        }
    }
}

/// What bodies are compared with.
#[derive(Clone, Copy)]
pub(super) struct ExpectedBody<'a> {
    pub(super) bodies: &'a Bodies,
    pub(super) expected: &'a ExpectedListing,
}

/// Counts body bytes, compares an object's where that was asked for, holds a listing against what was asked, and keeps
/// the first part of what is no object.
pub(super) fn look_at(exchange: &mut Exchange, bytes: &[u8], against: ExpectedBody<'_>, alongside: &mut OtherBody) {
    if exchange.status >= 300 || !matches!(exchange.request_spec.op, Op::Get | Op::Multipart) {
        // What it begins with is not blank.
        let reported = if alongside.document.is_empty() { bytes.trim_ascii_start() } else { bytes };
        keep(&mut alongside.document, reported, DOCUMENT_BYTES_MAX);
        if exchange.request_spec.op == Op::List && exchange.status < 300 {
            alongside.listed.take(bytes, against.expected);
        }
    } else if exchange.request_spec.op == Op::Multipart {
        keep(&mut exchange.reply, bytes, REPLY_BYTES_MAX);
    } else if exchange.verify
        && let Subject::Own { id, size_bytes } = exchange.request_spec.subject
    {
        let offset = exchange.request_spec.range.map_or(0, |r| r.start) + exchange.received;
        exchange.wrong |= !against.bodies.matches(id, size_bytes, offset, bytes);
    }
    exchange.received += bytes.len() as u64;
}

fn keep(kept: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let room = most.saturating_sub(kept.len());
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
}
