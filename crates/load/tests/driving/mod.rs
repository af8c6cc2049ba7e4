//! What the loads of these tests are driven with.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use linerate_load::body::Bodies;
use linerate_load::hosts::Host;
use linerate_load::multipart::Parts;
use linerate_load::session::{EndCondition, PointPlan, Session, Source};
use linerate_record::load::{HostSelect, Lookup, Payload, Unique, Workload};
use linerate_record::run::Op;

/// Bodies of any size; made once, where there are many sessions.
pub(crate) fn bodies() -> Arc<Bodies> {
    Arc::new(Bodies::new(1, Unique::Tail, &[], None))
}

/// A session of one host, without keys.
pub(crate) fn session(address: SocketAddr, timeout: Duration, bodies: &Arc<Bodies>) -> Session {
    Session {
        hosts: vec![Host { authority: address.to_string(), address }],
        tls: None,
        sources: Vec::new(),
        lookup: Lookup::Path,
        bucket: "bucket".into(),
        run_prefix: "run/".into(),
        credentials: None,
        region: "us-east-1".into(),
        payload: Payload::Unsigned,
        bodies: Arc::clone(bodies),
        host_select: HostSelect::RoundRobin,
        timeout_ns: timeout.as_nanos() as u64,
        seed: 1,
    }
}

/// Two requests in flight for half a minute at most: tests end it as soon as they have seen enough.
pub(crate) fn plan(op: Op, size_bytes: u64) -> PointPlan {
    PointPlan {
        workload: Workload::Single(op),
        sizes: size_bytes.to_string().parse().expect("a size"),
        concurrency: 2,
        arrivals: None,
        retries: 0,
        error_limit: None,
        threads: 1,
        write_set: 1,
        write_first: 0,
        delete_first: 0,
        listed: 8,
        listed_most: u64::MAX,
        parts: Parts { bytes: 5 << 20, concurrent: 1 },
        source: Source::Set { set: 0, count: 8 },
        range_bytes: None,
        verify: false,
        until: EndCondition::Intervals(600),
        cap: None,
        interval_ns: 50_000_000,
    }
}
