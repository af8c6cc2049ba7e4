//! `xfs.logbufs`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "xfs.logbufs",
        layer: Layer::Fs,
        locator: Locator::MountOption { fs: "xfs", option: "logbufs" },
        scope: Scope::Mount,
        takes_effect: TakesEffect::Restart,
        // `xfs(5)`: 2 to 8.
        takes: Domain::WordsOrNumber { words: &["absent"], least: 2, most: 8 },
        default: "8",
        summary: "Number of log buffers in memory, 2 to 8.",
        why: "Source 000 lists it without a value. 8 is both the default and the maximum, so it cannot be raised.",
        relief: Relief::Drives,
        relieves: "drives: metadata operations that wait for a log buffer",
        risk: "Each buffer less saves 32 to 256 KiB.",
        sources: &[
            "source 000, XFS",
            "Linux, Documentation/admin-guide/xfs.rst",
            "Linux, fs/xfs/xfs_log.c: xlog_get_iclog_buffer_size",
        ],
        since: None,
        until: None,
        also_called: &["logbufs"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    // Not shown in /proc/mounts where nobody set it: then it is 8.
    match facts::text(snapshot, place) {
        None | Some("absent") => None,
        Some(_) => facts::advice(8, "the default is the maximum"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn only_a_lowered_number_is_put_back() {
        assert_eq!(advised_at(&ROW, &machine(), "absent"), None);
        assert_eq!(advised_at(&ROW, &machine(), "2").as_deref(), Some("8"));
    }
}
