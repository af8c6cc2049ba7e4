//! `etcd.max_request_bytes`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "etcd.max_request_bytes",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "etcd", key: "max-request-bytes" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // `server/embed/config.go`: a `uint`, of which at most 10 MiB are recommended.
        takes: domain::number(1, u32::MAX as i128),
        default: "1572864",
        summary: "Maximum size of a request that etcd accepts, in bytes.",
        why: "Source 000 lists the default and keeps it. Larger objects slow down every watch and the leader.",
        relief: Relief::Nothing,
        relieves: "nothing",
        risk: "Larger requests delay heartbeats.",
        sources: &["source 000, Kubernetes values", "etcd, system limits: request size limit"],
        since: None,
        until: None,
        also_called: &["max-request-bytes", "ETCD_MAX_REQUEST_BYTES"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(1_572_864, "the default")
}
