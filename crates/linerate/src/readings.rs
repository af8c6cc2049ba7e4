//! Readings of this machine while a run goes on, by a thread of their own.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_host::{Root, Unreadable, reading};
use linerate_load::clock::Clock;
use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::reading::Reading;

use crate::failure::Failure;
use crate::folder;

/// Most readings of one run; longer runs are read less often.
const READINGS_MAX: u64 = 7_200;

/// The thread that reads; ends when stopped.
pub(crate) struct Reader {
    /// Dropped to stop the thread.
    running: Sender<()>,
    thread: JoinHandle<Result<Vec<Finding>, Failure>>,
}

/// Starts to read: each second, or less often where a run of the length expected would give too many.
pub(crate) fn start(folder: &Path, clock: Clock, expected: Duration) -> Result<Reader, Failure> {
    let mut lines = folder::lines(folder, "readings.jsonl")?;
    let period_ms = expected.as_secs().div_ceil(READINGS_MAX).max(1) * 1_000;
    let (running, stopped) = channel::<()>();
    let thread = std::thread::spawn(move || {
        let (root, mut noted, mut findings) = (Root::live(), HashSet::new(), Vec::new());
        let mut last = false;
        loop {
            let (now_ms, unix_ms) = both_clocks(clock);
            let (reading, unreadable) = reading(&root, now_ms);
            let reading = Reading { unix_ms, ..reading };
            lines.push(&reading)?;
            findings.extend(unreadable.into_iter().filter(|u| noted.insert(u.to_string())).map(finding));
            if last {
                return Ok(findings);
            }
            // On the whole seconds of the run's clock, and once more when it ends.
            let until_next = Duration::from_millis(period_ms - now_ms % period_ms);
            last = stopped.recv_timeout(until_next) != Err(RecvTimeoutError::Timeout);
        }
    });
    Ok(Reader { running, thread })
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

impl Reader {
    /// Takes a last reading, and gives what could not be read.
    pub(crate) fn stop(self) -> Result<Vec<Finding>, Failure> {
        drop(self.running);
        self.thread.join().unwrap_or_else(|_| Ok(Vec::new()))
    }
}

/// An unreadable file as a finding.
pub(crate) fn finding(unreadable: Unreadable) -> Finding {
    Finding {
        kind: FindingKind::Unreadable,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "a reading of this machine is missing".into(),
        evidence: unreadable.to_string(),
        remedy: "figures that need it are left out".into(),
    }
}
