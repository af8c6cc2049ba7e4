//! `block.read_ahead_kb`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "block.read_ahead_kb",
        layer: Layer::Block,
        locator: Locator::Sysfs { path: "block/{disk}/queue/read_ahead_kb" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `block/blk-sysfs.c: queue_var_store`: an `unsigned int`.
        takes: domain::number(0, u32::MAX as i128),
        default: "128, or twice the optimal request size of the device",
        summary: "Readahead in KiB for sequential reads through the page cache.",
        why: "Source 003 sets it with blockdev --setra, which counts sectors of 512 bytes: 2048, 8192 (its default) \
            and 16384 are 1, 4 and 8 MiB. Its results do not differ beyond their spread. A new value applies to files \
            opened afterwards and has no effect on O_DIRECT. On flash, 512 KiB covers a drive's latency at 5 GB/s; on \
            a spinning drive, 4 MiB outweighs the cost of a seek.",
        relief: Relief::Drives,
        relieves: "drives: sequential reads through the page cache",
        risk: "Small random reads through the page cache read data that is not used.",
        sources: &[
            "source 003, partial parameters (B1)",
            "Linux, mm/readahead.c; block/blk-settings.c: blk_apply_bdi_limits",
            "blockdev(8)",
        ],
        since: None,
        until: None,
        also_called: &["blockdev --setra"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let disk = facts::disk(snapshot, place)?;
    let (kib, why) = if disk.rotational {
        (4096, "a seek of 8 ms costs as much as 2 MB at 250 MB/s: twice that")
    } else {
        (512, "what a drive of 5 GB/s reads in 0.1 ms")
    };
    facts::advice(kib, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn a_seek_is_earned_back() {
        let mut snapshot = machine();
        assert_eq!(advised_for(&ROW, &snapshot, "nvme0n1").as_deref(), Some("512"));
        snapshot.devices.disks[0].rotational = true;
        assert_eq!(advised_for(&ROW, &snapshot, "nvme0n1").as_deref(), Some("4096"));
        assert_eq!(advised_for(&ROW, &snapshot, "sdz"), None);
    }
}
