//! `--metrics`: what a run has done so far, served over HTTP while it goes on.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use linerate_analysis::limits::client_busy;
use linerate_record::histogram::{Latencies, add_encoded, at_most, empty};
use linerate_record::run::{Interval, PointSpec, Purpose};
use linerate_report::openmetrics::{BOUNDS_NS, CONTENT_TYPE, Live, Seconds, render};

use crate::failure::Failure;
use crate::{masks, progress};

/// How long one caller may take, to ask and to be answered: there is one thread for all.
const CALLER_MAX: Duration = Duration::from_secs(2);

/// Largest head of a request.
const HEAD_BYTES_MAX: usize = 8 << 10;

/// Kinds of errors told apart per host and operation; others count as one.
const KINDS_MAX: usize = 64;

/// Serves figures until dropped.
pub(crate) struct Exporter {
    live: Arc<Mutex<Live>>,
    stop: Arc<AtomicBool>,
    address: SocketAddr,
}

/// Takes the address of `--metrics`.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| {
        Failure::usage(format!("cannot serve --metrics on {address}: {error}; name a free address of this machine"))
    })
}

/// Begins to serve, and says where. Without hosts, the counts of several clients are served: of all hosts together.
pub(crate) fn start(
    listener: TcpListener,
    hosts: Option<Vec<String>>,
    points: usize,
    quiet: bool,
) -> Result<Exporter, Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("cannot serve --metrics: {error}"));
    let address = listener.local_addr().map_err(failed)?;
    let live = Live {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        client_busy: hosts.is_some().then_some(0.0),
        hosts: hosts.unwrap_or_default(),
        points_asked: points as u64,
        ..Live::default()
    };
    let (live, stop) = (Arc::new(Mutex::new(live)), Arc::new(AtomicBool::new(false)));
    let (shared, reported) = (Arc::clone(&live), Arc::clone(&stop));
    std::thread::spawn(move || serve(&listener, &shared, &reported));
    if !quiet {
        progress::say(&format!("metrics  http://{address}/metrics"));
    }
    Ok(Exporter { live, stop, address })
}

impl Drop for Exporter {
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
        // It is not waited for: a caller may say nothing, and the end of a run is not his.
        let _ = TcpStream::connect_timeout(&address, CALLER_MAX);
    }
}

impl Exporter {
    fn live(&self) -> MutexGuard<'_, Live> {
        // Whoever panicked while it held the lock has left plain figures behind.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A point begins.
    pub(crate) fn begin(&self, purpose: Purpose, spec: &PointSpec) {
        self.live().point = (purpose == Purpose::Measure).then(|| (spec.clone(), true));
    }

    /// An interval has ended.
    pub(crate) fn interval(&self, purpose: Purpose, figures: &Interval<Latencies>, warms_up: bool) {
        let mut live = self.live();
        live.client_cpu_ns += figures.client_cpu_ns;
        // Of several clients, the processor time of threads is not known while they drive.
        live.client_busy = client_busy(&[figures]).or(live.client_busy);
        if purpose != Purpose::Measure {
            return;
        }
        if let Some((_, warmup)) = &mut live.point {
            *warmup = warms_up;
        }
        for row in &figures.rows {
            let done = live.requests.entry((row.host, row.op)).or_default();
            done.succeeded += row.requests;
            done.bytes += row.bytes;
            for (kind, n) in &row.errors {
                // Kinds quote what the target says, which was sent the keys.
                let kind = masks::without_keys(kind);
                let known = done.failed.len() < KINDS_MAX || done.failed.contains_key(&kind);
                *done.failed.entry(if known { kind } else { "other".to_owned() }).or_default() += n;
            }
            // In an open loop, from when requests were due: else what the target held up would not count.
            add(live.ttfb.entry(row.op).or_default(), row.ttfb_intended.as_ref().unwrap_or(&row.ttfb));
            add(live.total.entry(row.op).or_default(), row.total_intended.as_ref().unwrap_or(&row.total));
        }
    }

