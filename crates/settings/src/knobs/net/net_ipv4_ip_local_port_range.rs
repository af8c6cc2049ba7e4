//! `net.ipv4.ip_local_port_range`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.ip_local_port_range",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.ip_local_port_range" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        // `net/ipv4/sysctl_net_ipv4.c: ipv4_local_port_range`.
        takes: Domain::Rising { count: 2, least: 1, most: 65_535 },
        default: "32768 60999",
        summary: "Range of local ports for outgoing connections.",
        why: "Source 000 sets 1024 65535. An outgoing connection of the host may then use 9000, 10250 or a NodePort \
            (30000–32767) before its server listens, and the server fails to start with \"address in use\" until the \
            connection closes. Ports run out per destination address and port: there are 28232 for each, enough for \
            any connection pool. If more are needed, reserve the servers' ports first \
            (net.ipv4.ip_local_reserved_ports). The default is right.",
        relief: Relief::Ports,
        relieves: "ports: EADDRNOTAVAIL on clients",
        risk: "Wide: servers that cannot bind their port.",
        sources: &[
            "source 000, tuned profile",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Kubernetes, --service-node-port-range (30000-32767); kubelet (10250)",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("32768 60999", "the default: above the NodePorts, with 28232 ports per destination")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn the_sources_range_is_not_followed() {
        assert_eq!(advised_at(&ROW, &machine(), "1024\t65535").as_deref(), Some("32768 60999"));
    }
}
