//! What a load became when its run began, where its description leaves it open: as the run folder keeps it.

use std::net::IpAddr;

use linerate_analysis::slo::RateSearchLimits;
use linerate_record::load::{Levels, Load};
use linerate_record::run::{DefaultSearchLimits, MaybeKnown, Resolved};
use linerate_record::units::Rate;

use super::preparation;
use crate::run::point_timing::Timing;
use crate::terminal::failure::Failure;

/// What a load became, under a prefix of the run's own and from these addresses.
pub(super) fn resolved(load: &Load, timing: &Timing, prefix: &str, sources: &[IpAddr]) -> Resolved {
    let first_size_bytes = || {
        let first = load.work.first().and_then(|work| work.sizes.first());
        first.map_or(0, |sizes| preparation::read_set_objects(load, sizes))
    };
    Resolved {
        prefix: prefix.to_owned(),
        sources: sources.iter().copied().map(MaybeKnown::Known).collect(),
        objects: load.objects.count.is_none().then(first_size_bytes),
        duration_ms: timing.point_ms() - timing.warmup_ms.unwrap_or(0),
        rounds_ms: timing.series_ms.filter(|_| load.levels.given().is_some()),
        warmup_ms: timing.warmup_ms,
        search: knee_search_limits(&load.levels, timing.series_ms(&load.levels)),
        clients: Vec::new(),
    }
}

/// The limits of a search, which no flag gives.
fn knee_search_limits(levels: &Levels, series_ms: u64) -> Option<DefaultSearchLimits> {
    match *levels {
        Levels::Given(_) | Levels::Rates { .. } => None,
        Levels::Searched { .. } => Some(DefaultSearchLimits::Concurrency { lowest: 1, series_ms }),
        Levels::RateSearch { highest_per_s, .. } => {
            let RateSearchLimits { lowest_per_s, precision, .. } = RateSearchLimits::new(Vec::new());
            Some(DefaultSearchLimits::Rate { lowest_per_s: lowest_per_s.min(highest_per_s), precision, series_ms })
        }
    }
}

/// Deletions per second at the most: a cap on requests holds for them too, the rate of an open loop does not.
pub(super) fn deletion_rate_limit(load: &Load) -> Option<f64> {
    match load.max_rate {
        Some(Rate::Requests(per_s)) => Some(per_s),
        _ => None,
    }
}

