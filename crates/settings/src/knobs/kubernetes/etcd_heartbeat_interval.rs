//! `etcd.heartbeat_interval`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "etcd.heartbeat_interval",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "etcd", key: "heartbeat-interval" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // `server/embed/config.go`: an election of 50,000 ms at most has five of them.
        takes: domain::number(1, 10000),
        default: "100 ms",
        summary: "Milliseconds between the heartbeats of the leader.",
        why: "etcd recommends 0.5 to 1.5 times the round trip between members. Source 000 sets 270, or 1.5 times the \
            *slowest* 180 ms that it observed, while its own table has a peer round trip of 6.35 ms. A disk or a \
            scheduler caused the 180 ms, and a longer heartbeat interval hides that. The default is already fifteen \
            round trips.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: leader elections",
        risk: "Long: a failed leader is detected later.",
        sources: &["source 000, Kubernetes values", "etcd, tuning: time parameters"],
        since: None,
        until: None,
        also_called: &["heartbeat-interval", "ETCD_HEARTBEAT_INTERVAL"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(100, "the default: round trips within a site are below 100 ms")
}
