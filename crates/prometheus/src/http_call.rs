//! One question and its whole answer, over a connection of its own.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use linerate_record::sanitize;
use linerate_wire::deadline::{CancelToken, Deadline, WaitEnd};
use linerate_wire::http_call::{self, CallError, HttpAnswer, HttpPeer, HttpRequest, TlsPeer};
use linerate_wire::name_lookup;
use linerate_wire::tls::{TlsClient, words};
use rustls::pki_types::ServerName;

use crate::address::PrometheusAddress;
use crate::error::{PrometheusError, is_busy};

/// Largest answer: 484 machines with six interfaces each at 480 instants have some 40 MB.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// What a page of metrics is asked for as: the text format, whose names of counters are those of the table.
const PAGE_ACCEPTED: &str = "text/plain;version=0.0.4;q=1, application/openmetrics-text;version=1.0.0;q=0.2, */*;q=0.1";

/// How long a connection may take to be there.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How long a server that has too much to do is left alone before it is asked again: three tries in all.
const BACKOFF: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// A server that asks for more time than this is asked again after this: somebody waits for the answer.
const RETRY_AFTER_MOST: Duration = Duration::from_secs(5);

/// What the API says of a query that it gave up.
const TIMEOUT: &[u8] = b"\"errorType\":\"timeout\"";

/// Bytes of another's words that are quoted.
const QUOTED_MAX: usize = 160;

/// What a caller shows that it may ask. Never printed.
#[derive(Clone, Default)]
pub enum PrometheusAccess {
    /// Nothing.
    #[default]
    Open,
    Bearer(String),
    /// A name and a password.
    Basic {
        user: String,
        password: String,
    },
}

impl fmt::Debug for PrometheusAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PrometheusAccess::Open => "Open",
            PrometheusAccess::Bearer(_) => "Bearer(***)",
            PrometheusAccess::Basic { .. } => "Basic(***)",
        })
    }
}

/// Answers that may take their whole time: what all queries may take together, in times of one answer.
pub const ANSWERS_IN_ALL: u32 = 10;

/// What is asked of whom, and how.
pub struct PrometheusRequest {
    pub address: PrometheusAddress,
    pub access: PrometheusAccess,
    /// Headers that a proxy wants besides: name and value. Values may be secrets, and are never printed.
    pub headers: Vec<(String, String)>,
    /// Whom to believe, over TLS; one for many servers, since the roots of a system are half a megabyte.
    pub tls: TlsClient,
    /// How long each answer may take; all of them together, [`ANSWERS_IN_ALL`] times as long.
    pub timeout: Duration,
    pub cancel: CancelToken,
}

/// A Prometheus that can be asked.
pub struct PrometheusServer {
    requested: PrometheusRequest,
    /// Since when its answers are waited for.
    begun: Instant,
    sockets: Vec<SocketAddr>,
    tls: Option<(TlsClient, ServerName<'static>)>,
    /// Whether it takes forms, or queries in the path alone: some proxies let nothing but GET through.
    takes_forms: bool,
}

pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) kind: String,
    location: Option<String>,
    /// When to ask again, in whole seconds; a date is not read.
    retry_after_s: Option<u64>,
    pub(crate) body: Vec<u8>,
}

impl PrometheusServer {
    /// Looks up where it is.
    ///
    /// # Errors
    /// A name that is not found, or that no certificate can be for.
    pub fn new(requested: PrometheusRequest) -> Result<PrometheusServer, PrometheusError> {
        let begun = Instant::now();
        let PrometheusAddress { host, port, is_tls, .. } = &requested.address;
        let no_name = |why: String| PrometheusError::Name { host: host.clone(), why };
        let found = name_lookup::addresses((host.clone(), *port), requested.timeout);
        let sockets = found.map_err(|error| no_name(error.to_string()))?;
        if sockets.is_empty() {
            return Err(no_name("it has no address".to_owned()));
        }
        let tls = is_tls.then(|| {
            let name = ServerName::try_from(host.clone()).map_err(|error| no_name(error.to_string()))?;
            Ok((requested.tls.clone(), name))
        });
        Ok(PrometheusServer { begun, sockets, tls: tls.transpose()?, requested, takes_forms: true })
    }

