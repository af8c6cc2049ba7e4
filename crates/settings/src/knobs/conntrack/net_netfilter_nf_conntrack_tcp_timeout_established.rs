//! `net.netfilter.nf_conntrack_tcp_timeout_established`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Seconds that an established connection without packets is remembered.",
        why: "Source 002 says 3600: an idle connection of a pool whose keep-alive is two hours is forgotten, and its \
            next packet dropped or sent to another backend. A day forgets what died and keeps what lives. It counts \
            from a connection's next packet. Per namespace, fresh in each (measured on 6.18); a pod without \
            iptables rules tracks nothing in its own.",
        relieves: "memory: entries of connections that are gone",
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
    facts::advice(86400, "what died is forgotten in a day, and pools live")
}
