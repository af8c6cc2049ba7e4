use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::slo::Slo;

fn any_choice<T: Choice + fmt::Debug>() -> impl Strategy<Value = T> {
    select(T::ALL.to_vec())
}

fn endpoints() -> impl Strategy<Value = Endpoint> {
    let server = prop_oneof![
        (prop::collection::vec("[a-z]{1,8}:[1-9][0-9]{0,3}", 1..4), any::<bool>())
            .prop_map(|(authorities, every_address)| Server::named(authorities, every_address)),
        (any_choice::<OwnTarget>(), option::of("[a-z/]{1,9}"))
            .prop_map(|(kind, drive)| Server::Own { kind, drive: drive.map(PathBuf::from) }),
    ];
    let tls = (any::<bool>(), option::of("[a-z/.]{1,9}"))
        .prop_map(|(insecure, file)| TlsTrust { insecure, ca_file: file.map(PathBuf::from) });
    let names = ("[a-z0-9-]{2,9}", "[a-z]{3,9}", "[a-z/]{0,9}", option::of("[a-z0-9.,]{1,9}"));
    let choices = (any_choice::<Lookup>(), any_choice::<HostSelect>(), any::<bool>());
    (server, option::of(tls), names, choices, option::of(any::<u32>()), option::of(any::<u64>())).prop_map(
        |(server, tls, (region, bucket, prefix, source), (lookup, host_select, anonymous), pid, memory_bytes)| {
            Endpoint { server, tls, anonymous, region, bucket, prefix, lookup, host_select, source, pid, memory_bytes }
        },
    )
}

fn works() -> impl Strategy<Value = WorkloadSizes> {
    let workloads = prop_oneof![
        select(vec!["get", "put", "stat", "delete", "list", "multipart"]).prop_map(str::to_owned),
        (1..1000u32, 0..1000u32).prop_map(|(get, put)| format!("mixed get={get},put={put},delete={}", put / 2)),
    ];
    let sizes = select(vec!["64KiB", "0", "random:1KiB-2MiB", "lognormal:256KiB/1.5", "4096:10740,8192:1685"]);
    (workloads, prop::collection::vec(sizes, 1..3)).prop_map(|(workload, sizes)| WorkloadSizes {
        workload: workload.parse().unwrap(),
        sizes: sizes.into_iter().map(|text| Sizes::try_from(text.to_owned()).unwrap()).collect(),
    })
}

fn all_levels() -> impl Strategy<Value = Levels> {
    let slo = || select(vec!["p99=50ms", "p50=800us,p99.9=1s"]).prop_map(|text| text.parse::<Slo>().unwrap());
    prop_oneof![
        prop::collection::vec(1..65_536u32, 1..5).prop_map(Levels::Given),
        (1..65_536u32).prop_map(|highest| Levels::Searched { highest }),
        (1..9u32, any_choice::<Spacing>(), prop::collection::vec(0.001..1e7, 1..4), option::of(slo()))
            .prop_map(|(concurrency, spacing, per_s, slo)| Levels::Rates { concurrency, spacing, per_s, slo }),
        (1..9u32, any_choice::<Spacing>(), 0.001..1e7, slo()).prop_map(|(concurrency, spacing, highest_per_s, slo)| {
            Levels::RateSearch { concurrency, spacing, highest_per_s, slo }
        }),
    ]
}

fn all_stops() -> impl Strategy<Value = StopConditions> {
    let limit = prop_oneof![any::<u64>().prop_map(ErrorLimit::Count), (0.0..1.0).prop_map(ErrorLimit::Share)];
    let rules = (2.0..100.0, select(vec!["p99>200ms", "errors>1%,p50>20ms"]))
        .prop_map(|(per_s, rules)| CanaryRules { per_s, abort_if: rules.parse().unwrap() });
    (any::<u64>(), 0..100u32, option::of(limit), option::of(rules)).prop_map(
        |(timeout_ns, retries, error_limit, canary)| StopConditions { timeout_ns, retries, error_limit, canary },
    )
}

fn loads() -> impl Strategy<Value = Load> {
    let objects = (option::of(1..1u64 << 32), any_choice::<Write>(), any::<bool>(), any::<bool>())
        .prop_map(|(count, write, list_existing, noclear)| Objects { count, write, list_existing, noclear });
    let bodies = (any_choice(), any_choice(), any::<u64>(), any::<u32>(), option::of(any::<u64>()), any::<bool>())
        .prop_map(|(payload, unique, part_bytes, part_concurrent, range_bytes, verify)| BodyOptions {
            payload,
            unique,
            part_bytes,
            part_concurrent,
            range_bytes,
            verify,
        });
    let time = (any::<u64>(), option::of(any::<u64>()), option::of(any::<u64>()), option::of(0.0001..0.5)).prop_map(
        |(duration_ns, series_ns, warmup, precision)| Time {
            duration_ns,
            series_ns,
            warmup_ns: WarmUp(warmup),
            precision: Precision(precision),
        },
    );
    let cap = option::of(prop_oneof![
        (0.001..1e9).prop_map(Rate::Requests),
        (1..1u64 << 50).prop_map(|bytes| Rate::Bytes(bytes as f64)),
    ]);
    let work = prop::collection::vec(works(), 1..4);
    (endpoints(), work, objects, bodies, all_levels(), cap, option::of(1..1024u32), (time, all_stops())).prop_map(
        |(endpoint, work, objects, bodies, levels, max_rate, threads, (time, stops))| Load {
            endpoint,
            work,
            objects,
            bodies,
            levels,
            max_rate,
            threads,
            time,
            stops,
        },
    )
}

