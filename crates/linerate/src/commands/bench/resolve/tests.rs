use clap::Parser as _;
use linerate_record::load::{Payload, WarmUp};

use super::*;
use crate::cli::definition::{Cli, Verb};

fn flags(words: &str) -> BenchFlags {
    let words = ["linerate", "bench"].into_iter().chain(words.split_whitespace());
    match Cli::try_parse_from(words).unwrap().verb {
        Verb::Bench(flags) => *flags,
        _ => unreachable!("the verb is bench"),
    }
}

/// The load that flags ask for, against a target of linerate's own where they name no host.
pub(crate) fn load(words: &str) -> Load {
    let own = if words.contains("--host") { "" } else { "--target embedded" };
    check(&flags(&format!("{own} {words}"))).unwrap().0
}

/// Each part of a load is what its flags say.
#[test]
fn flags_become_one_description() {
    let words = "--host 127.0.0.1:9000,localhost:1 --tls --insecure --bucket some-bucket --prefix a/ --lookup host \
                 --host-select weighed --source 127.0.0.1 --op get,multipart --obj.size 5MiB --objects 9 \
                 --write multipart --concurrent 2,1 --max-rate 5/s --threads 3 --duration 2s --warmup 1s --precision \
                 none --payload unsigned --part.size 6MiB --part.concurrent 2 --range-size 1KiB --retries 1 \
                 --error-limit 1% --abort-if errors>1% --canary-rate 4 --timeout 3s --region eu-1";
    let (load, notes) = resolve(&flags(words)).unwrap();
    let expected = serde_json::json!({
        "endpoint": {
            "server": { "hosts": { "authorities": ["127.0.0.1:9000", "localhost:1"], "every_address": false } },
            "tls": { "insecure": true },
            "anonymous": false,
            "region": "eu-1",
            "bucket": "some-bucket",
            "prefix": "a/",
            "lookup": "host",
            "host_select": "least-outstanding",
            "source": "127.0.0.1",
        },
        "work": [
            { "workload": "get", "sizes": ["5MiB"] },
            { "workload": "multipart", "sizes": ["5MiB"] },
        ],
        "objects": { "count": 9, "write": "multipart", "list_existing": false, "noclear": false },
        "bodies": {
            "payload": "unsigned",
            "unique": "tail",
            "part_bytes": 6 << 20,
            "part_concurrent": 2,
            "range_bytes": 1024,
            "verify": false,
        },
        "levels": { "given": [1, 2] },
        "max_rate": "5/s",
        "threads": 3,
        "time": { "duration_ns": 2_000_000_000u64, "warmup_ns": 1_000_000_000, "precision": null },
        "stops": {
            "timeout_ns": 3_000_000_000u64,
            "retries": 1,
            "error_limit": { "share": 0.01 },
            "canary": { "per_s": 4.0, "abort_if": [{ "errors": 0.01 }] },
        },
    });
    assert_eq!((serde_json::to_value(&load).unwrap(), notes), (expected, Vec::<String>::new()));
    assert_eq!(parse_description(&serde_json::to_vec(&load).unwrap()).unwrap(), load, "it says of itself what it is");
}

#[test]
fn a_concurrency_or_rate_that_is_named_again_is_told_as_measured_once() {
    for (words, reported) in [
        ("--op get --concurrent 2,4,4,8,2", Some("--concurrent 2,4,4,8,2 has duplicates")),
        ("--op get --concurrent 1..8,8", Some("--concurrent 1..8,8 has duplicates")),
        ("--op get --rate 5/s,9/s,5/s", Some("--rate 5/s,9/s,5/s has duplicates")),
        ("--op get --concurrent 2,4,8", None),
        ("--op get --concurrent 1..8", None),
        ("--op get --concurrent auto", None),
        ("--op get --rate 5/s,9/s --concurrent 8", None),
    ] {
        let notes = check(&flags(&format!("--target embedded {words}"))).unwrap().1;
        let again: Vec<&String> = notes.iter().filter(|note| note.contains("has duplicates")).collect();
        assert_eq!(again.len(), reported.iter().len(), "{words}: {notes:?}");
        assert!(
            again.iter().all(|note| reported.is_some_and(|reported| note.starts_with(reported))),
            "{words}: {notes:?}"
        );
    }
}

