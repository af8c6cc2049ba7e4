//! `apiserver.max_mutating_requests_inflight`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "apiserver.max_mutating_requests_inflight",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-apiserver", key: "max-mutating-requests-inflight" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // kube-apiserver: zero is without bound.
        takes: domain::number(0, domain::INT_MAX),
        default: "200",
        summary: "Maximum number of mutating requests that an API server handles at once.",
        why: "See apiserver.max_requests_inflight. Source 000 observed at most 60 of 200 in its test.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: requests answered with 429",
        risk: "etcd receives more writes at once.",
        sources: &["source 000, Kubernetes values", "Kubernetes, kube-apiserver flags"],
        since: None,
        until: None,
        also_called: &["max-mutating-requests-inflight"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(
        if site.nodes() >= 100 { 400 } else { 200 },
        "the default below 100 nodes, and twice that from there on",
    )
}
