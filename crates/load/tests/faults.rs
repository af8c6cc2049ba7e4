//! Targets that misbehave: each fault is told by its kind, nothing hangs, and nothing wrong is a success.

mod paced;
mod ranges;
mod rests;
pub(crate) mod server;

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use linerate_load::point::{PointDriver, drive};
use linerate_load::session::{EndCondition, PointPlan};
use linerate_record::histogram::{Latencies, empty};
use linerate_record::load::{ErrorLimit, Spacing};
use linerate_record::run::{Op, StopReason};
use linerate_wire::clock::Clock;
use linerate_wire::open_loop::Arrivals;

use self::server::{ReceivedRequest, Then, error, reply, serve, well};
use crate::driving::{bodies, plan, session};

const GET: Op = Op::Get;
const PUT: Op = Op::Put;

/// Longer than anything takes that ends at all, on any machine.
const END: Duration = Duration::from_secs(180);

/// What came of a point.
#[derive(Debug)]
struct Seen {
    requests: u64,
    moved_bytes: i64,
    errors: BTreeMap<String, u64>,
    retries: BTreeMap<String, u64>,
    throttled: u64,
    retry_after_s: u64,
    rested_ns: u64,
    paused_ns: u64,
    /// Time of the intervals so far.
    elapsed_ns: u64,
    total: Latencies,
    total_intended: Latencies,
    ended: StopReason,
    unended_writes: u64,
    due: u64,
}

impl Seen {
    fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    fn kinds(&self) -> Vec<&str> {
        self.errors.keys().map(String::as_str).collect()
    }
}

/// Drives a point until `enough` says so.
fn driven(address: SocketAddr, timeout: Duration, plan: &PointPlan, enough: impl Fn(&Seen) -> bool) -> Seen {
    let session = session(address, timeout, &bodies());
    let interrupted = AtomicBool::new(false);
    let with = PointDriver::new(&session, Clock::start(), &interrupted);
    let mut seen = Seen {
        requests: 0,
        moved_bytes: 0,
        errors: BTreeMap::new(),
        retries: BTreeMap::new(),
        throttled: 0,
        retry_after_s: 0,
        rested_ns: 0,
        paused_ns: 0,
        elapsed_ns: 0,
        total: empty(),
        total_intended: empty(),
        ended: StopReason::Duration,
        unended_writes: 0,
        due: 0,
    };
    let outcome = drive(&with, plan, |figures| {
        seen.due += figures.open.as_ref().map_or(0, |o| o.due);
        seen.rested_ns += figures.rested_ns;
        seen.paused_ns += figures.paused_ns;
        seen.elapsed_ns += figures.length_ms() * 1_000_000;
        for row in figures.rows {
            seen.retry_after_s = seen.retry_after_s.max(row.retry_after_s);
            seen.requests += row.requests;
            seen.moved_bytes += row.moved_bytes;
            seen.throttled += row.throttled;
            seen.total += &row.total;
            row.total_intended.iter().for_each(|t| seen.total_intended += t);
            row.errors.into_iter().for_each(|(kind, n)| *seen.errors.entry(kind).or_default() += n);
            row.retries.into_iter().for_each(|(kind, n)| *seen.retries.entry(kind).or_default() += n);
        }
        // The way by which Ctrl-C comes: what was measured until then counts.
        if enough(&seen) {
            interrupted.store(true, Ordering::Relaxed);
        }
        ControlFlow::Continue(())
    });
    let outcome = outcome.expect("it drives");
    (seen.ended, seen.unended_writes) = (outcome.ended, outcome.unended_writes);
    assert_eq!(seen.total.len(), seen.requests, "only successes have latencies: {seen:?}");
    seen
}

const LONG_TIMEOUT: Duration = Duration::from_secs(20);
const BRIEF: Duration = Duration::from_millis(300);

/// How a server answers each request.
type Behaviour = fn(&mut ReceivedRequest<'_>) -> io::Result<Then>;

/// A fault, the requests that meet it, and the kinds it may be told as.
struct Case {
    name: &'static str,
    op: Op,
    size_bytes: u64,
    timeout: Duration,
    answer: Behaviour,
    kinds: &'static [&'static str],
}

const fn case(
    name: &'static str,
    (op, size_bytes): (Op, u64),
    kinds: &'static [&'static str],
    answer: Behaviour,
) -> Case {
    Case { name, op, size_bytes, timeout: LONG_TIMEOUT, answer, kinds }
}

