//! What stands as long as nobody changes it: of the machine, of this process, and of the target's.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use linerate_record::fingerprint as keys;

use super::{NOT_STATED, stated, untold};
use crate::lines::value_after;
use crate::process::process_stat;
use crate::root::{Root, names, text};

/// Levels of cgroups that are looked at; the kernel allows more (`cgroup.max.depth`), nobody has them.
const DEEPEST: usize = 32;

type Row = (&'static str, String);

pub(super) fn of_machine(root: &Root) -> Vec<(String, String)> {
    let kernel = ["osrelease", "version"].map(|file| stated(root, &format!("proc/sys/kernel/{file}"))).join(" ");
    let rows: [Row; 5] = [
        (keys::KERNEL, kernel),
        (keys::BOOT, stated(root, "proc/sys/kernel/random/boot_id")),
        (keys::PROCESSORS, stated(root, "sys/devices/system/cpu/online")),
        (keys::CLOCK_SOURCE, stated(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")),
        (keys::GOVERNOR, governors(root)),
    ];
    owned(rows)
}

pub(super) fn of_client(root: &Root) -> Vec<(String, String)> {
    let rows: [Row; 3] = [
        (keys::AFFINITY, affinity(root, "self")),
        (keys::CLIENT_NETNS, netns(root, "self")),
        (keys::CLIENT_CGROUP, quotas(root, "self")),
    ];
    owned(rows)
}

pub(super) fn of_target(root: &Root, pid: u32) -> Vec<(String, String)> {
    let process = pid.to_string();
    let stat = process_stat(root, &process, &mut Vec::new());
    let started = stat.map_or_else(|error| of_process(&error), |stat| format!("at tick {}", stat.started_ticks));
    let rows: [Row; 5] = [
        (keys::TARGET_PROGRAM, program(root, &process)),
        (keys::TARGET_STARTED, started),
        (keys::TARGET_NETNS, netns(root, &process)),
        (keys::TARGET_AFFINITY, affinity(root, &process)),
        (keys::TARGET_CGROUP, quotas(root, &process)),
    ];
    owned(rows)
}

fn owned<const N: usize>(rows: [Row; N]) -> Vec<(String, String)> {
    rows.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Of a process's files, those that are not there mean that it is not.
fn of_process(error: &io::Error) -> String {
    let is_gone = error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3);
    if is_gone { "no such process".to_owned() } else { untold(error) }
}

fn governors(root: &Root) -> String {
    let folder = "sys/devices/system/cpu/cpufreq";
    let policies = names(root, folder).into_iter().filter(|name| name.starts_with("policy"));
    let mut all: Vec<String> =
        policies.map(|policy| stated(root, &format!("{folder}/{policy}/scaling_governor"))).collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() { NOT_STATED.to_owned() } else { all.join(", ") }
}

fn affinity(root: &Root, process: &str) -> String {
    match text(root, &format!("proc/{process}/status"), &mut Vec::new()) {
        Ok(text) => value_after(&text, "Cpus_allowed_list").unwrap_or(NOT_STATED).to_owned(),
        Err(error) => of_process(&error),
    }
}

fn netns(root: &Root, process: &str) -> String {
    match std::fs::read_link(root.0.join(format!("proc/{process}/ns/net"))) {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(error) => of_process(&error),
    }
}

/// The file that a process runs, though another may have its name by now. Kernels give it without its content, which
/// a hash would have to read whole.
fn program(root: &Root, process: &str) -> String {
    match std::fs::metadata(root.0.join(format!("proc/{process}/exe"))) {
        Ok(file) => {
            let (device, inode, bytes) = (file.dev(), file.ino(), file.size());
            format!("inode {inode} of device {device}, {bytes} bytes, of {}.{:09}", file.mtime(), file.mtime_nsec())
        }
        Err(error) => of_process(&error),
    }
}

/// Quotas of processor time that bind a process: those of its cgroup and of each above it.
fn quotas(root: &Root, process: &str) -> String {
    let folders = match cpu_cgroups(root, process) {
        Ok(folders) => folders,
        Err(error) => return of_process(&error),
    };
    let all: Vec<String> = folders.iter().filter_map(|folder| quota(root, folder)).collect();
    if all.is_empty() { "no quota".to_owned() } else { all.join(", ") }
}

fn quota(root: &Root, folder: &str) -> Option<String> {
    let read = |file: &str| Some(text(root, &format!("{folder}/{file}"), &mut Vec::new()).ok()?.trim().to_owned());
    let (quota, period) = match read("cpu.max") {
        Some(both) => both.split_once(' ').map(|(quota, period)| (quota.to_owned(), period.to_owned()))?,
        None => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
    };
    let is_none = quota == "max" || quota == "-1";
    (!is_none).then(|| format!("{quota} of {period} us"))
}

/// Folders of the cgroups that deal out processor time to a process, its own first. A container that sees its own
/// cgroup as the topmost has the path of another tree: what is not there is passed over.
pub(crate) fn cpu_cgroups(root: &Root, process: &str) -> io::Result<Vec<String>> {
    let mut bytes = Vec::new();
    let text = text(root, &format!("proc/{process}/cgroup"), &mut bytes)?;
    let mut folders = Vec::new();
    for line in text.lines() {
        // `0::/a/b` of version 2; `4:cpu,cpuacct:/a/b` of version 1.
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let has_processors = controllers.split(',').any(|controller| controller == "cpu");
        let is_plain = path.split('/').all(|part| part != "..");
        let mounts: &[&str] = match (number, has_processors && is_plain) {
            (_, true) => &["sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu"],
            ("0", false) if controllers.is_empty() && is_plain => &["sys/fs/cgroup", "sys/fs/cgroup/unified"],
            _ => continue,
        };
        let above = std::iter::successors(Some(path.trim_end_matches('/')), |path| Some(path.rsplit_once('/')?.0));
        for path in above.take(DEEPEST) {
            let found = mounts.iter().map(|mount| format!("{mount}{path}"));
            folders.extend(found.filter(|folder| root.0.join(folder).is_dir()).take(1));
        }
    }
    Ok(folders)
}
