//! What the target said that it stored or deleted, held against what it shows: by a listing, and a few objects by HEAD.

use std::time::{Duration, Instant};

use linerate_analysis::findings::{
    ShownSet, against_head, against_heads, against_listing, not_checked, not_headed, not_stored,
};
use linerate_load::bucket::{Bucket, BucketError, Stored};
use linerate_load::object_id::ObjectId;
use linerate_load::object_size::size_of;
use linerate_record::finding::Finding;
use linerate_record::units::Rate;

use super::open_run::OpenRun;
use super::written_set::WrittenSet;
use crate::run::interrupt;

/// Pages of a thousand objects that are listed of a set. More would cost a run of millions more than they tell.
const LISTED_PAGES: u32 = 2;

/// How often it is looked where a listing shows too few objects, or too many, or where HEAD does not find one, and how
/// long it is waited between: some targets show objects late.
const LISTING_ATTEMPTS: u32 = 3;
const LISTING_RETRY_DELAY: Duration = Duration::from_millis(700);

/// How soon a signal is noticed while it is waited.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Holds a set against what the target shows of it; an error where it could not be looked at.
pub(super) fn check_set(run: &OpenRun<'_>, written: &WrittenSet) -> Result<Option<Finding>, Finding> {
    if run.target.stores_nothing || interrupt::is_set(&run.calls.signalled) {
        return Ok(None);
    }
    let found = run.calls_until_signal(|bucket| set_finding(run, written, bucket));
    match found {
        Ok(found) => Ok(found),
        Err(BucketError::Stopped) => Ok(None),
        Err(error) => {
            let is_denied = matches!(error, BucketError::Refused { status: 401 | 403, .. });
            Err(not_checked(error, is_denied))
        }
    }
}

/// What is wrong with a set.
fn set_finding(
    run: &OpenRun<'_>,
    written: &WrittenSet,
    bucket: &mut Bucket<'_>,
) -> Result<Option<Finding>, BucketError> {
    let mut listed = Stored::default();
    for look in 0..LISTING_ATTEMPTS {
        if look > 0 {
            sleep_unless_signalled(run, LISTING_RETRY_DELAY);
        }
        listed = bucket.stored(written.set, LISTED_PAGES)?;
        wait_for_rate_cap(run, LISTED_PAGES.into());
        if against_listing(&written.confirmed, &listed_set(&listed)).is_none() {
            break;
        }
    }
    if let Some(wrong) = against_listing(&written.confirmed, &listed_set(&listed)) {
        return Ok(Some(not_stored(wrong)));
    }
    match check_by_heads(run, written, &listed, bucket) {
        // The listing showed no fault, and HEAD wants a permission that no other call of a run of writes wants.
        Err(error @ BucketError::Refused { status: 403, .. }) => Ok(Some(not_headed(error))),
        set_finding => set_finding,
    }
}

/// What HEAD says of objects that cannot be: of some that a listing has just shown, and where it did not show all, of
/// some that the target confirmed.
fn check_by_heads(
    run: &OpenRun<'_>,
    written: &WrittenSet,
    listed: &Stored,
    bucket: &mut Bucket<'_>,
) -> Result<Option<Finding>, BucketError> {
    for &seq in &listed.sample {
        let (size_bytes, reported) = head(run, written, seq, bucket)?;
        if let Some(wrong) = against_head(seq, size_bytes, reported) {
            return Ok(Some(not_stored(wrong)));
        }
    }
    if listed.whole {
        return Ok(None);
    }
    let mut missing = written.sample.clone();
    for look in 0..LISTING_ATTEMPTS {
        if look > 0 && !missing.is_empty() {
            sleep_unless_signalled(run, LISTING_RETRY_DELAY);
        }
        for seq in std::mem::take(&mut missing) {
            let (size_bytes, reported) = head(run, written, seq, bucket)?;
            if reported.is_none() {
                missing.push(seq);
            } else if let Some(wrong) = against_head(seq, size_bytes, reported) {
                return Ok(Some(not_stored(wrong)));
            }
        }
    }
    Ok(against_heads(&missing, written.sample.len()).map(not_stored))
}

/// The size that an object was written with, and the one that HEAD reports, if it finds it.
fn head(
    run: &OpenRun<'_>,
    written: &WrittenSet,
    seq: u64,
    bucket: &mut Bucket<'_>,
) -> Result<(u64, Option<u64>), BucketError> {
    let id = ObjectId { set: written.set, seq };
    let size_bytes = size_of(&written.sizes, run.prepared.session.seed, id);
    let reported = bucket.head(id, size_bytes)?;
    wait_for_rate_cap(run, 1);
    Ok((size_bytes, reported))
}

/// What a listing shows of a set.
fn listed_set(listed: &Stored) -> ShownSet {
    ShownSet { objects: listed.objects, whole: listed.whole, wrong: listed.wrong.clone() }
}

/// A cap on requests holds for these too.
fn wait_for_rate_cap(run: &OpenRun<'_>, requests: u64) {
    if let Some(Rate::Requests(per_s)) = run.prepared.load.max_rate {
        sleep_unless_signalled(run, Duration::from_secs_f64(requests as f64 / per_s));
    }
}

/// Waits, but not once a signal has come: the next call ends then.
fn sleep_unless_signalled(run: &OpenRun<'_>, so_long: Duration) {
    let until = Instant::now() + so_long;
    while Instant::now() < until && !interrupt::is_set(&run.calls.signalled) {
        std::thread::sleep(so_long.min(SIGNAL_POLL_INTERVAL));
    }
}
