//! `bareloop`: the cheapest reasonable HTTP/1.1 client on epoll, as a yardstick for linerate's processor time.
//!
//! It keeps a number of requests in flight over keep-alive connections and does nothing else: no signatures, no
//! verification, no histograms, no clock per request. Every choice below was the cheapest of those measured against a
//! MinIO on the same machine: the receive mark, discarding bodies in the kernel, the small body buffer.
//!
//! ```text
//! bareloop --addr 127.0.0.1:9000 --bucket b --op get|put --size BYTES
//!          [--concurrency 16] [--threads 2] [--objects 64] [--prefix p/] [--seconds 5]
//! ```
//!
//! GET reads `{prefix}{i}-{size}`, which must exist; PUT writes `{prefix}w{thread}-{i % 64}-{size}`. The last line of
//! output is JSON. `cpu_s` is the processor time of the process, and everything else is counted, over the timed window
//! alone: after all connections are made and half a second of warm-up. Bytes are counted as they move, so that requests
//! cut by the window's edges count in part.

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Room for a response's head and whatever of its body comes with it.
const HEAD_BYTES: usize = 8 << 10;
/// With less than this left of a body, two more system calls cost as much as the wake-ups they save.
const MARK_FROM_BYTES: usize = 32 << 10;
/// Wake only once this much of a body has arrived. The kernel caps it at half of `tcp_rmem`'s maximum and raises the
/// receive buffer to twice the mark by itself.
const MARK_BYTES: usize = 8 << 20;
/// Most to discard in one call. Nothing is copied, so the length costs nothing.
const DISCARD_BYTES: usize = 64 << 20;
/// The body buffer, sent over and over: small enough to stay in the second-level cache beside what the kernel copies.
const BODY_BYTES: usize = 256 << 10;
/// Slices in one system call, the head's included. Each call pushes what it sent, so that few and large ones are
/// cheaper by up to a half; a call takes what there is room for.
const SLICES: usize = 64;
const WARMUP: Duration = Duration::from_millis(500);

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Get,
    Put,
}

struct Args {
    addr: SocketAddr,
    bucket: String,
    op: Op,
    size: usize,
    concurrency: usize,
    threads: usize,
    objects: usize,
    prefix: String,
    seconds: f64,
}

/// Counters of one thread, on cache lines of their own.
#[derive(Default)]
#[repr(align(128))]
struct Tally {
    requests: AtomicU64,
    bytes: AtomicU64,
    non_2xx: AtomicU64,
}

#[derive(Clone, Copy)]
enum Phase {
    Send,
    Head,
    Body,
}

struct Connection {
    socket: OwnedFd,
    phase: Phase,
    request: usize,
    sent: usize,
    head: Box<[u8; HEAD_BYTES]>,
    filled: usize,
    body_left: usize,
    mark: usize,
    waits_for_room: bool,
}

struct Worker<'a> {
    epoll: OwnedFd,
    /// Heads of the requests, one per object.
    heads: Vec<Vec<u8>>,
    next: usize,
    /// Body bytes that each request sends.
    upload: usize,
    body: &'a [u8],
    discarded: Vec<u8>,
    tally: &'a Tally,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(|args| run(&args)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bareloop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(words: impl Iterator<Item = String>) -> Result<Args, Failure> {
    let words: Vec<String> = words.collect();
    let mut given = BTreeMap::new();
    for pair in words.chunks(2) {
        match pair {
            [flag, value] if flag.starts_with("--") => given.insert(flag.as_str(), value.as_str()),
            _ => return Err(format!("expected --flag value, got {pair:?}").into()),
        };
    }
    let args = Args {
        addr: take(&mut given, "--addr", None)?,
        bucket: take(&mut given, "--bucket", None)?,
        op: match take::<String>(&mut given, "--op", None)?.as_str() {
            "get" => Op::Get,
            "put" => Op::Put,
            other => return Err(format!("--op {other:?}: expected get or put").into()),
        },
        size: take(&mut given, "--size", None)?,
        concurrency: take(&mut given, "--concurrency", Some("16"))?,
        threads: take(&mut given, "--threads", Some("2"))?,
        objects: take(&mut given, "--objects", Some("64"))?,
        prefix: take(&mut given, "--prefix", Some(""))?,
        seconds: take(&mut given, "--seconds", Some("5"))?,
    };
    if let Some(flag) = given.keys().next() {
        return Err(format!("unknown flag {flag:?}").into());
    }
    if args.threads == 0 || args.objects == 0 || args.concurrency < args.threads {
        return Err("--threads and --objects must be at least 1, and --concurrency at least --threads".into());
    }
    if !(0.0..=3600.0).contains(&args.seconds) {
        return Err(format!("--seconds {}: expected 0 to 3600", args.seconds).into());
    }
    Ok(args)
}

