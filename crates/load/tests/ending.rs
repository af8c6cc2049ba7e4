//! The end of a point: the load goes on, uncounted, until what was in flight has ended, and what did not end well is
//! told with the bytes that intervals have of it.

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use linerate_load::point::{PointDriver, PointOutcome, drive};
use linerate_load::session::{EndCondition, PointPlan};
use linerate_load::supervisor::PointSupervisor;
use linerate_record::histogram::{EncodedHistogram, Latencies, add_encoded, empty};
use linerate_record::run::{InFlightRow, Op, StopReason};
use linerate_wire::clock::Clock;

use crate::driving::{bodies, plan, session};
use crate::faults::server::{ReceivedRequest, Then, error, reply, serve};

const BYTES: u64 = 256 << 10;

/// What intervals counted of a point, how it ended, and how long it took.
struct Ended {
    requests: u64,
    moved_bytes: i64,
    outcome: PointOutcome,
    took: Duration,
}

impl Ended {
    /// The only row of what did not end well.
    fn row(&self) -> &InFlightRow {
        let [row] = &self.outcome.in_flight[..] else { panic!("{:?}", self.outcome.in_flight) };
        row
    }
}

fn driven(address: SocketAddr, plan: &PointPlan) -> Ended {
    let session = session(address, Duration::from_secs(20), &bodies());
    let interrupted = AtomicBool::new(false);
    let with = PointDriver::new(&session, Clock::start(), &interrupted);
    let (mut requests, mut moved_bytes, begin) = (0, 0, Instant::now());
    let outcome = drive(&with, plan, |figures| {
        requests += figures.whole_rows().map(|row| row.requests).sum::<u64>();
        moved_bytes += figures.whole_rows().map(|row| row.moved_bytes).sum::<i64>();
        ControlFlow::Continue(())
    });
    Ended { requests, moved_bytes, outcome: outcome.expect("it is driven"), took: begin.elapsed() }
}

fn brief(op: Op) -> PointPlan {
    PointPlan { until: EndCondition::Intervals(4), ..plan(op, BYTES) }
}

fn decoded(histogram: &EncodedHistogram) -> Latencies {
    let mut decoded = empty();
    add_encoded(&mut decoded, histogram).expect("it is a histogram");
    decoded
}

fn sum(bytes: &[(u64, i64)]) -> i64 {
    bytes.iter().map(|(_, bytes)| bytes).sum()
}

#[test]
fn requests_that_end_well_after_the_point_keep_their_bytes_and_are_waited_for() {
    for op in [Op::Put, Op::Get] {
        let slow = move |a: &mut ReceivedRequest<'_>| {
            a.take_body()?;
            let body = vec![b'x'; if op == Op::Get { BYTES as usize } else { 0 }];
            let whole = reply("200 OK", "", &body);
            // Half of a reply before the end of the point, the rest behind it.
            let half = if op == Op::Get { whole.len() / 2 } else { 0 };
            a.say(&whole[..half])?;
            std::thread::sleep(Duration::from_millis(700));
            a.say(&whole[half..])?;
            Ok(Then::Keep)
        };
        let ended = driven(serve(Arc::new(slow)), &brief(op));
        assert_eq!((ended.requests, ended.outcome.ended), (0, StopReason::Duration), "{op}");
        let row = ended.row();
        assert!(ended.moved_bytes > 0 && (row.open, row.failed) == (0, 0), "{op}: {:?}", ended.outcome);
        // No interval counts them: their latencies are known all the same.
        let total = decoded(&row.awaited.as_ref().expect("they were waited for").total);
        assert!(total.len() == 2 && total.min() >= 690_000_000, "{op}: {total:?}");
        assert!(ended.took >= Duration::from_millis(700), "{op}");
        assert!(ended.outcome.alongside.iter().map(|row| row.answered).sum::<u64>() >= 2, "{op}: {:?}", ended.outcome);
    }
}

#[test]
fn requests_that_never_end_are_given_up_after_the_bound_with_their_bytes_and_ages() {
    let hang = |_: &mut ReceivedRequest<'_>| -> io::Result<Then> {
        std::thread::sleep(Duration::from_secs(9));
        Ok(Then::Close)
    };
    let ended = driven(serve(Arc::new(hang)), &brief(Op::Put));
    assert!(ended.took >= Duration::from_secs(5), "{:?}", ended.took);
    let row = ended.row();
    assert_eq!((row.op, row.open, row.failed, ended.requests), (Op::Put, 2, 0, 0), "{row:?}");
    assert!(ended.moved_bytes > 0 && sum(&row.open_bytes) == ended.moved_bytes, "{row:?}: {}", ended.moved_bytes);
    assert!(row.open_bytes.iter().all(|(at_ms, _)| *at_ms < 200), "{row:?}");
    let [ages, unanswered, ttfb] = [&row.ages, &row.unanswered_ages, &row.ttfb].map(decoded);
    assert!(ages.len() == 2 && ages.min() >= 5_000_000_000, "{ages:?}");
    assert!(unanswered == ages && ttfb.is_empty(), "{row:?}");
    assert_eq!(ended.outcome.unended_writes, 2);
}

