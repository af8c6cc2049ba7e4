//! `cpu.governor`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cpu.governor",
        layer: Layer::Cpu,
        locator: Locator::Sysfs { path: "devices/system/cpu/{cpu}/cpufreq/scaling_governor" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `drivers/cpufreq/cpufreq_*.c`, `kernel/sched/cpufreq_schedutil.c`: the names of governors.
        takes: Domain::Words(&["performance", "powersave", "userspace", "ondemand", "conservative", "schedutil"]),
        default: "schedutil, ondemand, powersave or performance, by driver and distribution",
        summary: "Which policy chooses a processor's frequency.",
        why: "performance, as source 000 has it. Requests of a storage node come in bursts of microseconds, shorter \
            than a governor needs to raise a frequency. Virtual machines show no cpufreq: nothing to set, and the \
            source's own cloud tests could not have set it.",
        relieves: "processor: frequency at the begin of a burst",
        risk: "Power and heat; less turbo for a few busy cores where the package is at its limit.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/pm/cpufreq.rst",
        ],
        since: None,
        until: None,
        also_called: &["governor"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let choices = facts::choices(snapshot, place);
    if !choices.is_empty() && !choices.iter().any(|choice| choice == "performance") {
        return None;
    }
    facts::advice("performance", "bursts are shorter than a governor needs to raise a frequency")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn a_driver_without_that_governor_is_left_alone() {
        assert_eq!(
            advised_among(&ROW, &machine(), "powersave", &["performance", "powersave"]).as_deref(),
            Some("performance")
        );
        assert_eq!(advised_among(&ROW, &machine(), "userspace", &["userspace"]), None);
    }
}
