//! Runs of several clients. Their view is that of the sum: of each point, intervals of the same time are added up, and
//! histograms merge exactly. What is read of one machine stays with its client: each is looked at by itself, one after
//! the other, and leaves rows and findings in the run's view.

mod client_findings;
mod common_time;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use linerate_record::finding::{Finding, FindingKind};
use linerate_record::histogram::{DecodeError, add_encoded};
use linerate_record::reading::Reading;
use linerate_record::run::{
    Client, Interval, LoadRequest, Manifest, PointBegin, PointLine, PointSpec, in_sequence, side_by_side, summed,
};

pub(crate) use self::client_findings::lost_clients;
use self::common_time::{FullLoad, full_load};
use super::{Figures, begins, finished, given_warm_up_ms};
use crate::records::{Records, point_end};
use crate::steady;
use crate::view::{
    Bottleneck, ClientCeiling, ClientFigures, ClientFull, ClientNic, ClientSpread, MachineSample, Measure, Point,
    Series, SeriesLimit, View, is_visit,
};
use crate::{bottlenecks, counters};

/// What is told of one machine, or of one process on it: of each client by itself.
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

/// The records of all clients as those of one.
pub(super) struct ClientSum<'a> {
    /// Intervals added up, those of warm-ups flagged where a client had not come to its level yet.
    pub(super) records: Cow<'a, Records>,
    /// By how many clients the figures of each point are; empty with one client.
    driven_by: BTreeMap<u32, u32>,
    /// For each client and each interval of `records` that it is in: that interval's place, and those of its own. Empty
    /// with one client.
    parts: Vec<Vec<(usize, Vec<usize>)>>,
}

/// The records with the intervals of all clients added up, and without readings, which are of one machine each. Those
/// of one client as they are.
///
/// # Errors
/// [`DecodeError`] where a histogram of the folder is damaged.
pub fn together(records: &Records) -> Result<Cow<'_, Records>, DecodeError> {
    Ok(added_up(records)?.records)
}

pub(super) fn added_up(records: &Records) -> Result<ClientSum<'_>, DecodeError> {
    let clients = records.manifest.clients.len();
    if clients < 2 {
        return Ok(ClientSum { records: Cow::Borrowed(records), driven_by: BTreeMap::new(), parts: Vec::new() });
    }
    let (mut intervals, mut driven_by, mut parts) = (Vec::new(), BTreeMap::new(), vec![Vec::new(); clients]);
    for (number, places) in by_point(records) {
        let of_point: Vec<&Interval> = places.iter().map(|&place| &records.intervals[place]).collect();
        let begin = begins(records).find(|begin| begin.point == number);
        let lost = records.points.iter().find_map(|line| match line {
            PointLine::End(end) if end.point == number => Some(&end.lost[..]),
            _ => None,
        });
        let full = full_load(&of_point, begin.and_then(|begin| begin.spec.clients), lost.unwrap_or_default());
        let warm = begin.map_or(0, |begin| late_ramp(records, begin, &of_point, &full));
        driven_by.insert(number, u32::try_from(full.clients.len()).unwrap_or(u32::MAX));
        for (at, stretch) in full.stretches.iter().enumerate() {
            let same: Vec<&Interval> = stretch.of.iter().map(|&at| of_point[at]).collect();
            for &of in &stretch.of {
                let own: Option<&mut Vec<(usize, Vec<usize>)>> = parts.get_mut(of_point[of].client as usize);
                let Some(own) = own else { continue };
                match own.last_mut().filter(|(place, _)| *place == intervals.len()) {
                    Some((_, all)) => all.push(places[of]),
                    None => own.push((intervals.len(), vec![places[of]])),
                }
            }
            intervals.push(Interval { warmup: at < warm, ..side_by_side(stretch.from_ms, &same)? });
        }
    }
    let records = Records {
        manifest: records.manifest.clone(),
        points: records
            .points
            .iter()
            .map(|line| with_due_rate(records, line, |begin| driven_by.get(&begin.point).copied()))
            .collect(),
        intervals,
        readings: Vec::new(),
        canary: records.canary.clone(),
        findings: records.findings.clone(),
    };
    Ok(ClientSum { records: Cow::Owned(records), driven_by, parts })
}

