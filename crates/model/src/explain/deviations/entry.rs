//! Requests take another way in than stated.

use linerate_record::explanation::Observations;
use linerate_record::site::{Entry, Site, TrafficPolicy, key};

use super::one_node::is_spread;
use crate::explain::deviation::{CORRECTION, SiteParts, Variant};
use crate::explain::readings::ReadingId;

/// Ways in that differ in what nodes carry, with what they cost.
const WAYS: [(Entry, &str, &str, f64); 4] = [
    (Entry::ClientSide, "direct", "clients reach every serving node directly", 4.0),
    (
        Entry::NodePort { policy: TrafficPolicy::Cluster },
        "forwarded",
        "the node that takes a connection forwards it to any that serves",
        3.5,
    ),
    (
        Entry::L2Announcement { dsr: false, policy: TrafficPolicy::Cluster },
        "one node",
        "one node takes every connection and carries both ways",
        4.0,
    ),
    (
        Entry::L2Announcement { dsr: true, policy: TrafficPolicy::Cluster },
        "one node, direct return",
        "one node takes every connection, serving nodes answer directly",
        4.5,
    ),
];

/// Those of clients on the storage nodes: whom they ask. No other way in is modelled of them.
const WAYS_ON_NODES: [(Entry, &str, &str, f64); 2] = [
    (Entry::ClientSide, "every node", "the nodes' clients spread their requests over all nodes", 3.5),
    (Entry::Local, "own node", "each client asks the storage node that it runs on, and no other", 3.5),
];

/// What puts a way in right.
const REMEDY_TEXT: (&str, &str) = (
    "spread connections over all nodes (client-side list, BGP with policy Local)",
    "policy Local sends nothing to nodes without a pod, and clients see other addresses",
);
const REMEDY_ON_NODES: (&str, &str) = (
    "give each client the list of hosts that is stated: all nodes, or its own alone",
    "a load that differs from before",
);
/// What is to be done where clients ask less far than stated: that is faster.
const STATE_LOCAL: (&str, &str) =
    ("correct the site: entry: local, because clients already ask that way, and it is the faster one", CORRECTION);

/// The same of another way in than stated, by which nodes carry less.
const STATE_SHORTER: (&str, &str) =
    ("correct the entry in the site file: nodes carry less than the described way needs", CORRECTION);

/// How much more than their own traffic nodes carry by a way in, in order.
fn hops(entry: Entry) -> u32 {
    match entry {
        Entry::ClientSide | Entry::Local => 0,
        Entry::Bgp { policy: TrafficPolicy::Local } | Entry::NodePort { policy: TrafficPolicy::Local } => 0,
        Entry::Bgp { policy: TrafficPolicy::Cluster } | Entry::NodePort { policy: TrafficPolicy::Cluster } => 1,
        Entry::ClusterMesh => 1,
        Entry::L2Announcement { dsr: true, .. } => 2,
        Entry::L2Announcement { dsr: false, .. } => 3,
    }
}

/// Whether one node takes every connection.
fn is_through_one(entry: Entry) -> bool {
    matches!(entry, Entry::L2Announcement { .. })
}

/// A way in that nobody stated costs as much as one that is stated: few describe how clients reach nodes where it is as
/// usual.
pub(super) fn variants(site: &Site, observations: &Observations) -> Vec<Variant> {
    let on_nodes = site.has_clients_on_nodes();
    let ways = if on_nodes { WAYS_ON_NODES.as_slice() } else { WAYS.as_slice() };
    // Hosts of a load that each answered it are not reached through one; what readings say of nodes may have been.
    let is_of_hosts = is_spread(observations, |figure| figure.in_flight.is_some());
    let is_refuted = |entry: Entry| is_through_one(entry) && is_of_hosts;
    ways.iter()
        .filter(|(entry, ..)| *entry != site.entry && !is_refuted(*entry))
        .map(|&(entry, value, claim, cost)| {
            // A stated path with a policy that nobody stated leaves that alone open.
            let by_path = std::mem::discriminant(&entry) != std::mem::discriminant(&site.entry);
            let key = if by_path { key::ENTRY_PATH } else { key::ENTRY_POLICY };
            let is_stated = !site.is_assumed(key);
            let (change, risks) = match entry {
                Entry::Local => STATE_LOCAL,
                _ if on_nodes => REMEDY_ON_NODES,
                _ if hops(entry) < hops(site.entry) => STATE_SHORTER,
                _ => REMEDY_TEXT,
            };
            let reported = if is_stated {
                claim.to_owned()
            } else {
                format!("{claim} (the site does not state {key:?}: {} was taken)", word(site.entry))
            };
            Variant::new("entry", value, reported, cost, SiteParts::ENTRY, move |site| site.entry = entry)
                .against(is_stated.then(|| format!("{key}: {}", word(site.entry))))
                .shown_by(if on_nodes { ReadingId::PlaneBytes } else { ReadingId::NodeSpread })
                .cured_by(change, risks)
        })
        .collect()
}

/// What a way in is called in a site.
fn word(entry: Entry) -> &'static str {
    match entry {
        Entry::ClientSide => "client-side",
        Entry::Bgp { .. } => "bgp",
        Entry::L2Announcement { .. } => "l2-announcement",
        Entry::NodePort { .. } => "node-port",
        Entry::ClusterMesh => "cluster-mesh",
        Entry::Local => "local",
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{Observed, Quantity};

    use super::*;

    #[test]
    fn hosts_that_each_answered_a_load_rule_out_one_node_and_an_unstated_entry_is_no_cheaper() {
        let example = include_str!("../../../../../examples/namespaces-4.yaml");
        let site = linerate_site::read(example, "namespaces-4.yaml").unwrap();
        assert!(site.is_assumed("entry.path"));
        let observed = |in_flight: Option<u64>| {
            let figure = |n: u32| Observed {
                what: Quantity::NodeGet { node: format!("node{n}") },
                bytes_per_s: 1e6,
                error_share: None,
                in_flight,
            };
            Observations { figures: (1..=4).map(figure).collect(), error_share: 0.02, nodes_alone: false }
        };
        let found = |observations: &Observations| -> Vec<(String, f64)> {
            variants(&site, observations).into_iter().map(|one| (one.value.clone(), one.cost)).collect()
        };
        let of_readings = found(&observed(None));
        let is_one = |(value, _): &&(String, f64)| value.starts_with("one node");
        assert_eq!(of_readings.iter().filter(is_one).count(), 2, "{of_readings:?}");
        assert!(of_readings.contains(&("forwarded".to_owned(), 3.5)), "{of_readings:?}");
        let of_hosts = found(&observed(Some(16)));
        assert_eq!(of_hosts.iter().filter(is_one).count(), 0, "{of_hosts:?}");
    }
}
