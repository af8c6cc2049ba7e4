//! `cilium.datapath_mode`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.datapath_mode",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "bpf.datapathMode" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, pkg/datapath/option: the datapath modes.
        takes: Domain::Words(&["veth", "netkit", "netkit-l2", "lb-only"]),
        default: "veth",
        summary: "Type of device that connects a pod to its node.",
        why: "The advice is netkit, as in source 000: packets enter the pod's namespace without the backlog queue of a \
            veth pair. It requires Linux 6.8, and pods must be recreated.",
        relief: Relief::Processors,
        relieves: "processor: one pass through the network stack per packet",
        risk: "It cannot be changed in place: it needs new nodes, or all pods recreated.",
        sources: &[
            "source 000, Cilium values",
            "Cilium, install/kubernetes/cilium/values.yaml",
            "Cilium, Documentation/operations/performance/tuning.rst (Kernel >= 6.8)",
        ],
        since: None,
        until: None,
        also_called: &["bpf.datapathMode"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    match facts::kernel(snapshot) {
        Some(kernel) if kernel < (6, 8) => facts::advice("veth", "netkit requires Linux 6.8"),
        _ => facts::advice("netkit", "packets to pods avoid a second pass through the network stack"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn netkit_waits_for_its_kernel() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("netkit"));
        snapshot.machine.kernel = "5.14.0".to_owned();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("veth"));
    }
}
