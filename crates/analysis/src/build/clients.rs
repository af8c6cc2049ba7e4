//! Runs of several clients. Their view is that of the sum: of each point, intervals of the same time are added up, and
//! histograms merge exactly. What is read of one machine stays with its client: each has a view of its own, of which
//! the run's takes rows and findings.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::histogram::{DecodeError, add_encoded};
use linerate_record::load::Workload;
use linerate_record::run::{
    Interval, LoadRequest, Manifest, OpenInterval, PointLine, PointSizes, Purpose, Worded, summed,
};

use super::{build, with_warm_ups};
use crate::records::Records;
use crate::view::{Bottleneck, ClientFigures, Point, Series, SeriesLimit, Summary, View};
use crate::{counters, findings, limits};

/// What is told of one machine, or of one process on it: each client's own view has it.
const OF_A_CLIENT: [FindingKind; 12] = [
    FindingKind::BondMemberFull,
    FindingKind::BytesUnaccounted,
    FindingKind::ClockStep,
    FindingKind::Disturbed,
    FindingKind::InterruptsOnOneProcessor,
    FindingKind::NicBound,
    FindingKind::PacketLoss,
    FindingKind::SoftirqLoad,
    FindingKind::StolenTime,
    FindingKind::Stopped,
    FindingKind::ThreadFull,
    FindingKind::WireOverhead,
];

/// Lengths of an interval by which a client may begin after the others, or end before them.
const APART_MAX: u64 = 2;

/// What one of several clients did.
pub(super) struct ClientPart {
    name: String,
    /// Its own, with warm-ups flagged.
    records: Records,
    view: View,
}

/// What each client did, as if it had been alone; empty where it was.
pub(super) fn parts(records: &Records) -> Result<Vec<ClientPart>, DecodeError> {
    if records.manifest.clients.len() < 2 {
        return Ok(Vec::new());
    }
    let one = |(number, client): (u32, &linerate_record::run::Client)| {
        let own = of_client(records, number);
        let own = with_warm_ups(&own).into_owned();
        Ok(ClientPart { name: client.name.clone(), view: build(&own)?, records: own })
    };
    (0..).zip(&records.manifest.clients).map(one).collect()
}

/// The records of one client, as a run of its own.
fn of_client(records: &Records, number: u32) -> Records {
    let manifest = &records.manifest;
    let client = manifest.clients[number as usize].clone();
    // What was asked of all is complete or not for all.
    let asked = LoadRequest {
        points: Vec::new(),
        search: None,
        rate_search: None,
        threads: client.threads,
        ..manifest.asked.clone()
    };
    let intervals = records.intervals.iter().filter(|i| i.client == number);
    let readings = records.readings.iter().filter(|r| r.client == number);
    Records {
        manifest: Manifest { asked, clients: vec![client], ..manifest.clone() },
        points: records.points.clone(),
        intervals: intervals.map(|i| Interval { client: 0, ..i.clone() }).collect(),
        readings: readings.map(|r| linerate_record::reading::Reading { client: 0, ..r.clone() }).collect(),
        canary: Vec::new(),
        findings: Vec::new(),
    }
}

/// The records with the intervals of all clients added up, and without readings, which are of one machine each. Those
/// of one client as they are.
///
/// # Errors
/// [`DecodeError`] where a histogram of the folder is damaged.
pub fn together(records: &Records) -> Result<Cow<'_, Records>, DecodeError> {
    if records.manifest.clients.len() < 2 {
        return Ok(Cow::Borrowed(records));
    }
    let mut intervals = Vec::new();
    for of_point in by_point(records).values() {
        intervals.extend(by_time(of_point)?);
    }
    Ok(Cow::Owned(Records {
        manifest: records.manifest.clone(),
        points: records.points.clone(),
        intervals,
        readings: Vec::new(),
        canary: records.canary.clone(),
        findings: records.findings.clone(),
    }))
}

fn by_point(records: &Records) -> BTreeMap<u32, Vec<&Interval>> {
    let mut points = BTreeMap::<u32, Vec<&Interval>>::new();
    records.intervals.iter().for_each(|i| points.entry(i.point).or_default().push(i));
    points
}

