//! `block.discard_max_bytes`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "block.discard_max_bytes",
        layer: Layer::Block,
        locator: Locator::Sysfs { path: "block/{disk}/queue/discard_max_bytes" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `block/blk-sysfs.c: queue_max_discard_sectors_store`: sectors of 512 bytes as an `unsigned int`.
        takes: domain::number(0, (u32::MAX as i128) << 9),
        default: "discard_max_hw_bytes",
        summary: "Maximum size in bytes of one discard that is sent to the device; 0 disables discards.",
        why: "Source 000 claims that kernels before 6.8 send small discards one by one and that later kernels send \
            large ones in parallel. The change was made in XFS: since 6.7 it collects free extents in batches and \
            sends the discards of a batch together, without holding the lock of the allocation group meanwhile. No \
            change in 6.8 to the block layer was found that matches the source. If large discards of a device stall \
            reads, 64 MiB can be set here; until then the default is right.",
        relief: Relief::Drives,
        relieves: "drives: latency of reads during discards",
        risk: "Smaller discards take longer in total; with 0, flash fills up.",
        sources: &[
            "source 000, fstrim",
            "Linux 6.7, fs/xfs/xfs_discard.c: xfs_trim_gather_extents; Documentation/ABI/stable/sysfs-block",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let disk = facts::disk(snapshot, place)?;
    // Only where somebody turned discards off: what the device offers is not in the snapshot, and 1 GiB is a
    // multiple of any granularity, and the kernel takes what the drive can where that is less.
    match facts::number(snapshot, place) {
        Some(0) if disk.discards => facts::advice(1 << 30, "discards are disabled for a drive that supports them"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn discards_that_were_turned_off_are_turned_on() {
        let snapshot = machine();
        assert!(advised_at(&ROW, &snapshot, "0").is_some());
        assert_eq!(advised_at(&ROW, &snapshot, "67108864"), None);
    }
}
