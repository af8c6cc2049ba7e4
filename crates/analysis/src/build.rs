//! From the records of a run to its view.

mod clients;
mod ended;
mod growth;
mod hung;
mod pooled;
mod sent_requests;
mod shape;
mod tails;

#[cfg(test)]
pub(crate) mod tests;
pub mod timeline;

use std::borrow::Cow;
use std::collections::BTreeMap;

use linerate_record::histogram::{self, DecodeError, Latencies};
use linerate_record::load::{Spacing, Workload};
use linerate_record::run::{
    InFlightRow, Interval, IntervalRow, LoadRequest, MaybeKnown, Op, PointBegin, PointLine, PointSpec, Purpose,
    StopReason,
};

use crate::records::{Records, point_end};
use crate::view::{
    ClientCeiling, CpuCost, Estimate, HostFigures, Latency, MachineSample, Measure, OpFigures, OpenLoop, Point,
    RunSummary, Series, VIEW_SCHEMA, View, ceiling_of, headline_measure,
};
use crate::warm_up::{self, VisitCourse};
use crate::{bottlenecks, canary, counters, estimate, findings, open_loop, steady};
pub(crate) use clients::lost_clients;
pub use clients::together;
pub(crate) use ended::InFlightAtEnd;
use tails::with_tails;

/// What each GET of a workload reads, where that is a range.
fn range_bytes(workload: &MaybeKnown<Workload>, requested: &LoadRequest) -> Option<u64> {
    requested.range_bytes.filter(|_| workload.known().is_some_and(|workload| workload.has(Op::Get)))
}

/// Computes everything that a report shows.
///
/// # Errors
/// [`DecodeError`] where a histogram of the folder is damaged.
pub fn build(records: &Records) -> Result<View, DecodeError> {
    let settled = if records.is_settled() { Cow::Borrowed(records) } else { Cow::Owned(records.clone().settled()) };
    let records = settled.as_ref();
    let together = clients::added_up(records)?;
    let flagged = with_warm_ups(&together.records);
    let mut figures = Figures::from_records(&flagged, |point| together.driven_by(point))?;
    let parts = clients::parts(records, &together, &flagged.intervals, &figures.series)?;
    clients::add_rows(&mut figures.series, &mut figures.ceilings, &parts);
    let mut view = finished(&flagged, figures, &parts)?;
    clients::add_findings(&mut view, records, parts);
    view.sent = sent_requests::sent(records, &view.series);
    view.sum_up();
    Ok(view)
}

/// What was measured, before anything is said of it.
struct Figures {
    series: Vec<Series>,
    ceilings: Vec<ClientCeiling>,
    samples: Vec<MachineSample>,
}

impl Figures {
    /// Of records whose warm-ups are flagged; `driven_by` tells by how many clients the figures of a point are.
    fn from_records(records: &Records, driven_by: impl Fn(u32) -> Option<u32>) -> Result<Self, DecodeError> {
        let (mut series, mut ceilings) = (Vec::<Series>::new(), Vec::new());
        let samples = counters::samples(&records.readings);
        let mut intervals = by_point(records);
        let decoded = begins(records).map(|begin| (begin, intervals.remove(&begin.point).unwrap_or_default()));
        let decoded: Vec<(&PointBegin, Vec<&Interval>)> = decoded.collect();
        for (begin, intervals) in &decoded {
            let Some(mut point) = point(records, begin, intervals, PointVisits::One)? else { continue };
            point.machine_busy = bottlenecks::machine_busy(&samples, intervals);
            point.driven_by = driven_by(begin.point);
            let PointSpec { workload, size, clients, .. } = begin.spec.clone();
            match begin.purpose {
                Purpose::Measure => {
                    let is_it = |s: &&mut Series| s.workload == workload && s.size == size && s.clients == clients;
                    match series.iter_mut().find(is_it) {
                        Some(series) => series.points.push(point),
                        None => series.push(Series {
                            range_bytes: range_bytes(&workload, &records.manifest.requested),
                            points: vec![point],
                            ..Series::empty(&workload, &size, clients)
                        }),
                    }
                }
                // Of which nothing ended, a ceiling says nothing.
                _ if begin.purpose != Purpose::Measure && point.requests == 0 => {}
                Purpose::Ceiling => ceilings.push(ClientCeiling { workload, size, clients, point, plain: None }),
                Purpose::PlainCeiling => {
                    let is_it =
                        |c: &&mut ClientCeiling| c.workload == workload && c.size == size && c.clients == clients;
                    ceilings.iter_mut().find(is_it).into_iter().for_each(|c| c.plain = Some(point.clone()));
                }
            }
        }
        for one in &mut series {
            let rate = |p: &Point| p.open.as_ref().map_or(0.0, |o| o.requested_per_s);
            one.points.sort_by(|a, b| {
                (a.concurrency.cmp(&b.concurrency)).then(rate(a).total_cmp(&rate(b))).then(a.point.cmp(&b.point))
            });
            one.measure = measure(&one.points);
            one.pooled = pooled::pooled(one, &decoded, records, &samples)?;
            // The concurrency of an open loop is a bound, not a load.
            if one.points.iter().all(|p| p.open.is_none()) {
                one.knee = shape::knee(one);
            }
            open_loop::judge(one, &records.manifest.requested);
        }
        Ok(Figures { series, ceilings, samples })
    }
}

