//! Run → view.

use std::borrow::Cow;
use std::collections::BTreeMap;

use linerate_record::canary::CanaryLine;
use linerate_record::finding::Finding;
use linerate_record::reading::Reading;
use linerate_record::run::{Interval, Manifest, Op, PointBegin, PointEnd, PointLine, Purpose, Row};

use super::tails::with_tails;
use super::{
    Ceiling, CpuCost, Estimate, HostFigures, Measure, OpFigures, Point, RunSummary, Series, VIEW_SCHEMA, View, shape,
    timeline,
};
use crate::histogram::{self, DecodeError, Latencies};
use crate::precision::{self, Rule, Watch};
use crate::{canary, counters, estimate, findings, limits, open_loop};

/// Mean body below which requests per second tell more than bytes per second.
const SMALL_BODY_BYTES: f64 = 65_536.0;

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

/// Computes everything that a report shows.
///
/// # Errors
/// [`DecodeError`] where a histogram of the folder is damaged.
pub fn build(records: &Records) -> Result<View, DecodeError> {
    let records = &*with_warm_ups(records);
    let (mut series, mut ceilings) = (Vec::<Series>::new(), Vec::new());
    let machine_samples = counters::samples(&records.readings);
    let mut decoded = Vec::new();
    for begin in begins(records) {
        let intervals: Vec<&Interval> = records.intervals.iter().filter(|i| i.point == begin.point).collect();
        decoded.push((begin, intervals));
    }
    for (begin, intervals) in &decoded {
        let Some(mut point) = point(records, begin, intervals)? else { continue };
        point.machine_busy = limits::machine_busy(&machine_samples, intervals);
        let (workload, size) = (begin.spec.workload.clone(), begin.spec.size.clone());
        match begin.purpose {
            Purpose::Measure => {}
            Purpose::Ceiling => {
                ceilings.push(Ceiling { workload, size, point, plain: None });
                continue;
            }
            Purpose::PlainCeiling => {
                let over_tls = ceilings.iter_mut().find(|c| c.workload == workload && c.size == size);
                over_tls.into_iter().for_each(|ceiling| ceiling.plain = Some(point.clone()));
                continue;
            }
        }
        match series.iter_mut().find(|s| s.workload == workload && s.size == size) {
            Some(series) => series.points.push(point),
            None => series.push(Series {
                workload,
                size,
                measure: Measure::Bytes,
                points: vec![point],
                knee: None,
                scaling: None,
                sustained: None,
                limit: None,
            }),
        }
    }
    for one in &mut series {
        let rate = |p: &Point| p.open.as_ref().map_or(0.0, |o| o.asked_per_s);
        one.points.sort_by(|a, b| {
            (a.concurrency.cmp(&b.concurrency)).then(rate(a).total_cmp(&rate(b))).then(a.point.cmp(&b.point))
        });
        one.measure = measure(&one.points);
        // The concurrency of an open loop is a bound, not a load.
        if one.points.iter().all(|p| p.open.is_none()) {
            one.knee = shape::knee(one);
            one.scaling = shape::scaling(one, records.manifest.seed);
        }
        one.sustained = open_loop::sustained(one, &records.manifest.asked);
        let ceiling = ceilings.iter().find(|c| c.workload == one.workload && c.size == one.size);
        one.limit = limits::find(one, ceiling, records, &machine_samples);
    }
    let mut view = View {
        schema: VIEW_SCHEMA,
        run: summary(records, &series),
        series,
        ceilings,
        canary: canary::figures(&records.canary),
        timeline: timeline::build(records, machine_samples)?,
        findings: Vec::new(),
    };
    view.findings = findings::findings(&view, records);
    Ok(view)
}

