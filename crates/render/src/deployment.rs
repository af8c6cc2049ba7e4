//! What is deployed: the site's Kubernetes with all that files need of it, and each pool's nodes in their order.

use linerate_model::layout::failure_tolerance::tolerances;
use linerate_model::layout::{Geometry, Pool, pools};
use linerate_record::site::{Bgp, Hosts, Kubernetes, NodeGroup, Prefix, Product, Provisioner, Site, key};

use crate::api_server_route::{ApiServerWay, way};
use crate::entry_variant::{EntryVariant, WeighedVariant};
use crate::error::{RenderError, RenderProblem};
use crate::rack_placement::{PlacementError, RackPlacement, place};
use crate::requirements::{requirements, unrendered};

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
    /// Where every machine reaches the API server.
    pub(crate) api: ApiServerWay<'s>,
    pub(crate) pod_cidr: Prefix,
    /// Present where routes or addresses are announced by it.
    pub(crate) bgp: Option<&'s Bgp>,
    pub(crate) pools: Vec<DeployedPool<'s>>,
    /// Nodes that may be down while reads and writes continue.
    pub(crate) nodes_to_lose: u32,
    /// The plan's lowest ceilings of GET and PUT.
    pub(crate) limits: Option<WeighedVariant>,
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
    /// Who makes its volumes, where they are not written.
    pub(crate) provisioner: Option<Provisioner>,
}

/// What is asked for beside the site.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenderOptions<'w> {
    /// The site as it is stated, before the variant.
    pub(crate) stated: &'w Site,
    pub(crate) replaced: &'w [(String, String)],
    /// What the variant can do.
    pub(crate) limits: Option<&'w WeighedVariant>,
    pub(crate) origin: &'w str,
}

/// All that files need of a site as the variant has it, or what it lacks.
pub(crate) fn deployment<'s>(
    site: &'s Site,
    variant: EntryVariant,
    wishes: RenderOptions<'_>,
) -> Result<Deployment<'s>, RenderError> {
    let name = match site.engine.product {
        Product::Minio => "minio",
        Product::Rustfs => "rustfs",
        Product::CephRgw | Product::Garage => {
            let advice = "write minio or rustfs: other engines are not rendered";
            return Err(RenderError::Site(vec![RenderProblem::new(
                key::ENGINE_PRODUCT,
                "an engine that is not rendered",
                advice,
            )]));
        }
    };
    let Some(kubernetes) = &site.kubernetes else {
        let advice = "add \"kubernetes:\" with names and addresses; `linerate plan --example` shows its keys";
        return Err(RenderError::Site(vec![RenderProblem::new("kubernetes", "a site without \"kubernetes\"", advice)]));
    };
    let all = pools(site).map_err(linerate_model::error::ModelError::from)?;
    let (reads, writes) = tolerances(site.engine.product, &all);
    let mut faults = requirements(site, kubernetes, variant);
    faults.extend(unrendered(wishes.stated, site, variant));
    let mut deployed = Vec::new();
    for (i, pool) in all.iter().enumerate() {
        match deployed_pool(site, kubernetes, pool, set_name(name, i)) {
            Ok(pool) => deployed.push(pool),
            Err(fault) => faults.push(fault),
        }
    }
    let known = (kubernetes.image.as_deref(), way(kubernetes), kubernetes.pod_cidr);
    let (true, (Some(image), Some(api), Some(pod_cidr))) = (faults.is_empty(), known) else {
        return Err(RenderError::Site(faults));
    };
    require_bound(kubernetes, wishes.replaced)?;
    replace(&mut deployed, wishes.replaced)?;
    Ok(Deployment {
        site,
        kubernetes,
        variant,
        name,
        image,
        api,
        pod_cidr,
        bgp: kubernetes.bgp.as_ref().filter(|_| !variant.has_tunnel()),
        pools: deployed,
        nodes_to_lose: reads.nodes.min(writes.nodes),
        limits: wishes.limits.cloned(),
        origin: wishes.origin.to_owned(),
    })
}

/// The machines of a kind of nodes.
pub(crate) fn hosts_for_group<'k>(kubernetes: &'k Kubernetes, group: &NodeGroup) -> Option<&'k Hosts> {
    kubernetes.hosts.iter().find(|hosts| hosts.kind == group.name)
}

fn deployed_pool<'s>(
    site: &'s Site,
    kubernetes: &'s Kubernetes,
    pool: &Pool,
    set: String,
) -> Result<DeployedPool<'s>, RenderProblem> {
    let group = &site.groups[pool.groups[0]];
    let Geometry { shards, parity, sets, .. } = pool.geometry;
    // A provisioner makes volumes wherever a pod is scheduled: there is no order that could be held.
    let racks = if kubernetes.provisioner.is_some() { vec![pool.racks.iter().sum()] } else { pool.racks.clone() };
    let placement = place(&racks, shards, sets, parity).map_err(|error| unplaced(group, shards, error))?;
    let Some(Hosts { names, mounts, .. }) = hosts_for_group(kubernetes, group) else {
        let what = format!("kubernetes without \"hosts\" of {:?}", group.name);
        let advice = "add \"hosts: …\": names of the machines, and folders of their drives";
        return Err(RenderProblem::new(key::KUBERNETES_HOSTS, what, advice));
    };
    let machines = placement.node_of.iter().filter_map(|&node| names.get(node as usize)).cloned().collect();
    let (geometry, racks, provisioner) = (pool.geometry, racks.len(), kubernetes.provisioner);
    Ok(DeployedPool { group, geometry, racks, placement, machines, mounts, set, provisioner })
}

