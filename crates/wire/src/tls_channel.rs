//! TLS on a non-blocking socket: records in, records out, in pieces as large as buffers allow.
//!
//! rustls's unbuffered interface leaves the buffers to its caller: one `recv` takes up to 256 KiB of records, which are
//! decrypted where they lie, and 128 KiB of a body are encrypted before one `send`. Between calls a connection keeps
//! only what is not a whole record yet, and records that the socket had no room for. Behind the handshake of TLS 1.3,
//! records are opened and sealed without rustls's connection (`records.rs`), which would copy their data once more.

use std::io::IoSlice;
use std::ops::Deref;
use std::os::fd::BorrowedFd;
use std::slice;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, sendmsg};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedConnectionCommon, UnbufferedStatus};
use rustls::{Error, ProtocolVersion};

use crate::tls::fault;
use crate::tls_records::{Opened, TlsRecords};

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

/// Records of one call to send: those of the data, and one more of new keys.
const SEALED_RECORDS: usize = SEAL_BYTES / RECORD_BYTES + 1;

/// Buffers of one thread, shared by its connections; empty until the first of them speaks TLS.
#[derive(Default)]
pub struct TlsBuffers {
    incoming: Vec<u8>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    /// What goes out in one call, where each record has memory of its own.
    records: Vec<Vec<u8>>,
}

impl TlsBuffers {
    fn prepare(&mut self) {
        if self.incoming.is_empty() {
            self.incoming.resize(INCOMING_BYTES, 0);
            self.sealed.resize(SEALED_BYTES, 0);
            self.plain.reserve(RECORD_BYTES);
        }
    }
}

/// What one call to send did.
pub struct Sent {
    /// Bytes taken, of those that were given.
    pub bytes: usize,
    /// The socket's buffer took less than it was given: only an event tells of room again.
    pub full: bool,
}

/// One end of a TLS connection: rustls has a type for each.
pub trait TlsSide: Deref<Target = UnbufferedConnectionCommon<<Self as TlsSide>::Data>> + Sized {
    /// What rustls keeps of it.
    type Data;

    /// Works off records, and tells what is next.
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;

    /// Goes on without rustls's connection.
    ///
    /// # Errors
    /// rustls's, where the handshake has not ended, or not in TLS 1.3.
    fn into_records(self) -> Result<TlsRecords<Self::Data>, Error>;
}

impl TlsSide for UnbufferedClientConnection {
    type Data = ClientConnectionData;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, ClientConnectionData> {
        self.process_tls_records(incoming)
    }

    fn into_records(self) -> Result<TlsRecords<ClientConnectionData>, Error> {
        let (secrets, kernel) = self.dangerous_into_kernel_connection()?;
        TlsRecords::new(secrets, kernel, |kernel, ticket| kernel.handle_new_session_ticket(ticket))
    }
}

impl TlsSide for UnbufferedServerConnection {
    type Data = ServerConnectionData;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, ServerConnectionData> {
        self.process_tls_records(incoming)
    }

    fn into_records(self) -> Result<TlsRecords<ServerConnectionData>, Error> {
        let (secrets, kernel) = self.dangerous_into_kernel_connection()?;
        TlsRecords::new(secrets, kernel, |_, _| Err(Error::General("a ticket of a client".into())))
    }
}

/// Who opens and seals records.
enum RecordLayer<S: TlsSide> {
    Rustls(S),
    Records(Box<TlsRecords<S::Data>>),
    /// It failed between the two.
    Nobody,
}

