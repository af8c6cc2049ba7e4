//! Takes flows of one run: an open port that is of no use to anybody else.
//!
//! Who connects has [`PROVEN_WITHIN`] to prove the token; until then nothing but the preface is read of it, and nothing
//! is sent. One that says that it is only to prove it is closed then. So many who have not are waited for at once, and
//! the others wait in the kernel's queue; where there are others, nobody has longer than half a second.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use linerate_wire::connection_slab::{ConnectionSlab, events};

use crate::flow_handshake::{FlowName, FlowToken, PREFACE_BYTES, named};
use crate::used_names::UsedNames;

/// How long one that connects may take to prove the token.
pub const PROVEN_WITHIN: Duration = Duration::from_secs(3);

/// The same where others wait for it to end.
const CROWDED_WITHIN: Duration = Duration::from_millis(500);

/// Most that have not proved it and are waited for: half of the files that a process may have open where its limit
/// (`RLIMIT_NOFILE`) is 1,024 and may not be raised, so that a crowd leaves it some for its own.
const UNKNOWN_PEERS_MAX: usize = 512;

/// How often it looks whether it is to end.
const LOOK_NS: u64 = 50_000_000;

/// A flow that has proved the token.
#[derive(Debug)]
pub struct AcceptedFlow {
    pub name: FlowName,
    pub stream: TcpStream,
}

/// A port on which flows of one run are taken. Dropping it closes the port.
#[derive(Debug)]
pub struct FlowListener {
    port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FlowListener {
    /// Listens at an address, or at all of both families, and hands on what is accepted: flows to the machine of this
    /// number. Port 0 is any that is free.
    ///
    /// # Errors
    /// The port is taken, or no address of this machine.
    pub fn begin(
        address: Option<IpAddr>,
        port: u16,
        own: u32,
        token: FlowToken,
        accepted: Sender<AcceptedFlow>,
    ) -> io::Result<FlowListener> {
        let listener = match address {
            Some(address) => TcpListener::bind(SocketAddr::new(address, port))?,
            // IPv6 may be switched off.
            None => TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
                .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?,
        };
        listener.set_nonblocking(true)?;
        // Many begin at once.
        rustix::net::listen(&listener, 4_096)?;
        let (port, stop) = (listener.local_addr()?.port(), Arc::new(AtomicBool::new(false)));
        let doors = PendingConnections { own, token, accepted, taken: UsedNames::default(), unknown_peers: 0 };
        let (of_thread, places) = (Arc::clone(&stop), ConnectionSlab::new()?);
        let thread = thread::Builder::new()
            .name("flows-listen".to_owned())
            .spawn(move || doors.keep(listener, places, &of_thread).unwrap_or_default())?;
        Ok(FlowListener { port, stop, thread: Some(thread) })
    }

    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for FlowListener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Who is at the door.
enum Greeting {
    Port(TcpListener),
    Stranger { stream: TcpStream, said: [u8; PREFACE_BYTES], length: usize, since: Instant },
}

impl AsFd for Greeting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Greeting::Port(listener) => listener.as_fd(),
            Greeting::Stranger { stream, .. } => stream.as_fd(),
        }
    }
}

struct PendingConnections {
    /// This machine's number in the run.
    own: u32,
    token: FlowToken,
    accepted: Sender<AcceptedFlow>,
    /// Flows that were taken: a second one of the same name, or of an older point, is somebody's who listened.
    taken: UsedNames,
    unknown_peers: usize,
}

impl PendingConnections {
    fn keep(
        mut self,
        listener: TcpListener,
        mut places: ConnectionSlab<Greeting>,
        stop: &AtomicBool,
    ) -> Result<(), rustix::io::Errno> {
        let (mut events, mut looked) = (events(), Instant::now());
        let port = places.add(Greeting::Port(listener))?;
        places.watch(port, false);
        while !stop.load(Ordering::Relaxed) {
            places.wait(&mut events, LOOK_NS)?;
            for event in events.drain(..) {
                let Some(place) = places.slot_for_event(event.data.u64()) else { continue };
                if place == port {
                    self.take_all(&mut places, port);
                } else {
                    self.hear(&mut places, place);
                }
            }
            if looked.elapsed() > PROVEN_WITHIN / 8 {
                looked = Instant::now();
                self.turn_away(&mut places, PROVEN_WITHIN);
            }
        }
        Ok(())
    }

    /// Takes those that wait at the port, as many as may wait here.
    fn take_all(&mut self, places: &mut ConnectionSlab<Greeting>, port: usize) {
        while self.unknown_peers < UNKNOWN_PEERS_MAX {
            let Some(Greeting::Port(listener)) = places.get(port) else { return };
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Such as for want of descriptors.
                Err(_) => break,
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let unknown_peer =
                Greeting::Stranger { stream, said: [0; PREFACE_BYTES], length: 0, since: Instant::now() };
            if let Ok(place) = places.add(unknown_peer) {
                places.watch(place, false);
                self.unknown_peers += 1;
            }
        }
        self.turn_away(places, CROWDED_WITHIN);
        // They are level-triggered, and those behind would be told again and again.
        thread::sleep(Duration::from_millis(1));
    }

    /// Reads what one says; lets it in once it has said all and proved it, or sends it away.
    fn hear(&mut self, places: &mut ConnectionSlab<Greeting>, place: usize) {
        let Some(Greeting::Stranger { stream, said, length, .. }) = places.get_mut(place) else { return };
        let is_gone = match stream.read(&mut said[*length..]) {
            Ok(0) => true,
            Ok(count) => {
                *length += count;
                false
            }
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        };
        if !is_gone && *length < PREFACE_BYTES {
            return;
        }
        let known = if is_gone { None } else { named(&self.token, said) };
        let let_in = known.filter(|(name, _)| name.to == self.own && self.taken.take(*name));
        self.unknown_peers -= 1;
        let Some((name, answer)) = let_in else { return places.close(place) };
        if let Some(Greeting::Stranger { mut stream, .. }) = places.take(place)
            // The answer fits any send buffer.
            && stream.write_all(&answer).is_ok()
            && !name.is_once()
        {
            let _ = self.accepted.send(AcceptedFlow { name, stream });
        }
    }

    /// Sends those away that did not prove the token within a time.
    fn turn_away(&mut self, places: &mut ConnectionSlab<Greeting>, within: Duration) {
        for place in 0..places.count() {
            let is_late = |at: &Greeting| matches!(at, Greeting::Stranger { since, .. } if since.elapsed() > within);
            if places.get(place).is_some_and(is_late) {
                places.close(place);
                self.unknown_peers -= 1;
            }
        }
    }
}
