//! System calls that no safe crate wraps: the only `unsafe` of linerate.

#![expect(unsafe_code, reason = "system calls that rustix does not offer")]

use std::io;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
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
    let mut length = TCP_INFO_BYTES as libc::socklen_t;
    // SAFETY: the pointer and length describe `info`, which outlives the call; the kernel writes no more than `length`
    // bytes to it and says how many they were.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    info.truncate(length as usize);
    if result == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
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
    let mut numbers = [0_u32; MEMINFO_NUMBERS];
    let mut length = size_of::<[u32; MEMINFO_NUMBERS]>() as libc::socklen_t;
    // SAFETY: the pointer and length describe `numbers`, which outlive the call; the kernel writes no more than
    // `length` bytes to them.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            numbers.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(numbers[MEMINFO_DROPS]) } else { Err(io::Error::last_os_error()) }
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
    let mut control = Control([0; CONTROL_BYTES]);
    // SAFETY: a message of nothing: all fields are numbers and pointers, of which zero is one.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: `message` has no room for a name or data, and describes `control`, which outlives the call; the kernel
    // writes no more than its length there.
    let result = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    queued_error(&control.0).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The error in a control message as the kernel writes it: its length, level and type, then the error, then the address
/// of whoever said it.
fn queued_error(control: &[u8]) -> Option<QueuedError> {
    let word = |at: usize| Some(i32::from_ne_bytes(*control.get(at..)?.first_chunk()?));
    let level = size_of::<usize>();
    let is_error = matches!(
        (word(level)?, word(level + 4)?),
        (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
    );
    let of = control.get(level + 8..).filter(|_| is_error)?;
    let (errno, rest) = of.split_first_chunk()?;
    let ([origin, ..], rest) = rest.split_first_chunk::<4>()?;
    let (info, rest) = rest.split_first_chunk()?;
    let offender = rest.get(4..)?;
    let by = (*origin != libc::SO_EE_ORIGIN_LOCAL).then(|| address(offender));
    Some(QueuedError {
        errno: i32::from_ne_bytes(*errno),
        info: u32::from_ne_bytes(*info),
        by: by.map(|by| by.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))),
    })
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
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn low_water_is_taken_by_a_tcp_socket_and_refused_by_a_file() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        set_receive_low_water(&socket, 1 << 20).unwrap();
        set_receive_low_water(&socket, 1).unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(set_receive_low_water(&file, 1).is_err());
    }

    #[test]
    fn a_tcp_socket_tells_what_it_did_and_a_file_nothing() {
        use std::io::{Read as _, Write as _};

        use linerate_record::tcp_info::{ACKNOWLEDGED, SENT_SEGMENT_BYTES};

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(&[7; 5000]).unwrap();
        far.read_exact(&mut [0; 5000]).unwrap();
        // The other's kernel is this one: what was read was acknowledged, or is within moments.
        let acknowledged = || ACKNOWLEDGED.of(&tcp_info(&near).unwrap());
        let is_told = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            acknowledged() >= 5000
        });
        assert!(is_told, "{} acknowledged", acknowledged());
        assert!(SENT_SEGMENT_BYTES.of(&tcp_info(&near).unwrap()) >= 536);
        assert!(tcp_info(std::fs::File::open("/dev/null").unwrap()).is_err());
    }

    #[test]
    fn a_udp_socket_that_nobody_reads_tells_what_it_dropped() {
        let far = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let near = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(socket_drops(&far).unwrap(), 0);
        // Receive buffers hold 208 KiB unless they are told otherwise, or some MiB.
        let sent = (0..20_000).filter(|_| near.send_to(&[7; 1400], far.local_addr().unwrap()).is_ok()).count();
        far.set_nonblocking(true).unwrap();
        let received = std::iter::from_fn(|| far.recv(&mut [0; 2000]).ok()).count();
        assert_eq!(sent - received, socket_drops(&far).unwrap() as usize, "{received} of {sent} received");
        assert!(received < sent);
        assert!(socket_drops(std::fs::File::open("/dev/null").unwrap()).is_err());
    }

    #[test]
    fn what_went_wrong_with_a_datagram_is_queued_with_who_said_so() {
        let near = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        queue_errors(&near, false).unwrap();
        let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        near.connect(nobody).unwrap();
        assert_eq!(next_queued_error(&near).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        near.send(&[7; 10]).unwrap();
        let error = next_queued_error(&near).unwrap();
        assert_eq!((error.errno, error.by), (libc::ECONNREFUSED, Some(nobody.ip())));
        assert!(next_queued_error(&near).is_err(), "it was taken");
    }

    #[test]
    fn what_the_own_kernel_refuses_is_queued_with_the_length_that_it_takes() {
        // IPv6 may be switched off.
        let Ok(near) = std::net::UdpSocket::bind("[::1]:0") else { return };
        queue_errors(&near, true).unwrap();
        near.connect(near.local_addr().unwrap()).unwrap();
        rustix::net::sockopt::set_ipv6_mtu_discover(&near, rustix::net::sockopt::Ipv6PathMtuDiscovery::PROBE).unwrap();
        // The longest that UDP has, with two headers, is longer than the 65,536 bytes of the loopback's MTU.
        assert_eq!(near.send(&[7; 65_527]).unwrap_err().raw_os_error(), Some(libc::EMSGSIZE));
        let error = next_queued_error(&near).unwrap();
        assert_eq!(error, QueuedError { errno: libc::EMSGSIZE, info: 65_536, by: None });
    }

    #[test]
    fn an_error_cut_anywhere_is_none() {
        let mut control = [0_u8; 44];
        let level = size_of::<usize>();
        control[level..level + 4].copy_from_slice(&libc::SOL_IP.to_ne_bytes());
        control[level + 4..level + 8].copy_from_slice(&libc::IP_RECVERR.to_ne_bytes());
        let of = &mut control[level + 8..];
        of[..4].copy_from_slice(&libc::EMSGSIZE.to_ne_bytes());
        of[4] = libc::SO_EE_ORIGIN_ICMP;
        of[8..12].copy_from_slice(&1_400_u32.to_ne_bytes());
        of[16..18].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        of[20..24].copy_from_slice(&[10, 0, 0, 1]);
        let by = |address: [u8; 4]| Some(IpAddr::from(address));
        let whole = QueuedError { errno: libc::EMSGSIZE, info: 1_400, by: by([10, 0, 0, 1]) };
        assert_eq!(queued_error(&control), Some(whole));
        for length in 0..level + 32 {
            let cut = queued_error(&control[..length]);
            assert!(cut.is_none_or(|of| of == QueuedError { by: by([0; 4]), ..whole }), "{length}: {cut:?}");
        }
        control[level] = 99;
        assert_eq!(queued_error(&control), None, "of another level");
    }

    #[test]
    fn processor_time_of_this_process_grows_with_work() {
        let me = std::process::id();
        let before = process_cpu_ns(me).unwrap();
        let mut x = 1u64;
        for i in 0..20_000_000u64 {
            x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i));
        }
        assert!(process_cpu_ns(me).unwrap() > before, "{x}");
        assert!(process_cpu_ns(u32::MAX).is_err());
    }
}
