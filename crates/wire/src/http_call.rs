//! One blocking HTTP/1.1 call: a request and its whole answer, in plain text or over TLS.
//!
//! A call ends by its deadline, whatever it waits for, and takes no more bytes than its limit. Heads, retries and the
//! words of errors are the callers'. A redirect is an answer like any other: it is not followed.

use std::borrow::Cow;
use std::io::{self, Read, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use linerate_record::units::Bytes;
use rustls::pki_types::ServerName;

use crate::deadline::{Deadline, DeadlineSocket, WaitEnd};
use crate::response::{self, BodyFraming, Chunks, HEAD_BYTES_MAX, Head, Malformed};
use crate::tls::{Stream, TlsClient};
use crate::transport::dial_blocking;

/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// With whom a call is made.
#[derive(Clone, Copy, Debug)]
pub struct HttpPeer<'a> {
    pub address: SocketAddr,
    /// The address to connect from; the route's if absent.
    pub source: Option<IpAddr>,
    /// Absent in plain text.
    pub tls: Option<TlsPeer<'a>>,
}

/// Whose certificate is believed over TLS.
#[derive(Clone, Copy, Debug)]
pub struct TlsPeer<'a> {
    pub client: &'a TlsClient,
    /// The name that the peer has to prove.
    pub name: &'a ServerName<'static>,
}

/// What is sent, and how much may come back.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// The head with its blank line. A short body may follow in it, to go out in the same write.
    pub head: &'a [u8],
    pub body: &'a [u8],
    /// Whether the method is HEAD, whose answer has a length and no body.
    pub is_head: bool,
    /// Most bytes of the answer's body.
    pub answer_bytes_max: usize,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct HttpAnswer {
    pub status: u16,
    /// What `Content-Length` says, of an answer to HEAD too.
    pub content_length: Option<u64>,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    pub body: Vec<u8>,
    head: Vec<u8>,
}

impl HttpAnswer {
    /// A header's value, by name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        response::header(&self.head, name)
    }

    /// Its first line: `HTTP/1.1 503 Service Unavailable`.
    #[must_use]
    pub fn first_line(&self) -> Cow<'_, str> {
        let end = self.head.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(self.head.len());
        String::from_utf8_lossy(&self.head[..end])
    }
}

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no connection.
    #[error(transparent)]
    Connect(io::Error),
    /// The TLS handshake failed; where TLS itself broke, a [`rustls::Error`] is inside.
    #[error(transparent)]
    Handshake(io::Error),
    /// The connection broke, or closed before the answer was whole (`UnexpectedEof`).
    #[error(transparent)]
    Broken(io::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Interim replies (1xx) without end.
    #[error("too many interim replies")]
    TooManyInterim,
    /// A body of more bytes than this limit.
    #[error("it is longer than {}", Bytes(*.0 as u64))]
    TooLong(usize),
}

impl CallError {
    /// What ended the call, where it was neither the peer nor the kernel.
    #[must_use]
    pub fn wait_end(&self) -> Option<WaitEnd> {
        match self {
            CallError::Connect(error) | CallError::Handshake(error) | CallError::Broken(error) => {
                WaitEnd::from_error(error)
            }
            CallError::Malformed(_) | CallError::TooManyInterim | CallError::TooLong(_) => None,
        }
    }
}

/// Makes a call over a connection of its own, which may take `connect_limit` of the deadline.
///
/// # Errors
/// [`CallError`].
pub fn call(
    peer: HttpPeer<'_>,
    request: &HttpRequest<'_>,
    connect_limit: Duration,
    deadline: &Deadline,
) -> Result<HttpAnswer, CallError> {
    let mut dialling = deadline.clone();
    dialling.at_most(connect_limit);
    exchange(&mut connect(peer, dialling, deadline.clone())?, request, deadline)
}

/// Connects until one deadline, and shakes hands over TLS until another.
///
/// # Errors
/// [`CallError::Connect`] and [`CallError::Handshake`].
pub fn connect(peer: HttpPeer<'_>, mut dialling: Deadline, handshake: Deadline) -> Result<Stream, CallError> {
    let socket = dial_blocking(peer.address, peer.source, &mut dialling);
    let socket = socket.and_then(|socket| DeadlineSocket::new(socket, handshake)).map_err(CallError::Connect)?;
    let Some(tls) = peer.tls else { return Ok(Stream::Plain(socket)) };
    let shaken = tls.client.shake_hands(tls.name, socket).map_err(CallError::Handshake)?;
    Ok(Stream::Tls(Box::new(shaken)))
}

