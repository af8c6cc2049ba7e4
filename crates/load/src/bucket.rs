//! The cold path: bucket calls before and after a load, one at a time over a blocking connection.

mod leftovers;
mod uploads;

use std::io::{self, Read, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};

use crate::failure::s3_code;
use crate::hosts::host_header;
use crate::listing::{self, Page};
use crate::object::{ObjectId, push_key};
use crate::request::{Extra, push_signature};
use crate::response::{self, Chunks, Framing, HEAD_BYTES_MAX};
use crate::session::{Existing, Lookup, Session};
use crate::sigv4::{Canonical, Signer, hex, push_encoded_path};
use crate::tls::{Negotiated, Stream, fault, remedy};
use crate::transport::dial_blocking;

pub use leftovers::Leftover;

/// Keys per `DeleteObjects` call: S3's own limit.
pub const DELETE_KEYS_MAX: usize = 1000;

/// Longest answer taken.
const BODY_BYTES_MAX: usize = 64 << 20;

/// A bucket call that failed.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// No connection, or one that broke.
    #[error("failed to reach {host}: {source}")]
    Unreachable {
        /// `host:port`.
        host: String,
        /// Why.
        source: io::Error,
    },
    /// A TLS handshake that failed.
    #[error("failed to speak TLS with {host}: {why}; {remedy}")]
    Tls {
        /// `host:port`.
        host: String,
        /// Why.
        why: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// An answer that is not HTTP.
    #[error("{host} does not speak HTTP: {why}; is the port right, and is it plain HTTP? TLS is https://, or --tls")]
    NotHttp {
        /// `host:port`.
        host: String,
        /// Why.
        why: String,
    },
    /// A refusal.
    #[error("{call} was refused with HTTP {status}{}", code.as_ref().map_or_else(String::new, |c| format!(" ({c})")))]
    Refused {
        /// What was asked.
        call: String,
        /// Status.
        status: u16,
        /// S3's code, where the answer names one.
        code: Option<String>,
    },
    /// An answer that does not make sense.
    #[error("the answer to {call} could not be understood: {why}")]
    Answer {
        /// What was asked.
        call: String,
        /// Why.
        why: String,
    },
}

/// Longest time for a connection, and for its TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Shortest time that a call may take, whatever `--timeout` says of requests: it may delete a thousand objects.
const CALL_TIMEOUT_MIN: Duration = Duration::from_secs(60);

/// A whole answer.
struct Answer {
    status: u16,
    keep_alive: bool,
    server: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    fn refused(&self, call: &str) -> BucketError {
        BucketError::Refused { call: call.to_owned(), status: self.status, code: s3_code(&self.body) }
    }

    fn ok(self, call: &str) -> Result<Answer, BucketError> {
        if (200..300).contains(&self.status) { Ok(self) } else { Err(self.refused(call)) }
    }
}

/// A connection to one host for bucket calls; made anew where the host closed it.
pub struct Bucket<'a> {
    session: &'a Session,
    host: usize,
    stream: Option<Stream>,
}

impl<'a> Bucket<'a> {
    /// Connects to host number `host`.
    ///
    /// # Errors
    /// [`BucketError::Unreachable`] or [`BucketError::Tls`].
    pub fn connect(session: &'a Session, host: usize) -> Result<Self, BucketError> {
        let mut bucket = Bucket { session, host, stream: None };
        bucket.stream = Some(bucket.open()?);
        Ok(bucket)
    }

    /// Connects to the first host that can be reached.
    ///
    /// # Errors
    /// [`BucketError::Unreachable`] for the last one tried.
    pub fn connect_any(session: &'a Session) -> Result<Self, BucketError> {
        let mut last = Bucket::connect(session, 0);
        for host in 1..session.hosts.len() {
            if last.is_ok() {
                break;
            }
            last = Bucket::connect(session, host);
        }
        last
    }

    /// What TLS agreed on, where it is spoken.
    #[must_use]
    pub fn negotiated(&self) -> Option<Negotiated> {
        match self.stream.as_ref()? {
            Stream::Plain(_) => None,
            Stream::Tls(stream) => Negotiated::of(&stream.conn),
        }
    }

