//! The API server.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob =
    Knob { layer: Layer::Kubernetes, scope: Scope::Cluster, takes_effect: TakesEffect::Restart, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "apiserver.max_requests_inflight",
            locator: Locator::Component { component: "kube-apiserver", key: "max-requests-inflight" },
            // kube-apiserver: zero is without bound.
            takes: domain::number(0, domain::INT_MAX),
            default: "400",
            summary: "Maximum number of non-mutating requests that an API server handles at once.",
            why: "Source 000 doubles it, although only 5000 pods at once ever reached the limit (429). With API \
                Priority and Fairness, the sum of both limits is shared out. The advice is twice the default from 100 \
                nodes on, and the default below.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: requests answered with 429",
            risk: "Memory of the API server: 24 GiB in the source.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-apiserver flags"],
            also_called: &["max-requests-inflight"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| twice_from_100_nodes(site, 400)),
    },
    KnobRow {
        knob: Knob {
            id: "apiserver.max_mutating_requests_inflight",
            locator: Locator::Component { component: "kube-apiserver", key: "max-mutating-requests-inflight" },
            // kube-apiserver: zero is without bound.
            takes: domain::number(0, domain::INT_MAX),
            default: "200",
            summary: "Maximum number of mutating requests that an API server handles at once.",
            why: "See apiserver.max_requests_inflight. Source 000 observed at most 60 of 200 in its test.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: requests answered with 429",
            risk: "etcd receives more writes at once.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-apiserver flags"],
            also_called: &["max-mutating-requests-inflight"],
            ..BASE
        },
        advise: Advise::Computed(|_, site, _| twice_from_100_nodes(site, 200)),
    },
    KnobRow {
        knob: Knob {
            id: "apiserver.delete_collection_workers",
            locator: Locator::Component { component: "kube-apiserver", key: "delete-collection-workers" },
            // kube-apiserver: a count of workers.
            takes: domain::number(1, domain::INT_MAX),
            default: "1",
            summary: "Workers for one call that deletes a collection.",
            why: "Source 000 sets 200, the same as for its garbage collector; a single call may then use all of \
                max-mutating-requests-inflight. Bulk deletion is common in tests and rare in operation. The advice is \
                20 from 100 nodes on.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: bulk deletion",
            risk: "Many: one deletion starves all other writers.",
            sources: &["source 000, Kubernetes values", "Kubernetes, kube-apiserver flags"],
            also_called: &["delete-collection-workers"],
            ..BASE
        },
        advise: Advise::Computed(delete_collection_workers),
    },
    KnobRow {
        knob: Knob {
            id: "apiserver.cpu",
            locator: Locator::Component { component: "kube-apiserver", key: "resources.limits.cpu" },
            // Kubernetes, "Resource Management for Pods and Containers".
            takes: Domain::Text("a quantity of Kubernetes such as 16 or 500m"),
            default: "none",
            summary: "CPU limit of an API server.",
            why: "Source 000 limits it to 16 processors after observing 9. A limit throttles the server under its peak \
                load; a CPU request reserves processors without that effect. Nothing is advised.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: an API server that is throttled",
            risk: "A limit throttles the server; without one, it may use all processors.",
            sources: &["source 000, Kubernetes values", "Kubernetes, resource management"],
            also_called: &["resources.limits.cpu", "CPU: 16core"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "apiserver.memory",
            locator: Locator::Component { component: "kube-apiserver", key: "resources.limits.memory" },
            // Kubernetes, "Resource Management for Pods and Containers".
            takes: Domain::Text("a quantity of Kubernetes such as 24Gi"),
            default: "none",
            summary: "Memory limit of an API server.",
            why: "Source 000 limits it to 24 GiB after observing 13. Above the limit the process is killed, and all \
                clients list their objects again. Monitor its memory and allow twice the observed value.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: an API server that is killed",
            risk: "If the limit is too low, the load after a restart kills the server again.",
            sources: &["source 000, Kubernetes values", "Kubernetes, resource management"],
            also_called: &["resources.limits.memory", "Memory: 24Gi"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
];

fn twice_from_100_nodes(site: &Site, default: u32) -> Option<Advice> {
    let value = if site.nodes() >= 100 { 2 * default } else { default };
    facts::advice(value, "the default below 100 nodes, and twice that from there on")
}

fn delete_collection_workers(_snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    if site.nodes() < 100 {
        return facts::advice(1, "the default: enough below 100 nodes");
    }
    facts::advice(20, "enough for a namespace with thousands of objects, and leaves capacity for other writers")
}

#[cfg(test)]
mod tests {
    use crate::knobs::fixtures::*;

    #[test]
    fn large_clusters_have_twice_as_many() {
        let id = "apiserver.max_requests_inflight";
        let mut site = site();
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("400"));
        site.groups[0].count = 484;
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("800"));
    }
}