    /// Where it is, as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.requested.address.url()
    }

    /// What is left of the time of one answer, and of all of them.
    fn time_left(&self) -> Result<Duration, PrometheusError> {
        let all = self.requested.timeout * ANSWERS_IN_ALL;
        match all.saturating_sub(self.begun.elapsed()) {
            Duration::ZERO => Err(PrometheusError::Overdue { url: self.url(), limit_s: all.as_secs() }),
            left => Ok(left.min(self.requested.timeout)),
        }
    }

    /// Asks, and waits for a whole answer of success. `query` is quoted where there is none. One who has too much to do
    /// is asked up to three times, all within the time that one answer may take.
    pub(crate) fn ask(
        &mut self,
        path: &str,
        form: &[(&str, &str)],
        query: &str,
    ) -> Result<HttpResponse, PrometheusError> {
        let (form, begun, limit) = (encoded(form), Instant::now(), self.time_left()?);
        let mut answer = self.tried(path, &form, query, limit)?;
        for least in BACKOFF {
            let wait = answer.rests(least);
            let is_to_be_left = !is_busy(answer.status) || answer.took_too_long();
            if is_to_be_left || begun.elapsed() + wait >= limit {
                break;
            }
            self.requested.cancel.pause(wait).map_err(|_| PrometheusError::Stopped)?;
            match self.tried(path, &form, query, limit.saturating_sub(begun.elapsed())) {
                Ok(next) => answer = next,
                Err(stopped @ PrometheusError::Stopped) => return Err(stopped),
                // That it has too much to do is known, and says more than that it was late or away the next time.
                Err(_) => break,
            }
        }
        // An error of the API itself has a body that says more than its status.
        let is_of_api = answer.body.trim_ascii_start().starts_with(b"{\"status\":");
        if (200..300).contains(&answer.status) || (is_of_api && !matches!(answer.status, 401 | 403 | 404)) {
            return Ok(answer);
        }
        Err(self.refused(&answer, format!("{}/api/v1", self.url()), query))
    }

    /// Asks once, of which the answer may take so long; where forms are not taken, by the path alone.
    fn tried(&mut self, path: &str, form: &str, query: &str, limit: Duration) -> Result<HttpResponse, PrometheusError> {
        let answer = self.once(path, form, query, limit)?;
        if self.takes_forms && matches!(answer.status, 405 | 501) {
            self.takes_forms = false;
            return self.once(path, form, query, limit);
        }
        Ok(answer)
    }

    /// Gets the page that the address is of, whole and with success.
    pub(crate) fn page(&self, bytes_max: usize) -> Result<HttpResponse, PrometheusError> {
        let request = self.head("GET", &self.requested.address.prefix, PAGE_ACCEPTED) + "\r\n";
        let answer = self.exchanged(request.as_bytes(), bytes_max, "", self.requested.timeout)?;
        if (200..300).contains(&answer.status) { Ok(answer) } else { Err(self.refused(&answer, self.url(), "")) }
    }

    fn refused(&self, answer: &HttpResponse, url: String, query: &str) -> PrometheusError {
        let begins = beginning(&answer.body);
        let why = if begins.is_empty() { String::new() } else { format!(": {}", self.without_secrets(&begins)) };
        match (answer.status, &answer.location) {
            (status @ (401 | 403), _) => PrometheusError::Forbidden { url, status, why },
            (404, _) => PrometheusError::NoSuchPath { url, why },
            (status @ 300..=399, Some(location)) => {
                // What is behind a question mark may be a secret of somebody's.
                let location = location.split(['?', '#']).next().unwrap_or_default();
                PrometheusError::Moved { url, status, location: sanitize::in_line(location).into_owned() }
            }
            (status, _) => PrometheusError::Status { url, status, query: query.to_owned(), why },
        }
    }

    /// What others say may have what they were sent in it.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        let mut secrets: Vec<String> = self.requested.headers.iter().map(|(_, value)| value.clone()).collect();
        match &self.requested.access {
            PrometheusAccess::Open => {}
            PrometheusAccess::Bearer(secret) => secrets.push(secret.clone()),
            PrometheusAccess::Basic { user, password } => secrets.extend([password.clone(), in_basic(user, password)]),
        }
        without(text, &secrets)
    }

    fn once(&self, path: &str, form: &str, query: &str, limit: Duration) -> Result<HttpResponse, PrometheusError> {
        self.exchanged(&self.request(path, form), ANSWER_BYTES_MAX, query, limit)
    }

    fn exchanged(
        &self,
        request: &[u8],
        bytes_max: usize,
        query: &str,
        limit: Duration,
    ) -> Result<HttpResponse, PrometheusError> {
        let deadline = Deadline::new(limit, &self.requested.cancel);
        let request = HttpRequest { head: request, body: b"", is_head: false, answer_bytes_max: bytes_max };
        let tls = self.tls.as_ref().map(|(client, name)| TlsPeer { client, name });
        let mut unconnected = io::ErrorKind::AddrNotAvailable.into();
        for &address in &self.sockets {
            let peer = HttpPeer { address, source: None, tls };
            match http_call::call(peer, &request, CONNECT_LIMIT, &deadline) {
                Err(CallError::Connect(error)) => unconnected = error,
                answered => {
                    return answered.map(HttpResponse::from).map_err(|error| self.failed(&error, query));
                }
            }
        }
        Err(self.failed(&CallError::Connect(unconnected), query))
    }

    fn failed(&self, error: &CallError, query: &str) -> PrometheusError {
        let (url, query, why) = (self.url(), query.to_owned(), error.to_string());
        match error {
            _ if error.wait_end() == Some(WaitEnd::Stopped) => PrometheusError::Stopped,
            CallError::Connect(_) => PrometheusError::Unreachable { url, why },
            CallError::Handshake(error) => {
                let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
                PrometheusError::Tls { url, why: of_tls.map_or(why, words) }
            }
            CallError::Broken(_) if error.wait_end().is_some() => {
                PrometheusError::Late { url, limit_s: self.requested.timeout.as_secs(), query }
            }
            CallError::Broken(error) if error.kind() != io::ErrorKind::InvalidData => {
                PrometheusError::Unreachable { url, why }
            }
            CallError::TooLong(bytes_max) => {
                PrometheusError::TooLarge { query, most: format!("{} MiB", bytes_max >> 20) }
            }
            CallError::Broken(_) | CallError::Malformed(_) | CallError::TooManyInterim => {
                PrometheusError::NotHttp { url, why }
            }
        }
    }

    fn request(&self, path: &str, form: &str) -> Vec<u8> {
        let path = format!("{}{path}", self.requested.address.prefix);
        let request = if self.takes_forms {
            let length = form.len();
            self.head("POST", &path, "application/json")
                + &format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}")
        } else {
            self.head("GET", &format!("{path}?{form}"), "application/json") + "\r\n"
        };
        request.into_bytes()
    }

    /// A head but for its end.
    fn head(&self, method: &str, path: &str, accepted: &str) -> String {
        let (host, version) = (self.requested.address.authority(), env!("CARGO_PKG_VERSION"));
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: linerate/{version}\r\nAccept: {accepted}\r\n\
             Connection: close\r\n"
        );
        match &self.requested.access {
            PrometheusAccess::Open => {}
            PrometheusAccess::Bearer(token) => head += &format!("Authorization: Bearer {token}\r\n"),
            PrometheusAccess::Basic { user, password } => {
                head += &format!("Authorization: Basic {}\r\n", in_basic(user, password));
            }
        }
        for (name, value) in &self.requested.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head
    }
}

