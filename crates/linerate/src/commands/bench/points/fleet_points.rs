//! Points that clients of a fleet drive: the same objects and the same folder, and a share for each client.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use linerate_analysis::series_search::SeriesSearch;
use linerate_analysis::view::View;
use linerate_fleet::load_protocol::{DrivenEnd, LeftUpload, OrderUntil, PointOrder, PointTarget, RateOrder};
use linerate_load::confirmed_sample::sample_below;
use linerate_load::multipart::UnfinishedUpload;
use linerate_load::object_id::ObjectId;
use linerate_load::session::{PointPlan, Source};
use linerate_record::histogram::Latencies;
use linerate_record::load::{Level, Workload};
use linerate_record::run::{Interval, Op, PointSizes, PointSpec, Purpose, StopReason};
use linerate_record::units::{Rate, bytes_iec};
use linerate_wire::open_loop::Arrivals;

use super::super::clients::{ClientFleet, ClientOutcome, PointListener, PointToDrive};
use super::super::objects::RunObjects;
use super::super::open_run::OpenRun;
use super::super::recorder::{PointRecorder, PointToRecord, Recorder};
use super::super::setup::CEILING_TIMING;
use super::{
    CLIENT_CEILING_CONCURRENCY_MAX, PREPARE_CONCURRENCY, SeriesDriver, SeriesPoint, plan, preparation_failure,
    preparation_text, sizes_with_names,
};
use crate::run::interrupt;
use crate::terminal::failure::Failure;
use crate::terminal::progress::Progress;

/// Least requests that each client keeps in flight while objects are written beforehand.
const PREPARE_CONCURRENCY_MIN: u32 = 2;

impl PointListener for PointRecorder<'_> {
    fn counts(&mut self, figures: Interval<Latencies>) -> ControlFlow<StopReason> {
        PointRecorder::counts(self, figures)
    }

    fn interval(&mut self, client: u32, interval: Interval) {
        self.record_client_interval(client, interval);
    }
}

/// The order of a point that all clients get, but for the share of each.
fn order(run: &OpenRun<'_>, plan: &PointPlan, clients: usize) -> PointOrder {
    let (read_set, read_count) = match plan.source {
        Source::Set { set, count } => (set, count),
        Source::Existing(_) => (0, 0),
    };
    let part = |rate: Rate| match rate {
        Rate::Requests(per_s) => Rate::Requests(per_s / clients as f64),
        Rate::Bytes(per_s) => Rate::Bytes(per_s / clients as f64),
    };
    PointOrder {
        point: 0,
        target: PointTarget::Hosts,
        workload: plan.workload.clone(),
        sizes: plan.sizes.clone(),
        concurrency: plan.concurrency,
        threads: run.prepared.load.threads,
        // That of all clients together is held against it.
        error_limit: None,
        rate: plan.arrivals.map(|Arrivals { per_s, spacing, point, .. }| RateOrder {
            per_s,
            spacing,
            point,
            client: 0,
            clients: u32::try_from(clients).unwrap_or(u32::MAX),
        }),
        // With a rate, it is the highest that a search tries.
        max_rate: run.prepared.load.max_rate.filter(|_| plan.arrivals.is_none()).map(part),
        write_set: plan.write_set,
        write_first: plan.write_first,
        read_set,
        read_count,
        delete_first: plan.delete_first,
        listed: plan.listed,
        listed_most: plan.listed_most,
        verify: plan.verify,
        until: OrderUntil::Intervals(run.prepared.timing.all),
        interval_ns: plan.interval_ns,
        is_recorded: true,
    }
}

/// The order for one of so many clients: its share of a point that all of them drive.
fn client_share(base: &PointOrder, client_index: usize, clients: usize) -> PointOrder {
    let (client_index, all) = (client_index as u64, clients as u64);
    // Each object is deleted once, by one of them; where they only read, all read all.
    let (delete_first, read_count) = if base.workload.is_delete_only() {
        (partition_start(base.read_count, client_index, all), partition_start(base.read_count, client_index + 1, all))
    } else {
        (0, base.read_count)
    };
    let rate = base.rate.map(|rate| RateOrder { client: u32::try_from(client_index).unwrap_or(u32::MAX), ..rate });
    PointOrder { delete_first, read_count, rate, ..base.clone() }
}

