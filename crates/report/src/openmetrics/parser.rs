//! OpenMetrics read back, for tests: as the specification's grammar has it, and nothing more.

#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};

/// Families by name with type and unit, and samples as name, labels and value: as the specification's grammar has
/// it, and nothing more.
pub(super) struct Parsed {
    pub(super) families: BTreeMap<String, (String, String)>,
    pub(super) samples: Vec<(String, Labels, f64)>,
}

pub(super) type Labels = Vec<(String, String)>;

pub(super) fn parse(text: &str) -> Parsed {
    let mut parsed = Parsed { families: BTreeMap::new(), samples: Vec::new() };
    let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    let (mut current, mut seen) = (String::new(), BTreeSet::new());
    for line in body.split_terminator('\n') {
        assert!(!line.is_empty() && line.trim() == line, "{line:?}");
        if let Some(meta) = line.strip_prefix("# ") {
            let (keyword, rest) = meta.split_once(' ').expect("it is well formed");
            let (name, value) = rest.split_once(' ').expect("it is well formed");
            match keyword {
                "TYPE" => {
                    assert!(parsed.families.insert(name.into(), (value.into(), String::new())).is_none(), "{line}");
                    name.clone_into(&mut current);
                }
                "UNIT" => {
                    assert!(name.ends_with(&format!("_{value}")), "{line}");
                    parsed.families.get_mut(name).expect("it is well formed").1 = value.into();
                }
                "HELP" => assert!(name == current && !value.is_empty(), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let name_end = line.find(['{', ' ']).expect("it is well formed");
        let (name, rest) = line.split_at(name_end);
        assert!(name.starts_with(&current), "{line}: samples of a family stand together");
        let suffixes: &[&str] = match parsed.families[&current].0.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_bucket", "_count", "_sum"],
            other => panic!("{other}"),
        };
        assert!(suffixes.contains(&&name[current.len()..]), "{line}");
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => {
                let (labels, value) = rest.rsplit_once("} ").expect("it is well formed");
                (parse_labels(labels), value)
            }
            None => (Vec::new(), &rest[1..]),
        };
        assert!(seen.insert((name.to_owned(), labels.clone())), "{line}: twice");
        parsed.samples.push((name.into(), labels, value.parse().expect("it is well formed")));
    }
    parsed
}

fn parse_labels(mut text: &str) -> Labels {
    let mut labels = Vec::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"").expect("it is well formed");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase()), "{name}");
        let (mut value, mut chars) = (String::new(), rest.char_indices());
        let end = loop {
            match chars.next().expect("it is well formed") {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next().expect("it is well formed").1 {
                    'n' => '\n',
                    other => other,
                }),
                (_, other) => value.push(other),
            }
        };
        labels.push((name.to_owned(), value));
        text = rest[end + 1..].strip_prefix(',').unwrap_or(&rest[end + 1..]);
    }
    labels
}
