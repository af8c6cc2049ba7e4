//! The null target: a server that answers as fast as the kernel allows, so that a load's own ceiling can be measured.
//!
//! It stores nothing and checks nothing. The body of a GET is as long as the number after the last `-` of the key says,
//! which ends with the key or at a `/`; that of a PUT is discarded in the kernel. What is measured against it is the
//! client and the loopback.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use linerate_wire::tls_channel::TlsBuffers;
use linerate_wire::transport::Transport;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustls::ServerConfig;
use rustls::server::UnbufferedServerConnection;

use crate::object_id::push_decimal;

/// Body bytes handed to the kernel in one call; stays in a processor's cache.
const BODY_BYTES: usize = 256 << 10;

/// Most bytes asked for while a head is awaited.
const HEAD_READ_BYTES: usize = 8 << 10;

/// Request heads are this long at most.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Highest low-water mark of a body that is discarded.
const LOW_WATER_MAX_BYTES: u64 = 1 << 20;

/// Of what is in every reply, up to the length of its body. Clients of other makers need a date of objects.
const OF_EVERY_REPLY: &str = "\r\nServer: linerate-null\r\nETag: \"null\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 \
                              GMT\r\nContent-Length: ";

const NO_UPLOADS: &str = "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated></ListMultipartUploadsResult>";
const NO_VERSIONS: &str = "<ListVersionsResult><IsTruncated>false</IsTruncated></ListVersionsResult>";
const EMPTY_LIST: &str = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
/// Of the default region: other clients ask before anything else.
const LOCATION: &str = "<LocationConstraint/>";
const CREATED: &str = "<InitiateMultipartUploadResult><UploadId>null</UploadId></InitiateMultipartUploadResult>";
const COMPLETED: &str = "<CompleteMultipartUploadResult><ETag>null</ETag></CompleteMultipartUploadResult>";
const DELETED: &str = "<DeleteResult></DeleteResult>";

/// The key of the eventfd that says that a connection waits to be taken.
const WAKE: u64 = u64::MAX;

/// Serves on `listen` with so many threads until the process ends, over TLS where `tls` says how; `on_listening` gets
/// the address that was bound.
///
/// # Errors
/// The address cannot be bound, or descriptors are used up.
pub fn serve(
    listen: SocketAddr,
    threads: u32,
    tls: Option<Arc<ServerConfig>>,
    on_listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let listener = TcpListener::bind(listen)?;
    let mut hands = Vec::new();
    for i in 0..threads.max(1) {
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (give, take) = channel();
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        let (woken, tls) = (Arc::clone(&wake), tls.clone());
        std::thread::Builder::new()
            .name(format!("null-{i}"))
            .spawn(move || serve_thread(&epoll, &woken, &take, tls.as_ref()))?;
        hands.push((give, wake));
    }
    on_listening(listener.local_addr()?);
    for (i, stream) in listener.incoming().enumerate() {
        let Ok(stream) = stream else { continue };
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let (give, wake) = &hands[i % hands.len()];
        if give.send(OwnedFd::from(stream)).is_ok() {
            rustix::io::write(&**wake, &1u64.to_ne_bytes())?;
        }
    }
    Ok(())
}

