//! When slots rest after failures, and that it is counted.

use super::*;

/// Length of an interval of these points.
const INTERVAL_NS: u64 = 100_000_000;

#[test]
fn a_host_that_asks_to_be_left_alone_is() {
    let instants = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&instants);
    let throttle = move |a: &mut ReceivedRequest<'_>| {
        noted.lock().unwrap().push(a.at);
        a.take_body()?;
        a.say(reply("503 Slow Down", "Retry-After: 1\r\n", &error("SlowDown")))?;
        Ok(Then::Keep)
    };
    let plan = PointPlan { concurrency: 1, ..plan(PUT, 4096) };
    let seen = driven(serve(Arc::new(throttle)), LONG_TIMEOUT, &plan, |s| s.failed() >= 3);
    assert_eq!((seen.requests, seen.kinds()), (0, vec!["http 503 SlowDown"]));
    assert_eq!((seen.throttled, seen.retry_after_s, seen.rested_ns), (seen.failed(), 1, 0));
    // The only slot did little else. A thread sees the end of an interval a moment after it: that is paused, too.
    let (paused_ns, elapsed_ns) = (seen.paused_ns, seen.elapsed_ns);
    let is_most = paused_ns <= elapsed_ns + INTERVAL_NS && 2 * paused_ns >= elapsed_ns;
    assert!(is_most, "{paused_ns} ns of {elapsed_ns} ns");
    let instants = instants.lock().unwrap();
    assert!(instants.windows(2).all(|w| w[1] - w[0] >= Duration::from_millis(999)), "{instants:?}");
}

/// Slots that rested, as a share of the time of two of them.
fn rested(seen: &Seen) -> f64 {
    seen.rested_ns as f64 / (2 * seen.elapsed_ns) as f64
}

#[test]
fn failures_that_are_answers_cost_no_rest() {
    // Every tenth request fails, and the server takes its time for each: slots that rested would ask for fewer.
    let behaviours: [(Op, &str, Behaviour); 4] = [
        (GET, "http 500 InternalError", |a| {
            a.say(reply("500 Internal Server Error", "", &error("InternalError"))).map(|()| Then::Keep)
        }),
        (PUT, "http 503", |a| a.take_body().and_then(|()| a.say(reply("503 Busy", "", b""))).map(|()| Then::Keep)),
        (GET, "short body", |a| a.say(reply("200 OK", "", b"short")).map(|()| Then::Keep)),
        (GET, "long body", |a| a.say(reply("200 OK", "", &[b'x'; 5_000])).map(|()| Then::Close)),
    ];
    for (op, kind, fails) in behaviours {
        let sometimes = move |a: &mut ReceivedRequest<'_>| {
            std::thread::sleep(Duration::from_micros(500));
            if a.number % 10 == 9 { fails(a) } else { a.serve_well() }
        };
        let seen = driven(serve(Arc::new(sometimes)), LONG_TIMEOUT, &plan(op, 4096), |s| s.requests >= 900);
        assert!(seen.kinds().contains(&kind) && seen.failed() >= 60, "{kind}: {seen:?}");
        assert_eq!((seen.rested_ns, seen.paused_ns), (0, 0), "{kind}: {seen:?}");
    }
}

#[test]
fn a_target_that_answers_errors_at_full_speed_ends_by_the_same_rules() {
    let refuses = |a: &mut ReceivedRequest<'_>| {
        a.say(reply("500 Internal Server Error", "", &error("InternalError"))).map(|()| Then::Keep)
    };
    let address = serve(Arc::new(refuses));
    let seen = driven(address, LONG_TIMEOUT, &plan(GET, 4096), |_| false);
    assert_eq!((seen.requests, seen.ended), (0, StopReason::NoSuccess), "{seen:?}");
    assert_eq!((seen.rested_ns, seen.paused_ns), (0, 0), "{seen:?}");
    let limited = PointPlan { error_limit: Some(ErrorLimit::Count(1_000)), ..plan(GET, 4096) };
    assert_eq!(driven(address, LONG_TIMEOUT, &limited, |_| false).ended, StopReason::ErrorLimit);
}

#[test]
fn broken_connections_in_a_row_rest_longer_and_longer_and_one_alone_does_not() {
    let one_alone = |a: &mut ReceivedRequest<'_>| {
        std::thread::sleep(Duration::from_micros(500));
        if a.number % 50 == 49 { Ok(Then::Reset) } else { a.serve_well() }
    };
    let seen = driven(serve(Arc::new(one_alone)), LONG_TIMEOUT, &plan(GET, 4096), |s| s.requests >= 2_000);
    assert!(seen.failed() >= 20, "{seen:?}");
    assert!(rested(&seen) < 0.05, "{seen:?}");
    // Nobody listens there any more.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let seen = driven(nobody, LONG_TIMEOUT, &plan(GET, 4096), |s| s.failed() > 0 && s.elapsed_ns > 2_000_000_000);
    assert!(seen.failed() < 100, "it spun: {seen:?}");
    // Intervals are told in whole milliseconds.
    let most_ns = 2 * (seen.elapsed_ns + 1_000_000);
    assert!(rested(&seen) > 0.5 && seen.rested_ns <= most_ns, "{seen:?}");
}
