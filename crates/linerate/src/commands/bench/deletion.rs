//! Deletion at the end of a run: how much at once, how long, and what is shown of it.

use std::time::{Duration, Instant};

use linerate_load::bucket::DELETE_KEYS_MAX;
use linerate_record::units::grouped;

use super::open_run::OpenRun;
use super::resolved_load::deletion_rate_limit;
use crate::run::cleanup::gave_up_text;
use crate::run::interrupt;
use crate::terminal::progress::Progress;

/// How long deletion by a listing goes on, which ends with what the run wrote: a fleet writes for minutes what one
/// machine deletes in an hour.
pub(super) const LISTING_DELETION_TIMEOUT: Duration = Duration::from_secs(3_600);

/// So many more deletions than a run has written objects are no reason to doubt a listing.
const LISTING_DELETION_SLACK: u64 = 64_000;

/// Whether deletion by a listing goes on after so many more deletions: not for ever, and not for much more than there
/// can be. A listing may show what nobody wrote: some deletions are requested twice, but not all.
pub(super) fn deletion_limit(most: u64, within: Duration) -> impl FnMut(u64) -> Result<(), String> {
    let (begun, mut deletions_requested) = (Instant::now(), 0_u64);
    move |n| {
        deletions_requested = deletions_requested.saturating_add(n);
        if deletions_requested / 2 > most.saturating_add(LISTING_DELETION_SLACK) {
            let deletions_requested = grouped(deletions_requested);
            return Err(format!(
                "listings go on after {deletions_requested} deletions, and show more than this run can have written"
            ));
        }
        if begun.elapsed() >= within {
            return Err(gave_up_text(within));
        }
        Ok(())
    }
}

/// So many deletions are reported at once: those of a second, where they are held to a rate, and those of one call
/// where somebody waits for them.
pub(super) fn deletion_batch(run: &OpenRun<'_>) -> usize {
    let most = if interrupt::is_set(&run.calls.signalled) { DELETE_KEYS_MAX / 4 } else { DELETE_KEYS_MAX };
    deletion_rate_limit(&run.prepared.load).map_or(most, |per_s| (per_s as usize).clamp(1, most))
}

/// Says how clearing up goes on: in a log only where somebody waits for it.
pub(super) fn report_deletion(run: &OpenRun<'_>, progress: &Progress, reported: &str, is_end: bool) {
    if interrupt::is_set(&run.calls.signalled) {
        progress.goes_on(reported, is_end);
    } else {
        progress.live(reported);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletion_by_a_listing_ends_in_time_and_after_more_than_there_can_be_and_says_why() {
        let mut endless = deletion_limit(1, Duration::from_secs(3_600));
        let limit_errors = (0..200).map_while(|_| endless(1_000).err().map_or(Some(None), |why| Some(Some(why))));
        let limit_errors: Vec<String> = limit_errors.flatten().collect();
        let expected = "listings go on after 129\u{202f}000 deletions, and show more than this run can have written";
        assert_eq!(limit_errors.first().map(String::as_str), Some(expected));
        let mut late = deletion_limit(u64::MAX, Duration::ZERO);
        let why = late(0).unwrap_err();
        assert_eq!(why, "deletion was given up after 0 ns, and listings still showed something");
        assert_eq!(deletion_limit(u64::MAX, Duration::from_secs(3_600))(u64::MAX), Ok(()));
    }
}
