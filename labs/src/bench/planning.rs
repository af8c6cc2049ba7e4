//! Processor time of `plan` and `explain` on large sites, against what each may take.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Failure;
use super::summary::Summary;
use crate::process::TICKS_PER_S;

/// A command over a generated site, and the processor time that it may take in user space.
struct Task {
    name: &'static str,
    site: String,
    explained: bool,
    /// Runs that are measured together: the clock is coarse.
    runs: u32,
    limit_s: f64,
}

fn tasks() -> [Task; 3] {
    let plan = |name, nodes, runs, limit_s| Task { name, site: bonded(nodes), explained: false, runs, limit_s };
    [
        plan("plan of 484 nodes with two bonded planes", 484, 50, 0.010),
        plan("plan of 50,000 nodes with two bonded planes", 50_000, 3, 0.5),
        Task { name: "explain with 32 kinds of nodes", site: kinds(32), explained: true, runs: 3, limit_s: 0.5 },
    ]
}

/// Measures all, adds a table to the summary, and a fault for each that takes too long.
pub(super) fn measure(linerate: &Path, folder: &Path, summary: &mut Summary) -> Result<(), Failure> {
    let mut table = "\n| processor time in user space | takes | may take |\n|---|---|---|\n".to_owned();
    for task in tasks() {
        let took_s = taken_s(linerate, folder, &task)?;
        let (took_ms, limit_ms) = (1e3 * took_s, 1e3 * task.limit_s);
        writeln!(table, "| {} | {took_ms:.1} ms | {limit_ms:.0} ms |", task.name)?;
        if took_s > task.limit_s {
            summary.faults.push(format!("{} takes {took_ms:.1} ms, above {limit_ms:.0} ms", task.name));
        }
    }
    summary.text.push_str(&table);
    Ok(())
}

fn taken_s(linerate: &Path, folder: &Path, task: &Task) -> Result<f64, Failure> {
    let site = folder.join("planned-site.yaml");
    fs::write(&site, &task.site)?;
    let before = children_user_s()?;
    for _ in 0..task.runs {
        let mut command = Command::new(linerate);
        if task.explained {
            command.args(["explain", "--observed", "get=100GiB/s", "--observed", "put=50GiB/s", "--site"]);
        } else {
            command.arg("plan");
        }
        let status = command.arg(&site).stdout(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("{}: linerate ended with {status}", task.name).into());
        }
    }
    let took_s = (children_user_s()? - before) / f64::from(task.runs);
    fs::remove_file(&site)?;
    Ok(took_s)
}

/// What children took that have ended: `cutime`, the 16th field of `/proc/self/stat`.
fn children_user_s() -> Result<f64, Failure> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is a name in parentheses, which may hold anything.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 = rest.split_whitespace().nth(13).ok_or("/proc/self/stat has no 16th field")?.parse()?;
    Ok(ticks / TICKS_PER_S)
}

fn bonded(nodes: u32) -> String {
    let racks = (nodes / 16).max(1);
    format!(
        "name: bonded
nodes:
  count: {nodes}
  racks: {racks}
  drives: {{count: 8, capacity: 15.36TB}}
{LINKS}
planes: {{public: {{link: bond0}}, private: {{link: bond1}}}}
fabric: {{oversubscription: 2, spines: 8}}
clients: {{count: 400, ports: 2, speed: 25Gb/s, connections: 64}}
engine: minio
"
    )
}

fn kinds(kinds: u32) -> String {
    let kind = |kind: u32| {
        let (drives, capacity) = (4 + kind % 5, 8 + kind);
        let links = LINKS.replace("\n  ", "\n    ").replacen("  ", "    ", 1);
        format!(
            "  - name: kind{kind}\n    count: 8\n    drives: {{count: {drives}, capacity: {capacity}TB}}\n{links}\n"
        )
    };
    let nodes: String = (0..kinds).map(kind).collect();
    format!(
        "name: kinds
nodes:
{nodes}planes: {{public: {{link: bond0}}, private: {{link: bond1}}}}
clients: {{count: 40, ports: 2, speed: 25Gb/s, connections: 64}}
engine: {{product: ceph-rgw, protection: 3x}}
"
    )
}

const LINKS: &str = "  nics: [{name: front, speed: 100Gb/s, ports: 2}, {name: back, speed: 100Gb/s, ports: 2}]
  bonds: [{name: bond0, nics: [front]}, {name: bond1, nics: [back]}]";
