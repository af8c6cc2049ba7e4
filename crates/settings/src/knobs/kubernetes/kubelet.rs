//! The kubelet and the scheduler.

use linerate_record::knob::{Domain, Knob, Layer, Locator, RelievedResource, Scope, TakesEffect, domain};

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob =
    Knob { layer: Layer::Kubernetes, scope: Scope::Cluster, takes_effect: TakesEffect::Restart, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "kubelet.qps",
            locator: Locator::Component { component: "kubelet", key: "kubeAPIQPS" },
            // client-go, rest.Config: below zero is without bound; written in whole requests per second.
            takes: domain::number(-1, domain::INT_MAX),
            default: "50",
            summary: "Requests per second that the kubelet allows itself against the API server.",
            why: "From 100 nodes on, the advice is 150 (qps) and 300 (burst), as in source 000. The kubelet of a node \
                with 200 pods reads secrets and reports states; after a restart, all kubelets send up to this many \
                requests at once.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: clients throttled by their own limit",
            risk: "More requests to the API server.",
            sources: &["source 000, Kubernetes values", "Kubernetes, KubeletConfiguration (50 and 100 since 1.27)"],
            also_called: &["kubeAPIQPS", "qps"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| facts::by_cluster_size(site, 150, 50)),
    },
    KnobRow {
        knob: Knob {
            id: "kubelet.burst",
            locator: Locator::Component { component: "kubelet", key: "kubeAPIBurst" },
            // client-go, rest.Config: an `int`.
            takes: domain::number(0, domain::INT_MAX),
            default: "100",
            summary: "Burst of requests above kubelet.qps that the kubelet allows itself against the API server.",
            why: "From 100 nodes on, the advice is 150 (qps) and 300 (burst), as in source 000. The kubelet of a node \
                with 200 pods reads secrets and reports states; after a restart, all kubelets send up to this many \
                requests at once.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: clients throttled by their own limit",
            risk: "More requests to the API server.",
            sources: &["source 000, Kubernetes values", "Kubernetes, KubeletConfiguration (50 and 100 since 1.27)"],
            also_called: &["kubeAPIBurst", "burst"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| facts::by_cluster_size(site, 300, 100)),
    },
    KnobRow {
        knob: Knob {
            id: "scheduler.qps",
            locator: Locator::Component { component: "kube-scheduler", key: "clientConnection.qps" },
            // client-go, rest.Config: below zero is without bound; written in whole requests per second.
            takes: domain::number(-1, domain::INT_MAX),
            default: "50",
            summary: "Requests per second that the kube-scheduler allows itself against the API server.",
            why: "From 100 nodes on, the advice is 150 (qps) and 300 (burst), as in source 000, which no longer saw \
                client-side throttling with these values.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: clients throttled by their own limit",
            risk: "More requests to the API server.",
            sources: &["source 000, Kubernetes values", "Kubernetes, KubeSchedulerConfiguration"],
            also_called: &["clientConnection.qps", "qps"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| facts::by_cluster_size(site, 150, 50)),
    },
    KnobRow {
        knob: Knob {
            id: "scheduler.burst",
            locator: Locator::Component { component: "kube-scheduler", key: "clientConnection.burst" },
            // client-go, rest.Config: an `int`.
            takes: domain::number(0, domain::INT_MAX),
            default: "100",
            summary: "Burst of requests above scheduler.qps that the kube-scheduler allows itself against the API \
                server.",
            why: "From 100 nodes on, the advice is 150 (qps) and 300 (burst), as in source 000, which no longer saw \
                client-side throttling with these values.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: clients throttled by their own limit",
            risk: "More requests to the API server.",
            sources: &["source 000, Kubernetes values", "Kubernetes, KubeSchedulerConfiguration"],
            also_called: &["clientConnection.burst", "burst"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| facts::by_cluster_size(site, 300, 100)),
    },
    KnobRow {
        knob: Knob {
            id: "kubelet.evented_pleg",
            locator: Locator::Component { component: "kubelet", key: "featureGates.EventedPLEG" },
            // A feature gate.
            takes: Domain::Words(&["true", "false"]),
            default: "false",
            summary: "Whether the kubelet learns container states from events rather than by polling.",
            why: "Source 000 tried it and observed that pods started later. It is off by default, and the advice is \
                off.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: start of pods",
            risk: "On: missed events were a known bug.",
            sources: &["source 000, Kubernetes values", "Kubernetes, feature gates: EventedPLEG"],
            also_called: &["featureGates.EventedPLEG", "EventPLEG"],
            ..BASE
        },
        advise: Advise::Constant("false", "the default: source 000 observed that pods start later with it"),
    },
    KnobRow {
        knob: Knob {
            id: "kubelet.max_pods",
            locator: Locator::Component { component: "kubelet", key: "maxPods" },
            // Kubernetes, KubeletConfiguration: maxPods, an `int32`.
            takes: domain::number(0, domain::INT_MAX),
            default: "110",
            summary: "Maximum number of pods on a node.",
            why: "Source 000 tests 200 pods on a node, above the default, without naming the flag. Storage nodes run \
                one engine each, so nothing is advised.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: pods that are not scheduled",
            risk: "The node's address range must be large enough: a /24 has 254 addresses.",
            sources: &["source 000, Kubernetes values", "Kubernetes, KubeletConfiguration: maxPods"],
            also_called: &["maxPods"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "kubelet.cpu_manager_policy",
            locator: Locator::Component { component: "kubelet", key: "cpuManagerPolicy" },
            // Kubernetes, KubeletConfiguration: cpuManagerPolicy.
            takes: Domain::Words(&["none", "static"]),
            default: "none",
            summary: "Whether pods that request whole processors get exclusive ones.",
            why: "Source 000 requires NUMA-aware scheduling. static pins pods of the class Guaranteed that request \
                whole processors; an engine that uses a whole node gains nothing from it.",
            relief: RelievedResource::Processors,
            relieves: "processor and memory: traffic between sockets",
            risk: "A change requires the kubelet's state file to be removed; other pods share fewer processors.",
            sources: &["source 000, Kubernetes values", "Kubernetes, CPU management policies"],
            also_called: &["cpuManagerPolicy", "CPU NUMA Aware Scheduling"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, _| {
            facts::advice_if(snapshot.machine.numa_nodes > 1, "static", "there are several NUMA nodes")
        }),
    },
    KnobRow {
        knob: Knob {
            id: "kubelet.topology_manager_policy",
            locator: Locator::Component { component: "kubelet", key: "topologyManagerPolicy" },
            // Kubernetes, KubeletConfiguration: topologyManagerPolicy.
            takes: Domain::Words(&["none", "best-effort", "restricted", "single-numa-node"]),
            default: "none",
            summary: "Whether processors, memory and devices of a pod come from one NUMA node.",
            why: "See kubelet.cpu_manager_policy. best-effort does not refuse an engine that is larger than a NUMA \
                node.",
            relief: RelievedResource::Processors,
            relieves: "processor and memory: traffic between sockets",
            risk: "Stricter policies refuse pods that do not fit into one NUMA node.",
            sources: &["source 000, Kubernetes values", "Kubernetes, topology management policies"],
            also_called: &["topologyManagerPolicy", "CPU NUMA Aware Scheduling"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, _| {
            facts::advice_if(
                snapshot.machine.numa_nodes > 1,
                "best-effort",
                "there are several NUMA nodes, and one engine uses all of them",
            )
        }),
    },
    KnobRow {
        knob: Knob {
            id: "kubelet.allowed_unsafe_sysctls",
            locator: Locator::Component { component: "kubelet", key: "allowedUnsafeSysctls" },
            // Kubernetes, "Using sysctls in a Kubernetes Cluster".
            takes: Domain::Text("names of sysctls, where a final * stands for any ending"),
            default: "empty",
            summary: "Sysctls beyond the safe ones that pods may set in their own namespaces.",
            why: "No source mentions it, but without it most of their net.* settings never reach the engine, because \
                its namespace starts from the kernel's defaults. These are safe without it: ip_local_port_range, \
                ip_local_reserved_ports, ip_unprivileged_port_start, ping_group_range, tcp_syncookies, \
                tcp_keepalive_*, tcp_fin_timeout and, since Kubernetes 1.32, tcp_rmem and tcp_wmem. A namespace that \
                enforces the Pod Security Standard baseline or restricted admits no others, whatever the kubelet \
                allows: linerate render writes such a namespace, and leaves this empty.",
            relief: RelievedResource::Links,
            relieves: "links and accepting: settings that never reach the engine",
            risk: "Pods may change these sysctls, each in its own namespace.",
            sources: &[
                "Kubernetes, pkg/kubelet/sysctl/safe_sysctls.go",
                "Kubernetes, pod-security-admission/policy/check_sysctls.go",
            ],
            also_called: &["allowedUnsafeSysctls"],
            ..BASE
        },
        advise: Advise::Constant(
            "net.core.somaxconn,net.ipv4.tcp_*",
            "a pod's namespace starts from the kernel's defaults, not from the host's values",
        ),
    },
];
