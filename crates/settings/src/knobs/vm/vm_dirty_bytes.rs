//! `vm.dirty_bytes`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.dirty_bytes",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.dirty_bytes" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `Documentation/admin-guide/sysctl/vm.rst`: two pages at least, which are of 4 KiB or more.
        takes: domain::number(8192, i64::MAX as i128),
        default: "0: vm.dirty_ratio applies",
        summary: "Dirty bytes in the page cache at which a writing process must write back itself.",
        why: "The advice is four times the background threshold, or two seconds of the drives' write bandwidth, so \
            that a writer is throttled only if the drives fall behind for that long. If the background threshold is \
            not below this value, the kernel uses half of this value instead.",
        relief: Relief::Drives,
        relieves: "drives: stalls of writers",
        risk: "A throttled writer waits for the drives; if the value is too small, every writer waits.",
        sources: &[
            "Linux, Documentation/admin-guide/sysctl/vm.rst",
            "Linux, mm/page-writeback.c: domain_dirty_limits",
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
    let bytes = 4 * facts::writeback_bytes(snapshot, site, 0.5);
    facts::advice(
        bytes,
        format!(
            "{}: two seconds of writes by {}, at least 1 GiB and at most 16 GiB",
            facts::size(bytes),
            facts::drives_text(snapshot)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn writers_wait_well_above_the_background_threshold() {
        let snapshot = machine();
        let background = advised(&crate::knobs::vm::vm_dirty_background_bytes::ROW, &snapshot);
        assert_eq!(number(advised(&ROW, &snapshot)), 4 * number(background));
    }
}
