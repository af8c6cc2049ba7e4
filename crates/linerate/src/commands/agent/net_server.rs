//! `linerate net serve`: an agent that sends and receives flows and does nothing else, for one coordinator after the
//! other that has its token. It listens on a port until its time is over or a signal comes.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use linerate_fleet::lease::{EndReason, LAPSES_AFTER};
use linerate_flows::FlowToken;
use linerate_flows::session_handshake::{SESSION_BYTES, SessionAnswer, answer, is_attach_request};
use linerate_host::Root;
use linerate_record::fleet::Allowed;
use linerate_record::shell;
use linerate_record::units::{bits_per_s, duration_ns, whole_ns};
use linerate_wire::anonymous_tls::{AnonymousTls, AnonymousTlsServer};
use linerate_wire::deadline::{CancelToken, Deadline};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{AgentContext, SerialSessions, ServeLimits, hello, unix_ns};
use crate::remote::net_token::flags::ServeFlags;
use crate::remote::net_token::{self, PORT};
use crate::run::interrupt;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks::NET_TOKEN_VARIABLE;
use crate::terminal::{printing, progress};

/// How long one that connects may take to prove the token.
const PROOF_TIMEOUT: Duration = Duration::from_secs(3);

/// Most that have not proved it, at once. For one more, one of them is closed.
const UNPROVEN_MAX: usize = 64;

/// How long one that has proved it waits for the end of the one before, which may just be leaving.
const SLOT_TIMEOUT: Duration = Duration::from_millis(500);

/// How often it is looked whether to end.
const ACCEPT_POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How long nobody is taken where nobody can be, such as for want of descriptors: others end meanwhile.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// How often it is looked whether something of one that is served has ended.
const END_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How long what was said last to one that was served may take to be handed on.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// How long whoever is served may take to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// So many of those that are refused are told of: a port that is scanned fills no terminal.
const LOGGED_REFUSALS_MAX: u32 = 20;

/// Addresses that are printed, for who is to come.
const PRINTED_ADDRESSES_MAX: usize = 4;

/// Who may come in, and who is in.
struct ServerState {
    token: FlowToken,
    tls: AnonymousTlsServer,
    context: AgentContext,
    is_quiet: bool,
    is_taken: AtomicBool,
    /// In the order in which they came.
    unproven_peers: Mutex<Vec<UnprovenPeer>>,
    /// Counts those that came.
    came: AtomicU64,
    refused: AtomicU32,
    served: SerialSessions,
}

/// One that has not proved the token.
struct UnprovenPeer {
    number: u64,
    peer: IpAddr,
    socket: TcpStream,
}

/// A place among unproven connections, freed whatever becomes of its holder.
struct UnprovenGuard<'d>(&'d ServerState, u64);

impl Drop for UnprovenGuard<'_> {
    fn drop(&mut self) {
        self.0.unproven_peers().retain(|of| of.number != self.1);
    }
}

/// What the one seat is left by, whatever becomes of who has it.
struct SlotGuard<'d>(&'d ServerState);

