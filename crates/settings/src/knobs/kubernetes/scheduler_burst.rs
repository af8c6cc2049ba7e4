//! `scheduler.burst`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "scheduler.burst",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-scheduler", key: "clientConnection.burst" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // client-go, rest.Config: an `int`.
        takes: domain::number(0, domain::INT_MAX),
        default: "100",
        summary: "Burst of requests above scheduler.qps that the kube-scheduler allows itself against the API server.",
        why: "From 100 nodes on, the advice is 150 (qps) and 300 (burst), as in source 000, which no longer saw \
            client-side throttling with these values.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: clients throttled by their own limit",
        risk: "More requests to the API server.",
        sources: &["source 000, Kubernetes values", "Kubernetes, KubeSchedulerConfiguration"],
        since: None,
        until: None,
        also_called: &["clientConnection.burst", "burst"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::of_large_cluster(site, 300, 100)
}
