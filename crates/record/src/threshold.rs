//! Thresholds that a run is held against when it has ended, as `--fail-if` of `bench` and `report` reads them.

use std::fmt;
use std::str::FromStr;

use crate::units::{BitRate, ByteRate, Rate, Share, UnitError, parse_duration};

/// What is not to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Of which series: the first word of its workload (`get`, `mixed`); of all where none is named.
    pub workload: Option<String>,
    /// Which figure, and from where on it fails.
    pub fails: Fails,
    /// As it was written.
    text: String,
}

/// From where on a figure fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fails {
    /// The best throughput, where it is below; of links the slowest pair's.
    ThroughputBelow(Rate),
    /// The share of requests that failed, from 0 to 1, where it is above; of links that of measurements of pairs.
    ErrorsAbove(f64),
    /// A quantile of latency at the best throughput, in nanoseconds, where it is above.
    LatencyAbove { quantile: Quantile, bound_ns: u64 },
    /// Of links alone: the slowest pair's bytes per second, where they are below.
    GoodputBelow(f64),
    /// Of links alone: the share that the pair loses that loses most, from 0 to 1, where it is above.
    LossAbove(f64),
    /// Of links alone: machines and pairs that are slow beyond chance, where there are more.
    SlowAbove(u32),
}

/// Quantiles of latency that every point has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantile {
    P50,
    P90,
    P99,
    P999,
}

impl Quantile {
    const ALL: [Quantile; 4] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999];

    /// As people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Quantile::P50 => "p50",
            Quantile::P90 => "p90",
            Quantile::P99 => "p99",
            Quantile::P999 => "p99.9",
        }
    }

    /// Fewest requests of which one is beyond it.
    #[must_use]
    pub const fn requests_min(self) -> u64 {
        match self {
            Quantile::P50 => 2,
            Quantile::P90 => 10,
            Quantile::P99 => 100,
            Quantile::P999 => 1_000,
        }
    }
}

/// A share above which something fails; none at all is one too.
fn share(bound: &str) -> Result<f64, UnitError> {
    if matches!(bound, "0" | "0%") { Ok(0.0) } else { bound.parse::<Share>().map(|Share(share)| share) }
}

/// A rate of a link, in bytes per second: as links are sold, or as bytes are counted.
///
/// # Errors
/// Of a text that is neither, as of [`ByteRate`].
pub fn link_rate(text: &str) -> Result<f64, UnitError> {
    let of_bits = text.parse::<BitRate>().map(|BitRate(bits_per_s)| bits_per_s / 8.0);
    of_bits.or_else(|_| text.parse::<ByteRate>().map(|ByteRate(rate)| rate))
}

impl FromStr for Threshold {
    type Err = UnitError;

