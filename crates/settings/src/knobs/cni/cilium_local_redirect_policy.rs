//! `cilium.local_redirect_policy`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.local_redirect_policy",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "localRedirectPolicy" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, values.yaml: a boolean.
        takes: Domain::Words(&["true", "false"]),
        default: "false",
        summary: "Whether traffic of a service can be redirected to a pod on the same node.",
        why: "The advice is true, as in source 000, for NodeLocal DNS. The source's figure of 15 million queries per \
            second is for these caches.",
        relief: Relief::Dns,
        relieves: "DNS: queries that leave the node",
        risk: "None known.",
        sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
        since: None,
        until: None,
        also_called: &["localRedirectPolicy"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(true, "it serves NodeLocal DNS without iptables")
}
