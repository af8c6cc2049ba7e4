//! How a request can fail: never a success, never in a latency.

use std::fmt;

use crate::response::Malformed;

/// Why a request failed. Its text is the key under which it is counted in a run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection.
    Connect(&'static str),
    /// No whole response in the time allowed.
    Timeout,
    /// The connection broke.
    Reset,
    /// The server closed before a whole response.
    Closed,
    /// The reply is not HTTP.
    Malformed(Malformed),
    /// A status outside 200–299, and S3's code where the reply names one.
    Status(u16, Option<String>),
    /// The body is not as long as the object.
    WrongLength,
    /// The body is not what was written.
    WrongBody,
    /// The reply lacks what it must hold.
    Lacking(&'static str),
    /// The server answered before it had the whole body, and closed.
    EarlyReply,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Connect(why) => write!(f, "connect: {why}"),
            Failure::Timeout => f.write_str("timeout"),
            Failure::Reset => f.write_str("connection reset"),
            Failure::Closed => f.write_str("closed before the whole reply"),
            Failure::Malformed(why) => write!(f, "malformed: {why}"),
            Failure::Status(status, Some(code)) => write!(f, "http {status} {code}"),
            Failure::Status(status, None) => write!(f, "http {status}"),
            Failure::WrongLength => f.write_str("wrong length"),
            Failure::WrongBody => f.write_str("wrong body"),
            Failure::Lacking(what) => write!(f, "reply without {what}"),
            Failure::EarlyReply => f.write_str("reply before the whole body"),
        }
    }
}

/// S3's error code in the first part of an error document: the text of its `<Code>` element.
#[must_use]
pub fn s3_code(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body.get(..body.len().min(1024))?).ok()?;
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let plain = !code.is_empty() && code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then(|| code.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_from_error_documents_only() {
        let body = b"<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>x</Message></Error>";
        assert_eq!(s3_code(body).as_deref(), Some("SlowDown"));
        for body in [&b""[..], b"<Code>", b"<Code></Code>", b"<Code>a b</Code>", b"\xff<Code>A</Code>"] {
            assert_eq!(s3_code(body), None);
        }
        assert_eq!(Failure::Status(503, s3_code(body)).to_string(), "http 503 SlowDown");
    }
}
