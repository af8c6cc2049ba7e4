//! Servers that speak TLS well, badly or not at all, on threads of the test.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, Signer, SingleCertAndKey};
use rustls::{
    HandshakeKind, RootCertStore, ServerConfig, ServerConnection, SignatureAlgorithm, SignatureScheme, StreamOwned,
};

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
    /// The same, and a key of another kind.
    IssuerOfAnotherKind,
    /// Its authority has an RSA key of 1024 bits, and so has what it tells.
    IssuerWithShortKey,
    /// Its own key is one.
    ShortKey,
    /// Its key is not that of its certificate.
    KeyOfAnother,
    /// Its certificate is for clients alone.
    ForClients,
    /// Its certificate was issued with the key of one that is believed and no authority's.
    IssuedByLeaf,
    /// The same of one of X.509 version 1.
    IssuedByVersion1,
    /// Its certificate is one to issue others with.
    AuthorityItself,
    /// Its certificate is its own issuer, as `openssl req -x509` makes them, and the one that is believed.
    SelfSigned,
    /// The same, and it is no authority's.
    SelfSignedLeaf,
    SelfSignedExpired,
    SelfSignedOtherName,
    /// Its certificate names it by its common name alone.
    CommonName,
    /// The same certificate is believed itself, whose authority is not.
    CommonNameGiven,
    OtherCommonNameGiven,
    /// Its certificate is of X.509 version 1.
    Version1,
    Version1Given,
    /// Its certificate is believed itself, whose authority is not.
    LeafGiven,
    LeafGivenExpired,
    /// Answers in plain HTTP.
    PlainHttp,
    /// Accepts and never answers.
    Silent,
    /// Shakes hands, takes what is said and never answers.
    Mute,
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
    /// States no length, ends the TLS connection after the body, and leaves that of TCP open.
    EndsWithoutFin,
    /// States the length, would go on, and ends the TLS connection with the reply; that of TCP stays open.
    EndsKept,
    /// States a length, ends the TLS connection before it, and leaves that of TCP open.
    EndsEarly,
}

/// What a handshake was like.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) name: Option<String>,
    pub(crate) resumed: bool,
    /// How the client ended the connection; none while it goes on.
    pub(crate) reported_end: Option<bool>,
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

    /// How clients ended their connections.
    pub(crate) fn look(&self) -> Vec<Option<bool>> {
        self.seen.lock().expect("nobody panicked").iter().map(|one| one.reported_end).collect()
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

/// An RSA key of 1024 bits: nobody has its private part, and what it signs does not hold.
#[derive(Debug)]
struct ShortRsa(Vec<u8>);

impl ShortRsa {
    fn new() -> Self {
        let modulus = [&[0x02, 0x81, 0x81, 0x00][..], &[0xA5; 128]].concat();
        let numbers = [&modulus[..], &[0x02, 0x03, 0x01, 0x00, 0x01]].concat();
        let length = u8::try_from(numbers.len()).expect("it is short");
        ShortRsa([&[0x30, 0x81, length], &numbers[..]].concat())
    }
}

impl rcgen::PublicKeyData for ShortRsa {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_RSA_SHA256
    }
}

impl rcgen::SigningKey for ShortRsa {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        Ok(vec![0x5A; 128])
    }
}

impl rustls::sign::SigningKey for ShortRsa {
    fn choose_scheme(&self, _: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        Some(Box::new(ShortRsa::new()))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

impl Signer for ShortRsa {
    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        Ok(vec![0x5A; 128])
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::RSA_PSS_SHA256
    }
}

/// What issues certificates under a name, and its own: an authority, or not.
fn issuer(name: &str, is_ca: IsCa, key: KeyPair) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("it is made in order");
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = is_ca;
    CertifiedIssuer::self_signed(params, key).expect("it is made in order")
}