#[test]
fn the_first_byte_of_a_request_that_never_ends_is_known_where_it_came() {
    // Of a GET, half of the object; of an upload, what keeps the connection of its completion alive.
    let stops_halfway = |a: &mut ReceivedRequest<'_>| -> io::Result<Then> {
        a.take_body()?;
        if a.line.contains("uploads=") {
            let created = "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>";
            a.say(reply("200 OK", "", created.as_bytes()))?;
            return Ok(Then::Keep);
        }
        if a.line.starts_with("PUT") {
            a.say(reply("200 OK", "ETag: \"e\"\r\n", b""))?;
            return Ok(Then::Keep);
        }
        let refuses = a.line.starts_with("GET") && a.number == 0;
        let whole = reply(if refuses { "503 Slow Down" } else { "200 OK" }, "", &vec![b' '; BYTES as usize]);
        a.say(&whole[..whole.len() / 2])?;
        std::thread::sleep(Duration::from_secs(9));
        Ok(Then::Close)
    };
    for (op, refused) in [(Op::Get, 1), (Op::Multipart, 0)] {
        let ended = driven(serve(Arc::new(stops_halfway)), &brief(op));
        let row = ended.row();
        let [ttfb, unanswered] = [&row.ttfb, &row.unanswered_ages].map(decoded);
        assert_eq!((row.open, ttfb.len(), unanswered.len()), (2, 2 - refused, refused), "{op}: {row:?}");
        assert!(ttfb.max() < decoded(&row.ages).min(), "{op}: {row:?}");
    }
}

#[test]
fn bytes_of_a_request_that_fails_after_the_point_are_told() {
    let refuses_late = |a: &mut ReceivedRequest<'_>| {
        a.take_body()?;
        std::thread::sleep(Duration::from_millis(500));
        a.say(reply("400 Bad Request", "", &error("InvalidRequest")))?;
        Ok(Then::Keep)
    };
    let ended = driven(serve(Arc::new(refuses_late)), &brief(Op::Put));
    let row = ended.row();
    assert_eq!((row.failed, row.open, sum(&row.failed_bytes)), (2, 0, 2 * BYTES as i64), "{row:?}");
    assert_eq!(ended.moved_bytes, 2 * BYTES as i64);
}

#[test]
fn what_an_attempt_moved_is_taken_out_where_only_the_last_one_ends_well() {
    let refuses_first = |a: &mut ReceivedRequest<'_>| {
        a.take_body()?;
        std::thread::sleep(Duration::from_millis(500));
        match a.number {
            0 | 1 => a.say(reply("503 Service Unavailable", "", &error("ServiceUnavailable")))?,
            _ => a.say(reply("200 OK", "", b""))?,
        }
        Ok(Then::Keep)
    };
    let ended = driven(serve(Arc::new(refuses_first)), &PointPlan { retries: 3, ..brief(Op::Put) });
    let row = ended.row();
    assert_eq!((row.failed, row.open, sum(&row.failed_bytes)), (0, 0, 2 * BYTES as i64), "{row:?}");
}

#[test]
fn the_load_goes_on_while_a_request_is_waited_for() {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let first_is_slow = |a: &mut ReceivedRequest<'_>| {
        STARTED.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(if a.number == 0 { 1_500 } else { 10 }));
        // Until enough have come, of which the point counts 120 at the most, and within the time that it waits.
        for _ in 0..300 {
            if a.number == 0 && STARTED.load(Ordering::Relaxed) < 280 {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        a.serve_well()
    };
    // Two threads: the one whose requests have ended goes on for the other.
    let until = EndCondition::Intervals(12);
    let plan = PointPlan { threads: 2, concurrency: 3, until, ..brief(Op::Get) };
    let ended = driven(serve(Arc::new(first_is_slow)), &plan);
    assert!(ended.took >= Duration::from_millis(1_500), "{:?}", ended.took);
    let alongside: u64 = ended.outcome.alongside.iter().map(|row| row.answered).sum();
    assert!(alongside >= 40, "{alongside} answered meanwhile, {} counted", ended.requests);
    let (row, requests) = (ended.row(), ended.requests);
    let awaited = decoded(&row.awaited.as_ref().expect("one is waited for").total);
    assert!((row.open, row.failed) == (0, 0) && awaited.max() >= 1_490_000_000 && requests > 0, "{row:?}");
    assert!(STARTED.load(Ordering::Relaxed) >= alongside + ended.requests);
}

/// Has the load go on for a time after the requests that were in flight have ended, or stops it some time after that.
struct Others {
    ended: Mutex<Option<Instant>>,
    holds_for: Duration,
    stops_after: Option<Duration>,
    /// Requests that had come when it was stopped.
    before_stop: OnceLock<u64>,
}

static RECEIVED: AtomicU64 = AtomicU64::new(0);

impl Others {
    fn have_passed(&self, time: Duration) -> bool {
        self.ended.lock().expect("nobody panicked").is_some_and(|at| at.elapsed() >= time)
    }
}

