//! What is committed beside the reader of sites: the schema, the reference, and `examples/`.

use std::fs;
use std::path::{Path, PathBuf};

use linerate_record::site::{Entry, Site};
use linerate_site as site;
use regex::Regex;
use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Holds a committed file against what the table of keys gives. `REGENERATE=1 cargo test -p linerate-site --test
/// site` writes it anew.
fn is_current(path: &str, expected: &str) {
    let file = root().join(path);
    if std::env::var_os("REGENERATE").is_some() {
        fs::write(&file, expected).expect("a file of the repository");
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(found == expected, "{path} is not current: REGENERATE=1 cargo test -p linerate-site --test site");
}

#[test]
fn the_schema_is_the_one_committed() {
    is_current("docs/site.schema.json", &format!("{:#}\n", site::schema()));
}

#[test]
fn the_reference_has_every_key() {
    let text = fs::read_to_string(root().join("docs/site.md")).expect("a file of the repository");
    let mark = "<!-- Generated from the table of keys from here on. -->\n\n";
    let (by_hand, _) = text.split_once(mark).expect("the mark of what is generated");
    is_current("docs/site.md", &format!("{by_hand}{mark}{}", site::reference()));
}

/// Every example, and the one with every key.
fn examples() -> Vec<(String, String)> {
    let mut texts = vec![("example.yaml".to_owned(), site::example().to_owned())];
    for entry in fs::read_dir(root().join("examples")).expect("a file of the repository") {
        let path = entry.expect("a file of the repository").path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let name = path.file_name().expect("a file of the repository").to_string_lossy().into_owned();
            texts.push((name, fs::read_to_string(&path).expect("a file of the repository")));
        }
    }
    texts.sort();
    texts
}

fn read(name: &str) -> Site {
    let (_, text) = examples().into_iter().find(|(found, _)| found == name).expect(name);
    site::read(&text, name).unwrap_or_else(|error| panic!("error: {error}"))
}

#[test]
fn every_example_reads_and_is_valid_by_the_schema() {
    let (schema, examples) = (site::schema(), examples());
    assert!(examples.len() > 10, "{}", examples.len());
    for (name, text) in examples {
        if let Err(error) = site::read(&text, &name) {
            panic!("error: {error}");
        }
        let value = yaml_as_json(&text);
        assert!(valid(&schema, &schema, &value), "{name} against docs/site.schema.json");
    }
}

#[test]
fn what_the_reader_refuses_by_its_form_the_schema_refuses_too() {
    let schema = site::schema();
    for (from, to) in [
        ("count: 16", "cuont: 16"),
        ("count: 16", "count: 0"),
        ("count: 16", "count: many"),
        ("capacity: 7.68TB", "capacity: 7.68XB"),
        ("read: 6.5GB/s", "read: 6.5Gb/s"),
        ("speed: 25Gb/s", "speed: 25GB/s"),
        ("mode: 802.3ad ", "mode: lacp "),
        ("protection: EC:4", "protection: lots"),
        ("growth: 30%", "growth: lots"),
        ("retention: 3y", "retention: 3"),
        ("p99: 100ms", "p99: 100"),
        ("tls: true  ", "tls: maybe  "),
        ("{assumed: 150k,", "{asumed: 150k,"),
    ] {
        let text = site::example().replacen(from, to, 1);
        assert_ne!(text, site::example(), "{from}");
        assert!(site::read(&text, "site.yaml").is_err(), "{to}");
        assert!(!valid(&schema, &schema, &yaml_as_json(&text)), "{to}");
    }
}

#[test]
fn the_examples_of_published_cases_say_what_was_published() {
    let goal = read("source-000-484-shared.yaml");
    assert_eq!((goal.nodes(), goal.groups[0].nics[0].speed_bits_per_s), (484, 400e9));
    assert!(goal.planes.private.is_none() && read("source-000-484-separate.yaml").planes.private.is_some());
    let measured = read("source-000-56.yaml");
    assert_eq!((measured.nodes(), measured.clients.count, measured.engine.tls), (56, 195, true));
    assert!(measured.is_assumed("nodes.storage.nics.0.speed") && measured.is_assumed("engine.protection"));
    assert!(!measured.is_assumed("nodes.storage.count") && !measured.is_assumed("engine.tls"));
    let amazon = read("minio-i3en-32.yaml");
    let node = &amazon.groups[0];
    assert!((node.drives[0].read_bytes_per_s * 8.0 / 23.98e9 - 1.0).abs() < 1e-3);
    assert!((node.drives[0].write_bytes_per_s * 8.0 / 12.94e9 - 1.0).abs() < 1e-3);
    let own = read("minio-i3en-32-self.yaml");
    assert_eq!((own.nodes(), own.askers(), own.entry), (32, 32, Entry::Local));
    assert!(own.is_assumed("entry.path") && !own.is_assumed("engine.protection"), "{:?}", own.assumed);
    let ceph = read("ceph-rgw-12.yaml");
    assert_eq!((ceph.nodes(), ceph.groups[0].drives_per_node(), ceph.groups[0].nics[0].ports), (12, 24, 2));
    let lab = read("namespaces-4.yaml");
    assert_eq!((lab.nodes(), lab.groups[0].nics[0].speed_bits_per_s), (4, 200e6));
}

