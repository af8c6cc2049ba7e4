//! Ports, redirects, IPv6 and neighbours: the other settings of `net.ipv4` and `net.ipv6`.

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
            id: "net.ipv4.ip_local_port_range",
            locator: Locator::Sysctl { name: "net.ipv4.ip_local_port_range" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            // `net/ipv4/sysctl_net_ipv4.c: ipv4_local_port_range`.
            takes: Domain::Rising { count: 2, least: 1, most: 65_535 },
            default: "32768 60999",
            summary: "Range of local ports for outgoing connections.",
            why: "Source 000 sets 1024 65535. An outgoing connection of the host may then use 9000, 10250 or a \
                NodePort (30000–32767) before its server listens, and the server fails to start with \"address in \
                use\" until the connection closes. Ports run out per destination address and port: there are 28232 for \
                each, enough for any connection pool. If more are needed, reserve the servers' ports first \
                (net.ipv4.ip_local_reserved_ports). The default is right.",
            relief: RelievedResource::Ports,
            relieves: "ports: EADDRNOTAVAIL on clients",
            risk: "Wide: servers that cannot bind their port.",
            sources: &[
                "source 000, tuned profile",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Kubernetes, --service-node-port-range (30000-32767); kubelet (10250)",
            ],
            ..BASE
        },
        advise: Advise::Constant("32768 60999", "the default: above the NodePorts, with 28232 ports per destination"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.ip_local_reserved_ports",
            locator: Locator::Sysctl { name: "net.ipv4.ip_local_reserved_ports" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            // `kernel/sysctl.c: proc_do_large_bitmap`.
            takes: Domain::Ports,
            default: "empty",
            summary: "Ports that are never used for outgoing connections.",
            why: "An outgoing connection must not use a port that a server of the node binds: S3 (9000, 9001), kubelet \
                (10250), etcd (2379, 2380), the API server (6443), NodePorts. Only ports within ip_local_port_range \
                matter. With the default range there are none, and nothing is advised; a range that starts lower makes \
                the reservation necessary. Existing reservations are kept.",
            relief: RelievedResource::Ports,
            relieves: "ports: servers that cannot bind their port",
            risk: "Fewer ports for outgoing connections.",
            sources: &[
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Kubernetes, ports and protocols; --service-node-port-range (30000-32767)",
                "Linux 3.16, net/ipv4/inet_connection_sock.c (122ff243f5f1: ipv4: make ip_local_reserved_ports per \
                    netns)",
            ],
            ..BASE
        },
        advise: Advise::Computed(ip_local_reserved_ports),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.conf.all.send_redirects",
            locator: Locator::Sysctl { name: "net.ipv4.conf.all.send_redirects" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv4/devinet.c: devinet_conf_proc` takes any `int` and tells 0 from others.
            takes: domain::SWITCH,
            default: "1",
            summary: "Whether a router sends ICMP redirects.",
            why: "A node that forwards for pods would tell its neighbours to bypass it. Source 003 and most router \
                guides set 0 for security; it does not affect performance. An interface sends redirects if either \
                `all` or the interface allows it, so interfaces whose own value is 1 still send them. A new namespace \
                copies the value from the initial one (net.core.devconf_inherit_init_net = 0).",
            relief: RelievedResource::Nothing,
            relieves: "nothing: hardening",
            risk: "Hosts that rely on redirects keep using the longer path.",
            sources: &[
                "source 003, full parameters",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/devinet.c: devinet_init_net; measured on 6.18: copied when a namespace is made",
            ],
            ..BASE
        },
        advise: Advise::Constant("0", "hardening, as in source 003; no effect on performance"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.conf.all.accept_redirects",
            locator: Locator::Sysctl { name: "net.ipv4.conf.all.accept_redirects" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv4/devinet.c: devinet_conf_proc` takes any `int` and tells 0 from others.
            takes: domain::SWITCH,
            default: "1",
            summary: "Whether the host accepts ICMP redirects.",
            why: "Source 003 sets 0 for security; it does not affect performance. On a node that forwards, the kernel \
                accepts redirects only if both `all` and the interface allow it, so 0 here is enough for every \
                interface, also those of a CNI. A new namespace copies the value from the initial one \
                (net.core.devconf_inherit_init_net = 0).",
            relief: RelievedResource::Nothing,
            relieves: "nothing: hardening",
            risk: "Hosts that rely on redirects do not follow them.",
            sources: &[
                "source 003, full parameters",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/devinet.c: devinet_init_net; measured on 6.18: copied when a namespace is made",
            ],
            ..BASE
        },
        advise: Advise::Constant("0", "hardening, as in source 003; no effect on performance"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.conf.all.accept_source_route",
            locator: Locator::Sysctl { name: "net.ipv4.conf.all.accept_source_route" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv4/devinet.c: devinet_conf_proc` takes any `int` and tells 0 from others.
            takes: domain::SWITCH,
            default: "0",
            summary: "Whether packets with a source route are accepted.",
            why: "Source 003 sets 0, which is the default of `all`, for security; it does not affect performance. An \
                interface accepts such packets only if both `all` and the interface allow it, so 0 here is enough for \
                every interface, also those of a CNI. A new namespace copies the value from the initial one \
                (net.core.devconf_inherit_init_net = 0).",
            relief: RelievedResource::Nothing,
            relieves: "nothing: hardening",
            risk: "None.",
            sources: &[
                "source 003, full parameters",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/devinet.c: devinet_init_net; measured on 6.18: copied when a namespace is made",
            ],
            ..BASE
        },
        advise: Advise::Constant("0", "hardening, as in source 003; no effect on performance"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv6.conf.all.disable_ipv6",
            locator: Locator::Sysctl { name: "net.ipv6.conf.all.disable_ipv6" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv6/addrconf.c: addrconf_sysctl_disable` tells 0 from others.
            takes: domain::SWITCH,
            default: "0",
            summary: "Whether IPv6 is disabled on all interfaces.",
            why: "Source 000 sets 1 without giving a reason. It removes the addresses of every interface at once, also \
                those of the CNI and ::1 of loopback, on which programs listen; Cilium needs IPv6 for IPv6 BIG TCP. \
                Leaving IPv6 enabled costs nothing. The default of 0 is right, but nothing is advised: if someone \
                disabled IPv6, it stays disabled.",
            relief: RelievedResource::Nothing,
            relieves: "nothing",
            risk: "A change adds or removes addresses of every interface at once.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Cilium, Documentation/operations/performance/tuning.rst (IPv6 BIG TCP)",
            ],
            also_called: &["net.ipv6.conf.*.disable_ipv6"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv6.conf.default.disable_ipv6",
            locator: Locator::Sysctl { name: "net.ipv6.conf.default.disable_ipv6" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewNamespace,
            // `net/ipv6/addrconf.c: addrconf_sysctl_disable` tells 0 from others.
            takes: domain::SWITCH,
            default: "0",
            summary: "Whether IPv6 is disabled on new interfaces.",
            why: "See net.ipv6.conf.all.disable_ipv6. Unlike the IPv4 values, those of IPv6 are not copied into new \
                namespaces unless net.core.devconf_inherit_init_net requests it, so pods have IPv6 whatever the \
                default of the host.",
            relief: RelievedResource::Nothing,
            relieves: "nothing",
            risk: "New interfaces differ from existing ones in whether they have IPv6.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv6/addrconf.c: addrconf_init_net",
            ],
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.neigh.default.gc_thresh1",
            locator: Locator::Sysctl { name: "net.ipv4.neigh.default.gc_thresh1" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `net/core/neighbour.c: neigh_sysctl_template`: 0 to INT_MAX.
            takes: domain::number(0, domain::INT_MAX),
            default: "128",
            summary: "Number of neighbour (ARP) entries below which none is removed.",
            why: "No source mentions it, but if pods are neighbours, the 251 nodes of source 000 with 200 pods each \
                exceed 1024 entries: the kernel logs \"neighbour table overflow\", and connections fail at random. One \
                count covers all namespaces of the machine, and only the initial namespace shows it. The advice is a \
                quarter of gc_thresh3.",
            relief: RelievedResource::Links,
            relieves: "links: connections that fail at random",
            risk: "400 bytes for each entry.",
            sources: &[
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/core/neighbour.c: neigh_alloc; measured on 6.18: absent in other namespaces",
            ],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, site, place| neighbours(snapshot, site, place, 4)),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.neigh.default.gc_thresh2",
            locator: Locator::Sysctl { name: "net.ipv4.neigh.default.gc_thresh2" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `net/core/neighbour.c: neigh_sysctl_template`: 0 to INT_MAX.
            takes: domain::number(0, domain::INT_MAX),
            default: "512",
            summary: "Number of neighbour (ARP) entries above which entries older than five seconds are removed.",
            why: "No source mentions it, but if pods are neighbours, the 251 nodes of source 000 with 200 pods each \
                exceed 1024 entries: the kernel logs \"neighbour table overflow\", and connections fail at random. One \
                count covers all namespaces of the machine, and only the initial namespace shows it. The advice is \
                half of gc_thresh3.",
            relief: RelievedResource::Links,
            relieves: "links: connections that fail at random",
            risk: "400 bytes for each entry.",
            sources: &[
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/core/neighbour.c: neigh_alloc; measured on 6.18: absent in other namespaces",
            ],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, site, place| neighbours(snapshot, site, place, 2)),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.neigh.default.gc_thresh3",
            locator: Locator::Sysctl { name: "net.ipv4.neigh.default.gc_thresh3" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `net/core/neighbour.c: neigh_sysctl_template`: 0 to INT_MAX.
            takes: domain::number(0, domain::INT_MAX),
            default: "1024",
            summary: "Maximum number of neighbour (ARP) entries, in all namespaces together.",
            why: "No source mentions it, but if pods are neighbours, the 251 nodes of source 000 with 200 pods each \
                exceed 1024 entries: the kernel logs \"neighbour table overflow\", and connections fail at random. One \
                count covers all namespaces of the machine, and only the initial namespace shows it. The advice is \
                eight times the number of nodes and clients, at least 8192.",
            relief: RelievedResource::Links,
            relieves: "links: connections that fail at random",
            risk: "400 bytes for each entry.",
            sources: &[
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/core/neighbour.c: neigh_alloc; measured on 6.18: absent in other namespaces",
            ],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, site, place| neighbours(snapshot, site, place, 1)),
    },
];

/// etcd, the API server, S3 and its console, the kubelet, NodePorts.
const SERVERS: &str = "2379-2380,6443,9000-9001,10250,30000-32767";

fn ip_local_reserved_ports(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let range = facts::other_setting(snapshot, "net.ipv4.ip_local_port_range", place).unwrap_or("32768 60999");
    let lowest: u32 = range.split_whitespace().next()?.parse().ok()?;
    let present = facts::text(snapshot, place).unwrap_or_default();
    if lowest > 32_767 || !present.is_empty() {
        return None;
    }
    facts::advice(SERVERS, format!("outgoing connections may use ports from {lowest} on"))
}

/// A part of the greatest number of entries: all of them, half or a quarter.
fn neighbours(snapshot: &Snapshot, site: &Site, place: &SettingId, divisor: u64) -> Option<Advice> {
    let peers = u64::from(site.nodes()) + u64::from(site.clients.count);
    let most = (8 * peers).next_power_of_two().clamp(8192, 1 << 17);
    facts::at_least(snapshot, place, most / divisor, format!("for {peers} nodes and clients with their pods"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn the_sources_range_is_not_followed() {
        assert_eq!(
            advised_at("net.ipv4.ip_local_port_range", &machine(), "1024\t65535").as_deref(),
            Some("32768 60999")
        );
    }

    #[test]
    fn servers_ports_are_reserved_once_clients_may_take_them() {
        let id = "net.ipv4.ip_local_reserved_ports";
        let mut snapshot = machine();
        let range = "net.ipv4.ip_local_port_range";
        assert_eq!(advised_at(id, &snapshot, ""), None);
        set(&mut snapshot, range, None, "1024\t65535");
        assert_eq!(advised_at(id, &snapshot, "").as_deref(), Some(SERVERS));
        assert_eq!(advised_at(id, &snapshot, "8080"), None, "somebody has thought of it");
    }

    #[test]
    fn large_sites_have_more_neighbours() {
        let id = "net.ipv4.neigh.default.gc_thresh3";
        let mut site = site();
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("8192"));
        site.clients.count = 4000;
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("32768"));
    }
}
