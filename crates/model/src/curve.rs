//! Throughput and latency over requests in flight: a closed network falls short of its ceiling by queueing alone.
//!
//! Approximate mean-value analysis: a request that comes finds the others at the stations of the bottleneck,
//! and the one that is being served there has only a rest of its service left. In units of the time that a request
//! takes of that resource at its ceiling,
//!
//! ```text
//! R(c) = R(1) + Q(c − 1) − (1 − cv²) / 2 × stations × U(c − 1)        X(c) = c / R(c), never above 1
//! ```
//!
//! where all others are in that queue but those that are elsewhere, Q = c − X × Z. With Schweitzer's step from c − 1
//! to c, U(c − 1) = X(c) × (c − 1) / c and Q alike, this is a quadratic equation. Where clients ask the node on which
//! they run and its link is the bottleneck, each node is a loop of its own, with an even part of c and one station.
//! Where clients' own links are, `own_links` has what each reaches.
//!
//! A write forks to all nodes of its set and is joined by the slowest. It waits as long as one of them is kept busy by
//! another request, and each other keeps one so for a part d of its own time R(c):
//!
//! ```text
//! R(c) += wait × (1 − (1 − d / R(c))^(c − 1))
//! ```
//!
//! Few others on many links are seldom in the way; many always are. This has one solution, found by halving.
//! `docs/method/ceilings.md` has what it was held against.

use linerate_record::plan::{Curve, CurvePoint, Resource, Work};
use linerate_record::site::Site;

use crate::ceilings::{ResourceLimit, Visit, visit};
use crate::layout::Geometries;
use crate::traffic::near;

mod client_links;

use client_links::OwnLinks;

/// What is called the knee: this share of the ceiling.
pub const KNEE_SHARE: f64 = 0.9;
/// A request that is alone takes so much longer than its longest stage, since each stage begins with a first piece: of
/// reads, and of writes. Curves of MinIO that were measured at one request in flight give 1.1 to 1.5 for objects of
/// 4 MiB.
const FILLING: [f64; 2] = [1.2, 1.3];
/// What a request takes beside its bytes: look-ups, quorum, first bytes of drives. An estimate.
const REQUEST_S: f64 = 0.001;
/// Visits of one request to stations of one kind, one after the other: the node that serves, and the slowest of those
/// that hold its shards, which are visited at the same time.
const VISITS: f64 = 2.0;
/// So many requests in flight are shown of every site: people measure with them.
const LEAST_SHOWN: u64 = 64;
/// Times that a write asks all nodes of its set something small and waits for the last answer: a lock, and the commit.
/// While others write, each waits behind an object on a link.
const ROUNDS: f64 = 2.0;
/// … and no longer than so: TCP shares a link, so that it waits for what buffers hold, and where that was too much and
/// it was lost, for the least time after which it is sent again. Linux: 200 ms (`TCP_RTO_MIN`); buffers: 50 ms.
const HELD_UP_S: f64 = 0.25;
/// Halvings after which what a request waits is known as well as a double is.
const HALVINGS: u32 = 52;
/// No more requests in flight are looked at.
const MOST_IN_FLIGHT: u64 = 1 << 32;

/// A site's answer to requests in flight, for one kind of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurveModel {
    /// The lowest ceiling, in client bytes per second.
    pub ceiling_bytes_per_s: f64,
    /// Size of an object.
    pub object_bytes: f64,
    /// What one request takes that is alone.
    pub alone_s: f64,
    /// What a request that is alone is longest at.
    pub alone_by: Resource,
    /// Alike stations of the bottleneck. Of drives: how many requests they serve at once.
    pub stations: u32,
    /// Squared coefficient of variation of what requests take of it.
    pub variability: f64,
    /// Where clients' links bind: what only a client's own requests visit.
    own_links: Option<OwnLinks>,
    /// Loops that have an even part of the requests in flight, each with as much of the bottleneck.
    loops: f64,
    /// Times at its ceiling that one request's visits to the bottleneck last, together.
    visited: f64,
    /// What a request spends elsewhere.
    elsewhere_s: f64,
    /// What it spends elsewhere besides as soon as it is not alone.
    crossing_s: f64,
    /// What it waits besides where it meets others: for its own node's links, and for an answer of all nodes of a set.
    meetings: [NodeWait; 2],
}

