//! Objects of a run at the target: written before reading, and deleted again. Nothing else is ever deleted.

use std::time::{Duration, Instant};

use linerate_analysis::findings::{ConfirmedSet, HowKnown, LeftAtTarget, kept_at_target, left_at_target};
use linerate_load::bucket::{Bucket, BucketError, DELETE_KEYS_MAX, Keeping, Left};
use linerate_load::multipart::Unfinished;
use linerate_load::object::ObjectId;
use linerate_load::sizes::size_of;
use linerate_record::finding::{Finding, FindingKind, Severity};
use linerate_record::load::Sizes;
use linerate_record::units::grouped;

use super::setup::{Setup, deletions_per_s};
use super::{kept, stored};
use crate::cleaning::{command, gave_up_after};
use crate::interrupt;
use crate::progress::Progress;

/// How long deletion by a listing goes on, which ends with what the run wrote: a fleet writes for minutes what one
/// machine deletes in an hour.
pub(super) const SWEPT_WITHIN: Duration = Duration::from_secs(3_600);

/// So many more deletions than a run has written objects are no reason to doubt a listing.
const SWEPT_BESIDE: u64 = 64_000;

/// Objects of a set that may exist at the target.
pub(super) struct Written {
    pub(super) set: u32,
    pub(super) sizes: Sizes,
    /// What the target said of them.
    pub(super) confirmed: ConfirmedSet,
    /// Whether it was held against what the target shows.
    held: bool,
}

/// What the run has written and not yet deleted: a few numbers per set, however many objects.
pub(super) struct RunObjects<'a> {
    setup: &'a Setup<'a>,
    written: Vec<Written>,
    next_set: u32,
    /// Objects that the run may have written, whether or not they were deleted since.
    ever: u64,
    unended_writes: u64,
    /// Writes at the most of which nobody knows what became.
    unknown_writes: u64,
    /// Multipart uploads to abort.
    unfinished: Vec<Unfinished>,
    /// What was found of sets that are gone.
    findings: Vec<Finding>,
    /// Whether a set could not be looked at.
    unseen: bool,
    /// Objects that the target confirmed, and what listings of versions have shown of them, deleted since or not.
    confirmed: u64,
    versions_seen: u64,
}

impl<'a> RunObjects<'a> {
    pub(super) fn new(setup: &'a Setup<'a>) -> Self {
        let (written, unfinished, findings) = (Vec::new(), Vec::new(), Vec::new());
        let (unended_writes, unknown_writes) = (0, 0);
        RunObjects {
            setup,
            written,
            next_set: 0,
            ever: 0,
            unended_writes,
            unknown_writes,
            unfinished,
            findings,
            unseen: false,
            confirmed: 0,
            versions_seen: 0,
        }
    }

    /// A set that nothing was written to.
    pub(super) fn new_set(&mut self) -> u32 {
        self.next_set += 1;
        self.next_set - 1
    }

    /// Notes one object that is written now and told of at the end.
    pub(super) fn note_early(&mut self) {
        self.ever = self.ever.saturating_add(1);
    }

    /// The most objects that can be below the run's prefix.
    pub(super) const fn ever(&self) -> u64 {
        self.ever
    }

    /// Notes that objects below `until` of a set may exist, and how many the target said that it stored.
    pub(super) fn note(&mut self, set: u32, until: u64, sizes: &Sizes, stored: Option<u64>) {
        self.ever = self.ever.saturating_add(until);
        self.confirmed = self.confirmed.saturating_add(stored.unwrap_or(0));
        if until > 0 {
            let confirmed = ConfirmedSet { until, stored, deleted: 0 };
            self.written.push(Written { set, sizes: sizes.clone(), confirmed, held: false });
        }
    }

    /// Notes that nobody knows what was written to a set, and that up to so many writes may be stored yet: what there
    /// is of it is found by a listing.
    pub(super) fn note_unknown(&mut self, writes: u64) {
        self.ever = u64::MAX;
        self.unknown_writes = self.unknown_writes.saturating_add(writes);
    }

    /// Notes how many objects of a set the target said that it deleted.
    pub(super) fn note_deleted(&mut self, set: u32, deleted: u64) {
        self.written
            .iter_mut()
            .filter(|written| written.set == set)
            .for_each(|written| written.confirmed.deleted += deleted);
    }

