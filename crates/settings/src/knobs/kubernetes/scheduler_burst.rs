//! `scheduler.burst`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Requests at once beyond that rate that the kube-scheduler allows itself against the API server.",
        why: "150 and 300, as source 000 has it, from 100 nodes on: no throttling of the client was seen any more \
            with them.",
        relieves: "Kubernetes: clients that wait for themselves",
        risk: "More requests at the API server.",
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
