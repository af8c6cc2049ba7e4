//! Under which names the hosts of a session prove who they are, and what to do about a failure of TLS.

use linerate_record::load::Lookup;
use linerate_wire::http_call::TlsPeer;
use linerate_wire::tls::{TlsClient, Trust};
use rustls::Error;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;

use crate::hosts::Host;

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

/// How TLS is spoken with the hosts of a session.
#[derive(Clone, Debug)]
pub struct Tls {
    client: TlsClient,
    /// The name that each host must prove, by its number.
    names: Vec<ServerName<'static>>,
}

impl Tls {
    /// With each host under its own name, or under `bucket.name` where the bucket is named in the host.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn new(trust: Trust, hosts: &[Host], lookup: Lookup, bucket: &str) -> Result<Self, TlsError> {
        let client = TlsClient::new(trust)?;
        let named = |host: &Host| server_name(&host.authority, lookup, bucket);
        let names = hosts.iter().map(named).collect::<Result<_, _>>()?;
        Ok(Tls { client, names })
    }

    /// The same with sessions of its own to resume: threads share none, and so wait for none.
    pub(crate) fn for_thread(&self) -> Self {
        Tls { client: self.client.for_thread(), names: self.names.clone() }
    }

    /// The client's end of a connection to a host.
    pub(crate) fn side(&self, host: usize) -> Result<UnbufferedClientConnection, Error> {
        self.client.side(&self.names[host])
    }

    /// What a host has to prove to a blocking call.
    pub(crate) fn peer(&self, host: usize) -> TlsPeer<'_> {
        TlsPeer { client: &self.client, name: &self.names[host] }
    }
}

/// Looks whether certificates can be held against each `name:port`.
///
/// # Errors
/// [`TlsError::Name`] for the first that cannot be named in TLS.
pub fn check_names(authorities: &[String], lookup: Lookup, bucket: &str) -> Result<(), TlsError> {
    authorities.iter().try_for_each(|authority| server_name(authority, lookup, bucket).map(drop))
}

fn server_name(authority: &str, lookup: Lookup, bucket: &str) -> Result<ServerName<'static>, TlsError> {
    let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
    let name = match lookup {
        Lookup::Path => name.trim_start_matches('[').trim_end_matches(']').to_owned(),
        Lookup::Host => format!("{bucket}.{name}"),
    };
    ServerName::try_from(name.clone()).map_err(|_| TlsError::Name(name))
}

/// What to do about a fault, where there is something.
pub(crate) fn remedy(fault: &str) -> &'static str {
    match fault {
        "unknown issuer" => "give its issuer's certificate with --ca-file, or --insecure to accept any",
        "bad signature" => {
            "its issuer has the name of a trusted CA but another key: check that --ca-file is up to date"
        }
        "another certificate of a trusted name" => {
            "check that this is the server which is meant, then give the certificate that it has now with --ca-file"
        }
        "certificate expired" => "renew it, or give --insecure to accept any; check this machine's clock",
        "certificate not yet valid" => "check this machine's clock; --insecure accepts any certificate",
        "name mismatch" => "use the host name in its certificate, or give --insecure to accept any",
        "certificate is an authority's own" => {
            "give this certificate with --ca-file, install one on the server that is not marked CA:TRUE, or give \
             --insecure"
        }
        "certificate without subjectAltName" => {
            "install a certificate with subjectAltName on the server, give this one with --ca-file, or give --insecure \
             to accept any"
        }
        "issuer is not a CA" => {
            "give the server's certificate with --ca-file, or that of the CA (CA:TRUE) that issued it, or --insecure \
             to accept any"
        }
        "certificate not for servers" => {
            "have it issued with serverAuth, or give this certificate with --ca-file, or --insecure to accept any"
        }
        "unsupported size of RSA key" => {
            "install a certificate with an RSA key of 2048 bits or an ECDSA key on the \
                                          server"
        }
        "unsupported size of the issuer's RSA key" => {
            "have it issued by a CA with a larger key, or give this certificate with --ca-file, or --insecure to \
             accept any"
        }
        "key of another certificate" => "install the private key of the certificate on the server",
        "invalid certificate" => {
            "install another certificate on the server, or give this one with --ca-file, or --insecure to accept any"
        }
        "the peer does not speak TLS" | "closed during the handshake" => {
            "check that the port is right and that it speaks TLS; plain HTTP is http://, and without --tls"
        }
        _ => "the server's TLS versions or ciphers may be too old or too few: linerate supports TLS 1.2 and 1.3",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(authority: &str, lookup: Lookup) -> Result<String, String> {
        server_name(authority, lookup, "bucket").map(|name| name.to_str().into_owned()).map_err(|e| e.to_string())
    }

    #[test]
    fn hosts_are_named_without_port_and_brackets() {
        for (authority, lookup, expected) in [
            ("minio:9000", Lookup::Path, "minio"),
            ("minio:9000", Lookup::Host, "bucket.minio"),
            ("127.0.0.1:443", Lookup::Path, "127.0.0.1"),
            ("[::1]:443", Lookup::Path, "::1"),
        ] {
            assert_eq!(name(authority, lookup).as_deref(), Ok(expected), "{authority}");
        }
        for (authority, lookup) in [("[::1]:443", Lookup::Host), ("a_b!:1", Lookup::Path)] {
            assert!(name(authority, lookup).is_err_and(|why| why.contains("cannot be named")), "{authority}");
        }
    }
}
