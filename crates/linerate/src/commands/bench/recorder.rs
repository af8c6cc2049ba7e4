//! Writes points into the run folder as they are driven.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use linerate_analysis::build::build;
use linerate_analysis::records::Records;
use linerate_analysis::view::View;
use linerate_load::session::{PointPlan, Source};
use linerate_record::finding::Finding;
use linerate_record::histogram::Latencies;
use linerate_record::run::{
    Interval, Manifest, ObjectsWritten, Op, OutsideRow, PointBegin, PointEnd, PointLine, PointSpec, Purpose, Searched,
    SeriesSpec, StopReason,
};
use linerate_wire::clock::Clock;

use super::open_run::OpenRun;
use super::point_ending::PointEnding;
use crate::files::run_folder::RunFolder;
use crate::run::metrics::MetricsServer;
use crate::run::point_timing::Timing;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;
use crate::terminal::progress::Progress;

/// A point that is to be driven, as the folder has it.
#[derive(Clone, Copy)]
pub(super) struct PointToRecord<'p> {
    pub(super) purpose: Purpose,
    pub(super) spec: &'p PointSpec,
    pub(super) plan: &'p PointPlan,
    pub(super) timing: Timing,
}

/// Writes points into the run folder.
pub(super) struct Recorder {
    folder: RunFolder,
    pub(super) manifest: Manifest,
    clock: Clock,
    pub(super) next_point: u32,
    /// Raised where the canary exceeds a bound.
    pub(super) is_halted: Arc<AtomicBool>,
    metrics: Option<Arc<MetricsServer>>,
}

impl Recorder {
    pub(super) fn new(folder: RunFolder, manifest: Manifest, run: &OpenRun<'_>) -> Self {
        let (clock, metrics) = (run.prepared.clock, run.prepared.metrics.clone());
        Recorder { folder, manifest, clock, next_point: 0, is_halted: Arc::default(), metrics }
    }

    /// From now on, points end where this flag is raised.
    pub(super) fn stop_on(&mut self, is_halted: Arc<AtomicBool>) {
        self.is_halted = is_halted;
    }

    pub(super) fn finding(&mut self, finding: &Finding) -> Result<(), Failure> {
        // Its words quote what the target says, which was sent the keys.
        let [claim, evidence, remedy] =
            [&finding.claim, &finding.evidence, &finding.remedy].map(|text| key_masks::mask_keys(text));
        self.folder.findings.push(&Finding { claim, evidence, remedy, ..finding.clone() })
    }

    /// Drives one point and records it; returns what came of it, and the view of it or why it could not be recorded:
    /// what was written must be cleared in either case. `drive` reports to the recorder of the point; `ending`
    /// gets how the point ended from what `drive` returns.
    pub(super) fn point<T>(
        &mut self,
        PointToRecord { purpose, spec, plan, timing }: PointToRecord<'_>,
        progress: &Progress,
        drive: impl FnOnce(&mut PointRecorder<'_>) -> Result<T, Failure>,
        ending: impl FnOnce(&T) -> PointEnding,
    ) -> Result<(T, Result<Option<View>, Failure>), Failure> {
        let point = self.next_point;
        self.next_point += 1;
        let at_ms = self.clock.now_ns() / 1_000_000;
        let begin = PointLine::Begin(PointBegin {
            point,
            at_ms,
            purpose,
            spec: spec.clone(),
            read_set_bytes: read_set_bytes(plan, purpose),
        });
        self.folder.points.push(&begin)?;
        let metrics = self.metrics.clone();
        metrics.iter().for_each(|m| m.begin(purpose, spec));
        let from = self.folder.intervals.bytes();
        let (label, warmup_ms) = (spec.to_string(), timing.warmup_so_far_ms());
        let written = Ok(());
        let mut tape = PointRecorder {
            recorder: self,
            purpose,
            point,
            at_ms,
            label,
            progress,
            metrics,
            has_success: false,
            warmup_ms,
            written,
        };
        let outcome = drive(&mut tape)?;
        let written = tape.written;
        self.metrics.iter().for_each(|m| m.end(purpose));
        let at_ms = self.clock.now_ns() / 1_000_000;
        let PointEnding { ended, connections, alongside, in_flight, lost } = ending(&outcome);
        let (warmup_ms, alongside) = (timing.warmup_ms, Some(alongside));
        let end = PointLine::End(PointEnd { point, at_ms, ended, connections, warmup_ms, alongside, in_flight, lost });
        let recorded = written.and_then(|()| self.folder.points.push(&end));
        // Read back, not kept: a point may last for hours, and memory should not grow with it.
        let intervals = recorded.and_then(|()| self.folder.intervals.read_from(from));
        Ok((outcome, intervals.map(|intervals| self.view(vec![begin, end], intervals))))
    }

    /// The view of one point alone.
    fn view(&self, points: Vec<PointLine>, intervals: Vec<Interval>) -> Option<View> {
        let manifest = self.manifest.clone();
        let (readings, canary, findings) = (Vec::new(), Vec::new(), Vec::new());
        build(&Records { manifest, points, intervals, readings, canary, findings }).ok()
    }

    /// Records the requests that wrote objects for points.
    pub(super) fn record_preparation(&mut self, alongside: Vec<OutsideRow>) -> Result<(), Failure> {
        let at_ms = self.clock.now_ns() / 1_000_000;
        self.folder.points.push(&PointLine::Written(ObjectsWritten { at_ms, alongside }))
    }

    /// Records that a series is at its end, where that was not known beforehand.
    pub(super) fn record_series(&mut self, run: &OpenRun<'_>, series: SeriesSpec) -> Result<(), Failure> {
        if run.prepared.load.levels.given().is_some() && self.manifest.requested.rounds_ms.is_none() {
            return Ok(());
        }
        let at_ms = self.clock.now_ns() / 1_000_000;
        self.folder.points.push(&PointLine::Searched(Searched { at_ms, series }))
    }
}

/// Takes the intervals of a point while it is driven.
pub(super) struct PointRecorder<'r> {
    recorder: &'r mut Recorder,
    purpose: Purpose,
    pub(super) point: u32,
    at_ms: u64,
    label: String,
    progress: &'r Progress,
    metrics: Option<Arc<MetricsServer>>,
    /// Whether a request has succeeded.
    has_success: bool,
    /// Up to when it warms up, as far as is known so far.
    warmup_ms: u64,
    written: Result<(), Failure>,
}

