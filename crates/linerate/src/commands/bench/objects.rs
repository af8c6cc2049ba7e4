//! Objects of a run at the target: written before reading, and deleted again. Nothing else is ever deleted.

use linerate_analysis::findings::{ConfirmedSet, CountPrecision, LeftAtTarget, kept_at_target, left_at_target};
use linerate_load::bucket::{Bucket, BucketError, LeftObjects, Versioning};
use linerate_load::multipart::UnfinishedUpload;
use linerate_load::object_id::ObjectId;
use linerate_load::object_size::size_of;
use linerate_record::finding::{Finding, FindingKind, Severity};
use linerate_record::load::Sizes;
use linerate_record::units::grouped;

use super::deletion::{LISTING_DELETION_TIMEOUT, deletion_batch, deletion_limit, report_deletion};
use super::open_run::OpenRun;
use super::written_set::WrittenSet;
use super::{stored_check, versioned_bucket};
use crate::run::interrupt;
use crate::terminal::progress::Progress;

/// What the run has written and not yet deleted: a few numbers per set, however many objects.
pub(super) struct RunObjects<'a> {
    run: &'a OpenRun<'a>,
    written: Vec<WrittenSet>,
    next_set: u32,
    /// Objects that the run may have written, whether or not they were deleted since.
    objects_ever_written: u64,
    abandoned_writes: u64,
    /// Writes at the most of which nobody knows what became.
    unaccounted_writes: u64,
    /// Multipart uploads to abort.
    unfinished_uploads: Vec<UnfinishedUpload>,
    /// What was found of sets that are gone.
    findings: Vec<Finding>,
    /// Whether a set could not be looked at.
    was_unreadable: bool,
    /// Objects that the target confirmed, and what listings of versions have shown of them, deleted since or not.
    confirmed: u64,
    versions_seen: u64,
}

impl<'a> RunObjects<'a> {
    pub(super) fn new(run: &'a OpenRun<'a>) -> Self {
        let (written, unfinished_uploads, findings) = (Vec::new(), Vec::new(), Vec::new());
        let (abandoned_writes, unaccounted_writes) = (0, 0);
        RunObjects {
            run,
            written,
            next_set: 0,
            objects_ever_written: 0,
            abandoned_writes,
            unaccounted_writes,
            unfinished_uploads,
            findings,
            was_unreadable: false,
            confirmed: 0,
            versions_seen: 0,
        }
    }

    /// A set that nothing was written to.
    pub(super) fn new_set(&mut self) -> u32 {
        self.next_set += 1;
        self.next_set - 1
    }

    /// Notes one object that is written now and reported at the end.
    pub(super) fn note_one_ahead(&mut self) {
        self.objects_ever_written = self.objects_ever_written.saturating_add(1);
    }

    /// The most objects that can be below the run's prefix.
    pub(super) const fn objects_ever_written(&self) -> u64 {
        self.objects_ever_written
    }

    /// Notes that objects below `until` of a set may exist, how many the target said that it stored, and which are some
    /// of these.
    pub(super) fn note(&mut self, set: u32, until: u64, sizes: &Sizes, stored: Option<u64>, sample: Vec<u64>) {
        self.objects_ever_written = self.objects_ever_written.saturating_add(until);
        self.confirmed = self.confirmed.saturating_add(stored.unwrap_or(0));
        if until > 0 {
            let confirmed = ConfirmedSet { until, stored, deleted: 0 };
            // Where it is not counted what was stored, objects may have been deleted since.
            let sample = if stored.is_some() { sample } else { Vec::new() };
            self.written.push(WrittenSet { set, sizes: sizes.clone(), confirmed, sample, is_checked: false });
        }
    }

    /// Notes that nobody knows what was written to a set, and that up to so many writes may be stored yet: what there
    /// is of it is found by a listing.
    pub(super) fn note_unaccounted(&mut self, writes: u64) {
        self.objects_ever_written = u64::MAX;
        self.unaccounted_writes = self.unaccounted_writes.saturating_add(writes);
    }