/// What is said of figures: by all of the run, and by each of its clients where there are several.
fn finished(records: &Records, figures: Figures, parts: &[clients::ClientPart]) -> Result<View, DecodeError> {
    let Figures { mut series, ceilings, samples } = figures;
    for (place, one) in series.iter_mut().enumerate() {
        let of_all = bottlenecks::find(one, ceiling_of(&ceilings, one).as_deref(), records, &samples);
        one.limit = clients::limit(of_all, place, one, parts);
        if bottlenecks::is_capped(one, records) {
            shape::cap(one);
        }
    }
    let mut view = View {
        schema: VIEW_SCHEMA,
        run: summary(records, &series),
        growth: growth::growth(&series),
        series,
        ceilings,
        sent: Vec::new(),
        canary: canary::figures(&records.canary),
        timeline: timeline::build(records, samples)?,
        findings: Vec::new(),
    };
    view.findings = findings::findings(&view, records);
    Ok(view)
}

/// The intervals of each point.
fn by_point(records: &Records) -> BTreeMap<u32, Vec<&Interval>> {
    let mut points = BTreeMap::<u32, Vec<&Interval>>::new();
    records.intervals.iter().for_each(|i| points.entry(i.point).or_default().push(i));
    points
}

/// The records with intervals of warm-up flagged, as those of imported runs are already: what a point's end says, what
/// the run was given, or with what the visits of its series begin.
pub(crate) fn with_warm_ups(records: &Records) -> Records {
    let points = by_point(records);
    let until_ms = |(begin, stated_ms): (&PointBegin, u64)| {
        let intervals = points.get(&begin.point)?;
        let first_ms = intervals.first()?.from_ms;
        Some((begin.point, first_ms.saturating_add(warm_up::on_intervals_ms(intervals, stated_ms))))
    };
    let until_ms: BTreeMap<u32, u64> = warm_ups(records, &points).into_iter().filter_map(until_ms).collect();
    let mut flagged = records.clone();
    for interval in &mut flagged.intervals {
        interval.warmup |= until_ms.get(&interval.point).is_some_and(|until_ms| interval.from_ms < *until_ms);
    }
    flagged
}

/// The warm-up of each point in milliseconds.
fn warm_ups<'a>(records: &'a Records, points: &BTreeMap<u32, Vec<&Interval>>) -> Vec<(&'a PointBegin, u64)> {
    let stated = |begin: &PointBegin| {
        let reported = point_end(records, begin.point).and_then(|end| end.warmup_ms);
        reported.or_else(|| given_warm_up_ms(records, begin))
    };
    let intervals = |begin: &PointBegin| points.get(&begin.point).map_or(&[][..], Vec::as_slice);
    let all: Vec<(&PointBegin, Option<u64>)> = begins(records).map(|begin| (begin, stated(begin))).collect();
    let is_of = |a: &PointSpec, b: &PointSpec| (&a.workload, &a.size, a.clients) == (&b.workload, &b.size, b.clients);
    let mut series: Vec<(&PointSpec, u64)> = Vec::new();
    for (begin, _) in all.iter().filter(|(_, stated)| stated.is_none()) {
        if !series.iter().any(|(spec, _)| is_of(spec, &begin.spec)) {
            let visits = all.iter().filter(|(visit, stated)| stated.is_none() && is_of(&visit.spec, &begin.spec));
            let courses: Vec<VisitCourse> = visits.map(|(visit, _)| course(intervals(visit))).collect();
            series.push((&begin.spec, warm_up::recurring_ms(&courses)));
        }
    }
    let of_series = |begin: &PointBegin| {
        let recurring = series.iter().find(|(spec, _)| is_of(spec, &begin.spec)).map_or(0, |(_, ms)| *ms);
        recurring.max(warm_up::usual_ms(length_ms(intervals(begin))))
    };
    all.into_iter().map(|(begin, stated)| (begin, stated.unwrap_or_else(|| of_series(begin)))).collect()
}

