//! `controller_manager.concurrent_namespace_syncs`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "controller_manager.concurrent_namespace_syncs",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-controller-manager", key: "concurrent-namespace-syncs" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // kube-controller-manager: a count of workers.
        takes: domain::number(1, domain::INT_MAX),
        default: "10",
        summary: "Number of namespaces that are reconciled at once.",
        why: "Source 000 sets 50. It gives 5 as the default, which is 10. The source reports that twenty times the \
            default did not change the P99 of its work queue (10 s), and raises the value anyway because nothing else \
            got worse. No benefit is shown, so the default is kept; the client's qps limits it anyway.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: latency of the work queue",
        risk: "More writes to the API server at once.",
        sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
        since: None,
        until: None,
        also_called: &["concurrent-namespace-syncs"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(10, "the default: source 000 saw no effect on its work queue")
}
