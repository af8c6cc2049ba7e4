//! `linerate agent attach`: standard input and output, connected to the agent of this container. It knows nothing of
//! what goes through it, and keeps nothing: what is lost with it, both ends send again.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::flags::AttachFlags;
use crate::terminal::failure::Failure;

/// Where an agent in a pod listens.
pub(super) const SOCKET: &str = "/run/linerate/agent.sock";

/// How long an agent may take to listen: a container counts as running before it does.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) fn run(flags: &AttachFlags) -> Result<ExitCode, Failure> {
    let socket = connect(&flags.socket).map_err(|error| {
        Failure::Command(format!(
            "no agent listens on {}: {error}; the container's command must be linerate agent --listen {0}",
            flags.socket.display()
        ))
    })?;
    let failed = |source: io::Error| Failure::Command(format!("failed to connect the agent: {source}"));
    let (input, output) = (duplicate(io::stdin()).map_err(failed)?, duplicate(io::stdout()).map_err(failed)?);
    let (to, from) = (socket.try_clone().map_err(failed)?, socket.try_clone().map_err(failed)?);
    // Either end ends both: a stream whose input never ends (kubernetes#89031) ends with the agent's side, and an agent
    // that is silent with its input. The thread that still waits ends with the process.
    let (ended, first) = channel();
    let other = ended.clone();
    thread::spawn(move || drop(other.send(copy_stream(input, to).map(|()| ClosedSide::Input))));
    thread::spawn(move || drop(ended.send(copy_stream(from, output).map(|()| ClosedSide::Agent))));
    let end = first.recv();
    let _ = socket.shutdown(Shutdown::Both);
    match end {
        Ok(Ok(ClosedSide::Agent)) => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::from(DETACHED_EXIT_CODE)),
    }
}

enum ClosedSide {
    Input,
    Agent,
}

/// What it ends with where its input or output did, and not the agent: whoever asked may attach again.
const DETACHED_EXIT_CODE: u8 = 3;

fn duplicate(end: impl AsFd) -> io::Result<std::fs::File> {
    end.as_fd().try_clone_to_owned().map(std::fs::File::from)
}

/// Bytes as they come: nothing waits for more.
pub(super) fn copy_stream(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&bytes[..count]).and_then(|()| to.flush())?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn connect(path: &Path) -> io::Result<UnixStream> {
    let until = Instant::now() + LISTEN_TIMEOUT;
    loop {
        match UnixStream::connect(path) {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused)
                    && Instant::now() < until =>
            {
                thread::sleep(Duration::from_millis(50));
            }
            connected => return connected,
        }
    }
}
