//! `dns.nodelocal`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "dns.nodelocal",
        layer: Layer::Dns,
        locator: Locator::Component { component: "cluster", key: "nodelocaldns" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // linerate's own words for whether there is one.
        takes: Domain::Words(&["off", "enabled"]),
        default: "off",
        summary: "A DNS cache on each node.",
        why: "Source 000 uses it, with Cilium's localRedirectPolicy in front: UDP queries stay on the node, and \
            queries that leave it use TCP.",
        relief: Relief::Dns,
        relieves: "DNS: number and latency of queries",
        risk: "A node whose cache fails has no DNS.",
        sources: &["source 000, CoreDNS", "Kubernetes, NodeLocal DNSCache"],
        since: None,
        until: None,
        also_called: &["NodeLocal DNScache", "nodelocaldns"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("enabled", "each node has a cache that bypasses connection tracking")
}
