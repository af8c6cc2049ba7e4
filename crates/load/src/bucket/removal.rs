//! Removal of a bucket that a run made, where nothing is in it.

use std::time::Duration;

use super::call::BucketCall;
use super::{Bucket, BucketError, is_of_run};

/// How often a bucket that was removed is looked for, and how long it is waited between.
const REMOVAL_LOOKS: u32 = 3;
const REMOVAL_PAUSE: Duration = Duration::from_millis(300);

/// What became of a bucket that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is no longer there.
    Removed,
    /// It stays, since something is in it.
    Kept(InBucket),
}

/// What keeps a bucket, as far as a page of a listing tells. Where it is nothing of this, the target says that the
/// bucket is not empty, and listings show nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InBucket {
    /// Whether objects or uploads of the run are in it.
    pub own: bool,
    /// Keys of others, the first ones.
    pub others: Vec<String>,
    /// Whether there may be more of them.
    pub more: bool,
    /// Whether uploads are in it that were begun and not ended.
    pub uploads: bool,
}

impl InBucket {
    /// Whether listings show nothing that would keep it.
    #[must_use]
    pub const fn is_unseen(&self) -> bool {
        !self.own && self.others.is_empty() && !self.uploads
    }
}

impl Bucket<'_> {
    /// Removes the bucket where it is empty. It is looked into first, below the run's own prefix and as a whole: there
    /// are targets that remove a bucket with everything in it. It is looked for afterwards: it is removed where it
    /// is no longer there.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn remove(&mut self) -> Result<Removal, BucketError> {
        let found = self.contents()?;
        if !found.is_unseen() {
            return Ok(Removal::Kept(found));
        }
        let call = BucketCall::new(format!("removing bucket {:?}", self.session.bucket), "DELETE");
        let answer = self.call(&call)?;
        if answer.status == 409 && answer.code().as_deref() == Some("BucketNotEmpty") {
            // What was not shown a moment ago may be shown now.
            return self.contents().map(Removal::Kept);
        }
        answer.done(self.session)?;
        for look in 0..REMOVAL_LOOKS {
            match self.exists() {
                Ok((false, _)) => return Ok(Removal::Removed),
                Err(error) if !error.is_busy() => return Err(error),
                _ if look + 1 < REMOVAL_LOOKS => self.rest(REMOVAL_PAUSE)?,
                _ => {}
            }
        }
        Err(BucketError::Answer {
            call: format!("{} at {}", call.what, self.authority()),
            why: "the target confirmed it, but the bucket is still there".into(),
        })
    }

    /// What is in the bucket, as far as a page of each listing tells.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn contents(&mut self) -> Result<InBucket, BucketError> {
        let run_prefix = self.session.run_prefix.clone();
        let own = self.objects(&run_prefix, None)?;
        let all = self.objects("", None)?;
        let mut found = InBucket { more: all.next.is_some(), ..InBucket::default() };
        let keys = own.entries.into_iter().chain(all.entries).map(|object| object.key);
        let (own, others): (Vec<String>, Vec<String>) = keys.partition(|key| is_of_run(key, &run_prefix));
        (found.own, found.others) = (!own.is_empty(), others);
        if own.is_empty() && found.others.is_empty() {
            let (any, is_own) = self.has_uploads()?;
            (found.uploads, found.own) = (any, is_own);
        }
        Ok(found)
    }
}
