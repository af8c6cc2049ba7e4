//! The system calls against the kernel of this machine.

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
fn who_is_at_the_other_end_is_told_and_of_a_file_nobody() {
    let (near, _far) = std::os::unix::net::UnixStream::pair().unwrap();
    let user = rustix::process::geteuid().as_raw();
    assert_eq!(peer(&near).unwrap(), SocketPeer { process: NonZeroU32::new(std::process::id()), user });
    assert!(peer(std::fs::File::open("/dev/null").unwrap()).is_err());
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
    let acknowledged = || ACKNOWLEDGED.read_from(&tcp_info(&near).unwrap());
    let is_reported = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        acknowledged() >= 5000
    });
    assert!(is_reported, "{} acknowledged", acknowledged());
    assert!(SENT_SEGMENT_BYTES.read_from(&tcp_info(&near).unwrap()) >= 536);
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
    let extended = &mut control[level + 8..];
    extended[..4].copy_from_slice(&libc::EMSGSIZE.to_ne_bytes());
    extended[4] = libc::SO_EE_ORIGIN_ICMP;
    extended[8..12].copy_from_slice(&1_400_u32.to_ne_bytes());
    extended[16..18].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    extended[20..24].copy_from_slice(&[10, 0, 0, 1]);
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
fn sends_that_are_done_are_counted_across_the_end_of_their_numbers_and_cut_anywhere_are_none() {
    let level = size_of::<usize>();
    let mut control = vec![0_u8; level + 8 + 16];
    control[level..level + 4].copy_from_slice(&libc::SOL_IP.to_ne_bytes());
    control[level + 4..level + 8].copy_from_slice(&libc::IP_RECVERR.to_ne_bytes());
    for (first, last, code, sends) in [(0_u32, 0_u32, 0, 1), (7, 9, 1, 3), (u32::MAX, 1, 1, 3)] {
        let extended = &mut control[level + 8..];
        (extended[4], extended[6]) = (SO_EE_ORIGIN_ZEROCOPY, code);
        extended[8..12].copy_from_slice(&first.to_ne_bytes());
        extended[12..16].copy_from_slice(&last.to_ne_bytes());
        assert_eq!(done_sends(&control), Some(DoneSends { sends, were_copied: code == 1 }), "{first} to {last}");
    }
    for length in 0..control.len() {
        assert_eq!(done_sends(&control[..length]), None, "{length}");
    }
    control[level + 8 + 4] = libc::SO_EE_ORIGIN_LOCAL;
    assert_eq!(done_sends(&control), None, "of another origin");
}

#[test]
fn the_loopback_copies_what_is_sent_without_a_copy_and_says_so() {
    use std::io::Read as _;

    static BODY: [u8; 5000] = [7; 5000];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    enable_zerocopy(&near).unwrap();
    assert_eq!(next_done_sends(&near).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    for _ in 0..2 {
        assert_eq!(send_zerocopy(&near, &BODY).unwrap(), BODY.len());
    }
    let mut came = vec![0; 2 * BODY.len()];
    far.read_exact(&mut came).unwrap();
    assert!(came.iter().all(|byte| *byte == 7));
    let (mut done, mut were_copied) = (0, true);
    // The kernel is done with them once they are acknowledged.
    for _ in 0..200 {
        while let Ok(of) = next_done_sends(&near) {
            done += of.sends;
            were_copied &= of.were_copied;
        }
        if done == 2 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!((done, were_copied), (2, true));
    assert!(enable_zerocopy(std::fs::File::open("/dev/null").unwrap()).is_err());
}

#[test]
fn what_is_sent_at_once_is_cut_into_datagrams_and_read_at_once_by_who_asks_for_that() {
    for (is_joined, reads) in [(true, vec![(450, 100)]), (false, [vec![(100, 100); 4], vec![(50, 50)]].concat())] {
        let far = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let near = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        near.connect(far.local_addr().unwrap()).unwrap();
        set_datagram_cut(&near, 100).unwrap();
        if is_joined {
            join_datagrams(&far).unwrap();
        }
        let mut into = vec![0; 1 << 16];
        assert_eq!(read_datagrams(&far, &mut into).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let sent: Vec<u8> = (0..450_u32).map(|number| (number / 100) as u8).collect();
        assert_eq!(near.send(&sent).unwrap(), 450);
        let mut came = Vec::new();
        let mut seen = Vec::new();
        while let Ok(read) = read_datagrams(&far, &mut into) {
            assert_eq!(read.by, Some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
            seen.push((read.bytes, read.each_bytes));
            came.extend_from_slice(&into[..read.bytes]);
        }
        assert_eq!((seen, came), (reads, sent), "joined: {is_joined}");
        // One that is no longer than that is a datagram as ever, and so is any once nothing is cut.
        set_datagram_cut(&near, 0).unwrap();
        near.send(&[9; 200]).unwrap();
        let read = read_datagrams(&far, &mut into).unwrap();
        assert_eq!((read.bytes, read.each_bytes), (200, 200));
    }
}

#[test]
fn a_length_of_joined_datagrams_cut_anywhere_is_none() {
    let level = size_of::<usize>();
    let mut control = vec![0_u8; level + 12];
    assert_eq!(joined_bytes(&control), None);
    control[level..level + 4].copy_from_slice(&libc::SOL_UDP.to_ne_bytes());
    control[level + 4..level + 8].copy_from_slice(&libc::UDP_GRO.to_ne_bytes());
    assert_eq!(joined_bytes(&control), None, "of no length");
    control[level + 8..].copy_from_slice(&1_472_i32.to_ne_bytes());
    assert_eq!(joined_bytes(&control), Some(1_472));
    for length in 0..control.len() {
        assert_eq!(joined_bytes(&control[..length]), None, "{length}");
    }
    control[level + 8..].copy_from_slice(&(-1_i32).to_ne_bytes());
    assert_eq!(joined_bytes(&control), None, "below zero");
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
