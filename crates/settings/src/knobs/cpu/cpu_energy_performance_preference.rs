//! `cpu.energy_performance_preference`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cpu.energy_performance_preference",
        layer: Layer::Cpu,
        locator: Locator::Sysfs { path: "devices/system/cpu/{cpu}/cpufreq/energy_performance_preference" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `drivers/cpufreq/intel_pstate.c: energy_perf_strings`, or the eight bits of the register.
        takes: Domain::WordsOrNumber {
            words: &["default", "performance", "balance_performance", "balance_power", "power"],
            least: 0,
            most: 255,
        },
        default: "balance_performance",
        summary: "Preference between performance and energy for processors that select their own frequency \
            (intel_pstate, amd-pstate in active mode).",
        why: "This is the setting that source 000 means by \"EPP first for performance\". With the performance \
            governor, the drivers keep it at performance themselves.",
        relief: Relief::Processors,
        relieves: "processor: frequency at the start of a burst",
        risk: "Power and heat.",
        sources: &["source 000, tuned profile", "Linux, Documentation/admin-guide/pm/intel_pstate.rst; amd-pstate.rst"],
        since: None,
        until: None,
        also_called: &["EPP"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("performance", "the processor raises its frequency at once")
}
