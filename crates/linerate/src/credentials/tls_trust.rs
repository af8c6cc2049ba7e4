//! Which certificates a run believes: the system's, those of `--ca-file`, or any.

use std::path::Path;

use linerate_load::hosts::HostsError;
use linerate_wire::tls::{Trust, certificates_in_pem};

use crate::credentials::keys::flag_or_env;
use crate::files::limited_read;
use crate::terminal::failure::Failure;

/// Largest file of certificates: the system's own bundle has a quarter of a MiB.
pub(crate) const PEM_BYTES_MAX: u64 = 16 << 20;

/// What the flags and the system say. The system's roots are where OpenSSL looks for them.
pub(crate) fn find_trust(insecure: bool, ca_file: Option<&Path>) -> Result<Trust, Failure> {
    let read = |path: &Path| {
        limited_read::read_named(path, PEM_BYTES_MAX)
            .map_err(|error| Failure::usage(format!("failed to read --ca-file {}: {error}", path.display())))
    };
    match ca_file.filter(|_| !insecure) {
        Some(path) => trust_of_file(path, &read(path)?),
        None if insecure => Ok(Trust::Anything),
        // A system without roots is common in containers: --ca-file may be all there is, and where it is not, the
        // handshake says "unknown issuer" and what to do about it.
        None => Ok(Trust::WithSystem { given: Vec::new(), system: rustls_native_certs::load_native_certs().certs }),
    }
}

/// The system's roots, and what was read of `--ca-file`.
pub(crate) fn trust_of_file(ca_file: &Path, pem: &[u8]) -> Result<Trust, Failure> {
    let added = certificates_in_pem(pem)
        .map_err(|why| Failure::usage(format!("--ca-file {} is not a PEM certificate: {why}", ca_file.display())))?;
    Ok(Trust::WithSystem { given: added, system: rustls_native_certs::load_native_certs().certs })
}

/// The same with certificates that were sent along.
pub(crate) fn with_pem(insecure: bool, pem: Option<&str>) -> Result<Trust, Failure> {
    let mut trust = find_trust(insecure, None)?;
    if let (Trust::WithSystem { given, .. }, Some(pem)) = (&mut trust, pem) {
        let added = certificates_in_pem(pem.as_bytes());
        given.extend(
            added.map_err(|why| Failure::usage(format!("the certificates that were sent are not valid: {why}")))?,
        );
    }
    Ok(trust)
}

/// The text of `--ca-file`, as it is sent to another machine.
pub(crate) fn read_pem(ca_file: &Path, most: usize) -> Result<String, Failure> {
    let bytes = limited_read::read_named(ca_file, most as u64).map_err(|error| {
        let place = ca_file.display();
        Failure::usage(format!("failed to read --ca-file {place} for the clients of --fleet: {error}"))
    })?;
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("--ca-file {} is not PEM", ca_file.display())))
}

/// Whether warp's environment asks for TLS, of hosts that do not say themselves.
///
/// # Errors
/// A word that is neither yes nor no: who wrote it may have meant TLS.
pub(crate) fn is_tls_in_environment(hosts: &str) -> Result<bool, HostsError> {
    let Some(value) = flag_or_env(None, &["WARP_TLS"]).filter(|_| !hosts.contains("://")) else { return Ok(false) };
    switch(&value).ok_or(HostsError::Switch { name: "WARP_TLS", value })
}

/// A switch of an environment: what Go reads as yes or no, and what people write besides.
fn switch(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "1" | "t" | "true" | "y" | "yes" | "on" => Some(true),
        "0" | "f" | "false" | "n" | "no" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe has its bytes once: what was read of it is what is believed, and a file that is opened again may be
    /// another.
    #[test]
    fn what_was_read_of_a_file_of_certificates_is_not_read_again() {
        let signed = rcgen::generate_simple_self_signed(vec!["prometheus".to_owned()]).unwrap();
        let nowhere = Path::new("/nonexistent/ca.pem");
        let Trust::WithSystem { given, .. } = trust_of_file(nowhere, signed.cert.pem().as_bytes()).unwrap() else {
            panic!("no roots")
        };
        assert!(given.contains(signed.cert.der()), "the one that was read is believed");
        assert!(find_trust(false, Some(nowhere)).unwrap_err().to_string().contains("failed to read --ca-file"));
        assert!(matches!(find_trust(true, Some(nowhere)), Ok(Trust::Anything)));
    }
}
