//! `cilium.lb_acceleration`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "Whether packets of services are forwarded by XDP, before the stack.",
        why: "best-effort, as source 000 has it: it acts on nodes that forward to others, and does nothing for those \
            whose own pod answers.",
        relieves: "processor: forwarded packets",
        risk: "On bonds, XDP needs the driver of each member to have it.",
        sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
        since: None,
        until: None,
        also_called: &["loadBalancer.acceleration"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("best-effort", "XDP where the driver has it")
}
