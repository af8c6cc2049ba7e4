//! Hosts of a target: how lists, ranges, files and URLs become addresses.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Most hosts of one target.
pub const HOSTS_MAX: usize = 1024;

/// One host of a target, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// `name:port`, as requests name it.
    pub authority: String,
    /// Where connections go.
    pub address: SocketAddr,
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
    /// Some with TLS, some without.
    #[error("host {0:?} is not spoken to as the others are: write https:// or http:// before all of them, or --tls")]
    Scheme(String),
    /// Too many.
    #[error("{0:?} names more than {HOSTS_MAX} hosts")]
    TooMany(String),
    /// A file that could not be read.
    #[error("failed to read hosts from {path:?}: {source}")]
    File {
        /// As given after `file:`.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A name that does not resolve.
    #[error("failed to resolve host {host:?}: {source}")]
    Resolve {
        /// As given.
        host: String,
        /// Why.
        source: std::io::Error,
    },
}

/// Hosts as they were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// `host:port` of each.
    pub authorities: Vec<String>,
    /// Whether TLS is spoken with them.
    pub tls: bool,
}

/// Reads `--host`: a comma list of `host[:port]`, `http://host[:port]` or `https://host[:port]`, with `{1...16}`
/// ranges, or `file:PATH` with one such entry a line. With `tls`, hosts without a scheme speak TLS too. The port is 80
/// or, with TLS, 443 where none is given, as for any URL.
///
/// # Errors
/// [`HostsError`], quoting the entry at fault.
pub fn parse(text: &str, tls: bool) -> Result<Named, HostsError> {
    let mut hosts = Vec::new();
    for entry in text.split(',').map(str::trim).filter(|e| !e.is_empty()) {
        if let Some(path) = entry.strip_prefix("file:") {
            let lines =
                std::fs::read_to_string(path).map_err(|source| HostsError::File { path: path.to_owned(), source })?;
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
    Ok(Named { authorities, tls })
}

/// Expands each `{FIRST...LAST}` of an entry; numbers keep the width of `FIRST` where that has leading zeros.
fn expand(entry: &str, out: &mut Vec<String>) -> Result<(), HostsError> {
    let Some((before, rest)) = entry.split_once('{') else {
        out.push(entry.to_owned());
        return Ok(());
    };
    let fail = || HostsError::Range(entry.to_owned());
    let (range, after) = rest.split_once('}').ok_or_else(fail)?;
    let (first, last) = range.split_once("...").ok_or_else(fail)?;
    let (low, high): (u32, u32) = (first.parse().map_err(|_| fail())?, last.parse().map_err(|_| fail())?);
    if low > high {
        return Err(fail());
    }
    if (high - low) as usize >= HOSTS_MAX {
        return Err(HostsError::TooMany(entry.to_owned()));
    }
    let width = if first.starts_with('0') { first.len() } else { 0 };
    for n in low..=high {
        expand(&format!("{before}{n:0width$}{after}"), out)?;
        if out.len() > HOSTS_MAX {
            return Err(HostsError::TooMany(entry.to_owned()));
        }
    }
    Ok(())
}

/// `host:port` of an entry that may be a URL.
fn authority(entry: &str, tls: bool) -> Result<String, HostsError> {
    let fail = || HostsError::Url(entry.to_owned());
    let rest = match entry.split_once("://") {
        Some(("http", rest)) if !tls => rest,
        Some(("https", rest)) if tls => rest,
        Some(("http" | "https", _)) => return Err(HostsError::Scheme(entry.to_owned())),
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
            (format!("[{v6}]"), port.strip_prefix(':').unwrap_or(port))
        }
        None if rest.matches(':').count() > 1 => {
            rest.parse::<IpAddr>().map_err(|_| fail())?;
            (format!("[{rest}]"), "")
        }
        None => rest.split_once(':').map_or((rest.to_owned(), ""), |(h, p)| (h.to_owned(), p)),
    };
    if host.is_empty() {
        return Err(fail());
    }
    let port: u16 = if port.is_empty() { default_port(tls) } else { port.parse().map_err(|_| fail())? };
    Ok(format!("{host}:{port}"))
}

/// How long an address may take to answer before the next one of its name is tried.
const TRY_FOR: Duration = Duration::from_secs(1);

/// Finds the address of each `host:port`: where a name has several, the first that takes a connection, as `localhost`
/// with a server on one of IPv4 and IPv6; the first of all where none does.
///
/// # Errors
/// [`HostsError::Resolve`] for the first name that has no address.
pub fn resolve(authorities: &[String]) -> Result<Vec<Host>, HostsError> {
    let one = |authority: &String| {
        let failed = |source| HostsError::Resolve { host: authority.clone(), source };
        let addresses: Vec<SocketAddr> = authority.to_socket_addrs().map_err(failed)?.collect();
        let answers =
            |address: &&SocketAddr| addresses.len() == 1 || TcpStream::connect_timeout(address, TRY_FOR).is_ok();
        let chosen = addresses.iter().find(answers).or(addresses.first());
        let address = *chosen.ok_or_else(|| failed(std::io::Error::other("the name has no address")))?;
        Ok(Host { authority: authority.clone(), address })
    };
    authorities.iter().map(one).collect()
}

/// Finds every address of each `host:port`: a host for each, under the same name.
///
/// # Errors
/// [`HostsError::Resolve`] for the first name that has no address, [`HostsError::TooMany`].
pub fn resolve_all(authorities: &[String]) -> Result<Vec<Host>, HostsError> {
    let mut hosts = Vec::<Host>::new();
    for authority in authorities {
        let failed = |source| HostsError::Resolve { host: authority.clone(), source };
        let before = hosts.len();
        for address in authority.to_socket_addrs().map_err(failed)? {
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
        ] {
            let named = parse(text, false).unwrap();
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
        assert_eq!(parse(&text, true).unwrap().authorities, ["a:1", "b1:2", "b2:2"]);
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
            ("user@a", "user@a"),
            ("http://\ta", "\\ta"),
            ("a\r\nX-Header: b", "\\r\\n"),
            ("n{1...5000}", "more than 1024"),
            ("n{1...1000}-{1...1000}", "more than 1024"),
            ("file:/does/not/exist", "/does/not/exist"),
            (":9000", ":9000"),
        ] {
            let error = parse(text, false).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn tls_asked_for_goes_for_hosts_without_a_scheme_and_not_against_one() {
        let named = parse("a,https://b:9,[::1]", true).unwrap();
        assert_eq!((named.authorities.join(" ").as_str(), named.tls), ("a:443 b:9 [::1]:443", true));
        assert!(parse("http://a", true).unwrap_err().to_string().contains("--tls"));
    }

    #[test]
    fn localhost_is_where_its_server_is() {
        let Ok(listener) = std::net::TcpListener::bind("127.0.0.1:0") else { panic!("no loopback") };
        let port = listener.local_addr().unwrap().port();
        let hosts = resolve(&[format!("localhost:{port}")]).unwrap();
        assert_eq!(hosts[0].address, listener.local_addr().unwrap());
    }

    #[test]
    fn names_become_addresses() {
        let hosts = resolve(&["127.0.0.1:9000".into(), "[::1]:80".into()]).unwrap();
        assert_eq!(hosts[0].address, "127.0.0.1:9000".parse().unwrap());
        assert!(resolve(&["no-such-host.invalid:1".into()]).is_err());
        for (authority, tls, header) in
            [("a:80", false, "a"), ("a:8080", false, "a:8080"), ("a:443", true, "a"), ("a:80", true, "a:80")]
        {
            assert_eq!(host_header(authority, tls), header);
        }
    }
}
