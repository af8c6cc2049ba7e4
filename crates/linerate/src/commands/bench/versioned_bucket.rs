//! Buckets that keep versions: what the run wrote is deleted by its versions.

use linerate_analysis::findings::{CountPrecision, LeftAtTarget};
use linerate_load::bucket::{Bucket, BucketError, LeftObjects, Versioning};
use linerate_record::units::grouped;

use super::deletion::{LISTING_DELETION_TIMEOUT, deletion_batch, deletion_limit, report_deletion};
use super::open_run::OpenRun;
use crate::terminal::progress::Progress;

/// Deletes a set, or all of them, by versions: of so many objects at the most, as far as is known. `None` where the
/// target lists none. What it does not delete is an error.
pub(super) fn delete_versions(
    run: &OpenRun<'_>,
    set: Option<u32>,
    objects: u64,
    bucket: &mut Bucket<'_>,
    progress: &Progress,
) -> Result<Option<LeftObjects>, BucketError> {
    let mut requested = 0;
    // Each object has a version, and may have a delete marker.
    let mut goes_on = deletion_limit(objects.saturating_mul(2), LISTING_DELETION_TIMEOUT);
    bucket.sweep_versions(set, deletion_batch(run), &mut |n| {
        requested += n;
        report_deletion(
            run,
            progress,
            &format!("deleting versions of what this run wrote: {}", grouped(requested)),
            false,
        );
        goes_on(n)
    })
}

/// Deletes what is left of versions and delete markers at the end, of so many objects at the most; tells what stays.
/// `seen` counts what listings of them have shown.
pub(super) fn delete_remaining_versions(
    run: &OpenRun<'_>,
    objects: u64,
    progress: &Progress,
    seen: &mut u64,
) -> Option<LeftAtTarget> {
    if run.target.keeping == Versioning::Nothing {
        match list_versions_once(run) {
            None | Some(Ok(false)) => return None,
            Some(Ok(true)) => {}
            Some(Err(error)) => return Some(unlisted_versions(&error)),
        }
    }
    let swept = run.calls_after_load(|bucket| delete_versions(run, None, objects, bucket, progress));
    *seen += swept.as_ref().map_or(0, |swept| swept.as_ref().map_or(0, |left| left.seen));
    Some(match (swept, &run.target.keeping) {
        (Ok(Some(LeftObjects { objects: 0, .. })), _) | (Ok(None), Versioning::Nothing) => return None,
        (Ok(None), Versioning::Unknown(why)) => {
            LeftAtTarget::PerhapsVersions(why.clone(), "the target does not list versions".to_owned())
        }
        (Ok(None), Versioning::Versions { .. }) => {
            LeftAtTarget::UnseenVersions("the bucket keeps them, and the target does not list them".to_owned())
        }
        (Ok(Some(LeftObjects { objects, more, wavers, why, .. })), _) => {
            let known = CountPrecision::from_listing(more, wavers);
            LeftAtTarget::Versions { count: objects, known, why: why.map(|why| why.to_string()) }
        }
        (Err(error), Versioning::Unknown(why)) if error.is_an_answer() => {
            LeftAtTarget::PerhapsVersions(why.clone(), error.to_string())
        }
        (Err(error), _) => LeftAtTarget::UnseenVersions(error.to_string()),
    })
}

/// Whether a listing of versions shows something of the run in a bucket that is said to keep none: what a listing of
/// objects no longer shows may be there still. A target that lists no versions shows none. Nothing where nobody looks.
fn list_versions_once(run: &OpenRun<'_>) -> Option<Result<bool, BucketError>> {
    let is_looked_at =
        !run.target.stores_nothing && !run.prepared.has_own_target() && run.calls.abandoned_reason().is_none();
    is_looked_at.then(|| run.calls_after_load(Bucket::has_versions))
}

/// What is known of versions that the bucket is said not to keep, and that were not listed. Keys that may not list them
/// leave what the bucket says: that is enough.
fn unlisted_versions(error: &BucketError) -> LeftAtTarget {
    LeftAtTarget::UnlistedVersions { is_forbidden: error.is_forbidden(), why: error.to_string() }
}
