//! The model run forward: what a site can do.

mod spreads;

use std::ops::RangeInclusive;

use linerate_record::plan::{PLAN_SCHEMA, Plan, Work, WorkPlan};
use linerate_record::site::{NodeGroup, Plane, Product, Site};

use crate::ceilings::{ceilings, limits, strained_limits};
use crate::curve::{course, curve};
use crate::error::ModelError;
use crate::findings::findings;
use crate::layout::{Geometry, degraded, geometry, layout, pools};
use crate::scaling::scaling;
use crate::sizing::{Need, sizing};
use crate::traffic::Strain;

/// The size of objects where neither the question nor the site tells it: bytes bind, and not operations.
const OBJECT_BYTES: u64 = 64 << 20;
/// Share of its drives that Ceph keeps for clients while it recovers: the reservation of mClock's profile `balanced`,
/// the default (`osd_mclock_profile`).
const CEPH_CLIENTS_SHARE: f64 = 0.5;

/// What is asked of a plan beside the site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Size of an object; absent: the site's mean, or 64 MiB where it tells none.
    pub object_bytes: Option<u64>,
    /// Share of bytes that is read: adds a mix to GET and PUT.
    pub read_share: Option<f64>,
    /// Numbers of nodes to draw the curve over.
    pub nodes: Option<RangeInclusive<u32>>,
    /// What a site of the same kind of node must give.
    pub need: Option<Need>,
    /// Chance: of how flows are placed on members of bonds. The same seed gives the same plan.
    pub seed: u64,
}

/// What a site can do: the ceilings of GET, PUT and the mix that is asked for, and its layout.
///
/// # Errors
/// Where the site has no layout, or names links that it does not have, and where the question is no share or size.
pub fn plan(site: &Site, asked: &Asked) -> Result<Plan, ModelError> {
    check(site)?;
    let layout = layout(site)?;
    let geometry = geometry(site)?;
    let spread = spreads::spreads(site, &geometry, asked.seed);
    let mut plans = Vec::new();
    let works = works(site, asked)?;
    for &work in &works {
        let course = course(site, &geometry, &work, &limits(site, &geometry, &work));
        plans.push(WorkPlan {
            work,
            ceilings: ceilings(site, &geometry, &work),
            curve: course.map(|course| curve(site, &course)),
            spread: spreads::of_work(&spread, &work),
            degraded_bytes_per_s: degraded_bytes_per_s(site, &geometry, &work)?,
        });
    }
    let object_bytes = works.first().map_or(OBJECT_BYTES, |work| work.object_bytes);
    Ok(Plan {
        schema: PLAN_SCHEMA,
        site: site.clone(),
        findings: findings(site, &layout, &plans),
        works: plans,
        layout,
        scaling: asked.nodes.clone().map(|nodes| scaling(site, nodes, &works)),
        sizing: asked.need.as_ref().map(|need| sizing(site, need, object_bytes)).transpose()?,
    })
}

/// GET, PUT, and the mix where one is asked for.
///
/// # Errors
/// Where the share is none, or the size is 0.
pub fn works(site: &Site, asked: &Asked) -> Result<Vec<Work>, ModelError> {
    let described = Some(site.data.object_bytes).filter(|&bytes| bytes > 0);
    let object_bytes = asked.object_bytes.or(described).unwrap_or(OBJECT_BYTES);
    if object_bytes == 0 {
        return Err(ModelError::NoObjectSize);
    }
    if let Some(share) = asked.read_share.filter(|share| !(0.0..=1.0).contains(share)) {
        return Err(ModelError::ReadShare { share });
    }
    let shares = [Some(1.0), Some(0.0), asked.read_share];
    Ok(shares.into_iter().flatten().map(|read_share| Work { object_bytes, read_share }).collect())
}

/// The lowest ceiling while one node is down and its data is being restored; absent where writes have no quorum then.
///
/// Requests go before healing: MinIO's waits while there are requests (`waitForLowHTTPReq` in
/// `cmd/background-heal-ops.go`), so that only the loss of the node counts. Ceph's recovery has half of each drive.
///
/// # Errors
/// Where the site has no layout.
pub fn degraded_bytes_per_s(site: &Site, geometry: &Geometry, work: &Work) -> Result<Option<f64>, ModelError> {
    let mut lowest: Option<f64> = None;
    for pool in pools(site)? {
        let Some(hit) = degraded(site.engine.product, &pool.geometry, pool.nodes, 1) else { return Ok(None) };
        let strain = Strain {
            nodes: site.nodes() - 1,
            reads: hit.shard_reads,
            writes: hit.shard_writes,
            reconstructed: hit.reconstructed,
        };
        let of = strained_limits(site, geometry, work, strain)
            .into_iter()
            .map(|limit| limit.limit_bytes_per_s * clients_share(site.engine.product, limit.resource));
        lowest = of.chain(lowest).reduce(f64::min);
    }
    Ok(lowest)
}