    /// Notes how many objects of a set the target said that it deleted.
    pub(super) fn note_deleted(&mut self, set: u32, deleted: u64) {
        for written in self.written.iter_mut().filter(|written| written.set == set) {
            written.confirmed.deleted += deleted;
            written.sample.clear();
        }
    }

    /// Notes that nobody knows which objects of a set were deleted: what the target shows of it proves nothing.
    pub(super) fn note_deletions_unknown(&mut self, set: u32) {
        for written in self.written.iter_mut().filter(|written| written.set == set) {
            written.confirmed.stored = None;
            written.sample.clear();
        }
    }

    /// Holds sets that the load is done with against what the target shows of them, once.
    fn check_finished_sets(&mut self, keep: Option<u32>) {
        let run = self.run;
        for written in self.written.iter_mut().filter(|written| Some(written.set) != keep && !written.is_checked) {
            written.is_checked = true;
            if self.was_unreadable {
                continue;
            }
            let held = stored_check::check_set(run, written);
            // One that was not looked at in its time tells of all: each would be waited for as long.
            self.was_unreadable = held.is_err();
            let found = held.unwrap_or_else(Some);
            // What is no failure is reported once: HEAD is forbidden for each set alike.
            let is_reported = |found: &Finding| self.findings.iter().any(|reported| reported.claim == found.claim);
            let again = found.as_ref().is_some_and(|found| found.severity < Severity::Critical && is_reported(found));
            self.findings.extend(found.filter(|_| !again));
        }
    }

    /// Notes writes that were given up and may be stored yet, and uploads that were not completed.
    pub(super) fn note_abandoned(&mut self, writes: u64, uploads: Vec<UnfinishedUpload>) {
        self.abandoned_writes += writes;
        self.unfinished_uploads.extend(uploads);
    }

    /// Aborts uploads that were not completed, whatever --noclear says: their parts are no objects, are seen by nobody,
    /// and are paid for. Those that could not be aborted stay noted; a refusal of one keeps none of the others.
    fn abort_uploads(&mut self) -> Result<(), BucketError> {
        if self.unfinished_uploads.is_empty() {
            return Ok(());
        }
        let unfinished_uploads = &mut self.unfinished_uploads;
        self.run.calls_after_load(|bucket| {
            let mut ended = Ok(());
            unfinished_uploads.retain(|one| {
                if ended.as_ref().is_err_and(|error: &BucketError| !error.is_an_answer()) {
                    return true;
                }
                let aborted = bucket.abort(one);
                let stays = aborted.is_err();
                if stays {
                    ended = aborted;
                }
                stays
            });
            ended
        })
    }

    /// Aborts what is left of uploads at the end, noted or not; tells what remains.
    fn abort_all(&mut self) -> Vec<Finding> {
        if !self.run.prepared.load.has_parts() {
            return Vec::new();
        }
        let refused = match self.abort_uploads() {
            Ok(()) => None,
            Err(error) if error.is_an_answer() => Some(error),
            Err(error) => return vec![leftover_finding(self.run, &LeftAtTarget::UnseenUploads(error.to_string()))],
        };
        let swept = self.run.calls_after_load(Bucket::sweep_uploads);
        let left = uploads_left(swept, refused, self.unfinished_uploads.len() as u64);
        left.map(|left| leftover_finding(self.run, &left)).into_iter().collect()
    }

    /// Deletes every set but `keep`. What could not be deleted stays noted, for the end; why is reported.
    pub(super) fn clear_except(&mut self, keep: Option<u32>, progress: &Progress) -> Option<BucketError> {
        self.check_finished_sets(keep);
        // What cannot be aborted now is tried again at the end, and reported there.
        let _ = self.abort_uploads();
        let is_due = |written: &WrittenSet| Some(written.set) != keep;
        if self.run.prepared.load.objects.noclear || !self.written.iter().any(is_due) {
            return None;
        }
        let (run, written, mut refused) = (self.run, &mut self.written, None);
        let seen = &mut self.versions_seen;
        let ended = run.calls_after_load(|bucket| {
            let mut ended = Ok(());
            written.retain(|written| {
                // After a call that was not answered the others wait for the next time: a target that hangs would hold
                // up each in turn. A refusal of one set keeps none of the others.
                if !is_due(written) || ended.is_err() || bucket.refuses_all() {
                    return true;
                }
                match delete_set(run, written, bucket, progress, seen) {
                    Ok(()) => return false,
                    Err(error) if error.is_an_answer() => refused = Some(error),
                    Err(error) => ended = Err(error),
                }
                true
            });
            ended
        });
        ended.err().or(refused)
    }

