//! A server that misbehaves in one way at a time: a thread per connection, every wait bounded.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest wait for anything, so that no thread outlives its test by much.
const WAIT: Duration = Duration::from_secs(20);

/// What a request was, and where to answer it.
pub(crate) struct ReceivedRequest<'a> {
    /// Method, path and query.
    pub(crate) line: &'a str,
    pub(crate) stream: &'a mut BufReader<TcpStream>,
    /// What the `Range` header says.
    pub(crate) range: Option<String>,
    /// Length of the body that follows, as announced.
    pub(crate) body_bytes: u64,
    /// Size in the key.
    pub(crate) size_bytes: u64,
    /// How many requests this server had before, over all connections.
    pub(crate) number: u64,
    /// How many of them on this connection.
    pub(crate) on_connection: u64,
    pub(crate) at: Instant,
    write: bool,
}

/// What becomes of the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Keep,
    Close,
    Reset,
}

/// How a server answers.
pub(crate) type Answer = Arc<dyn Fn(&mut ReceivedRequest<'_>) -> io::Result<Then> + Send + Sync>;

/// Serves until the process ends.
pub(crate) fn serve(answer: Answer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let number = Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answer, number) = (Arc::clone(&answer), Arc::clone(&number));
            std::thread::spawn(move || connection(stream, &answer, &number));
        }
    });
    address
}

fn connection(stream: TcpStream, answer: &Answer, number: &AtomicU64) {
    let _ = stream.set_read_timeout(Some(WAIT)).and_then(|()| stream.set_write_timeout(Some(WAIT)));
    let _ = stream.set_nodelay(true);
    let mut stream = BufReader::new(stream);
    let mut on_connection = 0;
    while let Ok(Some((line, body_bytes, range))) = head(&mut stream) {
        let at = Instant::now();
        let key = line.split(' ').nth(1).unwrap_or("").split('?').next().unwrap_or("");
        let size_bytes = key.rsplit_once('-').and_then(|(_, digits)| digits.parse().ok()).unwrap_or(0);
        let number = number.fetch_add(1, Ordering::Relaxed);
        let write = line.starts_with("PUT") || line.starts_with("DELETE");
        let stream = &mut stream;
        let mut requested =
            ReceivedRequest { line: &line, range, stream, body_bytes, size_bytes, number, on_connection, at, write };
        let then = answer(&mut requested).unwrap_or(Then::Close);
        on_connection += 1;
        if then == Then::Reset {
            let now = Some(Duration::ZERO);
            let _ = rustix::net::sockopt::set_socket_linger(stream.get_ref(), now);
        }
        if then != Then::Keep {
            return;
        }
    }
}

/// Request line, announced length and range of the next request.
fn head(stream: &mut BufReader<TcpStream>) -> io::Result<Option<(String, u64, Option<String>)>> {
    let (mut first, mut body_bytes, mut range) = (String::new(), 0, None);
    if stream.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim().split_once(':') {
            None => return Ok(Some((first, body_bytes, range))),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                body_bytes = value.trim().parse().unwrap_or(0);
            }
            Some((name, value)) if name.eq_ignore_ascii_case("range") => range = Some(value.trim().to_owned()),
            Some(_) => {}
        }
    }
}

impl ReceivedRequest<'_> {
    /// Sends bytes as they are.
    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes.as_ref())
    }

    /// Reads the request's body.
    pub(crate) fn take_body(&mut self) -> io::Result<()> {
        self.take_part(u64::MAX)
    }

    /// Reads so much of the request's body.
    pub(crate) fn take_part(&mut self, most: u64) -> io::Result<()> {
        let n = self.body_bytes.min(most);
        io::copy(&mut (&mut *self.stream).take(n), &mut io::sink())?;
        self.body_bytes -= n;
        Ok(())
    }

    /// Takes the body and answers as a well-behaved server does.
    pub(crate) fn serve_well(&mut self) -> io::Result<Then> {
        self.take_body()?;
        let body = vec![b'x'; if self.write { 0 } else { self.size_bytes as usize }];
        self.say(reply("200 OK", "", &body))?;
        Ok(Then::Keep)
    }
}

pub(crate) fn reply(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// S3's error document.
pub(crate) fn error(code: &str) -> Vec<u8> {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>").into_bytes()
}

/// Answers as a well-behaved server does.
pub(crate) fn well(requested: &mut ReceivedRequest<'_>) -> io::Result<Then> {
    requested.serve_well()
}
