//! The right to change settings: who has it, and how it is had from a process that stands still.
//!
//! It is a lock on a file, which the kernel lets go of when its holder ends, however that ends. What the file says is
//! only who the holder is, so that a watch can end one that stands still: a process that is not there writes nothing.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};

use linerate_record::journal::Owner;
use rustix::fs::FlockOperation;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::owner;
use crate::path_trust::{self, private};
use crate::root::Root;

/// The right to change settings, as long as it is held. Two at once are refused.
#[derive(Debug, Default)]
pub struct Lock(Vec<File>);

impl Drop for Lock {
    /// Closing is not enough: a process that another thread has begun to start holds a copy of the descriptor until it
    /// is another program. What was taken first goes last: it names its holder, who may be stopped in between.
    fn drop(&mut self) {
        for file in self.0.iter().rev() {
            let _ = rustix::fs::flock(file, FlockOperation::Unlock);
        }
    }
}

impl Lock {
    pub(crate) fn with(mut self, mut other: Lock) -> Lock {
        self.0.append(&mut other.0);
        self
    }
}

fn locked(file: File) -> io::Result<Option<Lock>> {
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Lock(vec![file]))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Takes it; `None` where somebody else has it.
pub(crate) fn take(path: &Path) -> io::Result<Option<Lock>> {
    let Some(lock) = locked(private().write(true).create(true).open(path)?)? else { return Ok(None) };
    // One who is not known is not ended; a full disk must keep nobody from the lock. The old name goes in any case.
    for file in &lock.0 {
        let _ = file.set_len(0);
        if let Some(holder) = LockHolder::this_process() {
            let _ = file.write_all_at(holder.line().as_bytes(), 0);
        }
    }
    Ok(Some(lock))
}

/// What all who change settings of a machine lock, whatever folder their journals are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MachineLock {
    /// A file for root alone. It goes with a boot.
    File(PathBuf),
    /// The folder of a captured machine.
    Folder(PathBuf),
}

impl MachineLock {
    /// That of a machine. In a container that sees the machine's first process, and may look, it is the same file.
    /// Other users than root have none: whatever file they shared, each could hold against the others.
    pub(crate) fn open(machine: &Root) -> Option<MachineLock> {
        if !machine.is_live() {
            return Some(MachineLock::Folder(machine.0.clone()));
        }
        let first = Path::new("/proc/1/root/run");
        let is_first = owner::is_in_initial_pid_namespace() && first.is_dir();
        let run = if is_first { first } else { Path::new("/run") };
        rustix::process::geteuid().is_root().then(|| MachineLock::File(run.join("linerate/tune.lock")))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            MachineLock::File(path) | MachineLock::Folder(path) => path,
        }
    }

    /// Where it is told what waits on the machine, among all who change it; of a capture it is not.
    pub(crate) fn waiting_file(&self) -> Option<PathBuf> {
        match self {
            MachineLock::File(path) => Some(path.with_extension("waiting")),
            MachineLock::Folder(_) => None,
        }
    }

    /// Takes it; `None` where somebody else has it.
    pub(crate) fn take(&self) -> io::Result<Option<Lock>> {
        let path = match self {
            MachineLock::File(path) => path,
            MachineLock::Folder(path) => return locked(File::open(path)?),
        };
        let folder = path.parent().unwrap_or(path);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let metadata = folder.symlink_metadata()?;
        if !metadata.is_dir() || !path_trust::is_own_alone(&metadata) {
            let why = format!("{} must be a folder that only its owner writes to", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        take(path)
    }

    /// Who has it, where that is another process that is known here.
    pub(crate) fn holder(&self) -> Option<LockHolder> {
        match self {
            MachineLock::File(path) => LockHolder::named_in(path),
            MachineLock::Folder(_) => None,
        }
    }
}

/// Who has taken it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LockHolder {
    process: Owner,
    /// The inode of the PID namespace in which its number counts.
    numbers: u64,
}

impl LockHolder {
    fn this_process() -> Option<LockHolder> {
        Some(LockHolder { process: owner::this_process().ok()?, numbers: owner::pid_namespace().ok()? })
    }

    fn line(self) -> String {
        format!("{} {} {}\n", self.process.pid, self.process.started_ticks, self.numbers)
    }

