//! `dns.autopath`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Relief, Scope, TakesEffect};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "dns.autopath",
        layer: Layer::Dns,
        locator: Locator::Component { component: "coredns", key: "autopath" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // CoreDNS, plugin/autopath.
        takes: Domain::Words(&["off", "on", "@kubernetes"]),
        default: "off",
        summary: "Whether CoreDNS follows a pod's search path itself, within one query.",
        why: "Source 000 recommends it. It requires `pods verified`, which makes every CoreDNS watch all pods (40000 \
            in that cluster), and NodeLocal DNS hides the pod's address that it needs. A trailing dot in the \
            endpoint's name, or ndots:1 for the engine's clients, achieves the same at no cost.",
        relief: Relief::Dns,
        relieves: "DNS: number and latency of queries",
        risk: "Memory for all pods; wrong answers behind NodeLocal DNS.",
        sources: &["source 000, CoreDNS", "CoreDNS, plugin/autopath"],
        since: None,
        until: None,
        also_called: &["Autopath"],
        owned_by: None,
    },
    advise: None,
};
