//! What clap says of a command line that it refuses, as people are told it.

use std::borrow::Cow;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use linerate_record::shown::{self, MASK};

/// What clap says of a command line that it refuses. A word that stands where none is expected goes unquoted, since it
/// may be a key whose flag was left out or takes one word; but for one that was meant to be a verb.
pub(crate) fn refusal(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = with_fix(text.trim_start_matches("error: ").trim_end());
    let (kind, suggestion) = match error.kind() {
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, None),
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, error.get(ContextKind::SuggestedSubcommand)),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => (ContextKind::InvalidValue, None),
        _ => return text,
    };
    let Some(ContextValue::String(word)) = error.get(kind) else { return text };
    let may_be_key = !word.starts_with('-') && !word.is_empty() && kind != ContextKind::InvalidValue;
    if may_be_key && suggestion.is_none() {
        // Elsewhere, the same letters are words of linerate's own.
        let text = text.replace(&format!("'{word}'"), UNQUOTED).replace(&format!("'-- {word}'"), MASK);
        return text.replace(",\n\n", "\n\n");
    }
    // A line break in a value would end the line of what is said of it.
    match shown::in_line(word) {
        Cow::Owned(shown) => text.replace(word, &shown),
        Cow::Borrowed(_) => text,
    }
}

/// What stands in place of a word that may be a key.
pub(crate) const UNQUOTED: &str = "that goes unquoted, as it may be a key,";

/// What clap says, with what is to be written where it only repeats the standard library.
fn with_fix(text: &str) -> String {
    let (first, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
    let known = ACCEPTED.iter().find_map(|(reported, fix)| Some((first.strip_suffix(reported)?, fix)));
    known.map_or_else(|| text.to_owned(), |(first, fix)| format!("{first}{fix}{rest}"))
}

/// What the standard library says of a value, and what is to be written.
const ACCEPTED: [(&str, &str); 6] = [
    ("number too large to fit in target type", "write a smaller whole number"),
    ("number too small to fit in target type", "write a larger whole number"),
    ("invalid digit found in string", "write a whole number"),
    ("cannot parse integer from empty string", "write a whole number"),
    ("invalid float literal", "write a number, such as 1.5"),
    ("invalid socket address syntax", "write an address and a port, such as 127.0.0.1:9091"),
];