/// Sends a request over a connection, and reads its answer.
///
/// # Errors
/// [`CallError`], but for those of connecting. The connection is then of no more use.
pub fn exchange(stream: &mut Stream, request: &HttpRequest<'_>, deadline: &Deadline) -> Result<HttpAnswer, CallError> {
    *stream.deadline() = deadline.clone();
    let sent = stream.write_all(request.head).and_then(|()| stream.write_all(request.body));
    sent.and_then(|()| stream.flush()).map_err(CallError::Broken)?;
    read_answer(stream, request.is_head, request.answer_bytes_max)
}

/// Reads some bytes; none is the end of the stream.
fn read_some<'a>(stream: &mut impl Read, buffer: &'a mut [u8]) -> Result<&'a [u8], CallError> {
    let read = stream.read(buffer).map_err(CallError::Broken)?;
    Ok(&buffer[..read])
}

fn cut_short() -> CallError {
    CallError::Broken(io::ErrorKind::UnexpectedEof.into())
}

/// Reads the head of an answer, past interim ones; `bytes` then begins with it.
fn read_head(stream: &mut impl Read, bytes: &mut Vec<u8>, buffer: &mut [u8], to_head: bool) -> Result<Head, CallError> {
    let mut interim_bytes = 0;
    loop {
        match response::head(bytes, to_head)? {
            Some(head) if head.status >= 200 => return Ok(head),
            Some(interim) => {
                interim_bytes += interim.head_bytes;
                if interim_bytes > HEAD_BYTES_MAX {
                    return Err(CallError::TooManyInterim);
                }
                bytes.drain(..interim.head_bytes);
                continue;
            }
            None => {}
        }
        let fresh = read_some(stream, buffer)?;
        if fresh.is_empty() {
            return Err(cut_short());
        }
        bytes.extend_from_slice(fresh);
    }
}

