//! What is worth saying of a site beside its ceilings: one check a file, each with its reasons, source and tests.

use linerate_record::finding::Severity;
use linerate_record::plan::{Ceiling, LayoutPlan, PlanFinding, PlanFindingKind, WorkPlan};
use linerate_record::site::{NodeGroup, Plane, Site};

use crate::layout::geometries;
use crate::traffic::{NodeTraffic, traffic};

mod assumed;
mod bond_hash;
mod capacity;
mod entry;
mod goals;
mod hardware;
mod kernel;
mod layout_worse;
mod mtu;
mod nic_against_drives;
mod numa;
mod pcie_lanes;
mod racks;
mod reordering;
mod shared_plane;
mod small_objects;
mod writes_stop;

/// What checks look at.
struct Case<'a> {
    site: &'a Site,
    layout: &'a LayoutPlan,
    works: &'a [WorkPlan],
}

/// A check adds what it has to say.
type Check = fn(&Case, &mut Vec<PlanFinding>);

const CHECKS: &[Check] = &[
    assumed::check,
    bond_hash::check,
    capacity::check,
    entry::check,
    goals::check,
    hardware::check,
    kernel::check,
    layout_worse::check,
    mtu::check,
    nic_against_drives::check,
    numa::check,
    pcie_lanes::check,
    racks::check,
    reordering::check,
    shared_plane::check,
    small_objects::check,
    writes_stop::check,
];

/// What all checks say, the most severe first.
#[must_use]
pub fn findings(site: &Site, layout: &LayoutPlan, works: &[WorkPlan]) -> Vec<PlanFinding> {
    let case = Case { site, layout, works };
    let mut all = Vec::new();
    for check in CHECKS {
        check(&case, &mut all);
    }
    all.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.kind.cmp(&b.kind)));
    all
}

impl<'a> Case<'a> {
    /// Groups that have nodes.
    fn groups(&self) -> impl Iterator<Item = &'a NodeGroup> {
        self.site.groups.iter().filter(|group| group.count > 0)
    }

    /// The planes with their names.
    fn planes(&self) -> impl Iterator<Item = (&'static str, &'a Plane)> {
        let planes = &self.site.planes;
        let private = planes.private.as_ref().filter(|private| private.link != planes.public.link);
        [("public", Some(&planes.public)), ("private", private)]
            .into_iter()
            .filter_map(|(name, plane)| Some((name, plane?)))
    }
}

impl Case<'_> {
    /// Whether anything of what is planned crosses a plane's link.
    fn crosses(&self, plane: &str) -> bool {
        let Ok(geometries) = geometries(self.site) else { return true };
        let of_node = |node: &NodeTraffic| {
            let flow = if plane == "public" { node.on_public_link(self.site) } else { node.private() };
            flow.ingress + flow.egress > 0.0
        };
        let of_work = |work: &WorkPlan| traffic(self.site, &geometries, &work.work).of_any_node().any(of_node);
        self.works.is_empty() || self.works.iter().any(of_work)
    }
}

/// The lowest ceiling of a work.
fn lowest(work: &WorkPlan) -> Option<&Ceiling> {
    work.ceilings.first()
}

fn finding(
    kind: PlanFindingKind,
    severity: Severity,
    claim: String,
    evidence: String,
    remedy: &str,
    source: &str,
) -> PlanFinding {
    PlanFinding { kind, severity, claim, evidence, remedy: remedy.to_owned(), source: source.to_owned(), goal: None }
}

#[cfg(test)]
mod tests {
    use linerate_record::plan::Work;

    use super::*;
    use crate::ceilings::ceilings;
    use crate::layout::layout;

    /// The ceilings of a site's reads and writes, and nothing else of their plan.
    pub(super) fn planned(site: &Site, read_share: f64) -> WorkPlan {
        let work = Work { object_bytes: site.data.object_bytes, read_share };
        let ceilings = ceilings(site, &geometries(site).unwrap(), &work);
        WorkPlan {
            work,
            goal: crate::plan::goal(site, &work, &ceilings[0], None),
            ceilings,
            spread: Vec::new(),
            degraded_bytes_per_s: None,
            rebuilding_bytes_per_s: None,
            curve: None,
        }
    }

    /// All findings of a site, with GET and PUT planned.
    pub(super) fn all(site: &Site) -> Vec<PlanFinding> {
        findings(site, &layout(site).unwrap(), &[planned(site, 1.0), planned(site, 0.0)])
    }

    /// Findings of one kind of a changed site.
    pub(super) fn findings_after(kind: PlanFindingKind, change: impl FnOnce(&mut Site)) -> Vec<PlanFinding> {
        let mut site = crate::test_site::site();
        change(&mut site);
        all(&site).into_iter().filter(|finding| finding.kind == kind).collect()
    }

    #[test]
    fn a_site_with_nothing_the_matter_is_told_nothing_but_notes() {
        let site = crate::test_site::site();
        let more_severe: Vec<PlanFinding> =
            all(&site).into_iter().filter(|finding| finding.severity > Severity::Note).collect();
        assert!(more_severe.is_empty(), "{more_severe:#?}");
    }

    #[test]
    fn the_gravest_come_first_and_each_says_what_to_do_and_where_that_is_from() {
        let mut site = crate::test_site::site();
        site.groups[0].sockets = 1;
        site.groups[0].drives[0].count = 40;
        site.groups[0].nics[0].speed_bits_per_s = 10e9;
        site.planes.private = None;
        site.goals.get_bytes_per_s = Some(1e15);
        let all = all(&site);
        assert!(all.len() >= 5, "{all:#?}");
        assert!(all.is_sorted_by(|a, b| a.severity >= b.severity));
        for finding in &all {
            assert!(!finding.remedy.is_empty() && !finding.source.is_empty(), "{finding:?}");
            assert!(!finding.evidence.is_empty() && !finding.claim.ends_with('.'), "{finding:?}");
        }
    }
}