/// The places of a value in which an object stands.
fn objects_in(value: &serde_json::Value, at: &str, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(members) => {
            found.push(at.to_owned());
            members.iter().for_each(|(name, value)| objects_in(value, &format!("{at}/{name}"), found));
        }
        serde_json::Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| objects_in(item, &format!("{at}/{i}"), found));
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn a_load_survives_its_json(load in loads()) {
        let text = serde_json::to_string(&load).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Load>(&text).unwrap(), &load, "{}", text);
    }

    #[test]
    fn a_field_that_nobody_knows_is_refused_wherever_it_stands(load in loads()) {
        let value = serde_json::to_value(&load).unwrap();
        let mut places = Vec::new();
        objects_in(&value, "", &mut places);
        // Bounds on latencies are records of their own, which ignore what they do not know.
        for place in places.iter().filter(|place| !place.contains("slo") && !place.contains("abort_if")) {
            let mut forged = value.clone();
            forged.pointer_mut(place).unwrap()["no_such_field"] = 1.into();
            prop_assert!(serde_json::from_value::<Load>(forged).is_err(), "{}", place);
        }
    }

    #[test]
    fn a_patch_leads_from_any_load_to_any_other_and_survives_its_json(from in loads(), to in loads()) {
        let patch = LoadPatch::between(&from, &to);
        prop_assert_eq!(&from.with(&patch), &to);
        let text = serde_json::to_string(&patch).unwrap();
        let read: LoadPatch = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&from.with(&read), &to, "{}", text);
        prop_assert_eq!(read, patch);
        prop_assert!(LoadPatch::between(&from, &from).is_empty());
    }

    #[test]
    fn a_patch_names_each_field_that_differs_and_no_other(load in loads(), threads in option::of(1..1024u32)) {
        let mut other = load.clone();
        other.threads = threads;
        other.bodies.verify = !load.bodies.verify;
        other.endpoint.pid = None;
        let patch = LoadPatch::between(&load, &other);
        let names: Vec<String> =
            patch.in_words().iter().map(|words| words.split(' ').next().unwrap().to_owned()).collect();
        let differs = [
            ("endpoint.pid", load.endpoint.pid.is_some()),
            ("bodies.verify", true),
            ("threads", load.threads != threads),
        ];
        let expected: Vec<&str> = differs.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        prop_assert_eq!(names, expected);
    }
}

#[test]
fn a_patch_is_written_in_the_shape_of_a_load_and_refuses_what_no_load_has() {
    let text = r#"{"endpoint":{"tls":null},"bodies":{"payload":"unsigned"},"threads":2}"#;
    let patch: LoadPatch = serde_json::from_str(text).unwrap();
    assert_eq!(patch.in_words(), ["endpoint.tls none", "bodies.payload unsigned", "threads 2"]);
    assert_eq!(serde_json::to_string(&patch).unwrap(), text);
    for text in [r#"{"payload":"unsigned"}"#, r#"{"bodies":{"paylod":"unsigned"}}"#, r#"{"bodies":{"payload":null}}"#] {
        assert!(serde_json::from_str::<LoadPatch>(text).is_err(), "{text}");
    }
}

#[test]
fn every_choice_has_one_word_that_leads_back_to_it() {
    fn held<T: Choice + PartialEq + fmt::Debug + Serialize + for<'de> Deserialize<'de>>() {
        assert!(T::ALL.len() > 1);
        for value in T::ALL {
            assert_eq!(T::named(value.name()), Some(*value));
            assert_eq!(serde_json::to_value(value).unwrap(), value.name());
        }
        assert_eq!(T::named(""), None);
    }
    held::<OwnTarget>();
    held::<Lookup>();
    held::<HostSelect>();
    held::<Spacing>();
    held::<Payload>();
    held::<Unique>();
    held::<Write>();
}

#[test]
fn operations_of_an_interval_are_counted_by_what_they_are() {
    let ops = |names: &[&str]| {
        let work =
            |name: &&str| WorkloadSizes { workload: name.parse().unwrap(), sizes: vec!["1KiB".parse().unwrap()] };
        names.iter().map(work).map(|w| w.workload.ops().count() + usize::from(w.workload.has(Op::Multipart))).max()
    };
    for (names, expected) in
        [(&["get"][..], 1), (&["get", "multipart"], 2), (&["mixed get=1,put=2"], 2), (&["mixed put=1,multipart=1"], 3)]
    {
        assert_eq!(ops(names), Some(expected), "{names:?}");
    }
}
