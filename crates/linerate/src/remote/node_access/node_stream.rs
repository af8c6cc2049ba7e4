//! What was started for a node, with its input, output and errors, none of which is waited for beyond a timeout: a
//! process of this machine, or whatever else has ends like one.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use linerate_record::fleet::UnreachedNode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::run::target_process;

/// What is kept of errors: their end.
const ERRORS_BYTES_MAX: usize = 4096;

/// What is taken of a stream at once, and of errors.
const CHUNK_BYTES: usize = 64 << 10;
const ERRORS_CHUNK_BYTES: usize = 1 << 10;

/// How long a process may take to end after it was killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// What is at the other end of a stream.
pub(super) trait RemoteEnd: Send {
    /// How it ended, where it has.
    fn ended(&mut self) -> Option<ExitStatus>;
    /// What was written as errors apart from the pipe of errors, if there is one.
    fn errors(&self) -> String {
        String::new()
    }
    /// Why it ended, where that is known better than by its status and its errors.
    fn fault(&self) -> Option<UnreachedNode> {
        None
    }
    /// Whether it cannot be heard and is being brought back.
    fn is_mending(&self) -> bool {
        false
    }
}

/// A stream: pipes, and what is at their other end. Dropping it ends that.
pub(super) struct NodeStream {
    far: Box<dyn RemoteEnd>,
    input: Option<File>,
    output: Option<File>,
    errors: Option<File>,
    /// What is to be written.
    unsent: Vec<u8>,
    sent: usize,
    /// The end of what it wrote as errors.
    said: Vec<u8>,
}

/// A process. Dropping it ends it and all that it started in its process group.
struct Process(Child);

impl NodeStream {
    /// Starts a command in a process group of its own, without keys in its environment.
    pub(super) fn start(mut command: Command) -> io::Result<NodeStream> {
        target_process::remove_keys_from_environment(&mut command, std::env::vars_os().map(|(name, _)| name));
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take().map(|end| File::from(OwnedFd::from(end)));
        let output = child.stdout.take().map(|end| File::from(OwnedFd::from(end)));
        let errors = child.stderr.take().map(|end| File::from(OwnedFd::from(end)));
        NodeStream::from_ends(Box::new(Process(child)), input, output, errors)
    }

    /// A stream of ends that were opened already.
    pub(super) fn from_ends(
        far: Box<dyn RemoteEnd>,
        input: Option<File>,
        output: Option<File>,
        errors: Option<File>,
    ) -> io::Result<NodeStream> {
        let stream = NodeStream { far, input, output, errors, unsent: Vec::new(), sent: 0, said: Vec::new() };
        // Of a pipe, each end has flags of its own: the process is none the wiser.
        let ends = [&stream.input, &stream.output, &stream.errors];
        ends.into_iter().flatten().try_for_each(|end| rustix::io::ioctl_fionbio(end, true))?;
        Ok(stream)
    }

    /// Why it ended, where that is known better than by its status and its errors.
    pub(super) fn fault(&self) -> Option<UnreachedNode> {
        self.far.fault()
    }

    /// Whether it cannot be heard and is being brought back.
    pub(super) fn is_mending(&self) -> bool {
        self.far.is_mending()
    }

    /// Has bytes written, as they are taken.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        if self.sent == self.unsent.len() {
            self.unsent.clear();
            self.sent = 0;
        }
        self.unsent.extend_from_slice(bytes);
    }

    /// Writes and reads what can be without waiting, or what can be first within `timeout`. What came is appended.
    pub(super) fn turn(&mut self, timeout: Duration, came: &mut Vec<u8>) {
        if !timeout.is_zero() {
            self.wait(timeout);
        }
        self.write();
        if let Some(output) = &mut self.output
            && !read_chunk::<CHUNK_BYTES>(output, came)
        {
            self.output = None;
        }
        if let Some(errors) = &mut self.errors {
            if !read_chunk::<ERRORS_CHUNK_BYTES>(errors, &mut self.said) {
                self.errors = None;
            }
            let excess = self.said.len().saturating_sub(ERRORS_BYTES_MAX);
            self.said.drain(..excess);
        }
    }

    /// What comes from it, as long as that is open.
    pub(super) fn outputs(&self) -> impl Iterator<Item = &File> {
        self.output.iter().chain(&self.errors)
    }

    /// What to wait for.
    fn ends<'s>(&'s self, ends: &mut Vec<PollFd<'s>>) {
        if let Some(input) = self.input.as_ref().filter(|_| self.sent < self.unsent.len()) {
            ends.push(PollFd::new(input, PollFlags::OUT));
        }
        ends.extend(self.output.iter().map(|output| PollFd::new(output, PollFlags::IN)));
        ends.extend(self.errors.iter().map(|errors| PollFd::new(errors, PollFlags::IN)));
    }

    /// Bytes that nobody took yet.
    pub(super) fn unsent(&self) -> usize {
        self.unsent.len() - self.sent
    }

    fn wait(&self, timeout: Duration) {
        let mut ends = Vec::new();
        self.ends(&mut ends);
        if ends.is_empty() {
            std::thread::sleep(timeout.min(Duration::from_millis(20)));
            return;
        }
        // A signal ends the waiting early, which is as well.
        let _ = poll(&mut ends, Timespec::try_from(timeout).ok().as_ref());
    }

    /// Writes what can be without waiting.
    pub(super) fn write(&mut self) {
        while self.sent < self.unsent.len() {
            let Some(input) = &mut self.input else { return };
            match input.write(&self.unsent[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.input = None,
            }
        }
    }

    /// Whether nothing can come any more.
    pub(super) fn is_over(&self) -> bool {
        self.output.is_none()
    }

    /// Waits so long for the process to end by itself; how it ended, where it did, and what it wrote as errors.
    pub(super) fn ended(&mut self, within: Duration) -> (Option<ExitStatus>, String) {
        let (until, mut unread) = (Instant::now() + within, Vec::new());
        let status = loop {
            if let Some(status) = self.far.ended() {
                break Some(status);
            }
            if Instant::now() >= until {
                break None;
            }
            self.turn(Duration::from_millis(20), &mut unread);
            unread.clear();
        };
        self.turn(Duration::ZERO, &mut unread);
        let said = [String::from_utf8_lossy(&self.said).into_owned(), self.far.errors()].concat();
        (status, said.trim().to_owned())
    }
}

impl RemoteEnd for Process {
    fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }
}

impl Drop for NodeStream {
    fn drop(&mut self) {
        // Before what is at the other end is ended: it may end by itself then.
        drop(self.input.take());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        // What it started may be there where it is not any more: until it is waited for, its number is nobody else's.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let until = Instant::now() + KILL_TIMEOUT;
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Takes what there is, up to a piece of `N` bytes; whether more may come. Not into the vector itself: each of a
/// thousand streams would keep room for a piece.
fn read_chunk<const N: usize>(from: &mut impl Read, into: &mut Vec<u8>) -> bool {
    let mut piece = [0; N];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return false,
            Ok(count) => {
                into.extend_from_slice(&piece[..count]);
                return true;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}
