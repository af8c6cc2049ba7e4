//! Limits that are met together: which of them holds the site back, readings do not separate.

use linerate_record::diagnosis::{Cause, MemberUse, ResourceUse, Suspect};
use linerate_record::site::Site;
use linerate_record::units::{bits_per_s, percent};

use super::sentences;

/// Levels of which the higher is no more than so many times the lower, each against its own ceiling, are one.
const WITHIN: f64 = 1.2;

/// Less weight than this, and what is at nearly the same level is separated from what leads: no doubt is said that the
/// weights do not have.
const ALTERNATIVE: f64 = 0.02;

/// More that are met together are not told one by one.
const REPORTED: usize = 2;

/// Whether two levels are the same as far as readings tell.
pub(super) fn is_alike(a: f64, b: f64) -> bool {
    a.max(b) <= WITHIN * a.min(b)
}

/// What is said where a resource of all nodes, or a member of their bonds, leads, and another that is a suspect as well
/// is at the same level.
pub(super) fn said(site: &Site, suspects: &[Suspect], used: &[ResourceUse], members: &[MemberUse]) -> Option<String> {
    let first = suspects.first()?;
    let mut others: Vec<String> = match first.cause {
        Cause::Full => {
            let resource_use = used.iter().find(|one| sentences::full(site, one) == first.claim)?;
            let is_other = |one: &&ResourceUse| *one != resource_use && WITHIN * one.share >= resource_use.share;
            used.iter().filter(is_other).map(|one| sentences::full(site, one)).collect()
        }
        Cause::BondMembers => {
            let member_use = members.iter().find(|one| sentences::on_one(one) == first.claim)?;
            let is_other = |one: &&MemberUse| {
                *one != member_use
                    && 2 * one.on_one_nodes >= one.nodes
                    && WITHIN * one.busiest_used_share >= member_use.busiest_used_share
            };
            members.iter().filter(is_other).map(sentences::on_one).collect()
        }
        _ => return None,
    };
    others.retain(|claim| {
        let is_it = |one: &Suspect| one.cause == first.cause && one.claim == *claim && one.weight >= ALTERNATIVE;
        suspects.iter().any(is_it)
    });
    let more = others.len().saturating_sub(REPORTED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!others.is_empty()).then(|| {
        format!(
            "limits are met together, and which of them holds the site back is not separated: {}; and {}{more}",
            first.claim,
            others[..others.len().min(REPORTED)].join("; and ")
        )
    })
}

/// A link of a node in a direction: which, what it does, and how much of what it should carry.
#[derive(Clone, Debug)]
pub(super) struct SteadyWay {
    pub(super) part: String,
    pub(super) is_sent: bool,
    pub(super) capacity: f64,
    pub(super) share: f64,
}

/// What is said of links of one node that stay where they are together; nothing where no other is at the level of the
/// first.
pub(super) fn ways(node: &str, first: &SteadyWay, others: &[SteadyWay]) -> Option<String> {
    let alike: Vec<&SteadyWay> = others.iter().filter(|other| is_alike(first.share, other.share)).collect();
    let way = |one: &&SteadyWay| {
        format!(
            "{} {} {} ({} of what it should carry)",
            one.part,
            if one.is_sent { "sends" } else { "receives" },
            bits_per_s(8.0 * one.capacity * one.share),
            percent(one.share)
        )
    };
    let all: Vec<String> = std::iter::once(&first).chain(&alike).map(way).collect();
    (all.len() > 1).then(|| {
        format!(
            "links of {node} stay at the same level together, and which of them holds it back, or its engine behind \
             them, is not separated: {}",
            all.join(", and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use linerate_record::plan::Resource;

    use super::*;
    use crate::diagnosis::suspects::ScoredCause;
    use crate::test_site::site;

    fn used(resource: Resource, share: f64) -> ResourceUse {
        ResourceUse {
            resource,
            group: "storage".to_owned(),
            part: "public".to_owned(),
            capacity: 1e10,
            share,
            most_share: share,
            most_node: "storage-1".to_owned(),
            full_nodes: 0,
            nodes: 16,
        }
    }

    fn suspect(cause: Cause, part: &str, claim: String, weight: f64) -> Suspect {
        Suspect { weight, ..ScoredCause::new(cause, None, part, claim, 7.0).suspect }
    }

    #[test]
    fn two_resources_at_one_level_are_both_said_and_none_is_picked() {
        let site = site();
        // What is no suspect beside the first is not in doubt, however full it is.
        for (other, weight, is_both) in [(0.9, 0.26, true), (0.8, 0.03, true), (0.9, 0.01, false), (0.7, 0.3, false)] {
            let all = [used(Resource::PublicEgress, 0.94), used(Resource::PublicIngress, other)];
            let full =
                |place: usize, weight: f64| suspect(Cause::Full, "public", sentences::full(&site, &all[place]), weight);
            let suspects = [full(0, 0.7), full(1, weight)];
            let said = said(&site, &suspects, &all, &[]);
            assert_eq!(said.is_some(), is_both, "{other} {weight}: {said:?}");
            let Some(said) = said else { continue };
            assert!(said.contains("not separated") && said.contains(&sentences::full(&site, &all[1])), "{said}");
        }
    }

    #[test]
    fn members_that_carry_all_in_both_directions_are_both_said() {
        let member = |is_sent: bool, busiest_used_share: f64| MemberUse {
            bond: "bond0".to_owned(),
            link: "public".to_owned(),
            group: "storage".to_owned(),
            is_sent,
            members: 2,
            busiest_share: 0.99,
            busiest_used_share,
            on_one_nodes: 16,
            nodes: 16,
        };
        let site = site();
        let both = [member(true, 0.96), member(false, 0.93)];
        let on_one = |one: &MemberUse| suspect(Cause::BondMembers, "bond0", sentences::on_one(one), 0.5);
        let suspects = both.each_ref().map(on_one);
        let reported = said(&site, &suspects, &[], &both).unwrap();
        assert!(reported.contains("nodes send") && reported.contains("nodes receive"), "{reported}");
        let suspects = [on_one(&both[0]), on_one(&member(false, 0.3))];
        assert_eq!(said(&site, &suspects, &[], &[member(true, 0.96), member(false, 0.3)]), None);
    }

    #[test]
    fn ways_of_a_node_are_alike_by_their_own_ceilings() {
        let way = |is_sent: bool, capacity: f64, share: f64| SteadyWay {
            part: if is_sent { "bond0" } else { "bond1" }.to_owned(),
            is_sent,
            capacity,
            share,
        };
        let first = way(true, 2.5e7, 0.48);
        let said = ways("node3", &first, &[way(false, 5e7, 0.41), way(false, 5e7, 0.2)]).unwrap();
        for part in ["bond0 sends 96.0 Mb/s (48.0 %", "bond1 receives 164 Mb/s (41.0 %", "is not separated"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert_eq!(said.matches("what it should carry").count(), 2, "{said}");
        assert_eq!(ways("node3", &first, &[way(false, 5e7, 0.2)]), None);
        assert_eq!(ways("node3", &first, &[]), None);
    }
}
