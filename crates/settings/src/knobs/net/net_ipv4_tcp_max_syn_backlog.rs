//! `net.ipv4.tcp_max_syn_backlog`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.tcp_max_syn_backlog",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.tcp_max_syn_backlog" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::AtOnce,
        // `net/ipv4/sysctl_net_ipv4.c: ipv4_net_table`: an `int`; below zero every SYN would be too many.
        takes: domain::number(0, domain::INT_MAX),
        default: "hash entries / 128, at least 128: 2048 or 4096 on large machines",
        summary: "Half-open connections near which, with syncookies off, a listener takes only peers that it has \
            known before.",
        why: "Source 000 calls it tcp_syn_backlog once, a name that does not exist, with 16384, and 65535 elsewhere; \
            source 003 says 30000. With syncookies on nothing reads it: the listener's backlog is the bound of \
            half-open connections too. As large as somaxconn.",
        relieves: "accepting: SYNs dropped while the queue is full",
        risk: "300 bytes for each.",
        sources: &[
            "source 000, OS table",
            "source 000, tuned profile",
            "source 003, full parameters",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/ipv4/tcp_input.c: tcp_conn_request; inet_csk_reqsk_queue_is_full",
        ],
        since: None,
        until: None,
        also_called: &["net.ipv4.tcp_syn_backlog"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let wanted = facts::connections(site).next_power_of_two().clamp(4096, 65_535);
    facts::at_least(snapshot, place, wanted, "as many as the queue of accepted ones holds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn it_is_as_large_as_the_queue_of_accepted_ones() {
        let accepted = advised(&crate::knobs::net::net_core_somaxconn::ROW, &machine());
        assert_eq!(advised(&ROW, &machine()), accepted);
    }
}
