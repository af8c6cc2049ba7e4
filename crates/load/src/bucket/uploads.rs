//! Multipart uploads of a run that were not completed: aborted by their ids, and looked for below its prefix.

use super::{Bucket, BucketError};
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
        for upload in self.uploads()?.unwrap_or_default().iter().filter(|upload| upload.key == key) {
            self.abort_upload(upload)?;
        }
        Ok(())
    }

    /// Aborts every upload below the run's own prefix; returns how many remain, which is 0 where the target lists none.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn sweep_uploads(&mut self) -> Result<usize, BucketError> {
        for _ in 0..PASSES {
            let uploads = self.uploads()?.unwrap_or_default();
            if uploads.is_empty() {
                return Ok(0);
            }
            for upload in &uploads {
                match self.abort_upload(upload) {
                    // The next listing tells what became of it.
                    Err(error) if error.is_an_answer() => {}
                    other => other?,
                }
            }
        }
        Ok(self.uploads()?.map_or(0, |left| left.len()))
    }
}
