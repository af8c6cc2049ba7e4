//! `xfs.inode64`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "xfs.inode64",
        layer: Layer::Fs,
        locator: Locator::MountOption { fs: "xfs", option: "inode64" },
        scope: Scope::Mount,
        takes_effect: TakesEffect::Restart,
        // `xfs(5)`: an option without a value.
        takes: Domain::Words(&["absent", "present"]),
        default: "present since Linux 3.7",
        summary: "Whether inodes may be placed anywhere in the file system rather than only in its first TiB.",
        why: "Source 000 lists it among options to tune. It is the default since 3.7 and appears in /proc/mounts. Only \
            a mount with inode32 needs a change: there, all inodes of a large drive compete for the first TiB, and \
            data is allocated far from them.",
        relief: Relief::Drives,
        relieves: "drives: seeks, and allocation groups that fill first",
        risk: "32-bit programs without large-file support cannot stat such inodes.",
        sources: &[
            "source 000, XFS",
            "Linux, Documentation/admin-guide/xfs.rst",
            "Linux 3.7, fs/xfs/xfs_super.c (inode64 by default)",
        ],
        since: None,
        until: None,
        also_called: &["inode64"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("present", "inodes are placed near their data")
}
