//! Texts of a kind: names, addresses and folders of a Kubernetes.

use linerate_record::ranges::expanded;
use linerate_record::site::{Prefix, parse_ipv4};

use crate::keys::TextKind;

/// Most names of an entry: as many as there may be nodes of a kind.
pub(crate) const NAMES_MAX: usize = 100_000;

/// Longest name of a machine, in bytes: a label's value, which `kubernetes.io/hostname` is.
const MACHINE_BYTES_MAX: usize = 63;

/// What a text of a kind is, in words of a fix.
pub(super) fn fix(kind: TextKind) -> &'static str {
    match kind {
        TextKind::Label => "write lower-case letters, digits and \"-\", 63 at most, a letter or digit first and last",
        TextKind::Image => {
            "write it with a version or digest, such as quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z"
        }
        TextKind::Machines => "write names such as node01, or a range of them such as \"node{01...56}\"",
        TextKind::Folders => "write absolute paths such as /data1, or a range of them such as \"/data{1...20}\"",
        TextKind::Host => "write a name or an address of IPv4, without a port",
        TextKind::Address => "write an address of IPv4, such as 10.0.0.1",
        TextKind::Prefix => "write addresses of IPv4 such as 10.244.0.0/16, with no bit set behind the prefix",
        TextKind::Repository => {
            "write it as https://git.example.com/storage.git or ssh://git@git.example.com/storage.git, without \
             credentials: Argo CD keeps those in a Secret"
        }
        TextKind::Revision => "write a branch, a tag or a commit, such as main",
        TextKind::Below => "write a path within the repository such as clusters/one, or \".\"",
        TextKind::Version => "write it as 1.34.4",
        TextKind::File => "write an absolute path such as /usr/local/bin/linerate",
    }
}

/// An example of a kind.
pub(crate) fn example(kind: TextKind) -> &'static str {
    match kind {
        TextKind::Label => "`object-store`",
        TextKind::Image => "`quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z`",
        TextKind::Machines => "`node{01...56}`",
        TextKind::Folders => "`/data{1...20}`",
        TextKind::Host => "`api.example.com`",
        TextKind::Address => "`10.0.0.1`",
        TextKind::Prefix => "`10.244.0.0/16`",
        TextKind::Repository => "`https://git.example.com/storage.git`",
        TextKind::Revision => "`main`",
        TextKind::Below => "`clusters/one`",
        TextKind::Version => "`1.34.4`",
        TextKind::File => "`/usr/local/bin/linerate`",
    }
}

/// The pattern of a kind for the schema; it takes all that [`is_text_kind`] does.
pub(crate) fn pattern(kind: TextKind) -> &'static str {
    match kind {
        TextKind::Label => "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        TextKind::Image => "^[a-z0-9][A-Za-z0-9._/:@-]*[:@][A-Za-z0-9._:-]+$",
        TextKind::Machines => r"^[a-z0-9{][a-z0-9.{}-]*$",
        TextKind::Folders => r"^/[A-Za-z0-9._/{}-]+$",
        TextKind::Host => "^[a-z0-9][a-z0-9.-]*$",
        TextKind::Address => r"^[0-9]{1,3}(\.[0-9]{1,3}){3}$",
        TextKind::Prefix => r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$",
        TextKind::Repository => {
            r"^(https://[A-Za-z0-9.-]+(:[0-9]+)?/|([A-Za-z0-9._-]+|ssh://[A-Za-z0-9._-]+)@[A-Za-z0-9.-]+[:/])[\w./~-]+$"
        }
        TextKind::Revision => "^[A-Za-z0-9][A-Za-z0-9._/-]*$",
        TextKind::Below => r"^[A-Za-z0-9._/-]+$",
        TextKind::Version => r"^1\.[0-9]{1,3}\.[0-9]{1,3}$",
        TextKind::File => r"^/[A-Za-z0-9._/-]+$",
    }
}