impl From<HttpAnswer> for HttpResponse {
    fn from(answer: HttpAnswer) -> Self {
        HttpResponse {
            status: answer.status,
            kind: answer.header("content-type").unwrap_or("no content type").to_owned(),
            location: answer.header("location").map(str::to_owned),
            retry_after_s: answer.header("retry-after").and_then(|text| text.trim().parse().ok()),
            body: answer.body,
        }
    }
}

impl HttpResponse {
    /// How long whoever sent this is to be left alone.
    fn rests(&self, least: Duration) -> Duration {
        self.retry_after_s.map_or(least, |s| Duration::from_secs(s).clamp(least, RETRY_AFTER_MOST))
    }

    /// Whether the API gave the query up for the time that it took, which Prometheus says with the same status as that
    /// it has too much to do: as it was, it would take as long again.
    fn took_too_long(&self) -> bool {
        let begins = &self.body[..self.body.len().min(4 * QUOTED_MAX)];
        begins.windows(TIMEOUT.len()).any(|words| words == TIMEOUT)
    }
}

/// Pairs as a form has them.
fn encoded(form: &[(&str, &str)]) -> String {
    let one = |text: &str| {
        let mut out = String::with_capacity(text.len() * 2);
        for byte in text.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
                _ => out += &format!("%{byte:02X}"),
            }
        }
        out
    };
    form.iter().map(|(name, value)| format!("{name}={}", one(value))).collect::<Vec<_>>().join("&")
}

