//! `vm.dirty_bytes`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        default: "0: vm.dirty_ratio holds",
        summary: "Bytes that may be dirty before a writer must itself write back.",
        why: "Four times the background threshold: two seconds of what the drives write, so that a writer waits only \
            where the drives fall behind for that long. The kernel takes half of it as background threshold where \
            that is not smaller.",
        relieves: "drives: stalls of writers",
        risk: "A writer that is made to write back waits; a bound too small makes every writer wait.",
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
        format!("{} is two seconds of what {} write", facts::size(bytes), facts::drives_text(snapshot)),
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