/// One connection: a request being read, or a reply being written.
struct Served {
    transport: Transport<UnbufferedServerConnection>,
    /// A head that is not whole yet, and what came after the last one.
    pending: Vec<u8>,
    /// Bytes of a request's body still to be discarded.
    incoming: u64,
    /// The reply that follows once the request's body is in.
    reply: Reply,
    /// Bytes of the reply's head and body still to be sent.
    head: Vec<u8>,
    outgoing: u64,
    wants_out: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reply {
    status: &'static str,
    content_bytes: u64,
    with_body: bool,
    /// First byte of a part of an object, and the length of the whole.
    first_clients_part: Option<(u64, u64)>,
    /// What is sent in place of an object's body.
    document: &'static str,
}

/// Buffers of one thread.
struct Room {
    input: Vec<u8>,
    /// Never written to: the destination of a `recv` that discards.
    discard: Vec<u8>,
    wire: TlsBuffers,
}

fn serve_thread(epoll: &OwnedFd, wake: &OwnedFd, take: &Receiver<OwnedFd>, tls: Option<&Arc<ServerConfig>>) {
    let mut connections: Vec<Option<Served>> = Vec::new();
    let mut events = Vec::with_capacity(256);
    let body = vec![0x5A; BODY_BYTES];
    let mut room =
        Room { input: vec![0; 64 << 10], discard: Vec::with_capacity(64 << 20), wire: TlsBuffers::default() };
    loop {
        events.clear();
        match epoll::wait(epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        for event in events.drain(..) {
            let number = event.data.u64();
            if number == WAKE {
                let _ = rustix::io::read(wake, &mut [0u8; 8]);
                take.try_iter().for_each(|socket| adopt(epoll, &mut connections, socket, tls));
                continue;
            }
            let place = number as usize;
            let Some(served) = connections[place].as_mut() else { continue };
            match step(served, &body, &mut room) {
                Ok(()) => watch(epoll, served, number),
                // Gone, broken or not HTTP: closing takes it out of epoll.
                Err(_) => connections[place] = None,
            }
        }
    }
}

fn adopt(epoll: &OwnedFd, connections: &mut Vec<Option<Served>>, socket: OwnedFd, tls: Option<&Arc<ServerConfig>>) {
    let Ok(side) = tls.map(|config| UnbufferedServerConnection::new(Arc::clone(config))).transpose() else { return };
    let place = connections.iter().position(Option::is_none).unwrap_or(connections.len());
    if epoll::add(epoll, &socket, EventData::new_u64(place as u64), EventFlags::IN).is_err() {
        return;
    }
    let reply = Reply { status: "", content_bytes: 0, with_body: false, first_clients_part: None, document: "" };
    let (pending, head) = (Vec::new(), Vec::new());
    let transport = Transport::new(socket, side);
    let served = Served { transport, pending, incoming: 0, reply, head, outgoing: 0, wants_out: false };
    if place == connections.len() {
        connections.push(Some(served));
    } else {
        connections[place] = Some(served);
    }
}

fn watch(epoll: &OwnedFd, served: &mut Served, number: u64) {
    let wants_out = has_more(served);
    if wants_out != served.wants_out {
        let flags = if wants_out { EventFlags::OUT } else { EventFlags::IN };
        if epoll::modify(epoll, &served.transport, EventData::new_u64(number), flags).is_ok() {
            served.wants_out = wants_out;
        }
    }
}

/// Does what can be done now. An error means that the connection is to be closed.
fn step(served: &mut Served, body: &[u8], room: &mut Room) -> Result<(), Errno> {
    loop {
        if has_more(served) {
            match send(served, body, &mut room.wire) {
                Err(Errno::AGAIN) => return Ok(()),
                other => other?,
            }
        } else if served.incoming > 0 {
            match served.transport.discard(room.discard.spare_capacity_mut(), served.incoming, &mut room.wire) {
                Ok(0) => return Err(Errno::PIPE),
                Ok(n) => served.incoming = served.incoming.saturating_sub(n as u64),
                Err(Errno::AGAIN) => return Ok(()),
                Err(errno) => return Err(errno),
            }
            expect_body(served);
            if served.incoming > 0 {
                return Ok(());
            }
            start_reply(served);
        } else {
            match served.transport.read(&mut room.input, HEAD_READ_BYTES, &mut room.wire) {
                Ok(0) => return Err(Errno::PIPE),
                Ok(n) => served.pending.extend_from_slice(&room.input[..n]),
                Err(Errno::AGAIN) => return Ok(()),
                Err(errno) => return Err(errno),
            }
            if !take_request(served)? {
                return Ok(());
            }
        }
    }
}

/// Sets the low-water mark to what is left of a body, and back to 1 behind it.
fn expect_body(served: &mut Served) {
    let awaited = served.transport.awaited(served.incoming);
    let mark = if awaited < 32 << 10 { 1 } else { awaited.min(LOW_WATER_MAX_BYTES) };
    served.transport.set_low_water(mark);
}

/// Takes a whole request head off `pending`; `false` where it is not whole.
fn take_request(served: &mut Served) -> Result<bool, Errno> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let head_bytes = match request.parse(&served.pending) {
        Ok(httparse::Status::Complete(n)) => n,
        Ok(httparse::Status::Partial) if served.pending.len() < HEAD_BYTES_MAX => return Ok(false),
        _ => return Err(Errno::PROTO),
    };
    let value = |name: &str| request.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name)).map(|h| h.value);
    let text = |name| value(name).and_then(|v| std::str::from_utf8(v).ok());
    let length = text("content-length").and_then(|v| v.trim().parse::<u64>().ok()).unwrap_or(0);
    served.reply = answer(request.method.unwrap_or(""), request.path.unwrap_or(""), text("range"));
    let (had, after) = (served.pending.len(), head_bytes);
    let arrived = ((had - after) as u64).min(length);
    served.pending.drain(..after + arrived as usize);
    served.incoming = length - arrived;
    if served.incoming > 0 {
        expect_body(served);
    } else {
        start_reply(served);
    }
    Ok(true)
}

