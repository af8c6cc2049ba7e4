//! Clients and nodes on the same links: each byte that is read passes them twice.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};

use super::{Case, finding};

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let nodes = f64::from(case.site.nodes());
    if case.planes().count() > 1 || nodes < 2.0 {
        return;
    }
    let among = 1.0 - 1.0 / nodes;
    let claim = format!("clients and nodes share \"{}\"", case.site.planes.public.link);
    let evidence = format!(
        "a byte that is read leaves a node {:.2} times: once to the client, and {among:.2} times as shards or copies",
        1.0 + among
    );
    out.push(finding(
        PlanFindingKind::SharedPlane,
        Severity::Note,
        (claim, evidence),
        "give traffic among nodes links of its own, or count on about half of the link for clients",
        "sources/000 separates east-west from north-south traffic; shares as in docs/method/ceilings.md",
    ));
}

#[cfg(test)]
mod tests {
    use super::super::tests::of;
    use super::*;

    #[test]
    fn one_plane_and_two_planes_on_one_link_are_shared() {
        let absent = of(PlanFindingKind::SharedPlane, |site| site.planes.private = None);
        assert!(absent[0].evidence.contains("leaves a node 1.94 times"), "{absent:?}");
        let same = of(PlanFindingKind::SharedPlane, |site| site.planes.private = Some(site.planes.public.clone()));
        assert_eq!(same, absent);
    }

    #[test]
    fn planes_of_their_own_are_not() {
        assert!(of(PlanFindingKind::SharedPlane, |_| ()).is_empty());
    }
}
