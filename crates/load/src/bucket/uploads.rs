//! Multipart uploads of a run that were not completed: aborted by their ids, and looked for below its prefix.

use super::{Bucket, BucketError, Left};
use crate::listing::Identified;
use crate::multipart::Unfinished;

/// How often what is listed is aborted: a listing may tell of uploads that are gone, and one may be begun late.
const PASSES: usize = 3;

impl Bucket<'_> {
    /// Aborts an upload of the run. One that is not there any more counts as aborted.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn abort(&mut self, unfinished: &Unfinished) -> Result<(), BucketError> {
        let key = self.key(unfinished.id, unfinished.size_bytes);
        if let Some(id) = &unfinished.upload_id {
            return self.abort_upload(&Identified { key, id: id.clone() });
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
    pub fn sweep_uploads(&mut self) -> Result<Option<Left>, BucketError> {
        let mut why = None;
        for _ in 0..PASSES {
            let Some(uploads) = self.uploads()? else { return Ok(None) };
            if uploads.is_empty() {
                return Ok(Some(Left::default()));
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
        let left = self.uploads()?.unwrap_or_default().len() as u64;
        Ok(Some(Left { objects: left, why, ..Left::default() }))
    }
}
