//! A load as an agent is told it, as a session and as points of this process.

use std::sync::Arc;
use std::time::Duration;

use linerate_fleet::load_protocol::{ListedObjects, LoadOrder, OrderUntil, PointOrder, check_load, check_order};
use linerate_load::bucket::Bucket;
use linerate_load::hosts::Host;
use linerate_load::multipart::Parts;
use linerate_load::session::{EndCondition, Existing, PointPlan, Session, Source};
use linerate_load::sigv4::{Credentials, Secret};
use linerate_load::tls::Tls;
use linerate_record::load::{Load, Lookup, Server, Sizes, Workload};
use linerate_wire::open_loop::Arrivals;
use linerate_wire::rate_limit::RateLimit;
use sha2::{Digest as _, Sha256};

use crate::credentials::{endpoint, keys, tls_trust};
use crate::run::bodies;
use crate::run::processors::processors;
use crate::run::target_process::TargetProcess;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// What is the same for every request that an order asks for. Names of hosts are looked up here.
pub(crate) fn session(order: &LoadOrder) -> Result<Session, Failure> {
    let (load, endpoint) = (&order.load, &order.load.endpoint);
    let Server::Hosts { authorities, .. } = &endpoint.server else {
        return Err(Failure::usage("a target of linerate's own is loaded from its own machine alone"));
    };
    let within = Duration::from_nanos(load.stops.timeout_ns);
    let hosts = endpoint::found_hosts(&order.addresses, authorities, false, within)?;
    let trust =
        endpoint.tls.as_ref().map(|tls| tls_trust::with_pem(tls.insecure, order.ca_pem.as_deref())).transpose()?;
    let keys = order.keys.as_ref().map(|keys| {
        key_masks::remember_key_name(&keys.access_key);
        std::iter::once(&keys.secret_key).chain(&keys.session_token).for_each(|key| key_masks::remember_secret(key));
        Credentials {
            access_key: keys.access_key.clone(),
            secret_key: Secret::new(keys.secret_key.clone()),
            session_token: keys.session_token.clone().map(Secret::new),
            from: Arc::default(),
        }
    });
    Ok(Session {
        tls: trust.map(|trust| Tls::new(trust, &hosts, endpoint.lookup, &endpoint.bucket)).transpose()?,
        sources: Vec::new(),
        lookup: endpoint.lookup,
        bucket: endpoint.bucket.clone(),
        run_prefix: order.run_prefix.clone(),
        credentials: keys,
        region: endpoint.region.clone(),
        payload: load.bodies.payload,
        bodies: Arc::new(bodies::for_load(load, order.seed)),
        host_select: endpoint.host_select,
        timeout_ns: load.stops.timeout_ns,
        seed: order.seed,
        hosts,
    })
}

/// What is said of objects that were there before, so that others know whether theirs are the same.
pub(crate) fn listing_digest(objects: &[Existing], most: u64) -> ListedObjects {
    let mut hash = Sha256::new();
    for object in objects {
        // No key holds a line break as it is listed, and no two lists have the same text.
        hash.update(format!("{} {:?}\n", object.size_bytes, object.key));
    }
    let sha256 = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    ListedObjects { most, count: objects.len() as u64, sha256 }
}

/// The objects that were there before and are to be read, listed here; none where the run reads its own.
pub(crate) fn list_existing(order: &LoadOrder, session: &Session) -> Result<Arc<Vec<Existing>>, Failure> {
    let Some(expected) = &order.existing else { return Ok(Arc::default()) };
    check_load(order).map_err(Failure::usage)?;
    let most = usize::try_from(expected.most).unwrap_or(usize::MAX);
    let found = Bucket::connect_any(session).and_then(|mut bucket| bucket.list(&order.load.endpoint.prefix, most))?;
    if listing_digest(&found, expected.most) != *expected {
        // What an agent says of a failure is cut where it is longer than this.
        let why = "it lists other objects than the coordinator did: give a --prefix below which nobody writes";
        return Err(Failure::usage(why));
    }
    Ok(Arc::new(found))
}

/// The point that an order asks for.
pub(crate) fn point_plan(load: &Load, order: &PointOrder) -> Result<PointPlan, Failure> {
    check_order(order).map_err(Failure::usage)?;
    Ok(PointPlan {
        arrivals: order.rate.map(|rate| Arrivals {
            per_s: rate.per_s,
            spacing: rate.spacing,
            point: rate.point,
            client: (rate.client, rate.clients),
        }),
        error_limit: order.error_limit,
        threads: order.threads.unwrap_or_else(processors),
        write_set: order.write_set,
        write_first: order.write_first,
        delete_first: order.delete_first,
        source: Source::Set { set: order.read_set, count: order.read_count },
        listed: order.listed,
        listed_most: order.listed_most,
        verify: order.verify,
        until: match order.until {
            OrderUntil::Intervals(all) => EndCondition::Intervals(all),
            OrderUntil::Written(until) => EndCondition::Written(until),
        },
        cap: order.max_rate.map(|rate| Arc::new(RateLimit::new(rate))),
        ..plan_of_load(load, &order.workload, &order.sizes, order.concurrency, order.interval_ns)
    })
}

