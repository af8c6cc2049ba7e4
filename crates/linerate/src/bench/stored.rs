//! What the target said that it stored or deleted, held against what it shows: by a listing, and a few objects by HEAD.

use std::time::{Duration, Instant};

use linerate_load::bucket::{Bucket, BucketError, Stored};
use linerate_load::object::ObjectId;
use linerate_load::sizes::size_of;
use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
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
        Ok(wrong) => Ok(wrong.map(|evidence| finding(Severity::Serious, evidence))),
        Err(BucketError::Stopped) => Ok(None),
        Err(error) => Err(finding(Severity::Warning, format!("it could not be checked: {error}"))),
    }
}

/// What is wrong with a set, in words.
fn wrong(setup: &Setup<'_>, written: &Written, bucket: &mut Bucket<'_>) -> Result<Option<String>, BucketError> {
    let mut listed = Stored::default();
    for look in 0..LOOKS {
        if look > 0 {
            rest(setup, LATE);
        }
        listed = bucket.stored(written.set, PAGES)?;
        pause(setup, PAGES.into());
        if against_listing(written, &listed).is_none() {
            break;
        }
    }
    match against_listing(written, &listed) {
        None => against_heads(setup, written, &listed.sample, bucket),
        shown => Ok(shown),
    }
}

/// What HEAD says of objects that a listing has just shown, that cannot be.
fn against_heads(
    setup: &Setup<'_>,
    written: &Written,
    sample: &[u64],
    bucket: &mut Bucket<'_>,
) -> Result<Option<String>, BucketError> {
    for &seq in sample {
        let id = ObjectId { set: written.set, seq };
        let size_bytes = size_of(&written.sizes, setup.session.seed, id);
        let reported = bucket.head(id, size_bytes)?;
        pause(setup, 1);
        match reported {
            Some(length) if length == size_bytes => {}
            Some(length) => {
                return Ok(Some(format!("HEAD says {length} bytes of object {seq}, which has {size_bytes}")));
            }
            None => return Ok(Some(format!("HEAD does not find object {seq}, which a listing shows"))),
        }
    }
    Ok(None)
}

/// What a listing shows that cannot be. Requests that ended uncounted may have stored or deleted more than was said.
fn against_listing(written: &Written, listed: &Stored) -> Option<String> {
    if let Some((key, size_bytes)) = &listed.wrong {
        return Some(format!("{key:?} is listed with {size_bytes} bytes"));
    }
    let (shown, deleted, stored) = (listed.objects, written.deleted, written.stored?);
    if deleted > 0 {
        let most = written.until.saturating_sub(deleted);
        return (shown > most).then(|| format!("a listing shows {shown} objects, but at most {most} can be left"));
    }
    (listed.whole && shown < stored).then(|| {
        format!(
            "a listing shows {shown} of {stored} objects that the target \
                                                      confirmed"
        )
    })
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

fn finding(severity: Severity, evidence: String) -> Finding {
    Finding {
        kind: FindingKind::NotStored,
        severity,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "the target does not show what it confirmed".into(),
        evidence,
        remedy: "do not use these figures until you know what answers there: a proxy, a cache, a full disk?".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_held_against_what_was_said() {
        let listed = |objects, whole| Stored { objects, whole, ..Stored::default() };
        for (until, stored, deleted, listed, is_wrong) in [
            (10, Some(10), 0, listed(10, true), false),
            (10, Some(8), 0, listed(8, true), false),
            (10, Some(8), 0, listed(10, true), false),
            (10, Some(10), 0, listed(9, true), true),
            (5000, Some(5000), 0, listed(2000, false), false),
            (10, None, 0, listed(0, true), false),
            (10, Some(10), 4, listed(6, true), false),
            (10, Some(10), 4, listed(5, true), false),
            (10, Some(10), 4, listed(7, true), true),
            (10, Some(10), 10, listed(1, false), true),
            (10, None, 0, Stored { wrong: Some(("k".into(), 1)), ..listed(1, true) }, true),
        ] {
            let sizes = "10".parse().expect("a size");
            let written = Written::new(0, until, &sizes, stored).with_deleted(deleted);
            assert_eq!(against_listing(&written, &listed).is_some(), is_wrong, "{stored:?} {deleted} {listed:?}");
        }
    }
}
