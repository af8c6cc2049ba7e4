//! The cold path: bucket calls before and after a load, one at a time over a blocking connection.

mod uploads;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use quick_xml::events::Event;

use crate::failure::s3_code;
use crate::hosts::host_header;
use crate::object::{ObjectId, push_key};
use crate::request::{Extra, push_signature};
use crate::response::{self, Chunks, Framing, HEAD_BYTES_MAX};
use crate::session::{Existing, Lookup, Session};
use crate::sigv4::{Canonical, Signer, hex, push_encoded_path, push_encoded_query};

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
    /// An answer that is not HTTP.
    #[error("{host} does not speak HTTP: {why}; is the port right, and is it plain HTTP?")]
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
    stream: Option<TcpStream>,
}

impl<'a> Bucket<'a> {
    /// Connects to host number `host`.
    ///
    /// # Errors
    /// [`BucketError::Unreachable`].
    pub fn connect(session: &'a Session, host: usize) -> Result<Self, BucketError> {
        let mut bucket = Bucket { session, host, stream: None };
        bucket.stream = Some(bucket.open().map_err(|source| bucket.unreachable(source))?);
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

    fn open(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.session.hosts[self.host].address, Duration::from_secs(5))?;
        let timeout = Some(Duration::from_nanos(self.session.timeout_ns).max(CALL_TIMEOUT_MIN));
        stream.set_nodelay(true)?;
        stream.set_read_timeout(timeout)?;
        stream.set_write_timeout(timeout)?;
        Ok(stream)
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

    /// Removes the bucket, which must be empty.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn remove(&mut self) -> Result<(), BucketError> {
        let call = format!("removing bucket {:?}", self.session.bucket);
        self.call("DELETE", b"", &[], &[])?.ok(&call).map(|_| ())
    }

