//! What this machine's kernel does with datagrams that may not be fragmented, and what it knows of their path.

use std::io;
use std::net::UdpSocket;

use linerate_wire::sys::queue_errors;
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, ip_mtu, ipv6_mtu, set_ip_mtu_discover, set_ipv6_mtu_discover,
};

/// Lengths of packets with datagrams of one version of IP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IpLengths {
    /// The headers of IP and UDP.
    pub(crate) headers_bytes: u32,
    /// What a path carries at the least, as a rule: what each receiver of IPv4 takes (RFC 791), the least MTU of IPv6
    /// (RFC 8200).
    pub(crate) least_bytes: u32,
    /// The longest that there is.
    pub(crate) longest_bytes: u32,
}

const V4: IpLengths = IpLengths { headers_bytes: 28, least_bytes: 576, longest_bytes: 65_535 };
const V6: IpLengths = IpLengths { headers_bytes: 48, least_bytes: 1_280, longest_bytes: 65_575 };

/// The longest payload of all.
pub(crate) const PAYLOAD_MOST_BYTES: usize = (V6.longest_bytes - V6.headers_bytes) as usize;

/// Has the datagrams of a socket be sent as they are or not at all, whatever is known of their path, and errors queued:
/// what the interface does not carry is refused, what the path does not is lost (`ip(7)`, `IP_PMTUDISC_PROBE`).
///
/// # Errors
/// That of the system.
pub(crate) fn unfragmented(socket: &UdpSocket) -> io::Result<IpLengths> {
    let is_v6 = socket.local_addr()?.is_ipv6();
    queue_errors(socket, is_v6)?;
    if is_v6 {
        set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::PROBE)?;
        return Ok(V6);
    }
    set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::PROBE)?;
    Ok(V4)
}

/// What the kernel takes for the MTU of the path of a socket's datagrams by now. A socket keeps the route that it found
/// as it was connected, so that a new one is asked.
///
/// # Errors
/// That of the system.
pub(crate) fn taken_bytes(socket: &UdpSocket) -> io::Result<u32> {
    let (from, to) = (socket.local_addr()?.ip(), socket.peer_addr()?);
    let requested = UdpSocket::bind((from, 0))?;
    requested.connect(to)?;
    Ok(if from.is_ipv6() { ipv6_mtu(&requested)? } else { ip_mtu(&requested)? })
}
