//! What a reply that is whole says of its request: that it was done, or how it failed.

use linerate_record::run::Op;

use super::exchange::{Exchange, OtherBody};
use super::list_reply::ExpectedListing;
use crate::multipart::judge;
use crate::request_failure::{RequestFailure, beginning};
use crate::xml::{error_code, root};

/// Most blanks where S3 says nothing: some servers send them to keep a connection.
const BLANK_BYTES_MAX: u64 = 64 << 10;

/// Holds a whole reply against what was asked; `alongside` is what was seen of a body that is no object's.
pub(super) fn verdict(
    exchange: &Exchange,
    alongside: &OtherBody,
    expected: &ExpectedListing,
) -> Result<(), RequestFailure> {
    let document = alongside.document.as_slice();
    if let Some(host) = &exchange.location {
        return Err(RequestFailure::Redirect(exchange.status, host.clone()));
    }
    if !(200..300).contains(&exchange.status) {
        return Err(RequestFailure::Status(exchange.status, error_code(document)));
    }
    if exchange.unsent() {
        return Err(RequestFailure::EarlyReply);
    }
    match exchange.request_spec.op {
        Op::Get => object(exchange),
        Op::Stat => length(exchange),
        Op::Put | Op::Part => nothing_else(exchange, document).and_then(|()| with_status(exchange, &[200])),
        Op::Delete => nothing_else(exchange, document).and_then(|()| with_status(exchange, &[200, 204])),
        Op::List => match root(document) {
            Some(b"ListBucketResult") if exchange.status == 200 => alongside.listed.judge(expected),
            _ => nothing_else(exchange, document).and(Err(RequestFailure::NotS3(beginning(document)))),
        },
        Op::Multipart => Ok(()),
    }?;
    exchange.request_spec.call.map_or(Ok(()), |call| judge(call.step, &exchange.reply))
}

/// The body of a GET is the object, or the range of it, that was asked for.
fn object(exchange: &Exchange) -> Result<(), RequestFailure> {
    let ranged = exchange.request_spec.range.is_some();
    let fits = exchange.request_spec.range.is_none_or(|range| {
        let reported = exchange.content_range;
        let whole = exchange.request_spec.subject.size_bytes();
        reported.is_some_and(|reported| {
            reported.first == range.start
                && reported.last == range.start + range.length - 1
                && reported.whole.is_none_or(|reported| reported == whole)
        })
    });
    // A part in place of the whole, the whole in place of a part, or a part that nobody asked for.
    if (exchange.status == 206) != ranged || !fits {
        return Err(RequestFailure::WrongRange);
    }
    if exchange.received < exchange.expected_bytes() {
        return Err(RequestFailure::ShortBody);
    }
    if exchange.received > exchange.expected_bytes() {
        return Err(RequestFailure::LongBody);
    }
    if exchange.wrong { Err(RequestFailure::WrongBody) } else { Ok(()) }
}

/// A HEAD tells the object by its length.
fn length(exchange: &Exchange) -> Result<(), RequestFailure> {
    match exchange.content_length {
        _ if exchange.status != 200 => Err(RequestFailure::Status(exchange.status, None)),
        Some(length) if length == exchange.request_spec.subject.size_bytes() => Ok(()),
        Some(_) => Err(RequestFailure::WrongLength),
        None => Err(RequestFailure::Lacking("a length")),
    }
}

/// S3 answers such a request with its status alone, and so do MinIO and Ceph's RGW, whose code was read. A body
/// beside it is an error that came too late for the status, or what somebody else says: a proxy, a portal, a cache.
fn nothing_else(exchange: &Exchange, document: &[u8]) -> Result<(), RequestFailure> {
    if root(document) == Some(b"Error") {
        return Err(RequestFailure::Status(exchange.status, error_code(document)));
    }
    // Blanks ahead of it were not kept.
    if !document.is_empty() {
        return Err(RequestFailure::NotS3(beginning(document)));
    }
    if exchange.received > BLANK_BYTES_MAX { Err(RequestFailure::Blanks) } else { Ok(()) }
}

/// Each of these says that it was done; another status, such as 202, says that it may be.
fn with_status(exchange: &Exchange, right: &[u16]) -> Result<(), RequestFailure> {
    if right.contains(&exchange.status) { Ok(()) } else { Err(RequestFailure::Status(exchange.status, None)) }
}
