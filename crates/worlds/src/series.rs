//! An hour of a real server: what `make series` recorded, for blind tests against the whole of it.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;

/// Length of a bin.
pub const BIN_MS: u64 = 50;

/// Most bytes of a recording that are read: four times what an hour has.
const BYTES_MAX: u64 = 16 << 20;

/// What one recording has.
#[derive(Clone, Debug)]
pub struct RecordedSeries {
    /// Requests that succeeded, by the bin in which they ended.
    pub ended: Vec<u64>,
}

/// Why something is no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSeries(pub String);

impl RecordedSeries {
    /// Reads a recording, as it is committed: rows of text, compressed.
    ///
    /// # Errors
    /// It is not compressed, or a row does not begin with a number.
    pub fn read(compressed: &[u8]) -> Result<RecordedSeries, NoSeries> {
        let mut text = String::new();
        let mut from = MultiGzDecoder::new(compressed).take(BYTES_MAX);
        from.read_to_string(&mut text).map_err(|error| NoSeries(error.to_string()))?;
        let first = |row: &str| row.split(',').next().and_then(|n| n.parse().ok());
        let ended: Option<Vec<u64>> = text.lines().skip(1).map(first).collect();
        ended.map(|ended| RecordedSeries { ended }).ok_or_else(|| NoSeries("a row begins with no number".to_owned()))
    }

    /// Requests per second over the whole of it.
    #[must_use]
    pub fn rate_per_s(&self) -> f64 {
        self.ended.iter().sum::<u64>() as f64 * 1e3 / (self.length_ms().max(1)) as f64
    }

    /// How long it is.
    #[must_use]
    pub fn length_ms(&self) -> u64 {
        self.ended.len() as u64 * BIN_MS
    }

    /// What ended in intervals of this length from a time on, to the end of the recording.
    pub fn intervals(&self, from_ms: u64, interval_ms: u64) -> impl Iterator<Item = u64> + '_ {
        let from = ((from_ms / BIN_MS) as usize).min(self.ended.len());
        let bins = (interval_ms / BIN_MS).max(1) as usize;
        self.ended[from..].chunks_exact(bins).map(|bins| bins.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn compressed(text: &str) -> Vec<u8> {
        let mut to = GzEncoder::new(Vec::new(), Compression::fast());
        to.write_all(text.as_bytes()).unwrap();
        to.finish().unwrap()
    }

    #[test]
    fn a_recording_is_read_and_summed() {
        let series = RecordedSeries::read(&compressed("completions,bytes\n1,9\n2,9\n3,9\n4,9\n5,9\n")).unwrap();
        assert_eq!(series.intervals(50, 100).collect::<Vec<_>>(), [5, 9]);
        assert_eq!((series.length_ms(), series.rate_per_s()), (250, 60.0));
        assert_eq!(series.intervals(1000, 100).count(), 0);
    }

    #[test]
    fn what_is_none_is_refused() {
        assert!(RecordedSeries::read(b"completions\n1\n").is_err());
        assert!(RecordedSeries::read(&compressed("completions\nmany\n")).is_err());
    }
}
