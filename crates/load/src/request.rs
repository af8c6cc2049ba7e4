//! Requests on the wire: written into a reused buffer, signed, without allocation.

use linerate_record::load::{Lookup, Payload};
use linerate_record::run::Op;
use sha2::{Digest, Sha256};

use crate::hosts::host_header;
use crate::object_id::{push_decimal, push_key};
use crate::request_spec::{RequestSpec, Subject, UploadCall, UploadStep};
use crate::session::Session;
use crate::sigv4::{
    Canonical, ChunkSigner, EMPTY_SHA256_HEX, Signer, content_sha256, hex, push_encoded_path, push_encoded_query,
};
use crate::streaming::BodyLayout;

/// Keys asked for in one page of a listing: S3's own limit.
pub(crate) const LIST_KEYS_MAX: u64 = 1000;

/// What a request says that does not follow from what it is about.
#[derive(Clone, Copy, Default)]
pub(crate) struct RequestTexts<'a> {
    /// The key of a [`Subject::Existing`].
    pub(crate) key: &'a str,
    /// The id of its upload, encoded for a query.
    pub(crate) upload_id: &'a [u8],
    /// A document that it sends; it goes out with the head.
    pub(crate) document: &'a [u8],
}

/// How the body of a request goes out.
pub(crate) struct BodyHeaders {
    pub(crate) layout: BodyLayout,
    /// What signs its chunks.
    pub(crate) signer: Option<ChunkSigner>,
}

/// Writes requests for one thread.
pub(crate) struct RequestWriter<'a> {
    session: &'a Session,
    signer: Option<Signer>,
    /// `Host` header per host.
    host_headers: Vec<String>,
    /// `/` or `/bucket/`, encoded.
    root: Vec<u8>,
    run_prefix_encoded: String,
    list_query: Vec<u8>,
    query: Vec<u8>,
    path: Vec<u8>,
    scratch: Vec<u8>,
    decoded_length: Vec<u8>,
}

