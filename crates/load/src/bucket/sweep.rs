//! What is left of a run, deleted from what listings show of it and counted by them: objects, or versions of objects.

use std::time::Duration;

use super::deletion::Refusals;
use super::listing_progress::{ListingLooks, ListingProgress};
use super::{Bucket, BucketError, DELETE_KEYS_MAX, LeftObjects, Leftover, Pages, is_of_run};
use crate::listing::Marker;

/// Times that what a listing still shows is deleted once more within a look, as long as it shows less than before.
const PASSES_MAX: usize = 64;

/// Pages of a thousand that are counted of what could not be deleted: more would cost more than they tell.
const COUNTED_PAGES_MAX: usize = 100;

/// How long it is waited between looks: one empty listing is not the last word of a target whose listings lag behind.
/// Where they have contradicted each other, each look waits for longer.
const BRIEFLY: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_secs(1);

/// Told after how many more deletions that were asked for; an error says why it does not go on.
pub type ContinueCheck<'a> = dyn FnMut(u64) -> Result<(), String> + 'a;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Objects,
    Versions,
}

/// One page: what of it is the run's own with its sizes, and where the next begins, in words of either kind.
struct RunPage {
    entries: Vec<(Leftover, u64)>,
    next: Option<(String, String)>,
}

/// How a look came to its end.
#[derive(Default)]
struct LookEnd {
    /// What the target said last of a deletion that it did not make, or what is wrong with its listing.
    why: Option<BucketError>,
    /// Whether the last listing was not gone through to its end.
    cut: bool,
}