/// How long a point was driven, in milliseconds.
fn length_ms(intervals: &[&Interval]) -> u64 {
    let ends = intervals.first().zip(intervals.last());
    ends.map_or(0, |(first, last)| last.to_ms.saturating_sub(first.from_ms))
}

/// The throughput of a point over its time.
fn course(intervals: &[&Interval]) -> VisitCourse {
    let first_ms = intervals.first().map_or(0, |i| i.from_ms);
    let ends = intervals.iter().map(|i| i.to_ms.saturating_sub(first_ms));
    VisitCourse { rates: ends.zip(rates(intervals)).collect() }
}

/// Throughput of each interval, in the measure by which the point is judged.
fn rates(intervals: &[&Interval]) -> Vec<f64> {
    let rows = || intervals.iter().flat_map(|i| i.whole_rows());
    let (requests, bytes) = (rows().map(|row| row.requests).sum(), rows().map(|row| row.bytes).sum());
    let measure = headline_measure(requests, bytes, rows().any(|row| row.moved_bytes > 0));
    let rate =
        |i: &&Interval| i.whole_rows().map(|row| measure.of_row(row)).sum::<f64>() * 1e3 / i.length_ms().max(1) as f64;
    intervals.iter().map(rate).collect()
}

/// The warm-up that a run was given for a point. A point of deletions has none: what it deleted is gone.
fn given_warm_up_ms(records: &Records, begin: &PointBegin) -> Option<u64> {
    if begin.spec.workload.is_only(Op::Delete) { Some(0) } else { records.manifest.requested.warmup_ms }
}

fn begins(records: &Records) -> impl Iterator<Item = &PointBegin> {
    records.points.iter().filter_map(|line| match line {
        PointLine::Begin(begin) => Some(begin),
        _ => None,
    })
}

fn summary(records: &Records, series: &[Series]) -> RunSummary {
    let manifest = &records.manifest;
    let last_interval = records.intervals.iter().map(|i| i.to_ms).max().unwrap_or(0);
    let last_point = begins(records).filter_map(|b| point_end(records, b.point)).map(|e| e.at_ms).max().unwrap_or(0);
    let whole = |p: &&Point| p.ended.is_some_and(|ended| !ended.ends_the_run());
    let ended = series.iter().flat_map(|s| &s.points).filter(whole).count();
    // Of a search it is not known beforehand how many points it takes.
    let ends = records.points.iter().filter_map(|line| match line {
        PointLine::End(end) => Some(end.ended),
        _ => None,
    });
    let is_cut = ends.into_iter().any(StopReason::ends_the_run);
    let searched = records.points.iter().filter(|line| matches!(line, PointLine::Searched(_))).count();
    let to_search = series_to_end(&manifest.requested);
    RunSummary {
        id: manifest.id.clone(),
        title: manifest.title.clone(),
        linerate_version: manifest.linerate_version.clone(),
        started_unix_ms: manifest.started_unix_ms,
        elapsed_ms: last_interval.max(last_point),
        complete: !is_cut && ended >= manifest.requested.points.len() && searched >= to_search,
        interval_ms: manifest.interval_ms,
        requested: manifest.requested.clone(),
        target: manifest.target.clone(),
        machine: manifest.machine().clone(),
        clients: Vec::new(),
        threads: manifest.threads(),
        processors: manifest.clients.iter().map(|c| c.machine.cpus).fold(0, u32::saturating_add),
    }
}

