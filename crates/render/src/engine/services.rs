//! The services of the engine.

use linerate_record::site::{Entry, TrafficPolicy};

use super::{PORT, selector};
use crate::deployment::Deployment;
use crate::entry_variant::EntryVariant;
use crate::yaml::{CommentedEntry as Line, Tree, list, map, set};

/// The label of services whose addresses are announced.
pub(crate) const ANNOUNCED: (&str, &str) = ("announced", "true");

fn service(metadata: Tree, spec: Vec<Line>) -> Tree {
    map([set("apiVersion", "v1"), set("kind", "Service"), set("metadata", metadata), set("spec", map(spec))])
}

fn ports() -> Tree {
    list([map([set("name", "s3"), set("protocol", "TCP"), set("port", PORT), set("targetPort", "s3")])])
}

/// The label of the service that has each pod: the other one has the same pods.
pub(crate) const EACH_POD: (&str, &str) = ("app.kubernetes.io/component", "nodes");

pub(super) fn headless(deployment: &Deployment<'_>) -> Tree {
    let labels = map([set("app.kubernetes.io/name", deployment.name), set(EACH_POD.0, EACH_POD.1)]);
    let metadata = map([
        set("name", deployment.headless()),
        set("namespace", deployment.kubernetes.namespace.as_str()),
        set("labels", labels),
    ]);
    service(
        metadata,
        vec![
            set("clusterIP", "None").because("A name for each pod, and no balancing."),
            set("publishNotReadyAddresses", true)
                .because("Nodes find each other before they are ready: none serves alone."),
            set("selector", selector(deployment)),
            set("ports", ports()),
        ],
    )
}

/// Where a connection goes from the node that took it.
pub(crate) fn traffic_policy(deployment: &Deployment<'_>) -> TrafficPolicy {
    match deployment.site.entry {
        Entry::Bgp { policy } | Entry::NodePort { policy } | Entry::L2Announcement { policy, .. } => policy,
        Entry::ClientSide | Entry::ClusterMesh | Entry::Local => TrafficPolicy::Local,
    }
}

/// The service of clients, by the variant.
pub(super) fn clients(deployment: &Deployment<'_>) -> Tree {
    let (policy, why) = match traffic_policy(deployment) {
        TrafficPolicy::Local => (
            "Local",
            "cilium.external_traffic_policy: a pod of the node that took the connection serves it, so that there is no \
             second hop and the client's address stays.",
        ),
        TrafficPolicy::Cluster if deployment.variant == EntryVariant::B => {
            ("Cluster", "Cilium's L2 announcement excludes policy Local: the one announcing node forwards.")
        }
        TrafficPolicy::Cluster => ("Cluster", "entry.policy of the site states it."),
    };
    let mut spec = Vec::new();
    if deployment.variant.has_address() {
        spec.push(set("type", "LoadBalancer").because("Its address is from kubernetes.load_balancer."));
        spec.push(
            set("allocateLoadBalancerNodePorts", false)
                .because("Cilium serves the address itself: node ports would be a second way in."),
        );
    } else {
        let why = "Clients use any node's address and the port that Kubernetes allocates (kubectl get service).";
        spec.push(set("type", "NodePort").because(why));
    }
    spec.push(set("externalTrafficPolicy", policy).because(why));
    spec.push(set("selector", selector(deployment)));
    spec.push(set("ports", ports()));
    service(of_clients(deployment), spec)
}

fn of_clients(deployment: &Deployment<'_>) -> Tree {
    let mut labels = vec![set("app.kubernetes.io/name", deployment.name)];
    if deployment.variant.has_address() {
        labels.push(set(ANNOUNCED.0, ANNOUNCED.1).because("Pools and announcements select it by this."));
    }
    let mut metadata = vec![
        set("name", deployment.name),
        set("namespace", deployment.kubernetes.namespace.as_str()),
        set("labels", map(labels)),
    ];
    if deployment.kubernetes.mesh.is_some() {
        let annotation = set("service.cilium.io/global", "true")
            .because("Other clusters of the mesh reach it under the same name, if they have such a service.");
        metadata.push(set("annotations", map([annotation])));
    }
    map(metadata)
}
