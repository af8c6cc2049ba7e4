//! A tree of YAML held against the table of keys: every mistake is found, defaults are filled in, and it is kept where
//! each value stands and which of them nobody stated.

use std::collections::BTreeMap;

use super::error::Mistake;
use super::keys::{DefaultRule, Key, Shape};
use super::source_position::SourcePosition;
use super::value::{self, SiteValue, quoted};
use super::word_lists::nearest;
use super::yaml::{Content, YamlEntry, YamlNode};

/// What the only group is called that has no name.
pub(super) const ONLY_GROUP: &str = "storage";

/// Longest reason of an assumed value, in bytes.
const BECAUSE_BYTES_MAX: usize = 1000;

/// Keys that were read once and did nothing, with what to do.
const GONE: [(&str, &str); 1] = [("buckets", "nothing depends on the number of buckets: leave it out. ")];

/// What was read behind a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Single(SiteValue),
    Names(Vec<String>),
    Map(Map),
    List(Vec<Map>),
}

/// What was read of a mapping, by the keys of the table.
pub(super) type Map = BTreeMap<&'static str, Item>;

/// What is learnt beside the values.
#[derive(Debug, Default)]
pub(super) struct SiteNotes {
    /// Where the value of a path stands, or the mapping that lacks it.
    pub(super) places: BTreeMap<String, SourcePosition>,
    /// Path to reason of what nobody stated, or marked as assumed.
    pub(super) assumed: BTreeMap<String, String>,
    pub(super) mistakes: Vec<Mistake>,
}

/// Reads the whole file.
pub(super) fn read(root: &YamlNode, keys: &'static [Key]) -> (Option<Map>, SiteNotes) {
    let mut reading = SiteNotes::default();
    let map = match &root.content {
        Content::Mapping(entries) => Some(reading.mapping(entries, root.place, "a site", keys, "", None)),
        _ => {
            let fix = "start with nodes: and engine: keys; `linerate plan --example` prints a complete file";
            reading.mistakes.push(Mistake::new(root.place, "no site", fix));
            None
        }
    };
    (map.filter(|_| reading.mistakes.is_empty()), reading)
}

impl SiteNotes {
    fn mistake(&mut self, place: SourcePosition, what: impl Into<String>, advice: impl Into<String>) {
        self.mistakes.push(Mistake::new(place, what, advice));
    }

    /// The keys of a mapping, those that are missing filled in.
    fn mapping(
        &mut self,
        entries: &[YamlEntry],
        place: SourcePosition,
        what: &str,
        keys: &'static [Key],
        path: &str,
        because: Option<&str>,
    ) -> Map {
        let mut map = Map::new();
        for entry in entries {
            match keys.iter().find(|key| key.name == entry.key) {
                Some(key) => {
                    let path = below(path, key.name);
                    if let Some(item) = self.item(&entry.node, key, &path, because) {
                        map.insert(key.name, item);
                    }
                }
                None => self.unknown(entry, what, keys),
            }
        }
        for key in keys.iter().filter(|key| !entries.iter().any(|entry| entry.key == key.name)) {
            let path = below(path, key.name);
            let item = match key.unless {
                // It was said already what was meant.
                DefaultRule::Required if entries.iter().any(|entry| meant(entry, keys) == Some(key.name)) => None,
                DefaultRule::Required => {
                    let fix = format!("add \"{}: …\": {}", key.name, key.about);
                    self.mistake(place, format!("{what} without {:?}", key.name), fix);
                    None
                }
                DefaultRule::Value(value, reason) => {
                    let node = YamlNode { place, content: Content::Scalar(value.to_owned()) };
                    self.item(&node, key, &path, Some(reason))
                }
                DefaultRule::Empty => {
                    self.item(&YamlNode { place, content: Content::Mapping(Vec::new()) }, key, &path, None)
                }
                DefaultRule::Follows(_) | DefaultRule::Absent(_) => None,
            };
            map.extend(item.map(|item| (key.name, item)));
        }
        map
    }

    fn unknown(&mut self, entry: &YamlEntry, what: &str, keys: &'static [Key]) {
        let lower = entry.key.to_lowercase().replace('-', "_");
        let meant = meant(entry, keys).map_or_else(String::new, |key| format!("did you mean {key:?}? "));
        let names: Vec<_> = keys.iter().map(|key| key.name).collect();
        let gone = GONE.iter().find(|(key, _)| *key == lower).map_or("", |(_, why)| why);
        let advice = format!("{gone}{meant}Keys: {}", names.join(", "));
        self.mistake(entry.place, format!("unknown key {} of {what}", quoted(&entry.key)), advice);
    }

    /// What stands behind a key.
    fn item(&mut self, node: &YamlNode, key: &'static Key, path: &str, because: Option<&str>) -> Option<Item> {
        self.places.insert(path.to_owned(), node.place);
        if let Content::Mapping(entries) = &node.content
            && entries.iter().any(|entry| entry.key == "assumed")
        {
            let (value, because) = self.assumption(entries)?;
            return self.item(value, key, path, Some(because));
        }
        match (&key.shape, &node.content) {
            (_, Content::Nothing) => {
                let fix = format!("write a value, or leave the key out: {}", key.about);
                self.mistake(node.place, format!("{} without a value", key.name), fix);
                None
            }
            (Shape::Mapping(what, keys) | Shape::Short(what, _, keys), Content::Mapping(entries)) => {
                let what = format!("the {what}");
                Some(Item::Map(self.mapping(entries, node.place, &what, keys, path, because)))
            }
            (Shape::Short(what, short, keys), Content::Scalar(text)) => {
                let scalar = YamlNode { place: node.place, content: Content::Scalar(text.clone()) };
                let entry = YamlEntry { key: (*short).to_owned(), place: node.place, node: scalar };
                Some(Item::Map(self.mapping(&[entry], node.place, what, keys, path, because)))
            }
            (Shape::OneOrMany(what, keys, max), Content::List(items)) => {
                if items.is_empty() || items.len() > *max {
                    self.mistake(node.place, format!("{} {what}", items.len()), format!("write one to {max}"));
                    return None;
                }
                let nodes: Vec<&YamlNode> = items.iter().collect();
                Some(Item::List(self.list(&nodes, key, keys, path, because)))
            }
            (Shape::OneOrMany(_, keys, _), Content::Mapping(_)) => {
                Some(Item::List(self.list(&[node], key, keys, path, because)))
            }
            (Shape::Names | Shape::Texts(_), Content::List(items)) => {
                let names = items.iter().filter_map(|item| self.single(item, key, path, because)).collect();
                Some(Item::Names(into_names(names)))
            }
            (Shape::Names | Shape::Texts(_), _) => {
                let name = self.single(node, key, path, because)?;
                Some(Item::Names(into_names(vec![name])))
            }
            _ => self.single(node, key, path, because).map(Item::Single),
        }
    }