/// The intervals of one point, those of the same time added up. Clocks of clients are not exactly at one, so an
/// interval belongs to that of the grid which is nearest. Time in which a client is missing is left out: load of some
/// is not the load that was asked for.
fn by_time(of_point: &[&Interval]) -> Result<Vec<Interval>, DecodeError> {
    let clients: BTreeSet<u32> = of_point.iter().map(|i| i.client).collect();
    let begin_ms = of_point.iter().map(|i| i.from_ms).min().unwrap_or(0);
    let length_ms = of_point.iter().map(|i| i.length_ms()).max().unwrap_or(0).max(1);
    let mut grid = BTreeMap::<u64, Vec<&Interval>>::new();
    for interval in of_point {
        let place = (interval.from_ms - begin_ms + length_ms / 2) / length_ms;
        grid.entry(place).or_default().push(interval);
    }
    let all_are_there = |same: &[&Interval]| same.iter().map(|i| i.client).collect::<BTreeSet<u32>>() == clients;
    let whole = grid.into_iter().filter(|(_, same)| all_are_there(same));
    whole.map(|(place, same)| sum(begin_ms + place * length_ms, same)).collect()
}

fn sum(from_ms: u64, mut same: Vec<&Interval>) -> Result<Interval, DecodeError> {
    same.sort_by_key(|i| i.client);
    let mut open = None;
    for one in same.iter().filter_map(|i| i.open.as_ref()) {
        open.get_or_insert_with(OpenInterval::none).add(one, add_encoded)?;
    }
    // Known of one client, the one beside the target, it is known.
    let of_target = same.iter().filter_map(|i| i.target_cpu_ns).reduce(|a, b| a + b);
    let sum = Interval {
        point: same[0].point,
        client: 0,
        from_ms,
        to_ms: from_ms + same.iter().map(|i| i.length_ms()).max().unwrap_or(0),
        warmup: false,
        client_cpu_ns: same.iter().map(|i| i.client_cpu_ns).sum(),
        thread_cpu_ns: same.iter().flat_map(|i| &i.thread_cpu_ns).copied().collect(),
        target_cpu_ns: of_target,
        held_back: same.iter().map(|i| i.held_back).fold(0, u32::saturating_add),
        rested_ns: same.iter().map(|i| i.rested_ns).sum(),
        paused_ns: same.iter().map(|i| i.paused_ns).sum(),
        open,
        rows: summed(same.iter().flat_map(|i| &i.rows), add_encoded)?,
    };
    Ok(sum.encoded())
}

/// Who bound the best point of a series: what was asked of all clients, or one of them itself, or what all of them
/// together show.
pub(super) fn limit(of_all: Option<SeriesLimit>, series: &Series, parts: &[ClientPart]) -> Option<SeriesLimit> {
    match of_all.as_ref().map(|limit| limit.bound) {
        Some(Bottleneck::AskedRate | Bottleneck::RateCap | Bottleneck::Rests) => of_all,
        _ => own_limit(series, parts).or(of_all),
    }
}

/// The first client that bound it: its threads, its machine, its NIC, or what disturbed it there.
fn own_limit(series: &Series, parts: &[ClientPart]) -> Option<SeriesLimit> {
    let best = series.best_point()?;
    parts.iter().find_map(|part| {
        let is_it = |workload: &Worded<Workload>, size: &Worded<PointSizes>| {
            *workload == series.workload && *size == series.size
        };
        let own = part.view.series.iter().find(|s| is_it(&s.workload, &s.size))?;
        let alone = Series {
            workload: series.workload.clone(),
            size: series.size.clone(),
            range_bytes: series.range_bytes,
            measure: series.measure,
            points: own.visits_of(best).cloned().collect(),
            pooled: own.pooled.iter().filter(|p| p.concurrency == best.concurrency).cloned().collect(),
            knee: None,
            scaling: None,
            sustained: None,
            predicted: None,
            limit: None,
            summary: Summary::default(),
        };
        let ceiling = part.view.ceilings.iter().find(|c| is_it(&c.workload, &c.size));
        let samples = counters::samples(&part.records.readings);
        let limit = limits::find(&alone, ceiling, &part.records, &samples)?;
        let is_own =
            matches!(limit.bound, Bottleneck::Client | Bottleneck::Disturbed | Bottleneck::Machine | Bottleneck::Nic);
        is_own.then(|| SeriesLimit { claim: reported(&part.name, &limit.claim), ..limit })
    })
}

/// A claim with the client that it is about.
fn reported(name: &str, claim: &str) -> String {
    format!("client {name}: {claim}")
}

