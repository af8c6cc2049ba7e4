//! `net.ipv4.tcp_moderate_rcvbuf`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_moderate_rcvbuf",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_moderate_rcvbuf" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: a switch.
        takes: domain::SWITCH,
        default: "1",
        summary: "Whether receive buffers grow to what the path needs.",
        why: "The buffer sizes of all sources depend on it: without it, every connection stays at the middle value of \
            tcp_rmem.",
        relief: Relief::Links,
        relieves: "links: throughput of one connection",
        risk: "Off: one size for all connections.",
        sources: &["Linux, Documentation/networking/ip-sysctl.rst", "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1, "buffers grow to what each path needs")
}
