//! Findings that name clients: one for all that it is true of, so that a run of many stays readable.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::lines::listed;
use linerate_record::run::{Client, Interval, PointLine, Purpose};
use linerate_record::units::{bits_per_s, bytes_per_s_iec, count, percent};

use super::by_point;
use crate::estimate::standard_error;
use crate::peers::{self, PeerRate};
use crate::records::Records;
use crate::view::{ClientFigures, ClientFull, Measure, Point, Series, View, load_in_words};

/// Lengths of an interval by which a client may begin after the others, or end before them.
const APART_MAX: u64 = 2;

/// Clients that are named in a sentence; of more, the rest are counted.
const NAMED_MAX: usize = 3;

/// A claim with the client that it is about.
pub(super) fn of_client(name: &str, claim: &str) -> String {
    format!("client {name}: {claim}")
}

/// Findings of single clients, each told with its client, and those of one kind that several have as one.
pub(super) fn grouped(all: Vec<(String, Finding)>) -> Vec<Finding> {
    let mut kinds = BTreeMap::<(FindingKind, Severity), Vec<(String, Finding)>>::new();
    for (name, finding) in all {
        kinds.entry((finding.kind, finding.severity)).or_default().push((name, finding));
    }
    let mut findings = Vec::new();
    for of_kind in kinds.into_values() {
        let who: BTreeSet<&str> = of_kind.iter().map(|(name, _)| name.as_str()).collect();
        let [(_, reported), ..] = &of_kind[..] else { continue };
        if who.len() == 1 {
            findings.extend(of_kind.iter().map(|(name, f)| Finding { claim: of_client(name, &f.claim), ..f.clone() }));
            continue;
        }
        // In the order of the run, as rows are.
        let mut in_order: Vec<&str> = of_kind.iter().map(|(name, _)| name.as_str()).collect();
        in_order.dedup();
        let points: BTreeSet<u32> = of_kind.iter().flat_map(|(_, f)| f.points.iter().copied()).collect();
        findings.push(Finding {
            claim: format!("clients {}: {}", listed(&in_order, NAMED_MAX), reported.claim),
            evidence: evidence(&of_kind, &reported.claim),
            points: points.into_iter().collect(),
            ..reported.clone()
        });
    }
    findings
}

/// What is known of each, of so many as are named: with its own claim, where that is another.
fn evidence(of_kind: &[(String, Finding)], claim: &str) -> String {
    let one = |(name, f): &(String, Finding)| match f.claim == claim {
        true => format!("{name}: {}", f.evidence),
        false => format!("{name}: {}, {}", f.claim, f.evidence),
    };
    of_kind.iter().take(NAMED_MAX).map(one).collect::<Vec<_>>().join("; ")
}

/// Clients that drove no load while others did. Of those that are known to be lost, that is told.
pub(super) fn missing(records: &Records) -> Vec<Finding> {
    let begins = records.points.iter().filter_map(|line| match line {
        PointLine::Begin(begin) if begin.purpose == Purpose::Measure => Some((begin.point, begin.spec.clients)),
        _ => None,
    });
    let measured: BTreeMap<u32, Option<u32>> = begins.collect();
    let points = by_point(records);
    let intervals_at = |places: &[usize]| places.iter().map(|&at| &records.intervals[at]).collect::<Vec<&Interval>>();
    let spans: Vec<(u32, PointSpans)> = points
        .iter()
        .filter_map(|(point, places)| Some((*point, PointSpans::new(&intervals_at(places), *measured.get(point)?)?)))
        .collect();
    let lost = lost_clients(records);
    let clients = (0u32..).zip(&records.manifest.clients).filter(|(number, _)| !lost.contains(number));
    let found = clients.filter_map(|(number, client)| {
        let apart: Vec<(u32, u64)> =
            spans.iter().filter_map(|(point, of)| Some((*point, of.apart_ms(number)?))).collect();
        let (_, worst_ms) = *apart.iter().max_by_key(|(_, ms)| *ms)?;
        let finding = Finding {
            kind: FindingKind::ClientMissing,
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            points: apart.iter().map(|(point, _)| *point).collect(),
            claim: "others drove load while it did not".into(),
            evidence: format!("{:.1} s without it, at the longest", worst_ms as f64 / 1e3),
            remedy: "figures cover the time in which all clients drove load: find out what happened to it".into(),
        };
        Some((client.name.clone(), finding))
    });
    grouped(found.collect())
}

