//! `etcd.election_timeout`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "etcd.election_timeout",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "etcd", key: "election-timeout" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // `server/embed/config.go: maxElectionMs`; at least five heartbeats.
        takes: domain::number(1, 50000),
        default: "1000 ms",
        summary: "Milliseconds without a heartbeat after which a member starts an election.",
        why: "etcd recommends ten times the heartbeat interval, from which source 000 derives 2700. With the default \
            heartbeat, the default is right.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: leader elections",
        risk: "Long: no writes for that long after a leader fails.",
        sources: &["source 000, Kubernetes values", "etcd, tuning: time parameters"],
        since: None,
        until: None,
        also_called: &["election-timeout", "ETCD_ELECTION_TIMEOUT"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1000, "the default: ten heartbeats")
}
