//! `kubelet.cpu_manager_policy`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kubelet.cpu_manager_policy",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "kubelet", key: "cpuManagerPolicy" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Kubernetes, KubeletConfiguration: cpuManagerPolicy.
        takes: Domain::Words(&["none", "static"]),
        default: "none",
        summary: "Whether pods that request whole processors get exclusive ones.",
        why: "Source 000 requires NUMA-aware scheduling. static pins pods of the class Guaranteed that request whole \
            processors; an engine that uses a whole node gains nothing from it.",
        relief: Relief::Processors,
        relieves: "processor and memory: traffic between sockets",
        risk: "A change requires the kubelet's state file to be removed; other pods share fewer processors.",
        sources: &["source 000, Kubernetes values", "Kubernetes, CPU management policies"],
        since: None,
        until: None,
        also_called: &["cpuManagerPolicy", "CPU NUMA Aware Scheduling"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    (snapshot.machine.numa_nodes > 1).then(|| facts::advice("static", "there are several NUMA nodes")).flatten()
}
