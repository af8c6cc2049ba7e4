//! A service-level objective: bounds on quantiles of latency, as `--slo` reads them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::{UnitError, parse_duration};

/// A bound on one quantile of latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyBound {
    /// The quantile in percent, above 0 and below 100: 99.9 for `p99.9`.
    pub percentile: f64,
    /// The highest latency that is allowed there, in nanoseconds.
    pub bound_ns: u64,
}

impl LatencyBound {
    /// The share of requests, 0 to 1, that may take longer.
    #[must_use]
    pub fn share_over(&self) -> f64 {
        // Rounded, so that 10 of 100 are no more than a p90 allows.
        ((100.0 - self.percentile) * 1e9).round() / 1e11
    }
}

/// One or more bounds, all of which are to hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slo(pub Vec<LatencyBound>);

impl FromStr for LatencyBound {
    type Err = UnitError;

    /// Reads `p99=50ms`, `p99.9=1s`, `p50=800us`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = || UnitError {
            what: "latency bound",
            input: text.to_owned(),
            fix: "write pN=TIME with N above 0 and below 100, such as p99=50ms or p50=5ms,p99.9=1s".into(),
        };
        let (quantile, time) = text.trim().split_once('=').ok_or_else(fail)?;
        let digits = quantile.trim().strip_prefix(['p', 'P']).ok_or_else(fail)?;
        if !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return Err(fail());
        }
        let percentile: f64 = digits.parse().map_err(|_| fail())?;
        let bound_ns = u64::try_from(parse_duration(time).map_err(|_| fail())?.as_nanos()).map_err(|_| fail())?;
        if percentile <= 0.0 || percentile >= 100.0 || bound_ns == 0 {
            return Err(fail());
        }
        Ok(LatencyBound { percentile, bound_ns })
    }
}

impl fmt::Display for LatencyBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, unit) = match self.bound_ns {
            ns if ns.is_multiple_of(1_000_000_000) => (1e9, "s"),
            ns if ns.is_multiple_of(1_000_000) => (1e6, "ms"),
            _ => (1e3, "us"),
        };
        write!(f, "p{}={}{unit}", self.percentile, self.bound_ns as f64 / whole)
    }
}

impl FromStr for Slo {
    type Err = UnitError;

    /// Reads bounds separated by commas.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bounds: Vec<LatencyBound> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let is_again =
            |i: usize| bounds[..i].iter().any(|before| before.percentile.to_bits() == bounds[i].percentile.to_bits());
        if (0..bounds.len()).any(is_again) {
            let fix = "give each percentile one bound: the stricter one includes the other";
            return Err(UnitError { what: "latency bounds", input: text.to_owned(), fix: fix.into() });
        }
        Ok(Slo(bounds))
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds: Vec<String> = self.0.iter().map(LatencyBound::to_string).collect();
        f.pad(&bounds.join(","))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bounds_read_and_show_as_people_write_them() {
        for (text, percentile, bound_ns) in [
            ("p99=50ms", 99.0, 50_000_000),
            ("p50=800us", 50.0, 800_000),
            ("p99.9=1s", 99.9, 1_000_000_000),
            ("p90=1.5us", 90.0, 1_500),
        ] {
            let bound: LatencyBound = text.parse().unwrap();
            assert_eq!((bound.percentile, bound.bound_ns), (percentile, bound_ns), "{text}");
            assert_eq!(bound.to_string(), text);
        }
        let several: Slo = "p50=5ms, p99.9=1m30s".parse().unwrap();
        assert_eq!(several.to_string(), "p50=5ms,p99.9=90s");
        assert!((several.0[1].share_over() - 0.001).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_bound_is_quoted_with_the_form_that_would_be_right() {
        for text in ["", "p99", "99=50ms", "p0=1s", "p100=1s", "p999=1s", "p99=50", "p99=0ms", "p1e1=1s", "p=1s"] {
            let error = text.parse::<Slo>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("p99=50ms"), "{error}");
        }
        for text in ["p99=10ms,p99=20ms", "p50=1ms, p99.0=1s,p99=1s"] {
            let error = text.parse::<Slo>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("one bound"), "{error}");
        }
        assert!("p50=1ms,,p99=2ms".parse::<Slo>().is_err());
    }

    proptest! {
        #[test]
        fn parsing_never_panics_and_what_reads_survives_display(text in "[pP]?[0-9.]{0,6}=?[0-9.]{0,6}(us|ms|s|m)?") {
            if let Ok(slo) = text.parse::<Slo>() {
                prop_assert_eq!(slo.to_string().parse::<Slo>(), Ok(slo));
            }
        }
    }
}
