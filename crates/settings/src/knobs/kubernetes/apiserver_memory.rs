//! `apiserver.memory`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Scope, TakesEffect};

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
        summary: "Memory that an API server may take.",
        why: "Source 000 limits it to 24 GiB after seeing 13. Beyond it the process dies and all clients list anew: \
            watch it, and leave twice what was seen.",
        relieves: "Kubernetes: an API server that is killed",
        risk: "A limit too low kills it under the load of its own restart.",
        sources: &["source 000, Kubernetes values", "Kubernetes, resource management"],
        since: None,
        until: None,
        also_called: &["resources.limits.memory", "Memory: 24Gi"],
        owned_by: None,
    },
    advise: None,
};
