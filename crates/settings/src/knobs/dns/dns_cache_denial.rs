//! `dns.cache_denial`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "dns.cache_denial",
        layer: Layer::Dns,
        locator: Locator::Component { component: "coredns", key: "cache.denial" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // CoreDNS, plugin/cache: a capacity.
        takes: domain::number(0, domain::INT_MAX),
        default: "9984 entries",
        summary: "Number of negative answers that CoreDNS caches.",
        why: "With ndots:5, four of five queries for an external name get a negative answer, so negative answers need \
            as many entries as positive ones.",
        relief: Relief::Dns,
        relieves: "DNS: number and latency of queries",
        risk: "Memory: 30 MiB.",
        sources: &["source 000, CoreDNS", "CoreDNS, plugin/cache"],
        since: None,
        until: None,
        also_called: &["cache plugin denial"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(30_000, "each search name that does not exist is a negative answer")
}
