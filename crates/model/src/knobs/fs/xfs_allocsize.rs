//! `xfs.allocsize`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Place, Scope, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{Row, facts};

pub(crate) const ROW: Row = Row {
    knob: Knob {
        id: "xfs.allocsize",
        layer: Layer::Fs,
        locator: Locator::MountOption { fs: "xfs", option: "allocsize" },
        scope: Scope::Mount,
        takes_effect: TakesEffect::Restart,
        default: "absent: preallocation grows with the file",
        summary: "A fixed size for speculative preallocation beyond the end of a file that is written.",
        why: "Source 000 names it without a value. Dynamic preallocation adapts to file size since 2.6.38, and an \
            engine that calls fallocate or writes with O_DIRECT in whole shards does not need either. A fixed large \
            size makes every small file hold that much until it is closed or trimmed. Absent is right.",
        relieves: "drives: fragmentation of files that grow slowly",
        risk: "Fixed: space held beyond small files.",
        sources: &[
            "source 000, XFS",
            "Linux, Documentation/admin-guide/xfs.rst",
            "Linux, fs/xfs/xfs_iomap.c: xfs_iomap_prealloc_size",
        ],
        since: None,
        until: None,
        also_called: &["allocsize"],
        owned_by: None,
    },
    advise,
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &Place) -> Option<Advice> {
    facts::advice("absent", "dynamic preallocation knows the size of each file")
}
