//! `net.ipv4.ip_local_reserved_ports`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

/// etcd, the API server, S3 and its console, the kubelet, NodePorts.
const SERVERS: &str = "2379-2380,6443,9000-9001,10250,30000-32767";

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.ipv4.ip_local_reserved_ports",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.ipv4.ip_local_reserved_ports" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        // `kernel/sysctl.c: proc_do_large_bitmap`.
        takes: Domain::Ports,
        default: "empty",
        summary: "Ports that are never used for outgoing connections.",
        why: "An outgoing connection must not use a port that a server of the node binds: S3 (9000, 9001), kubelet \
            (10250), etcd (2379, 2380), the API server (6443), NodePorts. Only ports within ip_local_port_range \
            matter. With the default range there are none, and nothing is advised; a range that starts lower makes the \
            reservation necessary. Existing reservations are kept.",
        relief: Relief::Ports,
        relieves: "ports: servers that cannot bind their port",
        risk: "Fewer ports for outgoing connections.",
        sources: &[
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Kubernetes, ports and protocols; --service-node-port-range (30000-32767)",
            "Linux 3.16, net/ipv4/inet_connection_sock.c (122ff243f5f1: ipv4: make ip_local_reserved_ports per \
            netns)",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let range = facts::beside(snapshot, "net.ipv4.ip_local_port_range", place).unwrap_or("32768 60999");
    let lowest: u32 = range.split_whitespace().next()?.parse().ok()?;
    let present = facts::text(snapshot, place).unwrap_or_default();
    if lowest > 32_767 || !present.is_empty() {
        return None;
    }
    facts::advice(SERVERS, format!("outgoing connections may use ports from {lowest} on"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn servers_ports_are_reserved_once_clients_may_take_them() {
        let mut snapshot = machine();
        let range = &crate::knobs::net::net_ipv4_ip_local_port_range::ROW;
        assert_eq!(advised_at(&ROW, &snapshot, ""), None);
        set(&mut snapshot, range, None, "1024\t65535");
        assert_eq!(advised_at(&ROW, &snapshot, "").as_deref(), Some(SERVERS));
        assert_eq!(advised_at(&ROW, &snapshot, "8080"), None, "somebody has thought of it");
    }
}