impl Drop for SlotGuard<'_> {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// Serves until the time is over or a signal comes.
pub(crate) fn run(flags: &ServeFlags) -> Result<ExitCode, Failure> {
    let token = flags.token_file.as_deref().map_or_else(net_token::random_token, net_token::read_token_file)?;
    let tls =
        AnonymousTlsServer::make().map_err(|why| Failure::Command(format!("failed to make a certificate: {why}")))?;
    let listener = bind_port(flags.listen)?;
    let at = listener.local_addr().map_err(|error| bind_failure(flags.listen, &error))?;
    let until = Instant::now() + flags.lasting;
    let interrupt = interrupt::watch_signals("error: interrupted again".to_owned())?;
    let bounds = ServeLimits {
        address: Some(at.ip()).filter(|address| !address.is_unspecified()),
        most_bytes_per_s: flags.max_rate,
        peer: None,
    };
    let context = AgentContext {
        clock_ns: unix_ns,
        read: refuse_machine_read,
        lease: LAPSES_AFTER,
        root: None,
        served: Some(bounds),
    };
    printing::print_unmasked(&startup_message(flags, &token, at))?;
    let server = Arc::new(ServerState {
        token,
        tls,
        context,
        is_quiet: flags.quiet,
        is_taken: AtomicBool::new(false),
        unproven_peers: Mutex::new(Vec::new()),
        came: AtomicU64::new(0),
        refused: AtomicU32::new(0),
        served: SerialSessions::default(),
    });
    while !interrupt::is_set(&interrupt.stop) && Instant::now() < until {
        let mut ends = [PollFd::new(&listener, PollFlags::IN)];
        // A signal ends the waiting early, which is as well.
        let _ = poll(&mut ends, Some(&ACCEPT_POLL_INTERVAL));
        match listener.accept() {
            Ok((socket, peer)) => ServerState::spawn_attendant(&server, socket, peer.ip().to_canonical()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => thread::sleep(ACCEPT_BACKOFF),
        }
    }
    drop(listener);
    server.end();
    Ok(ExitCode::SUCCESS)
}

/// Nobody who comes may ask for more than flows.
fn refuse_machine_read(_: &Root) -> Result<String, String> {
    Err("it reads no setting".to_owned())
}

/// The port, at one address or at all of both families.
fn bind_port(place: Option<SocketAddr>) -> Result<TcpListener, Failure> {
    let listener = match place {
        Some(place) => TcpListener::bind(place),
        // IPv6 may be switched off.
        None => TcpListener::bind((Ipv6Addr::UNSPECIFIED, PORT))
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))),
    };
    let listener = listener.map_err(|error| bind_failure(place, &error))?;
    listener.set_nonblocking(true).map_err(|error| bind_failure(place, &error))?;
    Ok(listener)
}

fn bind_failure(place: Option<SocketAddr>, error: &io::Error) -> Failure {
    let place = place.map_or_else(|| format!("port {PORT}"), |place| place.to_string());
    Failure::Command(format!("failed to listen at {place}: {error}; name another with --listen ADDRESS:PORT"))
}

/// Where it listens, and what is to be typed on the other machine.
fn startup_message(flags: &ServeFlags, token: &FlowToken, at: SocketAddr) -> String {
    let mut text = format!("listening {at}\n");
    let lasting = duration_ns(whole_ns(flags.lasting) as f64);
    let most = flags.max_rate.map_or_else(
        || "with no limit of its own".to_owned(),
        |most| format!("at most {} each way", bits_per_s(8.0 * most)),
    );
    // A text takes what it is written.
    let _ = writeln!(text, "sends and receives flows alone, {most}; ends in {lasting}, or with Ctrl-C");
    let (before, behind) = match &flags.token_file {
        Some(path) => (String::new(), format!(" --token-file {}", shell::path(path))),
        None => (format!("{NET_TOKEN_VARIABLE}={} ", token.to_hex()), String::new()),
    };
    let rate = flags
        .max_rate
        .map_or_else(String::new, |most| format!(" --max-rate {}", bits_per_s(8.0 * most).replace(' ', "")));
    let mut hosts = hosts(at).into_iter();
    // A machine that nobody else reaches.
    let first = hosts.next().unwrap_or_else(|| format!("localhost:{}", at.port()));
    let _ = writeln!(text, "on the other machine, type:\n  {before}linerate net {first}{behind}{rate}");
    let others: Vec<String> = hosts.collect();
    if !others.is_empty() {
        let _ = writeln!(text, "or, as it reaches this machine, {} in place of {first}", others.join(", "));
    }
    if flags.token_file.is_some() {
        let _ = writeln!(text, "with a file there that has the same token");
    }
    text
}

/// What others can reach this machine by, as `linerate net` takes it.
fn hosts(at: SocketAddr) -> Vec<String> {
    let shown = |address: IpAddr| match (at.port(), address) {
        (PORT, address) => address.to_string(),
        (port, address) => SocketAddr::new(address, port).to_string(),
    };
    if !at.ip().is_unspecified() {
        return vec![shown(at.ip())];
    }
    let is_for_others = |address: &IpAddr| match address {
        IpAddr::V4(address) => !address.is_loopback() && !address.is_link_local(),
        IpAddr::V6(address) => at.is_ipv6() && !address.is_loopback() && !address.is_unicast_link_local(),
    };
    let found = if_addrs::get_if_addrs().unwrap_or_default();
    let mut all: Vec<IpAddr> = found.iter().map(if_addrs::Interface::ip).filter(is_for_others).collect();
    // The older family first, each as the kernel lists it.
    all.sort_by_key(IpAddr::is_ipv6);
    all.into_iter().take(PRINTED_ADDRESSES_MAX).map(shown).collect()
}

