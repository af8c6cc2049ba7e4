//! One connection and the exchange in flight on it: what is sent, what is received, and when it is whole.
//!
//! Nothing here blocks, and nothing allocates once buffers have grown, but for a reply's head that comes in parts. A
//! GET body that need not be looked at is discarded inside the kernel: `recv` with `MSG_TRUNC` copies nothing, and
//! `SO_RCVLOWAT` lets it wait until 8 MiB (or the rest of the body) are there, or as much as the kernel and the number
//! of connections allow.

mod exchange;
mod list_reply;
mod verdict;

use std::io::IoSlice;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use linerate_record::run::Op;
use linerate_wire::response::{self, BodyFraming, Malformed};
use linerate_wire::tls_channel::{Sent, TlsBuffers};
use linerate_wire::transport::{ClientTransport, LOW_WATER_MAX_BYTES, dial, why_unconnected};
use rustix::io::Errno;

use crate::body::{Bodies, CHUNK_BYTES, POOL_BYTES};
use crate::request::BodyHeaders;
use crate::request_failure::RequestFailure;
use crate::streaming::{ChunkStream, Piece, STREAM_PIECES_MAX};
use crate::tls::Tls;

pub(crate) use exchange::Exchange;
use exchange::{ExpectedBody, OtherBody, look_at};
pub(crate) use list_reply::ExpectedListing;
use verdict::verdict;

/// Most bytes asked for while a head is awaited: a head and a small body, in one call.
const HEAD_READ_BYTES: usize = 8 << 10;

/// Bodies with less than this left are not worth a call to set the low-water mark.
const LOW_WATER_FROM_BYTES: u64 = 32 << 10;

/// Most pieces of a body handed to the kernel in one call. Each call pushes what it was given, so that few and large
/// ones are cheaper.
const PIECES: usize = STREAM_PIECES_MAX + 1;

/// Buffers of one thread, shared by its connections.
pub(crate) struct Buffers {
    /// What was received last.
    pub(crate) input: Vec<u8>,
    /// Never written to and so never backed by memory: the destination of a `recv` that discards.
    discard: Vec<u8>,
    /// Highest low-water mark of a connection.
    low_water_max: u64,
    /// The head of the request being started.
    pub(crate) head: Vec<u8>,
    /// Body bytes that had to be made.
    made: Vec<u8>,
    /// Records of TLS.
    wire: TlsBuffers,
    /// What listings are held against.
    expected: ExpectedListing,
}

impl Buffers {
    pub(crate) fn new(low_water_max: u64, expected: ExpectedListing) -> Self {
        Buffers {
            input: vec![0; 256 << 10],
            // The kernel never has more waiting than the receive buffer that a mark of 8 MiB gives.
            discard: Vec::with_capacity(2 * LOW_WATER_MAX_BYTES as usize),
            low_water_max,
            head: Vec::with_capacity(2 << 10),
            made: vec![0; 256 << 10],
            wire: TlsBuffers::default(),
            expected,
        }
    }
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    /// The peer's part of the TLS handshake.
    Handshake,
    Idle,
    /// Room to send, or an early reply.
    Sending,
    Head,
    /// The rest of a body.
    Body,
}

/// A request that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Success {
    pub(crate) bytes: u64,
    pub(crate) first_byte_ns: u64,
    pub(crate) reusable: bool,
}

/// Where an exchange stands after an event.
#[derive(Debug)]
pub(crate) enum ExchangeProgress {
    /// More events are needed.
    Waiting,
    Done(Success),
    /// It failed; `reusable` where the response was whole and the connection lives on.
    Failed {
        why: RequestFailure,
        reusable: bool,
    },
}

pub(crate) struct Connection {
    pub(crate) transport: ClientTransport,
    pub(crate) host: u32,
    pub(crate) phase: Phase,
    pub(crate) exchange: Exchange,
    /// The part of a request's head that did not fit the socket's buffer.
    unsent: Vec<u8>,
    /// A response's head that came in parts.
    partial: Vec<u8>,
    /// What is seen of a response's body that is no object's.
    alongside: OtherBody,
    /// The body on its way, where it goes out in chunks; made with the first one.
    stream: Option<Box<ChunkStream>>,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}

