//! What is deployed: the site's Kubernetes with all that files need of it, and each pool's nodes in their order.

use linerate_model::layout::tolerance::tolerances;
use linerate_model::layout::{Geometry, Pool, pools};
use linerate_record::site::{Bgp, Hosts, Kubernetes, NodeGroup, Prefix, Product, Site};

use crate::fault::{RenderError, RenderFault};
use crate::placement::{NoPlacement, RackPlacement, place};
use crate::variant::EntryVariant;

/// All that the files of a site rest on.
#[derive(Debug)]
pub(crate) struct Deployment<'s> {
    /// The site, as the variant has it.
    pub(crate) site: &'s Site,
    pub(crate) kubernetes: &'s Kubernetes,
    pub(crate) variant: EntryVariant,
    /// `minio` or `rustfs`: the engine's name in Kubernetes.
    pub(crate) name: &'static str,
    pub(crate) image: &'s str,
    pub(crate) api_server: &'s str,
    pub(crate) pod_cidr: Prefix,
    /// Present where routes or addresses are announced by it.
    pub(crate) bgp: Option<&'s Bgp>,
    pub(crate) pools: Vec<DeployedPool<'s>>,
    /// Nodes that may be down while reads and writes continue.
    pub(crate) nodes_to_lose: u32,
    /// What every file begins with, behind what it is.
    pub(crate) origin: String,
}

/// The nodes of a pool.
#[derive(Debug)]
pub(crate) struct DeployedPool<'s> {
    pub(crate) group: &'s NodeGroup,
    pub(crate) geometry: Geometry,
    pub(crate) racks: usize,
    pub(crate) placement: RackPlacement,
    /// The machine of each ordinal.
    pub(crate) machines: Vec<String>,
    pub(crate) mounts: &'s [String],
    /// The StatefulSet.
    pub(crate) set: String,
}

/// What is asked for beside the site.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenderWishes<'w> {
    pub(crate) replaced: &'w [(String, String)],
    pub(crate) origin: &'w str,
}

/// All that files need of a site as the variant has it, or what it lacks.
pub(crate) fn deployment<'s>(
    site: &'s Site,
    variant: EntryVariant,
    wishes: RenderWishes<'_>,
) -> Result<Deployment<'s>, RenderError> {
    let name = match site.engine.product {
        Product::Minio => "minio",
        Product::Rustfs => "rustfs",
        Product::CephRgw | Product::Garage => {
            let advice = "write minio or rustfs: other engines are not rendered";
            return Err(RenderError::Site(vec![RenderFault::new(
                "engine.product",
                "an engine that is not rendered",
                advice,
            )]));
        }
    };
    let Some(kubernetes) = &site.kubernetes else {
        let advice = "add \"kubernetes:\" with names and addresses; `linerate plan --example` shows its keys";
        return Err(RenderError::Site(vec![RenderFault::new("kubernetes", "a site without \"kubernetes\"", advice)]));
    };
    let all = pools(site).map_err(linerate_model::error::ModelError::from)?;
    let (reads, writes) = tolerances(site.engine.product, &all);
    let mut faults = lacking(site, kubernetes, variant);
    let mut deployed = Vec::new();
    for (i, pool) in all.iter().enumerate() {
        match deployed_pool(site, kubernetes, pool, set_name(name, i)) {
            Ok(pool) => deployed.push(pool),
            Err(fault) => faults.push(fault),
        }
    }
    let known = (kubernetes.image.as_deref(), kubernetes.api_server.as_deref(), kubernetes.pod_cidr);
    let (true, (Some(image), Some(api_server), Some(pod_cidr))) = (faults.is_empty(), known) else {
        return Err(RenderError::Site(faults));
    };
    replace(&mut deployed, wishes.replaced)?;
    Ok(Deployment {
        site,
        kubernetes,
        variant,
        name,
        image,
        api_server,
        pod_cidr,
        bgp: kubernetes.bgp.as_ref().filter(|_| !variant.has_tunnel()),
        pools: deployed,
        nodes_to_lose: reads.nodes.min(writes.nodes),
        origin: wishes.origin.to_owned(),
    })
}