    fn open(&self) -> Result<Stream, BucketError> {
        let address = self.session.hosts[self.host].address;
        let unreachable = |source| self.unreachable(source);
        let socket = dial_blocking(address, self.session.source(address, 0), CONNECT_TIMEOUT).map_err(unreachable)?;
        let timeouts = |timeout| socket.set_read_timeout(timeout).and_then(|()| socket.set_write_timeout(timeout));
        timeouts(Some(CONNECT_TIMEOUT)).map_err(unreachable)?;
        let timeout = Some(Duration::from_nanos(self.session.timeout_ns).max(CALL_TIMEOUT_MIN));
        let Some(tls) = &self.session.tls else {
            timeouts(timeout).map_err(unreachable)?;
            return Ok(Stream::Plain(socket));
        };
        let stream = tls.shake_hands(self.host, socket).map_err(|error| self.not_shaken(&error))?;
        let timeouts = stream.sock.set_read_timeout(timeout).and_then(|()| stream.sock.set_write_timeout(timeout));
        timeouts.map_err(unreachable)?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    fn not_shaken(&self, error: &io::Error) -> BucketError {
        let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let (why, remedy) = match of_tls {
            Some(inner) => (inner.to_string(), remedy(fault(inner, false))),
            None if is_closed(error.kind()) => {
                ("it closed during the handshake".to_owned(), remedy("closed during the handshake"))
            }
            None if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                let waited = format!("it did not answer within {} s", CONNECT_TIMEOUT.as_secs());
                (waited, remedy("closed during the handshake"))
            }
            None => (error.to_string(), remedy("")),
        };
        BucketError::Tls { host: self.session.hosts[self.host].authority.clone(), why, remedy }
    }

    fn unreachable(&self, source: io::Error) -> BucketError {
        BucketError::Unreachable { host: self.session.hosts[self.host].authority.clone(), source }
    }

    /// Whether the bucket exists, and what the `Server` header says.
    ///
    /// # Errors
    /// [`BucketError`], also where access is denied.
    pub fn exists(&mut self) -> Result<(bool, Option<String>), BucketError> {
        let answer = self.call("HEAD", b"", &[], &[])?;
        // What servers in Go say in plain HTTP on a port that speaks TLS.
        if answer.status == 400 && String::from_utf8_lossy(&answer.body).contains("HTTPS server") {
            let host = self.session.hosts[self.host].authority.clone();
            return Err(BucketError::NotHttp { host, why: "it is an HTTPS server".into() });
        }
        match answer.status {
            404 => Ok((false, answer.server)),
            // HEAD carries no code: tell what it usually means.
            301 | 307 | 400 | 403 => Err(BucketError::Refused {
                call: format!("access to bucket {:?}", self.session.bucket),
                status: answer.status,
                code: Some("check the keys, the session token, the region and this machine's clock".into()),
            }),
            _ => answer.ok(&format!("access to bucket {:?}", self.session.bucket)).map(|a| (true, a.server)),
        }
    }

