//! TCP: `net.ipv4.tcp_*` but for buffers.

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
            id: "net.ipv4.tcp_mtu_probing",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_mtu_probing" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            // `Documentation/networking/ip-sysctl.rst`: off, after a black hole, always.
            takes: domain::number(0, 2),
            default: "0",
            summary: "Whether TCP determines the MTU of a path by probing: never (0), once a black hole is suspected \
                (1), always (2).",
            why: "The advice is 1, as in every source that sets it: it costs nothing until retransmissions time out, \
                and then saves connections over overlays or jumbo frames whose ICMP is filtered. Each namespace has \
                its own value and starts from the default: the host's 1 does not reach pods, so source 003's A4 may \
                well have compared identical settings.",
            relief: RelievedResource::Links,
            relieves: "links: connections that hang on lost large packets",
            risk: "A path with much loss may be probed down to small segments.",
            sources: &[
                "source 000, tuned profile",
                "source 002, network tuning",
                "source 003, full parameters",
                "source 003, partial parameters (A4)",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init",
                "Linux, net/ipv4/tcp_timer.c: tcp_mtu_probing; measured on 6.18",
            ],
            ..BASE
        },
        advise: Advise::Constant("1", "it detects MTU black holes of overlays and jumbo frames"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_base_mss",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_base_mss" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            // `include/net/tcp.h`: TCP_MIN_SND_MSS is what less comes to; the option of a segment has 16 bits.
            takes: domain::number(48, 65535),
            default: "1024 since Linux 4.1",
            summary: "Initial segment size in bytes for MTU probing.",
            why: "Source 000 sets 1280, which is the minimum MTU of IPv6 rather than an MSS; 1280 − 60 would fit. It \
                only applies after a black hole is detected. 1024 fits every path, so the default is advised.",
            relief: RelievedResource::Links,
            relieves: "links: first segments after a black hole",
            risk: "Larger segments may not pass a path with several tunnels.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, include/net/tcp.h: TCP_BASE_MSS",
            ],
            also_called: &["tcp_base_mss"],
            ..BASE
        },
        advise: Advise::Constant("1024", "the default: it fits every path; 1280 is an MTU rather than a segment size"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_fin_timeout",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_fin_timeout" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least;
            // a machine's own number is looked at where it is read.
            takes: domain::number(0, 21_474_836),
            default: "60",
            summary: "Seconds that an orphaned connection stays in FIN_WAIT_2.",
            why: "The sources set 20, 30 and 5 to shorten TIME_WAIT, but that is a constant of 60 s, which this does \
                not change. An orphaned connection only stays in FIN_WAIT_2 if the peer does not close, which is rare \
                among S3 clients. The default is right.",
            relief: RelievedResource::Ports,
            relieves: "ports and memory: peers that do not close",
            risk: "Short: late data from slow peers is answered with a reset.",
            sources: &[
                "source 000, tuned profile",
                "source 002, network tuning",
                "source 003, full parameters",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, include/net/tcp.h: TCP_TIMEWAIT_LEN; net/ipv4/tcp.c: tcp_fin_time",
            ],
            ..BASE
        },
        advise: Advise::Constant("60", "the default: it does not shorten TIME_WAIT"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_tw_reuse",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_tw_reuse" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: off, on, for loopback alone.
            takes: domain::number(0, 2),
            default: "2 since Linux 4.19 (loopback only), 0 before",
            summary: "Whether a new outgoing connection may reuse a port that has been in TIME_WAIT for a second: no \
                (0), yes (1), on loopback (2).",
            why: "The sources set 1. It is safe if both ends use timestamps; source 000 turns these off, and then it \
                has no effect. It helps hosts that open many connections to few addresses, such as clients and gateway \
                pods, and not a server that accepts connections. The advice is 1: it only matters when ports run out.",
            relief: RelievedResource::Ports,
            relieves: "ports: EADDRNOTAVAIL on clients",
            risk: "None known if timestamps are on.",
            sources: &[
                "source 002, network tuning",
                "source 003, full parameters",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/tcp_ipv4.c: tcp_twsk_unique",
            ],
            ..BASE
        },
        advise: Advise::Constant("1", "ports in TIME_WAIT are reused when others run out"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_max_tw_buckets",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_max_tw_buckets" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: an `int`.
            takes: domain::number(0, domain::INT_MAX),
            default: "half of the entries of the established hash: 131072 on large machines; 16384 and less on small \
                ones",
            summary: "Maximum number of connections in TIME_WAIT in a namespace; any more are destroyed at once.",
            why: "Source 003 sets 2000000, up from 16384 on its virtual machine. Ending TIME_WAIT early is legal, and \
                is logged. S3 clients keep their connections. A closed connection stays for a minute: the advice is \
                enough for eight times the connections of a node, as if each were closed every 7.5 seconds, and at \
                least 131072. An entry takes 256 bytes.",
            relief: RelievedResource::Nothing,
            relieves: "nothing but log messages, unless old segments reach a new connection",
            risk: "256 bytes per entry.",
            sources: &[
                "source 003, full parameters",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/inet_timewait_sock.c: inet_twsk_alloc; tcp_sk_init",
            ],
            ..BASE
        },
        advise: Advise::Computed(tcp_max_tw_buckets),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_max_syn_backlog",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_max_syn_backlog" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: an `int`; below zero every SYN would be too many.
            takes: domain::number(0, domain::INT_MAX),
            default: "hash entries / 128, at least 128: 2048 or 4096 on large machines",
            summary: "Half-open connections near which a listener, with syncookies off, only accepts peers that it has \
                known before.",
            why: "Source 000 sets 16384 under the name tcp_syn_backlog, which does not exist, and 65535 elsewhere; \
                source 003 sets 30000. With syncookies on it has no effect: the backlog of the listener also limits \
                half-open connections. The advice is the same value as for somaxconn.",
            relief: RelievedResource::Accepting,
            relieves: "accepting: SYNs dropped while the queue is full",
            risk: "300 bytes for each half-open connection.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "source 003, full parameters",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/tcp_input.c: tcp_conn_request; inet_csk_reqsk_queue_is_full",
            ],
            also_called: &["net.ipv4.tcp_syn_backlog"],
            ..BASE
        },
        advise: Advise::Computed(tcp_max_syn_backlog),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_syncookies",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_syncookies" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `Documentation/networking/ip-sysctl.rst`: never, when a queue is full, always.
            takes: domain::number(0, 2),
            default: "1",
            summary: "Whether a listener answers SYNs with cookies: when its queue is full (1), never (0), always (2).",
            why: "Source 000 sets 0 in two places, once as \"performance up, security down\". Cookies are used only \
                when the queue is full; until then 0 and 1 behave the same. When it is full, 0 drops connections and 1 \
                accepts them. The advice is 1.",
            relief: RelievedResource::Accepting,
            relieves: "accepting: connections lost while the SYN queue is full",
            risk: "Without timestamps, connections accepted by cookie lack TCP options.",
            sources: &[
                "source 000, OS table",
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/tcp_input.c: tcp_conn_request",
            ],
            ..BASE
        },
        advise: Advise::Constant("1", "it only acts when the queue is full; 0 would then drop connections"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_timestamps",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_timestamps" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            // `Documentation/networking/ip-sysctl.rst`: off, with a random offset, without.
            takes: domain::number(0, 2),
            default: "1",
            summary: "Whether segments carry timestamps, 12 bytes each.",
            why: "Source 000 sets 0 to save processor time. Timestamps take 12 bytes of each segment (0.8 % with an \
                MTU of 1500, 0.13 % with 9000). They protect against wrapped sequence numbers, which wrap in 1.4 s at \
                25 Gb/s, allow round-trip times of retransmissions to be measured, and are needed by tcp_tw_reuse. The \
                advice is 1.",
            relief: RelievedResource::Links,
            relieves: "links: 12 bytes per packet; correctness at high rates",
            risk: "Off: at high rates, old segments may be accepted as new.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "RFC 7323, section 5 (PAWS)",
            ],
            ..BASE
        },
        advise: Advise::Constant("1", "at 25 Gb/s, sequence numbers wrap in 1.4 s"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_sack",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_sack" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            // `Documentation/networking/ip-sysctl.rst`: a switch.
            takes: domain::SWITCH,
            default: "1",
            summary: "Whether selective acknowledgements are offered.",
            why: "It has been on by default for twenty years; source 000 sets the default. Without it, each loss at \
                high rates costs a window.",
            relief: RelievedResource::Links,
            relieves: "links: recovery from loss",
            risk: "Off: slow recovery.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/networking/ip-sysctl.rst",
            ],
            ..BASE
        },
        advise: Advise::Constant("1", "only lost segments are sent again"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_window_scaling",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_window_scaling" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            // `Documentation/networking/ip-sysctl.rst`: a switch.
            takes: domain::SWITCH,
            default: "1",
            summary: "Whether windows above 64 KiB are offered.",
            why: "No source mentions it, but every buffer size in them depends on it: without it, a connection has at \
                most 64 KiB in flight, which is 0.26 Gb/s at 2 ms.",
            relief: RelievedResource::Links,
            relieves: "links: throughput of one connection",
            risk: "Off: at most 64 KiB in flight.",
            sources: &["Linux, Documentation/networking/ip-sysctl.rst"],
            ..BASE
        },
        advise: Advise::Constant("1", "without it, buffers above 64 KiB are unused"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_low_latency",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_low_latency" },
            scope: Scope::Host,
            takes_effect: TakesEffect::Never,
            // `net/ipv4/sysctl_net_ipv4.c`: an `int` that was a switch.
            takes: domain::SWITCH,
            default: "0",
            summary: "A sysctl that the kernel keeps and ignores.",
            why: "Sources 000 and 003 set 1. It disabled the prequeue, which was removed in 4.14; since then the file \
                exists without effect. Nothing is advised.",
            relief: RelievedResource::Nothing,
            relieves: "nothing",
            risk: "None: it has no effect.",
            sources: &[
                "source 000, tuned profile",
                "source 003, full parameters",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/networking/ip-sysctl.rst (legacy option)",
                "Linux 4.14, net/ipv4/tcp.c (e7942d0633c4: tcp: remove prequeue support); measured on 6.18: one value, \
                    absent in other namespaces",
            ],
            until: Some((4, 14)),
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_adv_win_scale",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_adv_win_scale" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::Never,
            // `net/ipv4/sysctl_net_ipv4.c: tcp_adv_win_scale_min, tcp_adv_win_scale_max`.
            takes: domain::number(-31, 31),
            default: "1",
            summary: "Share of the receive buffer that is reserved for overhead and not advertised as window.",
            why: "Sources 000 and 003 set 1, the default, which changes nothing on any kernel. Since 6.6 the kernel \
                measures the overhead of each socket and ignores the value, although the file still exists in each \
                namespace.",
            relief: RelievedResource::Nothing,
            relieves: "nothing since Linux 6.6",
            risk: "None.",
            sources: &[
                "source 000, tuned profile",
                "source 003, full parameters",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/networking/ip-sysctl.rst (\"Obsolete since linux-6.6\")",
                "Linux 6.6, include/net/tcp.h (dfa2f0483360: tcp: get rid of sysctl_tcp_adv_win_scale)",
            ],
            until: Some((6, 6)),
            ..BASE
        },
        advise: Advise::Constant("1", "the default, on kernels that still use it"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_slow_start_after_idle",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_slow_start_after_idle" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `Documentation/networking/ip-sysctl.rst`: a switch.
            takes: domain::SWITCH,
            default: "1",
            summary: "Whether a connection that was idle for a retransmission timeout starts again from a small \
                window.",
            why: "The advice is 0, as in source 000: pooled connections are idle for more than 200 ms between objects, \
                and within one site the path does not change meanwhile.",
            relief: RelievedResource::Latency,
            relieves: "latency: first round trips of each object",
            risk: "A burst into a path that other connections have filled meanwhile.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init",
            ],
            ..BASE
        },
        advise: Advise::Constant("0", "pooled connections keep their window between objects"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_congestion_control",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_congestion_control" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewNamespace,
            // What there is, tcp_available_congestion_control says, and the machine is asked.
            takes: Domain::Text("the name of a congestion control such as cubic"),
            default: "cubic in most builds",
            summary: "Congestion control of new connections.",
            why: "No source mentions it. cubic fills a path in a data centre and shares it fairly. bbr needs pacing \
                and is starved by cubic in shallow buffers; dctcp needs ECN marks from every switch. Nothing is \
                advised: keep cubic unless all ends change together. A new namespace copies the value from the initial \
                one.",
            relief: RelievedResource::Links,
            relieves: "links: fairness and recovery",
            risk: "Another algorithm on one side only may starve the other.",
            sources: &[
                "Linux, Documentation/networking/ip-sysctl.rst",
                "Linux, net/ipv4/tcp_ipv4.c: tcp_sk_init (bpf_try_module_get of init_net's); measured on 6.18",
            ],
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_notsent_lowat",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_notsent_lowat" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: an `unsigned int`.
            takes: domain::number(0, u32::MAX as i128),
            default: "4294967295: no limit",
            summary: "Unsent bytes in a socket above which it does not report that it is writable.",
            why: "No source mentions it. A limit reduces the memory in send buffers and wakes the sender more often. \
                For objects of megabytes over fast links, the default is right.",
            relief: RelievedResource::Memory,
            relieves: "memory: send buffers",
            risk: "Low: more wake-ups.",
            sources: &["Linux, Documentation/networking/ip-sysctl.rst"],
            ..BASE
        },
        advise: Advise::Constant("4294967295", "the default: fewer wake-ups"),
    },
    KnobRow {
        knob: Knob {
            id: "net.ipv4.tcp_keepalive_time",
            locator: Locator::Sysctl { name: "net.ipv4.tcp_keepalive_time" },
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::AtOnce,
            // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds as an `int` of ticks, of which there are 100 at least.
            takes: domain::number(1, 21_474_836),
            default: "7200",
            summary: "Seconds of idleness before a connection with keep-alive is probed, unless its program sets its \
                own interval.",
            why: "MinIO sets 15 s on its own sockets, and Go does so by default. A program that relies on the kernel's \
                two hours silently loses idle connections behind a firewall, or with a conntrack timeout of one hour \
                (source 002). 600 is below all of these.",
            relief: RelievedResource::Links,
            relieves: "links: idle connections that are dropped silently",
            risk: "One probe every ten minutes for each idle connection with keep-alive.",
            sources: &[
                "Linux, Documentation/networking/ip-sysctl.rst",
                "MinIO, internal/http/dial_linux.go",
                "source 002, network tuning",
            ],
            ..BASE
        },
        advise: Advise::Constant("600", "it is below the timeouts of firewalls and conntrack"),
    },
];

