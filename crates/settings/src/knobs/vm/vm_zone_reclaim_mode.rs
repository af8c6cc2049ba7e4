//! `vm.zone_reclaim_mode`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "vm.zone_reclaim_mode",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.zone_reclaim_mode" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `include/uapi/linux/mempolicy.h`: three bits, RECLAIM_ZONE, RECLAIM_WRITE and RECLAIM_UNMAP.
        takes: domain::number(0, 7),
        default: "0",
        summary: "Whether a NUMA node reclaims its own page cache before it allocates memory from another node.",
        why: "No source mentions it, but it would defeat the caching that they aim at: when it is on, a node drops \
            file pages although another node has free memory.",
        relief: Relief::Memory,
        relieves: "memory: page cache dropped on one NUMA node",
        risk: "When it is off, some allocations are remote.",
        sources: &["Linux, Documentation/admin-guide/sysctl/vm.rst"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(0, "cached pages are worth more than local memory")
}