/// Series of which it is not known beforehand how often their levels are visited: each tells when it is at its end.
fn series_to_end(requested: &LoadRequest) -> usize {
    let of_rates = requested.rate_search.as_ref().map_or(0, |search| search.series.len());
    let of_search = requested.search.as_ref().map_or(0, |search| search.series.len());
    let mut in_rounds: Vec<_> =
        requested.points.iter().map(|spec| (&spec.workload, &spec.size, spec.clients)).collect();
    in_rounds.dedup();
    of_rates + of_search + requested.rounds_ms.map_or(0, |_| in_rounds.len())
}

fn measure(points: &[Point]) -> Measure {
    let (bytes, requests) = points.iter().fold((0, 0), |(b, r), p| (b + p.bytes, r + p.requests));
    // Bodies so large that none has ended yet still move.
    headline_measure(requests, bytes, points.iter().any(|p| p.all_moved_bytes() > 0))
}

/// Rows added up, of whichever hosts and operations they are.
fn summed<'a>(rows: impl IntoIterator<Item = &'a IntervalRow>) -> Result<IntervalRow<Latencies>, DecodeError> {
    let mut sum = IntervalRow::counting(0, Op::Get);
    rows.into_iter().try_for_each(|row| sum.add(row, histogram::add_encoded))?;
    Ok(sum)
}

/// A mean over so many requests with the interval of what it varies by, and of one request at the least: counts that
/// are the same in each interval by chance know it no better.
fn to_one_request(spread: Estimate, mean: f64, requests: u64) -> Estimate {
    let one = mean / requests.max(1) as f64;
    Estimate { mean, half_width_95: spread.half_width_95.map(|half| half.max(one)), ..spread }
}

/// Of what the intervals of a point are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PointVisits {
    One,
    /// Of several visits of a concurrency, and whether each of them kept its level.
    Few {
        steady: bool,
    },
    /// Of so many that what visits differ by is in their interval.
    Enough,
}

impl PointVisits {
    /// Whether an interval is told of them. No visit is left out of enough for what it differs by: that is in theirs.
    fn are_steady(self, begin: &PointBegin, measured: &[&Interval]) -> bool {
        match self {
            PointVisits::One => begin.purpose == Purpose::Ceiling || keeps_level(measured),
            PointVisits::Few { steady } => steady,
            PointVisits::Enough => true,
        }
    }
}

/// What measured intervals had a second, of so many requests.
fn per_second(
    measured: &[&Interval],
    seconds: f64,
    requests: u64,
    visits: PointVisits,
    what: fn(&IntervalRow) -> f64,
) -> Estimate {
    let sum = |i: &&Interval| i.whole_rows().map(what).sum::<f64>();
    // The mean is that of the whole time; what an interval that was cut short says of the spread is noise.
    let whole_ms = counters::usual_ms(measured);
    let whole = measured.iter().filter(|i| 2 * (i.to_ms - i.from_ms) >= whole_ms);
    let rates: Vec<f64> = whole.map(|i| sum(i) / ((i.to_ms - i.from_ms) as f64 / 1e3)).collect();
    let spread = match visits {
        PointVisits::Enough => estimate::mean_of_visits(&rates),
        PointVisits::One | PointVisits::Few { .. } => estimate::mean_with_interval(&rates),
    };
    to_one_request(spread, measured.iter().flat_map(|i| i.whole_rows()).map(what).sum::<f64>() / seconds, requests)
}