/// How often a connection is closed and made anew in the minute of TIME_WAIT: chosen, for clients that keep theirs for
/// some seconds.
const CLOSED_IN_A_MINUTE: u64 = 8;
/// The kernel's default on large machines.
const TIME_WAIT_LEAST: u64 = 131_072;
/// 512 MiB of entries.
const TIME_WAIT_MOST: u64 = 2 << 20;

fn tcp_max_tw_buckets(snapshot: &Snapshot, site: &Site, place: &SettingId) -> Option<Advice> {
    let connections = facts::connections(site);
    let closed = connections.saturating_mul(CLOSED_IN_A_MINUTE);
    let power = closed.checked_next_power_of_two().unwrap_or(TIME_WAIT_MOST);
    let wanted = power.clamp(TIME_WAIT_LEAST, TIME_WAIT_MOST);
    let bound = match power {
        ..TIME_WAIT_LEAST => {
            format!("the advice is at least {TIME_WAIT_LEAST}, the kernel's default on large machines")
        }
        TIME_WAIT_LEAST..=TIME_WAIT_MOST => format!("rounded up to a power of two {power}"),
        _ => format!("the advice is at most {TIME_WAIT_MOST}"),
    };
    let why = format!(
        "a closed connection stays for a minute; {connections} connections of a node, each reopened \
         {CLOSED_IN_A_MINUTE} times in that minute, leave {closed} entries; {bound}"
    );
    facts::at_least(snapshot, place, wanted, why)
}

