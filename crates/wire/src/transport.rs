//! What carries a connection's bytes: a plain socket, or TLS on it.
//!
//! The plain way is the kernel's own calls and nothing else. How each call differs over TLS is all that is here; the
//! exchange on top of it does not know.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{self, set_tcp_nodelay};
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, bind, connect, recv, sendmsg,
    socket_with,
};
use rustls::client::UnbufferedClientConnection;

use crate::deadline::Deadline;
use crate::sys::{set_bind_address_no_port, set_receive_low_water};
use crate::tls_channel::{Channel, Sent, TlsBuffers, TlsSide};

/// Highest low-water mark of a connection. The kernel lowers it to half of `tcp_rmem[2]`.
pub const LOW_WATER_MAX_BYTES: u64 = 8 << 20;

/// Low-water marks of many connections together: the kernel lets a socket buffer twice its mark, and a thousand
/// connections must not hold gigabytes.
const LOW_WATER_SUM_BYTES: u64 = 256 << 20;

/// The low-water mark that each of so many connections may have.
#[must_use]
pub const fn low_water_share(connections: u32) -> u64 {
    let share = LOW_WATER_SUM_BYTES / if connections == 0 { 1 } else { connections as u64 };
    if share > LOW_WATER_MAX_BYTES { LOW_WATER_MAX_BYTES } else { share }
}

/// A connection of the client's.
pub type ClientTransport = Transport<UnbufferedClientConnection>;

/// A socket, with or without TLS on it.
pub struct Transport<S: TlsSide> {
    socket: OwnedFd,
    tls: Option<Box<Channel<S>>>,
    /// The socket's low-water mark.
    low_water: u64,
}

/// Over TLS, a close is told, so that the peer can tell it from a cut. Of what is dropped with it
/// ([`Transport::drop_unsent_on_close`]), nobody needs to be told.
impl<S: TlsSide> Drop for Transport<S> {
    fn drop(&mut self) {
        if let Some(channel) = &mut self.tls {
            channel.end(self.socket.as_fd());
        }
    }
}

impl<S: TlsSide> AsFd for Transport<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Starts a connection from `source`, or from the address that the route gives; it is there once it can be written to.
///
/// # Errors
/// The kernel's.
pub fn dial(address: SocketAddr, source: Option<IpAddr>) -> Result<OwnedFd, Errno> {
    dialled(address, source.map(|source| SocketAddr::new(source, 0)))
}

/// The same from any port of `source` where that is 0, else from that very one.
fn dialled(address: SocketAddr, source: Option<SocketAddr>) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    // Heads and short bodies go out in one call each; waiting for more would only add Nagle's delay.
    set_tcp_nodelay(&socket, true)?;
    if let Some(source) = source {
        if source.port() == 0 {
            // Without this, a local port would be used up per connection, whatever it connects to.
            let _ = set_bind_address_no_port(&socket);
        }
        bind(&socket, &source)?;
    }
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// A connection for blocking calls, waited for until `deadline` at the most.
///
/// # Errors
/// The kernel's, and [`WaitEnd`](crate::deadline::WaitEnd) where the wait is over.
pub fn dial_blocking(address: SocketAddr, source: Option<IpAddr>, deadline: &mut Deadline) -> io::Result<TcpStream> {
    established(dial(address, source)?, deadline)
}

/// The same from one port of one address.
///
/// # Errors
/// Those of [`dial_blocking`]; where the port is taken, `AddrInUse` or `AddrNotAvailable`.
pub fn dial_blocking_from(address: SocketAddr, source: SocketAddr, deadline: &mut Deadline) -> io::Result<TcpStream> {
    established(dialled(address, Some(source))?, deadline)
}

