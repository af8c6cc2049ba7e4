//! The table of keys as a JSON Schema, for editors.

use serde_json::{Map, Value, json};

use super::keys::{DefaultRule, Key, NumberKind, SITE, Shape, TextKind};
use super::value::text;

/// What may stand in a `site.yaml`, as a JSON Schema (draft 2020-12). Editors that know it complete keys and mark
/// mistakes; what values have to agree on with each other is beyond it.
#[must_use]
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let site = mapping(SITE, &mut definitions);
    let mut root = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "site.yaml",
        "description": "A storage cluster, for linerate plan and linerate explain",
    });
    root["$defs"] = Value::Object(definitions);
    merge(&mut root, site);
    root
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

fn mapping(keys: &'static [Key], definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for key in keys {
        let value = shape(&key.shape, definitions);
        let marked = json!({
            "type": "object",
            "properties": { "assumed": value, "because": { "type": "string", "maxLength": 1000 } },
            "required": ["assumed"],
            "additionalProperties": false,
        });
        let mut property = json!({ "description": key.about, "anyOf": [value, marked] });
        if let DefaultRule::Value(default, _) = key.unless {
            property["default"] = json!(default);
        }
        properties.insert(key.name.to_owned(), property);
    }
    let required: Vec<_> =
        keys.iter().filter(|key| matches!(key.unless, DefaultRule::Required)).map(|key| key.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn shape(shape: &Shape, definitions: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Name => name(),
        Shape::Names => json!({ "anyOf": [name(), { "type": "array", "items": name(), "minItems": 1 }] }),
        Shape::Switch => json!({ "type": "boolean" }),
        Shape::Whole(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Quantity(kind, ..) => quantity(*kind),
        Shape::Words(_, words) => {
            let each = words.iter().map(|word| json!({ "const": word.name, "description": word.about }));
            json!({ "oneOf": each.collect::<Vec<_>>() })
        }
        Shape::Kernel => json!({ "type": ["number", "string"], "pattern": r"^[0-9]+\.[0-9]+" }),
        Shape::Protection => {
            json!({ "type": "string", "pattern": r"^([0-9]+\+[0-9]+|[Ee][Cc]:[0-9]+|[0-9]+[xX])$" })
        }
        Shape::Text(kind) => text_schema(*kind),
        Shape::Texts(kind) => {
            json!({ "anyOf": [text_schema(*kind), { "type": "array", "items": text_schema(*kind), "minItems": 1 }] })
        }
        Shape::Mapping(what, keys) => defined(what, keys, definitions),
        Shape::Short(what, short, keys) => {
            let short_key = keys.iter().find(|key| key.name == *short);
            let alone = short_key.map_or(Value::Null, |key| self::shape(&key.shape, definitions));
            json!({ "anyOf": [alone, defined(what, keys, definitions)] })
        }
        Shape::OneOrMany(what, keys, max) => {
            let one = defined(what, keys, definitions);
            let marked = json!({
                "type": "object",
                "properties": { "assumed": one, "because": { "type": "string" } },
                "required": ["assumed"],
                "additionalProperties": false,
            });
            let items = json!({ "anyOf": [one, marked] });
            json!({ "anyOf": [one, { "type": "array", "items": items, "minItems": 1, "maxItems": max }] })
        }
    }
}

fn defined(what: &str, keys: &'static [Key], definitions: &mut Map<String, Value>) -> Value {
    if !definitions.contains_key(what) {
        let definition = mapping(keys, definitions);
        definitions.insert(what.to_owned(), definition);
    }
    json!({ "$ref": format!("#/$defs/{what}") })
}

fn text_schema(kind: TextKind) -> Value {
    json!({ "type": "string", "pattern": text::pattern(kind) })
}

fn name() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$" })
}

fn quantity(kind: NumberKind) -> Value {
    let number = r"^[0-9]*\.?[0-9]+ *";
    let text = |unit: &str| json!({ "type": "string", "pattern": format!("{number}{unit}$") });
    let either =
        |unit: &str| json!({ "type": ["number", "string"], "minimum": 0, "pattern": format!("{number}{unit}$") });
    match kind {
        NumberKind::Bytes => either("([KMGTPEkmgtpe][iI]?)?B?"),
        NumberKind::BytesPerS => text("([KMGTPEkmgtpe][iI]?)?B */s"),
        NumberKind::BitsPerS => text("[kMGT]?(b/s|bit/s|bps|bE)"),
        NumberKind::Operations => either("[kM]?"),
        NumberKind::Time => json!({ "type": "string", "pattern": "^([0-9.]+(us|µs|ms|s|m|min|h))+$" }),
        NumberKind::Years => text("(y|mo|d)"),
        NumberKind::Growth => either("%?"),
        NumberKind::Ratio => either("(:1)?"),
        NumberKind::Plain => either(""),
    }
}