/// A wait of a request at nodes that another one keeps busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct NodeWait {
    /// How long it is.
    wait_s: f64,
    /// How long each other one keeps such a node busy.
    busy_s: f64,
}

impl NodeWait {
    /// What is waited on average among so many in flight that take so long.
    fn waited_s(&self, in_flight: f64, latency_s: f64) -> f64 {
        let free = 1.0 - (self.busy_s / latency_s).clamp(0.0, 1.0);
        self.wait_s * (1.0 - free.powf((in_flight - 1.0).max(0.0)))
    }

    /// The same where a share of requests is of this kind.
    fn among(self, share: f64) -> NodeWait {
        NodeWait { wait_s: share * self.wait_s, busy_s: share * self.busy_s }
    }
}

/// How one kind of request visits the bottleneck.
struct Visits {
    alone_s: f64,
    visited: f64,
    elsewhere_s: f64,
    crossing_s: f64,
    meetings: [NodeWait; 2],
}

/// The course of a site whose ceilings are known, the lowest first; nothing where it has none.
#[must_use]
pub fn curve_model(site: &Site, geometries: &Geometries, work: &Work, limits: &[ResourceLimit]) -> Option<CurveModel> {
    curve_model_for(site, geometries, work, limits, None)
}

/// The same while one node serves all requests, of the group at a place: what binds of it is one station.
pub(crate) fn course_at_one(
    site: &Site,
    geometries: &Geometries,
    work: &Work,
    limits: &[ResourceLimit],
    place: usize,
) -> Option<CurveModel> {
    curve_model_for(site, geometries, work, limits, Some(place))
}

fn curve_model_for(
    site: &Site,
    geometries: &Geometries,
    work: &Work,
    limits: &[ResourceLimit],
    at_one: Option<usize>,
) -> Option<CurveModel> {
    let bottleneck = limits.first()?;
    let at = |limit| visits(site, geometries, work, limit, loops(site, limit, at_one));
    let (read, write, [reads, writes]) = at(bottleneck)?;
    let mixed = |extract: fn(&Visits) -> f64| mix(work, extract(&reads), extract(&writes));
    let is_of_clients = |resource| matches!(resource, Resource::ClientIngress | Resource::ClientEgress);
    let own_links = is_of_clients(bottleneck.resource).then(|| {
        let shared = limits.iter().find(|limit| !is_of_clients(limit.resource));
        let visited = |limit| at(limit).map(|(_, _, [reads, writes])| mix(work, reads.visited, writes.visited));
        let shared = shared.and_then(|limit| Some((limit, visited(limit)?)));
        OwnLinks::new(site.clients.count, work.object_bytes as f64, shared)
    });
    Some(CurveModel {
        ceiling_bytes_per_s: bottleneck.limit_bytes_per_s,
        object_bytes: work.object_bytes as f64,
        alone_s: mixed(|visits| visits.alone_s),
        alone_by: if work.read_share >= 0.5 { read.of } else { write.of },
        stations: if is_of_drives(bottleneck.resource) {
            rounded(mixed(|visits| visits.visited))
        } else if is_of_one(bottleneck, at_one) {
            1
        } else {
            stations(site, bottleneck.resource)
        },
        variability: site.data.variability,
        own_links,
        loops: loops(site, bottleneck, at_one).unwrap_or(1.0),
        visited: mixed(|visits| visits.visited),
        elsewhere_s: mixed(|visits| visits.elsewhere_s),
        crossing_s: mixed(|visits| visits.crossing_s),
        // Reads have none of these.
        meetings: writes.meetings.map(|meeting| meeting.among(1.0 - work.read_share)),
    })
}

/// The mean over reads and writes.
fn mix(work: &Work, of_reads: f64, of_writes: f64) -> f64 {
    work.read_share * of_reads + (1.0 - work.read_share) * of_writes
}

