//! `net.core.netdev_max_backlog`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.netdev_max_backlog",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.netdev_max_backlog" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `net/core/sysctl_net_core.c: net_core_table`: an `int`; below zero every packet would be dropped.
        takes: domain::number(0, domain::INT_MAX),
        default: "1000",
        summary: "Maximum number of packets queued for one processor when RPS, veth or loopback hands them over; a \
            NIC's own queue does not use it.",
        why: "Source 000 and others call it the queue between NIC and kernel, but NAPI polls the NIC's ring and \
            bypasses it. It matters when RPS moves packets, and for veth pairs, through which pods without netkit or \
            eBPF host routing receive. The sources set 16384 and 250000. The advice is four times what arrives in 10 \
            ms at the node's rate, as GRO packets of 16 KiB shared by eight processors. A queue of 250000 packets is \
            seconds long before it drops.",
        relief: Relief::Receiving,
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
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    let bits_per_s = facts::node_bits_per_s(snapshot, site);
    if bits_per_s <= 0.0 {
        // Of ports whose speed nobody knows nothing follows.
        return None;
    }
    let packets = (bits_per_s / 8.0 * 0.01 / 16_384.0 / 8.0 * 4.0) as u64;
    let power = packets.next_power_of_two();
    let bound = match power {
        less if less < LEAST => format!(", raised to the minimum of {LEAST}"),
        more if more > MOST => format!(", limited to {MOST}"),
        _ => String::new(),
    };
    let rate = facts::rate(bits_per_s);
    let why = format!(
        "four times the GRO packets of 10 ms at {rate} over eight processors is {packets}, rounded up to \
         a power of two {power}{bound}"
    );
    facts::advice(power.clamp(LEAST, MOST), why)
}

/// The least and the most that are advised.
const LEAST: u64 = 1024;
const MOST: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn nothing_follows_from_ports_whose_speed_nobody_knows_and_bounds_are_named() {
        let (mut snapshot, mut site) = (machine(), site());
        let place =
            SettingPlace { knob: ROW.knob.id.to_owned(), device: None, space: linerate_record::knob::Space::Host };
        let fast = advise(&snapshot, &site, &place).expect("speeds are known");
        assert!(
            fast.why.starts_with("four times ") && fast.why.ends_with("is 1945, rounded up to a power of two 2048"),
            "{fast:?}"
        );
        set_port_speeds(&mut snapshot, 1);
        let slower = advise(&snapshot, &site, &place).expect("speeds are known");
        assert!(slower.value == "1024" && slower.why.ends_with(", raised to the minimum of 1024"), "{slower:?}");
        snapshot.machine.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = None);
        site.groups.iter_mut().flat_map(|group| &mut group.nics).for_each(|nic| nic.speed_bits_per_s = 0.0);
        assert_eq!(advise(&snapshot, &site, &place), None);
    }

    #[test]
    fn faster_ports_have_longer_queues() {
        let mut snapshot = machine();
        let slow = number(advised(&ROW, &snapshot));
        set_port_speeds(&mut snapshot, 400);
        let fast = number(advised(&ROW, &snapshot));
        assert!(slow < fast && fast <= 65_536, "{slow} {fast}");
    }
}
