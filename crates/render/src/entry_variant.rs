//! The ways to bring requests to the engine: what the first source calls its plans, and clients that balance.

use linerate_model::error::ModelError;
use linerate_model::plan::{PlanRequest, plan};
use linerate_record::plan::{Resource, WorkPlan};
use linerate_record::site::{Encapsulation, Entry, Plane, Site, TrafficPolicy, key};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryVariant {
    /// Node ports; native routing and BGP among nodes.
    A,
    /// A tunnel, with an address that one node announces; replies go straight to the client unless the site says
    /// otherwise.
    B,
    /// Native routing, with addresses that every node announces by BGP.
    C,
    /// Native routing, with clients that spread their requests over the nodes' ports.
    Client,
}

/// What a variant can do of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct WeighedVariant {
    pub variant: EntryVariant,
    /// The lowest ceiling of GET; infinite where nothing limits it.
    pub get: Limit,
    /// The lowest ceiling of PUT.
    pub put: Limit,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Client bytes per second of the whole site.
    pub bytes_per_s: f64,
    /// What is full then; absent where nothing limits it.
    pub bottleneck: Option<Resource>,
}

/// The variant that is rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantChoice {
    pub variant: EntryVariant,
    /// Why it is this one.
    pub why: String,
}

impl EntryVariant {
    /// All of them; of equals the model takes the first.
    pub const ALL: [EntryVariant; 4] = [EntryVariant::C, EntryVariant::A, EntryVariant::Client, EntryVariant::B];

    /// What flags call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EntryVariant::A => "a",
            EntryVariant::B => "b",
            EntryVariant::C => "c",
            EntryVariant::Client => "client",
        }
    }

    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            EntryVariant::A => "node ports, native routing, BGP",
            EntryVariant::B => "Geneve, L2 announcement by one node",
            EntryVariant::C => "native routing, addresses of services by BGP",
            EntryVariant::Client => "native routing, clients balance over node ports",
        }
    }

    /// Whether packets among nodes are encapsulated.
    pub(crate) const fn has_tunnel(self) -> bool {
        matches!(self, EntryVariant::B)
    }

    /// Whether the service has an address of its own.
    pub(crate) const fn has_address(self) -> bool {
        matches!(self, EntryVariant::B | EntryVariant::C)
    }

    /// Whether a site can have it at all.
    fn is_open_to(self, site: &Site) -> bool {
        match self {
            EntryVariant::A => site.planes.private.is_some() && !site.has_clients_on_nodes(),
            EntryVariant::B | EntryVariant::C => !site.has_clients_on_nodes(),
            EntryVariant::Client => true,
        }
    }

    /// The variant that a site's entry path is. Node ports of nodes with one plane are those of clients that balance.
    fn from_site(site: &Site) -> EntryVariant {
        match site.entry {
            Entry::NodePort { .. } if site.planes.private.is_none() => EntryVariant::Client,
            Entry::Bgp { .. } | Entry::ClusterMesh => EntryVariant::C,
            Entry::L2Announcement { .. } => EntryVariant::B,
            Entry::NodePort { .. } => EntryVariant::A,
            Entry::ClientSide | Entry::Local => EntryVariant::Client,
        }
    }
}

/// The site as a variant has it: what it states of the same path stays.
#[must_use]
pub fn site_with_variant(site: &Site, variant: EntryVariant) -> Site {
    let mut changed = site.clone();
    let is_stated = |key: &str| !site.is_assumed(key);
    let stated = match site.entry {
        Entry::Bgp { policy } | Entry::NodePort { policy } if is_stated(key::ENTRY_POLICY) => Some(policy),
        _ => None,
    };
    changed.entry = match (variant, site.entry) {
        (EntryVariant::Client, Entry::Local) => Entry::Local,
        (EntryVariant::Client, _) => Entry::ClientSide,
        (EntryVariant::A, Entry::NodePort { .. }) => Entry::NodePort { policy: stated.unwrap_or(TrafficPolicy::Local) },
        (EntryVariant::A, _) => Entry::NodePort { policy: TrafficPolicy::Local },
        (EntryVariant::C, Entry::ClusterMesh) => Entry::ClusterMesh,
        (EntryVariant::C, Entry::Bgp { .. }) => Entry::Bgp { policy: stated.unwrap_or(TrafficPolicy::Local) },
        (EntryVariant::C, _) => Entry::Bgp { policy: TrafficPolicy::Local },
        (EntryVariant::B, Entry::L2Announcement { dsr, policy }) => {
            Entry::L2Announcement { dsr: dsr || !is_stated(key::ENTRY_DSR), policy }
        }
        (EntryVariant::B, _) => Entry::L2Announcement { dsr: true, policy: TrafficPolicy::Cluster },
    };
    let encapsulation = if variant.has_tunnel() { Encapsulation::Geneve } else { Encapsulation::None };
    *among_nodes(&mut changed) = Plane { encapsulation, ..among_nodes(&mut changed).clone() };
    changed
}

/// The plane that carries traffic among nodes.
fn among_nodes(site: &mut Site) -> &mut Plane {
    site.planes.private.as_mut().unwrap_or(&mut site.planes.public)
}

/// What each variant can do of a site, in the order of [`EntryVariant::ALL`].
///
/// # Errors
/// Where the site has no plan.
pub fn weighed(site: &Site, seed: u64) -> Result<Vec<WeighedVariant>, ModelError> {
    let open = EntryVariant::ALL.into_iter().filter(|variant| variant.is_open_to(site));
    open.map(|variant| {
        let plan = plan(&site_with_variant(site, variant), &PlanRequest { seed, ..PlanRequest::default() })?;
        let limit = |work: usize| limit(plan.works.get(work));
        Ok(WeighedVariant { variant, get: limit(0), put: limit(1) })
    })
    .collect()
}