/// A point that does what all points of a load do; what differs is left open.
pub(crate) fn plan_of_load(
    load: &Load,
    workload: &Workload,
    sizes: &Sizes,
    concurrency: u32,
    interval_ns: u64,
) -> PointPlan {
    PointPlan {
        workload: workload.clone(),
        sizes: sizes.clone(),
        concurrency,
        arrivals: None,
        retries: load.stops.retries,
        error_limit: load.stops.error_limit,
        threads: 1,
        write_set: 0,
        write_first: 0,
        delete_first: 0,
        source: Source::Set { set: 0, count: 0 },
        listed: 0,
        listed_most: u64::MAX,
        parts: Parts { bytes: load.bodies.part_bytes, concurrent: load.bodies.part_concurrent },
        range_bytes: load.bodies.range_bytes,
        verify: load.bodies.verify,
        until: EndCondition::Intervals(1),
        cap: None,
        interval_ns,
    }
}

/// The session, driven at a null target of this process.
pub(crate) fn null_target_session(session: &Session, null: &mut TargetProcess) -> Result<Session, Failure> {
    // Signatures cost what they cost with the user's keys, which are nobody else's business.
    let credentials = session.credentials.as_ref().map(keys::dummy_credentials).transpose()?;
    let host = Host { authority: null.address.to_string(), address: null.address };
    let tls = null.trust.take().map(|trust| Tls::new(trust, std::slice::from_ref(&host), Lookup::Path, ""));
    Ok(Session {
        tls: tls.transpose()?,
        hosts: vec![host],
        // The null target is on the loopback, which other addresses may not reach.
        sources: Vec::new(),
        credentials,
        ..session.clone()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn order(addresses: &[&str]) -> LoadOrder {
        let order = json!({
            "load": {
                "endpoint": {
                    "server": { "hosts": { "authorities": ["s3.invalid:80"], "every_address": true } },
                    "anonymous": true, "region": "us-east-1", "bucket": "bucket", "prefix": "", "lookup": "path",
                    "host_select": "round-robin",
                },
                "work": [{ "workload": "get", "sizes": ["1KiB"] }],
                "objects": { "write": "put", "list_existing": false, "noclear": false },
                "bodies": {
                    "payload": "unsigned", "unique": "tail", "part_bytes": 16 << 20, "part_concurrent": 1,
                    "verify": false,
                },
                "levels": { "given": [1] },
                "time": { "duration_ns": 1_000_000_000_u64, "warmup_ns": null, "precision": null },
                "stops": { "timeout_ns": 5_000_000_000_u64, "retries": 0 },
            },
            "addresses": addresses, "run_prefix": "run/", "seed": 1, "expected_ms": 1,
        });
        serde_json::from_value(order).unwrap()
    }

    #[test]
    fn addresses_that_the_coordinator_found_are_loaded_in_its_order_and_not_looked_up() {
        let all = ["s3.invalid:80 (127.0.0.9)", "s3.invalid:80 (127.0.0.2)", "s3.invalid:80 (::1)"];
        let hosts = session(&order(&all)).unwrap().hosts;
        let found: Vec<(&str, String)> =
            hosts.iter().map(|host| (host.authority.as_str(), host.address.to_string())).collect();
        let expected = ["127.0.0.9:80", "127.0.0.2:80", "[::1]:80"].map(|at| ("s3.invalid:80", at.to_owned()));
        assert_eq!(found, expected);
        for wrong in ["s3.invalid:80 (nowhere)", "file:/etc/passwd"] {
            assert!(session(&order(&[wrong])).is_err(), "{wrong}");
        }
    }

    #[test]
    fn objects_are_the_same_where_keys_sizes_and_order_are() {
        let objects = |all: &[(&str, u64)]| {
            let one = |&(key, size_bytes): &(&str, u64)| Existing { key: key.to_owned(), size_bytes };
            listing_digest(&all.iter().map(one).collect::<Vec<_>>(), 10)
        };
        let known = objects(&[("a", 1), ("b", 22)]);
        assert_eq!((known.clone(), known.count), (objects(&[("a", 1), ("b", 22)]), 2));
        for other in [&[("a", 1), ("b", 2)][..], &[("b", 22), ("a", 1)], &[("a", 1)], &[("a", 1), ("c", 22)]] {
            assert_ne!(objects(other).sha256, known.sha256, "{other:?}");
        }
        // A line break within a key is no other object.
        assert_ne!(objects(&[("a\"\n2 \"b", 1)]).sha256, objects(&[("a", 1), ("b", 2)]).sha256);
    }
}