    /// Deletes everything, then looks whether something is left: a PUT that was cut off may have been stored since.
    pub(super) fn clear_all(&mut self, progress: &Progress) -> Vec<Finding> {
        if self.next_set == 0 {
            return Vec::new();
        }
        self.run.calls.allow_one_more();
        let host = self.run.prepared.session.hosts.first().map_or("", |host| host.authority.as_str());
        progress.live(&format!("deleting what this run wrote, and waiting for {host}"));
        let mut findings = self.abort_all();
        findings.extend(self.delete_all(progress));
        if self.run.prepared.has_own_target() {
            // What was not seen to be deleted goes with the target.
            findings.retain(|found| found.kind != FindingKind::LeftBehind || found.severity < Severity::Warning);
        }
        findings.append(&mut self.findings);
        findings
    }

    /// Objects in a bucket that keeps versions, which the target confirmed and no listing has shown: they are left, or
    /// never were.
    fn never_listed_finding(&self) -> Option<Finding> {
        let (confirmed, seen) = (self.confirmed, self.versions_seen);
        (seen < confirmed).then(|| {
            let (confirmed, seen) = (grouped(confirmed), if seen == 0 { "none".to_owned() } else { grouped(seen) });
            let why =
                format!("of {confirmed} objects that the target confirmed, listings of versions have shown {seen}");
            leftover_finding(self.run, &LeftAtTarget::UnseenVersions(why))
        })
    }

    fn delete_all(&mut self, progress: &Progress) -> Vec<Finding> {
        if self.run.prepared.load.objects.noclear {
            self.check_finished_sets(None);
            return if self.written.is_empty() {
                Vec::new()
            } else {
                vec![kept_at_target(&self.run.cleanup_command())]
            };
        }
        let lost = self.clear_except(None, progress);
        let is_hopeless = |error: &BucketError| {
            !error.is_an_answer() && (self.run.calls.abandoned_reason().is_some() || self.has_signal())
        };
        if let Some(error) = lost.as_ref().filter(|error| is_hopeless(error)) {
            // Nobody is kept waiting once more for a target that does not answer.
            return vec![leftover_finding(self.run, &self.unlisted_objects(error))];
        }
        let were_refused = lost.is_some();
        let is_kept = matches!(self.run.target.keeping, Versioning::Versions { .. });
        let seen = &mut self.versions_seen;
        if let Some(left) = is_kept
            .then(|| versioned_bucket::delete_remaining_versions(self.run, self.objects_ever_written, progress, seen))
            .flatten()
        {
            // Each object that is left is among its versions, and deleting it by its key would add a delete marker.
            return vec![leftover_finding(self.run, &self.with_counted_objects(left))];
        }
        // Deleted by their keys, objects of a bucket that keeps versions would be hidden below delete markers.
        let left = match self.run.calls_after_load(|bucket| match is_kept {
            true => bucket.still_shown(),
            false => self.delete_listed(bucket, were_refused, progress),
        }) {
            Ok(LeftObjects { objects: 0, .. }) if self.abandoned_writes > 0 || self.unaccounted_writes > 0 => {
                let (writes, unknown) = (self.abandoned_writes, self.unaccounted_writes);
                vec![leftover_finding(self.run, &LeftAtTarget::GivenUp { writes, unknown })]
            }
            Ok(LeftObjects { objects: 0, .. }) => Vec::new(),
            Ok(shown) if is_kept => {
                return vec![leftover_finding(self.run, &versions_only_in_object_listing(&shown))];
            }
            // Versions, if there are any, are of these.
            Ok(shown) => return vec![leftover_finding(self.run, &objects_left(shown))],
            Err(error) => return vec![leftover_finding(self.run, &self.unlisted_objects(&error))],
        };
        let versions = match is_kept {
            true => self.never_listed_finding(),
            false => {
                let swept =
                    versioned_bucket::delete_remaining_versions(self.run, self.objects_ever_written, progress, &mut 0);
                swept.map(|left| leftover_finding(self.run, &left))
            }
        };
        left.into_iter().chain(versions).collect()
    }

