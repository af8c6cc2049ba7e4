//! What went into a ceiling names the key of the site that stated it: these names are written in the model, and the
//! keys in the language of sites.

use std::fs;
use std::path::Path;

use linerate_model::plan::{PlanRequest, plan};
use serde_json::Value;

/// The schemas that a schema stands for: behind references, choices and items of lists.
fn meant<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a Value> {
    let mut of_node = Vec::new();
    let (mut open, mut left) = (vec![schema], 10_000);
    while let Some(node) = open.pop().filter(|_| left > 0) {
        left -= 1;
        of_node.push(node);
        if let Some(reference) = node["$ref"].as_str() {
            open.extend(root.pointer(reference.trim_start_matches('#')));
        }
        open.extend(["anyOf", "oneOf", "allOf"].iter().filter_map(|word| node[word].as_array()).flatten());
        open.extend(node.get("items"));
    }
    of_node
}

/// Whether a path leads to a key. Kinds of nodes and bonds are named, entries of other lists numbered.
fn is_key(path: &str, root: &Value) -> bool {
    let mut nodes = meant(root, root);
    let mut is_named = false;
    for part in path.split('.') {
        let below: Vec<&Value> =
            nodes.iter().filter_map(|node| node["properties"].get(part)).flat_map(|one| meant(one, root)).collect();
        let is_entry = part.bytes().all(|byte| byte.is_ascii_digit()) || is_named;
        match (below.is_empty(), is_entry) {
            (false, _) => nodes = below,
            (true, true) => {}
            (true, false) => return false,
        }
        is_named = ["nodes", "bonds"].contains(&part);
    }
    true
}

/// Paths of everything that went into something, wherever it is in a plan.
fn paths(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            let is_input = entries.contains_key("assumed") && entries.contains_key("value");
            found.extend(entries.get("path").filter(|_| is_input).and_then(Value::as_str).map(str::to_owned));
            entries.values().for_each(|entry| paths(entry, found));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| paths(entry, found)),
        _ => {}
    }
}

#[test]
fn every_input_of_the_examples_plans_is_a_key_of_the_language() {
    let root = linerate_site::schema();
    assert!(is_key("nodes.storage.nics.0.speed", &root) && is_key("planes.public.mtu", &root));
    assert!(!is_key("nodes.storage.nics.0.sped", &root) && !is_key("planes.0.mtu.x", &root));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut all = Vec::new();
    for entry in fs::read_dir(examples).expect("a folder of the repository").flatten() {
        let file = entry.path();
        if file.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let (name, text) = (file.display().to_string(), fs::read_to_string(&file).expect("text"));
        let site = linerate_site::read(&text, &name).expect(&name);
        let mut found = Vec::new();
        let plan = plan(&site, &PlanRequest { read_share: Some(0.7), ..PlanRequest::default() }).expect(&name);
        paths(&serde_json::to_value(&plan).expect("JSON"), &mut found);
        assert!(found.len() > 10, "{name}: {found:?}");
        for path in &found {
            assert!(is_key(path, &root), "{name}: {path:?} is no key");
        }
        all.extend(found);
    }
    all.sort_unstable();
    all.dedup();
    assert!(all.len() > 30, "{all:?}");
}
