//! What a deviation is: one way in which a site may differ from its description.

use linerate_record::explanation::{Deviation, Observations};
use linerate_record::site::{NodeGroup, Site};

use super::readings::ReadingId;

/// Parts of a site that a deviation decides. Two deviations that decide the same part do not combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts(u32);

impl Parts {
    /// Members and mode of the public plane's link, and its speed.
    pub(super) const PUBLIC_LINK: Parts = Parts(1);
    /// The same of the private plane.
    pub(super) const PRIVATE_LINK: Parts = Parts(1 << 1);
    /// Size of packets on the public plane.
    pub(super) const PUBLIC_MTU: Parts = Parts(1 << 2);
    /// Size of packets on the private plane.
    pub(super) const PRIVATE_MTU: Parts = Parts(1 << 3);
    /// What is around packets on the public plane.
    pub(super) const PUBLIC_WRAP: Parts = Parts(1 << 4);
    /// What is around packets on the private plane.
    pub(super) const PRIVATE_WRAP: Parts = Parts(1 << 5);
    /// Which planes there are.
    pub(super) const PLANES: Parts = Parts(1 << 6);
    /// How objects are cut.
    pub(super) const LAYOUT: Parts = Parts(1 << 7);
    /// Which shards are read.
    pub(super) const LOCALITY: Parts = Parts(1 << 8);
    /// Client machines.
    pub(super) const CLIENTS: Parts = Parts(1 << 9);
    /// One node that differs from the others.
    pub(super) const NODE: Parts = Parts(1 << 10);
    /// Links between racks.
    pub(super) const FABRIC: Parts = Parts(1 << 11);
    /// Drives of all nodes.
    pub(super) const DRIVES: Parts = Parts(1 << 12);
    /// Processors, and what they compute.
    pub(super) const CPU: Parts = Parts(1 << 13);
    /// The way in.
    pub(super) const ENTRY: Parts = Parts(1 << 14);
    /// PCIe.
    pub(super) const PCIE: Parts = Parts(1 << 15);
    /// Memory.
    pub(super) const MEMORY: Parts = Parts(1 << 16);
    /// Objects.
    pub(super) const OBJECTS: Parts = Parts(1 << 17);

    /// Both.
    pub(super) const fn and(self, other: Parts) -> Parts {
        Parts(self.0 | other.0)
    }

    /// Whether they have a part in common.
    pub(super) fn meet(self, other: Parts) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a deviation makes of a site.
pub(super) type Change = Box<dyn Fn(&mut Site)>;

/// One way in which a site may differ.
pub(super) struct Variant {
    /// The row's name, its value and claim, its cost.
    pub(super) id: &'static str,
    /// Which one of the row's.
    pub(super) value: String,
    /// In words.
    pub(super) claim: String,
    /// Log odds against it, beforehand.
    pub(super) cost: f64,
    /// What it decides.
    pub(super) parts: Parts,
    /// The site under it.
    pub(super) change: Change,
    /// Where it is one of the values of one free number: all with the same name are one deviation.
    pub(super) free: bool,
    /// The node that it names, and the group that it makes of that node (by index in the changed site).
    pub(super) odd: Option<Odd>,
    /// What would show it.
    pub(super) shown_by: ReadingId,
    /// What to do about it.
    pub(super) cure: Cure,
}

/// The one node that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Odd {
    /// Its name, where figures name it.
    pub(super) node: Option<String>,
    /// Its group in the changed site.
    pub(super) group: usize,
}

/// What to do if a deviation is the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cure {
    /// What to change.
    pub(super) change: String,
    /// What that risks.
    pub(super) risks: &'static str,
}

/// A row: deviations of one kind.
pub(super) type Row = fn(&Site, &Observations) -> Vec<Variant>;

impl Variant {
    /// A deviation without further properties.
    pub(super) fn new(
        id: &'static str,
        value: impl Into<String>,
        claim: impl Into<String>,
        cost: f64,
        parts: Parts,
        change: impl Fn(&mut Site) + 'static,
    ) -> Variant {
        let claim = claim.into();
        Variant {
            id,
            value: value.into(),
            cure: Cure { change: format!("look into it: {claim}"), risks: "none that the model knows" },
            claim,
            cost,
            parts,
            change: Box::new(change),
            free: false,
            odd: None,
            shown_by: ReadingId::BondMembers,
        }
    }

