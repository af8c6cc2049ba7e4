//! How long a blocking call waits: until its one deadline, however the peer spreads its bytes, or until a flag is
//! raised.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How soon a flag is noticed.
const LOOK_UP_EVERY: Duration = Duration::from_millis(50);

/// What a call has left once a run is to end: as long as writes in flight are waited for.
const HURRIED: Duration = Duration::from_secs(5);

/// What ends blocking calls before their time.
#[derive(Clone, Debug, Default)]
pub enum CancelToken {
    /// Nothing does.
    #[default]
    Nothing,
    /// The flag ends a call at once.
    Stop(Arc<AtomicBool>),
    /// With its flag raised, a call has five seconds, and all calls together what the haste allows: what must be done
    /// is done, and nobody is waited for any longer.
    ShuttingDown(Arc<ShutdownBudget>),
}

/// What is left of the time for calls once somebody waits for their end.
#[derive(Debug)]
pub struct ShutdownBudget {
    flag: Arc<AtomicBool>,
    within: Duration,
    /// When a call first saw the flag raised: it is from then on that somebody waits for calls.
    since: OnceLock<Instant>,
}

impl ShutdownBudget {
    /// Once the flag is raised, calls have so long together.
    #[must_use]
    pub const fn new(flag: Arc<AtomicBool>, within: Duration) -> Self {
        ShutdownBudget { flag, within, since: OnceLock::new() }
    }

    /// When the time for calls is over, if anybody waits for them.
    fn until(&self) -> Option<Instant> {
        let is_raised = self.flag.load(Ordering::Relaxed);
        is_raised.then(|| *self.since.get_or_init(Instant::now) + self.within)
    }
}

impl CancelToken {
    /// What ends every call now, whatever it has left for itself.
    fn ended(&self, now: Instant) -> Result<(), WaitEnd> {
        match self {
            CancelToken::Stop(flag) if flag.load(Ordering::Relaxed) => Err(WaitEnd::Stopped),
            CancelToken::ShuttingDown(shutdown_budget) if shutdown_budget.until().is_some_and(|until| now >= until) => {
                Err(WaitEnd::Over(shutdown_budget.within))
            }
            _ => Ok(()),
        }
    }

    /// Rests for so long between calls.
    ///
    /// # Errors
    /// [`WaitEnd`], where no call is to follow.
    pub fn pause(&self, so_long: Duration) -> Result<(), WaitEnd> {
        let begin = Instant::now();
        loop {
            self.ended(Instant::now())?;
            let left = so_long.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_UP_EVERY));
        }
    }
}

/// Why a wait ended, inside an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// By its deadline, so long after it began.
    Late(Duration),
    /// By the end of the time that all calls together had once somebody waited for them: so long.
    Over(Duration),
    Stopped,
}

impl fmt::Display for WaitEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitEnd::Late(waited) if waited.subsec_millis() == 0 => write!(f, "timed out after {} s", waited.as_secs()),
            WaitEnd::Late(waited) => write!(f, "timed out after {} ms", waited.as_millis()),
            WaitEnd::Over(within) => {
                write!(f, "was given up at the end of the {} s for calls after a signal", within.as_secs())
            }
            WaitEnd::Stopped => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for WaitEnd {}

impl WaitEnd {
    /// What ended a wait, where it was neither the peer nor the kernel.
    #[must_use]
    pub fn from_error(error: &io::Error) -> Option<WaitEnd> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<WaitEnd> for io::Error {
    fn from(ended: WaitEnd) -> Self {
        // Not `Interrupted`: that is tried again by whoever reads or writes.
        io::Error::new(io::ErrorKind::TimedOut, ended)
    }
}

/// A wait with its deadline.
#[derive(Clone, Debug)]
pub struct Deadline {
    until: Instant,
    limit: Duration,
    cancel: CancelToken,
    shutting_down: bool,
}

impl Deadline {
    /// From now on, for so long at the most.
    #[must_use]
    pub fn new(limit: Duration, cancel: &CancelToken) -> Self {
        // A limit beyond what instants can tell is none that anybody lives to see.
        let now = Instant::now();
        let until = now.checked_add(limit).unwrap_or(now + Duration::from_secs(1 << 30));
        Deadline { until, limit, cancel: cancel.clone(), shutting_down: false }
    }

    /// Lasts no longer than so from now on.
    pub fn at_most(&mut self, limit: Duration) {
        if let Some(until) = Instant::now().checked_add(limit).filter(|until| *until < self.until) {
            (self.until, self.limit) = (until, limit);
        }
    }

    /// How long to wait before looking up again.
    ///
    /// # Errors
    /// [`WaitEnd`], where the wait is over.
    pub fn left(&mut self) -> Result<Duration, WaitEnd> {
        let now = Instant::now();
        self.cancel.ended(now)?;
        let left = self.until().saturating_duration_since(now);
        if left.is_zero() { Err(WaitEnd::Late(self.limit)) } else { Ok(left.min(LOOK_UP_EVERY)) }
    }

    /// How long it lasts in all, as far as is known: a flag may yet be raised.
    #[must_use]
    pub fn limit(&mut self) -> Duration {
        self.until();
        let left = match &self.cancel {
            CancelToken::ShuttingDown(shutdown_budget) => {
                shutdown_budget.until().map(|until| until.saturating_duration_since(Instant::now()))
            }
            _ => None,
        };
        left.map_or(self.limit, |left| left.min(self.limit))
    }