/// The TLS state of one connection.
pub(crate) struct Channel<S: TlsSide> {
    keeper: RecordLayer<S>,
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

impl<S: TlsSide> Channel<S> {
    pub(crate) const fn new(side: S) -> Self {
        let keeper = RecordLayer::Rustls(side);
        Channel { keeper, partial: Vec::new(), unsent: Vec::new(), ready: false, closed: false, fault: None }
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
    pub(crate) fn shake_hands(&mut self, socket: BorrowedFd<'_>, wire: &mut TlsBuffers) -> Result<bool, Errno> {
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
        wire: &mut TlsBuffers,
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
    pub(crate) fn discard(&mut self, socket: BorrowedFd<'_>, wire: &mut TlsBuffers) -> Result<usize, Errno> {
        self.read_with(socket, INCOMING_BYTES, wire, &mut |_| {})
    }

    fn read_with(
        &mut self,
        socket: BorrowedFd<'_>,
        most: usize,
        wire: &mut TlsBuffers,
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
        wire: &mut TlsBuffers,
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
        let was_ready = self.ready;
        let worked = self.work_off(&mut wire.incoming[..kept + n], sink);
        // What the protocol has to say goes out even where it is an alert.
        let flushed = self.flush(socket);
        let used = worked?;
        flushed?;
        self.partial.clear();
        self.partial.extend_from_slice(&wire.incoming[used..kept + n]);
        self.leave_rustls()?;
        if self.ready && !was_ready {
            // What came in one piece with the end of the handshake.
            let mut rest = std::mem::take(&mut self.partial);
            let worked = self.work_off(&mut rest, sink);
            let flushed = self.flush(socket);
            self.partial = rest.split_off(worked?);
            flushed?;
        }
        Ok(n)
    }

    /// Goes on without rustls's connection, where hands are shaken and it has nothing left to say. It holds no part of
    /// a message then, since it was not shown what is behind the handshake.
    fn leave_rustls(&mut self) -> Result<(), Errno> {
        let RecordLayer::Rustls(side) = &self.keeper else { return Ok(()) };
        let is_current = side.protocol_version() == Some(ProtocolVersion::TLSv1_3);
        if !self.ready || !is_current || self.closed || self.has_unsent() {
            return Ok(());
        }
        let RecordLayer::Rustls(side) = std::mem::replace(&mut self.keeper, RecordLayer::Nobody) else { return Ok(()) };
        self.keeper = RecordLayer::Records(Box::new(side.into_records().map_err(|error| self.queue_alert(&error))?));
        Ok(())
    }

    fn queue_alert(&mut self, error: &Error) -> Errno {
        self.broke(fault(error, self.ready))
    }

    /// Works off every whole record of `incoming`; returns how many bytes they were.
    fn work_off(&mut self, incoming: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> Result<usize, Errno> {
        let side = match &mut self.keeper {
            RecordLayer::Rustls(side) => side,
            RecordLayer::Records(records) => {
                return match records.open(incoming, sink) {
                    Ok(Opened { bytes, closed }) => {
                        self.closed |= closed;
                        Ok(bytes)
                    }
                    Err(error) => {
                        self.unsent.extend(records.alert(&error).unwrap_or_default());
                        Err(self.queue_alert(&error))
                    }
                };
            }
            RecordLayer::Nobody => return Err(Errno::PROTO),
        };
        let (mut used, mut records) = (0, 0);
        loop {
            let left = incoming.len() - used;
            let given = if self.ready { left } else { of_records(&incoming[used..], records) };
            let UnbufferedStatus { mut discard, state } = side.process(&mut incoming[used..used + given]);
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
                    // The alert that rustls has made of it.
                    let said = side.process(&mut incoming[used + discard..used + given]).state;
                    if let Ok(ConnectionState::EncodeTlsData(mut data)) = said {
                        append(&mut self.unsent, |room| data.encode(room));
                    }
                    return Err(self.queue_alert(&error));
                }
            };
            used += discard;
            // What there is to say first, then a record; a message over several records takes all of them at once.
            records = match (discard, more) {
                (0, true) => records,
                (0, false) => records + 1,
                _ => 0,
            };
            if !more && (self.ready || given == left) {
                return Ok(used);
            }
        }
    }

    /// Sends what waits; whether nothing waits any more.
    fn flush(&mut self, socket: BorrowedFd<'_>) -> Result<bool, Errno> {
        while !self.unsent.is_empty() {
            match send_now(socket, &[IoSlice::new(&self.unsent)]) {
                Ok(n) => drop(self.unsent.drain(..n)),
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(errno),
            }
        }
        Ok(true)
    }

    /// Tells the peer that nothing follows (RFC 8446, section 6.1), where that can still be told: hands are shaken, no
    /// record is on its way in part, and nothing broke. It is not waited for.
    pub(crate) fn end(&mut self, socket: BorrowedFd<'_>) {
        if !self.ready || self.has_unsent() || self.fault.is_some() {
            return;
        }
        let reported = match &mut self.keeper {
            RecordLayer::Records(records) => records.end().unwrap_or_default(),
            RecordLayer::Rustls(side) => match side.process(&mut self.partial).state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let mut reported = vec![0; RECORD_WIRE_BYTES];
                    let bytes = traffic.queue_close_notify(&mut reported).unwrap_or(0);
                    reported.truncate(bytes);
                    reported
                }
                _ => return,
            },
            RecordLayer::Nobody => return,
        };
        // A peer that is gone, or whose socket is full, is not told.
        let _ = send_now(socket, &[IoSlice::new(&reported)]);
    }

