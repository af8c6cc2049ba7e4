//! `xfs.discard`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "xfs.discard",
        layer: Layer::Fs,
        locator: Locator::MountOption { fs: "xfs", option: "discard" },
        scope: Scope::Mount,
        takes_effect: TakesEffect::AtOnce,
        // `xfs(5)`: an option without a value.
        takes: Domain::Words(&["absent", "present"]),
        default: "absent",
        summary: "Whether freed space is discarded at once, with each transaction's commit.",
        why: "Source 000 wants fresh blocks by fstrim, not by discards inline with deletes; so does this row: a \
            weekly or daily fstrim (see block.fstrim_timer) gathers what online discard issues piece by piece \
            beside the load.",
        relieves: "drives: discards beside the load",
        risk: "Without fstrim either, flash fills and its garbage collection shows in tail latency.",
        sources: &["source 000, fstrim", "Linux, Documentation/admin-guide/xfs.rst", "Linux, fs/xfs/xfs_discard.c"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("absent", "fstrim discards in bulk, when nobody waits")
}
