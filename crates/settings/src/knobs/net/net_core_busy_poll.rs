//! `net.core.busy_poll`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.busy_poll",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.busy_poll" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // An `int`, not below zero: `net/core/sysctl_net_core.c: net_core_table`.
        takes: domain::number(0, domain::INT_MAX),
        default: "0: off",
        summary: "Microseconds that poll and select may spin on a NIC's queue instead of sleeping.",
        why: "Sources say 50. Go waits in epoll, which spins where busy_poll is on for the whole machine: then the \
            thread that waits for all connections burns a core. busy_read is for a thread that blocks in read on \
            one socket, which no server of thousands has. For throughput of large objects there is nothing to gain, \
            and each idle poller costs a core. Off, as the kernel has it.",
        relieves: "latency of single small requests",
        risk: "A core for each thread that waits.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/sysctl/net.rst",
            "Linux, net/core/sysctl_net_core.c: net_core_table (one value for all namespaces)",
            "Linux, fs/eventpoll.c: ep_busy_loop; include/net/busy_poll.h",
        ],
        since: None,
        until: None,
        also_called: &["net.core.busy_read net.core.busy_poll"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(0, "the default: a Go server would burn a core and gain no throughput")
}