impl Connection {
    /// Starts a connection to a host; it is usable once it is established.
    pub(crate) fn open(
        address: SocketAddr,
        source: Option<IpAddr>,
        tls: Option<&Tls>,
        host: u32,
        exchange: Exchange,
    ) -> Result<Self, RequestFailure> {
        let side =
            tls.map(|tls| tls.side(host as usize)).transpose().map_err(|_| RequestFailure::Tls("protocol error"))?;
        let socket = dial(address, source).map_err(connect_failure)?;
        Ok(Connection {
            transport: ClientTransport::new(socket, side),
            host,
            phase: Phase::Connecting,
            exchange,
            unsent: Vec::new(),
            partial: Vec::new(),
            alongside: OtherBody::default(),
            stream: None,
        })
    }

    /// Takes up the next exchange; what the ledger of the last one grew to is used again.
    pub(crate) fn take_up(&mut self, exchange: Exchange) {
        let ledger = std::mem::take(&mut self.exchange.ledger);
        self.exchange = Exchange { ledger: ledger.cleared(), ..exchange };
    }

    /// Whether a request can be sent: the connection is there, and TLS's handshake is done.
    pub(crate) fn establish(&mut self, buffers: &mut Buffers) -> Result<bool, RequestFailure> {
        let established = self.transport.establish(&mut buffers.wire);
        if established == Ok(false) {
            self.phase = Phase::Handshake;
        }
        let of_socket = |errno| match self.phase {
            Phase::Handshake => RequestFailure::Tls("closed during the handshake"),
            _ => connect_failure(errno),
        };
        established.map_err(|errno| self.transport.fault().map_or_else(|| of_socket(errno), RequestFailure::Tls))
    }

    /// Whether an event on an idle connection was TLS's own, such as a session ticket.
    pub(crate) fn still_idle(&mut self, buffers: &mut Buffers) -> bool {
        matches!(self.transport.read(&mut buffers.input, HEAD_READ_BYTES, &mut buffers.wire), Err(Errno::AGAIN))
    }

    /// Whether an event should tell of room to send.
    pub(crate) fn needs_room(&self) -> bool {
        self.phase == Phase::Sending || self.transport.has_unsent()
    }

    /// Whether the head of its request was handed to the kernel whole: unless the host or the network fails, the host
    /// gets it, whatever becomes of the connection.
    pub(crate) fn has_sent_its_head(&self) -> bool {
        match self.phase {
            Phase::Connecting | Phase::Handshake | Phase::Idle => false,
            Phase::Sending => self.unsent.is_empty() && (self.exchange.sent > 0 || !self.transport.has_unsent()),
            Phase::Head | Phase::Body => true,
        }
    }

    /// Whether a low-water mark keeps its events back while bytes of a body arrive.
    pub(crate) fn waits_for_much(&self) -> bool {
        self.phase == Phase::Body && self.transport.low_water() > 1
    }

    /// Sends the head in `buffers.head` and as much of the body as fits.
    pub(crate) fn start(&mut self, outgoing: BodyHeaders, bodies: &Bodies, buffers: &mut Buffers) -> ExchangeProgress {
        self.phase = Phase::Sending;
        self.exchange.layout = outgoing.layout;
        if outgoing.layout.is_chunked() {
            self.stream.get_or_insert_default().begin(outgoing.signer);
        }
        self.unsent.clear();
        self.partial.clear();
        self.alongside.begin(self.exchange.request_spec.op);
        let head = std::mem::take(&mut buffers.head);
        let sent = self.send_once(&head, bodies, buffers);
        let progress = match sent {
            Ok(Sent { bytes, .. }) if bytes < head.len() => {
                self.unsent.extend_from_slice(&head[bytes..]);
                ExchangeProgress::Waiting
            }
            Ok(Sent { bytes, full }) => {
                self.exchange.sent = (bytes - head.len()) as u64;
                if full { ExchangeProgress::Waiting } else { self.send_rest(bodies, buffers) }
            }
            Err(Errno::AGAIN) => {
                self.unsent.extend_from_slice(&head);
                ExchangeProgress::Waiting
            }
            Err(_) => self.broken(),
        };
        buffers.head = head;
        progress
    }

