//! Requests that were in flight when a point ended: what came of them, and which bytes of its intervals are theirs.

use serde::{Deserialize, Serialize};

use super::Op;
use crate::histogram::EncodedHistogram;

/// Most instants of bytes in one row; of more, neighbours are put together.
pub const MOVED_MAX: usize = 1_000;

/// Most instants of bytes in all rows of one client, so that they fit a message.
pub const MOVED_OF_CLIENT_MAX: usize = 16_000;

/// Requests of one operation to one host that were in flight at the end of a point and did not end well in the time for
/// which they were waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlightRow {
    /// Index into [`super::Manifest::clients`].
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub client: u32,
    /// Index into [`super::Target::hosts`].
    pub host: u32,
    pub op: Op,
    /// Requests that failed for good.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub failed: u64,
    /// Body bytes of failed requests that intervals count as moved: milliseconds from the start of the client's first
    /// interval of the point to the middle of the interval that counts them, and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_bytes: Vec<(u64, i64)>,
    /// Requests that had not ended.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub open: u64,
    /// Body bytes of open requests that intervals count as moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_bytes: Vec<(u64, i64)>,
    /// How long open requests had taken so far when they were given up.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub ages: EncodedHistogram,
    /// The same from the instants at which they were due; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ages_intended: Option<EncodedHistogram>,
    /// Times to the first byte, of open requests whose response had begun.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub ttfb: EncodedHistogram,
    /// The same from the instants at which they were due; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttfb_intended: Option<EncodedHistogram>,
    /// How long the other open requests had taken, those without a first byte. Older folders have neither.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub unanswered_ages: EncodedHistogram,
    /// The same from the instants at which they were due; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered_ages_intended: Option<EncodedHistogram>,
    /// Requests that ended well while they were waited for. No interval counts them; quantiles do. Absent where there
    /// are none, and in older folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<AwaitedLatencies>,
}

/// Latencies of requests that were in flight at the end of a point, and ended well behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedLatencies {
    /// Times to the first byte.
    pub ttfb: EncodedHistogram,
    /// Times to the last byte.
    pub total: EncodedHistogram,
    /// The same from the instants at which requests were due; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttfb_intended: Option<EncodedHistogram>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_intended: Option<EncodedHistogram>,
}

impl AwaitedLatencies {
    /// All its histograms.
    pub fn histograms(&self) -> impl Iterator<Item = &EncodedHistogram> {
        [&self.ttfb, &self.total].into_iter().chain([&self.ttfb_intended, &self.total_intended].into_iter().flatten())
    }
}

impl InFlightRow {
    /// One of which nothing has been counted.
    #[must_use]
    pub const fn none(host: u32, op: Op) -> InFlightRow {
        InFlightRow {
            client: 0,
            host,
            op,
            failed: 0,
            failed_bytes: Vec::new(),
            open: 0,
            open_bytes: Vec::new(),
            ages: EncodedHistogram(String::new()),
            ages_intended: None,
            ttfb: EncodedHistogram(String::new()),
            ttfb_intended: None,
            unanswered_ages: EncodedHistogram(String::new()),
            unanswered_ages_intended: None,
            awaited: None,
        }
    }

    /// Its histograms of open requests: each has at most as many values as requests are open.
    pub fn open_histograms(&self) -> impl Iterator<Item = &EncodedHistogram> {
        let intended = [&self.ages_intended, &self.ttfb_intended, &self.unanswered_ages_intended];
        [&self.ages, &self.ttfb, &self.unanswered_ages].into_iter().chain(intended.into_iter().flatten())
    }

    /// All its histograms.
    pub fn histograms(&self) -> impl Iterator<Item = &EncodedHistogram> {
        self.open_histograms().chain(self.awaited.iter().flat_map(AwaitedLatencies::histograms))
    }
}

/// As many instants as `most` at the most: neighbours are put together until they fit.
#[must_use]
pub fn coarse(mut moved: Vec<(u64, i64)>, most: usize) -> Vec<(u64, i64)> {
    while moved.len() > most.max(1) {
        let pair = |pair: &[(u64, i64)]| (pair[0].0, pair.iter().map(|one| one.1).sum());
        moved = moved.chunks(2).map(pair).collect();
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_is_not_written_and_reads_as_nothing() {
        let row = InFlightRow { open: 2, open_bytes: vec![(250, 70)], ..InFlightRow::none(1, Op::Put) };
        let text = r#"{"host":1,"op":"put","open":2,"open_bytes":[[250,70]]}"#;
        assert_eq!(serde_json::to_string(&row).unwrap(), text);
        assert_eq!(serde_json::from_str::<InFlightRow>(text).unwrap(), row);
    }

    #[test]
    fn many_instants_are_put_together_and_no_byte_is_lost() {
        let many: Vec<(u64, i64)> = (0..2_501).map(|at| (at, 3)).collect();
        let few = coarse(many, 1_000);
        assert!(few.len() <= 1_000 && few.is_sorted());
        assert_eq!(few.iter().map(|one| one.1).sum::<i64>(), 3 * 2_501);
    }
}
