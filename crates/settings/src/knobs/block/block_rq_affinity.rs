//! `block.rq_affinity`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "block.rq_affinity",
        layer: Layer::Block,
        locator: Locator::Sysfs { path: "block/{disk}/queue/rq_affinity" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `block/blk-sysfs.c: queue_rq_affinity_store`: other numbers change nothing.
        takes: domain::number(0, 2),
        default: "1",
        summary: "Where a request completes: on a core that shares a cache with the core that issued it (1), on \
            exactly that core (2), or on the core that takes the interrupt (0).",
        why: "An NVMe drive with a queue per core completes requests where they were issued anyway. 2 costs an \
            interrupt between cores. The default of 1 is right.",
        relief: Relief::Processors,
        relieves: "processor: cache misses at completion",
        risk: "2: interrupts between cores.",
        sources: &["Linux, Documentation/ABI/stable/sysfs-block; block/blk-mq.c: blk_mq_complete_need_ipi"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::disk(snapshot, place)?;
    facts::advice(1, "the default: a request completes near its issuer, without an interrupt to that core")
}