/// The same with little patience.
const fn slow(name: &'static str, request_spec: (Op, u64), answer: Behaviour) -> Case {
    Case { timeout: BRIEF, ..case(name, request_spec, &["timeout"], answer) }
}

const LONG: &[&str] = &["long body"];
const SHORT: &[&str] = &["short body"];
const CLOSED: &[&str] = &["closed before the whole reply"];
const RESET: &[&str] = &["connection reset"];
const NOT_HTTP: &[&str] = &["malformed: the reply is not HTTP/1.x"];
const LENGTH: &[&str] = &["malformed: the reply's length is ambiguous"];
const SURPLUS: &[&str] = &["malformed: bytes follow the reply"];

fn announce(requested: &mut ReceivedRequest<'_>, length: u64) -> io::Result<()> {
    requested.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"))
}

fn hang(_: &mut ReceivedRequest<'_>) -> io::Result<Then> {
    std::thread::sleep(Duration::from_secs(8));
    Ok(Then::Close)
}

fn trickle(requested: &mut ReceivedRequest<'_>) -> io::Result<Then> {
    announce(requested, requested.size_bytes)?;
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(100));
        requested.say("x")?;
    }
    Ok(Then::Close)
}

fn body_faults() -> Vec<Case> {
    vec![
        case("a body that is announced short", (GET, 300_000), SHORT, |a| {
            a.say(reply("200 OK", "", &[b'x'; 100]))?;
            Ok(Then::Keep)
        }),
        case("a body that ends with the connection, and early", (GET, 300_000), SHORT, |a| {
            a.say("HTTP/1.1 200 OK\r\n\r\nfew bytes")?;
            Ok(Then::Close)
        }),
        case("chunks that end early", (GET, 300_000), SHORT, |a| {
            a.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")?;
            Ok(Then::Keep)
        }),
        case("a close in the middle of a body", (GET, 300_000), CLOSED, |a| {
            announce(a, a.size_bytes)?;
            a.say([b'x'; 1000])?;
            Ok(Then::Close)
        }),
        case("a close in the middle of a head", (GET, 4096), CLOSED, |a| {
            a.say("HTTP/1.1 200 OK\r\nContent-Le")?;
            Ok(Then::Close)
        }),
        case("a reset in the middle of a body", (GET, 300_000), RESET, |a| {
            announce(a, a.size_bytes)?;
            a.say([b'x'; 1000])?;
            std::thread::sleep(Duration::from_millis(20));
            Ok(Then::Reset)
        }),
        case("a reset in the middle of a write", (PUT, 50_000_000), RESET, |a| {
            a.take_part(1000)?;
            Ok(Then::Reset)
        }),
        case("a body that is announced long", (GET, 4096), LONG, |a| {
            a.say(reply("200 OK", "", &[b'x'; 4097]))?;
            Ok(Then::Keep)
        }),
        case("a body that is announced endless", (GET, 4096), LONG, |a| {
            announce(a, u64::MAX)?;
            Ok(Then::Keep)
        }),
        case("bytes behind a body", (GET, 4096), LONG, |a| {
            a.say([reply("200 OK", "", &[b'x'; 4096]), b"more".to_vec()].concat())?;
            Ok(Then::Keep)
        }),
        case("chunks without end", (GET, 300_000), LONG, |a| {
            a.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            for _ in 0..10_000 {
                a.say([&b"1000\r\n"[..], &[b'x'; 4096], b"\r\n"].concat())?;
            }
            Ok(Then::Close)
        }),
        case("a reply before the whole body", (PUT, 100_000_000), &["reply before the whole body"], |a| {
            a.say(reply("200 OK", "", b""))?;
            std::thread::sleep(Duration::from_secs(2));
            Ok(Then::Close)
        }),
    ]
}