    /// Notes that nobody knows which objects of a set were deleted: what the target shows of it proves nothing.
    pub(super) fn note_deletions_unknown(&mut self, set: u32) {
        self.written
            .iter_mut()
            .filter(|written| written.set == set)
            .for_each(|written| written.confirmed.stored = None);
    }

    /// Holds sets that the load is done with against what the target shows of them, once.
    fn hold(&mut self, keep: Option<u32>) {
        let setup = self.setup;
        for written in self.written.iter_mut().filter(|written| Some(written.set) != keep && !written.held) {
            written.held = true;
            if self.unseen {
                continue;
            }
            let held = stored::held(setup, written);
            // One that was not looked at in its time tells of all: each would be waited for as long.
            self.unseen = held.is_err();
            let found = held.unwrap_or_else(Some);
            // What is no failure is told once: HEAD is forbidden for each set alike.
            let is_told = |found: &Finding| self.findings.iter().any(|told| told.claim == found.claim);
            let again = found.as_ref().is_some_and(|found| found.severity < Severity::Critical && is_told(found));
            self.findings.extend(found.filter(|_| !again));
        }
    }

    /// Notes writes that were given up and may be stored yet, and uploads that were not completed.
    pub(super) fn note_unended(&mut self, writes: u64, uploads: Vec<Unfinished>) {
        self.unended_writes += writes;
        self.unfinished.extend(uploads);
    }

