//! `controller_manager.qps`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "controller_manager.qps",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-controller-manager", key: "kube-api-qps" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // client-go, rest.Config: below zero is without bound; written in whole requests per second.
        takes: domain::number(-1, domain::INT_MAX),
        default: "20",
        summary: "Requests per second that the kube-controller-manager allows itself against the API server.",
        why: "From 100 nodes on, the advice is 150 (qps) and 300 (burst), as in source 000: the work queues most \
            likely waited for the client's own limit, although the source does not separate the two settings.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: clients throttled by their own limit",
        risk: "More requests to the API server.",
        sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
        since: None,
        until: None,
        also_called: &["kube-api-qps", "qps"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::of_large_cluster(site, 150, 20)
}