    /// What is known of versions that could not be listed: objects that a listing shows remain, and are counted.
    fn with_counted_objects(&self, left: LeftAtTarget) -> LeftAtTarget {
        let LeftAtTarget::UnseenVersions(why) = left else { return left };
        match self.run.calls_after_load(|bucket| bucket.still_shown()) {
            Ok(LeftObjects { objects, bytes, more, wavers, .. }) if objects > 0 => {
                let known = CountPrecision::from_listing(more, wavers);
                LeftAtTarget::Objects { count: objects, bytes, known, why: Some(why) }
            }
            _ => LeftAtTarget::UnseenVersions(why),
        }
    }

    fn has_signal(&self) -> bool {
        interrupt::is_set(&self.run.calls.signalled)
    }

    /// Deletes what a listing still shows: of clients that were lost, it is all that they wrote.
    fn delete_listed(
        &self,
        bucket: &mut Bucket<'_>,
        were_refused: bool,
        progress: &Progress,
    ) -> Result<LeftObjects, BucketError> {
        let (mut swept, mut goes_on) = (0_u64, deletion_limit(self.objects_ever_written, LISTING_DELETION_TIMEOUT));
        bucket.sweep_up(were_refused, &mut |n| {
            swept = swept.saturating_add(n);
            let reported = format!("deleting objects of this run that a listing shows: {}", grouped(swept));
            report_deletion(self.run, progress, &reported, false);
            goes_on(n)
        })
    }

    /// What is known of what remains where the target did not even list it.
    fn unlisted_objects(&self, error: &BucketError) -> LeftAtTarget {
        let most = self.written.iter().map(|written| written.confirmed.until).sum();
        LeftAtTarget::Unlisted { most, why: error.to_string() }
    }
}

fn delete_set(
    run: &OpenRun<'_>,
    written: &WrittenSet,
    bucket: &mut Bucket<'_>,
    progress: &Progress,
    versions_seen: &mut u64,
) -> Result<(), BucketError> {
    // What is deleted by its key in a bucket that keeps versions stays, below a delete marker.
    if matches!(run.target.keeping, Versioning::Versions { .. }) {
        let swept =
            versioned_bucket::delete_versions(run, Some(written.set), written.confirmed.until, bucket, progress)?;
        *versions_seen += swept.as_ref().map_or(0, |left| left.seen);
        match swept {
            Some(LeftObjects { why: Some(why), .. }) => return Err(why),
            Some(_) => return Ok(()),
            None => {}
        }
    }
    let until = written.confirmed.until;
    let (mut seq, mut refused) = (0, Ok(()));
    while seq < until && !bucket.refuses_all() {
        let end = until.min(seq + deletion_batch(run) as u64);
        let ids: Vec<_> = (seq..end)
            .map(|seq| {
                let id = ObjectId { set: written.set, seq };
                (id, size_of(&written.sizes, run.prepared.session.seed, id))
            })
            .collect();
        match bucket.delete(&ids) {
            Err(error) if error.is_an_answer() => refused = Err(error),
            other => other?,
        }
        let reported = format!("deleting objects of this run: {} of {}", grouped(end), grouped(until));
        report_deletion(run, progress, &reported, end == until);
        seq = end;
    }
    refused
}

