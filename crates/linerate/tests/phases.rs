//! Targets whose pace changes: what is told of them holds however the phases lie. No root, nothing changed on the
//! machine.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use linerate_record::finding::{Finding, FindingKind};
use tempfile::tempdir;

use crate::running::{Served, bench, bench_view, points, shown, view};

/// What a go-between does with a request for an object, of which it is told the number.
type Deal = dyn Fn(u64) -> bool + Send + Sync;

/// Stands between linerate and a target; returns its address. A request that is not let through is never answered.
fn go_between(target: &str, deal: Arc<Deal>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (address, target) = (listener.local_addr().expect("it has one").to_string(), target.to_owned());
    let number = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (number, deal, server) =
                (number.clone(), deal.clone(), TcpStream::connect(&target).expect("the target listens"));
            let (mut from, mut to) = (client.try_clone().expect("a stream"), server.try_clone().expect("a stream"));
            thread::spawn(move || pass_on(&mut from, &mut to, &number, &*deal));
            let (mut from, mut to) = (server, client);
            thread::spawn(move || std::io::copy(&mut from, &mut to));
        }
    });
    address
}

/// Passes requests on. A GET without a query is one for an object, and comes in one piece.
fn pass_on(from: &mut TcpStream, to: &mut TcpStream, number: &AtomicU64, deal: &Deal) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(n) = from.read(&mut buffer) {
        let line = buffer[..n].split(|&byte| byte == b'\r').next().unwrap_or_default();
        let is_object = line.starts_with(b"GET ") && !line.contains(&b'?');
        if n == 0 {
            break;
        }
        if (!is_object || deal(number.fetch_add(1, Ordering::Relaxed))) && to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_stall_at_the_end_of_a_point_is_not_passed_over() {
    let (out, target) = (tempdir().unwrap(), Served::null());
    // 80/s for 0.8 s of warm-up and 4 s, the last half second of which nothing is answered, nor later: its requests are
    // never answered. A whole second without an answer would be a target that was lost.
    let address = go_between(&target.address, Arc::new(|number| number < 344));
    let flags = "--op get --obj.size 4KiB --objects 20 --duration 4s --no-ceiling --rate 80/s --slo p99=100ms";
    let output = bench(out.path(), &format!("--host {address} {flags}"));
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    let view = view(out.path());
    let bound = points(&view)[0].open.as_ref().unwrap().bounds[0];
    assert!(bound.over >= 20 && !bound.held, "{bound:?}");
    // One stall is one event: it may be in doubt how much of the time has such.
    let reported = |f: &Finding| matches!(f.kind, FindingKind::SloMissed | FindingKind::SloInDoubt);
    assert!(view.findings.iter().any(reported), "{:?}", view.findings);
}

/// How long a slow phase lasts, and how often it comes.
const SLOW_MS: u64 = 1_500;
const TURN_MS: u64 = 12_000;

#[test]
fn timed_a_target_that_is_slow_for_1500_ms_in_every_12_s_is_not_told_to_be_faster_than_it_is() {
    let (out, target) = (tempdir().unwrap(), Served::null());
    // Requests of either phase, and when the first and the last one came, in milliseconds.
    let seen = Arc::new([const { AtomicU64::new(0) }; 4]);
    // The first request begins the first slow phase: what looks most like a warm-up.
    let (shared, begin) = (seen.clone(), OnceLock::new());
    let now_ms = move || begin.get_or_init(Instant::now).elapsed().as_millis() as u64;
    let deal = move |number| {
        let slow = now_ms() % TURN_MS < SLOW_MS;
        if number == 0 {
            shared[2].store(now_ms(), Ordering::Relaxed);
        }
        thread::sleep(Duration::from_millis(if slow { 20 } else { 5 }));
        shared[usize::from(slow)].fetch_add(1, Ordering::Relaxed);
        shared[3].store(now_ms(), Ordering::Relaxed);
        true
    };
    let address = go_between(&target.address, Arc::new(deal));
    let flags = "--op get --obj.size 4KiB --objects 20 --concurrent 4 --duration 24s --no-ceiling";
    let view = bench_view(out.path(), &format!("--host {address} {flags}"));
    let point = points(&view)[0];
    let elapsed_ms = point.warmup_ms + point.measured_ms;
    let [fast, slow, first_ms, last_ms] = [0, 1, 2, 3].map(|i: usize| seen[i].load(Ordering::Relaxed));
    let slow_ms = |until_ms: u64| until_ms / TURN_MS * SLOW_MS + (until_ms % TURN_MS).min(SLOW_MS);
    let in_slow_ms = slow_ms(last_ms) - slow_ms(first_ms);
    let in_fast_ms = last_ms - first_ms - in_slow_ms;
    let per_s = |requests: u64, ms: u64| requests as f64 * 1e3 / ms.max(1) as f64;
    let share = SLOW_MS as f64 / TURN_MS as f64;
    let truth = share * per_s(slow, in_slow_ms) + (1.0 - share) * per_s(fast, in_fast_ms);
    let estimate = point.requests_per_s;
    let half = estimate.half_width_95.unwrap_or(f64::INFINITY);
    let case = format!("{estimate:?} of {elapsed_ms} ms, {} ms of them warm-up, against {truth}", point.warmup_ms);
    assert!((estimate.mean - truth).abs() <= half.max(0.03 * truth), "{case}");
    assert!(elapsed_ms >= 12_000, "{case}");
}
