//! Readings of this machine while a run goes on, by a thread of their own.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_analysis::findings::unreadable as unreadable_file;
use linerate_host::fingerprint::neighbours::{LocalTarget, Neighbours};
use linerate_host::{Root, reading};
use linerate_record::finding::Finding;
use linerate_record::reading::{ProcessorSample, Reading};
use linerate_wire::clock::Clock;
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::SIGCONT;

use crate::files::run_folder;
use crate::terminal::failure::Failure;

/// By how much two clocks may differ that are read one after the other, by a thread that may be put aside between.
const CLOCK_SKEW_MAX_MS: u64 = 50;

/// Most readings of one run; longer runs are read less often.
const READINGS_MAX: u64 = 7_200;

/// Readings of all clients of a run together, about: one of a large machine has some KiB, and a report reads a GiB of
/// them at the most.
const FLEET_READINGS_MAX: u64 = 100_000;

/// How often looks at who has the processors may come: a scan of `/proc` takes a two-hundredth of one processor at
/// most, however many processes there are.
const SCAN_REST_FACTOR: u32 = 200;

/// The thread that reads; ends when stopped.
pub(crate) struct ReadingThread {
    /// Dropped to stop the thread.
    running: Sender<()>,
    thread: JoinHandle<Result<Vec<Finding>, Failure>>,
}

/// How long a run is said to be to so many clients, each of which reads its machine so that a run of that length has
/// 7,200 readings, and once a second at the most.
pub(crate) fn sampling_duration_ms(expected: Duration, clients: u32) -> u64 {
    let expected_ms = u64::try_from(expected.as_millis()).unwrap_or(u64::MAX);
    let fleet_duration_ms =
        expected_ms.saturating_mul(u64::from(clients)).saturating_mul(READINGS_MAX) / FLEET_READINGS_MAX;
    expected_ms.max(fleet_duration_ms)
}

/// Starts to read: each second, or less often where a run of the length expected would give too many.
pub(crate) fn start(
    folder: &Path,
    clock: Clock,
    expected: Duration,
    target: LocalTarget,
) -> Result<ReadingThread, Failure> {
    let mut lines = run_folder::open_lines(folder, "readings.jsonl")?;
    start_into(clock, expected, target, move |reading| lines.push(&reading))
}

/// The same into whatever takes readings.
pub(crate) fn start_into(
    clock: Clock,
    expected: Duration,
    target: LocalTarget,
    mut take: impl FnMut(Reading) -> Result<(), Failure> + Send + 'static,
) -> Result<ReadingThread, Failure> {
    let period_ms = expected.as_secs().div_ceil(READINGS_MAX).max(1) * 1_000;
    let (running, stopped) = channel::<()>();
    let went_on = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGCONT, Arc::clone(&went_on)).map_err(Failure::Signals)?;
    let thread = std::thread::spawn(move || {
        let (root, mut noted, mut findings) = (Root::live(), HashSet::new(), Vec::new());
        let (asleep_before_ms, mut last) = (asleep_ms(), false);
        let mut looks = ProcessorScans { neighbours: Neighbours::new(target), next_scan_ms: 0 };
        loop {
            let (now_ms, unix_ms) = both_clocks(clock);
            let (reading, unreadable) = reading(&root, now_ms);
            let took_ms = (clock.now_ns() / 1_000_000).saturating_sub(now_ms);
            let slept_ms = asleep_ms().saturating_sub(asleep_before_ms);
            // The two clocks are not read at one instant.
            let slept_ms = if slept_ms < CLOCK_SKEW_MAX_MS { 0 } else { slept_ms };
            let continued = went_on.swap(false, Ordering::Relaxed);
            let look = looks.next(&root, clock, last);
            let reading = Reading { took_ms, unix_ms, slept_ms, continued, look, ..reading };
            take(reading)?;
            findings.extend(unreadable.into_iter().filter(|u| noted.insert(u.to_string())).map(unreadable_file));
            if last {
                return Ok(findings);
            }
            // On the whole seconds of the run's clock, and once more when it ends.
            let until_next = Duration::from_millis(period_ms - now_ms % period_ms);
            last = stopped.recv_timeout(until_next) != Err(RecvTimeoutError::Timeout);
        }
    });
    Ok(ReadingThread { running, thread })
}

/// Looks at who has the processors, that rest between.
struct ProcessorScans {
    neighbours: Neighbours,
    next_scan_ms: u64,
}

impl ProcessorScans {
    /// A look, where it is time for one; the last reading always has one.
    fn next(&mut self, root: &Root, clock: Clock, is_last: bool) -> Option<ProcessorSample> {
        let now_ms = clock.now_ns() / 1_000_000;
        if now_ms < self.next_scan_ms && !is_last {
            return None;
        }
        let begun = Instant::now();
        let look = self.neighbours.look(root, now_ms);
        let rest_ms = (begun.elapsed() * SCAN_REST_FACTOR).as_millis();
        self.next_scan_ms = now_ms.saturating_add(u64::try_from(rest_ms).unwrap_or(u64::MAX));
        look
    }
}

/// How long this machine has slept since it booted, in milliseconds: one clock stands meanwhile, the other does not.
fn asleep_ms() -> u64 {
    let ms = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000)
    };
    let awake_ms = ms(ClockId::Monotonic);
    u64::try_from(ms(ClockId::Boottime) - awake_ms).unwrap_or(0)
}

/// The run's clock and the wall clock at one instant: a thread that was put aside between the two tries again.
fn both_clocks(clock: Clock) -> (u64, Option<u64>) {
    for _ in 0..4 {
        let before_ns = clock.now_ns();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let after_ns = clock.now_ns();
        if after_ns - before_ns < 5_000_000 {
            return (before_ns / 1_000_000, wall.ok().and_then(|d| u64::try_from(d.as_millis()).ok()));
        }
    }
    (clock.now_ns() / 1_000_000, None)
}

impl ReadingThread {
    /// Takes a last reading, and gives what could not be read.
    pub(crate) fn stop(self) -> Result<Vec<Finding>, Failure> {
        drop(self.running);
        self.thread.join().unwrap_or_else(|_| Ok(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_clients_read_less_often_so_that_all_of_them_fit_a_folder() {
        let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3_600));
        let lines = |expected: Duration, clients: u32| {
            let reported_s = sampling_duration_ms(expected, clients) / 1_000;
            u64::from(clients) * expected.as_secs() / reported_s.div_ceil(READINGS_MAX).max(1)
        };
        assert_eq!((lines(hour, 1), lines(hour, 8), lines(minute, 1_000)), (3_600, 28_800, 60_000), "once a second");
        for (expected, clients) in [(hour, 195), (hour, 1_024), (minute * 5, 1_000)] {
            let all = lines(expected, clients);
            assert!((FLEET_READINGS_MAX / 2..=FLEET_READINGS_MAX).contains(&all), "{expected:?} {clients}: {all}");
        }
    }
}
