//! From what sockets have counted, look by look, to what they did over the window, by whom they lead to. Without clock
//! and kernel.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use linerate_record::readings::{
    ADDRESSES_MAX, HASHES_MAX, OpenedBy, PortRange, REMOTES_MAX, RemoteSums, SocketsSeen, pair_hash,
};

use super::median_sketch::Medians;
use super::message::{Counted, TcpSocket};

/// Most sockets whose last reading is kept. A table of them takes 8.5 MB, and 17 MB where it grew last.
const SOCKETS_MAX: usize = 100_000;

/// The state of a socket of which the other side has acknowledged the end (`include/net/tcp_states.h`).
const END_ACKNOWLEDGED: u8 = 5;
/// States in which the other side's end has come: CLOSE-WAIT, LAST-ACK, CLOSING.
const END_RECEIVED: [u8; 3] = [8, 9, 11];

/// Counters of the kernel are in ticks of up to 10 ms, and a dump takes time itself: a socket that was busy for longer
/// than a look by more than this is older than the look before.
const SLACK_US: u64 = 50_000;

/// What was read last of a socket.
#[derive(Clone, Copy, Debug)]
struct LastRead {
    counted: Counted,
    /// The place of its sums; [`NO_REMOTE`] where they are not kept.
    remote: u32,
    /// When it was seen last, in milliseconds since the first look.
    seen_ms: u32,
}

const NO_REMOTE: u32 = u32::MAX;

/// The sockets of one network namespace.
#[derive(Debug, Default)]
struct SpaceSeen {
    /// By their cookies, which are unique in it.
    last: HashMap<u64, LastRead>,
    /// Whether a look at it has ended: what is there from then on is new.
    is_begun: bool,
}

/// What is summed for one address and direction.
#[derive(Debug)]
struct RemoteTotals {
    sums: RemoteSums,
    round_trips_us: Medians,
    delivery_rates: Medians,
}

/// Everything that is kept over the window.
#[derive(Debug)]
pub(super) struct SocketTotals {
    ports: Vec<PortRange>,
    spaces: Vec<SpaceSeen>,
    remotes: Vec<RemoteTotals>,
    places: HashMap<(IpAddr, OpenedBy), u32>,
    met: HashSet<u64>,
    made: HashSet<u64>,
    is_more: bool,
    addresses: BTreeSet<IpAddr>,
    left_out: u64,
    first_ms: Option<u64>,
    now_ms: u64,
    /// Of the look before, and how long after it the present one is.
    before_ms: u32,
    elapsed_ms: u64,
    looks: u32,
    interval_ms: u64,
    sockets: u32,
    sockets_max: u32,
}

impl SocketTotals {
    pub(super) fn new(ports: Vec<PortRange>, spaces: usize) -> Self {
        Self {
            ports,
            spaces: std::iter::repeat_with(SpaceSeen::default).take(spaces).collect(),
            remotes: Vec::new(),
            places: HashMap::new(),
            met: HashSet::new(),
            made: HashSet::new(),
            is_more: false,
            addresses: BTreeSet::new(),
            left_out: 0,
            first_ms: None,
            now_ms: 0,
            before_ms: 0,
            elapsed_ms: 0,
            looks: 0,
            interval_ms: 0,
            sockets: 0,
            sockets_max: 0,
        }
    }

    pub(super) fn begin_look(&mut self, now_ms: u64) {
        let before_ms = self.first_ms.map_or(now_ms, |_| self.now_ms);
        self.first_ms = self.first_ms.or(Some(now_ms));
        self.before_ms = self.since_first(before_ms);
        // Two looks are never at one time: a socket that was seen at this time was seen in this look.
        self.now_ms = if self.looks == 0 { now_ms } else { now_ms.max(before_ms + 1) };
        self.elapsed_ms = self.now_ms - before_ms;
        self.interval_ms = self.interval_ms.max(self.elapsed_ms);
        self.sockets = 0;
        self.looks = self.looks.saturating_add(1);
    }

    fn since_first(&self, at_ms: u64) -> u32 {
        u32::try_from(at_ms.saturating_sub(self.first_ms.unwrap_or(at_ms))).unwrap_or(u32::MAX)
    }

