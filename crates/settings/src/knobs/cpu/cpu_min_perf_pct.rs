//! `cpu.min_perf_pct`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cpu.min_perf_pct",
        layer: Layer::Cpu,
        locator: Locator::Sysfs { path: "devices/system/cpu/intel_pstate/min_perf_pct" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `drivers/cpufreq/intel_pstate.c: store_min_perf_pct`: a percentage.
        takes: domain::number(0, 100),
        default: "the lowest P-state, in percent of the highest",
        summary: "Minimum performance that intel_pstate may request, in percent of the maximum including turbo.",
        why: "Source 000 sets 100, so that the clock is never lowered. With the performance governor and EPP at \
            performance it adds little, but it also holds if another program changes the governor. Only intel_pstate \
            has it.",
        relief: Relief::Processors,
        relieves: "processor: frequency at the start of a burst",
        risk: "Power and heat, also when idle.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
        ],
        since: None,
        until: None,
        also_called: &["min_perf_pct"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(100, "the clock is not lowered between bursts")
}
