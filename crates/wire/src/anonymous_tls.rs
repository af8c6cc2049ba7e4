//! A connection over TLS 1.3 between two ends of which neither has a name: nobody between can read or change what is
//! said, and who is at the other end has to prove it by what is this connection's own ([`AnonymousTls::own`]). Behind
//! that, its bytes go to and come from a socket of this machine, so that who speaks over it knows nothing of TLS.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConfig, ServerConnection};

use crate::deadline::{Deadline, DeadlineSocket};
use crate::identity;
use crate::tls;

/// The protocol above TLS, as ALPN names it: whoever speaks another is told so by TLS.
const ALPN: &[u8] = b"linerate-serve";

/// The name that is asked for, which is nobody's (RFC 2606).
const NAME: &str = "linerate.invalid";

/// What a connection's own bytes are derived for (RFC 5705).
const LABEL: &[u8] = b"EXPORTER-linerate-serve";

/// Length of what is a connection's own.
const OWN_BYTES: usize = 32;

/// What is taken of either socket at once: less than rustls keeps of what is to be sent.
const PIECE_BYTES: usize = 16 << 10;

/// Most bytes that wait for the socket of this machine.
const WAITING_BYTES_MAX: usize = 64 << 10;

/// How often it is looked whether to end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How long the last of what was said may take to go out.
const CLOSED_WITHIN: Duration = Duration::from_secs(1);

/// What an end that listens has: a certificate that names nobody, good for its process alone.
#[derive(Clone)]
pub struct AnonymousTlsServer(Arc<ServerConfig>);

impl AnonymousTlsServer {
    /// Makes the certificate.
    ///
    /// # Errors
    /// Why that could not be done: no random numbers, most likely.
    pub fn make() -> Result<AnonymousTlsServer, String> {
        identity::nameless(NAME, ALPN).map(AnonymousTlsServer)
    }
}

/// A connection whose handshake is done.
pub struct AnonymousTls {
    tls: Connection,
    deadline_socket: DeadlineSocket,
    socket: TcpStream,
}

impl AnonymousTls {
    /// Begins, as the end that connected.
    ///
    /// # Errors
    /// The socket's, and rustls's within one: whoever listens speaks no TLS, or another protocol above it.
    pub fn connect(socket: TcpStream, deadline: Deadline) -> io::Result<AnonymousTls> {
        let config = tls::nameless_client(ALPN).map_err(io::Error::other)?;
        let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
        AnonymousTls::shaken(ClientConnection::new(config, name).map_err(io::Error::other)?.into(), socket, deadline)
    }

    /// The same, as the end that listens.
    ///
    /// # Errors
    /// The same.
    pub fn accept(socket: TcpStream, server: &AnonymousTlsServer, deadline: Deadline) -> io::Result<AnonymousTls> {
        let tls = ServerConnection::new(Arc::clone(&server.0)).map_err(io::Error::other)?;
        AnonymousTls::shaken(tls.into(), socket, deadline)
    }

