//! `cpu.governor`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
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
        default: "schedutil, ondemand, powersave or performance, depending on driver and distribution",
        summary: "Policy that selects the frequency of a processor.",
        why: "The advice is performance, as in source 000. Requests reach a storage node in bursts of microseconds, \
            which end before a governor can raise the frequency. Virtual machines have no cpufreq, so there is nothing \
            to set; source 000 cannot have set it in its own cloud tests.",
        relief: Relief::Processors,
        relieves: "processor: frequency at the start of a burst",
        risk: "Power and heat; less turbo for a few busy cores when the package is at its power limit.",
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
    facts::advice("performance", "bursts end before a governor raises the frequency")
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
