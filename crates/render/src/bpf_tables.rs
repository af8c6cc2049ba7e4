//! How many entries Cilium's tables need on a node of the site.

use linerate_record::site::{Entry, Site};

/// Entries of a node's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    /// Tables of connections; absent where what the chart sizes by a node's memory is enough.
    pub(crate) sized: Option<SizedTables>,
    /// Services and their backends.
    pub(crate) services: u64,
    /// What connections need, and how it comes about.
    pub(crate) why: String,
}

/// Tables of connections that are larger than a node's memory makes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizedTables {
    /// Connections of TCP.
    pub(crate) tcp: u64,
    pub(crate) nat: u64,
}

/// Entries that a node's connections need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NeededEntries {
    pub(crate) needed: u64,
    /// How they come about.
    pub(crate) why: String,
}

/// The most entries of a table: `pkg/option/config.go`, LimitTableMax.
pub(crate) const ENTRIES_MAX: u64 = 1 << 24;

/// The fewest that memory makes of the table of TCP: LimitTableAutoGlobalTCPMin.
const AUTO_MIN: u64 = 1 << 17;

/// Cilium's fixed sizes: `pkg/option/config.go`, CTMapEntriesGlobalTCPDefault and CTMapEntriesGlobalAnyDefault, and
/// `pkg/loadbalancer`, DefaultLBMapMaxEntries.
const TCP: u64 = 524_288;
const ANY: u64 = 262_144;
const SERVICES: u64 = 65_536;

/// What the chart's ratio of 0.0025 makes of a node's memory: the example of Cilium's guide on its tables.
const AUTO_ENTRIES: u128 = 1_060_485;
const AUTO_MEMORY_BYTES: u128 = 16 << 30;

/// Entries of a connection: one where it comes from and one where it goes to, if both are on the node.
const ENTRIES: u64 = 2;

/// Connections come and go: closed ones stay for a while, and no node has just its share.
const MARGIN: u64 = 4;

/// Entries that a node's connections need.
pub(crate) fn entries(site: &Site) -> NeededEntries {
    let nodes = u64::from(site.nodes().max(1));
    let clients = u64::from(site.askers()) * u64::from(site.clients.connections);
    let takers = if matches!(site.entry, Entry::L2Announcement { .. }) { 1 } else { nodes };
    let of_clients = clients.div_ceil(takers);
    let drives: u64 = site.groups.iter().map(|group| u64::from(group.drives_per_node())).max().unwrap_or(0);
    let needed = (of_clients + nodes * drives) * ENTRIES * MARGIN;
    let why = format!(
        "({of_clients} connections of clients + {nodes} nodes × {drives} drives) × {ENTRIES} entries × {MARGIN} for \
         closed ones and uneven shares = {needed}"
    );
    NeededEntries { needed, why }
}

pub(crate) fn tables(site: &Site) -> Tables {
    let NeededEntries { needed, why } = entries(site);
    let sized = (needed > by_memory(site)).then(|| {
        let tcp = needed.next_power_of_two().clamp(TCP, ENTRIES_MAX);
        SizedTables { tcp, nat: (tcp + ANY) * 2 / 3 }
    });
    Tables { sized, services: (u64::from(site.nodes()) * 16).next_power_of_two().max(SERVICES), why }
}

/// What the chart makes of the least memory that a node has; of memory that nobody stated, Cilium's fixed size.
fn by_memory(site: &Site) -> u64 {
    let is_stated = |name: &str| !site.is_assumed(&format!("nodes.{name}.memory"));
    let of_group = |bytes: u64| {
        let entries = AUTO_ENTRIES * u128::from(bytes) / AUTO_MEMORY_BYTES;
        u64::try_from(entries).unwrap_or(ENTRIES_MAX).clamp(AUTO_MIN, ENTRIES_MAX)
    };
    let groups = site.groups.iter();
    groups.map(|one| if is_stated(&one.name) { of_group(one.memory_bytes) } else { TCP }).min().unwrap_or(TCP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables_with(memory: &str, clients: &str) -> Tables {
        let text = format!(
            "nodes: {{count: 484, {memory}drives: {{count: 20, capacity: 8TB}}, nics: {{speed: 400Gb/s}}}}\nengine: \
             minio\n{clients}"
        );
        tables(&linerate_site::read(&text, "s").unwrap())
    }

    #[test]
    fn tables_are_sized_where_memory_does_not_make_them_large_enough() {
        let many = "clients: {count: 10000, speed: 25Gb/s, connections: 10000}\n";
        let one = "clients: {count: 1000, speed: 25Gb/s, connections: 1000}\nentry: l2-announcement\n";
        for (memory, clients, tcp) in [
            ("", "", None),
            ("", many, Some(2_097_152)),
            ("memory: 16GiB, ", many, Some(2_097_152)),
            ("memory: 256GiB, ", many, None),
            ("memory: 1GiB, ", "clients: {count: 1000, speed: 25Gb/s, connections: 4000}\n", Some(TCP)),
            ("memory: 16GiB, ", one, Some(8_388_608)),
            ("memory: 256GiB, ", one, None),
        ] {
            let sized = tables_with(memory, clients).sized;
            assert_eq!(sized.map(|sized| sized.tcp), tcp, "{memory}{clients}");
            // Cilium refuses more than both tables of connections together.
            assert!(sized.is_none_or(|sized| sized.nat <= sized.tcp + AUTO_MIN / 2), "{memory}{clients}");
        }
    }
}
