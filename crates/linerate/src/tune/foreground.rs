//! `tune apply --foreground`: the command stays as the watch, beside the one that it has started.

use std::time::{Duration, Instant};

use linerate_host::apply::{self, Ground, Rolled, TuneError, since_boot_ms};
use linerate_host::{container, watch};
use linerate_record::journal::By;
use linerate_report::tune as report;

use super::acting::undone;
use crate::failure::{Failure, code};
use crate::interrupt::{Interrupt, came};
use crate::printing;
use crate::progress::say;

const LAPSED: &str = "nobody confirmed in time";

/// How often it looks whether it is still needed.
const LOOK: Duration = Duration::from_millis(200);

/// How long after a signal another linerate may have the lock before changes are left to the other watch.
const PATIENCE: Duration = Duration::from_secs(8);

/// Stays until changes are confirmed, or taken back, which is an error. Ctrl-C and SIGTERM take them back.
pub(super) fn stay(ground: &Ground<'_>, id: &str, interrupt: &Interrupt) -> Result<(), Failure> {
    say(report::STAYING);
    if container::confined().is_some() {
        say(&report::staying_in_container(id));
    }
    loop {
        // What cannot be read for a moment is read by the watch when the time is over.
        if let Ok(reported) = ground.state.read(id) {
            if reported.confirmed_ms.is_some() {
                printing::print(report::CONFIRMED)?;
                return Ok(());
            }
            if let Some((by, _, _)) = reported.closed {
                // The watch beside this one may have been the first.
                let why = if by == By::Lapse { LAPSED } else { "another linerate has rolled them back" };
                return Err(ended(why, id, code::UNCHANGED));
            }
            if since_boot_ms() >= reported.begin.deadline_since_boot_ms {
                break;
            }
        }
        if came(&interrupt.stop) {
            let rolled = taken_back(ground, id)?;
            if rolled.left() == 0 && rolled.unrecorded.is_none() && watch::systemd_runs() {
                watch::stop_timer(id);
            }
            printing::print(&undone(&rolled))?;
            return Err(ended("interrupted, and rolled back except as stated", id, code::INTERRUPTED));
        }
        std::thread::sleep(LOOK);
    }
    if let Some(rolled) = watch::watch(ground, id, &mut |_| ())? {
        printing::print(&undone(&rolled))?;
    }
    Err(ended(LAPSED, id, code::UNCHANGED))
}

fn ended(why: &str, id: &str, code: u8) -> Failure {
    Failure::Tune { why: format!("{why}: see linerate tune log {id}"), code }
}

fn taken_back(ground: &Ground<'_>, id: &str) -> Result<Rolled, TuneError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match apply::rollback(ground, Some(id), false, &mut |_| ()) {
            Err(TuneError::Busy) if Instant::now() < until => std::thread::sleep(LOOK),
            rolled => return rolled,
        }
    }
}
