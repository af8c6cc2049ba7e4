//! `kubelet.cpu_manager_policy`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "Whether pods with whole processors get them for themselves.",
        why: "Source 000 demands scheduling that is aware of NUMA. static pins pods of class Guaranteed with whole \
            processors; an engine that takes all of a node gains nothing by it.",
        relieves: "processor and memory: crossings between sockets",
        risk: "Changing it needs the kubelet's state file removed; others share fewer processors.",
        sources: &["source 000, Kubernetes values", "Kubernetes, CPU management policies"],
        since: None,
        until: None,
        also_called: &["cpuManagerPolicy", "CPU NUMA Aware Scheduling"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    (snapshot.machine.numa_nodes > 1).then(|| facts::advice("static", "several NUMA nodes")).flatten()
}
