//! Processor time of other processes while a client runs.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Failure;
use crate::process::{Running, stat_cpu_s};

const BETWEEN_SAMPLES: Duration = Duration::from_millis(50);
/// How much of a client's end may lie after its last sample.
const UNSEEN_S_MAX: f64 = 0.2;

/// Processor time used so far, in seconds, at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) at_unix_s: f64,
    pub(super) client_s: f64,
    pub(super) server_s: f64,
}

/// A client's run as seen from outside.
pub(super) struct Watched {
    pub(super) samples: Vec<Sample>,
    pub(super) stdout: String,
}

/// Runs a client to its end and samples its processor time and the server's meanwhile.
pub(super) fn watch(
    command: &mut Command,
    server_pid: u32,
    scratch: &Path,
    limit: Duration,
) -> Result<Watched, Failure> {
    let (stdout, stderr) = (scratch.join("client.out"), scratch.join("client.err"));
    let name = command.get_program().display().to_string();
    command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
    let mut running = Running(command.spawn().map_err(|error| format!("{name}: {error}"))?);
    let (pid, began) = (running.0.id(), Instant::now());
    let mut samples = Vec::new();
    let status: ExitStatus = loop {
        if let Some(status) = running.0.try_wait()? {
            break status;
        }
        // A process that ends meanwhile has no threads to read: its last sample stands.
        if let (Some(client_s), Some(server_s)) = (cpu_s(pid), cpu_s(server_pid)) {
            let at_unix_s = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
            samples.push(Sample { at_unix_s, client_s, server_s });
        }
        if began.elapsed() > limit {
            return Err(format!("{name} ran longer than {} s and was ended", limit.as_secs()).into());
        }
        std::thread::sleep(BETWEEN_SAMPLES);
    };
    let said = String::from_utf8_lossy(&fs::read(&stderr)?).trim().to_owned();
    if !status.success() {
        return Err(format!("{name}: {status}: {}", said.lines().last().unwrap_or("no message")).into());
    }
    Ok(Watched { samples, stdout: String::from_utf8_lossy(&fs::read(&stdout)?).into_owned() })
}

impl Watched {
    /// Processor seconds of client and server between two times, samples joined by straight lines. A client that ended
    /// just after its last sample is taken to have gone on as before.
    pub(super) fn between(&self, from_unix_s: f64, to_unix_s: f64) -> Result<(f64, f64), Failure> {
        let known_to_s = self.samples.last().map_or(0.0, |sample| sample.at_unix_s);
        let until_s = if to_unix_s - known_to_s < UNSEEN_S_MAX { to_unix_s.min(known_to_s) } else { to_unix_s };
        let (Some(first), Some(last)) = (at(&self.samples, from_unix_s), at(&self.samples, until_s)) else {
            let (known, requested) = (known_to_s - self.began_unix_s(), to_unix_s - from_unix_s);
            return Err(format!("the client ran for {known:.3} s and was to be measured for {requested:.3} s").into());
        };
        let scale = (to_unix_s - from_unix_s) / (until_s - from_unix_s);
        Ok(((last.client_s - first.client_s) * scale, (last.server_s - first.server_s) * scale))
    }

    /// When the client was started.
    pub(super) fn began_unix_s(&self) -> f64 {
        self.samples.first().map_or(0.0, |sample| sample.at_unix_s)
    }
}

fn at(samples: &[Sample], at_unix_s: f64) -> Option<Sample> {
    let after = samples.iter().position(|sample| sample.at_unix_s >= at_unix_s)?;
    let (a, b) = (samples[after.checked_sub(1)?], samples[after]);
    let share = (at_unix_s - a.at_unix_s) / (b.at_unix_s - a.at_unix_s);
    let mix = |a: f64, b: f64| a + (b - a) * share;
    Some(Sample { at_unix_s, client_s: mix(a.client_s, b.client_s), server_s: mix(a.server_s, b.server_s) })
}

/// Processor time of a live process in seconds: to the nanosecond where the kernel keeps `schedstat`, which is the
/// clock that processes read of themselves; else to the hundredth.
fn cpu_s(pid: u32) -> Option<f64> {
    let mut sum_ns = 0u64;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let Ok(text) = fs::read_to_string(thread.ok()?.path().join("schedstat")) else { continue };
        sum_ns += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    if sum_ns > 0 {
        return Some(sum_ns as f64 / 1e9);
    }
    stat_cpu_s(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_between_samples_is_interpolated() {
        let samples = (0..4).map(|i| Sample {
            at_unix_s: f64::from(i),
            client_s: f64::from(i * i),
            server_s: 2.0 * f64::from(i),
        });
        let watched = Watched { samples: samples.collect(), stdout: String::new() };
        assert_eq!(watched.between(0.5, 2.5).unwrap(), (6.0, 4.0));
        let (client_s, server_s) = watched.between(2.0, 3.125).unwrap();
        assert!((client_s - 5.625).abs() < 1e-9 && (server_s - 2.25).abs() < 1e-9, "{client_s} {server_s}");
        assert!(watched.between(2.5, 3.5).is_err(), "long after the end nothing is known");
    }

    #[test]
    fn this_process_has_used_processor_time_and_a_process_that_is_not_has_none() {
        assert!(cpu_s(std::process::id()).is_some());
        assert_eq!(cpu_s(u32::MAX), None);
    }
}