    /// Its deadline, which a flag brings nearer.
    fn until(&mut self) -> Instant {
        let hurries =
            matches!(&self.cancel, CancelToken::ShuttingDown(shutdown_budget) if shutdown_budget.until().is_some());
        if hurries && !self.shutting_down {
            self.shutting_down = true;
            let soon = Instant::now() + HURRIED;
            (self.until, self.limit) = (self.until.min(soon), self.limit.min(HURRIED));
        }
        self.until
    }
}

/// A blocking socket that is waited for no longer than its patience lasts.
pub struct DeadlineSocket {
    socket: TcpStream,
    /// How long it is waited for.
    pub deadline: Deadline,
}

impl DeadlineSocket {
    /// A socket, whose calls wait until `deadline` at the most.
    ///
    /// # Errors
    /// The kernel's, where it takes no time limits.
    pub fn new(socket: TcpStream, deadline: Deadline) -> io::Result<Self> {
        socket.set_read_timeout(Some(LOOK_UP_EVERY))?;
        socket.set_write_timeout(Some(LOOK_UP_EVERY))?;
        Ok(DeadlineSocket { socket, deadline })
    }

    /// The socket again, with the time limits of each call that this has set.
    #[must_use]
    pub fn into_socket(self) -> TcpStream {
        self.socket
    }

    /// A signal interrupts a call with a time limit even where system calls are restarted: Ctrl-C while clearing up
    /// must not end the clearing.
    fn with_deadline<T>(&mut self, mut call: impl FnMut(&mut TcpStream) -> io::Result<T>) -> io::Result<T> {
        loop {
            self.deadline.left()?;
            match call(&mut self.socket) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                other => return other,
            }
        }
    }
}

impl Read for DeadlineSocket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.with_deadline(|socket| socket.read(into))
    }
}

impl Write for DeadlineSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with_deadline(|socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn hurry(flag: &Arc<AtomicBool>, within: Duration) -> CancelToken {
        CancelToken::ShuttingDown(Arc::new(ShutdownBudget::new(Arc::clone(flag), within)))
    }

    fn pair(limit: Duration, cancel: &CancelToken) -> (DeadlineSocket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        (DeadlineSocket::new(near, Deadline::new(limit, cancel)).unwrap(), far)
    }

    #[test]
    fn a_deadline_holds_however_the_bytes_are_spread() {
        let (mut near, mut far) = pair(Duration::from_millis(200), &CancelToken::Nothing);
        let trickle = std::thread::spawn(move || {
            while far.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let mut got = 0;
        let error = loop {
            match near.read(&mut [0; 16]) {
                Ok(n) => got += n,
                Err(error) => break error,
            }
        };
        assert!(
            got > 0 && WaitEnd::from_error(&error) == Some(WaitEnd::Late(Duration::from_millis(200))),
            "{got} {error}"
        );
        assert_eq!(error.to_string(), "timed out after 200 ms");
        drop(near);
        trickle.join().unwrap();
    }

    #[test]
    fn a_flag_ends_a_wait_at_once_or_shortens_it() {
        for (stops, limit, ended) in [
            (true, Duration::from_secs(1000), WaitEnd::Stopped),
            (false, Duration::from_millis(100), WaitEnd::Late(Duration::from_millis(100))),
        ] {
            let flag = Arc::new(AtomicBool::new(true));
            let cancel = if stops { CancelToken::Stop(Arc::clone(&flag)) } else { hurry(&flag, MINUTE) };
            let (mut near, _far) = pair(limit, &cancel);
            let error = near.read(&mut [0; 16]).unwrap_err();
            assert_eq!(WaitEnd::from_error(&error), Some(ended));
        }
        let flag = Arc::new(AtomicBool::new(false));
        let mut deadline = Deadline::new(Duration::from_secs(1000), &hurry(&flag, MINUTE));
        assert!(deadline.left().is_ok() && deadline.limit() > HURRIED);
        flag.store(true, Ordering::Relaxed);
        assert!(deadline.left().is_ok() && deadline.limit() == HURRIED);
    }

    #[test]
    fn calls_together_have_what_a_haste_allows_from_the_first_that_sees_it() {
        let flag = Arc::new(AtomicBool::new(false));
        let within = Duration::from_millis(300);
        let cancel = hurry(&flag, within);
        std::thread::sleep(within);
        assert!(cancel.pause(Duration::from_millis(1)).is_ok(), "nobody waits");
        flag.store(true, Ordering::Relaxed);
        let mut first = Deadline::new(Duration::from_secs(1000), &cancel);
        assert!(first.left().is_ok() && first.limit() <= within, "the least of all limits holds");
        assert_eq!(cancel.pause(Duration::from_secs(1000)), Err(WaitEnd::Over(within)));
        // It is not begun anew for the next call, which has nothing left.
        let mut next = Deadline::new(Duration::from_secs(1000), &cancel);
        assert_eq!((next.left(), next.limit()), (Err(WaitEnd::Over(within)), Duration::ZERO));
        assert_eq!(WaitEnd::Over(MINUTE).to_string(), "was given up at the end of the 60 s for calls after a signal");
    }
}