/// Of the order and of the bytes of a run.
pub(super) fn random_seed() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|e| Failure::usage(format!("no random numbers from the kernel: {e}")))?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use clap::Parser as _;
    use linerate_record::load::{Choice, Payload, Spacing, Unique, Write};
    use linerate_record::machine::Machine;
    use linerate_record::run::{Client, LoadRequest, Manifest, SCHEMA};
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::definition::{Cli, Verb};
    use crate::commands::bench::resolve::resolve;
    use crate::run::point_timing::timing;

    /// The folder's `run.json` of a load that flags ask for.
    fn written(flags: &str) -> Value {
        let words = format!("linerate bench --host 127.0.0.1:9 --prefix a/ {flags}");
        let Verb::Bench(flags) = Cli::try_parse_from(words.split_whitespace()).unwrap().verb else {
            unreachable!("the verb is bench");
        };
        let load = resolve(&flags).unwrap().0;
        let sources: Vec<IpAddr> = load.endpoint.source.iter().map(|_| Ipv4Addr::new(127, 0, 0, 2).into()).collect();
        let resolved = resolved(&load, &timing(&load, 1).unwrap(), "a/linerate-run-00000000/", &sources);
        let target = json!({
            "kind": "s3", "hosts": ["127.0.0.1:9"], "server": null, "lookup": "path", "region": "us-east-1",
            "on_this_machine": true,
        });
        let manifest = Manifest {
            schema: SCHEMA,
            id: "run".to_owned(),
            title: None,
            linerate_version: "0.1.0".to_owned(),
            started_unix_ms: 1,
            seed: 1,
            site: None,
            requested: LoadRequest::new(&load, &resolved, 7),
            load: Some(load),
            resolved: Some(resolved),
            target: serde_json::from_value(target).unwrap(),
            clients: vec![Client::local(Machine::default(), 7)],
            interval_ms: 100,
            intervals_bytes_max: 1,
        };
        let text = serde_json::to_string(&manifest).unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest, "{words}");
        serde_json::from_str(&text).unwrap()
    }

    /// What readers get of such a folder.
    fn read(flags: &str) -> Value {
        let manifest: Manifest = serde_json::from_value(written(flags)).unwrap();
        serde_json::to_value(manifest.requested).unwrap()
    }

    /// What `requested` says of `--op put --obj.size 4KiB --concurrent 4 --duration 1s`, with some of it otherwise.
    fn expected_request(otherwise: Value) -> Value {
        let mut requested = json!({
            "points": [{ "workload": "put", "size": "4KiB", "concurrency": 4 }], "duration_ms": 1_000,
            "threads": 7, "objects": 1_000, "bucket": "linerate-bench",
            "prefix": "a/linerate-run-00000000/", "payload": "signed", "unique": "tail", "verify": false,
            "range_bytes": null, "max_rate": null, "retries": 0, "host_select": "round-robin", "noclear": false,
            "list_existing": false,
        });
        let Value::Object(otherwise) = otherwise else { unreachable!("the difference is an object") };
        otherwise.into_iter().for_each(|(name, value)| requested[name] = value);
        requested
    }

    fn point(workload: &str, size: &str, concurrency: u32) -> Value {
        json!({ "workload": workload, "size": size, "concurrency": concurrency })
    }

    fn spec(workload: &str, size: &str) -> Value {
        json!({ "workload": workload, "size": size })
    }

    /// Loads by their levels, and what differs in `requested`: as runs of each recorded it when they wrote it.
    fn loads_by_level() -> Vec<(&'static str, Value)> {
        let due = |per_s: f64| json!({ "workload": "get", "size": "1MiB", "concurrency": 64, "rate_per_s": per_s });
        let pair = |workload: &str, size: &str| [point(workload, size, 1), point(workload, size, 2)];
        let random = "random:1KiB-2MiB";
        let grid = [pair("get", "4KiB"), pair("get", random), pair("put", "4KiB"), pair("put", random)].concat();
        let knee = |highest: u32, series: Value| {
            let search = json!({ "lowest": 1, "highest": highest, "series_ms": 120_000, "series": series });
            json!({ "points": [], "duration_ms": 10_000, "search": search })
        };
        vec![
            (
                "--op put --obj.size 4KiB --concurrent 4 --time 3m",
                json!({ "duration_ms": 10_000, "rounds_ms": 180_000 }),
            ),
            ("--op put", knee(256, json!([spec("put", "64KiB"), spec("put", "4MiB")]))),
            (
                "--op get,put --obj.size 4KiB,random:1KiB-2MiB --concurrent 1,2 --duration 1s --warmup 130ms \
                 --threads 3 --objects 8",
                json!({ "points": grid, "warmup_ms": 150, "threads": 3, "objects": 8 }),
            ),
            (
                "--op mixed --mix get=3,put=1 --obj.size 4KiB --concurrent auto --max-concurrent 16 --duration 10s",
                knee(16, json!([spec("mixed get=75,put=25", "4KiB")])),
            ),
            (
                "--op get --obj.size 1MiB --rate 100/s,200/s --concurrent 64 --duration 2s --slo p99=50ms",
                json!({
                    "points": [due(100.0), due(200.0)], "slo": [{ "percentile": 99.0, "bound_ns": 50_000_000 }],
                    "duration_ms": 2_000, "warmup_ms": 400, "objects": 512,
                    "arrivals": "constant",
                }),
            ),
            (
                "--op get --obj.size 1MiB --rate 100/s,200/s --concurrent 64 --time 1m",
                json!({
                    "points": [due(100.0), due(200.0)], "duration_ms": 14_000, "rounds_ms": 60_000,
                    "warmup_ms": 1_050, "objects": 512, "arrivals": "constant",
                }),
            ),
            (
                "--op get --obj.size 4KiB --slo p99=50ms --max-rate 5/s --duration 2s --objects 8 --arrivals poisson",
                json!({
                    "points": [], "slo": [{ "percentile": 99.0, "bound_ns": 50_000_000 }], "duration_ms": 2_000,
                    "rate_search": {
                        "lowest_per_s": 1.0, "highest_per_s": 5.0, "concurrency": 1024, "precision": 0.05,
                        "series_ms": 43_200,
                        "series": [spec("get", "4KiB")],
                    },
                    "warmup_ms": 400, "objects": 8, "max_rate": "5/s", "arrivals": "poisson",
                }),
            ),
        ]
    }

    /// Loads by what is done and how, and what differs in `requested`.
    fn loads_by_work() -> Vec<(&'static str, Value)> {
        vec![
            (
                "--op multipart,get --obj.size 12MiB --part.size 5MiB --part.concurrent 2 --concurrent 2 --duration 1s",
                json!({
                    "points": [point("multipart", "12MiB", 2), point("get", "12MiB", 2)], "objects": 42,
                    "part_bytes": 5 << 20, "part_concurrent": 2,
                }),
            ),
            (
                "--op get --obj.size 12MiB --write multipart --range-size 1MiB --verify --concurrent 2 --duration 1s",
                json!({
                    "points": [point("get", "12MiB", 2)], "objects": 42, "part_bytes": 16 << 20,
                    "part_concurrent": 1, "write": "multipart", "range_bytes": 1 << 20, "verify": true,
                }),
            ),
            (
                "--op get,stat --obj.size lognormal:256KiB/1.5 --bucket other-bucket --host-select weighed --source \
                 127.0.0.2 --retries 2 --error-limit 7% --noclear --target-memory 1GiB --max-rate 100MiB/s \
                 --concurrent 4 --duration 1s --objects 9",
                json!({
                    "points": [point("get", "lognormal:256KiB/1.5", 4), point("stat", "lognormal:256KiB/1.5", 4)],
                    "objects": 9, "bucket": "other-bucket", "host_select": "least-outstanding",
                    "sources": ["127.0.0.2"], "retries": 2, "error_limit": "7%", "noclear": true,
                    "target_memory_bytes": 1 << 30, "max_rate": "104857600B/s",
                }),
            ),
            (
                "--op put --obj.size 4096:10740,8192:1685 --abort-if errors>1% --canary-rate 4 --max-rate 500/s \
                 --error-limit 100 --concurrent 4 --duration 1s",
                json!({
                    "points": [point("put", "4096:10740,8192:1685", 4)], "abort_if": [{ "errors": 0.01 }],
                    "canary_per_s": 4.0, "max_rate": "500/s", "error_limit": "100",
                }),
            ),
            (
                "--op get,stat --list-existing --concurrent 4 --duration 1s",
                json!({
                    "points": [point("get", "existing", 4), point("stat", "existing", 4)], "list_existing": true,
                }),
            ),
        ]
    }

    #[test]
    fn readers_get_of_each_kind_of_load_what_its_flags_asked_for() {
        for (flags, otherwise) in loads_by_level().into_iter().chain(loads_by_work()) {
            assert_eq!(read(flags), expected_request(otherwise), "{flags}");
        }
    }

    #[test]
    fn readers_get_each_choice_by_its_word() {
        let closed = "--op put --obj.size 4KiB --concurrent 4 --duration 1s";
        let read_with_flag = |flag: &str, word: &str| read(&format!("{closed} --{flag} {word}"));
        for word in Payload::ALL.iter().map(|payload| payload.name()) {
            assert_eq!(read_with_flag("payload", word), expected_request(json!({ "payload": word })), "{word}");
        }
        for word in Unique::ALL.iter().map(|unique| unique.name()) {
            assert_eq!(read_with_flag("unique", word), expected_request(json!({ "unique": word })), "{word}");
        }
        for (word, name) in [("roundrobin", "round-robin"), ("weighed", "least-outstanding")] {
            assert_eq!(read_with_flag("host-select", word), expected_request(json!({ "host_select": name })), "{word}");
        }
        for word in Spacing::ALL.iter().map(|spacing| spacing.name()) {
            let open = read(&format!("--op put --obj.size 4KiB --rate 5/s --arrivals {word}"));
            assert_eq!(open["arrivals"], word);
        }
        for (write, recorded) in [(Write::Put, Value::Null), (Write::Multipart, json!("multipart"))] {
            let reads = read(&format!("--op get --obj.size 12MiB --write {} --concurrent 4", write.name()));
            assert_eq!(reads["write"], recorded, "{write}");
        }
    }

    #[test]
    fn nothing_of_a_load_is_written_twice() {
        let run = written("--op get --obj.size 4KiB --concurrent 4 --objects 9 --threads 3 --duration 1s");
        assert_eq!(run.get("asked"), None);
        let expected = json!({ "prefix": "a/linerate-run-00000000/", "duration_ms": 1_000 });
        assert_eq!(run["resolved"], expected);
        // What the flags left open is there in its place.
        let open = written("--op get --obj.size 4KiB --slo p99=50ms --max-rate 5/s --duration 2s --source 127.0.0.2");
        let expected = json!({
            "prefix": "a/linerate-run-00000000/", "sources": ["127.0.0.2"], "objects": 1_000, "duration_ms": 2_000,
            "warmup_ms": 400, "search": { "rate": { "lowest_per_s": 1.0, "precision": 0.05, "series_ms": 43_200 } },
        });
        assert_eq!(open["resolved"], expected);
    }
}
