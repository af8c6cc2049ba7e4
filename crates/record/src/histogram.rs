//! Latency histograms: two significant digits, from 64 ns to an hour, mergeable, and small when sparse.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Serialize};

/// Nanoseconds up to which the resolution is 64 ns; above, two significant digits.
const LOW_NS: u64 = 64;

const DIGITS: u8 = 2;

/// Longest latency told apart: one hour. Longer ones count as this.
pub const HIGH_NS: u64 = 3_600_000_000_000;

/// The percentiles of [`Latency::distribution`]; the last is the maximum.
const PERCENTILES: [f64; 24] = [
    0.0, 1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 92.5, 95.0, 97.5, 99.0, 99.5,
    99.75, 99.9, 99.99, 99.999, 100.0,
];

/// Latencies in nanoseconds.
pub type Latencies = Histogram<u64>;

/// A latency histogram in nanoseconds, two significant digits, in the HdrHistogram V2 encoding, base64. Empty
/// for no values. HdrHistogram libraries read it, those that take only the compressed form after `docs/run-folder.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EncodedHistogram(pub String);

/// Quantiles of a latency distribution, in nanoseconds; all zero where nothing was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub count: u64,
    pub mean_ns: f64,
    pub min_ns: u64,
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// The 95 % interval of the 99th percentile; absent where requests are too few to bound it on either side, and for
    /// latencies of which none is made: to the first byte, and of one operation or host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_95_ns: Option<[u64; 2]>,
    /// The same of the 99.9th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_95_ns: Option<[u64; 2]>,
    pub max_ns: u64,
    /// Quantiles from this value on are at least what they say: of requests that had not ended it is not known how long
    /// they take. Absent where all are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_ns: Option<u64>,
    /// The distribution as `[percentile, nanoseconds]`, percentile rising from 0 to 100.
    pub distribution: Vec<[f64; 2]>,
}

/// A histogram without values. It holds 30 KiB whatever is recorded.
#[must_use]
pub fn empty() -> Latencies {
    #[expect(clippy::expect_used, reason = "the bounds are constants that satisfy the crate's conditions")]
    Histogram::new_with_bounds(LOW_NS, HIGH_NS, DIGITS).expect("the bounds are valid")
}

/// A histogram that could not be read back.
#[derive(Debug, thiserror::Error)]
#[error("latency histogram is not HdrHistogram V2 in base64: {0}")]
pub struct DecodeError(String);

/// As text: HdrHistogram V2, base64. Empty for a histogram without values.
#[must_use]
pub fn encode(latencies: &Latencies) -> EncodedHistogram {
    if latencies.is_empty() {
        return EncodedHistogram::default();
    }
    let mut bytes = Vec::with_capacity(512);
    #[expect(clippy::expect_used, reason = "writing to memory cannot fail, and counts stay below the format's limit")]
    V2Serializer::new().serialize(latencies, &mut bytes).expect("a histogram serializes to memory");
    EncodedHistogram(STANDARD.encode(bytes))
}

/// Adds an encoded histogram to `sum`.
///
/// # Errors
/// [`DecodeError`] where the text is no histogram; `sum` is then unchanged.
pub fn add_encoded(sum: &mut Latencies, encoded: &EncodedHistogram) -> Result<(), DecodeError> {
    if encoded.0.is_empty() {
        return Ok(());
    }
    let bytes = STANDARD.decode(&encoded.0).map_err(|e| DecodeError(e.to_string()))?;
    require_own_resolution(&bytes)?;
    let other: Latencies =
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| DecodeError(e.to_string()))?;
    sum.add(&other).map_err(|e| DecodeError(e.to_string()))
}

/// Where HdrHistogram V2 has the significant digits and the highest value, as big-endian numbers.
const DIGITS_AT: std::ops::Range<usize> = 12..16;
const HIGHEST_AT: std::ops::Range<usize> = 24..32;

