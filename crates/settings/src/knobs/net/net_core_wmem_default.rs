//! `net.core.wmem_default`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.wmem_default",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.wmem_default" },
        scope: Scope::Host,
        takes_effect: TakesEffect::NewSocket,
        // `net/core/sysctl_net_core.c: min_sndbuf`, SOCK_MIN_SNDBUF: 4608 where words are of 64 bits.
        takes: domain::number(4608, domain::INT_MAX),
        default: "212992",
        summary: "Initial send buffer in bytes of sockets whose protocol has no default of its own.",
        why: "TCP has its own default: the middle value of tcp_wmem. So 64 MiB (source 003) and 4 MiB (MinIO's \
            profile, not in source 000's text) do nothing for S3, and give every UDP and Unix socket of the machine \
            that much. The default is right.",
        relief: Relief::Nothing,
        relieves: "nothing for TCP: datagram sockets",
        risk: "Large: memory of every datagram and Unix socket of the machine.",
        sources: &[
            "source 003, full parameters",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/sysctl/net.rst",
            "Linux, net/core/sysctl_net_core.c: net_core_table (one value for all namespaces)",
            "Linux, net/ipv4/tcp.c: tcp_init_sock",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(212_992, "the default: TCP does not use it")
}
