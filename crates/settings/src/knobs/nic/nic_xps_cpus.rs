//! `nic.xps_cpus`.

use linerate_record::knob::{Domain, Knob, Layer, Locator, Relief, Scope, TakesEffect};

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
        default: "set by most drivers: one queue per processor",
        summary: "Processors that use a transmit queue, as a mask.",
        why: "Source 002 mentions it and says that it is 0 by default, but drivers with one queue per processor set it \
            themselves. Nothing is advised: the driver's choice is local already, and a manual mask becomes stale when \
            the number of queues changes.",
        relief: Relief::Processors,
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
