//! `kubelet.burst`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kubelet.burst",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kubelet", key: "kubeAPIBurst" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // client-go, rest.Config: an `int`.
        takes: domain::number(0, domain::INT_MAX),
        default: "100",
        summary: "Requests at once beyond that rate that the kubelet allows itself against the API server.",
        why: "150 and 300, as source 000 has it, from 100 nodes on. A node with 200 pods asks for secrets and \
            reports states; all kubelets together ask the API server for as much at once when they restart.",
        relieves: "Kubernetes: clients that wait for themselves",
        risk: "More requests at the API server.",
        sources: &["source 000, Kubernetes values", "Kubernetes, KubeletConfiguration (50 and 100 since 1.27)"],
        since: None,
        until: None,
        also_called: &["kubeAPIBurst", "burst"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::of_large_cluster(site, 300, 100)
}
