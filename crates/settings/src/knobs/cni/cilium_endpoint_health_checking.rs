//! `cilium.endpoint_health_checking`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
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
        why: "Source 000 turns it off as a doubled check at scale: probes grow with the square of nodes. Below a \
            hundred they cost nothing and find broken paths.",
        relieves: "Kubernetes: probes among agents",
        risk: "Off: a broken pod path is found by its users.",
        sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
        since: None,
        until: None,
        also_called: &["endpointHealthChecking.enabled"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(site.nodes() < 100, "below 100 nodes; from there on, every agent would probe every other endpoint")
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
