//! The values of a site file in its order, before they are text.

use linerate_record::discovery::{DiscoveredValue, ValueSource};

use crate::votes::{Vote, count};

/// A key of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SiteEntry {
    pub(crate) key: &'static str,
    pub(crate) content: SiteContent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SiteContent {
    Value(String, ValueSource),
    Mapping(Vec<SiteEntry>),
    List(Vec<Vec<SiteEntry>>),
}

pub(crate) fn mapping(key: &'static str, entries: Vec<SiteEntry>) -> SiteEntry {
    SiteEntry { key, content: SiteContent::Mapping(entries) }
}

/// A list, or the mapping itself where there is one.
pub(crate) fn list(key: &'static str, mut items: Vec<Vec<SiteEntry>>) -> SiteEntry {
    match (items.pop(), items.is_empty()) {
        (Some(only), true) => mapping(key, only),
        (last, _) => SiteEntry { key, content: SiteContent::List(items.into_iter().chain(last).collect()) },
    }
}

/// The kinds of nodes.
pub(crate) fn nodes(groups: Vec<Vec<SiteEntry>>) -> SiteEntry {
    list("nodes", groups)
}

/// A value that follows from the fleet or from a count.
pub(crate) fn derived(key: &'static str, text: &str, from: &str) -> SiteEntry {
    let source = ValueSource::Derived { from: from.to_owned() };
    SiteEntry { key, content: SiteContent::Value(text.to_owned(), source) }
}

/// A value that nodes state.
pub(crate) fn read<T: ToString>(key: &'static str, vote: &Vote<'_, T>, place: &str) -> SiteEntry {
    read_as(key, vote, &vote.value.to_string(), place)
}

/// The same with another text.
pub(crate) fn read_as<T>(key: &'static str, vote: &Vote<'_, T>, text: &str, place: &str) -> SiteEntry {
    let (nodes, readable) = (count(vote.nodes.len()), count(vote.readable()));
    let source = ValueSource::Read { place: place.to_owned(), nodes, readable };
    SiteEntry { key, content: SiteContent::Value(text.to_owned(), source) }
}

pub(crate) fn assumed(key: &'static str, text: &str, because: &str) -> SiteEntry {
    let source = ValueSource::Assumed { because: because.to_owned() };
    SiteEntry { key, content: SiteContent::Value(text.to_owned(), source) }
}

/// All values with their paths.
pub(crate) fn values(entries: &[SiteEntry]) -> Vec<DiscoveredValue> {
    let mut found = Vec::new();
    collect(entries, "", &mut found);
    found
}

fn collect(entries: &[SiteEntry], above: &str, found: &mut Vec<DiscoveredValue>) {
    for SiteEntry { key, content } in entries {
        let path = if above.is_empty() { (*key).to_owned() } else { format!("{above}.{key}") };
        match content {
            SiteContent::Value(value, source) => {
                found.push(DiscoveredValue { path, value: value.clone(), source: source.clone() });
            }
            SiteContent::Mapping(entries) => collect(entries, &path, found),
            SiteContent::List(items) => {
                items.iter().enumerate().for_each(|(at, item)| collect(item, &format!("{path}.{at}"), found));
            }
        }
    }
}
