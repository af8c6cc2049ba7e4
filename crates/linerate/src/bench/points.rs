//! The points of a run: each is driven, recorded as it goes, and told when it has ended.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_analysis::build::build;
use linerate_analysis::course::SeriesCourse;
use linerate_analysis::precision::{PrecisionWatch, Rule};
use linerate_analysis::records::Records;
use linerate_analysis::view::{Measure, Point, Series, View};
use linerate_load::hosts::Host;
use linerate_load::multipart::Parts;
use linerate_load::point::{Drive, PointOutcome, drive};
use linerate_load::session::{PointPlan, Session, Source, Until};
use linerate_load::sigv4::Credentials;
use linerate_load::tls::Tls;
use linerate_record::finding::Finding;
use linerate_record::histogram::Latencies;
use linerate_record::load::sizes::OBJECT_BYTES_MAX;
use linerate_record::load::{Level, Levels, Lookup, OwnTarget, Sizes, Workload, Write};
use linerate_record::run::{
    FailureKind, Interval, Manifest, Op, PointBegin, PointEnd, PointLine, PointSizes, PointSpec, Purpose, Searched,
    SeriesSpec, StopReason,
};
use linerate_record::units::bytes_iec;
use linerate_wire::clock::Clock;

use super::beforehand::{delete_set_objects, read_set_objects};
use super::objects::RunObjects;
use super::setup::{CEILING, Setup};
use crate::failure::Failure;
use crate::folder::RunFolder;
use crate::metrics::Exporter;
use crate::progress::Progress;
use crate::timing::Timing;
use crate::{child, credentials, interrupt, masks};

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
    /// Raised where the canary exceeds a bound.
    halted: Arc<AtomicBool>,
    metrics: Option<Arc<Exporter>>,
}

impl Recorder {
    pub(super) fn new(folder: RunFolder, manifest: Manifest, setup: &Setup<'_>) -> Self {
        let (clock, metrics) = (setup.clock, setup.metrics.clone());
        Recorder { folder, manifest, clock, next_point: 0, halted: Arc::default(), metrics }
    }

    /// From now on, points end where this flag is raised.
    pub(super) fn heed(&mut self, halted: Arc<AtomicBool>) {
        self.halted = halted;
    }

    pub(super) fn finding(&mut self, finding: &Finding) -> Result<(), Failure> {
        // Its words quote what the target says, which was sent the keys.
        let [claim, evidence, remedy] =
            [&finding.claim, &finding.evidence, &finding.remedy].map(|text| masks::without_keys(text));
        self.folder.findings.push(&Finding { claim, evidence, remedy, ..finding.clone() })
    }

