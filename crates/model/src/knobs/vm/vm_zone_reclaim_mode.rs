//! `vm.zone_reclaim_mode`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Place, Scope, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{Row, facts};

pub(crate) const ROW: Row = Row {
    knob: Knob {
        id: "vm.zone_reclaim_mode",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.zone_reclaim_mode" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        default: "0",
        summary: "Whether a NUMA node reclaims its own page cache before it takes memory of another.",
        why: "No source names it; it undoes what they want of caches. On, a node drops file pages while another has \
            memory free.",
        relieves: "memory: page cache lost on one NUMA node",
        risk: "Off, some allocations are remote.",
        sources: &["Linux, Documentation/admin-guide/sysctl/vm.rst"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise,
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &Place) -> Option<Advice> {
    facts::advice(0, "cached metadata is worth more than local memory")
}
