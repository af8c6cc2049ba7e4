//! The model run forward: what a site can do.

mod spreads;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use linerate_record::plan::{Ceiling, FailureScope, Goal, PLAN_SCHEMA, Plan, Spread, Work, WorkPlan};
use linerate_record::site::{NodeGroup, Plane, Site, Tolerates, key};

use crate::ceilings::{ResourceLimit, ceilings, limits, strained_limits};
use crate::curve::{CurveModel, curve, curve_model};
use crate::error::ModelError;
use crate::findings::findings;
use crate::layout::{Geometries, Pool, degraded, geometries, layout, pools};
use crate::rebuild::{RecoveryTime, of_pools, restoring};
use crate::scaling::scaling;
use crate::sizing::{Need, sizing};
use crate::traffic::FailureLoad;

/// The size of objects where neither the question nor the site tells it: bytes bind, and not operations.
const OBJECT_BYTES: u64 = 64 << 20;

/// What is asked of a plan beside the site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanRequest {
    /// Size of an object; absent: the site's mean, or 64 MiB where it tells none.
    pub object_bytes: Option<u64>,
    /// Share of bytes that is read: adds a mix to GET and PUT.
    pub read_share: Option<f64>,
    /// Numbers of nodes to draw the curve over.
    pub nodes: Option<RangeInclusive<u32>>,
    /// What a site of the same kind of node must give.
    pub need: Option<Need>,
    /// Losses that it must tolerate; absent: those of the site's goals, or two drives and one node.
    pub tolerates: Option<Tolerates>,
    /// Chance: of how flows are placed on members of bonds. The same seed gives the same plan.
    pub seed: u64,
}

/// What S3 traffic of a site gets of the bonds of its nodes, whichever work goes over them: flows of its clients, and
/// of nodes among themselves.
///
/// # Errors
/// Where the site has no layout, or names links that it does not have.
pub fn of_bonds(site: &Site, seed: u64) -> Result<Vec<Spread>, ModelError> {
    check(site)?;
    let of_node = |spread: &Spread| spread.group.is_some();
    Ok(spreads::spreads(site, &geometries(site)?, seed).into_iter().filter(of_node).collect())
}

/// What a site can do: the ceilings of GET, PUT and the mix that is asked for, and its layout.
///
/// # Errors
/// Where the site has no layout, or names links that it does not have, and where the question is no share or size.
pub fn plan(site: &Site, requested: &PlanRequest) -> Result<Plan, ModelError> {
    check(site)?;
    let site = of_requested_size(site, requested);
    let site = site.as_ref();
    let layout = layout(site)?;
    let (pools, geometries) = (pools(site)?, geometries(site)?);
    let spread = spreads::spreads(site, &geometries, requested.seed);
    let restored = restoring(site, &pools, layout.usable_bytes);
    let of_nodes = of_pools(site, &pools, FailureScope::Node, layout.usable_bytes).unwrap_or_default();
    let mut plans = Vec::new();
    let works = works(site, requested)?;
    for &work in &works {
        let curve_model = curve_model(site, &geometries, &work, &limits(site, &geometries, &work));
        let ceilings = ceilings(site, &geometries, &work);
        plans.push(WorkPlan {
            work,
            goal: ceilings.first().and_then(|lowest| goal(site, &work, lowest, curve_model.as_ref())),
            ceilings,
            curve: curve_model.map(|curve_model| curve(site, &curve_model)),
            spread: spreads::of_work(site, &geometries, &spread, &work),
            degraded_bytes_per_s: degraded_bytes_per_s(site, &geometries, &work)?,
            rebuilding_bytes_per_s: rebuilding_bytes_per_s(site, &geometries, &work, &pools, &of_nodes),
        });
    }
    let tolerates = requested.tolerates.or(site.goals.tolerates).unwrap_or_default();
    let object_bytes = works.first().map_or(OBJECT_BYTES, |work| work.object_bytes);
    Ok(Plan {
        schema: PLAN_SCHEMA,
        site: site.clone(),
        findings: findings(site, &layout, &plans),
        works: plans,
        layout,
        rebuild: restored.into_iter().map(|restoring| restoring.rebuild).collect(),
        scaling: requested.nodes.clone().map(|nodes| scaling(site, nodes, &works)),
        sizing: requested.need.as_ref().map(|need| sizing(site, need, tolerates, object_bytes)).transpose()?,
    })
}

