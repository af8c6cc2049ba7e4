//! `net.netfilter.nf_conntrack_buckets`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.netfilter.nf_conntrack_buckets",
        layer: Layer::Conntrack,
        locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_buckets" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `net/netfilter/nf_conntrack_core.c: nf_conntrack_hash_resize` refuses zero.
        takes: domain::number(1, domain::INT_MAX),
        default: "memory / 16384 / 8 bytes; 262144 from 4 GiB on",
        summary: "Buckets of the hash table of tracked connections.",
        why: "Source 000 sets 100000 buckets for 800000 entries: a chain of eight entries to search for every packet, \
            and fewer buckets than the default. The advice is one bucket per entry, the kernel's own ratio since 5.15.",
        relief: Relief::Processors,
        relieves: "processor: long chains in the hash table",
        risk: "8 bytes per bucket; a change copies the table.",
        sources: &[
            "source 000, tuned profile",
            "Linux, Documentation/networking/nf_conntrack-sysctl.rst",
            "Linux 5.15, net/netfilter/nf_conntrack_core.c: nf_conntrack_init_start",
        ],
        since: None,
        until: None,
        also_called: &["nf_conntrack_buckets"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let wanted = (8 * facts::connections(site)).next_power_of_two().clamp(262_144, 8 << 20);
    facts::at_least(snapshot, place, wanted, "one bucket for each possible entry")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn there_are_as_many_buckets_as_entries() {
        let entries = advised(&crate::knobs::conntrack::net_netfilter_nf_conntrack_max::ROW, &machine());
        assert_eq!(advised_at(&ROW, &machine(), "100000"), entries);
    }
}
