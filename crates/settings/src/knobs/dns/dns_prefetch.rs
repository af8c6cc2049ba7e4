//! `dns.prefetch`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "dns.prefetch",
        layer: Layer::Dns,
        locator: Locator::Component { component: "coredns", key: "cache.prefetch" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // CoreDNS, plugin/cache: prefetch.
        takes: Domain::Text("AMOUNT DURATION PERCENTAGE such as 10 1m 10%, or off"),
        default: "off",
        summary: "Renewal of frequently queried names shortly before they expire.",
        why: "Source 000 recommends it, without a value. The advice is the example of the plugin: names with ten \
            queries in a minute, at 10 % of the remaining time.",
        relief: Relief::Dns,
        relieves: "DNS: number and latency of queries",
        risk: "A few more upstream queries.",
        sources: &["source 000, CoreDNS", "CoreDNS, plugin/cache"],
        since: None,
        until: None,
        also_called: &["prefetch"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice("10 1m 10%", "names in use are renewed before they expire")
}
