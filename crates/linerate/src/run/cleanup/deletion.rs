//! What a run left, deleted and counted.

use std::time::{Duration, Instant};

use linerate_load::bucket::{
    Bucket, BucketContents, BucketError, DELETE_KEYS_MAX, Leftover, ListingLooks, ListingProgress, Pages, Refusals,
    Removal, Versioning, is_of_run,
};
use linerate_load::listing::{Marker, Version};
use linerate_load::session::Session;
use linerate_record::sanitize::in_line;
use linerate_record::units::grouped;
use linerate_report::cleaning::{BucketEnd, Cleaning, cleaned};

use super::cleanup_counts::{CleanupCounts, HiddenVersions};
use super::messages::{bucket_contents_text, gave_up_text};
use crate::terminal::failure::Failure;
use crate::terminal::printing;
use crate::terminal::progress::print_error;

/// How often a listing is gone through at one look: an object may be stored late, and a listing may tell of one that is
/// gone.
const LISTING_PASSES: usize = 3;

/// How long it is waited between looks: what was in flight may be stored seconds later by a busy server. Where nothing
/// was found at all, it is looked once more and again so soon.
const LATE_WRITE_DELAY: Duration = Duration::from_secs(1);
const SHORT_DELAY: Duration = Duration::from_millis(250);

/// How long it is gone on for: a listing may show something new for ever. Who has more to delete cleans again.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Why objects stay that only a listing of objects shows.
const UNLISTED_VERSIONS_REASON: &str = "the bucket keeps versions, and a listing of them shows none of these objects; \
                                        deleting them without their versions would only hide them; check the target";

/// How often it is said how deletions go on.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// How much a dry run names; its last line counts all.
const NAMED_MAX: usize = 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Listing {
    Objects,
    Versions,
}

/// One entry of a listing: whether it is an object, or a version or a delete marker beside it.
struct ListedEntry {
    entry: Leftover,
    is_object: bool,
}

impl ListedEntry {
    /// Whether it is called as all that is in a bucket without versions.
    fn is_null(&self) -> bool {
        matches!(&self.entry, Leftover::Version(version) if version.id == "null")
    }
}

/// A cleaning under way.
pub(super) struct CleanupRun<'a> {
    bucket: Bucket<'a>,
    session: &'a Session,
    dry_run: bool,
    /// How much a dry run has named.
    named: usize,
    /// Whether objects are held as versions by a bucket that keeps them: deleted by their keys, they would only be
    /// hidden below delete markers.
    is_versioned: bool,
    /// Whether the bucket keeps versions, and a listing of them shows nothing at all.
    shows_no_versions: bool,
    /// Whether the last listing of versions showed any.
    shows_versions: bool,
    /// Whether this is the first look: in a bucket without versions, a listing of versions shows what is then
    /// deleted by its key.
    is_first: bool,
    /// So much was asked to be deleted, and when that was said last.
    requested: usize,
    begun: Instant,
    /// How long it is gone on for.
    within: Duration,
    /// So many deletions at once: those of a second where they are held to a rate.
    batch: usize,
    reported: Instant,
    done: CleanupCounts,
}

/// Where a run wrote.
fn run_location(session: &Session) -> String {
    format!("s3://{}/{}", session.bucket, session.run_prefix)
}

impl<'a> CleanupRun<'a> {
    /// A cleaning through `bucket`, of so many deletions per second at the most where there is a `cap`.
    pub(super) fn new(bucket: Bucket<'a>, session: &'a Session, dry_run: bool, cap: Option<f64>) -> Self {
        CleanupRun {
            bucket: bucket.held_to(cap),
            session,
            dry_run,
            named: 0,
            is_versioned: false,
            shows_no_versions: false,
            shows_versions: false,
            is_first: true,
            requested: 0,
            begun: Instant::now(),
            within: CLEANUP_TIMEOUT,
            batch: cap.map_or(DELETE_KEYS_MAX, |per_s| (per_s as usize).clamp(1, DELETE_KEYS_MAX)),
            reported: Instant::now(),
            done: CleanupCounts::default(),
        }
    }

