//! What processes have used, as /proc tells it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::process::{stat_cpu_s, status_field};

/// One process at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    pub(crate) cpu_s: f64,
    pub(crate) rss_mib: f64,
}

impl Used {
    /// Nothing where it is gone.
    pub(crate) fn for_pid(pid: u32) -> Option<Used> {
        let cpu_s = stat_cpu_s(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        Some(Used { cpu_s, rss_mib: status_field(&status, "VmRSS")? as f64 / 1024.0 })
    }

    pub(crate) fn json(self) -> Value {
        json!({"cpu_s": self.cpu_s, "rss_mib": (self.rss_mib * 10.0).round() / 10.0})
    }
}

/// Numbers of the processes of a name that were begun for a folder.
pub(crate) fn named(name: &str, folder: &Path) -> Vec<u32> {
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
