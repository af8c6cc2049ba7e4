//! Certificates of linerate's own servers: made when they start, good for their process alone.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;

use crate::tls::ALPN;

/// How a target proves who it is.
pub struct Identity {
    pub config: Arc<ServerConfig>,
    /// The certificate of the authority that vouches for it, for `--ca-file`.
    pub ca_pem: String,
}

/// Makes an authority and a certificate for `localhost` and the loopback addresses, and for `address`. No key leaves
/// the process, and the authority's is forgotten at once.
///
/// # Errors
/// Why that could not be done: no random numbers, most likely.
pub fn make(address: IpAddr) -> Result<Identity, String> {
    let words = |error: rcgen::Error| error.to_string();
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "linerate target authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().map_err(words)?).map_err(words)?;
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".into(), "::1".into()];
    if !names.contains(&address.to_string()) {
        names.push(address.to_string());
    }
    let mut own = CertificateParams::new(names).map_err(words)?;
    own.distinguished_name.push(DnType::CommonName, "linerate target");
    let key = KeyPair::generate().map_err(words)?;
    let certificate = own.signed_by(&key, &authority).map_err(words)?;
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(str::to_owned)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], private))
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    // For `records.rs`.
    config.enable_secret_extraction = true;
    Ok(Identity { config: Arc::new(config), ca_pem: authority.pem() })
}

/// How a server speaks TLS 1.3 that has no name and proves itself by other means, with a certificate that it signed
/// itself.
///
/// # Errors
/// Why that could not be done: no random numbers, most likely.
pub(crate) fn nameless(name: &str, alpn: &[u8]) -> Result<Arc<ServerConfig>, String> {
    let words = |error: rcgen::Error| error.to_string();
    let key = KeyPair::generate().map_err(words)?;
    let params = CertificateParams::new(vec![name.to_owned()]).map_err(words)?;
    let certificate = params.self_signed(&key).map_err(words)?;
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(str::to_owned)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], private))
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![alpn.to_vec()];
    // Nobody comes again.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
