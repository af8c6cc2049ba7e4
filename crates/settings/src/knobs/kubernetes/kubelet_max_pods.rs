//! `kubelet.max_pods`.

use linerate_record::knob::{Knob, Layer, Locator, Relief, Scope, TakesEffect, domain};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kubelet.max_pods",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kubelet", key: "maxPods" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Kubernetes, KubeletConfiguration: maxPods, an `int32`.
        takes: domain::number(0, domain::INT_MAX),
        default: "110",
        summary: "Maximum number of pods on a node.",
        why: "Source 000 tests 200 pods on a node, above the default, without naming the flag. Storage nodes run one \
            engine each, so nothing is advised.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: pods that are not scheduled",
        risk: "The node's address range must be large enough: a /24 has 254 addresses.",
        sources: &["source 000, Kubernetes values", "Kubernetes, KubeletConfiguration: maxPods"],
        since: None,
        until: None,
        also_called: &["maxPods"],
        owned_by: None,
    },
    advise: None,
};