fn take<T: FromStr>(given: &mut BTreeMap<&str, &str>, flag: &str, default: Option<&str>) -> Result<T, Failure>
where
    T::Err: std::fmt::Display,
{
    let value = given.remove(flag).or(default).ok_or_else(|| format!("{flag} is missing"))?;
    value.parse().map_err(|error| format!("{flag} {value:?}: {error}").into())
}

fn run(args: &Args) -> Result<String, Failure> {
    let body = noise(BODY_BYTES);
    let tallies: Vec<Tally> = (0..args.threads).map(|_| Tally::default()).collect();
    let mut workers = Vec::new();
    for (thread, tally) in tallies.iter().enumerate() {
        workers.push(connect(args, thread, &body, tally)?);
    }
    let (ready, stop) = (Barrier::new(args.threads + 1), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .into_iter()
            .map(|(worker, connections)| scope.spawn(|| drive(worker, connections, &ready, &stop)))
            .collect();
        ready.wait();
        std::thread::sleep(WARMUP);
        let (began, cpu_s, before) = (Instant::now(), process_cpu_s(), sum(&tallies));
        std::thread::sleep(Duration::from_secs_f64(args.seconds));
        let (seconds, cpu_s, after) = (began.elapsed().as_secs_f64(), process_cpu_s() - cpu_s, sum(&tallies));
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        let [requests, bytes, non_2xx] = std::array::from_fn(|i| after[i] - before[i]);
        Ok(format!(
            r#"{{"requests":{requests},"bytes":{bytes},"seconds":{seconds:.6},"cpu_s":{cpu_s:.6},"non_2xx":{non_2xx}}}"#
        ))
    })
}

fn connect<'a>(
    args: &Args,
    thread: usize,
    body: &'a [u8],
    tally: &'a Tally,
) -> Result<(Worker<'a>, Vec<Connection>), Failure> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let count = args.concurrency / args.threads + usize::from(thread < args.concurrency % args.threads);
    let mut connections = Vec::with_capacity(count);
    for token in 0..count {
        let stream =
            TcpStream::connect(args.addr).map_err(|error| format!("cannot connect to {}: {error}", args.addr))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let socket = OwnedFd::from(stream);
        epoll::add(&epoll, &socket, EventData::new_u64(token as u64), EventFlags::IN)?;
        connections.push(Connection {
            socket,
            phase: Phase::Send,
            request: 0,
            sent: 0,
            head: Box::new([0; HEAD_BYTES]),
            filled: 0,
            body_left: 0,
            mark: 1,
            waits_for_room: false,
        });
    }
    let worker = Worker {
        epoll,
        heads: (0..args.objects).map(|object| request_head(args, thread, object)).collect(),
        next: thread * args.objects / args.threads,
        upload: if args.op == Op::Put { args.size } else { 0 },
        body,
        discarded: Vec::with_capacity(DISCARD_BYTES),
        tally,
    };
    Ok((worker, connections))
}

fn request_head(args: &Args, thread: usize, object: usize) -> Vec<u8> {
    let Args { addr, bucket, prefix, size, .. } = args;
    match args.op {
        Op::Get => format!("GET /{bucket}/{prefix}{object}-{size} HTTP/1.1\r\nHost: {addr}\r\n\r\n"),
        Op::Put => format!(
            "PUT /{bucket}/{prefix}w{thread}-{}-{size} HTTP/1.1\r\nHost: {addr}\r\nContent-Length: {size}\r\n\r\n",
            object % 64
        ),
    }
    .into_bytes()
}

