//! `net.core.busy_poll`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Microseconds for which poll, select and epoll may busy-poll a NIC's queue before they sleep.",
        why: "The sources set 50. Go waits in epoll, which also busy-polls when busy_poll is set for the machine: the \
            thread that waits for all connections then occupies a core. busy_read helps a thread that blocks in read \
            on a single socket, which no server with thousands of connections does. Busy polling gains no throughput \
            for large objects and costs a core for each idle poller. The default, off, is right.",
        relief: Relief::Latency,
        relieves: "latency of single small requests",
        risk: "One core for each waiting thread.",
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
    facts::advice(0, "the default: busy polling would cost a Go server a core and gain no throughput")
}