/// What is said beside a write or a deletion, or in place of its status.
fn word_faults() -> Vec<Case> {
    vec![
        case("a word beside a write", (PUT, 4096), &["reply is not S3's: \"Sign in\\n\\x1b[2J\""], |a| {
            a.take_body()?;
            a.say(reply("200 OK", "", b" Sign in\n\x1b[2J"))?;
            Ok(Then::Keep)
        }),
        case("a word behind blanks", (PUT, 4096), &["reply is not S3's: \"oh\""], |a| {
            a.take_body()?;
            a.say(reply("200 OK", "", &[&[b' '; 5000][..], b"oh"].concat()))?;
            Ok(Then::Keep)
        }),
        case("blanks without number", (PUT, 4096), &["reply is more than 64 KiB of blanks"], |a| {
            a.take_body()?;
            a.say(reply("200 OK", "", &[b' '; 70_000]))?;
            Ok(Then::Keep)
        }),
        case("a write that may be done", (PUT, 4096), &["http 202"], |a| {
            a.take_body()?;
            a.say(reply("202 Accepted", "", b""))?;
            Ok(Then::Keep)
        }),
        case("a write that says nothing", (PUT, 4096), &["http 204"], |a| {
            a.take_body()?;
            a.say("HTTP/1.1 204 No Content\r\n\r\n")?;
            Ok(Then::Keep)
        }),
        case("a deletion that may be done", (Op::Delete, 4096), &["http 202"], |a| {
            a.say(reply("202 Accepted", "", b""))?;
            Ok(Then::Keep)
        }),
        case("JSON beside a deletion", (Op::Delete, 4096), &["reply is not S3's: \"{\\\"error\\\":1}\""], |a| {
            a.say(reply("200 OK", "", b"{\"error\":1}"))?;
            Ok(Then::Keep)
        }),
    ]
}

fn head_faults() -> Vec<Case> {
    vec![
        case("another protocol", (GET, 4096), NOT_HTTP, |a| {
            a.say("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")?;
            Ok(Then::Keep)
        }),
        case("a TLS alert", (PUT, 4096), NOT_HTTP, |a| {
            a.say(b"\x15\x03\x01\x00\x02\x02\x28")?;
            Ok(Then::Keep)
        }),
        case("a head without end", (GET, 4096), &["malformed: the reply's head exceeds 65536 bytes"], |a| {
            a.say("HTTP/1.1 200 OK\r\nX: ")?;
            (0..100).try_for_each(|_| a.say([b'a'; 1024]))?;
            Ok(Then::Keep)
        }),
        case("headers without end", (PUT, 4096), &["malformed: the reply has more than 96 headers"], |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\n")?;
            (0..1000).try_for_each(|_| a.say("X: y\r\n"))?;
            Ok(Then::Keep)
        }),
        case("two lengths", (GET, 5), LENGTH, |a| {
            a.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!")?;
            Ok(Then::Keep)
        }),
        case("chunks that are none", (GET, 300_000), &["malformed: the reply's chunks are malformed"], |a| {
            a.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n")?;
            Ok(Then::Keep)
        }),
        case("204 with a body", (GET, 4096), SURPLUS, |a| {
            a.say("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello")?;
            Ok(Then::Keep)
        }),
        case("204 to a read", (GET, 4096), SHORT, |a| {
            a.say("HTTP/1.1 204 No Content\r\n\r\n")?;
            Ok(Then::Keep)
        }),
        case("a close without a reply", (GET, 4096), &["closed without a reply"], |_| Ok(Then::Close)),
        case("a close without a reply", (PUT, 4096), &["closed without a reply"], |a| {
            a.take_body()?;
            Ok(Then::Close)
        }),
    ]
}

fn refusals() -> Vec<Case> {
    vec![
        case("a refusal with a code", (GET, 4096), &["http 403 AccessDenied"], |a| {
            a.say(reply("403 Forbidden", "", &error("AccessDenied")))?;
            Ok(Then::Keep)
        }),
        case("a refusal without one", (PUT, 4096), &["http 500"], |a| {
            a.take_body()?;
            a.say(reply("500 Internal Server Error", "", b"oh"))?;
            Ok(Then::Keep)
        }),
        case("a redirect", (GET, 4096), &["http 307 to other.test:9000"], |a| {
            let location = "Location: http://other.test:9000/bucket/key?X-Amz-Signature=secret\r\n";
            a.say(reply("307 Temporary Redirect", location, b""))?;
            Ok(Then::Keep)
        }),
        case("a redirect", (PUT, 4096), &["http 301 to [::1]:9000"], |a| {
            a.take_body()?;
            let location = "Location: http://[::1]:9000/\r\n";
            a.say(reply("301 Moved Permanently", location, &error("PermanentRedirect")))?;
            Ok(Then::Keep)
        }),
        case("a redirect to nowhere", (GET, 4096), &["http 301 PermanentRedirect"], |a| {
            a.say(reply("301 Moved Permanently", "", &error("PermanentRedirect")))?;
            Ok(Then::Keep)
        }),
    ]
}

