//! Readings of this machine while a run goes on, by a thread of their own.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use linerate_host::{Root, Unreadable, reading};
use linerate_load::clock::Clock;
use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use crate::failure::Failure;
use crate::folder;

/// Most readings of one run; longer runs are read less often.
const READINGS_MAX: u64 = 7_200;

/// The thread that reads; ends when stopped.
pub(crate) struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<Finding>, Failure>>,
}

/// Starts to read: each second, or less often where a run of the length expected would give too many.
pub(crate) fn start(folder: &Path, clock: Clock, expected: Duration) -> Result<Reader, Failure> {
    let mut lines = folder::lines(folder, "readings.jsonl")?;
    let period_ms = expected.as_secs().div_ceil(READINGS_MAX).max(1) * 1_000;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        let (root, mut noted, mut findings) = (Root::live(), HashSet::new(), Vec::new());
        let mut next_ms = 0;
        loop {
            let now_ms = clock.now_ns() / 1_000_000;
            let last = stopped.load(Ordering::Relaxed);
            if now_ms >= next_ms || last {
                let (reading, unreadable) = reading(&root, now_ms);
                lines.push(&reading)?;
                findings.extend(unreadable.into_iter().filter(|u| noted.insert(u.to_string())).map(finding));
                next_ms = (now_ms / period_ms + 1) * period_ms;
            }
            if last {
                return Ok(findings);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    Ok(Reader { stop, thread })
}

impl Reader {
    /// Takes a last reading, and gives what could not be read.
    pub(crate) fn stop(self) -> Result<Vec<Finding>, Failure> {
        self.stop.store(true, Ordering::Relaxed);
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
