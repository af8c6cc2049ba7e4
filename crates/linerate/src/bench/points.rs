//! The points of a run: each is driven, recorded as it goes, and told when it has ended.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use linerate_analysis::histogram::encode;
use linerate_analysis::view::{Measure, Records, build};
use linerate_load::clock::Clock;
use linerate_load::point::{Drive, FigureRow, IntervalFigures, PointOutcome, drive};
use linerate_load::session::{Plan, Session, Source, Until, Workload};
use linerate_load::sizes::{OBJECT_BYTES_MAX, Sizes};
use linerate_record::finding::Finding;
use linerate_record::run::{Interval, Manifest, Op, PointBegin, PointEnd, PointLine, PointSpec, Purpose, Row};

use super::objects::Objects;
use super::setup::{CEILING, Setup};
use crate::child;
use crate::cli::TargetKind;
use crate::failure::Failure;
use crate::folder::RunFolder;
use crate::grid::{self, Named, Timing};
use crate::interrupt;
use crate::metrics::Exporter;
use crate::progress::Progress;

/// Requests in flight while objects are written beforehand.
const PREPARE_CONCURRENCY: u32 = 16;

/// Most requests in flight at a ceiling: more gain nothing on a loopback.
const CEILING_CONCURRENCY_MAX: u32 = 64;

/// Writes points into the run folder.
pub(super) struct Recorder {
    folder: RunFolder,
    manifest: Manifest,
    clock: Clock,
    next_point: u32,
    metrics: Option<Arc<Exporter>>,
}

impl Recorder {
    pub(super) fn new(folder: RunFolder, manifest: Manifest, setup: &Setup<'_>) -> Self {
        Recorder { folder, manifest, clock: setup.clock, next_point: 0, metrics: setup.metrics.clone() }
    }

    pub(super) fn finding(&mut self, finding: &Finding) -> Result<(), Failure> {
        self.folder.findings.push(finding)
    }

    /// Drives one point and records it; returns how it ended, and the line that tells it or why it could not be
    /// recorded: what was written must be cleared in either case.
    fn point(
        &mut self,
        purpose: Purpose,
        spec: &PointSpec,
        with: &Drive<'_>,
        plan: &Plan,
        progress: &Progress,
    ) -> Result<(PointOutcome, Result<String, Failure>), Failure> {
        let point = self.next_point;
        self.next_point += 1;
        let at_ms = self.clock.now_ns() / 1_000_000;
        let begin = PointLine::Begin(PointBegin { point, at_ms, purpose, spec: spec.clone() });
        self.folder.points.push(&begin)?;
        let label = format!("{} {} × {}", spec.workload, spec.size, spec.concurrency);
        let (mut intervals, mut written) = (Vec::new(), Ok(()));
        let metrics = self.metrics.clone();
        metrics.iter().for_each(|m| m.begin(purpose, spec));
        let outcome = drive(with, plan, |figures| {
            progress.interval(&label, &figures);
            metrics.iter().for_each(|m| m.interval(purpose, &figures));
            let interval = interval(point, figures);
            if written.is_ok() {
                written = self.folder.intervals.push(&interval);
            }
            intervals.push(interval);
        })?;
        metrics.iter().for_each(|m| m.end(purpose));
        let at_ms = self.clock.now_ns() / 1_000_000;
        let (ended, connections) = (outcome.ended, outcome.connections);
        let end = PointLine::End(PointEnd { point, at_ms, ended, connections });
        let recorded = written.and_then(|()| self.folder.points.push(&end));
        Ok((outcome, recorded.map(|()| self.line(spec, vec![begin, end], intervals))))
    }

    /// The point's row of the report.
    fn line(&self, spec: &PointSpec, points: Vec<PointLine>, intervals: Vec<Interval>) -> String {
        let manifest = self.manifest.clone();
        let records = Records { manifest, points, intervals, readings: Vec::new(), findings: Vec::new() };
        let label = format!("{} {}", spec.workload, spec.size);
        let line = build(&records).ok().and_then(|view| {
            let series = view.series.first()?;
            let point = series.points.first()?;
            let measure: Measure = series.measure;
            Some(linerate_report::terminal::point_line(&label, point, measure))
        });
        line.unwrap_or_else(|| format!("{label} × {}: no whole interval", spec.concurrency))
    }
}

