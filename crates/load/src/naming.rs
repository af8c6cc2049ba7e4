//! Names that requests are made of: of buckets, prefixes and regions. Whoever gives one, flags or a folder, it is held
//! against these rules before any request: they become request lines, headers and signatures, and say what is deleted.

use crate::session::Lookup;

/// Most bytes of a prefix that a run writes below: keys of 1024 bytes are S3's limit.
const PREFIX_BYTES_MAX: usize = 512;

/// Most characters of a name that a message quotes.
const QUOTED_CHARS: usize = 80;

/// A name that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Of a bucket. Engines differ: AWS takes small letters only, others and old regions both, and underscores.
    #[error(
        "invalid bucket name {}: write 3 to 63 letters, digits, dots, dashes or underscores, the first and last a \
         letter or digit, without two dots in a row, and no IP address",
        quoted(.0)
    )]
    Bucket(String),
    /// Of a bucket that is to be a part of host names.
    #[error("invalid bucket name {}: --lookup host takes small letters, digits, dots and dashes", quoted(.0))]
    HostBucket(String),
    /// A prefix of keys.
    #[error(
        "invalid prefix {}: write up to {PREFIX_BYTES_MAX} bytes, not beginning with /, without control characters, \
         and with no part called . or ..",
        quoted(.0)
    )]
    Prefix(String),
    /// A region.
    #[error(
        "invalid region {}: write up to 64 letters, digits, dots, dashes, underscores or colons, such as eu-central-1",
        quoted(.0)
    )]
    Region(String),
}

/// A name for a message: a name from a folder may be as long as the folder's file.
fn quoted(name: &str) -> String {
    let short: String = name.chars().take(QUOTED_CHARS).collect();
    if short.len() < name.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// Holds the name of a bucket against the rules of S3, as far as engines share them.
///
/// # Errors
/// [`NameError::Bucket`], [`NameError::HostBucket`].
pub fn check_bucket(name: &str, lookup: Lookup) -> Result<(), NameError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let ends = [name.bytes().next(), name.bytes().next_back()];
    let is_sound = (3..=63).contains(&name.len())
        && name.bytes().all(plain)
        && ends.iter().flatten().all(u8::is_ascii_alphanumeric)
        && !name.contains("..")
        && name.parse::<std::net::Ipv4Addr>().is_err();
    if !is_sound {
        return Err(NameError::Bucket(name.to_owned()));
    }
    let of_host = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
    if lookup == Lookup::VirtualHost && !name.bytes().all(of_host) {
        return Err(NameError::HostBucket(name.to_owned()));
    }
    Ok(())
}

/// Holds the prefix of what a run writes, or reads, against what keys can be in the path of a request: a part called
/// `..` would lead into another bucket wherever paths are put in order on the way.
///
/// # Errors
/// [`NameError::Prefix`].
pub fn check_prefix(prefix: &str) -> Result<(), NameError> {
    let is_sound = prefix.len() <= PREFIX_BYTES_MAX
        && !prefix.starts_with('/')
        && !prefix.chars().any(char::is_control)
        && !prefix.split('/').any(|part| matches!(part, "." | ".."));
    if is_sound { Ok(()) } else { Err(NameError::Prefix(prefix.to_owned())) }
}

/// Holds a region against what may stand in the scope of a signature and where buckets are made.
///
/// # Errors
/// [`NameError::Region`].
pub fn check_region(region: &str) -> Result<(), NameError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:".contains(&b);
    let is_sound = (1..=64).contains(&region.len()) && region.bytes().all(plain);
    if is_sound { Ok(()) } else { Err(NameError::Region(region.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_called_as_engines_take_them() {
        for name in ["abc", "linerate-bench", "a.b.c", "Old_Bucket", "1.2.3", "0-9", &"x".repeat(63)] {
            assert_eq!(check_bucket(name, Lookup::Path), Ok(()), "{name}");
        }
        let long = "x".repeat(64);
        for name in [
            "",
            "ab",
            &long,
            "data/backup/thesis.txt",
            "a..b",
            ".ab",
            "ab-",
            "-ab",
            "ab_",
            "192.168.0.1",
            "a b",
            "a\r\nX: y",
            "bücket",
            "a%2fb",
            "a?b=c",
            "a@b.c",
            "a:80",
        ] {
            let error = check_bucket(name, Lookup::Path).expect_err(name);
            assert!(error.to_string().contains("3 to 63"), "{name}: {error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        for name in ["Upper", "under_score"] {
            let error = check_bucket(name, Lookup::VirtualHost).expect_err(name).to_string();
            assert!(check_bucket(name, Lookup::Path).is_ok() && error.contains("--lookup host"), "{name}: {error}");
        }
    }

    #[test]
    fn prefixes_stay_below_their_bucket() {
        for prefix in ["", "a/", "a/b c/ü", "...", "a..b/.c/", "a//b", &"x".repeat(512)] {
            assert_eq!(check_prefix(prefix), Ok(()), "{prefix}");
        }
        for prefix in ["/", "/a", "..", "../other/", "a/../b", "a/./b", "a/.", "a\nb", "\u{7f}", &"x".repeat(513)] {
            assert!(check_prefix(prefix).is_err(), "{prefix:?}");
        }
    }

    #[test]
    fn regions_are_words() {
        for region in ["us-east-1", "garage", "default:cold", "RegionOne", "ru_1", "a.b"] {
            assert_eq!(check_region(region), Ok(()), "{region}");
        }
        for region in ["", "a b", "a/b", "a\r\nX: y", "a<b", "a,b", &"x".repeat(65)] {
            assert!(check_region(region).is_err(), "{region:?}");
        }
    }

    #[test]
    fn a_message_is_short_however_long_the_name() {
        let error = check_bucket(&"x".repeat(1 << 20), Lookup::Path).expect_err("too long").to_string();
        assert!(error.len() < 400 && error.contains('…'), "{error}");
    }
}