impl PointRecorder<'_> {
    /// Takes an interval of this process; says where the point is to end.
    pub(super) fn interval(&mut self, figures: Interval<Latencies>) -> ControlFlow<StopReason> {
        self.show(&figures);
        let interval = folder_interval(self.point, figures.encoded());
        self.write(&interval);
        self.verdict()
    }

    /// Takes the counts of clients, added up, which are not recorded.
    pub(super) fn counts(&mut self, figures: Interval<Latencies>) -> ControlFlow<StopReason> {
        self.show(&figures);
        self.verdict()
    }

    /// Takes an interval of a client.
    pub(super) fn record_client_interval(&mut self, client: u32, interval: Interval) {
        let interval = Interval { client, ..folder_interval(self.point, interval) };
        self.metrics.iter().for_each(|m| m.record_client_interval(self.purpose, &interval));
        self.write(&interval);
    }

    fn show(&mut self, figures: &Interval<Latencies>) {
        self.has_success |= figures.whole_rows().any(|row| row.requests > 0);
        self.progress.interval(&self.label, figures, self.has_success);
        let warms_up = figures.from_ms.saturating_sub(self.at_ms) < self.warmup_ms;
        self.metrics.iter().for_each(|m| m.interval(self.purpose, figures, warms_up));
    }

    fn write(&mut self, interval: &Interval) {
        if self.written.is_ok() {
            self.written = self.recorder.folder.intervals.push(interval);
        }
    }

    fn verdict(&self) -> ControlFlow<StopReason> {
        if self.written.is_err() {
            // Load that nobody can read of any more is for nothing.
            return ControlFlow::Break(StopReason::Interrupted);
        }
        ControlFlow::Continue(())
    }
}

/// Bytes of all objects that a plan reads from.
fn read_set_bytes(plan: &PointPlan, purpose: Purpose) -> Option<u64> {
    if purpose != Purpose::Measure || !plan.workload.has(Op::Get) {
        return None;
    }
    Some(match &plan.source {
        Source::Set { count, .. } => (*count as f64 * plan.sizes.mean()) as u64,
        Source::Existing(objects) => objects.iter().map(|o| o.size_bytes).sum(),
    })
}

/// The interval of a point as the run folder has it.
fn folder_interval(point: u32, figures: Interval) -> Interval {
    let mut interval = Interval { point, ..figures };
    for row in &mut interval.rows {
        row.errors = without_keys(std::mem::take(&mut row.errors));
        row.retries = without_keys(std::mem::take(&mut row.retries));
    }
    interval
}

/// Kinds quote what the target says, which was sent the keys.
fn without_keys(kinds: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut masked = BTreeMap::new();
    kinds.into_iter().for_each(|(kind, n)| *masked.entry(key_masks::mask_keys(&kind)).or_default() += n);
    masked
}
