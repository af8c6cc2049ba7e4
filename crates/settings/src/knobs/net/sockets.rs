//! Buffers of sockets, queues of packets: `net.core.*`.

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
            id: "net.core.rmem_max",
            locator: Locator::Sysctl { name: "net.core.rmem_max" },
            scope: Scope::Host,
            takes_effect: TakesEffect::NewSocket,
            // `net/core/sysctl_net_core.c: min_rcvbuf`, SOCK_MIN_RCVBUF: 2304 where words are of 64 bits.
            takes: domain::number(2304, domain::INT_MAX),
            default: "4194304 since Linux 6.18, 212992 before",
            summary: "Maximum receive buffer in bytes that a program may request with SO_RCVBUF; the kernel doubles \
                the requested size.",
            why: "It only affects programs that set SO_RCVBUF, which gives up autotuning by tcp_rmem. MinIO is one of \
                them: it requests 4 MiB on its listener, whose connections inherit the size (tested on 6.18: still the \
                listener's size after 3 GB, while a connection of another listener had grown to 22 MB), and on each \
                connection to a peer. With 212992 it stays at 416 KiB whatever tcp_rmem says; 416 KiB per 2 ms is 1.7 \
                Gb/s. So the advice is at least 4 MiB, more if bandwidth × delay is larger. The sources set 4 MiB, 16 \
                MiB and 256 MiB. A running MinIO keeps its listener and must be restarted, which no source mentions.",
            relief: RelievedResource::Links,
            relieves: "links: throughput of one connection",
            risk: "A program that requests this much gets it: memory up to the limit for each such socket, within \
                tcp_mem.",
            sources: &[
                "source 000, tuned profile",
                "source 002, network tuning",
                "source 003, full parameters",
                "source 003, partial parameters",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
                "Linux, net/core/sock.c: sk_setsockopt (SO_RCVBUF); measured on 6.18: shown in other namespaces, not \
                    writable there",
                "MinIO, internal/http/dial_linux.go and cmd/server-main.go: send-buf-size, recv-buf-size (4 MiB)",
            ],
            ..BASE
        },
        advise: Advise::Computed(facts::largest_request),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.wmem_max",
            locator: Locator::Sysctl { name: "net.core.wmem_max" },
            scope: Scope::Host,
            takes_effect: TakesEffect::NewSocket,
            // `net/core/sysctl_net_core.c: min_sndbuf`, SOCK_MIN_SNDBUF: 4608 where words are of 64 bits.
            takes: domain::number(4608, domain::INT_MAX),
            default: "4194304 since Linux 6.18, 212992 before",
            summary: "Maximum send buffer in bytes that a program may request with SO_SNDBUF; the kernel doubles the \
                requested size.",
            why: "It only affects programs that set SO_SNDBUF, which gives up autotuning by tcp_wmem. MinIO is one of \
                them: it requests 4 MiB on its listener, whose connections inherit the size, and on each connection to \
                a peer. With 212992 it stays at 416 KiB whatever tcp_wmem says; 416 KiB per 2 ms is 1.7 Gb/s. So the \
                advice is at least 4 MiB, more if bandwidth × delay is larger. The sources set 4 MiB, 16 MiB and 256 \
                MiB. A running MinIO keeps its listener and must be restarted, which no source mentions.",
            relief: RelievedResource::Links,
            relieves: "links: throughput of one connection",
            risk: "A program that requests this much gets it: memory up to the limit for each such socket, within \
                tcp_mem.",
            sources: &[
                "source 000, tuned profile",
                "source 002, network tuning",
                "source 003, full parameters",
                "source 003, partial parameters",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
                "Linux, net/core/sock.c: sk_setsockopt (SO_SNDBUF); measured on 6.18: shown in other namespaces, not \
                    writable there",
                "MinIO, internal/http/dial_linux.go and cmd/server-main.go: send-buf-size, recv-buf-size (4 MiB)",
            ],
            ..BASE
        },
        advise: Advise::Computed(facts::largest_request),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.rmem_default",
            locator: Locator::Sysctl { name: "net.core.rmem_default" },
            scope: Scope::Host,
            takes_effect: TakesEffect::NewSocket,
            // `net/core/sysctl_net_core.c: min_rcvbuf`, SOCK_MIN_RCVBUF: 2304 where words are of 64 bits.
            takes: domain::number(2304, domain::INT_MAX),
            default: "212992",
            summary: "Initial receive buffer in bytes of sockets whose protocol has no default of its own.",
            why: "TCP has its own default: the middle value of tcp_rmem. So 64 MiB (source 003) and 4 MiB (MinIO's \
                profile, not in source 000's text) do nothing for S3, and give every UDP and Unix socket of the \
                machine that much. The default is right.",
            relief: RelievedResource::Nothing,
            relieves: "nothing for TCP: datagram sockets",
            risk: "Large: memory of every datagram and Unix socket of the machine.",
            sources: &[
                "source 003, full parameters",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
                "Linux, net/core/sysctl_net_core.c: net_core_table (one value for all namespaces)",
                "Linux, net/ipv4/tcp.c: tcp_init_sock",
            ],
            ..BASE
        },
        advise: Advise::Constant("212992", "the default: TCP does not use it"),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.wmem_default",
            locator: Locator::Sysctl { name: "net.core.wmem_default" },
            scope: Scope::Host,
            takes_effect: TakesEffect::NewSocket,
            // `net/core/sysctl_net_core.c: min_sndbuf`, SOCK_MIN_SNDBUF: 4608 where words are of 64 bits.
            takes: domain::number(4608, domain::INT_MAX),
            default: "212992",
            summary: "Initial send buffer in bytes of sockets whose protocol has no default of its own.",
            why: "TCP has its own default: the middle value of tcp_wmem. So 64 MiB (source 003) and 4 MiB (MinIO's \
                profile, not in source 000's text) do nothing for S3, and give every UDP and Unix socket of the \
                machine that much. The default is right.",
            relief: RelievedResource::Nothing,
            relieves: "nothing for TCP: datagram sockets",
            risk: "Large: memory of every datagram and Unix socket of the machine.",
            sources: &[
                "source 003, full parameters",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
                "Linux, net/core/sysctl_net_core.c: net_core_table (one value for all namespaces)",
                "Linux, net/ipv4/tcp.c: tcp_init_sock",
            ],
            ..BASE
        },
        advise: Advise::Constant("212992", "the default: TCP does not use it"),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.optmem_max",
            locator: Locator::Sysctl { name: "net.core.optmem_max" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/core/sysctl_net_core.c: net_core_table`: an `int`; below zero no option could be set.
            takes: domain::number(0, domain::INT_MAX),
            default: "131072 since Linux 6.8, 20480 or 81920 before",
            summary: "Maximum ancillary memory of one socket in bytes: control messages, filters, zero-copy \
                notifications.",
            why: "It is not a data buffer, whatever sources say about many connections: 128 MiB (source 003) lets one \
                socket pin that much. 128 KiB is what the kernel chose for MSG_ZEROCOPY. Since 6.8 each namespace has \
                its own value and starts from the default; before, one value applied to the machine.",
            relief: RelievedResource::Sockets,
            relieves: "sockets with zero-copy sends: ENOBUFS",
            risk: "Large: kernel memory that a process can pin for each socket.",
            sources: &[
                "source 002, network tuning",
                "source 003, full parameters",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
                "Linux 6.8, net/core/sock.c (4944566706b2: increase optmem_max default value; f5769faeec36: \
                    Namespace-ify sysctl_optmem_max)",
            ],
            ..BASE
        },
        advise: Advise::Constant("131072", "the default since 6.8: it is not a data buffer"),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.somaxconn",
            locator: Locator::Sysctl { name: "net.core.somaxconn" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            // `net/core/sysctl_net_core.c: netns_core_table`: an `int`. The kernel takes zero, with which no queue of a
            // listener holds more than one connection (`sk_acceptq_is_full`).
            takes: domain::number(1, domain::INT_MAX),
            default: "4096 since Linux 5.4, 128 before",
            summary: "Maximum length of a listener's accept queue; it applies when listen() is called.",
            why: "A pod's namespace starts from 4096 whatever the value of the host: the sources' 8192, 16384 and \
                65535 on the host only reach engines with hostNetwork. Others need securityContext.sysctls before the \
                engine listens. Go requests the value that the file has at that time. The queue must hold all \
                connections that return at once after a restart of the node.",
            relief: RelievedResource::Accepting,
            relieves: "accepting: connections dropped while the queue is full",
            risk: "None: only waiting connections use memory.",
            sources: &[
                "source 000, OS table",
                "source 002, network tuning",
                "source 003, full parameters",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/core/net_namespace.c: preinit_net (SOMAXCONN); net/socket.c: __sys_listen",
                "Go, src/net/sock_linux.go: maxListenerBacklog",
            ],
            ..BASE
        },
        advise: Advise::Computed(somaxconn),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.netdev_max_backlog",
            locator: Locator::Sysctl { name: "net.core.netdev_max_backlog" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `net/core/sysctl_net_core.c: net_core_table`: an `int`; below zero every packet would be dropped.
            takes: domain::number(0, domain::INT_MAX),
            default: "1000",
            summary: "Maximum number of packets queued for one processor when RPS, veth or loopback hands them over; a \
                NIC's own queue does not use it.",
            why: "Source 000 and others call it the queue between NIC and kernel, but NAPI polls the NIC's ring and \
                bypasses it. It matters when RPS moves packets, and for veth pairs, through which pods without netkit \
                or eBPF host routing receive. The sources set 16384 and 250000. The advice is four times what arrives \
                in 10 ms at the node's rate, as GRO packets of 16 KiB shared by eight processors. A queue of 250000 \
                packets is seconds long before it drops.",
            relief: RelievedResource::Receiving,
            relieves: "receiving: drops in the second column of softnet_stat",
            risk: "Long queues: latency if a processor cannot keep up.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "source 002, network tuning",
                "source 003, full parameters",
                "source 003, partial parameters (A1)",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
                "Linux, net/core/dev.c: enqueue_to_backlog",
            ],
            ..BASE
        },
        advise: Advise::Computed(netdev_max_backlog),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.netdev_budget",
            locator: Locator::Sysctl { name: "net.core.netdev_budget" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `net/core/dev.c: net_rx_action`: an `int` of packets. The kernel takes zero, and ends each round after
            // one poll.
            takes: domain::number(1, domain::INT_MAX),
            default: "300",
            summary: "Maximum number of packets that one round of receive processing handles, over all queues of a \
                processor.",
            why: "A round ends at this limit or at netdev_budget_usecs, whichever comes first. Source 003 raises this \
                one to 1200 and leaves the other, so on a core slow enough to need it, the time limit ends the round \
                first. Raise both if softnet_stat counts squeezes (third column). The advice is 600 from 100 Gb/s on, \
                and the default below.",
            relief: RelievedResource::Receiving,
            relieves: "receiving: rounds that end before the queues are empty",
            risk: "Longer rounds delay other work of that processor.",
            sources: &[
                "source 003, full parameters",
                "source 003, partial parameters (A1)",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
                "Linux, net/core/dev.c: net_rx_action",
            ],
            ..BASE
        },
        advise: Advise::Computed(netdev_budget),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.netdev_budget_usecs",
            locator: Locator::Sysctl { name: "net.core.netdev_budget_usecs" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // An `int`, not below zero: `net/core/sysctl_net_core.c: net_core_table`.
            takes: domain::number(0, domain::INT_MAX),
            default: "two ticks: 2000 at HZ = 1000, 8000 at HZ = 250",
            summary: "Maximum duration of one round of receive processing in microseconds.",
            why: "No source sets it, so source 003's netdev_budget may have had no effect. From 100 Gb/s on, the \
                advice is 8000: two ticks at HZ = 250, the lowest common rate.",
            relief: RelievedResource::Receiving,
            relieves: "receiving: rounds that end before the queues are empty",
            risk: "Longer rounds delay other work of that processor.",
            sources: &["Linux, Documentation/admin-guide/sysctl/net.rst", "Linux 4.12, net/core/dev.c: net_rx_action"],
            since: Some((4, 12)),
            ..BASE
        },
        advise: Advise::Computed(netdev_budget_usecs),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.busy_read",
            locator: Locator::Sysctl { name: "net.core.busy_read" },
            scope: Scope::Host,
            takes_effect: TakesEffect::NewSocket,
            // An `int`, not below zero: `net/core/sysctl_net_core.c: net_core_table`.
            takes: domain::number(0, domain::INT_MAX),
            default: "0: off",
            summary: "Microseconds for which a blocking read may busy-poll a NIC's queue before it sleeps.",
            why: "The sources set 50. Go waits in epoll, which also busy-polls when busy_poll is set for the machine: \
                the thread that waits for all connections then occupies a core. busy_read helps a thread that blocks \
                in read on a single socket, which no server with thousands of connections does. Busy polling gains no \
                throughput for large objects and costs a core for each idle poller. The default, off, is right.",
            relief: RelievedResource::Latency,
            relieves: "latency of single small requests",
            risk: "One core for each waiting thread.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
                "Linux, net/core/sysctl_net_core.c: net_core_table (one value for all namespaces)",
                "Linux, fs/eventpoll.c: ep_busy_loop; include/net/busy_poll.h",
            ],
            also_called: &["net.core.busy_read net.core.busy_poll"],
            ..BASE
        },
        advise: Advise::Constant("0", "the default: busy polling would cost a Go server a core and gain no throughput"),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.busy_poll",
            locator: Locator::Sysctl { name: "net.core.busy_poll" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // An `int`, not below zero: `net/core/sysctl_net_core.c: net_core_table`.
            takes: domain::number(0, domain::INT_MAX),
            default: "0: off",
            summary: "Microseconds for which poll, select and epoll may busy-poll a NIC's queue before they sleep.",
            why: "The sources set 50. Go waits in epoll, which also busy-polls when busy_poll is set for the machine: \
                the thread that waits for all connections then occupies a core. busy_read helps a thread that blocks \
                in read on a single socket, which no server with thousands of connections does. Busy polling gains no \
                throughput for large objects and costs a core for each idle poller. The default, off, is right.",
            relief: RelievedResource::Latency,
            relieves: "latency of single small requests",
            risk: "One core for each waiting thread.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/sysctl/net.rst",
                "Linux, net/core/sysctl_net_core.c: net_core_table (one value for all namespaces)",
                "Linux, fs/eventpoll.c: ep_busy_loop; include/net/busy_poll.h",
            ],
            also_called: &["net.core.busy_read net.core.busy_poll"],
            ..BASE
        },
        advise: Advise::Constant("0", "the default: busy polling would cost a Go server a core and gain no throughput"),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.default_qdisc",
            locator: Locator::Sysctl { name: "net.core.default_qdisc" },
            scope: Scope::Host,
            takes_effect: TakesEffect::Reboot,
            // `net/sched/sch_*.c`: the disciplines that start without options (`sch_api.c: qdisc_create_dflt` gives
            // none).
            takes: Domain::Words(&[
                "pfifo_fast",
                "pfifo",
                "bfifo",
                "fq",
                "fq_codel",
                "fq_pie",
                "codel",
                "pie",
                "dualpi2",
                "cake",
                "sfq",
                "sfb",
                "hhf",
                "drr",
                "skbprio",
                "noqueue",
            ]),
            default: "pfifo_fast in the kernel; fq_codel with systemd",
            summary: "Default queueing discipline of new interfaces.",
            why: "fq paces each connection and separates connections from each other. BBR needs it before 4.20, and \
                with cubic it causes fewer drops in shallow switch buffers. Interfaces with several queues get mq with \
                this discipline for each queue. It only applies to interfaces that are created afterwards, so a node \
                needs a reboot. Cilium's bandwidth manager sets fq itself.",
            relief: RelievedResource::Links,
            relieves: "links: bursts into shallow buffers",
            risk: "A little processor time per packet.",
            sources: &[
                "Linux, net/sched/sch_generic.c: attach_default_qdiscs; Documentation/admin-guide/sysctl/net.rst",
            ],
            ..BASE
        },
        advise: Advise::Computed(default_qdisc),
    },
    KnobRow {
        knob: Knob {
            id: "net.core.rps_sock_flow_entries",
            locator: Locator::Sysctl { name: "net.core.rps_sock_flow_entries" },
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            // `net/core/sysctl_net_core.c: rps_sock_flow_sysctl`.
            takes: domain::number(0, 1 << 29),
            default: "0: off",
            summary: "Entries of the global flow table of receive flow steering (RFS), which records the processor \
                that reads each flow.",
            why: "Source 002 advises RPS and RFS if one queue is too slow. RFS needs both this and nic.rps_flow_cnt. \
                If a NIC has enough queues for its processors, RSS distributes flows in hardware, and RFS costs more \
                than it gains: the advice is off. With a single queue (small virtual machines), it is 32768, the value \
                in the documentation.",
            relief: RelievedResource::Processors,
            relieves: "processor: one core that receives for all",
            risk: "Interrupts between processors; memory for the table.",
            sources: &[
                "source 002, network tuning",
                "Linux, Documentation/networking/scaling.rst",
                "Linux, net/core/sysctl_net_core.c: net_core_table (one value for all namespaces)",
            ],
            also_called: &["RFS"],
            ..BASE
        },
        advise: Advise::Computed(rps_sock_flow_entries),
    },
];

fn somaxconn(snapshot: &Snapshot, site: &Site, place: &SettingId) -> Option<Advice> {
    let connections = facts::connections(site);
    let wanted = connections.next_power_of_two().clamp(4096, 65_535);
    facts::at_least(snapshot, place, wanted, format!("{connections} connections of a node may return at once"))
}

/// The least and the most packets that are advised.
const BACKLOG_LEAST: u64 = 1024;
const BACKLOG_MOST: u64 = 65_536;

fn netdev_max_backlog(snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    let bits_per_s = facts::node_bits_per_s(snapshot, site);
    if bits_per_s <= 0.0 {
        // Of ports whose speed nobody knows nothing follows.
        return None;
    }
    let packets = (bits_per_s / 8.0 * 0.01 / 16_384.0 / 8.0 * 4.0) as u64;
    let power = packets.next_power_of_two();
    let bound = match power {
        ..BACKLOG_LEAST => format!(", raised to the minimum of {BACKLOG_LEAST}"),
        BACKLOG_LEAST..=BACKLOG_MOST => String::new(),
        _ => format!(", limited to {BACKLOG_MOST}"),
    };
    let rate = facts::rate(bits_per_s);
    let why = format!(
        "four times the GRO packets of 10 ms at {rate} over eight processors is {packets}, rounded up to \
         a power of two {power}{bound}"
    );
    facts::advice(power.clamp(BACKLOG_LEAST, BACKLOG_MOST), why)
}

fn netdev_budget(snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    let fast = facts::node_bits_per_s(snapshot, site) >= 100e9;
    if fast { facts::advice(600, "from 100 Gb/s on") } else { facts::advice(300, "the default: below 100 Gb/s") }
}

fn netdev_budget_usecs(snapshot: &Snapshot, site: &Site, place: &SettingId) -> Option<Advice> {
    let fast = facts::node_bits_per_s(snapshot, site) >= 100e9;
    if !fast {
        return None;
    }
    facts::at_least(snapshot, place, 8000, "netdev_budget is raised, and the time limit must not end a round first")
}

fn default_qdisc(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let offered = facts::choices(snapshot, place);
    if !offered.is_empty() && !offered.iter().any(|name| name == "fq") {
        return None;
    }
    facts::advice("fq", "it paces connections and separates them from each other")
}

fn rps_sock_flow_entries(snapshot: &Snapshot, _site: &Site, _place: &SettingId) -> Option<Advice> {
    if facts::is_single_queue(snapshot) {
        return facts::advice(32_768, "the NIC has one queue: software distributes received packets");
    }
    facts::advice(0, "the default: the NIC distributes flows over its queues")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn what_minio_asks_for_is_granted_and_faster_links_get_more() {
        for id in ["net.core.rmem_max", "net.core.wmem_max"] {
            let mut snapshot = machine();
            let slow = number(advised_at(id, &snapshot, "212992"));
            assert!(slow >= 4 << 20, "{id}: {slow}");
            set_port_speeds(&mut snapshot, 400);
            let fast = number(advised_at(id, &snapshot, "212992"));
            assert!(fast > slow, "{id}: {fast} {slow}");
            assert_eq!(advised_at(id, &snapshot, "268435456").as_deref(), Some("268435456"), "{id}");
        }
    }

    #[test]
    fn a_socket_may_not_pin_128_mib() {
        assert_eq!(advised_at("net.core.optmem_max", &machine(), "134217728").as_deref(), Some("131072"));
    }

    #[test]
    fn all_connections_of_a_node_fit() {
        let id = "net.core.somaxconn";
        let mut site = site();
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("4096"));
        site.clients.count = 2000;
        assert_eq!(advised_at_site(id, &machine(), &site).as_deref(), Some("65535"));
    }

    #[test]
    fn nothing_follows_from_ports_whose_speed_nobody_knows_and_bounds_are_named() {
        let (mut snapshot, mut site) = (machine(), site());
        let place = place("net.core.netdev_max_backlog", None);
        let fast = netdev_max_backlog(&snapshot, &site, &place).expect("speeds are known");
        assert!(
            fast.why.starts_with("four times ") && fast.why.ends_with("is 1945, rounded up to a power of two 2048"),
            "{fast:?}"
        );
        set_port_speeds(&mut snapshot, 1);
        let slower = netdev_max_backlog(&snapshot, &site, &place).expect("speeds are known");
        assert!(slower.value == "1024" && slower.why.ends_with(", raised to the minimum of 1024"), "{slower:?}");
        snapshot.machine.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = None);
        site.groups.iter_mut().flat_map(|group| &mut group.nics).for_each(|nic| nic.speed_bits_per_s = 0.0);
        assert_eq!(netdev_max_backlog(&snapshot, &site, &place), None);
    }

    #[test]
    fn faster_ports_have_longer_queues() {
        let id = "net.core.netdev_max_backlog";
        let mut snapshot = machine();
        let slow = number(advised(id, &snapshot));
        set_port_speeds(&mut snapshot, 400);
        let fast = number(advised(id, &snapshot));
        assert!(slow < fast && fast <= 65_536, "{slow} {fast}");
    }

    #[test]
    fn only_fast_nodes_get_longer_rounds() {
        let id = "net.core.netdev_budget";
        let mut snapshot = machine();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("300"));
        set_port_speeds(&mut snapshot, 100);
        assert_eq!(advised(id, &snapshot).as_deref(), Some("600"));
    }

    #[test]
    fn time_is_given_where_packets_are() {
        let id = "net.core.netdev_budget_usecs";
        let mut snapshot = machine();
        assert_eq!(advised_at(id, &snapshot, "2000"), None);
        set_port_speeds(&mut snapshot, 100);
        assert_eq!(advised_at(id, &snapshot, "2000").as_deref(), Some("8000"));
    }

    #[test]
    fn software_spreads_only_where_the_nic_cannot() {
        let id = "net.core.rps_sock_flow_entries";
        let mut snapshot = machine();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("0"));
        set(&mut snapshot, "nic.channels", Some("ens1f0"), "1");
        assert_eq!(advised(id, &snapshot).as_deref(), Some("32768"));
    }
}
