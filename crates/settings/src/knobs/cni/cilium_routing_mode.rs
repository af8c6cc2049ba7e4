//! `cilium.routing_mode`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "Whether packets between nodes are encapsulated (tunnel) or routed as they are (native).",
        why: "Source 000 measures native against an overlay at 64 MiB: GET 2.9 %, PUT 19.7 % more. VXLAN's 50 bytes \
            are 3.5 % of payload at an MTU of 1500 and 0.6 % at 9000: the rest of PUT's loss is work per packet. \
            Routes for pod addresses must exist: one L2 segment, or BGP.",
        relieves: "links and processor: encapsulation",
        risk: "Without routes pods of different nodes do not reach each other.",
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
    facts::advice("native", "nothing around packets where routes reach pods")
}