/// The site with the size of objects that the question states, where nobody stated the site's: capacity, rebuild and
/// sizing rest on it as ceilings do.
fn of_requested_size<'s>(site: &'s Site, requested: &PlanRequest) -> Cow<'s, Site> {
    let is_stated = site.data.object_bytes > 0 && !site.is_assumed(key::DATA_OBJECT_SIZE);
    let Some(object_bytes) = requested.object_bytes.filter(|_| !is_stated) else { return Cow::Borrowed(site) };
    let mut site = site.clone();
    site.data.object_bytes = object_bytes;
    site.assumed.remove(key::DATA_OBJECT_SIZE);
    Cow::Owned(site)
}

/// What a site's goal for a work is of its lowest ceiling, and the requests in flight that it takes; absent for a mix,
/// and where none is stated.
pub(crate) fn goal(site: &Site, work: &Work, lowest: &Ceiling, curve: Option<&CurveModel>) -> Option<Goal> {
    let stated = match work.read_share {
        share if share >= 1.0 => site.goals.get_bytes_per_s,
        share if share <= 0.0 => site.goals.put_bytes_per_s,
        _ => None,
    };
    let (bytes_per_s, ceiling) = (stated?, lowest.limit_bytes_per_s);
    let ceiling_share = bytes_per_s / ceiling;
    let gives = |curve: &CurveModel, in_flight: u64| curve.share(in_flight as f64) >= ceiling_share;
    let clients = u64::from(site.askers()) * u64::from(site.clients.connections);
    let is_stated = clients > 0 && !site.is_assumed(key::CLIENTS_CONNECTIONS);
    let fewest = curve.map(|curve| (curve, curve.reaching(ceiling_share)));
    Some(Goal {
        bytes_per_s,
        ceiling_share,
        within_reach: bytes_per_s <= ceiling,
        in_flight: fewest.filter(|(curve, fewest)| gives(curve, *fewest)).map(|(_, fewest)| fewest),
        within_clients_reach: curve.filter(|_| is_stated).map(|curve| gives(curve, clients)),
    })
}

/// GET, PUT, and the mix where one is asked for.
///
/// # Errors
/// Where the share is none, or the size is 0.
pub fn works(site: &Site, requested: &PlanRequest) -> Result<Vec<Work>, ModelError> {
    let described = Some(site.data.object_bytes).filter(|&bytes| bytes > 0);
    let object_bytes = requested.object_bytes.or(described).unwrap_or(OBJECT_BYTES);
    if object_bytes == 0 {
        return Err(ModelError::NoObjectSize);
    }
    if let Some(share) = requested.read_share.filter(|share| !(0.0..=1.0).contains(share)) {
        return Err(ModelError::ReadShare { share });
    }
    let shares = [Some(1.0), Some(0.0), requested.read_share];
    Ok(shares.into_iter().flatten().map(|read_share| Work { object_bytes, read_share }).collect())
}

/// The lowest ceiling while one node is down and nothing is restored: that of the pool where it costs most. Absent
/// where the work has no quorum then.
///
/// # Errors
/// Where the site has no layout.
pub fn degraded_bytes_per_s(site: &Site, geometries: &Geometries, work: &Work) -> Result<Option<f64>, ModelError> {
    Ok(lowest_without_a_node(site, geometries, work, &pools(site)?, |_, _| 1.0))
}