/// The first object of the share of client `client_index`, of so many objects in `parts` even parts.
fn partition_start(count: u64, client_index: u64, parts: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(client_index) / u128::from(parts.max(1))).unwrap_or(count)
}

/// What each client itself drives against a null target on its machine: all of them at once, as the load comes.
pub(super) fn measure_fleet_ceilings(
    run: &OpenRun<'_>,
    clients: &ClientFleet,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    let purposes: &[(Purpose, bool)] = match run.prepared.session.tls {
        None => &[(Purpose::Ceiling, false)],
        Some(_) => &[(Purpose::Ceiling, true), (Purpose::PlainCeiling, false)],
    };
    for &(purpose, tls) in purposes {
        measure_fleet_ceilings_of(run, clients, purpose, tls, interrupted, progress, recorder)?;
    }
    Ok(())
}

fn measure_fleet_ceilings_of(
    run: &OpenRun<'_>,
    clients: &ClientFleet,
    purpose: Purpose,
    tls: bool,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    let each = run.prepared.load.levels.highest().min(CLIENT_CEILING_CONCURRENCY_MAX);
    for work in &run.prepared.load.work {
        for (size, sizes) in sizes_with_names(run, &work.sizes) {
            if interrupt::is_set(interrupted) {
                return Ok(());
            }
            let drivers = clients.drivers(clients.count())?;
            let source = Source::Set { set: 0, count: (1 << 40) - 1 };
            let plan = plan(run, &work.workload, &sizes, each, CEILING_TIMING, source);
            let plan = PointPlan { verify: false, listed: 0, ..plan };
            let spec = fleet_point_spec(&work.workload, &size, each, drivers.len(), clients.count());
            let point_to_drive = PointToDrive {
                drivers: &drivers,
                error_limit: None,
                interval_ms: CEILING_TIMING.interval_ms,
                point: Some(recorder.next_point),
                interrupted,
                supervisor: &(),
            };
            let base = PointOrder {
                target: PointTarget::Null { tls },
                max_rate: None,
                until: OrderUntil::Intervals(CEILING_TIMING.all),
                ..order(run, &plan, drivers.len())
            };
            // Sets of their own have each choose otherwise, and the null target keeps nothing.
            let order_for = |client_index: usize| PointOrder {
                write_set: u32::try_from(client_index).unwrap_or(0),
                ..base.clone()
            };
            let drive =
                |point_recorder: &mut PointRecorder<'_>| clients.drive(&point_to_drive, order_for, point_recorder);
            let to_record = PointToRecord { purpose, spec: &spec, plan: &plan, timing: CEILING_TIMING };
            let (_, recorded) = recorder.point(to_record, progress, drive, ClientOutcome::ending)?;
            report_lost_clients(clients, recorded.as_ref().ok().and_then(Option::as_ref), recorder)?;
            recorded?;
        }
    }
    Ok(())
}

fn fleet_point_spec(workload: &Workload, size: &PointSizes, each: u32, drivers: usize, clients: u32) -> PointSpec {
    let concurrency = each.saturating_mul(u32::try_from(drivers).unwrap_or(u32::MAX));
    let workload = workload.clone().into();
    PointSpec { workload, size: size.clone().into(), concurrency, rate_per_s: None, clients: Some(clients) }
}

/// Records and tells which clients were lost; `view` is of the point that they drove, where it has figures.
fn report_lost_clients(clients: &ClientFleet, view: Option<&View>, recorder: &mut Recorder) -> Result<(), Failure> {
    for found in clients.findings(view) {
        crate::terminal::progress::print_error(&format!(
            "warning: {}: {}; {}",
            found.claim, found.evidence, found.remedy
        ));
        recorder.finding(&found)?;
    }
    Ok(())
}

