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
use linerate_flows::session::{SESSION_BYTES, SessionAnswer, answer, is_asked};
use linerate_host::Root;
use linerate_record::fleet::Allowed;
use linerate_record::shell;
use linerate_record::units::{bits_per_s, duration_ns, whole_ns};
use linerate_wire::patience::{Heed, Patience};
use linerate_wire::sealed::{Sealed, SealedServer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Ground, ServedBounds, ServedInTurn, hello, unix_ns};
use crate::failure::Failure;
use crate::served::flags::ServeFlags;
use crate::served::{self, PORT, VARIABLE};
use crate::{interrupt, printing, progress};

/// How long one that connects may take to prove the token.
const PROVEN_WITHIN: Duration = Duration::from_secs(3);

/// Most that have not proved it, at once. For one more, one of them is closed.
const STRANGERS_MAX: usize = 64;

/// How long one that has proved it waits for the end of the one before, which may just be leaving.
const SEATED_WITHIN: Duration = Duration::from_millis(500);

/// How often it is looked whether to end.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How long nobody is taken where nobody can be, such as for want of descriptors: others end meanwhile.
const REST: Duration = Duration::from_millis(50);

/// How often it is looked whether something of one that is served has ended.
const LOOKED_EACH: Duration = Duration::from_millis(5);

/// How long what was said last to one that was served may take to be handed on.
const CARRIED_WITHIN: Duration = Duration::from_secs(1);

/// How long whoever is served may take to end.
const ENDED_WITHIN: Duration = Duration::from_secs(3);

/// So many of those that are refused are told of: a port that is scanned fills no terminal.
const TOLD_MAX: u32 = 20;

/// Addresses that are printed, for who is to come.
const ADDRESSES_MAX: usize = 4;

/// Who may come in, and who is in.
struct Door {
    token: FlowToken,
    tls: SealedServer,
    ground: Ground,
    is_quiet: bool,
    is_taken: AtomicBool,
    /// In the order in which they came.
    strangers: Mutex<Vec<Stranger>>,
    /// Counts those that came.
    came: AtomicU64,
    refused: AtomicU32,
    served: ServedInTurn,
}

/// One that has not proved the token.
struct Stranger {
    number: u64,
    peer: IpAddr,
    socket: TcpStream,
}

/// A place among strangers, left whatever becomes of who has it.
struct Place<'d>(&'d Door, u64);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.strangers().retain(|of| of.number != self.1);
    }
}

/// What the one seat is left by, whatever becomes of who has it.
struct Seat<'d>(&'d Door);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

/// Serves until the time is over or a signal comes.
pub(crate) fn run(flags: &ServeFlags) -> Result<ExitCode, Failure> {
    let token = flags.token_file.as_deref().map_or_else(served::drawn, served::of_file)?;
    let tls = SealedServer::make().map_err(|why| Failure::Command(format!("failed to make a certificate: {why}")))?;
    let listener = bound(flags.listen)?;
    let at = listener.local_addr().map_err(|error| unbound(flags.listen, &error))?;
    let until = Instant::now() + flags.lasting;
    let interrupt = interrupt::watch("error: interrupted again".to_owned())?;
    let bounds = ServedBounds {
        address: Some(at.ip()).filter(|address| !address.is_unspecified()),
        most_bytes_per_s: flags.max_rate,
        peer: None,
    };
    let ground = Ground { clock_ns: unix_ns, read: unread, lease: LAPSES_AFTER, root: None, served: Some(bounds) };
    printing::print_own(&announced(flags, &token, at))?;
    let door = Arc::new(Door {
        token,
        tls,
        ground,
        is_quiet: flags.quiet,
        is_taken: AtomicBool::new(false),
        strangers: Mutex::new(Vec::new()),
        came: AtomicU64::new(0),
        refused: AtomicU32::new(0),
        served: ServedInTurn::default(),
    });
    while !interrupt::came(&interrupt.stop) && Instant::now() < until {
        let mut ends = [PollFd::new(&listener, PollFlags::IN)];
        // A signal ends the waiting early, which is as well.
        let _ = poll(&mut ends, Some(&LOOK));
        match listener.accept() {
            Ok((socket, peer)) => Door::open_to(&door, socket, peer.ip().to_canonical()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => thread::sleep(REST),
        }
    }
    drop(listener);
    door.end();
    Ok(ExitCode::SUCCESS)
}

/// Nobody who comes may ask for more than flows.
fn unread(_: &Root) -> Result<String, String> {
    Err("it reads no setting".to_owned())
}

/// The port, at one address or at all of both families.
fn bound(place: Option<SocketAddr>) -> Result<TcpListener, Failure> {
    let listener = match place {
        Some(place) => TcpListener::bind(place),
        // IPv6 may be switched off.
        None => TcpListener::bind((Ipv6Addr::UNSPECIFIED, PORT))
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))),
    };
    let listener = listener.map_err(|error| unbound(place, &error))?;
    listener.set_nonblocking(true).map_err(|error| unbound(place, &error))?;
    Ok(listener)
}

