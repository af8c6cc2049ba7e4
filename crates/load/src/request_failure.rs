//! How a request can fail: never a success, never in a latency.

use std::fmt;

use linerate_record::run::failure_kind;
use linerate_wire::response::Malformed;

/// Most that is quoted of a body that S3 would not send.
const QUOTED_BYTES_MAX: usize = 24;

/// Why a request failed. Its text is the key under which it is counted in a run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestFailure {
    Connect(&'static str),
    /// No TLS handshake, or records that are not what TLS lets them be.
    Tls(&'static str),
    /// No whole response in the time allowed.
    Timeout,
    Reset,
    /// The server closed without a byte of a response.
    Unanswered,
    /// The server closed before a whole response.
    Closed,
    /// The reply is not HTTP.
    Malformed(Malformed),
    /// A status outside 200–299, and S3's code where the reply names one.
    Status(u16, Option<String>),
    /// A redirect to another host, which is not followed: nobody consented to load that one, and a request signed for
    /// it could be used by whoever answers there.
    Redirect(u16, String),
    /// The body is shorter than the object.
    ShortBody,
    /// The body is longer than the object.
    LongBody,
    /// The range asked for was answered with something else.
    WrongRange,
    /// The body is not what was written.
    WrongBody,
    /// The length told of an object is another than that of the object.
    WrongLength,
    /// The reply holds what S3 does not say there: how it begins.
    NotS3(String),
    /// The reply is blank, and longer than any that says nothing.
    Blanks,
    /// The listing is not the one that was asked for: what is wrong with it.
    Listing(&'static str),
    /// The reply lacks what it must hold.
    Lacking(&'static str),
    /// The server answered before it had the whole body, and closed.
    EarlyReply,
}

impl RequestFailure {
    /// Whether it cost a connection at once and brought no reply, so that to ask again at once could go on as fast as
    /// the processor allows.
    pub(crate) const fn is_broken_connection(&self) -> bool {
        let lost = matches!(self, RequestFailure::Closed | RequestFailure::Unanswered | RequestFailure::Reset);
        lost || matches!(self, RequestFailure::Connect(_) | RequestFailure::Tls(_) | RequestFailure::Malformed(_))
    }

    /// Whether the same request may succeed when it is made again. An answer that was wrong is not asked away.
    pub(crate) const fn is_worth_another_try(&self) -> bool {
        match self {
            RequestFailure::Connect(_)
            | RequestFailure::Timeout
            | RequestFailure::Reset
            | RequestFailure::Unanswered
            | RequestFailure::Closed => true,
            RequestFailure::Status(status, _) => *status == 429 || *status == 408 || *status >= 500,
            _ => false,
        }
    }

    /// Whether the target says that it is asked too much.
    pub(crate) fn is_throttling(&self, retry_after: bool) -> bool {
        match self {
            RequestFailure::Status(429, _) => true,
            RequestFailure::Status(503, code) => retry_after || code.as_deref() == Some("SlowDown"),
            _ => false,
        }
    }
}

impl fmt::Display for RequestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestFailure::Connect(why) => write!(f, "connect: {why}"),
            RequestFailure::Tls(why) => write!(f, "tls: {why}"),
            RequestFailure::Timeout => f.write_str("timeout"),
            RequestFailure::Reset => f.write_str("connection reset"),
            RequestFailure::Unanswered => f.write_str("closed without a reply"),
            RequestFailure::Closed => f.write_str("closed before the whole reply"),
            RequestFailure::Malformed(why) => write!(f, "malformed: {why}"),
            RequestFailure::Status(status, Some(code)) => write!(f, "http {status} {code}"),
            RequestFailure::Status(status, None) => write!(f, "http {status}"),
            RequestFailure::Redirect(status, host) => write!(f, "http {status} to {host}"),
            RequestFailure::ShortBody => f.write_str(failure_kind::SHORT_BODY),
            RequestFailure::LongBody => f.write_str(failure_kind::LONG_BODY),
            RequestFailure::WrongRange => f.write_str("wrong range"),
            RequestFailure::WrongBody => f.write_str(failure_kind::WRONG_BODY),
            RequestFailure::WrongLength => f.write_str("wrong length in HEAD"),
            RequestFailure::NotS3(begin) => write!(f, "reply is not S3's: \"{begin}\""),
            RequestFailure::Blanks => f.write_str("reply is more than 64 KiB of blanks"),
            RequestFailure::Listing(wrong) => write!(f, "listing {wrong}"),
            RequestFailure::Lacking(what) => write!(f, "reply without {what}"),
            RequestFailure::EarlyReply => f.write_str("reply before the whole body"),
        }
    }
}

