//! Interfaces: sizes, queues, offloads, interrupts.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::{Encapsulation, Site};

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Nic, scope: Scope::Device, takes_effect: TakesEffect::AtOnce, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "nic.mtu",
            locator: Locator::Mtu,
            // `include/uapi/linux/if_ether.h`: ETH_MIN_MTU and ETH_MAX_MTU; most drivers take less.
            takes: domain::number(68, 65535),
            default: "1500",
            summary: "Maximum size in bytes of IP packets that an interface sends.",
            why: "The advice is the MTU of the site's plane that the interface carries. Compared with 1500, 9000 has 5 \
                % more payload on the wire and a sixth of the packets. It only works if every switch port and every \
                peer has it; otherwise large packets are lost. If the site has no plane on this interface, nothing is \
                advised: the interface of an overlay has its own MTU.",
            relief: RelievedResource::Links,
            relieves: "links: payload per frame; processor: work per packet",
            risk: "If one port of the path has less, connections hang on large packets (net.ipv4.tcp_mtu_probing).",
            sources: &[
                "source 002, network tuning",
                "payload share of an Ethernet frame: (MTU - 40 - 12) / (MTU + 38)",
                "ip-link(8)",
            ],
            also_called: &["ifconfig <iface> mtu", "ip link set mtu"],
            ..BASE
        },
        advise: Advise::Computed(mtu),
    },
    KnobRow {
        knob: Knob {
            id: "nic.ring.rx",
            locator: Locator::Ring { side: "rx" },
            // `include/uapi/linux/ethtool.h: ethtool_ringparam`: a `__u32`; the interface tells the most that it has.
            takes: domain::number(1, u32::MAX as i128),
            default: "that of the driver: 256 to 1024",
            summary: "Descriptors of each receive queue of an interface.",
            why: "The ring is the only buffer before a processor handles a packet; when it is full, the NIC drops \
                packets (rx_missed, rx_out_of_buffer). A ring of 1024 packets of 9000 bytes holds 3 ms of traffic at \
                25 Gb/s. The advice is 8192 from 100 Gb/s on and 2048 below, at most what the driver offers; far \
                larger rings evict data from caches.",
            relief: RelievedResource::Receiving,
            relieves: "receiving: drops in the NIC",
            risk: "A change resets the interface, and packets are lost for a moment. Each queue needs memory.",
            sources: &["ethtool(8)", "Linux, Documentation/networking/ethtool-netlink.rst: RINGS_SET"],
            ..BASE
        },
        advise: Advise::Computed(ring_rx),
    },
    KnobRow {
        knob: Knob {
            id: "nic.ring.tx",
            locator: Locator::Ring { side: "tx" },
            // `include/uapi/linux/ethtool.h: ethtool_ringparam`: a `__u32`; the interface tells the most that it has.
            takes: domain::number(1, u32::MAX as i128),
            default: "that of the driver: 256 to 1024",
            summary: "Descriptors of each transmit queue of an interface.",
            why: "The ring holds packets that wait to be sent. Byte queue limits bound their amount, so a larger ring \
                costs little and gains little. 1024 is enough for TSO packets.",
            relief: RelievedResource::Sending,
            relieves: "sending: queues that stop",
            risk: "A change resets the interface, and packets are lost for a moment. Each queue needs memory.",
            sources: &["ethtool(8)", "Linux, Documentation/networking/ethtool-netlink.rst: RINGS_SET"],
            ..BASE
        },
        advise: Advise::Computed(ring_tx),
    },
    KnobRow {
        knob: Knob {
            id: "nic.channels",
            locator: Locator::Channels,
            // `include/uapi/linux/ethtool.h: ethtool_channels`: a `__u32`; the interface tells the most that it has.
            takes: domain::number(1, u32::MAX as i128),
            default: "that of the driver: one per processor, or per processor of a NUMA node",
            summary: "Combined queues of an interface, each with its own interrupt.",
            why: "One queue uses one processor, which handles 10 to 40 Gb/s of TCP. The advice is one queue per \
                processor of the NIC's NUMA node, at most 32 and at most what the driver offers. More queues than \
                processors only add interrupts.",
            relief: RelievedResource::Receiving,
            relieves: "receiving: one saturated core",
            risk: "A change resets the interface.",
            sources: &["source 002, multi-queue", "Linux, Documentation/networking/scaling.rst", "ethtool(8)"],
            also_called: &["RSS"],
            ..BASE
        },
        advise: Advise::Computed(channels),
    },
    KnobRow {
        knob: Knob {
            id: "nic.receive_hash",
            locator: Locator::ReceiveHash,
            // `ethtool(8)`, rx-flow-hash: any of m, v, t, s, d, f, n and r.
            takes: Domain::Text("fields as letters of ethtool(8), such as sdfn"),
            default: "sdfn for TCP, sd for UDP on many drivers",
            summary: "Fields of a UDP packet that select its receive queue: addresses (sd), or addresses and ports \
                (sdfn).",
            why: "VXLAN and Geneve use UDP with a source port for each inner flow. If a NIC hashes UDP by addresses \
                only, all overlay traffic between two nodes uses the same queue. It is only advised if the site has an \
                overlay.",
            relief: RelievedResource::Receiving,
            relieves: "receiving: one saturated core with an overlay",
            risk: "Fragments of a datagram may be received by different queues.",
            sources: &[
                "source 000, Switch RSS queue",
                "Linux, Documentation/networking/scaling.rst",
                "ethtool(8): -N rx-flow-hash udp4",
            ],
            also_called: &["RSS"],
            ..BASE
        },
        advise: Advise::Computed(receive_hash),
    },
    KnobRow {
        knob: Knob {
            id: "nic.rps_cpus",
            locator: Locator::Sysfs { path: "class/net/{nic}/queues/rx-*/rps_cpus" },
            // `net/core/net-sysfs.c: store_rps_map`; no processor is off.
            takes: Domain::Processors,
            default: "0: off",
            summary: "Processors to which software distributes received packets, as a mask.",
            why: "Source 002 advises it if one core receives for all. With hardware queues, it only adds a second \
                hand-over: the advice is off. On a virtual machine with one queue, it is all processors.",
            relief: RelievedResource::Processors,
            relieves: "processor: one core that receives or sends for all",
            risk: "Interrupts between processors.",
            sources: &["source 002, network tuning", "Linux, Documentation/networking/scaling.rst"],
            also_called: &["RPS"],
            ..BASE
        },
        advise: Advise::Computed(rps_cpus),
    },
    KnobRow {
        knob: Knob {
            id: "nic.rps_flow_cnt",
            locator: Locator::Sysfs { path: "class/net/{nic}/queues/rx-*/rps_flow_cnt" },
            // `net/core/net-sysfs.c: store_rps_dev_flow_table_cnt`: the mask of the table has 32 bits.
            takes: domain::number(0, 1 << 32),
            default: "0: off",
            summary: "Flows that a receive queue tracks for receive flow steering (RFS).",
            why: "RFS is off unless both this and net.core.rps_sock_flow_entries are set.",
            relief: RelievedResource::Processors,
            relieves: "processor: one core that receives or sends for all",
            risk: "Interrupts between processors.",
            sources: &["source 002, network tuning", "Linux, Documentation/networking/scaling.rst"],
            also_called: &["RFS"],
            ..BASE
        },
        advise: Advise::Computed(rps_flow_cnt),
    },
    KnobRow {
        knob: Knob {
            id: "nic.xps_cpus",
            locator: Locator::Sysfs { path: "class/net/{nic}/queues/tx-*/xps_cpus" },
            // `net/core/net-sysfs.c: xps_cpus_store`; no processor is off.
            takes: Domain::Processors,
            default: "set by most drivers: one queue per processor",
            summary: "Processors that use a transmit queue, as a mask.",
            why: "Source 002 mentions it and says that it is 0 by default, but drivers with one queue per processor \
                set it themselves. Nothing is advised: the driver's choice is local already, and a manual mask becomes \
                stale when the number of queues changes.",
            relief: RelievedResource::Processors,
            relieves: "processor: one core that receives or sends for all",
            risk: "Interrupts between processors.",
            sources: &["source 002, network tuning", "Linux, Documentation/networking/scaling.rst"],
            also_called: &["XPS"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "nic.tso",
            locator: Locator::Offload { feature: "tcp-segmentation-offload" },
            // `ethtool(8)`, --features.
            takes: Domain::Words(&["on", "off"]),
            default: "on",
            summary: "Whether the NIC splits large TCP packets into segments.",
            why: "The advice is on: the network stack then processes a packet of 64 KiB once. Source 002 warns of \
                conflicts with eBPF, but Cilium itself recommends even larger packets (BIG TCP).",
            relief: RelievedResource::Processors,
            relieves: "processor: work per packet",
            risk: "Some virtual NICs handle it incorrectly under tunnels.",
            sources: &[
                "source 002, network tuning",
                "ethtool(8)",
                "Linux, Documentation/networking/segmentation-offloads.rst",
            ],
            also_called: &["TSO"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, place| facts::left_to_nic(snapshot, place)),
    },
    KnobRow {
        knob: Knob {
            id: "nic.gso",
            locator: Locator::Offload { feature: "generic-segmentation-offload" },
            // `ethtool(8)`, --features.
            takes: Domain::Words(&["on", "off"]),
            default: "on",
            summary: "Whether packets stay large until just before the driver.",
            why: "The advice is on: it helps if the NIC cannot segment (TSO under a tunnel), and BIG TCP needs it.",
            relief: RelievedResource::Processors,
            relieves: "processor: work per packet",
            risk: "None known.",
            sources: &[
                "source 002, network tuning",
                "ethtool(8)",
                "Linux, Documentation/networking/segmentation-offloads.rst",
            ],
            also_called: &["GSO"],
            ..BASE
        },
        advise: Advise::Computed(gso),
    },
    KnobRow {
        knob: Knob {
            id: "nic.gro",
            locator: Locator::Offload { feature: "generic-receive-offload" },
            // `ethtool(8)`, --features.
            takes: Domain::Words(&["on", "off"]),
            default: "on",
            summary: "Whether received segments are merged before the network stack processes them.",
            why: "The advice is on: at 25 Gb/s with an MTU of 1500, two million packets per second become 50 thousand.",
            relief: RelievedResource::Processors,
            relieves: "processor: work per packet",
            risk: "A few microseconds of latency while packets wait to be merged.",
            sources: &[
                "source 002, network tuning",
                "ethtool(8)",
                "Linux, Documentation/networking/segmentation-offloads.rst",
            ],
            also_called: &["GRO"],
            ..BASE
        },
        advise: Advise::Computed(gro),
    },
    KnobRow {
        knob: Knob {
            id: "nic.lro",
            locator: Locator::Offload { feature: "large-receive-offload" },
            // `ethtool(8)`, --features.
            takes: Domain::Words(&["on", "off"]),
            default: "off",
            summary: "Whether the NIC itself merges received segments.",
            why: "The advice is off: LRO discards information that forwarding needs, and a node forwards for its pods. \
                The kernel disables it when forwarding is on. GRO has the same benefit without that loss.",
            relief: RelievedResource::Processors,
            relieves: "processor: work per packet",
            risk: "Off: none if GRO is on.",
            sources: &[
                "source 002, network tuning",
                "ethtool(8)",
                "Linux, Documentation/networking/segmentation-offloads.rst",
            ],
            also_called: &["LRO"],
            ..BASE
        },
        advise: Advise::Computed(lro),
    },
    KnobRow {
        knob: Knob {
            id: "nic.rx",
            locator: Locator::Offload { feature: "rx-checksumming" },
            // `ethtool(8)`, --features.
            takes: Domain::Words(&["on", "off"]),
            default: "on",
            summary: "Whether the NIC verifies checksums of received packets.",
            why: "The advice is on: without it, the processor reads each byte once more, and GRO does not merge \
                segments.",
            relief: RelievedResource::Processors,
            relieves: "processor: work per packet",
            risk: "None known.",
            sources: &[
                "source 002, network tuning",
                "ethtool(8)",
                "Linux, Documentation/networking/segmentation-offloads.rst",
            ],
            also_called: &["RX"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, place| facts::left_to_nic(snapshot, place)),
    },
    KnobRow {
        knob: Knob {
            id: "nic.tx",
            locator: Locator::Offload { feature: "tx-checksum-ip-generic" },
            // `ethtool(8)`, --features.
            takes: Domain::Words(&["on", "off"]),
            default: "on",
            summary: "Whether the NIC computes checksums of sent packets.",
            why: "The advice is on: TSO needs it. Some drivers offer it per protocol under other names; the audit does \
                not read those.",
            relief: RelievedResource::Processors,
            relieves: "processor: work per packet",
            risk: "None known.",
            sources: &[
                "source 002, network tuning",
                "ethtool(8)",
                "Linux, Documentation/networking/segmentation-offloads.rst",
            ],
            also_called: &["TX"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, place| facts::left_to_nic(snapshot, place)),
    },
    KnobRow {
        knob: Knob {
            id: "nic.interrupts",
            locator: Locator::Interrupts,
            // linerate's own words.
            takes: Domain::Words(&["local", "anywhere"]),
            default: "set by irqbalance or by the driver's hints",
            summary: "Where an interface's interrupts are handled: `local` (only on processors of its NUMA node) or \
                `anywhere`.",
            why: "A packet that is received on another NUMA node than that of its NIC crosses the interconnect twice. \
                Source 000 requires NUMA-local scheduling with its drives. It is only advised if there are several \
                NUMA nodes and the kernel knows that of the NIC.",
            relief: RelievedResource::Memory,
            relieves: "memory: traffic between sockets",
            risk: "If irqbalance runs, it moves the interrupts again: exclude them there.",
            sources: &["source 000, NUMA", "Linux, Documentation/core-api/irq/irq-affinity.rst"],
            ..BASE
        },
        advise: Advise::Computed(interrupts),
    },
    KnobRow {
        knob: Knob {
            id: "nic.gro_flush_timeout",
            locator: Locator::Sysfs { path: "class/net/{nic}/gro_flush_timeout" },
            // `net/core/net-sysfs.c: gro_flush_timeout_store`: nanoseconds, for a timer that counts them in 63 bits.
            takes: domain::number(0, i64::MAX as i128),
            default: "0: at the end of each round",
            summary: "Nanoseconds for which GRO may hold packets after a round, together with napi_defer_hard_irqs.",
            why: "No source mentions it. It achieves what they expect of busy polling: fewer interrupts under load, \
                without a core that spins. It is worth an experiment (20000 with napi_defer_hard_irqs 2) but is not a \
                default.",
            relief: RelievedResource::Processors,
            relieves: "processor: interrupts under load",
            risk: "Latency of single requests.",
            sources: &["Linux, Documentation/networking/napi.rst"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
];

fn mtu(snapshot: &Snapshot, site: &Site, place: &SettingId) -> Option<Advice> {
    let device = place.device.as_deref()?;
    let plane = facts::plane_of(snapshot, site, device)?;
    facts::advice(plane.mtu_bytes, format!("the MTU of the site's plane on {}", plane.link))
}

fn ring_rx(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let bits_per_s = facts::nic(snapshot, place)?.speed_bits_per_s?;
    let wanted = if bits_per_s >= 100_000_000_000 { 8192 } else { 2048 };
    facts::up_to_offered(snapshot, place, wanted, format!("enough for bursts at {}", facts::rate(bits_per_s as f64)))
}

fn ring_tx(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let bits_per_s = facts::nic(snapshot, place)?.speed_bits_per_s?;
    facts::up_to_offered(snapshot, place, 1024, format!("enough for TSO packets at {}", facts::rate(bits_per_s as f64)))
}

fn channels(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    let local = (snapshot.machine.cpus / snapshot.machine.numa_nodes.max(1)).clamp(1, 32);
    facts::up_to_offered(snapshot, place, u64::from(local), format!("one per processor of its NUMA node ({local})"))
}

fn receive_hash(snapshot: &Snapshot, site: &Site, place: &SettingId) -> Option<Advice> {
    let plane = facts::plane_of(snapshot, site, place.device.as_deref()?)?;
    let udp = matches!(plane.encapsulation, Encapsulation::Vxlan | Encapsulation::Geneve);
    facts::advice_if(udp, "sdfn", "the outer ports of the overlay distinguish its flows")
}

fn rps_cpus(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    if facts::is_single_queue(snapshot) {
        return facts::advice(
            facts::cpu_mask(snapshot.machine.cpus),
            "the NIC has one queue: software distributes received packets",
        );
    }
    facts::advice(0, "the default: the NIC distributes flows over its queues")
}

fn rps_flow_cnt(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    if facts::is_single_queue(snapshot) {
        return facts::advice(32_768, "the same as net.core.rps_sock_flow_entries, for one queue");
    }
    facts::advice(0, "the default: the NIC distributes flows over its queues")
}

fn gso(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    facts::advice("on", "large packets are split as late as possible, so the network stack processes fewer of them")
}

fn gro(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    facts::advice("on", "the network stack processes few large packets instead of many small ones")
}

fn lro(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    facts::nic(snapshot, place)?;
    facts::advice("off", "GRO merges without loss of information")
}

fn interrupts(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    facts::nic(snapshot, place)?.numa_node?;
    facts::advice_if(
        snapshot.machine.numa_nodes > 1,
        "local",
        "there are several NUMA nodes, and the NIC is attached to one",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn interfaces_of_a_plane_and_members_of_its_bond_have_the_sites_mtu() {
        let (snapshot, mut site) = (machine(), site());
        site.planes.public.mtu_bytes = 9000;
        for (device, expected) in [("ens1f0", Some("9000")), ("bond0", Some("9000")), ("eno1", None)] {
            assert_eq!(advised_on("nic.mtu", &snapshot, &site, device).as_deref(), expected, "{device}");
        }
    }

    #[test]
    fn no_more_than_the_driver_offers_is_advised_and_more_is_left() {
        let mut snapshot = machine();
        for (now, offered, expected) in
            [("512", "4096", Some("2048")), ("512", "1024", Some("1024")), ("4096", "4096", Some("4096"))]
        {
            set_among(&mut snapshot, "nic.ring.rx", "ens1f0", now, &[offered]);
            assert_eq!(advised_for("nic.ring.rx", &snapshot, "ens1f0").as_deref(), expected, "{now} of {offered}");
        }
        set_among(&mut snapshot, "nic.ring.rx", "ens1f0", "512", &[]);
        assert_eq!(advised_for("nic.ring.rx", &snapshot, "ens1f0"), None, "what is offered is not known");
    }

    #[test]
    fn queues_are_for_processors_nearby() {
        let mut snapshot = machine();
        set_among(&mut snapshot, "nic.channels", "ens1f0", "1", &["63"]);
        assert_eq!(advised_for("nic.channels", &snapshot, "ens1f0").as_deref(), Some("32"));
        set_among(&mut snapshot, "nic.channels", "ens1f0", "1", &["8"]);
        assert_eq!(advised_for("nic.channels", &snapshot, "ens1f0").as_deref(), Some("8"));
    }

    #[test]
    fn native_routing_needs_no_ports_of_udp() {
        let id = "nic.receive_hash";
        let (snapshot, mut site) = (machine(), site());
        assert_eq!(advised_on(id, &snapshot, &site, "ens1f0"), None);
        site.planes.public.encapsulation = Encapsulation::Vxlan;
        assert_eq!(advised_on(id, &snapshot, &site, "ens1f0").as_deref(), Some("sdfn"));
    }

    #[test]
    fn software_spreads_only_where_the_nic_cannot() {
        for id in ["nic.rps_cpus", "nic.rps_flow_cnt"] {
            let mut snapshot = machine();
            assert_eq!(advised_for(id, &snapshot, "ens1f0").as_deref(), Some("0"), "{id}");
            set(&mut snapshot, "nic.channels", Some("ens1f0"), "1");
            assert_ne!(advised_for(id, &snapshot, "ens1f0").as_deref(), Some("0"), "{id}");
        }
    }

    #[test]
    fn one_numa_node_is_always_local() {
        let mut snapshot = machine();
        assert_eq!(advised_for("nic.interrupts", &snapshot, "ens1f0").as_deref(), Some("local"));
        snapshot.machine.numa_nodes = 1;
        assert_eq!(advised_for("nic.interrupts", &snapshot, "ens1f0"), None);
    }
}
