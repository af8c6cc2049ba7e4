//! `cilium.datapath_mode`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "The kind of device that joins a pod to its node.",
        why: "netkit, as source 000 has it: packets enter the pod's namespace without the backlog queue of a veth \
            pair. It needs Linux 6.8 and pods that start anew.",
        relieves: "processor: a pass of the stack for each packet",
        risk: "In-place changes are not possible: new nodes, or all pods anew.",
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
        Some(kernel) if kernel < (6, 8) => facts::advice("veth", "netkit needs Linux 6.8"),
        _ => facts::advice("netkit", "pods without a second pass of the stack"),
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
