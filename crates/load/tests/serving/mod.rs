//! Servers that speak TLS well, badly or not at all, on threads of the test.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{HandshakeKind, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Well, and closes after each reply.
    Good,
    /// Well, with TLS 1.2 only.
    Tls12,
    Expired,
    NotYetValid,
    OtherName,
    /// Its authority is not the one that it tells.
    OtherIssuer,
    /// Its authority has the name of the one that it tells, and another key.
    IssuerRemade,
    /// Its certificate is one to issue others with.
    AuthorityItself,
    /// Its certificate is its own issuer, as `openssl req -x509` makes them, and the one that is believed.
    SelfSigned,
    SelfSignedExpired,
    SelfSignedOtherName,
    /// Answers in plain HTTP.
    PlainHttp,
    /// Accepts and never answers.
    Silent,
    /// Accepts and closes.
    Closes,
    /// Reads what the client says first, and closes.
    ClosesAfterHello,
    WantsClientCertificate,
    /// Speaks HTTP/2 alone.
    NoHttp11,
    /// Shakes hands, and sends what is no record.
    GarbageAfterwards,
    /// States no length, and ends the TLS connection after the body.
    EndsProperly,
    /// States no length, and ends the TCP connection after the body.
    CutOff,
}

/// What a handshake was like.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) name: Option<String>,
    pub(crate) resumed: bool,
}

/// A server; its thread ends with the process.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) roots: Vec<CertificateDer<'static>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Served {
    /// The handshakes until now.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().expect("nobody panicked"))
    }
}

pub(crate) fn serve(manner: Manner) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback");
    let address = listener.local_addr().expect("it is bound");
    let (config, roots) = identity(manner);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let (config, noted) = (Arc::clone(&config), Arc::clone(&noted));
            // What goes wrong is for the client to tell.
            std::thread::spawn(move || drop(answer(manner, socket, config, &noted)));
        }
    });
    Served { address, roots, seen }
}

fn identity(manner: Manner) -> (Arc<ServerConfig>, Vec<CertificateDer<'static>>) {
    let authority = |name: &str| {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("it is made in order"))
            .expect("it is made in order")
    };
    let issuer = authority("issuer");
    let told = authority(if manner == Manner::OtherIssuer { "another" } else { "issuer" });
    let other = matches!(manner, Manner::OtherName | Manner::SelfSignedOtherName);
    let name = if other { "elsewhere" } else { "localhost" };
    let mut params =
        CertificateParams::new(vec![name.to_owned(), format!("bucket.{name}")]).expect("it is made in order");
    match manner {
        Manner::Expired | Manner::SelfSignedExpired => params.not_after = date_time_ymd(2020, 1, 1),
        Manner::NotYetValid => params.not_before = date_time_ymd(2200, 1, 1),
        _ => {}
    }
    let itself = matches!(manner, Manner::SelfSigned | Manner::SelfSignedExpired | Manner::SelfSignedOtherName);
    if itself || manner == Manner::AuthorityItself {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate().expect("it is made in order");
    let made = if itself { params.self_signed(&key) } else { params.signed_by(&key, &issuer) };
    let certificate = made.expect("it is made in order").der().clone();
    let told_wrongly = matches!(manner, Manner::OtherIssuer | Manner::IssuerRemade);
    let root = if told_wrongly { told.der() } else { issuer.der() }.clone();
    let root = if itself { certificate.clone() } else { root };
    let provider = Arc::new(ring::default_provider());
    let versions: &[_] = match manner {
        Manner::Tls12 => &[&rustls::version::TLS12],
        _ => rustls::DEFAULT_VERSIONS,
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("it is made in order");
    let builder = if manner == Manner::WantsClientCertificate {
        let mut roots = RootCertStore::empty();
        roots.add(root.clone()).expect("it is made in order");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .expect("it is made in order");
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("it is made in order");
    let mut config = builder.with_single_cert(vec![certificate], key).expect("it is made in order");
    config.alpn_protocols = vec![if manner == Manner::NoHttp11 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    (Arc::new(config), vec![root])
}

fn answer(manner: Manner, mut socket: TcpStream, config: Arc<ServerConfig>, seen: &Mutex<Vec<Seen>>) -> io::Result<()> {
    socket.set_read_timeout(Some(Duration::from_secs(20)))?;
    match manner {
        Manner::Silent => return socket.read_to_end(&mut Vec::new()).map(|_| ()),
        Manner::Closes => return Ok(()),
        Manner::ClosesAfterHello => return socket.read(&mut [0; 16 << 10]).map(|_| ()),
        Manner::PlainHttp => {
            let _ = socket.read(&mut [0; 16 << 10])?;
            return socket.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
        _ => {}
    }
    let mut stream = StreamOwned::new(ServerConnection::new(config).map_err(io::Error::other)?, socket);
    let (method, size_bytes, declared) = read_request(&mut stream)?;
    let resumed = stream.conn.handshake_kind() == Some(HandshakeKind::Resumed);
    seen.lock().expect("nobody panicked").push(Seen { name: stream.conn.server_name().map(str::to_owned), resumed });
    if manner == Manner::GarbageAfterwards {
        return stream.sock.write_all(&[0x5A; 64]);
    }
    io::copy(&mut Read::by_ref(&mut stream).take(declared), &mut io::sink())?;
    let lengthless = matches!(manner, Manner::EndsProperly | Manner::CutOff);
    let length = if method == "PUT" { 0 } else { size_bytes };
    let stated = if lengthless { String::new() } else { format!("Content-Length: {length}\r\n") };
    stream.write_all(format!("HTTP/1.1 200 OK\r\n{stated}Connection: close\r\n\r\n").as_bytes())?;
    stream.write_all(&vec![b'x'; length])?;
    if manner != Manner::CutOff {
        stream.conn.send_close_notify();
    }
    stream.flush()?;
    stream.sock.shutdown(std::net::Shutdown::Write)?;
    // Closing while something is still to be read would reset the connection.
    stream.sock.read_to_end(&mut Vec::new()).map(|_| ())
}

/// Method, the size that the key names, and the length of the request's body.
fn read_request(stream: &mut impl Read) -> io::Result<(String, usize, u64)> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let size_bytes = path.rsplit_once('-').and_then(|(_, size)| size.parse().ok()).unwrap_or(0);
    let declared = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok()).unwrap_or(0);
    Ok((method.to_owned(), size_bytes, declared))
}
