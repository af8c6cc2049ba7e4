//! `kubelet.evented_pleg`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kubelet.evented_pleg",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kubelet", key: "featureGates.EventedPLEG" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // A feature gate.
        takes: Domain::Words(&["true", "false"]),
        default: "false",
        summary: "Whether container states come by events instead of by polling.",
        why: "Source 000 tried it and saw pods start later; it is off by default. Off.",
        relieves: "Kubernetes: start of pods",
        risk: "On: missed events were a known fault.",
        sources: &["source 000, Kubernetes values", "Kubernetes, feature gates: EventedPLEG"],
        since: None,
        until: None,
        also_called: &["featureGates.EventedPLEG", "EventPLEG"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(false, "the default, and the source saw pods start later with it")
}
