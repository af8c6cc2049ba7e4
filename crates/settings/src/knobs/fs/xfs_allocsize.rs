//! `xfs.allocsize`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "xfs.allocsize",
        layer: Layer::Fs,
        locator: Locator::MountOption { fs: "xfs", option: "allocsize" },
        scope: Scope::Mount,
        takes_effect: TakesEffect::Restart,
        // `fs/xfs/xfs_super.c`: powers of two from a page to 1 GiB (XFS_MIN_IO_LOG, XFS_MAX_IO_LOG), shown in KiB.
        takes: Domain::Words(&[
            "absent", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1024k", "2048k", "4096k", "8192k",
            "16384k", "32768k", "65536k", "131072k", "262144k", "524288k", "1048576k",
        ]),
        default: "absent: preallocation grows with the file",
        summary: "Fixed size of speculative preallocation beyond the end of a file that is being written.",
        why: "Source 000 lists it without a value. Since 2.6.38, preallocation adapts to the size of the file; an \
            engine that calls fallocate, or writes whole shards with O_DIRECT, needs neither. A large fixed size makes \
            every small file occupy that much until it is closed or trimmed. The advice is to leave it absent.",
        relief: Relief::Drives,
        relieves: "drives: fragmentation of files that grow slowly",
        risk: "Fixed: space is reserved beyond the end of small files.",
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
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("absent", "dynamic preallocation adapts to the size of each file")
}