/// The numbers of clients that are known to be lost: in a point, or by what was told of them during the run.
pub(crate) fn lost_clients(records: &Records) -> BTreeSet<u32> {
    let in_points = records.points.iter().filter_map(|line| match line {
        PointLine::End(end) => Some(end.lost.iter().map(|lost| lost.client)),
        _ => None,
    });
    let is_reported = |client: &Client| {
        let names_it = |f: &Finding| f.claim.split([' ', ',', ':']).any(|word| word == client.name);
        records.findings.iter().any(|f| f.kind == FindingKind::ClientLost && names_it(f))
    };
    let reported = (0u32..).zip(&records.manifest.clients).filter(|(_, client)| is_reported(client));
    in_points.flatten().chain(reported.map(|(number, _)| number)).collect()
}

/// From when to when each client drove load in a point.
struct PointSpans {
    all: (u64, u64),
    of_clients: BTreeMap<u32, (u64, u64)>,
    length_ms: u64,
    requested: Option<u32>,
}

impl PointSpans {
    fn new(of_point: &[&Interval], requested: Option<u32>) -> Option<Self> {
        let mut of_clients = BTreeMap::<u32, (u64, u64)>::new();
        for i in of_point {
            let (from, to) = of_clients.entry(i.client).or_insert((i.from_ms, i.to_ms));
            (*from, *to) = ((*from).min(i.from_ms), (*to).max(i.to_ms));
        }
        let from = of_clients.values().map(|(from, _)| *from).min()?;
        let to = of_clients.values().map(|(_, to)| *to).max()?;
        let length_ms = of_point.iter().map(|i| i.length_ms()).max().unwrap_or(0);
        Some(PointSpans { all: (from, to), of_clients, length_ms, requested })
    }

    /// How long others drove load and a client did not; `None` where that is no more than clocks and ends make, and
    /// where it was not asked to.
    fn apart_ms(&self, client: u32) -> Option<u64> {
        if self.requested.is_some_and(|requested| client >= requested) {
            return None;
        }
        let (from, to) = self.all;
        let own = self.of_clients.get(&client);
        let apart_ms = own.map_or(to - from, |(own_from, own_to)| (own_from - from) + (to - own_to));
        (apart_ms > APART_MAX * self.length_ms).then_some(apart_ms)
    }
}

/// What is told of a client, at the point where it is worst.
struct Named {
    badness: f64,
    evidence: String,
    points: BTreeSet<u32>,
}

/// Keeps of a client what is worst, and every point.
fn note(
    named: &mut BTreeMap<String, Named>,
    client: &str,
    point: &Point,
    badness: f64,
    evidence: impl FnOnce() -> String,
) {
    let known = named.entry(client.to_owned()).or_insert(Named {
        badness: f64::NEG_INFINITY,
        evidence: String::new(),
        points: BTreeSet::new(),
    });
    known.points.insert(point.point);
    if badness > known.badness {
        (known.badness, known.evidence) = (badness, evidence());
    }
}

/// One finding of all that are named, the worst first.
fn finding(
    kind: FindingKind,
    named: BTreeMap<String, Named>,
    of: usize,
    what: [&str; 2],
    remedy: &str,
) -> Option<Finding> {
    let mut all: Vec<(String, Named)> = named.into_iter().collect();
    all.sort_by(|a, b| b.1.badness.total_cmp(&a.1.badness));
    let who: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let [one, many] = what;
    let claim = match who[..] {
        [] => return None,
        [name] => of_client(name, one),
        _ => format!("{} of {of} clients {many}: {}", who.len(), listed(&who, NAMED_MAX)),
    };
    let evidence = all.iter().take(NAMED_MAX).map(|(name, of)| format!("{name} {}", of.evidence));
    let points: BTreeSet<u32> = all.iter().flat_map(|(_, of)| of.points.iter().copied()).collect();
    Some(Finding {
        kind,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        points: points.into_iter().collect(),
        evidence: evidence.collect::<Vec<_>>().join("; "),
        claim,
        remedy: remedy.to_owned(),
    })
}

/// The points that are told of, one for each load.
fn reported(series: &mut Series) -> impl Iterator<Item = &mut Point> {
    let again = series.pooled.iter().flat_map(|all| series.visits_of(all)).map(|visit| visit.point);
    let again: BTreeSet<u32> = again.collect();
    let once = series.points.iter_mut().filter(move |point| !again.contains(&point.point));
    once.chain(&mut series.pooled)
}

