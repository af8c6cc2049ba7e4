//! Throughput and latency over requests in flight: a closed network falls short of its ceiling by queueing alone.
//!
//! Approximate mean-value analysis: a request that comes finds the others at the stations of the resource that binds,
//! and the one that is being served there has only a rest of its service left. In units of the time that a request
//! takes of that resource at its ceiling,
//!
//! ```text
//! R(c) = R(1) + Q(c − 1) − (1 − cv²) / 2 × stations × U(c − 1)        X(c) = c / R(c), never above 1
//! ```
//!
//! where all others are in that queue but those that are elsewhere, Q = c − X × Z. With Schweitzer's step from c − 1
//! to c, U(c − 1) = X(c) × (c − 1) / c and Q alike, this is a quadratic equation. `docs/method/ceilings.md` has what it
//! was held against.

use linerate_record::plan::{Curve, CurvePoint, Resource, Work};
use linerate_record::site::Site;

use crate::ceilings::{Limit, Visit, visit};
use crate::layout::Geometry;

/// What is called the knee: this share of the ceiling.
pub const KNEE_SHARE: f64 = 0.9;
/// A request that is alone takes so much longer than its longest stage, since each stage begins with a first piece.
/// Curves of MinIO that were measured at one request in flight give 1.1 to 1.5 for objects of 4 MiB.
const FILLING: f64 = 1.3;
/// What a request takes beside its bytes: look-ups, quorum, first bytes of drives. An estimate.
const REQUEST_S: f64 = 0.001;
/// Visits of one request to stations of one kind, one after the other: the node that serves, and the slowest of those
/// that hold its shards, which are visited at the same time.
const VISITS: f64 = 2.0;
/// No more requests in flight are looked at.
const MOST_IN_FLIGHT: u64 = 1 << 32;

/// A site's answer to requests in flight, for one kind of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The lowest ceiling, in client bytes per second.
    pub ceiling_bytes_per_s: f64,
    /// Size of an object.
    pub object_bytes: f64,
    /// What one request takes that is alone.
    pub alone_s: f64,
    /// What a request that is alone is longest at.
    pub alone_by: Resource,
    /// Alike stations of the resource that binds.
    pub stations: u32,
    /// Squared coefficient of variation of what requests take of it.
    pub variability: f64,
    /// What a request that is alone spends at its longest stage of what binds.
    visit_s: f64,
    /// What it takes beyond that.
    elsewhere_s: f64,
}

/// The course of a site whose ceilings are known, the lowest first; nothing where it has none.
#[must_use]
pub fn course(site: &Site, geometry: &Geometry, work: &Work, limits: &[Limit]) -> Option<Course> {
    let binds = limits.first()?;
    let of = |reads| visit(site, geometry, work.object_bytes, reads, binds.resource);
    let (read, write) = (of(true)?, of(false)?);
    let mixed = |of: fn(&Visit) -> f64| work.read_share * of(&read) + (1.0 - work.read_share) * of(&write);
    let visit_s = mixed(|visit| visit.binding_s);
    let alone_s = FILLING * mixed(|visit| visit.s) + REQUEST_S;
    Some(Course {
        ceiling_bytes_per_s: binds.limit_bytes_per_s,
        object_bytes: work.object_bytes as f64,
        alone_s,
        alone_by: if work.read_share >= 0.5 { read.of } else { write.of },
        stations: stations(site, binds.resource),
        variability: site.data.variability,
        visit_s,
        elsewhere_s: (alone_s - FILLING * visit_s).max(0.0),
    })
}

/// How many there are of what binds.
fn stations(site: &Site, resource: Resource) -> u32 {
    match resource {
        Resource::ClientIngress | Resource::ClientEgress => site.clients.count.max(1),
        Resource::RackUp | Resource::RackDown => {
            site.groups.iter().filter(|group| group.count > 0).map(|group| group.racks).max().unwrap_or(1).max(1)
        }
        Resource::EntryNode => 1,
        _ => site.nodes().max(1),
    }
}

