//! What differs in how runs were set up: every field of their manifests that could matter, and whom they lost of it.

use linerate_record::run::TargetKind;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::build::lost_clients;
use crate::records::Records;

/// A field that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetupDifference {
    /// Its name in `run.json`, such as `target.server`; or `clients_lost`.
    pub field: String,
    /// Its values in A, one per run unless all are equal.
    pub a: Vec<String>,
    /// Its values in B.
    pub b: Vec<String>,
}

/// Fields that differ from run to run by their nature, or that other parts of a comparison show; so do the clocks of
/// clients.
const LEFT_OUT: [&str; 4] = ["asked.points", "asked.prefix", "asked.search.series", "asked.rate_search.series"];

/// Flags of warp, and what stands for them where a file does not have its command line.
const WARP_FLAGS: &str = "asked.warp_flags";
const NOT_RECORDED: &str = "not recorded";

/// Clients that were lost in a run, by name: no field of its manifest, and yet another load from then on.
const CLIENTS_LOST: &str = "clients_lost";

/// What stands for a field that a run does not have.
const ABSENT: &str = "–";

/// The fields of `run.json` that are not the same in every run, and which clients were lost.
pub(super) fn differences(a: &[Records], b: &[Records]) -> Vec<SetupDifference> {
    let (a, b): (Vec<_>, Vec<_>) = (a.iter().map(fields).collect(), b.iter().map(fields).collect());
    let mut names: Vec<&String> = a.iter().chain(&b).flat_map(BTreeMap::keys).collect();
    names.sort_unstable();
    names.dedup();
    let values = |arm: &[BTreeMap<String, String>], name: &String| -> Vec<String> {
        let absent = |run: &BTreeMap<String, String>| match run.get(WARP_FLAGS) {
            Some(flags) if flags == NOT_RECORDED && name.starts_with(WARP_FLAGS) => NOT_RECORDED,
            _ => ABSENT,
        };
        let value = |run: &BTreeMap<String, String>| run.get(name).cloned().unwrap_or_else(|| absent(run).to_owned());
        let mut all: Vec<String> = arm.iter().map(value).collect();
        all.dedup();
        all
    };
    let difference = |name: &String| SetupDifference { field: name.clone(), a: values(&a, name), b: values(&b, name) };
    names.into_iter().map(difference).filter(|d| d.a != d.b || d.a.len() > 1).collect()
}

/// The fields of a run, by name.
fn fields(records: &Records) -> BTreeMap<String, String> {
    let manifest = &records.manifest;
    let mut found = BTreeMap::new();
    found.insert("linerate_version".to_owned(), manifest.linerate_version.clone());
    found.insert("interval_ms".to_owned(), manifest.interval_ms.to_string());
    // How long a request may take decides which end as errors, and so the tail of the others.
    if let Some(load) = &manifest.load {
        found.insert("load.stops.timeout_ns".to_owned(), load.stops.timeout_ns.to_string());
    }
    if manifest.is_imported() {
        let is_recorded = manifest.requested.warp_flags.is_some();
        found.insert(WARP_FLAGS.to_owned(), if is_recorded { "recorded" } else { NOT_RECORDED }.to_owned());
    }
    let lost = lost_clients(records);
    let names = (0u32..).zip(&manifest.clients).filter(|(number, _)| lost.contains(number));
    let names: Vec<&str> = names.map(|(_, client)| client.name.as_str()).collect();
    if !names.is_empty() {
        found.insert(CLIENTS_LOST.to_owned(), names.join(", "));
    }
    let machine = match &manifest.clients[..] {
        [one] => ("machine", serde_json::to_value(&one.machine)),
        several => ("clients", serde_json::to_value(several)),
    };
    let parts = [
        ("asked", serde_json::to_value(&manifest.requested)),
        ("target", serde_json::to_value(&manifest.target)),
        machine,
    ];
    for (name, value) in parts {
        // A manifest was JSON before it was read, so that it can be again.
        flatten(name.to_owned(), &value.unwrap_or_default(), &mut found);
    }
    if !manifest.target.kind.is(&TargetKind::S3) {
        // linerate's own targets listen on any port that is free.
        found.retain(|field, _| !field.starts_with("target.hosts"));
    }
    found
}

/// Each leaf of a value under its path. Interfaces go by their names: their order says nothing.
fn flatten(path: String, value: &Value, into: &mut BTreeMap<String, String>) {
    let is_clock = path.starts_with("clients.") && path.ends_with(".clock");
    if is_clock || LEFT_OUT.contains(&path.as_str()) {
        return;
    }
    match value {
        Value::Null => {}
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| flatten(format!("{path}.{name}"), value, into));
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (i, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(Value::as_str).map_or_else(|| i.to_string(), str::to_owned);
                flatten(format!("{path}.{name}"), item, into);
            }
        }
        Value::Array(items) => {
            let words: Vec<String> = items.iter().map(text).collect();
            into.insert(path, words.join(", "));
        }
        leaf => {
            into.insert(path, text(leaf));
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
