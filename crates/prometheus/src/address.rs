//! The address of a Prometheus: `https://host:port/prefix`.

/// Where a Prometheus answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusAddress {
    /// Whether it speaks TLS.
    pub is_tls: bool,
    /// Name or address, without brackets.
    pub host: String,
    pub port: u16,
    /// What is before `/api/v1`: empty, or with a slash at its beginning and none at its end.
    pub prefix: String,
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No scheme, or another.
    #[error("{0:?} is no URL of a Prometheus: write http://HOST:9090, or https://HOST/PREFIX behind a proxy")]
    Scheme(String),
    /// A name and a password in it.
    #[error(
        "a URL with a name or a password in it is seen by all users of this machine: give --user and \
             --password-file instead"
    )]
    Secret,
    /// A query or a fragment.
    #[error("{0:?} has a query: leave out what is behind the ?, the queries are linerate's")]
    Query(String),
    /// No host, or no port.
    #[error("{0:?} has no host or no valid port: write http://HOST:9090")]
    Host(String),
}

impl PrometheusAddress {
    /// Reads a URL.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<PrometheusAddress, AddressError> {
        let page = PrometheusAddress::page(text)?;
        // What people copy out of a browser or a data source of Grafana.
        let path = page.prefix.as_str();
        let path = ["/api/v1/query_range", "/api/v1/query", "/api/v1", "/graph", "/query"]
            .iter()
            .find_map(|end| path.strip_suffix(end))
            .unwrap_or(path);
        let prefix = path.trim_end_matches('/').to_owned();
        Ok(PrometheusAddress { prefix, ..page })
    }

    /// Reads the URL of one page, whose whole path is the prefix.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn page(text: &str) -> Result<PrometheusAddress, AddressError> {
        let of_host = || AddressError::Host(text.to_owned());
        let text = text.trim();
        let (is_tls, rest) = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            _ => return Err(AddressError::Scheme(text.split('@').next_back().unwrap_or_default().to_owned())),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        if authority.contains('@') {
            return Err(AddressError::Secret);
        }
        if rest.contains(['?', '#']) {
            return Err(AddressError::Query(text.to_owned()));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(inner) => {
                let (host, port) = inner.split_once(']').ok_or_else(of_host)?;
                (host, port)
            }
            None => authority.find(':').map_or((authority, ""), |at| authority.split_at(at)),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(of_host)?,
            None if port.is_empty() => {
                if is_tls {
                    443
                } else {
                    80
                }
            }
            None => return Err(of_host()),
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
        if host.is_empty() || !host.chars().all(is_plain) {
            return Err(of_host());
        }
        if path.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(of_host());
        }
        let prefix = path.trim_end_matches('/').to_owned();
        Ok(PrometheusAddress { is_tls, host: host.to_owned(), port, prefix })
    }

    /// `host:port`, as `Host` has it.
    #[must_use]
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.is_tls, self.port) {
            (false, 80) | (true, 443) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// As a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}{}", if self.is_tls { "https" } else { "http" }, self.authority(), self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_a_port_and_a_prefix() {
        for (text, url, host, port) in [
            ("http://prom:9090", "http://prom:9090", "prom", 9090),
            ("http://prom:9090/graph", "http://prom:9090", "prom", 9090),
            ("https://mon.example/prom/api/v1/", "https://mon.example/prom", "mon.example", 443),
            ("HTTP://[::1]:9090/", "http://[::1]:9090", "::1", 9090),
            ("http://10.0.0.1", "http://10.0.0.1", "10.0.0.1", 80),
        ] {
            let read = PrometheusAddress::read(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!((read.url().as_str(), read.host.as_str(), read.port), (url, host, port), "{text}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused_and_no_password_is_quoted() {
        for (text, part) in [
            ("prom:9090", "write http://HOST:9090"),
            ("ftp://prom", "write http://HOST:9090"),
            ("http://u:hunter2@prom:9090", "--password-file"),
            ("u:hunter2@prom:9090", "\"prom:9090\""),
            ("http://prom:9090/?query=up", "leave out what is behind the ?"),
            ("http://prom:0", "no valid port"),
            ("http://prom:x", "no valid port"),
            ("http://", "no host"),
            ("http://[::1", "no host"),
            ("http://a b:9090", "no host"),
        ] {
            let why = PrometheusAddress::read(text).unwrap_err().to_string();
            assert!(why.contains(part) && !why.contains("hunter2"), "{text}: {why}");
        }
    }
}
