//! What a run left, deleted and counted.

use std::time::Duration;

use linerate_load::bucket::{Bucket, BucketError, DELETE_KEYS_MAX, Leftover, Pages, is_of_run};
use linerate_load::listing::Marker;
use linerate_load::session::Session;
use linerate_record::shown::in_line;
use linerate_report::cleaned::{BucketEnd, Cleaned, cleaned};

use crate::failure::Failure;
use crate::printing;

/// How often a listing is gone through at one look: an object may be stored late, and a listing may tell of one that is
/// gone.
const PASSES: usize = 3;

/// How long it is waited between looks, of how many in a row that find nothing new is believed that nothing comes any
/// more, and how many there are at the most: what was in flight may be stored seconds later by a busy server.
const LATE: Duration = Duration::from_secs(1);
const QUIET_LOOKS: usize = 3;
const LOOKS_MAX: usize = 12;

/// Pages of a thousand after which a listing is taken not to end: a hundred million objects.
const PAGES_MAX: usize = 100_000;

/// What was found of one kind, counted by listings alone: a target may say that it deleted what it still holds.
#[derive(Default)]
struct Count {
    /// Shown by an earlier listing, and by none since.
    deleted: usize,
    /// Shown by the last listing.
    shown: usize,
}

impl Count {
    /// Notes how many a listing shows now.
    fn see(&mut self, shown: usize) {
        self.deleted += self.shown.saturating_sub(shown);
        self.shown = shown;
    }
}

/// What was found and deleted; in a dry run, what was found.
#[derive(Default)]
struct Done {
    objects: Count,
    versions: Count,
    uploads: Count,
    /// What the target said last of a deletion that it did not make.
    why: Option<String>,
    /// What could not be looked for, and why; no reason where this target does not list such.
    unlisted: Vec<(&'static str, Option<String>)>,
    bucket_removed: bool,
    /// Why the bucket could not be removed.
    bucket_kept: Option<BucketError>,
    /// What is in it that is not the run's, in words; nothing where a listing shows the run's own alone.
    others: Option<String>,
}

impl Done {
    fn counts(&self) -> [&Count; 3] {
        [&self.objects, &self.versions, &self.uploads]
    }

    fn deleted(&self) -> usize {
        self.counts().iter().map(|count| count.deleted).sum()
    }

    /// Notes what could not be looked for, and why: what else there is is cleaned all the same.
    fn not_looked(&mut self, what: &'static str, denied: Option<&BucketError>) {
        self.unlisted.push((what, denied.map(ToString::to_string)));
    }

    /// Notes how many versions a listing shows now. Each object that is still there is among them, without versions as
    /// one called "null", and is counted as an object.
    fn see_versions(&mut self, shown: usize) {
        self.versions.see(shown.saturating_sub(self.objects.shown));
    }

    fn left(&self) -> usize {
        self.counts().iter().map(|count| count.shown).sum()
    }
}

/// A cleaning under way.
pub(super) struct CleaningRun<'a> {
    bucket: Bucket<'a>,
    session: &'a Session,
    dry_run: bool,
    cap: Option<f64>,
    done: Done,
}

/// Where a run wrote.
fn place(session: &Session) -> String {
    format!("s3://{}/{}", session.bucket, session.run_prefix)
}

impl<'a> CleaningRun<'a> {
    /// A cleaning through `bucket`, of so many requests per second at the most where there is a `cap`.
    pub(super) fn new(bucket: Bucket<'a>, session: &'a Session, dry_run: bool, cap: Option<f64>) -> Self {
        CleaningRun { bucket, session, dry_run, cap, done: Done::default() }
    }

    /// Removes the bucket, if nothing is in it; whether it did.
    pub(super) fn remove_bucket(&mut self) -> Result<bool, Failure> {
        match self.bucket.remove() {
            Err(error) if error.is_an_answer() => self.done.bucket_kept = Some(error),
            other => self.done.bucket_removed = other?,
        }
        if !self.done.bucket_removed && self.done.bucket_kept.is_none() {
            self.done.others = self.others()?;
        }
        Ok(self.done.bucket_removed)
    }

    /// What is in a bucket that is not empty and is not the run's, as far as one page of a listing tells.
    fn others(&mut self) -> Result<Option<String>, Failure> {
        let page = self.bucket.objects("", None)?;
        if page.entries.is_empty() {
            return Ok(Some("a listing shows no objects in it, so it contains incomplete uploads or versions".into()));
        }
        let keys: Vec<&str> = page.entries.iter().map(|entry| &*entry.key).collect();
        Ok(foreign(&keys, &self.session.run_prefix, page.next.is_some()))
    }

