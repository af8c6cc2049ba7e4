//! What was typed, as messages quote it: in one line, and cut where it is long.

use std::ffi::OsString;

use linerate_record::sanitize;

use crate::terminal::key_masks::mask_keys;

/// Most characters of a value that are shown: a page of them would hide what is said of it.
const CHARS_MAX: usize = 200;

/// A message in which values of the command line break no line, and are cut. Keys are masked before: of one that is
/// cut, the rest would no longer be known.
pub(crate) fn with_short_values(text: &str, typed: &[OsString]) -> String {
    let mut text = mask_keys(text);
    let words: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let values = words.iter().flat_map(|word| [Some(word.as_str()), word.split_once('=').map(|(_, value)| value)]);
    let values = values.flatten().flat_map(|value| [value].into_iter().chain(value.split(',')));
    let mut odd: Vec<String> = values.map(mask_keys).filter(|value| needs_shortening(value)).collect();
    odd.sort_by_key(|value| std::cmp::Reverse(value.len()));
    odd.dedup();
    for value in odd {
        let escaped = format!("{value:?}");
        for form in [value.as_str(), &escaped[1..escaped.len() - 1]] {
            if needs_shortening(form) {
                text = text.replace(form, &short(form));
            }
        }
    }
    text
}

fn needs_shortening(value: &str) -> bool {
    value.contains(['\n', '\t']) || value.chars().nth(CHARS_MAX).is_some()
}

fn short(value: &str) -> String {
    let all = value.chars().count();
    if all <= CHARS_MAX {
        return sanitize::in_line(value).into_owned();
    }
    let begin: String = value.chars().take(CHARS_MAX / 2).collect();
    format!("{}… ({all} characters)", sanitize::in_line(&begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_were_typed_break_no_line_and_are_cut() {
        let long = "9".repeat(100_000);
        for (word, text, expected) in [
            ("p\nq", "invalid 'p\nq': see\nbelow".to_owned(), "invalid 'p\\u000aq': see\nbelow"),
            ("--lookup=p\tq", "invalid 'p\tq'".to_owned(), "invalid 'p\\u0009q'"),
            ("a,b\nc", "b\nc is none".to_owned(), "b\\u000ac is none"),
            ("plain", "plain\nis plain".to_owned(), "plain\nis plain"),
        ] {
            assert_eq!(with_short_values(&text, &[word.into()]), expected, "{word:?}");
        }
        let text = with_short_values(&format!("invalid '{long}': no size {long:?}"), &[long.clone().into()]);
        assert!(text.len() < 500 && text.matches("… (100000 characters)").count() == 2, "{text}");
    }
}
