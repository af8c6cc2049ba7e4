//! `kernel.sched_migration_cost_ns`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kernel.sched_migration_cost_ns",
        layer: Layer::Kernel,
        locator: Locator::Sysctl { name: "kernel.sched_migration_cost_ns" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/sched/fair.c: task_hot`: -1 is any time.
        takes: domain::number(-1, domain::INT_MAX),
        default: "500000",
        summary: "Nanoseconds after its last run for which a task counts as cache-hot and is not moved by load \
            balancing.",
        why: "Source 000 sets 5000000, with two question marks. In 5.13 the setting moved from /proc/sys to \
            sched/migration_cost_ns in debugfs, so on the kernel that the same source requires (6.8), the line only \
            makes sysctl report an error. Ten times the default also keeps runnable threads away from idle cores, \
            which is the opposite of what a server with bursts needs. The default is advised.",
        relief: Relief::Processors,
        relieves: "processor: cache misses after migrations",
        risk: "Threads wait for a busy core while other cores are idle.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux 5.13, kernel/sched/debug.c (8a99b6833c88: sched: Move SCHED_DEBUG sysctl to debugfs)",
        ],
        since: None,
        until: Some((5, 13)),
        also_called: &["kernel.sched_migration_cost_ns ??", "/sys/kernel/debug/sched/migration_cost_ns"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(500_000, "the default: a thread runs sooner on an idle core than on a busy one with a warm cache")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn there_is_nothing_to_advise_where_the_name_is_gone() {
        let mut snapshot = machine();
        snapshot.machine.kernel = "5.12.19".to_owned();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("500000"));
        snapshot.machine.kernel = "5.13.0".to_owned();
        assert_eq!(advised(&ROW, &snapshot), None);
    }
}
