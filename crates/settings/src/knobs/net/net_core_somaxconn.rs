//! `net.core.somaxconn`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "net.core.somaxconn",
        layer: Layer::Net,
        locator: Locator::Sysctl { name: "net.core.somaxconn" },
        scope: Scope::NetworkNamespace,
        takes_effect: TakesEffect::NewSocket,
        // `net/core/sysctl_net_core.c: netns_core_table`: an `int`. The kernel takes zero, with which no queue of a
        // listener holds more than one connection (`sk_acceptq_is_full`).
        takes: domain::number(1, domain::INT_MAX),
        default: "4096 since Linux 5.4, 128 before",
        summary: "Maximum length of a listener's accept queue; it applies when listen() is called.",
        why: "A pod's namespace starts from 4096 whatever the value of the host: the sources' 8192, 16384 and 65535 on \
            the host only reach engines with hostNetwork. Others need securityContext.sysctls before the engine \
            listens. Go requests the value that the file has at that time. The queue must hold all connections that \
            return at once after a restart of the node.",
        relief: Relief::Accepting,
        relieves: "accepting: connections dropped while the queue is full",
        risk: "None: only waiting connections use memory.",
        sources: &[
            "source 000, OS table",
            "source 002, network tuning",
            "source 003, full parameters",
            "Linux, Documentation/networking/ip-sysctl.rst",
            "Linux, net/core/net_namespace.c: preinit_net (SOMAXCONN); net/socket.c: __sys_listen",
            "Go, src/net/sock_linux.go: maxListenerBacklog",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let connections = facts::connections(site);
    let wanted = connections.next_power_of_two().clamp(4096, 65_535);
    facts::at_least(snapshot, place, wanted, format!("{connections} connections of a node may return at once"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn all_connections_of_a_node_fit() {
        let mut site = site();
        assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some("4096"));
        site.clients.count = 2000;
        assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some("65535"));
    }
}