    /// Removes the bucket, if nothing is in it; whether it did. While anything of the run is known to be in it, or not
    /// known to be gone, that is not tried: there are targets that remove a bucket with everything in it.
    pub(super) fn remove_bucket(&mut self) -> Result<bool, Failure> {
        let own = self.done.left() > 0;
        let removal =
            match own || self.done.ended.is_some() || self.done.unreached_uploads.is_some() || self.is_hiding() {
                true => self.bucket.contents().map(|found| {
                    let unknown = (!own).then(|| "it may hold something of this run".to_owned());
                    Removal::Kept(BucketContents { own: own || found.own, unknown, ..found })
                }),
                false => self.bucket.remove(),
            };
        let is_removed = matches!(removal, Ok(Removal::Removed));
        self.done.bucket = Some(match removal {
            Err(error) if !error.is_an_answer() => return Err(error.into()),
            removal => removal,
        });
        Ok(is_removed)
    }

    /// Whether the bucket keeps versions that these keys may not list.
    const fn is_hiding(&self) -> bool {
        matches!(self.done.hidden, HiddenVersions::Versions)
    }

    /// What is still there, as the command's end.
    pub(super) fn left(&mut self) -> Option<Failure> {
        if self.dry_run {
            return None;
        }
        let (left, place) = (self.done.left(), run_location(self.session));
        if left > 0 && self.done.is_unsettled() {
            return Some(Failure::Unsettled { left, place });
        }
        if let Some(why) = self.done.ended.take() {
            return Some(Failure::Ended { place, why });
        }
        if self.is_hiding() {
            return Some(Failure::HiddenVersions { left, place });
        }
        if left > 0 {
            let is_unasked = self.shows_no_versions && self.done.objects_by_version.in_all() == 0;
            let why = if is_unasked { Some(UNLISTED_VERSIONS_REASON.to_owned()) } else { self.done.why.take() };
            return Some(Failure::Left { left, place, why });
        }
        if let HiddenVersions::Perhaps(_) = self.done.hidden {
            return Some(Failure::Unseen { place });
        }
        if let Some(why) = self.done.unreached_uploads.take() {
            return Some(Failure::Ended { place, why });
        }
        match self.done.bucket.take() {
            Some(Err(error)) => Some(Failure::Bucket(error)),
            Some(Ok(Removal::Kept(found))) if found.is_unseen() => {
                // Whatever else is in it is somebody's, and no failure; that nobody knows what it is, is one.
                let why = bucket_contents_text(&found, &self.session.run_prefix);
                Some(Failure::Ended {
                    place,
                    why: format!("bucket {:?} was to be removed, and {why}", self.session.bucket),
                })
            }
            _ => None,
        }
    }

    /// Everything, until looks some time later find nothing more: a server goes on storing what a run was sending when
    /// it was killed, and one listing that shows nothing is not the last word of a target whose listings lag behind.
    pub(super) fn all(&mut self) -> Result<(), Failure> {
        let mut looks = ListingLooks::default();
        loop {
            let before = self.done.deleted();
            self.done.look();
            self.bucket.ask_again();
            self.uploads()?;
            self.versions()?;
            self.passes(Listing::Objects)?;
            self.is_first = false;
            looks.made(self.done.deleted() <= before, self.done.wavers());
            if self.done.left() > 0 && self.done.why.is_none() && !self.is_hiding() && !self.dry_run {
                // It was confirmed, and is shown: listings may lag behind.
                looks.doubt();
            }
            if looks.are_believed() {
                self.done.believe();
            }
            let nothing = self.done.deleted() == 0 && self.done.left() == 0;
            if looks.are_over() || self.done.ended.is_some() || (self.dry_run && !nothing) {
                break;
            }
            std::thread::sleep(if nothing && !looks.wavered() { SHORT_DELAY } else { LATE_WRITE_DELAY });
        }
        Ok(())
    }

    /// What was begun, where a call that failed does not tell what came of it, and the command that goes on.
    pub(super) fn tell_unfinished(&self, command: &str) {
        let (place, n) = (run_location(self.session), grouped(self.requested as u64));
        let requested = match self.requested {
            0 => format!("nothing was deleted below {place}"),
            1 => format!("1 deletion below {place} was requested, and it is not known what remains"),
            _ => format!("{n} deletions below {place} were requested, and it is not known what remains"),
        };
        print_error(&format!("warning: {requested}; clean again with {command}"));
    }

