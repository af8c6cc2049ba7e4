//! How long series and their points run.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::InvalidLoad;
use crate::units::{parse_duration, whole_ns};

/// How long series and their points run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// Longest time of one visit of a point, in nanoseconds; a warm-up that is not given is part of it, but in an open
    /// loop.
    pub duration_ns: u64,
    /// `--time`: what the visits of a series may take together, in nanoseconds, warm-ups included. Absent where each
    /// point is visited once, for all of `duration_ns`, and where a search takes twelve times that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_ns: Option<u64>,
    /// Time before a visit is measured, in nanoseconds; absent where it follows from all visits of a series.
    #[serde(default)]
    pub warmup_ns: WarmUp,
    /// What somebody asked of `--precision`. It ends nothing: it is read so that a note can say that.
    #[serde(default)]
    pub precision: Precision,
}

/// `--warmup`, in nanoseconds; none for `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WarmUp(pub Option<u64>);

impl FromStr for WarmUp {
    type Err = InvalidLoad;

    fn from_str(text: &str) -> Result<Self, InvalidLoad> {
        if text == "auto" {
            return Ok(WarmUp(None));
        }
        let given = parse_duration(text).map_err(|error| InvalidLoad(format!("{error}, or auto")))?;
        Ok(WarmUp(Some(whole_ns(given))))
    }
}

/// `--precision`: half the width of the 95 % interval as a share of the mean, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Precision(pub Option<f64>);

impl FromStr for Precision {
    type Err = InvalidLoad;

    fn from_str(text: &str) -> Result<Self, InvalidLoad> {
        let fail = || {
            let fix = "write a share such as 2%, or none";
            InvalidLoad(format!("invalid precision {text:?}: {fix}"))
        };
        if matches!(text, "none" | "0" | "0%") {
            return Ok(Precision(None));
        }
        let percent = text.strip_suffix('%').ok_or_else(fail)?.trim().parse::<f64>().map_err(|_| fail())?;
        if (0.01..=50.0).contains(&percent) { Ok(Precision(Some(percent / 100.0))) } else { Err(fail()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warm_up_and_precision_read_as_people_write_them() {
        assert_eq!("auto".parse(), Ok(WarmUp(None)));
        assert_eq!("1500ms".parse(), Ok(WarmUp(Some(1_500_000_000))));
        assert!("soon".parse::<WarmUp>().unwrap_err().to_string().contains("auto"));
        for (text, share) in [("2%", Some(0.02)), ("0.5 %", Some(0.005)), ("none", None), ("0", None)] {
            assert_eq!(text.parse(), Ok(Precision(share)), "{text}");
        }
        for text in ["2", "-1%", "60%", "%", "tight"] {
            let error = text.parse::<Precision>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("none"), "{error}");
        }
    }
}
