//! The records of a run, as its folder has them.

mod plausibility;
mod settled;

use linerate_record::canary::CanaryLine;
use linerate_record::finding::Finding;
use linerate_record::reading::Reading;
use linerate_record::run::{Interval, Manifest, PointEnd, PointLine};

/// The records of a run folder.
#[derive(Clone, Debug)]
pub struct Records {
    /// `run.json`.
    pub manifest: Manifest,
    /// `points.jsonl`.
    pub points: Vec<PointLine>,
    /// `intervals.jsonl`.
    pub intervals: Vec<Interval>,
    /// `readings.jsonl`.
    pub readings: Vec<Reading>,
    /// `canary.jsonl`.
    pub canary: Vec<CanaryLine>,
    /// Findings recorded while the run went on; those that follow from the figures are derived anew.
    pub findings: Vec<Finding>,
}

/// The end of a point, where it came to one.
pub(crate) fn point_end(records: &Records, point: u32) -> Option<&PointEnd> {
    records.points.iter().find_map(|line| match line {
        PointLine::End(end) if end.point == point => Some(end),
        _ => None,
    })
}
