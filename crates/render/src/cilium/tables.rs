//! How many entries Cilium's tables need on a node of the site.

use linerate_record::site::{Entry, Site};

/// Entries of a node's tables, and how they come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tables {
    /// Connections of TCP.
    pub(super) tcp: u64,
    /// Of other protocols.
    pub(super) any: u64,
    /// Translated addresses.
    pub(super) nat: u64,
    /// Services and their backends.
    pub(super) services: u64,
    /// Why so many connections.
    pub(super) why: String,
}

/// Cilium's own sizes: `pkg/option/config.go`, CTMapEntriesGlobalTCPDefault and CTMapEntriesGlobalAnyDefault, and
/// `pkg/loadbalancer`, DefaultLBMapMaxEntries.
const TCP: u64 = 524_288;
const ANY: u64 = 262_144;
const SERVICES: u64 = 65_536;

/// Entries of a connection: one where it comes from and one where it goes to, if both are on the node.
const ENTRIES: u64 = 2;

/// Connections come and go: closed ones stay for a while, and no node has just its share.
const MARGIN: u64 = 4;

pub(super) fn tables(site: &Site) -> Tables {
    let nodes = u64::from(site.nodes().max(1));
    let clients = u64::from(site.askers()) * u64::from(site.clients.connections);
    let takers = if matches!(site.entry, Entry::L2Announcement { .. }) { 1 } else { nodes };
    let of_clients = clients.div_ceil(takers);
    let drives: u64 = site.groups.iter().map(|group| u64::from(group.drives_per_node())).max().unwrap_or(0);
    let among = nodes * drives;
    let needed = (of_clients + among) * ENTRIES * MARGIN;
    let tcp = needed.next_power_of_two().max(TCP);
    let any = ANY;
    Tables {
        tcp,
        any,
        // pkg/option/config.go: more than two thirds of both are refused.
        nat: (tcp + any) * 2 / 3,
        services: (nodes * 16).next_power_of_two().max(SERVICES),
        why: format!(
            "({of_clients} connections of clients + {nodes} nodes × {drives} drives) × {ENTRIES} entries × {MARGIN} \
             for closed ones and uneven shares = {needed}; Cilium's default of {TCP} at the least."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(clients: &str) -> Tables {
        let text = format!(
            "nodes: {{count: 484, drives: {{count: 20, capacity: 8TB}}, nics: {{speed: 400Gb/s}}}}\nengine: minio\n\
             {clients}"
        );
        tables(&linerate_site::read(&text, "s").unwrap())
    }

    #[test]
    fn tables_grow_with_what_is_open_at_once_and_not_below_the_default() {
        assert_eq!((of("").tcp, of("").nat), (TCP, TCP));
        let many = of("clients: {count: 10000, speed: 25Gb/s, connections: 10000}\n");
        assert_eq!((many.tcp, many.nat), (2_097_152, (2_097_152 + ANY) * 2 / 3));
        let one = of("clients: {count: 1000, speed: 25Gb/s, connections: 1000}\nentry: l2-announcement\n");
        assert_eq!(one.tcp, 8_388_608);
    }
}