/// How a body begins, spelled out in ASCII: enough to tell a page of a proxy from a word, and no more, since it is the
/// key under which failures are counted.
pub(crate) fn beginning(body: &[u8]) -> String {
    let body = body.trim_ascii_start();
    let (part, more) = if body.len() > QUOTED_BYTES_MAX { (&body[..QUOTED_BYTES_MAX], "…") } else { (body, "") };
    format!("{}{more}", part.escape_ascii())
}

/// Host and port of a `Location`; its path goes untold, since it may hold a signature. `None` for one without a host,
/// which means the same host, and for what is none.
pub(crate) fn location_host(location: &str) -> Option<String> {
    let (_, rest) = location.trim().split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b);
    (!host.is_empty() && host.len() <= 253 && host.bytes().all(plain)).then(|| host.to_owned())
}

/// Nanoseconds of a `Retry-After` that is given in seconds. One that is a date is left aside: it would need two clocks
/// to agree.
pub(crate) fn retry_after_ns(value: &str) -> Option<u64> {
    let seconds: u64 = value.trim().parse().ok()?;
    Some(seconds.saturating_mul(1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_tell_their_host_and_nothing_else() {
        for (location, host) in [
            ("http://other:9000/bucket/key?X-Amz-Signature=abc", Some("other:9000")),
            ("https://user:secret@[::1]:9000", Some("[::1]:9000")),
            ("/elsewhere", None),
            ("", None),
            ("http://", None),
            ("http://a b/", None),
            ("http://\u{1b}[2J/", None),
        ] {
            assert_eq!(location_host(location).as_deref(), host, "{location:?}");
        }
    }

    #[test]
    fn bodies_are_quoted_by_their_beginning_in_ascii() {
        for (body, quoted) in [
            (&b"OK"[..], "OK"),
            (b" \r\n{\"error\": 1}", "{\\\"error\\\": 1}"),
            (b"\xff\x1b[2J", "\\xff\\x1b[2J"),
            (b"<html><head><title>Sign in</title>", "<html><head><title>Sign …"),
        ] {
            assert_eq!(beginning(body), quoted);
        }
    }

    #[test]
    fn retry_after_is_read_in_seconds() {
        for (value, ns) in [
            ("2", Some(2_000_000_000)),
            (" 0 ", Some(0)),
            ("99999999999999999999", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("-1", None),
            ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ] {
            assert_eq!(retry_after_ns(value), ns, "{value:?}");
        }
    }

    #[test]
    fn the_kind_of_a_failure_says_whether_somebody_answered() {
        use linerate_record::run::{FailureKind, is_answer};
        let answers = [
            RequestFailure::Malformed(Malformed::Syntax),
            RequestFailure::Status(503, Some("SlowDown".into())),
            RequestFailure::Redirect(307, "other".into()),
            RequestFailure::ShortBody,
            RequestFailure::LongBody,
            RequestFailure::WrongRange,
            RequestFailure::WrongBody,
            RequestFailure::WrongLength,
            RequestFailure::NotS3("<html>".into()),
            RequestFailure::Blanks,
            RequestFailure::Listing("of another bucket"),
            RequestFailure::Lacking("a length"),
            RequestFailure::EarlyReply,
        ];
        let none = [
            RequestFailure::Connect("refused"),
            RequestFailure::Tls("expired"),
            RequestFailure::Timeout,
            RequestFailure::Reset,
            RequestFailure::Unanswered,
            RequestFailure::Closed,
        ];
        assert!(answers.iter().all(|why| is_answer(&why.to_string())), "{answers:?}");
        assert!(none.iter().all(|why| !is_answer(&why.to_string())), "{none:?}");
        let others = [408, 429, 500, 403, 404].map(|status| RequestFailure::Status(status, None));
        for why in answers.iter().chain(&none).chain(&others) {
            assert_eq!(FailureKind::read(&why.to_string()).may_pass(), why.is_worth_another_try(), "{why}");
        }
    }

    #[test]
    fn throttling_is_told_from_trouble() {
        let status = |status, code: Option<&str>| RequestFailure::Status(status, code.map(str::to_owned));
        for (why, retry_after, throttling) in [
            (status(503, Some("SlowDown")), false, true),
            (status(503, None), true, true),
            (status(503, None), false, false),
            (status(503, Some("ServiceUnavailable")), false, false),
            (status(429, None), false, true),
            (status(500, None), true, false),
            (RequestFailure::Timeout, false, false),
        ] {
            assert_eq!(why.is_throttling(retry_after), throttling, "{why} {retry_after}");
        }
    }
}