/// Whether each node is a loop by itself.
fn is_apart(site: &Site, bottleneck: Resource) -> bool {
    is_link(bottleneck) && site.nodes() > 1 && near(site, site.nodes()) >= 1.0
}

/// Loops of which each has one station of the bottleneck: those of nodes that are apart, or of the one that is asked.
fn loops(site: &Site, bottleneck: &ResourceLimit, at_one: Option<usize>) -> Option<f64> {
    if is_of_one(bottleneck, at_one) {
        return Some(1.0);
    }
    is_apart(site, bottleneck.resource).then(|| f64::from(site.nodes()))
}

/// Whether it is what the one node has that is asked. Drives of all nodes have a part of each request.
fn is_of_one(bottleneck: &ResourceLimit, at_one: Option<usize>) -> bool {
    at_one.is_some() && bottleneck.group == at_one && !is_of_drives(bottleneck.resource)
}

/// How reads and writes visit a resource with such a limit: their longest stages, and what follows of it.
fn visits(
    site: &Site,
    geometries: &Geometries,
    work: &Work,
    bottleneck: &ResourceLimit,
    loops: Option<f64>,
) -> Option<(Visit, Visit, [Visits; 2])> {
    let (is_apart, loops) = (loops.is_some(), loops.unwrap_or(1.0));
    let in_a_loop = if is_apart { 1 } else { stations(site, bottleneck.resource) };
    let unit_s = loops * work.object_bytes as f64 / bottleneck.limit_bytes_per_s;
    let visits_for = |reads| visit(site, geometries, work.object_bytes, reads, bottleneck.resource);
    let (read, write) = (visits_for(true)?, visits_for(false)?);
    let crossing = if is_link(bottleneck.resource) { 1.0 } else { 0.0 };
    let mut reads = one_after_the_other(&read, FILLING[0], in_a_loop, unit_s, crossing);
    let mut writes = if is_of_nodes(bottleneck.resource) && !is_apart {
        // A write is at all nodes of its set at once, which are as one station.
        let geometry = geometries.for_group(bottleneck.group.unwrap_or_default());
        let sets = (f64::from(site.nodes()) / f64::from(geometry.shards)).max(1.0);
        in_step(&write, sets, unit_s, crossing)
    } else {
        one_after_the_other(&write, FILLING[1], in_a_loop, unit_s, crossing)
    };
    if is_of_drives(bottleneck.resource) {
        reads = reads.at_drives(read.binding_s, unit_s);
        writes = writes.at_drives(write.binding_s, unit_s);
    }
    Some((read, write, [reads, writes]))
}

/// Visits to single stations of many. `crossing`: whether what crosses nodes' links between clients and nodes counts.
fn one_after_the_other(visit: &Visit, filling: f64, stations: u32, unit_s: f64, crossing: f64) -> Visits {
    let alone_s = filling * visit.s + REQUEST_S;
    Visits {
        alone_s,
        visited: f64::from(stations).min(VISITS * visit.binding_s / unit_s),
        elsewhere_s: (alone_s - filling * visit.binding_s).max(0.0),
        crossing_s: crossing * visit.crossing_s,
        meetings: [NodeWait::default(); 2],
    }
}

/// Visits to all nodes of a set at once.
fn in_step(visit: &Visit, sets: f64, unit_s: f64, crossing: f64) -> Visits {
    let alone_s = FILLING[1] * visit.s + REQUEST_S;
    Visits {
        alone_s,
        visited: sets,
        elsewhere_s: (alone_s - sets * unit_s).max(0.0),
        crossing_s: crossing * visit.crossing_s,
        meetings: [
            // Shards of others come in where the object does.
            NodeWait { wait_s: visit.in_turn_s, busy_s: visit.sending_s / sets },
            NodeWait { wait_s: ROUNDS * visit.behind_s.min(HELD_UP_S), busy_s: visit.behind_busy_s / sets },
        ],
    }
}

