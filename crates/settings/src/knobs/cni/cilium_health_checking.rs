//! `cilium.health_checking`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.health_checking",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "healthChecking" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, values.yaml: a boolean.
        takes: Domain::Words(&["true", "false"]),
        default: "true",
        summary: "Whether agents probe every node.",
        why: "See cilium.endpoint_health_checking.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: probes between agents",
        risk: "Off: a broken path between nodes is noticed only by its users.",
        sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
        since: None,
        until: None,
        also_called: &["healthChecking"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(site.nodes() < 100, "on below 100 nodes; with more, probes between all nodes would be too many")
}
