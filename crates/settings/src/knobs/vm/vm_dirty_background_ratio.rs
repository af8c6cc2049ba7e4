//! `vm.dirty_background_ratio`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.dirty_background_ratio",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.dirty_background_ratio" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `mm/page-writeback.c: vm_page_writeback_sysctls`: a percentage.
        takes: domain::number(0, 100),
        default: "10",
        summary: "Dirty share of available memory, in percent, at which background writeback starts.",
        why: "The kernel uses either this or vm.dirty_background_bytes: writing one sets the other to 0. The sources \
            set 3 %. With 256 GiB that is 7.7 GiB, several seconds of a drive's write bandwidth at once. A percentage \
            cannot be small enough on a machine with much memory, so from 64 GiB on the advice is in bytes and this \
            knob has none. MinIO writes large shards with O_DIRECT, which bypasses all dirty limits.",
        relief: Relief::Drives,
        relieves: "drives: bursts of writeback",
        risk: "Smaller values write more often and merge less.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "Linux, Documentation/admin-guide/sysctl/vm.rst",
            "Linux, mm/page-writeback.c: dirty_background_ratio_handler",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    if facts::is_large_memory(snapshot) {
        return None;
    }
    facts::advice(3, "with less than 64 GiB of memory, 3 % starts writeback before it takes a drive seconds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn a_percentage_is_advised_only_where_memory_is_small() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot), None);
        snapshot.machine.memory_bytes = 16 << 30;
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("3"));
    }
}