    /// Reads `get.throughput<1GiB/s`, `stat.throughput<5k/s`, `errors>0.1%`, `put.errors>0`, `get.p99>10ms`; and of
    /// links `goodput<20Gb/s`, `loss>0.1%`, `slow>0`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let fail = || UnitError {
            what: "threshold",
            input: text.to_owned(),
            fix: "write [OPERATION.]throughput<RATE, [OPERATION.]errors>SHARE or [OPERATION.]p99>TIME (p50, p90, p99, \
                  p99.9), such as get.throughput<1GiB/s, stat.throughput<5000/s, errors>0.1% or get.p99>10ms; of \
                  linerate net also goodput<RATE, loss>SHARE or slow>NUMBER, such as goodput<20Gb/s, loss>0.1% or \
                  slow>0"
                .into(),
        };
        // A bound in bits says what is wrong with it; another is told by what a threshold is.
        let of_bound = |error: UnitError| match error.is_of_bits() {
            true => UnitError { fix: error.fix, ..fail() },
            false => fail(),
        };
        let at = text.find(['<', '>']).ok_or_else(fail)?;
        let (left, bound) = (text[..at].trim(), text[at + 1..].trim());
        // A point within p99.9 parts nothing.
        let parted = left.split_once('.').filter(|(name, _)| !name.bytes().any(|b| b.is_ascii_digit()));
        let (workload, figure) = parted.map_or((None, left), |(name, figure)| (Some(name), figure));
        let quantile = Quantile::ALL.into_iter().find(|quantile| quantile.name().eq_ignore_ascii_case(figure));
        let time_ns = || parse_duration(bound).ok().and_then(|bound| u64::try_from(bound.as_nanos()).ok());
        let fails = match (figure, &text[at..=at]) {
            ("throughput", "<") => Fails::ThroughputBelow(bound.parse().map_err(of_bound)?),
            ("errors", ">") => Fails::ErrorsAbove(share(bound).map_err(|_| fail())?),
            ("goodput", "<") if workload.is_none() => Fails::GoodputBelow(link_rate(bound).map_err(|_| fail())?),
            ("loss", ">") if workload.is_none() => Fails::LossAbove(share(bound).map_err(|_| fail())?),
            ("slow", ">") if workload.is_none() => Fails::SlowAbove(bound.parse().map_err(|_| fail())?),
            (_, ">") => {
                let (quantile, bound_ns) = quantile.zip(time_ns()).ok_or_else(fail)?;
                Fails::LatencyAbove { quantile, bound_ns }
            }
            _ => return Err(fail()),
        };
        let workload = workload.map(|name| name.trim().to_ascii_lowercase());
        if workload.as_ref().is_some_and(|name| name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase())) {
            return Err(fail());
        }
        Ok(Threshold { workload, fails, text: text.trim().to_owned() })
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_as_they_are_said() {
        let gib = Rate::Bytes(1_073_741_824.0);
        for (text, workload, fails) in [
            ("get.throughput<1GiB/s", Some("get"), Fails::ThroughputBelow(gib)),
            (" PUT.throughput < 1GiB/s ", Some("put"), Fails::ThroughputBelow(gib)),
            ("throughput<5k/s", None, Fails::ThroughputBelow(Rate::Requests(5e3))),
            ("errors>0.1%", None, Fails::ErrorsAbove(0.001)),
            ("mixed.errors>0", Some("mixed"), Fails::ErrorsAbove(0.0)),
            ("p99>10ms", None, Fails::LatencyAbove { quantile: Quantile::P99, bound_ns: 10_000_000 }),
            ("get.p99.9 > 1s", Some("get"), Fails::LatencyAbove { quantile: Quantile::P999, bound_ns: 1_000_000_000 }),
            ("GET.P50>1ms", Some("get"), Fails::LatencyAbove { quantile: Quantile::P50, bound_ns: 1_000_000 }),
            ("goodput<8Gb/s", None, Fails::GoodputBelow(1e9)),
            ("goodput < 100MB/s", None, Fails::GoodputBelow(1e8)),
            ("loss>0.5%", None, Fails::LossAbove(0.005)),
            ("loss>0", None, Fails::LossAbove(0.0)),
            ("slow>2", None, Fails::SlowAbove(2)),
        ] {
            let read: Threshold = text.parse().unwrap();
            assert_eq!((read.workload.as_deref(), read.fails), (workload, fails), "{text}");
            assert_eq!(read.to_string(), text.trim());
        }
    }

    #[test]
    fn a_bound_in_bits_is_refused_as_such() {
        let reported = "get.throughput<8Gb/s".parse::<Threshold>().unwrap_err().to_string();
        assert!(
            reported.contains("invalid threshold \"get.throughput<8Gb/s\"") && reported.contains("capital B"),
            "{reported}"
        );
    }

    #[test]
    fn what_is_no_threshold_says_what_one_is() {
        for text in [
            "",
            "get.throughput",
            "get.throughput>1GiB/s",
            "errors<1%",
            "errors>150%",
            "p99<5ms",
            "p99>5",
            "p98>5ms",
            "p99.99>5ms",
            "get.goodput<1Gb/s",
            "goodput>1Gb/s",
            "goodput<5000/s",
            "slow>-1",
            "slow>1%",
            "loss<1%",
            ".errors>1%",
            "<",
            "é>1",
        ] {
            let reported = text.parse::<Threshold>().unwrap_err().to_string();
            assert!(reported.contains("get.throughput<1GiB/s"), "{text}: {reported}");
        }
    }
}