    /// Goes on sending until all is sent or the socket's buffer is full.
    pub(crate) fn send_rest(&mut self, bodies: &Bodies, buffers: &mut Buffers) -> ExchangeProgress {
        while !self.unsent.is_empty() || self.exchange.unsent() || self.transport.has_unsent() {
            let unsent = std::mem::take(&mut self.unsent);
            let sent = self.send_once(&unsent, bodies, buffers);
            self.unsent = unsent;
            match sent {
                Ok(Sent { bytes, full }) => {
                    let of_head = bytes.min(self.unsent.len());
                    self.unsent.drain(..of_head);
                    self.exchange.sent += (bytes - of_head) as u64;
                    if full {
                        return ExchangeProgress::Waiting;
                    }
                }
                Err(Errno::AGAIN) => return ExchangeProgress::Waiting,
                Err(Errno::INTR) => {}
                Err(_) => return self.broken(),
            }
        }
        self.phase = Phase::Head;
        ExchangeProgress::Waiting
    }

    /// One call that sends a head and the next pieces of the body.
    fn send_once(&mut self, head: &[u8], bodies: &Bodies, buffers: &mut Buffers) -> Result<Sent, Errno> {
        // Most requests need few pieces; clearing room for 64 of them would show at 4 KiB.
        let layout = &self.exchange.layout;
        match (layout.is_chunked(), layout.length()) {
            (false, ..=POOL_BYTES) => self.send_pieces::<4>(head, bodies, buffers),
            (true, ..=CHUNK_BYTES) => self.send_pieces::<6>(head, bodies, buffers),
            _ => self.send_pieces::<PIECES>(head, bodies, buffers),
        }
    }

    fn send_pieces<const N: usize>(
        &mut self,
        head: &[u8],
        bodies: &Bodies,
        buffers: &mut Buffers,
    ) -> Result<Sent, Errno> {
        let mut pieces = [IoSlice::new(&[]); N];
        pieces[0] = IoSlice::new(head);
        let mut count = 1;
        let Exchange { request_spec, layout, sent, .. } = &self.exchange;
        match (request_spec.body(), self.stream.as_deref_mut()) {
            (Some(span), Some(stream)) if layout.is_chunked() => {
                let mut chunks = [Piece::Made { start: 0, end: 0 }; N];
                let most = &mut chunks[1..];
                let gathered = stream.gather(*layout, span, *sent, bodies, most, &mut buffers.made);
                for piece in &chunks[1..=gathered] {
                    pieces[count] = IoSlice::new(match *piece {
                        Piece::Pool { offset, length } => bodies.resident(span.size_bytes, offset, length),
                        Piece::Made { start, end } => &buffers.made[start..end],
                    });
                    count += 1;
                }
            }
            (Some(span), _) => {
                let (mut offset, end) = (span.start + sent, span.start + span.length);
                while count < N - 1 {
                    let resident = bodies.resident(span.size_bytes, offset, end - offset);
                    if resident.is_empty() {
                        break;
                    }
                    pieces[count] = IoSlice::new(resident);
                    offset += resident.len() as u64;
                    count += 1;
                }
                let left = (end - offset).min(buffers.made.len() as u64) as usize;
                if left > 0 && bodies.resident(span.size_bytes, offset, 1).is_empty() {
                    bodies.fill(span.id, span.size_bytes, offset, &mut buffers.made[..left]);
                    pieces[count] = IoSlice::new(&buffers.made[..left]);
                    count += 1;
                }
            }
            (None, _) => {}
        }
        self.transport.send(&pieces[..count], &mut buffers.wire)
    }