impl<'a> RequestWriter<'a> {
    pub(crate) fn new(session: &'a Session) -> Self {
        let tls = session.tls.is_some();
        let authority = |h: &crate::hosts::Host| match session.lookup {
            Lookup::Path => host_header(&h.authority, tls).to_owned(),
            Lookup::Host => format!("{}.{}", session.bucket, host_header(&h.authority, tls)),
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
        RequestWriter {
            session,
            signer: session.credentials.clone().map(|c| Signer::s3(c, &session.region)),
            host_headers: session.hosts.iter().map(authority).collect(),
            root,
            run_prefix_encoded: String::from_utf8_lossy(&prefix).into_owned(),
            list_query,
            query: Vec::with_capacity(256),
            path: Vec::with_capacity(512),
            scratch: Vec::with_capacity(1024),
            decoded_length: Vec::with_capacity(20),
        }
    }

    /// Writes the head of a request into `out`, which is cleared first, and tells how its body is to be sent.
    pub(crate) fn write(
        &mut self,
        request_spec: RequestSpec,
        texts: RequestTexts<'_>,
        unix_s: u64,
        out: &mut Vec<u8>,
    ) -> BodyHeaders {
        let RequestSpec { op, subject, range, host, call } = request_spec;
        self.set_path(subject, texts.key);
        self.set_query(op, call, texts.upload_id);
        let (body, payload) = (request_spec.body(), self.session.payload);
        let layout = body.map_or(BodyLayout::empty(), |span| BodyLayout::new(payload, span.length));
        let body_hash = match body {
            Some(span) if payload == Payload::Signed && self.signer.is_some() => hex(&self.session.bodies.sha256(span)),
            _ if !texts.document.is_empty() => hex(&Sha256::digest(texts.document).into()),
            _ => *EMPTY_SHA256_HEX,
        };
        let payload_hash = body.and(content_sha256(payload)).unwrap_or(&body_hash);
        let (method, query) = (method(op, call), &self.query[..]);
        let host = self.host_headers[host as usize].as_bytes();

        out.clear();
        push_all(out, &[method.as_bytes(), b" ", &self.path]);
        if !query.is_empty() {
            push_all(out, &[b"?", query]);
        }
        push_all(out, &[b" HTTP/1.1\r\nHost: ", host, b"\r\nUser-Agent: linerate/", VERSION]);
        if body.is_some() || op == Op::Multipart {
            out.extend_from_slice(b"\r\nContent-Length: ");
            push_decimal(layout.wire_bytes() + texts.document.len() as u64, out);
        }
        self.decoded_length.clear();
        if body.is_some() && payload.is_chunked() {
            out.extend_from_slice(b"\r\nContent-Encoding: aws-chunked");
            push_decimal(layout.length(), &mut self.decoded_length);
        }
        if let (Op::Get, Some(range)) = (op, range) {
            out.extend_from_slice(b"\r\nRange: bytes=");
            push_decimal(range.start, out);
            out.push(b'-');
            push_decimal(range.start + range.length - 1, out);
        }
        let mut chunk_signer = None;
        if let Some(signer) = &mut self.signer {
            signer.set_time(unix_s);
            let canonical = Canonical { method, path: &self.path, query, headers: &[], payload_hash };
            let trailer: &[u8] = if body.is_some() && payload.has_trailer() { b"x-amz-checksum-crc32c" } else { b"" };
            // A target that is told a checksum per part must know from the beginning which.
            let creates = call.is_some_and(|c| c.step == UploadStep::Create) && payload.has_trailer();
            let checksum: &[u8] = if creates { b"CRC32C" } else { b"" };
            let extra = ExtraHeaders { checksum, decoded_length: &self.decoded_length, trailer };
            let seed = push_signature(signer, canonical, host, &extra, &mut self.scratch, out);
            chunk_signer = (layout.is_chunked() && payload.signs()).then(|| signer.chunks(seed));
        }
        push_all(out, &[b"\r\n\r\n", texts.document]);
        BodyHeaders { layout, signer: chunk_signer }
    }

    fn set_query(&mut self, op: Op, call: Option<UploadCall>, upload_id: &[u8]) {
        self.query.clear();
        match call.map(|c| c.step) {
            None if op == Op::List => self.query.extend_from_slice(&self.list_query),
            None => {}
            Some(UploadStep::Create) => self.query.extend_from_slice(b"uploads="),
            Some(UploadStep::Part(number)) => {
                self.query.extend_from_slice(b"partNumber=");
                push_decimal(u64::from(number), &mut self.query);
                push_all(&mut self.query, &[b"&uploadId=", upload_id]);
            }
            Some(UploadStep::Complete | UploadStep::Abort) => push_all(&mut self.query, &[b"uploadId=", upload_id]),
        }
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

fn method(op: Op, call: Option<UploadCall>) -> &'static str {
    match op {
        Op::Get | Op::List => "GET",
        Op::Put | Op::Part => "PUT",
        Op::Multipart if call.is_some_and(|c| c.step == UploadStep::Abort) => "DELETE",
        Op::Multipart => "POST",
        Op::Stat => "HEAD",
        Op::Delete => "DELETE",
    }
}

fn push_all(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Headers that some requests have; empty where one has not.
#[derive(Default)]
pub(crate) struct ExtraHeaders<'a> {
    /// The checksum that parts of an upload will have.
    pub(crate) checksum: &'a [u8],
    /// Length of a body that is sent in chunks, without their frames.
    pub(crate) decoded_length: &'a [u8],
    /// Name of the header that follows the body.
    pub(crate) trailer: &'a [u8],
}

/// Appends the `x-amz-*` and `Authorization` headers of a request, and returns its signature; the headers of `request`
/// are set here.
pub(crate) fn push_signature(
    signer: &Signer,
    request: Canonical<'_>,
    host: &[u8],
    extra: &ExtraHeaders<'_>,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> [u8; 64] {
    // By rising name, as they are signed.
    let possible: [(&str, &[u8]); 7] = [
        ("host", host),
        ("x-amz-checksum-algorithm", extra.checksum),
        ("x-amz-content-sha256", request.payload_hash),
        ("x-amz-date", signer.amz_date().as_bytes()),
        ("x-amz-decoded-content-length", extra.decoded_length),
        ("x-amz-security-token", signer.session_token().map_or(b"", |t| t.reveal().as_bytes())),
        ("x-amz-trailer", extra.trailer),
    ];
    let (mut headers, mut count) = (possible, 0);
    for (name, value) in possible.into_iter().filter(|(_, value)| !value.is_empty()) {
        headers[count] = (name, value);
        count += 1;
        if name != "host" {
            push_all(out, &[b"\r\n", name.as_bytes(), b": ", value]);
        }
    }
    out.extend_from_slice(b"\r\nAuthorization: ");
    signer.authorize(&Canonical { headers: &headers[..count], ..request }, scratch, out)
}