/// What nobody stated and nothing decides.
fn lacking(site: &Site, kubernetes: &Kubernetes, variant: EntryVariant) -> Vec<RenderFault> {
    let without = |key: &str, advice: &str| {
        RenderFault::new(
            format!("kubernetes.{key}"),
            format!("kubernetes without {key:?}"),
            format!("add \"{key}: …\": {advice}"),
        )
    };
    let racks = site.groups.iter().map(|group| group.racks).max().unwrap_or(1);
    let needs = [
        (kubernetes.image.is_none(), "image", "the engine's image with its version"),
        (kubernetes.api_server.is_none(), "api_server", "where nodes reach the API server without kube-proxy"),
        (kubernetes.pod_cidr.is_none(), "pod_cidr", "addresses of pods"),
        (
            variant.has_address() && kubernetes.load_balancer.is_empty(),
            "load_balancer",
            "addresses for services, which this variant announces",
        ),
        (
            matches!(variant, EntryVariant::A | EntryVariant::C) && kubernetes.bgp.is_none(),
            "bgp",
            "autonomous systems of nodes and switches, which this variant needs",
        ),
        (
            variant == EntryVariant::Client && racks > 1 && kubernetes.bgp.is_none(),
            "bgp",
            "between racks, only BGP tells the switches the routes to pods",
        ),
    ];
    let mut faults: Vec<RenderFault> =
        needs.into_iter().filter(|need| need.0).map(|(_, key, advice)| without(key, advice)).collect();
    let planes = [("planes.public", Some(&site.planes.public)), ("planes.private", site.planes.private.as_ref())];
    for (path, plane) in planes {
        let Some(plane) = plane else { continue };
        let link = format!("{path}.link");
        if site.is_assumed(&link) || is_invented(site, &plane.link) {
            let what = format!("a link {:?} that nobody named", plane.link);
            faults.push(RenderFault::new(
                link,
                what,
                "state the interface's name: Cilium needs the names of its devices",
            ));
        }
        if plane.ip == linerate_record::site::IpVersion::V6 {
            faults.push(RenderFault::new(format!("{path}.ip"), "IPv6", "write ipv4: only IPv4 is rendered"));
        }
    }
    if site.engine.internal_tls != site.engine.tls {
        let advice = "write the same as engine.tls: MinIO and RustFS have one listener for clients and nodes";
        faults.push(RenderFault::new("engine.internal_tls", "TLS for one kind of traffic alone", advice));
    }
    if let (EntryVariant::B, linerate_record::site::Entry::L2Announcement { policy, .. }) = (variant, site.entry)
        && policy == linerate_record::site::TrafficPolicy::Local
    {
        let advice = "write cluster: Cilium's L2 announcement excludes policy Local";
        faults.push(RenderFault::new("entry.policy", "policy local with an L2 announcement", advice));
    }
    faults
}

/// Whether a NIC or bond has a name that nobody stated.
fn is_invented(site: &Site, link: &str) -> bool {
    site.groups.iter().any(|group| {
        let of = |kind: &str, i: usize| site.is_assumed(&format!("nodes.{}.{kind}.{i}.name", group.name));
        let is_nic = group.nics.iter().position(|nic| nic.name == link).is_some_and(|i| of("nics", i));
        is_nic || group.bonds.iter().position(|bond| bond.name == link).is_some_and(|i| of("bonds", i))
    })
}

fn deployed_pool<'s>(
    site: &'s Site,
    kubernetes: &'s Kubernetes,
    pool: &Pool,
    set: String,
) -> Result<DeployedPool<'s>, RenderFault> {
    let group = &site.groups[pool.groups[0]];
    let Geometry { shards, parity, sets, .. } = pool.geometry;
    let placement = place(&pool.racks, shards, sets, parity).map_err(|error| unplaced(group, shards, error))?;
    let Some(Hosts { names, mounts, .. }) = kubernetes.hosts.iter().find(|hosts| hosts.kind == group.name) else {
        let what = format!("kubernetes without \"hosts\" of {:?}", group.name);
        let advice = "add \"hosts: …\": names of the machines, and folders of their drives";
        return Err(RenderFault::new("kubernetes.hosts", what, advice));
    };
    let machines = placement.node_of.iter().filter_map(|&node| names.get(node as usize)).cloned().collect();
    Ok(DeployedPool { group, geometry: pool.geometry, racks: pool.racks.len(), placement, machines, mounts, set })
}

