//! `cilium.lb_acceleration`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.lb_acceleration",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "loadBalancer.acceleration" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, pkg/option: NodePortAcceleration.
        takes: Domain::Words(&["disabled", "native", "best-effort"]),
        default: "disabled",
        summary: "Whether XDP forwards packets of services before the network stack.",
        why: "The advice is best-effort, as in source 000: it affects nodes that forward to other nodes and has no \
            effect on nodes whose own pod answers.",
        relief: Relief::Processors,
        relieves: "processor: forwarded packets",
        risk: "On bonds, XDP needs support in the driver of each member.",
        sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
        since: None,
        until: None,
        also_called: &["loadBalancer.acceleration"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("best-effort", "XDP is used if the driver supports it")
}
