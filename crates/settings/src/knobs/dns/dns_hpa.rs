//! `dns.hpa`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Relief, Scope, TakesEffect};

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
        summary: "Whether the number of CoreDNS replicas follows the load.",
        why: "Source 000 mentions HPA with resource limits. In its test with NodeLocal DNS, 1110 queries per second \
            remain for CoreDNS, which two replicas can handle. Nothing is advised.",
        relief: Relief::Dns,
        relieves: "DNS: number and latency of queries",
        risk: "A replica that is removed loses its cache.",
        sources: &["source 000, CoreDNS", "Kubernetes, DNS horizontal autoscaling"],
        since: None,
        until: None,
        also_called: &["CoreDNS HPA"],
        owned_by: None,
    },
    advise: None,
};
