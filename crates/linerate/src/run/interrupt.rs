//! Ctrl-C, SIGTERM and a lost terminal: the first ends the run in good order, the second at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::terminal::failure::{Failure, code};
use crate::terminal::printing::print_last_error;
use crate::terminal::progress::print_error;

/// What ends a run before its time, as signals.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What ends a run before its time, as flags.
pub(crate) struct Interrupt {
    /// Set by the first signal.
    pub(crate) signalled: Arc<AtomicBool>,
    /// Set by the first signal too, and by whatever else makes it pointless to go on: points end, clearing up begins.
    pub(crate) stop: Arc<AtomicBool>,
}

/// Flags that the first signal sets. A second signal then ends the process with these words and the code of an
/// interrupted run; the folder is readable up to its last line, and objects of the run may remain at the target. A
/// third does so whatever holds the words up.
pub(crate) fn watch_signals(second: String) -> Result<Interrupt, Failure> {
    let (interrupt, again) = flags()?;
    let mut signals = Signals::new(SIGNALS).map_err(Failure::Signals)?;
    std::thread::spawn(move || {
        if signals.forever().nth(1).is_some() {
            again.store(true, Ordering::Relaxed);
            end_with(second);
        }
    });
    Ok(interrupt)
}

/// What the first signal sets, and a flag with which the next one ends the process at once.
fn flags() -> Result<(Interrupt, Arc<AtomicBool>), Failure> {
    let interrupt = Interrupt { signalled: Arc::default(), stop: Arc::default() };
    let again = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        flag::register_conditional_shutdown(signal, i32::from(code::INTERRUPTED), Arc::clone(&again))
            .map_err(Failure::Signals)?;
        for flag in [&interrupt.signalled, &interrupt.stop] {
            flag::register(signal, Arc::clone(flag)).map_err(Failure::Signals)?;
        }
    }
    Ok((interrupt, again))
}

/// How long objects are deleted after the first signal: longer, nobody waits for what `linerate clean` does as well.
pub(crate) const DELETION_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the words of a second signal may take: whoever reads standard error may have stopped reading.
const LAST_MESSAGE_TIMEOUT: Duration = Duration::from_millis(500);

/// What a run may have left at its target, as far as that is known while it goes on.
#[derive(Clone, Default)]
pub(crate) struct RunLeftovers(Arc<Mutex<Option<LeftoverPlace>>>);

/// Where a run writes, and what becomes of it.
#[derive(Clone)]
pub(crate) enum LeftoverPlace {
    /// A target of linerate's own, which ends with all that is in it.
    Own,
    AtTarget {
        /// `s3://bucket/prefix`.
        place: String,
        /// The command that cleans after it.
        cleaning: String,
        /// Whether it is to stay.
        stays: bool,
    },
}

impl RunLeftovers {
    /// Notes that something may be there from now on, or that nothing is any more.
    pub(crate) fn set(&self, left: Option<LeftoverPlace>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = left;
    }

    fn get(&self) -> Option<LeftoverPlace> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What follows the first signal.
    fn first(&self) -> String {
        let second = "a second Ctrl-C ends linerate at once";
        match self.get() {
            None => format!("interrupted: nothing of the run is at the target; {second}"),
            Some(LeftoverPlace::Own) => format!(
                "interrupted: requests in flight get one second to finish, then the run's own target ends with all \
                 that is in it; {second}"
            ),
            Some(LeftoverPlace::AtTarget { place, cleaning, stays: true }) => format!(
                "interrupted: requests in flight get one second to finish; what is below {place} stays until \
                 {cleaning} deletes it; {second}"
            ),
            Some(LeftoverPlace::AtTarget { place, cleaning, stays: false }) => format!(
                "interrupted: requests in flight get one second to finish, then what the run wrote below {place} is \
                 deleted for {} seconds at most; {second}, and {cleaning} then deletes what remains",
                DELETION_TIMEOUT.as_secs()
            ),
        }
    }

    /// What the second leaves.
    fn second(&self) -> String {
        match self.get() {
            None => "error: interrupted again: nothing of the run is at the target".to_owned(),
            Some(LeftoverPlace::Own) => {
                "error: interrupted again: the run's own target ends with all that is in it".to_owned()
            }
            Some(LeftoverPlace::AtTarget { place, cleaning, .. }) => {
                format!(
                    "error: interrupted again: what the run wrote may remain below {place}, and the bucket if the run \
                     made it; {cleaning} deletes it"
                )
            }
        }
    }
}

/// Whether a verb watches for signals itself by now.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// Until a verb watches itself, has the first signal end the process with a word and the code of an interrupted run:
/// names are looked up and bodies hashed, and nothing has been written.
pub(crate) fn end_before_load() -> Result<(), Failure> {
    let words = "error: interrupted before the load began: nothing was written".to_owned();
    end_at_first_signal(words, || !IS_WATCHED.load(Ordering::Relaxed))
}

/// Has the first signal end the process with these words: of a verb that can be typed again whatever it was doing.
pub(crate) fn end_at_once(words: String) -> Result<(), Failure> {
    end_at_first_signal(words, || true)
}

/// Has the first signal end the process with these words, if the process is still to be ended when it comes.
fn end_at_first_signal(words: String, is_due: impl FnOnce() -> bool + Send + 'static) -> Result<(), Failure> {
    let mut signals = Signals::new(SIGNALS).map_err(Failure::Signals)?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() && is_due() {
            end_with(words);
        }
    });
    Ok(())
}

/// Ends the process once its last words are said, or nobody reads them.
fn end_with(words: String) -> ! {
    let words = std::thread::spawn(move || print_last_error(&words));
    let until = Instant::now() + LAST_MESSAGE_TIMEOUT;
    while !words.is_finished() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::process::exit(i32::from(code::INTERRUPTED))
}

/// The same flags; the first signal is acknowledged at once, and a second one ends the process as soon as what may
/// remain is told. A third does so whatever holds these words up.
pub(crate) fn watch_and_tell(leftovers: RunLeftovers) -> Result<Interrupt, Failure> {
    let (interrupt, again) = flags()?;
    let mut signals = Signals::new(SIGNALS).map_err(Failure::Signals)?;
    std::thread::spawn(move || {
        let mut signals = signals.forever();
        if signals.next().is_some() {
            // On a thread of its own: whoever reads standard error may have stopped reading.
            let words = leftovers.first();
            std::thread::spawn(move || print_error(&words));
        }
        if signals.next().is_some() {
            again.store(true, Ordering::Relaxed);
            end_with(leftovers.second());
        }
    });
    IS_WATCHED.store(true, Ordering::Relaxed);
    Ok(interrupt)
}

/// Whether a flag was set.
pub(crate) fn is_set(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}
