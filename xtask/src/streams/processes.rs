//! What processes have used, as /proc tells it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// `/proc/PID/stat` counts in hundredths of a second on every Linux that matters here (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;

/// One process at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub(super) cpu_s: f64,
    pub(super) rss_mib: f64,
}

impl Used {
    /// Nothing where it is gone.
    pub(super) fn of(pid: u32) -> Option<Used> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // Behind the name, which may hold anything: user and system time are the 12th and 13th.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"));
        Some(Used { cpu_s: ticks / TICKS_PER_S, rss_mib: kib?.trim().parse::<f64>().ok()? / 1024.0 })
    }

    pub(super) fn json(self) -> Value {
        json!({"cpu_s": self.cpu_s, "rss_mib": (self.rss_mib * 10.0).round() / 10.0})
    }
}

/// Numbers of the processes of a name that were begun for a folder.
pub(super) fn named(name: &str, folder: &Path) -> Vec<u32> {
    let mark = format!("FOLDER={}", folder.display());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_meant = |pid: &u32| {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        comm.trim() == name && environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    pids.filter(is_meant).collect()
}
