//! How a client speaks TLS: whom it trusts, and how its failures are called.

mod certificate;
mod certificate_error;
mod words;

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, CommonState, DigitallySignedStruct, Error,
    InvalidMessage, RootCertStore, SignatureScheme, StreamOwned,
};

use crate::deadline::{Deadline, DeadlineSocket};
use certificate::Certificate;
use certificate_error::CertificateFlaw;
pub use words::words;

/// The protocol above TLS, as ALPN names it: a server that would rather speak HTTP/2 must not.
pub const ALPN: &[u8] = b"http/1.1";

/// Sessions that a thread may resume: two tickets for each of many hosts.
const SESSIONS_MAX: usize = 2048;

/// Which certificates are believed.
#[derive(Clone, Debug)]
pub enum Trust {
    /// These, and those that an authority among them vouches for.
    Roots(Vec<CertificateDer<'static>>),
    /// The same, and those that the system trusts: nobody chose these for this server.
    WithSystem {
        given: Vec<CertificateDer<'static>>,
        system: Vec<CertificateDer<'static>>,
    },
    Anything,
}

/// How a client speaks TLS, with whomever.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
}

impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl TlsClient {
    /// TLS 1.2 or 1.3 with whom `trust` believes.
    ///
    /// # Errors
    /// rustls's, which refuses its settings.
    pub fn new(trust: Trust) -> Result<Self, Error> {
        let provider = Arc::new(provider());
        let builder =
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
        let believing = |believed: TrustVerifier| {
            let verifier = Arc::new(believed);
            builder.clone().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        };
        let believed = match trust {
            Trust::Roots(given) => Some((given, Vec::new())),
            Trust::WithSystem { given, system } => Some((given, system)),
            Trust::Anything => None,
        };
        let mut config = match believed {
            Some((chosen, system)) => {
                let given: Vec<_> = chosen.iter().chain(&system).cloned().collect();
                let mut roots = RootCertStore::empty();
                // rustls takes any root for an authority: one that is none must not vouch for others. What cannot be
                // read as a root vouches for nobody: systems keep certificates that no longer can.
                let authorities = given.iter().filter(|one| Certificate::read(one).is_some_and(|it| it.is_authority));
                let _ = roots.add_parsable_certificates(authorities.cloned());
                let issued = if roots.is_empty() {
                    None
                } else {
                    let issued = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
                    Some(issued.build().map_err(|error| Error::General(error.to_string()))?)
                };
                believing(TrustVerifier { provider, given: Some(RootsAndPinned { issued, given, chosen }) })
            }
            None => believing(TrustVerifier { provider, given: None }),
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        // For `records.rs`: keys go nowhere else.
        config.enable_secret_extraction = true;
        config.resumption = Resumption::in_memory_sessions(SESSIONS_MAX);
        Ok(TlsClient { config: Arc::new(config) })
    }

    /// The same with sessions of its own to resume: threads share none, and so wait for none.
    #[must_use]
    pub fn for_thread(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = Resumption::in_memory_sessions(SESSIONS_MAX);
        TlsClient { config: Arc::new(config) }
    }

    /// The client's end of a connection to whoever proves a name.
    ///
    /// # Errors
    /// rustls's, which cannot make one.
    pub fn side(&self, name: &ServerName<'static>) -> Result<UnbufferedClientConnection, Error> {
        UnbufferedClientConnection::new(Arc::clone(&self.config), name.clone())
    }

    /// Shakes hands over a blocking connection with whoever proves a name.
    ///
    /// # Errors
    /// The socket's, and rustls's within one.
    pub fn shake_hands(&self, name: &ServerName<'static>, mut socket: DeadlineSocket) -> io::Result<TlsStream> {
        let client = ClientConnection::new(Arc::clone(&self.config), name.clone());
        let mut client = client.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        while client.is_handshaking() {
            client.complete_io(&mut socket)?;
        }
        Ok(StreamOwned::new(client, socket))
    }
}

/// How a client speaks TLS 1.3 with an end that has no name and proves itself by other means.
pub(crate) fn nameless_client(alpn: &[u8]) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(provider());
    let believed = Arc::new(TrustVerifier { provider: Arc::clone(&provider), given: None });
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13])?;
    let mut config = builder.dangerous().with_custom_certificate_verifier(believed).with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// ring's ciphers, AES-128 before the others: rustls would offer AES-256 first, which costs a processor a quarter more.
/// Clients in Go (warp, mc) and browsers offer them in this order; a server may still choose by its own.
fn provider() -> CryptoProvider {
    let mut provider = ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| !suite.suite().as_str().is_some_and(|name| name.contains("AES_128")));
    provider
}

/// A blocking connection over TLS.
pub type TlsStream = StreamOwned<ClientConnection, DeadlineSocket>;

pub enum Stream {
    Plain(DeadlineSocket),
    /// TLS on one.
    Tls(Box<TlsStream>),
}

