//! A bond runs in a mode that leaves members idle.

use linerate_record::explanation::Observations;
use linerate_record::site::{BondMode, Site};

use crate::explain::deviation::{Variant, cost_of, link_choices, members};
use crate::explain::readings::ReadingId;

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let modes = [
        (BondMode::ActiveBackup, "active-backup", "one member carries everything", 3.0),
        (BondMode::BalanceTlb, "balance-tlb", "one member receives everything", 4.5),
    ];
    let mut found = Vec::new();
    for (links, name, parts, more) in link_choices(site) {
        for (mode, word, effect, cost) in modes {
            if !links.iter().all(|link| could_run(site, link, mode)) {
                continue;
            }
            let chosen = links.clone();
            let cost = cost_of(site, cost, &["nodes.*.bonds.*.mode"]) + more;
            found.push(
                Variant::new(
                    "bond-mode",
                    format!("{name}: {word}"),
                    format!("{name} runs as {word}: {effect}"),
                    cost,
                    parts,
                    move |site| chosen.iter().for_each(|link| run_as(site, link, mode)),
                )
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

/// Whether a link is a bond of several members in another mode.
fn could_run(site: &Site, link: &str, mode: BondMode) -> bool {
    site.groups
        .iter()
        .any(|group| members(group, link) > 1 && group.bonds.iter().any(|bond| bond.name == link && bond.mode != mode))
}

fn run_as(site: &mut Site, link: &str, mode: BondMode) {
    let bonds = site.groups.iter_mut().flat_map(|group| &mut group.bonds);
    bonds.filter(|bond| bond.name == link).for_each(|bond| bond.mode = mode);
}