fn silences() -> Vec<Case> {
    vec![
        slow("no answer", (GET, 4096), hang),
        slow("no answer", (PUT, 4096), hang),
        slow("no answer and no reading", (PUT, 50_000_000), hang),
        slow("a byte at a time", (GET, 4096), trickle),
        slow("less body than announced", (GET, 300_000), |a| {
            announce(a, a.size_bytes)?;
            a.say([b'x'; 1000])?;
            hang(a)
        }),
        slow("a head in parts, unended", (GET, 4096), |a| {
            for part in ["HTTP/1.1 2", "00 OK\r\n", "Content-Length: 4"] {
                a.say(part)?;
                std::thread::sleep(Duration::from_millis(20));
            }
            hang(a)
        }),
        slow("interim replies without end", (GET, 4096), |a| {
            for _ in 0..200 {
                a.say("HTTP/1.1 100 Continue\r\n\r\n")?;
                std::thread::sleep(Duration::from_millis(10));
            }
            Ok(Then::Close)
        }),
    ]
}

#[test]
fn each_fault_is_told_by_its_kind_and_is_no_success() {
    for case in body_faults().into_iter().chain(word_faults()).chain(head_faults()).chain(refusals()).chain(silences())
    {
        let what = format!("{}, to {} of {} bytes", case.name, case.op, case.size_bytes);
        let answer = case.answer;
        let seen = driven(serve(Arc::new(answer)), case.timeout, &plan(case.op, case.size_bytes), |s| s.failed() >= 4);
        assert_eq!(seen.requests, 0, "{what}: {seen:?}");
        assert!(seen.failed() >= 4 && seen.kinds().iter().all(|k| case.kinds.contains(k)), "{what}: {seen:?}");
        assert!(seen.moved_bytes >= 0, "{what}: {seen:?}");
    }
}

#[test]
fn a_wrong_body_is_seen_where_bodies_are_compared() {
    for size_bytes in [4096, 300_000] {
        let plan = PointPlan { verify: true, ..plan(GET, size_bytes) };
        let seen = driven(serve(Arc::new(well)), LONG_TIMEOUT, &plan, |s| s.failed() >= 4);
        assert_eq!((seen.requests, seen.kinds()), (0, vec!["wrong body"]));
    }
}

#[test]
fn nobody_listening_is_a_refused_connection() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for op in [GET, PUT] {
        let seen = driven(address, LONG_TIMEOUT, &plan(op, 4096), |s| s.failed() >= 4);
        assert_eq!((seen.requests, seen.kinds()), (0, vec!["connect: refused"]));
    }
}

/// What is asked for by a read, and blanks beside a write.
fn body(requested: &ReceivedRequest<'_>) -> Vec<u8> {
    if requested.line.starts_with("PUT") { b" \r\n".to_vec() } else { vec![b'x'; 4096] }
}

#[test]
fn what_http_allows_is_no_fault() {
    let answers: [(&str, Behaviour); 5] = [
        ("100 Continue before the reply", |a| {
            a.say("HTTP/1.1 100 Continue\r\n\r\n")?;
            a.serve_well()
        }),
        ("many interim replies", |a| {
            (0..50).try_for_each(|_| a.say("HTTP/1.1 102 Processing\r\nX: y\r\n\r\n"))?;
            a.serve_well()
        }),
        ("chunks", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            for _ in 0..if a.line.starts_with("PUT") { 0 } else { 4 } {
                a.say([&b"400;x=y\r\n"[..], &[b'x'; 1024], b"\r\n"].concat())?;
            }
            a.say("0\r\nX-Trailer: 1\r\n\r\n")?;
            Ok(Then::Keep)
        }),
        ("a body until the close", |a| {
            a.take_body()?;
            a.say("HTTP/1.1 200 OK\r\n\r\n")?;
            a.say(body(a))?;
            Ok(Then::Close)
        }),
        ("HTTP/1.0", |a| {
            a.take_body()?;
            a.say(format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body(a).len()))?;
            a.say(body(a))?;
            Ok(Then::Close)
        }),
    ];
    for (what, answer) in answers {
        for op in [GET, PUT] {
            let seen = driven(serve(Arc::new(answer)), LONG_TIMEOUT, &plan(op, 4096), |s| s.requests >= 4);
            assert!(seen.requests >= 4 && seen.errors.is_empty(), "{what}, {op}: {seen:?}");
            assert!(seen.moved_bytes >= 4096 * 4, "{what}, {op}: {seen:?}");
        }
    }
}

