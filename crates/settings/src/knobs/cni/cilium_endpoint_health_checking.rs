//! `cilium.endpoint_health_checking`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.endpoint_health_checking",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "endpointHealthChecking.enabled" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, values.yaml: a boolean.
        takes: Domain::Words(&["true", "false"]),
        default: "true",
        summary: "Whether agents probe a health endpoint on every node.",
        why: "Source 000 disables it as a redundant check at scale, because the number of probes grows with the square \
            of the nodes. Below 100 nodes, the probes cost nothing and detect broken paths.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: probes between agents",
        risk: "Off: a broken path between pods is noticed only by its users.",
        sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
        since: None,
        until: None,
        also_called: &["endpointHealthChecking.enabled"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(site.nodes() < 100, "on below 100 nodes; with more, probes between all agents would be too many")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn large_sites_do_not_probe_each_other() {
        let mut site = site();
        assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some("true"));
        site.groups[0].count = 200;
        assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some("false"));
    }
}