    /// A socket that this look saw in a network namespace.
    pub(super) fn see(&mut self, space: usize, socket: &TcpSocket) {
        let Some(opened_by) = opened_by(&self.ports, socket) else { return };
        if socket.info_bytes == 0 || space >= self.spaces.len() {
            return;
        }
        let counted = with_data_alone(socket, opened_by);
        let seen_ms = self.since_first(self.now_ms);
        let Some(last) = self.spaces[space].last.get_mut(&socket.cookie) else {
            return self.see_first(space, socket, opened_by, counted, seen_ms);
        };
        let (before, place) = (*last, last.remote);
        last.counted = counted;
        last.seen_ms = seen_ms;
        // Not the second time in one look, as where the kernel's list changed meanwhile.
        self.sockets += u32::from(before.seen_ms != seen_ms);
        let Some(remote) = self.remotes.get_mut(place as usize) else { return };
        if let Some(more) = difference(&counted, &before.counted) {
            add(remote, &more, socket);
        }
        remote.sums.open_us += 1000 * u64::from(seen_ms.saturating_sub(before.seen_ms));
    }

    fn see_first(&mut self, space: usize, socket: &TcpSocket, by: OpenedBy, counted: Counted, seen_ms: u32) {
        self.sockets += 1;
        let kept: usize = self.spaces.iter().map(|space| space.last.len()).sum();
        if kept >= SOCKETS_MAX {
            self.left_out += 1;
            return;
        }
        self.note(socket, by);
        let place = self.place(socket.remote.0, by);
        self.spaces[space].last.insert(socket.cookie, LastRead { counted, remote: place, seen_ms });
        let Some(remote) = self.remotes.get_mut(place as usize) else {
            self.left_out += 1;
            return;
        };
        remote.sums.sockets = remote.sums.sockets.saturating_add(1);
        // What is there at the first look counts from then. So does what the look before has missed, although it was
        // there: the kernel's list is not held still while it is told.
        let elapsed_us = 1000 * self.elapsed_ms;
        if !self.spaces[space].is_begun || counted.busy_us > elapsed_us + SLACK_US {
            return;
        }
        add(remote, &counted, socket);
        // It began at some time since the look before.
        remote.sums.open_us += counted.busy_us.max(elapsed_us / 2).min(elapsed_us);
    }

    /// Keeps its number for the other end, and this side's address.
    fn note(&mut self, socket: &TcpSocket, by: OpenedBy) {
        let (hashes, hash) = match by {
            OpenedBy::Them => (&mut self.met, pair_hash(socket.local, socket.remote)),
            OpenedBy::Us => (&mut self.made, pair_hash(socket.remote, socket.local)),
        };
        if hashes.len() < HASHES_MAX {
            hashes.insert(hash);
        } else {
            self.is_more |= !hashes.contains(&hash);
        }
        if self.addresses.len() < ADDRESSES_MAX {
            self.addresses.insert(socket.local.0);
        }
    }

    /// Where the sums of an address are.
    fn place(&mut self, address: IpAddr, opened_by: OpenedBy) -> u32 {
        if let Some(place) = self.places.get(&(address, opened_by)) {
            return *place;
        }
        if self.remotes.len() >= REMOTES_MAX {
            return NO_REMOTE;
        }
        let place = u32::try_from(self.remotes.len()).unwrap_or(NO_REMOTE);
        self.places.insert((address, opened_by), place);
        let sums = empty(address, opened_by);
        self.remotes.push(RemoteTotals {
            sums,
            round_trips_us: Medians::default(),
            delivery_rates: Medians::default(),
        });
        place
    }

    /// A look at a network namespace has ended. Where it was whole, sockets that neither it nor the one before has seen
    /// are gone: one look may miss a socket that is there, and it must not be taken for a new one then.
    pub(super) fn end_space(&mut self, space: usize, is_whole: bool) {
        let Some(seen) = self.spaces.get_mut(space) else { return };
        if is_whole {
            seen.is_begun = true;
            seen.last.retain(|_, last| last.seen_ms >= self.before_ms);
        }
    }

    /// A look has ended: how many sockets it saw.
    pub(super) fn end_look(&mut self) -> u32 {
        self.sockets_max = self.sockets_max.max(self.sockets);
        self.sockets
    }

    /// A figure over all sums so far.
    #[cfg(test)]
    pub(super) fn total(&self, figure: impl Fn(&RemoteSums) -> u64) -> u64 {
        self.remotes.iter().map(|remote| figure(&remote.sums)).sum()
    }

    /// All sums, those with the most bytes first.
    pub(super) fn seen(self, took_us: u64) -> SocketsSeen {
        let sorted = |hashes: HashSet<u64>| {
            let mut all: Vec<u64> = hashes.into_iter().collect();
            all.sort_unstable();
            all
        };
        let mut remotes: Vec<RemoteSums> = self.remotes.into_iter().map(with_medians).collect();
        let bytes = |of: &RemoteSums| of.sent_bytes.saturating_add(of.received_bytes);
        remotes.sort_by(|a, b| (bytes(b), a.address, a.opened_by).cmp(&(bytes(a), b.address, b.opened_by)));
        SocketsSeen {
            over_ms: self.first_ms.map_or(0, |first| self.now_ms.saturating_sub(first)),
            looks: self.looks,
            interval_ms: self.interval_ms,
            sockets: self.sockets_max,
            took_us,
            remotes,
            left_out: self.left_out,
            met: sorted(self.met),
            made: sorted(self.made),
            is_more: self.is_more,
            addresses: self.addresses.into_iter().collect(),
            ports: self.ports,
        }
    }
}

