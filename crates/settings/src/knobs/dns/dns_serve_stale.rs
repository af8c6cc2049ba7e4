//! `dns.serve_stale`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "dns.serve_stale",
        layer: Layer::Dns,
        locator: Locator::Component { component: "coredns", key: "cache.serve_stale" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // CoreDNS, plugin/cache: serve_stale.
        takes: Domain::Text("DURATION MODE such as 1h immediate, or off"),
        default: "off",
        summary: "Use of expired answers while the upstream does not respond.",
        why: "Source 000 recommends it, without a value. The advice is to serve them immediately, for at most an hour.",
        relief: Relief::Dns,
        relieves: "DNS: number and latency of queries",
        risk: "Addresses of services that moved may be up to an hour old: unsuitable for zones whose records change.",
        sources: &["source 000, CoreDNS", "CoreDNS, plugin/cache"],
        since: None,
        until: None,
        also_called: &["serve_stale"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("1h immediate", "clients keep working while the upstream does not respond")
}
