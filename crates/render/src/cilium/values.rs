//! Values of Cilium's chart: what the catalogue of settings advises, and what follows from variant and site.

use linerate_record::knob::Locator;
use linerate_record::site::{Entry, Kernel, Site, TrafficPolicy, key};
use linerate_settings::knobs::{KNOBS, KnobRow};

use crate::bpf_tables::tables;
use crate::catalogue::{self, reason};
use crate::deployment::Deployment;
use crate::entry_variant::EntryVariant;
use crate::yaml::{CommentedEntry as Line, Tree, list, map, set};

/// A value of the chart: its path, itself, and why.
type ChartValue = (String, Tree, String);

/// The kernel from which Cilium's guide recommends netkit; the driver is in 6.7.
const NETKIT: Kernel = Kernel { major: 6, minor: 8 };

/// The kernel from which IPv4 has BIG TCP.
const BIG_TCP: Kernel = Kernel { major: 6, minor: 3 };

pub(super) fn values(deployment: &Deployment<'_>) -> Tree {
    let mut all: Vec<ChartValue> = catalogued(deployment);
    all.extend(own(deployment));
    all.extend(of_tables(deployment.site));
    nested(all)
}

/// What the rows of the catalogue advise, or what goes before that.
fn catalogued(deployment: &Deployment<'_>) -> Vec<ChartValue> {
    let rows = KNOBS.iter().filter_map(|row| match row.knob.locator {
        Locator::HelmValue { chart: "cilium", path } => Some((row, path)),
        _ => None,
    });
    rows.filter_map(|(row, path)| {
        let (value, why) = before(deployment, row.knob.id).or_else(|| advised(deployment, row))?;
        // Renamed in 1.18.
        let path = if path == "localRedirectPolicy" { "localRedirectPolicies.enabled" } else { path };
        Some((path.to_owned(), typed(&value), reason(row.knob.id, &why)))
    })
    .collect()
}

fn advised(deployment: &Deployment<'_>, row: &KnobRow) -> Option<(String, String)> {
    catalogue::advised(deployment.site, deployment.site.groups.first()?, row)
}

/// What variant and kernels decide, whatever is advised elsewhere.
fn before(deployment: &Deployment<'_>, knob: &str) -> Option<(String, String)> {
    let is = |value: &str, why: &str| Some((value.to_owned(), why.to_owned()));
    let tunnel = deployment.variant.has_tunnel();
    let kernel = oldest(deployment.site);
    let is_since = |least: Kernel| kernel.is_some_and(|kernel| kernel >= least);
    match knob {
        "cilium.routing_mode" if tunnel => is("tunnel", "this variant has packets among nodes in Geneve"),
        "cilium.lb_mode" => match deployment.site.entry {
            Entry::L2Announcement { dsr: false, .. } => is("snat", "entry.dsr of the site is false"),
            _ => None,
        },
        "cilium.bgp_control_plane" => match deployment.bgp {
            Some(_) => is("true", "kubernetes.bgp: routes to pods and addresses are announced"),
            None => is("false", "nothing is announced by BGP"),
        },
        "cilium.datapath_mode" if !is_since(NETKIT) => is(
            "veth",
            "netkit needs Linux 6.7 and is recommended from 6.8 on, and nodes.*.kernel states no such of all nodes",
        ),
        "cilium.ipv4_big_tcp" if tunnel => is("false", "BIG TCP excludes tunnels"),
        "cilium.ipv4_big_tcp" if !is_since(BIG_TCP) => {
            is("false", "BIG TCP of IPv4 needs Linux 6.3, and nodes.*.kernel states no such of all nodes")
        }
        _ => None,
    }
}

/// The oldest kernel of all nodes; unknown where one is.
fn oldest(site: &Site) -> Option<Kernel> {
    site.groups.iter().map(|group| group.kernel).min().flatten()
}

