//! The connections that one thread waits for: `epoll`, and the places in which they are kept.
//!
//! The kernel knows a connection by its place and by how often that place was given up before: an event that was
//! fetched before its connection was closed is recognised by it. Events are level-triggered. Input is always reported,
//! and room to send only while something is left to send.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

/// Most events taken from the kernel at once.
const EVENTS: usize = 256;

/// Events that were taken from the kernel.
pub type Events = Vec<epoll::Event>;

#[must_use]
pub fn events() -> Events {
    Vec::with_capacity(EVENTS)
}

/// Connections of one thread, each in a place of its own.
pub struct ConnectionSlab<C> {
    epoll: OwnedFd,
    places: Vec<Slot<C>>,
    /// Places without a connection.
    free: Vec<usize>,
}

struct Slot<C> {
    connection: Option<C>,
    /// How often it was given up.
    generation: u32,
    /// Whether room to send is reported.
    wants_out: bool,
}

/// What the kernel knows a connection by.
const fn key(place: usize, generation: u32) -> u64 {
    (generation as u64) << 32 | place as u64
}

impl<C: AsFd> ConnectionSlab<C> {
    /// None yet.
    ///
    /// # Errors
    /// Descriptors are used up.
    pub fn new() -> Result<Self, Errno> {
        Ok(ConnectionSlab { epoll: epoll::create(CreateFlags::CLOEXEC)?, places: Vec::new(), free: Vec::new() })
    }

    /// Takes a connection, which may not be established yet: room to send tells of it. Returns its place.
    ///
    /// # Errors
    /// `epoll`'s.
    pub fn add(&mut self, connection: C) -> Result<usize, Errno> {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Slot { connection: None, generation: 0, wants_out: true });
            self.places.len() - 1
        });
        let data = EventData::new_u64(key(place, self.places[place].generation));
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP;
        if let Err(errno) = epoll::add(&self.epoll, &connection, data, flags) {
            self.free.push(place);
            return Err(errno);
        }
        let taken = &mut self.places[place];
        (taken.connection, taken.wants_out) = (Some(connection), true);
        Ok(place)
    }

    /// The connection in a place.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&C> {
        self.places[place].connection.as_ref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut C> {
        self.places[place].connection.as_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = &C> {
        self.places.iter().filter_map(|place| place.connection.as_ref())
    }

    /// How many places there are, with a connection or without.
    #[must_use]
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Has room to send reported, or no longer.
    pub fn watch(&mut self, place: usize, wants_out: bool) {
        let Slot { connection, generation, wants_out: wanted } = &mut self.places[place];
        let Some(connection) = connection.as_ref().filter(|_| wants_out != *wanted) else { return };
        let mut flags = EventFlags::IN | EventFlags::RDHUP;
        flags.set(EventFlags::OUT, wants_out);
        if epoll::modify(&self.epoll, connection, EventData::new_u64(key(place, *generation)), flags).is_ok() {
            *wanted = wants_out;
        }
    }

    /// Gives a connection back that somebody else is to have: nothing is told of it here any more.
    pub fn take(&mut self, place: usize) -> Option<C> {
        let connection = self.places[place].connection.take();
        if let Some(connection) = &connection {
            // It is there; and if not, nothing is told of it either.
            let _ = epoll::delete(&self.epoll, connection);
        }
        self.close(place);
        connection
    }

    /// Drops a connection: closing its socket takes it out of `epoll`.
    pub fn close(&mut self, place: usize) {
        let left = &mut self.places[place];
        left.connection = None;
        left.generation = left.generation.wrapping_add(1);
        self.free.push(place);
    }

    /// Sleeps until something happens, for so long at the most.
    ///
    /// # Errors
    /// `epoll`'s, but for a signal, which is something that happens.
    pub fn wait(&self, events: &mut Events, most_ns: u64) -> Result<(), Errno> {
        let timeout = Timespec { tv_sec: (most_ns / 1_000_000_000) as _, tv_nsec: (most_ns % 1_000_000_000) as _ };
        events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// The place that an event is about, by its key; `None` where its connection was closed since.
    #[must_use]
    pub fn slot_for_event(&self, key: u64) -> Option<usize> {
        let place = (key & 0xFFFF_FFFF) as usize;
        self.places.get(place).filter(|found| u64::from(found.generation) == key >> 32).map(|_| place)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Keys and flags of what happens within a tenth of a second.
    fn happened(places: &ConnectionSlab<UnixStream>) -> Vec<(u64, EventFlags)> {
        let mut events = events();
        places.wait(&mut events, 100_000_000).unwrap();
        events.drain(..).map(|event| (event.data.u64(), event.flags)).collect()
    }

    #[test]
    fn an_event_of_a_connection_that_was_closed_is_not_taken_for_one_of_its_successor() {
        let mut places = ConnectionSlab::new().unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        let place = places.add(near).unwrap();
        far.write_all(b"x").unwrap();
        let stale = happened(&places)[0].0;
        assert_eq!(places.slot_for_event(stale), Some(place));
        places.close(place);
        assert!(places.get(place).is_none() && places.slot_for_event(stale).is_none());
        let (near, _far) = UnixStream::pair().unwrap();
        assert_eq!((places.add(near).unwrap(), places.count()), (place, 1), "the place is used again");
        assert_eq!(places.slot_for_event(stale), None);
        let fresh = happened(&places)[0].0;
        assert_eq!((places.slot_for_event(fresh), places.slot_for_event(u64::from(u32::MAX))), (Some(place), None));
    }

    #[test]
    fn nothing_is_told_of_a_connection_that_was_given_back() {
        let mut places = ConnectionSlab::new().unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        let place = places.add(near).unwrap();
        let near = places.take(place).unwrap();
        far.write_all(b"x").unwrap();
        assert_eq!(happened(&places), []);
        assert!(places.take(place).is_none() && near.peer_addr().is_ok());
    }

    #[test]
    fn room_to_send_is_told_while_it_is_asked_for() {
        let mut places = ConnectionSlab::new().unwrap();
        let (near, mut far) = UnixStream::pair().unwrap();
        let place = places.add(near).unwrap();
        assert_eq!(happened(&places)[0].1, EventFlags::OUT);
        places.watch(place, false);
        assert_eq!(happened(&places), []);
        far.write_all(b"x").unwrap();
        assert_eq!(happened(&places)[0].1, EventFlags::IN);
        places.watch(place, true);
        assert_eq!(happened(&places)[0].1, EventFlags::IN | EventFlags::OUT);
    }

    #[test]
    fn a_place_that_the_kernel_refuses_is_used_by_the_next() {
        let mut places = ConnectionSlab::new().unwrap();
        for _ in 0..2 {
            // No regular file can be waited for (epoll_ctl(2), EPERM).
            assert_eq!(places.add(std::fs::File::open("/proc/self/exe").unwrap()), Err(Errno::PERM));
            assert_eq!((places.iter().count(), places.count()), (0, 1));
        }
    }
}
