//! `dns.hpa`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Scope, TakesEffect};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "dns.hpa",
        layer: Layer::Dns,
        locator: Locator::Component { component: "coredns", key: "autoscaling" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // linerate's own words for whether there is one.
        takes: Domain::Words(&["off", "on"]),
        default: "a fixed number of replicas",
        summary: "Whether the number of CoreDNS replicas follows load.",
        why: "Source 000 names HPA with resource limits. With NodeLocal DNS 1110 queries a second are left for \
            CoreDNS in its test: two replicas do that. Nothing is advised.",
        relieves: "DNS: queries, and their latency",
        risk: "Replicas that go take their caches along.",
        sources: &["source 000, CoreDNS", "Kubernetes, DNS horizontal autoscaling"],
        since: None,
        until: None,
        also_called: &["CoreDNS HPA"],
        owned_by: None,
    },
    advise: None,
};