    /// Who the file names, while that process is there, is not this one, and its number means the same here.
    pub(crate) fn named_in(path: &Path) -> Option<LockHolder> {
        let mut text = String::new();
        OpenOptions::new().read(true).open(path).ok()?.take(100).read_to_string(&mut text).ok()?;
        let holder = parse(&text)?;
        let own = LockHolder::this_process()?;
        let is_another = holder.numbers == own.numbers && holder.process.pid != own.process.pid;
        (is_another && !owner::is_gone(holder.process)).then_some(holder)
    }

    /// Whether it is stopped, by a signal or by a debugger: it makes no headway however long one waits.
    pub(crate) fn is_stopped(self) -> bool {
        owner::is_stopped(self.process)
    }

    /// Ends it at once. Nothing that it does is left half done by that, for its journal is read anew after it. A
    /// process that was stopped, or waits for a disk, runs no instruction of its own any more once this was done, even
    /// where it ends only later.
    ///
    /// # Errors
    /// Where it could not be signalled, or is there no more.
    pub(crate) fn end(self) -> io::Result<()> {
        let number = i32::try_from(self.process.pid).ok().and_then(Pid::from_raw);
        let number = number.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let opened = pidfd_open(number, PidfdFlags::empty());
        // Its number may have been another's when it was opened.
        if owner::is_gone(self.process) {
            return Err(io::ErrorKind::NotFound.into());
        }
        match opened {
            Ok(process) => Ok(pidfd_send_signal(process, Signal::KILL)?),
            // Before Linux 5.3.
            Err(rustix::io::Errno::NOSYS) => Ok(kill_process(number, Signal::KILL)?),
            Err(error) => Err(error.into()),
        }
    }
}

fn parse(line: &str) -> Option<LockHolder> {
    let mut fields = line.strip_suffix('\n')?.split(' ').map(str::parse::<u64>);
    let mut next = || fields.next()?.ok();
    let (pid, started_ticks, numbers) = (next()?, next()?, next()?);
    Some(LockHolder { process: Owner { pid: u32::try_from(pid).ok()?, started_ticks }, numbers })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn two_at_once_are_refused_and_the_file_names_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "1 2 3 and what a longer line leaves behind\n").unwrap();
        let lock = take(&path).unwrap();
        assert!(lock.is_some());
        assert!(take(&path).unwrap().is_none());
        assert_eq!(parse(&std::fs::read_to_string(&path).unwrap()), LockHolder::this_process());
        assert_eq!(LockHolder::named_in(&path), None, "nobody ends itself");
        drop(lock);
        assert!(take(&path).unwrap().is_some());
    }

    #[test]
    fn a_machine_is_locked_once_whatever_its_journals_and_each_capture_for_itself() {
        let dir = tempfile::tempdir().unwrap();
        let file = MachineLock::File(dir.path().join("run/tune.lock"));
        let capture = |name: &str| {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
            MachineLock::open(&Root::captured(dir.path().join(name))).unwrap()
        };
        for whole in [file.clone(), capture("one"), capture("two")] {
            let lock = whole.take().unwrap();
            assert!(lock.is_some() && whole.take().unwrap().is_none(), "{whole:?}");
            assert!(capture("three").take().unwrap().is_some());
            drop(lock);
            assert!(whole.take().unwrap().is_some(), "{whole:?}");
        }
        std::fs::set_permissions(dir.path().join("run"), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(file.take().unwrap_err().to_string().contains("only its owner writes to"));
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(MachineLock::open(&Root::live()).is_some(), is_root);
    }

    #[test]
    fn another_process_is_ended_and_no_later_one_of_its_number_or_of_other_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let process = owner::process_owner(child.id()).unwrap();
        let numbers = owner::pid_namespace().unwrap();
        let named = |process: Owner, numbers: u64| {
            std::fs::write(&path, LockHolder { process, numbers }.line()).unwrap();
            LockHolder::named_in(&path)
        };
        assert_eq!(named(Owner { started_ticks: process.started_ticks - 1, ..process }, numbers), None);
        assert_eq!(named(process, numbers + 1), None);
        let holder = named(process, numbers).unwrap();
        assert!(!holder.is_stopped());
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(120);
        while !holder.is_stopped() && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(holder.is_stopped());
        holder.end().unwrap();
        assert!(!child.wait().unwrap().success());
        assert_eq!(holder.end().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(LockHolder::named_in(&path), None);
        for line in ["", "1", "1 2", "1 2 3", "x 2 3\n", "4294967296 2 3\n"] {
            assert_eq!(parse(line), None, "{line:?}");
        }
    }
}
