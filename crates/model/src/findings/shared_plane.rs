//! Clients and nodes on the same links: each byte that is read passes them twice, or nearly.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind, Work};
use linerate_record::site::{Nic, Site};
use linerate_record::units::bytes_per_s_iec;

use super::{Case, finding};
use crate::bond::nics_of;
use crate::ceilings::limits;
use crate::layout::{Geometries, geometries};
use crate::traffic::traffic;
use crate::work_names::work_name;

/// A ceiling that a link of its own raises by less is as it was.
const RAISED: f64 = 1.005;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let Ok(geometries) = geometries(case.site) else { return };
    if !case.site.planes.are_shared() {
        return;
    }
    let Some(evidence) = twice(case, &geometries) else { return };
    let link = &case.site.planes.public.link;
    let gains = gains(case, &geometries);
    let remedy = if gains.is_empty() {
        "none needed: another link for traffic among nodes raises no ceiling".to_owned()
    } else {
        format!(
            "give the traffic among nodes its own link, in addition to {link:?} and as fast: {}; taking ports from \
             {link:?} for it gains less",
            gains.join(", ")
        )
    };
    out.push(finding(
        PlanFindingKind::SharedPlane,
        Severity::Note,
        format!("clients and nodes share {link:?}"),
        evidence,
        &remedy,
        "sources/000 separates east-west from north-south traffic; shares as in docs/method/ceilings.md",
    ));
}

/// How often a byte is on the link, with clients and among nodes: of reads, or of writes where reads are not both.
/// Nothing where clients and nodes do not meet there.
fn twice(case: &Case, geometries: &Geometries) -> Option<String> {
    let object_bytes = case.works.first()?.work.object_bytes;
    let place = case.site.groups.iter().position(|group| group.count > 0)?;
    [(true, "read leaves", "to"), (false, "written enters", "from")].into_iter().find_map(|(reads, what, way)| {
        let work = Work { object_bytes, read_share: f64::from(u8::from(reads)) };
        let node = *traffic(case.site, geometries, &work).nodes.get(place)?;
        let bytes_one_way = |flow: crate::traffic::NodeFlow| if reads { flow.egress } else { flow.ingress };
        let (clients, among) = (bytes_one_way(node.client), bytes_one_way(node.among_nodes()));
        let meet = among > 0.0 && (clients > 0.0 || !case.site.has_clients_on_nodes());
        meet.then(|| {
            format!(
                "a byte that is {what} a node {:.2} times: {clients:.2} times {way} clients, {among:.2} times as \
                 shards or copies",
                clients + among
            )
        })
    })
}

/// What a link for traffic among nodes would bring, as fast as the one that is shared.
fn gains(case: &Case, geometries: &Geometries) -> Vec<String> {
    let parted = parted(case.site);
    let lowest_limit =
        |site: &Site, work: &Work| limits(site, geometries, work).first().map(|limit| limit.limit_bytes_per_s);
    let reported = |work: &linerate_record::plan::WorkPlan| {
        let (now, then) = (lowest_limit(case.site, &work.work)?, lowest_limit(&parted, &work.work)?);
        let gain =
            || format!("{} up to {} instead of {}", work_name(&work.work), bytes_per_s_iec(then), bytes_per_s_iec(now));
        (then > RAISED * now).then(gain)
    };
    case.works.iter().filter_map(reported).collect()
}

/// The site with the public link a second time, for a private plane.
fn parted(site: &Site) -> Site {
    let mut parted = site.clone();
    let (link, again) = (&site.planes.public.link, |name: &str| format!("{name} again"));
    for group in &mut parted.groups {
        let nics: Vec<Nic> =
            nics_of(group, link).map(|(_, nic)| Nic { name: again(&nic.name), ..nic.clone() }).collect();
        if let Some(mut bond) = group.bonds.iter().find(|bond| bond.name == *link).cloned() {
            bond.name = again(link);
            bond.nics = nics.iter().map(|nic| nic.name.clone()).collect();
            group.bonds.push(bond);
        }
        group.nics.extend(nics);
    }
    let mut private = site.planes.private.clone().unwrap_or_else(|| site.planes.public.clone());
    private.link = again(link);
    parted.planes.private = Some(private);
    parted
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn one_plane_and_two_planes_on_one_link_are_shared() {
        let absent = findings_after(PlanFindingKind::SharedPlane, |site| site.planes.private = None);
        assert!(absent[0].evidence.contains("leaves a node 1.94 times"), "{absent:?}");
        let same =
            findings_after(PlanFindingKind::SharedPlane, |site| site.planes.private = Some(site.planes.public.clone()));
        assert_eq!(same, absent);
    }

    #[test]
    fn planes_of_their_own_are_not() {
        assert!(findings_after(PlanFindingKind::SharedPlane, |_| ()).is_empty());
    }
}
