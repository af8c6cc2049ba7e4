//! Where an object of a cluster differs from what it would be: pure, and without what the API server keeps for itself.

use serde_json::{Map, Value};

/// Longest value that is told.
const VALUE_CHARS_MAX: usize = 100;

/// What the API server writes into each object.
const OF_SERVER: [&str; 6] = ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// A copy of the object that kubectl leaves in it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferingField {
    /// Its path, as kubectl explain has it; elements of lists by their name where they have one: `ports[s3].port`.
    pub path: String,
    /// Its value in the cluster, as JSON, cut if it is long; none where it has none.
    pub is: Option<String>,
    /// The value that it should have.
    pub wanted: Option<String>,
}

/// The fields that differ, in the order of their paths; `Secret`s without values.
pub(crate) fn differing_fields(is: &Value, wanted: &Value) -> Vec<DifferingField> {
    let mut found = Vec::new();
    collect("", &without_server(is), &without_server(wanted), &mut found);
    if wanted["kind"] == "Secret" {
        for field in &mut found {
            let masked = |value: &mut Option<String>| *value = value.take().map(|_| "(not shown)".to_owned());
            masked(&mut field.is);
            masked(&mut field.wanted);
        }
    }
    found
}

/// An object without what the API server and controllers keep in it, and without its kind, which elements of lists do
/// not have.
pub(crate) fn without_server(object: &Value) -> Value {
    let mut object = object.clone();
    let Some(fields) = object.as_object_mut() else { return object };
    for field in ["apiVersion", "kind", "status"] {
        fields.remove(field);
    }
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else { return object };
    for field in OF_SERVER {
        metadata.remove(field);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    object
}

/// The manager that applied most of an object on the server's side: what it no longer wants would go.
pub(crate) fn applied_by(object: &Value) -> Option<&str> {
    let managers = object.pointer("/metadata/managedFields").and_then(Value::as_array)?;
    let applied = managers.iter().filter(|one| one["operation"] == "Apply" && one.get("subresource").is_none());
    let most = applied.max_by_key(|one| one["fieldsV1"].to_string().len())?;
    // It becomes part of an address.
    let is_plain = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    most["manager"].as_str().filter(is_plain)
}

fn collect(path: &str, is: &Value, wanted: &Value, found: &mut Vec<DifferingField>) {
    match (is, wanted) {
        (Value::Object(is), Value::Object(wanted)) => collect_map(path, is, wanted, found),
        (Value::Array(is), Value::Array(wanted)) => match (named(is), named(wanted)) {
            (Some(is), Some(wanted)) => {
                let in_brackets = |name: &str| format!("{path}[{name}]");
                collect_keys(&is, &wanted, in_brackets, found);
            }
            _ if is.len() == wanted.len() => {
                for (i, (is, wanted)) in is.iter().zip(wanted).enumerate() {
                    collect(&format!("{path}[{i}]"), is, wanted, found);
                }
            }
            _ => found.push(differing(path, Some(&Value::from(is.clone())), Some(&Value::from(wanted.clone())))),
        },
        _ if is == wanted => {}
        _ => found.push(differing(path, Some(is), Some(wanted))),
    }
}

fn collect_map(path: &str, is: &Map<String, Value>, wanted: &Map<String, Value>, found: &mut Vec<DifferingField>) {
    let below = |key: &str| match (path, key.contains(['.', '/'])) {
        (_, true) => format!("{path}[{key}]"),
        ("", false) => key.to_owned(),
        (_, false) => format!("{path}.{key}"),
    };
    collect_keys(is, wanted, below, found);
}

fn collect_keys(
    is: &Map<String, Value>,
    wanted: &Map<String, Value>,
    below: impl Fn(&str) -> String,
    found: &mut Vec<DifferingField>,
) {
    let mut keys: Vec<&String> = is.keys().chain(wanted.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        match (is.get(key), wanted.get(key)) {
            (Some(is), Some(wanted)) => collect(&below(key), is, wanted, found),
            (is, wanted) => found.push(differing(&below(key), is, wanted)),
        }
    }
}

/// The elements of a list by their names, where each has one of its own.
fn named(list: &[Value]) -> Option<Map<String, Value>> {
    let by_name: Option<Map<String, Value>> =
        list.iter().map(|one| Some((one.get("name")?.as_str()?.to_owned(), one.clone()))).collect();
    by_name.filter(|by_name| by_name.len() == list.len())
}

fn differing(path: &str, is: Option<&Value>, wanted: Option<&Value>) -> DifferingField {
    DifferingField { path: path.to_owned(), is: is.map(cut), wanted: wanted.map(cut) }
}

fn cut(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() <= VALUE_CHARS_MAX {
        return text;
    }
    text.chars().take(VALUE_CHARS_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reported(is: &Value, wanted: &Value) -> Vec<String> {
        let word = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
        let fields = differing_fields(is, wanted).into_iter();
        fields.map(|field| format!("{}: {} for {}", field.path, word(field.is), word(field.wanted))).collect()
    }

    #[test]
    fn what_the_server_keeps_differs_in_nothing() {
        let is = json!({"kind": "Service", "metadata": {"name": "a", "uid": "1", "resourceVersion": "7",
            "generation": 3, "creationTimestamp": "x", "managedFields": [],
            "annotations": {LAST_APPLIED: "{}"}}, "status": {"loadBalancer": {}}});
        let wanted = json!({"kind": "Service", "metadata": {"name": "a"}});
        assert_eq!(reported(&is, &wanted), Vec::<String>::new());
        assert_eq!(reported(&json!({"metadata": {"name": "a"}}), &wanted), Vec::<String>::new(), "as lists have it");
    }

    #[test]
    fn each_field_that_differs_has_its_path() {
        let is = json!({"spec": {"replicas": 3, "more": {}, "list": [1, 2], "ports": [
            {"name": "s3", "port": 9000}, {"name": "console", "port": 9001}
        ]}, "metadata": {"annotations": {"a.b/c": "d"}}});
        let wanted = json!({"spec": {"replicas": 4, "list": [1, 3], "ports": [
            {"name": "console", "port": 9001}, {"name": "s3", "port": 9443}
        ]}, "metadata": {"annotations": {"a.b/c": "e"}}});
        assert_eq!(
            reported(&is, &wanted),
            [
                "metadata.annotations[a.b/c]: d for e",
                "spec.list[1]: 2 for 3",
                "spec.more: {} for none",
                "spec.ports[s3].port: 9000 for 9443",
                "spec.replicas: 3 for 4",
            ]
        );
    }

    #[test]
    fn lists_of_other_lengths_are_told_whole_and_cut() {
        let is = json!({"args": ["a"]});
        let wanted = json!({"args": ["a", "b".repeat(200)]});
        let reported = reported(&is, &wanted);
        assert!(reported.len() == 1 && reported[0].starts_with("args: [\"a\"] for [\"a\",\"bbb"), "{reported:?}");
        assert!(reported[0].ends_with('…') && reported[0].chars().count() < 130, "{reported:?}");
    }

    #[test]
    fn no_value_of_a_secret_is_told() {
        let is = json!({"kind": "Secret", "data": {"password": "c2VjcmV0"}});
        let wanted = json!({"kind": "Secret", "data": {"password": "b3RoZXI="}, "type": "Opaque"});
        assert_eq!(
            reported(&is, &wanted),
            ["data.password: (not shown) for (not shown)", "type: none for (not shown)"]
        );
    }

    #[test]
    fn the_manager_of_most_is_who_applied() {
        let applier =
            |managers: Value| applied_by(&json!({"metadata": {"managedFields": managers}})).map(str::to_owned);
        let one = |manager: &str, operation: &str, fields: Value| {
            json!({"manager": manager, "operation": operation,
            "fieldsV1": fields})
        };
        let much = json!({"f:spec": {"f:replicas": {}, "f:template": {}}});
        assert_eq!(applier(json!([])), None);
        assert_eq!(applier(json!([one("kubectl-create", "Update", much.clone())])), None);
        let both = json!([one("a", "Apply", json!({})), one("argocd-controller", "Apply", much.clone())]);
        assert_eq!(applier(both).as_deref(), Some("argocd-controller"));
        assert_eq!(applier(json!([one("a&force=false", "Apply", much)])), None, "it is part of an address");
    }
}