    /// `{assumed: VALUE, because: TEXT}`.
    fn assumption<'a>(&mut self, entries: &'a [YamlEntry]) -> Option<(&'a YamlNode, &'a str)> {
        let mut because = "marked as assumed";
        let mut value = None;
        for entry in entries {
            match (entry.key.as_str(), &entry.node.content) {
                ("assumed", _) => value = Some(&entry.node),
                ("because", Content::Scalar(text)) if text.len() <= BECAUSE_BYTES_MAX => because = text,
                ("because", _) => {
                    self.mistake(
                        entry.node.place,
                        "a reason that is not text",
                        "write a sentence of 1000 letters at most",
                    );
                }
                _ => {
                    let fix = "only \"because\" may stand next to \"assumed\"; move other keys inside";
                    self.mistake(entry.place, format!("unknown key {} of an assumption", quoted(&entry.key)), fix);
                }
            }
        }
        value.map(|value| (value, because))
    }

    /// Mappings that are alike: nodes by their name, the others by their number.
    fn list(
        &mut self,
        nodes: &[&YamlNode],
        key: &'static Key,
        keys: &'static [Key],
        path: &str,
        because: Option<&str>,
    ) -> Vec<Map> {
        let by_name = key.name == "nodes";
        let mut maps = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            let (node, because) = match &node.content {
                Content::Mapping(entries) if entries.iter().any(|entry| entry.key == "assumed") => {
                    let Some((node, because)) = self.assumption(entries) else { continue };
                    (node, Some(because))
                }
                _ => (*node, because),
            };
            let Content::Mapping(entries) = &node.content else {
                let fix = "write a mapping, such as {count: 4}";
                self.mistake(node.place, format!("an entry of {} that is not a mapping", key.name), fix);
                continue;
            };
            let segment = match by_name.then(|| stated_name(entries)) {
                Some(Some(name)) => name,
                Some(None) if nodes.len() > 1 => {
                    let fix = "write name: and a word, because there are several kinds of nodes";
                    self.mistake(node.place, "nodes without \"name\"", fix);
                    i.to_string()
                }
                Some(None) => ONLY_GROUP.to_owned(),
                None => i.to_string(),
            };
            let path = below(path, &segment);
            self.places.insert(path.clone(), node.place);
            let what = if nodes.len() > 1 { format!("{} {segment}", key.name) } else { format!("the {}", key.name) };
            maps.push(self.mapping(entries, node.place, &what, keys, &path, because));
        }
        maps
    }

    fn single(&mut self, node: &YamlNode, key: &'static Key, path: &str, because: Option<&str>) -> Option<SiteValue> {
        let Content::Scalar(text) = &node.content else {
            let kind = if matches!(node.content, Content::List(_)) { "a list" } else { "a mapping" };
            let fix = match &key.shape {
                Shape::Mapping(_, keys) | Shape::Short(_, _, keys) => {
                    let names: Vec<_> = keys.iter().map(|key| key.name).collect();
                    format!("write a mapping, with keys of these: {}", names.join(", "))
                }
                Shape::Names => format!("write one name, or several such as [nic0, nic1]: {}", key.about),
                Shape::Texts(_) => format!("write one value, or a list of them: {}", key.about),
                _ => format!("write one value: {}", key.about),
            };
            self.mistake(node.place, format!("{kind} as {}", key.name), fix);
            return None;
        };
        match value::read(&key.shape, key.name, text) {
            Ok(value) => {
                if let Some(reason) = because {
                    self.assumed.insert(path.to_owned(), reason.to_owned());
                }
                Some(value)
            }
            Err((what, advice)) => {
                self.mistake(node.place, what, advice);
                None
            }
        }
    }
}

/// The key that was meant by one that is none.
fn meant(entry: &YamlEntry, keys: &'static [Key]) -> Option<&'static str> {
    if keys.iter().any(|key| key.name == entry.key) {
        return None;
    }
    nearest(&entry.key.to_lowercase().replace('-', "_"), keys.iter().map(|key| key.name))
}

/// A path and a word below it.
pub(super) fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn into_names(values: Vec<SiteValue>) -> Vec<String> {
    values.into_iter().filter_map(|value| if let SiteValue::Text(name) = value { Some(name) } else { None }).collect()
}

/// The name that a mapping states, as far as it is one.
fn stated_name(entries: &[YamlEntry]) -> Option<String> {
    let entry = entries.iter().find(|entry| entry.key == "name")?;
    let Content::Scalar(text) = &entry.node.content else { return None };
    matches!(value::read(&Shape::Name, "name", text), Ok(SiteValue::Text(_))).then(|| text.clone())
}
