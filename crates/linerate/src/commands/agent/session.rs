//! One coordinator's time with an agent that listens: input and output that outlive the streams on which they come.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use linerate_fleet::attachment::{Attach, AttachAnswer, AttachRefusal, SentBytes, word};

/// Pieces of 16 KiB that wait to be read: what comes faster waits in the socket.
const INPUT_CHUNKS_MAX: usize = 16;

/// How long what was lost may take to be said again.
const RESEND_TIMEOUT: Duration = Duration::from_secs(2);

/// A session. Its streams come and go.
pub(super) struct AgentSession {
    pub(super) token: String,
    begun: Instant,
    lease: Duration,
    is_over: AtomicBool,
    inbound: Mutex<Inbound>,
    outgoing: Mutex<Outgoing>,
    /// Told when a stream comes, or none will any more.
    changed: Condvar,
    /// The stream that is written to, to end it while somebody waits for it.
    current: Mutex<Option<UnixStream>>,
}

struct Inbound {
    /// Which stream counts: what others still bring is not taken.
    number: u64,
    taken: u64,
    chunks: Option<SyncSender<Vec<u8>>>,
}

#[derive(Default)]
struct Outgoing {
    number: u64,
    stream: Option<UnixStream>,
    unacknowledged: SentBytes,
}

impl AgentSession {
    /// A session that no stream has yet, with its input and output.
    pub(super) fn begin(token: String, lease: Duration) -> (Arc<AgentSession>, SessionInput, SessionOutput) {
        let (chunks, from) = sync_channel(INPUT_CHUNKS_MAX);
        let session = Arc::new(AgentSession {
            token,
            begun: Instant::now(),
            lease,
            is_over: AtomicBool::new(false),
            inbound: Mutex::new(Inbound { number: 0, taken: 0, chunks: Some(chunks) }),
            outgoing: Mutex::new(Outgoing::default()),
            changed: Condvar::new(),
            current: Mutex::new(None),
        });
        let output = SessionOutput(Arc::clone(&session));
        (session, SessionInput { from, unread_bytes: Vec::new() }, output)
    }

    /// Since when its coordinator has the agent, in seconds.
    pub(super) fn for_s(&self) -> u64 {
        self.begun.elapsed().as_secs()
    }

    /// Gives it a stream in place of the one that it has: says what was taken, and again what was not. What number the
    /// stream has, to bring bytes by.
    pub(super) fn attach(&self, stream: &UnixStream, attach_request: &Attach) -> io::Result<u64> {
        // Who waits in a write to the stream before lets go of it.
        let before = locked(&self.current).replace(stream.try_clone()?);
        let _ = before.map(|before| before.shutdown(Shutdown::Both));
        let mut outgoing = locked(&self.outgoing);
        outgoing.stream = None;
        let (number, taken) = {
            let mut inbound = locked(&self.inbound);
            inbound.number += 1;
            (inbound.number, inbound.taken)
        };
        let mut to = stream;
        stream.set_write_timeout(Some(RESEND_TIMEOUT))?;
        let Some(again) = outgoing.unacknowledged.since(attach_request.taken) else {
            to.write_all(&word(&AttachAnswer::Refused(AttachRefusal::Lost)))?;
            return Err(io::Error::other("more data was lost than is kept"));
        };
        let lease_ms = u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX);
        to.write_all(&word(&AttachAnswer::Taken { taken, lease_ms }))?;
        to.write_all(&again)?;
        stream.set_write_timeout(None)?;
        outgoing.number = number;
        outgoing.stream = Some(stream.try_clone()?);
        self.changed.notify_all();
        Ok(number)
    }

    /// Takes what a stream brought; whether more may come on it.
    pub(super) fn receive(&self, number: u64, bytes: &[u8]) -> bool {
        let mut inbound = locked(&self.inbound);
        if inbound.number != number {
            return false;
        }
        let Some(chunks) = &inbound.chunks else { return false };
        let is_taken = bytes.is_empty() || chunks.send(bytes.to_vec()).is_ok();
        inbound.taken += bytes.len() as u64;
        is_taken
    }

    /// A stream has ended.
    pub(super) fn detach(&self, number: u64) {
        let mut outgoing = locked(&self.outgoing);
        if outgoing.number == number {
            outgoing.stream = None;
        }
    }

    /// No stream is taken any more, and nothing is waited for.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        let current = locked(&self.current).take();
        let _ = current.map(|stream| stream.shutdown(Shutdown::Both));
        locked(&self.inbound).chunks = None;
        locked(&self.outgoing).stream = None;
        self.changed.notify_all();
    }
}

/// What the coordinator says, on whatever stream.
pub(super) struct SessionInput {
    from: Receiver<Vec<u8>>,
    unread_bytes: Vec<u8>,
}

impl Read for SessionInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.unread_bytes.is_empty() {
            // An end means that the session is over.
            self.unread_bytes = self.from.recv().unwrap_or_default();
        }
        let count = into.len().min(self.unread_bytes.len());
        into[..count].copy_from_slice(&self.unread_bytes[..count]);
        self.unread_bytes.drain(..count);
        Ok(count)
    }
}

/// What is said to the coordinator. It waits while there is no stream.
pub(super) struct SessionOutput(Arc<AgentSession>);

impl Write for SessionOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let session = &self.0;
        let mut outgoing = locked(&session.outgoing);
        loop {
            if session.is_over.load(Ordering::Acquire) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let Some(stream) = &mut outgoing.stream else {
                // An end that was told between both looks is seen at the next.
                let waited = session.changed.wait_timeout(outgoing, Duration::from_millis(200));
                outgoing = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            };
            match stream.write(bytes) {
                Ok(count) if count > 0 => {
                    outgoing.unacknowledged.push(&bytes[..count]);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => outgoing.stream = None,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
