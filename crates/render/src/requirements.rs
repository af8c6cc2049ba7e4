//! What keeps a site from being rendered: what nobody stated and nothing decides, and what no file can say.

use linerate_record::site::{Encapsulation, Entry, IpVersion, Kubernetes, Plane, Site, TrafficPolicy, key};

use crate::api_server_route::{dns_address, way};
use crate::bpf_tables::{ENTRIES_MAX, entries};
use crate::entry_variant::EntryVariant;
use crate::error::RenderProblem;

/// What nobody stated and nothing decides.
pub(crate) fn requirements(site: &Site, kubernetes: &Kubernetes, variant: EntryVariant) -> Vec<RenderProblem> {
    let without = |key: &str, advice: &str| {
        RenderProblem::new(
            format!("kubernetes.{key}"),
            format!("kubernetes without {key:?}"),
            format!("add \"{key}: …\": {advice}"),
        )
    };
    let racks = site.groups.iter().map(|group| group.racks).max().unwrap_or(1);
    let needs = [
        (kubernetes.image.is_none(), "image", "the engine's image with its version"),
        (
            way(kubernetes).is_none(),
            "api_server",
            "where nodes reach the API server without kube-proxy; or \"control_plane\", with which HAProxy is rendered",
        ),
        (
            kubernetes.dns.is_some() && dns_address(kubernetes).is_none(),
            "dns.cluster_ip",
            "the address of the service of DNS, which pods ask; with \"control_plane\" it follows",
        ),
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
    let mut faults: Vec<RenderProblem> =
        needs.into_iter().filter(|need| need.0).map(|(_, key, advice)| without(key, advice)).collect();
    let planes = [(key::PLANES_PUBLIC, Some(&site.planes.public)), (key::PLANES_PRIVATE, site.planes.private.as_ref())];
    faults.extend(
        planes
            .into_iter()
            .filter_map(|(path, plane)| Some((path, plane?)))
            .flat_map(|(path, plane)| [nameless(site, path, plane), of_version(path, plane)].into_iter().flatten()),
    );
    faults.extend(together(site, variant));
    faults
}

fn nameless(site: &Site, path: &str, plane: &Plane) -> Option<RenderProblem> {
    let link = format!("{path}.link");
    let is_nameless = site.is_assumed(&link) || is_invented(site, &plane.link);
    let what = format!("a link {:?} that nobody named", plane.link);
    let advice = "state the interface's name: Cilium needs the names of its devices";
    is_nameless.then(|| RenderProblem::new(link, what, advice))
}

fn of_version(path: &str, plane: &Plane) -> Option<RenderProblem> {
    let fault = || RenderProblem::new(format!("{path}.ip"), "IPv6", "write ipv4: only IPv4 is rendered");
    (plane.ip == IpVersion::V6).then(fault)
}

/// A folder of the hosts that is of no kind.
const APPLIER: &str = "applier";

fn has_applier(kubernetes: &Kubernetes) -> bool {
    kubernetes.applier.is_some()
}

/// What does not go together in Kubernetes.
fn together(site: &Site, variant: EntryVariant) -> Vec<RenderProblem> {
    let mut faults = Vec::new();
    if site.engine.internal_tls != site.engine.tls {
        let advice = "write the same as engine.tls: MinIO and RustFS have one listener for clients and nodes";
        faults.push(RenderProblem::new(key::ENGINE_INTERNAL_TLS, "TLS for one kind of traffic alone", advice));
    }
    if let (EntryVariant::B, Entry::L2Announcement { policy: TrafficPolicy::Local, .. }) = (variant, site.entry) {
        let advice = "write cluster: Cilium's L2 announcement excludes policy Local";
        faults.push(RenderProblem::new(key::ENTRY_POLICY, "policy local with an L2 announcement", advice));
    }
    let is_meshed = site.kubernetes.as_ref().is_some_and(|kubernetes| kubernetes.mesh.is_some());
    if site.entry == Entry::ClusterMesh && !is_meshed {
        let advice = "add kubernetes.mesh with the id and the name of this cluster, or write entry: bgp";
        faults.push(RenderProblem::new(key::ENTRY_PATH, "cluster-mesh without kubernetes.mesh", advice));
    }
    let groups = || site.groups.iter().filter(|group| group.count > 0);
    if let Some(group) = groups().find(|group| variant == EntryVariant::B && group.racks > 1) {
        let what = format!("{} racks, and an address that one node announces in its own segment", group.racks);
        let advice = "use entry bgp (variant c), which reaches several segments; or leave racks out, if all are in one";
        faults.push(RenderProblem::new(format!("nodes.{}.racks", group.name), what, advice));
    }
    let is_alone = groups().count() == 1;
    if let Some(group) = groups().find(|group| !is_alone && group.count == 1 && group.drives_per_node() == 1) {
        let advice = "use more nodes or drives: a pool beside others is a range, and one drive is none";
        faults.push(RenderProblem::new(format!("nodes.{}.count", group.name), "a pool of one drive", advice));
    }
    if let Some(group) =
        groups().find(|group| group.name == APPLIER && site.kubernetes.as_ref().is_some_and(has_applier))
    {
        let advice = "use another name: hosts/applier has the applier's manifest";
        faults.push(RenderProblem::new(format!("nodes.{}.name", group.name), "a kind of nodes named applier", advice));
    }
    let needed = entries(site).needed;
    if needed > ENTRIES_MAX {
        let what = format!("connections of clients that need {needed} entries of a node's table");
        let advice = format!("Cilium takes {ENTRIES_MAX}: write fewer connections, or an entry that all nodes take");
        faults.push(RenderProblem::new(key::CLIENTS_CONNECTIONS, what, advice));
    }
    faults
}

/// What the site states and no file of this variant says.
pub(crate) fn unrendered(stated: &Site, site: &Site, variant: EntryVariant) -> Vec<RenderProblem> {
    let mut faults = Vec::new();
    if stated.engine.encryption {
        let advice = "write encryption: false: settings of the key server are not rendered";
        faults.push(RenderProblem::new(
            key::ENGINE_ENCRYPTION,
            "encryption by the engine, which needs a key server",
            advice,
        ));
    }
    if stated.engine.local_shards {
        let advice = "write local_shards: false: the option is not rendered";
        faults.push(RenderProblem::new(key::ENGINE_LOCAL_SHARDS, "reads that prefer shards of their own node", advice));
    }
    let among = if variant.has_tunnel() { Encapsulation::Geneve } else { Encapsulation::None };
    let of_public = if site.planes.private.is_some() { Encapsulation::None } else { among };
    let planes = [
        (key::PLANES_PUBLIC, Some(&stated.planes.public), of_public),
        (key::PLANES_PRIVATE, stated.planes.private.as_ref(), among),
    ];
    for (path, plane, rendered) in planes {
        let Some(Plane { encapsulation, timestamps, .. }) = plane else { continue };
        let key = format!("{path}.encapsulation");
        if *encapsulation != rendered && !stated.is_assumed(&key) {
            let what = format!("encapsulation {} with variant {}", called(*encapsulation), variant.name());
            let advice = format!("write {}: no other one is rendered of this variant", called(rendered));
            faults.push(RenderProblem::new(key, what, advice));
        }
        if !timestamps {
            let advice = "write true: the hosts' profile leaves them on";
            faults.push(RenderProblem::new(format!("{path}.timestamps"), "a plane without TCP timestamps", advice));
        }
    }
    faults
}

/// What a site file calls it.
fn called(encapsulation: Encapsulation) -> &'static str {
    match encapsulation {
        Encapsulation::None => "none",
        Encapsulation::Vxlan => "vxlan",
        Encapsulation::Geneve => "geneve",
        Encapsulation::Wireguard => "wireguard",
        Encapsulation::Ipip => "ipip",
    }
}

/// Whether a NIC or bond has a name that nobody stated.
fn is_invented(site: &Site, link: &str) -> bool {
    site.groups.iter().any(|group| {
        let is_name_assumed = |kind: &str, i: usize| site.is_assumed(&format!("nodes.{}.{kind}.{i}.name", group.name));
        let is_nic = group.nics.iter().position(|nic| nic.name == link).is_some_and(|i| is_name_assumed("nics", i));
        is_nic || group.bonds.iter().position(|bond| bond.name == link).is_some_and(|i| is_name_assumed("bonds", i))
    })
}