impl Stream {
    /// How long it is waited for.
    pub fn deadline(&mut self) -> &mut Deadline {
        match self {
            Stream::Plain(socket) => &mut socket.deadline,
            Stream::Tls(stream) => &mut stream.sock.deadline,
        }
    }
}

/// The peer is told that nothing follows, where its socket takes that within the patience that is left.
impl Drop for Stream {
    fn drop(&mut self) {
        if let Stream::Tls(stream) = self {
            stream.conn.send_close_notify();
            let _ = stream.conn.write_tls(&mut stream.sock);
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(into),
            Stream::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(socket) => socket.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

/// What a handshake agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// `TLSv1.3` or `TLSv1.2`.
    pub version: String,
    /// The cipher suite, as IANA names it.
    pub cipher: String,
}

impl Negotiated {
    /// Of one end of a connection; `None` before it has agreed on anything.
    #[must_use]
    pub fn from_connection(connection: &CommonState) -> Option<Self> {
        let version = format!("{:?}", connection.protocol_version()?).replace('_', ".");
        let cipher = connection.negotiated_cipher_suite()?.suite();
        // rustls writes TLS13_… where IANA writes TLS_….
        let cipher = cipher.as_str().map_or_else(|| format!("{cipher:?}"), |name| name.replacen("TLS13_", "TLS_", 1));
        Some(Negotiated { version, cipher })
    }
}

/// The certificates of a PEM file, at least one.
///
/// # Errors
/// What is wrong with it, in words.
pub fn certificates_in_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    for certificate in &found {
        // rustls reads none of version 1; as a server's own it is believed.
        let is_old = Certificate::read(certificate).is_some_and(|read| read.version < 3);
        let added = roots.add(certificate.clone());
        added.or_else(|error| if is_old { Ok(()) } else { Err(words(&error)) })?;
    }
    if found.is_empty() { Err("it contains no PEM certificate".into()) } else { Ok(found) }
}

/// What the system trusts.
pub type SystemRoots = Vec<CertificateDer<'static>>;

/// The certificates of a file of the system's: what is none there is passed over.
#[must_use]
pub fn roots_in_pem(pem: &[u8]) -> SystemRoots {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}

/// What is wrong, in the few words under which a failure is counted. Few different ones: details that differ from
/// time to time, such as a date, would make a kind of each. `ready` is whether the handshake was done before.
#[must_use]
pub fn fault(error: &Error, ready: bool) -> &'static str {
    use CertificateError as C;
    match error {
        Error::InvalidMessage(_) | Error::PeerSentOversizedRecord if ready => "damaged record",
        Error::InvalidCertificate(why) => match why {
            C::Expired | C::ExpiredContext { .. } => "certificate expired",
            C::NotValidYet | C::NotValidYetContext { .. } => "certificate not yet valid",
            C::UnknownIssuer => "unknown issuer",
            C::BadSignature => "bad signature",
            C::NotValidForName | C::NotValidForNameContext { .. } => "name mismatch",
            C::InvalidPurpose | C::InvalidPurposeContext { .. } => "certificate not for servers",
            _ if is_authority(error) => "certificate is an authority's own",
            _ => CertificateFlaw::in_error(why).map_or("invalid certificate", CertificateFlaw::kind),
        },
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => "the peer does not speak TLS",
        Error::InvalidMessage(_) => "malformed message",
        Error::AlertReceived(alert) => match alert {
            AlertDescription::HandshakeFailure => "refused by the peer: no common cipher",
            AlertDescription::ProtocolVersion => "refused by the peer: protocol version",
            AlertDescription::CertificateRequired => "refused by the peer: it wants a client certificate",
            AlertDescription::UnrecognisedName => "refused by the peer: unknown name",
            AlertDescription::NoApplicationProtocol => "refused by the peer: no HTTP/1.1",
            _ => "alert from the peer",
        },
        Error::PeerIncompatible(_) => "no common version or cipher",
        Error::DecryptError => "damaged record",
        _ => "protocol error",
    }
}

/// Whether a certificate that can issue others was shown as a server's own.
fn is_authority(error: &Error) -> bool {
    // rustls has no kind of its own for it.
    let Error::InvalidCertificate(CertificateError::Other(why)) = error else { return false };
    why.to_string().contains("CaUsedAsEndEntity")
}