fn unplaced(group: &NodeGroup, set_drives: u32, error: NoPlacement) -> RenderFault {
    let NoPlacement { share, is_certain } = error;
    let what = format!(
        "{} racks, of which one would hold {} of the {set_drives} shards of a set that may lose {}",
        group.racks, share.most, share.parity
    );
    let advice = if is_certain {
        "use more racks, or more parity; or leave racks out, if the loss of one may lose data"
    } else {
        "no order was found: use racks of equal size, sets that divide the nodes, or more parity"
    };
    RenderFault::new(format!("nodes.{}.racks", group.name), what, advice)
}

/// The StatefulSet of a pool, counted from 0. The first keeps its name when others are added: volumes have it in
/// theirs.
fn set_name(name: &str, i: usize) -> String {
    if i == 0 { name.to_owned() } else { format!("{name}-pool-{}", i + 1) }
}

/// Puts a machine in another one's place, and leaves all others where they are.
fn replace(pools: &mut [DeployedPool<'_>], replaced: &[(String, String)]) -> Result<(), RenderError> {
    let asked = |text: String| Err(RenderError::Asked(text));
    for (old, new) in replaced {
        if pools.iter().flat_map(|pool| &pool.machines).any(|machine| machine == new) {
            return asked(format!("--replace {old}={new}: {new} is a node already"));
        }
        let Some(machine) = pools.iter_mut().flat_map(|pool| &mut pool.machines).find(|machine| *machine == old) else {
            return asked(format!("--replace {old}={new}: no node {old} among kubernetes.hosts"));
        };
        machine.clone_from(new);
    }
    Ok(())
}

impl Deployment<'_> {
    /// What a file begins with.
    pub(crate) fn head(&self, what: &str) -> String {
        format!("{what}\n{}", self.origin)
    }

    /// The headless service, which gives each pod its name.
    pub(crate) fn headless(&self) -> String {
        format!("{}-hl", self.name)
    }

    /// Whether clients and nodes use TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.site.engine.tls
    }
}

impl DeployedPool<'_> {
    /// The StorageClass of a drive, counted from 0: one for each kind of drives, which is a tier.
    pub(crate) fn class(&self, drive: usize) -> String {
        let (kind, _) = self.kind(drive);
        if self.group.drives.len() > 1 { format!("local-{}-{kind}", self.set) } else { format!("local-{}", self.set) }
    }

    /// The kind of a drive, and its capacity in bytes.
    pub(crate) fn kind(&self, drive: usize) -> (usize, u64) {
        let mut end = 0;
        let kinds = self.group.drives.iter().enumerate();
        let mut kinds = kinds.skip_while(|(_, drives)| {
            end += drives.count as usize;
            end <= drive
        });
        kinds.next().map_or((0, 0), |(i, drives)| (i, drives.capacity_bytes))
    }

    /// The claim of a drive of an ordinal, as the StatefulSet names it.
    pub(crate) fn claim(&self, drive: usize, ordinal: usize) -> String {
        format!("{}-{}-{ordinal}", claim_template(drive), self.set)
    }

    /// The set that a drive of an ordinal is in, counted from 0 within the pool.
    pub(crate) fn erasure_set(&self, drive: usize, ordinal: usize) -> u64 {
        (drive as u64 * self.machines.len() as u64 + ordinal as u64) / u64::from(self.geometry.shards.max(1))
    }
}

/// The claim template of a drive, counted from 0.
pub(crate) fn claim_template(drive: usize) -> String {
    format!("data-{}", drive + 1)
}

/// A capacity as Kubernetes writes it: decimal where it is whole in that.
pub(crate) fn capacity(bytes: u64) -> String {
    for (unit, scale) in [("G", 1_000_000_000), ("M", 1_000_000)] {
        if bytes.is_multiple_of(scale) {
            return format!("{}{unit}", bytes / scale);
        }
    }
    bytes.to_string()
}
