//! `xfs.noatime`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "xfs.noatime",
        layer: Layer::Fs,
        locator: Locator::MountOption { fs: "xfs", option: "noatime" },
        scope: Scope::Mount,
        takes_effect: TakesEffect::AtOnce,
        // `mount(8)`: an option without a value.
        takes: Domain::Words(&["absent", "present"]),
        default: "absent: relatime",
        summary: "Whether reads leave access times unchanged.",
        why: "relatime writes an access time at most once a day for each file that is read; noatime never does. No \
            object store uses access times. noatime implies nodiratime, and a remount can change it.",
        relief: Relief::Drives,
        relieves: "drives: metadata writes caused by reads",
        risk: "Programs that use access times (tmp cleaners, mail) no longer see them change.",
        sources: &["source 000, XFS", "Linux, Documentation/admin-guide/xfs.rst", "mount(8)"],
        since: None,
        until: None,
        also_called: &["noatime"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("present", "a GET should not write metadata")
}
