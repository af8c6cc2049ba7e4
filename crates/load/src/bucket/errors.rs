//! How bucket calls fail, and what to do about it.

use std::io;
use std::sync::Arc;

use linerate_record::units::grouped;
use linerate_wire::deadline::WaitEnd;

use crate::sigv4::KeyNames;

/// A bucket call that failed.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// No connection, or one that broke.
    #[error("failed to reach {host}: {source}; {remedy}")]
    Unreachable {
        /// `host:port`.
        host: String,
        source: io::Error,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A call that its time limit ended.
    #[error("{call} at {host} {ended}")]
    Late {
        call: String,
        /// `host:port`.
        host: String,
        ended: TimeLimit,
    },
    /// A call that whoever began it does not want any more.
    #[error("interrupted")]
    Stopped,
    /// A TLS handshake that failed.
    #[error("failed to speak TLS with {host}: {why}; {remedy}")]
    Tls {
        /// `host:port`.
        host: String,
        why: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// An answer that is not HTTP.
    #[error(
        "{host} does not speak HTTP: {why}; check that the port is right, and that it is plain HTTP: TLS is \
            https://, or --tls"
    )]
    NotHttp {
        /// `host:port`.
        host: String,
        why: String,
    },
    /// An answer of HTTP that is without measure.
    #[error("the answer of {host} to {call} is not valid: {why}")]
    Boundless {
        call: String,
        /// `host:port`.
        host: String,
        why: String,
    },
    #[error("{call} was refused with HTTP {}", refusal(call, *status, code.as_deref(), keys))]
    Refused {
        /// What was asked, and of whom.
        call: String,
        status: u16,
        /// S3's code, where the answer names one.
        code: Option<String>,
        /// Where the keys were found that signed it.
        keys: Arc<KeyNames>,
    },
    /// Refusals of some of many deletions.
    #[error("{} of {} deletions were refused, the last of them: {last}", grouped(*refused as u64),
        grouped(*requested as u64))]
    Several {
        refused: usize,
        requested: usize,
        /// What the target said last.
        last: Box<BucketError>,
    },
    /// Calls that are no longer made, and why.
    #[error("{0}")]
    GivenUp(String),
    /// A call that is not made, for what became of one before it.
    #[error("no further call is made: an earlier one {0}")]
    Unmade(String),
    /// A listing of uploads that shows so many of others that what lies behind them was not looked through.
    #[error("{call} was ended: it shows {} uploads, none of them of this run, and goes on", grouped(*shown as u64))]
    TooMany {
        /// What was asked, and of whom.
        call: String,
        shown: usize,
    },
    /// An answer that does not make sense.
    #[error("the answer to {call} could not be understood: {why}")]
    Answer {
        /// What was asked, and of whom.
        call: String,
        why: String,
    },
}

/// Which limit ended a call: `timed out after 3 s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TimeLimit(pub(super) WaitEnd);

impl BucketError {
    /// Whether the target forbids what was asked, and may allow something else.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        let denied = |code: &str| matches!(code, "AccessDenied" | "AllAccessDisabled");
        match self {
            BucketError::Several { last, .. } => last.is_denied(),
            BucketError::Refused { code: Some(code), .. } => denied(code),
            _ => false,
        }
    }

    /// The same, or a refusal without a code, as proxies before a target give it.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        let bare = |error: &BucketError| matches!(error, BucketError::Refused { status: 403, code: None, .. });
        self.is_denied()
            || match self {
                BucketError::Several { last, .. } => bare(last),
                error => bare(error),
            }
    }

    /// Whether the target is too busy for what was asked, and may do it later.
    pub(super) fn is_busy(&self) -> bool {
        match self {
            BucketError::Refused { status, code, .. } => says_busy(*status, code.as_deref()),
            _ => false,
        }
    }

    /// Whether the target has answered, in whatever words: it may have done what was asked, and can be asked again.
    #[must_use]
    pub const fn is_an_answer(&self) -> bool {
        use BucketError as E;
        matches!(self, E::Refused { .. } | E::Several { .. } | E::TooMany { .. } | E::Answer { .. })
    }
}

/// Whether an answer says that the target is too busy.
pub(super) fn says_busy(status: u16, code: Option<&str>) -> bool {
    matches!(status, 429 | 503)
        || code.is_some_and(|code| matches!(code, "SlowDown" | "ServiceUnavailable" | "RequestLimitExceeded"))
}

/// What to do about a host that is not reached.
pub(super) fn reaching(error: &io::Error) -> &'static str {
    use io::ErrorKind as K;
    match error.kind() {
        K::ConnectionRefused => "nothing listens there: check that the server is running and that the port is right",
        K::HostUnreachable | K::NetworkUnreachable | K::TimedOut => {
            "it is not reachable: check the address, the routes and the firewalls"
        }
        K::AddrNotAvailable => "this machine has no free local address or port for it: see --source",
        K::PermissionDenied => "a rule on this machine blocks it: see its firewall",
        _ => "it closes connections: check that it serves S3, and whether it needs TLS (https://, or --tls)",
    }
}

fn refusal(call: &str, status: u16, code: Option<&str>, keys: &KeyNames) -> String {
    let named = code.map_or_else(String::new, |code| format!(" ({code})"));
    format!("{status}{named}{}", advice(call, status, code, keys))
}