#[test]
fn idle_connections_that_the_server_closes_cost_no_request_unless_one_was_under_way() {
    // The server closes right behind each reply, unannounced: a request that crossed the close is lost, and told so.
    let close_behind = |a: &mut ReceivedRequest<'_>| a.serve_well().map(|_| Then::Close);
    for op in [GET, PUT] {
        let seen = driven(serve(Arc::new(close_behind)), LONG_TIMEOUT, &plan(op, 4096), |s| s.requests >= 50);
        assert!(seen.requests >= 50, "{op}: {seen:?}");
        let crossed = ["closed without a reply", "connection reset"];
        assert!(seen.kinds().iter().all(|k| crossed.contains(k)), "{op}: {seen:?}");
    }
}

#[test]
fn retries_turn_failed_attempts_into_later_successes_that_are_counted_apart() {
    for op in [GET, PUT] {
        let every_other = |a: &mut ReceivedRequest<'_>| match a.number % 2 {
            0 => {
                std::thread::sleep(Duration::from_millis(30));
                a.take_body().map(|()| Then::Close)
            }
            _ => a.serve_well(),
        };
        let retrying = PointPlan { retries: 20, concurrency: 1, ..plan(op, 4096) };
        let seen = driven(serve(Arc::new(every_other)), LONG_TIMEOUT, &retrying, |s| s.requests >= 4);
        assert!(seen.requests >= 4 && seen.errors.is_empty(), "{op}: {seen:?}");
        assert!(seen.retries["closed without a reply"] >= 3, "{op}: {seen:?}");
        // All attempts are part of a latency.
        assert!(seen.total.max() >= 30_000_000, "{op}: {seen:?}");
        assert!(seen.moved_bytes >= 4096 * seen.requests as i64, "{op}: {seen:?}");
    }
    let refuses = |a: &mut ReceivedRequest<'_>| {
        a.say(reply("500 Internal Server Error", "", &error("InternalError")))?;
        Ok(Then::Keep)
    };
    let plan = PointPlan { retries: 2, ..plan(GET, 4096) };
    let seen = driven(serve(Arc::new(refuses)), LONG_TIMEOUT, &plan, |s| s.failed() >= 4);
    let (errors, retries) = (seen.errors["http 500 InternalError"], seen.retries["http 500 InternalError"]);
    assert!(seen.requests == 0 && retries >= 2 * errors && retries <= 2 * errors + 4, "{seen:?}");
}

#[test]
fn an_error_limit_ends_the_point() {
    let refuses = |a: &mut ReceivedRequest<'_>| match a.number % 2 {
        0 => a.serve_well(),
        _ => {
            a.say(reply("404 Not Found", "", &error("NoSuchKey")))?;
            Ok(Then::Keep)
        }
    };
    for (limit, least) in [(ErrorLimit::Count(5), 6), (ErrorLimit::Share(0.2), 20)] {
        let plan = PointPlan { error_limit: Some(limit), ..plan(GET, 4096) };
        let seen = driven(serve(Arc::new(refuses)), LONG_TIMEOUT, &plan, |_| false);
        assert_eq!(seen.ended, StopReason::ErrorLimit);
        assert!(seen.failed() >= least && seen.requests > 0, "{limit:?}: {seen:?}");
    }
}

#[test]
fn what_is_in_flight_at_the_end_is_no_error() {
    for (op, unended) in [(GET, 0), (PUT, 2)] {
        let few = PointPlan { until: EndCondition::Intervals(4), ..plan(op, 4096) };
        let seen = driven(serve(Arc::new(hang)), LONG_TIMEOUT, &few, |_| false);
        assert_eq!((seen.requests, seen.failed(), seen.ended), (0, 0, StopReason::Duration), "{op}: {seen:?}");
        assert_eq!(seen.unended_writes, unended, "{op}: {seen:?}");
    }
}