/// What HTTP's basic scheme sends (RFC 7617).
fn in_basic(user: &str, password: &str) -> String {
    BASE64_STANDARD.encode(format!("{user}:{password}"))
}

/// Bytes in a row that are told of no secret: a text that was cut may have only a part of one.
const RUN_BYTES: usize = 8;

/// A text of others without these secrets, and nothing of it where it repeats a part of one.
fn without(text: &str, secrets: &[String]) -> String {
    let mut masked = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        masked = masked.replace(secret.as_str(), sanitize::MASK);
    }
    let holds = |run: &[u8]| masked.as_bytes().windows(RUN_BYTES).any(|window| window == run);
    let repeats = secrets.iter().any(|secret| secret.as_bytes().windows(RUN_BYTES).any(holds));
    if repeats { "an answer that repeats a part of a secret".to_owned() } else { masked }
}

/// How a text begins, in one line that drives nothing.
pub(crate) fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * QUOTED_MAX)]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(QUOTED_MAX).collect();
    let more = if short.len() < line.len() || body.len() > 4 * QUOTED_MAX { "…" } else { "" };
    format!("{}{more}", sanitize::in_line(&short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_encoded_byte_by_byte() {
        assert_eq!(
            encoded(&[("query", "rate(a{b=~\"c|d\"}[1m])"), ("s", "1 é")]),
            "query=rate%28a%7Bb%3D~%22c%7Cd%22%7D%5B1m%5D%29&s=1%20%C3%A9"
        );
    }

    #[test]
    fn what_others_say_is_quoted_in_one_line_that_drives_nothing() {
        assert_eq!(beginning(b"<html>\r\n <head>\x1b[2J"), "<html> <head>\\u001b[2J");
        let long = beginning(&[b'x'; 10_000]);
        assert!(long.ends_with('…') && long.chars().count() == QUOTED_MAX + 1, "{long}");
    }

    #[test]
    fn a_server_is_left_alone_as_long_as_it_asks_for_and_a_few_seconds_at_the_most() {
        let rests = |retry_after_s: Option<u64>, least: Duration| {
            let answer =
                HttpResponse { status: 503, kind: String::new(), location: None, retry_after_s, body: Vec::new() };
            answer.rests(least).as_millis()
        };
        let [first, second] = BACKOFF;
        assert_eq!([rests(None, first), rests(None, second), rests(Some(0), first)], [250, 1_000, 250]);
        assert_eq!([rests(Some(3), first), rests(Some(86_400), second)], [3_000, 5_000]);
    }

    #[test]
    fn a_query_that_was_given_up_is_told_from_a_server_that_has_too_much_to_do() {
        let took = |body: &str| {
            let (kind, body) = (String::new(), body.as_bytes().to_vec());
            HttpResponse { status: 503, kind, location: None, retry_after_s: None, body }.took_too_long()
        };
        assert!(took("{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"query timed out in expression\"}"));
        for other in ["", "{", "{\"status\":\"error\",\"errorType\":\"unavailable\",\"error\":\"timeout\"}"] {
            assert!(!took(other), "{other}");
        }
    }

    #[test]
    fn what_a_server_says_is_told_without_secrets_and_parts_of_them() {
        let secrets = ["hunter2".to_owned(), in_basic("u", "hunter2"), "a-long-token-of-somebody".to_owned()];
        for (said, reported) in [
            ("no such tenant", "no such tenant"),
            ("hunter2 is wrong", "*** is wrong"),
            ("Authorization: Basic dTpodW50ZXIy", "Authorization: Basic ***"),
            ("Bearer a-long-token-of-somebody", "Bearer ***"),
            ("Bearer a-long-token-o…", "an answer that repeats a part of a secret"),
            ("Basic dTpodW5…", "Basic dTpodW5…"),
            ("Basic dTpodW50…", "an answer that repeats a part of a secret"),
        ] {
            assert_eq!(without(said, &secrets), reported, "{said}");
        }
    }

    #[test]
    fn no_secret_is_shown_by_what_has_it() {
        let basic = PrometheusAccess::Basic { user: "u".to_owned(), password: "hunter2".to_owned() };
        for access in [PrometheusAccess::Bearer("hunter2".to_owned()), basic] {
            assert!(!format!("{access:?}").contains("hunter2"));
        }
    }
}
