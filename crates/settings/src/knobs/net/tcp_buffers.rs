//! Buffers of TCP connections.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Net, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_rmem",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_rmem" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewNamespace,
            // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: from 1, each an `int`.
            takes: Domain::Rising { count: 3, least: 1, most: domain::INT_MAX },
            default: "4096 131072 33554432 since Linux 6.16; 6291456 as the last value before, less on small machines",
            summary: "Minimum, initial and maximum receive buffer of a TCP socket in bytes; autotuning moves between \
                them.",
            why: "The maximum is twice bandwidth × delay of one connection, at least the kernel's default. Sources 002 \
                and 003 set 64 MiB as the *minimum* and 128 MiB as the initial size. A socket keeps the minimum under \
                memory pressure, so a thousand connections can hold 64 GiB; the initial size is what each may receive \
                before autotuning. Source 000's maximum of 4 MiB is below the default of 6 MiB (32 MiB since 6.16). \
                Since 4.15, a new namespace copies the value from the initial one: a running pod keeps its old value, \
                so source 003's changes on the host may well have compared identical settings. Within a namespace, a \
                change applies at once to buffers that still grow. A socket that set SO_RCVBUF is not autotuned, and \
                this applies to MinIO's sockets: see net.core.rmem_max.",
            relief: RelievedResource::Links,
            relieves: "links: throughput of one connection",
            risk: "Memory up to the maximum for each busy connection, within tcp_mem.",
            sources: &[
                "source 000, tuned profile",
                "source 002, network tuning",
                "source 003, full parameters",
                "source 003, partial parameters (A2)",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init (copied from init_net)",
                "Linux, net/ipv4/tcp.c: tcp_init; measured on 6.18 in namespaces made before and after",
            ],
            ..BASE
        },
        advise: Advise::Computed(tcp_rmem),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_wmem",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_wmem" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewNamespace,
            // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: from 1, each an `int`.
            takes: Domain::Rising { count: 3, least: 1, most: domain::INT_MAX },
            default: "4096 16384 4194304, less on small machines",
            summary: "Minimum, initial and maximum send buffer of a TCP socket in bytes; autotuning moves between \
                them.",
            why: "The maximum is twice bandwidth × delay of one connection, at least the kernel's default. Sources 002 \
                and 003 set 64 MiB as the *minimum* and 128 MiB as the initial size. A socket keeps the minimum under \
                memory pressure, so a thousand connections can hold 64 GiB; the initial size is what each may queue \
                before autotuning. Source 000's maximum of 4 MiB is the default. Since 4.15, a new namespace copies \
                the value from the initial one: a running pod keeps its old value, so source 003's changes on the host \
                may well have compared identical settings. Within a namespace, a change applies at once to buffers \
                that still grow. A socket that set SO_SNDBUF is not autotuned, and this applies to MinIO's sockets: \
                see net.core.wmem_max.",
            relief: RelievedResource::Links,
            relieves: "links: throughput of one connection",
            risk: "Memory up to the maximum for each busy connection, within tcp_mem.",
            sources: &[
                "source 000, tuned profile",
                "source 002, network tuning",
                "source 003, full parameters",
                "source 003, partial parameters (A3)",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init (copied from init_net)",
                "Linux, net/ipv4/tcp.c: tcp_init; measured on 6.18 in namespaces made before and after",
            ],
            ..BASE
        },
        advise: Advise::Computed(tcp_wmem),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_mem",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_mem" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv4/sysctl_net_ipv4.c: ipv4_table`: three `long`.
            takes: Domain::Rising { count: 3, least: 0, most: i64::MAX as i128 },
            default: "4.68 %, 6.25 % and 9.37 % of memory, in pages",
            summary: "Memory in pages for all TCP sockets of the machine: below the first value there is no pressure, \
                above the second buffers stop growing, above the third packets are dropped.",
            why: "No source mentions it, although it limits the buffers that they set: 64 MiB for each of a thousand \
                connections is far more than 9 % of the memory of most nodes. The kernel's defaults are right for a \
                storage node; the knob is listed so that the value is visible.",
            relief: RelievedResource::Links,
            relieves: "links: buffers that cannot grow",
            risk: "More: slow readers take memory from the page cache and the engine.",
            sources: &[
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/tcp.c: tcp_init_mem; measured on 6.18: absent in other namespaces",
            ],
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_moderate_rcvbuf",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_moderate_rcvbuf" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: a switch.
            takes: domain::SWITCH,
            default: "1",
            summary: "Whether receive buffers grow to what the path needs.",
            why: "The buffer sizes of all sources depend on it: without it, every connection stays at the middle value \
                of tcp_rmem.",
            relief: RelievedResource::Links,
            relieves: "links: throughput of one connection",
            risk: "Off: one size for all connections.",
            sources: &["Linux, Documentation/networking/ip-sysctl.rst", "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init"],
            ..BASE
        },
        advise: Advise::Constant("1", "buffers grow to what each path needs"),
    },
];

fn tcp_rmem(snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    let window = facts::window(snapshot, site)?.or_more(facts::tcp_rmem_default(snapshot), "the kernel's default of");
    facts::advice(format!("4096 131072 {}", window.bytes), window.text)
}

fn tcp_wmem(snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    let window = facts::window(snapshot, site)?.or_more(facts::tcp_wmem_default(snapshot), "the kernel's default of");
    facts::advice(format!("4096 16384 {}", window.bytes), window.text)
}

#[cfg(test)]
mod tests {
    use crate::knobs::fixtures::*;

    #[test]
    fn the_greatest_follows_the_port_and_is_never_below_the_kernels() {
        for (id, least_and_initial, kernels_bytes) in
            [("net.ipv4.tcp_rmem", "4096 131072 ", 6_291_456), ("net.ipv4.tcp_wmem", "4096 16384 ", 4_194_304)]
        {
            for (gbit, bytes) in [(1, kernels_bytes), (25, 16 << 20), (400, 32 << 20)] {
                // One connection does not fill 400 Gb/s.
                let mut snapshot = machine();
                set_port_speeds(&mut snapshot, gbit);
                let advised = advised(id, &snapshot);
                assert_eq!(advised, Some(format!("{least_and_initial}{bytes}")), "{id} at {gbit} Gb/s");
            }
        }
    }
}