/// Reads one answer, however it is framed.
fn read_answer(stream: &mut impl Read, to_head: bool, bytes_max: usize) -> Result<HttpAnswer, CallError> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; READ_BYTES]);
    let Head { status, head_bytes, framing, keep_alive, content_length, .. } =
        read_head(stream, &mut bytes, &mut buffer, to_head)?;
    if matches!(framing, BodyFraming::Length(length) if length > bytes_max as u64) {
        return Err(CallError::TooLong(bytes_max));
    }
    let behind_head = bytes.split_off(head_bytes);
    let (mut body, mut chunks) = (Vec::new(), Chunks::default());
    let mut fresh = behind_head.as_slice();
    loop {
        let (taken, is_whole) = match framing {
            BodyFraming::Chunked => {
                let taken = chunks.take(fresh, |data| body.extend_from_slice(data))?;
                (taken, chunks.done())
            }
            BodyFraming::Length(length) => {
                let missing = length as usize - body.len();
                let taken = fresh.len().min(missing);
                body.extend_from_slice(&fresh[..taken]);
                (taken, taken == missing)
            }
            BodyFraming::UntilClose => {
                body.extend_from_slice(fresh);
                (fresh.len(), false)
            }
        };
        if body.len() > bytes_max {
            return Err(CallError::TooLong(bytes_max));
        }
        // What follows an answer belongs to no request: it must not be read as the answer to the next one.
        let keep_alive = keep_alive && taken == fresh.len();
        if is_whole {
            return Ok(HttpAnswer { status, content_length, keep_alive, body, head: bytes });
        }
        fresh = read_some(stream, &mut buffer)?;
        if fresh.is_empty() {
            // Only a body without a length of its own is whole by the close.
            return match framing {
                BodyFraming::UntilClose => {
                    Ok(HttpAnswer { status, content_length, keep_alive: false, body, head: bytes })
                }
                BodyFraming::Chunked | BodyFraming::Length(_) => Err(cut_short()),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};
    use std::thread::JoinHandle;

    use super::*;
    use crate::deadline::CancelToken;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Gives its first bytes in one read and the others in another.
    fn cut(text: &str, at: usize) -> impl Read {
        let (first, rest) = text.as_bytes().split_at(at);
        first.chain(rest)
    }

    #[test]
    fn an_answer_cut_anywhere_is_read_whole() {
        for (text, to_head, body, keep_alive) in [
            ("HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 4\r\n\r\nbody", false, "body", true),
            (
                "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody",
                false,
                "body",
                false,
            ),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 0\r\n\r\n", false, "", true),
            (
                "HTTP/1.1 200 OK\r\nServer: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbod\r\n1\r\ny\r\n0\r\n\r\n",
                false,
                "body",
                true,
            ),
            ("HTTP/1.0 200 OK\r\nServer: a\r\n\r\nbody", false, "body", false),
            ("HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 4\r\n\r\n", true, "", true),
        ] {
            for at in 0..text.len() {
                let answer = read_answer(&mut cut(text, at), to_head, 4).unwrap();
                assert_eq!(answer.body, body.as_bytes(), "{text:?} cut at {at}");
                assert_eq!((answer.status, answer.keep_alive), (200, keep_alive), "{text:?} cut at {at}");
                assert_eq!((answer.header("server"), answer.first_line().ends_with("200 OK")), (Some("a"), true));
            }
        }
    }

    #[test]
    fn an_answer_that_ends_before_its_length_is_none() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        ] {
            for end in 0..text.len() {
                let error = read_answer(&mut &text.as_bytes()[..end], false, 4).unwrap_err();
                let is_cut = matches!(&error, CallError::Broken(error) if error.kind() == io::ErrorKind::UnexpectedEof);
                assert!(is_cut, "{text:?} up to {end}: {error}");
            }
        }
    }

    #[test]
    fn a_body_has_its_limit_however_it_is_framed() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 2049\r\n\r\n".to_owned(),
            format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(2049)),
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n801\r\n{}\r\n0\r\n\r\n", "x".repeat(2049)),
        ] {
            let error = read_answer(&mut text.as_bytes(), false, 2048).unwrap_err();
            assert_eq!(error.to_string(), "it is longer than 2 KiB", "{text}");
        }
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(HEAD_BYTES_MAX / 25 + 1);
        let error = read_answer(&mut interim.as_bytes(), false, 0).unwrap_err();
        assert!(matches!(error, CallError::TooManyInterim), "{error}");
        let error = read_answer(&mut "SSH-2.0-OpenSSH\r\n".as_bytes(), false, 0).unwrap_err();
        assert!(matches!(error, CallError::Malformed(Malformed::Syntax)), "{error}");
    }

    #[test]
    fn bytes_behind_an_answer_are_not_the_next_one() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyHTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
        ] {
            let answer = read_answer(&mut text.as_bytes(), false, 4).unwrap();
            assert_eq!((answer.body.as_slice(), answer.keep_alive), (&b"body"[..], false), "{text:?}");
        }
    }

    /// Takes one connection, reads a request of this length, answers, and waits for the other end to close.
    fn server(request_bytes: usize, answer: &'static str) -> (SocketAddr, JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(MINUTE)).unwrap();
            let mut request = vec![0; request_bytes];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            // Until the caller has gone: an answer that is not whole stays so.
            let _ = stream.read_to_end(&mut Vec::new());
            request
        });
        (address, serving)
    }

    #[test]
    fn a_call_sends_head_and_body_and_has_one_deadline() {
        let request =
            HttpRequest { head: b"PUT / HTTP/1.1\r\n\r\n", body: b"12", is_head: false, answer_bytes_max: 16 };
        for (limit, answer, expected) in [
            (MINUTE, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", Ok((404, b"no".to_vec()))),
            (Duration::from_millis(100), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nn", Err(100)),
        ] {
            let (address, serving) = server(20, answer);
            let peer = HttpPeer { address, source: None, tls: None };
            let answered = call(peer, &request, MINUTE, &Deadline::new(limit, &CancelToken::Nothing));
            match (&answered, expected) {
                (Ok(answer), Ok((status, body))) => assert_eq!((answer.status, &answer.body), (status, &body)),
                (Err(error), Err(ms)) => assert_eq!(error.wait_end(), Some(WaitEnd::Late(Duration::from_millis(ms)))),
                (answered, expected) => panic!("{answered:?}, and not {expected:?}"),
            }
            if answered.is_ok() {
                assert_eq!(serving.join().unwrap(), b"PUT / HTTP/1.1\r\n\r\n12");
            }
        }
    }

    #[test]
    fn where_nobody_listens_the_connection_is_what_failed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = HttpPeer { address: listener.local_addr().unwrap(), source: None, tls: None };
        drop(listener);
        let request = HttpRequest { head: b"", body: b"", is_head: false, answer_bytes_max: 0 };
        let error = call(peer, &request, MINUTE, &Deadline::new(MINUTE, &CancelToken::Nothing)).unwrap_err();
        assert!(matches!(&error, CallError::Connect(e) if e.kind() == io::ErrorKind::ConnectionRefused), "{error}");
    }
}
