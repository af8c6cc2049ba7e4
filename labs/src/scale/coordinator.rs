//! The coordinator, seen from outside.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Failure;
use crate::process::{Running, stat_cpu_s, status_field};

const EVERY: Duration = Duration::from_secs(1);

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No point has begun.
    Before,
    /// Its point is under way.
    Loading,
    /// Its point has ended.
    After,
}

/// The coordinator at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at_s: f64,
    /// Processor time of all of its threads, and of those that ended while it was seen.
    pub(super) cpu_s: f64,
    pub(super) resident_bytes: u64,
    /// The most that was resident at any time.
    pub(super) peak_bytes: u64,
    pub(super) phase: Phase,
}

impl Sample {
    pub(super) fn to_json(self) -> Value {
        let phase = match self.phase {
            Phase::Before => "before",
            Phase::Loading => "loading",
            Phase::After => "after",
        };
        json!({
            "at_s": (self.at_s * 1e3).round() / 1e3, "cpu_s": self.cpu_s, "resident_bytes": self.resident_bytes,
            "peak_bytes": self.peak_bytes, "phase": phase,
        })
    }
}

/// `linerate bench --fleet` under way.
pub(super) struct Coordinator {
    running: Running,
    began: Instant,
    points: PathBuf,
    said: PathBuf,
}

impl Coordinator {
    pub(super) fn start(linerate: &Path, flags: &[String], scratch: &Path) -> Result<Coordinator, Failure> {
        let said = scratch.join("coordinator.txt");
        let (errors, output) = (File::create(&said)?, File::options().append(true).open(&said)?);
        let mut command = Command::new(linerate);
        command.args(flags).stdin(Stdio::null()).stdout(output).stderr(errors);
        let child = command.spawn().map_err(|error| format!("{}: {error}", linerate.display()))?;
        let points = scratch.join("run/points.jsonl");
        Ok(Coordinator { running: Running(child), began: Instant::now(), points, said })
    }

    /// Watches it to its end; all samples, and what it said.
    pub(super) fn watch(
        mut self,
        limit: Duration,
        mut record: impl FnMut(Sample) -> Result<(), Failure>,
    ) -> Result<(Vec<Sample>, String), Failure> {
        let (mut samples, pid) = (Vec::new(), self.running.0.id());
        let status = loop {
            if let Some(status) = self.running.0.try_wait()? {
                break status;
            }
            if self.began.elapsed() > limit {
                return Err(format!("linerate ran longer than {} s and was ended", limit.as_secs()).into());
            }
            // A process that ends meanwhile has nothing to read: its last sample stands.
            if let Some(sample) = self.sample(pid) {
                record(sample)?;
                samples.push(sample);
            }
            thread::sleep(EVERY);
        };
        let reported = fs::read_to_string(&self.said)?;
        // A run of figures that are made up has findings.
        if status.code().is_none_or(|code| code > 1) {
            return Err(format!("linerate ended with {status}: {reported}").into());
        }
        Ok((samples, reported))
    }

    fn sample(&self, pid: u32) -> Option<Sample> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some(Sample {
            at_s: self.began.elapsed().as_secs_f64(),
            cpu_s: stat_cpu_s(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?,
            resident_bytes: status_field(&status, "VmRSS")? << 10,
            peak_bytes: status_field(&status, "VmHWM")? << 10,
            phase: phase(&fs::read_to_string(&self.points).unwrap_or_default()),
        })
    }
}

/// How far a run is whose `points.jsonl` this is.
fn phase(points: &str) -> Phase {
    let has = |event: &str| points.lines().any(|line| line.contains(&format!("\"event\":\"{event}\"")));
    match (has("begin"), has("end")) {
        (_, true) => Phase::After,
        (true, false) => Phase::Loading,
        (false, false) => Phase::Before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_as_far_as_its_points_say() {
        let (begin, end) = ("{\"event\":\"begin\",\"point\":0}\n", "{\"event\":\"end\",\"point\":0}\n");
        let written = "{\"event\":\"written\",\"at_ms\":1}\n";
        assert_eq!(phase(written), Phase::Before);
        assert_eq!(phase(&[written, begin].concat()), Phase::Loading);
        assert_eq!(phase(&[written, begin, end].concat()), Phase::After);
    }
}