/// Puts what each client did into the view of all: rows and findings.
pub(super) fn add(view: &mut View, records: &Records, parts: &[ClientPart]) {
    if parts.is_empty() {
        return;
    }
    view.run.clients = records.manifest.clients.clone();
    let of_series = view.series.iter_mut().flat_map(|series| &mut series.points);
    let of_ceilings = view.ceilings.iter_mut().flat_map(|c| std::iter::once(&mut c.point).chain(&mut c.plain));
    for point in of_series.chain(of_ceilings) {
        point.clients = parts.iter().filter_map(|part| row(part, point.point)).collect();
    }
    for series in &mut view.series {
        let is_it = |own: &&Series| own.workload == series.workload && own.size == series.size;
        for pooled in &mut series.pooled {
            let of_part = |part: &ClientPart| {
                let all = part.view.series.iter().find(is_it)?.at_each();
                all.into_iter().find(|p| p.concurrency == pooled.concurrency).map(|p| figures(part, p))
            };
            pooled.clients = parts.iter().filter_map(of_part).collect();
        }
    }
    view.findings.retain(|finding| !OF_A_CLIENT.contains(&finding.kind) || finding.kind == FindingKind::NicBound);
    for part in parts {
        let own = part.view.findings.iter().filter(|finding| OF_A_CLIENT.contains(&finding.kind));
        view.findings.extend(own.map(|f| Finding { claim: reported(&part.name, &f.claim), ..f.clone() }));
    }
    view.findings.extend(missing(records));
    findings::sort(&mut view.findings);
}

fn row(part: &ClientPart, number: u32) -> Option<ClientFigures> {
    let view = &part.view;
    let ceilings = view.ceilings.iter().flat_map(|c| std::iter::once(&c.point).chain(&c.plain));
    let mut points = view.series.iter().flat_map(|series| &series.points).chain(ceilings);
    points.find(|point| point.point == number).map(|point| figures(part, point))
}

fn figures(part: &ClientPart, point: &Point) -> ClientFigures {
    ClientFigures {
        client: part.name.clone(),
        requests: point.requests,
        errors: point.error_count(),
        requests_per_s: point.requests_per_s.mean,
        bytes_per_s: point.bytes_per_s.mean,
        ttfb_p50_ns: point.ttfb.p50_ns,
        total_p50_ns: point.total.p50_ns,
        total_p99_ns: point.total.p99_ns,
        busy: point.client_busy,
        machine_busy: point.machine_busy,
    }
}

/// Clients that drove no load at some points, or not as long as the others.
fn missing(records: &Records) -> Vec<Finding> {
    let is_measured = |line: &PointLine| match line {
        PointLine::Begin(begin) if begin.purpose == Purpose::Measure => Some(begin.point),
        _ => None,
    };
    let measured: BTreeSet<u32> = records.points.iter().filter_map(is_measured).collect();
    let by_point = by_point(records);
    let points = || by_point.iter().filter(|(point, _)| measured.contains(point));
    let clients = (0u32..).zip(&records.manifest.clients);
    let of_client = |(number, client): (u32, &linerate_record::run::Client)| {
        let apart = |of_point: &[&Interval]| apart_ms(of_point, number);
        let reported: Vec<(u32, u64)> = points().filter_map(|(&point, all)| Some((point, apart(all)?))).collect();
        let (_, worst_ms) = *reported.iter().max_by_key(|(_, ms)| *ms)?;
        Some(Finding {
            kind: FindingKind::ClientMissing,
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            points: reported.iter().map(|(point, _)| *point).collect(),
            claim: self::reported(&client.name, "it drove load for less time than the others"),
            evidence: format!("{:.1} s without it, at the longest", worst_ms as f64 / 1e3),
            remedy: "figures cover the time in which all clients drove load: find out what happened to it".into(),
        })
    };
    clients.filter_map(of_client).collect()
}

/// How long others drove load in a point and a client did not; `None` where that is no more than clocks and ends make.
fn apart_ms(of_point: &[&Interval], client: u32) -> Option<u64> {
    let bounds = |own: &mut dyn Iterator<Item = &&Interval>| {
        own.fold(None, |known: Option<(u64, u64)>, i| {
            let (from, to) = known.unwrap_or((i.from_ms, i.to_ms));
            Some((from.min(i.from_ms), to.max(i.to_ms)))
        })
    };
    let (from, to) = bounds(&mut of_point.iter())?;
    let apart_ms = match bounds(&mut of_point.iter().filter(|i| i.client == client)) {
        Some((own_from, own_to)) => (own_from - from) + (to - own_to),
        None => to - from,
    };
    let length_ms = of_point.iter().map(|i| i.length_ms()).max().unwrap_or(0);
    (apart_ms > APART_MAX * length_ms).then_some(apart_ms)
}

#[cfg(test)]
mod tests;
