//! `net.netfilter.nf_conntrack_tcp_timeout_time_wait`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.netfilter.nf_conntrack_tcp_timeout_time_wait",
        layer: Layer::Conntrack,
        locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_tcp_timeout_time_wait" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
        takes: domain::number(0, 21_474_836),
        default: "120",
        summary: "Seconds after which a closed connection is forgotten.",
        why: "Source 000 shortens all timeouts without giving values. The default is twice the kernel's TIME_WAIT; \
            with less, late packets may count as new connections. A change applies to a connection from its next \
            packet. Each namespace has its own value and starts from the default (measured on 6.18); a pod without \
            iptables rules tracks no connections in its namespace.",
        relief: Relief::Memory,
        relieves: "memory: entries of connections that no longer exist",
        risk: "Short: late packets of old connections count as new ones.",
        sources: &["source 000, tuned profile", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
        since: None,
        until: None,
        also_called: &["nf_conntrack_tcp_timeout"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(120, "the default: twice TIME_WAIT")
}
