//! System calls that no safe crate wraps: the only `unsafe` of linerate.

#![expect(unsafe_code, reason = "system calls that rustix does not offer")]

use std::io;
use std::mem::size_of;
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
    // SAFETY: the pointer and length describe `numbers`, which outlive the call; the kernel writes no more than `length`
    // bytes to them.
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
