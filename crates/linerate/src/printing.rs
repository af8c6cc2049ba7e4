//! The one place that prints. What servers, run folders, files and other users wrote reaches a terminal as text only,
//! and no key reaches standard error, by whatever way it came into a message.

use std::borrow::Cow;
use std::io::{self, ErrorKind, Write as _};
use std::sync::{Mutex, PoisonError};

use linerate_record::shown::{self, MASK};

use crate::failure::Failure;
use crate::report;

/// Keys that this process was given. What is shorter could be any word.
static KEYS: Mutex<Vec<String>> = Mutex::new(Vec::new());
const KEY_CHARS_MIN: usize = 8;

/// Variables that hold keys.
const VARIABLES: [&str; 6] = [
    "WARP_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "WARP_SECRET_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "WARP_SESSION_TOKEN",
    "AWS_SESSION_TOKEN",
];

/// What text of linerate's own looks like on a terminal with colours: the sequences of reports.
const INKS: [&str; 5] = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"];

/// Whether a key is so long that it is no word that stands somewhere by chance.
pub(crate) fn is_telling(key: &str) -> bool {
    key.chars().count() >= KEY_CHARS_MIN
}

/// Remembers a key, which is in no message from now on.
pub(crate) fn keep_secret(key: &str) {
    if !is_telling(key) {
        return;
    }
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    // Messages quote what they name.
    for form in [key.to_owned(), key.escape_debug().to_string()] {
        if !keys.contains(&form) {
            keys.push(form);
        }
    }
}

/// Remembers the keys of the environment, and those that follow or are part of flags that take one, whether or not
/// they are spelled rightly: what refuses a command line quotes it.
pub(crate) fn keep_secrets_of(words: &[String]) {
    for name in VARIABLES {
        std::env::var(name).iter().for_each(|key| keep_secret(key));
    }
    let takes_key = |flag: &str| {
        let name = flag.trim_start_matches('-').replace(['-', '_', '.'], "").to_ascii_lowercase();
        flag.starts_with('-') && ["secret", "accesskey", "token", "password"].iter().any(|part| name.contains(part))
    };
    for (i, word) in words.iter().enumerate() {
        let (flag, value) = word.split_once('=').map_or((word.as_str(), None), |(flag, value)| (flag, Some(value)));
        if takes_key(flag) {
            let next = words.get(i + 1).map(String::as_str).filter(|next| !next.starts_with('-'));
            value.or(next).iter().for_each(|key| keep_secret(key));
        }
    }
}

/// Text without keys: those that this process was given, and what stands where one stands.
pub(crate) fn without_keys(text: &str) -> String {
    shown::masked(&without_given(text)).into_owned()
}

fn without_given(text: &str) -> String {
    let mut text = text.to_owned();
    for key in KEYS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        if text.contains(key.as_str()) {
            text = text.replace(key.as_str(), MASK);
        }
    }
    text
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
    write!(err, "{}", shown::in_text(&without_given(text))).and_then(|()| err.flush()).map_err(Failure::Output)
}

/// Prints to standard output; a reader that has gone (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let shown = if report::look().color { inked(text).into() } else { shown::in_text(text) };
    let mut out = io::stdout().lock();
    match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(()),
    }
}

/// What may stand in a file that somebody looks at on a terminal.
pub(crate) fn for_file(text: &str) -> Cow<'_, str> {
    shown::in_text(text)
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
