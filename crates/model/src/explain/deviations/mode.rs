//! A bond runs in a mode that leaves members idle.

use linerate_record::explanation::Observations;
use linerate_record::site::{BondMode, Site};

use crate::bond::ports;
use crate::explain::deviation::{Variant, link_choices};
use crate::explain::readings::ReadingId;

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let modes = [
        (BondMode::ActiveBackup, "one member carries everything", 3.0),
        (BondMode::BalanceTlb, "one member receives everything", 4.5),
    ];
    let mut found = Vec::new();
    for (links, name, parts, more) in link_choices(site) {
        for (mode, effect, cost) in modes {
            if !links.iter().all(|link| could_run(site, link, mode)) {
                continue;
            }
            let word = mode.name();
            let chosen = links.clone();
            let stated = bond_modes(site, &links);
            found.push(
                Variant::new(
                    "bond-mode",
                    format!("{name}: {word}"),
                    format!("{name} {} as {word}: {effect}", if links.len() == 1 { "runs" } else { "run" }),
                    cost,
                    parts,
                    move |site| chosen.iter().for_each(|link| run_as(site, link, mode)),
                )
                .instead_of(site, stated)
                .costing(more)
                .shown_by(ReadingId::BondMode)
                .cured_by(
                    format!("run {name} as 802.3ad, with LACP on the switch's ports"),
                    "the bond goes down for the change; a switch without LACP on these ports leaves one member or none",
                ),
            );
        }
    }
    found
}

/// Paths and modes of bonds.
fn bond_modes(site: &Site, links: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for group in &site.groups {
        let bonds = group.bonds.iter().enumerate().filter(|(_, bond)| links.contains(&bond.name));
        found.extend(bonds.map(|(i, bond)| {
            let path = format!("nodes.{}.bonds.{i}.mode", group.name);
            (path, bond.mode.name().to_owned())
        }));
    }
    found
}

/// Whether a link is a bond of several members in another mode.
fn could_run(site: &Site, link: &str, mode: BondMode) -> bool {
    site.groups
        .iter()
        .any(|group| ports(group, link) > 1 && group.bonds.iter().any(|bond| bond.name == link && bond.mode != mode))
}

fn run_as(site: &mut Site, link: &str, mode: BondMode) {
    let bonds = site.groups.iter_mut().flat_map(|group| &mut group.bonds);
    bonds.filter(|bond| bond.name == link).for_each(|bond| bond.mode = mode);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_that_was_stated_is_quoted_as_a_site_states_it() {
        let quoted = bond_modes(&crate::test_site::site(), &["public".to_owned()]);
        assert_eq!(quoted, [("nodes.storage.bonds.0.mode".to_owned(), "802.3ad".to_owned())]);
    }
}
