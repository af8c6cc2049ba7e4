//! `cilium.bpf_masquerade`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.bpf_masquerade",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "bpf.masquerade" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, values.yaml: a boolean.
        takes: Domain::Words(&["true", "false"]),
        default: "false",
        summary: "Whether eBPF rather than iptables translates the addresses of traffic that leaves the cluster.",
        why: "The advice is true, as in source 000: without it, eBPF host routing falls back to the network stack.",
        relief: Relief::Processors,
        relieves: "processor: iptables rules for each packet",
        risk: "It requires the replacement of kube-proxy.",
        sources: &[
            "source 000, Cilium values",
            "Cilium, install/kubernetes/cilium/values.yaml",
            "Cilium, Documentation/operations/performance/tuning.rst",
        ],
        since: None,
        until: None,
        also_called: &["bpf.masquerade"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(true, "eBPF host routing needs it")
}