    /// Makes the bucket; `false` where somebody else has just made it.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn create(&mut self) -> Result<bool, BucketError> {
        let region = &self.session.region;
        let body = if region == "us-east-1" {
            String::new()
        } else {
            let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
            format!(
                "<CreateBucketConfiguration xmlns=\"{namespace}\"><LocationConstraint>{region}</LocationConstraint>\
                 </CreateBucketConfiguration>"
            )
        };
        let call = format!("making bucket {:?}", self.session.bucket);
        let answer = self.call("PUT", b"", &[], body.as_bytes())?;
        if answer.status == 409 && s3_code(&answer.body).as_deref() == Some("BucketAlreadyOwnedByYou") {
            return Ok(false);
        }
        answer.ok(&call).map(|_| true)
    }

    /// Removes the bucket where it is empty; `false` where it is not. It is looked into first: there are targets that
    /// remove a bucket with everything in it.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn remove(&mut self) -> Result<bool, BucketError> {
        if !self.list("", 1)?.is_empty() || self.has_uploads()? {
            return Ok(false);
        }
        let call = format!("removing bucket {:?}", self.session.bucket);
        let answer = self.call("DELETE", b"", &[], &[])?;
        if answer.status == 409 && s3_code(&answer.body).as_deref() == Some("BucketNotEmpty") {
            return Ok(false);
        }
        answer.ok(&call).map(|_| true)
    }

    /// Objects below `prefix`, up to `most` of them.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn list(&mut self, prefix: &str, most: usize) -> Result<Vec<Existing>, BucketError> {
        let (mut objects, mut token) = (Vec::new(), None::<String>);
        while objects.len() < most {
            let page = self.objects(prefix, token.as_ref())?;
            objects.extend(page.entries);
            if page.next.is_none() || page.next == token {
                break;
            }
            token = page.next;
        }
        objects.truncate(most);
        Ok(objects)
    }

    /// One page of the objects below `prefix`, from `token` on.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn objects(&mut self, prefix: &str, token: Option<&String>) -> Result<Page<Existing, String>, BucketError> {
        let mut names = vec![("list-type", "2"), ("max-keys", "1000"), ("prefix", prefix)];
        names.extend(token.map(|token| ("continuation-token", token.as_str())));
        self.page(&leftovers::query(names), &format!("listing {prefix:?}"), listing::objects)
    }

    fn page<T>(
        &mut self,
        query: &[u8],
        call: &str,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<T, BucketError> {
        let answer = self.call("GET", query, &[], &[])?.ok(call)?;
        parse(&answer.body).map_err(|why| BucketError::Answer { call: call.to_owned(), why })
    }

    /// Deletes objects of the run: `ids` with their sizes, at most [`DELETE_KEYS_MAX`]. Keys that do not exist count as
    /// deleted. Returns how many the target refused to delete.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn delete(&mut self, ids: &[(ObjectId, u64)]) -> Result<usize, BucketError> {
        let mut keys = Vec::new();
        for &(id, size_bytes) in ids {
            let mut key = Vec::new();
            push_key(&self.session.run_prefix, id, size_bytes, &mut key);
            keys.push((String::from_utf8_lossy(&key).into_owned(), None));
        }
        self.delete_keys(&keys)
    }

    /// Keys, each with its version where one is meant.
    fn delete_keys(&mut self, keys: &[(String, Option<String>)]) -> Result<usize, BucketError> {
        let mut body = String::from("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>");
        for (key, version) in keys {
            body.push_str("<Object><Key>");
            body.push_str(&quick_xml::escape::escape(key.as_str()));
            body.push_str("</Key>");
            if let Some(version) = version {
                body.push_str("<VersionId>");
                body.push_str(&quick_xml::escape::escape(version.as_str()));
                body.push_str("</VersionId>");
            }
            body.push_str("</Object>");
        }
        body.push_str("</Delete>");
        let digest = STANDARD.encode(Md5::digest(body.as_bytes()));
        let headers = [("Content-MD5", digest.as_str())];
        let call = format!("deleting {} objects of this run", keys.len());
        let answer = self.call("POST", b"delete=", &headers, body.as_bytes())?.ok(&call)?;
        Ok(String::from_utf8_lossy(&answer.body).matches("<Error>").count())
    }

    /// Deletes whatever is left below the run's own prefix. Returns how many objects remain.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn sweep_up(&mut self) -> Result<usize, BucketError> {
        let prefix = self.session.run_prefix.clone();
        for _ in 0..64 {
            let left = self.list(&prefix, DELETE_KEYS_MAX)?;
            // A listing that ignored its prefix must not lead to a deletion outside it.
            let own = left.into_iter().map(|o| o.key).filter(|k| k.starts_with(&prefix));
            let keys: Vec<_> = own.map(|key| (key, None)).collect();
            if keys.is_empty() || self.delete_keys(&keys)? == keys.len() {
                return Ok(keys.len());
            }
        }
        Ok(self.list(&prefix, DELETE_KEYS_MAX)?.len())
    }

    fn call(
        &mut self,
        method: &str,
        query: &[u8],
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, BucketError> {
        self.call_at("", method, query, headers, body)
    }

    /// A call about a key, or about the bucket where the key is empty.
    fn call_at(
        &mut self,
        key: &str,
        method: &str,
        query: &[u8],
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, BucketError> {
        let request = self.request(key, method, query, headers, body);
        let to_head = method == "HEAD";
        let mut answered = Err(io::ErrorKind::NotConnected.into());
        if let Some(stream) = self.stream.take() {
            answered = self.exchange(stream, &request, body, to_head);
        }
        // Every call means the same when it is made twice; a host that closed an idle connection is asked anew.
        if answered.as_ref().is_err_and(|e| is_closed(e.kind())) {
            let stream = self.open()?;
            answered = self.exchange(stream, &request, body, to_head);
        }
        answered.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
                self.not_shaken(&error)
            }
            io::ErrorKind::InvalidData => {
                BucketError::NotHttp { host: self.session.hosts[self.host].authority.clone(), why: error.to_string() }
            }
            _ => self.unreachable(error),
        })
    }

    /// One request and its answer; keeps the connection where the host does.
    fn exchange(&mut self, mut stream: Stream, request: &[u8], body: &[u8], to_head: bool) -> io::Result<Answer> {
        stream.write_all(request)?;
        stream.write_all(body)?;
        stream.flush()?;
        let answer = read_answer(&mut stream, to_head)?;
        self.stream = answer.keep_alive.then_some(stream);
        Ok(answer)
    }

    fn request(&self, key: &str, method: &str, query: &[u8], headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let session = self.session;
        let authority = host_header(&session.hosts[self.host].authority, session.tls.is_some());
        let (host, mut path) = match session.lookup {
            Lookup::Path => (authority.to_owned(), b"/".to_vec()),
            Lookup::VirtualHost => (format!("{}.{authority}", session.bucket), b"/".to_vec()),
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
            push_signature(&signer, canonical, host.as_bytes(), &Extra::default(), &mut Vec::new(), &mut out);
        }
        out.extend_from_slice(b"\r\n\r\n");
        out
    }
}

