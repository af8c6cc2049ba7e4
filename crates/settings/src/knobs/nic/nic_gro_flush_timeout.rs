//! `nic.gro_flush_timeout`.

use linerate_record::knob::{Knob, Layer, Locator, Relief, Scope, TakesEffect, domain};

use crate::knobs::KnobRow;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.gro_flush_timeout",
        layer: Layer::Nic,
        locator: Locator::Sysfs { path: "class/net/{nic}/gro_flush_timeout" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `net/core/net-sysfs.c: gro_flush_timeout_store`: nanoseconds, for a timer that counts them in 63 bits.
        takes: domain::number(0, i64::MAX as i128),
        default: "0: at the end of each round",
        summary: "Nanoseconds for which GRO may hold packets after a round, together with napi_defer_hard_irqs.",
        why: "No source mentions it. It achieves what they expect of busy polling: fewer interrupts under load, \
            without a core that spins. It is worth an experiment (20000 with napi_defer_hard_irqs 2) but is not a \
            default.",
        relief: Relief::Processors,
        relieves: "processor: interrupts under load",
        risk: "Latency of single requests.",
        sources: &["Linux, Documentation/networking/napi.rst"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: None,
};
