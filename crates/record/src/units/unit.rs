//! What figures are counted in.

use serde::{Deserialize, Serialize};

/// The unit of a figure: as a field of its own (`"B/s"`), or as the end of the figure's name (`total_p99_ns`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerS,
    /// Operations per second.
    #[serde(rename = "op/s")]
    OperationsPerS,
    /// Nanoseconds of processor cores per second.
    #[serde(rename = "ns/s")]
    CoreNsPerS,
    /// Things per second.
    #[serde(rename = "1/s")]
    PerS,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Microseconds of processor time per request.
    #[serde(rename = "us/req")]
    UsPerRequest,
    /// Seconds of processor time per GiB of bodies.
    #[serde(rename = "s/GiB")]
    SPerGib,
    /// A share of 1.
    #[serde(rename = "share")]
    Share,
    #[serde(rename = "1")]
    Count,
}

/// How names of figures end, the longer end before one that it ends with.
const ENDS: [(&str, Unit); 8] = [
    ("_us_per_request", Unit::UsPerRequest),
    ("_s_per_gib", Unit::SPerGib),
    ("bytes_per_s", Unit::BytesPerS),
    ("_per_s", Unit::PerS),
    ("_bytes", Unit::Bytes),
    ("_share", Unit::Share),
    ("_ns", Unit::Ns),
    ("_ms", Unit::Ms),
];

impl Unit {
    /// The unit of a figure by the end of its name, with the name before that: `total_p99_ns` is `total_p99`, in
    /// nanoseconds. A figure whose name ends with no unit is a count.
    #[must_use]
    pub fn of_figure(name: &str) -> (&str, Unit) {
        let found = ENDS.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?, *unit)));
        found.unwrap_or((name, Unit::Count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_strings_that_files_have() {
        for (unit, text) in [
            (Unit::BytesPerS, "\"B/s\""),
            (Unit::OperationsPerS, "\"op/s\""),
            (Unit::CoreNsPerS, "\"ns/s\""),
            (Unit::PerS, "\"1/s\""),
            (Unit::Bytes, "\"B\""),
            (Unit::Ns, "\"ns\""),
            (Unit::Ms, "\"ms\""),
            (Unit::UsPerRequest, "\"us/req\""),
            (Unit::SPerGib, "\"s/GiB\""),
            (Unit::Share, "\"share\""),
            (Unit::Count, "\"1\""),
        ] {
            assert_eq!(serde_json::to_string(&unit).unwrap(), text);
            assert_eq!(serde_json::from_str::<Unit>(text).unwrap(), unit);
        }
        assert!(serde_json::from_str::<Unit>("\"parsecs\"").is_err());
    }

    #[test]
    fn a_figure_has_its_unit_last_in_its_name() {
        for (name, before, unit) in [
            ("total_p99_ns", "total_p99", Unit::Ns),
            ("client_cpu_us_per_request", "client_cpu", Unit::UsPerRequest),
            ("client_cpu_s_per_gib", "client_cpu", Unit::SPerGib),
            ("bytes_per_s", "", Unit::BytesPerS),
            ("rx_bytes_per_s", "rx_", Unit::BytesPerS),
            ("requests_per_s", "requests", Unit::PerS),
            ("resident_bytes", "resident", Unit::Bytes),
            ("steal_share", "steal", Unit::Share),
            ("at_ms", "at", Unit::Ms),
            ("errors", "errors", Unit::Count),
            ("", "", Unit::Count),
        ] {
            assert_eq!(Unit::of_figure(name), (before, unit), "{name:?}");
        }
    }
}
