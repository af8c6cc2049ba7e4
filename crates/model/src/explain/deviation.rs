//! What a deviation is: one way in which a site may differ from its description.

use linerate_record::explanation::{Deviation, Observations};
use linerate_record::plan::Resource;
use linerate_record::site::{Plane, Site};
use linerate_record::units::bits_per_s;

use super::readings::ReadingId;
use crate::bond::nics_of;

/// Parts of a site that a deviation decides. Two deviations that decide the same part do not combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SiteParts(u32);

impl SiteParts {
    /// Members and mode of the public plane's link, and its speed.
    pub(super) const PUBLIC_LINK: SiteParts = SiteParts(1);
    /// The same of the private plane.
    pub(super) const PRIVATE_LINK: SiteParts = SiteParts(1 << 1);
    /// Size of packets on the public plane.
    pub(super) const PUBLIC_MTU: SiteParts = SiteParts(1 << 2);
    /// Size of packets on the private plane.
    pub(super) const PRIVATE_MTU: SiteParts = SiteParts(1 << 3);
    /// What is around packets on the public plane.
    pub(super) const PUBLIC_WRAP: SiteParts = SiteParts(1 << 4);
    /// What is around packets on the private plane.
    pub(super) const PRIVATE_WRAP: SiteParts = SiteParts(1 << 5);
    /// Which planes there are.
    pub(super) const PLANES: SiteParts = SiteParts(1 << 6);
    /// How objects are cut.
    pub(super) const LAYOUT: SiteParts = SiteParts(1 << 7);
    /// Which shards are read.
    pub(super) const LOCALITY: SiteParts = SiteParts(1 << 8);
    pub(super) const CLIENTS: SiteParts = SiteParts(1 << 9);
    /// One node that differs from the others.
    pub(super) const NODE: SiteParts = SiteParts(1 << 10);
    pub(super) const FABRIC: SiteParts = SiteParts(1 << 11);
    /// Drives of all nodes.
    pub(super) const DRIVES: SiteParts = SiteParts(1 << 12);
    /// Processors, and what they compute.
    pub(super) const CPU: SiteParts = SiteParts(1 << 13);
    pub(super) const ENTRY: SiteParts = SiteParts(1 << 14);
    /// PCIe.
    pub(super) const PCIE: SiteParts = SiteParts(1 << 15);
    pub(super) const MEMORY: SiteParts = SiteParts(1 << 16);
    pub(super) const OBJECTS: SiteParts = SiteParts(1 << 17);

    pub(super) const fn and(self, other: SiteParts) -> SiteParts {
        SiteParts(self.0 | other.0)
    }

    /// Whether they have a part in common.
    pub(super) fn meet(self, other: SiteParts) -> bool {
        self.0 & other.0 != 0
    }
}

/// What a deviation makes of a site.
pub(super) type SiteChange = Box<dyn Fn(&mut Site)>;

/// One way in which a site may differ.
pub(super) struct Variant {
    /// The row's name, its value and claim, its cost.
    pub(super) id: &'static str,
    /// Which one of the row's.
    pub(super) value: String,
    pub(super) claim: String,
    /// Log odds against it, beforehand.
    pub(super) cost: f64,
    pub(super) parts: SiteParts,
    /// The site under it.
    pub(super) change: SiteChange,
    /// Where it is one of the values of one free number: all with the same name and place are one deviation.
    pub(super) free: bool,
    /// The part of a node that a free number is of, where it has several: figures may tell these apart.
    pub(super) place: String,
    /// What processors of all nodes do of what the model takes: cores are whole, and this is not.
    pub(super) cpu_share: f64,
    /// The nodes that it names, and the group that it makes of them (by index in the changed site).
    pub(super) outlier: Option<OutlierNodes>,
    /// What would show it.
    pub(super) shown_by: ReadingId,
    /// What to do about it.
    pub(super) remedy_for: DeviationRemedy,
    /// What the site states that is not so under it.
    pub(super) contradicts: Vec<String>,
}

/// The one node that differs, the two that differ alike, or those of one rack.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutlierNodes {
    /// Their names, where figures name them; none of one node that no figure names.
    pub(super) nodes: Vec<String>,
    /// What they are called together, where they are the nodes of one rack: `rack 2`.
    pub(super) rack: Option<String>,
    /// Their group in the changed site.
    pub(super) group: usize,
    /// What holds each back that no value of a site says.
    pub(super) hold: Option<HeldNode>,
    /// Whether clients of that node alone get less. A drive holds those of all nodes, wherever they ask.
    pub(super) is_seen_there: bool,
    /// Whether nothing is wrong with it, but that clients ask it and no other.
    pub(super) is_requested_alone: bool,
}

impl OutlierNodes {
    pub(super) fn who(&self) -> String {
        match &self.rack {
            Some(rack) => rack.clone(),
            None if self.nodes.is_empty() => "one node".to_owned(),
            None => self.nodes.join(" and "),
        }
    }
}

