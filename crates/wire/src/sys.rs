//! System calls that no safe crate wraps: the only `unsafe` of linerate.

#![expect(unsafe_code, reason = "system calls that rustix does not offer")]

use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::os::fd::{AsFd, AsRawFd};

/// Sets `SO_RCVLOWAT`: `epoll` reports a socket readable only once this many bytes wait in it (or the stream has
/// ended, or its receive buffer is full). The kernel grows the receive buffer to hold twice as many.
///
/// # Errors
/// That of `setsockopt`.
pub fn set_receive_low_water(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    set_number(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// Sets `IP_BIND_ADDRESS_NO_PORT`: a local port is chosen when the socket connects, so that one port serves many
/// destinations, and not when it is bound to an address.
///
/// # Errors
/// That of `setsockopt`.
pub fn set_bind_address_no_port(socket: impl AsFd) -> io::Result<()> {
    set_number(socket, libc::SOL_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// The longest `struct tcp_info` that is read: Linux 6.18 has 280 bytes.
pub const TCP_INFO_BYTES: usize = 512;

/// `TCP_INFO` of a socket: what its kernel tells, as [`linerate_record::tcp_info`] reads it.
///
/// # Errors
/// That of `getsockopt`: no TCP socket.
pub fn tcp_info(socket: impl AsFd) -> io::Result<Vec<u8>> {
    let mut info = vec![0_u8; TCP_INFO_BYTES];
    let length = option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    info.truncate(length);
    Ok(info)
}

/// Reads an option of a socket, by its level and name, and says how many bytes it has.
fn option(socket: impl AsFd, level: i32, name: i32, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the pointer and length describe `bytes`, which outlive the call; the kernel writes no more than `length`
    // bytes to them and says how many they were.
    let result = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, bytes.as_mut_ptr().cast(), &raw mut length)
    };
    if result == 0 { Ok(length as usize) } else { Err(io::Error::last_os_error()) }
}

/// The number at a place among those of 32 bits.
fn number(bytes: &[u8], place: usize) -> u32 {
    let (numbers, _) = bytes.as_chunks::<4>();
    u32::from_ne_bytes(numbers[place])
}

/// `SO_MEMINFO`, and the place and count of its numbers (`include/uapi/asm-generic/socket.h`, `linux/sock_diag.h`): the
/// crate `libc` does not have the first for every architecture.
const SO_MEMINFO: i32 = 55;
const MEMINFO_DROPS: usize = 8;
const MEMINFO_NUMBERS: usize = 9;

/// Packets that a socket has dropped since it was made because its receive buffer was full (`SK_MEMINFO_DROPS`).
///
/// # Errors
/// That of `getsockopt`: no socket, or Linux before 4.12.
pub fn socket_drops(socket: impl AsFd) -> io::Result<u32> {
    let mut numbers = [0; MEMINFO_NUMBERS * size_of::<u32>()];
    option(socket, libc::SOL_SOCKET, SO_MEMINFO, &mut numbers)?;
    Ok(number(&numbers, MEMINFO_DROPS))
}

/// Who connected to a Unix socket, as the kernel knew it then (`struct ucred`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketPeer {
    /// The process, by its number in this one's PID namespace; none where it has none there.
    pub process: Option<NonZeroU32>,
    pub user: u32,
}

/// Who is at the other end of a Unix socket (`SO_PEERCRED`); `rustix` has no value for processes of other namespaces.
///
/// # Errors
/// That of `getsockopt`: no socket.
pub fn peer(socket: impl AsFd) -> io::Result<SocketPeer> {
    // Process, user, group.
    let mut found = [0; size_of::<libc::ucred>()];
    option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut found)?;
    let process = u32::try_from(number(&found, 0).cast_signed()).ok().and_then(NonZeroU32::new);
    Ok(SocketPeer { process, user: number(&found, 1) })
}

/// What a kernel keeps in a socket's queue of errors (`struct sock_extended_err`, `linux/errqueue.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedError {
    /// The number of the error.
    pub errno: i32,
    /// What belongs to it: of `EMSGSIZE`, the MTU for which a datagram was too long.
    pub info: u32,
    /// Who said it by ICMP; none where this machine's own kernel did.
    pub by: Option<IpAddr>,
}

/// Has a UDP socket keep a queue of what went wrong with its datagrams (`IP_RECVERR`, `IPV6_RECVERR`). Besides, sends
/// then tell that this machine's own queues dropped something (`ENOBUFS`).
///
/// # Errors
/// That of `setsockopt`.
pub fn queue_errors(socket: impl AsFd, is_v6: bool) -> io::Result<()> {
    if is_v6 {
        set_number(socket, libc::SOL_IPV6, libc::IPV6_RECVERR, 1)
    } else {
        set_number(socket, libc::SOL_IP, libc::IP_RECVERR, 1)
    }
}