/// The certificate of the manners that have an authority of their own, and what is believed.
fn of_another(manner: Manner, params: &CertificateParams, key: &KeyPair) -> Option<[CertificateDer<'static>; 2]> {
    let generated = || KeyPair::generate().expect("it is made in order");
    let ca = || IsCa::Ca(BasicConstraints::Unconstrained);
    let made = "it is made in order";
    Some(match manner {
        Manner::IssuerOfAnotherKind => {
            let reported = issuer("issuer", ca(), KeyPair::generate_for(&rcgen::PKCS_ED25519).expect(made));
            let shown = params.signed_by(key, &issuer("issuer", ca(), generated())).expect(made);
            [shown.der().clone(), reported.der().clone()]
        }
        Manner::IssuerWithShortKey => {
            let mut of_issuer = CertificateParams::default();
            of_issuer.is_ca = ca();
            let issuer = CertifiedIssuer::self_signed(of_issuer, ShortRsa::new()).expect(made);
            [params.signed_by(key, &issuer).expect(made).der().clone(), issuer.der().clone()]
        }
        Manner::ShortKey => {
            let issuer = issuer("issuer", ca(), generated());
            [params.signed_by(&ShortRsa::new(), &issuer).expect(made).der().clone(), issuer.der().clone()]
        }
        Manner::IssuedByLeaf | Manner::IssuedByVersion1 => {
            let leaf = issuer("elsewhere", IsCa::NoCa, generated());
            let shown = params.signed_by(key, &leaf).expect(made).der().clone();
            let is_old = manner == Manner::IssuedByVersion1;
            [shown, if is_old { of_version_1(leaf.der()) } else { leaf.der().clone() }]
        }
        _ => return None,
    })
}

fn identity(manner: Manner) -> (Arc<ServerConfig>, Vec<CertificateDer<'static>>) {
    let authority = |name: &str| {
        let key = KeyPair::generate().expect("it is made in order");
        issuer(name, IsCa::Ca(BasicConstraints::Unconstrained), key)
    };
    let own_issuer = authority("issuer");
    let reported = authority(if manner == Manner::OtherIssuer { "another" } else { "issuer" });
    let other = matches!(manner, Manner::OtherName | Manner::SelfSignedOtherName);
    let name = if other { "elsewhere" } else { "localhost" };
    let names = if is_nameless(manner) { Vec::new() } else { vec![name.to_owned(), format!("bucket.{name}")] };
    let mut params = CertificateParams::new(names).expect("it is made in order");
    let common_name = if manner == Manner::OtherCommonNameGiven { "elsewhere" } else { "localhost" };
    params.distinguished_name.push(DnType::CommonName, common_name);
    match manner {
        Manner::Expired | Manner::SelfSignedExpired | Manner::LeafGivenExpired => {
            params.not_after = date_time_ymd(2020, 1, 1)
        }
        Manner::ForClients => params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth],
        Manner::NotYetValid => params.not_before = date_time_ymd(2200, 1, 1),
        _ => {}
    }
    let is_leaf = manner == Manner::SelfSignedLeaf;
    let itself =
        is_leaf || matches!(manner, Manner::SelfSigned | Manner::SelfSignedExpired | Manner::SelfSignedOtherName);
    if (itself && !is_leaf) || manner == Manner::AuthorityItself {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate().expect("it is made in order");
    let made = if itself { params.self_signed(&key) } else { params.signed_by(&key, &own_issuer) };
    let certificate = made.expect("it is made in order").der().clone();
    let is_version_1 = matches!(manner, Manner::Version1 | Manner::Version1Given);
    let certificate = if is_version_1 { of_version_1(&certificate) } else { certificate };
    let reported_wrongly = matches!(manner, Manner::OtherIssuer | Manner::IssuerRemade);
    let root = if reported_wrongly { reported.der() } else { own_issuer.der() }.clone();
    let root = if itself || is_given(manner) { certificate.clone() } else { root };
    let [certificate, root] = of_another(manner, &params, &key).unwrap_or([certificate, root]);
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
    let key = if manner == Manner::KeyOfAnother { KeyPair::generate().expect("it is made in order") } else { key };
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("it is made in order");
    let key = ring::default_provider().key_provider.load_private_key(key).expect("it is made in order");
    let key = if manner == Manner::ShortKey { Arc::new(ShortRsa::new()) } else { key };
    // rustls looks into a certificate of its own otherwise, and refuses some.
    let own = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], key));
    let mut config = builder.with_cert_resolver(Arc::new(own));
    config.alpn_protocols = vec![if manner == Manner::NoHttp11 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    (Arc::new(config), vec![root])
}

