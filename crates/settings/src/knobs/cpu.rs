//! Processors: frequency, sleep states, bias.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Cpu, takes_effect: TakesEffect::AtOnce, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "cpu.governor",
            locator: Locator::Sysfs { path: "devices/system/cpu/{cpu}/cpufreq/scaling_governor" },
            scope: Scope::Device,
            // `drivers/cpufreq/cpufreq_*.c`, `kernel/sched/cpufreq_schedutil.c`: the names of governors.
            takes: Domain::Words(&["performance", "powersave", "userspace", "ondemand", "conservative", "schedutil"]),
            default: "schedutil, ondemand, powersave or performance, depending on driver and distribution",
            summary: "Policy that selects the frequency of a processor.",
            why: "The advice is performance, as in source 000. Requests reach a storage node in bursts of \
                microseconds, which end before a governor can raise the frequency. Virtual machines have no cpufreq, \
                so there is nothing to set; source 000 cannot have set it in its own cloud tests.",
            relief: RelievedResource::Processors,
            relieves: "processor: frequency at the start of a burst",
            risk: "Power and heat; less turbo for a few busy cores when the package is at its power limit.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/pm/cpufreq.rst",
            ],
            also_called: &["governor"],
            ..BASE
        },
        advise: Advise::Computed(governor),
    },
    KnobRow {
        knob: Knob {
            id: "cpu.energy_perf_bias",
            locator: Locator::Sysfs { path: "devices/system/cpu/{cpu}/power/energy_perf_bias" },
            scope: Scope::Device,
            // `arch/x86/kernel/cpu/intel_epb.c: energy_perf_bias_store`: four bits. It takes words too, and shows
            // numbers.
            takes: domain::number(0, 15),
            default: "6 (normal), or the firmware's",
            summary: "Intel's bias between performance and energy saving, from 0 (performance) to 15 (powersave).",
            why: "Source 000 sets energy_perf_bias but describes EPP, which is a different setting; both are in this \
                catalogue. The EPB register may have no effect while EPP is in use.",
            relief: RelievedResource::Processors,
            relieves: "processor: uncore and turbo frequencies reduced to save energy",
            risk: "Power and heat.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/pm/intel_epb.rst",
            ],
            since: Some((5, 2)),
            also_called: &["energy_perf_bias"],
            ..BASE
        },
        advise: Advise::Constant("0", "0 is performance"),
    },
    KnobRow {
        knob: Knob {
            id: "cpu.energy_performance_preference",
            locator: Locator::Sysfs { path: "devices/system/cpu/{cpu}/cpufreq/energy_performance_preference" },
            scope: Scope::Device,
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
            relief: RelievedResource::Processors,
            relieves: "processor: frequency at the start of a burst",
            risk: "Power and heat.",
            sources: &[
                "source 000, tuned profile",
                "Linux, Documentation/admin-guide/pm/intel_pstate.rst; amd-pstate.rst",
            ],
            also_called: &["EPP"],
            ..BASE
        },
        advise: Advise::Constant("performance", "the processor raises its frequency at once"),
    },
    KnobRow {
        knob: Knob {
            id: "cpu.min_perf_pct",
            locator: Locator::Sysfs { path: "devices/system/cpu/intel_pstate/min_perf_pct" },
            scope: Scope::Host,
            // `drivers/cpufreq/intel_pstate.c: store_min_perf_pct`: a percentage.
            takes: domain::number(0, 100),
            default: "the lowest P-state, in percent of the highest",
            summary: "Minimum performance that intel_pstate may request, in percent of the maximum including turbo.",
            why: "Source 000 sets 100, so that the clock is never lowered. With the performance governor and EPP at \
                performance it adds little, but it also holds if another program changes the governor. Only \
                intel_pstate has it.",
            relief: RelievedResource::Processors,
            relieves: "processor: frequency at the start of a burst",
            risk: "Power and heat, also when idle.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/pm/intel_pstate.rst",
            ],
            also_called: &["min_perf_pct"],
            ..BASE
        },
        advise: Advise::Constant("100", "the clock is not lowered between bursts"),
    },
    KnobRow {
        knob: Knob {
            id: "cpu.force_latency",
            locator: Locator::Component { component: "tuned", key: "force_latency" },
            scope: Scope::Host,
            // TuneD's plugin_cpu: microseconds, or the state by its number or name.
            takes: Domain::Text("microseconds such as 1, or an idle state as TuneD names it: cstate.id:1"),
            default: "none: the idle governor decides",
            summary: "Maximum exit latency of idle states, in microseconds, that tuned requests by holding \
                /dev/cpu_dma_latency open.",
            why: "Source 000 sets 1, which permits no idle state deeper than C1. Idle cores then use power that busy \
                cores could use for turbo. Leaving C6 takes 0.1 ms or more, while a transfer of 64 MiB takes 20 ms, so \
                the default is right for large objects. For 4 KiB objects at low load, it is worth an experiment. The \
                value is a request of a running process, not the content of a file: it ends when tuned ends.",
            relief: RelievedResource::Latency,
            relieves: "latency: wake-up of idle cores",
            risk: "Power and heat when idle; less turbo under partial load.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/power/pm_qos_interface.rst",
            ],
            also_called: &["force_latency", "/dev/cpu_dma_latency"],
            ..BASE
        },
        advise: Advise::Computed(force_latency),
    },
];

fn governor(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let choices = facts::choices(snapshot, place);
    if !choices.is_empty() && !choices.iter().any(|choice| choice == "performance") {
        return None;
    }
    facts::advice("performance", "bursts end before a governor raises the frequency")
}

fn force_latency(_snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    // 256 KiB: 0.1 ms at 20 Gb/s, the exit latency of the deepest states.
    let small = (1..=256 << 10).contains(&site.data.object_bytes);
    facts::advice_if(small, 1, "objects are so small that the wake-up of a core adds to their latency")
}

#[cfg(test)]
mod tests {
    use crate::knobs::fixtures::*;

    #[test]
    fn a_driver_without_that_governor_is_left_alone() {
        assert_eq!(
            advised_among("cpu.governor", &machine(), "powersave", &["performance", "powersave"]).as_deref(),
            Some("performance")
        );
        assert_eq!(advised_among("cpu.governor", &machine(), "userspace", &["userspace"]), None);
    }

    #[test]
    fn only_small_objects_are_worth_shallow_sleep() {
        let id = "cpu.force_latency";
        let mut site = site();
        assert_eq!(advised_at_site(id, &machine(), &site), None);
        site.data.object_bytes = 4096;
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("1"));
    }
}
