//! What a cleaning found and deleted, counted.

use linerate_load::bucket::{BucketError, ListingProgress, Removal};

/// What was found and deleted; in a dry run, what was found.
#[derive(Default)]
pub(super) struct CleanupCounts {
    pub(super) objects: ListingProgress,
    /// Objects as a listing of versions shows them: what a listing of objects hides, it may still show.
    pub(super) objects_by_version: ListingProgress,
    pub(super) versions: ListingProgress,
    pub(super) uploads: ListingProgress,
    /// What the target said last of a deletion that it did not make.
    pub(super) why: Option<String>,
    /// What could not be looked for, and why; no reason where this target does not list such.
    pub(super) unlisted: Vec<(&'static str, Option<String>)>,
    /// What is not known of versions, or is known to be hidden from these keys.
    pub(super) hidden: HiddenVersions,
    /// Why uploads of the run may be left that no listing was followed to: it is not looked for them again.
    pub(super) unreached_uploads: Option<String>,
    /// Why nothing more was deleted, though a listing went on.
    pub(super) ended: Option<String>,
    /// What became of the bucket that was to be removed; an answer that refuses it.
    pub(super) bucket: Option<Result<Removal, BucketError>>,
}

/// What a bucket may hold of versions that were not listed.
#[derive(Default)]
pub(super) enum HiddenVersions {
    /// Nothing: they were listed, or it keeps none.
    #[default]
    Nothing,
    Versions,
    /// Whether it keeps them is not known, and why.
    Perhaps(String),
}

impl CleanupCounts {
    pub(super) fn all(&mut self) -> [&mut ListingProgress; 4] {
        [&mut self.objects, &mut self.objects_by_version, &mut self.versions, &mut self.uploads]
    }

    pub(super) fn look(&mut self) {
        self.unlisted.clear();
        self.hidden = HiddenVersions::Nothing;
        self.all().into_iter().for_each(ListingProgress::look);
    }

    /// Believes that what has not been shown for some looks has gone.
    pub(super) fn believe(&mut self) {
        self.all().into_iter().for_each(ListingProgress::believe);
    }

    /// Objects that are still there, by whichever listing shows more.
    pub(super) fn objects_left(&self) -> usize {
        self.objects.left().max(self.objects_by_version.left())
    }

    pub(super) fn objects_deleted(&self) -> usize {
        self.objects.in_all().max(self.objects_by_version.in_all()) - self.objects_left()
    }

    pub(super) fn deleted(&self) -> usize {
        self.objects_deleted() + self.versions.deleted() + self.uploads.deleted()
    }

    pub(super) fn left(&self) -> usize {
        self.objects_left() + self.versions.left() + self.uploads.left()
    }

    /// Notes what could not be looked for, and why: what else there is is cleaned all the same.
    pub(super) fn note_unlisted(&mut self, what: &'static str, denied: Option<&BucketError>) {
        self.unlisted.push((what, denied.map(ToString::to_string)));
    }

    pub(super) fn counts(&self) -> [&ListingProgress; 4] {
        [&self.objects, &self.objects_by_version, &self.versions, &self.uploads]
    }

    /// Whether the last look showed again what was not shown before.
    pub(super) fn wavers(&self) -> bool {
        self.counts().iter().any(|count| count.wavers())
    }

    /// Whether some look did, and it was not believed since that it has gone.
    pub(super) fn is_unsettled(&self) -> bool {
        self.counts().iter().any(|count| count.is_unsettled())
    }
}