impl PointSupervisor for Others {
    fn stop_reason(&self) -> Option<StopReason> {
        let stops = self.stops_after.is_some_and(|time| self.have_passed(time));
        stops.then(|| {
            self.before_stop.get_or_init(|| RECEIVED.load(Ordering::Relaxed));
            StopReason::Canary
        })
    }

    fn holds_load(&self) -> bool {
        !self.have_passed(self.holds_for)
    }

    fn in_flight_ended(&self) {
        self.ended.lock().expect("nobody panicked").get_or_insert_with(Instant::now);
    }
}

#[test]
fn the_load_goes_on_while_others_wait_and_ends_when_it_is_stopped_meanwhile() {
    let quick = |a: &mut ReceivedRequest<'_>| {
        RECEIVED.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(10));
        a.serve_well()
    };
    let (address, bodies) = (serve(Arc::new(quick)), bodies());
    let session = session(address, Duration::from_secs(20), &bodies);
    let interrupted = AtomicBool::new(false);
    let driven = |holds_for: Duration, stops_after: Option<Duration>| {
        let supervisor = Others { ended: Mutex::default(), holds_for, stops_after, before_stop: OnceLock::new() };
        let clock = Clock::start();
        let with = PointDriver { supervisor: &supervisor, ..PointDriver::new(&session, clock, &interrupted) };
        let outcome = drive(&with, &brief(Op::Get), |_| ControlFlow::Continue(())).expect("it is driven");
        let alongside: u64 = outcome.alongside.iter().map(|row| row.answered).sum();
        (outcome, alongside, supervisor.before_stop.get().copied())
    };
    // Two were in flight; two slots at 10 ms come to 200 in a second.
    let (outcome, alongside, _) = driven(Duration::from_secs(1), None);
    assert!(outcome.ended == StopReason::Duration && alongside > 40, "{alongside}: {outcome:?}");
    let (outcome, _, before_stop) = driven(Duration::from_secs(60), Some(Duration::from_millis(300)));
    let more = RECEIVED.load(Ordering::Relaxed) - before_stop.expect("it was stopped");
    assert!(outcome.ended == StopReason::Canary && more < 100, "{more}: {outcome:?}");
}

#[test]
fn a_point_that_waits_for_requests_that_hang_starts_nothing_once_it_is_stopped() {
    static CAME: AtomicU64 = AtomicU64::new(0);
    struct Stops(OnceLock<Instant>, OnceLock<u64>, AtomicBool);
    impl PointSupervisor for Stops {
        fn stop_reason(&self) -> Option<StopReason> {
            // The point takes 200 ms.
            let stops = self.0.get_or_init(Instant::now).elapsed() >= Duration::from_millis(700);
            stops.then(|| {
                self.1.get_or_init(|| CAME.load(Ordering::Relaxed));
                StopReason::Canary
            })
        }

        fn waits_for_in_flight(&self) {
            self.2.store(true, Ordering::Relaxed);
        }
    }
    let first_hangs = |a: &mut ReceivedRequest<'_>| {
        CAME.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(if a.number == 0 { 9_000 } else { 10 }));
        a.serve_well()
    };
    let session = session(serve(Arc::new(first_hangs)), Duration::from_secs(20), &bodies());
    let (interrupted, clock) = (AtomicBool::new(false), Clock::start());
    let supervisor = Stops(OnceLock::new(), OnceLock::new(), AtomicBool::new(false));
    let with = PointDriver { supervisor: &supervisor, ..PointDriver::new(&session, clock, &interrupted) };
    let outcome = drive(&with, &brief(Op::Get), |_| ControlFlow::Continue(())).expect("it is driven");
    let more = CAME.load(Ordering::Relaxed) - supervisor.1.get().expect("it was stopped");
    // In the four seconds that are left, a slot makes 400 requests.
    assert!(outcome.ended == StopReason::Canary && more < 100, "{more}: {outcome:?}");
    let [row] = &outcome.in_flight[..] else { panic!("{:?}", outcome.in_flight) };
    assert_eq!(row.open, 1);
    assert!(supervisor.2.load(Ordering::Relaxed), "it did not say that it waits");
}

#[test]
fn a_point_that_is_stopped_starts_nothing_more() {
    let slow = |a: &mut ReceivedRequest<'_>| {
        std::thread::sleep(Duration::from_millis(300));
        a.serve_well()
    };
    let address = serve(Arc::new(slow));
    let session = session(address, Duration::from_secs(20), &bodies());
    let interrupted = AtomicBool::new(false);
    let with = PointDriver::new(&session, Clock::start(), &interrupted);
    let outcome = drive(&with, &plan(Op::Get, 4096), |_| ControlFlow::Break(StopReason::Canary)).expect("it is driven");
    let alongside: u64 = outcome.alongside.iter().map(|row| row.answered + row.dropped).sum();
    assert_eq!((outcome.ended, alongside), (StopReason::Canary, 2), "{outcome:?}");
}
