//! Points that clients of a fleet drive: the same objects and the same folder, and each client told its share.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use linerate_analysis::course::SeriesCourse;
use linerate_analysis::view::View;
use linerate_fleet::loading::{DrivenEnd, LeftUpload, OrderUntil, PointOrder, PointTarget, RateOrder};
use linerate_load::multipart::Unfinished;
use linerate_load::object::ObjectId;
use linerate_load::session::{PointPlan, Source};
use linerate_record::histogram::Latencies;
use linerate_record::load::{Level, Sizes, Workload};
use linerate_record::run::{Interval, Op, PointSizes, PointSpec, Purpose, StopReason};
use linerate_record::units::{Rate, bytes_iec};
use linerate_wire::arrivals::Arrivals;

use super::super::clients::{BenchClients, Driven, DrivenPoint, Hearer};
use super::super::objects::RunObjects;
use super::super::recorder::{Recorder, Tape};
use super::super::setup::{CEILING, Setup};
use super::{CEILING_CONCURRENCY_MAX, PREPARE_CONCURRENCY, SeriesRun, named_sizes, plan, unwritten, writing};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::timing::Timing;

/// Least requests that each client keeps in flight while objects are written beforehand.
const PREPARE_CONCURRENCY_MIN: u32 = 2;

impl Hearer for Tape<'_> {
    fn counts(&mut self, figures: Interval<Latencies>) -> ControlFlow<StopReason> {
        Tape::counts(self, figures)
    }

    fn interval(&mut self, client: u32, interval: Interval) {
        self.of_client(client, interval);
    }
}

/// What each client is told of a point, but for its own share.
fn order(setup: &Setup<'_>, plan: &PointPlan, clients: usize) -> PointOrder {
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
        threads: setup.load.threads,
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
        max_rate: setup.load.max_rate.filter(|_| plan.arrivals.is_none()).map(part),
        write_set: plan.write_set,
        write_first: plan.write_first,
        read_set,
        read_count,
        delete_first: plan.delete_first,
        listed: plan.listed,
        listed_most: plan.listed_most,
        verify: plan.verify,
        until: OrderUntil::Intervals(setup.timing.all),
        interval_ns: plan.interval_ns,
        is_recorded: true,
    }
}

/// What client `place` of so many is told of a point of all of them.
fn share(base: &PointOrder, place: usize, clients: usize) -> PointOrder {
    let (place, all) = (place as u64, clients as u64);
    // Each object is deleted once, by one of them; where they only read, all read all.
    let (delete_first, read_count) = if base.workload.deletes_only() {
        (bound(base.read_count, place, all), bound(base.read_count, place + 1, all))
    } else {
        (0, base.read_count)
    };
    let rate = base.rate.map(|rate| RateOrder { client: u32::try_from(place).unwrap_or(u32::MAX), ..rate });
    PointOrder { delete_first, read_count, rate, ..base.clone() }
}

/// The first number of part `place` of `parts` even parts of so many objects.
fn bound(count: u64, place: u64, parts: u64) -> u64 {
    u64::try_from(u128::from(count) * u128::from(place) / u128::from(parts.max(1))).unwrap_or(count)
}

/// What each client itself drives against a null target beside it: all of them at once, as the load comes.
pub(super) fn ceilings(
    setup: &Setup<'_>,
    clients: &BenchClients,
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    let purposes: &[(Purpose, bool)] = match setup.session.tls {
        None => &[(Purpose::Ceiling, false)],
        Some(_) => &[(Purpose::Ceiling, true), (Purpose::PlainCeiling, false)],
    };
    for &(purpose, tls) in purposes {
        for work in &setup.load.work {
            for (size, sizes) in named_sizes(setup, &work.sizes) {
                if interrupt::came(interrupted) {
                    return Ok(());
                }
                ceiling(
                    setup,
                    clients,
                    (purpose, tls),
                    (&work.workload, &size, &sizes),
                    interrupted,
                    progress,
                    recorder,
                )?;
            }
        }
    }
    Ok(())
}

fn ceiling(
    setup: &Setup<'_>,
    clients: &BenchClients,
    (purpose, tls): (Purpose, bool),
    (workload, size, sizes): (&Workload, &PointSizes, &Sizes),
    interrupted: &AtomicBool,
    progress: &Progress,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    let drivers = clients.drivers(clients.count())?;
    let each = setup.load.levels.highest().min(CEILING_CONCURRENCY_MAX);
    let source = Source::Set { set: 0, count: (1 << 40) - 1 };
    let plan = plan(setup, workload, sizes, each, CEILING, source);
    let plan = PointPlan { verify: false, listed: 0, ..plan };
    let spec = spec(workload, size, each, drivers.len(), clients.count());
    let point = Some(recorder.next_point);
    let driven = Driven { drivers: &drivers, error_limit: None, interval_ms: CEILING.interval_ms, point, interrupted };
    let base = PointOrder {
        target: PointTarget::Null { tls },
        max_rate: None,
        until: OrderUntil::Intervals(CEILING.all),
        ..order(setup, &plan, drivers.len())
    };
    // Sets of their own have each choose otherwise, and the null target keeps nothing.
    let of = |place: usize| PointOrder { write_set: u32::try_from(place).unwrap_or(0), ..base.clone() };
    let drive = |tape: &mut Tape<'_>| clients.drive(&driven, of, tape);
    let rule = CEILING.rule(spec.concurrency);
    let (_, recorded) = recorder.point(purpose, &spec, (&plan, rule), progress, drive, DrivenPoint::ending)?;
    tell_of_lost(clients, recorded.as_ref().ok().and_then(Option::as_ref), recorder)?;
    recorded.map(|_| ())
}