/// Of those that wait, by their addresses in the order in which they came, the one that makes room for the next: the
/// first of the network that has the most, so that a crowd keeps out itself. A machine has 2^64 addresses of IPv6.
fn peer_to_evict(peers: &[IpAddr]) -> Option<usize> {
    let network = |peer: &IpAddr| match peer {
        IpAddr::V4(_) => *peer,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    };
    let networks: Vec<IpAddr> = peers.iter().map(network).collect();
    let count = |place: usize| networks.iter().filter(|other| **other == networks[place]).count();
    (0..networks.len()).min_by_key(|place| Reverse(count(*place)))
}

impl ServerState {
    /// Has a thread attend to one that connected.
    fn spawn_attendant(server: &Arc<ServerState>, socket: TcpStream, peer: IpAddr) {
        // By the other handle it is closed for the next, whatever its thread waits for.
        let Ok(handle) = socket.try_clone() else { return };
        let number = server.register_peer(handle, peer);
        let thread_state = Arc::clone(server);
        let begun = thread::Builder::new().spawn(move || thread_state.serve_connection(socket, number, peer));
        if begun.is_err() {
            drop(UnprovenGuard(server, number));
        }
    }

    fn unproven_peers(&self) -> MutexGuard<'_, Vec<UnprovenPeer>> {
        self.unproven_peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one among the strangers, for which another one may have to go; its number.
    fn register_peer(&self, socket: TcpStream, peer: IpAddr) -> u64 {
        let number = self.came.fetch_add(1, Ordering::Relaxed);
        let mut unproven_peers = self.unproven_peers();
        if unproven_peers.len() >= UNPROVEN_MAX {
            let peers: Vec<IpAddr> = unproven_peers.iter().map(|of| of.peer).collect();
            let closed = peer_to_evict(&peers).map(|place| unproven_peers.remove(place));
            // Its thread learns it at once.
            let _ = closed.map(|of| of.socket.shutdown(Shutdown::Both));
        }
        unproven_peers.push(UnprovenPeer { number, peer, socket });
        number
    }

    /// One that connected, from its first word to its end.
    fn serve_connection(&self, socket: TcpStream, number: u64, peer: IpAddr) {
        let authenticate = self.authenticate(socket, peer, UnprovenGuard(self, number));
        // Whoever says nothing, or nothing that is understood, is nobody to speak of. The seat is left at the end.
        let Ok(Some((sealed, _seat))) = authenticate else { return };
        self.say(&format!("{peer} measures"));
        let begun = Instant::now();
        let ended = self.serve_peer(sealed, peer);
        let lasted = duration_ns(whole_ns(begun.elapsed()) as f64);
        match ended {
            Ok(EndReason::Requested) => self.say(&format!("{peer} has measured for {lasted}")),
            Ok(EndReason::Unread) => self.say(&format!("{peer} said something outside the protocol: it was dropped")),
            Ok(EndReason::Lapsed | EndReason::EndOfInput) => self.say(&format!("{peer} was lost after {lasted}")),
            Ok(EndReason::Signalled) => {}
            Err(error) => self.say(&format!("{peer} could not be served: {error}")),
        }
    }

    fn say(&self, text: &str) {
        if !self.is_quiet {
            progress::print_error(text);
        }
    }

    /// Learns whether one that connected has the token, and whether nobody else is in.
    fn authenticate(
        &self,
        socket: TcpStream,
        peer: IpAddr,
        place: UnprovenGuard<'_>,
    ) -> io::Result<Option<(AnonymousTls, SlotGuard<'_>)>> {
        let mut sealed = AnonymousTls::accept(socket, &self.tls, Deadline::new(PROOF_TIMEOUT, &CancelToken::Nothing))?;
        let channel = sealed.own()?;
        let mut said = [0; SESSION_BYTES];
        sealed.hear(&mut said)?;
        if !is_attach_request(&self.token, &channel, &said) {
            if self.refused.fetch_add(1, Ordering::Relaxed) < LOGGED_REFUSALS_MAX {
                self.say(&format!("{peer} was refused: its token is another one"));
            }
            sealed.say(&answer(&self.token, &channel, SessionAnswer::Refuses))?;
            return Ok(None);
        }
        drop(place);
        let slot = self.acquire_slot();
        let said = if slot.is_some() { SessionAnswer::Takes } else { SessionAnswer::Busy };
        sealed.say(&answer(&self.token, &channel, said))?;
        Ok(slot.map(|slot| (sealed, slot)))
    }

