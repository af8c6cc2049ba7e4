//! Agents that are there already, on a port: those of `linerate net serve`. What is said to them goes by TLS, and both
//! ends prove their token before any message.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linerate_fleet::node_reach::ServedAddress;
use linerate_flows::FlowToken;
use linerate_flows::session_handshake::{SESSION_BYTES, SessionAnswer, answered, attach_request};
use linerate_record::fleet::UnreachedNode;
use linerate_wire::anonymous_tls::AnonymousTls;
use linerate_wire::deadline::{CancelToken, Deadline};
use linerate_wire::transport::dial_blocking;

use super::node_stream::{NodeStream, RemoteEnd};

/// How long it may take to connect, and both ends to prove themselves.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const PROOF_TIMEOUT: Duration = Duration::from_secs(5);

/// A stream to the agent at a place.
pub(super) fn connect_served(place: &ServedAddress, stop: &Arc<AtomicBool>) -> Result<NodeStream, UnreachedNode> {
    let cancel = CancelToken::Stop(Arc::clone(stop));
    let socket = dial_blocking(place.address, None, &mut Deadline::new(CONNECT_TIMEOUT, &cancel))
        .map_err(|error| connect_failure(place, &error))?;
    let sealed = AnonymousTls::connect(socket, Deadline::new(PROOF_TIMEOUT, &cancel))
        .map_err(|error| not_a_server(place, &error))?;
    let sealed = prove_both_ends(sealed, place)?;
    carry_stream(sealed).map_err(|error| UnreachedNode {
        why: format!("failed to open a socket: {error}"),
        remedy: "raise the limit of open files (ulimit -n)".to_owned(),
    })
}

fn prove_both_ends(mut sealed: AnonymousTls, place: &ServedAddress) -> Result<AnonymousTls, UnreachedNode> {
    let Some(token) = FlowToken::from_hex(&place.token) else { return Err(wrong_token(place)) };
    match read_answer(&mut sealed, &token).map_err(|error| not_a_server(place, &error))? {
        Some(SessionAnswer::Takes) => Ok(sealed),
        Some(SessionAnswer::Busy) => Err(UnreachedNode {
            why: format!("what serves at {} measures with another machine", place.address),
            remedy: "wait for the end of that".to_owned(),
        }),
        Some(SessionAnswer::Refuses) => Err(wrong_token(place)),
        None => Err(UnreachedNode {
            why: format!("what listens at {} does not prove the token: it is somebody else", place.address),
            remedy: "check the address, and what stands between both machines".to_owned(),
        }),
    }
}

/// What is answered to the proof; none where whoever answers has no proof of its own.
fn read_answer(sealed: &mut AnonymousTls, token: &FlowToken) -> io::Result<Option<SessionAnswer>> {
    let channel = sealed.own()?;
    sealed.say(&attach_request(token, &channel))?;
    let mut said = [0; SESSION_BYTES];
    sealed.hear(&mut said)?;
    Ok(answered(token, &channel, &said))
}

fn wrong_token(place: &ServedAddress) -> UnreachedNode {
    UnreachedNode {
        why: format!("what serves at {} refuses this token", place.address),
        remedy: "give the one that linerate net serve printed there when it was started last, and use the same \
                 version of linerate on both"
            .to_owned(),
    }
}

fn connect_failure(place: &ServedAddress, error: &io::Error) -> UnreachedNode {
    let at = place.address;
    let (why, remedy) = match error.kind() {
        ErrorKind::ConnectionRefused => {
            (format!("nothing listens at {at}"), "start linerate net serve there, or name its port: HOST:PORT")
        }
        ErrorKind::TimedOut => {
            (format!("{at} does not answer"), "check the address, and whether a firewall lets the port through")
        }
        _ => (format!("{at} is not reached: {error}"), "check the address, and the way to it"),
    };
    UnreachedNode { why, remedy: remedy.to_owned() }
}

/// Somebody who is no `linerate net serve`, or a connection that broke.
fn not_a_server(place: &ServedAddress, error: &io::Error) -> UnreachedNode {
    let at = place.address;
    let (why, remedy) = match error.kind() {
        ErrorKind::InvalidData => (
            format!("what listens at {at} is no linerate net serve: {error}"),
            "name the port that linerate net serve printed: HOST:PORT",
        ),
        ErrorKind::TimedOut => (
            format!("what listens at {at} says nothing"),
            "check that it is a linerate net serve, and whether its machine is overloaded",
        ),
        _ => (
            format!("what listens at {at} ended the connection: {error}"),
            "check that it is a linerate net serve of the same version, and that no more than some come to it at once",
        ),
    };
    UnreachedNode { why, remedy: remedy.to_owned() }
}

/// Has a thread carry what is said to it and by it.
fn carry_stream(sealed: AnonymousTls) -> io::Result<NodeStream> {
    let (near, far) = UnixStream::pair()?;
    let end = || near.try_clone().map(|end| File::from(OwnedFd::from(end)));
    let (input, output) = (end()?, end()?);
    let stop = Arc::new(AtomicBool::new(false));
    let thread_stop = Arc::clone(&stop);
    let carries = thread::spawn(move || sealed.carry(far, &thread_stop));
    NodeStream::from_ends(Box::new(ServedEnd { carries, stop }), Some(input), Some(output), None)
}

struct ServedEnd {
    carries: JoinHandle<io::Result<()>>,
    stop: Arc<AtomicBool>,
}

impl RemoteEnd for ServedEnd {
    fn ended(&mut self) -> Option<ExitStatus> {
        // Why it ended, the messages before that say, or nobody knows.
        self.carries.is_finished().then(|| ExitStatus::from_raw(0))
    }
}

impl Drop for ServedEnd {
    fn drop(&mut self) {
        // It looks at that a few times a second, and nobody waits for it.
        self.stop.store(true, Ordering::Relaxed);
    }
}