/// The records with intervals of warm-up flagged, as schema 1 wrote them: what a point's end says, or for a point that
/// was cut off what it would have said.
pub(crate) fn with_warm_ups(records: &Records) -> Cow<'_, Records> {
    if records.manifest.schema < 2 {
        return Cow::Borrowed(records);
    }
    let mut flagged = records.clone();
    for begin in begins(records) {
        let of_point = || records.intervals.iter().filter(|i| i.point == begin.point);
        let first_ms = of_point().map(|i| i.from_ms).min().unwrap_or(0);
        let told = end_of(records, begin.point).and_then(|end| end.warmup_ms);
        let warmup_ms = told.unwrap_or_else(|| watched(rule(records, begin), of_point()).warmup_ms());
        let warm = |i: &&mut Interval| i.point == begin.point && i.from_ms < first_ms + warmup_ms;
        flagged.intervals.iter_mut().filter(warm).for_each(|i| i.warmup = true);
    }
    Cow::Owned(flagged)
}

/// By what rule a point's warm-up was cut. A point of deletes has none: what it deleted is gone.
fn rule(records: &Records, begin: &PointBegin) -> Rule {
    let asked = &records.manifest.asked;
    let deletes = begin.spec.workload == Op::Delete.name();
    let warmup_ms = if deletes { Some(0) } else { asked.warmup_ms };
    Rule { warmup_ms, precision: asked.precision, concurrency: begin.spec.concurrency }
}

fn watched<'a>(rule: Rule, intervals: impl Iterator<Item = &'a Interval>) -> Watch {
    let mut watch = Watch::new(rule);
    intervals.for_each(|i| _ = watch.push(i));
    watch
}

fn begins(records: &Records) -> impl Iterator<Item = &PointBegin> {
    records.points.iter().filter_map(|line| match line {
        PointLine::Begin(begin) => Some(begin),
        _ => None,
    })
}

/// The end of a point, where it came to one.
pub(crate) fn end_of(records: &Records, point: u32) -> Option<&PointEnd> {
    records.points.iter().find_map(|line| match line {
        PointLine::End(end) if end.point == point => Some(end),
        _ => None,
    })
}

fn summary(records: &Records, series: &[Series]) -> RunSummary {
    let manifest = &records.manifest;
    let last_interval = records.intervals.iter().map(|i| i.to_ms).max().unwrap_or(0);
    let last_point = begins(records).filter_map(|b| end_of(records, b.point)).map(|e| e.at_ms).max().unwrap_or(0);
    let ended = series.iter().flat_map(|s| &s.points).filter(|p| p.ended.is_some()).count();
    let searched = records.points.iter().filter(|line| matches!(line, PointLine::Searched(_))).count();
    let of_rates = manifest.asked.rate_search.as_ref().map_or(0, |s| s.series.len());
    let to_search = manifest.asked.search.as_ref().map_or(of_rates, |s| s.series.len());
    RunSummary {
        id: manifest.id.clone(),
        title: manifest.title.clone(),
        linerate_version: manifest.linerate_version.clone(),
        started_unix_ms: manifest.started_unix_ms,
        elapsed_ms: last_interval.max(last_point),
        complete: ended >= manifest.asked.points.len() && searched >= to_search,
        interval_ms: manifest.interval_ms,
        asked: manifest.asked.clone(),
        target: manifest.target.clone(),
        machine: manifest.machine.clone(),
    }
}

fn measure(points: &[Point]) -> Measure {
    let (bytes, requests) = points.iter().fold((0, 0), |(b, r), p| (b + p.bytes, r + p.requests));
    // Bodies so large that none has ended yet still move.
    measure_of(requests, bytes, points.iter().any(|p| p.moved_bytes > 0))
}

/// By which throughput requests are judged that ended, with so many bytes of bodies: by requests where bodies are small
/// or absent, by bytes otherwise. `moved` says whether any bytes moved.
pub(crate) fn measure_of(requests: u64, bytes: u64, moved: bool) -> Measure {
    if (requests == 0 && !moved) || (bytes as f64) < SMALL_BODY_BYTES * requests as f64 {
        Measure::Requests
    } else {
        Measure::Bytes
    }
}

/// Rows of one kind added up.
struct Sum {
    requests: u64,
    bytes: u64,
    moved_bytes: i64,
    errors: BTreeMap<String, u64>,
    retries: BTreeMap<String, u64>,
    throttled: u64,
    ttfb: Latencies,
    total: Latencies,
    ttfb_intended: Latencies,
    total_intended: Latencies,
}

