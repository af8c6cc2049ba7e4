//! What is worth saying of a site beside its ceilings: one check a file, each with its reasons, source and tests.

use linerate_record::finding::Severity;
use linerate_record::plan::{Ceiling, LayoutPlan, PlanFinding, PlanFindingKind, Resource, WorkPlan};
use linerate_record::site::{NodeGroup, Plane, Site};

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

/// What checks look at.
struct Case<'a> {
    site: &'a Site,
    layout: &'a LayoutPlan,
    works: &'a [WorkPlan],
}

/// A check adds what it has to say.
type Check = fn(&Case, &mut Vec<PlanFinding>);

/// All checks.
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
];

/// What all checks say, the gravest first.
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

/// Bits per second of all ports of a plane's link in a group, whatever a bond makes of them.
fn link_bits_per_s(group: &NodeGroup, link: &str) -> f64 {
    let bond = group.bonds.iter().find(|bond| bond.name == link);
    let of = |name: &str| name == link || bond.is_some_and(|bond| bond.nics.iter().any(|nic| nic == name));
    group.nics.iter().filter(|nic| of(&nic.name)).map(|nic| f64::from(nic.ports) * nic.speed_bits_per_s).sum()
}

/// GET, PUT or a mix.
fn work_name(work: &WorkPlan) -> String {
    crate::scaling::work_name(&work.work)
}

/// A resource in words.
pub(crate) fn resource_name(resource: Resource) -> &'static str {
    match resource {
        Resource::PublicIngress => "the public link, receiving",
        Resource::PublicEgress => "the public link, sending",
        Resource::PrivateIngress => "the private link, receiving",
        Resource::PrivateEgress => "the private link, sending",
        Resource::RackUp => "the racks' uplinks, upwards",
        Resource::RackDown => "the racks' uplinks, downwards",
        Resource::ClientIngress => "the clients' NICs, receiving",
        Resource::ClientEgress => "the clients' NICs, sending",
        Resource::EntryNode => "the node that takes every connection",
        Resource::DriveBandwidth => "the drives' bandwidth",
        Resource::DriveOperations => "the drives' operations",
        Resource::PcieNic => "PCIe of a NIC",
        Resource::PcieDrives => "PCIe of the drives",
        Resource::PcieSocket => "PCIe of the sockets",
        Resource::Memory => "memory bandwidth",
        Resource::Cpu => "the processors",
    }
}

/// The lowest ceiling of a work.
fn lowest(work: &WorkPlan) -> Option<&Ceiling> {
    work.ceilings.first()
}

/// Makes a finding.
fn finding(
    kind: PlanFindingKind,
    severity: Severity,
    (claim, evidence): (String, String),
    remedy: &str,
    source: &str,
) -> PlanFinding {
    PlanFinding { kind, severity, claim, evidence, remedy: remedy.to_owned(), source: source.to_owned() }
}

#[cfg(test)]
mod tests {
    use linerate_record::plan::Work;

    use super::*;
    use crate::ceilings::ceilings;
    use crate::layout::{geometry, layout};

    /// All findings of a site, with GET and PUT planned.
    pub(super) fn all(site: &Site) -> Vec<PlanFinding> {
        let geometry = geometry(site).unwrap();
        let plan = |read_share| {
            let work = Work { object_bytes: site.data.object_bytes, read_share };
            let ceilings = ceilings(site, &geometry, &work);
            WorkPlan { work, ceilings, spread: Vec::new(), degraded_bytes_per_s: None, curve: None }
        };
        findings(site, &layout(site).unwrap(), &[plan(1.0), plan(0.0)])
    }

    /// Findings of one kind of a changed site.
    pub(super) fn of(kind: PlanFindingKind, change: impl FnOnce(&mut Site)) -> Vec<PlanFinding> {
        let mut site = crate::sites::site();
        change(&mut site);
        all(&site).into_iter().filter(|finding| finding.kind == kind).collect()
    }

    #[test]
    fn a_site_with_nothing_the_matter_is_told_nothing_but_notes() {
        let site = crate::sites::site();
        let graver: Vec<PlanFinding> =
            all(&site).into_iter().filter(|finding| finding.severity > Severity::Note).collect();
        assert!(graver.is_empty(), "{graver:#?}");
    }

    #[test]
    fn the_gravest_come_first_and_each_says_what_to_do_and_where_that_is_from() {
        let mut site = crate::sites::site();
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
