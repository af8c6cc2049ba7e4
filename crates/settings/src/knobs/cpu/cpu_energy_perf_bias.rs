//! `cpu.energy_perf_bias`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cpu.energy_perf_bias",
        layer: Layer::Cpu,
        locator: Locator::Sysfs { path: "devices/system/cpu/{cpu}/power/energy_perf_bias" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `arch/x86/kernel/cpu/intel_epb.c: energy_perf_bias_store`: four bits. It takes words too, and shows numbers.
        takes: domain::number(0, 15),
        default: "6 (normal), or the firmware's",
        summary: "Intel's bias between performance and energy saving, from 0 (performance) to 15 (powersave).",
        why: "Source 000 sets energy_perf_bias but describes EPP, which is a different setting; both are in this \
            catalogue. The EPB register may have no effect while EPP is in use.",
        relief: Relief::Processors,
        relieves: "processor: uncore and turbo frequencies reduced to save energy",
        risk: "Power and heat.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/pm/intel_epb.rst",
        ],
        since: Some((5, 2)),
        until: None,
        also_called: &["energy_perf_bias"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(0, "0 is performance")
}