    fn uploads(&mut self) -> Result<(), Failure> {
        for _ in 0..LISTING_PASSES {
            if self.done.unreached_uploads.is_some() {
                return Ok(());
            }
            let uploads = match self.bucket.uploads() {
                Ok(Some(uploads)) => uploads,
                Err(error @ BucketError::TooMany { .. }) => {
                    self.done.unreached_uploads =
                        Some(format!("not all unfinished uploads were looked through: {error}"));
                    return Ok(());
                }
                Err(error) if !error.is_forbidden() => return Err(error.into()),
                other => {
                    self.done.note_unlisted("unfinished uploads", other.err().as_ref());
                    return Ok(());
                }
            };
            let mut refusals = Refusals::default();
            for upload in &uploads {
                self.done.uploads.see(&(&upload.key, &upload.id));
                if !self.dry_run && self.is_over() {
                    break;
                }
                if self.dry_run {
                    printing::print(&format!("upload   {} {}\n", in_line(&upload.key), in_line(&upload.id)))?;
                } else {
                    // It may have been made also where it was not answered.
                    self.requested(1);
                    let aborted = self.bucket.abort_upload(upload);
                    refusals.note_one(aborted)?;
                }
            }
            self.note(refusals);
            if self.done.ended.is_some() {
                self.done.uploads.break_off();
                break;
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
        (self.is_versioned, self.shows_no_versions) = (false, false);
        match self.passes(Listing::Versions) {
            Ok(true) => {
                // A listing of versions may lag behind that of objects.
                let shows_no_versions = !self.is_versioned && !self.shows_versions;
                self.shows_no_versions =
                    shows_no_versions && matches!(self.bucket.keeping()?, Versioning::Versions { .. });
                self.is_versioned |= self.shows_no_versions;
                return Ok(());
            }
            Ok(false) => self.done.note_unlisted("versions", None),
            Err(Failure::Bucket(error)) if error.is_forbidden() => self.done.note_unlisted("versions", Some(&error)),
            Err(error) => return Err(error),
        }
        // What cannot be listed may be there all the same.
        self.done.hidden = match self.bucket.keeping()? {
            Versioning::Nothing => HiddenVersions::Nothing,
            Versioning::Versions { .. } => HiddenVersions::Versions,
            Versioning::Unknown(why) => HiddenVersions::Perhaps(why),
        };
        self.is_versioned = self.is_hiding();
        Ok(())
    }

    /// Goes through a listing and deletes what it shows, until it shows nothing, or no less than before; `false` where
    /// the target does not list such.
    fn passes(&mut self, listing: Listing) -> Result<bool, Failure> {
        let mut before = usize::MAX;
        for _ in 0..LISTING_PASSES {
            let Some(shown) = self.pass(listing)? else { return Ok(false) };
            if shown == 0 || shown >= before || self.dry_run {
                break;
            }
            before = shown;
        }
        Ok(true)
    }

    /// Goes through a listing once, page by page, and deletes what it shows; returns how many of it that were.
    fn pass(&mut self, listing: Listing) -> Result<Option<usize>, Failure> {
        let (mut pages, mut refusals) = (Pages::default(), Refusals::default());
        let (mut shown, mut kept) = (0, 0);
        loop {
            let Some((page, next)) = self.page(listing, pages.from())? else { return Ok(None) };
            for found in &page {
                match (listing, found.is_object) {
                    (Listing::Objects, _) => self.done.objects.see(&found.entry.key()),
                    (Listing::Versions, true) => self.done.objects_by_version.see(&found.entry.key()),
                    (Listing::Versions, false) => self.done.versions.see(&found.entry.to_string()),
                }
                kept += usize::from(listing == Listing::Versions && found.is_object && !found.is_null());
            }
            let (first, entries) = (page.first().map(|found| found.entry.to_string()), page.len());
            shown += self.delete(page, listing, &mut refusals)?;
            let goes_on = pages.turn(entries, first, next)?;
            if !goes_on || self.is_over() {
                break;
            }
        }
        self.note(refusals);
        let is_cut = self.done.ended.is_some();
        let end = |count: &mut ListingProgress| if is_cut { count.break_off() } else { count.end() };
        match listing {
            Listing::Objects => end(&mut self.done.objects),
            Listing::Versions => {
                end(&mut self.done.versions);
                end(&mut self.done.objects_by_version);
                (self.is_versioned, self.shows_versions) = (kept > 0, shown > 0);
            }
        }
        Ok(Some(if is_cut { 0 } else { shown }))
    }

    /// A page of a listing, and where the next begins; nothing where the target does not list such.
    fn page(&mut self, listing: Listing, from: Option<&Marker>) -> ListingPage {
        let prefix = &self.session.run_prefix;
        if listing == Listing::Versions {
            let Some(page) = self.bucket.versions(from)? else { return Ok(None) };
            let found =
                |version: Version| ListedEntry { entry: Leftover::Version(version.of), is_object: version.is_object };
            return Ok(Some((page.entries.into_iter().map(found).collect(), page.next)));
        }
        let page = self.bucket.objects(prefix, from.map(|from| &from.key))?;
        let own = page.entries.into_iter().map(|o| o.key).filter(|key| is_of_run(key, prefix));
        let found = own.map(|key| ListedEntry { entry: Leftover::Object(key), is_object: true }).collect();
        Ok(Some((found, page.next.map(|key| Marker { key, id: String::new() }))))
    }

    /// Deletes, or names the first in a dry run: an object once, also where it is a version too. Returns how many it
    /// was about. In a bucket without versions each object is one called "null", and is deleted by its key; what is
    /// listed as such at a later look is not, and is deleted by that name.
    fn delete(&mut self, page: Vec<ListedEntry>, listing: Listing, refusals: &mut Refusals) -> Result<usize, Failure> {
        if self.dry_run {
            let named = page.iter().filter(|found| listing == Listing::Objects || !found.is_object);
            for found in named.take(NAMED_MAX + 1) {
                match self.named {
                    ..NAMED_MAX => printing::print(&format!("{}\n", in_line(&found.entry.to_string())))?,
                    NAMED_MAX => printing::print("…\n")?,
                    _ => break,
                }
                self.named += 1;
            }
            return Ok(page.len());
        }
        if listing == Listing::Objects && self.is_versioned {
            return Ok(page.len());
        }
        let is_due = |found: &ListedEntry| {
            !(listing == Listing::Versions && self.is_first && found.is_object && found.is_null())
        };
        let entries: Vec<Leftover> = page.into_iter().filter(is_due).map(|found| found.entry).collect();
        for batch in entries.chunks(self.batch) {
            if self.is_over() {
                break;
            }
            let before = refusals.requested();
            let answered = self.bucket.delete_leftovers(batch, refusals);
            // What was asked for may have been made also where it was not answered.
            self.requested(refusals.requested() - before);
            answered?;
        }
        Ok(entries.len())
    }

    /// Whether it has gone on for as long as it may, which is noted: something is left to be deleted.
    fn is_over(&mut self) -> bool {
        if self.begun.elapsed() >= self.within {
            self.done.ended = Some(gave_up_text(self.within));
        }
        self.done.ended.is_some()
    }

    /// Notes that so much was asked to be deleted, and says now and then how that goes on.
    fn requested(&mut self, entries: usize) {
        self.requested += entries;
        if self.reported.elapsed() >= PROGRESS_INTERVAL {
            self.reported = Instant::now();
            let (place, requested) = (run_location(self.session), grouped(self.requested as u64));
            print_error(&format!("deleting what is below {place}: {requested} deletions were requested so far"));
        }
    }

    /// Notes what the target refused. Only a listing tells what became of it.
    fn note(&mut self, refusals: Refusals) {
        if let Err(error) = refusals.ended() {
            self.done.why = Some(error.to_string());
        }
    }

    /// What was done, in words. The bucket was to be removed, or stays for a reason.
    pub(super) fn said(&self, stays: Option<BucketEnd>) -> String {
        let done = &self.done;
        let found = |count: &ListingProgress| if self.dry_run { count.left() } else { count.deleted() };
        let mut others = String::new();
        let bucket_end = stays.unwrap_or_else(|| match &done.bucket {
            None => BucketEnd::WouldBeRemoved,
            Some(Ok(Removal::Removed)) => BucketEnd::Removed,
            Some(Err(_)) => BucketEnd::Refused,
            Some(Ok(Removal::Kept(found))) if found.own && !found.has_others() => BucketEnd::HoldsOwn,
            Some(Ok(Removal::Kept(found))) => {
                others = bucket_contents_text(found, &self.session.run_prefix);
                if found.is_unseen() { BucketEnd::Unseen } else { BucketEnd::InUse }
            }
        });
        let unknown = match &done.hidden {
            HiddenVersions::Nothing => done.unreached_uploads.clone(),
            HiddenVersions::Versions => {
                Some("the bucket keeps versions, so versions of the run may be left".to_owned())
            }
            HiddenVersions::Perhaps(why) => Some(format!(
                "it is not known whether the bucket keeps versions of the run, which would be left: {why}"
            )),
        };
        cleaned(&Cleaning {
            place: &run_location(self.session),
            bucket: &self.session.bucket,
            dry_run: self.dry_run,
            objects: if self.dry_run { done.objects_left() } else { done.objects_deleted() },
            versions: found(&done.versions),
            uploads: found(&done.uploads),
            left: done.left(),
            is_unsettled: done.is_unsettled() || done.ended.is_some(),
            unlisted: &done.unlisted,
            unknown: unknown.as_deref(),
            bucket_end,
            others: &others,
        })
    }
}

/// A page of leftovers, and where the next begins; nothing where the target does not list them.
type ListingPage = Result<Option<(Vec<ListedEntry>, Option<Marker>)>, BucketError>;

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener};