impl SeriesDriver<'_> {
    /// Drives one point of the series from so many clients, and notes what each wrote; breaks off where the run is to
    /// end with it.
    pub(super) fn drive_fleet_point(
        &self,
        clients: &ClientFleet,
        count: u32,
        point: &SeriesPoint<'_>,
        course: &mut SeriesSearch,
        recorder: &mut Recorder,
        objects: &mut RunObjects<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let SeriesPoint { level: Level { concurrency, rate_per_s }, timing, source } = *point;
        let (run, workload) = (self.run, self.workload);
        let drivers = clients.drivers(count)?;
        let sets: Vec<u32> = drivers.iter().map(|_| objects.new_set()).collect();
        let plan = plan(run, workload, self.sizes, concurrency, timing, source.clone());
        let fixed = plan.listed > 0 && !workload.writes();
        let listed_most = if fixed { objects.objects_ever_written() } else { u64::MAX };
        let arrivals = run.prepared.arrivals(rate_per_s, recorder.next_point);
        let plan = PointPlan { listed_most, arrivals, ..plan };
        let spec = PointSpec { rate_per_s, ..fleet_point_spec(workload, self.size, concurrency, drivers.len(), count) };
        let base = PointOrder { until: OrderUntil::Intervals(timing.all), ..order(run, &plan, drivers.len()) };
        let order_for = |client_index: usize| PointOrder {
            write_set: sets[client_index],
            ..client_share(&base, client_index, drivers.len())
        };
        let point_to_drive = PointToDrive {
            drivers: &drivers,
            error_limit: run.prepared.load.stops.error_limit,
            interval_ms: timing.interval_ms,
            point: Some(recorder.next_point),
            interrupted: self.with.interrupted,
            supervisor: self.with.supervisor,
        };
        let drive = |point_recorder: &mut PointRecorder<'_>| clients.drive(&point_to_drive, order_for, point_recorder);
        let to_record = PointToRecord { purpose: Purpose::Measure, spec: &spec, plan: &plan, timing };
        let driven = recorder.point(to_record, self.progress, drive, ClientOutcome::ending);
        if driven.is_err() {
            self.note_lost_client_writes(source, spec.concurrency, objects);
        }
        let (outcome, view) = driven?;
        let mut found = Vec::new();
        for ((client, end), set) in outcome.ends.into_iter().zip(sets) {
            let merged = end.as_ref().map_or(0, |end| end.merged);
            found.extend((merged > 0).then(|| clients.merged(client, merged, recorder.next_point - 1)));
            self.note(end, set, source, concurrency, objects);
        }
        found.iter().try_for_each(|finding| recorder.finding(finding))?;
        report_lost_clients(clients, view.as_ref().ok().and_then(Option::as_ref), recorder)?;
        Ok(self.finish_point(&spec, outcome.ended, view?.as_ref(), course))
    }

    /// Notes what a client wrote or deleted in a point; of one that was lost, that it is not known.
    fn note(&self, end: Option<DrivenEnd>, set: u32, source: &Source, concurrency: u32, objects: &mut RunObjects<'_>) {
        let writes = self.workload.writes();
        let Some(end) = end else {
            self.note_lost_client_writes(source, concurrency, objects);
            return;
        };
        if writes {
            // What a mixed workload deletes is of what it wrote.
            let stored = (!self.workload.has(Op::Delete)).then_some(end.stored);
            objects.note(set, end.written_until, self.sizes, stored, self.sample_of_whole(end.written_until, stored));
        } else if let (Source::Set { set, .. }, true) = (source, self.workload.has(Op::Delete)) {
            objects.note_deleted(*set, end.deleted);
        }
        objects.note_abandoned(end.unended_writes, end.unfinished.into_iter().map(unfinished).collect());
    }

    /// Numbers of some objects of a set that the target confirmed as a whole; of others, clients do not report which
    /// were confirmed.
    fn sample_of_whole(&self, until: u64, stored: Option<u64>) -> Vec<u64> {
        if stored == Some(until) { sample_below(self.run.prepared.session.seed, until) } else { Vec::new() }
    }

    /// Notes that it is not known what was written or deleted by so many requests at a time.
    fn note_lost_client_writes(&self, source: &Source, concurrency: u32, objects: &mut RunObjects<'_>) {
        if self.workload.writes() {
            // It is swept up at the end.
            objects.note_unaccounted(u64::from(concurrency));
        } else if let (Source::Set { set, .. }, true) = (source, self.workload.has(Op::Delete)) {
            objects.note_deletions_unknown(*set);
        }
    }

    /// Writes objects for reading or deleting, each client a range of their numbers, and notes them for clearing; not
    /// part of any figure.
    pub(super) fn prepare_by_clients(
        &self,
        clients: &ClientFleet,
        count: u64,
        objects: &mut RunObjects<'_>,
        recorder: &mut Recorder,
    ) -> Result<u32, Failure> {
        let is_halted = Arc::clone(&recorder.is_halted);
        let (run, set, what) = (self.run, objects.new_set(), preparation_text(count, self.size, self.sizes));
        self.progress.set_task(&what);
        let drivers = clients.drivers(clients.count())?;
        let all = drivers.len() as u64;
        let each = (PREPARE_CONCURRENCY / u32::try_from(all).unwrap_or(u32::MAX)).max(PREPARE_CONCURRENCY_MIN);
        let nothing = Source::Set { set: 0, count: 0 };
        let plan = plan(run, &self.preparation_workload(), self.sizes, each, run.prepared.timing, nothing);
        let base = PointOrder { write_set: set, verify: false, is_recorded: false, ..order(run, &plan, drivers.len()) };
        let order_for = |client_index: usize| PointOrder {
            write_first: partition_start(count, client_index as u64, all),
            until: OrderUntil::Written(partition_start(count, client_index as u64 + 1, all)),
            ..base.clone()
        };
        let (interval_ms, interrupted) = (run.prepared.timing.interval_ms, self.with.interrupted);
        let (drivers, supervisor) = (&drivers[..], self.with.supervisor);
        let point_to_drive =
            PointToDrive { drivers, error_limit: None, interval_ms, point: None, interrupted, supervisor };
        let mut listener = PreparationProgress { progress: self.progress, what: &what, done: 0, bytes: 0 };
        let outcome = clients.drive(&point_to_drive, order_for, &mut listener);
        let ends = outcome.as_ref().map_or(&[][..], |outcome| &outcome.ends);
        let known_ends = || ends.iter().filter_map(|(_, end)| end.as_ref());
        // Noted before the outcome is looked at: what was written must be cleared whatever came of it.
        let is_whole = !ends.is_empty() && ends.iter().all(|(_, end)| end.is_some());
        let stored = is_whole.then(|| known_ends().map(|end| end.stored).sum());
        objects.note(set, count, self.sizes, stored, self.sample_of_whole(count, stored));
        let unended = known_ends().map(|end| end.unended_writes).sum();
        objects.note_abandoned(unended, known_ends().flat_map(|end| end.unfinished.clone()).map(unfinished).collect());
        let outcome = outcome?;
        recorder.record_preparation(outcome.alongside())?;
        report_lost_clients(clients, None, recorder)?;
        if interrupt::is_set(&is_halted) || interrupt::is_set(interrupted) {
            return Ok(set);
        }
        if let Some(failure) = clients.loss_before_point(&outcome) {
            return Err(failure);
        }
        let (mut errors, mut done) = (BTreeMap::<String, u64>::new(), 0);
        let mut failed = Vec::new();
        for (client_index, (client, end)) in outcome.ends.iter().enumerate() {
            let Some(end) = end else { continue };
            let own =
                partition_start(count, client_index as u64 + 1, all) - partition_start(count, client_index as u64, all);
            failed.extend((!end.errors.is_empty() || end.requests < own).then_some(*client));
            done += end.requests;
            end.errors.iter().for_each(|(kind, n)| *errors.entry(kind.clone()).or_default() += n);
        }
        if errors.is_empty() && done == count {
            return Ok(set);
        }
        let by = format!("; at {}", clients.names(&failed));
        Err(preparation_failure(done, count, self.size, errors, plan.retries, &by))
    }
}

fn unfinished(upload: LeftUpload) -> UnfinishedUpload {
    let LeftUpload { set, seq, size_bytes, upload_id } = upload;
    UnfinishedUpload { id: ObjectId { set, seq }, size_bytes, upload_id }
}

/// Who shows how writing beforehand goes on.
struct PreparationProgress<'w> {
    progress: &'w Progress,
    what: &'w str,
    done: u64,
    bytes: u64,
}

impl PointListener for PreparationProgress<'_> {
    fn counts(&mut self, figures: Interval<Latencies>) -> ControlFlow<StopReason> {
        self.done += figures.whole_rows().map(|row| row.requests).sum::<u64>();
        self.bytes += figures.whole_rows().map(|row| row.bytes).sum::<u64>();
        self.progress.live(&format!("{}: {} done, {}", self.what, self.done, bytes_iec(self.bytes as f64)));
        ControlFlow::Continue(())
    }

    fn interval(&mut self, _: u32, _: Interval) {}
}
