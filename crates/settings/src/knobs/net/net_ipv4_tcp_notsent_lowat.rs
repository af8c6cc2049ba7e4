//! `net.ipv4.tcp_notsent_lowat`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_notsent_lowat",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_notsent_lowat" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: an `unsigned int`.
        takes: domain::number(0, u32::MAX as i128),
        default: "4294967295: no limit",
        summary: "Unsent bytes in a socket above which it does not report that it is writable.",
        why: "No source mentions it. A limit reduces the memory in send buffers and wakes the sender more often. For \
            objects of megabytes over fast links, the default is right.",
        relief: Relief::Memory,
        relieves: "memory: send buffers",
        risk: "Low: more wake-ups.",
        sources: &["Linux, Documentation/networking/ip-sysctl.rst"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(u32::MAX, "the default: fewer wake-ups")
}
