//! Hosts of a target: how lists, ranges, files and URLs become addresses.

mod recorded;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use linerate_record::ranges::{RangeError, expanded};
use linerate_wire::name_lookup;

pub use recorded::{Recorded, labels, recorded, resolve_recorded};

/// Most hosts of one target.
pub const HOSTS_MAX: usize = 1024;

/// Longest name of a host: DNS has no longer one.
const NAME_MAX: usize = 253;

/// One host of a target, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// `name:port`, as requests name it.
    pub authority: String,
    pub address: SocketAddr,
}

impl Host {
    /// Its name with its address, as [`recorded`] reads it: `name:port (address)`.
    #[must_use]
    pub fn with_address(&self) -> String {
        format!("{} ({})", self.authority, self.address.ip())
    }
}

/// Hosts that could not be read or found.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// Nothing named.
    #[error("no host in {0:?}: write host:port, a comma list, minio-{{1...4}}:9000, file:PATH or https://host:port")]
    Empty(String),
    /// A range that is none.
    #[error(
        "invalid host range in {0:?}: write {{FIRST...LAST}} with FIRST not above LAST, such as minio-{{1...16}}:9000"
    )]
    Range(String),
    /// A URL with a scheme or parts that do not fit.
    #[error("invalid host {0:?}: write https://host:port, http://host:port or host:port, without a path")]
    Url(String),
    /// A colon without a port behind it.
    #[error("no port behind the colon of host {0:?}: write HOST:PORT, or HOST for port 80 (443 with TLS)")]
    NoPort(String),
    /// A switch of the environment that says neither.
    #[error("invalid {name}={value:?} in the environment: write true or false")]
    Switch { name: &'static str, value: String },
    /// An IPv6 address that may be one with a port.
    #[error("ambiguous host {text:?}: write [{address}]:{port} for port {port}, or [{text}] for the address")]
    Ambiguous {
        text: String,
        /// What stands before its last colon.
        address: String,
        port: u16,
    },
    /// Keys before the host, as mc and some databases write them. Nothing of it is quoted but the host.
    #[error(
        "keys before the host {0:?} in a list of hosts: give hosts only, and the keys with AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, a --profile, or an --alias of mc (MC_HOST_NAME=https://ACCESS_KEY:SECRET_KEY@HOST)"
    )]
    Keys(String),
    /// Some with TLS, some without.
    #[error(
        "host {0:?} uses another protocol than the others: write https:// or http:// before all of them, or use \
             --tls"
    )]
    Scheme(String),
    #[error("{0:?} names more than {HOSTS_MAX} hosts")]
    TooMany(String),
    /// A file that could not be read.
    #[error("failed to read hosts from {path:?}: {source}")]
    File {
        /// As given after `file:`.
        path: String,
        source: std::io::Error,
    },
    /// A name that does not resolve.
    #[error("failed to resolve host {host:?}: {source}; check the name; an address needs no name server")]
    Resolve { host: String, source: std::io::Error },
}

/// Hosts as they were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedHosts {
    /// `host:port` of each.
    pub authorities: Vec<String>,
    /// Whether TLS is spoken with them.
    pub tls: bool,
}

/// Reads `--host`: a comma list of `host[:port]`, `http://host[:port]` or `https://host[:port]`, with `{1...16}`
/// ranges, or `file:PATH` with one such entry a line. With `tls`, hosts without a scheme speak TLS too. The port is 80
/// or, with TLS, 443 where none is given, as for any URL. `read` gives the text of a file of so many bytes at the most.
///
/// # Errors
/// [`HostsError`], quoting the entry at fault.
pub fn parse(text: &str, tls: bool, read: Read) -> Result<NamedHosts, HostsError> {
    require_no_keys(text)?;
    let mut hosts = Vec::new();
    for entry in text.split(',').map(str::trim).filter(|e| !e.is_empty()) {
        if let Some(path) = entry.strip_prefix("file:") {
            let lines = read(Path::new(path), FILE_BYTES_MAX)
                .map_err(|source| HostsError::File { path: path.to_owned(), source })?;
            require_no_keys(&lines)?;
            for line in lines.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
                expand(line, &mut hosts)?;
            }
        } else {
            expand(entry, &mut hosts)?;
        }
        if hosts.len() > HOSTS_MAX {
            return Err(HostsError::TooMany(text.to_owned()));
        }
    }
    if hosts.is_empty() {
        return Err(HostsError::Empty(text.to_owned()));
    }
    let tls = tls || hosts[0].starts_with("https://");
    let authorities = hosts.iter().map(|h| authority(h, tls)).collect::<Result<_, _>>()?;
    Ok(NamedHosts { authorities, tls })
}

