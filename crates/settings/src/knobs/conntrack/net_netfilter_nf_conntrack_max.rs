//! `net.netfilter.nf_conntrack_max`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.netfilter.nf_conntrack_max",
        layer: Layer::Conntrack,
        locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_max" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `net/netfilter/nf_conntrack_standalone.c: nf_ct_sysctl_table`: an `int`; zero is without bound.
        takes: domain::number(0, domain::INT_MAX),
        default: "as many as buckets; 262144 from 4 GiB of memory on",
        summary: "Maximum number of connections that a namespace may track; one value for all namespaces.",
        why: "When the table is full, new connections are dropped (\"nf_conntrack: table full\"). The sources set \
            800000 and 655350. The table must hold the connections of a node and those that closed in the last two \
            minutes: the advice is eight times the connections, at least 262144. Each namespace has its own count but \
            the limit is that of the machine: other namespaces can read it and cannot change it. If Cilium replaces \
            kube-proxy, services are tracked in BPF maps, and this table holds only what iptables still handles.",
        relief: Relief::Connections,
        relieves: "connections dropped while the table is full",
        risk: "320 bytes for each entry in use.",
        sources: &[
            "source 000, tuned profile",
            "source 002, network tuning",
            "Linux, Documentation/networking/nf_conntrack-sysctl.rst",
            "Linux, net/netfilter/nf_conntrack_core.c: nf_conntrack_init_start; measured on 6.18",
        ],
        since: None,
        until: None,
        also_called: &["nf_conntrack_max"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let connections = facts::connections(site);
    let wanted = (8 * connections).next_power_of_two().clamp(262_144, 8 << 20);
    facts::at_least(
        snapshot,
        place,
        wanted,
        format!("for {connections} connections of a node, and those that closed recently"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn the_table_follows_connections_and_is_never_shrunk() {
        let mut site = site();
        assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some("262144"));
        (site.clients.count, site.clients.connections) = (2000, 1000);
        assert!(number(advised_of(&ROW, &machine(), &site)) >= 8 * crate::knobs::facts::connections(&site));
        assert_eq!(advised_at(&ROW, &machine(), "800000").as_deref(), Some("800000"));
    }
}