#[test]
fn what_no_flag_says_follows_from_the_rest() {
    for (words, duration_s) in
        [("", 10), ("--concurrent 8", 10), ("--concurrent 1..16 --time 25s", 5), ("--rate 5/s", 11)]
    {
        assert_eq!(load(words).time.duration_ns, duration_s * 1_000_000_000, "{words}");
    }
    let usual = load("");
    assert_eq!((usual.endpoint.server.is_own(), usual.time.warmup_ns), (true, WarmUp(None)));
    assert_eq!((usual.bodies.payload, usual.levels), (Payload::Signed, Levels::Searched { highest: 256 }));
}

#[test]
fn a_description_is_held_against_the_rules_of_flags() {
    let whole = serde_json::to_value(load("--op get --obj.size 1KiB --concurrent 1")).unwrap();
    let reported = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = whole.clone();
        change(&mut value);
        parse_description(&serde_json::to_vec(&value).unwrap()).map(drop).map_err(|error| error.to_string())
    };
    // The region is resolved apart from the flags, and is empty here.
    let region = |value: &mut serde_json::Value| value["endpoint"]["region"] = "us-east-1".into();
    assert_eq!(reported(&region), Ok(()));
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &str); 9] = [
        (|v| v["endpoint"]["bucket"] = "A_B".into(), "\"A_B\""),
        (|v| v["endpoint"]["bucket"] = 7.into(), "invalid description"),
        (|v| v["levels"] = serde_json::json!({ "given": [0] }), "invalid levels"),
        (|v| v["work"] = serde_json::json!([]), "at least one workload"),
        (
            |v| {
                v["endpoint"]["server"] = serde_json::json!({ "hosts": { "authorities": ["k:s@h:1"], "every_address":
            false } })
            },
            "keys before the host",
        ),
        (|v| v["op"] = "get".into(), "unknown field `op`"),
        (
            |v| {
                v["endpoint"]["server"] = serde_json::json!({ "hosts": { "authorities": ["a:1", "b:1"], "every_address":
            false, "addresses": ["a:1 (127.0.0.1)"] } })
            },
            "invalid addresses",
        ),
        (
            |v| {
                v["endpoint"]["server"] = serde_json::json!({ "hosts": { "authorities": ["127.0.0.1:1"],
            "every_address": false, "addresses": ["127.0.0.1:1 (192.0.2.1)"] } })
            },
            "invalid addresses",
        ),
        (|v| v["stops"]["timeout_ns"] = 0.into(), "--timeout"),
    ];
    for (change, part) in cases {
        let error = reported(&|value| {
            region(value);
            change(value);
        })
        .unwrap_err();
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(parse_description(b"").is_err() && parse_description(b"{}").is_err());
}

#[test]
fn what_once_ended_points_is_taken_and_told() {
    let notes_of = |words: &str| check(&flags(&format!("--target embedded --op get {words}"))).unwrap().1;
    for (words, reported) in [
        ("--autoterm", Some("--autoterm: no point ends early any more")),
        ("--precision 5% --rate 5/s", Some("--precision: no point ends early any more")),
        (
            "--autoterm --autoterm.dur 10s --autoterm.pct 7.5",
            Some("--autoterm, --autoterm.dur, --autoterm.pct: no point ends early"),
        ),
        ("--autoterm.dur=15s", Some("--autoterm.dur: no point ends early")),
        ("--precision none", None),
        ("", None),
    ] {
        let notes = notes_of(words);
        assert_eq!(notes.len(), reported.iter().len(), "{words}: {notes:?}");
        assert!(reported.is_none_or(|begin| notes[0].starts_with(begin)), "{words}: {notes:?}");
    }
    for (flag, value) in [("--autoterm.pct", "x"), ("--autoterm.pct", "101"), ("--autoterm.dur", "soon")] {
        let error = Cli::try_parse_from(["linerate", "bench", flag, value]).unwrap_err().to_string();
        assert!(error.contains(value) && error.contains(flag), "{error}");
    }
}
