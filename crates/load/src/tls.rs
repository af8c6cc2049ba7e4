//! Whom a TLS connection trusts, under which names, and how its failures are called.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, CommonState, DigitallySignedStruct, Error,
    InvalidMessage, RootCertStore, SignatureScheme, StreamOwned,
};

use crate::bucket::{Patience, Patient};
use crate::hosts::Host;
use crate::session::Lookup;

/// The protocol above TLS, as ALPN names it: a server that would rather speak HTTP/2 must not.
pub(crate) const ALPN: &[u8] = b"http/1.1";

/// Sessions that a thread may resume: two tickets for each of many hosts.
const SESSIONS_MAX: usize = 2048;

/// Which certificates are believed.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those that one of these vouches for, and these.
    Roots(Vec<CertificateDer<'static>>),
    /// All.
    Anything,
}

/// TLS that could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A name that no certificate can be held against.
    #[error("host {0:?} cannot be named in TLS: write a DNS name or an address (with --lookup host, a DNS name)")]
    Name(String),
    /// rustls refuses its settings.
    #[error("TLS could not be set up: {0}")]
    Setup(#[from] Error),
}

/// How the client speaks TLS with the hosts of a session.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    /// The name that each host must prove, by its number.
    names: Vec<ServerName<'static>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Tls {
    /// TLS 1.2 or 1.3 with each host under its own name, or under `bucket.name` where the bucket is named in the host.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn new(trust: Trust, hosts: &[Host], lookup: Lookup, bucket: &str) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
        let believing = |believed: Believed| {
            let verifier = Arc::new(believed);
            builder.clone().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        };
        let mut config = match trust {
            Trust::Roots(given) => {
                let mut roots = RootCertStore::empty();
                // What cannot be read as a root vouches for nobody: systems keep certificates that no longer can.
                let _ = roots.add_parsable_certificates(given.iter().cloned());
                if roots.is_empty() {
                    builder.clone().with_root_certificates(roots).with_no_client_auth()
                } else {
                    let issued = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
                    let issued = issued.build().map_err(|error| Error::General(error.to_string()))?;
                    believing(Believed { provider, given: Some(IssuedOrGiven { issued, given }) })
                }
            }
            Trust::Anything => believing(Believed { provider, given: None }),
        };
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::in_memory_sessions(SESSIONS_MAX);
        let names = hosts.iter().map(|host| server_name(host, lookup, bucket)).collect::<Result<_, _>>()?;
        Ok(Tls { config: Arc::new(config), names })
    }

    /// The same with sessions of its own to resume: threads share none, and so wait for none.
    pub(crate) fn for_thread(&self) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = Resumption::in_memory_sessions(SESSIONS_MAX);
        Tls { config: Arc::new(config), names: self.names.clone() }
    }

    /// The client's end of a connection to a host.
    pub(crate) fn client(&self, host: usize) -> Result<UnbufferedClientConnection, Error> {
        UnbufferedClientConnection::new(Arc::clone(&self.config), self.names[host].clone())
    }

    /// Shakes hands over a blocking connection to a host.
    pub(crate) fn shake_hands(&self, host: usize, mut socket: Patient) -> io::Result<TlsStream> {
        let client = ClientConnection::new(Arc::clone(&self.config), self.names[host].clone());
        let mut client = client.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        while client.is_handshaking() {
            client.complete_io(&mut socket)?;
        }
        Ok(StreamOwned::new(client, socket))
    }
}

pub(crate) type TlsStream = StreamOwned<ClientConnection, Patient>;