/// Which side connected: the one whose port is none of the engine's. Where both are, the lower port is the server's, as
/// ports that a client is given are the highest, and the lower address where they are the same: both ends say so.
fn opened_by(ports: &[PortRange], socket: &TcpSocket) -> Option<OpenedBy> {
    let is_engines = |port: u16| ports.iter().any(|range| (range.first..=range.last).contains(&port));
    let (local, remote) = (socket.local, socket.remote);
    match (is_engines(local.1), is_engines(remote.1)) {
        (true, false) => Some(OpenedBy::Them),
        (false, true) => Some(OpenedBy::Us),
        (true, true) if (local.1, local.0) <= (remote.1, remote.0) => Some(OpenedBy::Them),
        (true, true) => Some(OpenedBy::Us),
        (false, false) => None,
    }
}

/// Without what stands for the beginning and the end of a connection: each has a number in the sequence of bytes
/// (`net/ipv4/tcp_input.c: tcp_snd_una_update`, `tcp_rcv_nxt_update`). The beginning is acknowledged before the socket
/// of a server is made. The state is read a moment before the counters are, so that an end that comes in between is
/// taken for a byte.
fn with_data_alone(socket: &TcpSocket, opened_by: OpenedBy) -> Counted {
    let began = u64::from(opened_by == OpenedBy::Us);
    let ended = u64::from(socket.state == END_ACKNOWLEDGED);
    let came_to_end = u64::from(END_RECEIVED.contains(&socket.state));
    Counted {
        acknowledged_bytes: socket.counted.acknowledged_bytes.saturating_sub(began + ended),
        received_bytes: socket.counted.received_bytes.saturating_sub(came_to_end),
        ..socket.counted
    }
}

/// What was counted meanwhile; none where any counter is lower than before.
fn difference(now: &Counted, before: &Counted) -> Option<Counted> {
    Some(Counted {
        acknowledged_bytes: now.acknowledged_bytes.checked_sub(before.acknowledged_bytes)?,
        received_bytes: now.received_bytes.checked_sub(before.received_bytes)?,
        busy_us: now.busy_us.checked_sub(before.busy_us)?,
        window_limited_us: now.window_limited_us.checked_sub(before.window_limited_us)?,
        buffer_limited_us: now.buffer_limited_us.checked_sub(before.buffer_limited_us)?,
        data_segments: now.data_segments.checked_sub(before.data_segments)?,
        retransmitted: now.retransmitted.checked_sub(before.retransmitted)?,
    })
}

fn add(to: &mut RemoteTotals, more: &Counted, socket: &TcpSocket) {
    let sums = &mut to.sums;
    for (sum, more) in [
        (&mut sums.sent_bytes, more.acknowledged_bytes),
        (&mut sums.received_bytes, more.received_bytes),
        (&mut sums.sent_segments, u64::from(more.data_segments)),
        (&mut sums.retransmitted_segments, u64::from(more.retransmitted)),
        (&mut sums.busy_us, more.busy_us),
        (&mut sums.window_limited_us, more.window_limited_us),
        (&mut sums.buffer_limited_us, more.buffer_limited_us),
    ] {
        *sum = sum.saturating_add(more);
    }
    if more.acknowledged_bytes > 0 {
        to.round_trips_us.add(socket.round_trip_us);
        to.delivery_rates.add(socket.delivery_bytes_per_s);
    }
}

fn with_medians(of: RemoteTotals) -> RemoteSums {
    RemoteSums {
        round_trip_us: of.round_trips_us.median(),
        delivery_bytes_per_s: of.delivery_rates.median(),
        ..of.sums
    }
}

fn empty(address: IpAddr, opened_by: OpenedBy) -> RemoteSums {
    RemoteSums {
        address,
        opened_by,
        sockets: 0,
        sent_bytes: 0,
        received_bytes: 0,
        sent_segments: 0,
        retransmitted_segments: 0,
        busy_us: 0,
        window_limited_us: 0,
        buffer_limited_us: 0,
        open_us: 0,
        round_trip_us: 0,
        delivery_bytes_per_s: 0,
    }
}

#[cfg(test)]
mod tests;
