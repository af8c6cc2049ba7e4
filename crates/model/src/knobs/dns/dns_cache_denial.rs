//! `dns.cache_denial`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Place, Scope, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{Row, facts};

pub(crate) const ROW: Row = Row {
    knob: Knob {
        id: "dns.cache_denial",
        layer: Layer::Dns,
        locator: Locator::Component { component: "coredns", key: "cache.denial" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        default: "9984 entries",
        summary: "Negative answers that CoreDNS keeps.",
        why: "With ndots:5 four of five queries for an outside name are denied: they want as much room as the \
            answers.",
        relieves: "DNS: queries, and their latency",
        risk: "Memory: 30 MiB.",
        sources: &["source 000, CoreDNS", "CoreDNS, plugin/cache"],
        since: None,
        until: None,
        also_called: &["cache plugin denial"],
        owned_by: None,
    },
    advise,
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &Place) -> Option<Advice> {
    facts::advice(30_000, "each search name that is not there is an answer as well")
}