/// Whether a text is of a kind.
pub(super) fn is_text_kind(kind: TextKind, text: &str) -> bool {
    let all =
        |is_good: fn(&str) -> bool| expanded(text, NAMES_MAX).is_ok_and(|names| names.iter().all(|name| is_good(name)));
    match kind {
        TextKind::Label => is_label(text),
        TextKind::Image => is_image(text),
        TextKind::Machines => all(is_machine),
        TextKind::Folders => all(is_folder),
        TextKind::Host => is_domain(text),
        TextKind::Address => parse_ipv4(text).is_some(),
        TextKind::Prefix => Prefix::parse(text).is_some(),
        TextKind::Repository => is_repository(text),
        TextKind::Revision => text.len() <= 255 && !text.starts_with(['-', '.']) && is_path(text),
        TextKind::Below => text == "." || is_path(text),
        TextKind::Version => is_version(text),
        TextKind::File => is_folder(text),
    }
}

/// The forms of Argo CD's documentation: HTTPS, SSH, and what `scp` takes. Behind HTTPS, a user is a token as often as
/// not: none is taken. Behind SSH it is a name, and a password is none.
fn is_repository(text: &str) -> bool {
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let is_host = |text: &str| {
        let (name, port) = text.split_once(':').unwrap_or((text, "443"));
        is_domain(&name.to_ascii_lowercase()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    let of_host = |text: &str| text.split_once('/').is_some_and(|(host, path)| is_host(host) && is_path(path));
    let of_user = |text: &str, is_rest: &dyn Fn(&str) -> bool| {
        text.split_once('@').is_some_and(|(user, rest)| is_word(user) && is_rest(rest))
    };
    if text.len() > 512 {
        return false;
    }
    match text.split_once("://") {
        Some(("https", rest)) => of_host(rest),
        Some(("ssh", rest)) => of_user(rest, &of_host),
        Some(_) => false,
        None => of_user(text, &|rest| {
            rest.split_once(':').is_some_and(|(host, path)| is_domain(&host.to_ascii_lowercase()) && is_path(path))
        }),
    }
}

/// A path of plain words that leads to nothing above it.
fn is_path(text: &str) -> bool {
    let is_good = |part: &str| {
        !matches!(part, "" | "." | "..") && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b))
    };
    text.len() <= 255 && !text.starts_with('-') && text.split('/').all(is_good)
}

/// Whether a text is the name of one machine.
#[must_use]
pub fn is_machine(text: &str) -> bool {
    text.len() <= MACHINE_BYTES_MAX && is_domain(text)
}

fn is_label(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || c == '-')
}

fn is_domain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_folder(text: &str) -> bool {
    let is_good = |part: &str| {
        !matches!(part, "" | "." | "..") && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    text.len() <= 255 && text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_good))
}

/// Three numbers of which the first is 1, none with a zero before it.
fn is_version(text: &str) -> bool {
    let is_number = |part: &str| part.parse::<u16>().is_ok_and(|number| number < 1000 && number.to_string() == part);
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts[0] == "1" && parts.into_iter().all(is_number)
}

