//! `format.json`, in which MinIO and RustFS keep the erasure sets of a pool on every drive of it
//! (`cmd/format-erasure.go` of MinIO: `formatErasureV3`).

use linerate_record::discovery::DriveFormat;
use serde_json::Value;

/// Drives of a pool, and sets: a file with more is none of an engine's.
const DRIVES_MAX: usize = 100_000;

/// Longest id: a UUID has 36 characters.
const ID_MAX: usize = 64;

/// None where the text is something else: whoever writes to the drive may have put it there.
pub(super) fn parse(text: &str) -> Option<DriveFormat> {
    let json: Value = serde_json::from_str(text).ok()?;
    let id = |value: &Value| {
        let id = value.as_str().filter(|id| id.len() <= ID_MAX && id.bytes().all(is_of_id))?;
        Some(id.to_owned())
    };
    let erasure = json.get("xl")?;
    let this = id(erasure.get("this")?)?;
    let sets: Vec<Vec<&str>> = erasure
        .get("sets")?
        .as_array()?
        .iter()
        .map(|set| set.as_array()?.iter().map(Value::as_str).collect())
        .collect::<Option<_>>()?;
    let drives: usize = sets.iter().map(Vec::len).sum();
    if drives == 0 || drives > DRIVES_MAX {
        return None;
    }
    let set = sets.iter().position(|set| set.contains(&this.as_str()));
    Some(DriveFormat {
        deployment: id(json.get("id")?)?,
        set: set.and_then(|set| u32::try_from(set).ok()),
        sets: sets.iter().map(|set| u32::try_from(set.len()).unwrap_or(u32::MAX)).collect(),
        this,
    })
}

fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = r#"{"version":"1","format":"xl","id":"e5a1-0","xl":{"version":"3","this":"d3","sets":
        [["d0","d1"],["d2","d3"]],"distributionAlgo":"SIPMOD+PARITY"}}"#;

    #[test]
    fn sets_and_the_place_of_a_drive_are_read() {
        let format = parse(TEXT).unwrap();
        assert_eq!((format.sets, format.set), (vec![2, 2], Some(1)));
        assert_eq!((format.deployment.as_str(), format.this.as_str()), ("e5a1-0", "d3"));
        // A drive that was replaced and not yet healed has an id that the others do not know.
        assert_eq!(parse(&TEXT.replace(r#""this":"d3""#, r#""this":"x""#)).unwrap().set, None);
    }

    #[test]
    fn what_is_no_format_of_sets_is_none() {
        for text in [
            "",
            "{}",
            "root:x:0:0",
            r#"{"id":"a","xl":{"this":"b","sets":[]}}"#,
            r#"{"id":"a","xl":{"this":"b","sets":[[1]]}}"#,
            r#"{"id":"a","xl":{"this":"../b","sets":[["b"]]}}"#,
            r#"{"version":"1","format":"fs","id":"a","fs":{"version":"2"}}"#,
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        for cut in 0..TEXT.len() {
            assert_eq!(parse(&TEXT[..cut]), None, "{cut}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in r#"\{"id":"a","xl":\{"this":"b","sets":\[[\[\]",0-9a]{0,20}\}\}|(?s).*"#) {
            parse(&text);
        }
    }
}