/// Marks the rows of clients that are slower than their peers, beyond chance, and names them.
pub(super) fn slow(view: &mut View) -> Vec<Finding> {
    let looked_at: usize = view.series.iter_mut().map(|series| reported(series).count()).sum();
    let (mut named, mut of) = (BTreeMap::new(), 0);
    for series in &mut view.series {
        let (measure, label) = (series.measure, format!("{} {}", series.workload, series.size));
        for point in reported(series) {
            let peers: Vec<PeerRate> =
                point.clients.iter().map(|row| peer(row, point.throughput(measure).intervals, measure)).collect();
            let Some(spread) = peers::slower(&peers, looked_at) else { continue };
            of = of.max(peers.len());
            for &place in &spread.slow {
                let below = 1.0 - peers[place].throughput / spread.median;
                point.clients[place].below_peers = Some(below);
                let row = &point.clients[place];
                note(&mut named, &row.client, point, below, || {
                    format!(
                        "gave {}, {} less than the median of {} clients, {}; by chance one gives no less than {} \
                         ({label}, {}); {}",
                        rate(row.throughput(measure), measure),
                        percent(below),
                        peers.len(),
                        rate(spread.median, measure),
                        rate(spread.bound, measure),
                        load_in_words(point),
                        state(row)
                    )
                });
            }
        }
    }
    let what = ["it was slower than its peers", "were slower than their peers"];
    let remedy = "compare its link's speed, NIC, route and settings with those of its peers; measure once more \
                  without it to see what the others give";
    finding(FindingKind::ClientSlow, named, of, what, remedy).into_iter().collect()
}

fn peer(row: &ClientFigures, intervals: u32, measure: Measure) -> PeerRate {
    let throughput = row.throughput(measure);
    let error = row.half_width_share.map(|half| standard_error(half * throughput, intervals as usize));
    PeerRate { throughput, error }
}

fn rate(throughput: f64, measure: Measure) -> String {
    match measure {
        Measure::Bytes => bytes_per_s_iec(throughput),
        Measure::Requests => format!("{} req/s", count(throughput)),
    }
}

/// What is known of what held a client back.
fn state(row: &ClientFigures) -> String {
    let nic =
        row.nic.as_ref().and_then(|nic| Some(format!("its NIC {} {} in use", nic.name, percent(nic.utilisation?))));
    match row.full {
        Some(full) => full_by(row, full),
        None => nic.unwrap_or_else(|| "none of its resources was saturated".to_owned()),
    }
}

fn full_by(row: &ClientFigures, full: ClientFull) -> String {
    match full {
        ClientFull::Threads => format!("its threads busy {} of the time", percent(row.busy.unwrap_or(1.0))),
        ClientFull::NullTarget => {
            format!("{} of what it drove against the null target", percent(row.ceiling_share.unwrap_or(1.0)))
        }
        ClientFull::Nic => row.nic.as_ref().map_or_else(String::new, |nic| {
            let (used, carried) = (percent(nic.utilisation.unwrap_or(1.0)), bits_per_s(nic.bits_per_s));
            format!("its NIC {} {used} in use, {carried}", nic.name)
        }),
    }
}

/// Names clients that could drive no more themselves, where that is fewer than half: of more, the series' limit tells.
pub(super) fn full(view: &mut View) -> Vec<Finding> {
    let (mut named, mut of) = (BTreeMap::new(), 0);
    for series in &mut view.series {
        for point in reported(series) {
            let rows: Vec<(&ClientFigures, ClientFull)> =
                point.clients.iter().filter_map(|row| Some((row, row.full?))).collect();
            if 2 * rows.len() >= point.clients.len() {
                continue;
            }
            of = of.max(point.clients.len());
            for (row, full) in rows {
                let nic = row.nic.as_ref().and_then(|nic| nic.utilisation);
                let badness = [row.busy, nic, row.ceiling_share].into_iter().flatten().fold(0.0, f64::max);
                note(&mut named, &row.client, point, badness, || full_by(row, full));
            }
        }
    }
    let what =
        ["it could drive no more itself, while others could", "could drive no more themselves, while others could"];
    let remedy = "give it the hardware of its peers: an equally fast link, as many processors (--threads); or count \
                  it as less than one client";
    finding(FindingKind::ClientAtCeiling, named, of, what, remedy).into_iter().collect()
}
