//! What the TCP sockets of the engine do, as the kernel counts it: `sock_diag(7)` with `struct tcp_info`.
//!
//! **Tells**, of each address that sockets lead to and of who connected: bytes and segments of both ways, segments sent
//! again, for how long data were under way, and for how much of that the receiver's window or this side's send buffer
//! was what limited it; round-trip times and delivery rates; and which connections the other end has too.
//!
//! **Does not tell** sockets that open and close between two looks, nor what a socket did after the last look that saw
//! it. Bytes are told from Linux 4.1 on, times from 4.10 on. The kernel's list is not held still while it is told: a
//! look may miss a socket, which the next one then has. A connection of a user-space TCP or of RDMA is none of the
//! kernel's.
//!
//! **Needs** nothing for the sockets of its own network namespace, and root (`CAP_SYS_ADMIN` to enter,
//! `CAP_SYS_PTRACE` for processes of others) for those of another. Entering one keeps it until the watch ends. The
//! kernel may load its module `tcp_diag` for who asks first, as it does for `ss`.
//!
//! **May be taken** each two seconds, or less often where a look takes long: a look goes through the kernel's table of
//! all connections, chooses by port there, and holds the lock of each chosen socket for a moment. [`due_ms`] says when
//! the next is due, so that all looks so far have taken at most 1 % of a core by then.

mod engine;
mod median_sketch;
mod message;
mod netlink_dump;
mod request;
mod totals;

use std::collections::BTreeSet;
use std::io;

use linerate_record::readings::{PortRange, SocketsSeen};
use linerate_record::tcp_info::WATCHED_FIELDS;
use rustix::net::AddressFamily;
use rustix::time::{ClockId, clock_gettime};

use crate::root::{ReadPass, Root, Unreadable};
use netlink_dump::{DumpEnd, SockDiag};
use totals::SocketTotals;

/// The share of a core that looks may take, in thousandths.
const PER_MILLE_MAX: u64 = 10;

/// What of a machine's sockets is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketsRequest {
    /// The engine's ports; where there are none, those at which its processes listen.
    pub ports: Vec<PortRange>,
    /// The engine's processes; where there are none, those of this machine that are found by their names.
    pub pids: Vec<u32>,
}

/// What is kept between two looks.
#[derive(Debug)]
pub struct SocketWatch {
    spaces: Vec<SockDiag>,
    sums: SocketTotals,
    took_us: u64,
    /// What was told to be unreadable.
    reported: BTreeSet<(String, String)>,
    ports: Vec<PortRange>,
    looks: u32,
    /// When the first look was taken.
    first_ms: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketLook {
    /// Processor time that it took.
    pub took_us: u64,
    /// Sockets that it saw.
    pub sockets: u32,
    /// What could not be read, of which no look before has said so.
    pub unreadable: Vec<Unreadable>,
}

/// Finds the engine's processes, their network namespaces and their ports, and opens what looks need. The first look
/// is not taken yet.
#[must_use]
pub fn begin(root: &Root, requested: &SocketsRequest) -> (SocketWatch, Vec<Unreadable>) {
    let mut pass = ReadPass::default();
    let found = if root.is_live() {
        engine::spaces(root, &requested.pids, &request::joined(&requested.ports), &mut pass)
    } else {
        crate::root::note(&mut pass, "sock_diag", "a capture has no sockets");
        engine::Spaces { opened: Vec::new(), ports: Vec::new() }
    };
    let sums = SocketTotals::new(found.ports.clone(), found.opened.len());
    let watch = SocketWatch {
        spaces: found.opened,
        sums,
        took_us: 0,
        reported: BTreeSet::new(),
        ports: found.ports,
        looks: 0,
        first_ms: 0,
    };
    (watch, pass.unreadable)
}

/// Looks at all sockets of the engine. The first look says from where counters count; it is taken twice at once, since
/// what it misses would count from its birth.
pub fn look(watch: &mut SocketWatch, now_ms: u64) -> SocketLook {
    let began_us = processor_us();
    let mut unreadable = Vec::new();
    watch.first_ms = if watch.looks == 0 { now_ms } else { watch.first_ms };
    watch.sums.begin_look(now_ms);
    for space in 0..watch.spaces.len() {
        let mut is_whole = true;
        for _ in 0..if watch.looks == 0 { 2 } else { 1 } {
            is_whole &= look_at(watch, space, &mut unreadable);
        }
        watch.sums.end_space(space, is_whole);
    }
    watch.looks = watch.looks.saturating_add(1);
    unreadable.retain(|one| watch.reported.insert((one.path.clone(), one.reason.clone())));
    let took_us = processor_us().saturating_sub(began_us);
    watch.took_us += took_us;
    SocketLook { took_us, sockets: watch.sums.end_look(), unreadable }
}

/// All sums since the first look.
#[must_use]
pub fn end(watch: SocketWatch) -> SocketsSeen {
    watch.sums.seen(watch.took_us)
}

/// When the next look is due, behind one at an instant, of looks that are asked for at an interval: later than that
/// where all looks so far would have taken more than 1 % of a core by then.
#[must_use]
pub fn due_ms(watch: &SocketWatch, now_ms: u64, requested_ms: u64) -> u64 {
    due_behind(watch.first_ms, watch.took_us, now_ms, requested_ms)
}

fn due_behind(first_ms: u64, took_us: u64, now_ms: u64, requested_ms: u64) -> u64 {
    // Microseconds over thousandths are milliseconds.
    let paid_for_ms = first_ms.saturating_add(took_us.div_ceil(PER_MILLE_MAX));
    paid_for_ms.max(now_ms.saturating_add(requested_ms))
}

/// Whether it was read whole.
fn look_at(watch: &mut SocketWatch, space: usize, unreadable: &mut Vec<Unreadable>) -> bool {
    let mut is_whole = true;
    let mut info_bytes = usize::MAX;
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let sums = &mut watch.sums;
        let ended = watch.spaces[space].dump(family, request::WITH_DATA, &watch.ports, &mut |socket| {
            if socket.info_bytes > 0 {
                info_bytes = info_bytes.min(socket.info_bytes);
            }
            sums.see(space, socket);
        });
        if let Some(reason) = fault(family, ended) {
            is_whole = false;
            unreadable.push(Unreadable { path: "sock_diag".to_owned(), reason });
        }
    }
    if let Some(reason) = lacking(info_bytes) {
        unreadable.push(Unreadable { path: "sock_diag".to_owned(), reason });
    }
    is_whole
}

/// Why a dump was not whole.
fn fault(family: AddressFamily, ended: io::Result<DumpEnd>) -> Option<String> {
    match ended {
        Ok(DumpEnd { is_cut: true, .. }) => Some("an answer of the kernel was cut short".to_owned()),
        Ok(DumpEnd { is_interrupted: true, .. }) => {
            Some("sockets came and went while the kernel told them: some may be missing".to_owned())
        }
        Ok(_) => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => (family == AddressFamily::INET)
            .then(|| "the kernel has no tcp_diag: its module, or CONFIG_INET_TCP_DIAG, is needed".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// What this kernel does not tell of a socket.
fn lacking(info_bytes: usize) -> Option<String> {
    let lacking: Vec<String> = WATCHED_FIELDS
        .iter()
        .filter(|field| !field.is_in(info_bytes))
        .map(|field| format!("{} (Linux {})", field.name, field.since))
        .collect();
    (!lacking.is_empty()).then(|| format!("this kernel does not tell {}: it counts as 0", lacking.join(", ")))
}

/// Processor time of this thread, in microseconds.
fn processor_us() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec.saturating_mul(1_000_000).saturating_add(time.tv_nsec / 1000)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