    /// What is still there, as the command's end.
    pub(super) fn left(&mut self) -> Option<Failure> {
        let (left, place, why) = (self.done.left(), place(self.session), self.done.why.take());
        if left > 0 && !self.dry_run {
            return Some(Failure::Left { left, place, why });
        }
        self.done.bucket_kept.take().map(Failure::Bucket)
    }

    /// Everything, until looks some time later find nothing more: a server goes on storing what a run was sending when
    /// it was killed. Where the first finds nothing, nothing was left.
    pub(super) fn all(&mut self) -> Result<(), Failure> {
        let mut quiet = 0;
        for look in 0..LOOKS_MAX {
            let before = self.done.deleted();
            self.done.unlisted.clear();
            self.uploads()?;
            self.objects()?;
            self.versions()?;
            quiet = if self.done.deleted() > before { 0 } else { quiet + 1 };
            let nothing = self.done.deleted() == 0 && self.done.left() == 0;
            if self.dry_run || nothing || quiet == QUIET_LOOKS || look + 1 == LOOKS_MAX {
                break;
            }
            std::thread::sleep(LATE);
        }
        Ok(())
    }

    fn uploads(&mut self) -> Result<(), Failure> {
        for _ in 0..PASSES {
            let uploads = match self.bucket.uploads() {
                Ok(Some(uploads)) => uploads,
                Err(error) if !error.is_denied() => return Err(error.into()),
                other => {
                    self.done.not_looked("unfinished uploads", other.err().as_ref());
                    return Ok(());
                }
            };
            self.done.uploads.see(uploads.len());
            for upload in &uploads {
                if self.dry_run {
                    printing::print(&format!("upload   {} {}\n", in_line(&upload.key), in_line(&upload.id)))?;
                } else {
                    let aborted = self.bucket.abort_upload(upload);
                    self.note(aborted)?;
                    self.pause(1);
                }
            }
            if uploads.is_empty() || self.dry_run {
                break;
            }
        }
        Ok(())
    }

