//! `kernel.pid_max`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kernel.pid_max",
        layer: Layer::Kernel,
        locator: Locator::Sysctl { name: "kernel.pid_max" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/pid.c: pid_max_min` (RESERVED_PIDS + 1) and PID_MAX_LIMIT of 64-bit machines.
        takes: domain::number(301, 4_194_304),
        default: "32768, or 1024 for each possible processor where that is more; 4194304 by systemd",
        summary: "The largest number of a process or thread.",
        why: "A node of 200 pods (source 000's test) with engines of thousands of threads reaches 32768. systemd \
            sets the most that there is on 64-bit machines; so does this row.",
        relieves: "processes: fork fails",
        risk: "Long numbers in listings.",
        sources: &[
            "Linux, Documentation/admin-guide/sysctl/kernel.rst",
            "systemd, sysctl.d/50-pid-max.conf",
            "source 000, Kubernetes test (200 pods a node)",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(4_194_304, "threads of all pods count, and the bound costs nothing")
}