impl Sum {
    fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Result<Self, DecodeError> {
        let mut sum = Sum {
            requests: 0,
            bytes: 0,
            moved_bytes: 0,
            errors: BTreeMap::new(),
            retries: BTreeMap::new(),
            throttled: 0,
            ttfb: histogram::empty(),
            total: histogram::empty(),
            ttfb_intended: histogram::empty(),
            total_intended: histogram::empty(),
        };
        for row in rows {
            sum.requests += row.requests;
            sum.bytes += row.bytes;
            sum.moved_bytes += row.moved_bytes;
            for (kind, n) in &row.errors {
                *sum.errors.entry(kind.clone()).or_default() += n;
            }
            for (kind, n) in &row.retries {
                *sum.retries.entry(kind.clone()).or_default() += n;
            }
            sum.throttled += row.throttled;
            histogram::add_encoded(&mut sum.ttfb, &row.ttfb)?;
            histogram::add_encoded(&mut sum.total, &row.total)?;
            for (intended, encoded) in
                [(&mut sum.ttfb_intended, &row.ttfb_intended), (&mut sum.total_intended, &row.total_intended)]
            {
                encoded.as_ref().map_or(Ok(()), |e| histogram::add_encoded(intended, e))?;
            }
        }
        Ok(sum)
    }
}

/// The figures of one point, or `None` where it has no whole interval outside its warm-up.
fn point(records: &Records, begin: &PointBegin, intervals: &[&Interval]) -> Result<Option<Point>, DecodeError> {
    let measured: Vec<&Interval> = intervals.iter().copied().filter(|i| !i.warmup && i.to_ms > i.from_ms).collect();
    if measured.is_empty() {
        return Ok(None);
    }
    let measured_ms: u64 = measured.iter().map(|i| i.to_ms - i.from_ms).sum();
    let seconds = measured_ms as f64 / 1e3;
    let rows: Vec<&Row> = measured.iter().flat_map(|i| i.whole_rows()).collect();
    let sum = Sum::of(rows.iter().copied())?;
    let first_ms = intervals.iter().map(|i| i.from_ms).min().unwrap_or(0);
    let warmup_ms = measured.first().map_or(0, |i| i.from_ms - first_ms);
    let (asked, ended) = (&records.manifest.asked, end_of(records, begin.point).map(|e| e.ended));
    let steady = begin.purpose == Purpose::Ceiling || settled(records, begin, intervals, warmup_ms);
    let per_second = |what: fn(&Row) -> f64| {
        let rate = |i: &&Interval| i.whole_rows().map(what).sum::<f64>() / ((i.to_ms - i.from_ms) as f64 / 1e3);
        // The mean is that of the whole time; what an interval that was cut short says of the spread is noise.
        let whole_ms = measured.iter().map(|i| i.to_ms - i.from_ms).max().unwrap_or(0);
        let whole = measured.iter().filter(|i| 2 * (i.to_ms - i.from_ms) >= whole_ms);
        let spread = estimate::mean_with_interval(&whole.map(rate).collect::<Vec<_>>());
        let estimate = Estimate { mean: rows.iter().copied().map(what).sum::<f64>() / seconds, ..spread };
        // Of what is still on its way no interval is known.
        if steady { precision::told(estimate, ended, measured_ms, asked.precision) } else { unknown(estimate) }
    };
    let thread_ns: u64 = measured.iter().flat_map(|i| &i.thread_cpu_ns).sum();
    let threads = measured.iter().map(|i| i.thread_cpu_ns.len()).max().filter(|&threads| threads > 0);
    let cost = |cpu_ns: u64| cpu_cost(cpu_ns, seconds, sum.requests, sum.moved_bytes);
    let tails = |latencies: &Latencies, of| {
        if steady { with_tails(latencies, &measured, of) } else { Ok(histogram::summarize(latencies)) }
    };
    let total_intended = tails(&sum.total_intended, |row| row.total_intended.as_ref())?;
    let intended = (histogram::summarize(&sum.ttfb_intended), total_intended);
    let slo = records.manifest.asked.slo.as_ref();
    let before = intervals.iter().copied().take_while(|i| i.warmup).last();
    let at_random = records.manifest.asked.arrivals.as_deref() == Some("poisson");
    let asked_per_s = begin.spec.rate_per_s.unwrap_or(0.0);
    let of = open_loop::Measuring { asked_per_s, at_random, before, measured: &measured };
    let open = open_loop::figures(&begin.spec, slo, &of, intended)?;
    let target_cpu_ns: Option<u64> = measured.iter().map(|i| i.target_cpu_ns).sum();
    Ok(Some(Point {
        point: begin.point,
        concurrency: begin.spec.concurrency,
        measured_ms,
        warmup_ms,
        steady,
        ended,
        bytes_per_s: per_second(|row| row.moved_bytes as f64),
        requests_per_s: per_second(|row| row.requests as f64),
        requests: sum.requests,
        bytes: sum.bytes,
        moved_bytes: sum.moved_bytes,
        retries: sum.retries,
        throttled: sum.throttled,
        open,
        ttfb: histogram::summarize(&sum.ttfb),
        total: tails(&sum.total, |row| Some(&row.total))?,
        client_cpu: threads.map(|_| cost(measured.iter().map(|i| i.client_cpu_ns).sum())),
        client_busy: threads.map(|threads| (thread_ns as f64 / 1e9 / seconds / threads as f64).min(1.0)),
        target_cpu: target_cpu_ns.map(cost),
        machine_busy: None,
        ops: ops(&measured.iter().flat_map(|i| &i.rows).collect::<Vec<_>>(), seconds)?,
        hosts: hosts(records, &rows, seconds)?,
        errors: sum.errors,
    }))
}