    fn shaken(mut tls: Connection, socket: TcpStream, deadline: Deadline) -> io::Result<AnonymousTls> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        let mut deadline_socket = DeadlineSocket::new(socket.try_clone()?, deadline)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut deadline_socket)?;
        }
        let mut sealed = AnonymousTls { tls, deadline_socket, socket };
        sealed.flush()?;
        Ok(sealed)
    }

    /// What both ends of this connection know, and nobody else: neither did anybody choose it, nor is it that of
    /// another connection.
    ///
    /// # Errors
    /// rustls's.
    pub fn own(&self) -> io::Result<[u8; OWN_BYTES]> {
        self.tls.export_keying_material([0; OWN_BYTES], LABEL, None).map_err(io::Error::other)
    }

    /// Says bytes, waiting for them to go out.
    ///
    /// # Errors
    /// The socket's, or its patience's.
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tls.writer().write_all(bytes)?;
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.deadline_socket)?;
        }
        Ok(())
    }

    /// Hears as many bytes as there is room for.
    ///
    /// # Errors
    /// The socket's, its patience's and rustls's; `UnexpectedEof` where nothing more comes.
    pub fn hear(&mut self, into: &mut [u8]) -> io::Result<()> {
        let mut got = 0;
        while got < into.len() {
            match self.tls.reader().read(&mut into[got..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => got += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.tls.read_tls(&mut self.deadline_socket)? == 0 {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                    self.tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
                    self.flush()?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Carries bytes between the connection and a socket of this machine, until one of them ends or `stop` is set. What
    /// was said before that goes out, as long as it takes no longer than a second.
    ///
    /// # Errors
    /// Those of either socket, and rustls's.
    pub fn carry(self, local: UnixStream, stop: &AtomicBool) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        local.set_nonblocking(true)?;
        let mut carrier = RecordTransport {
            tls: self.tls,
            socket: self.socket,
            local,
            inbound: Vec::new(),
            has_far_ended: false,
            closes_by: None,
        };
        // The other end may have gone on behind what was heard last.
        carrier.take_plain()?;
        while !carrier.is_over() {
            if stop.load(Ordering::Relaxed) {
                carrier.close();
            }
            carrier.wait()?;
            carrier.take_local()?;
            carrier.exchange()?;
            carrier.give_local()?;
        }
        Ok(())
    }
}

/// A connection and a socket, and what is on its way between them.
struct RecordTransport {
    tls: Connection,
    socket: TcpStream,
    local: UnixStream,
    /// What came and was not handed on yet.
    inbound: Vec<u8>,
    has_far_ended: bool,
    /// Until when what is left has to go out; nothing is taken of this machine's socket any more then.
    closes_by: Option<Instant>,
}

impl RecordTransport {
    fn is_over(&self) -> bool {
        let is_handed_on = self.has_far_ended && self.inbound.is_empty();
        let is_out = |by: Instant| !self.tls.wants_write() || Instant::now() >= by;
        is_handed_on || self.closes_by.is_some_and(is_out)
    }

    /// Says that nothing follows, once.
    fn close(&mut self) {
        if self.closes_by.is_none() {
            self.closes_by = Some(Instant::now() + CLOSED_WITHIN);
            self.tls.send_close_notify();
        }
    }

    /// Waits until something can be done.
    fn wait(&self) -> io::Result<()> {
        let mut far = PollFlags::empty();
        far.set(PollFlags::IN, !self.has_far_ended && self.inbound.len() < WAITING_BYTES_MAX);
        far.set(PollFlags::OUT, self.tls.wants_write());
        let mut near = PollFlags::empty();
        near.set(PollFlags::IN, self.closes_by.is_none() && !self.tls.wants_write());
        near.set(PollFlags::OUT, !self.inbound.is_empty());
        // An end that has ended is told of whether it is asked for or not, again and again.
        let mut ends = Vec::with_capacity(2);
        if !far.is_empty() {
            ends.push(PollFd::new(&self.socket, far));
        }
        if !near.is_empty() {
            ends.push(PollFd::new(&self.local, near));
        }
        match poll(&mut ends, Some(&LOOK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Takes what this machine says, once all that it said before is out.
    fn take_local(&mut self) -> io::Result<()> {
        if self.closes_by.is_some() || self.tls.wants_write() {
            return Ok(());
        }
        let mut piece = [0; PIECE_BYTES];
        match (&self.local).read(&mut piece) {
            Ok(0) => self.close(),
            Ok(count) => self.tls.writer().write_all(&piece[..count])?,
            Err(error) if is_passing(&error) => {}
            Err(_) => self.close(),
        }
        Ok(())
    }

    /// Takes what came, and sends what is to go out.
    fn exchange(&mut self) -> io::Result<()> {
        if !self.has_far_ended && self.inbound.len() < WAITING_BYTES_MAX {
            match self.tls.read_tls(&mut &self.socket) {
                Ok(0) => self.has_far_ended = true,
                Ok(_) => {
                    let read = self.tls.process_new_packets();
                    if let Err(error) = read {
                        // The other end is told why.
                        let _ = self.tls.write_tls(&mut &self.socket);
                        return Err(io::Error::new(ErrorKind::InvalidData, error));
                    }
                    self.take_plain()?;
                }
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take_plain(&mut self) -> io::Result<()> {
        let mut piece = [0; PIECE_BYTES];
        loop {
            match self.tls.reader().read(&mut piece) {
                Ok(0) => {
                    self.has_far_ended = true;
                    return Ok(());
                }
                Ok(count) => self.inbound.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.has_far_ended = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands on what came; who takes it learns where nothing more comes.
    fn give_local(&mut self) -> io::Result<()> {
        while !self.inbound.is_empty() {
            match (&self.local).write(&self.inbound) {
                Ok(count) => drop(self.inbound.drain(..count)),
                Err(error) if is_passing(&error) => return Ok(()),
                Err(_) => {
                    // Nobody takes it any more.
                    self.inbound.clear();
                    self.close();
                }
            }
        }
        if self.has_far_ended {
            let _ = self.local.shutdown(Shutdown::Write);
        }
        Ok(())
    }
}

/// Whether a call is to be made again later.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::deadline::CancelToken;

    fn deadline() -> Deadline {
        Deadline::new(Duration::from_secs(10), &CancelToken::Nothing)
    }

    /// Both ends of a connection over 127.0.0.1.
    fn pair() -> (AnonymousTls, AnonymousTls) {
        let server = AnonymousTlsServer::make().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let accepted = thread::spawn(move || AnonymousTls::accept(far, &server, deadline()).unwrap());
        (AnonymousTls::connect(near, deadline()).unwrap(), accepted.join().unwrap())
    }

    #[test]
    fn both_ends_know_what_is_their_connections_own_and_another_has_another() {
        let ((near, far), (other, _)) = (pair(), pair());
        assert_eq!(near.own().unwrap(), far.own().unwrap());
        assert_ne!(near.own().unwrap(), other.own().unwrap());
    }

    #[test]
    fn what_is_said_is_heard_and_an_end_is_told() {
        let (mut near, mut far) = pair();
        near.say(b"first word").unwrap();
        let mut heard = [0; 10];
        far.hear(&mut heard).unwrap();
        assert_eq!(&heard, b"first word");
        drop(near);
        assert_eq!(far.hear(&mut heard).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    /// A socket of this machine whose bytes are carried by an end, and the thread that does so.
    fn carried(end: AnonymousTls) -> (UnixStream, thread::JoinHandle<io::Result<()>>) {
        let (local, other) = UnixStream::pair().unwrap();
        (local, thread::spawn(move || end.carry(other, &AtomicBool::new(false))))
    }

    #[test]
    fn bytes_are_carried_both_ways_whole_and_the_end_of_one_is_that_of_the_other() {
        let (mut near, far) = pair();
        // Behind the last word, the messages follow at once.
        near.say(b"word").unwrap();
        let ((near, nears), (far, fars)) = (carried(near), carried(far));
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
        let sent = bytes.clone();
        let writer = near.try_clone().unwrap();
        let writes = thread::spawn(move || (&writer).write_all(&sent).unwrap());
        let mut heard = vec![0; 4 + bytes.len()];
        (&far).read_exact(&mut heard).unwrap();
        assert_eq!(&heard[..4], b"word");
        assert!(heard[4..] == bytes[..]);
        writes.join().unwrap();
        (&far).write_all(b"and back").unwrap();
        drop(far);
        let mut heard = Vec::new();
        (&near).read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"and back");
        drop(near);
        assert!(nears.join().unwrap().is_ok() && fars.join().unwrap().is_ok());
    }

    #[test]
    fn who_speaks_no_tls_is_an_error_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        far.write_all(b"SSH-2.0-OpenSSH_10.0\r\n").unwrap();
        let error = AnonymousTls::connect(near, deadline()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let short = Deadline::new(Duration::from_millis(200), &CancelToken::Nothing);
        assert_eq!(AnonymousTls::connect(near, short).err().unwrap().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn a_flag_ends_it_while_the_other_end_takes_nothing() {
        let (near, _far) = pair();
        let (local, other) = UnixStream::pair().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let of_thread = Arc::clone(&stop);
        let carries = thread::spawn(move || near.carry(other, &of_thread));
        local.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        let piece = vec![7; PIECE_BYTES];
        let error = loop {
            if let Err(error) = (&local).write_all(&piece) {
                break error;
            }
        };
        assert!(is_passing(&error), "{error}");
        // That nothing follows is not seen behind what nobody takes.
        local.shutdown(Shutdown::Write).unwrap();
        thread::sleep(Duration::from_millis(200));
        assert!(!carries.is_finished());
        stop.store(true, Ordering::Relaxed);
        let _ = carries.join().unwrap();
    }

    #[test]
    fn a_flag_ends_it_while_nobody_says_anything() {
        let (near, far) = pair();
        let (local, other) = UnixStream::pair().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let of_thread = Arc::clone(&stop);
        let carries = thread::spawn(move || near.carry(other, &of_thread));
        stop.store(true, Ordering::Relaxed);
        assert!(carries.join().unwrap().is_ok());
        let (far, fars) = carried(far);
        assert_eq!((&far).read(&mut [0; 1]).unwrap(), 0);
        drop((local, far));
        assert!(fars.join().unwrap().is_ok());
    }
}
