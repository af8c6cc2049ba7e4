//! `vm.dirty_background_bytes`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.dirty_background_bytes",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.dirty_background_bytes" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `mm/page-writeback.c: dirty_background_bytes_handler`: an `unsigned long` from 1; a written 0 would turn
        // both thresholds off.
        takes: domain::number(1, i64::MAX as i128),
        default: "0: vm.dirty_background_ratio applies",
        summary: "Dirty bytes in the page cache at which background writeback starts.",
        why: "With 64 GiB of memory or more, a percentage lets gigabytes of dirty pages accumulate, which then reach \
            every drive at once. The advice is the amount that the data drives write in half a second, from 256 MiB to \
            4 GiB: large enough to merge writes, too small to stall readers.",
        relief: Relief::Drives,
        relieves: "drives: bursts of writeback",
        risk: "Writeback starts earlier, so a short-lived file is more likely to be written before it is deleted.",
        sources: &[
            "Linux, Documentation/admin-guide/sysctl/vm.rst",
            "Linux, mm/page-writeback.c: dirty_background_bytes_handler",
            "source 000, OS table",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    if !facts::is_large_memory(snapshot) {
        return None;
    }
    let bytes = facts::writeback_bytes(snapshot, site, 0.5);
    facts::advice(
        bytes,
        format!(
            "{}: half a second of writes by {}, at least 256 MiB and at most 4 GiB",
            facts::size(bytes),
            facts::drives_text(snapshot)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    use linerate_record::knob::Disk;

    #[test]
    fn more_drives_may_gather_more() {
        let mut snapshot = machine();
        let few = number(advised(&ROW, &snapshot));
        let disk = snapshot.devices.disks[0].clone();
        snapshot.devices.disks.extend((0..40).map(|n| Disk { name: format!("nvme1{n}n1"), ..disk.clone() }));
        let many = number(advised(&ROW, &snapshot));
        assert!(many > few && many <= 4 << 30, "{few} {many}");
        snapshot.machine.memory_bytes = 16 << 30;
        assert_eq!(advised(&ROW, &snapshot), None);
    }
}