/// A line of `points.jsonl` with the rate that was due from those of its clients that count, `counted` of each point,
/// and the requests that these kept in flight: all that began to drive it shared both evenly.
fn with_due_rate(records: &Records, line: &PointLine, counted: impl Fn(&PointBegin) -> Option<u32>) -> PointLine {
    let PointLine::Begin(begin) = line else { return line.clone() };
    let Some(counted) = counted(begin).filter(|&counted| counted > 0) else { return line.clone() };
    let begun = match &records.manifest.load {
        // An open loop has one concurrency.
        Some(load) if begin.spec.rate_per_s.is_some() => begin.spec.concurrency / load.levels.highest().max(1),
        _ => {
            let of_point = records.intervals.iter().filter(|interval| interval.point == begin.point);
            let lost = point_end(records, begin.point).map_or(&[][..], |end| &end.lost);
            let begun = of_point.map(|interval| interval.client).chain(lost.iter().map(|lost| lost.client));
            begun.collect::<BTreeSet<_>>().len() as u32
        }
    };
    let begun = begun.max(counted);
    let concurrency = (u64::from(begin.spec.concurrency) * u64::from(counted) / u64::from(begun)) as u32;
    let rate_per_s = begin.spec.rate_per_s.map(|per_s| per_s * f64::from(counted) / f64::from(begun));
    let spec = PointSpec { rate_per_s, concurrency, ..begin.spec.clone() };
    PointLine::Begin(PointBegin { spec, ..begin.clone() })
}

impl ClientSum<'_> {
    /// By how many clients the figures of a point are; `None` where there was one.
    pub(super) fn driven_by(&self, point: u32) -> Option<u32> {
        self.driven_by.get(&point).copied()
    }
}

/// The places of the intervals of each point.
fn by_point(records: &Records) -> BTreeMap<u32, Vec<usize>> {
    let mut points = BTreeMap::<u32, Vec<usize>>::new();
    records.intervals.iter().enumerate().for_each(|(at, i)| points.entry(i.point).or_default().push(at));
    points
}

/// So many stretches at the beginning in which some client had not come to its level: in the sum of many, one that
/// warms up later is not seen. Nothing where the warm-up was given.
fn late_ramp(records: &Records, begin: &PointBegin, of_point: &[&Interval], full: &FullLoad) -> usize {
    if given_warm_up_ms(records, begin).is_some() {
        return 0;
    }
    let mut moved = BTreeMap::<u32, Vec<f64>>::new();
    for stretch in &full.stretches {
        let mut sums = BTreeMap::<u32, (f64, u64)>::new();
        for interval in stretch.of.iter().map(|&at| of_point[at]) {
            let (sum, length_ms) = sums.entry(interval.client).or_default();
            *sum += interval.whole_rows().map(|row| row.moved_bytes as f64 + row.requests as f64).sum::<f64>();
            *length_ms += interval.length_ms();
        }
        for (client, (sum, length_ms)) in sums {
            moved.entry(client).or_default().push(sum / length_ms.max(1) as f64);
        }
    }
    moved.values().map(|values| steady::ramp(values)).max().unwrap_or(0)
}

/// What one of several clients leaves in the run's view.
pub(super) struct ClientPart {
    /// Its row of each point, by number.
    rows: BTreeMap<u32, ClientFigures>,
    /// Its row of all visits of a concurrency together, by the number of that point.
    pooled: BTreeMap<u32, ClientFigures>,
    /// What bound it where a series was best, by the series' place.
    limits: Vec<Option<SeriesLimit>>,
    /// What is told of its machine.
    findings: Vec<Finding>,
    name: String,
}

/// What each client did, as if it had been alone, in the time in which all of them drove load; empty with one client.
/// They are looked at one after the other: only one at a time has records of its own.
pub(super) fn parts(
    all: &Records,
    together: &ClientSum<'_>,
    flagged: &[Interval],
    series: &[Series],
) -> Result<Vec<ClientPart>, DecodeError> {
    let mut readings = vec![Vec::new(); together.parts.len()];
    for reading in &all.readings {
        if let Some(own) = readings.get_mut(reading.client as usize) {
            own.push(reading);
        }
    }
    let clients = all.manifest.clients.iter().zip(&together.parts).zip(readings);
    clients
        .map(|((client, own), readings)| {
            part(client, &of_client(all, together, client, own, flagged, &readings)?, series)
        })
        .collect()
}

