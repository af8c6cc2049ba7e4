//! The command that has to succeed behind each wave.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use linerate_record::rollout::RolloutPlan;
use rustix::process::{Pid, Signal, kill_process_group};

/// A check that runs. Dropping it ends it, with all that it started in its process group.
pub(super) struct CheckProcess {
    child: Child,
    until: Instant,
    within: Duration,
}

impl CheckProcess {
    /// Starts the check behind a wave, from 0.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(super) fn start(plan: &RolloutPlan, wave: u32) -> Result<CheckProcess, String> {
        let command = plan.check.as_deref().unwrap_or("true");
        let failed = |error: io::Error| format!("--check: failed to start sh: {error}");
        // What it prints is for people: standard output is the report's.
        let output = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
        let places = plan.waves.get(wave as usize).map_or(&[][..], Vec::as_slice);
        let nodes: Vec<&str> =
            places.iter().filter_map(|place| Some(plan.nodes.get(*place as usize)?.name.as_str())).collect();
        let mut sh = Command::new("/bin/sh");
        sh.args(["-c", command]).process_group(0).stdin(Stdio::null()).stdout(Stdio::from(output));
        sh.env("LINERATE_ROLLOUT", plan.name.to_string()).env("LINERATE_WAVE", (wave + 1).to_string());
        sh.env("LINERATE_NODES", nodes.join(" "));
        let within = Duration::from_millis(plan.check_within_ms);
        Ok(CheckProcess { child: sh.spawn().map_err(failed)?, until: Instant::now() + within, within })
    }

    /// How it ended, where it has, or has had its time.
    pub(super) fn ended(&mut self) -> Option<Result<(), String>> {
        match self.child.try_wait() {
            Ok(Some(status)) if status.success() => Some(Ok(())),
            Ok(Some(status)) => Some(Err(format!("the check failed: {status}"))),
            Err(error) => Some(Err(format!("the check cannot be waited for: {error}"))),
            Ok(None) if Instant::now() >= self.until => {
                Some(Err(format!("the check took longer than {} s", self.within.as_secs_f64())))
            }
            Ok(None) => None,
        }
    }
}

impl Drop for CheckProcess {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::rollout::{ROLLOUT_SCHEMA, RolloutName};

    use super::*;

    fn plan(check: &str, within_ms: u64) -> RolloutPlan {
        RolloutPlan {
            schema: ROLLOUT_SCHEMA,
            name: RolloutName { token: 7, nodes: 1 },
            nodes: Vec::new(),
            waves: vec![Vec::new(), Vec::new()],
            interrupting: Vec::new(),
            guards: Vec::new(),
            within_ms: 60_000,
            stagger_ms: 0,
            check: Some(check.to_owned()),
            check_within_ms: within_ms,
        }
    }

    fn result(check: &str, within_ms: u64) -> Result<(), String> {
        let mut running = CheckProcess::start(&plan(check, within_ms), 1)?;
        loop {
            if let Some(result) = running.ended() {
                return result;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_check_succeeds_fails_or_has_had_its_time() {
        assert_eq!(result("[ $LINERATE_WAVE = 2 ] && [ $LINERATE_ROLLOUT = r0000000000000007n1 ]", 60_000), Ok(()));
        let why = result("exit 3", 60_000).unwrap_err();
        assert!(why.contains("exit status: 3"), "{why}");
        let why = result("sleep 1000 & wait", 200).unwrap_err();
        assert!(why.contains("longer than 0.2 s"), "{why}");
    }
}
