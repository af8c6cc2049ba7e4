//! What the target said that it stored or deleted, held against what it shows: by a listing, and a few objects by HEAD.

use std::time::{Duration, Instant};

use linerate_analysis::findings::{ShownSet, against_head, against_listing, not_checked, not_headed, not_stored};
use linerate_load::bucket::{Bucket, BucketError, Stored};
use linerate_load::object::ObjectId;
use linerate_load::sizes::size_of;
use linerate_record::finding::Finding;
use linerate_record::units::Rate;

use super::objects::Written;
use super::setup::Setup;
use crate::interrupt;

/// Pages of a thousand objects that are listed of a set. More would cost a run of millions more than they tell.
const PAGES: u32 = 2;

/// How often a listing that shows too few, or too many, is asked again, and how long it is waited between: some targets
/// list late.
const LOOKS: u32 = 3;
const LATE: Duration = Duration::from_millis(700);

/// How soon a signal is noticed while it is waited.
const LOOK: Duration = Duration::from_millis(50);

/// Holds a set against what the target shows of it; an error where it could not be looked at.
pub(super) fn held(setup: &Setup<'_>, written: &Written) -> Result<Option<Finding>, Finding> {
    if setup.stores_nothing() || interrupt::came(&setup.signalled) {
        return Ok(None);
    }
    let found = setup.while_nobody_waits(|bucket| wrong(setup, written, bucket));
    match found {
        Ok(found) => Ok(found),
        Err(BucketError::Stopped) => Ok(None),
        Err(error) => Err(not_checked(error)),
    }
}

/// What is wrong with a set.
fn wrong(setup: &Setup<'_>, written: &Written, bucket: &mut Bucket<'_>) -> Result<Option<Finding>, BucketError> {
    let mut listed = Stored::default();
    for look in 0..LOOKS {
        if look > 0 {
            rest(setup, LATE);
        }
        listed = bucket.stored(written.set, PAGES)?;
        pause(setup, PAGES.into());
        if against_listing(&written.confirmed, &shown(&listed)).is_none() {
            break;
        }
    }
    match against_listing(&written.confirmed, &shown(&listed)) {
        None => against_heads(setup, written, &listed.sample, bucket),
        wrong => Ok(wrong.map(not_stored)),
    }
}

/// What HEAD says of objects that a listing has just shown, that cannot be.
fn against_heads(
    setup: &Setup<'_>,
    written: &Written,
    sample: &[u64],
    bucket: &mut Bucket<'_>,
) -> Result<Option<Finding>, BucketError> {
    for &seq in sample {
        let id = ObjectId { set: written.set, seq };
        let size_bytes = size_of(&written.sizes, setup.session.seed, id);
        let reported = match bucket.head(id, size_bytes) {
            // The listing showed it whole, and HEAD wants a permission that no other call of a run of writes wants.
            Err(error @ BucketError::Refused { status: 403, .. }) => return Ok(Some(not_headed(error))),
            reported => reported?,
        };
        pause(setup, 1);
        if let Some(wrong) = against_head(seq, size_bytes, reported) {
            return Ok(Some(not_stored(wrong)));
        }
    }
    Ok(None)
}

/// What a listing shows of a set.
fn shown(listed: &Stored) -> ShownSet {
    ShownSet { objects: listed.objects, whole: listed.whole, wrong: listed.wrong.clone() }
}

/// A cap on requests holds for these too.
fn pause(setup: &Setup<'_>, requests: u64) {
    if let Some(Rate::Requests(per_s)) = setup.load.max_rate {
        rest(setup, Duration::from_secs_f64(requests as f64 / per_s));
    }
}

/// Waits, but not once a signal has come: the next call ends then.
fn rest(setup: &Setup<'_>, so_long: Duration) {
    let until = Instant::now() + so_long;
    while Instant::now() < until && !interrupt::came(&setup.signalled) {
        std::thread::sleep(so_long.min(LOOK));
    }
}
