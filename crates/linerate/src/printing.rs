//! The one place that prints. What servers, run folders, files and other users wrote reaches a terminal as text only,
//! and no key reaches standard error, by whatever way it came into a message.

mod look;
mod values;

use std::cell::Cell;
use std::io::{self, ErrorKind, Write as _};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::shown;
use linerate_wire::sys;

pub(crate) use self::look::{columns, look, look_for_file};
pub(crate) use self::values::with_short_values;
use crate::failure::Failure;
use crate::masks::{whole, without_keys, without_used};

/// What text of linerate's own looks like on a terminal with colours: the sequences of reports.
const INKS: [&str; 5] = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m"];

/// What may be shown of text on a terminal that something else draws on.
pub(crate) fn text(text: &str) -> String {
    shown::in_text(&without_keys(text)).into_owned()
}

/// Whether the last words of this process were said: nothing follows them.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Says something on standard error. Nobody listening (`2>&1 | head`) is no reason to stop: there is clearing up to do.
pub(crate) fn say(text: &str) {
    let text = self::text(text);
    let mut err = io::stderr().lock();
    if !IS_OVER.load(Ordering::Relaxed) {
        let _ = writeln!(err, "{text}");
    }
}

/// The same, and nothing after it: other threads go on until the process ends.
pub(crate) fn say_last(text: &str) {
    let text = self::text(text);
    let mut err = io::stderr().lock();
    if !IS_OVER.swap(true, Ordering::Relaxed) {
        let _ = writeln!(err, "{text}");
    }
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
    if sys::output_was_closed() {
        return Err(Failure::Output(rustix::io::Errno::BADF.into()));
    }
    let shown = if look().color { inked(text).into() } else { shown::in_text(text) };
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

thread_local! {
    /// Whether this thread does what may go wrong without harm.
    static IS_ATTEMPT: Cell<bool> = const { Cell::new(false) };
}

/// What comes of something without which it goes on as well; nothing where it panics, which is not told.
pub(crate) fn attempted<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = IS_ATTEMPT.replace(true);
    let done = std::panic::catch_unwind(AssertUnwindSafe(work)).ok();
    IS_ATTEMPT.set(before);
    done
}

/// Has panics told as everything else is.
pub(crate) fn tell_of_panics() {
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
        say(&format!("error: a defect of linerate, thread {name:?} panicked{place}: {reported}{trace}"));
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
    fn what_is_attempted_may_panic() {
        assert_eq!(attempted(|| 1), Some(1));
        assert_eq!(attempted(|| panic!("gone")), None::<u32>);
        assert!(!IS_ATTEMPT.get());
    }
}