/// The figures of one point, or `None` where it has no whole interval outside its warm-up.
fn point(
    records: &Records,
    begin: &PointBegin,
    intervals: &[&Interval],
    visits: PointVisits,
) -> Result<Option<Point>, DecodeError> {
    let measured: Vec<&Interval> = intervals.iter().copied().filter(|i| !i.warmup && i.to_ms > i.from_ms).collect();
    if measured.is_empty() {
        return Ok(None);
    }
    let measured_ms: u64 = measured.iter().map(|i| i.to_ms - i.from_ms).sum();
    let seconds = measured_ms as f64 / 1e3;
    let rows: Vec<&IntervalRow> = measured.iter().flat_map(|i| i.whole_rows()).collect();
    let sum = summed(rows.iter().copied())?;
    let of_warmup = summed(intervals.iter().filter(|i| i.warmup).flat_map(|i| i.whole_rows()))?;
    let first_ms = intervals.iter().map(|i| i.from_ms).min().unwrap_or(0);
    let warmup_ms = measured.first().map_or(0, |i| i.from_ms - first_ms);
    let ended = point_end(records, begin.point).map(|e| e.ended);
    let steady = visits.are_steady(begin, &measured);
    let end = ended::of_point(records, begin, &measured, &sum, seconds)?;
    let per_second = |what: fn(&IntervalRow) -> f64| {
        let estimate = per_second(&measured, seconds, sum.requests, visits, what);
        // Of what is still on its way no interval is known.
        if steady && !end.too_few { estimate } else { unknown(estimate) }
    };
    let (client_busy, moved_bytes) = (bottlenecks::client_busy(&measured), sum.all_moved_bytes());
    let cost = |cpu_ns: u64| cpu_cost(cpu_ns, seconds, sum.requests, moved_bytes);
    let tails = |latencies: &Latencies, of, open_times: &ended::OpenTimes| {
        // What few visits differ by is in no interval of theirs.
        let has_interval = steady && !matches!(visits, PointVisits::Few { .. });
        let of_ended =
            if has_interval { with_tails(latencies, &measured, of)? } else { histogram::summarize(latencies) };
        Ok::<_, DecodeError>(open_times.total(of_ended, latencies))
    };
    let open_times = end.in_flight.open_times(|row| !row.op.is_detail())?;
    let times_intended = end.in_flight.open_times_intended()?;
    let ttfb_intended = sum.ttfb_intended.as_ref().map(|all| times_intended.ttfb(all)).unwrap_or_default();
    let total_intended =
        sum.total_intended.as_ref().map(|all| tails(all, |row| row.total_intended.as_ref(), &times_intended));
    let total_intended = total_intended.transpose()?.unwrap_or_default();
    let open = open_figures(records, begin, intervals, &measured, ttfb_intended, total_intended)?;
    let of_slots = |ns: u64| share_of_slots(ns, measured_ms, begin.spec.concurrency);
    Ok(Some(Point {
        point: begin.point,
        concurrency: begin.spec.concurrency,
        measured_ms,
        warmup_ms,
        steady,
        ended,
        bytes_per_s: end.of_bytes(per_second(|row| row.moved_bytes as f64)),
        requests_per_s: per_second(|row| row.requests as f64),
        requests: sum.requests,
        bytes: sum.bytes,
        moved_bytes: sum.moved_bytes,
        unended: end.unended,
        hung: end.in_flight.hung(),
        too_few_ended: end.too_few,
        warmup_requests: of_warmup.requests,
        warmup_errors: of_warmup.errors,
        failed_at_end: failed_at_end(intervals, &measured),
        retries: sum.retries,
        throttled: sum.throttled,
        retry_after_s: sum.retry_after_s,
        rested_share: of_slots(measured.iter().map(|i| i.rested_ns).sum()),
        paused_share: of_slots(measured.iter().map(|i| i.paused_ns).sum()),
        open,
        ttfb: open_times.ttfb(&sum.ttfb),
        total: tails(&sum.total, |row| Some(&row.total), &open_times)?,
        client_cpu: client_busy.map(|_| cost(measured.iter().map(|i| i.client_cpu_ns).sum())),
        client_busy,
        target_cpu: measured.iter().map(|i| i.target_cpu_ns).sum::<Option<u64>>().map(cost),
        machine_busy: None,
        ops: ops(&measured.iter().flat_map(|i| &i.rows).collect::<Vec<_>>(), seconds, &end)?,
        hosts: hosts(records, &rows, seconds, &end)?,
        driven_by: None,
        clients: Vec::new(),
        client_spread: None,
        errors: end.in_flight.with_errors_later(sum.errors),
    }))
}

/// What an open loop shows: a schedule that was kept, or not. `measured` are its intervals without the warm-up.
fn open_figures(
    records: &Records,
    begin: &PointBegin,
    intervals: &[&Interval],
    measured: &[&Interval],
    ttfb_intended: Latency,
    total_intended: Latency,
) -> Result<Option<OpenLoop>, DecodeError> {
    let requested = &records.manifest.requested;
    let at_random = requested.arrivals.as_ref().is_some_and(|a| a.is(&Spacing::Poisson));
    let requested_per_s = begin.spec.rate_per_s.unwrap_or(0.0);
    let started_ms = intervals.iter().map(|i| i.from_ms).min().unwrap_or(0);
    let before = intervals.iter().copied().take_while(|i| i.warmup).last();
    let measuring = open_loop::OpenLoopInput { requested_per_s, at_random, started_ms, before, measured };
    open_loop::figures(&begin.spec, requested.slo.as_ref(), &measuring, ttfb_intended, total_intended)
}

