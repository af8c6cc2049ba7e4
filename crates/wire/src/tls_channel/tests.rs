use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustls::{AlertDescription, ContentType};

use super::*;
use crate::identity;
use crate::tls::{TlsClient, Trust, certificates_in_pem};

/// Both ends of a connection, and the sockets between which the test carries what they say.
struct Ends {
    client: Channel<UnbufferedClientConnection>,
    server: Channel<UnbufferedServerConnection>,
    /// The client's socket, and the other end of it.
    of_client: [UnixStream; 2],
    of_server: [UnixStream; 2],
    wire: TlsBuffers,
}

impl Ends {
    fn new() -> Self {
        let identity = identity::make([127, 0, 0, 1].into()).unwrap();
        let trust = Trust::Roots(certificates_in_pem(identity.ca_pem.as_bytes()).unwrap());
        let tls = TlsClient::new(trust).unwrap();
        let pair = || {
            let (a, b) = UnixStream::pair().unwrap();
            b.set_nonblocking(true).unwrap();
            [a, b]
        };
        Ends {
            client: Channel::new(tls.side(&"localhost".try_into().unwrap()).unwrap()),
            server: Channel::new(UnbufferedServerConnection::new(Arc::clone(&identity.config)).unwrap()),
            of_client: pair(),
            of_server: pair(),
            wire: TlsBuffers::default(),
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
    for lengths in [&[1][..], &[100, 16_284], &[100, 16_285, 16], &[600, 262_144, 262_144, 40_000, 16], &[0, 500_000]] {
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

/// rustls's own end of a connection, which renews its keys and has tickets, and ours.
fn with_rustls() -> (TlsClient, Arc<rustls::ServerConfig>) {
    let identity = identity::make([127, 0, 0, 1].into()).unwrap();
    let trust = Trust::Roots(certificates_in_pem(identity.ca_pem.as_bytes()).unwrap());
    (TlsClient::new(trust).unwrap(), identity.config)
}

/// Takes and sends what rustls has to.
fn pump(server: &mut rustls::ServerConnection, socket: &mut UnixStream) {
    let _ = server.read_tls(socket);
    server.process_new_packets().unwrap();
    while server.wants_write() {
        server.write_tls(socket).unwrap();
    }
}

#[test]
fn sessions_are_resumed_and_keys_renewed_with_rustls_at_the_other_end() {
    let (tls, config) = with_rustls();
    for kind in [rustls::HandshakeKind::Full, rustls::HandshakeKind::Resumed] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let mut server = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let side = tls.side(&"localhost".try_into().unwrap()).unwrap();
        let (mut client, mut wire) = (Channel::new(side), TlsBuffers::default());
        while !client.shake_hands(ours.as_fd(), &mut wire).unwrap() || server.is_handshaking() {
            pump(&mut server, &mut theirs);
        }
        assert_eq!(server.handshake_kind(), Some(kind));
        let mut into = vec![0; 64 << 10];
        // Tickets are no data.
        assert_eq!(client.read(ours.as_fd(), &mut into, 1, &mut wire), Err(Errno::AGAIN));
        let RecordLayer::Records(records) = &mut client.keeper else { panic!("rustls goes on") };
        records.seal_at_most(5);
        for round in 0..20u8 {
            let data = vec![round; 20_000];
            let sent = client.send(ours.as_fd(), &[IoSlice::new(&data)], &mut wire).unwrap();
            assert!(sent.bytes == data.len() && !sent.full);
            let mut got = Vec::new();
            while got.len() < data.len() {
                pump(&mut server, &mut theirs);
                let _ = server.reader().read_to_end(&mut got);
            }
            assert_eq!(got, data);
            if round % 3 == 0 {
                server.refresh_traffic_keys().unwrap();
            }
            server.writer().write_all(&data[..100]).unwrap();
            pump(&mut server, &mut theirs);
            assert_eq!(client.read(ours.as_fd(), &mut into, 1, &mut wire), Ok(100), "round {round}");
            assert_eq!(into[..100], data[..100]);
        }
    }
}

#[test]
fn new_keys_are_made_where_the_peer_asks_and_other_messages_are_faults() {
    let open = |ends: &mut Ends, bytes: &[u8]| {
        ends.of_client[1].write_all(bytes).unwrap();
        ends.client.read(ends.of_client[0].as_fd(), &mut [0; 64 << 10], 1, &mut ends.wire)
    };
    let ready = || {
        let mut ends = Ends::new();
        ends.shake_hands(1 << 20);
        // Tickets are behind it.
        let read = ends.client.read(ends.of_client[0].as_fd(), &mut [0; 64 << 10], 1, &mut ends.wire);
        assert_eq!(read, Err(Errno::AGAIN));
        ends
    };
    let mut ends = ready();
    let RecordLayer::Records(server) = &mut ends.server.keeper else { panic!("rustls goes on") };
    let requested = server.ask_for_keys();
    assert_eq!(open(&mut ends, &requested), Err(Errno::AGAIN));
    for text in ["first", "second"] {
        ends.client.send(ends.of_client[0].as_fd(), &[IoSlice::new(text.as_bytes())], &mut ends.wire).unwrap();
        let carried = carry(&ends.of_client[1], &ends.of_server[1], 1 << 20);
        // A record has 22 bytes beside its data, and that of new keys is 27 bytes long.
        assert_eq!(carried, text.len() + 22 + if text == "first" { 27 } else { 0 });
        let mut into = vec![0; 64 << 10];
        let n = ends.server.read(ends.of_server[0].as_fd(), &mut into, 1, &mut ends.wire).unwrap();
        assert_eq!(&into[..n], text.as_bytes());
    }
    let said: [(&[u8], &str); 5] = [
        (&[24, 0, 0, 1, 2], "damaged record"),
        (&[24, 0, 0, 1, 0, 4], "protocol error"),
        (&[1, 0, 0, 0], "protocol error"),
        (&[4, 1, 0, 1], "damaged record"),
        (&[4, 0, 0, 1, 0], "damaged record"),
    ];
    for (message, fault) in said {
        let mut ends = ready();
        let RecordLayer::Records(server) = &mut ends.server.keeper else { panic!("rustls goes on") };
        let sealed = server.seal_message(message);
        assert_eq!(open(&mut ends, &sealed), Err(Errno::PROTO), "{message:?}");
        assert_eq!(ends.client.fault(), Some(fault), "{message:?}");
    }
    for header in [[22, 3, 3, 0, 1], [21, 3, 3, 0, 2], [20, 3, 3, 0, 1], [23, 3, 3, 0x41, 1]] {
        let mut ends = ready();
        assert_eq!(open(&mut ends, &header), Err(Errno::PROTO), "{header:?}");
        assert_eq!(ends.client.fault(), Some("damaged record"), "{header:?}");
    }
}

/// A server of ours and rustls's client, whose end of the handshake is made and not yet sent.
struct Greeted {
    client: rustls::ClientConnection,
    theirs: UnixStream,
    server: Channel<UnbufferedServerConnection>,
    ours: UnixStream,
    into: Vec<u8>,
    wire: TlsBuffers,
}

fn greeted() -> Greeted {
    let identity = identity::make([127, 0, 0, 1].into()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(certificates_in_pem(identity.ca_pem.as_bytes()).unwrap());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let mut client = rustls::ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut server = Channel::new(UnbufferedServerConnection::new(Arc::clone(&identity.config)).unwrap());
    let (mut into, mut wire) = (vec![0; 64 << 10], TlsBuffers::default());
    client.write_tls(&mut theirs).unwrap();
    assert_eq!(server.read(ours.as_fd(), &mut into, 1, &mut wire), Err(Errno::AGAIN));
    client.read_tls(&mut theirs).unwrap();
    client.process_new_packets().unwrap();
    Greeted { client, theirs, server, ours, into, wire }
}

/// All that the client has to send.
fn flight_of(client: &mut rustls::ClientConnection) -> Vec<u8> {
    let mut flight = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut flight).unwrap();
    }
    flight
}

#[test]
fn new_keys_that_are_asked_for_beside_the_end_of_the_handshake_are_made() {
    let Greeted { mut client, mut theirs, mut server, ours, mut into, mut wire } = greeted();
    // In one piece: the end of the handshake, the wish for new keys, and data under its own new ones.
    client.refresh_traffic_keys().unwrap();
    client.writer().write_all(b"asked").unwrap();
    let flight = flight_of(&mut client);
    theirs.write_all(&flight).unwrap();
    assert_eq!(server.read(ours.as_fd(), &mut into, 1, &mut wire), Ok(5));
    assert_eq!(into[..5], *b"asked");
    server.send(ours.as_fd(), &[IoSlice::new(b"answered")], &mut wire).unwrap();
    let mut got = [0; 8];
    client.read_tls(&mut theirs).unwrap();
    client.process_new_packets().expect("sealed with the keys that were asked for");
    client.reader().read_exact(&mut got).unwrap();
    assert_eq!(got, *b"answered");
}

/// What the server's end reads of an alert that the client has sent.
fn alert_of(ends: &mut Ends) -> Option<AlertDescription> {
    let mut bytes = vec![0; 64 << 10];
    let n = ends.of_client[1].read(&mut bytes).unwrap_or(0);
    let RecordLayer::Records(server) = &mut ends.server.keeper else { panic!("rustls goes on") };
    match server.open(&mut bytes[..n], &mut |_| {}) {
        Err(Error::AlertReceived(why)) => Some(why),
        _ => None,
    }
}

/// The numbers that RFC 8446 has for each in sections 4.6.3, 5.1, 5.2, 5.4 and 6.
#[test]
fn alerts_have_the_numbers_of_the_rfc() {
    use AlertDescription as Alert;
    use ContentType as Type;
    let damaged = |server: &mut TlsRecords<ServerConnectionData>| {
        let mut record = server.seal_as(Type::ApplicationData, b"data");
        *record.last_mut().unwrap() ^= 1;
        record
    };
    type Say = Box<dyn Fn(&mut TlsRecords<ServerConnectionData>) -> Vec<u8>>;
    let sealed = |typ: Type, bytes: &'static [u8]| -> Say { Box::new(move |server| server.seal_as(typ, bytes)) };
    let bare = |bytes: &'static [u8]| -> Say { Box::new(move |_| bytes.to_vec()) };
    let cases: [(&str, Say, Alert); 14] = [
        ("a bad tag", Box::new(damaged), Alert::BadRecordMac),
        ("a record too long", bare(&[23, 3, 3, 0x41, 1]), Alert::RecordOverflow),
        ("more data than a record has", sealed(Type::ApplicationData, &[0; (16 << 10) + 1]), Alert::RecordOverflow),
        ("a plain alert", bare(&[21, 3, 3, 0, 2, 1, 0]), Alert::UnexpectedMessage),
        ("a change of ciphers", bare(&[20, 3, 3, 0, 1, 1]), Alert::UnexpectedMessage),
        ("a sealed change of ciphers", sealed(Type::ChangeCipherSpec, &[1]), Alert::UnexpectedMessage),
        ("an empty handshake record", sealed(Type::Handshake, &[]), Alert::UnexpectedMessage),
        ("an empty alert", sealed(Type::Alert, &[]), Alert::UnexpectedMessage),
        ("an alert of three bytes", sealed(Type::Alert, &[1, 0, 0]), Alert::DecodeError),
        ("a request of a certificate", sealed(Type::Handshake, &[13, 0, 0, 3, 0, 0, 0]), Alert::UnexpectedMessage),
        ("a key update of no kind", sealed(Type::Handshake, &[24, 0, 0, 1, 2]), Alert::IllegalParameter),
        ("a key update of two bytes", sealed(Type::Handshake, &[24, 0, 0, 2, 0, 0]), Alert::DecodeError),
        ("a message behind new keys", sealed(Type::Handshake, &[24, 0, 0, 1, 0, 4]), Alert::UnexpectedMessage),
        ("a ticket cut short", sealed(Type::Handshake, &[4, 0, 0, 1, 0]), Alert::DecodeError),
    ];
    for (what, say, alert) in cases {
        let mut ends = Ends::new();
        ends.shake_hands(1 << 20);
        let mut into = [0; 64 << 10];
        // Tickets are behind it.
        assert_eq!(ends.client.read(ends.of_client[0].as_fd(), &mut into, 1, &mut ends.wire), Err(Errno::AGAIN));
        let RecordLayer::Records(server) = &mut ends.server.keeper else { panic!("rustls goes on") };
        let said = say(server);
        ends.of_client[1].write_all(&said).unwrap();
        let read = ends.client.read(ends.of_client[0].as_fd(), &mut into, 64 << 10, &mut ends.wire);
        assert_eq!((read, alert_of(&mut ends)), (Err(Errno::PROTO), Some(alert)), "{what}");
        // Who broke off says no more.
        ends.client.end(ends.of_client[0].as_fd());
        assert_eq!(ends.of_client[1].read(&mut into).map_err(|e| e.kind()), Err(std::io::ErrorKind::WouldBlock));
    }
}

#[test]
fn an_alert_of_what_came_with_the_end_of_the_handshake_is_sent() {
    let Greeted { mut client, mut theirs, mut server, ours, mut into, mut wire } = greeted();
    let mut flight = flight_of(&mut client);
    // A record that is none of TLS 1.3, in one piece with the end of the handshake.
    flight.extend_from_slice(&[22, 3, 3, 0, 1, 0]);
    theirs.write_all(&flight).unwrap();
    assert_eq!(server.read(ours.as_fd(), &mut into, 1, &mut wire), Err(Errno::PROTO));
    client.read_tls(&mut theirs).unwrap();
    let reported = client.process_new_packets().map(|_| ());
    assert_eq!(reported, Err(Error::AlertReceived(AlertDescription::UnexpectedMessage)));
}
