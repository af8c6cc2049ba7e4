//! `net.netfilter.nf_conntrack_udp_timeout_stream`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.netfilter.nf_conntrack_udp_timeout_stream",
        layer: Layer::Conntrack,
        locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_udp_timeout_stream" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
        takes: domain::number(0, 21_474_836),
        default: "120 since Linux 4.20, 180 before",
        summary: "Seconds without packets after which a UDP stream, with packets in both directions, is forgotten.",
        why: "See net.netfilter.nf_conntrack_udp_timeout. A change applies to a connection from its next packet. Each \
            namespace has its own value and starts from the default (measured on 6.18); a pod without iptables rules \
            tracks no connections in its namespace.",
        relief: Relief::Memory,
        relieves: "memory: entries of connections that no longer exist",
        risk: "Short: late replies are dropped.",
        sources: &["source 000, tuned profile", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
        since: None,
        until: None,
        also_called: &["nf_conntrack_udp_timeout_stream"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(120, "the default since 4.20")
}