/// Holds a certificate that was given itself against the time and the name of the host: whoever gave it has said that
/// it is the server's, whoever issued it and in whatever form.
fn given_itself(certificate: &CertificateDer<'_>, name: &ServerName<'_>, now: UnixTime) -> Result<(), Error> {
    let read = Certificate::read(certificate).ok_or(CertificateError::BadEncoding)?;
    let Certificate { not_before, not_after, .. } = read;
    if now.as_secs() < not_before.as_secs() {
        return Err(CertificateError::NotValidYetContext { time: now, not_before }.into());
    }
    if now.as_secs() > not_after.as_secs() {
        return Err(CertificateError::ExpiredContext { time: now, not_after }.into());
    }
    if read.has_alternative_names {
        return verify_server_name(&ParsedCertificate::try_from(certificate)?, name);
    }
    if read.is_called(name) {
        return Ok(());
    }
    let presented = read.common_name.into_iter().map(str::to_owned).collect();
    Err(CertificateError::NotValidForNameContext { expected: name.to_owned(), presented }.into())
}

/// Verifies the signature of a handshake by a certificate that rustls does not read, and that is believed all the same.
fn verify_by_key(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
    is_tls13: bool,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let key = Certificate::read(certificate).ok_or(CertificateError::BadEncoding)?.key;
    if is_tls13 {
        return verify_tls13_signature_with_raw_key(message, &key.whole(), signature, algorithms);
    }
    let of_scheme = algorithms.mapping.iter().filter(|(scheme, _)| *scheme == signature.scheme);
    let holds = of_scheme.flat_map(|(_, all)| all.iter()).any(|algorithm| {
        algorithm.public_key_alg_id().as_ref() == key.algorithm
            && algorithm.verify_signature(key.bits, message, signature.signature()).is_ok()
    });
    if holds { Ok(HandshakeSignatureValid::assertion()) } else { Err(CertificateError::BadSignature.into()) }
}

/// Holds handshakes against the certificates that servers show, and those against what is believed.
#[derive(Debug)]
struct TrustVerifier {
    provider: Arc<CryptoProvider>,
    /// None where every certificate is believed: for `--insecure`.
    given: Option<RootsAndPinned>,
}

/// Certificates that a root vouches for, and those that were given as roots, where a server shows one as its own: one
/// that an authority issued, of whom nothing was given, or its own issuer, as `openssl req -x509` makes them.
#[derive(Debug)]
struct RootsAndPinned {
    /// None where nobody is believed who could issue one.
    issued: Option<Arc<WebPkiServerVerifier>>,
    given: Vec<CertificateDer<'static>>,
    /// Those of them that the user gave for this server.
    chosen: Vec<CertificateDer<'static>>,
}

impl TrustVerifier {
    /// Verifies the signature of a handshake of TLS 1.2 or 1.3, by rustls where it reads the certificate.
    fn verify_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
        is_tls13: bool,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let held = match ParsedCertificate::try_from(certificate) {
            Ok(_) if is_tls13 => verify_tls13_signature(message, certificate, signature, algorithms),
            Ok(_) => verify_tls12_signature(message, certificate, signature, algorithms),
            Err(_) => verify_by_key(message, certificate, signature, is_tls13, algorithms),
        };
        held.map_err(|error| CertificateFlaw::of_handshake(certificate, &error).map_or(error, Error::from))
    }
}

impl ServerCertVerifier for TrustVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(RootsAndPinned { issued, given, chosen }) = &self.given else {
            return Ok(ServerCertVerified::assertion());
        };
        if given.iter().any(|given| given == end_entity) {
            given_itself(end_entity, server_name, now)?;
            return Ok(ServerCertVerified::assertion());
        }
        let reported = issued.as_ref().map_or(Err(CertificateError::UnknownIssuer.into()), |issued| {
            issued.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        });
        reported.map_err(|error| {
            CertificateFlaw::of_chain(end_entity, intermediates, given, chosen, &error).map_or(error, Error::from)
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(message, certificate, signature, false)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(message, certificate, signature, true)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aes_128_is_offered_first_in_either_version() {
        let offered = provider().cipher_suites;
        assert_eq!(offered.len(), ring::default_provider().cipher_suites.len());
        for tls13 in [true, false] {
            let first = offered.iter().find(|suite| suite.tls13().is_some() == tls13).unwrap();
            assert!(first.suite().as_str().unwrap().contains("AES_128_GCM"), "{first:?}");
        }
    }

    #[test]
    fn files_without_a_certificate_are_refused() {
        let wrong = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for pem in ["", "no PEM at all\n", wrong, key, &wrong[..40]] {
            assert!(certificates_in_pem(pem.as_bytes()).is_err(), "{pem:?}");
        }
    }

    #[test]
    fn kinds_are_few_whatever_the_error_says_of_itself() {
        let time = UnixTime::now();
        let expired = CertificateError::ExpiredContext { time, not_after: time };
        for (error, kind) in [
            (Error::InvalidCertificate(expired), "certificate expired"),
            (Error::General("of the moment".into()), "protocol error"),
            (Error::AlertReceived(AlertDescription::InternalError), "alert from the peer"),
        ] {
            assert_eq!(fault(&error, false), kind, "{error:?}");
        }
        assert_eq!(fault(&Error::InvalidMessage(InvalidMessage::InvalidContentType), true), "damaged record");
    }
}
