//! Where a mask may stand in what is printed or written for others: JSON stays JSON with its fields, a page keeps its
//! scripts, and figures stay.

use std::ops::Range;

use serde::de::IgnoredAny;

/// Of ranges in order, the parts in which a mask breaks nothing.
pub(super) fn maskable_parts(text: &str, found: &[Range<usize>]) -> Vec<Range<usize>> {
    if found.is_empty() {
        return Vec::new();
    }
    let begin = text.trim_start();
    if begin.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return mask_in_json(text, 0..text.len(), found);
    }
    if begin.get(..14).is_some_and(|begin| begin.eq_ignore_ascii_case("<!doctype html")) {
        return mask_in_page(text, found);
    }
    mask_in_text(text, 0..text.len(), found)
}

/// What lies within a part of a text.
fn clipped_ranges(found: &[Range<usize>], part: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let first = found.partition_point(|range| range.end <= part.start);
    let within = found[first..].iter().take_while(|range| range.start < part.end);
    within.map(|range| range.start.max(part.start)..range.end.min(part.end))
}

/// Digits alone are a figure: a table or a CSV would lose it.
fn mask_in_text(text: &str, part: Range<usize>, found: &[Range<usize>]) -> Vec<Range<usize>> {
    clipped_ranges(found, &part).filter(|range| !text[range.clone()].bytes().all(|b| b.is_ascii_digit())).collect()
}

/// Within strings, but for those that name a field.
fn mask_in_json(text: &str, part: Range<usize>, found: &[Range<usize>]) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut masks, mut at) = (Vec::new(), part.start);
    while let Some(open) = bytes[at..part.end].iter().position(|b| *b == b'"') {
        let inside = at + open + 1..end_of_string(bytes, at + open + 1);
        at = (inside.end + 1).min(part.end);
        let mut hits = clipped_ranges(found, &inside).peekable();
        if hits.peek().is_some() && !is_field_name(text, &inside) {
            masks.extend(hits.map(|hit| whole_escapes(bytes, &inside, &hit)));
        }
    }
    masks
}

/// Where a string ends that begins here.
fn end_of_string(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin;
    while at < bytes.len() && bytes[at] != b'"' {
        at += sign_bytes(bytes, at);
    }
    at.min(bytes.len())
}

/// Length of one sign within a string.
fn sign_bytes(bytes: &[u8], at: usize) -> usize {
    match (bytes[at], bytes.get(at + 1)) {
        (b'\\', Some(b'u')) => 6,
        (b'\\', _) => 2,
        _ => 1,
    }
}

/// Whether a string is a name that linerate gives a field.
fn is_field_name(text: &str, inside: &Range<usize>) -> bool {
    let behind = text[inside.end..].strip_prefix('"').unwrap_or_default().trim_start();
    let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    behind.starts_with(':') && text[inside.clone()].bytes().all(is_word)
}

/// The range, widened to whole escapes.
fn whole_escapes(bytes: &[u8], inside: &Range<usize>, hit: &Range<usize>) -> Range<usize> {
    let (mut begin, mut at) = (inside.start, inside.start);
    while at < hit.end {
        let next = at + sign_bytes(bytes, at);
        if next <= hit.start {
            begin = next;
        }
        at = next;
    }
    begin..at.min(inside.end)
}

/// Beside scripts and styles, and in the strings of a page's data.
fn mask_in_page(text: &str, found: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut masks, mut at) = (Vec::new(), 0);
    loop {
        let next = ["script", "style"].into_iter().filter_map(|name| {
            let open = at + text[at..].find(&format!("<{name}"))?;
            let begin = open + text[open..].find('>')? + 1;
            let end = begin + text[begin..].find(&format!("</{name}"))?;
            Some((open, begin..end))
        });
        let Some((open, inside)) = next.min_by_key(|(open, _)| *open) else { break };
        masks.extend(mask_in_text(text, at..open, found));
        if text[open..inside.start].contains("application/json") {
            masks.extend(mask_in_json(text, inside.clone(), found));
        }
        at = inside.end;
    }
    masks.extend(mask_in_text(text, at..text.len(), found));
    masks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str, keys: &[&str]) -> String {
        let mut found: Vec<_> =
            keys.iter().flat_map(|key| text.match_indices(key).map(|(at, key)| at..at + key.len())).collect();
        found.sort_by_key(|range| range.start);
        let mut shown = text.to_owned();
        maskable_parts(text, &found).into_iter().rev().for_each(|range| shown.replace_range(range, "***"));
        shown
    }

    #[test]
    fn json_keeps_its_fields_figures_and_escapes() {
        for (text, keys, expected) in [
            ("{\"field_of_it\": \"field_of_it\"}", &["field_of_it"][..], "{\"field_of_it\": \"***\"}"),
            (
                "{\"Key of it\" : 12345678, \"a\": \"b12345678\"}",
                &["12345678", "Key of it"],
                "{\"***\" : 12345678, \"a\": \"b***\"}",
            ),
            ("[\"\\nabcdefg\\n\"]", &["nabcdefg\\"], "[\"***\"]"),
            ("[\"a\\u00e9abcdefg\\\\\"]", &["00e9abcdefg\\"], "[\"a***\"]"),
            ("[\"a\",\"b\"]", &["\",\""], "[\"a\",\"b\"]"),
            ("[true, null]", &["true", "null"], "[true, null]"),
            ("{\"no JSON\": abcdefgh", &["abcdefgh"], "{\"no JSON\": ***"),
        ] {
            assert_eq!(masked(text, keys), expected, "{text}");
        }
    }

    #[test]
    fn a_page_keeps_its_scripts_and_styles() {
        let page_with = |shown: &str| {
            format!(
                "<!DOCTYPE html><style>abcdefgh</style><p title=\"{shown}\">{shown} 12345678</p>\
                 <script>abcdefgh(12345678)</script><script type=\"application/json\">\
                 {{\"abcdefgh\":\"{shown}\",\"n\":12345678}}</script>{shown}"
            )
        };
        assert_eq!(masked(&page_with("abcdefgh"), &["abcdefgh", "12345678"]), page_with("***"));
    }

    proptest::proptest! {
        #[test]
        fn json_stays_json_wherever_keys_are_found(
            strings in proptest::collection::vec("[a-z\"\\\\/\n\u{1b}é0-9:,{}]{0,12}", 1..6),
            at in 0usize..80,
            length in 1usize..40,
        ) {
            let text = serde_json::json!({ "field": strings, "figure": 12_345_678 }).to_string();
            let begin = text.floor_char_boundary(at.min(text.len()));
            let end = text.ceil_char_boundary((begin + length).min(text.len()));
            let mut shown = text.clone();
            let masks = maskable_parts(&text, std::slice::from_ref(&(begin..end)));
            masks.into_iter().rev().for_each(|range| shown.replace_range(range, "***"));
            proptest::prop_assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok(), "{} {}", text, shown);
        }
    }
}
