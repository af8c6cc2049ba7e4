//! `boot.iommu`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "boot.iommu",
        layer: Layer::Boot,
        locator: Locator::BootArgument { name: "iommu" },
        scope: Scope::Host,
        takes_effect: TakesEffect::Reboot,
        // `Documentation/admin-guide/kernel-parameters.txt`: iommu.
        takes: Domain::Words(&[
            "absent", "off", "force", "noforce", "biomerge", "panic", "nopanic", "merge", "nomerge", "soft", "pt",
            "nopt",
        ]),
        default: "absent: on most distributions the IOMMU translates if the firmware enables it",
        summary: "Whether DMA of the host's own devices is translated by the IOMMU (pt: it bypasses translation).",
        why: "No source mentions it. With translation, each DMA buffer of a NIC is mapped and unmapped; from 100 Gb/s \
            on, this shows as processor time in the IOVA allocator. There is no advice for virtual machines or below \
            100 Gb/s.",
        relief: Relief::Processors,
        relieves: "processor: mapping of DMA buffers",
        risk: "A device can write to all of memory, as on a machine without an IOMMU.",
        sources: &["Linux, Documentation/admin-guide/kernel-parameters.txt: iommu"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    let fast = facts::node_bits_per_s(snapshot, site) >= 100e9;
    (fast && !snapshot.machine.virtualized)
        .then(|| facts::advice("pt", "from 100 Gb/s on, mapping each DMA buffer costs noticeable processor time"))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn slow_and_virtual_machines_are_left_alone() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot), None);
        snapshot.machine.nics[1].speed_bits_per_s = Some(100_000_000_000);
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("pt"));
        snapshot.machine.virtualized = true;
        assert_eq!(advised(&ROW, &snapshot), None);
    }
}
