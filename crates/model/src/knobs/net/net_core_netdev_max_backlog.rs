//! `net.core.netdev_max_backlog`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Place, Scope, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{Row, facts};

pub(crate) const ROW: Row = Row {
    knob: Knob {
        id: "net.core.netdev_max_backlog",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.netdev_max_backlog" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        default: "1000",
        summary: "Packets that may wait for one processor, where they are handed over: by RPS, veth and loopback, \
            not by a NIC's own queue.",
        why: "Source 000 and others call it the queue between NIC and kernel: NAPI polls the NIC's ring and does not \
            pass here. It counts where RPS moves packets, and for veth pairs, through which pods without netkit or \
            eBPF host routing receive. Sources say 16384 and 250000. What arrives in 10 ms at the node's rate, as \
            GRO packets of 16 KiB, shared by eight processors, is enough: a queue of 250000 is seconds long before \
            it drops.",
        relieves: "receiving: drops in the second column of softnet_stat",
        risk: "Long: latency where a processor cannot keep up.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "source 002, network tuning",
            "source 003, full parameters",
            "source 003, partial parameters (A1)",
            "Linux, Documentation/admin-guide/sysctl/net.rst",
            "Linux, net/core/dev.c: enqueue_to_backlog",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise,
};

fn advise(snapshot: &Snapshot, site: &Site, _place: &Place) -> Option<Advice> {
    let bits_per_s = facts::node_bits_per_s(snapshot, site);
    let packets = (bits_per_s / 8.0 * 0.01 / 16_384.0 / 8.0 * 4.0) as u64;
    let backlog = packets.next_power_of_two().clamp(1024, 65_536);
    facts::advice(
        backlog,
        format!("10 ms at {} in GRO packets over eight processors, four times", facts::rate(bits_per_s)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn faster_ports_have_longer_queues() {
        let mut snapshot = machine();
        let slow = number(advised(&ROW, &snapshot));
        set_port_speeds(&mut snapshot, 400);
        let fast = number(advised(&ROW, &snapshot));
        assert!(slow < fast && fast <= 65_536, "{slow} {fast}");
    }
}
