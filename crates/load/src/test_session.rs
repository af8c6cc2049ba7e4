//! A session and a plan for unit tests of this crate.

use std::sync::Arc;

use linerate_record::load::{HostSelect, Lookup, Payload, Unique, Workload};
use linerate_record::run::Op;

use crate::body::Bodies;
use crate::hosts::Host;
use crate::multipart::Parts;
use crate::session::{EndCondition, PointPlan, Session, Source};

/// A session against nothing.
pub(crate) fn session() -> Session {
    Session {
        hosts: vec![Host { authority: "127.0.0.1:9".into(), address: ([127, 0, 0, 1], 9).into() }],
        tls: None,
        sources: Vec::new(),
        lookup: Lookup::Path,
        bucket: "bucket".into(),
        run_prefix: "run/".into(),
        credentials: None,
        region: "us-east-1".into(),
        payload: Payload::Signed,
        bodies: Arc::new(Bodies::new(1, Unique::Tail, &[4096], None)),
        host_select: HostSelect::RoundRobin,
        timeout_ns: 1_000_000_000,
        seed: 1,
    }
}

/// Objects of 4096 bytes, one thread, one request in flight.
pub(crate) fn plan(workload: Workload) -> PointPlan {
    PointPlan {
        sizes: "4096".parse().expect("a size"),
        source: Source::Set { set: 0, count: if workload.has(Op::List) { 1 } else { 8 } },
        workload,
        concurrency: 1,
        arrivals: None,
        retries: 0,
        error_limit: None,
        threads: 1,
        write_set: 1,
        write_first: 0,
        delete_first: 0,
        parts: Parts { bytes: 5 << 20, concurrent: 1 },
        listed: 0,
        listed_most: u64::MAX,
        range_bytes: None,
        verify: false,
        until: EndCondition::Intervals(1),
        cap: None,
        interval_ns: 100_000_000,
    }
}
