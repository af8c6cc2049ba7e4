//! The process with whose end changes are rolled back.
//!
//! It is told by its number and by when it started, since numbers are given again. Numbers are those of the PID
//! namespace that `/proc` shows, which must be the same for the owner and the watch.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use linerate_record::journal::Owner;

use crate::process::process_stat;
use crate::root::Root;

/// The inode of the PID namespace in which the machine booted: `PROC_PID_INIT_INO` in `include/linux/proc_ns.h`.
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// This process.
///
/// # Errors
/// Where `/proc` does not tell.
pub fn this_process() -> io::Result<Owner> {
    named("self")
}

/// The process of this number.
///
/// # Errors
/// Where there is none.
pub fn process_owner(pid: u32) -> io::Result<Owner> {
    named(&pid.to_string())
}

fn named(process: &str) -> io::Result<Owner> {
    let stat = process_stat(&Root::live(), process, &mut Vec::new())?;
    Ok(Owner { pid: stat.pid, started_ticks: stat.started_ticks })
}

/// Whether it has ended. One that was killed and whose parent has not asked how has ended too, and so has one whose
/// number another process has. Where that cannot be told, it has not: time still counts.
#[must_use]
pub fn is_gone(owner: Owner) -> bool {
    match process_stat(&Root::live(), &owner.pid.to_string(), &mut Vec::new()) {
        Ok(stat) => stat.has_ended || stat.started_ticks != owner.started_ticks,
        // ESRCH: it ended between the opening of its file and the reading.
        Err(error) => error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(3),
    }
}

/// Whether it is stopped, by a signal or by a debugger.
pub(crate) fn is_stopped(owner: Owner) -> bool {
    process_stat(&Root::live(), &owner.pid.to_string(), &mut Vec::new()).is_ok_and(|stat| stat.is_stopped)
}

/// Whether a process of a PID namespace lives; none where that cannot be told from here.
pub(crate) fn lives_in(owner: Owner, namespace: u64) -> Option<bool> {
    if pid_namespace().ok()? == namespace {
        return Some(!is_gone(owner) && !is_stopped(owner));
    }
    // With its first process a namespace's others go too. Root in the first of all sees every process.
    if !is_in_initial_pid_namespace() || !rustix::process::geteuid().is_root() {
        return None;
    }
    let all = std::fs::read_dir("/proc").ok()?.flatten();
    let mut inodes = all.filter_map(|entry| Some(std::fs::metadata(entry.path().join("ns/pid")).ok()?.ino()));
    if inodes.any(|inode| inode == namespace) { None } else { Some(false) }
}

/// The inode of the PID namespace of this process.
///
/// # Errors
/// Where `/proc` does not tell.
pub(crate) fn pid_namespace() -> io::Result<u64> {
    Ok(std::fs::metadata("/proc/self/ns/pid")?.ino())
}

/// Whether this process is in the PID namespace in which the machine booted, in which systemd starts services.
#[must_use]
pub fn is_in_initial_pid_namespace() -> bool {
    pid_namespace().is_ok_and(|inode| inode == INITIAL_PID_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_gone_when_it_ended_waited_for_or_not_and_when_another_has_its_number() {
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let owner = process_owner(child.id()).unwrap();
        assert!(!is_gone(owner));
        assert!(is_gone(Owner { started_ticks: owner.started_ticks + 1, ..owner }), "another of its number");
        child.kill().unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(120);
        while !is_gone(owner) && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(is_gone(owner), "nobody has waited for it");
        child.wait().unwrap();
        assert!(is_gone(owner), "there is no such process");
        assert!(!is_gone(this_process().unwrap()));
    }
}