fn drive(
    mut worker: Worker<'_>,
    mut connections: Vec<Connection>,
    ready: &Barrier,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    ready.wait();
    for (token, connection) in connections.iter_mut().enumerate() {
        worker.begin(connection, token)?;
    }
    let timeout = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    let mut events = Vec::with_capacity(connections.len());
    while !stop.load(Ordering::Relaxed) {
        match epoll::wait(&worker.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events.drain(..) {
            let token = event.data.u64() as usize;
            let connection = &mut connections[token];
            match connection.phase {
                Phase::Send => worker.send(connection, token)?,
                Phase::Head => worker.read_head(connection, token)?,
                Phase::Body => worker.discard_body(connection, token)?,
            }
        }
    }
    Ok(())
}

impl Worker<'_> {
    fn begin(&mut self, connection: &mut Connection, token: usize) -> Result<(), Failure> {
        connection.request = self.next % self.heads.len();
        self.next += 1;
        (connection.sent, connection.filled) = (0, 0);
        connection.phase = Phase::Send;
        self.send(connection, token)
    }

    /// Sends what is left of the request; an answer that comes before its end waits in the socket.
    fn send(&mut self, connection: &mut Connection, token: usize) -> Result<(), Failure> {
        let head = &self.heads[connection.request];
        let total = head.len() + self.upload;
        while connection.sent < total {
            let offset = connection.sent.saturating_sub(head.len());
            let result = if self.upload == 0 {
                send(&connection.socket, &head[connection.sent..], SendFlags::NOSIGNAL)
            } else {
                self.send_with_body(&connection.socket, &head[connection.sent.min(head.len())..], offset)
            };
            match result {
                Ok(count) => {
                    connection.sent += count;
                    let moved = connection.sent.saturating_sub(head.len()) - offset;
                    count_up(&self.tally.bytes, moved);
                }
                Err(Errno::AGAIN) => return self.watch_room(connection, token, true),
                Err(error) => return Err(format!("send: {error}").into()),
            }
        }
        connection.phase = Phase::Head;
        self.watch_room(connection, token, false)
    }

    /// One call for what is left of the head and as much of the body, from `offset` on, as a call takes.
    fn send_with_body(&self, socket: &OwnedFd, head: &[u8], offset: usize) -> Result<usize, Errno> {
        let mut slices = [IoSlice::new(&[]); SLICES];
        slices[0] = IoSlice::new(head);
        let (mut count, mut at) = (1, offset);
        while at < self.upload && count < SLICES {
            let from = at % self.body.len();
            let slice = &self.body[from..(from + self.upload - at).min(self.body.len())];
            slices[count] = IoSlice::new(slice);
            (count, at) = (count + 1, at + slice.len());
        }
        sendmsg(socket, &slices[..count], &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)
    }

    /// Watches a socket for room to send only while a send is blocked.
    fn watch_room(&self, connection: &mut Connection, token: usize, on: bool) -> Result<(), Failure> {
        if connection.waits_for_room != on {
            let flags = if on { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN };
            epoll::modify(&self.epoll, &connection.socket, EventData::new_u64(token as u64), flags)?;
            connection.waits_for_room = on;
        }
        Ok(())
    }

    fn read_head(&mut self, connection: &mut Connection, token: usize) -> Result<(), Failure> {
        let room = &mut connection.head[connection.filled..];
        let count = match recv(&connection.socket, room, RecvFlags::empty()) {
            Ok((_, 0)) => return Err("connection closed, or a response head above 8 KiB".into()),
            Ok((_, count)) => count,
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(format!("recv: {error}").into()),
        };
        connection.filled += count;
        let came = &connection.head[..connection.filled];
        let Some(end) = came.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else {
            return Ok(());
        };
        let (status_2xx, length) = parse_head(&came[..end])?;
        count_up(&self.tally.non_2xx, usize::from(!status_2xx));
        let with_head = came.len() - end;
        self.count_download(with_head);
        connection.body_left =
            length.checked_sub(with_head).ok_or("a response is longer than its content-length says")?;
        connection.phase = Phase::Body;
        if connection.body_left == 0 {
            return self.finish(connection, token);
        }
        if connection.body_left >= MARK_FROM_BYTES {
            return set_mark(connection, connection.body_left.min(MARK_BYTES));
        }
        // A full head buffer means that more is waiting already.
        if count == came.len() && count == HEAD_BYTES { self.discard_body(connection, token) } else { Ok(()) }
    }

    fn discard_body(&mut self, connection: &mut Connection, token: usize) -> Result<(), Failure> {
        let length = connection.body_left.min(DISCARD_BYTES);
        // With `TRUNC`, TCP drops the bytes and does not write to the buffer: its pages are never even mapped.
        let room: &mut [MaybeUninit<u8>] = &mut self.discarded.spare_capacity_mut()[..length];
        let count = match recv(&connection.socket, room, RecvFlags::TRUNC) {
            Ok((_, 0)) => return Err("connection closed within a body".into()),
            Ok((_, count)) => count,
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(format!("recv: {error}").into()),
        };
        self.count_download(count);
        connection.body_left -= count;
        if connection.body_left == 0 {
            return self.finish(connection, token);
        }
        if connection.mark > connection.body_left { set_mark(connection, connection.body_left) } else { Ok(()) }
    }

    fn finish(&mut self, connection: &mut Connection, token: usize) -> Result<(), Failure> {
        count_up(&self.tally.requests, 1);
        set_mark(connection, 1)?;
        self.begin(connection, token)
    }

    fn count_download(&self, count: usize) {
        if self.upload == 0 {
            count_up(&self.tally.bytes, count);
        }
    }
}

