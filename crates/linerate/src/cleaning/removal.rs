//! What a run left, deleted and counted.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::time::{Duration, Instant};

use linerate_load::bucket::{Bucket, BucketError, DELETE_KEYS_MAX, Leftover, Pages, is_of_run};
use linerate_load::listing::Marker;
use linerate_load::session::Session;
use linerate_record::shown::in_line;
use linerate_record::units::grouped;
use linerate_report::cleaned::{BucketEnd, Cleaned, cleaned};

use crate::failure::Failure;
use crate::printing;
use crate::progress::say;

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

/// What is remembered of one kind at the most, in 8 bytes each. Of more it is known only how many a listing showed.
const REMEMBERED_MAX: usize = 1_000_000;

/// How often it is said how deletions go on.
const SAID_EACH: Duration = Duration::from_secs(10);

/// What was found of one kind, counted by listings alone: a target may say that it deleted what it still holds, and
/// show once more what it did not show before.
#[derive(Default)]
struct Count {
    /// What was shown by any listing, as far as it is remembered.
    found: HashSet<u64>,
    /// The most that were shown at once.
    most: usize,
    /// Shown by the last listing.
    shown: usize,
    /// Shown at this look, and not by the listing before, though by an earlier one.
    back: usize,
    /// The same of looks before, until so many in a row were quiet that it is believed to have gone.
    lately: usize,
    /// What the listing that is gone through has shown, and how much of it no other did.
    now: usize,
    fresh: usize,
}

impl Count {
    /// Begins a look.
    fn look(&mut self) {
        self.lately = self.lately.max(std::mem::take(&mut self.back));
    }

    /// Notes what another listing shows.
    fn know(&mut self, entry: &impl Hash) {
        if self.found.len() < REMEMBERED_MAX {
            let mut hasher = DefaultHasher::new();
            entry.hash(&mut hasher);
            self.fresh += usize::from(self.found.insert(hasher.finish()));
        }
    }

    /// Notes what a listing shows now.
    fn see(&mut self, entry: &impl Hash) {
        self.know(entry);
        self.now += 1;
    }

    /// Notes that the listing has come to its end.
    fn end(&mut self) {
        if self.found.len() < REMEMBERED_MAX {
            let known = self.now.saturating_sub(self.fresh);
            self.back = self.back.max(known.saturating_sub(self.shown));
        }
        self.most = self.most.max(self.now);
        self.shown = self.now;
        (self.now, self.fresh) = (0, 0);
    }

    /// What is still there, as far as the last look tells. A listing that has just shown again what one before did not
    /// show is not believed to have come to its last word.
    fn left(&self) -> usize {
        self.shown.max(self.back).max(self.lately)
    }

    fn deleted(&self) -> usize {
        self.found.len().max(self.most) - self.left()
    }
}

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    Objects,
    Versions,
}

/// One entry of a listing: whether it is an object, or a version or a delete marker beside it.
struct Found {
    entry: Leftover,
    is_object: bool,
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

    /// Begins a look.
    fn look(&mut self) {
        for count in [&mut self.objects, &mut self.versions, &mut self.uploads] {
            count.look();
        }
    }

    /// Believes that what has not been shown for some looks has gone.
    const fn believe(&mut self) {
        (self.objects.lately, self.versions.lately, self.uploads.lately) = (0, 0, 0);
    }

    fn deleted(&self) -> usize {
        self.counts().iter().map(|count| count.deleted()).sum()
    }

    /// Notes what could not be looked for, and why: what else there is is cleaned all the same.
    fn not_looked(&mut self, what: &'static str, denied: Option<&BucketError>) {
        self.unlisted.push((what, denied.map(ToString::to_string)));
    }

    fn left(&self) -> usize {
        self.counts().iter().map(|count| count.left()).sum()
    }

    /// Whether the last look showed again what was not shown before.
    fn wavers(&self) -> bool {
        self.counts().iter().any(|count| count.back > 0)
    }

    /// Whether some look did, and it was not believed since that it has gone.
    fn is_unsettled(&self) -> bool {
        self.wavers() || self.counts().iter().any(|count| count.lately > 0)
    }
}

/// A cleaning under way.
pub(super) struct CleaningRun<'a> {
    bucket: Bucket<'a>,
    session: &'a Session,
    dry_run: bool,
    /// Whether objects are held as versions by a bucket that keeps them: deleted by their keys, they would only be
    /// hidden below delete markers.
    is_kept: bool,
    /// Whether a listing of versions showed objects at this look: one of objects that shows none is not believed then.
    shows_objects: bool,
    /// So much was asked to be deleted, and when that was said last.
    asked: usize,
    reported: Instant,
    done: Done,
}

/// Where a run wrote.
fn place(session: &Session) -> String {
    format!("s3://{}/{}", session.bucket, session.run_prefix)
}

