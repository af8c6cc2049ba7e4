//! etcd.

use linerate_record::knob::{Knob, Layer, Locator, RelievedResource, Scope, TakesEffect, domain};

use crate::knobs::{Advise, KnobRow};

/// What all rows have in common.
const BASE: Knob =
    Knob { layer: Layer::Kubernetes, scope: Scope::Cluster, takes_effect: TakesEffect::Restart, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "etcd.heartbeat_interval",
            locator: Locator::Component { component: "etcd", key: "heartbeat-interval" },
            // `server/embed/config.go`: an election of 50,000 ms at most has five of them.
            takes: domain::number(1, 10000),
            default: "100 ms",
            summary: "Milliseconds between the heartbeats of the leader.",
            why: "etcd recommends 0.5 to 1.5 times the round trip between members. Source 000 sets 270, or 1.5 times \
                the *slowest* 180 ms that it observed, while its own table has a peer round trip of 6.35 ms. A disk or \
                a scheduler caused the 180 ms, and a longer heartbeat interval hides that. The default is already \
                fifteen round trips.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: leader elections",
            risk: "Long: a failed leader is detected later.",
            sources: &["source 000, Kubernetes values", "etcd, tuning: time parameters"],
            also_called: &["heartbeat-interval", "ETCD_HEARTBEAT_INTERVAL"],
            ..BASE
        },
        advise: Advise::Constant("100", "the default: round trips within a site are below 100 ms"),
    },
    KnobRow {
        knob: Knob {
            id: "etcd.election_timeout",
            locator: Locator::Component { component: "etcd", key: "election-timeout" },
            // `server/embed/config.go: maxElectionMs`; at least five heartbeats.
            takes: domain::number(1, 50000),
            default: "1000 ms",
            summary: "Milliseconds without a heartbeat after which a member starts an election.",
            why: "etcd recommends ten times the heartbeat interval, from which source 000 derives 2700. With the \
                default heartbeat, the default is right.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: leader elections",
            risk: "Long: no writes for that long after a leader fails.",
            sources: &["source 000, Kubernetes values", "etcd, tuning: time parameters"],
            also_called: &["election-timeout", "ETCD_ELECTION_TIMEOUT"],
            ..BASE
        },
        advise: Advise::Constant("1000", "the default: ten heartbeats"),
    },
    KnobRow {
        knob: Knob {
            id: "etcd.quota_backend_bytes",
            locator: Locator::Component { component: "etcd", key: "quota-backend-bytes" },
            // `server/storage/quota.go`: an `int64`; zero is the default, below zero is without bound.
            takes: domain::number(i64::MIN as i128, i64::MAX as i128),
            default: "2147483648",
            summary: "Size of the database in bytes at which etcd refuses writes.",
            why: "The advice is 8 GiB, as in source 000: the maximum that etcd recommends. That cluster used 2.5 GB, \
                above the default of 2 GiB, at which all writes fail.",
            relief: RelievedResource::Kubernetes,
            relieves: "Kubernetes: a cluster that becomes read-only",
            risk: "Larger databases take longer to restore and to defragment.",
            sources: &["source 000, Kubernetes values", "etcd, system limits: storage size limit"],
            also_called: &["quota-backend-bytes", "ETCD_QUOTA_BACKEND_BYTES"],
            ..BASE
        },
        advise: Advise::Constant("8589934592", "the maximum that etcd recommends; at the quota, it becomes read-only"),
    },
    KnobRow {
        knob: Knob {
            id: "etcd.max_request_bytes",
            locator: Locator::Component { component: "etcd", key: "max-request-bytes" },
            // `server/embed/config.go`: a `uint`, of which at most 10 MiB are recommended.
            takes: domain::number(1, u32::MAX as i128),
            default: "1572864",
            summary: "Maximum size of a request that etcd accepts, in bytes.",
            why: "Source 000 lists the default and keeps it. Larger objects slow down every watch and the leader.",
            relief: RelievedResource::Nothing,
            relieves: "nothing",
            risk: "Larger requests delay heartbeats.",
            sources: &["source 000, Kubernetes values", "etcd, system limits: request size limit"],
            also_called: &["max-request-bytes", "ETCD_MAX_REQUEST_BYTES"],
            ..BASE
        },
        advise: Advise::Constant("1572864", "the default"),
    },
];