const fn is_nameless(manner: Manner) -> bool {
    use Manner as M;
    matches!(manner, M::CommonName | M::CommonNameGiven | M::OtherCommonNameGiven)
}

/// Whether the certificate of an authority's making is believed itself.
const fn is_given(manner: Manner) -> bool {
    use Manner as M;
    matches!(
        manner,
        M::CommonNameGiven | M::OtherCommonNameGiven | M::Version1Given | M::LeafGiven | M::LeafGivenExpired
    )
}

/// The certificate without its version and its extensions. Its issuer's signature no longer holds, which nobody looks
/// at who does not believe the issuer.
fn of_version_1(certificate: &CertificateDer<'_>) -> CertificateDer<'static> {
    let outer = elements(inside(certificate));
    let kept = elements(inside(outer[0])).into_iter().filter(|element| !matches!(element[0], 0xA0 | 0xA3));
    let body = sequence(&kept.collect::<Vec<_>>().concat());
    CertificateDer::from(sequence(&[&body, outer[1], outer[2]].concat()))
}

/// How many bytes of an element of DER come before what is in it, and how many there are in all.
fn lengths(element: &[u8]) -> (usize, usize) {
    let digits = usize::from(element[1]).saturating_sub(0x80);
    let of_digits = element[2..2 + digits].iter().fold(0, |sum, &digit| sum << 8 | usize::from(digit));
    let length = if digits == 0 { usize::from(element[1]) } else { of_digits };
    (2 + digits, 2 + digits + length)
}

fn inside(element: &[u8]) -> &[u8] {
    let (before, all) = lengths(element);
    &element[before..all]
}

fn elements(mut content: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !content.is_empty() {
        let (element, rest) = content.split_at(lengths(content).1);
        found.push(element);
        content = rest;
    }
    found
}

fn sequence(content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("a certificate is short").to_be_bytes();
    [&[0x30, 0x82, length[0], length[1]], content].concat()
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
    let name = stream.conn.server_name().map(str::to_owned);
    let place = {
        let mut seen = seen.lock().expect("nobody panicked");
        seen.push(Seen { name, resumed, reported_end: None });
        seen.len() - 1
    };
    if manner == Manner::Mute {
        return io::copy(&mut stream, &mut io::sink()).map(|_| ());
    }
    if manner == Manner::GarbageAfterwards {
        return stream.sock.write_all(&[0x5A; 64]);
    }
    io::copy(&mut Read::by_ref(&mut stream).take(declared), &mut io::sink())?;
    let lengthless = matches!(manner, Manner::EndsProperly | Manner::CutOff | Manner::EndsWithoutFin);
    let length = if method == "PUT" { 0 } else { size_bytes };
    let stated = if lengthless { String::new() } else { format!("Content-Length: {length}\r\n") };
    let goes_on = if manner == Manner::EndsKept { "keep-alive" } else { "close" };
    let mut reply = format!("HTTP/1.1 200 OK\r\n{stated}Connection: {goes_on}\r\n\r\n").into_bytes();
    reply.resize(reply.len() + length - if manner == Manner::EndsEarly { length / 2 } else { 0 }, b'x');
    // All of it in one piece with the end of TLS, where that follows.
    stream.conn.set_buffer_limit(None);
    stream.conn.writer().write_all(&reply)?;
    if manner != Manner::CutOff {
        stream.conn.send_close_notify();
    }
    stream.flush()?;
    if !matches!(manner, Manner::EndsWithoutFin | Manner::EndsKept | Manner::EndsEarly) {
        stream.sock.shutdown(std::net::Shutdown::Write)?;
    }
    // Closing while something is still to be read would reset the connection. An end that TLS was not told of is an
    // error of its own.
    let reported_end = stream.read_to_end(&mut Vec::new()).is_ok();
    if let Some(seen) = seen.lock().expect("nobody panicked").get_mut(place) {
        seen.reported_end = Some(reported_end);
    }
    Ok(())
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