/// What a call needs to be allowed, by the beginning of its words; S3's own names.
const PERMISSIONS: [(&str, &str); 10] = [
    ("listing uploads", "s3:ListBucketMultipartUploads"),
    ("listing versions", "s3:ListBucketVersions"),
    ("checking whether", "s3:GetBucketVersioning"),
    ("checking for an object lock", "s3:GetBucketObjectLockConfiguration"),
    ("deleting", "s3:DeleteObject, and s3:DeleteObjectVersion in a bucket that keeps versions"),
    ("giving up an upload", "s3:AbortMultipartUpload"),
    ("making bucket", "s3:CreateBucket"),
    ("removing bucket", "s3:DeleteBucket"),
    ("listing", "s3:ListBucket"),
    ("access to bucket", "s3:ListBucket"),
];

/// What to do about a refusal, behind a semicolon; empty where nothing is known to help.
fn advice(call: &str, status: u16, code: Option<&str>, keys: &KeyNames) -> String {
    let needed = PERMISSIONS.iter().find(|(begins, _)| call.starts_with(begins));
    if let (Some("AccessDenied" | "AllAccessDisabled"), Some((_, permission))) = (code, needed) {
        return format!("; check that these keys may use this bucket: it needs {permission}");
    }
    let what = match code {
        Some("InvalidAccessKeyId") => {
            return format!("; the target does not know this access key; check {}", keys.access_key);
        }
        Some("SignatureDoesNotMatch") => {
            return format!("; the secret key is not that of this access key; check {}", keys.secret_key);
        }
        Some("InvalidToken" | "ExpiredToken" | "TokenRefreshRequired") => {
            return format!("; check {}", keys.session_token);
        }
        Some("RequestTimeTooSkewed") => "check the clocks of this machine and of the target",
        Some(
            "AuthorizationHeaderMalformed" | "AuthorizationQueryParametersError" | "IllegalLocationConstraintException",
        ) => "check --region",
        Some("PermanentRedirect" | "TemporaryRedirect" | "Redirect") => "check --region and --host",
        Some("AccessDenied" | "AllAccessDisabled") => "check that these keys may use this bucket and list it",
        None if (300..400).contains(&status) => {
            "it redirects elsewhere: check --host, http:// or https://, and --region"
        }
        // The answer to HEAD has no body, and so no code; the listing before it was signed with the same keys.
        None if status == 403 && call.starts_with("HEAD of") => "check that these keys have s3:GetObject",
        None if matches!(status, 400 | 403) => "check the keys, the session token, the region and this machine's clock",
        None if status == 404 => "it has no S3 error code: check that it is an S3 server",
        _ => return String::new(),
    };
    format!("; {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_denied_is_told_with_the_permission_that_it_takes() {
        for (call, permission) in [
            ("listing uploads below \"p/\"", "s3:ListBucketMultipartUploads"),
            ("listing versions below \"p/\"", "s3:ListBucketVersions"),
            ("listing \"p/\"", "s3:ListBucket"),
            ("checking whether bucket \"b\" keeps versions", "s3:GetBucketVersioning"),
            ("deleting 7 objects of this run", "s3:DeleteObject,"),
            ("removing bucket \"b\"", "s3:DeleteBucket"),
        ] {
            let denied = BucketError::Refused {
                call: call.into(),
                status: 403,
                code: Some("AccessDenied".into()),
                keys: Arc::default(),
            };
            let words = denied.to_string();
            let reported: Vec<&str> = words.split_whitespace().collect();
            assert!(denied.is_denied() && reported.contains(&permission), "{words}");
        }
    }

    #[test]
    fn a_head_that_is_forbidden_is_not_blamed_on_the_keys() {
        let reported = |status| {
            let call = "HEAD of \"p/0/1\" at h:1".to_owned();
            BucketError::Refused { call, status, code: None, keys: Arc::default() }.to_string()
        };
        let forbidden = "HEAD of \"p/0/1\" at h:1 was refused with HTTP 403; check that these keys have s3:GetObject";
        assert_eq!(reported(403), forbidden);
        assert!(reported(400).contains("check the keys"), "{}", reported(400));
    }

    #[test]
    fn a_host_that_is_not_reached_is_told_with_what_to_look_at() {
        for (kind, part) in [
            (io::ErrorKind::ConnectionRefused, "nothing listens there"),
            (io::ErrorKind::NetworkUnreachable, "it is not reachable"),
            (io::ErrorKind::ConnectionReset, "whether it needs TLS"),
        ] {
            let source = io::Error::from(kind);
            let reported =
                BucketError::Unreachable { host: "h:1".into(), remedy: reaching(&source), source }.to_string();
            assert!(reported.starts_with("failed to reach h:1: ") && reported.contains(part), "{reported}");
        }
    }

    #[test]
    fn refusals_tell_their_code_and_what_helps() {
        let reported = |status, code: Option<&str>| {
            let keys = KeyNames { secret_key: "WARP_SECRET_KEY".into(), ..KeyNames::default() };
            BucketError::Refused { call: "it".into(), status, code: code.map(str::to_owned), keys: keys.into() }
                .to_string()
        };
        assert_eq!(reported(500, None), "it was refused with HTTP 500");
        assert_eq!(reported(503, Some("SlowDown")), "it was refused with HTTP 503 (SlowDown)");
        for (code, part) in [
            (Some("InvalidAccessKeyId"), "(InvalidAccessKeyId); the target does not know this access key"),
            (Some("SignatureDoesNotMatch"), "this access key; check WARP_SECRET_KEY"),
            (Some("ExpiredToken"), "check AWS_SESSION_TOKEN"),
            (Some("RequestTimeTooSkewed"), "clocks"),
            (Some("AuthorizationHeaderMalformed"), "--region"),
            (None, "check the keys"),
        ] {
            assert!(reported(403, code).contains(part), "{}", reported(403, code));
        }
        let elsewhere = reported(307, None);
        assert!(elsewhere.contains("check --host, http:// or https://") && !elsewhere.contains("key"), "{elsewhere}");
    }
}