/// The lowest ceiling while a lost node's data is restored, which has its share of what it takes from the nodes of its
/// pool: the node counts as down until the end. Absent where it cannot be restored.
fn rebuilding_bytes_per_s(
    site: &Site,
    geometries: &Geometries,
    work: &Work,
    pools: &[Pool],
    courses: &[RecoveryTime],
) -> Option<f64> {
    let left = |pool: usize, limit: &ResourceLimit| {
        let is_of_pool = limit.group.is_none_or(|group| geometries.pool_of(group) == pool);
        let used = courses.get(pool).filter(|_| is_of_pool).map_or(0.0, |restoring| restoring.used(limit.resource));
        1.0 - used
    };
    (!courses.is_empty()).then(|| lowest_without_a_node(site, geometries, work, pools, left)).flatten()
}

/// The lowest ceiling without a node of the pool where that costs most, each resource with a share of it left.
fn lowest_without_a_node(
    site: &Site,
    geometries: &Geometries,
    work: &Work,
    pools: &[Pool],
    left: impl Fn(usize, &ResourceLimit) -> f64,
) -> Option<f64> {
    let mut lowest: Option<f64> = None;
    for (place, pool) in pools.iter().enumerate() {
        let hit = degraded(site.engine.product, &pool.geometry, pool.nodes, 1, work.read_share < 1.0)?;
        let strain = FailureLoad {
            nodes: site.nodes() - 1,
            pool: Some(place),
            reads: hit.shard_reads,
            writes: hit.shard_writes,
            written: hit.written,
            sent: hit.sent,
            reconstructed: hit.reconstructed,
        };
        let lowest_left = strained_limits(site, geometries, work, strain)
            .into_iter()
            .map(|limit| limit.limit_bytes_per_s * left(place, &limit));
        lowest = lowest_left.chain(lowest).reduce(f64::min);
    }
    lowest
}

/// Whether every name that a site uses is there.
///
/// # Errors
/// Where a plane names a link that a group does not have, or a bond a NIC.
pub fn check(site: &Site) -> Result<(), ModelError> {
    for group in site.groups.iter().filter(|group| group.count > 0) {
        check_link(group, &site.planes.public, "public")?;
        if let Some(private) = &site.planes.private {
            check_link(group, private, "private")?;
        }
        for bond in &group.bonds {
            if let Some(nic) = bond.nics.iter().find(|name| !group.nics.iter().any(|nic| nic.name == **name)) {
                return Err(ModelError::UnknownNic {
                    nic: nic.clone(),
                    bond: bond.name.clone(),
                    group: group.name.clone(),
                    known: quoted(group.nics.iter().map(|nic| &nic.name)),
                });
            }
        }
    }
    Ok(())
}

fn check_link(group: &NodeGroup, plane: &Plane, name: &'static str) -> Result<(), ModelError> {
    let links = || group.nics.iter().map(|nic| &nic.name).chain(group.bonds.iter().map(|bond| &bond.name));
    if links().any(|link| *link == plane.link) {
        return Ok(());
    }
    Err(ModelError::UnknownLink {
        plane: name,
        link: plane.link.clone(),
        group: group.name.clone(),
        known: quoted(links()),
    })
}

