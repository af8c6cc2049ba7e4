//! Requests take another way in than stated.

use linerate_record::explanation::Observations;
use linerate_record::site::{Entry, Site, TrafficPolicy};

use crate::explain::deviation::{Parts, Variant, cost_of};
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

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    WAYS.iter()
        .filter(|(entry, ..)| *entry != site.entry)
        .map(|&(entry, value, claim, cost)| {
            let cost = cost_of(site, cost, &["entry"]);
            Variant::new("entry", value, claim, cost, Parts::ENTRY, move |site| site.entry = entry)
                .shown_by(ReadingId::NodeSpread)
                .cured_by(
                    "spread connections over all nodes as stated (client-side list, BGP with policy Local)",
                    "policy Local sends nothing to nodes without a pod, and clients see other addresses",
                )
        })
        .collect()
}