/// A name with a version that does not move.
fn is_image(text: &str) -> bool {
    let (rest, digest) = text.split_once('@').map_or((text, None), |(rest, digest)| (rest, Some(digest)));
    let (path, last) = rest.rsplit_once('/').map_or(("", rest), |(path, last)| (path, last));
    let (name, tag) = last.split_once(':').map_or((last, None), |(name, tag)| (name, Some(tag)));
    let is_word = |text: &str, more: &[u8]| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
    };
    let is_pinned = match (tag, digest) {
        (_, Some(digest)) => digest.strip_prefix("sha256:").is_some_and(|hex| {
            hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        }),
        (Some(tag), None) => tag != "latest",
        (None, None) => false,
    };
    is_pinned
        && text.len() <= 255
        && tag.is_none_or(|tag| is_word(tag, b"-_.") && tag.len() <= 128)
        && is_word(name, b"-_.")
        && (path.is_empty() || path.split('/').all(|part| is_word(part, b"-_.:")))
        && !rest.trim_end_matches(tag.unwrap_or_default()).contains(|c: char| c.is_ascii_uppercase())
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: [(TextKind, &[&str], &[&str]); 12] = [
        (TextKind::Label, &["a", "object-store", "s3"], &["", "A", "-a", "a-", "a.b", "a_b"]),
        (
            TextKind::Image,
            &[
                "minio:1",
                "quay.io/minio/minio:RELEASE.2025-04-22T22-12-26Z",
                "registry.example.com:5000/rustfs/rustfs:1.0.0",
                "a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            ],
            &[
                "",
                "minio",
                "minio:latest",
                "minio:",
                "Minio:1",
                "quay.io/Minio/minio:1",
                "a b:1",
                "a@sha256:12",
                "-a:1",
                "a//b:1",
            ],
        ),
        (
            TextKind::Machines,
            &["node01", "node{01...56}", "n{1...2}.rack1"],
            &["", "Node1", "node{1..2}", "node_1", "n{2...1}"],
        ),
        (
            TextKind::Folders,
            &["/data1", "/mnt/disk{1...20}"],
            &["", "data", "/", "/a/../b", "/a b", "/a//b", "/{1...0}"],
        ),
        (TextKind::Host, &["10.0.0.1", "api.example.com"], &["", "api:6443", "https://api", "a..b"]),
        (TextKind::Address, &["10.0.0.1"], &["", "10.0.0", "10.0.0.256", "::1", "10.0.0.1/32"]),
        (TextKind::Prefix, &["10.0.0.0/8", "0.0.0.0/0"], &["", "10.0.0.1/8", "10.0.0.0", "fd00::/8"]),
        (
            TextKind::Repository,
            &[
                "https://git.example.com/storage.git",
                "https://git.example.com:8443/a/b",
                "ssh://git@git.example.com:22/a.git",
                "git@git.example.com:team/storage.git",
            ],
            &[
                "",
                "git.example.com/a",
                "http://git.example.com/a",
                "https://git.example.com",
                "https://user:word@git.example.com/a",
                "https://token@git.example.com/a",
                "ssh://git:word@git.example.com/a",
                "ssh://git.example.com/a",
                "git:word@git.example.com:a",
                "https://git.example.com/../a",
                "https://git.example.com/a?b=c",
                "https://git.example.com:0/a",
                "file:///a",
                "https://git.example.com/a b",
            ],
        ),
        (
            TextKind::Revision,
            &["main", "v1.2.0", "release/2026-11", "HEAD", "0123abc"],
            &["", "-a", ".a", "a..b/..", "a b", "a//b", "/a"],
        ),
        (TextKind::Below, &[".", "clusters/one", "a.b"], &["", "/a", "../a", "a/../b", "a/", "-a", "a b"]),
        (
            TextKind::Version,
            &["1.31.0", "1.34.4"],
            &["", "v1.34.4", "1.34", "1.34.04", "2.0.0", "1.34.4-rc.0", "1.34.+4"],
        ),
        (TextKind::File, &["/usr/local/bin/linerate", "/a"], &["", "a", "/", "/a/../b", "/a b", "/a{1...2}"]),
    ];

    #[test]
    fn texts_are_of_their_kind_or_not() {
        for (kind, good, bad) in CASES {
            for text in good {
                assert!(is_text_kind(kind, text), "{kind:?} {text}");
            }
            for text in bad {
                assert!(!is_text_kind(kind, text), "{kind:?} {text}");
            }
        }
    }

    #[test]
    fn the_schema_takes_what_is_read() {
        for (kind, good, _) in CASES {
            let pattern = regex::Regex::new(pattern(kind)).unwrap();
            for text in good.iter().copied().chain([example(kind).trim_matches('`')]) {
                assert!(pattern.is_match(text) && is_text_kind(kind, text), "{kind:?} {text}");
            }
            assert!(!fix(kind).is_empty());
        }
    }
}