    /// Aborts uploads that were not completed, whatever --noclear says: their parts are no objects, are seen by nobody,
    /// and are paid for. Those that could not be aborted stay noted; a refusal of one keeps none of the others.
    fn abort_uploads(&mut self) -> Result<(), BucketError> {
        if self.unfinished.is_empty() {
            return Ok(());
        }
        let unfinished = &mut self.unfinished;
        self.setup.afterwards(|bucket| {
            let mut ended = Ok(());
            unfinished.retain(|one| {
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
        if !self.setup.load.has_parts() {
            return Vec::new();
        }
        let refused = match self.abort_uploads() {
            Ok(()) => None,
            Err(error) if error.is_an_answer() => Some(error),
            Err(error) => return vec![remaining(self.setup, &LeftAtTarget::UnseenUploads(error.to_string()))],
        };
        let swept = self.setup.afterwards(Bucket::sweep_uploads);
        let left = uploads_left(swept, refused, self.unfinished.len() as u64);
        left.map(|left| remaining(self.setup, &left)).into_iter().collect()
    }

    /// Deletes every set but `keep`. What could not be deleted stays noted, for the end; why is told.
    pub(super) fn clear_except(&mut self, keep: Option<u32>, progress: &Progress) -> Option<BucketError> {
        self.hold(keep);
        // What cannot be aborted now is tried again at the end, and told there.
        let _ = self.abort_uploads();
        let is_due = |written: &Written| Some(written.set) != keep;
        if self.setup.load.objects.noclear || !self.written.iter().any(is_due) {
            return None;
        }
        let (setup, written, mut refused) = (self.setup, &mut self.written, None);
        let seen = &mut self.versions_seen;
        let ended = setup.afterwards(|bucket| {
            let mut ended = Ok(());
            written.retain(|written| {
                // After a call that was not answered the others wait for the next time: a target that hangs would hold
                // up each in turn. A refusal of one set keeps none of the others.
                if !is_due(written) || ended.is_err() || bucket.refuses_all() {
                    return true;
                }
                match delete_set(setup, written, bucket, progress, seen) {
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
        self.setup.ask_once_more();
        let host = self.setup.session.hosts.first().map_or("", |host| host.authority.as_str());
        progress.live(&format!("deleting what this run wrote, and waiting for {host}"));
        let mut findings = self.abort_all();
        findings.extend(self.delete_all(progress));
        if self.setup.has_own_target() {
            // What was not seen to be deleted goes with the target.
            findings.retain(|found| found.kind != FindingKind::LeftBehind || found.severity < Severity::Warning);
        }
        findings.append(&mut self.findings);
        findings
    }

    /// Objects in a bucket that keeps versions, which the target confirmed and no listing has shown: they are left, or
    /// never were.
    fn never_shown(&self) -> Option<Finding> {
        let (confirmed, seen) = (self.confirmed, self.versions_seen);
        (seen < confirmed).then(|| {
            let (confirmed, seen) = (grouped(confirmed), if seen == 0 { "none".to_owned() } else { grouped(seen) });
            let why =
                format!("of {confirmed} objects that the target confirmed, listings of versions have shown {seen}");
            remaining(self.setup, &LeftAtTarget::UnseenVersions(why))
        })
    }

    fn delete_all(&mut self, progress: &Progress) -> Vec<Finding> {
        if self.setup.load.objects.noclear {
            self.hold(None);
            return if self.written.is_empty() { Vec::new() } else { vec![kept_at_target(&cleaning(self.setup))] };
        }
        let lost = self.clear_except(None, progress);
        let is_hopeless =
            |error: &BucketError| !error.is_an_answer() && (self.setup.given_up().is_some() || self.is_signalled());
        if let Some(error) = lost.as_ref().filter(|error| is_hopeless(error)) {
            // Nobody is kept waiting once more for a target that does not answer.
            return vec![remaining(self.setup, &self.unlisted(error))];
        }
        let were_refused = lost.is_some();
        let is_kept = matches!(self.setup.keeping, Keeping::Versions { .. });
        let seen = &mut self.versions_seen;
        if let Some(left) = is_kept.then(|| kept::sweep(self.setup, self.ever, progress, seen)).flatten() {
            // Each object that is left is among its versions, and deleting it by its key would add a delete marker.
            return vec![remaining(self.setup, &self.counted(left))];
        }
        // Deleted by their keys, objects of a bucket that keeps versions would be hidden below delete markers.
        let left = match self.setup.afterwards(|bucket| match is_kept {
            true => bucket.still_shown(),
            false => self.sweep(bucket, were_refused, progress),
        }) {
            Ok(Left { objects: 0, .. }) if self.unended_writes > 0 || self.unknown_writes > 0 => {
                let (writes, unknown) = (self.unended_writes, self.unknown_writes);
                vec![remaining(self.setup, &LeftAtTarget::GivenUp { writes, unknown })]
            }
            Ok(Left { objects: 0, .. }) => Vec::new(),
            Ok(shown) if is_kept => return vec![remaining(self.setup, &unseen_versions(&shown))],
            // Versions, if there are any, are of these.
            Ok(shown) => return vec![remaining(self.setup, &objects_left(shown))],
            Err(error) => return vec![remaining(self.setup, &self.unlisted(&error))],
        };
        let versions = match is_kept {
            true => self.never_shown(),
            false => {
                let swept = kept::sweep(self.setup, self.ever, progress, &mut 0);
                swept.map(|left| remaining(self.setup, &left))
            }
        };
        left.into_iter().chain(versions).collect()
    }

    /// What is known of versions that could not be listed: objects that a listing shows remain, and are counted.
    fn counted(&self, left: LeftAtTarget) -> LeftAtTarget {
        let LeftAtTarget::UnseenVersions(why) = left else { return left };
        match self.setup.afterwards(|bucket| bucket.still_shown()) {
            Ok(Left { objects, bytes, more, wavers, .. }) if objects > 0 => {
                let known = HowKnown::of(more, wavers);
                LeftAtTarget::Objects { count: objects, bytes, known, why: Some(why) }
            }
            _ => LeftAtTarget::UnseenVersions(why),
        }
    }

    fn is_signalled(&self) -> bool {
        interrupt::came(&self.setup.signalled)
    }

    /// Deletes what a listing still shows: of clients that were lost, it is all that they wrote.
    fn sweep(&self, bucket: &mut Bucket<'_>, were_refused: bool, progress: &Progress) -> Result<Left, BucketError> {
        let (mut swept, mut goes_on) = (0_u64, within_reason(self.ever, SWEPT_WITHIN));
        bucket.sweep_up(were_refused, &mut |n| {
            swept = swept.saturating_add(n);
            let reported = format!("deleting objects of this run that a listing shows: {}", grouped(swept));
            deleting(self.setup, progress, &reported, false);
            goes_on(n)
        })
    }

    /// What is known of what remains where the target did not even list it.
    fn unlisted(&self, error: &BucketError) -> LeftAtTarget {
        let most = self.written.iter().map(|written| written.confirmed.until).sum();
        LeftAtTarget::Unlisted { most, why: error.to_string() }
    }
}

/// Whether deletion by a listing goes on after so many more deletions: not for ever, and not for much more than there
/// can be. A listing may show what nobody wrote: some deletions are asked for twice, but not all.
pub(super) fn within_reason(most: u64, within: Duration) -> impl FnMut(u64) -> Result<(), String> {
    let (begun, mut asked) = (Instant::now(), 0_u64);
    move |n| {
        asked = asked.saturating_add(n);
        if asked / 2 > most.saturating_add(SWEPT_BESIDE) {
            let asked = grouped(asked);
            return Err(format!(
                "listings go on after {asked} deletions, and show more than this run can have written"
            ));
        }
        if begun.elapsed() >= within {
            return Err(gave_up_after(within));
        }
        Ok(())
    }
}

fn delete_set(
    setup: &Setup<'_>,
    written: &Written,
    bucket: &mut Bucket<'_>,
    progress: &Progress,
    versions_seen: &mut u64,
) -> Result<(), BucketError> {
    // What is deleted by its key in a bucket that keeps versions stays, below a delete marker.
    if matches!(setup.keeping, Keeping::Versions { .. }) {
        let swept = kept::delete(setup, (Some(written.set), written.confirmed.until), bucket, progress)?;
        *versions_seen += swept.as_ref().map_or(0, |left| left.seen);
        match swept {
            Some(Left { why: Some(why), .. }) => return Err(why),
            Some(_) => return Ok(()),
            None => {}
        }
    }
    let until = written.confirmed.until;
    let (mut seq, mut refused) = (0, Ok(()));
    while seq < until && !bucket.refuses_all() {
        let end = until.min(seq + batch(setup) as u64);
        let ids: Vec<_> = (seq..end)
            .map(|seq| {
                let id = ObjectId { set: written.set, seq };
                (id, size_of(&written.sizes, setup.session.seed, id))
            })
            .collect();
        match bucket.delete(&ids) {
            Err(error) if error.is_an_answer() => refused = Err(error),
            other => other?,
        }
        let reported = format!("deleting objects of this run: {} of {}", grouped(end), grouped(until));
        deleting(setup, progress, &reported, end == until);
        seq = end;
    }
    refused
}

/// So many deletions are told of at once: those of a second, where they are held to a rate, and those of one call where
/// somebody waits for them.
pub(super) fn batch(setup: &Setup<'_>) -> usize {
    let most = if interrupt::came(&setup.signalled) { DELETE_KEYS_MAX / 4 } else { DELETE_KEYS_MAX };
    deletions_per_s(&setup.load).map_or(most, |per_s| (per_s as usize).clamp(1, most))
}

/// What is known of uploads that remain: what a last listing shows or, where there is none, so many whose abort was
/// refused.
fn uploads_left(
    swept: Result<Option<Left>, BucketError>,
    refused: Option<BucketError>,
    unfinished: u64,
) -> Option<LeftAtTarget> {
    match (swept, refused) {
        (Ok(Some(Left { objects: 0, .. }) | None), None) | (Ok(Some(Left { objects: 0, .. })), Some(_)) => None,
        (Ok(Some(left)), refused) => {
            let why = left.why.or(refused).map(|why| why.to_string());
            Some(LeftAtTarget::Uploads { count: left.objects, known: HowKnown::of(true, left.wavers), why })
        }
        (Ok(None) | Err(_), Some(why)) => {
            let why = Some(why.to_string());
            Some(LeftAtTarget::Uploads { count: unfinished, known: HowKnown::AtLeast, why })
        }
        (Err(error), None) => Some(LeftAtTarget::UnseenUploads(error.to_string())),
    }
}

/// Says how clearing up goes on: in a log only where somebody waits for it.
pub(super) fn deleting(setup: &Setup<'_>, progress: &Progress, reported: &str, is_end: bool) {
    if interrupt::came(&setup.signalled) {
        progress.goes_on(reported, is_end);
    } else {
        progress.live(reported);
    }
}

/// What a listing of objects shows, and none of versions.
fn unseen_versions(shown: &Left) -> LeftAtTarget {
    let Left { objects, more, wavers, .. } = *shown;
    let (n, or_more) = (grouped(objects), if more { " or more" } else { "" });
    let which = if objects == 1 && !more { "object" } else { "objects" };
    let so_far = if wavers { ", though not each time" } else { "" };
    let why =
        format!("listings of objects show {n}{or_more} {which} of the run{so_far}, and one of versions shows none");
    LeftAtTarget::UnseenVersions(why)
}

/// What a listing still shows.
fn objects_left(shown: Left) -> LeftAtTarget {
    let Left { objects, bytes, more, wavers, why, .. } = shown;
    let known = HowKnown::of(more, wavers);
    LeftAtTarget::Objects { count: objects, bytes, known, why: why.map(|why| why.to_string()) }
}

/// What is told of what remains of the run.
pub(super) fn remaining(setup: &Setup<'_>, left: &LeftAtTarget) -> Finding {
    left_at_target(left, &cleaning(setup), &place(setup))
}

/// The command that cleans after the run, with the flags that no folder may hold: whom to trust, and whose keys to
/// take.
pub(super) fn cleaning(setup: &Setup<'_>) -> String {
    let endpoint = &setup.load.endpoint;
    command(&setup.folder, &endpoint.tls.clone().unwrap_or_default(), endpoint.anonymous, &setup.key_source)
}

pub(super) fn place(setup: &Setup<'_>) -> String {
    format!("s3://{}/{}", setup.session.bucket, setup.session.run_prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletion_by_a_listing_ends_in_time_and_after_more_than_there_can_be_and_says_why() {
        let mut endless = within_reason(1, Duration::from_secs(3_600));
        let told = (0..200).map_while(|_| endless(1_000).err().map_or(Some(None), |why| Some(Some(why))));
        let told: Vec<String> = told.flatten().collect();
        let expected = "listings go on after 129\u{202f}000 deletions, and show more than this run can have written";
        assert_eq!(told.first().map(String::as_str), Some(expected));
        let mut late = within_reason(u64::MAX, Duration::ZERO);
        let why = late(0).unwrap_err();
        assert_eq!(why, "deletion was given up after 0 ns, and listings still showed something");
        assert_eq!(within_reason(u64::MAX, Duration::from_secs(3_600))(u64::MAX), Ok(()));
    }

    #[test]
    fn objects_that_only_a_listing_of_objects_shows_are_counted() {
        let of = |objects, more, wavers| {
            let LeftAtTarget::UnseenVersions(why) = unseen_versions(&Left { objects, more, wavers, ..Left::default() })
            else {
                return String::new();
            };
            why
        };
        assert_eq!(of(1, false, false), "listings of objects show 1 object of the run, and one of versions shows none");
        assert_eq!(
            of(1_000, true, true),
            "listings of objects show 1000 or more objects of the run, though not each time, and one of versions shows \
             none"
        );
    }

    #[test]
    fn uploads_remain_where_their_abort_was_refused_and_no_listing_says_otherwise() {
        let refused = || Some(BucketError::Unmade("was refused".into()));
        let error = || Err(BucketError::Unmade("timed out".into()));
        let shown = |objects| Ok(Some(Left { objects, ..Left::default() }));
        let of = |count, why: Option<&str>| {
            let why = why.map(|why| format!("no further call is made: an earlier one {why}"));
            Some(LeftAtTarget::Uploads { count, known: HowKnown::AtLeast, why })
        };
        for (what, swept, why, expected) in [
            ("nothing", shown(0), None, None),
            ("a listing is the last word", shown(0), refused(), None),
            ("a target that lists none", Ok(None), None, None),
            ("a refusal, and no listing", Ok(None), refused(), of(3, Some("was refused"))),
            ("a refusal, and a listing that fails", error(), refused(), of(3, Some("was refused"))),
            ("a listing", shown(7), None, of(7, None)),
            ("both", shown(7), refused(), of(7, Some("was refused"))),
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