    /// An interval of one of several clients, which comes later than its counts: what those do not have.
    pub(crate) fn of_client(&self, purpose: Purpose, figures: &Interval) {
        let mut live = self.live();
        live.client_cpu_ns += figures.client_cpu_ns;
        for row in figures.rows.iter().filter(|_| purpose == Purpose::Measure) {
            let live = &mut *live;
            let kinds = [
                (&mut live.ttfb, row.ttfb_intended.as_ref().unwrap_or(&row.ttfb)),
                (&mut live.total, row.total_intended.as_ref().unwrap_or(&row.total)),
            ];
            for (seconds, encoded) in kinds {
                let mut latencies = empty();
                // One that is damaged is told of where the folder is read.
                if add_encoded(&mut latencies, encoded).is_ok() {
                    add(seconds.entry(row.op).or_default(), &latencies);
                }
            }
        }
    }

    /// The point has ended.
    pub(crate) fn end(&self, purpose: Purpose) {
        let mut live = self.live();
        live.point = None;
        live.client_busy = live.client_busy.map(|_| 0.0);
        live.points_done += u64::from(purpose == Purpose::Measure);
    }
}

fn add(seconds: &mut Seconds, latencies: &Latencies) {
    for (sum, n) in seconds.up_to.iter_mut().zip(at_most(latencies, &BOUNDS_NS)) {
        *sum += n;
    }
    seconds.count += latencies.len();
    seconds.sum_s += latencies.mean() * latencies.len() as f64 / 1e9;
}

fn serve(listener: &TcpListener, live: &Mutex<Live>, stop: &AtomicBool) {
    loop {
        let caller = listener.accept();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        match caller {
            // Whom an answer did not reach asks again.
            Ok((stream, _)) => drop(answer(stream, live)),
            // Out of descriptors, most likely, which the load may give back.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn answer(mut stream: TcpStream, live: &Mutex<Live>) -> std::io::Result<()> {
    let until = Instant::now() + CALLER_MAX;
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
    let asked = head.split(|&b| b == b'\r').next().unwrap_or_default();
    let (status, kind, body) = if asked.starts_with(b"GET /metrics ") || asked.starts_with(b"GET /metrics?") {
        let text = render(&live.lock().unwrap_or_else(PoisonError::into_inner));
        ("200 OK", CONTENT_TYPE, text)
    } else {
        ("404 Not Found", "text/plain; charset=utf-8", "figures are at /metrics\n".to_owned())
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.set_write_timeout(Some(CALLER_MAX))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

#[cfg(test)]
mod tests {
    use linerate_record::run::{IntervalRow, Op};

    use super::*;

    #[test]
    fn kinds_of_errors_are_served_without_keys() {
        masks::keep_secret("Key-of-these/metrics+1");
        let mut row = IntervalRow::counting(0, Op::Get);
        row.errors.insert("http 403 (Key-of-these%2Fmetrics%2B1)".to_owned(), 7);
        let figures = Interval {
            point: 0,
            client: 0,
            from_ms: 0,
            to_ms: 1,
            warmup: false,
            client_cpu_ns: 0,
            thread_cpu_ns: vec![],
            target_cpu_ns: None,
            waiting_for_cap: 0,
            rested_ns: 0,
            paused_ns: 0,
            open: None,
            rows: vec![row],
        };
        let listener = bind(([127, 0, 0, 1], 0).into()).unwrap();
        let exporter = start(listener, Some(vec!["h:1".into()]), 1, true).unwrap();
        exporter.interval(Purpose::Measure, &figures, false);
        let mut stream = TcpStream::connect(exporter.address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut served = String::new();
        stream.read_to_string(&mut served).unwrap();
        assert!(served.contains("http 403 (***)") && !served.contains("Key-of-these"), "{served}");
    }
}
