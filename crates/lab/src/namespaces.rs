//! Network namespaces by their names, and the processes in them.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::LabError;
use crate::mounts;
use crate::programs;

/// Where `ip netns` keeps names.
const NAMES: &str = "/run/netns";

/// How long processes that were killed may take to be gone: one may wait for a drive that is slow.
const KILLED_MAX: Duration = Duration::from_secs(20);

/// The file of a namespace.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    Path::new(NAMES).join(name)
}

/// Whether `ip netns` has made the folder of names, which it mounts on itself.
#[must_use]
pub fn has_names_folder() -> bool {
    Path::new(NAMES).exists()
}

/// Removes the folder of names, where no namespace has one any more.
///
/// # Errors
/// [`LabError::Program`], [`LabError::File`].
pub fn remove_names_folder() -> Result<(), LabError> {
    let is_used = fs::read_dir(NAMES).is_ok_and(|mut entries| entries.next().is_some());
    if is_used || !has_names_folder() {
        return Ok(());
    }
    if mounts::is_mounted(Path::new(NAMES))? {
        programs::run("umount", &[NAMES])?;
    }
    fs::remove_dir(NAMES).map_err(LabError::file("remove", NAMES))
}

/// Device and inode of a file: which namespace it is.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Numbers of all processes.
fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What says whose a namespace is: the alias of its loopback interface.
///
/// # Errors
/// [`LabError::Program`].
pub fn owner_mark(name: &str) -> Result<Option<String>, LabError> {
    if !path(name).exists() {
        return Ok(None);
    }
    let shown = programs::run("ip", &["-n", name, "link", "show", "dev", "lo"])?;
    Ok(shown.lines().find_map(|line| line.trim().strip_prefix("alias ")).map(str::to_owned))
}

/// Processes in these network namespaces.
#[must_use]
pub fn processes(names: &[String]) -> BTreeSet<u32> {
    let ours: BTreeSet<(u64, u64)> = names.iter().filter_map(|name| identity(&path(name))).collect();
    let is_in = |pid: &u32| identity(Path::new(&format!("/proc/{pid}/ns/net"))).is_some_and(|id| ours.contains(&id));
    pids().filter(is_in).collect()
}

/// Kills processes as `found` finds them, until there are none.
///
/// # Errors
/// [`LabError::Program`] where some are still there after a time.
pub fn kill_all(found: impl Fn() -> BTreeSet<u32>) -> Result<(), LabError> {
    let begun = Instant::now();
    loop {
        let left = found();
        if left.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > KILLED_MAX {
            let why = format!("they are still there {} s after they were killed", KILLED_MAX.as_secs());
            return Err(LabError::Program { program: format!("kill -9 {left:?}"), why });
        }
        for pid in left.iter().filter_map(|pid| Pid::from_raw((*pid).try_into().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Deletes a namespace, if it is there; what is in it is gone with it.
///
/// # Errors
/// [`LabError::Program`].
pub fn delete(name: &str) -> Result<(), LabError> {
    if !path(name).exists() {
        return Ok(());
    }
    match programs::run("ip", &["netns", "delete", name]) {
        // A kill between the making of the file and the mount on it leaves an empty file.
        Err(_) if fs::remove_file(path(name)).is_ok() => Ok(()),
        outcome => outcome.map(drop),
    }
}
