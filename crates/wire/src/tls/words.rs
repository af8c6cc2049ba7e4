//! Failures of TLS in plain words: of certificates what is wrong with them, with dates as people write them.

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error};

use super::certificate_error::CertificateFlaw;

/// What is wrong, in a sentence without its end.
#[must_use]
pub fn words(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => of_certificate(why),
        Error::AlertReceived(alert) => format!("it refused: {}", of_alert(*alert)),
        Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => "what it sent is not TLS".to_owned(),
        Error::InvalidMessage(why) => format!("what it sent is not a TLS message: {}", plain(why)),
        Error::PeerIncompatible(why) => format!("it has no version or cipher in common: {}", plain(why)),
        Error::PeerMisbehaved(why) => format!("it violates the TLS protocol: {}", plain(why)),
        Error::DecryptError => "what it sent could not be decrypted".to_owned(),
        Error::PeerSentOversizedRecord => "it sent a record that is longer than TLS allows".to_owned(),
        Error::NoApplicationProtocol => "it does not speak HTTP/1.1".to_owned(),
        Error::General(why) => why.clone(),
        other => plain(other),
    }
}

fn of_certificate(why: &CertificateError) -> String {
    use CertificateError as C;
    match why {
        C::ExpiredContext { not_after, time } => {
            format!("its certificate expired on {}, and it is {} here", date(*not_after), date(*time))
        }
        C::NotValidYetContext { not_before, time } => {
            format!("its certificate is not valid before {}, and it is {} here", date(*not_before), date(*time))
        }
        C::Expired => "its certificate has expired".to_owned(),
        C::NotValidYet => "its certificate is not valid yet".to_owned(),
        C::NotValidForNameContext { expected, presented } => {
            let names: Vec<String> = presented.iter().take(8).map(|name| named(name)).collect();
            let more = if presented.len() > 8 { ", …" } else { "" };
            format!("its certificate is not valid for {}: it is for {}{more}", expected.to_str(), names.join(", "))
        }
        C::NotValidForName => "its certificate is not valid for this host".to_owned(),
        C::UnknownIssuer => "its certificate was not issued by a trusted CA (unknown issuer)".to_owned(),
        C::BadSignature => "the signature of its certificate is not that of its issuer (bad signature)".to_owned(),
        C::BadEncoding => "its certificate could not be read".to_owned(),
        C::Revoked => "its certificate was revoked".to_owned(),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            "its certificate is not for servers: its extended key usage has no serverAuth".to_owned()
        }
        C::UnhandledCriticalExtension => "its certificate has a critical extension that is not known".to_owned(),
        C::UnsupportedSignatureAlgorithmContext { .. } => {
            "its certificate has an unsupported signature, such as SHA-1".to_owned()
        }
        C::Other(other) => match CertificateFlaw::in_error(why) {
            Some(flaw) => flaw.to_string(),
            None if other.0.to_string().contains("CaUsedAsEndEntity") => {
                "it uses a CA certificate as its own".to_owned()
            }
            None => format!("its certificate is refused: {}", plain(&other.0)),
        },
        other => format!("its certificate is refused: {}", plain(other)),
    }
}

fn of_alert(alert: AlertDescription) -> String {
    format!("{} (alert {})", plain(&alert), u8::from(alert))
}

/// `2020-01-01T00:00:00Z`.
fn date(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| "an unknown time".to_owned(), |time| time.to_string())
}

/// A name as rustls tells those of certificates, `DnsName("minio")`, without what frames it.
fn named(name: &str) -> String {
    let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
    inside.trim_matches('"').to_owned()
}

/// What rustls calls something in its own source, `CertExpired { … }`, in words: `cert expired`.
fn plain(what: &impl std::fmt::Debug) -> String {
    let text = format!("{what:?}");
    let name = text.rsplit_once("Other(").map_or(text.as_str(), |(_, inner)| inner);
    let mut words = String::new();
    for c in name.chars().take_while(|c| c.is_ascii_alphanumeric()) {
        if c.is_ascii_uppercase() && words.ends_with(|before: char| !before.is_ascii_uppercase()) {
            words.push(' ');
        }
        words.push(c);
    }
    words.split(' ').map(in_lower_case).collect::<Vec<_>>().join(" ")
}

/// A word, unless it is an abbreviation.
fn in_lower_case(word: &str) -> String {
    let is_abbreviation = word.len() > 1 && !word.bytes().any(|b| b.is_ascii_lowercase());
    if is_abbreviation { word.to_owned() } else { word.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use rustls::pki_types::ServerName;
    use rustls::{InvalidMessage, OtherError, PeerIncompatible};

    use super::*;

    #[test]
    fn failures_are_told_without_names_of_types_or_seconds_of_an_epoch() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let expired = CertificateError::ExpiredContext { time: at(1_763_850_000), not_after: at(1_577_836_800) };
        let early = CertificateError::NotValidYetContext { time: at(0), not_before: at(1_577_836_800) };
        let presented = vec!["DnsName(\"elsewhere\")".to_owned(), "IpAddress(10.0.0.1)".to_owned()];
        let expected = ServerName::try_from("localhost").unwrap();
        let other = CertificateError::NotValidForNameContext { expected, presented };
        let odd = CertificateError::Other(OtherError(Arc::new(std::io::Error::other("NameConstraintViolation"))));
        let old = CertificateError::Other(OtherError(Arc::new(CertificateFlaw::Version1)));
        for (error, reported) in [
            (
                Error::InvalidCertificate(expired),
                "its certificate expired on 2020-01-01T00:00:00Z, and it is 2025-11-22T22:20:00Z here",
            ),
            (Error::InvalidCertificate(early), "its certificate is not valid before 2020-01-01T00:00:00Z, and it is"),
            (
                Error::InvalidCertificate(other),
                "its certificate is not valid for localhost: it is for elsewhere, 10.0.0.1",
            ),
            (Error::InvalidCertificate(CertificateError::UnknownIssuer), "(unknown issuer)"),
            (Error::InvalidCertificate(old), "its certificate is of X.509 version 1 or 2"),
            (Error::InvalidCertificate(odd), "its certificate is refused: "),
            (
                Error::AlertReceived(AlertDescription::CertificateRequired),
                "it refused: certificate required (alert 116)",
            ),
            (
                Error::AlertReceived(AlertDescription::NoApplicationProtocol),
                "it refused: no application protocol (alert 120)",
            ),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), "what it sent is not TLS"),
            (
                Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                "it has no version or cipher in common: no cipher suites in common",
            ),
        ] {
            let words = words(&error);
            assert!(words.contains(reported), "{error:?}: {words}");
            assert!(!words.contains(['{', '"']), "{words}");
        }
    }
}