impl Bucket<'_> {
    /// Deletes whatever objects are left below the run's own prefix, until listings show nothing at several looks, show
    /// as much again and again, or `goes_on` says otherwise; tells what a last listing still shows.
    /// Where deletions were refused before, listings that show nothing are doubted for longer.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer, or no listing.
    pub fn sweep_up(
        &mut self,
        were_refused: bool,
        goes_on: &mut ContinueCheck<'_>,
    ) -> Result<LeftObjects, BucketError> {
        let (prefix, looks) = (self.session.run_prefix.clone(), ListingLooks::in_doubt(were_refused));
        let swept = self.sweep(Kind::Objects, &prefix, DELETE_KEYS_MAX, looks, goes_on)?;
        Ok(swept.unwrap_or_default())
    }

    /// The same of all versions and delete markers, or of those of one set: by version, in batches of so many at the
    /// most. Nothing where the target lists no versions. Of one set it is looked once: the end of the run looks again.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer, or no listing.
    pub fn sweep_versions(
        &mut self,
        set: Option<u32>,
        batch: usize,
        goes_on: &mut ContinueCheck<'_>,
    ) -> Result<Option<LeftObjects>, BucketError> {
        let Some(set) = set else {
            let prefix = self.session.run_prefix.clone();
            return self.sweep(Kind::Versions, &prefix, batch, ListingLooks::default(), goes_on);
        };
        let (prefix, mut shown) = (self.folder(set), ListingProgress::default());
        let passed = self.passes(Kind::Versions, &prefix, batch, &mut shown, goes_on)?;
        let left = |passed: LookEnd| LeftObjects {
            objects: shown.left() as u64,
            seen: shown.in_all() as u64,
            more: passed.cut,
            why: passed.why,
            ..LeftObjects::default()
        };
        Ok(passed.map(left))
    }

    /// Looks and deletes until the looks are enough.
    fn sweep(
        &mut self,
        kind: Kind,
        prefix: &str,
        batch: usize,
        mut looks: ListingLooks,
        goes_on: &mut ContinueCheck<'_>,
    ) -> Result<Option<LeftObjects>, BucketError> {
        let mut shown = ListingProgress::default();
        let passed = loop {
            let before = shown.deleted();
            shown.look();
            let Some(passed) = self.passes(kind, prefix, batch, &mut shown, goes_on)? else { return Ok(None) };
            looks.made(shown.deleted() <= before, shown.wavers());
            if shown.left() > 0 && passed.why.is_none() {
                // It was confirmed, and is shown: listings may lag behind.
                looks.doubt();
            }
            if passed.cut || !self.looks_again(&looks, &shown, passed.why.is_some()) {
                break passed;
            }
        };
        if looks.are_believed() {
            shown.believe();
        }
        if shown.left() == 0 && !passed.cut {
            return Ok(Some(LeftObjects { seen: shown.in_all() as u64, ..LeftObjects::default() }));
        }
        let counted = self.count(kind, prefix, &mut shown)?;
        let (left, why) = (shown.left() as u64, counted.why.or(passed.why));
        let (objects, seen, wavers) = (left.max(counted.objects), shown.in_all() as u64, shown.is_unsettled());
        Ok(Some(LeftObjects { objects, seen, why: why.filter(|_| left > 0), wavers, ..counted }))
    }

    /// Whether there is another look, for which it is waited. What is refused while a listing shows it is there.
    pub(super) fn looks_again(&self, looks: &ListingLooks, shown: &ListingProgress, was_refused: bool) -> bool {
        let is_refused = was_refused && shown.left() > 0 && !shown.wavers();
        let pause = if looks.wavered() { LATE } else { BRIEFLY };
        !is_refused && !looks.are_over() && self.cancel.pause(pause).is_ok()
    }

    /// Goes through listings and deletes what they show, as long as they show less and less; nothing where the target
    /// does not list such.
    fn passes(
        &mut self,
        kind: Kind,
        prefix: &str,
        batch: usize,
        shown: &mut ListingProgress,
        goes_on: &mut ContinueCheck<'_>,
    ) -> Result<Option<LookEnd>, BucketError> {
        // What was as much at the look before is not asked for again and again.
        let is_first = shown.in_all() == 0;
        let (mut before, stuck_max) = if is_first { (usize::MAX, 2) } else { (shown.last(), 1) };
        let mut stuck = 0;
        let mut passed = LookEnd::default();
        for _ in 0..PASSES_MAX {
            let Some(pass) = self.pass(kind, prefix, batch, shown, goes_on)? else { return Ok(None) };
            passed = pass;
            stuck = if shown.last() < before { 0 } else { stuck + 1 };
            if passed.cut || shown.last() == 0 || stuck == stuck_max {
                break;
            }
            before = shown.last();
        }
        Ok(Some(passed))
    }

    /// Goes through a listing once, page by page, and deletes what it shows.
    fn pass(
        &mut self,
        kind: Kind,
        prefix: &str,
        batch: usize,
        shown: &mut ListingProgress,
        goes_on: &mut ContinueCheck<'_>,
    ) -> Result<Option<LookEnd>, BucketError> {
        let (mut pages, mut refusals, mut any) = (Pages::default(), Refusals::default(), false);
        let mut reported = Ok(());
        let mut passed = LookEnd::default();
        loop {
            let Some(page) = self.own_page(kind, prefix, pages.from())? else { return Ok(None) };
            page.entries.iter().for_each(|(entry, _)| shown.see(&entry.to_string()));
            let (first, len) = (page.entries.first().map(|(entry, _)| entry.to_string()), page.entries.len());
            let entries: Vec<Leftover> = page.entries.into_iter().map(|(entry, _)| entry).collect();
            for batch in entries.chunks(batch.clamp(1, DELETE_KEYS_MAX)) {
                self.delete_leftovers(batch, &mut refusals)?;
                reported = goes_on(batch.len() as u64);
                passed.cut = reported.is_err() || self.refuses_all();
                if passed.cut {
                    break;
                }
            }
            // An empty page costs time too.
            if entries.is_empty() {
                reported = goes_on(0);
                passed.cut |= reported.is_err();
            }
            any |= len > 0;
            match pages.turn(len, first, page.next) {
                Ok(false) => break,
                Ok(true) if !passed.cut => {}
                Ok(true) => break,
                Err(error) if !any => return Err(error),
                // What such a page shows may have been counted before: how much there is is not known.
                Err(error) => {
                    (passed.cut, passed.why) = (true, Some(error));
                    break;
                }
            }
        }
        if passed.cut {
            shown.break_off()
        } else {
            shown.end()
        }
        let given_up = reported.err().map(BucketError::GivenUp);
        passed.why = passed.why.or(refusals.ended().err()).or(given_up);
        Ok(Some(passed))
    }

    /// What is shown of the run's objects, by the last word of listings. Nothing is deleted: in a bucket that keeps
    /// versions, that would only hide them.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer, or no listing.
    pub fn still_shown(&mut self) -> Result<LeftObjects, BucketError> {
        let (prefix, mut shown) = (self.session.run_prefix.clone(), ListingProgress::default());
        let mut looks = ListingLooks::default();
        let counted = loop {
            let before = (shown.in_all(), shown.deleted());
            shown.look();
            let counted = self.count(Kind::Objects, &prefix, &mut shown)?;
            looks.made((shown.in_all(), shown.deleted()) == before, shown.wavers());
            if shown.left() > 0 {
                looks.doubt();
            }
            if !self.looks_again(&looks, &shown, false) {
                break counted;
            }
        };
        if looks.are_believed() {
            shown.believe();
        }
        let (objects, wavers) = (shown.left() as u64, shown.is_unsettled());
        Ok(LeftObjects { objects: objects.max(counted.objects), wavers, ..counted })
    }

    /// What a listing shows below `prefix`, as far as it is gone through.
    fn count(&mut self, kind: Kind, prefix: &str, shown: &mut ListingProgress) -> Result<LeftObjects, BucketError> {
        let (mut left, mut pages) = (LeftObjects { more: true, ..LeftObjects::default() }, Pages::default());
        for _ in 0..COUNTED_PAGES_MAX {
            let Some(page) = self.own_page(kind, prefix, pages.from())? else { break };
            let first = page.entries.first().map(|(entry, _)| entry.to_string());
            match pages.turn(page.entries.len(), first, page.next) {
                // What such a page shows may have been counted before.
                Err(error) if left.objects > 0 => {
                    left.why = Some(error);
                    break;
                }
                goes_on => left.more = goes_on?,
            }
            for (entry, size_bytes) in &page.entries {
                shown.see(&entry.to_string());
                left.objects += 1;
                left.bytes = left.bytes.saturating_add(*size_bytes);
            }
            if !left.more {
                break;
            }
        }
        if left.more {
            shown.break_off()
        } else {
            shown.end()
        }
        Ok(left)
    }

    /// A page of what there is of the run; nothing where the target does not list such. A listing that ignored its
    /// prefix must not lead to a deletion outside it.
    fn own_page(
        &mut self,
        kind: Kind,
        prefix: &str,
        from: Option<&(String, String)>,
    ) -> Result<Option<RunPage>, BucketError> {
        let run_prefix = self.session.run_prefix.as_str();
        let is_own = |key: &str| key.starts_with(prefix) && is_of_run(key, run_prefix);
        if kind == Kind::Objects {
            let page = self.objects(prefix, from.map(|(token, _)| token))?;
            let own = page.entries.into_iter().filter(|object| is_own(&object.key));
            let entries = own.map(|object| (Leftover::Object(object.key), object.size_bytes)).collect();
            return Ok(Some(RunPage { entries, next: page.next.map(|token| (token, String::new())) }));
        }
        let from = from.map(|(key, id)| Marker { key: key.clone(), id: id.clone() });
        let Some(page) = self.versions_below(prefix, from.as_ref())? else { return Ok(None) };
        let own = page.entries.into_iter().filter(|version| is_own(&version.of.key));
        let entries = own.map(|version| (Leftover::Version(version.of), 0)).collect();
        Ok(Some(RunPage { entries, next: page.next.map(|marker| (marker.key, marker.id)) }))
    }
}
