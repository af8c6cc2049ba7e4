//! The exchange in flight on a connection: what was asked, what has moved, and what the reply said so far.

use linerate_record::run::Op;

use crate::body::Bodies;
use crate::failure::{location_host, retry_after_ns, s3_code};
use crate::multipart::REPLY_BYTES_MAX;
use crate::request::{Ask, Subject};
use crate::response::{self, Chunks, Framing};
use crate::retry::Since;
use crate::streaming::Layout;

/// The exchange in flight.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) ask: Ask,
    pub(crate) verify: bool,
    pub(crate) since: Since,
    /// Start of this attempt.
    pub(crate) started_ns: u64,
    /// How long the host asks to be left alone.
    pub(crate) retry_after_ns: Option<u64>,
    /// Where a redirect leads.
    pub(super) location: Option<String>,
    pub(super) first_byte_ns: u64,
    pub(super) layout: Layout,
    /// Bytes sent behind the head: of the body, and of its frames where it goes out in chunks.
    pub(super) sent: u64,
    pub(super) status: u16,
    pub(super) keep_alive: bool,
    pub(super) framing: Framing,
    pub(super) chunks: Chunks,
    pub(super) received: u64,
    pub(super) wrong: bool,
    pub(super) code: Option<String>,
    /// What a call of a multipart upload was answered: the body, or a part's `ETag`.
    pub(crate) reply: Vec<u8>,
    /// Body bytes that were counted as moved already.
    pub(crate) counted_bytes: i64,
}

impl Exchange {
    pub(crate) fn new(ask: Ask, verify: bool, since: Since, started_ns: u64) -> Self {
        Exchange {
            ask,
            verify,
            since,
            started_ns,
            retry_after_ns: None,
            location: None,
            first_byte_ns: 0,
            layout: Layout::empty(),
            sent: 0,
            status: 0,
            keep_alive: false,
            framing: Framing::Length(0),
            chunks: Chunks::default(),
            received: 0,
            wrong: false,
            code: None,
            reply: Vec::new(),
            counted_bytes: 0,
        }
    }

    /// Whether something is left to send behind the head.
    pub(super) fn unsent(&self) -> bool {
        self.sent < self.layout.wire_bytes()
    }

    pub(super) fn body_sent(&self) -> u64 {
        self.layout.body_bytes(self.sent)
    }

    /// Body bytes that have moved so far.
    pub(crate) fn moved_bytes(&self) -> i64 {
        let moved = match self.ask.op {
            Op::Get if (200..300).contains(&self.status) => self.received,
            Op::Put | Op::Part => self.body_sent(),
            _ => 0,
        };
        i64::try_from(moved).unwrap_or(i64::MAX)
    }

    /// Bytes of a body that a GET must bring.
    pub(super) fn expected_bytes(&self) -> u64 {
        self.ask.range.map_or_else(|| self.ask.subject.size_bytes(), |r| r.length)
    }

    /// Whether more came than the object has.
    pub(super) fn is_too_long(&self) -> bool {
        let announced = if let Framing::Length(length) = self.framing { length } else { 0 };
        let most = self.expected_bytes();
        // A whole object in place of a range is told by its status.
        self.ask.op == Op::Get && self.status == self.expected_status() && self.received.max(announced) > most
    }

    pub(super) const fn expected_status(&self) -> u16 {
        if self.ask.range.is_some() { 206 } else { 200 }
    }

    /// Whether received bytes can go unseen.
    pub(super) fn discards(&self) -> bool {
        !self.verify && self.ask.call.is_none() && self.status < 300 && matches!(self.framing, Framing::Length(_))
    }
}

/// What the head of a refusal says beyond its status.
pub(super) fn note_refusal(exchange: &mut Exchange, head: &[u8]) {
    match exchange.status {
        301 | 302 | 303 | 307 | 308 => exchange.location = response::header(head, "location").and_then(location_host),
        429 | 503 => exchange.retry_after_ns = response::header(head, "retry-after").and_then(retry_after_ns),
        _ => {}
    }
}

/// Counts body bytes, and compares them or looks for an error code where that was asked for.
pub(super) fn look_at(exchange: &mut Exchange, bytes: &[u8], bodies: &Bodies) {
    if exchange.status >= 300 && exchange.received == 0 {
        exchange.code = s3_code(bytes);
    } else if exchange.verify
        && exchange.ask.op == Op::Get
        && let Subject::Own { id, size_bytes } = exchange.ask.subject
    {
        let offset = exchange.ask.range.map_or(0, |r| r.start) + exchange.received;
        exchange.wrong |= !bodies.matches(id, size_bytes, offset, bytes);
    } else if exchange.ask.op == Op::Multipart {
        let room = REPLY_BYTES_MAX.saturating_sub(exchange.reply.len());
        exchange.reply.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
    exchange.received += bytes.len() as u64;
}
