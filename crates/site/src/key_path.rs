//! Which key stands where: the names and numbers that lead to a place of a file, also of one that is no YAML from some
//! place on.

use saphyr_parser::{Event, Parser};

use super::source_position::SourcePosition;

/// Most parts of a path that are told, and characters of one.
const PARTS_MAX: usize = 16;
const PART_CHARS_MAX: usize = 40;

/// Most of what a file holds that is gone through: more than a site may have.
const EVENTS_MAX: usize = 150_000;

/// A list or a mapping that is open.
enum OpenCollection {
    /// Entries before the one that is read.
    List(usize),
    /// The key whose value is read.
    Mapping(Option<String>),
}

/// The path of each place, such as `nodes.0.nics.1.speed`; places are sorted. It is empty where a place is of the whole
/// file; of a place that cannot be read, it is the path of what is read there last.
pub(super) fn paths(text: &str, places: &[SourcePosition]) -> Vec<String> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for event in Parser::new_from_str(text).take(EVENTS_MAX) {
        let Ok((event, span)) = event else { break };
        let at = (span.start.line().max(1), span.start.col() + 1);
        let is_next = |found: &Vec<String>| places.get(found.len()).map(|place| (place.line, place.column).cmp(&at));
        if matches!(event, Event::MappingEnd | Event::SequenceEnd) {
            open.pop();
            done(&mut open);
            continue;
        }
        let name = match &event {
            Event::Scalar(text, ..) => Some(text.as_ref()),
            Event::MappingStart(..) | Event::SequenceStart(..) | Event::Alias(_) => None,
            _ => continue,
        };
        while is_next(&found).is_some_and(|order| order.is_lt()) {
            found.push(shown(&open));
        }
        let is_key = begin(&mut open, name);
        while is_next(&found).is_some_and(|order| order.is_eq()) {
            found.push(shown(&open));
        }
        match event {
            _ if found.len() == places.len() => return found,
            Event::MappingStart(..) => open.push(OpenCollection::Mapping(None)),
            Event::SequenceStart(..) => open.push(OpenCollection::List(0)),
            _ if is_key => {}
            _ => done(&mut open),
        }
    }
    found.resize_with(places.len(), || shown(&open));
    found
}

/// Takes what begins; whether it is a key.
fn begin(open: &mut [OpenCollection], name: Option<&str>) -> bool {
    match open.last_mut() {
        Some(OpenCollection::Mapping(key @ None)) => {
            *key = Some(name.unwrap_or("?").to_owned());
            true
        }
        _ => false,
    }
}

/// Goes on behind a value.
fn done(open: &mut [OpenCollection]) {
    match open.last_mut() {
        Some(OpenCollection::List(before)) => *before += 1,
        Some(OpenCollection::Mapping(key)) => *key = None,
        None => {}
    }
}

fn shown(open: &[OpenCollection]) -> String {
    let part = |open: &OpenCollection| match open {
        OpenCollection::List(before) => Some(before.to_string()),
        OpenCollection::Mapping(key) => {
            key.as_ref().map(|key| key.chars().filter(|c| !c.is_control()).take(PART_CHARS_MAX).collect())
        }
    };
    open.iter().filter_map(part).take(PARTS_MAX).collect::<Vec<String>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_by_the_keys_and_numbers_that_lead_to_it() {
        let text = "a: 1\nb:\n  - c: 2\n    d: {e: [3, 4]}\n  - f: 5\ng: 6\n";
        let place = |line, column| SourcePosition { line, column, width: 1 };
        for (line, column, path) in [
            (1, 1, ""),
            (1, 4, "a"),
            (3, 5, "b.0"),
            (3, 8, "b.0.c"),
            (4, 5, "b.0.d"),
            (4, 13, "b.0.d.e.0"),
            (4, 16, "b.0.d.e.1"),
            (5, 8, "b.1.f"),
            (6, 4, "g"),
        ] {
            assert_eq!(paths(text, &[place(line, column)]), [path], "{line}:{column}");
        }
        let all = [place(1, 4), place(4, 13), place(4, 13), place(6, 4), place(9, 9)];
        assert_eq!(paths(text, &all), ["a", "b.0.d.e.0", "b.0.d.e.0", "g", ""]);
    }

    #[test]
    fn what_is_no_yaml_is_told_by_what_was_read_last() {
        let place = SourcePosition { line: 3, column: 9, width: 1 };
        assert_eq!(paths("a:\n  - b: 1\n    c: @\n", &[place]), ["a.0.c"]);
        assert_eq!(paths("a: {b: 1, c: [2\nd: 3\n", &[place]), ["a.c.0"]);
        assert_eq!(paths(&"[".repeat(100_000), &[place]).len(), 1);
    }
}
