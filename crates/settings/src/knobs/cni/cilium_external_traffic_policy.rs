//! `cilium.external_traffic_policy`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.external_traffic_policy",
        layer: Layer::Cni,
        locator: Locator::Component { component: "service", key: "spec.externalTrafficPolicy" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::AtOnce,
        // Kubernetes, Service: externalTrafficPolicy.
        takes: Domain::Words(&["Cluster", "Local"]),
        default: "Cluster",
        summary: "Whether a node that receives an external connection may forward it to a pod on another node.",
        why: "The advice is Local, as in source 000 with BGP: only nodes with a pod announce the service, receive \
            connections and answer. Every storage node has a pod, so nothing is lost, and the client's address is \
            preserved.",
        relief: Relief::Links,
        relieves: "links: a second hop",
        risk: "Local: nodes without a pod drop connections.",
        sources: &["source 000, Cilium values", "Kubernetes, Service: externalTrafficPolicy"],
        since: None,
        until: None,
        also_called: &["ExternalTrafficPolicy", "ExternalTrafficLocal"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("Local", "every storage node has a pod that answers")
}
