//! TLS on a non-blocking socket: records in, records out, in pieces as large as buffers allow.
//!
//! rustls's unbuffered interface leaves the buffers to its caller: one `recv` takes up to 256 KiB of records, which are
//! decrypted where they lie, and 128 KiB of a body are encrypted before one `send`. Between calls a connection keeps
//! only what is not a whole record yet, and records that the socket had no room for.

use std::io::IoSlice;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

use crate::tls::fault;

/// Records taken from the kernel in one call: they stay in a processor's second-level cache while they are decrypted.
const INCOMING_BYTES: usize = 256 << 10;

/// Longest record on the wire: 5 bytes of header, 16 KiB of data, 256 bytes that a cipher may add.
const RECORD_WIRE_BYTES: usize = 5 + (16 << 10) + 256;

/// Most data of one record.
const RECORD_BYTES: usize = 16 << 10;

/// Data encrypted before it is handed to the kernel.
const SEAL_BYTES: usize = 128 << 10;

/// Room that headers and tags of so much data need: at most 29 bytes a record, some more for a key update.
const SEALED_BYTES: usize = SEAL_BYTES + 4096;

/// Buffers of one thread, shared by its connections; empty until the first of them speaks TLS.
#[derive(Default)]
pub(crate) struct Wire {
    incoming: Vec<u8>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
}

impl Wire {
    fn prepare(&mut self) {
        if self.incoming.is_empty() {
            self.incoming.resize(INCOMING_BYTES, 0);
            self.sealed.resize(SEALED_BYTES, 0);
            self.plain.reserve(RECORD_BYTES);
        }
    }
}

/// What one call to send did.
pub(crate) struct Sent {
    /// Bytes taken, of those that were given.
    pub(crate) bytes: usize,
    /// The socket's buffer took less than it was given: only an event tells of room again.
    pub(crate) full: bool,
}

/// One end of a TLS connection: rustls has a type for each.
pub(crate) trait Side {
    type Data;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl Side for UnbufferedClientConnection {
    type Data = ClientConnectionData;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        self.process_tls_records(incoming)
    }
}

impl Side for UnbufferedServerConnection {
    type Data = ServerConnectionData;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        self.process_tls_records(incoming)
    }
}

/// The TLS state of one connection.
pub(crate) struct Channel<S> {
    side: S,
    /// Received, and not a whole record yet.
    partial: Vec<u8>,
    /// Encrypted, and not taken by the socket yet.
    unsent: Vec<u8>,
    /// The handshake is done.
    ready: bool,
    /// The peer said that it sends no more.
    closed: bool,
    fault: Option<&'static str>,
}

impl<S: Side> Channel<S> {
    pub(crate) const fn new(side: S) -> Self {
        Channel { side, partial: Vec::new(), unsent: Vec::new(), ready: false, closed: false, fault: None }
    }

