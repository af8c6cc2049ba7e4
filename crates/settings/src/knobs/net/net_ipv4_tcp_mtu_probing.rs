//! `net.ipv4.tcp_mtu_probing`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_mtu_probing",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_mtu_probing" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        // `Documentation/networking/ip-sysctl.rst`: off, after a black hole, always.
        takes: domain::number(0, 2),
        default: "0",
        summary: "Whether TCP determines the MTU of a path by probing: never (0), once a black hole is suspected (1), \
            always (2).",
        why: "The advice is 1, as in every source that sets it: it costs nothing until retransmissions time out, and \
            then saves connections over overlays or jumbo frames whose ICMP is filtered. Each namespace has its own \
            value and starts from the default: the host's 1 does not reach pods, so source 003's A4 may well have \
            compared identical settings.",
        relief: Relief::Links,
        relieves: "links: connections that hang on lost large packets",
        risk: "A path with much loss may be probed down to small segments.",
        sources: &[
            "source 000, tuned profile",
            "source 002, network tuning",
            "source 003, full parameters",
            "source 003, partial parameters (A4)",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init",
            "Linux, net/ipv4/tcp_timer.c: tcp_mtu_probing; measured on 6.18",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1, "it detects MTU black holes of overlays and jumbo frames")
}
