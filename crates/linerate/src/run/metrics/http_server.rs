//! One page of text over HTTP, as whoever scrapes metrics asks for it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use linerate_report::openmetrics::CONTENT_TYPE;

use crate::terminal::failure::Failure;
use crate::terminal::progress;

/// How long one caller may take, to ask and to be answered: there is one thread for all.
const CALLER_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the end of a run waits for the address to be free again.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

/// Largest head of a request.
const HEAD_BYTES_MAX: usize = 8 << 10;

pub(crate) struct TextServer {
    stop: Arc<AtomicBool>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

/// Takes the address of `--metrics`.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| {
        Failure::usage(format!("cannot serve --metrics on {address}: {error}; name a free address of this machine"))
    })
}

/// Begins to serve a text, made anew for each caller, and says where.
pub(crate) fn serve(
    listener: TcpListener,
    quiet: bool,
    text: impl Fn() -> String + Send + 'static,
) -> Result<TextServer, Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("cannot serve --metrics: {error}"));
    let address = listener.local_addr().map_err(failed)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stop_flag = Arc::clone(&stop);
    let thread = Some(std::thread::spawn(move || answer_all(&listener, &text, &stop_flag)));
    if !quiet {
        progress::print_error(&format!("metrics  http://{address}/metrics"));
    }
    Ok(TextServer { stop, address, thread })
}

impl Drop for TextServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The thread waits for a caller: this is the last one.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            let loopback: std::net::IpAddr = if address.is_ipv4() {
                std::net::Ipv4Addr::LOCALHOST.into()
            } else {
                std::net::Ipv6Addr::LOCALHOST.into()
            };
            address.set_ip(loopback);
        }
        let _ = TcpStream::connect_timeout(&address, CALLER_TIMEOUT);
        // What comes next may want the address; but a caller may say nothing, and the end of a run is not his.
        let until = Instant::now() + SHUTDOWN_TIMEOUT;
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn answer_all(listener: &TcpListener, text: &dyn Fn() -> String, stop: &AtomicBool) {
    loop {
        let caller = listener.accept();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        match caller {
            // Whom an answer did not reach asks again.
            Ok((stream, _)) => drop(answer(stream, text)),
            // Out of descriptors, most likely, which the load may give back.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn answer(mut stream: TcpStream, text: &dyn Fn() -> String) -> std::io::Result<()> {
    let until = Instant::now() + CALLER_TIMEOUT;
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > HEAD_BYTES_MAX {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let mut piece = [0; 1024];
        match stream.read(&mut piece)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => head.extend_from_slice(&piece[..n]),
        }
    }
    let request_line = head.split(|&b| b == b'\r').next().unwrap_or_default();
    let (status, kind, body) =
        if request_line.starts_with(b"GET /metrics ") || request_line.starts_with(b"GET /metrics?") {
            ("200 OK", CONTENT_TYPE, text())
        } else {
            ("404 Not Found", "text/plain; charset=utf-8", "figures are at /metrics\n".to_owned())
        };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.set_write_timeout(Some(CALLER_TIMEOUT))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
