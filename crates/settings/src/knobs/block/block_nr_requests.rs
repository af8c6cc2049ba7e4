//! `block.nr_requests`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "block.nr_requests",
        layer: Layer::Block,
        locator: Locator::Sysfs { path: "block/{disk}/queue/nr_requests" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `block/blk-sysfs.c: queue_requests_store` makes less than BLKDEV_MIN_RQ that; BLK_MQ_MAX_DEPTH is the most
        // of any queue.
        takes: domain::number(4, 10_240),
        default: "without a scheduler, the device's tags (1023 for most NVMe drives); with one, at most twice 128",
        summary: "Maximum number of requests allocated for each queue.",
        why: "Without a scheduler, the kernel uses the depth that the device offers and refuses more, so it cannot be \
            raised. With a scheduler the default is 256. A spinning drive gains from a longer queue to sort, at the \
            price of latency. There is no advice for flash.",
        relief: Relief::Drives,
        relieves: "drives: requests that wait for a tag",
        risk: "Longer queues mean longer waits.",
        sources: &["Linux, block/blk-mq.c: blk_mq_update_nr_requests"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let disk = facts::disk(snapshot, place)?;
    disk.rotational.then(|| facts::advice(256, "the default: a longer queue means longer waits")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn flash_keeps_its_own_tags() {
        let mut snapshot = machine();
        assert_eq!(advised_for(&ROW, &snapshot, "nvme0n1"), None);
        snapshot.devices.disks[0].rotational = true;
        assert_eq!(advised_for(&ROW, &snapshot, "nvme0n1").as_deref(), Some("256"));
    }
}
