//! What kubeadm reads: the cluster, its first machine, and machines that join.

use super::{DescribedPlane, SCHEDULER, host_endpoint, kubelet, names};
use crate::catalogue::{self, ComponentSetting, setting};
use crate::yaml::{CommentedEntry as Line, Tree, list, map, set};
use linerate_record::site::key;

const VERSION: &str = "kubeadm.k8s.io/v1beta4";

/// Where tokens are given, which are in no file of this folder.
const DISCOVERY: &str = "/etc/kubernetes/discovery.conf";

/// etcd's own heartbeat and election in milliseconds (`server/embed/config.go`).
const HEARTBEAT_MS: u64 = 100;
const ELECTION_HEARTBEATS: u64 = 10;

/// etcd, "Tuning": a heartbeat is up to 1.5 round trips.
const HEARTBEAT_ROUND_TRIPS: f64 = 1.5;

/// The documents of the first machine.
pub(super) fn first(of: DescribedPlane<'_>, host: &str) -> [Tree; 3] {
    [init(of, host), cluster(of), kubelet::configuration(of)]
}

fn init(of: DescribedPlane<'_>, host: &str) -> Tree {
    let mut lines = head(VERSION, "InitConfiguration");
    lines.extend(host_endpoint(of, host).map(|endpoint| set("localAPIEndpoint", endpoint)));
    map(lines)
}

fn head(version: &str, kind: &str) -> Vec<Line> {
    vec![set("apiVersion", version), set("kind", kind)]
}

/// A machine that joins: of the control plane, if it has an endpoint.
pub(super) fn join(endpoint: Option<Tree>, patches: &[&str]) -> Tree {
    let mut lines = head(VERSION, "JoinConfiguration");
    let found = map([set("kubeConfigPath", DISCOVERY)
        .because("A file of the machine: a token and the hash of a cluster's authority are in none of this folder.")]);
    lines.push(set("discovery", map([set("file", found)])));
    lines.extend(endpoint.map(|endpoint| set("controlPlane", map([set("localAPIEndpoint", endpoint)]))));
    for directory in patches {
        lines.push(
            set("patches", map([set("directory", *directory)]))
                .because("What this kind of machines has of its own: kubeletconfiguration.yaml."),
        );
    }
    map(lines)
}

fn cluster(of: DescribedPlane<'_>) -> Tree {
    let DescribedPlane { deployment, plane, .. } = of;
    let (api_server, api_port) = deployment.api.keys();
    let mut lines = head(VERSION, "ClusterConfiguration");
    lines.extend([
        set("kubernetesVersion", format!("v{}", plane.version)).because(key::KUBERNETES_CONTROL_PLANE_VERSION),
        set("controlPlaneEndpoint", format!("{}:{}", deployment.api.host, deployment.api.port))
            .because(format!("{api_server}, {api_port}")),
        set("networking", networking(of)),
        set("apiServer", api_server_config(of)).because(
            "No limits of resources: at a limit of processors an API server is throttled, at one of memory it is \
             killed, and all clients list anew. Source 000: 16 processors and 24 GiB, of which it used 9 and 13.",
        ),
        set("controllerManager", map([set("extraArgs", list(controllers(of)))])),
        set("scheduler", scheduler_config()),
        set("etcd", map([set("local", etcd(of))])),
    ]);
    if deployment.kubernetes.dns.is_some() {
        lines.push(set("dns", map([set("disabled", true)])).because("The folder dns has it."));
    }
    lines.push(
        set("proxy", map([set("disabled", true)])).because("cilium.kube_proxy_replacement: Cilium serves services."),
    );
    map(lines)
}

fn networking(of: DescribedPlane<'_>) -> Tree {
    map([
        set("serviceSubnet", of.plane.service_cidr.to_string()).because(key::KUBERNETES_CONTROL_PLANE_SERVICE_CIDR),
        set("podSubnet", of.deployment.pod_cidr.to_string()).because(key::KUBERNETES_POD_CIDR),
        set("dnsDomain", of.deployment.domain()).because(match of.deployment.kubernetes.dns {
            Some(_) => key::KUBERNETES_DNS_DOMAIN,
            None => "kubeadm's own",
        }),
    ])
}

/// A flag as kubeadm takes it.
fn argument(name: &str, value: impl Into<String>, why: &str) -> Tree {
    map([set("name", name).because(why), set("value", value.into())])
}

fn arguments(of: DescribedPlane<'_>, component: &str) -> Vec<Tree> {
    let all = catalogue::settings(of.deployment.site, of.group, component);
    all.into_iter().map(|ComponentSetting { key, value, why }| argument(key, value, &why)).collect()
}

