//! `apiserver.cpu`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Relief, Scope, TakesEffect};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "apiserver.cpu",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-apiserver", key: "resources.limits.cpu" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Kubernetes, "Resource Management for Pods and Containers".
        takes: Domain::Text("a quantity of Kubernetes such as 16 or 500m"),
        default: "none",
        summary: "CPU limit of an API server.",
        why: "Source 000 limits it to 16 processors after observing 9. A limit throttles the server under its peak \
            load; a CPU request reserves processors without that effect. Nothing is advised.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: an API server that is throttled",
        risk: "A limit throttles the server; without one, it may use all processors.",
        sources: &["source 000, Kubernetes values", "Kubernetes, resource management"],
        since: None,
        until: None,
        also_called: &["resources.limits.cpu", "CPU: 16core"],
        owned_by: None,
    },
    advise: None,
};
