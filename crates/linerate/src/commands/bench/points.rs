//! The points of a run: each is driven, recorded as it goes, and reported when it has ended.

mod fleet_points;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use linerate_analysis::series_search::SeriesSearch;
use linerate_analysis::view::{Measure, Point, Series, View};
use linerate_load::point::{PointDriver, PointOutcome, drive};
use linerate_load::session::{EndCondition, PointPlan, Source};
use linerate_record::load::sizes::OBJECT_BYTES_MAX;
use linerate_record::load::{Level, Levels, OwnTarget, Sizes, Workload, Write};
use linerate_record::rng::SeededRng;
use linerate_record::run::{Op, OutsideRow, PointSizes, PointSpec, Purpose, SeriesSpec, StopReason, failure_kind};
use linerate_record::units::{bytes_iec, duration_ns, grouped};

use super::canary::RunSupervisor;
use super::objects::RunObjects;
use super::open_run::OpenRun;
use super::point_ending::PointEnding;
use super::preparation::{delete_set_objects, read_set_objects};
use super::recorder::{PointRecorder, PointToRecord, Recorder};
use super::setup::CEILING_TIMING;
use crate::remote::remote_load;
use crate::run::point_timing::Timing;
use crate::run::{interrupt, target_process};
use crate::terminal::failure::Failure;
use crate::terminal::progress::Progress;

/// Requests in flight while objects are written beforehand.
const PREPARE_CONCURRENCY: u32 = 16;

/// Most requests in flight at a ceiling: more gain nothing on a loopback.
const CLIENT_CEILING_CONCURRENCY_MAX: u32 = 64;

/// The only series and point of a view, where it has figures.
fn only_point(view: &View) -> Option<(&Series, &Point)> {
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

/// The point's row of the report; the first of a series names it.
fn line(spec: &PointSpec, is_first: bool, figures: Option<(&Series, &Point)>) -> String {
    let label = if is_first { format!("{} {}", spec.workload, spec.size) } else { String::new() };
    match figures {
        Some((series, point)) => linerate_report::terminal::point_line(&label, point, series.measure),
        None => format!("{spec}: no whole interval"),
    }
}

/// What is written before a point, and how much that is.
fn preparation_text(count: u64, size: &PointSizes, sizes: &Sizes) -> String {
    let all = bytes_iec(count as f64 * sizes.mean());
    format!("writing {} objects of {size}, {all} in all", grouped(count))
}

/// Why a run does not go on of which `done` objects of `count` were written beforehand.
/// `by` says which clients failed, where there are some.
fn preparation_failure(
    done: u64,
    count: u64,
    size: &PointSizes,
    mut errors: BTreeMap<String, u64>,
    retries: u32,
    by: &str,
) -> Failure {
    if errors.is_empty() {
        errors.insert("no answer".into(), count - done.min(count));
    }
    let remedy = linerate_report::terminal::retry_remedy(&errors, done, retries);
    Failure::Prepare { count, size: size.to_string(), kinds: failure_kind::counts(&errors) + by, remedy }
}

/// What linerate itself drives: each workload and size against the null target, for half a second. A run over TLS has
/// its ceilings over TLS, and once more without, so that what TLS costs shows.
pub(super) fn measure_client_ceilings(
    run: &OpenRun<'_>,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    if !run.prepared.measures_ceilings() {
        return Ok(());
    }
    progress.set_task("measuring the client ceiling");
    if let Some(clients) = &run.clients {
        return fleet_points::measure_fleet_ceilings(run, clients, interrupted, progress, recorder);
    }
    let tls = run.prepared.session.tls.is_some();
    measure_client_ceilings_of(run, Purpose::Ceiling, tls, interrupted, progress, recorder)?;
    if tls && !interrupt::is_set(interrupted) {
        measure_client_ceilings_of(run, Purpose::PlainCeiling, false, interrupted, progress, recorder)?;
    }
    Ok(())
}

