//! Who goes first: pods of the engine where a machine is full, and Cilium's requests where API servers are.

use crate::catalogue::setting;
use crate::deployment::Deployment;
use crate::file::RenderedFile;
use crate::yaml::{Tree, file, list, map, set};

/// The priority level of the network.
const LEVEL: &str = "network";

/// Shares of the level: those of `workload-high`, in which all of kube-system is otherwise
/// (`k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap`).
const SHARES: u64 = 40;

/// Shares of Kubernetes' own levels: system 30, node-high 40, leader-election 10, workload-high 40, workload-low 100,
/// global-default 20, catch-all 5 (the same file).
const OTHER_SHARES: u64 = 245;

/// Accounts of kube-system without which pods have no network.
const ACCOUNTS: [&str; 2] = ["cilium", "cilium-operator"];

/// Below what Kubernetes keeps for itself, which begins at a billion, and above what other pods have unless stated.
const PRIORITY: u64 = 100_000_000;

pub(crate) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let of_pods = "The priority of the engine's pods.";
    let of_requests = "Priority of requests to the API server, by API Priority and Fairness. Kubelets have two \
        levels of Kubernetes' own (node-high, system), and controllers and the scheduler another one \
                       (workload-high); Cilium shares that with all of kube-system unless it has one. The \
                       engine's pods send no requests: what is done for them, kubelets and controllers do.";
    vec![
        RenderedFile::new("priority/pods.yaml", file(&deployment.head(of_pods), &[class(deployment)])),
        RenderedFile::new(
            "priority/requests.yaml",
            file(&deployment.head(of_requests), &[level(deployment), schema()]),
        ),
    ]
}

fn class(deployment: &Deployment<'_>) -> Tree {
    map([
        set("apiVersion", "scheduling.k8s.io/v1"),
        set("kind", "PriorityClass"),
        set("metadata", map([set("name", deployment.name)])),
        set("value", PRIORITY)
            .because("Above pods without a class (0), below system-cluster-critical: DNS and Cilium stay."),
        set("globalDefault", false),
        set("preemptionPolicy", "PreemptLowerPriority")
            .because("A pod of the engine can run on one machine alone: others are evicted from it."),
        set("description", "Pods of the object store, each of which its volumes bind to one machine."),
    ])
}

fn resource(kind: &str, spec: Tree) -> Tree {
    map([
        set("apiVersion", "flowcontrol.apiserver.k8s.io/v1"),
        set("kind", kind),
        set("metadata", map([set("name", LEVEL)])),
        set("spec", spec),
    ])
}

fn level(deployment: &Deployment<'_>) -> Tree {
    let seats = seats(deployment).map_or_else(String::new, |(all, seats)| {
        format!(
            " Of {all} seats of an API server (both limits of requests in flight), {SHARES} of {} shares are {seats}.",
            OTHER_SHARES + SHARES
        )
    });
    let queuing = map([
        set("queues", 128_u32),
        set("handSize", 6_u32),
        set("queueLengthLimit", 50_u32).because(
            "Agents of all nodes list at once after an API server has restarted: they wait, and are not refused.",
        ),
    ]);
    let limited = map([
        set("nominalConcurrencyShares", SHARES).because(format!(
            "As many as workload-high, in which a loop of any account of kube-system otherwise keeps agents from \
             programming the network of new pods.{seats}"
        )),
        set("lendablePercent", 50_u32).because("As workload-high: what is not used serves others."),
        set("limitResponse", map([set("type", "Queue"), set("queuing", queuing)])).because("As workload-high."),
    ]);
    resource("PriorityLevelConfiguration", map([set("type", "Limited"), set("limited", limited)]))
}

/// Seats of an API server, and those of the level.
fn seats(deployment: &Deployment<'_>) -> Option<(u64, u64)> {
    let group = deployment.site.groups.first()?;
    let value = |knob| setting(deployment.site, group, knob)?.value.parse::<u64>().ok();
    let all = value("apiserver.max_requests_inflight")? + value("apiserver.max_mutating_requests_inflight")?;
    Some((all, (all * SHARES).div_ceil(OTHER_SHARES + SHARES)))
}

fn schema() -> Tree {
    let account = |name: &str| {
        let account = map([set("name", name), set("namespace", "kube-system")]);
        map([set("kind", "ServiceAccount"), set("serviceAccount", account)])
    };
    let resources = map([
        set("verbs", list(["*"])),
        set("apiGroups", list(["*"])),
        set("resources", list(["*"])),
        set("clusterScope", true),
        set("namespaces", list(["*"])),
    ]);
    let others = map([set("verbs", list(["*"])), set("nonResourceURLs", list(["*"]))]);
    let rule = map([
        set("subjects", list(ACCOUNTS.map(account))),
        set("resourceRules", list([resources])),
        set("nonResourceRules", list([others])),
    ]);
    let spec = map([
        set("priorityLevelConfiguration", map([set("name", LEVEL)])),
        set("matchingPrecedence", 850_u32).because(
            "Before kube-system-service-accounts (900), which would take them, and after all that is of nodes.",
        ),
        set("distinguisherMethod", map([set("type", "ByUser")]))
            .because("The operator is a flow of its own, and does not wait behind agents."),
        set("rules", list([rule])),
    ]);
    resource("FlowSchema", spec)
}
