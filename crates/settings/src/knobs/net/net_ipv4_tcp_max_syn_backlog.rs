//! `net.ipv4.tcp_max_syn_backlog`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Half-open connections near which a listener, with syncookies off, only accepts peers that it has \
            known before.",
        why: "Source 000 sets 16384 under the name tcp_syn_backlog, which does not exist, and 65535 elsewhere; source \
            003 sets 30000. With syncookies on it has no effect: the backlog of the listener also limits half-open \
            connections. The advice is the same value as for somaxconn.",
        relief: Relief::Accepting,
        relieves: "accepting: SYNs dropped while the queue is full",
        risk: "300 bytes for each half-open connection.",
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
    facts::at_least(snapshot, place, wanted, "the same as the accept queue (net.core.somaxconn)")
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