/// Room for what comes with an error: a header, the error and an address of IPv6, with room to spare.
const CONTROL_BYTES: usize = 256;

/// Control messages begin where a word may.
#[repr(align(8))]
struct Control([u8; CONTROL_BYTES]);

/// Takes the oldest error of such a queue, and waits for none.
///
/// # Errors
/// That of `recvmsg`: the queue is empty (`EAGAIN`). What is there and says nothing of a datagram is
/// [`io::ErrorKind::InvalidData`], and is taken too.
pub fn next_queued_error(socket: impl AsFd) -> io::Result<QueuedError> {
    queued_error(&next_of_errors(socket)?.0).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Takes what is oldest in a socket's queue of errors: its control messages.
fn next_of_errors(socket: impl AsFd) -> io::Result<Control> {
    let mut control = Control([0; CONTROL_BYTES]);
    // SAFETY: a message of nothing: all fields are numbers and pointers, of which zero is one.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: `message` has no room for a name or data, and describes `control`, which outlives the call; the kernel
    // writes no more than its length there.
    let result = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(control) }
}

/// The word at a place of control messages.
fn word(control: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(*control.get(at..)?.first_chunk()?))
}

/// Level and type of the first of control messages, which the kernel writes behind its length; and what it has.
fn first_message(control: &[u8]) -> Option<((i32, i32), &[u8])> {
    let level = size_of::<usize>();
    Some(((word(control, level)?, word(control, level + 4)?), control.get(level + 8..)?))
}

/// A `struct sock_extended_err`, and what is behind it.
struct ExtendedError<'c> {
    errno: i32,
    origin: u8,
    code: u8,
    info: u32,
    data: u32,
    /// The address of whoever said it.
    offender: &'c [u8],
}

/// The error in control messages.
fn extended_error(control: &[u8]) -> Option<ExtendedError<'_>> {
    let (kind, of) = first_message(control)?;
    let is_error = matches!(kind, (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR));
    let (errno, rest) = Some(of).filter(|_| is_error)?.split_first_chunk()?;
    let ([origin, _, code, _], rest) = rest.split_first_chunk::<4>()?;
    let (info, rest) = rest.split_first_chunk()?;
    let (data, offender) = rest.split_first_chunk()?;
    Some(ExtendedError {
        errno: i32::from_ne_bytes(*errno),
        origin: *origin,
        code: *code,
        info: u32::from_ne_bytes(*info),
        data: u32::from_ne_bytes(*data),
        offender,
    })
}

