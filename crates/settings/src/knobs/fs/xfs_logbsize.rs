//! `xfs.logbsize`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "xfs.logbsize",
        layer: Layer::Fs,
        locator: Locator::MountOption { fs: "xfs", option: "logbsize" },
        scope: Scope::Mount,
        takes_effect: TakesEffect::Restart,
        // `xfs(5)`: powers of two from 16 KiB to 256 KiB.
        takes: Domain::Words(&["absent", "16k", "32k", "64k", "128k", "256k"]),
        default: "32k, or the log's stripe unit",
        summary: "Size of one log buffer: 16k to 256k.",
        why: "Source 000 lists it without a value. Each PUT creates and renames files on every drive of its set. When \
            many of these operations accumulate, 256k writes the log in fewer, larger I/Os; fsync still writes only \
            what is in the buffer. It cannot be set by mkfs.xfs or changed by a remount.",
        relief: Relief::Drives,
        relieves: "drives: log writes with many small objects",
        risk: "2 MiB of memory per file system; recovery after a crash may replay slightly more.",
        sources: &["source 000, XFS", "Linux, Documentation/admin-guide/xfs.rst"],
        since: None,
        until: None,
        also_called: &["logbsize"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("256k", "the metadata of many small objects needs fewer log writes")
}
