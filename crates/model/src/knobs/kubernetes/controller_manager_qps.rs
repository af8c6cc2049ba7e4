//! `controller_manager.qps`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Place, Scope, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{Row, facts};

pub(crate) const ROW: Row = Row {
    knob: Knob {
        id: "controller_manager.qps",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-controller-manager", key: "kube-api-qps" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        default: "20",
        summary: "Requests a second that the kube-controller-manager allows itself against the API server.",
        why: "150 and 300, as source 000 has it, from 100 nodes on: the client's own limit is what its work queues \
            waited for most likely, though it does not separate the two.",
        relieves: "Kubernetes: clients that wait for themselves",
        risk: "More requests at the API server.",
        sources: &["source 000, Kubernetes values", "Kubernetes, kube-controller-manager flags"],
        since: None,
        until: None,
        also_called: &["kube-api-qps", "qps"],
        owned_by: None,
    },
    advise,
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &Place) -> Option<Advice> {
    facts::advice(if site.nodes() >= 100 { 150 } else { 20 }, "pods of large clusters come in thousands")
}
