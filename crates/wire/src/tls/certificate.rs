//! What stands in a certificate, as far as it must be known of those that rustls does not take: of X.509 version 1, and
//! such as name nobody but by their common name (X.690, RFC 5280).

use std::ops::RangeInclusive;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};

/// Sizes of RSA keys in bits whose signatures are verified: those of ring's `RSA_PKCS1_2048_8192_SHA256` and its like.
pub(super) const RSA_BITS: RangeInclusive<usize> = 2048..=8192;

/// Tags of DER.
const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8_STRING: u8 = 0x0C;
const PRINTABLE_STRING: u8 = 0x13;
const TELETEX_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const VERSION: u8 = 0xA0;
const EXTENSIONS: u8 = 0xA3;

/// `id-at-commonName`, 2.5.4.3.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

/// `id-ce-subjectAltName`, 2.5.29.17.
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1D, 0x11];

/// `id-ce-keyUsage`, 2.5.29.15, and in its first byte `keyCertSign` (RFC 5280, section 4.2.1.3).
const KEY_USAGE: &[u8] = &[0x55, 0x1D, 0x0F];
const KEY_CERT_SIGN: u8 = 0x04;

/// `id-ce-basicConstraints`, 2.5.29.19.
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1D, 0x13];

/// `rsaEncryption`, 1.2.840.113549.1.1.1.
const RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Certificate<'a> {
    /// 1, 2 or 3.
    pub(super) version: u8,
    /// Who issued it, and whose it is, as DER.
    pub(super) issuer: &'a [u8],
    pub(super) subject: &'a [u8],
    pub(super) not_before: UnixTime,
    pub(super) not_after: UnixTime,
    /// The last of its subject, where it has one that is text.
    pub(super) common_name: Option<&'a str>,
    /// Whether it has names as they count today.
    pub(super) has_alternative_names: bool,
    /// Whether it may issue others: marked as that of an authority, whose key may sign certificates (RFC 5280, section
    /// 6.1.4, k and n).
    pub(super) is_authority: bool,
    pub(super) key: CertificateKey<'a>,
}

/// The key of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CertificateKey<'a> {
    /// All of it, as DER.
    whole: &'a [u8],
    /// Which algorithm it is for, without its frame.
    pub(super) algorithm: &'a [u8],
    pub(super) bits: &'a [u8],
}

impl<'a> CertificateKey<'a> {
    pub(super) fn whole(&self) -> SubjectPublicKeyInfoDer<'a> {
        SubjectPublicKeyInfoDer::from(self.whole)
    }

    /// How many bits an RSA key has whose signatures are not verified, since it has too few or too many.
    pub(super) fn unsupported_rsa_bits(&self) -> Option<usize> {
        let (mut algorithm, mut bits) = (self.algorithm, self.bits);
        if next(&mut algorithm, OBJECT)? != RSA {
            return None;
        }
        let mut numbers = next(&mut bits, SEQUENCE)?;
        let modulus = next(&mut numbers, INTEGER)?;
        let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
        let digits = modulus.get(zeros..)?;
        let length = digits.len() * 8 - digits.first().map_or(0, |first| first.leading_zeros() as usize);
        (!RSA_BITS.contains(&length)).then_some(length)
    }
}

impl<'a> Certificate<'a> {
    /// Reads a certificate; none where it is none.
    pub(super) fn read(der: &'a CertificateDer<'_>) -> Option<Self> {
        let mut rest: &[u8] = der.as_ref();
        let mut all = next(&mut rest, SEQUENCE)?;
        let mut body = next(&mut all, SEQUENCE)?;
        let version = match next(&mut body, VERSION) {
            Some(mut version) => match next(&mut version, INTEGER)? {
                [number @ 0..=2] => number + 1,
                _ => return None,
            },
            None => 1,
        };
        next(&mut body, INTEGER)?;
        next(&mut body, SEQUENCE)?;
        let issuer = next(&mut body, SEQUENCE)?;
        let mut validity = next(&mut body, SEQUENCE)?;
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        let subject = next(&mut body, SEQUENCE)?;
        let key = key(&mut body)?;
        Some(Certificate {
            version,
            issuer,
            subject,
            not_before,
            not_after,
            common_name: common_name(subject),
            has_alternative_names: extension(body, SUBJECT_ALT_NAME).is_some(),
            is_authority: version == 3 && is_authority(body),
            key,
        })
    }