/// What a request gets.
fn answer(method: &str, target: &str, range: Option<&str>) -> Reply {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let size_bytes = path.rsplit_once('-').and_then(|(_, rest)| rest.split('/').next()?.parse().ok()).unwrap_or(0);
    let reply = |status, content_bytes, with_body| Reply {
        status,
        content_bytes,
        with_body,
        first_clients_part: None,
        document: "",
    };
    match method {
        "GET" if query.contains("list-type") => Reply { document: EMPTY_LIST, ..reply("200 OK", 0, false) },
        "GET" if query.contains("location=") => Reply { document: LOCATION, ..reply("200 OK", 0, false) },
        "GET" if query.contains("uploads=") => Reply { document: NO_UPLOADS, ..reply("200 OK", 0, false) },
        "GET" if query.contains("versions=") => Reply { document: NO_VERSIONS, ..reply("200 OK", 0, false) },
        "POST" if query.contains("uploads") => Reply { document: CREATED, ..reply("200 OK", 0, false) },
        "POST" if query.contains("uploadId") => Reply { document: COMPLETED, ..reply("200 OK", 0, false) },
        "POST" if query.contains("delete=") => Reply { document: DELETED, ..reply("200 OK", 0, false) },
        "GET" => match range.and_then(range_bytes) {
            // A range beyond the object is answered with the whole of it, as one that makes no sense is.
            Some((first, bytes)) if first.saturating_add(bytes) <= size_bytes => {
                Reply { first_clients_part: Some((first, size_bytes)), ..reply("206 Partial Content", bytes, true) }
            }
            _ => reply("200 OK", size_bytes, true),
        },
        "HEAD" => reply("200 OK", size_bytes, false),
        "DELETE" => reply("204 No Content", 0, false),
        _ => reply("200 OK", 0, false),
    }
}

/// First byte and length of `bytes=A-B`.
fn range_bytes(range: &str) -> Option<(u64, u64)> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    Some((first, last.checked_sub(first)?.checked_add(1)?))
}

fn start_reply(served: &mut Served) {
    let reply = served.reply;
    let content_bytes = reply.content_bytes + reply.document.len() as u64;
    let head = &mut served.head;
    head.clear();
    for part in ["HTTP/1.1 ", reply.status, OF_EVERY_REPLY] {
        head.extend_from_slice(part.as_bytes());
    }
    push_decimal(content_bytes, head);
    if let Some((first, whole)) = reply.first_clients_part {
        head.extend_from_slice(b"\r\nContent-Range: bytes ");
        push_decimal(first, head);
        head.push(b'-');
        push_decimal((first + content_bytes).saturating_sub(1), head);
        head.push(b'/');
        push_decimal(whole, head);
    }
    head.extend_from_slice(b"\r\n\r\n");
    head.extend_from_slice(reply.document.as_bytes());
    served.outgoing = if reply.with_body { reply.content_bytes } else { 0 };
}

/// Whether something is still to be sent.
fn has_more(served: &Served) -> bool {
    served.outgoing > 0 || !served.head.is_empty() || served.transport.has_unsent()
}

fn send(served: &mut Served, body: &[u8], wire: &mut TlsBuffers) -> Result<(), Errno> {
    let piece = served.outgoing.min(body.len() as u64) as usize;
    let parts = [io::IoSlice::new(&served.head), io::IoSlice::new(&body[..piece])];
    let sent = served.transport.send(&parts, wire)?;
    let of_head = sent.bytes.min(served.head.len());
    served.head.drain(..of_head);
    served.outgoing -= (sent.bytes - of_head) as u64;
    if sent.full { Err(Errno::AGAIN) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_follow_the_key_and_the_range() {
        for (method, target, range, status, bytes, with_body, first_clients_part) in [
            ("GET", "/b/x-4096", None, "200 OK", 4096, true, None),
            ("GET", "/b/x-4096", Some("bytes=0-99"), "206 Partial Content", 100, true, Some((0, 4096))),
            ("GET", "/b/x-4096", Some("bytes=9-4095"), "206 Partial Content", 4087, true, Some((9, 4096))),
            ("GET", "/b/x-4096", Some("bytes=9-4096"), "200 OK", 4096, true, None),
            ("GET", "/b/x-4096", Some("bytes=9-1"), "200 OK", 4096, true, None),
            ("GET", "/b/x-4096", Some("bytes=1-18446744073709551615"), "200 OK", 4096, true, None),
            ("GET", "/b/x-4096/8.ab%28c.rnd", None, "200 OK", 4096, true, None),
            ("GET", "/b-c/8/x", None, "200 OK", 0, true, None),
            ("GET", "/b/x", None, "200 OK", 0, true, None),
            ("HEAD", "/b/x-7", None, "200 OK", 7, false, None),
            ("DELETE", "/b/x-7", None, "204 No Content", 0, false, None),
            ("PUT", "/b/x-7", None, "200 OK", 0, false, None),
        ] {
            let expected = Reply { status, content_bytes: bytes, with_body, first_clients_part, document: "" };
            assert_eq!(answer(method, target, range), expected, "{method} {target} {range:?}");
        }
        for (method, target, document) in [
            ("GET", "/b?list-type=2&prefix=a-5", EMPTY_LIST),
            ("GET", "/b?max-uploads=1000&prefix=a-5&uploads=", NO_UPLOADS),
            ("GET", "/b?max-keys=1000&prefix=a-5&versions=", NO_VERSIONS),
            ("GET", "/b/?location=", LOCATION),
            ("POST", "/b/x-7?uploads=", CREATED),
            ("PUT", "/b/x-7?partNumber=1&uploadId=null", ""),
            ("POST", "/b/x-7?uploadId=null", COMPLETED),
            ("DELETE", "/b/x-7?uploadId=null", ""),
            ("POST", "/b?delete=", DELETED),
        ] {
            assert_eq!(answer(method, target, None).document, document, "{method} {target}");
        }
    }
}
