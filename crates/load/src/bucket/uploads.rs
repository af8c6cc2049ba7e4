//! Multipart uploads of a run that were not completed: aborted by their ids, and looked for below its prefix.

use super::listing_progress::{ListingLooks, ListingProgress};
use super::{Bucket, BucketError, LeftObjects};
use crate::listing::KeyVersion;
use crate::multipart::UnfinishedUpload;

/// How often what is listed is aborted at one look: a listing may tell of uploads that are gone, and one may be
/// begun late.
const PASSES: usize = 3;

impl Bucket<'_> {
    /// Aborts an upload of the run. One that is not there any more counts as aborted.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn abort(&mut self, unfinished: &UnfinishedUpload) -> Result<(), BucketError> {
        let key = self.key(unfinished.id, unfinished.size_bytes);
        if let Some(id) = &unfinished.upload_id {
            return self.abort_upload(&KeyVersion { key, id: id.clone() });
        }
        // The answer that would have named it did not come: whatever is under way for this key is it.
        let mut said = Ok(());
        for upload in self.uploads()?.unwrap_or_default().iter().filter(|upload| upload.key == key) {
            match self.abort_upload(upload) {
                Err(error) if error.is_an_answer() => said = Err(error),
                other => other?,
            }
        }
        said
    }

    /// Aborts every upload below the run's own prefix; tells what a last listing still shows. Nothing where the target
    /// lists no uploads.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer, or no listing.
    pub fn sweep_uploads(&mut self) -> Result<Option<LeftObjects>, BucketError> {
        let (mut shown, mut looks, mut why) = (ListingProgress::default(), ListingLooks::default(), None);
        loop {
            let before = shown.deleted();
            shown.look();
            for _ in 0..PASSES {
                let Some(uploads) = self.uploads()? else { return Ok(None) };
                uploads.iter().for_each(|upload| shown.see(&(&upload.key, &upload.id)));
                shown.end();
                if uploads.is_empty() {
                    break;
                }
                why = None;
                for upload in &uploads {
                    match self.abort_upload(upload) {
                        // The next listing tells what became of it.
                        Err(error) if error.is_an_answer() => why = Some(error),
                        other => other?,
                    }
                }
            }
            looks.made(shown.deleted() <= before, shown.wavers());
            if !self.looks_again(&looks, &shown, why.is_some()) {
                break;
            }
        }
        if looks.are_believed() {
            shown.believe();
        }
        if shown.left() > 0 {
            self.uploads()?.iter().flatten().for_each(|upload| shown.see(&(&upload.key, &upload.id)));
            shown.end();
        }
        let (objects, wavers) = (shown.left() as u64, shown.is_unsettled());
        Ok(Some(LeftObjects { objects, why: why.filter(|_| objects > 0), wavers, ..LeftObjects::default() }))
    }
}
