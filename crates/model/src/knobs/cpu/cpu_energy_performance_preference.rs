//! `cpu.energy_performance_preference`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Place, Scope, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{Row, facts};

pub(crate) const ROW: Row = Row {
    knob: Knob {
        id: "cpu.energy_performance_preference",
        layer: Layer::Cpu,
        locator: Locator::Sysfs { path: "devices/system/cpu/{cpu}/cpufreq/energy_performance_preference" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        default: "balance_performance",
        summary: "The hint of performance against energy for hardware that chooses its own frequency (intel_pstate, \
            amd-pstate in active mode).",
        why: "What source 000 means by \"EPP first for performance\". Under the governor performance the drivers \
            hold it at performance themselves.",
        relieves: "processor: frequency at the begin of a burst",
        risk: "Power and heat.",
        sources: &["source 000, tuned profile", "Linux, Documentation/admin-guide/pm/intel_pstate.rst; amd-pstate.rst"],
        since: None,
        until: None,
        also_called: &["EPP"],
        owned_by: None,
    },
    advise,
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &Place) -> Option<Advice> {
    facts::advice("performance", "the hardware raises its frequency at once")
}
