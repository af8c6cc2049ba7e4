//! A canary: a trickle of requests beside the load, and the bounds on it that end a run.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::slo::LatencyBound;
use crate::units::UnitError;

/// A bound that ends a run when the canary exceeds it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AbortRule {
    /// A quantile of the canary's latency.
    Latency(LatencyBound),
    /// The share of its requests that fail, 0 to 1.
    Errors(f64),
}

/// One or more bounds, any of which ends the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbortRules(pub Vec<AbortRule>);

impl AbortRule {
    /// The share of requests, 0 to 1, that may be slower, or may fail.
    #[must_use]
    pub fn share_allowed(&self) -> f64 {
        match self {
            AbortRule::Latency(bound) => bound.share_over(),
            AbortRule::Errors(share) => *share,
        }
    }
}

impl FromStr for AbortRule {
    type Err = UnitError;

    /// Reads `p99>200ms` and `errors>1%`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = || UnitError {
            what: "bound on the canary",
            input: text.to_owned(),
            fix: "write pN>TIME or errors>SHARE, such as p99>200ms or p50>20ms,errors>1%".into(),
        };
        let (what, limit) = text.trim().split_once('>').ok_or_else(fail)?;
        if what.trim() == "errors" {
            let percent: f64 = limit.trim().strip_suffix('%').and_then(|p| p.trim().parse().ok()).ok_or_else(fail)?;
            return if (0.0..100.0).contains(&percent) { Ok(AbortRule::Errors(percent / 100.0)) } else { Err(fail()) };
        }
        format!("{what}={limit}").parse().map(AbortRule::Latency).map_err(|_| fail())
    }
}

impl fmt::Display for AbortRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AbortRule::Latency(bound) => f.pad(&bound.to_string().replace('=', ">")),
            AbortRule::Errors(share) => f.pad(&format!("errors>{}%", share * 100.0)),
        }
    }
}

impl FromStr for AbortRules {
    type Err = UnitError;

    /// Reads bounds separated by commas.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(AbortRules)
    }
}

/// A line of `canary.jsonl`: requests of the canary that ended in a fraction of a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CanaryLine {
    /// When the interval ended, in milliseconds since the run began.
    pub at_ms: u64,
    /// Whether the load had begun.
    pub loaded: bool,
    /// How long those that succeeded took from when they were due, in nanoseconds, to two significant digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub total_ns: Vec<u64>,
    /// Those that failed, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_read_and_show_as_people_write_them() {
        for text in ["p99>200ms", "p50>20ms", "p99.9>1s", "errors>1%", "errors>0%"] {
            assert_eq!(text.parse::<AbortRule>().unwrap().to_string(), text);
        }
        assert_eq!("p50>1s, errors>5%".parse::<AbortRules>().unwrap().0.len(), 2);
        for text in ["", "p99", "p99=5ms", "p0>1s", "errors>1", "errors>100%", "p99>0s", "p99>>5ms"] {
            let error = text.parse::<AbortRules>().unwrap_err().to_string();
            assert!(error.contains("p99>200ms"), "{error}");
        }
    }
}
