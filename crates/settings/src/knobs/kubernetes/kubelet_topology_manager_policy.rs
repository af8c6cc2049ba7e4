//! `kubelet.topology_manager_policy`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kubelet.topology_manager_policy",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kubelet", key: "topologyManagerPolicy" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Kubernetes, KubeletConfiguration: topologyManagerPolicy.
        takes: Domain::Words(&["none", "best-effort", "restricted", "single-numa-node"]),
        default: "none",
        summary: "Whether processors, memory and devices of a pod come from one NUMA node.",
        why: "See kubelet.cpu_manager_policy. best-effort does not refuse an engine that is larger than a NUMA node.",
        relief: Relief::Processors,
        relieves: "processor and memory: traffic between sockets",
        risk: "Stricter policies refuse pods that do not fit into one NUMA node.",
        sources: &["source 000, Kubernetes values", "Kubernetes, topology management policies"],
        since: None,
        until: None,
        also_called: &["topologyManagerPolicy", "CPU NUMA Aware Scheduling"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    (snapshot.machine.numa_nodes > 1)
        .then(|| facts::advice("best-effort", "there are several NUMA nodes, and one engine uses all of them"))
        .flatten()
}
