//! `net.netfilter.nf_conntrack_buckets`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Buckets of the hash of tracked connections.",
        why: "Source 000 sets 100000 buckets for 800000 entries: chains of eight on every packet, and fewer buckets \
            than the default. One for each entry, as the kernel has it since 5.15.",
        relieves: "processor: chains in the hash",
        risk: "8 bytes for each; the table is copied when it changes.",
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
    facts::at_least(snapshot, place, wanted, "a bucket for each entry that there may be")
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