/// Whether a point had settled. A warm-up that was found is looked for again in the whole; one that was given is not
/// part of what is looked at.
fn settled(records: &Records, begin: &PointBegin, intervals: &[&Interval], warmup_ms: u64) -> bool {
    let given_ms = rule(records, begin).warmup_ms.map(|_| warmup_ms);
    watched(Rule { warmup_ms: given_ms, ..rule(records, begin) }, intervals.iter().copied()).settled()
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

fn ops(rows: &[&Row], seconds: f64) -> Result<Vec<OpFigures>, DecodeError> {
    let mut figures = Vec::new();
    for op in Op::ALL {
        let of_op: Vec<&Row> = rows.iter().copied().filter(|r| r.op == op).collect();
        if of_op.is_empty() {
            continue;
        }
        let sum = Sum::of(of_op)?;
        figures.push(OpFigures {
            op,
            requests: sum.requests,
            errors: sum.errors.values().sum(),
            requests_per_s: sum.requests as f64 / seconds,
            bytes_per_s: sum.moved_bytes as f64 / seconds,
            ttfb: histogram::summarize(&sum.ttfb),
            total: histogram::summarize(&sum.total),
        });
    }
    Ok(figures)
}

fn hosts(records: &Records, rows: &[&Row], seconds: f64) -> Result<Vec<HostFigures>, DecodeError> {
    let mut figures = Vec::new();
    for (number, host) in records.manifest.target.hosts.iter().enumerate() {
        let sum = Sum::of(rows.iter().copied().filter(|r| r.host as usize == number))?;
        let (ttfb, total) = (histogram::summarize(&sum.ttfb), histogram::summarize(&sum.total));
        figures.push(HostFigures {
            host: host.clone(),
            requests: sum.requests,
            errors: sum.errors.values().sum(),
            requests_per_s: sum.requests as f64 / seconds,
            bytes_per_s: sum.moved_bytes as f64 / seconds,
            ttfb_p50_ns: ttfb.p50_ns,
            total_p50_ns: total.p50_ns,
            total_p99_ns: total.p99_ns,
        });
    }
    Ok(figures)
}
