//! The run over time.

use linerate_record::histogram::{self, DecodeError};
use linerate_record::run::{Interval, PointLine};

use crate::records::{Records, point_end};
use crate::view::{LoadSample, MachineSample, Timeline, TimelineSpan};

/// Most samples of the load track; beyond, neighbouring intervals of a point are put together.
pub const LOAD_SAMPLES_MAX: usize = 1_200;

/// Most samples of the machine track; beyond, every second, third, … reading is shown.
pub const MACHINE_SAMPLES_MAX: usize = 1_200;

pub(super) fn build(records: &Records, machine: Vec<MachineSample>) -> Result<Timeline, DecodeError> {
    let group = records.intervals.len().div_ceil(LOAD_SAMPLES_MAX).max(1);
    let mut load = Vec::new();
    for of_point in records.intervals.chunk_by(|a, b| a.point == b.point && a.warmup == b.warmup) {
        for together in of_point.chunks(group) {
            load.extend(sample(together)?);
        }
    }
    let step = machine.len().div_ceil(MACHINE_SAMPLES_MAX).max(1);
    Ok(Timeline { spans: spans(records), load, machine: machine.into_iter().step_by(step).collect() })
}

fn spans(records: &Records) -> Vec<TimelineSpan> {
    let begins = records.points.iter().filter_map(|line| match line {
        PointLine::Begin(begin) => Some(begin),
        _ => None,
    });
    begins
        .map(|begin| {
            let last = || records.intervals.iter().filter(|i| i.point == begin.point).map(|i| i.to_ms).max();
            let to_ms = point_end(records, begin.point).map(|e| e.at_ms).or_else(last);
            TimelineSpan {
                point: begin.point,
                label: begin.spec.to_string(),
                from_ms: begin.at_ms,
                to_ms: to_ms.unwrap_or(begin.at_ms),
            }
        })
        .collect()
}

/// One sample of neighbouring intervals of one point.
fn sample(intervals: &[Interval]) -> Result<Option<LoadSample>, DecodeError> {
    let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else { return Ok(None) };
    let seconds = last.to_ms.saturating_sub(first.from_ms) as f64 / 1e3;
    if seconds <= 0.0 {
        return Ok(None);
    }
    let rows = || intervals.iter().flat_map(Interval::whole_rows);
    let mut total = histogram::empty();
    for row in rows() {
        histogram::add_encoded(&mut total, &row.total)?;
    }
    let quantile = |q| (!total.is_empty()).then(|| total.value_at_quantile(q));
    Ok(Some(LoadSample {
        at_ms: last.to_ms,
        point: first.point,
        warmup: first.warmup,
        bytes_per_s: rows().map(|r| r.moved_bytes).sum::<i64>() as f64 / seconds,
        requests_per_s: rows().map(|r| r.requests).sum::<u64>() as f64 / seconds,
        errors_per_s: rows().flat_map(|r| r.errors.values()).sum::<u64>() as f64 / seconds,
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
    }))
}

#[cfg(test)]
mod tests {
    use linerate_record::reading::Reading;

    use super::*;
    use crate::build::tests::records;

    #[test]
    fn a_long_run_keeps_its_timeline_bounded() {
        let mut records = records(&[1], |_| 5);
        let template = records.intervals[5].clone();
        records.intervals =
            (0..10_000u64).map(|i| Interval { from_ms: i * 100, to_ms: i * 100 + 100, ..template.clone() }).collect();
        records.readings = (0..10_000).map(|i| Reading { at_ms: i * 1000, ..Reading::default() }).collect();
        let view = crate::build::build(&records).unwrap();
        assert!(view.timeline.load.len() <= LOAD_SAMPLES_MAX);
        assert!(view.timeline.machine.len() <= MACHINE_SAMPLES_MAX);
        let mean = view.timeline.load.iter().map(|s| s.requests_per_s).sum::<f64>() / view.timeline.load.len() as f64;
        assert!((mean - 100.0).abs() < 1e-6, "grouping keeps the mean: {mean}");
    }
}