/// Largest file of hosts: each line of those that there can be, and comments.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads a file: what is no regular one, and never ends or begins, is for the caller to bound.
pub type Read = fn(&Path, u64) -> std::io::Result<String>;

/// The hosts of an entry that may hold ranges.
fn expand(entry: &str, out: &mut Vec<String>) -> Result<(), HostsError> {
    let names = expanded(entry, HOSTS_MAX.saturating_sub(out.len())).map_err(|error| match error {
        RangeError::Malformed => HostsError::Range(entry.to_owned()),
        RangeError::TooMany => HostsError::TooMany(entry.to_owned()),
    })?;
    out.extend(names);
    Ok(())
}

/// No host has an `@`. A key before it may hold every sign that parts hosts, so that the text is looked at as a whole.
fn require_no_keys(text: &str) -> Result<(), HostsError> {
    let Some((_, behind)) = text.rsplit_once('@') else { return Ok(()) };
    let end = behind.find([',', '/', '?', '#', '\n']).unwrap_or(behind.len());
    Err(HostsError::Keys(behind[..end].trim().to_owned()))
}

/// An entry as it may be quoted: what stands behind a colon and is no port may be a key, for want of the sign behind
/// it, and a query may hold a signature.
fn quotable(entry: &str) -> String {
    let (entry, query) = entry.split_once(['?', '#']).map_or((entry, ""), |(entry, _)| (entry, "?***"));
    let begin = entry.find("://").map_or(0, |at| at + 3);
    let is_port = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let rest = &entry[begin..];
    let is_address = rest.starts_with('[') || rest.parse::<IpAddr>().is_ok();
    match rest.split_once(':').filter(|_| !is_address) {
        Some((host, port)) if !host.is_empty() && !is_port(port.split('/').next().unwrap_or_default()) => {
            format!("{}{host}:***{query}", &entry[..begin])
        }
        _ => format!("{entry}{query}"),
    }
}

/// `host:port` of an entry that may be a URL.
fn authority(entry: &str, tls: bool) -> Result<String, HostsError> {
    let fail = || HostsError::Url(quotable(entry));
    let rest = match entry.split_once("://") {
        Some(("http", rest)) if !tls => rest,
        Some(("https", rest)) if tls => rest,
        Some(("http" | "https", _)) => return Err(HostsError::Scheme(quotable(entry))),
        Some(_) => return Err(fail()),
        None => entry,
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    // It becomes the value of a header: no blank, and least of all a line break.
    if rest.is_empty() || rest.contains(['/', '@', '?', '#']) || !rest.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(fail());
    }
    let (host, port) = match rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        Some((v6, port)) => {
            v6.parse::<IpAddr>().map_err(|_| fail())?;
            if !port.is_empty() && !port.starts_with(':') {
                return Err(fail());
            }
            (format!("[{v6}]"), port)
        }
        None if rest.matches(':').count() > 1 => {
            rest.parse::<IpAddr>().map_err(|_| fail())?;
            if let Some((address, port)) = with_port(rest) {
                return Err(HostsError::Ambiguous { text: rest.to_owned(), address, port });
            }
            (format!("[{rest}]"), "")
        }
        None => {
            let (host, port) = rest.split_at(rest.find(':').unwrap_or(rest.len()));
            (host.to_owned(), port)
        }
    };
    let of_name = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if host.is_empty() || host.len() > NAME_MAX || !(host.starts_with('[') || host.bytes().all(of_name)) {
        return Err(fail());
    }
    let port: u16 = match port.strip_prefix(':') {
        None => default_port(tls),
        // What was to stand there may have been left empty by a variable.
        Some("") => return Err(HostsError::NoPort(quotable(entry))),
        Some(port) => port.parse().map_err(|_| fail())?,
    };
    Ok(format!("{host}:{port}"))
}

