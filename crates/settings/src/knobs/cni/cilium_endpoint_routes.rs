//! `cilium.endpoint_routes`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.endpoint_routes",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "endpointRoutes.enabled" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, values.yaml: a boolean.
        takes: Domain::Words(&["true", "false"]),
        default: "false",
        summary: "Whether each pod has its own route on its node.",
        why: "The advice is false, as in source 000: eBPF finds the pod without a route.",
        relief: Relief::Nothing,
        relieves: "nothing",
        risk: "None.",
        sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
        since: None,
        until: None,
        also_called: &["endpointRoutes.enabled"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(false, "the default: one route for all pods of a node")
}