/// What is known of uploads that remain: what a last listing shows or, where there is none, so many whose abort was
/// refused.
fn uploads_left(
    swept: Result<Option<LeftObjects>, BucketError>,
    refused: Option<BucketError>,
    unfinished_uploads: u64,
) -> Option<LeftAtTarget> {
    match (swept, refused) {
        (Ok(Some(LeftObjects { objects: 0, .. }) | None), None)
        | (Ok(Some(LeftObjects { objects: 0, .. })), Some(_)) => None,
        (Ok(Some(left)), refused) => {
            let why = left.why.or(refused).map(|why| why.to_string());
            Some(LeftAtTarget::Uploads {
                count: left.objects,
                known: CountPrecision::from_listing(true, left.wavers),
                why,
            })
        }
        (Ok(None) | Err(_), Some(why)) => {
            let why = Some(why.to_string());
            Some(LeftAtTarget::Uploads { count: unfinished_uploads, known: CountPrecision::AtLeast, why })
        }
        (Err(error), None) => Some(LeftAtTarget::UnseenUploads(error.to_string())),
    }
}

/// What a listing of objects shows, and none of versions.
fn versions_only_in_object_listing(shown: &LeftObjects) -> LeftAtTarget {
    let LeftObjects { objects, more, wavers, .. } = *shown;
    let (n, or_more) = (grouped(objects), if more { " or more" } else { "" });
    let which = if objects == 1 && !more { "object" } else { "objects" };
    let so_far = if wavers { ", though not each time" } else { "" };
    let why =
        format!("listings of objects show {n}{or_more} {which} of the run{so_far}, and one of versions shows none");
    LeftAtTarget::UnseenVersions(why)
}

/// What a listing still shows.
fn objects_left(shown: LeftObjects) -> LeftAtTarget {
    let LeftObjects { objects, bytes, more, wavers, why, .. } = shown;
    let known = CountPrecision::from_listing(more, wavers);
    LeftAtTarget::Objects { count: objects, bytes, known, why: why.map(|why| why.to_string()) }
}

/// The finding on what remains of the run.
pub(super) fn leftover_finding(run: &OpenRun<'_>, left: &LeftAtTarget) -> Finding {
    left_at_target(left, &run.cleanup_command(), &run.place())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_only_a_listing_of_objects_shows_are_counted() {
        let unseen_count_text = |objects, more, wavers| {
            let LeftAtTarget::UnseenVersions(why) =
                versions_only_in_object_listing(&LeftObjects { objects, more, wavers, ..LeftObjects::default() })
            else {
                return String::new();
            };
            why
        };
        assert_eq!(
            unseen_count_text(1, false, false),
            "listings of objects show 1 object of the run, and one of versions shows none"
        );
        assert_eq!(
            unseen_count_text(1_000, true, true),
            "listings of objects show 1000 or more objects of the run, though not each time, and one of versions shows \
             none"
        );
    }

    #[test]
    fn uploads_remain_where_their_abort_was_refused_and_no_listing_says_otherwise() {
        let refused = || Some(BucketError::Unmade("was refused".into()));
        let error = || Err(BucketError::Unmade("timed out".into()));
        let shown = |objects| Ok(Some(LeftObjects { objects, ..LeftObjects::default() }));
        let uploads_left_with = |count, why: Option<&str>| {
            let why = why.map(|why| format!("no further call is made: an earlier one {why}"));
            Some(LeftAtTarget::Uploads { count, known: CountPrecision::AtLeast, why })
        };
        for (what, swept, why, expected) in [
            ("nothing", shown(0), None, None),
            ("a listing is the last word", shown(0), refused(), None),
            ("a target that lists none", Ok(None), None, None),
            ("a refusal, and no listing", Ok(None), refused(), uploads_left_with(3, Some("was refused"))),
            ("a refusal, and a listing that fails", error(), refused(), uploads_left_with(3, Some("was refused"))),
            ("a listing", shown(7), None, uploads_left_with(7, None)),
            ("both", shown(7), refused(), uploads_left_with(7, Some("was refused"))),
            (
                "a listing that fails",
                error(),
                None,
                Some(LeftAtTarget::UnseenUploads("no further call is made: an earlier one timed out".into())),
            ),
        ] {
            assert_eq!(uploads_left(swept, why, 3), expected, "{what}");
        }
    }
}
