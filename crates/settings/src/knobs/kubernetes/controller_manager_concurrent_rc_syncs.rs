//! `controller_manager.concurrent_rc_syncs`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "controller_manager.concurrent_rc_syncs",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-rc-syncs" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // kube-controller-manager: a count of workers.
        takes: domain::number(1, domain::INT_MAX),
        default: "5",
        summary: "ReplicationControllers that are reconciled at once.",
        why: "Source 000 sets 50. It writes concurrent-rc-sync, which does not exist; nothing makes \
            ReplicationControllers any more. It says itself that twenty times the default did not move the P99 of \
            ten seconds of its work queue, and raises it ten times all the same, because nothing else suffered. \
            What a setting does not relieve is left at the default; its clients' qps bound it anyway.",
        relieves: "Kubernetes: work queue latency",
        risk: "More writes to the API server at once.",
        sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
        since: None,
        until: None,
        also_called: &["concurrent-rc-syncs", "concurrent-rc-sync"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(5, "the default: the source saw no effect on its queue")
}
