//! `dns.cache_success`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "dns.cache_success",
        layer: Layer::Dns,
        locator: Locator::Component { component: "coredns", key: "cache.success" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // CoreDNS, plugin/cache: a capacity.
        takes: domain::number(0, domain::INT_MAX),
        default: "9984 entries",
        summary: "Number of positive answers that CoreDNS caches.",
        why: "Source 000 recommends more, without a value. Its 12000 services, each with up to five search names, do \
            not fit into 9984 entries; an entry takes about 1 KiB.",
        relief: Relief::Dns,
        relieves: "DNS: number and latency of queries",
        risk: "Memory: 30 MiB.",
        sources: &["source 000, CoreDNS", "CoreDNS, plugin/cache"],
        since: None,
        until: None,
        also_called: &["cache plugin success"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(30_000, "enough for the names of thousands of services and of S3 virtual hosts")
}
