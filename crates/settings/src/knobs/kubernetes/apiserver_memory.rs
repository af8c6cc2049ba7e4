//! `apiserver.memory`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Relief, Scope, TakesEffect};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "apiserver.memory",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-apiserver", key: "resources.limits.memory" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Kubernetes, "Resource Management for Pods and Containers".
        takes: Domain::Text("a quantity of Kubernetes such as 24Gi"),
        default: "none",
        summary: "Memory limit of an API server.",
        why: "Source 000 limits it to 24 GiB after observing 13. Above the limit the process is killed, and all \
            clients list their objects again. Monitor its memory and allow twice the observed value.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: an API server that is killed",
        risk: "If the limit is too low, the load after a restart kills the server again.",
        sources: &["source 000, Kubernetes values", "Kubernetes, resource management"],
        since: None,
        until: None,
        also_called: &["resources.limits.memory", "Memory: 24Gi"],
        owned_by: None,
    },
    advise: None,
};