/// Refuses what was recorded more finely, or up to more, than linerate does: memory and time depend on it.
fn require_own_resolution(bytes: &[u8]) -> Result<(), DecodeError> {
    let number = |at: std::ops::Range<usize>| {
        bytes.get(at).map(|number| number.iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte)))
    };
    match (number(DIGITS_AT), number(HIGHEST_AT)) {
        (Some(digits), _) if digits > u64::from(DIGITS) => Err(DecodeError(format!("{digits} significant digits"))),
        (_, Some(highest)) if highest > HIGH_NS => Err(DecodeError(format!("values up to {highest} ns"))),
        _ => Ok(()),
    }
}

/// The quantiles that reports show.
#[must_use]
pub fn summarize(latencies: &Latencies) -> Latency {
    if latencies.is_empty() {
        return Latency::default();
    }
    let at = |q| latencies.value_at_quantile(q);
    Latency {
        count: latencies.len(),
        mean_ns: latencies.mean(),
        min_ns: latencies.min(),
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        p99_95_ns: None,
        p999_95_ns: None,
        max_ns: latencies.max(),
        at_least_ns: None,
        distribution: PERCENTILES.iter().map(|&p| [p, latencies.value_at_percentile(p) as f64]).collect(),
    }
}

/// How many values are not above each bound in nanoseconds, bounds rising; exact but for the bucket that holds a bound.
#[must_use]
pub fn at_most(latencies: &Latencies, bounds_ns: &[u64]) -> Vec<u64> {
    let mut recorded = latencies.iter_recorded().peekable();
    let mut sum = 0;
    let below = |bound: u64| {
        while let Some(bucket) = recorded.next_if(|bucket| bucket.value_iterated_to() <= bound) {
            sum += bucket.count_since_last_iteration();
        }
        sum
    };
    bounds_ns.iter().copied().map(below).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_recorded_is_an_empty_text_and_all_zero() {
        assert_eq!(encode(&empty()).0, "");
        assert_eq!(summarize(&empty()), Latency::default());
    }

    #[test]
    fn garbage_is_refused_and_leaves_the_sum_alone() {
        let mut sum = empty();
        sum.record(5_000).unwrap();
        for text in ["%%%", "AAAA", "HISTFAAA"] {
            assert!(add_encoded(&mut sum, &EncodedHistogram(text.into())).is_err(), "{text}");
            assert_eq!(sum.len(), 1);
        }
    }

    #[test]
    fn values_are_counted_up_to_each_bound() {
        let mut latencies = empty();
        for ns in [1_000, 90_000, 110_000, 999_000, 7_000_000_000] {
            latencies.record(ns).unwrap();
        }
        assert_eq!(at_most(&latencies, &[500, 100_000, 1_010_000, 1 << 40]), [0, 2, 4, 5]);
        assert_eq!(at_most(&empty(), &[1, 2]), [0, 0]);
    }

    #[test]
    fn a_sparse_histogram_is_small() {
        let mut latencies = empty();
        for ns in (100_000..200_000).step_by(17) {
            latencies.record(ns).unwrap();
        }
        assert!(encode(&latencies).0.len() < 600, "{}", encode(&latencies).0.len());
    }

    proptest! {
        #[test]
        fn merging_encoded_parts_equals_recording_the_whole(
            values in prop::collection::vec((1u64..HIGH_NS, 0u8..3), 1..200),
        ) {
            let mut whole = empty();
            let mut parts = [empty(), empty(), empty()];
            for &(ns, part) in &values {
                whole.record(ns).unwrap();
                parts[usize::from(part)].record(ns).unwrap();
            }
            let mut sum = empty();
            for part in &parts {
                add_encoded(&mut sum, &encode(part)).unwrap();
            }
            prop_assert_eq!(summarize(&sum), summarize(&whole));
            let mut sorted: Vec<u64> = values.iter().map(|v| v.0).collect();
            sorted.sort_unstable();
            let exact = sorted[(sorted.len() - 1) / 2] as f64;
            let p50 = summarize(&whole).p50_ns;
            prop_assert!((exact * 0.99..=exact * 1.011 + 64.0).contains(&(p50 as f64)), "{} {}", p50, exact);
        }
    }
}