fn limit(work: Option<&WorkPlan>) -> Limit {
    let lowest = work.and_then(|work| work.ceilings.first());
    Limit {
        bytes_per_s: lowest.map_or(f64::INFINITY, |ceiling| ceiling.limit_bytes_per_s),
        bottleneck: lowest.map(|ceiling| ceiling.resource),
    }
}

/// Ceilings that differ by less are equal.
const EQUAL_SHARE: f64 = 1e-3;

/// The variant of the flags, or else of the site's entry path, or else that with the highest ceilings.
///
/// # Errors
/// What the site lacks for the variant that was asked for.
pub fn choose(
    site: &Site,
    weighed: &[WeighedVariant],
    requested: Option<EntryVariant>,
) -> Result<VariantChoice, &'static str> {
    let because = |variant, why: &str| Ok(VariantChoice { variant, why: why.to_owned() });
    if let Some(variant) = requested {
        if !variant.is_open_to(site) {
            return Err(if site.has_clients_on_nodes() {
                "clients on the storage nodes balance by themselves"
            } else {
                "plan A has a plane for clients and another one among nodes"
            });
        }
        return because(variant, "--variant asks for it");
    }
    let of_entry = EntryVariant::from_site(site);
    if !site.is_assumed(key::ENTRY_PATH) && of_entry.is_open_to(site) {
        return because(of_entry, "the site's entry.path states it");
    }
    let mut best: Option<&WeighedVariant> = None;
    for one in weighed {
        if best.is_none_or(|best| is_better(one, best)) {
            best = Some(one);
        }
    }
    let variant = best.map_or(EntryVariant::Client, |best| best.variant);
    because(variant, "it has the highest ceilings; of equal ones, the first in this order: c, a, client, b")
}

/// Whether GET's ceiling is higher, or as high and PUT's higher.
fn is_better(one: &WeighedVariant, other: &WeighedVariant) -> bool {
    let exceeds = |one: f64, other: f64| one > other * (1.0 + EQUAL_SHARE);
    let (get, put) = ((one.get.bytes_per_s, other.get.bytes_per_s), (one.put.bytes_per_s, other.put.bytes_per_s));
    exceeds(get.0, get.1) || (!exceeds(get.1, get.0) && exceeds(put.0, put.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "nodes:\n  count: 8\n  drives: {count: 8, capacity: 8TB}\n  nics: [{speed: 100Gb/s}, {speed: \
                        100Gb/s}]\nplanes: {public: {link: nic0, mtu: 9000}, private: {link: nic1, mtu: \
                        9000}}\nengine: minio\n";

    fn site(more: &str) -> Site {
        linerate_site::read(&format!("{SITE}{more}"), "s").unwrap()
    }

    #[test]
    fn one_announcing_node_is_the_lowest_ceiling_of_all() {
        let weighed = weighed(&site(""), 1).unwrap();
        // Of GET, replies do not come by it: DSR.
        let put = |variant| weighed.iter().find(|one| one.variant == variant).unwrap().put;
        assert_eq!(put(EntryVariant::B).bottleneck, Some(Resource::EntryNode));
        for other in [EntryVariant::A, EntryVariant::C, EntryVariant::Client] {
            assert!(put(other).bytes_per_s > 2.0 * put(EntryVariant::B).bytes_per_s, "{other:?}");
        }
        assert_eq!(choose(&site(""), &weighed, None).map(|choice| choice.variant), Ok(EntryVariant::C));
    }

    #[test]
    fn flags_go_before_the_entry_path_and_that_before_the_model() {
        for (more, requested, variant) in [
            ("entry: l2-announcement\n", None, Ok(EntryVariant::B)),
            ("entry: node-port\n", None, Ok(EntryVariant::A)),
            ("entry: client-side\n", None, Ok(EntryVariant::Client)),
            ("entry: client-side\n", Some(EntryVariant::C), Ok(EntryVariant::C)),
            ("clients: {on: nodes}\n", None, Ok(EntryVariant::Client)),
            ("clients: {on: nodes}\n", Some(EntryVariant::C), Err(())),
        ] {
            let site = site(more);
            let chosen = choose(&site, &weighed(&site, 1).unwrap(), requested);
            assert_eq!(chosen.map(|choice| choice.variant).map_err(|_| ()), variant, "{more} {requested:?}");
        }
    }

    #[test]
    fn a_plan_of_two_planes_needs_both() {
        let mut site = site("");
        site.planes.private = None;
        assert!(choose(&site, &[], Some(EntryVariant::A)).is_err());
        let ports = Site { entry: Entry::NodePort { policy: TrafficPolicy::Local }, ..site.clone() };
        let stated = Site { assumed: std::collections::BTreeMap::new(), ..ports };
        assert_eq!(choose(&stated, &[], None).map(|choice| choice.variant), Ok(EntryVariant::Client));
        assert!(weighed(&site, 1).unwrap().iter().all(|one| one.variant != EntryVariant::A));
    }

    #[test]
    fn what_the_site_states_of_its_own_path_stays() {
        let stated = site("entry: {path: bgp, policy: cluster}\n");
        assert_eq!(site_with_variant(&stated, EntryVariant::C).entry, Entry::Bgp { policy: TrafficPolicy::Cluster });
        let unstated = site("entry: bgp\n");
        assert_eq!(site_with_variant(&unstated, EntryVariant::C).entry, Entry::Bgp { policy: TrafficPolicy::Local });
        let tunnel = site_with_variant(&stated, EntryVariant::B);
        let planes = [tunnel.planes.public.encapsulation, tunnel.planes.private.unwrap().encapsulation];
        assert_eq!(planes, [Encapsulation::None, Encapsulation::Geneve]);
    }
}
