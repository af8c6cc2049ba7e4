//! Names that requests are made of: of buckets, prefixes and regions. Whoever gives one, flags or a folder, it is held
//! against these rules before any request: they become request lines, headers and signatures, and say what is deleted.

use linerate_record::load::Lookup;

/// Most bytes of a prefix that a run writes below: keys of 1024 bytes are S3's limit.
const PREFIX_BYTES_MAX: usize = 512;

/// Most characters of a name that a message quotes.
const QUOTED_CHARS: usize = 80;

/// A name that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error(
        "invalid bucket name {}: S3 takes 3 to 63 lower-case letters, digits, dots and dashes, the first and last a \
         letter or digit, without two dots in a row, and not an IP address{}",
        quoted(.0),
        if check_old_bucket(.0, Lookup::Path).is_ok() { "; older ones are read with --list-existing" } else { "" }
    )]
    Bucket(String),
    /// Of a bucket that is there already.
    #[error(
        "invalid bucket name {}: even old ones have 3 to 255 letters, digits, dots, dashes or underscores, the first \
         and last a letter or digit, without two dots in a row, and are not an IP address",
        quoted(.0)
    )]
    OldBucket(String),
    /// Of a bucket that is to be a part of host names.
    #[error(
        "invalid bucket name {}: --lookup host takes up to 63 lower-case letters, digits, dots and dashes",
        quoted(.0)
    )]
    HostBucket(String),
    /// A prefix of keys.
    #[error(
        "invalid prefix {}: write up to {PREFIX_BYTES_MAX} bytes, not beginning with /, without control characters, \
         and with no part called . or ..",
        quoted(.0)
    )]
    Prefix(String),
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

/// Holds the name of a bucket against the rules by which S3 makes buckets today.
///
/// # Errors
/// [`NameError::Bucket`].
pub fn check_bucket(name: &str) -> Result<(), NameError> {
    let is_sound = name.len() <= 63 && name.bytes().all(is_of_host) && check_old_bucket(name, Lookup::Path).is_ok();
    if is_sound { Ok(()) } else { Err(NameError::Bucket(name.to_owned())) }
}

/// What AWS keeps a name for: no bucket of its customers is called so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedName {
    /// What the name begins or ends with.
    pub part: &'static str,
    /// Whether it ends with that.
    pub is_end: bool,
    /// Who refuses it besides.
    pub others: &'static str,
}

/// What AWS reserves (S3 User Guide, "General purpose bucket naming rules"), and who follows: Garage
/// (`is_valid_bucket_name`) and s3s, which RustFS and the embedded target stand on (`check_bucket_name`). MinIO
/// (`IsValidBucketName`) and Ceph (`valid_s3_bucket_name`) take all of it.
const RESERVED: [ReservedName; 8] = [
    ReservedName { part: "xn--", is_end: false, others: "RustFS and Garage" },
    ReservedName { part: "sthree-", is_end: false, others: "" },
    ReservedName { part: "amzn-s3-demo-", is_end: false, others: "" },
    ReservedName { part: "-s3alias", is_end: true, others: "Garage" },
    ReservedName { part: "--ol-s3", is_end: true, others: "" },
    ReservedName { part: ".mrap", is_end: true, others: "" },
    ReservedName { part: "--x-s3", is_end: true, others: "" },
    ReservedName { part: "--table-s3", is_end: true, others: "" },
];

/// What AWS keeps the name of a bucket for itself for, where it does.
#[must_use]
pub fn reserved(name: &str) -> Option<ReservedName> {
    let has = |of: &&ReservedName| if of.is_end { name.ends_with(of.part) } else { name.starts_with(of.part) };
    RESERVED.iter().find(has).copied()
}

/// The same as [`check_bucket`] for a bucket that is there already: the oldest region of AWS, and Ceph where it is told
/// to, have made such with capitals and underscores, of up to 255 characters.
///
/// # Errors
/// [`NameError::OldBucket`], [`NameError::HostBucket`].
pub fn check_old_bucket(name: &str, lookup: Lookup) -> Result<(), NameError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let ends = [name.bytes().next(), name.bytes().next_back()];
    let is_sound = (3..=255).contains(&name.len())
        && name.bytes().all(plain)
        && ends.iter().flatten().all(u8::is_ascii_alphanumeric)
        && !name.contains("..")
        && name.parse::<std::net::Ipv4Addr>().is_err();
    if !is_sound {
        return Err(NameError::OldBucket(name.to_owned()));
    }
    // A label of a host's name has 63 bytes.
    let is_of_hosts = name.len() <= 63 && name.bytes().all(is_of_host);
    if lookup == Lookup::Host && !is_of_hosts {
        return Err(NameError::HostBucket(name.to_owned()));
    }
    Ok(())
}

const fn is_of_host(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.')
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
    fn buckets_are_called_as_s3_makes_them_and_older_ones_as_it_did() {
        for name in ["abc", "linerate-bench", "a.b.c", "1.2.3", "0-9", &"x".repeat(63)] {
            assert_eq!(check_bucket(name), Ok(()), "{name}");
            assert_eq!(check_old_bucket(name, Lookup::Host), Ok(()), "{name}");
        }
        for name in ["Old_Bucket", "Upper", "under_score", &"x".repeat(64), &"x".repeat(255)] {
            assert_eq!(check_old_bucket(name, Lookup::Path), Ok(()), "{name}");
            let error = check_bucket(name).expect_err(name).to_string();
            assert!(
                error.contains("S3 takes 3 to 63 lower-case") && error.contains("--list-existing"),
                "{name}: {error}"
            );
            let error = check_old_bucket(name, Lookup::Host).expect_err(name).to_string();
            assert!(error.contains("--lookup host"), "{name}: {error}");
        }
        let long = "x".repeat(256);
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
            let error = check_bucket(name).expect_err(name).to_string();
            assert!(error.contains("3 to 63") && !error.contains("--list-existing"), "{name}: {error}");
            assert!(!error.contains('\n'), "{error}");
            let error = check_old_bucket(name, Lookup::Path).expect_err(name).to_string();
            assert!(error.contains("3 to 255"), "{name}: {error}");
        }
    }

    #[test]
    fn names_that_aws_keeps_are_known() {
        for (name, part) in [
            ("xn--a", Some("xn--")),
            ("sthree-a", Some("sthree-")),
            ("amzn-s3-demo-bucket", Some("amzn-s3-demo-")),
            ("a-s3alias", Some("-s3alias")),
            ("a--ol-s3", Some("--ol-s3")),
            ("a.mrap", Some(".mrap")),
            ("a--use1-az4--x-s3", Some("--x-s3")),
            ("a--table-s3", Some("--table-s3")),
            ("a-xn--b", None),
            ("linerate-bench", None),
            ("s3alias", None),
        ] {
            assert_eq!(reserved(name).map(|of| of.part), part, "{name}");
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
        let error = check_bucket(&"x".repeat(1 << 20)).expect_err("too long").to_string();
        assert!(error.len() < 400 && error.contains('…'), "{error}");
    }
}
