//! The one place that prints. What servers, run folders, files and other users wrote reaches a terminal as text only,
//! and no key reaches standard error, by whatever way it came into a message.

mod forms;
mod given;
mod places;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Write as _};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use linerate_record::shown::{self, MASK};

use self::forms::Finder;
use self::given::Given;
use crate::failure::Failure;
use crate::report;

/// Keys that this process was given. What is shorter could be any word.
static KEYS: Mutex<Keys> = Mutex::new(Keys { used: BTreeSet::new(), doubtful: BTreeSet::new(), finders: None });
const KEY_CHARS_MIN: usize = 8;

/// Most keys of either kind: a file of a thousand profiles has some thousands, and what finds them takes memory.
const KEYS_MAX: usize = 10_000;

struct Keys {
    /// In use: masked wherever something is told.
    used: BTreeSet<String>,
    /// Of files and of flags that are no flag, where they may be keys: masked in messages.
    doubtful: BTreeSet<String>,
    /// What finds them, made when it is wanted.
    finders: Option<Finders>,
}

#[derive(Clone)]
struct Finders {
    used: Arc<Finder>,
    all: Arc<Finder>,
}

/// What text of linerate's own looks like on a terminal with colours: the sequences of reports.
const INKS: [&str; 5] = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"];

/// Whether a key is so long that it is no word that stands somewhere by chance.
pub(crate) fn is_telling(key: &str) -> bool {
    key.chars().count() >= KEY_CHARS_MIN
}

/// Remembers a key that is in use: it is in nothing that is told from now on.
pub(crate) fn keep_secret(key: &str) {
    keep(Given { keys: vec![key.to_owned()], ..Given::default() });
}

fn keep(given: Given) {
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    let Keys { used, doubtful, finders } = &mut *keys;
    for (kept, new) in [(used, given.keys), (doubtful, given.doubtful)] {
        for key in new.into_iter().filter(|key| is_telling(key)) {
            if kept.len() < KEYS_MAX && kept.insert(key) {
                *finders = None;
            }
        }
    }
}

/// Remembers the keys of the environment, and those that follow or are part of flags that take one, whether or not
/// they are spelled rightly: what refuses a command line quotes it.
pub(crate) fn keep_secrets_of(words: &[String]) {
    keep(given::of_environment());
    keep(given::of_words(words));
}

/// Remembers what may be keys in a file of keys, before it is read: messages about it quote it.
pub(crate) fn keep_secrets_of_file(text: &str) {
    keep(Given { doubtful: given::of_file(text), ..Given::default() });
}

/// What finds the keys of this process.
fn finders() -> Option<Finders> {
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    if keys.finders.is_none() && !(keys.used.is_empty() && keys.doubtful.is_empty()) {
        // It fails where keys take gigabytes, of which a process is not given a thousandth.
        let used = Finder::new(&keys.used, []).ok().map(Arc::new);
        let all = Finder::new(&keys.used, &keys.doubtful).ok().map(Arc::new);
        keys.finders = used.zip(all).map(|(used, all)| Finders { used, all });
    }
    keys.finders.clone()
}

fn with_masks<'t>(text: &'t str, masks: &[Range<usize>]) -> Cow<'t, str> {
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
pub(crate) fn without_keys(text: &str) -> String {
    let masks = finders().map(|finders| finders.all.find(text)).unwrap_or_default();
    shown::masked(&with_masks(text, &masks)).into_owned()
}

/// Text without the keys in use.
pub(crate) fn without_used(text: &str) -> Cow<'_, str> {
    with_masks(text, &finders().map(|finders| finders.used.find(text)).unwrap_or_default())
}

/// Something that is printed or written for others, without the keys in use where that breaks nothing.
pub(crate) fn whole(text: &str) -> Cow<'_, str> {
    let found = finders().map(|finders| finders.used.find(text)).unwrap_or_default();
    with_masks(text, &places::maskable(text, &found))
}

/// Whether one of these keys is in a text, in whatever form.
pub(crate) fn holds_any(keys: &[&str], text: &str) -> bool {
    let keys: Vec<String> = keys.iter().filter(|key| is_telling(key)).map(ToString::to_string).collect();
    Finder::new(&keys, []).is_ok_and(|finder| !finder.find(text).is_empty())
}

/// What may be shown of text on a terminal that something else draws on.
pub(crate) fn text(text: &str) -> String {
    shown::in_text(&without_keys(text)).into_owned()
}

/// Says something on standard error. Nobody listening (`2>&1 | head`) is no reason to stop: there is clearing up to do.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", self::text(text));
}

/// Asks for an answer on the line that it ends with. Nothing is masked but the keys that were given: who consents to a
/// command that somebody else wrote has to see it whole.
pub(crate) fn ask(text: &str) -> Result<(), Failure> {
    let mut err = io::stderr();
    write!(err, "{}", shown::in_text(&without_used(text))).and_then(|()| err.flush()).map_err(Failure::Output)
}

/// Prints to standard output; a reader that has gone (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_own(&whole(text))
}

/// The same of what holds nothing but linerate's own words: no key makes it another.
pub(crate) fn print_own(text: &str) -> Result<(), Failure> {
    let shown = if report::look().color { inked(text).into() } else { shown::in_text(text) };
    let mut out = io::stdout().lock();
    match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(()),
    }
}

/// What may stand in a file that somebody looks at on a terminal.
pub(crate) fn for_file(text: &str) -> String {
    shown::in_text(&whole(text)).into_owned()
}

/// Text with colours and nothing else.
fn inked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&shown::in_text(&rest[..at]));
        let ink = INKS.iter().find(|ink| rest[at..].starts_with(**ink)).map_or(1, |ink| ink.len());
        let (sequence, behind) = rest[at..].split_at(ink);
        out.push_str(if ink > 1 { sequence } else { "\\u001b" });
        rest = behind;
    }
    out.push_str(&shown::in_text(rest));
    out
}

/// Has panics told as everything else is.
pub(crate) fn tell_of_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let (name, told) = (thread.name().unwrap_or("unnamed"), panic.payload_as_str().unwrap_or("no message"));
        let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
        let trace = std::backtrace::Backtrace::capture();
        let trace = match trace.status() {
            std::backtrace::BacktraceStatus::Captured => format!("\n{trace}"),
            _ => String::new(),
        };
        say(&format!("error: a defect of linerate, thread {name:?} panicked{place}: {told}{trace}"));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_reports_pass_and_no_other_sequence() {
        for (text, expected) in [
            ("\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"),
            ("a\x1b[2Jb\x1b[8mc\x1b]0;t\x07", "a\\u001b[2Jb\\u001b[8mc\\u001b]0;t\\u0007"),
            ("\x1b", "\\u001b"),
            ("é\x1b\x1b[0mé\u{9b}", "é\\u001b\x1b[0mé\\u009b"),
        ] {
            assert_eq!(inked(text), expected, "{text:?}");
        }
    }

    #[test]
    fn keys_that_were_given_are_in_no_message_in_whatever_form() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        keep_secrets_of(&words("linerate bench --secretkey first-of-keys --access_key=second-of-keys --quiet"));
        keep_secrets_of(&words("linerate bench --secret-key --quiet --token short"));
        keep_secret("third\"of\"keys");
        let text = "first-of-keys, 'second-of-keys', third\"of\"keys, \"third\\\"of\\\"keys\", --quiet, short";
        assert_eq!(without_keys(text), "***, '***', ***, \"***\", --quiet, short");
    }
}