impl Visits {
    /// The same where drives bind: a request is at all drives at once that have a part of it, which are as one station.
    /// There are as many of these as requests that a drive serves for so long are done meanwhile at the ceiling: sets,
    /// where a request is at all drives of one; else drives, by the number that it takes.
    fn at_drives(self, service_s: f64, unit_s: f64) -> Visits {
        let visited = (service_s / unit_s).max(1.0);
        Visits { visited, elsewhere_s: (self.alone_s - visited * unit_s).max(0.0), ..self }
    }
}

fn rounded(stations: f64) -> u32 {
    stations.round().clamp(1.0, f64::from(u32::MAX)) as u32
}

/// Whether the bottleneck is drives.
fn is_of_drives(resource: Resource) -> bool {
    matches!(resource, Resource::DriveBandwidth | Resource::DriveOperations)
}

/// Whether the bottleneck is a link of nodes.
fn is_link(resource: Resource) -> bool {
    use Resource as R;
    matches!(resource, R::PublicIngress | R::PublicEgress | R::PrivateIngress | R::PrivateEgress)
}

/// Whether all nodes of a set have a part of what a write takes.
fn is_of_nodes(resource: Resource) -> bool {
    use Resource as R;
    let is_of_racks = resource.is_of_rack() || resource.is_of_client_rack();
    !is_of_racks && !matches!(resource, R::ClientIngress | R::ClientEgress | R::EntryNode)
}

/// How many there are of the bottleneck.
fn stations(site: &Site, resource: Resource) -> u32 {
    match resource {
        Resource::ClientIngress | Resource::ClientEgress => site.clients.count.max(1),
        Resource::RackUp | Resource::RackDown => {
            site.groups.iter().filter(|group| group.count > 0).map(|group| group.racks).max().unwrap_or(1).max(1)
        }
        Resource::ClientRackUp | Resource::ClientRackDown => site.clients.racks.min(site.clients.count).max(1),
        Resource::EntryNode => 1,
        _ => site.nodes().max(1),
    }
}

impl CurveModel {
    /// The share of the ceiling that so many requests in flight reach, 1 at the most.
    #[must_use]
    pub fn share(&self, in_flight: f64) -> f64 {
        if in_flight <= 0.0 {
            return 0.0;
        }
        if let Some(own) = &self.own_links {
            let unit_s = self.object_bytes / self.ceiling_bytes_per_s;
            let share = own.share(in_flight, unit_s, self.alone_s, self.variability);
            return share.max(unit_s / self.alone_s).min(1.0).min(in_flight * unit_s / self.alone_s);
        }
        let in_flight = in_flight / self.loops;
        let unit_s = self.loops * self.object_bytes / self.ceiling_bytes_per_s;
        // The longer a request takes, the less of its time it is in the way of others.
        let (mut least_s, mut most_s) = (0.0, self.meetings.iter().map(|meeting| meeting.wait_s).sum::<f64>());
        for _ in 0..if most_s > 0.0 { HALVINGS } else { 0 } {
            let middle_s = f64::midpoint(least_s, most_s);
            let latency_s = in_flight * unit_s / self.share_waiting(in_flight, unit_s, middle_s);
            let waited_s: f64 = self.meetings.iter().map(|meeting| meeting.waited_s(in_flight, latency_s)).sum();
            *if waited_s > middle_s { &mut least_s } else { &mut most_s } = middle_s;
        }
        self.share_waiting(in_flight, unit_s, least_s)
    }

    /// The same where each of them waits so long besides.
    fn share_waiting(&self, in_flight: f64, unit_s: f64, waited_s: f64) -> f64 {
        let not_alone = (in_flight - 1.0).max(0.0) / in_flight;
        let besides = (self.crossing_s * not_alone + waited_s) / unit_s;
        let others = in_flight + self.alone_s / unit_s + besides - 1.0;
        let rest = (1.0 - self.variability) / 2.0 * self.visited + self.elsewhere_s / unit_s + besides;
        let rest = rest * not_alone;
        // The smaller root of rest × X² − others × X + in_flight = 0, in the form that holds for rest = 0 too. Where
        // there is none, a request waits for nobody.
        let root = others * others - 4.0 * rest * in_flight;
        let share = if root > 0.0 { 2.0 * in_flight / (others + root.sqrt()) } else { 1.0 };
        // One after the other they would give what one gives.
        let alone = unit_s / self.alone_s;
        share.max(alone).clamp(0.0, 1.0).min(in_flight * alone)
    }