    /// Whether records wait for room in the socket's buffer.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// What broke the TLS connection, where that is what broke.
    pub(crate) const fn fault(&self) -> Option<&'static str> {
        self.fault
    }

    /// Whether the peer said that it ends: without that, the end may be somebody else's doing.
    pub(crate) const fn closed(&self) -> bool {
        self.closed
    }

    /// Bytes that must still arrive before `left` bytes of data can be read, as many as one call can take.
    pub(crate) fn awaited(&self, left: u64) -> u64 {
        left.saturating_sub(self.partial.len() as u64).clamp(1, (INCOMING_BYTES - RECORD_WIRE_BYTES) as u64)
    }

    /// Goes on with the handshake; whether it is done.
    pub(crate) fn shake_hands(&mut self, socket: BorrowedFd<'_>, wire: &mut Wire) -> Result<bool, Errno> {
        wire.prepare();
        let mut early_bytes = 0;
        if self.partial.is_empty() && self.unsent.is_empty() && !self.ready {
            // The first flight is sent without anything received.
            self.work_off(&mut [], &mut |_| {})?;
            self.flush(socket)?;
        }
        while !self.ready {
            match self.receive(socket, INCOMING_BYTES, wire, &mut |data| early_bytes += data.len()) {
                Ok(0) if self.closed => return Err(self.broke("closed during the handshake")),
                Ok(_) => {}
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) if self.fault.is_none() => return Err(self.broke("closed during the handshake")),
                Err(errno) => return Err(errno),
            }
        }
        if early_bytes > 0 {
            return Err(self.broke("data before any request"));
        }
        Ok(self.ready)
    }

    fn broke(&mut self, why: &'static str) -> Errno {
        self.fault = Some(why);
        Errno::PROTO
    }

    /// Receives once and copies the data into `into`: about `most` bytes of it, which may be nothing but the rest of a
    /// record. `0` is the end.
    pub(crate) fn read(
        &mut self,
        socket: BorrowedFd<'_>,
        into: &mut [u8],
        most: usize,
        wire: &mut Wire,
    ) -> Result<usize, Errno> {
        // There is never more data than there were records, so that all of it fits.
        let most = (self.partial.len() + most.clamp(RECORD_WIRE_BYTES, into.len())).min(into.len());
        let mut filled = 0;
        self.read_with(socket, most, wire, &mut |data| {
            into[filled..filled + data.len()].copy_from_slice(data);
            filled += data.len();
        })
    }

    /// Receives once and drops the data; returns how much there was. `0` is the end.
    pub(crate) fn discard(&mut self, socket: BorrowedFd<'_>, wire: &mut Wire) -> Result<usize, Errno> {
        self.read_with(socket, INCOMING_BYTES, wire, &mut |_| {})
    }

    fn read_with(
        &mut self,
        socket: BorrowedFd<'_>,
        most: usize,
        wire: &mut Wire,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, Errno> {
        if self.closed {
            return Ok(0);
        }
        wire.prepare();
        let mut bytes = 0;
        let received = self.receive(socket, most, wire, &mut |data| {
            bytes += data.len();
            sink(data);
        })?;
        // Records without data are those of the protocol itself, such as session tickets.
        if bytes == 0 && received > 0 && !self.closed { Err(Errno::AGAIN) } else { Ok(bytes) }
    }

    /// Receives once, decrypts what is whole and keeps the rest. Returns the bytes received: `0` is the end.
    fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        most: usize,
        wire: &mut Wire,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, Errno> {
        self.flush(socket)?;
        let kept = self.partial.len();
        let end = most.clamp((kept + 1).min(INCOMING_BYTES), INCOMING_BYTES);
        wire.incoming[..kept].copy_from_slice(&self.partial);
        let (_, n) = recv(socket, &mut wire.incoming[kept..end], RecvFlags::DONTWAIT)?;
        if n == 0 {
            self.closed |= !self.ready;
            return Ok(0);
        }
        let worked = self.work_off(&mut wire.incoming[..kept + n], sink);
        // What the protocol has to say goes out even where it is an alert.
        let flushed = self.flush(socket);
        let used = worked?;
        flushed?;
        self.partial.clear();
        self.partial.extend_from_slice(&wire.incoming[used..kept + n]);
        Ok(n)
    }

    /// Works off every whole record of `incoming`; returns how many bytes they were.
    fn work_off(&mut self, incoming: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> Result<usize, Errno> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { mut discard, state } = self.side.process(&mut incoming[used..]);
            let more = match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(Ok(record)) = traffic.next_record() {
                        discard += record.discard;
                        sink(record.payload);
                    }
                    true
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    append(&mut self.unsent, |room| data.encode(room));
                    true
                }
                // It is in `unsent`, which goes out before anything else.
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    true
                }
                Ok(ConnectionState::PeerClosed) => {
                    self.closed = true;
                    true
                }
                Ok(ConnectionState::WriteTraffic(_)) => {
                    self.ready = true;
                    false
                }
                Ok(_) => false,
                Err(error) => {
                    self.fault = Some(fault(&error, self.ready));
                    self.say_why(&mut incoming[used + discard..]);
                    return Err(Errno::PROTO);
                }
            };
            used += discard;
            if !more {
                return Ok(used);
            }
        }
    }

    /// Takes the alert that rustls has made of an error.
    fn say_why(&mut self, incoming: &mut [u8]) {
        if let Ok(ConnectionState::EncodeTlsData(mut data)) = self.side.process(incoming).state {
            append(&mut self.unsent, |room| data.encode(room));
        }
    }

    /// Sends what waits; whether nothing waits any more.
    fn flush(&mut self, socket: BorrowedFd<'_>) -> Result<bool, Errno> {
        while !self.unsent.is_empty() {
            match send_now(socket, &self.unsent) {
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(errno),
            }
        }
        Ok(true)
    }

    /// Encrypts and sends; what the socket has no room for after that is kept.
    pub(crate) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        pieces: &[IoSlice<'_>],
        wire: &mut Wire,
    ) -> Result<Sent, Errno> {
        wire.prepare();
        if !self.flush(socket)? {
            return Ok(Sent { bytes: 0, full: true });
        }
        let all: usize = pieces.iter().map(|p| p.len()).sum();
        let mut bytes = 0;
        while bytes < all {
            let (taken, sealed) = self.seal(pieces, bytes, all - bytes, wire)?;
            bytes += taken;
            let n = match send_now(socket, &wire.sealed[..sealed]) {
                Err(Errno::AGAIN) => 0,
                other => other?,
            };
            if n < sealed {
                self.unsent.extend_from_slice(&wire.sealed[n..sealed]);
                return Ok(Sent { bytes, full: true });
            }
        }
        Ok(Sent { bytes, full: false })
    }

    /// Encrypts the next data of `pieces`, of which `skip` bytes are done and `left` are not; returns the bytes taken
    /// and those they became.
    fn seal(
        &mut self,
        pieces: &[IoSlice<'_>],
        mut skip: usize,
        left: usize,
        wire: &mut Wire,
    ) -> Result<(usize, usize), Errno> {
        // What fits one record becomes one: a head and a small body.
        let gather = left <= RECORD_BYTES;
        wire.plain.clear();
        let (mut taken, mut sealed) = (0, 0);
        for piece in pieces {
            let done = skip.min(piece.len());
            skip -= done;
            let piece = &piece[done..];
            let piece = &piece[..piece.len().min(SEAL_BYTES - taken)];
            if gather {
                wire.plain.extend_from_slice(piece);
            } else if !piece.is_empty() {
                sealed += self.encrypt(piece, &mut wire.sealed[sealed..])?;
            }
            taken += piece.len();
        }
        if gather {
            sealed = self.encrypt(&wire.plain, &mut wire.sealed)?;
        }
        Ok((taken, sealed))
    }

    fn encrypt(&mut self, data: &[u8], into: &mut [u8]) -> Result<usize, Errno> {
        let mut at = 0;
        loop {
            // What was kept is shown again: rustls may hold places in it.
            match self.side.process(&mut self.partial).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => match traffic.encrypt(data, &mut into[at..]) {
                    Ok(n) => return Ok(at + n),
                    Err(EncryptError::EncryptExhausted) => return Err(self.broke("key used up")),
                    Err(EncryptError::InsufficientSize(_)) => return Err(self.broke("records too large")),
                },
                Ok(ConnectionState::EncodeTlsData(mut own)) => match own.encode(&mut into[at..]) {
                    Ok(n) => at += n,
                    Err(_) => return Err(self.broke("records too large")),
                },
                Ok(ConnectionState::TransmitTlsData(own)) => own.done(),
                Ok(ConnectionState::PeerClosed) => self.closed = true,
                Ok(_) => return Err(self.broke("not ready to send")),
                Err(error) => {
                    self.fault = Some(fault(&error, self.ready));
                    return Err(Errno::PROTO);
                }
            }
        }
    }
}