/// The records of one client as a run of its own, with warm-ups flagged. Of its hosts, which nothing of one machine is
/// about, all rows are one.
fn of_client(
    all: &Records,
    together: &ClientSum<'_>,
    client: &Client,
    own: &[(usize, Vec<usize>)],
    flagged: &[Interval],
    readings: &[&Reading],
) -> Result<Records, DecodeError> {
    let number = all.manifest.clients.iter().position(|one| one.name == client.name).unwrap_or(0);
    // What was asked of all is complete or not for all.
    let requested = LoadRequest {
        points: Vec::new(),
        search: None,
        rate_search: None,
        threads: client.threads,
        ..all.manifest.requested.clone()
    };
    // Its points of a closed loop are found by the concurrency of all.
    let counted = |begin: &PointBegin| match begin.spec.rate_per_s {
        Some(_) => Some(1),
        None => together.driven_by(begin.point),
    };
    let interval = |(place, own): &(usize, Vec<usize>)| {
        let same: Vec<&Interval> = own.iter().map(|&at| &all.intervals[at]).collect();
        let mut sum = Interval { client: 0, ..in_sequence(&same)? };
        sum.rows.iter_mut().for_each(|row| row.host = 0);
        let rows = summed(&sum.rows, add_encoded)?.into_iter().map(|row| row.encoded()).collect();
        Ok(Interval { rows, warmup: flagged[*place].warmup, ..sum })
    };
    Ok(Records {
        manifest: Manifest { requested, clients: vec![client.clone()], ..all.manifest.clone() },
        points: all.points.iter().map(|line| of_one(with_due_rate(all, line, counted), number)).collect(),
        intervals: own.iter().map(interval).collect::<Result<_, DecodeError>>()?,
        readings: readings.iter().map(|&reading| Reading { client: 0, ..reading.clone() }).collect(),
        canary: Vec::new(),
        findings: Vec::new(),
    })
}

/// A line of `points.jsonl` with the requests in flight of one client, which is the only one of its records.
fn of_one(mut line: PointLine, client: usize) -> PointLine {
    if let PointLine::End(end) = &mut line
        && let Some(rows) = &mut end.in_flight
    {
        rows.retain(|row| row.client as usize == client);
        rows.iter_mut().for_each(|row| (row.client, row.host) = (0, 0));
    }
    line
}

fn part(client: &Client, own: &Records, series: &[Series]) -> Result<ClientPart, DecodeError> {
    let view = finished(own, Figures::from_records(own, |_| None)?, &[])?;
    let samples = counters::samples(&own.readings);
    let ceilings = || view.ceilings.iter().flat_map(|c| std::iter::once(&c.point).chain(&c.plain));
    let points = view.series.iter().flat_map(|series| &series.points).chain(ceilings());
    let rows = points.map(|point| (point.point, figures(client, point, own, &samples))).collect();
    let mut pooled = BTreeMap::new();
    for of_all in series {
        let Some(own_series) = view.series.iter().find(|own| is_same(own, of_all)) else { continue };
        for all in &of_all.pooled {
            if let Some(point) = own_series.at_each().into_iter().find(|point| is_visit(all, point)) {
                pooled.insert(all.point, figures(client, point, own, &samples));
            }
        }
    }
    let limits = series.iter().map(|of_all| own_limit(of_all, &view, own, &samples)).collect();
    let findings = view.findings.into_iter().filter(|finding| OF_A_CLIENT.contains(&finding.kind)).collect();
    Ok(ClientPart { rows, pooled, limits, findings, name: client.name.clone() })
}

/// Whether points of two series differ in concurrency alone.
fn is_same(one: &Series, other: &Series) -> bool {
    one.workload == other.workload && one.size == other.size && one.clients == other.clients
}

