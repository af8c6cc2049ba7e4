//! Which certificates a run believes: the system's, those of `--ca-file`, or any.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use linerate_load::hosts::HostsError;
use linerate_wire::tls::{SystemRoots, Trust, certificates_in_pem, roots_in_pem};

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
        None => Ok(Trust::WithSystem { given: Vec::new(), system: system_roots()? }),
    }
}

/// The system's roots, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` put in their place. What is no certificate
/// there is passed over, as OpenSSL does.
fn system_roots() -> Result<SystemRoots, Failure> {
    let named = named_roots();
    if named.is_empty() { Ok(rustls_native_certs::load_native_certs().certs) } else { roots_of(named) }
}

fn roots_of(named: Vec<(&'static str, PathBuf)>) -> Result<SystemRoots, Failure> {
    let mut roots = Vec::new();
    for (variable, path) in named {
        let failed =
            |error: io::Error| Failure::usage(format!("failed to read {variable} {}: {error}", path.display()));
        match limited_read::read_named(&path, PEM_BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            read => roots.extend(roots_in_pem(&read.map_err(failed)?)),
        }
    }
    Ok(roots)
}

/// Refuses files of roots that never end, or never begin, for what reads them itself.
#[cfg(feature = "kube")]
pub(crate) fn require_bounded_roots() -> Result<(), Failure> {
    require_bounded(named_roots())
}

#[cfg(any(test, feature = "kube"))]
fn require_bounded(named: Vec<(&'static str, PathBuf)>) -> Result<(), Failure> {
    for (variable, path) in named {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let why = match metadata.is_file() {
            true if metadata.len() <= PEM_BYTES_MAX => continue,
            true => "it is too large",
            false => "it is not a regular file",
        };
        return Err(Failure::usage(format!("{variable} {}: {why}", path.display())));
    }
    Ok(())
}

/// Files of roots that the environment names, each with its variable.
fn named_roots() -> Vec<(&'static str, PathBuf)> {
    roots_named_by(env::var_os("SSL_CERT_FILE"), env::var_os("SSL_CERT_DIR"))
}

fn roots_named_by(file: Option<OsString>, folders: Option<OsString>) -> Vec<(&'static str, PathBuf)> {
    let file = file.filter(|path| !path.is_empty()).map(|path| ("SSL_CERT_FILE", PathBuf::from(path)));
    let folders: Vec<PathBuf> = folders.iter().flat_map(env::split_paths).collect();
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    // Links to files are usual there; what is no file is passed over.
    let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
    file.into_iter().chain(files.map(|path| ("SSL_CERT_DIR", path))).collect()
}

/// The system's roots, and what was read of `--ca-file`.
pub(crate) fn trust_of_file(ca_file: &Path, pem: &[u8]) -> Result<Trust, Failure> {
    let added = certificates_in_pem(pem)
        .map_err(|why| Failure::usage(format!("--ca-file {} is not a PEM certificate: {why}", ca_file.display())))?;
    Ok(Trust::WithSystem { given: added, system: system_roots()? })
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

    #[test]
    fn roots_that_the_environment_names_are_read_within_limits() {
        let folder = tempfile::tempdir().unwrap();
        let signed = rcgen::generate_simple_self_signed(vec!["h".to_owned()]).unwrap();
        let (file, zero) = (folder.path().join("a.pem"), folder.path().join("zero"));
        fs::write(&file, signed.cert.pem() + "no certificate").unwrap();
        std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
        let named = |file: &Path| roots_named_by(Some(file.into()), None);
        let roots = roots_of(named(&file)).unwrap();
        assert_eq!(roots, [signed.cert.der().clone()]);
        assert!(
            require_bounded(named(&file)).is_ok() && roots_of(named(Path::new("/nonexistent"))).unwrap().is_empty()
        );
        let why = roots_of(named(&zero)).unwrap_err().to_string();
        assert!(why.contains("SSL_CERT_FILE") && why.contains("too large"), "{why}");
        let why = require_bounded(named(&zero)).unwrap_err().to_string();
        assert!(why.contains("it is not a regular file"), "{why}");
        // In a folder, what is no file is passed over.
        let of_folder = roots_named_by(None, Some(folder.path().into()));
        assert_eq!(of_folder, [("SSL_CERT_DIR", file)]);
    }
}
