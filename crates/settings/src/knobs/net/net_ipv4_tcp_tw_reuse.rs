//! `net.ipv4.tcp_tw_reuse`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Whether a new outgoing connection may take over a port in TIME_WAIT after a second: no (0), yes \
            (1), on loopback (2).",
        why: "Sources say 1. Safe where both ends have timestamps on, which source 000 turns off: then it does \
            nothing at all. It helps whoever opens many connections to few addresses: clients and the gateway pods, \
            not a server that accepts. 1 is advised: it has an effect only when ports run out.",
        relieves: "ports: EADDRNOTAVAIL on clients",
        risk: "With timestamps, none known.",
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
    facts::advice(1, "ports in TIME_WAIT are taken over when others run out")
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
