//! `kubelet.evented_pleg`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "Whether the kubelet learns container states from events rather than by polling.",
        why: "Source 000 tried it and observed that pods started later. It is off by default, and the advice is off.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: start of pods",
        risk: "On: missed events were a known bug.",
        sources: &["source 000, Kubernetes values", "Kubernetes, feature gates: EventedPLEG"],
        since: None,
        until: None,
        also_called: &["featureGates.EventedPLEG", "EventPLEG"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(false, "the default: source 000 observed that pods start later with it")
}
