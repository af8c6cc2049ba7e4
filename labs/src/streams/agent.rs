//! What exec starts in place of `linerate agent attach`: it says what an agent says of a load, and drives none. Five
//! hundred of it fit a small machine. It shares no code with linerate and speaks as docs/agent.md describes.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::histogram;
use crate::Outcome;

/// Operations of each interval, and occupied buckets of each of their histograms.
pub(super) const OPS: [&str; 4] = ["get", "put", "stat", "delete"];
pub(super) const BUCKETS: usize = 512;

/// How long it goes on without a message.
const LEASE: Duration = Duration::from_secs(30);

/// How often its machine is read.
const READ_EACH: Duration = Duration::from_secs(1);

/// Requests of each operation in an interval, and bytes of each.
const REQUESTS: u64 = BUCKETS as u64;
const BYTES: u64 = 4096;

pub(crate) fn run() -> Outcome {
    let (tell, came) = channel();
    thread::spawn(move || read(&tell));
    let mut agent = Agent::begin();
    while let Some(message) = agent.next(&came)? {
        if !agent.take(&message)? {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Messages, until there are none.
fn read(tell: &Sender<Value>) {
    let mut input = io::stdin().lock();
    loop {
        let mut length = [0; 4];
        let mut message = Vec::new();
        let whole = input.read_exact(&mut length).and_then(|()| {
            message.resize(u32::from_le_bytes(length) as usize, 0);
            input.read_exact(&mut message)
        });
        let Some(message) = whole.ok().and_then(|()| serde_json::from_slice(&message).ok()) else { return };
        if tell.send(message).is_err() {
            return;
        }
    }
}

fn say(message: &Value) -> io::Result<()> {
    let json = message.to_string();
    let length = u32::try_from(json.len()).map_err(io::Error::other)?;
    let mut output = io::stdout().lock();
    output.write_all(&length.to_le_bytes())?;
    output.write_all(json.as_bytes())?;
    output.flush()
}

fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A point that is driven, or would be.
struct Point {
    number: u64,
    /// Where the first interval begins, by the agent's clock.
    from_ns: i64,
    interval_ns: i64,
    all: u64,
    reported: u64,
    is_recorded: bool,
}

struct Agent {
    zero_ns: i64,
    heard: Instant,
    read_at: Instant,
    /// What was asked for last.
    order: Value,
    point: Option<Point>,
    encoded: String,
}

impl Agent {
    fn begin() -> Agent {
        let now = Instant::now();
        let encoded = histogram::of_buckets(BUCKETS);
        Agent { zero_ns: unix_ns(), heard: now, read_at: now, order: Value::Null, point: None, encoded }
    }

    /// The next message, while what is due is said; nothing at the end.
    fn next(&mut self, came: &Receiver<Value>) -> io::Result<Option<Value>> {
        loop {
            match came.recv_timeout(self.due()?) {
                Ok(message) => {
                    self.heard = Instant::now();
                    return Ok(Some(message));
                }
                Err(RecvTimeoutError::Timeout) if self.heard.elapsed() < LEASE => {}
                Err(_) => return Ok(None),
            }
        }
    }

    /// Whether it goes on.
    fn take(&mut self, message: &Value) -> io::Result<bool> {
        let now_ns = unix_ns();
        if message["attach"].is_number() {
            let again = json!({"refused": "unknown"});
            let first = json!({"taken": {"taken": 0, "lease_ms": LEASE.as_millis()}});
            let is_again = message["is_again"] == true;
            say(if is_again { &again } else { &first })?;
            return Ok(!is_again);
        }
        if let Some(hello) = message.get("hello") {
            say(&json!({"hello": {
                "protocol": hello["protocol"], "linerate": env!("CARGO_PKG_VERSION"), "token": hello["token"],
                "allowed": "load", "pid": 1, "is_root": false,
                "machine": {
                    "kernel": "simulated", "cpu_model": "simulated", "cpus": 64, "numa_nodes": 1,
                    "memory_bytes": 1_u64 << 38, "nics": [], "clocksource": "tsc", "virtualized": true,
                },
            }}))?;
        } else if let Some(exchange) = message.get("exchange") {
            let (number, answered_ns) = (&exchange["number"], unix_ns());
            say(&json!({"exchange": {"number": number, "taken_ns": now_ns, "answered_ns": answered_ns}}))?;
        } else if message.get("load").is_some() {
            say(&json!({"load": {"loaded": {"zero_ns": self.zero_ns, "threads": 1}}}))?;
            self.read_at = Instant::now();
        } else if let Some(order) = message.get("point") {
            self.order = order.clone();
            say(&json!({"load": {"ready": {"point": order["point"]}}}))?;
        } else if let Some(start) = message.get("start") {
            self.start(start["at_ns"].as_i64().unwrap_or(now_ns))?;
        } else if let Some(stop) = message.get("stop") {
            self.point = None;
            self.end(&stop["reason"], 0, 0)?;
        } else if message == "end" {
            say(&json!({"end": {"reason": "asked"}}))?;
            return Ok(false);
        }
        Ok(true)
    }

    fn start(&mut self, at_ns: i64) -> io::Result<()> {
        let order = &self.order;
        if let Some(until) = order["until"]["written"].as_u64() {
            let written = until.saturating_sub(order["write_first"].as_u64().unwrap_or(0));
            return self.end(&"objects-exhausted".into(), written, until);
        }
        self.point = Some(Point {
            number: order["point"].as_u64().unwrap_or(0),
            from_ns: at_ns,
            interval_ns: order["interval_ns"].as_i64().unwrap_or(i64::MAX),
            all: order["until"]["intervals"].as_u64().unwrap_or(0),
            reported: 0,
            is_recorded: order["is_recorded"] == true,
        });
        Ok(())
    }

    fn end(&self, reason: &Value, written: u64, until: u64) -> io::Result<()> {
        say(&json!({"load": {"end": {
            "point": self.order["point"], "ended": reason, "written_until": until, "stored": written, "deleted": 0,
            "connections": 8, "unended_writes": 0, "unfinished": [], "requests": written, "bytes": written * BYTES,
            "errors": {}, "merged": 0,
        }}}))
    }

    /// Says what is due; how long nothing is.
    fn due(&mut self) -> io::Result<Duration> {
        let now_ns = unix_ns();
        if !self.order.is_null() && self.read_at.elapsed() >= READ_EACH {
            self.read_at += READ_EACH;
            say(&json!({"load": {"reading": {"at_ms": (now_ns - self.zero_ns) / 1_000_000}}}))?;
        }
        let mut wait = READ_EACH;
        if let Some(point) = &mut self.point {
            while point.reported < point.all && now_ns >= point.end_ns(point.reported) {
                point.tell(self.zero_ns, &self.encoded)?;
                point.reported += 1;
            }
            let next_ns = u64::try_from(point.end_ns(point.reported) - now_ns).unwrap_or(0);
            wait = wait.min(Duration::from_nanos(next_ns));
        }
        if self.point.as_ref().is_some_and(|point| point.reported == point.all) {
            self.point = None;
            self.end(&"duration".into(), 0, 0)?;
        }
        Ok(wait.max(Duration::from_millis(5)))
    }
}

impl Point {
    fn end_ns(&self, interval: u64) -> i64 {
        let ended = i64::try_from(interval + 1).unwrap_or(i64::MAX);
        self.from_ns.saturating_add(self.interval_ns.saturating_mul(ended))
    }

    fn tell(&self, zero_ns: i64, encoded: &str) -> io::Result<()> {
        let ms = |ns: i64| (ns - zero_ns) / 1_000_000;
        let (to_ms, from_ms) = (ms(self.end_ns(self.reported)), ms(self.end_ns(self.reported) - self.interval_ns));
        let bytes = REQUESTS * BYTES;
        let counts = |op| {
            let moved = if ["get", "put"].contains(&op) { bytes } else { 0 };
            json!({"op": op, "requests": REQUESTS, "bytes": moved, "moved_bytes": moved, "failed": 0})
        };
        let pulse: Vec<Value> = OPS.into_iter().map(counts).collect();
        let length_ms = to_ms - from_ms;
        say(&json!({"load": {"pulse": {
            "point": self.number, "first": self.reported, "count": 1, "length_ms": length_ms, "rows": pulse,
        }}}))?;
        if !self.is_recorded {
            return Ok(());
        }
        let row = |op| {
            let moved = if ["get", "put"].contains(&op) { bytes } else { 0 };
            json!({
                "host": 0, "op": op, "requests": REQUESTS, "bytes": moved, "moved_bytes": moved,
                "ttfb": encoded, "total": encoded,
            })
        };
        let rows: Vec<Value> = OPS.into_iter().map(row).collect();
        say(&json!({"load": {"interval": {"point": self.number, "is_last": true, "interval": {
            "point": 0, "from_ms": from_ms, "to_ms": to_ms, "client_cpu_ns": 1_000_000, "thread_cpu_ns": [1_000_000],
            "rows": rows,
        }}}}))
    }
}
