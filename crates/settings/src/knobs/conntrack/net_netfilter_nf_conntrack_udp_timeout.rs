//! `net.netfilter.nf_conntrack_udp_timeout`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Seconds that a single datagram's exchange is remembered.",
        why: "Source 000 shortens it for the sake of the table. DNS is what is here, at 15 million queries over \
            NodeLocal DNS in its test; those of the cache do not pass conntrack at all (NOTRACK). 30 is short \
            already. It counts from a connection's next packet. Per namespace, fresh in each (measured on 6.18); a \
            pod without iptables rules tracks nothing in its own.",
        relieves: "memory: entries of connections that are gone",
        risk: "Short: late answers are dropped.",
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