    /// Whether its common name is that of a host, as before there were others (RFC 2818, section 3.1).
    pub(super) fn is_called(&self, name: &ServerName<'_>) -> bool {
        let requested = name.to_str();
        let Some(own) = self.common_name else { return false };
        let is_below = |suffix: &str| {
            let host = requested.split_once('.').filter(|(first, _)| !first.is_empty());
            matches!(name, ServerName::DnsName(_)) && host.is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(suffix))
        };
        own.eq_ignore_ascii_case(&requested) || own.strip_prefix("*.").is_some_and(is_below)
    }
}

/// Takes one element: its tag and what is in it.
fn element<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let [tag, length, ref rest @ ..] = **input else { return None };
    let (length, rest) = match length {
        0..=0x7F => (usize::from(length), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7F))?;
            (digits.iter().fold(0, |sum, &digit| sum << 8 | usize::from(digit)), rest)
        }
        _ => return None,
    };
    let (inside, after) = rest.split_at_checked(length)?;
    *input = after;
    Some((tag, inside))
}

/// Takes the next element where it has this tag.
fn next<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let mut rest = *input;
    let (found, inside) = element(&mut rest)?;
    (found == tag).then(|| {
        *input = rest;
        inside
    })
}

/// `YYMMDDhhmmssZ`, of 1950 to 2049, or `YYYYMMDDhhmmssZ`.
fn time(input: &mut &[u8]) -> Option<UnixTime> {
    let (tag, text) = element(input)?;
    let digits = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let (year, rest) = match tag {
        UTC_TIME => digits.split_at_checked(2)?,
        GENERALIZED_TIME => digits.split_at_checked(4)?,
        _ => return None,
    };
    if rest.len() != 10 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let year: i16 = year.parse().ok()?;
    let year = match (tag, year) {
        (UTC_TIME, 0..50) => 2000 + year,
        (UTC_TIME, _) => 1900 + year,
        _ => year,
    };
    let two = |at: usize| rest[at..at + 2].parse::<i8>().ok();
    let civil = jiff::civil::DateTime::new(year, two(0)?, two(2)?, two(4)?, two(6)?, two(8)?, 0).ok()?;
    let seconds = jiff::tz::TimeZone::UTC.to_timestamp(civil).ok()?.as_second();
    Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds.max(0).unsigned_abs())))
}

fn key<'a>(input: &mut &'a [u8]) -> Option<CertificateKey<'a>> {
    let before = *input;
    let mut inside = next(input, SEQUENCE)?;
    let whole = &before[..before.len() - input.len()];
    let algorithm = next(&mut inside, SEQUENCE)?;
    // The first byte says how many bits of the last go unused: none, of any key.
    let [0, bits @ ..] = next(&mut inside, BIT_STRING)? else { return None };
    Some(CertificateKey { whole, algorithm, bits })
}

fn common_name(mut subject: &[u8]) -> Option<&str> {
    let mut found = None;
    while let Some(mut together) = next(&mut subject, SET) {
        while let Some(mut one) = next(&mut together, SEQUENCE) {
            if next(&mut one, OBJECT) == Some(COMMON_NAME) {
                let (tag, text) = element(&mut one)?;
                let is_text = matches!(tag, UTF8_STRING | PRINTABLE_STRING | TELETEX_STRING | IA5_STRING);
                found = std::str::from_utf8(text).ok().filter(|_| is_text).or(found);
            }
        }
    }
    found
}

/// What is in an extension of what follows a key, where it is there.
fn extension<'a>(mut body: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    while let Some((tag, mut inside)) = element(&mut body) {
        if tag != EXTENSIONS {
            continue;
        }
        let mut extensions = next(&mut inside, SEQUENCE)?;
        while let Some(mut one) = next(&mut extensions, SEQUENCE) {
            if next(&mut one, OBJECT) == Some(name) {
                // Whether it is critical, where that is said.
                let _ = next(&mut one, BOOLEAN);
                return next(&mut one, OCTET_STRING);
            }
        }
    }
    None
}

