//! `xfs.discard`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "Whether freed space is discarded online, at the commit of each transaction.",
        why: "Source 000 relies on fstrim for free blocks rather than on online discards with each deletion, and so \
            does this advice: a daily or weekly fstrim (see block.fstrim_timer) sends in bulk what online discard \
            sends in small pieces during the load.",
        relief: Relief::Drives,
        relieves: "drives: discards during the load",
        risk: "Without fstrim as well, flash fills up and its garbage collection raises tail latency.",
        sources: &["source 000, fstrim", "Linux, Documentation/admin-guide/xfs.rst", "Linux, fs/xfs/xfs_discard.c"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("absent", "fstrim discards in bulk, at a quiet time")
}