    /// Objects below `prefix`, up to `most` of them.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn list(&mut self, prefix: &str, most: usize) -> Result<Vec<Existing>, BucketError> {
        let call = format!("listing {prefix:?}");
        let (mut objects, mut token) = (Vec::new(), None::<String>);
        while objects.len() < most {
            let mut query = Vec::new();
            if let Some(token) = &token {
                query.extend_from_slice(b"continuation-token=");
                push_encoded_query(token, &mut query);
                query.push(b'&');
            }
            query.extend_from_slice(b"list-type=2&max-keys=1000&prefix=");
            push_encoded_query(prefix, &mut query);
            let answer = self.call("GET", &query, &[], &[])?.ok(&call)?;
            token = parse_page(&answer.body, &mut objects)
                .map_err(|why| BucketError::Answer { call: call.clone(), why })?;
            if token.is_none() {
                break;
            }
        }
        objects.truncate(most);
        Ok(objects)
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
            keys.push(String::from_utf8_lossy(&key).into_owned());
        }
        self.delete_keys(&keys)
    }

    fn delete_keys(&mut self, keys: &[String]) -> Result<usize, BucketError> {
        let mut body = String::from("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>");
        for key in keys {
            body.push_str("<Object><Key>");
            body.push_str(&quick_xml::escape::escape(key.as_str()));
            body.push_str("</Key></Object>");
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
            let keys: Vec<String> = left.into_iter().map(|o| o.key).filter(|k| k.starts_with(&prefix)).collect();
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

    /// A call about the object `key`, or, where that is empty, the bucket.
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
            let stream = self.open().map_err(|source| self.unreachable(source))?;
            answered = self.exchange(stream, &request, body, to_head);
        }
        answered.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                BucketError::NotHttp { host: self.session.hosts[self.host].authority.clone(), why: error.to_string() }
            }
            _ => self.unreachable(error),
        })
    }

    /// One request and its answer; keeps the connection where the host does.
    fn exchange(&mut self, mut stream: TcpStream, request: &[u8], body: &[u8], to_head: bool) -> io::Result<Answer> {
        stream.write_all(request)?;
        stream.write_all(body)?;
        let answer = read_answer(&mut stream, to_head)?;
        self.stream = answer.keep_alive.then_some(stream);
        Ok(answer)
    }

    fn request(&self, key: &str, method: &str, query: &[u8], headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let session = self.session;
        let authority = host_header(&session.hosts[self.host].authority);
        let (host, mut path) = match session.lookup {
            Lookup::Path => (authority.to_owned(), b"/".to_vec()),
            Lookup::VirtualHost => (format!("{}.{authority}", session.bucket), b"/".to_vec()),
        };
        if session.lookup == Lookup::Path {
            push_encoded_path(&session.bucket, &mut path);
        }
        if !key.is_empty() {
            let separator: &[u8] = if path == b"/" { b"" } else { b"/" };
            path.extend_from_slice(separator);
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
fn read_some(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Reads one answer, however it is framed.
fn read_answer(stream: &mut TcpStream, to_head: bool) -> io::Result<Answer> {
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

/// Adds the objects of one `ListObjectsV2` page; returns the token of the next page, where there is one.
fn parse_page(body: &[u8], objects: &mut Vec<Existing>) -> Result<Option<String>, String> {
    let (mut key, mut size_bytes, mut truncated, mut token) = (None::<String>, 0u64, false, None);
    each_element(body, |parent, name, text| {
        match (parent, name) {
            (Some("Contents"), "Key") => key = Some(std::mem::take(text)),
            (Some("Contents"), "Size") => {
                size_bytes = text.trim().parse().map_err(|_| format!("size {text:?} is no number"))?;
            }
            (_, "Contents") => {
                let key = key.take().ok_or("an object without a key")?;
                objects.push(Existing { key, size_bytes });
            }
            (_, "IsTruncated") => truncated = text.trim() == "true",
            (_, "NextContinuationToken") => token = Some(std::mem::take(text)),
            _ => {}
        }
        Ok(())
    })?;
    Ok(if truncated { token } else { None })
}

fn resolve(reference: &quick_xml::events::BytesRef<'_>) -> Result<String, String> {
    if let Some(c) = reference.resolve_char_ref().map_err(|e| e.to_string())? {
        return Ok(c.to_string());
    }
    let name: &str = reference;
    match quick_xml::escape::resolve_predefined_entity(name) {
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("unknown entity &{name};")),
    }
}

/// Walks a document and hands each element that ends to `element`: its parent, its name and its text.
fn each_element(
    body: &[u8],
    mut element: impl FnMut(Option<&str>, &str, &mut String) -> Result<(), String>,
) -> Result<(), String> {
    let mut reader = quick_xml::Reader::from_str(std::str::from_utf8(body).map_err(|e| e.to_string())?);
    let (mut path, mut text) = (Vec::<String>::new(), String::new());
    loop {
        match reader.read_event().map_err(|e| e.to_string())? {
            Event::Start(start) => {
                path.push(start.local_name().as_ref().to_owned());
                text.clear();
            }
            Event::Text(piece) => text.push_str(&piece.xml10_content()),
            Event::GeneralRef(reference) => text.push_str(&resolve(&reference)?),
            Event::End(end) => {
                let parent = path.len().checked_sub(2).map(|i| path[i].as_str());
                element(parent, end.local_name().as_ref(), &mut text)?;
                path.pop();
                text.clear();
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_gives_keys_sizes_and_the_next_token() {
        let body = br#"<?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
            <IsTruncated>true</IsTruncated>
            <Contents><Key>a &amp; b/&#x41;&#10;</Key><Owner><ID>x</ID></Owner><Size>42</Size></Contents>
            <Contents><Size>7</Size><Key>c</Key></Contents><NextContinuationToken>t&lt;1</NextContinuationToken>
            </ListBucketResult>"#;
        let mut objects = Vec::new();
        assert_eq!(parse_page(body, &mut objects), Ok(Some("t<1".into())));
        let got: Vec<_> = objects.iter().map(|o| (o.key.as_str(), o.size_bytes)).collect();
        assert_eq!(got, [("a & b/A\n", 42), ("c", 7)]);
    }

    #[test]
    fn pages_that_are_none_are_refused() {
        for body in
            ["<a><b></a>", "<Contents><Size>1</Size></Contents>", "<Contents><Size>x</Size></Contents>", "<a>&z;</a>"]
        {
            assert!(parse_page(body.as_bytes(), &mut Vec::new()).is_err(), "{body}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_pages_never_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_page(&body, &mut Vec::new());
        }
    }
}