    use linerate_load::hosts::Host;
    use linerate_record::load::Lookup;

    use super::*;
    use crate::run::cleanup::cleanup_target::CleanupTarget;
    use crate::run::cleanup::plain_session;

    /// A bucket whose listing of objects goes on for ever, with a hundred new ones a page; nothing else is known there.
    fn endless() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut pages = 0;
            for mut stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(&stream);
                let lines = reader.by_ref().lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let length = head.iter().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
                let _ = std::io::copy(&mut reader.take(length.unwrap_or(0)), &mut std::io::sink());
                let is_listing = head.first().is_some_and(|line| line.contains("list-type=2"));
                pages += 1;
                let entries: String =
                    (0..100).map(|i| format!("<Contents><Key>p/{pages}-{i}</Key><Size>1</Size></Contents>")).collect();
                let next = format!("<NextContinuationToken>{pages}</NextContinuationToken>{entries}");
                let listing = format!("<ListBucketResult><IsTruncated>true</IsTruncated>{next}</ListBucketResult>");
                let deletes = head.first().is_some_and(|line| line.starts_with("DELETE"));
                let (status, body) = match (is_listing, deletes) {
                    (true, _) => ("200 OK", listing.as_str()),
                    (_, true) => ("204 No Content", ""),
                    _ => ("501 Not Implemented", ""),
                };
                let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = stream.write_all((head + body).as_bytes());
            }
        });
        address
    }

    #[test]
    fn a_cleaning_ends_in_its_time_and_says_that_it_was_given_up() {
        let address = endless();
        let (authority, prefix) = (address.to_string(), "p/".to_owned());
        let (bucket, region) = ("b".to_owned(), "us-east-1".to_owned());
        let aim = CleanupTarget { hosts: Vec::new(), tls: false, lookup: Lookup::Path, bucket, prefix, region };
        let session = plain_session(1, aim, vec![Host { authority, address }], None);
        // Also while it deletes what a page shows: five deletions each second.
        for cap in [None, Some(5.0)] {
            let bucket = Bucket::connect(&session, 0).unwrap();
            let within = Duration::from_millis(500);
            let mut cleaning = CleanupRun { within, ..CleanupRun::new(bucket, &session, false, cap) };
            cleaning.all().unwrap();
            let said = cleaning.said(None);
            assert!(
                said.starts_with("it is not known whether anything was deleted below s3://b/p/"),
                "{cap:?}: {said}"
            );
            let ended = cleaning.left().unwrap().to_string();
            let why = "it is not known what remains below s3://b/p/: deletion was given up after 500 ms, and listings \
                       still showed something; clean again, or check the target";
            assert_eq!(ended, why, "{cap:?}");
        }
        assert!(gave_up_text(CLEANUP_TIMEOUT).contains("after 1 h, and"));
    }
}
