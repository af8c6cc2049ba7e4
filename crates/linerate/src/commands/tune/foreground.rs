//! `tune apply --foreground`: the command stays as the watch, beside the one that it has started.

use std::time::{Duration, Instant};

use linerate_host::apply::{self, ApplyContext, RollbackResult, TuneError, since_boot_ms};
use linerate_host::{container, watch};
use linerate_record::journal::RolledBackBy;
use linerate_report::tune as report;

use super::application::restored_text;
use crate::run::interrupt::{Interrupt, is_set};
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use crate::terminal::progress::print_error;

const LAPSED_TEXT: &str = "nobody confirmed in time";

/// How often it looks whether it is still needed.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long after a signal another linerate may have the lock before changes are left to the other watch.
const LOCK_TIMEOUT: Duration = Duration::from_secs(8);

/// Stays until changes are confirmed, or rolled back, which is an error. Ctrl-C and SIGTERM roll them back.
pub(super) fn stay_until_settled(
    apply_context: &ApplyContext<'_>,
    id: &str,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    print_error(report::STAYING);
    if container::confined().is_some() {
        print_error(&report::staying_in_container(id));
    }
    loop {
        // What cannot be read for a moment is read by the watch when the time is over.
        if let Ok(reported) = apply_context.state.read(id) {
            if reported.confirmed_ms.is_some() {
                printing::print(report::CONFIRMED)?;
                return Ok(());
            }
            if let Some((by, _, _)) = reported.closed {
                // The watch beside this one may have been the first.
                let why = if by == RolledBackBy::Lapse { LAPSED_TEXT } else { "another linerate has rolled them back" };
                return Err(ended_failure(why, id, code::UNCHANGED));
            }
            if since_boot_ms() >= reported.begin.deadline_since_boot_ms {
                break;
            }
        }
        if is_set(&interrupt.stop) {
            let rolled = roll_back(apply_context, id)?;
            if rolled.left() == 0 && rolled.unrecorded.is_none() && watch::systemd_runs() {
                watch::stop_timer(id);
            }
            printing::print(&restored_text(&rolled))?;
            return Err(ended_failure("interrupted, and rolled back except as stated", id, code::INTERRUPTED));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    if let Some(rolled) = watch::watch(apply_context, id, &mut |_| ())? {
        printing::print(&restored_text(&rolled))?;
    }
    Err(ended_failure(LAPSED_TEXT, id, code::UNCHANGED))
}

fn ended_failure(why: &str, id: &str, code: u8) -> Failure {
    Failure::Tune { why: format!("{why}: see linerate tune log {id}"), code }
}

fn roll_back(apply_context: &ApplyContext<'_>, id: &str) -> Result<RollbackResult, TuneError> {
    let until = Instant::now() + LOCK_TIMEOUT;
    loop {
        match apply::rollback(apply_context, Some(id), false, &mut |_| ()) {
            Err(TuneError::Busy) if Instant::now() < until => std::thread::sleep(POLL_INTERVAL),
            rolled => return rolled,
        }
    }
}
