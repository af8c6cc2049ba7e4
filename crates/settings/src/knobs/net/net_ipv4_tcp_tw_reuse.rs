//! `net.ipv4.tcp_tw_reuse`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_tw_reuse",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_tw_reuse" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: off, on, for loopback alone.
        takes: domain::number(0, 2),
        default: "2 since Linux 4.19 (loopback only), 0 before",
        summary: "Whether a new outgoing connection may reuse a port that has been in TIME_WAIT for a second: no (0), \
            yes (1), on loopback (2).",
        why: "The sources set 1. It is safe if both ends use timestamps; source 000 turns these off, and then it has \
            no effect. It helps hosts that open many connections to few addresses, such as clients and gateway pods, \
            and not a server that accepts connections. The advice is 1: it only matters when ports run out.",
        relief: Relief::Ports,
        relieves: "ports: EADDRNOTAVAIL on clients",
        risk: "None known if timestamps are on.",
        sources: &[
            "source 002, network tuning",
            "source 003, full parameters",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/tcp_ipv4.c: tcp_twsk_unique",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1, "ports in TIME_WAIT are reused when others run out")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn what_it_rests_on_is_advised_too() {
        assert_eq!(advised(&ROW, &machine()).as_deref(), Some("1"));
        assert_eq!(advised(&crate::knobs::net::net_ipv4_tcp_timestamps::ROW, &machine()).as_deref(), Some("1"));
    }
}