    /// The same with what to do about it.
    pub(super) fn cured_by(self, change: impl Into<String>, risks: &'static str) -> Variant {
        Variant { cure: Cure { change: change.into(), risks }, ..self }
    }

    /// The same with what would show it.
    pub(super) fn shown_by(self, shown_by: ReadingId) -> Variant {
        Variant { shown_by, ..self }
    }

    /// As the record has it.
    pub(super) fn recorded(&self) -> Deviation {
        Deviation {
            id: self.id.to_owned(),
            value: self.value.clone(),
            claim: self.claim.clone(),
            cost: self.cost,
            shown_by: self.shown_by.told(),
        }
    }

    /// Its stable name.
    pub(super) fn name(&self) -> String {
        format!("{}({})", self.id, self.value)
    }
}

/// Half the cost for a value that nobody stated, by any of its paths.
pub(super) fn cost_of(site: &Site, stated: f64, paths: &[&str]) -> f64 {
    let assumed = |path: &str| site.assumed.keys().any(|known| matches(known, path));
    if paths.iter().any(|path| assumed(path)) { stated / 2.0 } else { stated }
}

/// Whether a path of the site is the one asked for; `*` stands for one step of it, and a path stands for what is below.
fn matches(known: &str, asked: &str) -> bool {
    let (mut known, mut asked) = (known.split('.'), asked.split('.'));
    loop {
        match (known.next(), asked.next()) {
            (_, None) | (None, Some(_)) => return true,
            (Some(k), Some(a)) if a != "*" && k != a => return false,
            _ => {}
        }
    }
}

/// Ports that a plane's link has in a group.
pub(super) fn members(group: &NodeGroup, link: &str) -> u32 {
    nics_of(group, link).iter().map(|&nic| group.nics[nic].ports).sum()
}

/// The NICs behind a plane's link in a group, by index.
pub(super) fn nics_of(group: &NodeGroup, link: &str) -> Vec<usize> {
    let behind = |name: &str| match group.bonds.iter().find(|bond| bond.name == link) {
        Some(bond) => bond.nics.iter().any(|nic| nic == name),
        None => name == link,
    };
    (0..group.nics.len()).filter(|&nic| behind(&group.nics[nic].name)).collect()
}

/// Links of the planes, each with what it is called and the parts that it is: one where both planes are on the same.
pub(super) fn links(site: &Site) -> Vec<(String, &'static str, Parts)> {
    let public = site.planes.public.link.clone();
    let Some(private) = &site.planes.private else {
        return vec![(public, "public", Parts::PUBLIC_LINK)];
    };
    if private.link == public {
        return vec![(public, "both planes'", Parts::PUBLIC_LINK.and(Parts::PRIVATE_LINK))];
    }
    vec![(public, "public", Parts::PUBLIC_LINK), (private.link.clone(), "private", Parts::PRIVATE_LINK)]
}

/// Links that deviate together: their names, how they are called, the parts that they are, what that costs more.
pub(super) type LinkChoice = (Vec<String>, String, Parts, f64);

/// Links as [`links`] has them, each alone, and all of them together where there are several: what is set up wrongly
/// once is often set up wrongly everywhere.
pub(super) fn link_choices(site: &Site) -> Vec<LinkChoice> {
    let single = links(site);
    let mut choices: Vec<_> =
        single.iter().map(|(link, _, parts)| (vec![link.clone()], link.clone(), *parts, 0.0)).collect();
    if single.len() > 1 {
        let names: Vec<String> = single.iter().map(|(link, ..)| link.clone()).collect();
        choices.push((names.clone(), names.join(" and "), Parts::PUBLIC_LINK.and(Parts::PRIVATE_LINK), 0.5));
    }
    choices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stands_for_what_is_below_and_a_star_for_one_step() {
        let rows = [
            ("planes.public.mtu", "planes.public.mtu", true),
            ("planes.public", "planes.public.mtu", true),
            ("nodes.storage.drives.0.read", "nodes.*.drives", true),
            ("nodes.storage.nics.0.speed", "nodes.*.drives", false),
            ("nodes.storage.nics.0.lanes", "nodes.*.nics.*.speed", false),
            ("engine.tls", "engine.encryption", false),
        ];
        for (known, asked, expected) in rows {
            assert_eq!(matches(known, asked), expected, "{known} for {asked}");
        }
    }
}