    /// Takes what has arrived. `now_ns` is the instant at which the event was seen.
    pub(crate) fn receive(&mut self, now_ns: u64, bodies: &Bodies, buffers: &mut Buffers) -> ExchangeProgress {
        loop {
            let result = if self.phase == Phase::Body {
                self.receive_body(bodies, buffers)
            } else {
                self.receive_head(now_ns, bodies, buffers)
            };
            match result {
                // No event follows: the next read says that this was the end.
                Ok(Some(ExchangeProgress::Waiting)) if self.transport.has_ended() => {}
                Ok(Some(progress)) => return progress,
                Ok(None) => {}
                Err(Errno::AGAIN) => return ExchangeProgress::Waiting,
                Err(Errno::INTR) => {}
                Err(_) => return self.broken(),
            }
        }
    }

    fn receive_head(
        &mut self,
        now_ns: u64,
        bodies: &Bodies,
        buffers: &mut Buffers,
    ) -> Result<Option<ExchangeProgress>, Errno> {
        let n = self.transport.read(&mut buffers.input, HEAD_READ_BYTES, &mut buffers.wire)?;
        if n == 0 {
            let answered = self.exchange.first_byte_ns > 0;
            let why = if answered { RequestFailure::Closed } else { RequestFailure::Unanswered };
            return Ok(Some(ExchangeProgress::Failed { why, reusable: false }));
        }
        if self.exchange.first_byte_ns == 0 {
            self.exchange.first_byte_ns = now_ns;
        }
        // A head that comes in parts is put together in the connection's own buffer; one that comes whole stays put.
        let assembled = !self.partial.is_empty();
        if assembled {
            self.partial.extend_from_slice(&buffers.input[..n]);
        }
        let partial = std::mem::take(&mut self.partial);
        let mut bytes = if assembled { &partial[..] } else { &buffers.input[..n] };
        let progress = loop {
            match response::head(bytes, self.exchange.request_spec.op == Op::Stat) {
                Err(why) => {
                    break Some(ExchangeProgress::Failed { why: RequestFailure::Malformed(why), reusable: false });
                }
                Ok(None) => {
                    self.partial.extend_from_slice(bytes);
                    break Some(ExchangeProgress::Waiting);
                }
                Ok(Some(head)) if head.status < 200 => bytes = &bytes[head.head_bytes..],
                Ok(Some(head)) => {
                    self.exchange.begin_reply(&head, &bytes[..head.head_bytes]);
                    let early = self.phase == Phase::Sending;
                    self.phase = Phase::Body;
                    let against = ExpectedBody { bodies, expected: &buffers.expected };
                    break self.take_body(&bytes[head.head_bytes..], early, against, buffers.low_water_max);
                }
            }
            if bytes.is_empty() {
                break Some(ExchangeProgress::Waiting);
            }
        };
        Ok(progress)
    }

    fn receive_body(&mut self, bodies: &Bodies, buffers: &mut Buffers) -> Result<Option<ExchangeProgress>, Errno> {
        if self.exchange.discards() {
            let BodyFraming::Length(length) = self.exchange.framing else { return Ok(None) };
            let left = length - self.exchange.received;
            let n = self.transport.discard(buffers.discard.spare_capacity_mut(), left, &mut buffers.wire)?;
            if n == 0 {
                return Ok(Some(ExchangeProgress::Failed { why: RequestFailure::Closed, reusable: false }));
            }
            let of_body = left.min(n as u64);
            self.exchange.received += of_body;
            let against = ExpectedBody { bodies, expected: &buffers.expected };
            return Ok(Some(self.after_body(n - of_body as usize, against, buffers.low_water_max)));
        }
        let n = self.transport.read(&mut buffers.input, usize::MAX, &mut buffers.wire)?;
        let against = ExpectedBody { bodies, expected: &buffers.expected };
        if n == 0 {
            let whole = self.exchange.framing == BodyFraming::UntilClose && self.transport.ended_by_peer();
            let closed = ExchangeProgress::Failed { why: RequestFailure::Closed, reusable: false };
            return Ok(Some(if whole { self.finish(0, against) } else { closed }));
        }
        Ok(self.take_body(&buffers.input[..n], false, against, buffers.low_water_max))
    }

