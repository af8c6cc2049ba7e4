//! `net.netfilter.nf_conntrack_udp_timeout`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.netfilter.nf_conntrack_udp_timeout",
        layer: Layer::Conntrack,
        locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_udp_timeout" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
        takes: domain::number(0, 21_474_836),
        default: "30",
        summary: "Seconds without packets after which a UDP flow that is not yet a stream is forgotten.",
        why: "Source 000 shortens it to save entries. Most of these flows are DNS queries, but the 15 million per \
            second that its test sends to NodeLocal DNS bypass conntrack (NOTRACK). 30 s is short already. A change \
            applies to a connection from its next packet. Each namespace has its own value and starts from the default \
            (measured on 6.18); a pod without iptables rules tracks no connections in its namespace.",
        relief: Relief::Memory,
        relieves: "memory: entries of connections that no longer exist",
        risk: "Short: late replies are dropped.",
        sources: &["source 000, tuned profile", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
        since: None,
        until: None,
        also_called: &["nf_conntrack_udp_timeout"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(30, "the default")
}