#[test]
fn a_write_that_is_given_up_does_not_arrive_later() {
    // More than a receive buffer that nobody reads, and less than a send buffer besides.
    const BYTES: u64 = 512 << 10;
    static ARRIVED: AtomicU64 = AtomicU64::new(0);
    let reads_late = |a: &mut ReceivedRequest<'_>| {
        std::thread::sleep(Duration::from_secs(7));
        let arrived = io::copy(&mut (&mut *a.stream).take(BYTES), &mut io::sink());
        ARRIVED.fetch_add(u64::from(arrived.is_ok_and(|n| n == BYTES)) + 1000, Ordering::Relaxed);
        Ok(Then::Close)
    };
    let few = PointPlan { until: EndCondition::Intervals(4), ..plan(PUT, BYTES) };
    let seen = driven(serve(Arc::new(reads_late)), LONG_TIMEOUT, &few, |_| false);
    assert_eq!((seen.requests, seen.failed(), seen.unended_writes), (0, 0, 2), "{seen:?}");
    let begin = Instant::now();
    while ARRIVED.load(Ordering::Relaxed) < 2000 && begin.elapsed() < END {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(ARRIVED.load(Ordering::Relaxed), 2000, "bodies that arrived, and 1000 for each request");
}

#[test]
fn a_stall_shows_in_every_latency_that_was_due_meanwhile_and_in_few_that_were_sent() {
    let stall_once = |a: &mut ReceivedRequest<'_>| {
        if a.number == 40 {
            std::thread::sleep(Duration::from_millis(800));
        }
        a.serve_well()
    };
    for spacing in [Spacing::Constant, Spacing::Poisson] {
        let arrivals = Some(Arrivals { per_s: 200.0, spacing, point: 0, client: (0, 1) });
        let until = EndCondition::Intervals(40);
        let plan = PointPlan { concurrency: 1, arrivals, until, ..plan(GET, 1000) };
        let seen = driven(serve(Arc::new(stall_once)), LONG_TIMEOUT, &plan, |_| false);
        assert!(seen.errors.is_empty() && seen.total_intended.len() == seen.requests, "{seen:?}");
        let slow = |latencies: &Latencies| latencies.count_between(400_000_000, u64::MAX / 2);
        let (intended, actual) = (slow(&seen.total_intended), slow(&seen.total));
        // 160 requests fell due in the stall, half of which waited for 400 ms and more.
        assert!(intended >= 50 && seen.total_intended.max() >= 790_000_000, "{spacing:?}: {intended}");
        assert!(actual >= 1 && actual <= intended / 5, "{spacing:?}: {actual} of {intended}");
        assert!((300..=500).contains(&seen.due), "{spacing:?}: 400 fall due in two seconds: {}", seen.due);
    }
}

#[test]
fn an_open_loop_starts_what_is_due_and_no_more() {
    for (threads, concurrency) in [(1, 64), (3, 64)] {
        let arrivals = Some(Arrivals { per_s: 100.0, spacing: Spacing::Constant, point: 0, client: (0, 1) });
        let until = EndCondition::Intervals(20);
        let plan = PointPlan { concurrency, threads, arrivals, until, ..plan(GET, 100) };
        let seen = driven(serve(Arc::new(well)), LONG_TIMEOUT, &plan, |_| false);
        // 100 fall due in a second, the first at once.
        assert!((99..=101).contains(&seen.due), "{threads}: {seen:?}");
        assert!(seen.requests <= seen.due && seen.errors.is_empty(), "{threads}: {seen:?}");
    }
}

#[test]
fn several_requests_on_one_connection_are_told_apart() {
    // Every third reply on a connection is bad: the others must not suffer.
    let third = |a: &mut ReceivedRequest<'_>| match a.on_connection % 3 {
        2 => {
            a.say(reply("404 Not Found", "", &error("NoSuchKey")))?;
            Ok(Then::Keep)
        }
        _ => a.serve_well(),
    };
    let seen = driven(serve(Arc::new(third)), LONG_TIMEOUT, &plan(GET, 4096), |s| s.requests >= 40);
    assert_eq!(seen.kinds(), ["http 404 NoSuchKey"]);
    let share = seen.failed() as f64 / (seen.failed() + seen.requests) as f64;
    assert!((0.25..0.40).contains(&share), "{seen:?}");
}