fn unbound(place: Option<SocketAddr>, error: &io::Error) -> Failure {
    let place = place.map_or_else(|| format!("port {PORT}"), |place| place.to_string());
    Failure::Command(format!("failed to listen at {place}: {error}; name another with --listen ADDRESS:PORT"))
}

/// Where it listens, and what is to be typed on the other machine.
fn announced(flags: &ServeFlags, token: &FlowToken, at: SocketAddr) -> String {
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
        None => (format!("{VARIABLE}={} ", token.to_hex()), String::new()),
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
    all.into_iter().take(ADDRESSES_MAX).map(shown).collect()
}

/// Of those that wait, by their addresses in the order in which they came, the one that makes room for the next: the
/// first of the network that has the most, so that a crowd keeps out itself. A machine has 2^64 addresses of IPv6.
fn crowding(peers: &[IpAddr]) -> Option<usize> {
    let network = |peer: &IpAddr| match peer {
        IpAddr::V4(_) => *peer,
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    };
    let networks: Vec<IpAddr> = peers.iter().map(network).collect();
    let count = |place: usize| networks.iter().filter(|other| **other == networks[place]).count();
    (0..networks.len()).min_by_key(|place| Reverse(count(*place)))
}

impl Door {
    /// Has a thread attend to one that connected.
    fn open_to(door: &Arc<Door>, socket: TcpStream, peer: IpAddr) {
        // By the other handle it is closed for the next, whatever its thread waits for.
        let Ok(handle) = socket.try_clone() else { return };
        let number = door.enter(handle, peer);
        let of_thread = Arc::clone(door);
        let begun = thread::Builder::new().spawn(move || of_thread.attend(socket, (number, peer)));
        if begun.is_err() {
            drop(Place(door, number));
        }
    }

    fn strangers(&self) -> MutexGuard<'_, Vec<Stranger>> {
        self.strangers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one among the strangers, for which another one may have to go; its number.
    fn enter(&self, socket: TcpStream, peer: IpAddr) -> u64 {
        let number = self.came.fetch_add(1, Ordering::Relaxed);
        let mut strangers = self.strangers();
        if strangers.len() >= STRANGERS_MAX {
            let peers: Vec<IpAddr> = strangers.iter().map(|of| of.peer).collect();
            let closed = crowding(&peers).map(|place| strangers.remove(place));
            // Its thread learns it at once.
            let _ = closed.map(|of| of.socket.shutdown(Shutdown::Both));
        }
        strangers.push(Stranger { number, peer, socket });
        number
    }

    /// One that connected, from its first word to its end.
    fn attend(&self, socket: TcpStream, (number, peer): (u64, IpAddr)) {
        let met = self.met(socket, peer, Place(self, number));
        // Whoever says nothing, or nothing that is understood, is nobody to speak of. The seat is left at the end.
        let Ok(Some((sealed, _seat))) = met else { return };
        self.say(&format!("{peer} measures"));
        let begun = Instant::now();
        let ended = self.serve_one(sealed, peer);
        let lasted = duration_ns(whole_ns(begun.elapsed()) as f64);
        match ended {
            Ok(EndReason::Asked) => self.say(&format!("{peer} has measured for {lasted}")),
            Ok(EndReason::Unread) => self.say(&format!("{peer} said something outside the protocol: it was dropped")),
            Ok(EndReason::Lapsed | EndReason::EndOfInput) => self.say(&format!("{peer} was lost after {lasted}")),
            Ok(EndReason::Signalled) => {}
            Err(error) => self.say(&format!("{peer} could not be served: {error}")),
        }
    }

