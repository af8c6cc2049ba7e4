//! `apiserver.delete_collection_workers`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "apiserver.delete_collection_workers",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-apiserver", key: "delete-collection-workers" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // kube-apiserver: a count of workers.
        takes: domain::number(1, domain::INT_MAX),
        default: "1",
        summary: "Workers for one call that deletes a collection.",
        why: "Source 000 sets 200, the same as for its garbage collector; a single call may then use all of \
            max-mutating-requests-inflight. Bulk deletion is common in tests and rare in operation. The advice is 20 \
            from 100 nodes on.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: bulk deletion",
        risk: "Many: one deletion starves all other writers.",
        sources: &["source 000, Kubernetes values", "Kubernetes, kube-apiserver flags"],
        since: None,
        until: None,
        also_called: &["delete-collection-workers"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    if site.nodes() < 100 {
        return facts::advice(1, "the default: enough below 100 nodes");
    }
    facts::advice(20, "enough for a namespace with thousands of objects, and leaves capacity for other writers")
}
