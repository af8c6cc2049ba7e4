//! The keys of this process, masked in whatever is told, and in whatever a folder keeps.

mod encodings;
mod given_keys;
mod maskable;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use linerate_record::sanitize::{self, MASK};

use self::encodings::Finder;
use self::given_keys::GivenKeys;
pub(crate) use self::given_keys::NET_TOKEN_VARIABLE;

/// Keys that this process was given. What is shorter could be any word.
static KNOWN_KEYS: Mutex<KnownKeys> =
    Mutex::new(KnownKeys { used: BTreeSet::new(), secret: BTreeSet::new(), possible: BTreeSet::new(), finders: None });
const KEY_CHARS_MIN: usize = 8;

/// Most keys of either kind: a file of a thousand profiles has some thousands, and what finds them takes memory.
const KEYS_MAX: usize = 10_000;

struct KnownKeys {
    /// In use: masked wherever something is told.
    used: BTreeSet<String>,
    /// Those in use that are no names of keys: secret keys and session tokens, which no run folder keeps.
    secret: BTreeSet<String>,
    /// Of files and of flags that are no flag, where they may be keys: masked in messages.
    possible: BTreeSet<String>,
    /// What finds them, made when it is wanted.
    finders: Option<Finders>,
}

#[derive(Clone)]
struct Finders {
    used: Arc<Finder>,
    secret: Arc<Finder>,
    all: Arc<Finder>,
}

/// Whether a key is so long that it is no word that stands somewhere by chance.
pub(crate) fn is_long_enough(key: &str) -> bool {
    key.chars().count() >= KEY_CHARS_MIN
}

/// Remembers a name of a key that is in use: it is in nothing that is told from now on.
pub(crate) fn remember_key_name(key: &str) {
    remember(GivenKeys { keys: vec![key.to_owned()], ..GivenKeys::default() });
}

/// Remembers a secret that is in use: it is in nothing that is told or kept in a folder from now on.
pub(crate) fn remember_secret(key: &str) {
    remember(GivenKeys { secrets: vec![key.to_owned()], ..GivenKeys::default() });
}

fn remember(given: GivenKeys) {
    let mut keys = KNOWN_KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    let KnownKeys { used, secret, possible, finders } = &mut *keys;
    let GivenKeys { keys: mut new_keys, secrets, possible: new_doubtful } = given;
    new_keys.extend(secrets.iter().cloned());
    for (kept, new) in [(used, new_keys), (secret, secrets), (possible, new_doubtful)] {
        for key in new.into_iter().filter(|key| is_long_enough(key)) {
            if kept.len() < KEYS_MAX && kept.insert(key) {
                *finders = None;
            }
        }
    }
}

/// Remembers the keys of the environment, and those that follow or are part of flags that take one, whether or not
/// they are spelled rightly: what refuses a command line quotes it.
pub(crate) fn remember_secrets_of_arguments(words: &[String]) {
    let environment_keys = given_keys::keys_of_environment();
    remember_parts(given_keys::parts_in_words(
        &[&environment_keys.keys[..], &environment_keys.secrets].concat(),
        words,
    ));
    remember(environment_keys);
    remember(given_keys::keys_of_words(words));
}

/// Remembers parts of keys, however short, for messages.
fn remember_parts(parts: Vec<String>) {
    let mut keys = KNOWN_KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if !parts.is_empty() {
        keys.possible.extend(parts);
        keys.finders = None;
    }
}

/// Remembers what may be keys in a file of keys, before it is read: messages about it quote it.
pub(crate) fn remember_secrets_of_file(text: &str) {
    remember(GivenKeys { possible: given_keys::keys_of_file(text), ..GivenKeys::default() });
}

/// What finds the keys of this process.
fn finders() -> Option<Finders> {
    let mut keys = KNOWN_KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if keys.finders.is_none() && !(keys.used.is_empty() && keys.possible.is_empty()) {
        // It fails where keys take gigabytes, of which a process is not given a thousandth.
        let names = || keys.used.difference(&keys.secret);
        let used = Finder::new(names(), &keys.secret, []).ok().map(Arc::new);
        let secret = Finder::new([], &keys.secret, []).ok().map(Arc::new);
        let all = Finder::new(names(), &keys.secret, &keys.possible).ok().map(Arc::new);
        keys.finders = used.zip(secret).zip(all).map(|((used, secret), all)| Finders { used, secret, all });
    }
    keys.finders.clone()
}

fn mask_ranges<'t>(text: &'t str, masks: &[Range<usize>]) -> Cow<'t, str> {
    if masks.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for mask in masks {
        out.push_str(&text[at..mask.start]);
        out.push_str(MASK);
        at = mask.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// Text without keys: those that this process was given, and what stands where one stands.
pub(crate) fn mask_keys(text: &str) -> String {
    let masks = finders().map(|finders| finders.all.find(text)).unwrap_or_default();
    sanitize::masked(&mask_ranges(text, &masks)).into_owned()
}

/// Text without the keys in use.
pub(crate) fn mask_used_keys(text: &str) -> Cow<'_, str> {
    mask_ranges(text, &finders().map(|finders| finders.used.find(text)).unwrap_or_default())
}

/// Something that is printed or written for others, without the keys in use where that breaks nothing.
pub(crate) fn mask_where_harmless(text: &str) -> Cow<'_, str> {
    let found = finders().map(|finders| finders.used.find(text)).unwrap_or_default();
    mask_ranges(text, &maskable::maskable_parts(text, &found))
}

/// Whether a secret in use is in a text, in whatever form.
pub(crate) fn holds_secret(text: &str) -> bool {
    finders().is_some_and(|finders| !finders.secret.find(text).is_empty())
}

/// A line of JSON that a folder keeps, without the secrets in use. A string that is a word and nothing else stays: a
/// line without the name of its operation could not be read back.
pub(crate) fn mask_secrets_for_folder(line: &str) -> Cow<'_, str> {
    let mut found = finders().map(|finders| finders.secret.find(line)).unwrap_or_default();
    found.retain(|range| !is_plain_json_word(line, range));
    mask_ranges(line, &maskable::maskable_parts(line, &found))
}

/// Whether a range is a whole string of JSON that is one word in small letters.
fn is_plain_json_word(line: &str, range: &Range<usize>) -> bool {
    let is_small = line[range.clone()].bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'-');
    is_small && line[..range.start].ends_with('"') && line[range.end..].starts_with('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_were_given_are_in_no_message_in_whatever_form() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        remember_secrets_of_arguments(&words(
            "linerate bench --secretkey first-of-keys --access_key=second-of-keys --quiet",
        ));
        remember_secrets_of_arguments(&words("linerate bench --secret-key --quiet --token short"));
        remember_secret("third\"of\"keys");
        let text = "first-of-keys, 'second-of-keys', third\"of\"keys, \"third\\\"of\\\"keys\", --quiet, short";
        assert_eq!(mask_keys(text), "***, '***', ***, \"***\", --quiet, short");
    }
}