fn unplaced(group: &NodeGroup, set_drives: u32, error: PlacementError) -> RenderProblem {
    let PlacementError { share, is_certain } = error;
    let what = format!(
        "{} racks, of which one would hold {} of the {set_drives} shards of a set that may lose {}",
        group.racks, share.most, share.parity
    );
    let advice = if is_certain {
        "use more racks, or more parity; or leave racks out, if the loss of one may lose data"
    } else {
        "no order was found: use racks of equal size, sets that divide the nodes, or more parity"
    };
    RenderProblem::new(format!("nodes.{}.racks", group.name), what, advice)
}

/// The StatefulSet of a pool, counted from 0. The first keeps its name when others are added: volumes have it in
/// theirs.
fn set_name(name: &str, i: usize) -> String {
    if i == 0 { name.to_owned() } else { format!("{name}-pool-{}", i + 1) }
}

/// Refuses to replace a machine that no volume is bound to.
fn require_bound(kubernetes: &Kubernetes, replaced: &[(String, String)]) -> Result<(), RenderError> {
    match (kubernetes.provisioner, replaced.first()) {
        (Some(_), Some((old, new))) => Err(RenderError::Requested(format!(
            "--replace {old}={new}: kubernetes.provisioner makes volumes wherever a pod is scheduled, and no file \
             binds one to {old}; write {new} for {old} in kubernetes.hosts, and delete the claims of its pod"
        ))),
        _ => Ok(()),
    }
}

/// Puts a machine in another one's place, and leaves all others where they are.
fn replace(pools: &mut [DeployedPool<'_>], replaced: &[(String, String)]) -> Result<(), RenderError> {
    let requested = |text: String| Err(RenderError::Requested(text));
    for (old, new) in replaced {
        if pools.iter().flat_map(|pool| &pool.machines).any(|machine| machine == new) {
            return requested(format!("--replace {old}={new}: {new} is a node already"));
        }
        let Some(machine) = pools.iter_mut().flat_map(|pool| &mut pool.machines).find(|machine| *machine == old) else {
            return requested(format!("--replace {old}={new}: no node {old} among kubernetes.hosts"));
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

    /// The domain of services.
    pub(crate) fn domain(&self) -> &str {
        self.kubernetes.dns.as_ref().map_or("cluster.local", |dns| dns.domain.as_str())
    }

    /// Whether clients and nodes use TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.site.engine.tls
    }
}

impl DeployedPool<'_> {
    /// Drives of a node.
    pub(crate) fn drives(&self) -> usize {
        self.group.drives_per_node() as usize
    }

    /// The StorageClass of a drive, counted from 0: one for each kind of drives, which is a tier; of TopoLVM, one for
    /// each drive.
    pub(crate) fn class(&self, drive: usize) -> String {
        let ((kind, _), set) = (self.kind(drive), &self.set);
        let prefix = match self.provisioner {
            Some(Provisioner::TopoLvm) => return format!("topolvm-{set}-{}", drive + 1),
            Some(Provisioner::DirectPv) => "directpv",
            None => "local",
        };
        if self.group.drives.len() > 1 { format!("{prefix}-{set}-{kind}") } else { format!("{prefix}-{set}") }
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
        claim(drive, &self.set, ordinal)
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

/// The claim of a drive of an ordinal, as the StatefulSet names it.
pub(crate) fn claim(drive: usize, set: &str, ordinal: usize) -> String {
    format!("{}-{set}-{ordinal}", claim_template(drive))
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

/// Most pods of a node, and why.
pub(crate) fn pods_per_node(kubernetes: &Kubernetes) -> (u32, String) {
    /// Kubernetes' own: `pkg/kubelet/apis/config/v1beta1/defaults.go`, DefaultMaxPods.
    const PODS: u32 = 110;
    /// This network and its broadcast, Cilium's router, and its health check.
    const TAKEN: u32 = 4;
    let mask = kubernetes.node_mask;
    let addresses = (1_u32 << (32 - mask).min(31)) - TAKEN;
    if addresses < PODS {
        let why = format!("kubernetes.node_mask of {mask} has {addresses} addresses for pods, and not {PODS}.");
        return (addresses, why);
    }
    let why = format!("Kubernetes' own; kubernetes.node_mask of {mask} has {addresses} addresses for pods.");
    (PODS, why)
}
