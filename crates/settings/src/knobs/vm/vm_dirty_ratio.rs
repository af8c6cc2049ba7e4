//! `vm.dirty_ratio`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.dirty_ratio",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.dirty_ratio" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `mm/page-writeback.c: vm_page_writeback_sysctls`: a percentage.
        takes: domain::number(0, 100),
        default: "20",
        summary: "Dirty share of available memory, in percent, at which a writing process must write back itself.",
        why: "See vm.dirty_background_ratio. The sources set 10 %. From 64 GiB of memory on, the advice is in bytes \
            instead (vm.dirty_bytes), which sets this to 0.",
        relief: Relief::Drives,
        relieves: "drives: stalls of writers",
        risk: "Smaller values throttle writers sooner.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "Linux, Documentation/admin-guide/sysctl/vm.rst",
            "Linux, mm/page-writeback.c: dirty_ratio_handler",
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
    facts::advice(10, "with less than 64 GiB of memory, 10 % limits how long a writer can wait for drives")
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
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("10"));
    }
}
