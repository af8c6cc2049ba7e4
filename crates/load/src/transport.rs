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

use crate::bucket::Patience;
use crate::channel::{Channel, Sent, Side, Wire};
use crate::sys::set_bind_address_no_port;

/// A connection of the client's.
pub(crate) type ClientTransport = Transport<UnbufferedClientConnection>;

/// A socket, with or without TLS on it.
pub(crate) struct Transport<S> {
    socket: OwnedFd,
    tls: Option<Box<Channel<S>>>,
}

impl<S> AsFd for Transport<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Starts a connection from `source`, or from the address that the route gives; it is there once it can be written to.
pub(crate) fn dial(address: SocketAddr, source: Option<IpAddr>) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    // Heads and short bodies go out in one call each; waiting for more would only add Nagle's delay.
    set_tcp_nodelay(&socket, true)?;
    if let Some(source) = source {
        // Without this, a local port would be used up per connection, whatever it connects to.
        let _ = set_bind_address_no_port(&socket);
        bind(&socket, &SocketAddr::new(source, 0))?;
    }
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// A connection for blocking calls, waited for as long as `patience` lasts.
pub(crate) fn dial_blocking(
    address: SocketAddr,
    source: Option<IpAddr>,
    patience: &mut Patience,
) -> io::Result<TcpStream> {
    let socket = dial(address, source)?;
    loop {
        let left = patience.left()?;
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

impl<S: Side> Transport<S> {
    pub(crate) fn new(socket: OwnedFd, side: Option<S>) -> Self {
        Transport { socket, tls: side.map(|side| Box::new(Channel::new(side))) }
    }

    /// From now on, a close drops what has not reached the peer. The kernel would go on sending it: what fits the
    /// socket's buffer, a whole body even (tcp(7), SO_LINGER).
    pub(crate) fn drop_unsent_on_close(&self) {
        // Where it fails, a close is as without it.
        let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
    }

    /// Whether the connection is there, its TLS handshake included. An error that is not TLS's own is the socket's.
    pub(crate) fn establish(&mut self, wire: &mut Wire) -> Result<bool, Errno> {
        sockopt::socket_error(&self.socket)??;
        match &mut self.tls {
            None => Ok(true),
            Some(channel) => channel.shake_hands(self.socket.as_fd(), wire),
        }
    }

    /// What broke, where TLS did.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        self.tls.as_ref().and_then(|channel| channel.fault())
    }

    /// Whether something that was sent before waits for room in the socket's buffer.
    pub(crate) fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|channel| channel.has_unsent())
    }

    /// Whether the end of the stream is the peer's word, after a read of nothing.
    pub(crate) fn ended_by_peer(&self) -> bool {
        self.tls.as_ref().is_none_or(|channel| channel.closed())
    }

    /// Bytes to wait for on the socket while `left` bytes of data are awaited.
    pub(crate) fn awaited(&self, left: u64) -> u64 {
        self.tls.as_ref().map_or(left, |channel| channel.awaited(left))
    }

    /// Reads about `most` bytes into `into`; `0` is the end.
    pub(crate) fn read(&mut self, into: &mut [u8], most: usize, wire: &mut Wire) -> Result<usize, Errno> {
        match &mut self.tls {
            None => {
                let most = most.min(into.len());
                recv(&self.socket, &mut into[..most], RecvFlags::DONTWAIT).map(|(_, n)| n)
            }
            Some(channel) => channel.read(self.socket.as_fd(), into, most, wire),
        }
    }

    /// Reads bytes that nobody looks at, up to `left` of them (over TLS, what comes with them too); `0` is the end.
    pub(crate) fn discard(&mut self, room: &mut [MaybeUninit<u8>], left: u64, wire: &mut Wire) -> Result<usize, Errno> {
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
    pub(crate) fn send(&mut self, pieces: &[IoSlice<'_>], wire: &mut Wire) -> Result<Sent, Errno> {
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
