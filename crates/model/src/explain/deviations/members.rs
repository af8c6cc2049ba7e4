//! Fewer members of a bond carry traffic than it has: flows are few or alike, or a hash sees too little of them.

use linerate_record::explanation::Observations;
use linerate_record::site::{NodeGroup, Site};

use crate::bond::ports;
use crate::explain::deviation::{Variant, link_choices, prior_cost};
use crate::explain::readings::ReadingId;

/// What decides how many members carry traffic. What a bond is called does not.
const DECIDED_BY: [&str; 3] = ["nodes.*.bonds.*.mode", "nodes.*.bonds.*.transmit_hash", "nodes.*.bonds.*.switch_hash"];

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let mut found = Vec::new();
    for (links, name, parts, more) in link_choices(site) {
        let most = links.iter().map(|link| most_members(site, link)).min().unwrap_or(0);
        for used in 1..most {
            let cost = prior_cost(site, if used == 1 { 2.0 } else { 3.0 }, &DECIDED_BY) + more;
            let chosen = links.clone();
            found.push(
                Variant::new(
                    "bond-members-in-use",
                    format!("{name}: {used} of {most}"),
                    format!(
                        "{used} of {most} members of {name} {} the traffic",
                        if used == 1 { "carries" } else { "carry" }
                    ),
                    cost,
                    parts,
                    move |site| chosen.iter().for_each(|link| keep_members(site, link, used)),
                )
                .shown_by(ReadingId::BondMembers)
                .cured_by(
                    format!(
                        "let {name} hash by layer3+4 (encap3+4 under an overlay), the switch by layer 4, and keep \
                         more flows than members"
                    ),
                    "layer3+4 may reorder fragments; changing a bond's hash may interrupt it briefly",
                ),
            );
        }
    }
    found
}

/// Members that a link has where it has the most, if it is a bond.
fn most_members(site: &Site, link: &str) -> u32 {
    let bonded = |group: &&NodeGroup| group.bonds.iter().any(|bond| bond.name == link);
    site.groups.iter().filter(bonded).map(|group| ports(group, link)).max().unwrap_or(0)
}

/// Leaves so many members to a bond of each group.
pub(super) fn keep_members(site: &mut Site, link: &str, used: u32) {
    site.groups.iter_mut().for_each(|group| keep_members_of(group, link, used));
}

/// Leaves so many members to a bond of one group. Ports that are no longer members stay away altogether.
pub(super) fn keep_members_of(group: &mut NodeGroup, link: &str, used: u32) {
    let Some(bond) = group.bonds.iter_mut().find(|bond| bond.name == link) else { return };
    let mut left = used;
    let nics = &mut group.nics;
    bond.nics.retain(|name| {
        let Some(nic) = nics.iter_mut().find(|nic| &nic.name == name) else { return false };
        nic.ports = nic.ports.min(left);
        left -= nic.ports;
        nic.ports > 0
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a bond is called says nothing of its members; its hash does.
    #[test]
    fn only_what_decides_a_member_halves_the_cost() {
        let cost = |assumed: &str| {
            let mut site = crate::test_site::site();
            site.groups[0].nics.iter_mut().for_each(|nic| nic.ports = 2);
            site.assumed.insert(assumed.to_owned(), "not stated".to_owned());
            let observations = Observations { figures: Vec::new(), error_share: 0.02, nodes_alone: false };
            variants(&site, &observations).iter().map(|variant| variant.cost).fold(f64::INFINITY, f64::min)
        };
        let stated = cost("engine.tls");
        assert_eq!(cost("nodes.storage.bonds.0.name"), stated);
        assert!((cost("nodes.storage.bonds.0.transmit_hash") - (stated - 1.0)).abs() < 1e-9);
    }
}