/// A blocking connection for the cold path.
pub(crate) enum Stream {
    Plain(Patient),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// How long it is waited for.
    pub(crate) fn patience(&mut self) -> &mut Patience {
        match self {
            Stream::Plain(socket) => &mut socket.patience,
            Stream::Tls(stream) => &mut stream.sock.patience,
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
    pub(crate) fn of(connection: &CommonState) -> Option<Self> {
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
        roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    }
    if found.is_empty() { Err("no PEM certificate is in it".into()) } else { Ok(found) }
}

fn server_name(host: &Host, lookup: Lookup, bucket: &str) -> Result<ServerName<'static>, TlsError> {
    let name = host.authority.rsplit_once(':').map_or(host.authority.as_str(), |(name, _)| name);
    let name = match lookup {
        Lookup::Path => name.trim_start_matches('[').trim_end_matches(']').to_owned(),
        Lookup::VirtualHost => format!("{bucket}.{name}"),
    };
    ServerName::try_from(name.clone()).map_err(|_| TlsError::Name(name))
}

/// What is wrong, in the few words under which a failure is counted. Few different ones: details that differ from
/// time to time, such as a date, would make a kind of each. `ready` is whether the handshake was done before.
pub(crate) fn fault(error: &Error, ready: bool) -> &'static str {
    use CertificateError as C;
    match error {
        Error::InvalidMessage(_) | Error::PeerSentOversizedRecord if ready => "damaged record",
        Error::InvalidCertificate(why) => match why {
            C::Expired | C::ExpiredContext { .. } => "certificate expired",
            C::NotValidYet | C::NotValidYetContext { .. } => "certificate not yet valid",
            C::UnknownIssuer => "unknown issuer",
            C::BadSignature => "bad signature",
            C::NotValidForName | C::NotValidForNameContext { .. } => "name mismatch",
            _ if is_authority(error) => "certificate is an authority's own",
            _ => "invalid certificate",
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

/// What to do about a fault, where there is something.
pub(crate) fn remedy(fault: &str) -> &'static str {
    match fault {
        "unknown issuer" => "give its issuer's certificate with --ca-file, or --insecure to believe any",
        "bad signature" => "its issuer has the name of one that is believed and another key: is --ca-file the newest?",
        "certificate expired" => "renew it, or give --insecure to believe any; is this machine's clock right?",
        "certificate not yet valid" => "is this machine's clock right? --insecure believes any certificate",
        "name mismatch" => "name the host as its certificate does, or give --insecure to believe any",
        "certificate is an authority's own" => {
            "give that very certificate with --ca-file, or the server one that is not marked CA:TRUE, or --insecure"
        }
        "the peer does not speak TLS" | "closed during the handshake" => {
            "is the port right, and does it speak TLS? plain HTTP is http://, and without --tls"
        }
        _ => "which versions and ciphers the server takes may be too old or too narrow: TLS 1.2 or 1.3 is spoken",
    }
}

/// Whether a certificate that can issue others was shown as a server's own.
fn is_authority(error: &Error) -> bool {
    // rustls has no kind of its own for it.
    let Error::InvalidCertificate(CertificateError::Other(why)) = error else { return false };
    why.to_string().contains("CaUsedAsEndEntity")
}

/// Holds handshakes against the certificates that servers show, and those against what is believed.
#[derive(Debug)]
struct Believed {
    provider: Arc<CryptoProvider>,
    /// None where every certificate is believed: for `--insecure`.
    given: Option<IssuedOrGiven>,
}

/// Certificates that a root vouches for, and those that were given as roots, where a server shows one as its own: what
/// `openssl req -x509` makes is marked as an authority's, and is its own issuer.
#[derive(Debug)]
struct IssuedOrGiven {
    issued: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Believed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(IssuedOrGiven { issued, given }) = &self.given else { return Ok(ServerCertVerified::assertion()) };
        match issued.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // Its time was held against `now` before that was found.
            Err(error) if is_authority(&error) && given.iter().any(|given| given == end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            told => told,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(authority: &str, lookup: Lookup) -> Result<String, String> {
        let host = Host { authority: authority.into(), address: ([127, 0, 0, 1], 1).into() };
        server_name(&host, lookup, "bucket").map(|name| name.to_str().into_owned()).map_err(|e| e.to_string())
    }

    #[test]
    fn hosts_are_named_without_port_and_brackets() {
        for (authority, lookup, expected) in [
            ("minio:9000", Lookup::Path, "minio"),
            ("minio:9000", Lookup::VirtualHost, "bucket.minio"),
            ("127.0.0.1:443", Lookup::Path, "127.0.0.1"),
            ("[::1]:443", Lookup::Path, "::1"),
        ] {
            assert_eq!(name(authority, lookup).as_deref(), Ok(expected), "{authority}");
        }
        for (authority, lookup) in [("[::1]:443", Lookup::VirtualHost), ("a_b!:1", Lookup::Path)] {
            assert!(name(authority, lookup).is_err_and(|why| why.contains("cannot be named")), "{authority}");
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
