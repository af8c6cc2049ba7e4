//! What clap says of a command line that it refuses, as people are told it.

use std::borrow::Cow;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};
use linerate_record::sanitize::{self, MASK};

use crate::cli::definition::Cli;

/// What clap says of a command line that it refuses. A word that stands where none is expected goes unquoted, since it
/// may be a key whose flag was left out or takes one word; but for one that was meant to be a verb.
pub(crate) fn clap_error_text(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = with_host_alternative(with_remedy(text.trim_start_matches("error: ").trim_end()));
    let (kind, suggestion) = match error.kind() {
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, None),
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, error.get(ContextKind::SuggestedSubcommand)),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => (ContextKind::InvalidValue, None),
        _ => return text,
    };
    let Some(ContextValue::String(word)) = error.get(kind) else { return text };
    if kind == ContextKind::InvalidSubcommand && suggestion.is_none() && is_plain_word(word) {
        return with_known_verbs(&text);
    }
    let may_be_key = !word.starts_with('-') && !word.is_empty() && kind != ContextKind::InvalidValue;
    if may_be_key && suggestion.is_none() {
        // Elsewhere, the same letters are words of linerate's own.
        let text = text.replace(&format!("'{word}'"), UNQUOTED_TEXT).replace(&format!("'-- {word}'"), MASK);
        return text.replace(",\n\n", "\n\n");
    }
    // A line break in a value would end the line of what is said of it.
    match sanitize::in_line(word) {
        Cow::Owned(shown) => text.replace(word, &shown),
        Cow::Borrowed(_) => text,
    }
}

/// `net` needs one of two, of which clap names the flag alone.
fn with_host_alternative(text: String) -> String {
    if !text.contains(NET_USAGE) {
        return text;
    }
    let both = "\n  HOST, where linerate net serve waits, or --fleet <FLEET>";
    text.replacen("\n  --fleet <FLEET>", both, 1).replacen(NET_USAGE, " <HOST|--fleet <FLEET>>", 1)
}

/// The end of the usage of `net` where both are missing.
const NET_USAGE: &str = " --fleet <FLEET> [HOST]";

/// Whether a word is no more than a verb could be: a key that looks like one is masked where it is in use.
fn is_plain_word(word: &str) -> bool {
    word.len() <= VERB_CHARS_MAX && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
}

/// Letters of a word that is quoted where a verb should stand. The verbs themselves have up to eleven.
const VERB_CHARS_MAX: usize = 12;

/// What is said of a verb that there is not, with those that there are.
fn with_known_verbs(text: &str) -> String {
    let mut command = Cli::command();
    command.build();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default();
    let named = usage.split(' ').skip(1).take_while(|word| !word.starts_with(['<', '[', '-']));
    let named = named.filter(|word| *word != "help");
    let mut found = &command;
    for name in named {
        found = found.find_subcommand(name).unwrap_or(found);
    }
    let verbs: Vec<&str> = found.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name).collect();
    text.replacen("\n\nUsage: ", &format!("\n\n  tip: write one of {}\n\nUsage: ", verbs.join(", ")), 1)
}

/// What stands in place of a word that may be a key.
pub(crate) const UNQUOTED_TEXT: &str = "that is not quoted, because it may be a key,";

/// What clap says, with what is to be written where it only repeats the standard library.
fn with_remedy(text: &str) -> String {
    let (first, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
    let known = REMEDIES.iter().find_map(|(reported, fix)| Some((first.strip_suffix(reported)?, fix)));
    known.map_or_else(|| text.to_owned(), |(first, fix)| format!("{first}{fix}{rest}"))
}

/// What the standard library says of a value, and what is to be written.
const REMEDIES: [(&str, &str); 6] = [
    ("number too large to fit in target type", "write a smaller whole number"),
    ("number too small to fit in target type", "write a larger whole number"),
    ("invalid digit found in string", "write a whole number"),
    ("cannot parse integer from empty string", "write a whole number"),
    ("invalid float literal", "write a number, such as 1.5"),
    ("invalid socket address syntax", "write an address and a port, such as 127.0.0.1:9091"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn net_without_machines_names_both_ways_to_say_them() {
        for line in ["linerate net", "linerate net --json", "linerate net --duration 5s -q"] {
            let error = Cli::command().try_get_matches_from(line.split(' ')).unwrap_err();
            let text = clap_error_text(&error);
            for part in ["\n  HOST, where linerate net serve waits, or --fleet <FLEET>\n", " <HOST|--fleet <FLEET>>"] {
                assert!(text.contains(part), "{line}: {text}");
            }
            assert!(!text.contains("[HOST]"), "{line}: {text}");
        }
    }
}