impl Course {
    /// The share of the ceiling that so many requests in flight reach, 1 at the most.
    #[must_use]
    pub fn share(&self, in_flight: f64) -> f64 {
        if in_flight <= 0.0 {
            return 0.0;
        }
        let unit_s = self.object_bytes / self.ceiling_bytes_per_s;
        let visited = f64::from(self.stations).min(VISITS * self.visit_s / unit_s);
        let others = in_flight + self.alone_s / unit_s - 1.0;
        let rest = (1.0 - self.variability) / 2.0 * visited + self.elsewhere_s / unit_s;
        let rest = rest * (in_flight - 1.0).max(0.0) / in_flight;
        // The smaller root of rest × X² − others × X + in_flight = 0, in the form that holds for rest = 0 too. Where
        // there is none, a request waits for nobody.
        let root = others * others - 4.0 * rest * in_flight;
        let share = if root > 0.0 { 2.0 * in_flight / (others + root.sqrt()) } else { 1.0 };
        share.clamp(0.0, 1.0).min(in_flight * unit_s / self.alone_s)
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

/// The curve as a plan tells it: to four times the knee, and to what the site's own clients keep in flight.
#[must_use]
pub fn curve(site: &Site, course: &Course) -> Curve {
    let knee = course.reaching(KNEE_SHARE);
    let clients = u64::from(site.clients.count) * u64::from(site.clients.connections);
    let most = knee.saturating_mul(4).max(clients);
    // Powers of two and what lies between them: the points of a logarithmic axis.
    let steps = (0..40).flat_map(|power| [1_u64 << power, 3 << power]).map(|step| step.max(2) / 2);
    let mut points: Vec<u64> = steps.filter(|&step| step / 2 < most).collect();
    points.sort_unstable();
    points.dedup();
    Curve {
        variability: course.variability,
        alone_ns: course.alone_s * 1e9,
        alone_by: course.alone_by,
        stations: course.stations,
        knee: course.at(knee),
        clients: (clients > 0).then(|| course.at(clients)),
        points: points.into_iter().map(|in_flight| course.at(in_flight)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ceilings::limits;
    use crate::layout::geometry;
    use crate::sites::site;

    fn course_of(site: &Site, object_bytes: u64, read_share: f64) -> Course {
        let (geometry, work) = (geometry(site).unwrap(), Work { object_bytes, read_share });
        course(site, &geometry, &work, &limits(site, &geometry, &work)).unwrap()
    }

    #[test]
    fn one_request_takes_what_it_takes_alone_and_a_larger_site_takes_more_to_fill() {
        let mut site = site();
        site.clients.count = 0;
        let small = course_of(&site, 4 << 20, 1.0);
        assert!((small.at(1).latency_ns / (small.alone_s * 1e9) - 1.0).abs() < 1e-9, "{small:?}");
        site.groups[0].count = 64;
        let larger = course_of(&site, 4 << 20, 1.0);
        let ratio = larger.reaching(KNEE_SHARE) as f64 / small.reaching(KNEE_SHARE) as f64;
        assert!((3.5..4.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_knee_is_the_first_that_reaches_it_and_the_points_go_beyond() {
        let site = site();
        let course = course_of(&site, 4 << 20, 1.0);
        let curve = curve(&site, &course);
        assert!(curve.knee.share >= KNEE_SHARE && course.share((curve.knee.in_flight - 1) as f64) < KNEE_SHARE);
        assert_eq!(curve.clients.map(|point| point.in_flight), Some(32 * 64));
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
        let on_bond = course_of(&site, 4 << 20, 1.0);
        site.groups[0].nics.iter_mut().for_each(|nic| nic.ports = 1);
        let on_port = course_of(&site, 4 << 20, 1.0);
        assert_eq!(on_bond.alone_s, on_port.alone_s);
        assert!(on_bond.ceiling_bytes_per_s > 1.9 * on_port.ceiling_bytes_per_s);
    }

    proptest! {
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
            let Ok(geometry) = geometry(&site) else { return Ok(()) };
            let work = Work { object_bytes: 1 << size, read_share };
            let course = course(&site, &geometry, &work, &limits(&site, &geometry, &work)).unwrap();
            let (here, next) = (course.share(at as f64), course.share((at + 1) as f64));
            prop_assert!(here > 0.0 && here <= next + 1e-12 && next <= 1.0, "{} {} {:?}", here, next, course);
            prop_assert!(course.at(at).latency_ns >= course.alone_s * 1e9 * (1.0 - 1e-9), "{:?}", course);
        }
    }
}