    fn objects(&mut self) -> Result<(), Failure> {
        let prefix = self.session.run_prefix.clone();
        let mut list = |bucket: &mut Bucket<'_>, from: Option<&String>| {
            let page = bucket.objects(&prefix, from)?;
            let own = page.entries.into_iter().map(|o| o.key).filter(|key| is_of_run(key, &prefix));
            Ok(Some((own.map(Leftover::Object).collect(), page.next)))
        };
        self.passes(|done, shown| done.objects.see(shown), &mut list).map(|_| ())
    }

    /// Objects of a bucket with versions are still there when they are deleted: as versions, below delete markers.
    fn versions(&mut self) -> Result<(), Failure> {
        let dry_run = self.dry_run;
        let mut list = |bucket: &mut Bucket<'_>, from: Option<&Marker>| {
            let page = bucket.versions(from)?;
            // Without versions, each object is a version called "null"; a dry run has told of it.
            let reported = |id: &str| dry_run && id == "null";
            Ok(page.map(|page| {
                let fresh = page.entries.into_iter().filter(|version| !reported(&version.id));
                (fresh.map(Leftover::Version).collect(), page.next)
            }))
        };
        // Of a dry run's objects each version is told.
        let see = |done: &mut Done, shown| if dry_run { done.versions.see(shown) } else { done.see_versions(shown) };
        match self.passes(see, &mut list) {
            Ok(true) => {}
            Ok(false) => self.done.not_looked("versions", None),
            Err(Failure::Bucket(error)) if error.is_denied() => self.done.not_looked("versions", Some(&error)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Goes through a listing and deletes what it shows, until it shows nothing, or no less than before; `false` where
    /// the target does not list such.
    fn passes<Next: PartialEq>(
        &mut self,
        see: impl Fn(&mut Done, usize),
        list: &mut impl FnMut(&mut Bucket<'_>, Option<&Next>) -> Listed<Next>,
    ) -> Result<bool, Failure> {
        let mut before = usize::MAX;
        for _ in 0..PASSES {
            let Some(shown) = self.pass(list)? else { return Ok(false) };
            see(&mut self.done, shown);
            if shown == 0 || shown >= before || self.dry_run {
                break;
            }
            before = shown;
        }
        Ok(true)
    }

    /// Goes through a listing once, page by page, and deletes what it shows; returns how many that were.
    fn pass<Next: PartialEq>(
        &mut self,
        list: &mut impl FnMut(&mut Bucket<'_>, Option<&Next>) -> Listed<Next>,
    ) -> Result<Option<usize>, Failure> {
        let (mut pages, mut shown) = (Pages::default(), 0);
        for _ in 0..PAGES_MAX {
            let Some((page, next)) = list(&mut self.bucket, pages.from())? else { return Ok(None) };
            self.delete(&page)?;
            shown += page.len();
            if !pages.turn(page.first().map(Leftover::to_string), next)? {
                return Ok(Some(shown));
            }
        }
        Ok(Some(shown))
    }

    /// Deletes, or names in a dry run.
    fn delete(&mut self, page: &[Leftover]) -> Result<(), Failure> {
        if self.dry_run {
            return printing::print(
                &page.iter().map(|one| format!("{}\n", in_line(&one.to_string()))).collect::<String>(),
            );
        }
        let batch = self.cap.map_or(DELETE_KEYS_MAX, |per_s| (per_s as usize).clamp(1, DELETE_KEYS_MAX));
        for batch in page.chunks(batch) {
            let deleted = self.bucket.delete_leftovers(batch);
            self.note(deleted)?;
            self.pause(batch.len());
        }
        Ok(())
    }

    /// Notes what the target said of a deletion. Only a listing tells what became of it.
    fn note(&mut self, said: Result<(), BucketError>) -> Result<(), Failure> {
        match said {
            Err(error) if error.is_an_answer() => self.done.why = Some(error.to_string()),
            other => other?,
        }
        Ok(())
    }

    fn pause(&self, requests: usize) {
        if let Some(per_s) = self.cap {
            std::thread::sleep(Duration::from_secs_f64(requests as f64 / per_s));
        }
    }

    /// What was done, in words. The bucket was to be removed, or stays for a reason.
    pub(super) fn said(&self, stays: Option<BucketEnd>) -> String {
        let done = &self.done;
        let found = |count: &Count| if self.dry_run { count.shown } else { count.deleted };
        let bucket_end = stays.unwrap_or(match (done.bucket_removed, self.dry_run) {
            (true, _) => BucketEnd::Removed,
            (false, true) => BucketEnd::WouldBeRemoved,
            (false, false) if done.bucket_kept.is_some() => BucketEnd::Refused,
            (false, false) if done.others.is_none() => BucketEnd::HoldsOwn,
            (false, false) => BucketEnd::InUse,
        });
        cleaned(&Cleaned {
            place: &place(self.session),
            bucket: &self.session.bucket,
            dry_run: self.dry_run,
            objects: found(&done.objects),
            versions: found(&done.versions),
            uploads: found(&done.uploads),
            left: done.left(),
            unlisted: &done.unlisted,
            bucket_end,
            others: done.others.as_deref().unwrap_or_default(),
        })
    }
}

/// A page of leftovers, and where the next begins; nothing where the target does not list them.
type Listed<Next> = Result<Option<(Vec<Leftover>, Option<Next>)>, BucketError>;

/// Objects of a page that are not the run's, in words; nothing where all are.
fn foreign(keys: &[&str], run_prefix: &str, is_more: bool) -> Option<String> {
    let others: Vec<&str> = keys.iter().copied().filter(|key| !is_of_run(key, run_prefix)).collect();
    let (first, more) = (in_line(others.first()?).into_owned(), if is_more { " or more" } else { "" });
    Some(match others.len() {
        1 if more.is_empty() => format!("1 object that is not of this run is in it, {first:?}"),
        n => format!("{n}{more} objects that are not of this run are in it, the first is {first:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_the_run_are_no_others() {
        let of = |keys: &[&str], is_more| foreign(keys, "p/r-1/", is_more);
        assert_eq!(of(&["p/r-1/0/1", "p/r-1/0/2"], true), None);
        assert_eq!(of(&["p/r-1/0/1", "x"], false).unwrap(), "1 object that is not of this run is in it, \"x\"");
        let two = "2 objects that are not of this run are in it, the first is \"a\"";
        assert_eq!(of(&["a", "p/r-1/0/1", "p/r-2/0/1"], false).unwrap(), two);
        assert!(of(&["a", "p/r-1/0/1"], true).unwrap().starts_with("1 or more objects that are not"));
    }

    #[test]
    fn an_object_that_is_a_version_too_is_counted_once() {
        for (objects, versions, expected) in
            [(99, 99, (99, 0, 99)), (0, 14, (0, 14, 14)), (7, 9, (7, 2, 9)), (7, 0, (7, 0, 7))]
        {
            let mut done = Done::default();
            done.objects.see(objects);
            done.see_versions(versions);
            assert_eq!((done.objects.shown, done.versions.shown, done.left()), expected, "{objects} {versions}");
            done.objects.see(0);
            done.see_versions(0);
            assert_eq!((done.deleted(), done.left()), (expected.2, 0), "{objects} {versions}");
        }
    }
}
