//! Why a Prometheus gave no readings.

/// What went wrong, quoted, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrometheusError {
    /// A name that cannot be looked up.
    #[error("failed to look up {host:?}: {why}: check the name in --prometheus")]
    Name { host: String, why: String },
    /// No connection, or one that broke.
    #[error("failed to reach {url}: {why}: check that Prometheus runs there, and the port (it is 9090 by default)")]
    Unreachable { url: String, why: String },
    /// A handshake that failed.
    #[error(
        "TLS with {url} failed: {why}: give the authority's certificate with --ca-file, the name that the \
             certificate is for in --prometheus, or http:// if that port speaks no TLS"
    )]
    Tls { url: String, why: String },
    /// No answer in time.
    #[error(
        "{url} gave no answer to {query:?}: timed out after {limit_s} s: ask for a shorter window with --from and \
             --to, or wait longer with --timeout"
    )]
    Late {
        url: String,
        /// How long it was waited for.
        limit_s: u64,
        query: String,
    },
    /// Answers that are late together.
    #[error(
        "{url} did not answer all queries within {limit_s} s, ten times --timeout: ask for a shorter window with \
             --from and --to, or wait longer with --timeout"
    )]
    Overdue {
        url: String,
        /// How long all answers were waited for.
        limit_s: u64,
    },
    /// A status that says that the caller may not.
    #[error(
        "{url} answered {status}{why}: give a token with --bearer-file, or a name and a password with --user and \
             --password-file, that may query it; a proxy may want a --header as well, such as X-Scope-OrgID"
    )]
    Forbidden {
        url: String,
        /// 401 or 403.
        status: u16,
        /// What its body says, with a colon before it.
        why: String,
    },
    /// A path that is not there.
    #[error(
        "{url} answered 404{why}: this is no Prometheus's API; give the URL whose /api/v1/query_range answers, with \
             its prefix, such as https://HOST/prometheus"
    )]
    NoSuchPath {
        url: String,
        /// What its body says, with a colon before it.
        why: String,
    },
    #[error(
        "{url} answered {status} and points to {location:?}: give that URL (a redirection to a page for logging in \
             means that a token is needed: --bearer-file)"
    )]
    Moved {
        url: String,
        /// 301 and the like.
        status: u16,
        location: String,
    },
    #[error("{url} answered {status} to {query:?}{why}{}", next_of_status(*status, why))]
    Status {
        url: String,
        status: u16,
        query: String,
        /// What its body says, with a colon before it.
        why: String,
    },
    /// An answer that is not JSON, or not Prometheus's.
    #[error(
        "{url} answered with {kind}, not with JSON of Prometheus: it begins {beginning:?}: give the URL of \
             Prometheus itself, not of a page"
    )]
    NotJson {
        url: String,
        /// What it says that it is.
        kind: String,
        beginning: String,
    },
    /// What does not speak HTTP.
    #[error("{url} does not answer in HTTP ({why}): check the port, and https:// against http://")]
    NotHttp { url: String, why: String },
    /// A query that is refused.
    #[error("Prometheus refused {query:?}: {kind}: {message}")]
    Query {
        query: String,
        /// `bad_data`, `execution`, ….
        kind: String,
        message: String,
    },
    /// All queries are refused.
    #[error(
        "Prometheus refused all {count} queries, the first, {query:?}, with {kind}: {message}: check that this is a \
             Prometheus that may be asked, and what stands before it"
    )]
    AllRefused {
        count: usize,
        /// The first of them.
        query: String,
        /// Why, in a word.
        kind: String,
        /// Why, in its words.
        message: String,
    },
    /// Nothing was found by any query.
    #[error("Prometheus has nothing of any machine in that window, by {queries} queries: {why}")]
    Nothing {
        queries: usize,
        /// What to do about it.
        why: String,
    },
    /// Answers that are together beyond the bounds.
    #[error(
        "the answers have more than {most} together: select the machines of one cluster with --select, or ask for a \
             shorter window with --from and --to"
    )]
    TooMuch { most: String },
    /// An answer beyond the bounds.
    #[error(
        "the answer to {query:?} is larger than {most}: select the machines of one cluster with --select, or a \
             shorter window"
    )]
    TooLarge { query: String, most: String },
    /// The user wants no more.
    #[error("interrupted")]
    Stopped,
}

/// What to do about a status, with a colon before it.
fn next_of_status(status: u16, why: &str) -> &'static str {
    if why.contains("HTTPS server") {
        return ": write https:// in --prometheus";
    }
    match status {
        413 => ": ask for a shorter window, or for one cluster with --select",
        429 | 502 | 503 | 504 => {
            ": it, or what stands before it, is starting or has too much to do: ask again, for a shorter window with \
             --from and --to"
        }
        _ => "",
    }
}

/// Whether a status is one of having too much to do, or of a proxy whose server is away: it passes.
pub(crate) const fn is_busy(status: u16) -> bool {
    matches!(status, 429 | 502 | 503)
}

impl PrometheusError {
    /// The same with what is quoted of an answer put otherwise.
    pub(crate) fn quoted(self, as_shown: impl Fn(&str) -> String) -> PrometheusError {
        match self {
            PrometheusError::NotJson { url, kind, beginning } => {
                PrometheusError::NotJson { url, kind: as_shown(&kind), beginning: as_shown(&beginning) }
            }
            PrometheusError::Query { query, kind, message } => {
                PrometheusError::Query { query, kind: as_shown(&kind), message: as_shown(&message) }
            }
            other => other,
        }
    }
}

impl PrometheusError {
    /// Whether a part of the window may be answered where the whole was not.
    pub(crate) fn is_of_size(&self) -> bool {
        match self {
            PrometheusError::TooLarge { .. } => true,
            PrometheusError::Query { message, .. } => {
                message.contains("too many samples") || message.contains("maximum resolution")
            }
            PrometheusError::Status { status, .. } => *status == 413,
            _ => false,
        }
    }

    /// Whether it is of one answer, and another query may get its own: of a server that has too much to do, or that was
    /// away for a moment.
    pub(crate) fn is_passing(&self) -> bool {
        self.is_of_load() || self.is_of_time() || matches!(self, PrometheusError::Unreachable { .. })
    }

    /// Whether the server says that it has too much to do.
    pub(crate) fn is_of_load(&self) -> bool {
        match self {
            PrometheusError::Status { status, .. } => is_busy(*status),
            PrometheusError::Query { kind, .. } => kind == "unavailable",
            _ => false,
        }
    }

    /// The same where the whole took too long: which may be by its size, and may be a server that is slow.
    pub(crate) fn is_of_time(&self) -> bool {
        match self {
            PrometheusError::Late { .. } => true,
            PrometheusError::Query { kind, .. } => kind == "timeout",
            PrometheusError::Status { status, .. } => *status == 504,
            _ => false,
        }
    }
}