/// YAML as JSON, by the core schema: what an editor validates.
fn yaml_as_json(text: &str) -> Value {
    let mut open: Vec<(Value, Option<String>)> = Vec::new();
    let mut root = Value::Null;
    for event in Parser::new_from_str(text) {
        let value = match event.expect("YAML").0 {
            Event::MappingStart(..) => {
                open.push((Value::Object(Map::new()), None));
                continue;
            }
            Event::SequenceStart(..) => {
                open.push((Value::Array(Vec::new()), None));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => open.pop().expect("what was opened").0,
            Event::Scalar(text, style, ..) => scalar(&text, style),
            _ => continue,
        };
        match open.last_mut() {
            Some((Value::Object(map), key)) => match key.take() {
                Some(key) => drop(map.insert(key, value)),
                None => *key = Some(value.as_str().expect("a key").to_owned()),
            },
            Some((Value::Array(items), _)) => items.push(value),
            _ => root = value,
        }
    }
    root
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style == ScalarStyle::Plain
        && let Ok(value @ (Value::Number(_) | Value::Bool(_))) = serde_json::from_str(text)
    {
        return value;
    }
    Value::String(text.to_owned())
}

/// The part of JSON Schema that ours is written in; a keyword that is not known here is a failure.
fn valid(root: &Value, schema: &Value, value: &Value) -> bool {
    schema.as_object().expect("a schema").iter().all(|(keyword, reported)| match keyword.as_str() {
        "$schema" | "$defs" | "title" | "description" | "default" | "additionalProperties" => true,
        "$ref" => valid(
            root,
            root.pointer(reported.as_str().expect("as draft 2020-12 has it").trim_start_matches('#'))
                .expect("as draft 2020-12 has it"),
            value,
        ),
        "anyOf" => {
            reported.as_array().expect("as draft 2020-12 has it").iter().any(|schema| valid(root, schema, value))
        }
        "oneOf" => {
            reported
                .as_array()
                .expect("as draft 2020-12 has it")
                .iter()
                .filter(|schema| valid(root, schema, value))
                .count()
                == 1
        }
        "const" => value == reported,
        "type" => match reported {
            Value::Array(types) => types.iter().any(|name| has_type(name, value)),
            name => has_type(name, value),
        },
        "properties" => value.as_object().is_none_or(|map| {
            let closed = schema["additionalProperties"] == Value::Bool(false);
            map.iter().all(|(key, value)| match reported.get(key) {
                Some(schema) => valid(root, schema, value),
                None => !closed,
            })
        }),
        "required" => value.as_object().is_none_or(|map| {
            reported
                .as_array()
                .expect("as draft 2020-12 has it")
                .iter()
                .all(|key| map.contains_key(key.as_str().expect("as draft 2020-12 has it")))
        }),
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| valid(root, reported, item))),
        "minItems" => value
            .as_array()
            .is_none_or(|items| items.len() as u64 >= reported.as_u64().expect("as draft 2020-12 has it")),
        "maxItems" => value
            .as_array()
            .is_none_or(|items| items.len() as u64 <= reported.as_u64().expect("as draft 2020-12 has it")),
        "minimum" => value.as_f64().is_none_or(|number| number >= reported.as_f64().expect("as draft 2020-12 has it")),
        "maximum" => value.as_f64().is_none_or(|number| number <= reported.as_f64().expect("as draft 2020-12 has it")),
        "maxLength" => value
            .as_str()
            .is_none_or(|text| text.chars().count() as u64 <= reported.as_u64().expect("as draft 2020-12 has it")),
        "pattern" => value.as_str().is_none_or(|text| {
            Regex::new(reported.as_str().expect("as draft 2020-12 has it"))
                .expect("as draft 2020-12 has it")
                .is_match(text)
        }),
        other => panic!("the schema uses {other:?}, which is not tested"),
    })
}

fn has_type(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("as draft 2020-12 has it") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("the schema uses the type {other:?}, which is not tested"),
    }
}
