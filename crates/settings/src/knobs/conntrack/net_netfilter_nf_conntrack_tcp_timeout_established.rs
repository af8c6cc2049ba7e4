//! `net.netfilter.nf_conntrack_tcp_timeout_established`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.netfilter.nf_conntrack_tcp_timeout_established",
        layer: Layer::Conntrack,
        locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_tcp_timeout_established" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
        takes: domain::number(0, 21_474_836),
        default: "432000 (5 days)",
        summary: "Seconds without packets after which an established connection is forgotten.",
        why: "Source 002 sets 3600. A pooled connection whose keep-alive interval is two hours is then forgotten while \
            idle, and its next packet is dropped or sent to another backend. One day removes dead connections and \
            keeps live ones. A change applies to a connection from its next packet. Each namespace has its own value \
            and starts from the default (measured on 6.18); a pod without iptables rules tracks no connections in its \
            namespace.",
        relief: Relief::Memory,
        relieves: "memory: entries of connections that no longer exist",
        risk: "Short: idle connections break.",
        sources: &["source 002, network tuning", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(86400, "dead connections are removed after a day, and pooled ones are kept")
}