fn figures(client: &Client, point: &Point, own: &Records, samples: &[MachineSample]) -> ClientFigures {
    let visits: Vec<&Interval> = own.intervals.iter().filter(|i| i.point == point.point).collect();
    let inside = counters::samples_of(samples, &visits);
    let throughput = if point.moved_bytes > 0 { &point.bytes_per_s } else { &point.requests_per_s };
    let mean =
        |extract: fn(&MachineSample) -> f64| inside.iter().map(|s| extract(s)).sum::<f64>() / inside.len() as f64;
    // As in the row of all: from when requests were due, where they were.
    let (ttfb, total) = match &point.open {
        Some(open) => (&open.ttfb_intended, &open.total_intended),
        None => (&point.ttfb, &point.total),
    };
    ClientFigures {
        client: client.name.clone(),
        requests: point.requests,
        errors: point.error_count(),
        requests_per_s: point.requests_per_s.mean,
        bytes_per_s: point.bytes_per_s.mean,
        share: 0.0,
        half_width_share: throughput.half_width_share(),
        ttfb_p50_ns: ttfb.p50_ns,
        total_p50_ns: total.p50_ns,
        total_p99_ns: total.p99_ns,
        ttfb_at_least_ns: ttfb.at_least_ns,
        total_at_least_ns: total.at_least_ns,
        busy: point.client_busy,
        machine_busy: point.machine_busy,
        nic: busiest(client, &inside),
        retransmits_per_s: (!inside.is_empty()).then(|| mean(|s| s.retransmits_per_s)),
        ceiling_share: None,
        below_peers: None,
        full: None,
    }
}

/// The interface that was nearest to its speed, and else the one that carried most.
fn busiest(client: &Client, inside: &[&MachineSample]) -> Option<ClientNic> {
    let mut carried = BTreeMap::<&str, f64>::new();
    for nic in inside.iter().flat_map(|sample| &sample.nics).filter(|nic| nic.name != "lo") {
        *carried.entry(&nic.name).or_default() += 8.0 * nic.rx_bytes_per_s.max(nic.tx_bytes_per_s);
    }
    let nics = carried.into_iter().map(|(name, sum)| {
        let speed = client.machine.nics.iter().find(|nic| nic.name == name).and_then(|nic| nic.speed_bits_per_s);
        let bits_per_s = sum / inside.len().max(1) as f64;
        let utilisation = speed.filter(|&speed| speed > 0).map(|speed| bits_per_s / speed as f64);
        ClientNic { name: name.to_owned(), bits_per_s, utilisation }
    });
    nics.max_by(|a, b| {
        let order = |nic: &ClientNic| nic.utilisation.unwrap_or(0.0);
        order(a).total_cmp(&order(b)).then(a.bits_per_s.total_cmp(&b.bits_per_s))
    })
}

/// What bound a client where a series was best: its threads, its machine, its NIC, or what disturbed it there.
fn own_limit(series: &Series, view: &View, own: &Records, samples: &[MachineSample]) -> Option<SeriesLimit> {
    let best = series.best_point()?;
    let own_series = view.series.iter().find(|own| is_same(own, series))?;
    let alone = Series {
        measure: series.measure,
        points: own_series.visits_of(best).cloned().collect(),
        pooled: own_series.together_of(best).cloned().into_iter().collect(),
        ..Series::empty(&series.workload, &series.size, series.clients)
    };
    let limit = bottlenecks::find(&alone, view.ceiling_of(&alone).as_deref(), own, samples)?;
    let is_own =
        matches!(limit.bound, Bottleneck::Client | Bottleneck::Disturbed | Bottleneck::Machine | Bottleneck::Nic);
    is_own.then_some(limit)
}

/// Who bound the best point of a series: what was asked of all clients, or at least half of them by themselves, or what
/// all of them together show.
pub(super) fn limit(
    of_all: Option<SeriesLimit>,
    place: usize,
    series: &Series,
    parts: &[ClientPart],
) -> Option<SeriesLimit> {
    let requested_for = [Bottleneck::Hanging, Bottleneck::RequestedRate, Bottleneck::RateCap, Bottleneck::Backoff];
    if of_all.as_ref().is_some_and(|limit| requested_for.contains(&limit.bound)) {
        return of_all;
    }
    let bound: Vec<(&str, &SeriesLimit)> =
        parts.iter().filter_map(|part| Some((part.name.as_str(), part.limits[place].as_ref()?))).collect();
    let driving = series.best_point().map_or(0, |best| best.clients.len());
    let Some((name, first)) = bound.first().copied().filter(|_| 2 * bound.len() >= driving) else { return of_all };
    let claim = match bound.len() {
        1 => client_findings::of_client(name, &first.claim),
        many => {
            format!("{many} of {driving} clients are the bottleneck themselves: at the first, {name}, {}", first.claim)
        }
    };
    Some(SeriesLimit { claim, ..first.clone() })
}

