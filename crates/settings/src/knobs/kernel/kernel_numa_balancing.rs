//! `kernel.numa_balancing`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kernel.numa_balancing",
        layer: Layer::Kernel,
        locator: Locator::Sysctl { name: "kernel.numa_balancing" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/sched/core.c: sched_core_sysctls`: 0 to 4 since Linux 5.18, 0 and 1 before.
        takes: domain::number(0, 4),
        default: "1 with several NUMA nodes if the kernel is configured for it, otherwise 0",
        summary: "Whether the kernel unmaps pages to sample accesses, and moves tasks and their pages to the same NUMA \
            node.",
        why: "Source 000 keeps 1 and calls it recommended. With one NUMA node it does nothing. With several it helps a \
            server whose threads and memory drift apart, such as an unpinned Go process, at the cost of page faults. \
            If the engine is pinned to a node (cpuset, topology manager), the value should be 0; the audit cannot \
            detect that.",
        relief: Relief::Memory,
        relieves: "memory: remote accesses",
        risk: "Page faults and migrations add latency to the tasks that are moved.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/sysctl/kernel.rst",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    if snapshot.machine.numa_nodes < 2 {
        return None;
    }
    facts::advice(1, format!("{} NUMA nodes, and an engine that is taken to be unpinned", snapshot.machine.numa_nodes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn one_numa_node_has_nothing_to_balance() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("1"));
        snapshot.machine.numa_nodes = 1;
        assert_eq!(advised(&ROW, &snapshot), None);
    }
}
