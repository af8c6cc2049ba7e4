//! `kubelet.qps`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kubelet.qps",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kubelet", key: "kubeAPIQPS" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // client-go, rest.Config: below zero is without bound; written in whole requests per second.
        takes: domain::number(-1, domain::INT_MAX),
        default: "50",
        summary: "Requests per second that the kubelet allows itself against the API server.",
        why: "From 100 nodes on, the advice is 150 (qps) and 300 (burst), as in source 000. The kubelet of a node with \
            200 pods reads secrets and reports states; after a restart, all kubelets send up to this many requests at \
            once.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: clients throttled by their own limit",
        risk: "More requests to the API server.",
        sources: &["source 000, Kubernetes values", "Kubernetes, KubeletConfiguration (50 and 100 since 1.27)"],
        since: None,
        until: None,
        also_called: &["kubeAPIQPS", "qps"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::of_large_cluster(site, 150, 50)
}