/// An IPv6 address and a port, where an address without brackets may be meant as both: `::1:9000` is one in itself, and
/// so is `::1`. What ends in no number that is a port of its own is an address.
fn with_port(text: &str) -> Option<(String, u16)> {
    let (address, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|_| port.len() > 1 && !port.starts_with('0'))?;
    address.parse::<std::net::Ipv6Addr>().ok().map(|_| (address.to_owned(), port))
}

/// Whether only a name server, or a file of names, can say where a `host:port` is: it is no address, and not
/// `localhost`, which is this machine wherever nobody says otherwise (RFC 6761, section 6.3).
#[must_use]
pub fn needs_look_up(authority: &str) -> bool {
    let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    !name.eq_ignore_ascii_case("localhost") && bare.parse::<IpAddr>().is_err()
}

/// How long an address may take to answer before the next one of its name is tried, where `--timeout` gives more.
const TRY_FOR: Duration = Duration::from_secs(1);

/// The addresses of a `host:port`.
fn looked_up(authority: &str, within: Duration) -> io::Result<Vec<SocketAddr>> {
    authority.parse().map_or_else(|_| name_lookup::addresses(authority.to_owned(), within), |address| Ok(vec![address]))
}

/// Whether an address takes a connection within a time.
fn takes_a_connection(address: &SocketAddr, within: Duration) -> bool {
    TcpStream::connect_timeout(address, within).is_ok()
}

/// The first address that answers, if there are several, or the first of all if none does. `answers` tells of one,
/// within a time.
fn first_that_answers(
    addresses: &[SocketAddr],
    within: Duration,
    mut answers: impl FnMut(&SocketAddr, Duration) -> bool,
) -> Option<SocketAddr> {
    let try_for = TRY_FOR.min(within);
    let found = if addresses.len() > 1 { addresses.iter().find(|address| answers(address, try_for)) } else { None };
    found.or(addresses.first()).copied()
}

/// Finds the address of each `host:port`: where a name has several, the first that takes a connection, as `localhost`
/// with a server on one of IPv4 and IPv6; the first of all where none does.
///
/// # Errors
/// [`HostsError::Resolve`] for the first name that has no address.
pub fn resolve(authorities: &[String], within: Duration) -> Result<Vec<Host>, HostsError> {
    let one = |authority: &String| {
        let failed = |source| HostsError::Resolve { host: authority.clone(), source };
        let addresses = looked_up(authority, within).map_err(failed)?;
        let chosen = first_that_answers(&addresses, within, takes_a_connection);
        let address = chosen.ok_or_else(|| failed(std::io::Error::other("the name has no address")))?;
        Ok(Host { authority: authority.clone(), address })
    };
    authorities.iter().map(one).collect()
}