fn queued_error(control: &[u8]) -> Option<QueuedError> {
    let extended = extended_error(control)?;
    let by = (extended.origin != libc::SO_EE_ORIGIN_LOCAL).then(|| address(extended.offender));
    let by = by.map(|by| by.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
    Some(QueuedError { errno: extended.errno, info: extended.info, by })
}

/// `SO_ZEROCOPY` (`include/uapi/asm-generic/socket.h`), and what a socket's queue of errors has of such sends
/// (`linux/errqueue.h`): the crate `libc` does not have them.
const SO_ZEROCOPY: i32 = 60;
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;

/// Lets sends of a socket leave bytes where they are ([`send_zerocopy`]).
///
/// # Errors
/// That of `setsockopt`: of TCP, Linux before 4.14.
pub fn enable_zerocopy(socket: impl AsFd) -> io::Result<()> {
    set_number(socket, libc::SOL_SOCKET, SO_ZEROCOPY, 1)
}

/// Sends bytes of which the kernel makes no copy if it can (`MSG_ZEROCOPY`), and waits for no room. It reads them until
/// all of them have arrived, and that may be after the socket was closed: so they live as long as the program. How many
/// were taken; each send that took any is told once the kernel is done with it ([`next_done_sends`]).
///
/// # Errors
/// That of `send`: there is no room now (`EAGAIN`), or the kernel may keep no more memory where it is (`ENOBUFS`).
pub fn send_zerocopy(socket: impl AsFd, bytes: &'static [u8]) -> io::Result<usize> {
    let flags = libc::MSG_ZEROCOPY | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer and length describe `bytes`, which the kernel only reads, and which nobody changes or frees
    // for as long as it may.
    let sent = unsafe { libc::send(socket.as_fd().as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Sends without a copy with which a kernel is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoneSends {
    /// How many, one after another.
    pub sends: u64,
    /// Whether it copied the first of them all the same.
    pub were_copied: bool,
}

/// Takes the oldest word of sends without a copy that are done, and waits for none.
///
/// # Errors
/// That of `recvmsg`: there is none (`EAGAIN`). What is there and says nothing of such sends is
/// [`io::ErrorKind::InvalidData`], and is taken too.
pub fn next_done_sends(socket: impl AsFd) -> io::Result<DoneSends> {
    done_sends(&next_of_errors(socket)?.0).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Numbers of sends count from 0, and begin again behind the highest of 32 bits.
fn done_sends(control: &[u8]) -> Option<DoneSends> {
    let extended = extended_error(control)?;
    (extended.errno == 0 && extended.origin == SO_EE_ORIGIN_ZEROCOPY).then(|| DoneSends {
        sends: u64::from(extended.data.wrapping_sub(extended.info)) + 1,
        were_copied: extended.code == SO_EE_CODE_ZEROCOPY_COPIED,
    })
}

/// Has the kernel cut what is sent at once by a UDP socket into datagrams of this length, the last of which may be
/// shorter (`UDP_SEGMENT`); 0 for none.
///
/// # Errors
/// That of `setsockopt`: Linux before 4.18. A send is refused where the path does not carry such a datagram whole
/// (`EMSGSIZE`, or `EINVAL`), and where a driver or IPsec is in the way (`EIO`).
pub fn set_datagram_cut(socket: impl AsFd, bytes: u16) -> io::Result<()> {
    set_number(socket, libc::SOL_UDP, libc::UDP_SEGMENT, bytes.into())
}

/// Lets a UDP socket hand on datagrams joined, several of the same length from the same sender at once (`UDP_GRO`).
///
/// # Errors
/// That of `setsockopt`: Linux before 5.0.
pub fn join_datagrams(socket: impl AsFd) -> io::Result<()> {
    set_number(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// What one read brought of a UDP socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadDatagrams {
    pub bytes: usize,
    /// Length of each datagram of it; the last one may be shorter. 1 or more.
    pub each_bytes: usize,
    pub by: Option<IpAddr>,
}

/// Reads a datagram, or several where the socket hands them on joined, and waits for none.
///
/// # Errors
/// That of `recvmsg`: there is none (`EAGAIN`), or one that was sent by this socket was refused.
pub fn read_datagrams(socket: impl AsFd, into: &mut [u8]) -> io::Result<ReadDatagrams> {
    let (mut control, mut name) = (Control([0; CONTROL_BYTES]), Control([0; CONTROL_BYTES]));
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: a message of nothing: all fields are numbers and pointers, of which zero is one.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = name.0.as_mut_ptr().cast();
    message.msg_namelen = CONTROL_BYTES as _;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: `message` describes `name`, `control` and, by `part`, `into`, all of which outlive the call; the kernel
    // writes no more than their lengths there.
    let read = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let bytes = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    let each_bytes = joined_bytes(&control.0).unwrap_or(bytes).max(1);
    Ok(ReadDatagrams { bytes, each_bytes, by: address(&name.0) })
}

/// Length of datagrams that a kernel joined, as it says in control messages.
fn joined_bytes(control: &[u8]) -> Option<usize> {
    let (kind, of) = first_message(control)?;
    let bytes = word(of, 0).filter(|_| kind == (libc::SOL_UDP, libc::UDP_GRO))?;
    usize::try_from(bytes).ok().filter(|bytes| *bytes > 0)
}

/// The address in a `sockaddr`.
fn address(of: &[u8]) -> Option<IpAddr> {
    let (family, rest) = of.split_first_chunk()?;
    match i32::from(u16::from_ne_bytes(*family)) {
        // Behind the port.
        libc::AF_INET => Some(Ipv4Addr::from(*rest.get(2..)?.first_chunk::<4>()?).into()),
        // Behind the port and the flow's label.
        libc::AF_INET6 => Some(Ipv6Addr::from(*rest.get(6..)?.first_chunk::<16>()?).to_canonical()),
        _ => None,
    }
}

fn set_number(socket: impl AsFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the pointer and length describe `value`, which outlives the call; the kernel only reads it.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has every descriptor from a number on closed when another program is executed, whoever opened it.
///
/// # Errors
/// Where `/proc` does not tell which there are.
pub fn close_on_exec_from(first: i32) -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let Some(number) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if number >= first {
            // SAFETY: a flag of a descriptor is set, on which nobody's memory depends; one that is closed by now gives
            // an error, which is no matter.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// Processor time that a whole process has used since it began, in nanoseconds, of all its threads.
///
/// # Errors
/// That of `clock_getcpuclockid` or `clock_gettime`: the process is gone, or may not be looked at.
pub fn process_cpu_ns(pid: u32) -> io::Result<u64> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a valid place for the kernel's answer.
    let error = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if error != 0 {
        return Err(io::Error::from_raw_os_error(error));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the kernel's answer.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// Lets timers of this thread run out when they are due, and not up to 50 µs later, as the kernel's default allows so
/// that wake-ups can be put together. Where it cannot be set, wake-ups are late by that much, and measured so.
pub fn wake_on_time() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests;
