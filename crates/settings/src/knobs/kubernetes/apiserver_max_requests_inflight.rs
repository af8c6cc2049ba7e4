//! `apiserver.max_requests_inflight`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "apiserver.max_requests_inflight",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kube-apiserver", key: "max-requests-inflight" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // kube-apiserver: zero is without bound.
        takes: domain::number(0, domain::INT_MAX),
        default: "400",
        summary: "Maximum number of non-mutating requests that an API server handles at once.",
        why: "Source 000 doubles it, although only 5000 pods at once ever reached the limit (429). With API Priority \
            and Fairness, the sum of both limits is shared out. The advice is twice the default from 100 nodes on, and \
            the default below.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: requests answered with 429",
        risk: "Memory of the API server: 24 GiB in the source.",
        sources: &["source 000, Kubernetes values", "Kubernetes, kube-apiserver flags"],
        since: None,
        until: None,
        also_called: &["max-requests-inflight"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(
        if site.nodes() >= 100 { 800 } else { 400 },
        "the default below 100 nodes, and twice that from there on",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn large_clusters_have_twice_as_many() {
        let mut site = site();
        assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some("400"));
        site.groups[0].count = 484;
        assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some("800"));
    }
}
