//! Who is scraped: the engine, Cilium, and node-exporter on each node.

use linerate_record::site::Monitoring;

use super::planned_facts::{KIND, WatchedKind, match_any};
use super::{has_metrics, object};
use crate::credentials::{TOKEN_KEY, metrics_secret_name};
use crate::deployment::Deployment;
use crate::engine::EACH_POD;
use crate::yaml::{CommentedEntry, Tree, list, map, set};

const GROUP: &str = "monitoring.coreos.com/v1";

/// The namespace of Cilium.
const SYSTEM: &str = "kube-system";

/// What of MinIO's metrics each pod says of itself, and how often it is asked: what requests move, in time for rates of
/// two minutes; drives and links among nodes less often.
pub(super) const OF_POD: [(&str, &str); 3] = [
    ("/minio/metrics/v3/api/requests", "15s"),
    ("/minio/metrics/v3/system/drive", "30s"),
    ("/minio/metrics/v3/system/network/internode", "30s"),
];

/// What of them any pod says of all.
const OF_CLUSTER: [(&str, &str); 2] =
    [("/minio/metrics/v3/cluster/health", "60s"), ("/minio/metrics/v3/cluster/erasure-set", "60s")];

/// How many pods are asked that: as long as one of them is up, it is known.
const REQUESTED: usize = 3;

pub(super) fn monitors(deployment: &Deployment<'_>, monitoring: &Monitoring, kinds: &[WatchedKind<'_>]) -> Vec<Tree> {
    let agents = pods(monitoring, "cilium-agent", SYSTEM, ("k8s-app", "cilium"), set("port", "prometheus"), kinds);
    let operator =
        pods(monitoring, "cilium-operator", SYSTEM, ("io.cilium/app", "operator"), set("port", "prometheus"), &[]);
    let nodes = pods(
        monitoring,
        "node-exporter",
        &monitoring.namespace,
        ("app.kubernetes.io/name", "prometheus-node-exporter"),
        set("portNumber", 9100_u32)
            .because("node-exporter's port, on the node's network. The chart's own monitor is off, see its values."),
        kinds,
    );
    let engine = has_metrics(deployment).then(|| engine(deployment, monitoring, kinds));
    engine.into_iter().chain([agents, operator, nodes]).collect()
}

fn engine(deployment: &Deployment<'_>, monitoring: &Monitoring, kinds: &[WatchedKind<'_>]) -> Tree {
    let of_pod = OF_POD.into_iter().map(|(path, interval)| endpoint(deployment, path, interval, kinds, false));
    let of_cluster = OF_CLUSTER.into_iter().map(|(path, interval)| endpoint(deployment, path, interval, kinds, true));
    let labels = map([set("app.kubernetes.io/name", deployment.name), set(EACH_POD.0, EACH_POD.1)]);
    let spec = map([
        set("selector", map([set("matchLabels", labels)]))
            .because("The headless service: it has each pod once, also one that is not ready."),
        set("endpoints", list(of_pod.chain(of_cluster))).because(
            "Some of MinIO's metrics each, so that no request makes all of them: a pod answers two such requests at \
             once (MaxRequestsInFlight in cmd/metrics-v3-handler.go). S3 and metrics have one port, and clients need \
             not read these: the token is of the Secret that linerate render --init-secrets writes, or mc admin \
             prometheus generate makes it. Pods are scraped by address; the name in their certificate is that of the \
             service.",
        ),
    ]);
    // Beside the Secrets that it refers to.
    let namespace = deployment.kubernetes.namespace.as_str();
    object(monitoring, GROUP, "ServiceMonitor", deployment.name, namespace, spec)
}