impl<'a> CleaningRun<'a> {
    /// A cleaning through `bucket`, of so many deletions per second at the most where there is a `cap`.
    pub(super) fn new(bucket: Bucket<'a>, session: &'a Session, dry_run: bool, cap: Option<f64>) -> Self {
        CleaningRun {
            bucket: bucket.held_to(cap),
            session,
            dry_run,
            is_kept: false,
            shows_objects: false,
            asked: 0,
            reported: Instant::now(),
            done: Done::default(),
        }
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
        let wavers = self.done.is_unsettled().then(|| {
            "its listings show again what they no longer showed, so it is not known what remains; wait a minute"
                .to_owned()
        });
        let (left, place, why) = (self.done.left(), place(self.session), self.done.why.take().or(wavers));
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
            self.done.look();
            self.bucket.ask_again();
            self.uploads()?;
            self.versions()?;
            self.passes(Listing::Objects)?;
            let is_quiet = self.done.deleted() <= before && !self.done.wavers();
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if quiet == QUIET_LOOKS {
                self.done.believe();
            }
            let nothing = self.done.deleted() == 0 && self.done.left() == 0 && !self.shows_objects;
            if self.dry_run || nothing || quiet == QUIET_LOOKS || look + 1 == LOOKS_MAX {
                break;
            }
            std::thread::sleep(LATE);
        }
        Ok(())
    }

    /// What was begun, where a listing that failed does not tell what came of it.
    pub(super) fn tell_unfinished(&self) {
        if self.asked > 0 {
            let (asked, place) = (grouped(self.asked as u64), place(self.session));
            say(&format!("warning: {asked} deletions below {place} were requested, and it is not known what remains"));
        }
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
            for upload in &uploads {
                self.done.uploads.see(&(&upload.key, &upload.id));
                if self.dry_run {
                    printing::print(&format!("upload   {} {}\n", in_line(&upload.key), in_line(&upload.id)))?;
                } else {
                    self.begun(1);
                    let aborted = self.bucket.abort_upload(upload);
                    self.note(aborted)?;
                }
            }
            self.done.uploads.end();
            if uploads.is_empty() || self.dry_run {
                break;
            }
        }
        Ok(())
    }

    /// Objects of a bucket that keeps versions are deleted with them: deleted by their keys, they would stay as
    /// versions, below delete markers.
    fn versions(&mut self) -> Result<(), Failure> {
        (self.is_kept, self.shows_objects) = (false, false);
        match self.passes(Listing::Versions) {
            Ok(true) => {}
            Ok(false) => self.done.not_looked("versions", None),
            Err(Failure::Bucket(error)) if error.is_denied() => self.done.not_looked("versions", Some(&error)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Goes through a listing and deletes what it shows, until it shows nothing, or no less than before; `false` where
    /// the target does not list such.
    fn passes(&mut self, listing: Listing) -> Result<bool, Failure> {
        let mut before = usize::MAX;
        for _ in 0..PASSES {
            let Some(shown) = self.pass(listing)? else { return Ok(false) };
            if shown == 0 || shown >= before || self.dry_run {
                break;
            }
            before = shown;
        }
        Ok(true)
    }

    /// Goes through a listing once, page by page, and deletes what it shows; returns how many that were.
    fn pass(&mut self, listing: Listing) -> Result<Option<usize>, Failure> {
        let (mut pages, mut shown, mut objects) = (Pages::default(), 0, 0);
        for _ in 0..PAGES_MAX {
            let Some((page, next)) = self.page(listing, pages.from())? else { return Ok(None) };
            for Found { entry, is_object } in &page {
                match (listing, is_object) {
                    (Listing::Objects, _) => self.done.objects.see(&entry.key()),
                    (Listing::Versions, true) => self.done.objects.know(&entry.key()),
                    (Listing::Versions, false) => self.done.versions.see(&entry.to_string()),
                }
                objects += usize::from(*is_object);
            }
            shown += page.len();
            let first = page.first().map(|found| found.entry.to_string());
            self.delete(page, listing)?;
            if !pages.turn(first, next)? {
                break;
            }
        }
        match listing {
            Listing::Objects => self.done.objects.end(),
            Listing::Versions => {
                self.done.versions.end();
                (self.done.objects.most, self.is_kept) = (self.done.objects.most.max(objects), objects > 0);
            }
        }
        Ok(Some(shown))
    }

    /// A page of a listing, and where the next begins; nothing where the target does not list such. In a bucket without
    /// versions each object is one called "null", and is deleted by its key.
    fn page(&mut self, listing: Listing, from: Option<&Marker>) -> Listed {
        let prefix = &self.session.run_prefix;
        if listing == Listing::Versions {
            let Some(page) = self.bucket.versions(from)? else { return Ok(None) };
            self.shows_objects |= page.entries.iter().any(|version| version.is_object);
            let own = page.entries.into_iter().filter(|version| !(version.is_object && version.of.id == "null"));
            let found = |is_object, of| Found { entry: Leftover::Version(of), is_object };
            return Ok(Some((own.map(|version| found(version.is_object, version.of)).collect(), page.next)));
        }
        let page = self.bucket.objects(prefix, from.map(|from| &from.key))?;
        let own = page.entries.into_iter().map(|o| o.key).filter(|key| is_of_run(key, prefix));
        let found = own.map(|key| Found { entry: Leftover::Object(key), is_object: true }).collect();
        Ok(Some((found, page.next.map(|key| Marker { key, id: String::new() }))))
    }

    /// Deletes, or names in a dry run: an object once, also where it is a version too.
    fn delete(&mut self, page: Vec<Found>, listing: Listing) -> Result<(), Failure> {
        if self.dry_run {
            let named = page.iter().filter(|found| listing == Listing::Objects || !found.is_object);
            let lines = named.map(|found| format!("{}\n", in_line(&found.entry.to_string())));
            return printing::print(&lines.collect::<String>());
        }
        if listing == Listing::Objects && self.is_kept {
            return Ok(());
        }
        let entries: Vec<Leftover> = page.into_iter().map(|found| found.entry).collect();
        for batch in entries.chunks(DELETE_KEYS_MAX) {
            self.begun(batch.len());
            let deleted = self.bucket.delete_leftovers(batch);
            self.note(deleted)?;
        }
        Ok(())
    }

    /// Notes that so much is asked to be deleted, and says now and then how that goes on.
    fn begun(&mut self, entries: usize) {
        if self.reported.elapsed() >= SAID_EACH {
            self.reported = Instant::now();
            let (place, asked) = (place(self.session), grouped(self.asked as u64));
            say(&format!("deleting what is below {place}: {asked} deletions were requested so far"));
        }
        self.asked += entries;
    }

    /// Notes what the target said of a deletion. Only a listing tells what became of it.
    fn note(&mut self, said: Result<(), BucketError>) -> Result<(), Failure> {
        match said {
            Err(error) if error.is_an_answer() => self.done.why = Some(error.to_string()),
            other => other?,
        }
        Ok(())
    }

    /// What was done, in words. The bucket was to be removed, or stays for a reason.
    pub(super) fn said(&self, stays: Option<BucketEnd>) -> String {
        let done = &self.done;
        let found = |count: &Count| if self.dry_run { count.shown } else { count.deleted() };
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
type Listed = Result<Option<(Vec<Found>, Option<Marker>)>, BucketError>;

/// Objects of a page that are not the run's, in words; nothing where all are.
fn foreign(keys: &[&str], run_prefix: &str, is_more: bool) -> Option<String> {
    let others: Vec<&str> = keys.iter().copied().filter(|key| !is_of_run(key, run_prefix)).collect();
    let (first, more) = (in_line(others.first()?).into_owned(), if is_more { " or more" } else { "" });
    Some(match others.len() {
        1 if more.is_empty() => format!("1 object that is not of this run is in it, {first:?}"),
        n => format!("{}{more} objects that are not of this run are in it, the first is {first:?}", grouped(n as u64)),
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

    const ALL: &[u32] = &[1, 2, 3, 4, 5, 6, 7];
    const SOME: &[u32] = &[2, 4];
    const NONE: &[u32] = &[];

    /// What it is, listings by look, and what was deleted, what is left, and whether the listings waver.
    type Case = (&'static str, &'static [&'static [&'static [u32]]], (usize, usize, bool));

    /// Counts of listings that show these entries, one look each.
    fn counted(looks: &[&[&[u32]]]) -> Count {
        let mut count = Count::default();
        for look in looks {
            count.look();
            for listing in *look {
                listing.iter().for_each(|entry| count.see(entry));
                count.end();
            }
        }
        count
    }

    #[test]
    fn what_is_told_as_deleted_is_what_the_last_word_of_the_target_supports() {
        let cases: [Case; 8] = [
            ("deleted", &[&[ALL, NONE], &[NONE]], (7, 0, false)),
            ("kept", &[&[ALL, ALL], &[ALL, ALL]], (0, 7, false)),
            ("kept in part", &[&[ALL, SOME, SOME], &[SOME, SOME]], (5, 2, false)),
            ("stored late", &[&[&[1, 2], NONE], &[&[3], NONE], &[NONE]], (3, 0, false)),
            ("shown, and not, and again", &[&[ALL, NONE], &[ALL]], (0, 7, true)),
            ("shown, and not, at each look", &[&[ALL, NONE], &[ALL, NONE], &[ALL, NONE]], (0, 7, true)),
            ("shown again in part, and not for one look", &[&[ALL, NONE], &[SOME, NONE], &[NONE]], (5, 2, false)),
            ("shown in turns", &[&[ALL, NONE], &[&[1, 2, 3]], &[&[4, 5]]], (4, 3, false)),
        ];
        for (what, looks, expected) in cases {
            let count = counted(looks);
            assert_eq!((count.deleted(), count.left(), count.back > 0), expected, "{what}");
        }
        // Quiet looks enough, and it has gone.
        let mut done = Done { objects: counted(&[&[ALL, NONE], &[SOME, NONE], &[NONE]]), ..Done::default() };
        assert!(done.is_unsettled() && done.left() == SOME.len());
        done.believe();
        assert!(!done.is_unsettled() && (done.deleted(), done.left()) == (ALL.len(), 0));
    }
}
