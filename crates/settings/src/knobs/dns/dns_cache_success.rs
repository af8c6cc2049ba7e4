//! `dns.cache_success`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect, domain};
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
        summary: "Positive answers that CoreDNS keeps.",
        why: "Source 000 asks for more without a value. Its 12000 services, each under up to five search names, do \
            not fit in 9984; entries take about 1 KiB.",
        relieves: "DNS: queries, and their latency",
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
    facts::advice(30_000, "names of thousands of services and of S3 virtual hosts fit")
}