    /// The seat; none where somebody else has it and does not leave it soon.
    fn acquire_slot(&self) -> Option<SlotGuard<'_>> {
        let until = Instant::now() + SLOT_TIMEOUT;
        while self.is_taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire).is_err() {
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(END_POLL_INTERVAL);
        }
        Some(SlotGuard(self))
    }

    /// Is the agent of one that has the token, until that ends it.
    fn serve_peer(&self, sealed: AnonymousTls, peer: IpAddr) -> io::Result<EndReason> {
        let (near, far) = UnixStream::pair()?;
        let (input, output) = (near.try_clone()?, near.try_clone()?);
        let stop = Arc::new(AtomicBool::new(false));
        let thread_state = Arc::clone(&stop);
        let carries = thread::spawn(move || sealed.carry(far, &thread_state));
        let served = self.context.served.map(|of| ServeLimits { peer: Some(peer), ..of });
        let context = AgentContext { served, ..self.context.clone() };
        let reason = self.served.serve(hello(Allowed::Flows), input, output, context);
        // What was said last goes out first. Who takes nothing any more keeps nobody else out.
        let _ = near.shutdown(Shutdown::Write);
        let until = Instant::now() + FLUSH_TIMEOUT;
        while !carries.is_finished() && Instant::now() < until {
            thread::sleep(END_POLL_INTERVAL);
        }
        stop.store(true, Ordering::Relaxed);
        let _ = carries.join();
        Ok(reason)
    }

    /// Ends what goes on, and takes nobody any more.
    fn end(&self) {
        self.served.end();
        let until = Instant::now() + SHUTDOWN_TIMEOUT;
        while self.is_taken.load(Ordering::Acquire) && Instant::now() < until {
            thread::sleep(END_POLL_INTERVAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: ServeFlags,
    }

    fn flags(text: &str) -> ServeFlags {
        let words = ["serve"].into_iter().chain(text.split_whitespace());
        Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).serve
    }

    #[test]
    fn what_is_to_be_typed_has_the_place_the_token_and_the_cap() {
        let token = FlowToken::new([15; 32]);
        let hex = "0f".repeat(32);
        let text = startup_message(&flags("--max-rate 1Gb/s"), &token, "10.2.0.1:5210".parse().unwrap());
        let line = format!("  LINERATE_NET_TOKEN={hex} linerate net 10.2.0.1 --max-rate 1.00Gb/s\n");
        assert!(text.starts_with("listening 10.2.0.1:5210\n") && text.contains(&line), "{text}");
        assert!(text.contains("at most 1.00 Gb/s each way; ends in") && text.matches(&hex).count() == 1, "{text}");
        let text = startup_message(&flags("--token-file t"), &token, "[fd00::1]:99".parse().unwrap());
        assert!(text.contains("\n  linerate net [fd00::1]:99 --token-file t\n"), "{text}");
        assert!(!text.contains(&hex) && text.contains("with no limit"), "{text}");
    }

    #[test]
    fn room_is_made_by_the_first_of_the_network_that_has_the_most() {
        for (peers, place) in [
            (&["10.0.0.1"][..], Some(0)),
            (&[], None),
            (&["10.0.0.1", "10.0.0.2", "10.0.0.3"], Some(0)),
            (&["10.0.0.1", "10.0.0.2", "10.0.0.2"], Some(1)),
            (&["10.0.0.1", "fd00::1", "fd00:0:0:1::1", "fd00::2:0:0:1"], Some(1)),
        ] {
            let addresses: Vec<IpAddr> = peers.iter().map(|peer| peer.parse().unwrap()).collect();
            assert_eq!(peer_to_evict(&addresses), place, "{peers:?}");
        }
    }

    #[test]
    fn all_addresses_are_those_that_others_reach_and_one_is_itself() {
        assert_eq!(hosts("127.0.0.1:5210".parse().unwrap()), ["127.0.0.1"]);
        assert_eq!(hosts("[::1]:99".parse().unwrap()), ["[::1]:99"]);
        let all = hosts("[::]:5210".parse().unwrap());
        assert!(all.len() <= PRINTED_ADDRESSES_MAX && !all.iter().any(|host| host.starts_with("127.")), "{all:?}");
    }
}
