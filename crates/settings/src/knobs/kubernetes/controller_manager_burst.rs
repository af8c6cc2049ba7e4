//! `controller_manager.burst`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "controller_manager.burst",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-controller-manager", key: "kube-api-burst" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // client-go, rest.Config: an `int`.
        takes: domain::number(0, domain::INT_MAX),
        default: "30",
        summary: "Requests at once beyond that rate that the kube-controller-manager allows itself against the API \
            server.",
        why: "150 and 300, as source 000 has it, from 100 nodes on: the client's own limit is what its work queues \
            waited for most likely, though it does not separate the two.",
        relieves: "Kubernetes: clients that wait for themselves",
        risk: "More requests at the API server.",
        sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
        since: None,
        until: None,
        also_called: &["kube-api-burst", "burst"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::of_large_cluster(site, 300, 30)
}
