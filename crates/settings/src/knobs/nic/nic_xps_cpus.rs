//! `nic.xps_cpus`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Scope, TakesEffect};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.xps_cpus",
        layer: Layer::Nic,
        locator: Locator::Sysfs { path: "class/net/{nic}/queues/tx-*/xps_cpus" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `net/core/net-sysfs.c: xps_cpus_store`; no processor is off.
        takes: Domain::Processors,
        default: "set by most drivers: a queue for each processor",
        summary: "Processors that use a transmit queue, as a mask.",
        why: "Source 002 names it and says that it is 0 by default: drivers with queues for their processors set it \
            themselves, one each. Nothing is advised: what a driver chose is local already, and a mask by hand is \
            stale when queues change.",
        relieves: "processor: one core that receives or sends for all",
        risk: "Interrupts between processors.",
        sources: &["source 002, network tuning", "Linux, Documentation/networking/scaling.rst"],
        since: None,
        until: None,
        also_called: &["XPS"],
        owned_by: None,
    },
    advise: None,
};