fn measure_client_ceilings_of(
    run: &OpenRun<'_>,
    purpose: Purpose,
    tls: bool,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    let mut null = target_process::start(OwnTarget::Null, None, None, tls)?;
    let session = remote_load::null_target_session(&run.prepared.session, &mut null)?;
    let (clock, target_pid) = (run.prepared.clock, Some(null.pid()));
    let with = PointDriver { target_pid, ..PointDriver::new(&session, clock, interrupted) };
    let most = run.prepared.load.levels.highest();
    for work in &run.prepared.load.work {
        for (size, sizes) in sizes_with_names(run, &work.sizes) {
            let concurrency = most.min(CLIENT_CEILING_CONCURRENCY_MAX);
            let spec = PointSpec {
                workload: work.workload.clone().into(),
                size: size.into(),
                concurrency,
                rate_per_s: None,
                clients: None,
            };
            let source = Source::Set { set: 0, count: (1 << 40) - 1 };
            let plan = plan(run, &work.workload, &sizes, concurrency, CEILING_TIMING, source);
            let plan = PointPlan { verify: false, cap: None, error_limit: None, listed: 0, ..plan };
            let drive = |point_recorder: &mut PointRecorder<'_>| -> Result<_, Failure> {
                Ok(drive(&with, &plan, |figures| point_recorder.interval(figures))?)
            };
            let to_record = PointToRecord { purpose, spec: &spec, plan: &plan, timing: CEILING_TIMING };
            let (outcome, recorded) = recorder.point(to_record, progress, drive, point_ending)?;
            recorded?;
            debug_assert!(outcome.written_until < 1 << 40, "a set is never used up in half a second");
            if interrupt::is_set(interrupted) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Sizes with the names that points give them. Objects that were there before count as one size: their mean.
fn sizes_with_names(run: &OpenRun<'_>, sizes: &[Sizes]) -> Vec<(PointSizes, Sizes)> {
    if run.target.existing.is_empty() {
        return sizes.iter().map(|s| (s.clone().into(), s.clone())).collect();
    }
    let sum: u64 = run.target.existing.iter().map(|o| o.size_bytes).sum();
    let mean = (sum / run.target.existing.len() as u64).min(OBJECT_BYTES_MAX);
    let sizes = mean.to_string().parse().ok();
    sizes.map(|sizes| vec![(PointSizes::Existing, sizes)]).unwrap_or_default()
}

fn plan(
    run: &OpenRun<'_>,
    workload: &Workload,
    sizes: &Sizes,
    concurrency: u32,
    timing: Timing,
    source: Source,
) -> PointPlan {
    let load = &run.prepared.load;
    PointPlan {
        threads: run.prepared.threads,
        listed: match source {
            Source::Set { count, .. } if !run.target.stores_nothing => count,
            _ => 0,
        },
        source,
        until: EndCondition::Intervals(timing.all),
        cap: run.prepared.cap.clone(),
        ..remote_load::plan_of_load(load, workload, sizes, concurrency, timing.interval_ms * 1_000_000)
    }
}

/// What the folder has of the end of a point of this process.
fn point_ending(outcome: &PointOutcome) -> PointEnding {
    let (connections, alongside) = (outcome.connections, outcome.alongside.clone());
    let in_flight = Some(outcome.in_flight.clone());
    PointEnding { ended: outcome.ended, connections, alongside, in_flight, lost: Vec::new() }
}

/// Drives the series of the load.
pub(super) fn drive_series(
    run: &OpenRun<'_>,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
    objects: &mut RunObjects<'_>,
) -> Result<(), Failure> {
    let is_halted = Arc::clone(&recorder.is_halted);
    let supervisor = RunSupervisor { is_halted, live_line: progress.live_line() };
    let with = PointDriver {
        session: &run.prepared.session,
        clock: run.prepared.clock,
        interrupted,
        target_pid: run.prepared.target_pid,
        supervisor: &supervisor,
    };
    for work in &run.prepared.load.work {
        for (size, sizes) in sizes_with_names(run, &work.sizes) {
            let (has_header, workload) = (Cell::new(false), &work.workload);
            let mut series =
                SeriesDriver { run, with: &with, progress, workload, size: &size, sizes: &sizes, has_header };
            if series.run(recorder, objects)?.is_break() || interrupt::is_set(interrupted) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// One workload at one size.
struct SeriesDriver<'a> {
    run: &'a OpenRun<'a>,
    with: &'a PointDriver<'a>,
    progress: &'a Progress,
    workload: &'a Workload,
    size: &'a PointSizes,
    sizes: &'a Sizes,
    /// Whether the names above its rows were shown.
    has_header: Cell<bool>,
}

/// A point of a series, as the search chose it.
struct SeriesPoint<'p> {
    level: Level,
    timing: Timing,
    /// What is read.
    source: &'p Source,
}

impl SeriesDriver<'_> {
    /// Drives the series; breaks off where the run is to end with it.
    fn run(&mut self, recorder: &mut Recorder, objects: &mut RunObjects<'_>) -> Result<ControlFlow<()>, Failure> {
        let reads = self.workload.reads();
        let mut source = Source::Set { set: 0, count: 0 };
        let mut keep = None;
        if !self.run.target.existing.is_empty() {
            source = Source::Existing(self.run.target.existing.clone());
        } else if reads {
            let count = read_set_objects(&self.run.prepared.load, self.sizes);
            let set = self.write_objects(count, objects, recorder)?;
            (source, keep) = (Source::Set { set, count }, Some(set));
        }
        let mut goes_on = ControlFlow::Continue(());
        // What is read is the same for every number of clients: other sets would be another load.
        for clients in self.run.prepared.client_counts() {
            goes_on = self.points(clients, &mut source, keep, recorder, objects)?;
            if interrupt::is_set(self.with.interrupted) || goes_on.is_break() {
                break;
            }
        }
        let _ = objects.clear_except(None, self.progress);
        Ok(goes_on)
    }

    /// Drives the points of the series from so many clients, where there are some.
    fn points(
        &self,
        clients: Option<u32>,
        source: &mut Source,
        keep: Option<u32>,
        recorder: &mut Recorder,
        objects: &mut RunObjects<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let is_delete_only = self.workload.is_delete_only();
        let timing = if is_delete_only { self.run.prepared.timing.without_warm_up() } else { self.run.prepared.timing };
        let (levels, requested) = (&self.run.prepared.load.levels, &recorder.manifest.requested);
        // A series' own: the next point is its first.
        let rng = SeededRng::new(recorder.manifest.seed, recorder.next_point.into());
        let mut course = SeriesSearch::new(levels, requested, timing.point_ms(), rng);
        let mut goes_on = ControlFlow::Continue(());
        let time = duration_ns(self.run.prepared.timing.series_ms(levels) as f64 * 1e6);
        let is_in_rounds = requested.rounds_ms.is_some();
        if interrupt::is_set(self.with.interrupted) {
            return Ok(ControlFlow::Continue(()));
        }
        if is_in_rounds {
            self.progress.set_task(&format!("{} {}: in rounds, about {time}", self.workload, self.size));
        } else if levels.given().is_none() {
            self.progress.set_task(&format!("{} {}: searching, about {time}", self.workload, self.size));
        }
        let begin_ms = self.progress.position_ms();
        let mut expected_ms = begin_ms;
        while let Some((level, time)) = course.next_level() {
            let timing = timing.for_level(time);
            if recorder.is_halted.load(Ordering::Relaxed) {
                goes_on = ControlFlow::Break(());
            }
            if interrupt::is_set(self.with.interrupted) || goes_on.is_break() {
                break;
            }
            if is_delete_only {
                let count = delete_set_objects(&self.run.prepared.load);
                let set = self.write_objects(count, objects, recorder)?;
                *source = Source::Set { set, count };
            }
            let begun = Instant::now();
            let point = SeriesPoint { level, timing, source };
            goes_on = match (&self.run.clients, clients) {
                (Some(all), Some(count)) => {
                    self.drive_fleet_point(all, count, &point, &mut course, recorder, objects)?
                }
                _ => self.point(&point, &mut course, recorder, objects)?,
            };
            course.waited((begun.elapsed().as_millis() as u64).saturating_sub(timing.point_ms()));
            if levels.given().is_some() {
                // Points that end early leave the bar behind; a search takes what they save for more points.
                expected_ms += timing.point_ms();
                self.progress.reached_ms(expected_ms);
            }
            let _ = objects.clear_except(keep, self.progress);
        }
        self.progress.reached_ms(begin_ms + self.run.prepared.timing.series_ms(&self.run.prepared.load.levels));
        if interrupt::is_set(self.with.interrupted) || goes_on.is_break() {
            return Ok(goes_on);
        }
        let series = SeriesSpec { workload: self.workload.clone().into(), size: self.size.clone().into(), clients };
        recorder.record_series(self.run, series).map(|()| goes_on)
    }

    /// Drives one point of the series, and notes what it wrote; breaks off where the run is to end with it.
    fn point(
        &self,
        point: &SeriesPoint<'_>,
        course: &mut SeriesSearch,
        recorder: &mut Recorder,
        objects: &mut RunObjects<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let SeriesPoint { level: Level { concurrency, rate_per_s }, timing, source } = *point;
        let write_set = objects.new_set();
        let arrivals = self.run.prepared.arrivals(rate_per_s, recorder.next_point);
        let plan = plan(self.run, self.workload, self.sizes, concurrency, timing, source.clone());
        let cap = plan.cap.clone().filter(|_| arrivals.is_none());
        // Below the prefix of this run nobody else writes; what the point itself writes is not counted as it goes.
        let fixed = plan.listed > 0 && !self.workload.writes();
        let listed_most = if fixed { objects.objects_ever_written() } else { u64::MAX };
        let plan = PointPlan { write_set, arrivals, cap, listed_most, ..plan };
        let (workload, size) = (self.workload.clone().into(), self.size.clone().into());
        let spec = PointSpec { workload, size, concurrency, rate_per_s, clients: None };
        let to_record = PointToRecord { purpose: Purpose::Measure, spec: &spec, plan: &plan, timing };
        let drive = |point_recorder: &mut PointRecorder<'_>| -> Result<_, Failure> {
            Ok(drive(self.with, &plan, |figures| point_recorder.interval(figures))?)
        };
        let (outcome, view) = recorder.point(to_record, self.progress, drive, point_ending)?;
        let workload = self.workload;
        if workload.writes() {
            // What a mixed workload deletes is of what it wrote.
            let stored = (!workload.has(Op::Delete)).then_some(outcome.stored);
            objects.note(write_set, outcome.written_until, self.sizes, stored, outcome.confirmed_sample);
        } else if let (Source::Set { set, .. }, true) = (&plan.source, workload.has(Op::Delete)) {
            objects.note_deleted(*set, outcome.deleted);
        }
        objects.note_abandoned(outcome.unended_writes, outcome.unfinished);
        Ok(self.finish_point(&spec, outcome.ended, view?.as_ref(), course))
    }

    /// Takes how a point went, and shows its row if it is visited once; breaks off where the run is to end with it.
    fn finish_point(
        &self,
        spec: &PointSpec,
        ended: StopReason,
        view: Option<&View>,
        course: &mut SeriesSearch,
    ) -> ControlFlow<()> {
        let figures = view.and_then(only_point);
        course.observe(ended, figures);
        // Where levels are visited several times, rows are those of the report, one for all visits of each.
        let load = &self.run.prepared.load;
        if matches!(load.levels, Levels::Given(_)) && load.time.series_ns.is_none() {
            let is_first = !self.has_header.replace(true);
            if is_first {
                self.progress.finished(&header(figures));
            }
            self.progress.finished(&line(spec, is_first, figures));
        }
        let ends_run = matches!(ended, StopReason::ErrorLimit | StopReason::Canary | StopReason::ClientsLost);
        if ends_run { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// What writes objects beforehand.
    const fn preparation_workload(&self) -> Workload {
        Workload::Single(match self.run.prepared.load.objects.write {
            Write::Put => Op::Put,
            Write::Multipart => Op::Multipart,
        })
    }

    /// Writes objects for reading or deleting, from wherever the load comes.
    fn write_objects(&self, count: u64, objects: &mut RunObjects<'_>, recorder: &mut Recorder) -> Result<u32, Failure> {
        match &self.run.clients {
            Some(clients) => self.prepare_by_clients(clients, count, objects, recorder),
            None => self.prepare_objects(count, objects, recorder),
        }
    }

    /// Writes objects for reading or deleting, and notes them for clearing; not part of any figure.
    fn prepare_objects(
        &self,
        count: u64,
        objects: &mut RunObjects<'_>,
        recorder: &mut Recorder,
    ) -> Result<u32, Failure> {
        let is_halted = Arc::clone(&recorder.is_halted);
        let set = objects.new_set();
        let nothing = Source::Set { set: 0, count: 0 };
        let plan = plan(
            self.run,
            &self.preparation_workload(),
            self.sizes,
            PREPARE_CONCURRENCY,
            self.run.prepared.timing,
            nothing,
        );
        let until = EndCondition::Written(count);
        let plan = PointPlan { write_set: set, until, verify: false, error_limit: None, ..plan };
        let what = preparation_text(count, self.size, self.sizes);
        self.progress.set_task(&what);
        let (mut done, mut bytes, mut errors) = (0, 0, BTreeMap::<String, u64>::new());
        let mut alongside = Vec::new();
        let outcome = drive(self.with, &plan, |mut figures| {
            figures.rows.iter().for_each(|row| OutsideRow::from_interval(row).add_to(&mut alongside));
            figures.rows.retain(|row| !row.op.is_detail());
            done += figures.rows.iter().map(|r| r.requests).sum::<u64>();
            bytes += figures.rows.iter().map(|r| r.bytes).sum::<u64>();
            for (kind, n) in figures.rows.into_iter().flat_map(|r| r.errors) {
                *errors.entry(kind).or_default() += n;
            }
            self.progress.live(&format!("{what}: {done} done, {}", bytes_iec(bytes as f64)));
            ControlFlow::Continue(())
        });
        // Noted before the outcome is looked at: what was written must be cleared whatever came of it.
        let stored = outcome.as_ref().ok().map(|o| o.stored);
        let sample = outcome.as_ref().map_or_else(|_| Vec::new(), |o| o.confirmed_sample.clone());
        let until = outcome.as_ref().map_or(count, |o| o.written_until.min(count));
        objects.note(set, until, self.sizes, stored, sample);
        let outcome = outcome?;
        outcome.alongside.iter().for_each(|row| row.add_to(&mut alongside));
        recorder.record_preparation(alongside)?;
        objects.note_abandoned(outcome.unended_writes, outcome.unfinished);
        let is_halted = is_halted.load(Ordering::Relaxed) || interrupt::is_set(self.with.interrupted);
        if is_halted || (errors.is_empty() && done == count) {
            return Ok(set);
        }
        Err(preparation_failure(done, count, self.size, errors, plan.retries, ""))
    }
}
