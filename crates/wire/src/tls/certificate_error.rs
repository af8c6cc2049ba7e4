//! What is wrong with a certificate, or with how a server uses it, where rustls says less than is known.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, Error, OtherError};

use super::certificate::{Certificate, RSA_BITS};

/// Whose key one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOwner {
    Server,
    /// That of the issuer of its certificate.
    Issuer,
}

#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum CertificateFlaw {
    /// Without the extensions in which names are.
    #[error("its certificate is of X.509 version 1 or 2, which has no subjectAltName")]
    Version1,
    /// With a common name at the most.
    #[error("its certificate has no subjectAltName{}", called(.0.as_deref()))]
    CommonName(Option<String>),
    /// Issued by one that is believed for itself alone.
    #[error("its certificate was issued by a certificate that is not marked as a CA (CA:TRUE)")]
    NoAuthority,
    /// One of the same name is believed for itself, and it is not that one.
    #[error("its certificate is another than the one of the same name that is trusted: {}", match .same_key {
        true => "the same key, but another certificate",
        false => "it has another key",
    })]
    OtherOfItsName {
        /// Whether both have one key, as after a renewal.
        same_key: bool,
    },
    /// Its issuer has the name of one that is believed, and another key.
    #[error("its certificate names a trusted issuer, but another key signed it (bad signature)")]
    OtherKey,
    /// An RSA key of a size that is not taken.
    #[error(
        "the RSA key of {} has {bits} bits, but {} to {} are required",
        match .whose { KeyOwner::Server => "its certificate", KeyOwner::Issuer => "its certificate's issuer" },
        RSA_BITS.start(),
        RSA_BITS.end()
    )]
    KeySize { whose: KeyOwner, bits: usize },
    /// The handshake was signed by another key than that of the certificate.
    #[error("its signing key does not belong to its certificate")]
    NotItsKey,
}

fn called(common_name: Option<&str>) -> String {
    common_name.map_or_else(String::new, |name| {
        let name: String = name.chars().take(64).collect();
        format!(": it has {name:?} only as its common name, which does not count")
    })
}

impl From<CertificateFlaw> for Error {
    fn from(flaw: CertificateFlaw) -> Self {
        CertificateError::Other(OtherError(Arc::new(flaw))).into()
    }
}

impl CertificateFlaw {
    /// The flaw in what rustls was told, where it is one.
    pub(super) fn in_error(error: &CertificateError) -> Option<&Self> {
        match error {
            CertificateError::Other(other) => other.0.downcast_ref(),
            _ => None,
        }
    }

    /// Under which few words it is counted.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            CertificateFlaw::Version1 | CertificateFlaw::CommonName(_) => "certificate without subjectAltName",
            CertificateFlaw::OtherOfItsName { .. } => "another certificate of a trusted name",
            CertificateFlaw::NoAuthority => "issuer is not a CA",
            CertificateFlaw::OtherKey => "bad signature",
            CertificateFlaw::KeySize { whose: KeyOwner::Server, .. } => "unsupported size of RSA key",
            CertificateFlaw::KeySize { whose: KeyOwner::Issuer, .. } => "unsupported size of the issuer's RSA key",
            CertificateFlaw::NotItsKey => "key of another certificate",
        }
    }

    /// What a chain is refused for, where more is known than rustls says.
    pub(super) fn of_chain(
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        believed: &[CertificateDer<'_>],
        chosen: &[CertificateDer<'_>],
        error: &Error,
    ) -> Option<Self> {
        let Error::InvalidCertificate(why) = error else { return None };
        let read = Certificate::read(shown)?;
        // What the system trusts may have this name by chance, as the certificate that Debian makes for each machine.
        if let Some(other) = CertificateFlaw::of_another(&read, chosen, why) {
            return Some(other);
        }
        let is_unnamed =
            matches!(why, CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty());
        match read.version {
            1 | 2 => return Some(CertificateFlaw::Version1),
            _ if is_unnamed => return Some(CertificateFlaw::CommonName(read.common_name.map(str::to_owned))),
            _ => {}
        }
        let chain = || std::iter::once(shown).chain(intermediates).filter_map(Certificate::read);
        let all = || believed.iter().filter_map(Certificate::read);
        let issuers = || all().filter(|one| chain().any(|of| of.issuer == one.subject));
        match why {
            // Roots vouch for nobody who was issued by one that is believed for itself alone.
            CertificateError::UnknownIssuer => {
                issuers().next().filter(|issuer| !issuer.is_authority).map(|_| CertificateFlaw::NoAuthority)
            }
            CertificateError::BadSignature => {
                let in_chain = intermediates.iter().filter_map(Certificate::read);
                let bits = issuers().chain(in_chain).find_map(|issuer| issuer.key.unsupported_rsa_bits());
                Some(bits.map_or(CertificateFlaw::OtherKey, |bits| CertificateFlaw::KeySize {
                    whose: KeyOwner::Issuer,
                    bits,
                }))
            }
            CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
                Some(CertificateFlaw::OtherKey)
            }
            _ => None,
        }
    }

    /// One of the same name was given that vouches for itself alone, or both are their own issuers: whoever gave it
    /// meant this server.
    fn of_another(shown: &Certificate<'_>, believed: &[CertificateDer<'_>], why: &CertificateError) -> Option<Self> {
        use CertificateError as C;
        // Of dates and names, what is wrong is known.
        if matches!(why, C::Expired | C::ExpiredContext { .. } | C::NotValidYet | C::NotValidYetContext { .. })
            || matches!(why, C::NotValidForName | C::NotValidForNameContext { .. })
        {
            return None;
        }
        let is_own_issuer = |one: &Certificate<'_>| one.issuer == one.subject;
        let is_meant = |one: &Certificate<'_>| {
            let is_alone = !one.is_authority || (is_own_issuer(one) && is_own_issuer(shown));
            !one.subject.is_empty() && one.subject == shown.subject && is_alone
        };
        let meant = believed.iter().filter_map(Certificate::read).filter(is_meant);
        let keys: Vec<bool> = meant.map(|one| one.key == shown.key).collect();
        (!keys.is_empty()).then(|| CertificateFlaw::OtherOfItsName { same_key: keys.contains(&true) })
    }

    /// What a handshake is refused for whose signature does not hold.
    pub(super) fn of_handshake(certificate: &CertificateDer<'_>, error: &Error) -> Option<Self> {
        use CertificateError as C;
        let Error::InvalidCertificate(C::BadSignature | C::UnsupportedSignatureAlgorithmForPublicKeyContext { .. }) =
            error
        else {
            return None;
        };
        let bits = Certificate::read(certificate)?.key.unsupported_rsa_bits();
        Some(bits.map_or(CertificateFlaw::NotItsKey, |bits| CertificateFlaw::KeySize { whose: KeyOwner::Server, bits }))
    }
}