/// Whether the status is 2xx, and the length of the body.
fn parse_head(head: &[u8]) -> Result<(bool, usize), Failure> {
    const NAME: &[u8] = b"content-length:";
    let length = head
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.split_at_checked(NAME.len()).filter(|(name, _)| name.eq_ignore_ascii_case(NAME)))
        .and_then(|(_, value)| std::str::from_utf8(value).ok()?.trim().parse().ok());
    match (head.strip_prefix(b"HTTP/1.1 "), length) {
        (Some(status), Some(length)) => Ok((status.starts_with(b"2"), length)),
        _ => Err(format!("a response without HTTP/1.1 status or content-length: {}", head.escape_ascii()).into()),
    }
}

/// Sets how many bytes must have come before epoll reports the socket readable; rustix has no call for it.
#[expect(unsafe_code, reason = "setsockopt through libc")]
fn set_mark(connection: &mut Connection, mark: usize) -> Result<(), Failure> {
    if connection.mark == mark {
        return Ok(());
    }
    let value = libc::c_int::try_from(mark)?;
    let size = libc::socklen_t::try_from(size_of_val(&value))?;
    // SAFETY: the descriptor is open for as long as `connection` is borrowed, and the kernel only reads `size` bytes,
    // which is the size of `value`.
    let code = unsafe {
        let fd = connection.socket.as_raw_fd();
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const value).cast(), size)
    };
    if code != 0 {
        return Err(format!("SO_RCVLOWAT: {}", std::io::Error::last_os_error()).into());
    }
    connection.mark = mark;
    Ok(())
}

/// Adds to a counter that only this thread writes: a plain load and store.
fn count_up(counter: &AtomicU64, by: usize) {
    counter.store(counter.load(Ordering::Relaxed) + by as u64, Ordering::Relaxed);
}

fn sum(tallies: &[Tally]) -> [u64; 3] {
    tallies.iter().fold([0; 3], |sum, tally| {
        let counters = [&tally.requests, &tally.bytes, &tally.non_2xx];
        std::array::from_fn(|i| sum[i] + counters[i].load(Ordering::Relaxed))
    })
}

fn process_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32).as_secs_f64()
}

/// Bytes that do not compress (xorshift64).
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_gives_status_and_length_whatever_the_case() {
        for (head, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n", Some((true, 4096))),
            ("HTTP/1.1 204 No Content\r\ncontent-length:0\r\nX: y\r\n\r\n", Some((true, 0))),
            ("HTTP/1.1 503 Slow Down\r\nX-Content-Length: 1\r\nCONTENT-LENGTH: 12\r\n\r\n", Some((false, 12))),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", None),
            ("HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\n", None),
        ] {
            assert_eq!(parse_head(head.as_bytes()).ok(), expected, "{head:?}");
        }
    }

    #[test]
    fn an_unknown_flag_is_named() {
        let words = "--addr 127.0.0.1:1 --bucket b --op get --size 1 --colour red".split(' ').map(String::from);
        assert!(parse(words).err().is_some_and(|error| error.to_string().contains("--colour")));
    }
}