/// What holds one node back though its parts are as described: a policer or losses one way, a quota.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HeldNode {
    /// Links carry a share of what they could.
    Links {
        /// In which direction, of which plane.
        resources: &'static [Resource],
        share: f64,
    },
    /// Uplinks of the rack that odd nodes are of carry a share of what they could, both ways.
    Uplinks { share: f64 },
    /// Processors, whatever they have in reserve, do so little that of the operation that needs them most a share is
    /// left of what the rest of the node could; of the other, as much as the same time gives.
    Processors { share: f64 },
}

/// What to do if a deviation is the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviationRemedy {
    pub(super) change: String,
    pub(super) risks: &'static str,
}

/// A row: deviations of one kind.
pub(super) type DeviationRow = fn(&Site, &Observations) -> Vec<Variant>;

impl Variant {
    /// A deviation without further properties.
    pub(super) fn new(
        id: &'static str,
        value: impl Into<String>,
        claim: impl Into<String>,
        cost: f64,
        parts: SiteParts,
        change: impl Fn(&mut Site) + 'static,
    ) -> Variant {
        let claim = claim.into();
        Variant {
            id,
            value: value.into(),
            remedy_for: DeviationRemedy {
                change: format!("look into it: {claim}"),
                risks: "none that the model knows",
            },
            claim,
            cost,
            parts,
            change: Box::new(change),
            free: false,
            place: String::new(),
            cpu_share: 1.0,
            outlier: None,
            shown_by: ReadingId::BondMembers,
            contradicts: Vec::new(),
        }
    }

    /// The same of values that the site has, by their paths: half the cost where nobody stated any of them; else
    /// [`CONTRADICTION`] more, and those that were stated are named.
    pub(super) fn instead_of(self, site: &Site, values: Vec<(String, String)>) -> Variant {
        let stated = values.iter().filter(|(path, _)| !site.is_assumed(path));
        let contradicts: Vec<String> = stated.map(|(path, value)| format!("{path}: {value}")).collect();
        let cost = if contradicts.is_empty() { self.cost / 2.0 } else { self.cost + CONTRADICTION };
        Variant { cost, contradicts, ..self }
    }

    /// The same against what the site states, if anything.
    pub(super) fn against(self, stated: Option<String>) -> Variant {
        let cost = if stated.is_some() { self.cost + CONTRADICTION } else { self.cost };
        Variant { cost, contradicts: stated.into_iter().collect(), ..self }
    }

    /// The same at so much more.
    pub(super) fn costing(self, more: f64) -> Variant {
        Variant { cost: self.cost + more, ..self }
    }

    /// The same with what to do about it.
    pub(super) fn cured_by(self, change: impl Into<String>, risks: &'static str) -> Variant {
        Variant { remedy_for: DeviationRemedy { change: change.into(), risks }, ..self }
    }

    /// The same where the site is better than its description: nothing is to be done but to correct that, at these
    /// paths to these values.
    pub(super) fn corrected(self, values: &[(String, String)]) -> Variant {
        let values: Vec<String> = values.iter().map(|(path, value)| format!("{path}: {value}")).collect();
        self.cured_by(format!("correct the site file if that is the case: {}", values.join(", ")), CORRECTION)
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
            shown_by: self.shown_by.in_words(),
            contradicts: self.contradicts.clone(),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{}({})", self.id, self.value)
    }
}

/// What a correction of the description risks.
pub(super) const CORRECTION: &str = "none: it is a correction of the description";

/// What a deviation costs more that says otherwise than the site's own words, in log odds: a statement is wrong about a
/// third as often as what no statement covers. A judgement.
const CONTRADICTION: f64 = 1.0;

/// Paths and values of the ports behind links, in all groups.
pub(super) fn speeds(site: &Site, links: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for group in &site.groups {
        for link in links {
            found.extend(nics_of(group, link).map(|(place, nic)| {
                let path = format!("nodes.{}.nics.{place}.speed", group.name);
                (path, bits_per_s(nic.speed_bits_per_s))
            }));
        }
    }
    found
}

/// Half the cost for a value that nobody stated, by any of its paths.
pub(super) fn prior_cost(site: &Site, stated: f64, paths: &[&str]) -> f64 {
    if paths.iter().any(|path| site.is_assumed(path)) { stated / 2.0 } else { stated }
}

/// Links of the planes, each with what it is called and the parts that it is: one where both planes are on the same.
pub(super) fn links(site: &Site) -> Vec<(String, &'static str, SiteParts)> {
    let public = site.planes.public.link.clone();
    let Some(private) = &site.planes.private else {
        return vec![(public, "public", SiteParts::PUBLIC_LINK)];
    };
    if private.link == public {
        return vec![(public, "both planes'", SiteParts::PUBLIC_LINK.and(SiteParts::PRIVATE_LINK))];
    }
    vec![(public, "public", SiteParts::PUBLIC_LINK), (private.link.clone(), "private", SiteParts::PRIVATE_LINK)]
}