fn endpoint(
    deployment: &Deployment<'_>,
    path: &str,
    interval: &str,
    kinds: &[WatchedKind<'_>],
    is_of_cluster: bool,
) -> Tree {
    let token = map([set("name", metrics_secret_name(deployment.name)), set("key", TOKEN_KEY)]);
    let mut all = vec![
        set("port", "s3"),
        set("path", path),
        set("interval", interval),
        set("authorization", map([set("type", "Bearer"), set("credentials", token)])),
    ];
    if deployment.has_tls() {
        let authority = map([set("name", format!("{}-tls", deployment.name)), set("key", "ca.crt")]);
        let name = format!("{}.{}.svc.{}", deployment.name, deployment.kubernetes.namespace, deployment.domain());
        all.push(set("scheme", "https"));
        all.push(set("tlsConfig", map([set("ca", map([set("secret", authority)])), set("serverName", name)])));
    }
    let mut labels = vec![map([set("sourceLabels", list(["__metrics_path__"])), set("targetLabel", "metrics_path")])];
    if is_of_cluster {
        let pods =
            (0..REQUESTED.min(deployment.pools[0].machines.len())).map(|i| format!("{}-{i}", deployment.pools[0].set));
        let pods: Vec<String> = pods.collect();
        labels.push(map([
            set("sourceLabels", list(["__meta_kubernetes_pod_name"]))
                .because("Any pod says it of all: the first ones do."),
            set("regex", match_any(pods.iter().map(String::as_str))),
            set("action", "keep"),
        ]));
    }
    labels.extend(of_node(kinds));
    all.push(set("relabelings", list(labels)));
    map(all)
}

/// The labels by which alerts and the dashboard find what is of a node of the site.
fn of_node(kinds: &[WatchedKind<'_>]) -> Vec<Tree> {
    let source = || set("sourceLabels", list(["__meta_kubernetes_pod_node_name"]));
    let node = map([source(), set("targetLabel", "node")]);
    let of_kind = |kind: &WatchedKind<'_>| {
        map([
            source().because("kubernetes.hosts: what the plan says holds of these machines and of no others."),
            set("regex", match_any(kind.machines.iter().copied())),
            set("targetLabel", KIND),
            set("replacement", kind.name),
        ])
    };
    [node].into_iter().chain(kinds.iter().map(of_kind)).collect()
}

fn pods(
    monitoring: &Monitoring,
    name: &str,
    namespace: &str,
    label: (&str, &str),
    port: CommentedEntry,
    kinds: &[WatchedKind<'_>],
) -> Tree {
    let endpoint = map([port, set("interval", "30s"), set("relabelings", list(of_node(kinds)))]);
    let spec = map([
        set("namespaceSelector", map([set("matchNames", list([namespace]))])),
        set("selector", map([set("matchLabels", map([set(label.0, label.1)]))])),
        set("podMetricsEndpoints", list([endpoint])),
    ]);
    object(monitoring, GROUP, "PodMonitor", name, &monitoring.namespace, spec)
}

/// Interfaces of pods and of Cilium: each would be a series of every counter, and none is a link of the plan.
const OF_PODS: &str = "^(lxc|veth|cilium_|tmp|lo).*";

/// Values of node-exporter's chart.
pub(super) fn exporter_values() -> Tree {
    let argument = |name: &str, value: &str| format!("--collector.{name}={value}");
    let arguments = list([
        argument("netdev.device-exclude", OF_PODS),
        argument("netclass.ignored-devices", OF_PODS),
        argument("ethtool.device-exclude", OF_PODS),
        argument("ethtool.metrics-include", "^.*(drop|discard|err|crc|pause|miss|out_of_buffer|timeout).*$"),
        "--collector.ethtool".to_owned(),
        argument("filesystem.mount-points-exclude", "^/(dev|proc|sys|run|var/lib/(kubelet|containerd|docker))($|/)"),
    ]);
    map([
        set("prometheus", map([set("monitor", map([set("enabled", false)]))]))
            .because("observation/monitors.yaml has the monitor, which names each node and its kind."),
        set("extraArgs", arguments).because(
            "linerate reads and alerts on these collectors: bonding, diskstats, filesystem, netclass, netdev, netstat, \
             pressure (a kernel with psi=1), timex and uname are on of themselves; ethtool is not, and of what a card \
             counts, losses are kept. Interfaces of pods are left out, members of bonds are not. Mounts of pods would \
             show each volume a second time.",
        ),
    ])
}
