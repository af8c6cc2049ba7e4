//! `cilium.kube_proxy_replacement`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.kube_proxy_replacement",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "kubeProxyReplacement" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, values.yaml: a boolean since 1.14.
        takes: Domain::Words(&["true", "false"]),
        default: "false",
        summary: "Whether eBPF handles services instead of kube-proxy.",
        why: "The advice is true, as in source 000: iptables searches a list that grows with the number of services \
            (12000 there), and both host routing and masquerading require it.",
        relief: Relief::Processors,
        relieves: "processor: service lookup; connection tracking",
        risk: "kube-proxy must be removed, or both translate addresses.",
        sources: &[
            "source 000, Cilium values",
            "Cilium, install/kubernetes/cilium/values.yaml",
            "Cilium, Documentation/operations/performance/tuning.rst",
        ],
        since: None,
        until: None,
        also_called: &["kubeProxyReplacement"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(true, "services are found by a hash instead of a list")
}
