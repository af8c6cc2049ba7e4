//! `net.netfilter.nf_conntrack_generic_timeout`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.netfilter.nf_conntrack_generic_timeout",
        layer: Layer::Conntrack,
        locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_generic_timeout" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
        takes: domain::number(0, 21_474_836),
        default: "600",
        summary: "Seconds that packets of protocols without a tracker are remembered.",
        why: "Nothing of S3 is here; overlays' own protocols are UDP. It counts from a connection's next packet. Per \
            namespace, fresh in each (measured on 6.18); a pod without iptables rules tracks nothing in its own.",
        relieves: "memory: entries of connections that are gone",
        risk: "Short: rare protocols break.",
        sources: &[
            "Linux, Documentation/networking/nf_conntrack-sysctl.rst",
            "Linux, Documentation/networking/nf_conntrack-sysctl.rst",
        ],
        since: None,
        until: None,
        also_called: &["nf_conntrack_generic_timeout"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(600, "the default")
}
