//! `nic.channels`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.channels",
        layer: Layer::Nic,
        locator: Locator::Channels,
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `include/uapi/linux/ethtool.h: ethtool_channels`: a `__u32`; the interface tells the most that it has.
        takes: domain::number(1, u32::MAX as i128),
        default: "that of the driver: one per processor, or per processor of a NUMA node",
        summary: "Combined queues of an interface, each with its own interrupt.",
        why: "One queue uses one processor, which handles 10 to 40 Gb/s of TCP. The advice is one queue per processor \
            of the NIC's NUMA node, at most 32 and at most what the driver offers. More queues than processors only \
            add interrupts.",
        relief: Relief::Receiving,
        relieves: "receiving: one saturated core",
        risk: "A change resets the interface.",
        sources: &["source 002, multi-queue", "Linux, Documentation/networking/scaling.rst", "ethtool(8)"],
        since: None,
        until: None,
        also_called: &["RSS"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    let local = (snapshot.machine.cpus / snapshot.machine.numa_nodes.max(1)).clamp(1, 32);
    facts::up_to_offered(snapshot, place, u64::from(local), format!("one per processor of its NUMA node ({local})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn queues_are_for_processors_nearby() {
        let mut snapshot = machine();
        set_among(&mut snapshot, &ROW, "ens1f0", "1", &["63"]);
        assert_eq!(advised_for(&ROW, &snapshot, "ens1f0").as_deref(), Some("32"));
        set_among(&mut snapshot, &ROW, "ens1f0", "1", &["8"]);
        assert_eq!(advised_for(&ROW, &snapshot, "ens1f0").as_deref(), Some("8"));
    }
}