/// Links that deviate together: their names, how they are called, the parts that they are, what that costs more.
pub(super) type LinkChoice = (Vec<String>, String, SiteParts, f64);

/// Links as [`links`] has them, each alone, and all of them together where there are several: what is set up wrongly
/// once is often set up wrongly everywhere.
pub(super) fn link_choices(site: &Site) -> Vec<LinkChoice> {
    let single = links(site);
    let mut choices: Vec<_> =
        single.iter().map(|(link, _, parts)| (vec![link.clone()], link.clone(), *parts, 0.0)).collect();
    if single.len() > 1 {
        let names: Vec<String> = single.iter().map(|(link, ..)| link.clone()).collect();
        choices.push((names.clone(), names.join(" and "), SiteParts::PUBLIC_LINK.and(SiteParts::PRIVATE_LINK), 0.5));
    }
    choices
}

/// Planes of which one value deviates together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaneChoice {
    Public,
    Private,
    Every,
}

impl PlaneChoice {
    /// In a deviation's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            PlaneChoice::Public => "public",
            PlaneChoice::Private => "private",
            PlaneChoice::Every => "every",
        }
    }

    pub(super) fn in_words(self) -> String {
        if self == PlaneChoice::Every { "every plane".to_owned() } else { format!("the {} plane", self.name()) }
    }

    /// What it decides, of the parts that are the value on the public and on the private plane.
    pub(super) fn parts(self, public: SiteParts, private: SiteParts) -> SiteParts {
        match self {
            PlaneChoice::Public => public,
            PlaneChoice::Private => private,
            PlaneChoice::Every => public.and(private),
        }
    }

    /// What the site has there: paths of a key of planes, with values.
    pub(super) fn stated(self, site: &Site, key: &str, value: impl Fn(&Plane) -> String) -> Vec<(String, String)> {
        let public = Some(("public", &site.planes.public)).filter(|_| self != PlaneChoice::Private);
        let private = site.planes.private.as_ref().map(|plane| ("private", plane));
        let private = private.filter(|_| self != PlaneChoice::Public);
        let stated_value = |(name, plane): (&str, &Plane)| (format!("planes.{name}.{key}"), value(plane));
        public.into_iter().chain(private).map(stated_value).collect()
    }

    /// Changes these planes of a site.
    pub(super) fn change(self, site: &mut Site, change: impl Fn(&mut Plane)) {
        if self != PlaneChoice::Private {
            change(&mut site.planes.public);
        }
        if self != PlaneChoice::Public {
            site.planes.private.iter_mut().for_each(change);
        }
    }
}

/// Planes whose value could be another, each alone, and both together: what is set up wrongly once is often set up
/// wrongly everywhere.
pub(super) fn plane_choices(site: &Site, could: impl Fn(&Plane) -> bool) -> Vec<PlaneChoice> {
    let public = could(&site.planes.public);
    let private = site.planes.private.as_ref().is_some_and(could);
    let all = [(PlaneChoice::Public, public), (PlaneChoice::Private, private), (PlaneChoice::Every, public && private)];
    all.into_iter().filter(|(_, holds)| *holds).map(|(choice, _)| choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stated_is_contradicted_at_a_cost_and_what_is_assumed_is_not() {
        let mut site = crate::test_site::site();
        let value = |path: &str| vec![(path.to_owned(), "9000".to_owned())];
        let new_variant = || Variant::new("mtu", "public: 1500", "", 2.5, SiteParts::PUBLIC_MTU, |_| {});
        let stated = new_variant().instead_of(&site, value("planes.public.mtu"));
        assert_eq!((stated.cost, stated.contradicts.as_slice()), (3.5, &["planes.public.mtu: 9000".to_owned()][..]));
        site.assumed.insert("planes.public".to_owned(), "usual".to_owned());
        let assumed = new_variant().instead_of(&site, value("planes.public.mtu"));
        assert_eq!((assumed.cost, assumed.contradicts.len()), (1.25, 0));
        // A neighbour that nobody stated says nothing of it.
        let other = new_variant().instead_of(&site, value("planes.private.mtu"));
        assert_eq!((other.cost, other.contradicts.len()), (3.5, 1));
    }

    #[test]
    fn a_path_is_assumed_with_what_is_above_and_below_and_a_star_is_one_step() {
        let rows = [
            ("planes.public.mtu", "planes.public.mtu", true),
            ("planes.public", "planes.public.mtu", true),
            ("nodes.storage.pcie.lanes", "nodes.storage.pcie", true),
            ("nodes.storage.drives.0.read", "nodes.*.drives", true),
            ("nodes.storage.nics.0.speed", "nodes.*.drives", false),
            ("nodes.storage.nics.0.lanes", "nodes.*.nics.*.speed", false),
            ("engine.tls", "engine.encryption", false),
        ];
        for (known, requested, expected) in rows {
            let mut site = crate::test_site::site();
            site.assumed = [(known.to_owned(), "usual".to_owned())].into();
            assert_eq!(site.is_assumed(requested), expected, "{known} for {requested}");
        }
    }
}
