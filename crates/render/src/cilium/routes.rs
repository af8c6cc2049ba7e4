//! Addresses and routes: pools, BGP, and announcements in a segment.

use linerate_record::site::{Bgp, TrafficPolicy, key};

use crate::deployment::Deployment;
use crate::engine::{ANNOUNCED, traffic_policy};
use crate::entry_variant::EntryVariant;
use crate::yaml::{Tree, list, map, set};

/// What peers and advertisements have in common.
const LABEL: (&str, &str) = ("advertise", "bgp");

/// The name of each resource: there is one of a kind.
const NAME: &str = "storage";

/// A file's name, what it is, and its documents.
type Resource = (&'static str, &'static str, Vec<Tree>);

pub(super) fn resources(deployment: &Deployment<'_>) -> Vec<Resource> {
    let mut all = Vec::new();
    if deployment.variant.has_address() {
        all.push(("addresses", "Addresses of services.", vec![pool(deployment)]));
    }
    if let Some(bgp) = deployment.bgp {
        let documents = vec![cluster(deployment, bgp), peer(bgp), advertisement(deployment)];
        all.push(("bgp", "BGP with the switches.", documents));
    }
    if deployment.variant == EntryVariant::B {
        all.push((
            "l2-announcement",
            "The announcement of addresses in the clients' segment.",
            vec![announcement(deployment)],
        ));
    }
    all
}

fn resource(version: &str, kind: &str, labels: Option<Tree>, spec: Tree) -> Tree {
    let mut metadata = vec![set("name", NAME)];
    metadata.extend(labels.map(|labels| set("labels", labels)));
    map([
        set("apiVersion", format!("cilium.io/{version}")),
        set("kind", kind),
        set("metadata", map(metadata)),
        set("spec", spec),
    ])
}

fn selected(label: (&str, &str)) -> Tree {
    map([set("matchLabels", map([set(label.0, label.1)]))])
}

fn pool(deployment: &Deployment<'_>) -> Tree {
    let blocks = deployment.kubernetes.load_balancer.iter().map(|prefix| map([set("cidr", prefix.to_string())]));
    let spec = map([
        set("blocks", list(blocks)).because(key::KUBERNETES_LOAD_BALANCER),
        set("serviceSelector", selected(ANNOUNCED)),
    ]);
    resource("v2", "CiliumLoadBalancerIPPool", None, spec)
}

fn cluster(deployment: &Deployment<'_>, bgp: &Bgp) -> Tree {
    let has_private = deployment.site.planes.private.is_some();
    let mut peer = vec![set("name", "switch"), set("peerASN", bgp.peer_as).because(key::KUBERNETES_BGP_PEER_AS)];
    match &bgp.peer {
        Some(address) => {
            let plane = if has_private { "; the routes to pods are on the plane that it is on" } else { "" };
            let why = format!("kubernetes.bgp.peer{plane}.");
            peer.push(set("peerAddress", address.as_str()).because(why));
        }
        None => {
            let gateway = map([set("addressFamily", "ipv4")]);
            let found = map([set("mode", "DefaultGateway"), set("defaultGateway", gateway)]);
            let one = "kubernetes.bgp.peer is not stated: the switch of a rack is the default gateway of its nodes.";
            let plane = if has_private {
                " There is one session, with the gateway of the lowest metric: only the plane that it is on learns \
                 routes to pods."
            } else {
                ""
            };
            let why = format!("{one}{plane}");
            peer.push(set("autoDiscovery", found).because(why));
        }
    }
    peer.push(set("peerConfigRef", map([set("name", NAME)])));
    let instance = map([
        set("name", "nodes"),
        set("localASN", bgp.local_as).because(key::KUBERNETES_BGP_LOCAL_AS),
        set("peers", list([map(peer)])),
    ]);
    resource("v2", "CiliumBGPClusterConfig", None, map([set("bgpInstances", list([instance]))]))
}

fn peer(bgp: &Bgp) -> Tree {
    let Bgp { hold_s, restart_s, .. } = *bgp;
    let healed = format!(
        "kubernetes.bgp.hold: open-source Cilium has no BFD, so silence is noticed after {hold_s} s. The routes of a \
         lost node go after {hold_s} s, or {} s where the switch waits for a restart.",
        hold_s + restart_s
    );
    let timers = map([
        set("holdTimeSeconds", hold_s).because(healed),
        set("keepAliveTimeSeconds", hold_s / 3).because("A third of the hold time (RFC 4271, section 10)."),
        set("connectRetryTimeSeconds", hold_s)
            .because("Of Cilium's 120 s, a switch that returns would be without routes for two minutes."),
    ]);
    let restart = map([
        set("enabled", true),
        set("restartTimeSeconds", restart_s)
            .because("kubernetes.bgp.restart: packets pass while an agent restarts within this time."),
    ]);
    let family = map([set("afi", "ipv4"), set("safi", "unicast"), set("advertisements", selected(LABEL))]);
    let spec = map([set("timers", timers), set("gracefulRestart", restart), set("families", list([family]))]);
    resource("v2", "CiliumBGPPeerConfig", None, spec)
}

fn advertisement(deployment: &Deployment<'_>) -> Tree {
    let mut all = Vec::new();
    if deployment.variant.has_address() {
        let addresses = map([set("addresses", list(["LoadBalancerIP"]))]);
        let announcing = match traffic_policy(deployment) {
            TrafficPolicy::Local => {
                "Under policy Local, each node with a pod announces the address: switches spread by ECMP."
            }
            TrafficPolicy::Cluster => {
                "Under policy Cluster, each node announces the address, and forwards what pods of others serve: \
                 switches spread by ECMP."
            }
        };
        all.push(map([
            set("advertisementType", "Service").because(announcing),
            set("service", addresses),
            set("selector", selected(ANNOUNCED)),
        ]));
    }
    all.push(map([set("advertisementType", "PodCIDR")
        .because("Native routing: switches know the way to each node's pods by this.")]));
    let labels = map([set(LABEL.0, LABEL.1)]);
    resource("v2", "CiliumBGPAdvertisement", Some(labels), map([set("advertisements", list(all))]))
}

fn announcement(deployment: &Deployment<'_>) -> Tree {
    let interface = format!("^{}$", deployment.site.planes.public.link.replace('.', "\\."));
    let names = deployment.kubernetes.hosts.iter().flat_map(|hosts| &hosts.names).map(String::as_str);
    let storage = map([set("key", "kubernetes.io/hostname"), set("operator", "In"), set("values", list(names))]);
    let spec = map([
        set("serviceSelector", selected(ANNOUNCED)),
        set("nodeSelector", map([set("matchExpressions", list([storage]))])).because(
            "kubernetes.hosts: agents of all machines would stand for the lease, and one without this interface would \
             hold it and announce nothing.",
        ),
        set("loadBalancerIPs", true)
            .because("One node answers for the address: its link is the ceiling of all clients together."),
        set("interfaces", list([interface])).because("planes.public.link, as an expression"),
    ]);
    resource("v2alpha1", "CiliumL2AnnouncementPolicy", None, spec)
}
