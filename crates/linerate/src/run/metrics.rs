//! `--metrics`: what a run has done so far, served over HTTP while it goes on.

mod http_server;

use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use linerate_analysis::bottlenecks::client_busy;
use linerate_record::histogram::{Latencies, add_encoded, at_most, empty};
use linerate_record::run::{Interval, PointSpec, Purpose};
use linerate_report::openmetrics::{BOUNDS_NS, Live, Seconds, render};

use crate::terminal::failure::Failure;
use crate::terminal::key_masks;
pub(crate) use http_server::{TextServer, bind, serve};

/// Kinds of errors told apart per host and operation; others count as one.
const KINDS_MAX: usize = 64;

/// Serves figures until dropped.
pub(crate) struct MetricsServer {
    live: Arc<Mutex<Live>>,
    _served: TextServer,
}

/// Begins to serve, and says where. Without hosts, the counts of several clients are served: of all hosts together.
pub(crate) fn start(
    listener: TcpListener,
    hosts: Option<Vec<String>>,
    points: usize,
    quiet: bool,
) -> Result<MetricsServer, Failure> {
    let live = Live {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        client_busy: hosts.is_some().then_some(0.0),
        hosts: hosts.unwrap_or_default(),
        points_requested: points as u64,
        ..Live::default()
    };
    let live = Arc::new(Mutex::new(live));
    let shared = Arc::clone(&live);
    let text = move || render(&shared.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(MetricsServer { live, _served: serve(listener, quiet, text)? })
}

impl MetricsServer {
    fn live(&self) -> MutexGuard<'_, Live> {
        // Whoever panicked while it held the lock has left plain figures behind.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
                let kind = key_masks::mask_keys(kind);
                let known = done.failed.len() < KINDS_MAX || done.failed.contains_key(&kind);
                *done.failed.entry(if known { kind } else { "other".to_owned() }).or_default() += n;
            }
            // In an open loop, from when requests were due: else what the target held up would not count.
            add_latencies(live.ttfb.entry(row.op).or_default(), row.ttfb_intended.as_ref().unwrap_or(&row.ttfb));
            add_latencies(live.total.entry(row.op).or_default(), row.total_intended.as_ref().unwrap_or(&row.total));
        }
    }

    /// An interval of one of several clients, which comes later than its counts: what those do not have.
    pub(crate) fn record_client_interval(&self, purpose: Purpose, figures: &Interval) {
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
                    add_latencies(seconds.entry(row.op).or_default(), &latencies);
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

fn add_latencies(seconds: &mut Seconds, latencies: &Latencies) {
    for (sum, n) in seconds.up_to.iter_mut().zip(at_most(latencies, &BOUNDS_NS)) {
        *sum += n;
    }
    seconds.count += latencies.len();
    seconds.sum_s += latencies.mean() * latencies.len() as f64 / 1e9;
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use linerate_record::run::{IntervalRow, Op};

    use super::*;

    #[test]
    fn kinds_of_errors_are_served_without_keys() {
        key_masks::remember_secret("Key-of-these/metrics+1");
        let mut row = IntervalRow::counting(0, Op::Get);
        row.errors.insert("http 403 (Key-of-these%2Fmetrics%2B1)".to_owned(), 7);
        let figures = Interval { to_ms: 1, rows: vec![row], ..Interval::default() };
        let listener = bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let exporter = start(listener, Some(vec!["h:1".into()]), 1, true).unwrap();
        exporter.interval(Purpose::Measure, &figures, false);
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut served = String::new();
        stream.read_to_string(&mut served).unwrap();
        assert!(served.contains("http 403 (***)") && !served.contains("Key-of-these"), "{served}");
    }
}
