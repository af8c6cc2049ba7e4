//! The coordinator, seen from outside.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Failure, Running};

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
    /// Since its start.
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
        let told = fs::read_to_string(&self.said)?;
        // A run of figures that are made up has findings.
        if status.code().is_none_or(|code| code > 1) {
            return Err(format!("linerate ended with {status}: {told}").into());
        }
        Ok((samples, told))
    }

    fn sample(&self, pid: u32) -> Option<Sample> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some(Sample {
            at_s: self.began.elapsed().as_secs_f64(),
            cpu_s: cpu_s(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?,
            resident_bytes: kib(&status, "VmRSS:")? << 10,
            peak_bytes: kib(&status, "VmHWM:")? << 10,
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

/// User and system time out of `/proc/PID/stat`, threads that ended included, which is counted in hundredths of a
/// second on every Linux that matters here (`USER_HZ`).
fn cpu_s(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(") ")?.1.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks as f64 / 100.0)
}

fn kib(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name))?.trim().strip_suffix(" kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_as_the_kernel_tells_of_it() {
        assert_eq!(cpu_s("42 (a) b (c)) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 9 9 20 0 3 0 100 0 0"), Some(2.0));
        assert_eq!(kib("VmHWM:\t  300 kB\nVmRSS:\t     123 kB\n", "VmRSS:"), Some(123));
        let (begin, end) = ("{\"event\":\"begin\",\"point\":0}\n", "{\"event\":\"end\",\"point\":0}\n");
        let written = "{\"event\":\"written\",\"at_ms\":1}\n";
        assert_eq!(phase(written), Phase::Before);
        assert_eq!(phase(&[written, begin].concat()), Phase::Loading);
        assert_eq!(phase(&[written, begin, end].concat()), Phase::After);
    }
}