fn quoted<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    if names.is_empty() { "it has none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use linerate_record::site::{Product, Protection};

    use super::*;
    use crate::test_site;

    #[test]
    fn a_size_that_is_asked_for_counts_in_all_where_the_site_states_none() {
        let need: Need = "usable=1PB".parse().unwrap();
        let requested = |object_bytes| PlanRequest { object_bytes, need: Some(need.clone()), ..PlanRequest::default() };
        let stated = |object_bytes| {
            let mut site = test_site::site();
            site.data.object_bytes = object_bytes;
            site
        };
        let planned_at = |site: &Site, object_bytes| {
            let plan = plan(site, &requested(object_bytes)).unwrap();
            assert!(!plan.site.is_assumed("data.object_size") || object_bytes.is_none());
            (plan.layout.usable_bytes, plan.rebuild, plan.sizing, plan.site.data.object_bytes)
        };
        let small = planned_at(&stated(4096), None);
        let mut assumed = stated(64 << 20);
        assumed.assumed.insert("data.object_size".to_owned(), "nobody stated it".to_owned());
        for site in [stated(0), assumed.clone()] {
            assert_eq!(planned_at(&site, Some(4096)), small);
        }
        let large = planned_at(&assumed, None);
        assert!(large.0 > small.0 && large.2 != small.2, "{} {}", large.0, small.0);
        // What the site keeps is what it states; the question is of other objects.
        assert_eq!(planned_at(&stated(64 << 20), Some(4096)).0, large.0);
    }

    #[test]
    fn a_plan_has_get_put_and_the_mix_that_is_asked_for() {
        let site = test_site::site();
        let plain = plan(&site, &PlanRequest::default()).unwrap();
        assert_eq!(plain.works.iter().map(|work| work.work.read_share).collect::<Vec<_>>(), [1.0, 0.0]);
        assert_eq!(plain.works[0].work.object_bytes, site.data.object_bytes);
        let requested = PlanRequest { object_bytes: Some(1 << 20), read_share: Some(0.7), ..PlanRequest::default() };
        let mixed = plan(&site, &requested).unwrap();
        assert_eq!(mixed.works.iter().map(|work| work.work.read_share).collect::<Vec<_>>(), [1.0, 0.0, 0.7]);
        assert!(mixed.works.iter().all(|work| work.work.object_bytes == 1 << 20));
        let mut unknown = site.clone();
        unknown.data.object_bytes = 0;
        assert_eq!(works(&unknown, &PlanRequest::default()).unwrap()[0].object_bytes, OBJECT_BYTES);
    }

    #[test]
    fn a_plan_has_findings_and_the_curve_and_size_that_are_asked_for() {
        let mut site = test_site::site();
        site.planes.private = None;
        let plain = plan(&site, &PlanRequest::default()).unwrap();
        assert!(!plain.findings.is_empty() && plain.scaling.is_none() && plain.sizing.is_none());
        let need = Some("usable=1PB".parse().unwrap());
        let requested = plan(&site, &PlanRequest { nodes: Some(4..=16), need, ..PlanRequest::default() }).unwrap();
        assert_eq!(requested.scaling.unwrap().points.len(), 13);
        assert_eq!(requested.sizing.unwrap().nodes, Some(8));
    }

    #[test]
    fn goals_are_told_as_shares_of_the_ceiling_and_those_above_it_are_out_of_reach() {
        let mut site = test_site::site();
        let lowest = plan(&site, &PlanRequest::default()).unwrap().works[0].ceilings[0].limit_bytes_per_s;
        let requested = PlanRequest { read_share: Some(0.5), ..PlanRequest::default() };
        for (part, within_reach) in [(0.5, true), (1.0, true), (1.25, false)] {
            site.goals.get_bytes_per_s = Some(part * lowest);
            site.goals.usable_bytes = Some(if within_reach { 1 << 40 } else { 1 << 60 });
            let made = plan(&site, &requested).unwrap();
            let goal = made.works[0].goal.expect("a goal is stated");
            assert_eq!((goal.bytes_per_s, goal.within_reach), (part * lowest, within_reach));
            assert!((goal.ceiling_share - part).abs() < 1e-12, "{goal:?}");
            assert_eq!((made.works[1].goal, made.works[2].goal), (None, None), "of PUT and of a mix none is stated");
            assert_eq!(made.layout.goal_within_reach, Some(within_reach));
        }
        let plain = plan(&test_site::site(), &PlanRequest::default()).unwrap();
        assert_eq!((plain.works[0].goal, plain.layout.goal_within_reach), (None, None));
    }

    #[test]
    fn a_goal_has_the_requests_in_flight_that_it_takes_and_whether_the_stated_clients_keep_as_many() {
        let site = test_site::site();
        let lowest = plan(&site, &PlanRequest::default()).unwrap().works[0].ceilings[0].limit_bytes_per_s;
        let goal_with = |connections: u32, share: f64, are_assumed: bool| {
            let mut site = site.clone();
            (site.clients.connections, site.goals.get_bytes_per_s) = (connections, Some(share * lowest));
            if are_assumed {
                site.assumed.insert("clients.connections".to_owned(), "not stated".to_owned());
            }
            plan(&site, &PlanRequest::default()).unwrap().works[0].goal.expect("a goal is stated")
        };
        let goal = goal_with(1, 0.8, false);
        let takes = goal.in_flight.expect("less than the ceiling");
        assert!(goal.within_reach && goal.within_clients_reach == Some(false) && takes > 32, "{goal:?}");
        let each = u32::try_from(takes.div_ceil(32)).unwrap();
        for (connections, within) in [(each - 1, false), (each, true)] {
            let goal = goal_with(connections, 0.8, false);
            assert_eq!((goal.in_flight, goal.within_clients_reach), (Some(takes), Some(within)), "{connections}");
        }
        assert_eq!(goal_with(1, 0.8, true).within_clients_reach, None, "nobody stated it");
        let above = goal_with(64, 1.25, false);
        assert_eq!((above.in_flight, above.within_clients_reach), (None, Some(false)), "no number gives it");
    }

    #[test]
    fn what_is_no_question_is_refused_with_the_fix() {
        let site = test_site::site();
        let cases: [(PlanRequest, &str); 3] = [
            (PlanRequest { read_share: Some(1.5), ..PlanRequest::default() }, "read share 1.5 is not a share"),
            (PlanRequest { read_share: Some(f64::NAN), ..PlanRequest::default() }, "read share NaN is not a share"),
            (PlanRequest { object_bytes: Some(0), ..PlanRequest::default() }, "an object of 0 bytes"),
        ];
        for (requested, message) in cases {
            let error = plan(&site, &requested).unwrap_err().to_string();
            assert!(error.starts_with(message), "{requested:?}: {error}");
        }
        let mut misnamed = site.clone();
        misnamed.planes.public.link = "bond9".to_owned();
        let error = plan(&misnamed, &PlanRequest::default()).unwrap_err().to_string();
        assert!(error.contains("\"bond9\" of the public plane") && error.contains("name one of"), "{error}");
        let mut misnamed = site;
        misnamed.groups[0].bonds[0].nics.push("eth9".to_owned());
        let error = plan(&misnamed, &PlanRequest::default()).unwrap_err().to_string();
        assert!(error.starts_with("unknown NIC \"eth9\" of bond"), "{error}");
    }

    #[test]
    fn a_failed_node_costs_at_least_its_own_share() {
        let site = test_site::site();
        for work in works(&site, &PlanRequest { read_share: Some(0.5), ..PlanRequest::default() }).unwrap() {
            let geometries = geometries(&site).unwrap();
            let whole = ceilings(&site, &geometries, &work)[0].limit_bytes_per_s;
            let down = degraded_bytes_per_s(&site, &geometries, &work).unwrap().expect("a set of 16 can lose a node");
            let left = f64::from(site.nodes() - 1) / f64::from(site.nodes());
            assert!(down <= whole * left * 1.001, "{work:?}: {down} of {whole}");
            assert!(down >= whole * 0.5, "{work:?}: {down} of {whole}");
        }
    }

    #[test]
    fn a_site_that_cannot_write_without_a_node_has_no_degraded_throughput() {
        let mut site = test_site::site();
        site.groups[0].count = 2;
        site.groups[0].drives[0].count = 1;
        site.engine.protection = Protection::Sets { set_drives: Some(2), parity: Some(0) };
        let plan = plan(&site, &PlanRequest::default()).unwrap();
        assert_eq!(plan.works[0].degraded_bytes_per_s, None);
    }

    #[test]
    fn reads_that_go_on_without_a_node_have_their_throughput_though_writes_stop() {
        let (sets, copies) =
            (Protection::Sets { set_drives: Some(2), parity: Some(1) }, Protection::Replicas { copies: 2 });
        for (product, protection) in [(Product::Minio, sets), (Product::Garage, copies)] {
            let mut site = test_site::site();
            (site.engine.product, site.engine.protection) = (product, protection);
            site.groups[0].count = 2;
            site.groups[0].drives[0].count = 1;
            let plan = plan(&site, &PlanRequest { read_share: Some(0.5), ..PlanRequest::default() }).unwrap();
            let [get, put, mix] = &plan.works[..] else { panic!("{} works", plan.works.len()) };
            let whole = get.ceilings[0].limit_bytes_per_s;
            let down = get.degraded_bytes_per_s.expect("one of two is enough to read");
            assert!(down > 0.0 && down <= whole, "{product:?}: {down} of {whole}");
            assert_eq!((put.degraded_bytes_per_s, mix.degraded_bytes_per_s), (None, None), "{product:?}");
        }
    }

    fn four(product: Product, protection: Protection, nodes: u32) -> Site {
        let mut site = test_site::site();
        site.clients.count = 0;
        (site.engine.product, site.engine.protection) = (product, protection);
        (site.groups[0].count, site.groups[0].racks) = (nodes, 1);
        // 10 Gb/s for what nodes have with each other: it is the bottleneck of writes.
        site.groups[0].nics[1].ports = 1;
        site.groups[0].nics[1].speed_bits_per_s = 10e9;
        site
    }

    /// PUT with all nodes, and with one down, in bytes per second of what a node's private link carries.
    fn puts(site: &Site) -> (f64, f64) {
        let (geometries, work) = (geometries(site).unwrap(), Work { object_bytes: 64 << 20, read_share: 0.0 });
        let (_, link) = crate::ceilings::among_nodes(site, &site.groups[0], crate::bond::Direction::Egress);
        let whole = ceilings(site, &geometries, &work)[0].limit_bytes_per_s;
        (whole / link, degraded_bytes_per_s(site, &geometries, &work).unwrap().unwrap() / link)
    }

    #[test]
    fn what_has_no_node_to_go_to_is_not_written() {
        let (ceph, garage) = (Product::CephRgw, Product::Garage);
        let (coded, copies) = (Protection::Erasure { data: 2, parity: 2 }, Protection::Replicas { copies: 3 });
        for (product, protection, nodes, whole, down) in [
            // The primary sends 3 other shards of half an object: 1.5 bytes per byte, over 4 nodes. With 3 nodes left
            // it sends 2 of them: 1 byte per byte, over 3 nodes.
            (ceph, coded, 4, 4.0 / 1.5, 3.0),
            // Of 5 nodes 4 are left, enough for all four shards.
            (ceph, coded, 5, 5.0 / 1.5, 4.0 / 1.5),
            // Two other copies, and then one.
            (ceph, copies, 3, 1.5, 2.0),
            // 3 copies, 2/3 of which go to another node: 2 bytes per byte. Then 2 copies, half of which do: 1.
            (garage, copies, 3, 1.5, 2.0),
            // Of 4 nodes: 3 × 3/4. Then three quarters of the copies are written, 2/3 of them to another: 9/4 × 2/3.
            (garage, copies, 4, 4.0 / 2.25, 3.0 / 1.5),
        ] {
            let found = puts(&four(product, protection, nodes));
            let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.001;
            assert!(
                near(found.0, whole) && near(found.1, down),
                "{product:?} {protection:?} on {nodes}: {found:?}, not {whole} and {down}"
            );
        }
    }

    #[test]
    fn clients_have_what_restoring_leaves() {
        let site = test_site::site();
        let plan = plan(&site, &PlanRequest::default()).unwrap();
        for work in &plan.works {
            let (down, rebuilding) = (work.degraded_bytes_per_s.unwrap(), work.rebuilding_bytes_per_s.unwrap());
            // A quarter is assumed, of what restoring is held back by; of everything else it has less.
            assert!(rebuilding <= down && rebuilding >= 0.75 * down * 0.999, "{rebuilding} of {down}");
        }
        assert_eq!(
            plan.rebuild.iter().map(|rebuild| rebuild.lost).collect::<Vec<_>>(),
            [FailureScope::Drive, FailureScope::Node]
        );
    }
}