/// Whether extensions say that it is an authority's. Without any usage of its key, that may do anything.
fn is_authority(body: &[u8]) -> bool {
    let marked = extension(body, BASIC_CONSTRAINTS)
        .and_then(|mut inside| next(&mut inside, SEQUENCE).and_then(|mut basic| next(&mut basic, BOOLEAN)));
    let may_sign = extension(body, KEY_USAGE).is_none_or(|mut inside| {
        // The first byte says how many bits of the last go unused.
        let bits = next(&mut inside, BIT_STRING).and_then(|bits| bits.get(1).copied());
        bits.is_some_and(|bits| bits & KEY_CERT_SIGN != 0)
    });
    matches!(marked, Some([byte]) if *byte != 0) && may_sign
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};

    use super::*;

    fn made(names: &[&str], common_name: &str) -> CertificateDer<'static> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "an organization");
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.not_before = date_time_ymd(1999, 12, 31);
        params.not_after = date_time_ymd(2060, 2, 29);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn what_stands_in_a_certificate_is_read() {
        let seconds = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_second().unsigned_abs();
        for (names, has_alternative_names) in [(&["a", "b"][..], true), (&[], false)] {
            let der = made(names, "minio.example");
            let read = Certificate::read(&der).unwrap();
            assert_eq!((read.version, read.common_name), (3, Some("minio.example")), "{names:?}");
            assert_eq!(read.has_alternative_names, has_alternative_names, "{names:?}");
            assert_eq!(read.not_before.as_secs(), seconds("1999-12-31T00:00:00Z"), "{names:?}");
            // Beyond 2049 in another form of time.
            assert_eq!(read.not_after.as_secs(), seconds("2060-02-29T00:00:00Z"), "{names:?}");
            assert_eq!(read.key.whole().as_ref()[0], SEQUENCE, "{names:?}");
            assert_eq!(read.key.bits.len(), 65, "an uncompressed point of P-256");
        }
    }

    #[test]
    fn a_common_name_is_held_against_a_host_as_names_are() {
        for (common_name, host, is_called) in [
            ("minio", "minio", true),
            ("Minio", "mINIO", true),
            ("minio", "minio.example", false),
            ("*.example.com", "a.example.com", true),
            ("*.example.com", "a.b.example.com", false),
            ("*.example.com", "example.com", false),
            ("*.0.0.1", "127.0.0.1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("", "minio", false),
        ] {
            let der = made(&[], common_name);
            let name = ServerName::try_from(host).unwrap();
            assert_eq!(Certificate::read(&der).unwrap().is_called(&name), is_called, "{common_name} {host}");
        }
    }

    #[test]
    fn an_authority_is_marked_as_such_and_its_key_may_sign_certificates() {
        use rcgen::KeyUsagePurpose as Usage;
        let ca = IsCa::Ca(BasicConstraints::Constrained(0));
        for (is_ca, usages, is_authority) in [
            (ca, vec![], true),
            (ca, vec![Usage::KeyCertSign, Usage::CrlSign], true),
            (ca, vec![Usage::DigitalSignature], false),
            (IsCa::ExplicitNoCa, vec![], false),
            (IsCa::NoCa, vec![Usage::KeyCertSign], false),
            (IsCa::NoCa, vec![], false),
        ] {
            let mut params = CertificateParams::new(vec!["a".to_owned()]).unwrap();
            (params.is_ca, params.key_usages) = (is_ca, usages);
            let der = params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone();
            let read = Certificate::read(&der).unwrap();
            assert_eq!(read.is_authority, is_authority, "{:?} {:?}", params.is_ca, params.key_usages);
            assert_eq!(read.issuer, read.subject);
        }
    }

    #[test]
    fn what_is_cut_or_changed_anywhere_is_read_without_a_panic() {
        let whole = made(&["a"], "b");
        for cut in 0..whole.len() {
            assert_eq!(Certificate::read(&CertificateDer::from(whole[..cut].to_vec())), None, "{cut}");
            for value in [0, 0x30, 0x7F, 0x80, 0x81, 0x84, 0xFF] {
                let mut changed = whole.to_vec();
                changed[cut] = value;
                // Whatever comes of it.
                let _ = Certificate::read(&CertificateDer::from(changed));
            }
        }
    }
}