fn interval(point: u32, figures: IntervalFigures) -> Interval {
    Interval {
        point,
        from_ms: figures.from_ns / 1_000_000,
        to_ms: figures.to_ns / 1_000_000,
        warmup: figures.warmup,
        client_cpu_ns: figures.client_cpu_ns,
        thread_cpu_ns: figures.thread_cpu_ns,
        target_cpu_ns: figures.target_cpu_ns,
        held_back: figures.held_back,
        rows: figures.rows.into_iter().map(row).collect(),
    }
}

fn row(row: FigureRow) -> Row {
    Row {
        host: row.host,
        op: row.op,
        requests: row.requests,
        bytes: row.bytes,
        moved_bytes: row.moved_bytes,
        errors: row.errors,
        ttfb: encode(&row.ttfb),
        total: encode(&row.total),
    }
}

/// What linerate itself drives: each workload and size against the null target, for half a second.
pub(super) fn ceilings(
    setup: &Setup<'_>,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    if !setup.wants_ceilings() {
        return Ok(());
    }
    let null = child::start(TargetKind::Null, None, None)?;
    let host = linerate_load::hosts::Host { authority: null.address.to_string(), address: null.address };
    let session = against(&setup.session, host);
    let with = Drive { session: &session, clock: setup.clock, interrupted, target_pid: Some(null.pid()) };
    let most = setup.grid.concurrencies.last().copied().unwrap_or(1);
    progress.doing("measuring what linerate itself can drive");
    for named in &setup.grid.workloads {
        for (size, sizes) in named_sizes(setup) {
            let concurrency = most.min(CEILING_CONCURRENCY_MAX);
            let spec = PointSpec { workload: named.name.clone(), size, concurrency };
            let source = Source::Set { set: 0, count: (1 << 40) - 1 };
            let plan = Plan { verify: false, rate: None, ..plan(setup, named, &sizes, concurrency, CEILING, source) };
            let (outcome, recorded) = recorder.point(Purpose::Ceiling, &spec, &with, &plan, progress)?;
            recorded?;
            debug_assert!(outcome.written_until < 1 << 40, "a set is never used up in half a second");
            if interrupt::came(interrupted) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The session, driven at another host.
fn against(session: &Session, host: linerate_load::hosts::Host) -> Session {
    Session {
        hosts: vec![host],
        lookup: session.lookup,
        bucket: session.bucket.clone(),
        run_prefix: session.run_prefix.clone(),
        credentials: session.credentials.clone(),
        region: session.region.clone(),
        payload: session.payload,
        bodies: session.bodies.clone(),
        host_select: session.host_select,
        timeout_ns: session.timeout_ns,
        seed: session.seed,
    }
}

/// Sizes with the names that points give them. Objects that were there before count as one size: their mean.
fn named_sizes(setup: &Setup<'_>) -> Vec<(String, Sizes)> {
    if setup.existing.is_empty() {
        return setup.grid.sizes.iter().map(|s| (s.to_string(), s.clone())).collect();
    }
    let sum: u64 = setup.existing.iter().map(|o| o.size_bytes).sum();
    let mean = (sum / setup.existing.len() as u64).min(OBJECT_BYTES_MAX);
    let sizes = mean.to_string().parse().ok();
    sizes.map(|sizes| vec![(super::setup::EXISTING_SIZE.to_owned(), sizes)]).unwrap_or_default()
}

fn plan(setup: &Setup<'_>, named: &Named, sizes: &Sizes, concurrency: u32, timing: Timing, source: Source) -> Plan {
    Plan {
        workload: named.workload.clone(),
        sizes: sizes.clone(),
        concurrency,
        threads: setup.threads,
        write_set: 0,
        source,
        range_bytes: setup.flags.work.range_size.map(|r| r.0),
        verify: setup.flags.work.verify,
        until: Until::Intervals { warmup: timing.warmup, all: timing.all },
        rate: setup.flags.work.max_rate,
        interval_ns: timing.interval_ms * 1_000_000,
    }
}

/// Drives the grid.
pub(super) fn measure(
    setup: &Setup<'_>,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
    objects: &mut Objects<'_>,
) -> Result<(), Failure> {
    let with = Drive { session: &setup.session, clock: setup.clock, interrupted, target_pid: setup.target_pid };
    for named in &setup.grid.workloads {
        for (size, sizes) in named_sizes(setup) {
            let mut series = SeriesRun { setup, with: &with, progress, named, size: &size, sizes: &sizes };
            series.run(recorder, objects)?;
            if interrupt::came(interrupted) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// One workload at one size.
struct SeriesRun<'a> {
    setup: &'a Setup<'a>,
    with: &'a Drive<'a>,
    progress: &'a Progress,
    named: &'a Named,
    size: &'a str,
    sizes: &'a Sizes,
}

impl SeriesRun<'_> {
    fn run(&mut self, recorder: &mut Recorder, objects: &mut Objects<'_>) -> Result<(), Failure> {
        let workload = &self.named.workload;
        let deletes_only = *workload == Workload::Single(Op::Delete);
        let reads = [Op::Get, Op::Stat, Op::List].into_iter().any(|op| workload.has(op));
        let mut source = Source::Set { set: 0, count: 0 };
        let mut keep = None;
        if !self.setup.existing.is_empty() {
            source = Source::Existing(self.setup.existing.clone());
        } else if reads {
            let count = grid::read_set_objects(&self.setup.flags.work, self.sizes);
            let set = self.write_beforehand(count, objects)?;
            (source, keep) = (Source::Set { set, count }, Some(set));
        }
        for &concurrency in &self.setup.grid.concurrencies {
            if interrupt::came(self.with.interrupted) {
                break;
            }
            if deletes_only {
                let count = grid::delete_set_objects(&self.setup.flags.work);
                let set = self.write_beforehand(count, objects)?;
                source = Source::Set { set, count };
            }
            let write_set = objects.new_set();
            let mut timing = self.setup.timing;
            if deletes_only {
                // What the warm-up deleted could not be deleted again.
                timing.all -= std::mem::take(&mut timing.warmup);
            }
            let plan = plan(self.setup, self.named, self.sizes, concurrency, timing, source.clone());
            let plan = Plan { write_set, ..plan };
            let spec = PointSpec { workload: self.named.name.clone(), size: self.size.to_owned(), concurrency };
            let (outcome, line) = recorder.point(Purpose::Measure, &spec, self.with, &plan, self.progress)?;
            if workload.has(Op::Put) {
                objects.note(write_set, outcome.written_until, self.sizes);
            }
            objects.note_unended(outcome.unended_writes);
            self.progress.finished(&line?);
            objects.clear_except(keep, self.progress);
        }
        objects.clear_except(None, self.progress);
        Ok(())
    }

    /// Writes objects for reading or deleting, and notes them for clearing; not part of any figure.
    fn write_beforehand(&self, count: u64, objects: &mut Objects<'_>) -> Result<u32, Failure> {
        let set = objects.new_set();
        let named = Named { name: "put".into(), workload: Workload::Single(Op::Put) };
        let nothing = Source::Set { set: 0, count: 0 };
        let plan = plan(self.setup, &named, self.sizes, PREPARE_CONCURRENCY, self.setup.timing, nothing);
        let plan = Plan { write_set: set, until: Until::Written(count), verify: false, ..plan };
        self.progress.doing(&format!("writing {count} objects of {}", self.size));
        let (mut done, mut errors) = (0, std::collections::BTreeMap::<String, u64>::new());
        let outcome = drive(self.with, &plan, |figures| {
            done += figures.rows.iter().map(|r| r.requests).sum::<u64>();
            for (kind, n) in figures.rows.into_iter().flat_map(|r| r.errors) {
                *errors.entry(kind).or_default() += n;
            }
            self.progress.live(&format!("writing {count} objects of {}: {done} done", self.size));
        });
        // Noted before the outcome is looked at: what was written must be cleared whatever came of it.
        objects.note(set, outcome.as_ref().map_or(count, |o| o.written_until.min(count)), self.sizes);
        objects.note_unended(outcome?.unended_writes);
        if interrupt::came(self.with.interrupted) || (errors.is_empty() && done == count) {
            return Ok(set);
        }
        if errors.is_empty() {
            errors.insert("no answer".into(), count - done.min(count));
        }
        let kinds: Vec<String> = errors.iter().map(|(kind, n)| format!("{kind}: {n}")).collect();
        Err(Failure::Prepare { count, size: self.size.to_owned(), kinds: kinds.join(", ") })
    }
}