fn tcp_max_syn_backlog(snapshot: &Snapshot, site: &Site, place: &SettingId) -> Option<Advice> {
    let wanted = facts::connections(site).next_power_of_two().clamp(4096, 65_535);
    facts::at_least(snapshot, place, wanted, "the same as the accept queue (net.core.somaxconn)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn what_it_rests_on_is_advised_too() {
        assert_eq!(advised("net.ipv4.tcp_tw_reuse", &machine()).as_deref(), Some("1"));
        assert_eq!(advised("net.ipv4.tcp_timestamps", &machine()).as_deref(), Some("1"));
    }

    #[test]
    fn the_reason_has_every_figure_that_leads_to_the_value() {
        // Per client, connections, and what is said of them on eight nodes with 7 × 32 connections among them.
        for (per_client, value, parts) in [
            (256, "131072", &["2272 connections", "leave 18176", "at least 131072"][..]),
            (4_096, "524288", &["32992 connections", "leave 263936", "rounded up to a power of two 524288"]),
            (1 << 20, "2097152", &["at most 2097152"]),
        ] {
            let mut site = site();
            site.clients.connections = per_client;
            let advice = tcp_max_tw_buckets(&machine(), &site, &place("net.ipv4.tcp_max_tw_buckets", None)).unwrap();
            assert!(parts.iter().all(|part| advice.why.contains(part)), "{per_client}: {}", advice.why);
            assert_eq!(advice.value.to_string(), value, "{per_client}: {}", advice.why);
        }
    }

    #[test]
    fn it_is_as_large_as_the_queue_of_accepted_ones() {
        let accepted = advised("net.core.somaxconn", &machine());
        assert_eq!(advised("net.ipv4.tcp_max_syn_backlog", &machine()), accepted);
    }

    #[test]
    fn the_sources_zero_is_not_followed() {
        for id in ["net.ipv4.tcp_syncookies", "net.ipv4.tcp_timestamps"] {
            assert_eq!(advised_at(id, &machine(), "0").as_deref(), Some("1"), "{id}");
        }
    }

    #[test]
    fn nothing_is_advised_for_what_nothing_reads() {
        assert_eq!(advised_at("net.ipv4.tcp_low_latency", &machine(), "1"), None);
    }

    #[test]
    fn kernels_that_measure_are_not_told() {
        let id = "net.ipv4.tcp_adv_win_scale";
        let mut snapshot = machine();
        assert_eq!(advised(id, &snapshot), None);
        snapshot.machine.kernel = "6.5.0".to_owned();
        assert_eq!(advised(id, &snapshot).as_deref(), Some("1"));
    }
}
