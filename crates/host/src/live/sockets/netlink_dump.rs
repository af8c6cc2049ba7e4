//! The conversation with the kernel: a request, and messages until it says that these are all.

use std::io;
use std::os::fd::OwnedFd;

use linerate_record::readings::PortRange;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, netlink};

use super::message::{DumpMessage, TcpSocket, messages};
use super::request::request;
use crate::setting::netlink::{acknowledged, open};

/// What the kernel fills at most at once (`net/netlink/af_netlink.c: netlink_dump`).
const DATAGRAM_BYTES: usize = 32 << 10;

/// A socket of netlink in a network namespace: it stays of the one in which it was opened.
#[derive(Debug)]
pub(super) struct SockDiag {
    socket: OwnedFd,
    /// Answers carry the number of their request: those of an earlier one are not taken for this one's.
    sequence: u32,
}

/// How a dump ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DumpEnd {
    /// Whether the kernel said that what it told changed meanwhile, so that something may be missing.
    pub(super) is_interrupted: bool,
    /// Whether an answer did not come whole.
    pub(super) is_cut: bool,
}

/// In the network namespace of this thread.
pub(super) fn open_here() -> io::Result<SockDiag> {
    Ok(SockDiag { socket: open(Some(netlink::SOCK_DIAG))?, sequence: 0 })
}

impl SockDiag {
    /// Tells the sockets of a family that are in one of these states and have one of these ports, as they come.
    ///
    /// # Errors
    /// What the kernel answers instead.
    pub(super) fn dump(
        &mut self,
        family: AddressFamily,
        states: u32,
        ports: &[PortRange],
        tell: &mut dyn FnMut(&TcpSocket),
    ) -> io::Result<DumpEnd> {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        rustix::net::send(&self.socket, &request(family, states, ports, sequence), SendFlags::empty())?;
        let mut buffer = vec![0; DATAGRAM_BYTES];
        let mut how = DumpEnd::default();
        let mut end = None;
        while end.is_none() {
            let (received, length) = receive(&self.socket, &mut buffer)?;
            let is_whole = messages(&buffer[..received], &mut |message| {
                if message.sequence != sequence || end.is_some() {
                    return;
                }
                how.is_interrupted |= message.is_interrupted;
                match message.reported {
                    DumpMessage::Socket(socket) => tell(&socket),
                    DumpMessage::End(content) => end = Some(acknowledged(content)),
                    DumpMessage::Other => (),
                }
            });
            how.is_cut |= !is_whole || length > received;
        }
        end.unwrap_or(Ok(())).map(|()| how)
    }
}

/// How many bytes were received, and how many there were.
fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<(usize, usize)> {
    loop {
        match rustix::net::recv(socket, &mut *buffer, RecvFlags::TRUNC) {
            Ok((received, length)) => return Ok((received, length)),
            Err(Errno::INTR) => (),
            Err(Errno::AGAIN) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the kernel does not answer"));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
