//! The one place that prints. What servers, run folders, files and other users wrote reaches a terminal as text only,
//! and no key reaches standard error, by whatever way it came into a message.

mod quoted_values;
mod text_style;

use std::cell::Cell;
use std::io::{self, ErrorKind, Write as _};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::sanitize;

pub(crate) use self::quoted_values::with_short_values;
pub(crate) use self::text_style::{columns, text_style, text_style_for_file};
use crate::terminal::failure::Failure;
use crate::terminal::key_masks::{mask_keys, mask_used_keys, mask_where_harmless};

/// What text of linerate's own looks like on a terminal with colours: the sequences of reports.
const COLOUR_SEQUENCES: [&str; 5] = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"];

/// What may be shown of text on a terminal that something else draws on.
pub(crate) fn terminal_text(text: &str) -> String {
    sanitize::in_text(&mask_keys(text)).into_owned()
}

/// Whether the last words of this process were said: nothing follows them.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);

/// Says something on standard error. Nobody listening (`2>&1 | head`) is no reason to stop: there is clearing up to do.
pub(crate) fn print_error(text: &str) {
    let text = self::terminal_text(text);
    let mut err = io::stderr().lock();
    if !HAS_ENDED.load(Ordering::Relaxed) {
        let _ = writeln!(err, "{text}");
    }
}

/// The same, and nothing after it: other threads go on until the process ends.
pub(crate) fn print_last_error(text: &str) {
    let text = self::terminal_text(text);
    let mut err = io::stderr().lock();
    if !HAS_ENDED.swap(true, Ordering::Relaxed) {
        let _ = writeln!(err, "{text}");
    }
}

/// Asks for an answer on the line that it ends with. Nothing is masked but the keys that were given: who consents to a
/// command that somebody else wrote has to see it whole.
pub(crate) fn prompt(text: &str) -> Result<(), Failure> {
    let mut err = io::stderr();
    write!(err, "{}", sanitize::in_text(&mask_used_keys(text))).and_then(|()| err.flush()).map_err(Failure::Output)
}

/// Prints to standard output; a reader that has gone (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_unmasked(&mask_where_harmless(text))
}

/// The same of what holds nothing but linerate's own words: no key makes it another.
pub(crate) fn print_unmasked(text: &str) -> Result<(), Failure> {
    let shown = if text_style().color { with_colours_only(text).into() } else { sanitize::in_text(text) };
    let mut out = io::stdout().lock();
    match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(error)),
        _ => Ok(()),
    }
}

/// What may stand in a file that somebody looks at on a terminal.
pub(crate) fn text_for_file(text: &str) -> String {
    sanitize::in_text(&mask_where_harmless(text)).into_owned()
}

/// Text with colours and nothing else.
fn with_colours_only(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        out.push_str(&sanitize::in_text(&rest[..at]));
        let ink = COLOUR_SEQUENCES.iter().find(|ink| rest[at..].starts_with(**ink)).map_or(1, |ink| ink.len());
        let (sequence, behind) = rest[at..].split_at(ink);
        out.push_str(if ink > 1 { sequence } else { "\\u001b" });
        rest = behind;
    }
    out.push_str(&sanitize::in_text(rest));
    out
}

thread_local! {
    /// Whether this thread does what may go wrong without harm.
    static IS_ATTEMPT: Cell<bool> = const { Cell::new(false) };
}

/// What comes of something without which it goes on as well; nothing where it panics, which is not told.
pub(crate) fn try_without_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = IS_ATTEMPT.replace(true);
    let done = std::panic::catch_unwind(AssertUnwindSafe(work)).ok();
    IS_ATTEMPT.set(before);
    done
}

/// Has panics told as everything else is.
pub(crate) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        if IS_ATTEMPT.get() {
            return;
        }
        let thread = std::thread::current();
        let (name, reported) = (thread.name().unwrap_or("unnamed"), panic.payload_as_str().unwrap_or("no message"));
        let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
        let trace = std::backtrace::Backtrace::capture();
        let trace = match trace.status() {
            std::backtrace::BacktraceStatus::Captured => format!("\n{trace}"),
            _ => String::new(),
        };
        print_error(&format!("error: a defect of linerate, thread {name:?} panicked{place}: {reported}{trace}"));
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
            assert_eq!(with_colours_only(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_attempted_may_panic() {
        assert_eq!(try_without_panic(|| 1), Some(1));
        assert_eq!(try_without_panic(|| panic!("gone")), None::<u32>);
        assert!(!IS_ATTEMPT.get());
    }
}