    /// Drives one point and records it; returns how it ended, and the view of it or why it could not be recorded: what
    /// was written must be cleared in either case.
    fn point(
        &mut self,
        purpose: Purpose,
        spec: &PointSpec,
        with: &Drive<'_>,
        (plan, rule): (&PointPlan, Rule),
        progress: &Progress,
    ) -> Result<(PointOutcome, Result<Option<View>, Failure>), Failure> {
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
        let label = spec.to_string();
        let (from, mut written) = (self.folder.intervals.bytes(), Ok(()));
        let mut watch = PrecisionWatch::new(rule);
        let metrics = self.metrics.clone();
        metrics.iter().for_each(|m| m.begin(purpose, spec));
        let outcome = drive(with, plan, |figures| {
            progress.interval(&label, &figures);
            // As far as is known so far.
            let warms_up = figures.from_ms.saturating_sub(at_ms) < watch.warmup_ms();
            metrics.iter().for_each(|m| m.interval(purpose, &figures, warms_up));
            let interval = recorded(point, figures);
            let known = watch.push(&interval);
            if written.is_ok() {
                written = self.folder.intervals.push(&interval);
                if written.is_err() {
                    // Load that nobody can read of any more is for nothing.
                    return ControlFlow::Break(StopReason::Interrupted);
                }
            }
            if self.halted.load(Ordering::Relaxed) {
                return ControlFlow::Break(StopReason::Canary);
            }
            if known { ControlFlow::Break(StopReason::Precise) } else { ControlFlow::Continue(()) }
        })?;
        metrics.iter().for_each(|m| m.end(purpose));
        let at_ms = self.clock.now_ns() / 1_000_000;
        let (ended, connections) = (outcome.ended, outcome.connections);
        let end = PointLine::End(PointEnd { point, at_ms, ended, connections, warmup_ms: Some(watch.warmup_ms()) });
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

    /// Records that a series is at its end, where that was not known beforehand.
    fn searched(&mut self, setup: &Setup<'_>, series: SeriesSpec) -> Result<(), Failure> {
        if setup.load.levels.given().is_some() {
            return Ok(());
        }
        let at_ms = self.clock.now_ns() / 1_000_000;
        self.folder.points.push(&PointLine::Searched(Searched { at_ms, series }))
    }
}

/// The only series and point of a view, where it has figures.
fn only(view: &View) -> Option<(&Series, &Point)> {
    let series = view.series.first()?;
    Some((series, series.points.first()?))
}

/// What stands above the rows of points.
fn header(figures: Option<(&Series, &Point)>) -> String {
    match figures {
        Some((_, point)) if point.open.is_some() => linerate_report::terminal::open_table_header(),
        Some((series, _)) => linerate_report::terminal::table_header(series.measure),
        None => linerate_report::terminal::table_header(Measure::Bytes),
    }
}

/// The point's row of the report.
fn line(spec: &PointSpec, figures: Option<(&Series, &Point)>) -> String {
    let label = format!("{} {}", spec.workload, spec.size);
    match figures {
        Some((series, point)) => linerate_report::terminal::point_line(&label, point, series.measure),
        None => format!("{spec}: no whole interval"),
    }
}

/// What is written before a point, and how much that is.
fn writing(count: u64, size: &PointSizes, sizes: &Sizes) -> String {
    let all = bytes_iec(count as f64 * sizes.mean());
    format!("writing {count} objects of {size}, {all} in all")
}

/// What helps where some objects could not be written, of failures that may pass.
fn again(errors: &BTreeMap<String, u64>, done: u64, retries: u32) -> String {
    if done == 0 || !errors.keys().all(|kind| FailureKind::read(kind).may_pass()) {
        return String::new();
    }
    match retries {
        0 => format!("; {done} were written: give --retries 3, so that what failed so is tried again"),
        n => {
            format!("; {done} were written: raise --retries, which is {n}, so that what failed so is tried more often")
        }
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
fn recorded(point: u32, figures: Interval<Latencies>) -> Interval {
    let mut interval = Interval { point, ..figures.encoded() };
    for row in &mut interval.rows {
        row.errors = without_keys(std::mem::take(&mut row.errors));
        row.retries = without_keys(std::mem::take(&mut row.retries));
    }
    interval
}

/// Kinds quote what the target says, which was sent the keys.
fn without_keys(kinds: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut masked = BTreeMap::new();
    kinds.into_iter().for_each(|(kind, n)| *masked.entry(masks::without_keys(&kind)).or_default() += n);
    masked
}

/// What linerate itself drives: each workload and size against the null target, for half a second. A run over TLS has
/// its ceilings over TLS, and once more without, so that what TLS costs shows.
pub(super) fn ceilings(
    setup: &Setup<'_>,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    if !setup.wants_ceilings() {
        return Ok(());
    }
    progress.doing("measuring the client ceiling");
    let tls = setup.session.tls.is_some();
    ceilings_of(setup, Purpose::Ceiling, tls, interrupted, progress, recorder)?;
    if tls && !interrupt::came(interrupted) {
        ceilings_of(setup, Purpose::PlainCeiling, false, interrupted, progress, recorder)?;
    }
    Ok(())
}

fn ceilings_of(
    setup: &Setup<'_>,
    purpose: Purpose,
    tls: bool,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    let mut null = child::start(OwnTarget::Null, None, None, tls)?;
    // Signatures cost what they cost with the user's keys, which are nobody else's business.
    let credentials = setup.session.credentials.as_ref().map(credentials::made_up).transpose()?;
    let host = Host { authority: null.address.to_string(), address: null.address };
    let tls = null.trust.take().map(|trust| Tls::new(trust, std::slice::from_ref(&host), Lookup::Path, ""));
    let session = against(&setup.session, host, tls.transpose()?, credentials);
    let with = Drive { session: &session, clock: setup.clock, interrupted, target_pid: Some(null.pid()) };
    let most = setup.load.levels.highest();
    for work in &setup.load.work {
        for (size, sizes) in named_sizes(setup, &work.sizes) {
            let concurrency = most.min(CEILING_CONCURRENCY_MAX);
            let spec = PointSpec {
                workload: work.workload.clone().into(),
                size: size.into(),
                concurrency,
                rate_per_s: None,
                clients: None,
            };
            let source = Source::Set { set: 0, count: (1 << 40) - 1 };
            let plan = plan(setup, &work.workload, &sizes, concurrency, CEILING, source);
            let plan = PointPlan { verify: false, cap: None, error_limit: None, listed: 0, ..plan };
            let rule = CEILING.rule(concurrency);
            let (outcome, recorded) = recorder.point(purpose, &spec, &with, (&plan, rule), progress)?;
            recorded?;
            debug_assert!(outcome.written_until < 1 << 40, "a set is never used up in half a second");
            if interrupt::came(interrupted) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The session, driven at another host under other keys.
fn against(session: &Session, host: Host, tls: Option<Tls>, credentials: Option<Credentials>) -> Session {
    Session {
        hosts: vec![host],
        tls,
        // The null target is on the loopback, which other addresses may not reach.
        sources: Vec::new(),
        lookup: session.lookup,
        bucket: session.bucket.clone(),
        run_prefix: session.run_prefix.clone(),
        credentials,
        region: session.region.clone(),
        payload: session.payload,
        bodies: session.bodies.clone(),
        host_select: session.host_select,
        timeout_ns: session.timeout_ns,
        seed: session.seed,
    }
}

/// Sizes with the names that points give them. Objects that were there before count as one size: their mean.
fn named_sizes(setup: &Setup<'_>, sizes: &[Sizes]) -> Vec<(PointSizes, Sizes)> {
    if setup.existing.is_empty() {
        return sizes.iter().map(|s| (s.clone().into(), s.clone())).collect();
    }
    let sum: u64 = setup.existing.iter().map(|o| o.size_bytes).sum();
    let mean = (sum / setup.existing.len() as u64).min(OBJECT_BYTES_MAX);
    let sizes = mean.to_string().parse().ok();
    sizes.map(|sizes| vec![(PointSizes::Existing, sizes)]).unwrap_or_default()
}

fn plan(
    setup: &Setup<'_>,
    workload: &Workload,
    sizes: &Sizes,
    concurrency: u32,
    timing: Timing,
    source: Source,
) -> PointPlan {
    let load = &setup.load;
    PointPlan {
        workload: workload.clone(),
        sizes: sizes.clone(),
        concurrency,
        arrivals: None,
        retries: load.stops.retries,
        error_limit: load.stops.error_limit,
        threads: setup.threads,
        write_set: 0,
        listed: match source {
            Source::Set { count, .. } if !setup.stores_nothing() => count,
            _ => 0,
        },
        listed_most: u64::MAX,
        source,
        parts: Parts { bytes: load.bodies.part_bytes, concurrent: load.bodies.part_concurrent },
        range_bytes: load.bodies.range_bytes,
        verify: load.bodies.verify,
        until: Until::Intervals(timing.all),
        cap: setup.cap.clone(),
        interval_ns: timing.interval_ms * 1_000_000,
    }
}

/// Drives the series of the load.
pub(super) fn measure(
    setup: &Setup<'_>,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
    objects: &mut RunObjects<'_>,
) -> Result<(), Failure> {
    let with = Drive { session: &setup.session, clock: setup.clock, interrupted, target_pid: setup.target_pid };
    for work in &setup.load.work {
        for (size, sizes) in named_sizes(setup, &work.sizes) {
            let (has_header, workload) = (Cell::new(false), &work.workload);
            let mut series =
                SeriesRun { setup, with: &with, progress, workload, size: &size, sizes: &sizes, has_header };
            if series.run(recorder, objects)?.is_break() || interrupt::came(interrupted) {
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
    workload: &'a Workload,
    size: &'a PointSizes,
    sizes: &'a Sizes,
    /// Whether the names above its rows were shown.
    has_header: Cell<bool>,
}

impl SeriesRun<'_> {
    /// Drives the series; breaks off where the run is to end with it.
    fn run(&mut self, recorder: &mut Recorder, objects: &mut RunObjects<'_>) -> Result<ControlFlow<()>, Failure> {
        let (deletes_only, reads) = (self.workload.deletes_only(), self.workload.reads());
        let mut source = Source::Set { set: 0, count: 0 };
        let mut keep = None;
        if !self.setup.existing.is_empty() {
            source = Source::Existing(self.setup.existing.clone());
        } else if reads {
            let count = read_set_objects(&self.setup.load, self.sizes);
            let set = self.write_beforehand(count, objects, &recorder.halted)?;
            (source, keep) = (Source::Set { set, count }, Some(set));
        }
        let timing = if deletes_only { self.setup.timing.without_warm_up() } else { self.setup.timing };
        let (levels, asked) = (&self.setup.load.levels, &recorder.manifest.asked);
        let mut course = SeriesCourse::new(levels, asked, timing.precision, timing.point_ms());
        let mut goes_on = ControlFlow::Continue(());
        let begin_ms = self.progress.position_ms();
        let mut expected_ms = begin_ms;
        while let Some((level, time)) = course.next_level() {
            let timing = timing.of_level(time);
            if recorder.halted.load(Ordering::Relaxed) {
                goes_on = ControlFlow::Break(());
            }
            if interrupt::came(self.with.interrupted) || goes_on.is_break() {
                break;
            }
            if deletes_only {
                let count = delete_set_objects(&self.setup.load);
                let set = self.write_beforehand(count, objects, &recorder.halted)?;
                source = Source::Set { set, count };
            }
            goes_on = self.point(level, timing, source.clone(), &mut course, recorder, objects)?;
            if matches!(self.setup.load.levels, Levels::Given(_)) {
                // Points that end early leave the bar behind; a search takes what they save for more points.
                expected_ms += timing.point_ms();
                self.progress.reached_ms(expected_ms);
            }
            let _ = objects.clear_except(keep, self.progress);
        }
        self.progress.reached_ms(begin_ms + self.setup.timing.series_ms(&self.setup.load.levels));
        let _ = objects.clear_except(None, self.progress);
        if interrupt::came(self.with.interrupted) || goes_on.is_break() {
            return Ok(goes_on);
        }
        let series =
            SeriesSpec { workload: self.workload.clone().into(), size: self.size.clone().into(), clients: None };
        recorder.searched(self.setup, series).map(|()| goes_on)
    }

    /// Drives one point of the series, and notes what it wrote; breaks off where the run is to end with it.
    fn point(
        &self,
        Level { concurrency, rate_per_s }: Level,
        timing: Timing,
        source: Source,
        course: &mut SeriesCourse,
        recorder: &mut Recorder,
        objects: &mut RunObjects<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let write_set = objects.new_set();
        let arrivals = self.setup.arrivals(rate_per_s, recorder.next_point);
        let plan = plan(self.setup, self.workload, self.sizes, concurrency, timing, source);
        let cap = plan.cap.clone().filter(|_| arrivals.is_none());
        // Below the prefix of this run nobody else writes; what the point itself writes is not counted as it goes.
        let fixed = plan.listed > 0 && !self.workload.writes();
        let listed_most = if fixed { objects.ever() } else { u64::MAX };
        let plan = PointPlan { write_set, arrivals, cap, listed_most, ..plan };
        let (workload, size) = (self.workload.clone().into(), self.size.clone().into());
        let spec = PointSpec { workload, size, concurrency, rate_per_s, clients: None };
        let driven = (&plan, timing.rule(concurrency));
        let (outcome, view) = recorder.point(Purpose::Measure, &spec, self.with, driven, self.progress)?;
        let workload = self.workload;
        if workload.writes() {
            // What a mixed workload deletes is of what it wrote.
            let stored = (!workload.has(Op::Delete)).then_some(outcome.stored);
            objects.note(write_set, outcome.written_until, self.sizes, stored);
        } else if let (Source::Set { set, .. }, true) = (&plan.source, workload.has(Op::Delete)) {
            objects.note_deleted(*set, outcome.deleted);
        }
        objects.note_unended(outcome.unended_writes, outcome.unfinished);
        let view = view?;
        let figures = view.as_ref().and_then(only);
        if !self.has_header.replace(true) {
            self.progress.finished(&header(figures));
        }
        course.observe(outcome.ended, figures);
        let so_far = figures.map(|(series, point)| (series, course.so_far(point)));
        self.progress.finished(&line(&spec, so_far.as_ref().map(|(series, point)| (*series, point))));
        let ends_run = matches!(outcome.ended, StopReason::ErrorLimit | StopReason::Canary);
        Ok(if ends_run { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Writes objects for reading or deleting, and notes them for clearing; not part of any figure.
    fn write_beforehand(&self, count: u64, objects: &mut RunObjects<'_>, halted: &AtomicBool) -> Result<u32, Failure> {
        let set = objects.new_set();
        let writer = Workload::Single(match self.setup.load.objects.write {
            Write::Put => Op::Put,
            Write::Multipart => Op::Multipart,
        });
        let nothing = Source::Set { set: 0, count: 0 };
        let plan = plan(self.setup, &writer, self.sizes, PREPARE_CONCURRENCY, self.setup.timing, nothing);
        let until = Until::Written(count);
        let plan = PointPlan { write_set: set, until, verify: false, error_limit: None, ..plan };
        let what = writing(count, self.size, self.sizes);
        self.progress.doing(&what);
        let (mut done, mut bytes, mut errors) = (0, 0, BTreeMap::<String, u64>::new());
        let outcome = drive(self.with, &plan, |mut figures| {
            figures.rows.retain(|row| !row.op.is_detail());
            done += figures.rows.iter().map(|r| r.requests).sum::<u64>();
            bytes += figures.rows.iter().map(|r| r.bytes).sum::<u64>();
            for (kind, n) in figures.rows.into_iter().flat_map(|r| r.errors) {
                *errors.entry(kind).or_default() += n;
            }
            self.progress.live(&format!("{what}: {done} done, {}", bytes_iec(bytes as f64)));
            if halted.load(Ordering::Relaxed) {
                ControlFlow::Break(StopReason::Canary)
            } else {
                ControlFlow::Continue(())
            }
        });
        // Noted before the outcome is looked at: what was written must be cleared whatever came of it.
        let stored = outcome.as_ref().ok().map(|o| o.stored);
        objects.note(set, outcome.as_ref().map_or(count, |o| o.written_until.min(count)), self.sizes, stored);
        let outcome = outcome?;
        objects.note_unended(outcome.unended_writes, outcome.unfinished);
        let halted = halted.load(Ordering::Relaxed) || interrupt::came(self.with.interrupted);
        if halted || (errors.is_empty() && done == count) {
            return Ok(set);
        }
        if errors.is_empty() {
            errors.insert("no answer".into(), count - done.min(count));
        }
        let kinds: Vec<String> = errors.iter().map(|(kind, n)| format!("{kind}: {n}")).collect();
        let remedy = again(&errors, done, plan.retries);
        Err(Failure::Prepare { count, size: self.size.to_string(), kinds: kinds.join(", "), remedy })
    }
}
