//! What ends a run before its time, or a request.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::InvalidLoad;
use crate::canary::AbortRules;

/// Requests per second of a canary: as few as let twenty come in ten seconds, and no load of their own.
pub const CANARY_PER_S: std::ops::RangeInclusive<f64> = 2.0..=100.0;

/// What ends a run before its time, or a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopConditions {
    /// Longest time for one request, in nanoseconds.
    pub timeout_ns: u64,
    /// Times that a failed request is made again.
    pub retries: u32,
    /// Failed requests from which the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_limit: Option<ErrorLimit>,
    /// The canary beside the load; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<CanaryRules>,
}

/// A canary, and what ends the run for its sake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CanaryRules {
    /// Its requests per second.
    pub per_s: f64,
    /// Bounds on it, any of which ends the run.
    pub abort_if: AbortRules,
}

/// How many requests may fail before a point is ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorLimit {
    /// More than so many.
    Count(u64),
    /// More than this share (0 to 1) of those that ended, looked at from a hundred on.
    Share(f64),
}

/// Requests that must have ended before a share of them that failed says anything.
const SHARE_OF_MIN: u64 = 100;

impl ErrorLimit {
    /// Whether so many failed of a point's requests that it is ended.
    #[must_use]
    pub fn is_exceeded(self, succeeded: u64, failed: u64) -> bool {
        let ended = succeeded + failed;
        match self {
            ErrorLimit::Count(most) => failed > most,
            ErrorLimit::Share(most) => ended >= SHARE_OF_MIN && failed as f64 > most * ended as f64,
        }
    }
}

impl FromStr for ErrorLimit {
    type Err = InvalidLoad;

    /// Reads `100` and `1%`.
    fn from_str(text: &str) -> Result<Self, InvalidLoad> {
        let limit = match text.trim().strip_suffix('%') {
            Some(percent) => {
                let percent = percent.trim().parse().ok().filter(|percent: &f64| (0.0..100.0).contains(percent));
                percent.map(|percent| ErrorLimit::Share(percent / 100.0))
            }
            None => text.trim().parse().ok().map(ErrorLimit::Count),
        };
        limit.ok_or_else(|| InvalidLoad("write a number of requests such as 100, or a share such as 1%".to_owned()))
    }
}

impl fmt::Display for ErrorLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorLimit::Count(most) => write!(f, "{most}"),
            // Of seven hundredths, 7 percent and not what doubles make of them.
            ErrorLimit::Share(most) => write!(f, "{}%", (most * 1e12).round() / 1e10),
        }
    }
}

/// Reads `--canary-rate`: `5`.
///
/// # Errors
/// [`InvalidLoad`], with what to write.
pub fn parse_canary_rate(text: &str) -> Result<f64, InvalidLoad> {
    let rate = text.trim().trim_end_matches("/s").parse().ok();
    rate.filter(|rate| CANARY_PER_S.contains(rate))
        .ok_or_else(|| InvalidLoad("write requests per second from 2 to 100, such as 5".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_limits_are_counts_or_shares() {
        for (text, limit) in
            [("100", ErrorLimit::Count(100)), ("0", ErrorLimit::Count(0)), ("0.5%", ErrorLimit::Share(0.005))]
        {
            assert_eq!(text.parse(), Ok(limit), "{text}");
            assert_eq!(limit.to_string(), text);
        }
        for text in ["", "-1", "100%", "x%", "1/s", "nan%"] {
            assert!(text.parse::<ErrorLimit>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_is_exceeded_from_a_hundred_requests_on_and_a_count_at_once() {
        for (limit, succeeded, failed, expected) in [
            (ErrorLimit::Count(1), 0, 1, false),
            (ErrorLimit::Count(1), 0, 2, true),
            (ErrorLimit::Share(0.01), 0, 99, false),
            (ErrorLimit::Share(0.01), 98, 2, true),
            (ErrorLimit::Share(0.01), 99, 1, false),
        ] {
            assert_eq!(limit.is_exceeded(succeeded, failed), expected, "{limit}: {failed} beside {succeeded}");
        }
    }
}