/// Finds every address of each `host:port`: a host for each, under the same name.
///
/// # Errors
/// [`HostsError::Resolve`] for the first name that has no address, [`HostsError::TooMany`].
pub fn resolve_all(authorities: &[String], within: Duration) -> Result<Vec<Host>, HostsError> {
    let mut hosts = Vec::<Host>::new();
    for authority in authorities {
        let failed = |source| HostsError::Resolve { host: authority.clone(), source };
        let before = hosts.len();
        for address in looked_up(authority, within).map_err(failed)? {
            let host = Host { authority: authority.clone(), address };
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        if hosts.len() == before && !hosts.iter().any(|h| h.authority == *authority) {
            return Err(failed(std::io::Error::other("the name has no address")));
        }
        if hosts.len() > HOSTS_MAX {
            return Err(HostsError::TooMany(authority.clone()));
        }
    }
    Ok(hosts)
}

const fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

/// What a `Host` header says: the port is left out where it is the protocol's own, as clients and signatures do.
#[must_use]
pub fn host_header(authority: &str, tls: bool) -> &str {
    authority.strip_suffix(if tls { ":443" } else { ":80" }).unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn read(path: &Path, most: u64) -> std::io::Result<String> {
        assert_eq!(most, 1 << 20);
        std::fs::read_to_string(path)
    }

    #[test]
    fn hosts_read_as_users_write_them() {
        for (text, expected) in [
            ("localhost:9000", "localhost:9000"),
            ("a,b:1, c", "a:80 b:1 c:80"),
            ("minio-{1...3}:9000", "minio-1:9000 minio-2:9000 minio-3:9000"),
            ("n{08...10}", "n08:80 n09:80 n10:80"),
            ("r{1...2}n{1...2}", "r1n1:80 r1n2:80 r2n1:80 r2n2:80"),
            ("http://a:9000/", "a:9000"),
            ("http://n{1...2}:9000", "n1:9000 n2:9000"),
            ("https://a,https://b:9000/", "a:443 b:9000"),
            ("https://n{1...2}", "n1:443 n2:443"),
            ("[::1]:9000,::1,http://[fe80::1]", "[::1]:9000 [::1]:80 [fe80::1]:80"),
            ("fe80::9:1,1:2:3:4:5:6:7:8000,::beef", "[fe80::9:1]:80 [1:2:3:4:5:6:7:8000]:80 [::beef]:80"),
            ("[::1:9000]", "[::1:9000]:80"),
        ] {
            let named = parse(text, false, read).unwrap();
            assert_eq!(
                (named.authorities.join(" "), named.tls),
                (expected.into(), text.starts_with("https")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_file_names_one_host_a_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# storage nodes\na:1\n\nb{1...2}:2\n").unwrap();
        let text = format!("file:{}", file.path().display());
        assert_eq!(parse(&text, true, read).unwrap().authorities, ["a:1", "b1:2", "b2:2"]);
    }

    #[test]
    fn mistakes_are_quoted_with_their_fix() {
        for (text, part) in [
            ("", "no host"),
            (" , ", "comma list"),
            ("n{1..3}", "{FIRST...LAST}"),
            ("n{3...1}", "not above"),
            ("n{1...3", "n{1...3"),
            ("https://a,http://b", "http://b"),
            ("https://a,ftp://b", "ftp://b"),
            ("http://a,https://b", "--tls"),
            ("ftp://a", "ftp://a"),
            ("a:99999", "a:99999"),
            ("http://a/bucket", "without a path"),
            ("user@a", "host \"a\""),
            ("http://\ta", "\\ta"),
            ("a\r\nX-Header: b", "\\r\\n"),
            ("a%0d%0ab", "a%0d%0ab"),
            ("a\\b", "without a path"),
            ("n{1...5000}", "more than 1024"),
            ("n{1...1000}-{1...1000}", "more than 1024"),
            ("file:/does/not/exist", "/does/not/exist"),
            (":9000", ":9000"),
            ("127.0.0.1:", "no port behind the colon of host \"127.0.0.1:\": write HOST:PORT"),
            ("a,[::1]:", "no port behind the colon of host \"[::1]:\""),
            ("http://a:/", "no port behind the colon of host \"http://a:/\""),
            ("[::1]9000", "[::1]9000"),
            ("::1:9000", "ambiguous host \"::1:9000\": write [::1]:9000 for port 9000, or [::1:9000] for the address"),
            ("https://fe80::1:443", "write [fe80::1]:443"),
        ] {
            let error = parse(text, false, read).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn keys_in_a_list_of_hosts_are_refused_and_not_quoted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a:1\nhttps://AK:QQQQ@b:1\n").unwrap();
        for text in [
            "https://AK:QQQQ@h:9000",
            "AK:QQQQ@h",
            "QQQQ@h",
            "a,https://AK:QQ,QQQQ@h",
            "https://AK:QQ/QQQQ@h",
            "https://AK:{QQQQ}@h",
            "https://AK:QQQQ",
            "AK:QQQQ/",
            "AK:QQQQ:9000",
            "http://h:9000/?X-Amz-Signature=QQQQ",
            "ftp://AK:QQQQ",
            "https://a,http://AK:QQQQ",
            &format!("file:{}", file.path().display()),
        ] {
            let error = parse(text, false, read).expect_err(text).to_string();
            assert!(!error.contains("QQQQ"), "{text}: {error}");
        }
    }

    #[test]
    fn tls_asked_for_goes_for_hosts_without_a_scheme_and_not_against_one() {
        let named = parse("a,https://b:9,[::1]", true, read).unwrap();
        assert_eq!((named.authorities.join(" ").as_str(), named.tls), ("a:443 b:9 [::1]:443", true));
        assert!(parse("http://a", true, read).unwrap_err().to_string().contains("--tls"));
    }

    #[test]
    fn addresses_and_localhost_are_known_without_a_name_server() {
        for (authority, is_requested) in [
            ("127.0.0.1:9000", false),
            ("[::1]:80", false),
            ("LocalHost:9000", false),
            ("localhost.example:9000", true),
            ("127.1:9000", true),
            ("minio-1:9000", true),
        ] {
            assert_eq!(needs_look_up(authority), is_requested, "{authority}");
        }
    }

    #[test]
    fn localhost_is_where_its_server_is() {
        let Ok(listener) = std::net::TcpListener::bind("127.0.0.1:0") else { panic!("no loopback") };
        let port = listener.local_addr().unwrap().port();
        let hosts = resolve(&[format!("localhost:{port}")], LONG).unwrap();
        assert_eq!(hosts[0].address, listener.local_addr().unwrap());
    }

    #[test]
    fn an_address_of_several_is_tried_for_no_longer_than_the_limit() {
        let [first, second, third, fourth] = [1, 2, 3, 4].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let brief = Duration::from_millis(200);
        for (within, limit) in [(brief, brief), (TRY_FOR, TRY_FOR), (LONG, TRY_FOR)] {
            let mut tried = Vec::new();
            let found = first_that_answers(&[first, second, third, fourth], within, |address, within| {
                tried.push((*address, within));
                *address == third
            });
            assert_eq!((found, tried), (Some(third), [first, second, third].map(|at| (at, limit)).to_vec()));
        }
        assert_eq!(first_that_answers(&[first, second], brief, |_, _| false), Some(first), "none answers");
        assert_eq!(first_that_answers(&[first], brief, |_, _| panic!("one alone is not tried")), Some(first));
        assert_eq!(first_that_answers(&[], brief, |_, _| true), None);
    }

    #[test]
    fn names_become_addresses() {
        let hosts = resolve(&["127.0.0.1:9000".into(), "[::1]:80".into()], Duration::ZERO).unwrap();
        assert_eq!(hosts[0].address, "127.0.0.1:9000".parse().unwrap());
        assert!(resolve(&["no-such-host.invalid:1".into()], LONG).is_err());
        let reported = resolve(&["no-such-host.invalid:1".into()], Duration::ZERO).unwrap_err().to_string();
        assert!(reported.contains("\"no-such-host.invalid:1\"") && reported.contains("timed out after"), "{reported}");
        for (authority, tls, header) in
            [("a:80", false, "a"), ("a:8080", false, "a:8080"), ("a:443", true, "a"), ("a:80", true, "a:80")]
        {
            assert_eq!(host_header(authority, tls), header);
        }
    }
}