/// Waits until a connection is there.
fn established(socket: OwnedFd, deadline: &mut Deadline) -> io::Result<TcpStream> {
    loop {
        let left = deadline.left()?;
        let left = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&left)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    sockopt::socket_error(&socket)??;
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

impl<S: TlsSide> Transport<S> {
    /// A socket that does not block, with this end of TLS on it where it is spoken.
    #[must_use]
    pub fn new(socket: OwnedFd, side: Option<S>) -> Self {
        Transport { socket, tls: side.map(|side| Box::new(Channel::new(side))), low_water: 1 }
    }

    /// From now on, a close drops what has not reached the peer. The kernel would go on sending it: what fits the
    /// socket's buffer, a whole body even (tcp(7), SO_LINGER).
    pub fn drop_unsent_on_close(&self) {
        // Where it fails, a close is as without it.
        let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
    }

    /// Whether the connection is there, its TLS handshake included. An error that is not TLS's own is the socket's.
    ///
    /// # Errors
    /// The kernel's, and `PROTO` where TLS broke.
    pub fn establish(&mut self, wire: &mut TlsBuffers) -> Result<bool, Errno> {
        sockopt::socket_error(&self.socket)??;
        match &mut self.tls {
            None => Ok(true),
            Some(channel) => channel.shake_hands(self.socket.as_fd(), wire),
        }
    }

    /// What broke, where TLS did.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        self.tls.as_ref().and_then(|channel| channel.fault())
    }

    /// Whether something that was sent before waits for room in the socket's buffer.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|channel| channel.has_unsent())
    }

    /// Whether the end of the stream is the peer's word, after a read of nothing.
    #[must_use]
    pub fn ended_by_peer(&self) -> bool {
        self.tls.as_ref().is_none_or(|channel| channel.closed())
    }

    /// Whether the peer has said that nothing follows: its word may come without an end of the socket's stream.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.tls.as_ref().is_some_and(|channel| channel.closed())
    }

    /// Bytes to wait for on the socket while `left` bytes of data are awaited.
    #[must_use]
    pub fn awaited(&self, left: u64) -> u64 {
        self.tls.as_ref().map_or(left, |channel| channel.awaited(left))
    }

    /// The socket's low-water mark: `epoll` tells of something to read only once so much is there.
    #[must_use]
    pub const fn low_water(&self) -> u64 {
        self.low_water
    }

    /// Sets it where it is another; where that fails, it stays what it was.
    pub fn set_low_water(&mut self, bytes: u64) {
        if bytes != self.low_water && set_receive_low_water(&self.socket, bytes as u32).is_ok() {
            self.low_water = bytes;
        }
    }

    /// Reads about `most` bytes into `into`; `0` is the end.
    ///
    /// # Errors
    /// The kernel's, and `PROTO` where TLS broke.
    pub fn read(&mut self, into: &mut [u8], most: usize, wire: &mut TlsBuffers) -> Result<usize, Errno> {
        match &mut self.tls {
            None => {
                let most = most.min(into.len());
                recv(&self.socket, &mut into[..most], RecvFlags::DONTWAIT).map(|(_, n)| n)
            }
            Some(channel) => channel.read(self.socket.as_fd(), into, most, wire),
        }
    }

    /// Reads bytes that nobody looks at, up to `left` of them (over TLS, what comes with them too); `0` is the end.
    ///
    /// # Errors
    /// As of [`Transport::read`].
    pub fn discard(&mut self, room: &mut [MaybeUninit<u8>], left: u64, wire: &mut TlsBuffers) -> Result<usize, Errno> {
        match &mut self.tls {
            None => {
                // One byte more than is due tells of a body that is too long.
                let most = room.len().min(usize::try_from(left.saturating_add(1)).unwrap_or(usize::MAX));
                recv(&self.socket, &mut room[..most], RecvFlags::DONTWAIT | RecvFlags::TRUNC).map(|(_, n)| n)
            }
            Some(channel) => channel.discard(self.socket.as_fd(), wire),
        }
    }

    /// Sends what fits.
    ///
    /// # Errors
    /// As of [`Transport::read`].
    pub fn send(&mut self, pieces: &[IoSlice<'_>], wire: &mut TlsBuffers) -> Result<Sent, Errno> {
        match &mut self.tls {
            None => {
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                let bytes = sendmsg(&self.socket, pieces, &mut SendAncillaryBuffer::default(), flags)?;
                Ok(Sent { bytes, full: bytes < pieces.iter().map(|p| p.len()).sum() })
            }
            Some(channel) => channel.send(self.socket.as_fd(), pieces, wire),
        }
    }
}

/// Why there is no connection, in the few words under which that is counted.
#[must_use]
pub const fn why_unconnected(errno: Errno) -> &'static str {
    match errno {
        Errno::CONNREFUSED => "refused",
        Errno::TIMEDOUT => "timed out",
        Errno::NETUNREACH | Errno::HOSTUNREACH => "unreachable",
        Errno::MFILE | Errno::NFILE => "too many open files: raise ulimit -n",
        Errno::ADDRNOTAVAIL => "no local port left",
        Errno::CONNRESET => "reset",
        Errno::ACCESS | Errno::PERM => "not permitted",
        _ => "failed",
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_low_water_mark_is_known_as_the_socket_has_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = dial(listener.local_addr().unwrap(), None).unwrap();
        let mut transport = ClientTransport::new(socket, None);
        assert_eq!(transport.low_water(), 1);
        transport.set_low_water(1 << 20);
        assert_eq!(transport.low_water(), 1 << 20);
        transport.set_low_water(1);
        assert_eq!(transport.low_water(), 1);
        let file = std::fs::File::open("/dev/null").unwrap();
        let mut transport = ClientTransport::new(file.into(), None);
        transport.set_low_water(1 << 20);
        assert_eq!(transport.low_water(), 1, "a file has none");
    }

    #[test]
    fn marks_of_many_connections_have_a_bound_together() {
        for (connections, share) in
            [(0, 8 << 20), (1, 8 << 20), (32, 8 << 20), (33, (256 << 20) / 33), (1024, 256 << 10)]
        {
            assert_eq!(low_water_share(connections), share, "{connections}");
        }
    }
}