/// Requests that failed behind the measured time: what a record calls warm-up there ended no measurement.
fn failed_at_end(intervals: &[&Interval], measured: &[&Interval]) -> u64 {
    let end_ms = measured.last().map_or(u64::MAX, |i| i.to_ms);
    let at_end = intervals.iter().filter(|i| i.warmup && i.from_ms >= end_ms).flat_map(|i| &i.rows);
    at_end.flat_map(|row| row.errors.values()).sum()
}

/// Whether a point kept one level to its end. Of an interval that was cut short the rate is noise.
fn keeps_level(measured: &[&Interval]) -> bool {
    let whole_ms = counters::usual_ms(measured);
    let whole: Vec<&Interval> = measured.iter().copied().filter(|i| 2 * i.length_ms() >= whole_ms).collect();
    steady::keeps_level(&rates(&whole))
}

/// A time as a share of that of all slots.
fn share_of_slots(ns: u64, measured_ms: u64, concurrency: u32) -> f64 {
    let slots_ns = measured_ms as f64 * 1e6 * f64::from(concurrency.max(1));
    (ns as f64 / slots_ns).min(1.0)
}

const fn unknown(estimate: Estimate) -> Estimate {
    Estimate { half_width_95: None, ..estimate }
}

fn cpu_cost(cpu_ns: u64, seconds: f64, requests: u64, moved_bytes: i64) -> CpuCost {
    let cpu_s = cpu_ns as f64 / 1e9;
    CpuCost {
        cores: cpu_s / seconds,
        us_per_request: if requests > 0 { cpu_s * 1e6 / requests as f64 } else { 0.0 },
        s_per_gib: (moved_bytes > 0).then(|| cpu_s / (moved_bytes as f64 / (1u64 << 30) as f64)),
    }
}

fn ops(rows: &[&IntervalRow], seconds: f64, end: &ended::Ended) -> Result<Vec<OpFigures>, DecodeError> {
    let mut figures = Vec::new();
    for op in Op::ALL {
        let of_op: Vec<&IntervalRow> = rows.iter().copied().filter(|r| r.op == op).collect();
        if of_op.is_empty() {
            continue;
        }
        let sum = summed(of_op)?;
        let open_times = end.in_flight.open_times(|row| row.op == op)?;
        figures.push(OpFigures {
            op,
            requests: sum.requests,
            bytes: sum.bytes,
            errors: sum.errors.values().sum::<u64>() + end.in_flight.errors_later(|row| row.op == op),
            requests_per_s: sum.requests as f64 / seconds,
            bytes_per_s: ended::rate(&sum, seconds),
            ttfb: open_times.ttfb(&sum.ttfb),
            total: open_times.total(histogram::summarize(&sum.total), &sum.total),
        });
    }
    Ok(figures)
}

fn hosts(
    records: &Records,
    rows: &[&IntervalRow],
    seconds: f64,
    end: &ended::Ended,
) -> Result<Vec<HostFigures>, DecodeError> {
    let mut figures = Vec::new();
    for (number, host) in records.manifest.target.hosts.iter().enumerate() {
        let sum = summed(rows.iter().copied().filter(|r| r.host as usize == number))?;
        let is_its = |row: &InFlightRow| row.host as usize == number && !row.op.is_detail();
        let open_times = end.in_flight.open_times(is_its)?;
        let ttfb = open_times.ttfb(&sum.ttfb);
        let total = open_times.total(histogram::summarize(&sum.total), &sum.total);
        figures.push(HostFigures {
            host: host.clone(),
            requests: sum.requests,
            errors: sum.errors.values().sum::<u64>() + end.in_flight.errors_later(is_its),
            requests_per_s: sum.requests as f64 / seconds,
            bytes_per_s: ended::rate(&sum, seconds),
            ttfb_p50_ns: ttfb.p50_ns,
            total_p50_ns: total.p50_ns,
            total_p99_ns: total.p99_ns,
            ttfb_at_least_ns: ttfb.at_least_ns,
            total_at_least_ns: total.at_least_ns,
        });
    }
    Ok(figures)
}