fn spec(workload: &Workload, size: &PointSizes, each: u32, drivers: usize, clients: u32) -> PointSpec {
    let concurrency = each.saturating_mul(u32::try_from(drivers).unwrap_or(u32::MAX));
    let workload = workload.clone().into();
    PointSpec { workload, size: size.clone().into(), concurrency, rate_per_s: None, clients: Some(clients) }
}

/// Records and tells which clients were lost; `view` is of the point that they drove, where it has figures.
fn tell_of_lost(clients: &BenchClients, view: Option<&View>, recorder: &mut Recorder) -> Result<(), Failure> {
    for found in clients.findings(view) {
        crate::progress::say(&format!("warning: {}: {}; {}", found.claim, found.evidence, found.remedy));
        recorder.finding(&found)?;
    }
    Ok(())
}

impl SeriesRun<'_> {
    /// Drives one point of the series from so many clients, and notes what each wrote; breaks off where the run is to
    /// end with it.
    #[expect(clippy::too_many_arguments, reason = "as those of a point of one process, and whose clients drive it")]
    pub(super) fn point_of_clients(
        &self,
        clients: &BenchClients,
        count: u32,
        Level { concurrency, rate_per_s }: Level,
        timing: Timing,
        source: &Source,
        course: &mut SeriesCourse,
        recorder: &mut Recorder,
        objects: &mut RunObjects<'_>,
    ) -> Result<ControlFlow<()>, Failure> {
        let (setup, workload) = (self.setup, self.workload);
        let drivers = clients.drivers(count)?;
        let sets: Vec<u32> = drivers.iter().map(|_| objects.new_set()).collect();
        let plan = plan(setup, workload, self.sizes, concurrency, timing, source.clone());
        let fixed = plan.listed > 0 && !workload.writes();
        let listed_most = if fixed { objects.ever() } else { u64::MAX };
        let arrivals = setup.arrivals(rate_per_s, recorder.next_point);
        let plan = PointPlan { listed_most, arrivals, ..plan };
        let spec = PointSpec { rate_per_s, ..spec(workload, self.size, concurrency, drivers.len(), count) };
        let base = PointOrder { until: OrderUntil::Intervals(timing.all), ..order(setup, &plan, drivers.len()) };
        let of = |place: usize| PointOrder { write_set: sets[place], ..share(&base, place, drivers.len()) };
        let driven = Driven {
            drivers: &drivers,
            error_limit: setup.load.stops.error_limit,
            interval_ms: timing.interval_ms,
            point: Some(recorder.next_point),
            interrupted: self.with.interrupted,
        };
        let rule = (&plan, timing.rule(spec.concurrency));
        let drive = |tape: &mut Tape<'_>| clients.drive(&driven, of, tape);
        let driven = recorder.point(Purpose::Measure, &spec, rule, self.progress, drive, DrivenPoint::ending);
        if driven.is_err() {
            self.note_lost(source, spec.concurrency, objects);
        }
        let (outcome, view) = driven?;
        let mut found = Vec::new();
        for ((client, end), set) in outcome.ends.into_iter().zip(sets) {
            let merged = end.as_ref().map_or(0, |end| end.merged);
            found.extend((merged > 0).then(|| clients.merged(client, merged, recorder.next_point - 1)));
            self.note(end, (set, source), concurrency, objects);
        }
        found.iter().try_for_each(|finding| recorder.finding(finding))?;
        tell_of_lost(clients, view.as_ref().ok().and_then(Option::as_ref), recorder)?;
        Ok(self.told(&spec, outcome.ended, view?.as_ref(), course))
    }

    /// Notes what a client wrote or deleted in a point; of one that was lost, that it is not known.
    fn note(
        &self,
        end: Option<DrivenEnd>,
        (set, source): (u32, &Source),
        concurrency: u32,
        objects: &mut RunObjects<'_>,
    ) {
        let writes = self.workload.writes();
        let Some(end) = end else {
            self.note_lost(source, concurrency, objects);
            return;
        };
        if writes {
            // What a mixed workload deletes is of what it wrote.
            let stored = (!self.workload.has(Op::Delete)).then_some(end.stored);
            objects.note(set, end.written_until, self.sizes, stored);
        } else if let (Source::Set { set, .. }, true) = (source, self.workload.has(Op::Delete)) {
            objects.note_deleted(*set, end.deleted);
        }
        objects.note_unended(end.unended_writes, end.unfinished.into_iter().map(unfinished).collect());
    }

    /// Notes that it is not known what was written or deleted by so many requests at a time.
    fn note_lost(&self, source: &Source, concurrency: u32, objects: &mut RunObjects<'_>) {
        if self.workload.writes() {
            // It is swept up at the end.
            objects.note_unknown(u64::from(concurrency));
        } else if let (Source::Set { set, .. }, true) = (source, self.workload.has(Op::Delete)) {
            objects.note_deletions_unknown(*set);
        }
    }

    /// Writes objects for reading or deleting, each client a range of their numbers, and notes them for clearing; not
    /// part of any figure.
    pub(super) fn write_by_clients(
        &self,
        clients: &BenchClients,
        count: u64,
        objects: &mut RunObjects<'_>,
        recorder: &mut Recorder,
    ) -> Result<u32, Failure> {
        let halted = Arc::clone(&recorder.halted);
        let (setup, set, what) = (self.setup, objects.new_set(), writing(count, self.size, self.sizes));
        self.progress.doing(&what);
        let drivers = clients.drivers(clients.count())?;
        let all = drivers.len() as u64;
        let each = (PREPARE_CONCURRENCY / u32::try_from(all).unwrap_or(u32::MAX)).max(PREPARE_CONCURRENCY_MIN);
        let nothing = Source::Set { set: 0, count: 0 };
        let plan = plan(setup, &self.writer(), self.sizes, each, setup.timing, nothing);
        let base =
            PointOrder { write_set: set, verify: false, is_recorded: false, ..order(setup, &plan, drivers.len()) };
        let of = |place: usize| PointOrder {
            write_first: bound(count, place as u64, all),
            until: OrderUntil::Written(bound(count, place as u64 + 1, all)),
            ..base.clone()
        };
        let (interval_ms, interrupted) = (setup.timing.interval_ms, self.with.interrupted);
        let driven = Driven { drivers: &drivers, error_limit: None, interval_ms, point: None, interrupted };
        let mut hearer = Writing { progress: self.progress, what: &what, halted: &halted, done: 0, bytes: 0 };
        let outcome = clients.drive(&driven, of, &mut hearer);
        let ends = outcome.as_ref().map_or(&[][..], |outcome| &outcome.ends);
        let told = || ends.iter().filter_map(|(_, end)| end.as_ref());
        // Noted before the outcome is looked at: what was written must be cleared whatever came of it.
        let is_whole = !ends.is_empty() && ends.iter().all(|(_, end)| end.is_some());
        let stored = is_whole.then(|| told().map(|end| end.stored).sum());
        objects.note(set, count, self.sizes, stored);
        let unended = told().map(|end| end.unended_writes).sum();
        objects.note_unended(unended, told().flat_map(|end| end.unfinished.clone()).map(unfinished).collect());
        let outcome = outcome?;
        recorder.written(outcome.beside())?;
        tell_of_lost(clients, None, recorder)?;
        if interrupt::came(&halted) || interrupt::came(interrupted) {
            return Ok(set);
        }
        if let Some(failure) = clients.lost_beforehand(&outcome) {
            return Err(failure);
        }
        let (mut errors, mut done) = (BTreeMap::<String, u64>::new(), 0);
        let mut failed = Vec::new();
        for (place, (client, end)) in outcome.ends.iter().enumerate() {
            let Some(end) = end else { continue };
            let own = bound(count, place as u64 + 1, all) - bound(count, place as u64, all);
            failed.extend((!end.errors.is_empty() || end.requests < own).then_some(*client));
            done += end.requests;
            end.errors.iter().for_each(|(kind, n)| *errors.entry(kind.clone()).or_default() += n);
        }
        if errors.is_empty() && done == count {
            return Ok(set);
        }
        let by = format!("; at {}", clients.names(&failed));
        Err(unwritten((done, count), self.size, errors, plan.retries, &by))
    }
}

fn unfinished(upload: LeftUpload) -> Unfinished {
    let LeftUpload { set, seq, size_bytes, upload_id } = upload;
    Unfinished { id: ObjectId { set, seq }, size_bytes, upload_id }
}

/// Who shows how writing beforehand goes on.
struct Writing<'w> {
    progress: &'w Progress,
    what: &'w str,
    halted: &'w AtomicBool,
    done: u64,
    bytes: u64,
}

impl Hearer for Writing<'_> {
    fn counts(&mut self, figures: Interval<Latencies>) -> ControlFlow<StopReason> {
        self.done += figures.whole_rows().map(|row| row.requests).sum::<u64>();
        self.bytes += figures.whole_rows().map(|row| row.bytes).sum::<u64>();
        self.progress.live(&format!("{}: {} done, {}", self.what, self.done, bytes_iec(self.bytes as f64)));
        if interrupt::came(self.halted) { ControlFlow::Break(StopReason::Canary) } else { ControlFlow::Continue(()) }
    }

    fn interval(&mut self, _: u32, _: Interval) {}
}
