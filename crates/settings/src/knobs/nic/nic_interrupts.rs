//! `nic.interrupts`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.interrupts",
        layer: Layer::Nic,
        locator: Locator::Interrupts,
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // linerate's own words.
        takes: Domain::Words(&["local", "anywhere"]),
        default: "set by irqbalance or by the driver's hints",
        summary: "Where an interface's interrupts are handled: `local` (only on processors of its NUMA node) or \
            `anywhere`.",
        why: "A packet that is received on another NUMA node than that of its NIC crosses the interconnect twice. \
            Source 000 requires NUMA-local scheduling with its drives. It is only advised if there are several NUMA \
            nodes and the kernel knows that of the NIC.",
        relief: Relief::Memory,
        relieves: "memory: traffic between sockets",
        risk: "If irqbalance runs, it moves the interrupts again: exclude them there.",
        sources: &["source 000, NUMA", "Linux, Documentation/core-api/irq/irq-affinity.rst"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::nic(snapshot, place)?.numa_node?;
    (snapshot.machine.numa_nodes > 1)
        .then(|| facts::advice("local", "there are several NUMA nodes, and the NIC is attached to one"))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn one_numa_node_is_always_local() {
        let mut snapshot = machine();
        assert_eq!(advised_for(&ROW, &snapshot, "ens1f0").as_deref(), Some("local"));
        snapshot.machine.numa_nodes = 1;
        assert_eq!(advised_for(&ROW, &snapshot, "ens1f0"), None);
    }
}
