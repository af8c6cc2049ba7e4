//! `kernel.hung_task_timeout_secs`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kernel.hung_task_timeout_secs",
        layer: Layer::Kernel,
        locator: Locator::Sysctl { name: "kernel.hung_task_timeout_secs" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/hung_task.c`: hung_task_timeout_max, LONG_MAX / HZ, where HZ is 100 at least.
        takes: domain::number(0, 92_233_720_368_547_758),
        default: "120",
        summary: "Seconds in uninterruptible sleep after which the kernel reports a task.",
        why: "Source 000 sets 85 and describes it both as earlier detection of hung tasks and as an extension; 85 is \
            shorter than the default of 120. The setting only controls a report and does not change performance. With \
            hung_task_panic, however, a shorter time makes a slow drive reboot the node sooner. The default is right.",
        relief: Relief::Nothing,
        relieves: "nothing: it only controls a report",
        risk: "With hung_task_panic, a slow drive reboots the node sooner.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/sysctl/kernel.rst",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(120, "the default: 85 reports sooner and changes nothing else")
}
