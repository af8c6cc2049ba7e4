//! Connection tracking.

use linerate_record::knob::{
    Advice, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Conntrack, takes_effect: TakesEffect::AtOnce, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_max",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_max" },
            scope: Scope::Host,
            // `net/netfilter/nf_conntrack_standalone.c: nf_ct_sysctl_table`: an `int`; zero is without bound.
            takes: domain::number(0, domain::INT_MAX),
            default: "as many as buckets; 262144 from 4 GiB of memory on",
            summary: "Maximum number of connections that a namespace may track; one value for all namespaces.",
            why: "When the table is full, new connections are dropped (\"nf_conntrack: table full\"). The sources set \
                800000 and 655350. The table must hold the connections of a node and those that closed in the last two \
                minutes: the advice is eight times the connections, at least 262144. Each namespace has its own count \
                but the limit is that of the machine: other namespaces can read it and cannot change it. If Cilium \
                replaces kube-proxy, services are tracked in BPF maps, and this table holds only what iptables still \
                handles.",
            relief: RelievedResource::Connections,
            relieves: "connections dropped while the table is full",
            risk: "320 bytes for each entry in use.",
            sources: &[
                "source 000, tuned profile",
                "source 002, network tuning",
                "Linux, Documentation/networking/nf_conntrack-sysctl.rst",
                "Linux, net/netfilter/nf_conntrack_core.c: nf_conntrack_init_start; measured on 6.18",
            ],
            also_called: &["nf_conntrack_max"],
            ..BASE
        },
        advise: Advise::Computed(max),
    },
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_buckets",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_buckets" },
            scope: Scope::Host,
            // `net/netfilter/nf_conntrack_core.c: nf_conntrack_hash_resize` refuses zero.
            takes: domain::number(1, domain::INT_MAX),
            default: "memory / 16384 / 8 bytes; 262144 from 4 GiB on",
            summary: "Buckets of the hash table of tracked connections.",
            why: "Source 000 sets 100000 buckets for 800000 entries: a chain of eight entries to search for every \
                packet, and fewer buckets than the default. The advice is one bucket per entry, the kernel's own ratio \
                since 5.15.",
            relief: RelievedResource::Processors,
            relieves: "processor: long chains in the hash table",
            risk: "8 bytes per bucket; a change copies the table.",
            sources: &[
                "source 000, tuned profile",
                "Linux, Documentation/networking/nf_conntrack-sysctl.rst",
                "Linux 5.15, net/netfilter/nf_conntrack_core.c: nf_conntrack_init_start",
            ],
            also_called: &["nf_conntrack_buckets"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, site, place| {
            facts::at_least(snapshot, place, entries(site), "one bucket for each possible entry")
        }),
    },
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_tcp_timeout_established",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_tcp_timeout_established" },
            scope: Scope::NetworkNamespace,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
            takes: domain::number(0, 21_474_836),
            default: "432000 (5 days)",
            summary: "Seconds without packets after which an established connection is forgotten.",
            why: "Source 002 sets 3600. A pooled connection whose keep-alive interval is two hours is then forgotten \
                while idle, and its next packet is dropped or sent to another backend. One day removes dead \
                connections and keeps live ones. A change applies to a connection from its next packet. Each namespace \
                has its own value and starts from the default (measured on 6.18); a pod without iptables rules tracks \
                no connections in its namespace.",
            relief: RelievedResource::Memory,
            relieves: "memory: entries of connections that no longer exist",
            risk: "Short: idle connections break.",
            sources: &["source 002, network tuning", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
            ..BASE
        },
        advise: Advise::Constant("86400", "dead connections are removed after a day, and pooled ones are kept"),
    },
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_tcp_timeout_time_wait",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_tcp_timeout_time_wait" },
            scope: Scope::NetworkNamespace,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
            takes: domain::number(0, 21_474_836),
            default: "120",
            summary: "Seconds after which a closed connection is forgotten.",
            why: "Source 000 shortens all timeouts without giving values. The default is twice the kernel's TIME_WAIT; \
                with less, late packets may count as new connections. A change applies to a connection from its next \
                packet. Each namespace has its own value and starts from the default (measured on 6.18); a pod without \
                iptables rules tracks no connections in its namespace.",
            relief: RelievedResource::Memory,
            relieves: "memory: entries of connections that no longer exist",
            risk: "Short: late packets of old connections count as new ones.",
            sources: &["source 000, tuned profile", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
            also_called: &["nf_conntrack_tcp_timeout"],
            ..BASE
        },
        advise: Advise::Constant("120", "the default: twice TIME_WAIT"),
    },
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_tcp_timeout_close_wait",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_tcp_timeout_close_wait" },
            scope: Scope::NetworkNamespace,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
            takes: domain::number(0, 21_474_836),
            default: "60",
            summary: "Seconds without packets after which a connection that one side has closed is forgotten.",
            why: "Source 000 shortens all timeouts without giving values. A minute is short already, and an upload \
                that is half-closed by its client may send nothing for that long. A change applies to a connection \
                from its next packet. Each namespace has its own value and starts from the default (measured on 6.18); \
                a pod without iptables rules tracks no connections in its namespace.",
            relief: RelievedResource::Memory,
            relieves: "memory: entries of connections that no longer exist",
            risk: "Short: half-closed connections break.",
            sources: &["source 000, tuned profile", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
            also_called: &["nf_conntrack_tcp_timeout"],
            ..BASE
        },
        advise: Advise::Constant("60", "the default"),
    },
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_tcp_timeout_fin_wait",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_tcp_timeout_fin_wait" },
            scope: Scope::NetworkNamespace,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
            takes: domain::number(0, 21_474_836),
            default: "120",
            summary: "Seconds without packets after which a connection whose first FIN was seen is forgotten.",
            why: "Source 000 shortens all timeouts without giving values. Connections that close normally do not stay \
                in this state. A change applies to a connection from its next packet. Each namespace has its own value \
                and starts from the default (measured on 6.18); a pod without iptables rules tracks no connections in \
                its namespace.",
            relief: RelievedResource::Memory,
            relieves: "memory: entries of connections that no longer exist",
            risk: "Short: packets of a slow close count as invalid.",
            sources: &["source 000, tuned profile", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
            also_called: &["nf_conntrack_tcp_timeout"],
            ..BASE
        },
        advise: Advise::Constant("120", "the default"),
    },
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_udp_timeout",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_udp_timeout" },
            scope: Scope::NetworkNamespace,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
            takes: domain::number(0, 21_474_836),
            default: "30",
            summary: "Seconds without packets after which a UDP flow that is not yet a stream is forgotten.",
            why: "Source 000 shortens it to save entries. Most of these flows are DNS queries, but the 15 million per \
                second that its test sends to NodeLocal DNS bypass conntrack (NOTRACK). 30 s is short already. A \
                change applies to a connection from its next packet. Each namespace has its own value and starts from \
                the default (measured on 6.18); a pod without iptables rules tracks no connections in its namespace.",
            relief: RelievedResource::Memory,
            relieves: "memory: entries of connections that no longer exist",
            risk: "Short: late replies are dropped.",
            sources: &["source 000, tuned profile", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
            also_called: &["nf_conntrack_udp_timeout"],
            ..BASE
        },
        advise: Advise::Constant("30", "the default"),
    },
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_udp_timeout_stream",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_udp_timeout_stream" },
            scope: Scope::NetworkNamespace,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
            takes: domain::number(0, 21_474_836),
            default: "120 since Linux 4.20, 180 before",
            summary: "Seconds without packets after which a UDP stream, with packets in both directions, is forgotten.",
            why: "See net.netfilter.nf_conntrack_udp_timeout. A change applies to a connection from its next packet. \
                Each namespace has its own value and starts from the default (measured on 6.18); a pod without \
                iptables rules tracks no connections in its namespace.",
            relief: RelievedResource::Memory,
            relieves: "memory: entries of connections that no longer exist",
            risk: "Short: late replies are dropped.",
            sources: &["source 000, tuned profile", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
            also_called: &["nf_conntrack_udp_timeout_stream"],
            ..BASE
        },
        advise: Advise::Constant("120", "the default since 4.20"),
    },
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_icmp_timeout",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_icmp_timeout" },
            scope: Scope::NetworkNamespace,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
            takes: domain::number(0, 21_474_836),
            default: "30",
            summary: "Seconds after which an ICMP echo request without a reply is forgotten.",
            why: "Source 000 lists it among the timeouts to shorten, but echo requests do not fill the table. A change \
                applies to a connection from its next packet. Each namespace has its own value and starts from the \
                default (measured on 6.18); a pod without iptables rules tracks no connections in its namespace.",
            relief: RelievedResource::Memory,
            relieves: "memory: entries of connections that no longer exist",
            risk: "None worth mentioning.",
            sources: &["source 000, tuned profile", "Linux, Documentation/networking/nf_conntrack-sysctl.rst"],
            also_called: &["nf_conntrack_icmp_timeout"],
            ..BASE
        },
        advise: Advise::Constant("30", "the default"),
    },
    KnobRow {
        knob: Knob {
            id: "net.netfilter.nf_conntrack_generic_timeout",
            locator: Locator::Sysctl { name: "net.netfilter.nf_conntrack_generic_timeout" },
            scope: Scope::NetworkNamespace,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
            takes: domain::number(0, 21_474_836),
            default: "600",
            summary: "Seconds without packets after which a flow of a protocol without a tracker of its own is \
                forgotten.",
            why: "S3 traffic has no such flows, and overlay protocols use UDP. A change applies to a connection from \
                its next packet. Each namespace has its own value and starts from the default (measured on 6.18); a \
                pod without iptables rules tracks no connections in its namespace.",
            relief: RelievedResource::Memory,
            relieves: "memory: entries of connections that no longer exist",
            risk: "Short: flows of rare protocols break.",
            sources: &[
                "Linux, Documentation/networking/nf_conntrack-sysctl.rst",
                "Linux, Documentation/networking/nf_conntrack-sysctl.rst",
            ],
            also_called: &["nf_conntrack_generic_timeout"],
            ..BASE
        },
        advise: Advise::Constant("600", "the default"),
    },
];

/// Entries for the connections of a node and those that closed recently.
fn entries(site: &Site) -> u64 {
    (8 * facts::connections(site)).next_power_of_two().clamp(262_144, 8 << 20)
}

fn max(snapshot: &Snapshot, site: &Site, place: &SettingId) -> Option<Advice> {
    let why = format!("for {} connections of a node, and those that closed recently", facts::connections(site));
    facts::at_least(snapshot, place, entries(site), why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn the_table_follows_connections_and_is_never_shrunk() {
        let id = "net.netfilter.nf_conntrack_max";
        let mut site = site();
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("262144"));
        (site.clients.count, site.clients.connections) = (2000, 1000);
        assert!(number(advised_at_site(id, &machine(), &site)) >= 8 * facts::connections(&site));
        assert_eq!(advised_at(id, &machine(), "800000").as_deref(), Some("800000"));
    }

    #[test]
    fn there_are_as_many_buckets_as_entries() {
        let entries = advised("net.netfilter.nf_conntrack_max", &machine());
        assert_eq!(advised_at("net.netfilter.nf_conntrack_buckets", &machine(), "100000"), entries);
    }
}
