//! One bucket call: its request, its one deadline, and what its answer means.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_record::load::Lookup;
use linerate_wire::deadline::{Deadline, WaitEnd};
use linerate_wire::http_call::{self, CallError, HttpPeer, HttpRequest};
use linerate_wire::response::Malformed;
use linerate_wire::tls::{Stream, fault, words};
use sha2::Digest as _;

use super::deletion::{BUSY_MAX, busy_rest};
use super::errors::{BucketError, TimeLimit, reaching, says_busy};
use super::{BODY_BYTES_MAX, Bucket, CONNECT_TIMEOUT};
use crate::hosts::host_header;
use crate::request::{ExtraHeaders, push_signature};
use crate::request_failure::beginning;
use crate::session::Session;
use crate::sigv4::{Canonical, KeyNames, Signer, hex, push_encoded_path};
use crate::tls::remedy;
use crate::xml::{error_code, root, walk};

/// What a bucket is asked.
pub(super) struct BucketCall<'a> {
    /// In words, for errors.
    pub(super) what: String,
    pub(super) method: &'a str,
    /// Key that it is about; the bucket where it is empty.
    pub(super) key: &'a str,
    pub(super) query: &'a [u8],
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

impl<'a> BucketCall<'a> {
    /// A call about the bucket, without a body.
    pub(super) fn new(what: impl Into<String>, method: &'a str) -> Self {
        BucketCall { what: what.into(), method, key: "", query: b"", headers: &[], body: b"" }
    }
}

pub(super) struct Answer {
    /// What was asked, and of whom.
    pub(super) requested: String,
    pub(super) status: u16,
    /// Where the keys were found that signed the call.
    pub(super) keys: Arc<KeyNames>,
    pub(super) server: Option<String>,
    pub(super) content_length: Option<u64>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// A success, as far as its status and its root tell: an error in its body is a refusal, whatever the status.
    pub(super) fn ok(self) -> Result<Answer, BucketError> {
        if (200..300).contains(&self.status) && root(&self.body) != Some(b"Error") {
            return Ok(self);
        }
        let code = error_code(&self.body);
        Err(BucketError::Refused { call: self.requested, status: self.status, code, keys: self.keys })
    }

    /// S3's code.
    pub(super) fn code(&self) -> Option<String> {
        error_code(&self.body)
    }

    /// Whether the target is too busy for it.
    fn is_busy(&self) -> bool {
        !(200..300).contains(&self.status) && says_busy(self.status, self.code().as_deref())
    }

    /// A success that says nothing besides: a body is somebody else's.
    pub(super) fn done(self, session: &Session) -> Result<(), BucketError> {
        let answer = self.ok()?;
        // What some say of a bucket that they have made; Ceph's RGW says it in JSON, to its system users.
        let of_bucket = matches!(root(&answer.body), Some(b"CreateBucketResult" | b"CreateBucketConfiguration"))
            || answer.body.starts_with(b"{\"entry_point_object_ver\"");
        if of_bucket || answer.body.trim_ascii().is_empty() {
            return Ok(());
        }
        let begins = beginning(&answer.body);
        let begins = session.credentials.as_ref().map_or(begins.clone(), |keys| keys.redacted(begins));
        let why = format!("it is \"{begins}\", but S3 sends nothing there");
        Err(BucketError::Answer { call: answer.requested, why })
    }

    /// A success with a document, gone through by its elements.
    pub(super) fn document(
        self,
        roots: &[&str],
        on_end: impl FnMut(Option<&str>, &str, &mut String) -> Result<(), String>,
    ) -> Result<(), BucketError> {
        let answer = self.ok()?;
        walk(&answer.body, roots, on_end).map_err(|why| BucketError::Answer { call: answer.requested, why })
    }
}