fn api_server_config(of: DescribedPlane<'_>) -> Tree {
    let mut all = arguments(of, "kube-apiserver");
    if of.plane.hosts.len() > 1 {
        let why = "One request in a thousand asks its client to connect anew: connections live for days, and without \
                   this an API server that has come back stays without any.";
        all.push(argument("goaway-chance", "0.001", why));
    }
    let why = "Kubernetes' own: what is older is compacted in etcd by API servers, every five minutes.";
    all.push(argument("etcd-compaction-interval", "5m0s", why));
    map([
        set("certSANs", names(of))
            .because("Each machine of the control plane by its address, and the way of all others."),
        set("extraArgs", list(all)),
    ])
}

fn controllers(of: DescribedPlane<'_>) -> Vec<Tree> {
    let mut all = arguments(of, "kube-controller-manager");
    let why = "ipam.mode of Cilium: its operator gives each node a prefix. Two that give some would not agree.";
    all.push(argument("allocate-node-cidrs", "false", why));
    let why = "Kubernetes' own since 1.32, and above the 45 s in which a connection of HTTP/2 is found to be dead. A \
               shorter one would evict pods that can run nowhere else: clients leave a dead node by \
               kubernetes.bgp.hold or by their own retries.";
    all.push(argument("node-monitor-grace-period", "50s", why));
    all
}

fn scheduler_config() -> Tree {
    let volume = map([
        set("name", "scheduler-config"),
        set("hostPath", SCHEDULER),
        set("mountPath", SCHEDULER),
        set("readOnly", true),
        set("pathType", "File"),
    ]);
    map([
        set("extraArgs", list([argument("config", SCHEDULER, "scheduler.yaml")])),
        set("extraVolumes", list([volume])),
    ])
}

/// The scheduler's own configuration.
pub(super) fn scheduler(of: DescribedPlane<'_>) -> Tree {
    let mut client = vec![set("kubeconfig", "/etc/kubernetes/scheduler.conf").because("Where kubeadm writes it.")];
    for knob in ["scheduler.qps", "scheduler.burst"] {
        let Some(found) = setting(of.deployment.site, of.group, knob) else { continue };
        let key = found.key.trim_start_matches("clientConnection.");
        client.push(set(key, number(&found.value)).because(found.why));
    }
    let mut lines = head("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration");
    lines.push(set("clientConnection", map(client)));
    lines.push(set("leaderElection", map([set("leaderElect", true)])));
    map(lines)
}

/// A number as YAML has it.
pub(super) fn number(value: &str) -> Tree {
    value.parse::<u64>().map_or_else(|_| Tree::from(value), Tree::Whole)
}

fn etcd(of: DescribedPlane<'_>) -> Tree {
    let mut all = Vec::new();
    for ComponentSetting { key, value, why } in catalogue::settings(of.deployment.site, of.group, "etcd") {
        let (value, why) = match key {
            "heartbeat-interval" => heartbeat(of, why),
            "election-timeout" => election(of, why),
            _ => (value, why),
        };
        all.push(argument(key, value, &why));
    }
    map([
        set("dataDir", "/var/lib/etcd").because(
            "kubeadm's own. On flash of its own: source 000 saw 15 ms for a write that is to last, and drives of the \
             engine are busy. kubeadm itself sets snapshot-count to 10,000, etcd's own since 3.6.",
        ),
        set("extraArgs", list(all)),
    ])
}

/// Milliseconds between heartbeats, by the round trip.
fn heartbeat_ms(of: DescribedPlane<'_>) -> Option<(f64, u64)> {
    let rtt_ms = of.plane.etcd_rtt_ns? as f64 / 1e6;
    let rounded = ((rtt_ms * HEARTBEAT_ROUND_TRIPS / 10.0).ceil() * 10.0) as u64;
    Some((rtt_ms, rounded.max(HEARTBEAT_MS)))
}

fn heartbeat(of: DescribedPlane<'_>, advised: String) -> (String, String) {
    let Some((rtt_ms, heartbeat_ms)) = heartbeat_ms(of) else { return (HEARTBEAT_MS.to_string(), advised) };
    let source = catalogue::source("etcd.heartbeat_interval").unwrap_or_default();
    let why = format!(
        "etcd.heartbeat_interval: {HEARTBEAT_ROUND_TRIPS} × kubernetes.control_plane.etcd_rtt of {rtt_ms} ms, in tens, \
         and etcd's {HEARTBEAT_MS} at the least. Source 000: {source}, of a round trip of 180 ms once; its own table \
         has 6.35 ms."
    );
    (heartbeat_ms.to_string(), why)
}

fn election(of: DescribedPlane<'_>, advised: String) -> (String, String) {
    let Some((_, heartbeat_ms)) = heartbeat_ms(of) else {
        return ((HEARTBEAT_MS * ELECTION_HEARTBEATS).to_string(), advised);
    };
    let source = catalogue::source("etcd.election_timeout").unwrap_or_default();
    let why = format!(
        "etcd.election_timeout: {ELECTION_HEARTBEATS} × heartbeat-interval of {heartbeat_ms} ms. Source 000: {source}."
    );
    ((heartbeat_ms * ELECTION_HEARTBEATS).to_string(), why)
}