const fn is_closed(kind: io::ErrorKind) -> bool {
    use io::ErrorKind as K;
    matches!(kind, K::NotConnected | K::UnexpectedEof | K::ConnectionReset | K::ConnectionAborted | K::BrokenPipe)
}

/// One read. With a time limit set, a signal interrupts it even where system calls are restarted: Ctrl-C while clearing
/// up must not end the clearing.
fn read_some(stream: &mut Stream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Reads one answer, however it is framed.
fn read_answer(stream: &mut Stream, to_head: bool) -> io::Result<Answer> {
    let invalid = |why: response::Malformed| io::Error::new(io::ErrorKind::InvalidData, why.to_string());
    let too_long = || io::Error::new(io::ErrorKind::InvalidData, "the answer is too long");
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let head = loop {
        match response::head(&bytes, to_head).map_err(invalid)? {
            Some(head) if head.status >= 200 => break head,
            Some(interim) => {
                bytes.drain(..interim.head_bytes);
                continue;
            }
            None if bytes.len() > HEAD_BYTES_MAX => return Err(too_long()),
            None => {}
        }
        let n = read_some(stream, &mut buffer)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..n]);
    };
    let server = response::header(&bytes, "server").map(str::to_owned);
    let (mut body, mut chunks) = (Vec::new(), Chunks::default());
    let mut fresh = bytes.split_off(head.head_bytes);
    loop {
        match head.framing {
            Framing::Chunked => {
                chunks.take(&fresh, |data| body.extend_from_slice(data)).map_err(invalid)?;
            }
            Framing::Length(_) | Framing::UntilClose => body.extend_from_slice(&fresh),
        }
        let whole = match head.framing {
            Framing::Length(length) => body.len() as u64 >= length,
            Framing::Chunked => chunks.done(),
            Framing::UntilClose => false,
        };
        if whole {
            return Ok(Answer { status: head.status, keep_alive: head.keep_alive, server, body });
        }
        if body.len() > BODY_BYTES_MAX {
            return Err(too_long());
        }
        let n = read_some(stream, &mut buffer)?;
        if n == 0 && head.framing == Framing::UntilClose {
            return Ok(Answer { status: head.status, keep_alive: head.keep_alive, server, body });
        }
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        fresh = buffer[..n].to_vec();
    }
}