impl Bucket<'_> {
    /// How long a call may take from now on, whatever it asks for: the least of its limit and of what a signal leaves.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline::new(Duration::from_nanos(self.session.timeout_ns), &self.cancel)
    }

    /// Connects, until `deadline` and within [`CONNECT_TIMEOUT`] at the most.
    pub(super) fn open(&self, mut deadline: Deadline) -> Result<Stream, BucketError> {
        let address = self.session.hosts[self.host].address;
        let tls = self.session.tls.as_ref().map(|tls| tls.peer(self.host));
        let peer = HttpPeer { address, source: self.session.source(address, 0), tls };
        deadline.at_most(CONNECT_TIMEOUT);
        http_call::connect(peer, deadline.clone(), deadline).map_err(|error| match error {
            CallError::Handshake(error) if WaitEnd::from_error(&error).is_none() => self.not_shaken(&error),
            CallError::Handshake(_) => self.failed("the TLS handshake", error),
            _ => self.failed("connecting", error),
        })
    }

    fn not_shaken(&self, error: &io::Error) -> BucketError {
        let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let (why, remedy) = match of_tls {
            Some(inner) => (words(inner), remedy(fault(inner, false))),
            None if is_closed(error.kind()) => {
                ("it closed during the handshake".to_owned(), remedy("closed during the handshake"))
            }
            None => (error.to_string(), remedy("")),
        };
        BucketError::Tls { host: self.authority(), why, remedy }
    }

    /// Where the keys were found.
    fn keys(&self) -> Arc<KeyNames> {
        self.session.credentials.as_ref().map_or_else(Arc::default, |credentials| Arc::clone(&credentials.from))
    }

    pub(super) fn authority(&self) -> String {
        self.session.hosts[self.host].authority.clone()
    }

    fn failed(&self, what: &str, error: CallError) -> BucketError {
        match error {
            CallError::Connect(error) | CallError::Handshake(error) | CallError::Broken(error) => {
                self.broken(what, error)
            }
            CallError::Malformed(Malformed::Syntax) => {
                BucketError::NotHttp { host: self.authority(), why: error.to_string() }
            }
            CallError::Malformed(_) | CallError::TooManyInterim | CallError::TooLong(_) => {
                BucketError::Boundless { call: what.to_owned(), host: self.authority(), why: error.to_string() }
            }
        }
    }

    fn broken(&self, what: &str, error: io::Error) -> BucketError {
        let host = self.authority();
        match WaitEnd::from_error(&error) {
            Some(WaitEnd::Stopped) => BucketError::Stopped,
            Some(late) => BucketError::Late { call: what.to_owned(), host, ended: TimeLimit(late) },
            None => match error.kind() {
                io::ErrorKind::InvalidData if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
                    self.not_shaken(&error)
                }
                io::ErrorKind::InvalidData => BucketError::NotHttp { host, why: error.to_string() },
                _ => BucketError::Unreachable { remedy: reaching(&error), host, source: error },
            },
        }
    }

    /// Makes a call: connecting anew, where that must be, and the whole answer lie within its one deadline.
    pub(super) fn call(&mut self, call: &BucketCall<'_>) -> Result<Answer, BucketError> {
        let deadline = self.deadline();
        self.call_within(call, &deadline)
    }

    /// The same of a call that changes nothing: of a target that is too busy it is asked again, with rests as between
    /// deletions. All of it lies within one deadline.
    pub(super) fn call_with_deadline(&mut self, call: &BucketCall<'_>) -> Result<Answer, BucketError> {
        let mut deadline = self.deadline();
        let begin = Instant::now();
        for refused in 1..BUSY_MAX {
            let answer = self.call_within(call, &deadline)?;
            let rest = busy_rest(refused);
            if !answer.is_busy() || begin.elapsed() + rest >= deadline.limit() {
                return Ok(answer);
            }
            self.pause(rest)?;
        }
        self.call_within(call, &deadline)
    }

    fn call_within(&mut self, call: &BucketCall<'_>, deadline: &Deadline) -> Result<Answer, BucketError> {
        let request = self.request(call);
        let mut answered = Err(CallError::Broken(io::ErrorKind::NotConnected.into()));
        if let Some(stream) = self.stream.take() {
            answered = self.exchange(stream, deadline, &request, call);
        }
        // Every call means the same when it is made twice; a host that closed an idle connection is asked anew.
        if matches!(&answered, Err(CallError::Broken(error)) if is_closed(error.kind())) {
            let stream = self.open(deadline.clone())?;
            answered = self.exchange(stream, deadline, &request, call);
        }
        answered.map_err(|error| self.failed(&call.what, error))
    }

    /// One request and its answer; keeps the connection where the host does.
    fn exchange(
        &mut self,
        mut stream: Stream,
        deadline: &Deadline,
        head: &[u8],
        call: &BucketCall<'_>,
    ) -> Result<Answer, CallError> {
        let is_head = call.method == "HEAD";
        let request = HttpRequest { head, body: call.body, is_head, answer_bytes_max: BODY_BYTES_MAX };
        let answer = http_call::exchange(&mut stream, &request, deadline)?;
        self.stream = answer.keep_alive.then_some(stream);
        Ok(Answer {
            requested: format!("{} at {}", call.what, self.authority()),
            status: answer.status,
            keys: self.keys(),
            server: answer.header("server").map(str::to_owned),
            content_length: answer.content_length,
            body: answer.body,
        })
    }

    pub(super) fn request(&self, call: &BucketCall<'_>) -> Vec<u8> {
        let BucketCall { method, key, query, headers, body, .. } = *call;
        let session = self.session;
        let authority = host_header(&session.hosts[self.host].authority, session.tls.is_some());
        let (host, mut path) = match session.lookup {
            Lookup::Path => (authority.to_owned(), b"/".to_vec()),
            Lookup::Host => (format!("{}.{authority}", session.bucket), b"/".to_vec()),
        };
        if session.lookup == Lookup::Path {
            push_encoded_path(&session.bucket, &mut path);
        }
        if !key.is_empty() {
            if session.lookup == Lookup::Path {
                path.push(b'/');
            }
            push_encoded_path(key, &mut path);
        }
        let version = env!("CARGO_PKG_VERSION");
        let mut out = Vec::new();
        out.extend_from_slice(method.as_bytes());
        out.push(b' ');
        out.extend_from_slice(&path);
        if !query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(query);
        }
        let fixed =
            format!(" HTTP/1.1\r\nHost: {host}\r\nUser-Agent: linerate/{version}\r\nContent-Length: {}", body.len());
        out.extend_from_slice(fixed.as_bytes());
        for (name, value) in headers {
            out.extend_from_slice(format!("\r\n{name}: {value}").as_bytes());
        }
        if let Some(credentials) = &session.credentials {
            let mut signer = Signer::s3(credentials.clone(), &session.region);
            signer.set_time(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()));
            let payload_hash = hex(&sha2::Sha256::digest(body).into());
            let canonical = Canonical { method, path: &path, query, headers: &[], payload_hash: &payload_hash };
            push_signature(&signer, canonical, host.as_bytes(), &ExtraHeaders::default(), &mut Vec::new(), &mut out);
        }
        out.extend_from_slice(b"\r\n\r\n");
        out
    }
}

const fn is_closed(kind: io::ErrorKind) -> bool {
    use io::ErrorKind as K;
    matches!(kind, K::NotConnected | K::UnexpectedEof | K::ConnectionReset | K::ConnectionAborted | K::BrokenPipe)
}