/// Appends what `encode` writes, in as much room as it asks for.
fn append(out: &mut Vec<u8>, mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>) {
    let at = out.len();
    let mut room = 1024;
    loop {
        out.resize(at + room, 0);
        match encode(&mut out[at..]) {
            Ok(n) => return out.truncate(at + n),
            Err(EncodeError::InsufficientSize(needs)) if needs.required_size > room => room = needs.required_size,
            Err(_) => return out.truncate(at),
        }
    }
}

fn send_now(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use super::*;
    use crate::hosts::Host;
    use crate::session::Lookup;
    use crate::target::identity;
    use crate::tls::{Tls, Trust, certificates_in_pem};

    /// Both ends of a connection, and the sockets between which the test carries what they say.
    struct Ends {
        client: Channel<UnbufferedClientConnection>,
        server: Channel<UnbufferedServerConnection>,
        /// The client's socket, and the other end of it.
        of_client: [UnixStream; 2],
        of_server: [UnixStream; 2],
        wire: Wire,
    }

    impl Ends {
        fn new() -> Self {
            let identity = identity::make([127, 0, 0, 1].into()).unwrap();
            let hosts = [Host { authority: "localhost:1".into(), address: ([127, 0, 0, 1], 1).into() }];
            let trust = Trust::Roots(certificates_in_pem(identity.ca_pem.as_bytes()).unwrap());
            let tls = Tls::new(trust, &hosts, Lookup::Path, "").unwrap();
            let pair = || {
                let (a, b) = UnixStream::pair().unwrap();
                b.set_nonblocking(true).unwrap();
                [a, b]
            };
            Ends {
                client: Channel::new(tls.client(0).unwrap()),
                server: Channel::new(UnbufferedServerConnection::new(Arc::clone(&identity.config)).unwrap()),
                of_client: pair(),
                of_server: pair(),
                wire: Wire::default(),
            }
        }

        /// The handshake, carried in pieces of so many bytes.
        fn shake_hands(&mut self, piece: usize) {
            for _ in 0..100_000 {
                let done = self.client.shake_hands(self.of_client[0].as_fd(), &mut self.wire).unwrap();
                carry(&self.of_client[1], &self.of_server[1], piece);
                let heard = self.server.read(self.of_server[0].as_fd(), &mut [0; 64 << 10], 1, &mut self.wire);
                assert_eq!(heard, Err(Errno::AGAIN));
                let answered = carry(&self.of_server[1], &self.of_client[1], piece);
                if done && self.server.ready && answered == 0 {
                    return;
                }
            }
            panic!("the handshake does not end");
        }
    }

    /// Carries up to so many bytes that wait at one socket to another; returns how many.
    fn carry(mut from: &UnixStream, mut to: &UnixStream, most: usize) -> usize {
        let mut bytes = vec![0; most];
        let n = from.read(&mut bytes).unwrap_or(0);
        to.write_all(&bytes[..n]).unwrap();
        n
    }

    #[test]
    fn records_cut_anywhere_are_put_together() {
        let mut ends = Ends::new();
        ends.shake_hands(7);
        let mut into = vec![0; 64 << 10];
        let data: Vec<u8> = (0..150).collect();
        for cut in 1.. {
            ends.server.send(ends.of_server[0].as_fd(), &[IoSlice::new(&data)], &mut ends.wire).unwrap();
            let carried = carry(&ends.of_server[1], &ends.of_client[1], cut);
            let mut read = || ends.client.read(ends.of_client[0].as_fd(), &mut into, 1, &mut ends.wire);
            // The first record may follow tickets, so that more than one is on its way.
            let mut got = read();
            let whole = got.is_ok();
            while got == Err(Errno::AGAIN) && carry(&ends.of_server[1], &ends.of_client[1], cut) > 0 {
                got = read();
            }
            assert_eq!(got, Ok(data.len()), "cut at {cut}");
            assert_eq!(into[..data.len()], data);
            if whole {
                assert!(carried > data.len(), "a record has a header and a tag");
                return;
            }
        }
    }

    #[test]
    fn pieces_arrive_in_order_whatever_the_socket_has_room_for() {
        for lengths in
            [&[1][..], &[100, 16_284], &[100, 16_285, 16], &[600, 262_144, 262_144, 40_000, 16], &[0, 500_000]]
        {
            let mut ends = Ends::new();
            ends.shake_hands(1 << 20);
            let all: Vec<u8> = (0..lengths.iter().sum::<usize>()).map(|i| (i * 7 % 251) as u8).collect();
            let (mut sent, mut received, mut was_full) = (0, Vec::new(), false);
            let mut into = vec![0; INCOMING_BYTES];
            while received.len() < all.len() {
                // What is left of each piece, as a connection hands it over again.
                let (mut start, mut pieces) = (0, Vec::new());
                for length in lengths {
                    pieces.push(IoSlice::new(&all[start.max(sent).min(start + length)..start + length]));
                    start += length;
                }
                let took = ends.client.send(ends.of_client[0].as_fd(), &pieces, &mut ends.wire).unwrap();
                sent += took.bytes;
                was_full |= took.full;
                assert_eq!(took.full, ends.client.has_unsent());
                carry(&ends.of_client[1], &ends.of_server[1], 10_000);
                match ends.server.read(ends.of_server[0].as_fd(), &mut into, usize::MAX, &mut ends.wire) {
                    Ok(n) => received.extend_from_slice(&into[..n]),
                    Err(errno) => assert_eq!(errno, Errno::AGAIN),
                }
            }
            assert!(received == all && sent == all.len(), "{lengths:?}");
            assert!(was_full || all.len() < 400_000, "half a megabyte does not fit the socket's buffer at once");
        }
    }

    #[test]
    fn an_end_without_a_word_is_told_from_one_with() {
        let mut ends = Ends::new();
        ends.shake_hands(1 << 20);
        ends.of_client[1].shutdown(std::net::Shutdown::Write).unwrap();
        let mut discard = || ends.client.discard(ends.of_client[0].as_fd(), &mut ends.wire);
        // Tickets come first, and are no data.
        let first = discard();
        assert_eq!(if first == Err(Errno::AGAIN) { discard() } else { first }, Ok(0));
        assert!(!ends.client.closed() && ends.client.fault().is_none());
    }

    #[test]
    fn damage_is_a_fault_and_no_data() {
        let mut ends = Ends::new();
        ends.shake_hands(1 << 20);
        ends.server.send(ends.of_server[0].as_fd(), &[IoSlice::new(&[1; 100])], &mut ends.wire).unwrap();
        let mut bytes = vec![0; 4096];
        let n = ends.of_server[1].read(&mut bytes).unwrap();
        bytes[n - 1] ^= 1;
        ends.of_client[1].write_all(&bytes[..n]).unwrap();
        let read = ends.client.read(ends.of_client[0].as_fd(), &mut [0; 64 << 10], 1, &mut ends.wire);
        assert_eq!((read, ends.client.fault()), (Err(Errno::PROTO), Some("damaged record")));
    }
}