/// Puts the rows of each client into points and ceilings, with what they come to beside each other.
pub(super) fn add_rows(series: &mut [Series], ceilings: &mut [ClientCeiling], parts: &[ClientPart]) {
    if parts.is_empty() {
        return;
    }
    let row = |number: u32| parts.iter().filter_map(|part| part.rows.get(&number).cloned()).collect::<Vec<_>>();
    for ceiling in ceilings.iter_mut() {
        let measure = super::measure(std::slice::from_ref(&ceiling.point));
        for point in std::iter::once(&mut ceiling.point).chain(&mut ceiling.plain) {
            point.clients = row(point.point);
            shares(point, measure);
        }
    }
    for one in series {
        let ceiling = crate::view::ceiling_of(ceilings, one);
        let (measure, of_pooled) = (one.measure, &mut one.pooled);
        for point in &mut one.points {
            point.clients = row(point.point);
        }
        for point in of_pooled.iter_mut() {
            point.clients = parts.iter().filter_map(|part| part.pooled.get(&point.point).cloned()).collect();
        }
        for point in one.points.iter_mut().chain(of_pooled) {
            shares(point, measure);
            alongside_ceiling(&mut point.clients, ceiling.as_deref(), measure);
        }
    }
}

/// What each gave of all, and how far they are apart.
fn shares(point: &mut Point, measure: Measure) {
    point.client_spread = ClientSpread::new(&point.clients, measure);
    let rows = &mut point.clients;
    let all: f64 = rows.iter().map(|row| row.throughput(measure)).sum();
    rows.iter_mut().filter(|_| all > 0.0).for_each(|row| row.share = row.throughput(measure) / all);
}

/// What each drove as a share of its ceiling, and what of it was full.
fn alongside_ceiling(rows: &mut [ClientFigures], ceiling: Option<&ClientCeiling>, measure: Measure) {
    for row in rows {
        let of_row = |c: &ClientCeiling| {
            c.point.clients.iter().find(|own| own.client == row.client).map(|own| own.throughput(measure))
        };
        let own = ceiling.and_then(of_row).filter(|&own| own > 0.0);
        row.ceiling_share = own.map(|own| row.throughput(measure) / own);
        row.full = if row.busy.is_some_and(|busy| busy >= bottlenecks::THREAD_FULL) {
            Some(ClientFull::Threads)
        } else if row.nic.as_ref().and_then(|nic| nic.utilisation).is_some_and(|of| of >= bottlenecks::NIC_FULL) {
            Some(ClientFull::Nic)
        } else if row.ceiling_share.is_some_and(|share| bottlenecks::is_ceiling_reached(share, row.busy)) {
            Some(ClientFull::NullTarget)
        } else {
            None
        };
    }
}

/// Puts what there is to say of single clients into the view of all.
pub(super) fn add_findings(view: &mut View, all: &Records, parts: Vec<ClientPart>) {
    if parts.is_empty() {
        return;
    }
    view.run.clients = all.manifest.clients.clone();
    // What was told during the run is of who drove it, and is true of no client.
    let is_reported = |finding: &Finding| all.findings.contains(finding) || finding.kind == FindingKind::NicBound;
    view.findings.retain(|finding| !OF_A_CLIENT.contains(&finding.kind) || is_reported(finding));
    let of_machines = parts.into_iter().flat_map(|part| part.findings.into_iter().map(move |f| (part.name.clone(), f)));
    view.findings.extend(client_findings::grouped(of_machines.collect()));
    let more = [client_findings::missing(all), client_findings::slow(view), client_findings::full(view)].concat();
    view.findings.extend(more);
    crate::findings::sort(&mut view.findings);
}

#[cfg(test)]
mod tests;