fn clients_share(product: Product, resource: linerate_record::plan::Resource) -> f64 {
    use linerate_record::plan::Resource::{DriveBandwidth, DriveOperations};
    let drives = matches!(resource, DriveBandwidth | DriveOperations);
    if product == Product::CephRgw && drives { CEPH_CLIENTS_SHARE } else { 1.0 }
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
    use linerate_record::plan::Resource;
    use linerate_record::site::Protection;

    use super::*;
    use crate::sites;

    #[test]
    fn a_plan_has_get_put_and_the_mix_that_is_asked_for() {
        let site = sites::site();
        let plain = plan(&site, &Asked::default()).unwrap();
        assert_eq!(plain.works.iter().map(|work| work.work.read_share).collect::<Vec<_>>(), [1.0, 0.0]);
        assert_eq!(plain.works[0].work.object_bytes, site.data.object_bytes);
        let asked = Asked { object_bytes: Some(1 << 20), read_share: Some(0.7), ..Asked::default() };
        let mixed = plan(&site, &asked).unwrap();
        assert_eq!(mixed.works.iter().map(|work| work.work.read_share).collect::<Vec<_>>(), [1.0, 0.0, 0.7]);
        assert!(mixed.works.iter().all(|work| work.work.object_bytes == 1 << 20));
        let mut unknown = site.clone();
        unknown.data.object_bytes = 0;
        assert_eq!(works(&unknown, &Asked::default()).unwrap()[0].object_bytes, OBJECT_BYTES);
    }

    #[test]
    fn a_plan_has_findings_and_the_curve_and_size_that_are_asked_for() {
        let mut site = sites::site();
        site.planes.private = None;
        let plain = plan(&site, &Asked::default()).unwrap();
        assert!(!plain.findings.is_empty() && plain.scaling.is_none() && plain.sizing.is_none());
        let need = Some("usable=1PB".parse().unwrap());
        let asked = plan(&site, &Asked { nodes: Some(4..=16), need, ..Asked::default() }).unwrap();
        assert_eq!(asked.scaling.unwrap().points.len(), 13);
        assert_eq!(asked.sizing.unwrap().nodes, Some(8));
    }

    #[test]
    fn what_is_no_question_is_refused_with_the_fix() {
        let site = sites::site();
        let cases: [(Asked, &str); 3] = [
            (Asked { read_share: Some(1.5), ..Asked::default() }, "read share 1.5 is not a share"),
            (Asked { read_share: Some(f64::NAN), ..Asked::default() }, "read share NaN is not a share"),
            (Asked { object_bytes: Some(0), ..Asked::default() }, "an object of 0 bytes"),
        ];
        for (asked, message) in cases {
            let error = plan(&site, &asked).unwrap_err().to_string();
            assert!(error.starts_with(message), "{asked:?}: {error}");
        }
        let mut misnamed = site.clone();
        misnamed.planes.public.link = "bond9".to_owned();
        let error = plan(&misnamed, &Asked::default()).unwrap_err().to_string();
        assert!(error.contains("\"bond9\" of the public plane") && error.contains("name one of"), "{error}");
        let mut misnamed = site;
        misnamed.groups[0].bonds[0].nics.push("eth9".to_owned());
        let error = plan(&misnamed, &Asked::default()).unwrap_err().to_string();
        assert!(error.starts_with("unknown NIC \"eth9\" of bond"), "{error}");
    }

    #[test]
    fn a_failed_node_costs_at_least_its_own_share() {
        let site = sites::site();
        for work in works(&site, &Asked { read_share: Some(0.5), ..Asked::default() }).unwrap() {
            let geometry = geometry(&site).unwrap();
            let whole = ceilings(&site, &geometry, &work)[0].limit_bytes_per_s;
            let down = degraded_bytes_per_s(&site, &geometry, &work).unwrap().expect("a set of 16 can lose a node");
            let left = f64::from(site.nodes() - 1) / f64::from(site.nodes());
            assert!(down <= whole * left * 1.001, "{work:?}: {down} of {whole}");
            assert!(down >= whole * 0.5, "{work:?}: {down} of {whole}");
        }
    }

    #[test]
    fn a_site_that_cannot_write_without_a_node_has_no_degraded_throughput() {
        let mut site = sites::site();
        site.groups[0].count = 2;
        site.groups[0].drives[0].count = 1;
        site.engine.protection = Protection::Sets { set_drives: Some(2), parity: Some(0) };
        let plan = plan(&site, &Asked::default()).unwrap();
        assert_eq!(plan.works[0].degraded_bytes_per_s, None);
    }

    #[test]
    fn ceph_keeps_half_of_its_drives_for_clients_while_it_recovers() {
        assert_eq!(clients_share(Product::CephRgw, Resource::DriveBandwidth), 0.5);
        assert_eq!(clients_share(Product::CephRgw, Resource::PublicEgress), 1.0);
        assert_eq!(clients_share(Product::Minio, Resource::DriveBandwidth), 1.0);
    }
}
