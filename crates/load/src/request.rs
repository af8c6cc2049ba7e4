//! Requests on the wire: written into a reused buffer, signed, without allocation.

use linerate_record::run::Op;

use crate::hosts::host_header;
use crate::object::{ObjectId, push_decimal, push_key};
use crate::session::{Lookup, Payload, Session};
use crate::sigv4::{Canonical, EMPTY_SHA256_HEX, Signer, UNSIGNED_PAYLOAD, hex, push_encoded_path, push_encoded_query};

/// Keys asked for in one page of a listing: S3's own limit.
const LIST_KEYS_MAX: u64 = 1000;

/// What one request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// An object of the run.
    Own { id: ObjectId, size_bytes: u64 },
    /// An object that was there before, by its number in the list.
    Existing { index: u32, size_bytes: u64 },
    /// The bucket, below the run's prefix.
    Bucket,
}

impl Subject {
    pub(crate) const fn size_bytes(self) -> u64 {
        match self {
            Subject::Own { size_bytes, .. } | Subject::Existing { size_bytes, .. } => size_bytes,
            Subject::Bucket => 0,
        }
    }
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) op: Op,
    pub(crate) subject: Subject,
    pub(crate) range: Option<Range>,
    /// Number of the host.
    pub(crate) host: u32,
}

/// Bytes `start..start + length` of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) length: u64,
}

/// Writes requests for one thread.
pub(crate) struct Requests<'a> {
    session: &'a Session,
    signer: Option<Signer>,
    /// `Host` header per host.
    host_headers: Vec<String>,
    /// `/` or `/bucket/`, encoded.
    root: Vec<u8>,
    run_prefix_encoded: String,
    list_query: Vec<u8>,
    path: Vec<u8>,
    scratch: Vec<u8>,
}

impl<'a> Requests<'a> {
    pub(crate) fn new(session: &'a Session) -> Self {
        let tls = session.tls.is_some();
        let authority = |h: &crate::hosts::Host| match session.lookup {
            Lookup::Path => host_header(&h.authority, tls).to_owned(),
            Lookup::VirtualHost => format!("{}.{}", session.bucket, host_header(&h.authority, tls)),
        };
        let mut root = b"/".to_vec();
        if session.lookup == Lookup::Path {
            push_encoded_path(&session.bucket, &mut root);
            root.push(b'/');
        }
        let mut prefix = Vec::new();
        push_encoded_path(&session.run_prefix, &mut prefix);
        let mut list_query = b"list-type=2&max-keys=".to_vec();
        push_decimal(LIST_KEYS_MAX, &mut list_query);
        list_query.extend_from_slice(b"&prefix=");
        push_encoded_query(&session.run_prefix, &mut list_query);
        Requests {
            session,
            signer: session.credentials.clone().map(|c| Signer::s3(c, &session.region)),
            host_headers: session.hosts.iter().map(authority).collect(),
            root,
            run_prefix_encoded: String::from_utf8_lossy(&prefix).into_owned(),
            list_query,
            path: Vec::with_capacity(512),
            scratch: Vec::with_capacity(1024),
        }
    }

    /// Writes the head of a request into `out`, which is cleared first. `key` is the key of a [`Subject::Existing`].
    pub(crate) fn write(&mut self, ask: Ask, key: &str, unix_s: u64, out: &mut Vec<u8>) {
        let Ask { op, subject, range, host } = ask;
        self.set_path(subject, key);
        let body_hash = match (op, subject, self.session.payload) {
            (Op::Put, Subject::Own { id, size_bytes }, Payload::Signed) if self.signer.is_some() => {
                hex(&self.session.bodies.sha256(id, size_bytes))
            }
            _ => *EMPTY_SHA256_HEX,
        };
        let unsigned = op == Op::Put && self.session.payload == Payload::Unsigned;
        let payload_hash = if unsigned { UNSIGNED_PAYLOAD } else { &body_hash[..] };
        let query: &[u8] = if op == Op::List { &self.list_query } else { b"" };
        let host = self.host_headers[host as usize].as_bytes();

        out.clear();
        push_all(out, &[method(op).as_bytes(), b" ", &self.path]);
        if !query.is_empty() {
            push_all(out, &[b"?", query]);
        }
        push_all(out, &[b" HTTP/1.1\r\nHost: ", host, b"\r\nUser-Agent: linerate/", VERSION]);
        if op == Op::Put {
            out.extend_from_slice(b"\r\nContent-Length: ");
            push_decimal(subject.size_bytes(), out);
        }
        if let Some(range) = range {
            out.extend_from_slice(b"\r\nRange: bytes=");
            push_decimal(range.start, out);
            out.push(b'-');
            push_decimal(range.start + range.length - 1, out);
        }
        if let Some(signer) = &mut self.signer {
            signer.set_time(unix_s);
            let canonical = Canonical { method: method(op), path: &self.path, query, headers: &[], payload_hash };
            push_signature(signer, canonical, host, &mut self.scratch, out);
        }
        out.extend_from_slice(b"\r\n\r\n");
    }

    fn set_path(&mut self, subject: Subject, key: &str) {
        self.path.clear();
        self.path.extend_from_slice(&self.root);
        match subject {
            Subject::Own { id, size_bytes } => push_key(&self.run_prefix_encoded, id, size_bytes, &mut self.path),
            Subject::Existing { .. } => push_encoded_path(key, &mut self.path),
            // A bucket's own path has no slash at its end, except where it is nothing else.
            Subject::Bucket => self.path.truncate((self.path.len() - 1).max(1)),
        }
    }
}

const VERSION: &[u8] = env!("CARGO_PKG_VERSION").as_bytes();

const fn method(op: Op) -> &'static str {
    match op {
        Op::Get | Op::List => "GET",
        Op::Put => "PUT",
        Op::Stat => "HEAD",
        Op::Delete => "DELETE",
    }
}

fn push_all(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Appends the `x-amz-*` and `Authorization` headers of a request; the headers of `request` are set here.
pub(crate) fn push_signature(
    signer: &Signer,
    request: Canonical<'_>,
    host: &[u8],
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    let date = signer.amz_date().as_bytes();
    push_all(out, &[b"\r\nx-amz-content-sha256: ", request.payload_hash, b"\r\nx-amz-date: ", date]);
    let token = signer.session_token().map(|t| t.reveal().as_bytes());
    let headers: [(&str, &[u8]); 4] = [
        ("host", host),
        ("x-amz-content-sha256", request.payload_hash),
        ("x-amz-date", date),
        ("x-amz-security-token", token.unwrap_or_default()),
    ];
    if let Some(token) = token {
        push_all(out, &[b"\r\nx-amz-security-token: ", token]);
    }
    let headers = if token.is_some() { &headers[..] } else { &headers[..3] };
    out.extend_from_slice(b"\r\nAuthorization: ");
    signer.authorize(&Canonical { headers, ..request }, scratch, out);
}
