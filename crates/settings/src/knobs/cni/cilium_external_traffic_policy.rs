//! `cilium.external_traffic_policy`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "Whether a node that takes a connection from outside may pass it to another node's pod.",
        why: "Local, as source 000 has it with BGP: nodes with a pod announce, take and answer. Every storage node \
            has one, so that nothing is lost by it, and the client's address is kept.",
        relieves: "links: a second hop",
        risk: "Local: nodes without a pod drop what is sent to them.",
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