/// Who announces holds a lease: after the loss of its node, another one takes it when its time and a retry are over.
fn lease() -> [(&'static str, &'static str, &'static str); 3] {
    [
        (
            "leaseDuration",
            "3s",
            "for so long a lost node still has the address, as with a hold of 3 s by BGP. The chart has 15s",
        ),
        ("leaseRenewDeadline", "2s", "less than leaseDuration: who cannot renew it for so long stops to announce"),
        ("leaseRetryPeriod", "1s", "less than the deadline. Each node asks API servers so often"),
    ]
}

/// What follows from the site and its variant alone.
fn own(deployment: &Deployment<'_>) -> Vec<ChartValue> {
    let kubernetes = deployment.kubernetes;
    let (api_server, api_port) = deployment.api.keys();
    let value = |path: &str, tree: Tree, why: &str| (path.to_owned(), tree, why.to_owned());
    let mut all = vec![
        value(
            "k8sServiceHost",
            deployment.api.host.into(),
            &format!("{api_server}: without kube-proxy, its service is served by Cilium itself"),
        ),
        value("k8sServicePort", deployment.api.port.into(), api_port),
        value("ipam.mode", "cluster-pool".into(), "each node has a prefix of kubernetes.pod_cidr"),
        value(
            "ipam.operator.clusterPoolIPv4PodCIDRList",
            list([deployment.pod_cidr.to_string()]),
            key::KUBERNETES_POD_CIDR,
        ),
        value("ipam.operator.clusterPoolIPv4MaskSize", kubernetes.node_mask.into(), key::KUBERNETES_NODE_MASK),
        value("devices", list(devices(deployment.site)), &of_devices(deployment)),
    ];
    if deployment.variant.has_tunnel() {
        let why = format!("Cilium takes DSR on Geneve and not on VXLAN. {}", way(deployment));
        all.push(value("tunnelProtocol", "geneve".into(), &why));
    } else {
        let native = kubernetes.native_cidr.unwrap_or(deployment.pod_cidr);
        all.push(value(
            "ipv4NativeRoutingCIDR",
            native.to_string().into(),
            "kubernetes.native_cidr: what is in it keeps its address",
        ));
        let (direct, why) = match deployment.bgp {
            Some(_) => (false, "BGP announces the prefix of each node to its switch"),
            None => (true, "one rack and no BGP: all nodes are in one segment"),
        };
        let why = format!("{why}. {}", way(deployment));
        all.push(value("autoDirectNodeRoutes", direct.into(), &why));
    }
    if deployment.variant == EntryVariant::B {
        all.push(value("l2announcements.enabled", true.into(), "one node answers for a service's address"));
        all.extend(lease().map(|(name, time, why)| value(&format!("l2announcements.{name}"), time.into(), why)));
        if !matches!(deployment.site.entry, Entry::L2Announcement { dsr: false, .. }) {
            all.push(value(
                "loadBalancer.dsrDispatch",
                "geneve".into(),
                "the address of the service is in a Geneve option",
            ));
        }
    }
    let policy = match deployment.site.entry {
        Entry::Bgp { policy } | Entry::NodePort { policy } => Some(policy),
        _ => None,
    };
    if policy == Some(TrafficPolicy::Cluster) && !deployment.variant.has_tunnel() {
        let why = "with loadBalancer.mode dsr, the address of the service passes in an IP option: a network that drops \
                   packets with options needs mode snat";
        all.push(value("loadBalancer.dsrDispatch", "opt".into(), why));
    }
    if kubernetes.observation.is_some() {
        let why = "kubernetes.observation: the agents' metrics, which observation/monitors.yaml scrapes";
        all.push(value("prometheus.enabled", true.into(), why));
        all.push(value("operator.prometheus.enabled", true.into(), "kubernetes.observation: those of the operator"));
    }
    if let Some(mesh) = &kubernetes.mesh {
        all.push(value("cluster.name", mesh.name.as_str().into(), key::KUBERNETES_MESH_NAME));
        all.push(value("cluster.id", mesh.id.into(), key::KUBERNETES_MESH_ID));
        all.push(value(
            "clustermesh.useAPIServer",
            true.into(),
            "kubernetes.mesh: other clusters read services from it",
        ));
    }
    all
}

/// Which link packets among pods take: Cilium leaves that to the node's routes.
fn way(deployment: &Deployment<'_>) -> String {
    let among = match &deployment.site.planes.private {
        Some(_) => key::PLANES_PRIVATE_LINK,
        None => key::PLANES_PUBLIC_LINK,
    };
    if deployment.bgp.is_some() {
        return format!(
            "Cilium installs no routes that it learns: packets among pods take the node's own route to \
             kubernetes.native_cidr, which is its default route unless the host has one by {among}"
        );
    }
    format!(
        "Packets among pods go to the nodes' InternalIP and take the link of that address: the kubelet's --node-ip is \
         to be one of {among}"
    )
}

fn of_devices(deployment: &Deployment<'_>) -> String {
    let links = "planes.public.link and planes.private.link";
    let others = "Agents of every machine look for them: those of the control plane and of clients need links of these \
                  names too";
    let why = match (&deployment.site.planes.private, deployment.variant.has_address()) {
        (Some(_), false) => format!(
            "{links}. Node ports answer on both: nodePort.addresses needs the prefix of the public plane, which a site \
             does not state"
        ),
        (Some(_), true) => links.to_owned(),
        (None, _) => key::PLANES_PUBLIC_LINK.to_owned(),
    };
    format!("{why}. {others}")
}

/// The interfaces of both planes.
fn devices(site: &Site) -> Vec<String> {
    let private = site.planes.private.as_ref().map(|plane| plane.link.clone());
    let mut all: Vec<String> = [site.planes.public.link.clone()].into_iter().chain(private).collect();
    all.dedup();
    all
}

fn of_tables(site: &Site) -> Vec<ChartValue> {
    let tables = tables(site);
    let value = |path: &str, entries: u64, why: String| (path.to_owned(), Tree::Whole(entries), why);
    let of_connections = match tables.sized {
        Some(_) => String::new(),
        None => format!(
            " Tables of connections are not set here: the chart makes them by a node's memory, and that is enough: {}.",
            tables.why
        ),
    };
    let services = "16 services with a backend on every node; Cilium's default at the least.";
    let mut all = vec![value("bpf.lbMapMax", tables.services, format!("{services}{of_connections}"))];
    if let Some(sized) = tables.sized {
        all.push(value("bpf.ctTcpMax", sized.tcp, format!("{}: more than memory makes of it", tables.why)));
        let why = "two thirds of the tables of connections, as in Cilium's own sizes; it refuses more than their sum";
        all.push(value("bpf.natMax", sized.nat, why.to_owned()));
    }
    all
}

/// A value of a chart as it is typed there.
fn typed(value: &str) -> Tree {
    match (value, value.parse::<u64>()) {
        ("true", _) => Tree::Switch(true),
        ("false", _) => Tree::Switch(false),
        (_, Ok(whole)) => Tree::Whole(whole),
        _ => Tree::from(value),
    }
}

/// Paths as maps within maps: in the order of their names, values of a map together.
fn nested(mut all: Vec<ChartValue>) -> Tree {
    all.sort_by(|one, other| one.0.cmp(&other.0));
    map(level(&all, 0))
}

fn level(all: &[ChartValue], depth: usize) -> Vec<Line> {
    let step = |value: &ChartValue| value.0.split('.').nth(depth).unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    for alike in all.chunk_by(|one, other| step(one) == step(other)) {
        let key = step(&alike[0]);
        match alike {
            [(path, tree, why)] if path.split('.').count() == depth + 1 => {
                lines.push(set(key, tree.clone()).because(why.clone()));
            }
            _ => lines.push(set(key, map(level(alike, depth + 1)))),
        }
    }
    lines
}
