//! `kernel.pid_max`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        default: "32768, or 1024 per possible processor if that is larger; 4194304 with systemd",
        summary: "Highest process or thread ID.",
        why: "A node with 200 pods (as in source 000's test) whose engines run thousands of threads reaches 32768. \
            systemd sets the maximum of 64-bit machines, and so does this advice.",
        relief: Relief::Processes,
        relieves: "processes: failures of fork",
        risk: "IDs with more digits in listings.",
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
    facts::advice(4_194_304, "threads of all pods count, and a high limit costs nothing")
}