    fn say(&self, text: &str) {
        if !self.is_quiet {
            progress::say(text);
        }
    }

    /// Learns whether one that connected has the token, and whether nobody else is in.
    fn met(&self, socket: TcpStream, peer: IpAddr, place: Place<'_>) -> io::Result<Option<(Sealed, Seat<'_>)>> {
        let mut sealed = Sealed::accept(socket, &self.tls, Patience::new(PROVEN_WITHIN, &Heed::Nothing))?;
        let channel = sealed.own()?;
        let mut said = [0; SESSION_BYTES];
        sealed.hear(&mut said)?;
        if !is_asked(&self.token, &channel, &said) {
            if self.refused.fetch_add(1, Ordering::Relaxed) < TOLD_MAX {
                self.say(&format!("{peer} was refused: its token is another one"));
            }
            sealed.say(&answer(&self.token, &channel, SessionAnswer::Refuses))?;
            return Ok(None);
        }
        drop(place);
        let seat = self.seated();
        let said = if seat.is_some() { SessionAnswer::Takes } else { SessionAnswer::Busy };
        sealed.say(&answer(&self.token, &channel, said))?;
        Ok(seat.map(|seat| (sealed, seat)))
    }

    /// The seat; none where somebody else has it and does not leave it soon.
    fn seated(&self) -> Option<Seat<'_>> {
        let until = Instant::now() + SEATED_WITHIN;
        while self.is_taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Acquire).is_err() {
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(LOOKED_EACH);
        }
        Some(Seat(self))
    }

    /// Is the agent of one that has the token, until that ends it.
    fn serve_one(&self, sealed: Sealed, peer: IpAddr) -> io::Result<EndReason> {
        let (near, far) = UnixStream::pair()?;
        let (input, output) = (near.try_clone()?, near.try_clone()?);
        let stop = Arc::new(AtomicBool::new(false));
        let of_thread = Arc::clone(&stop);
        let carries = thread::spawn(move || sealed.carry(far, &of_thread));
        let served = self.ground.served.map(|of| ServedBounds { peer: Some(peer), ..of });
        let ground = Ground { served, ..self.ground.clone() };
        let reason = self.served.serve(hello(Allowed::Flows), input, output, ground);
        // What was said last goes out first. Who takes nothing any more keeps nobody else out.
        let _ = near.shutdown(Shutdown::Write);
        let until = Instant::now() + CARRIED_WITHIN;
        while !carries.is_finished() && Instant::now() < until {
            thread::sleep(LOOKED_EACH);
        }
        stop.store(true, Ordering::Relaxed);
        let _ = carries.join();
        Ok(reason)
    }

    /// Ends what goes on, and takes nobody any more.
    fn end(&self) {
        self.served.end();
        let until = Instant::now() + ENDED_WITHIN;
        while self.is_taken.load(Ordering::Acquire) && Instant::now() < until {
            thread::sleep(LOOKED_EACH);
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
        let text = announced(&flags("--max-rate 1Gb/s"), &token, "10.2.0.1:5210".parse().unwrap());
        let line = format!("  LINERATE_NET_TOKEN={hex} linerate net 10.2.0.1 --max-rate 1.00Gb/s\n");
        assert!(text.starts_with("listening 10.2.0.1:5210\n") && text.contains(&line), "{text}");
        assert!(text.contains("at most 1.00 Gb/s each way; ends in") && text.matches(&hex).count() == 1, "{text}");
        let text = announced(&flags("--token-file t"), &token, "[fd00::1]:99".parse().unwrap());
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
            assert_eq!(crowding(&addresses), place, "{peers:?}");
        }
    }

    #[test]
    fn all_addresses_are_those_that_others_reach_and_one_is_itself() {
        assert_eq!(hosts("127.0.0.1:5210".parse().unwrap()), ["127.0.0.1"]);
        assert_eq!(hosts("[::1]:99".parse().unwrap()), ["[::1]:99"]);
        let all = hosts("[::]:5210".parse().unwrap());
        assert!(all.len() <= ADDRESSES_MAX && !all.iter().any(|host| host.starts_with("127.")), "{all:?}");
    }
}
