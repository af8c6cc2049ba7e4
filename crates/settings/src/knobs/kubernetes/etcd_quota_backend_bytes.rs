//! `etcd.quota_backend_bytes`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "etcd.quota_backend_bytes",
        layer: Layer::Kubernetes,
        locator: Locator::Component { component: "etcd", key: "quota-backend-bytes" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // `server/storage/quota.go`: an `int64`; zero is the default, below zero is without bound.
        takes: domain::number(i64::MIN as i128, i64::MAX as i128),
        default: "2147483648",
        summary: "Size of the database in bytes at which etcd refuses writes.",
        why: "The advice is 8 GiB, as in source 000: the maximum that etcd recommends. That cluster used 2.5 GB, above \
            the default of 2 GiB, at which all writes fail.",
        relief: Relief::Kubernetes,
        relieves: "Kubernetes: a cluster that becomes read-only",
        risk: "Larger databases take longer to restore and to defragment.",
        sources: &["source 000, Kubernetes values", "etcd, system limits: storage size limit"],
        since: None,
        until: None,
        also_called: &["quota-backend-bytes", "ETCD_QUOTA_BACKEND_BYTES"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    facts::advice(8_589_934_592_u64, "the maximum that etcd recommends; at the quota, it becomes read-only")
}