    /// What so many requests in flight give.
    #[must_use]
    pub fn at(&self, in_flight: u64) -> CurvePoint {
        let share = self.share(in_flight as f64);
        let bytes_per_s = share * self.ceiling_bytes_per_s;
        CurvePoint {
            in_flight,
            bytes_per_s,
            share,
            latency_ns: in_flight as f64 * self.object_bytes / bytes_per_s.max(f64::MIN_POSITIVE) * 1e9,
        }
    }

    /// The fewest requests in flight that reach a share of the ceiling.
    #[must_use]
    pub fn reaching(&self, share: f64) -> u64 {
        let (mut too_few, mut enough) = (0, MOST_IN_FLIGHT);
        while enough - too_few > 1 {
            let middle = too_few + (enough - too_few) / 2;
            if self.share(middle as f64) >= share {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        enough
    }
}

/// The curve as a plan tells it: to four times the knee, to 64, and to what the site's own clients keep in flight.
#[must_use]
pub fn curve(site: &Site, model: &CurveModel) -> Curve {
    let knee = model.reaching(KNEE_SHARE);
    let clients = u64::from(site.askers()) * u64::from(site.clients.connections);
    let most = knee.saturating_mul(4).max(clients).max(LEAST_SHOWN);
    // Powers of two and what lies between them: the points of a logarithmic axis.
    let steps = (0..40).flat_map(|power| [1_u64 << power, 3 << power]).map(|step| step.max(2) / 2);
    let mut points: Vec<u64> = steps.filter(|&step| step / 2 < most).collect();
    points.sort_unstable();
    points.dedup();
    Curve {
        variability: model.variability,
        alone_ns: model.alone_s * 1e9,
        alone_by: model.alone_by,
        stations: model.stations,
        knee: model.at(knee),
        knee_in_flight_each: (clients > 0).then(|| knee.div_ceil(u64::from(site.askers()))),
        clients: (clients > 0).then(|| model.at(clients)),
        points: points.into_iter().map(|in_flight| model.at(in_flight)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ceilings::limits;
    use crate::layout::geometries;
    use crate::test_site::site;

    fn curve_model_for(site: &Site, object_bytes: u64, read_share: f64) -> CurveModel {
        let (geometries, work) = (geometries(site).unwrap(), Work { object_bytes, read_share });
        curve_model(site, &geometries, &work, &limits(site, &geometries, &work)).unwrap()
    }

    #[test]
    fn one_request_takes_what_it_takes_alone_and_a_larger_site_takes_more_to_fill() {
        let mut site = site();
        site.clients.count = 0;
        let small = curve_model_for(&site, 4 << 20, 1.0);
        assert!((small.at(1).latency_ns / (small.alone_s * 1e9) - 1.0).abs() < 1e-9, "{small:?}");
        site.groups[0].count = 64;
        let larger = curve_model_for(&site, 4 << 20, 1.0);
        let ratio = larger.reaching(KNEE_SHARE) as f64 / small.reaching(KNEE_SHARE) as f64;
        assert!((3.5..4.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_knee_is_the_first_that_reaches_it_and_the_points_go_beyond() {
        let site = site();
        let model = curve_model_for(&site, 4 << 20, 1.0);
        let curve = curve(&site, &model);
        assert!(curve.knee.share >= KNEE_SHARE && model.share((curve.knee.in_flight - 1) as f64) < KNEE_SHARE);
        assert_eq!(curve.clients.map(|point| point.in_flight), Some(32 * 64));
        let each = curve.knee_in_flight_each.unwrap();
        assert!(32 * each >= curve.knee.in_flight && 32 * (each - 1) < curve.knee.in_flight, "{each}");
        let flights: Vec<u64> = curve.points.iter().map(|point| point.in_flight).collect();
        assert!(flights.starts_with(&[1, 2, 3, 4, 6, 8, 12]) && flights.is_sorted(), "{flights:?}");
        assert!(*flights.last().unwrap() >= 2048.max(4 * curve.knee.in_flight), "{flights:?}");
    }

    #[test]
    fn one_flow_has_one_member_of_a_bond() {
        let mut site = site();
        site.clients.count = 0;
        // Slow ports, so that the link is the longest stage.
        site.groups[0].nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = 1e9);
        let on_bond = curve_model_for(&site, 4 << 20, 1.0);
        site.groups[0].nics.iter_mut().for_each(|nic| nic.ports = 1);
        let on_port = curve_model_for(&site, 4 << 20, 1.0);
        assert_eq!(on_bond.alone_s, on_port.alone_s);
        assert!(on_bond.ceiling_bytes_per_s > 1.9 * on_port.ceiling_bytes_per_s);
    }

    #[test]
    fn a_wait_is_met_by_more_the_more_others_there_are_and_the_longer_they_stay() {
        let meeting = NodeWait { wait_s: 2.0, busy_s: 1.0 };
        // One other, half of its time: half of the wait. Three: 1 − 1/8 of it. None, or one that is always there.
        let rows = [(1.0, 2.0, 0.0), (2.0, 2.0, 1.0), (4.0, 2.0, 1.75), (2.0, 1.0, 2.0), (2.0, 0.5, 2.0)];
        for (in_flight, latency_s, waited_s) in rows {
            let found = meeting.waited_s(in_flight, latency_s);
            assert!((found - waited_s).abs() < 1e-12, "{in_flight}, {latency_s}: {found}");
        }
    }

    proptest! {
        #[test]
        fn writes_over_one_link_for_all_never_lose_by_company_and_gain_by_it_on_many_nodes(
            nodes in 2_u32..100,
            drives in 1_u32..3,
            variability in 0.0..1.0,
            size in 12_u32..32,
            speed in 7.0..11.6,
            at in 1_u64..1_000,
        ) {
            let mut site = site();
            site.planes.private = None;
            site.clients.count = 0;
            let group = &mut site.groups[0];
            (group.count, group.drives[0].count) = (nodes, drives);
            group.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = 10_f64.powf(speed));
            site.data.variability = variability;
            let Ok(geometries) = geometries(&site) else { return Ok(()) };
            let work = Work { object_bytes: 1 << size, read_share: 0.0 };
            let model = curve_model(&site, &geometries, &work, &limits(&site, &geometries, &work)).unwrap();
            let (here, next) = (model.share(at as f64), model.share((at + 1) as f64));
            prop_assert!(here > 0.0 && here <= next + 1e-12 && next <= 1.0, "{} {} {:?}", here, next, model);
            let (one, two) = (model.share(1.0), model.share(2.0));
            prop_assert!(nodes < 8 || one > 0.5 || two > 1.02 * one, "{} {} {:?}", one, two, model);
        }

        #[test]
        fn more_in_flight_never_gives_less_nor_more_than_the_ceiling(
            nodes in 1_u32..500,
            variability in 0.0..1.0,
            size in 12_u32..32,
            read_share in 0.0..1.0,
            at in 1_u64..100_000,
        ) {
            let mut site = site();
            site.groups[0].count = nodes;
            site.data.variability = variability;
            let Ok(geometries) = geometries(&site) else { return Ok(()) };
            let work = Work { object_bytes: 1 << size, read_share };
            let model = curve_model(&site, &geometries, &work, &limits(&site, &geometries, &work)).unwrap();
            let (here, next) = (model.share(at as f64), model.share((at + 1) as f64));
            prop_assert!(here > 0.0 && here <= next + 1e-12 && next <= 1.0, "{} {} {:?}", here, next, model);
            prop_assert!(model.at(at).latency_ns >= model.alone_s * 1e9 * (1.0 - 1e-9), "{:?}", model);
        }
    }
}
