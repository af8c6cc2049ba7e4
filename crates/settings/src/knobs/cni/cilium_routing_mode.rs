//! `cilium.routing_mode`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.routing_mode",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "routingMode" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, pkg/option: RoutingMode.
        takes: Domain::Words(&["tunnel", "native"]),
        default: "tunnel",
        summary: "Whether packets between nodes are encapsulated (tunnel) or routed unchanged (native).",
        why: "Source 000 compares native routing with an overlay for objects of 64 MiB: GET gains 2.9 %, PUT 19.7 %. \
            The 50 bytes of VXLAN are 3.5 % of the payload at an MTU of 1500 and 0.6 % at 9000; the rest of the loss \
            of PUT is work per packet. Routes for pod addresses must exist: a single L2 segment, or BGP.",
        relief: Relief::Links,
        relieves: "links and processor: encapsulation",
        risk: "Without routes, pods on different nodes cannot reach each other.",
        sources: &[
            "source 000, Cilium values",
            "Cilium, install/kubernetes/cilium/values.yaml",
            "Cilium, Documentation/operations/performance/tuning.rst",
        ],
        since: None,
        until: None,
        also_called: &["routingMode"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("native", "no encapsulation, if routes to pods exist")
}
