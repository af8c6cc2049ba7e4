//! `cilium.kube_proxy_replacement`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "Whether eBPF handles services in place of kube-proxy.",
        why: "true, as source 000 has it: iptables walks a list that grows with 12000 services; host routing and \
            masquerading need it.",
        relieves: "processor: service lookup; connection tracking",
        risk: "kube-proxy must go, or both translate.",
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
    facts::advice(true, "services by a hash and not by a list")
}