    /// Encrypts and sends; what the socket has no room for after that is kept.
    pub(crate) fn send(
        &mut self,
        socket: BorrowedFd<'_>,
        pieces: &[IoSlice<'_>],
        wire: &mut TlsBuffers,
    ) -> Result<Sent, Errno> {
        wire.prepare();
        if !self.flush(socket)? {
            return Ok(Sent { bytes: 0, full: true });
        }
        let all: usize = pieces.iter().map(|p| p.len()).sum();
        let mut bytes = 0;
        while bytes < all {
            if matches!(self.keeper, RecordLayer::Records(_)) {
                bytes += self.seal_records(pieces, bytes, wire)?;
                self.send_sealed(socket, &wire.records)?;
            } else {
                let (taken, sealed) = self.seal(pieces, bytes, all - bytes, wire)?;
                bytes += taken;
                self.send_sealed(socket, slice::from_ref(&&wire.sealed[..sealed]))?;
            }
            if self.has_unsent() {
                return Ok(Sent { bytes, full: true });
            }
        }
        Ok(Sent { bytes, full: false })
    }

    /// Sends what was sealed, and keeps what the socket has no room for.
    fn send_sealed(&mut self, socket: BorrowedFd<'_>, sealed: &[impl AsRef<[u8]>]) -> Result<(), Errno> {
        let mut slices = [IoSlice::new(&[]); SEALED_RECORDS];
        for (slice, record) in slices.iter_mut().zip(sealed) {
            *slice = IoSlice::new(record.as_ref());
        }
        let mut sent = match send_now(socket, &slices[..sealed.len()]) {
            Err(Errno::AGAIN) => 0,
            other => other?,
        };
        for record in sealed.iter().map(AsRef::as_ref) {
            let of_record = sent.min(record.len());
            self.unsent.extend_from_slice(&record[of_record..]);
            sent -= of_record;
        }
        Ok(())
    }

    /// Seals the next data of `pieces`, of which `skip` bytes are done, into records of `wire`; returns the bytes
    /// taken.
    fn seal_records(&mut self, pieces: &[IoSlice<'_>], mut skip: usize, wire: &mut TlsBuffers) -> Result<usize, Errno> {
        let RecordLayer::Records(records) = &mut self.keeper else { return Err(Errno::PROTO) };
        wire.records.clear();
        let (mut taken, mut record, mut room) = (0, Vec::with_capacity(4), RECORD_BYTES);
        for piece in pieces {
            let done = skip.min(piece.len());
            skip -= done;
            let mut piece = &piece[done..];
            while !piece.is_empty() && taken < SEAL_BYTES {
                let (data, behind) = piece.split_at(piece.len().min(room));
                record.push(data);
                (taken, room, piece) = (taken + data.len(), room - data.len(), behind);
                if room == 0 {
                    records.seal(&record, &mut wire.records).map_err(|error| broken(&mut self.fault, &error))?;
                    record.clear();
                    room = RECORD_BYTES;
                }
            }
        }
        if !record.is_empty() {
            records.seal(&record, &mut wire.records).map_err(|error| broken(&mut self.fault, &error))?;
        }
        Ok(taken)
    }

    /// Encrypts the next data of `pieces`, of which `skip` bytes are done and `left` are not; returns the bytes taken
    /// and those they became.
    fn seal(
        &mut self,
        pieces: &[IoSlice<'_>],
        mut skip: usize,
        left: usize,
        wire: &mut TlsBuffers,
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
        let RecordLayer::Rustls(side) = &mut self.keeper else { return Err(Errno::PROTO) };
        let mut at = 0;
        loop {
            // What was kept is shown again: rustls may hold places in it.
            match side.process(&mut self.partial).state {
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
                Err(error) => return Err(self.queue_alert(&error)),
            }
        }
    }
}

/// Notes what broke a connection that was there.
fn broken(noted: &mut Option<&'static str>, error: &Error) -> Errno {
    *noted = Some(fault(error, true));
    Errno::PROTO
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

fn send_now(socket: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags)
}

/// How many bytes the first so many records are, and what there is of the last. While hands are shaken, records are
/// worked off one by one: those behind the handshake are for whoever follows rustls, keys that it would renew among
/// them.
fn of_records(incoming: &[u8], records: usize) -> usize {
    let mut bytes = 0;
    for _ in 0..records {
        let Some(&[_, _, _, high, low]) = incoming[bytes..].first_chunk::<5>() else { return incoming.len() };
        bytes = (bytes + 5 + usize::from(u16::from_be_bytes([high, low]))).min(incoming.len());
    }
    bytes
}

#[cfg(test)]
mod tests;
