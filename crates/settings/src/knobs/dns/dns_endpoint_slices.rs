//! `dns.endpoint_slices`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Relief, Scope, TakesEffect};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "dns.endpoint_slices",
        layer: Layer::Dns,
        locator: Locator::Component { component: "coredns", key: "EndpointSlice" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // linerate's own words: CoreDNS watches them or not.
        takes: Domain::Words(&["used", "not used"]),
        default: "used since CoreDNS 1.7 and Kubernetes 1.21",
        summary: "Whether services are watched as EndpointSlices.",
        why: "Source 000 recommends it; every supported version does it already. There is nothing to set.",
        relief: Relief::Dns,
        relieves: "DNS: number and latency of queries",
        risk: "None.",
        sources: &["source 000, CoreDNS", "CoreDNS, plugin/kubernetes"],
        since: None,
        until: None,
        also_called: &["EndpointSlice"],
        owned_by: None,
    },
    advise: None,
};
