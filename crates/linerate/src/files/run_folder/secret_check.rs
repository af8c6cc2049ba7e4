//! What no folder keeps: every text of what is written into one, whatever field it is of, is held against the secrets
//! in use.

use serde::Serialize;
use serde_json::Value;

use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// Refuses what a run folder would keep where a text of it holds a secret in use, in whatever form.
pub(crate) fn refuse_secret(kept: &impl Serialize) -> Result<(), Failure> {
    refuse_secret_in("run folder", kept)
}

/// The same of what else is kept: a report, a capture.
pub(crate) fn refuse_secret_in(place: &str, kept: &impl Serialize) -> Result<(), Failure> {
    // What cannot be written as JSON is not kept either.
    let Ok(value) = serde_json::to_value(kept) else { return Ok(()) };
    match field_with_secret(&value, "it", &key_masks::holds_secret) {
        Some(field) => Err(Failure::usage(format!(
            "{} contains the secret key or the session token, and would be stored in the {place}: choose another",
            flag_of_field(&field)
        ))),
        None => Ok(()),
    }
}

/// The name of the first field with a text that holds a secret.
fn field_with_secret(value: &Value, name: &str, holds: &dyn Fn(&str) -> bool) -> Option<String> {
    match value {
        Value::String(text) => holds(text).then(|| name.to_owned()),
        Value::Array(values) => values.iter().find_map(|value| field_with_secret(value, name, holds)),
        Value::Object(fields) => fields.iter().find_map(|(field, value)| {
            let in_name = holds(field).then(|| name.to_owned());
            in_name.or_else(|| field_with_secret(value, field, holds))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The flag that a field comes from.
fn flag_of_field(field: &str) -> String {
    match field {
        "authorities" | "hosts" => "--host".to_owned(),
        "id" => "--output".to_owned(),
        field => format!("--{}", field.replace('_', "-")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_found_in_every_text_of_whatever_field() {
        let holds = |text: &str| text.contains("SECRET");
        for (value, field) in [
            (json!({"title": "ticket SECRET"}), Some("title")),
            (json!({"a": {"region": "SECRET"}, "b": 1}), Some("region")),
            (json!({"sources": ["x", {"deep": ["SECRET"]}]}), Some("deep")),
            (json!({"errors": {"SECRET": 1}}), Some("errors")),
            (json!(["SECRET"]), Some("it")),
            (json!({"a": "x", "b": [true, null, 1]}), None),
        ] {
            assert_eq!(field_with_secret(&value, "it", &holds).as_deref(), field, "{value}");
        }
        assert_eq!(
            (flag_of_field("ca_file"), flag_of_field("authorities")),
            ("--ca-file".to_owned(), "--host".to_owned())
        );
    }

    #[test]
    fn texts_that_are_refused_are_those_with_a_secret_of_this_process() {
        key_masks::remember_secret("a-secret-of-folders");
        let reported = refuse_secret(&json!({"title": "ticket a-secret-of-folders"})).unwrap_err().to_string();
        assert!(reported.starts_with("--title contains the secret key"), "{reported}");
        assert!(refuse_secret(&json!({"title": "ticket"})).is_ok());
    }
}