    /// Takes body bytes that are in memory. `None` where more should be read at once.
    fn take_body(
        &mut self,
        bytes: &[u8],
        early: bool,
        against: ExpectedBody<'_>,
        low_water_max: u64,
    ) -> Option<ExchangeProgress> {
        let (exchange, alongside) = (&mut self.exchange, &mut self.alongside);
        let taken = match exchange.framing {
            BodyFraming::Length(length) => {
                let n = (length - exchange.received).min(bytes.len() as u64) as usize;
                look_at(exchange, &bytes[..n], against, alongside);
                n
            }
            BodyFraming::UntilClose => {
                look_at(exchange, bytes, against, alongside);
                bytes.len()
            }
            BodyFraming::Chunked => {
                let mut chunks = exchange.chunks;
                match chunks.take(bytes, |data| look_at(exchange, data, against, alongside)) {
                    Ok(n) => {
                        exchange.chunks = chunks;
                        n
                    }
                    Err(why) => {
                        return Some(ExchangeProgress::Failed { why: RequestFailure::Malformed(why), reusable: false });
                    }
                }
            }
        };
        // A reply that came before the whole body was sent leaves the rest of the body nowhere to go.
        self.exchange.keep_alive &= !early;
        Some(self.after_body(bytes.len() - taken, against, low_water_max))
    }

    /// What follows once body bytes were taken; `surplus` bytes came after the body.
    fn after_body(&mut self, surplus: usize, against: ExpectedBody<'_>, low_water_max: u64) -> ExchangeProgress {
        if self.exchange.is_too_long() {
            // Not read to its end, which may never come.
            return ExchangeProgress::Failed { why: RequestFailure::LongBody, reusable: false };
        }
        let done = match self.exchange.framing {
            BodyFraming::Length(length) => self.exchange.received == length,
            BodyFraming::Chunked => self.exchange.chunks.done(),
            BodyFraming::UntilClose => false,
        };
        if done {
            return self.finish(surplus, against);
        }
        if self.exchange.discards()
            && let BodyFraming::Length(length) = self.exchange.framing
        {
            let left = self.transport.awaited(length - self.exchange.received);
            if left >= LOW_WATER_FROM_BYTES || left < self.transport.low_water() {
                self.transport.set_low_water(left.min(low_water_max));
            }
        }
        ExchangeProgress::Waiting
    }

    /// The response is whole: what does it say?
    fn finish(&mut self, surplus: usize, against: ExpectedBody<'_>) -> ExchangeProgress {
        self.transport.set_low_water(1);
        let exchange = &self.exchange;
        let lives = self.transport.low_water() == 1 && !self.transport.has_ended();
        let reusable = exchange.keep_alive && surplus == 0 && lives;
        let fail = |why| ExchangeProgress::Failed { why, reusable };
        if surplus > 0 {
            let whole = exchange.request_spec.op == Op::Get && exchange.status == exchange.expected_status();
            return fail(if whole { RequestFailure::LongBody } else { RequestFailure::Malformed(Malformed::Surplus) });
        }
        if let Err(why) = verdict(exchange, &self.alongside, against.expected) {
            return ExchangeProgress::Failed { reusable: reusable && why != RequestFailure::EarlyReply, why };
        }
        let bytes = match exchange.request_spec.op {
            Op::Get => exchange.received,
            Op::Put | Op::Part => exchange.body_sent(),
            Op::Stat | Op::Delete | Op::List | Op::Multipart => 0,
        };
        ExchangeProgress::Done(Success { bytes, first_byte_ns: exchange.first_byte_ns, reusable })
    }

    /// The checksum of the body that was sent, where one followed it.
    pub(crate) fn checksum(&self) -> Option<[u8; 8]> {
        let stream = self.stream.as_deref().filter(|_| self.exchange.layout.has_trailer());
        stream.map(ChunkStream::checksum)
    }

    fn broken(&self) -> ExchangeProgress {
        let why = self.transport.fault().map_or(RequestFailure::Reset, RequestFailure::Tls);
        ExchangeProgress::Failed { why, reusable: false }
    }
}

fn connect_failure(errno: Errno) -> RequestFailure {
    RequestFailure::Connect(why_unconnected(errno))
}
