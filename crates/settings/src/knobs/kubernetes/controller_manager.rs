//! The controller manager.

use linerate_record::knob::{Knob, Layer, Locator, RelievedResource, Scope, TakesEffect, domain};

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob =
    Knob { layer: Layer::Kubernetes, scope: Scope::Cluster, takes_effect: TakesEffect::Restart, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "controller_manager.concurrent_gc_syncs",
            locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-gc-syncs" },
            // kube-controller-manager: a count of workers.
            takes: domain::number(1, domain::INT_MAX),
            default: "20",
            summary: "Number of objects that the garbage collector processes at once.",
            why: "Source 000 sets 200. The source reports that twenty times the default did not change the P99 of its \
                work queue (10 s), and raises the value anyway because nothing else got worse. No benefit is shown, so \
                the default is kept; the client's qps limits it anyway.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: latency of the work queue",
            risk: "More writes to the API server at once.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["concurrent-gc-syncs"],
            ..BASE
        },
        advise: Advise::Constant("20", "the default: source 000 saw no effect on its work queue"),
    },
    KnobRow {
        knob: Knob {
            id: "controller_manager.concurrent_deployment_syncs",
            locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-deployment-syncs" },
            // kube-controller-manager: a count of workers.
            takes: domain::number(1, domain::INT_MAX),
            default: "5",
            summary: "Number of Deployments that are reconciled at once.",
            why: "Source 000 sets 50. The source reports that twenty times the default did not change the P99 of its \
                work queue (10 s), and raises the value anyway because nothing else got worse. No benefit is shown, so \
                the default is kept; the client's qps limits it anyway.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: latency of the work queue",
            risk: "More writes to the API server at once.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["concurrent-deployment-syncs"],
            ..BASE
        },
        advise: Advise::Constant("5", "the default: source 000 saw no effect on its work queue"),
    },
    KnobRow {
        knob: Knob {
            id: "controller_manager.concurrent_endpoint_syncs",
            locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-endpoint-syncs" },
            // kube-controller-manager: a count of workers.
            takes: domain::number(1, domain::INT_MAX),
            default: "5",
            summary: "Number of Endpoints that are reconciled at once.",
            why: "Source 000 sets 50. Endpoints are the old form; EndpointSlices have their own flag. The source \
                reports that twenty times the default did not change the P99 of its work queue (10 s), and raises the \
                value anyway because nothing else got worse. No benefit is shown, so the default is kept; the client's \
                qps limits it anyway.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: latency of the work queue",
            risk: "More writes to the API server at once.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["concurrent-endpoint-syncs"],
            ..BASE
        },
        advise: Advise::Constant("5", "the default: source 000 saw no effect on its work queue"),
    },
    KnobRow {
        knob: Knob {
            id: "controller_manager.concurrent_replicaset_syncs",
            locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-replicaset-syncs" },
            // kube-controller-manager: a count of workers.
            takes: domain::number(1, domain::INT_MAX),
            default: "5",
            summary: "Number of ReplicaSets that are reconciled at once.",
            why: "Source 000 sets 50, and lists the setting twice. The source reports that twenty times the default \
                did not change the P99 of its work queue (10 s), and raises the value anyway because nothing else got \
                worse. No benefit is shown, so the default is kept; the client's qps limits it anyway.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: latency of the work queue",
            risk: "More writes to the API server at once.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["concurrent-replicaset-syncs"],
            ..BASE
        },
        advise: Advise::Constant("5", "the default: source 000 saw no effect on its work queue"),
    },
    KnobRow {
        knob: Knob {
            id: "controller_manager.concurrent_rc_syncs",
            locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-rc-syncs" },
            // kube-controller-manager: a count of workers.
            takes: domain::number(1, domain::INT_MAX),
            default: "5",
            summary: "Number of ReplicationControllers that are reconciled at once.",
            why: "Source 000 sets 50. It writes concurrent-rc-sync, which does not exist, and ReplicationControllers \
                are hardly used any more. The source reports that twenty times the default did not change the P99 of \
                its work queue (10 s), and raises the value anyway because nothing else got worse. No benefit is \
                shown, so the default is kept; the client's qps limits it anyway.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: latency of the work queue",
            risk: "More writes to the API server at once.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["concurrent-rc-syncs", "concurrent-rc-sync"],
            ..BASE
        },
        advise: Advise::Constant("5", "the default: source 000 saw no effect on its work queue"),
    },
    KnobRow {
        knob: Knob {
            id: "controller_manager.concurrent_namespace_syncs",
            locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-namespace-syncs" },
            // kube-controller-manager: a count of workers.
            takes: domain::number(1, domain::INT_MAX),
            default: "10",
            summary: "Number of namespaces that are reconciled at once.",
            why: "Source 000 sets 50. It gives 5 as the default, which is 10. The source reports that twenty times the \
                default did not change the P99 of its work queue (10 s), and raises the value anyway because nothing \
                else got worse. No benefit is shown, so the default is kept; the client's qps limits it anyway.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: latency of the work queue",
            risk: "More writes to the API server at once.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["concurrent-namespace-syncs"],
            ..BASE
        },
        advise: Advise::Constant("10", "the default: source 000 saw no effect on its work queue"),
    },
    KnobRow {
        knob: Knob {
            id: "controller_manager.concurrent_service_syncs",
            locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-service-syncs" },
            // kube-controller-manager: a count of workers.
            takes: domain::number(1, domain::INT_MAX),
            default: "1",
            summary: "Number of Services of type LoadBalancer that are reconciled at once.",
            why: "Source 000 sets 50. It gives 5 as the default, which is 1; only load balancers of cloud providers \
                use it. The source reports that twenty times the default did not change the P99 of its work queue (10 \
                s), and raises the value anyway because nothing else got worse. No benefit is shown, so the default is \
                kept; the client's qps limits it anyway.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: latency of the work queue",
            risk: "More writes to the API server at once.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["concurrent-service-syncs"],
            ..BASE
        },
        advise: Advise::Constant("1", "the default: source 000 saw no effect on its work queue"),
    },
    KnobRow {
        knob: Knob {
            id: "controller_manager.concurrent_job_syncs",
            locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-job-syncs" },
            // kube-controller-manager: a count of workers.
            takes: domain::number(1, domain::INT_MAX),
            default: "5",
            summary: "Number of Jobs that are reconciled at once.",
            why: "Source 000 sets 50. Its workload consists of ten thousand Jobs, so this one is worth an experiment. \
                The source reports that twenty times the default did not change the P99 of its work queue (10 s), and \
                raises the value anyway because nothing else got worse. No benefit is shown, so the default is kept; \
                the client's qps limits it anyway.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: latency of the work queue",
            risk: "More writes to the API server at once.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["concurrent-job-syncs", "concurrent-job-syncs s"],
            ..BASE
        },
        advise: Advise::Constant("5", "the default: source 000 saw no effect on its work queue"),
    },
    KnobRow {
        knob: Knob {
            id: "controller_manager.qps",
            locator: Locator::Component { component: "kube-controller-manager", key: "kube-api-qps" },
            // client-go, rest.Config: below zero is without bound; written in whole requests per second.
            takes: domain::number(-1, domain::INT_MAX),
            default: "20",
            summary: "Requests per second that the kube-controller-manager allows itself against the API server.",
            why: "From 100 nodes on, the advice is 150 (qps) and 300 (burst), as in source 000: the work queues most \
                likely waited for the client's own limit, although the source does not separate the two settings.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: clients throttled by their own limit",
            risk: "More requests to the API server.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["kube-api-qps", "qps"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| facts::by_cluster_size(site, 150, 20)),
    },
    KnobRow {
        knob: Knob {
            id: "controller_manager.burst",
            locator: Locator::Component { component: "kube-controller-manager", key: "kube-api-burst" },
            // client-go, rest.Config: an `int`.
            takes: domain::number(0, domain::INT_MAX),
            default: "30",
            summary: "Burst of requests above controller_manager.qps that the kube-controller-manager allows itself \
                against the API server.",
            why: "From 100 nodes on, the advice is 150 (qps) and 300 (burst), as in source 000: the work queues most \
                likely waited for the client's own limit, although the source does not separate the two settings.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: clients throttled by their own limit",
            risk: "More requests to the API server.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
            also_called: &["kube-api-burst", "burst"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| facts::by_cluster_size(site, 300, 30)),
    },
];
