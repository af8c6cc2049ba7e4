//! What one thread waits for: sockets that become readable or writable, told once each time they do.

use std::os::fd::{AsFd, OwnedFd};

use linerate_wire::connection_slab::{Events, events};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

/// How often a thread that has nothing to do looks whether it is to end.
pub(crate) const LOOK_NS: u64 = 20_000_000;

/// Sockets by their numbers. They stay until the thread ends.
pub(crate) struct EdgePoll {
    epoll: OwnedFd,
    events: Events,
}

impl EdgePoll {
    pub(crate) fn new<'s, S: AsFd + 's>(
        sockets: impl Iterator<Item = &'s S>,
        flags: EventFlags,
    ) -> Result<EdgePoll, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        for (number, socket) in sockets.enumerate() {
            epoll::add(&epoll, socket, EventData::new_u64(number as u64), flags | EventFlags::ET)?;
        }
        Ok(EdgePoll { epoll, events: events() })
    }

    /// Waits for so long at the most; the numbers of sockets of which something is told.
    pub(crate) fn wait(&mut self, most_ns: u64) -> impl Iterator<Item = usize> + use<'_> {
        let timeout = Timespec { tv_sec: (most_ns / 1_000_000_000) as _, tv_nsec: (most_ns % 1_000_000_000) as _ };
        self.events.clear();
        // A signal is something that happens too, and its errors leave nothing to be told.
        let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), Some(&timeout));
        self.events.iter().map(|event| event.data.u64() as usize)
    }
}
