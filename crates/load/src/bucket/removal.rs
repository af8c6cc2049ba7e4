//! Removal of a bucket that a run made, where nothing is in it.

use std::time::Duration;

use linerate_record::sanitize::clause;

use super::call::BucketCall;
use super::leftover_objects::is_folder_of_run;
use super::paging::first_shown;
use super::{Bucket, BucketError, Versioning, is_of_run};
use crate::listing::Page;
use crate::session::Existing;

/// How often a bucket is looked into before it is removed, and looked for afterwards, and how long it is waited
/// between: one empty listing is not the last word of a target whose listings lag behind.
const REMOVAL_LOOKS: u32 = 3;
const REMOVAL_PAUSE: Duration = Duration::from_millis(300);

/// What became of a bucket that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is no longer there.
    Removed,
    /// It stays, since something is in it, or may be.
    Kept(BucketContents),
}

/// What keeps a bucket, as far as a page of a listing tells. Where it is nothing of this, the target says that the
/// bucket is not empty, and listings show nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BucketContents {
    /// Whether objects, versions or uploads of the run are in it.
    pub own: bool,
    /// Keys of others, the first ones.
    pub others: Vec<String>,
    /// Keys of which versions or delete markers of others are in it, the first ones; looked for where no object is.
    pub versions: Vec<String>,
    /// Whether there may be more of them.
    pub more: bool,
    /// Whether uploads are in it that were begun and not ended.
    pub uploads: bool,
    /// A folder of the run that listings show as an object of no bytes, the first one: file systems behind S3 do.
    pub folder: Option<String>,
    /// Why it is not known whether anything else is in it.
    pub unknown: Option<String>,
}

impl BucketContents {
    /// Whether nothing that is known to be in it would keep it.
    #[must_use]
    pub const fn is_unseen(&self) -> bool {
        (self.folder.is_none() || self.unknown.is_some()) && !self.holds_any()
    }

    /// Whether anything but folders of the run is in it.
    const fn holds_any(&self) -> bool {
        self.own || self.has_others() || self.uploads
    }

    /// Whether objects or versions of others are in it.
    #[must_use]
    pub const fn has_others(&self) -> bool {
        !self.others.is_empty() || !self.versions.is_empty()
    }
}

impl Bucket<'_> {
    /// Removes the bucket where it is empty. It is looked into first, several times, below the run's own prefix and as
    /// a whole, with the versions in it: there are targets that remove a bucket with everything in it. While it is not
    /// known what is in it, it stays. Folders that hold nothing go with it, where the target removes them. It is looked
    /// for afterwards: it is removed where it is no longer there.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn remove(&mut self) -> Result<Removal, BucketError> {
        for look in 0..REMOVAL_LOOKS {
            if look > 0 {
                self.pause(REMOVAL_PAUSE)?;
            }
            let found = self.contents()?;
            if found.holds_any() || found.unknown.is_some() {
                return Ok(Removal::Kept(found));
            }
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
                _ if look + 1 < REMOVAL_LOOKS => self.pause(REMOVAL_PAUSE)?,
                _ => {}
            }
        }
        Err(BucketError::Answer {
            call: format!("{} at {}", call.what, self.authority()),
            why: "the target confirmed it, but the bucket is still there".into(),
        })
    }

    /// What is in the bucket, as far as the first page of each listing tells that shows anything.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn contents(&mut self) -> Result<BucketContents, BucketError> {
        let (run_prefix, mut folder) = (self.session.run_prefix.clone(), None);
        let (own, _) = first_shown(|from| self.objects_without_folders(&run_prefix, from, &mut folder))?;
        let (all, more) = first_shown(|from| self.objects_without_folders("", from, &mut folder))?;
        let mut found = BucketContents { more, folder, ..BucketContents::default() };
        let keys = own.into_iter().chain(all).map(|object| object.key);
        let (own, others): (Vec<String>, Vec<String>) = keys.partition(|key| is_of_run(key, &run_prefix));
        (found.own, found.others) = (!own.is_empty(), others);
        if !found.holds_any() {
            self.find_versions(&mut found)?;
        }
        if !found.holds_any() {
            self.find_uploads(&mut found)?;
        }
        Ok(found)
    }

    /// A page of objects but for folders of the run, the first of which is noted.
    fn objects_without_folders(
        &mut self,
        prefix: &str,
        from: Option<&String>,
        folder: &mut Option<String>,
    ) -> Result<Page<Existing, String>, BucketError> {
        let mut page = self.objects(prefix, from)?;
        let run_prefix = &self.session.run_prefix;
        page.entries.retain(|object| {
            let is_folder = object.size_bytes == 0 && is_folder_of_run(&object.key, run_prefix);
            if is_folder {
                folder.get_or_insert_with(|| object.key.clone());
            }
            !is_folder
        });
        Ok(page)
    }

    /// Looks for versions and delete markers, anybody's.
    fn find_versions(&mut self, found: &mut BucketContents) -> Result<(), BucketError> {
        let mut are_listed = true;
        let listed = first_shown(|from| {
            let page = self.all_versions("", from)?;
            are_listed &= page.is_some();
            let mut page = page.unwrap_or_else(Page::empty);
            page.entries.retain(|version| !is_folder_of_run(&version.of.key, &self.session.run_prefix));
            Ok(page)
        });
        let unlisted = match &listed {
            Err(error) if error.is_an_answer() => Some(error.to_string()),
            Ok(_) if !are_listed => Some("the target does not list versions".to_owned()),
            _ => None,
        };
        if let Some(why) = unlisted {
            // A bucket that never kept any has none, whether or not these keys may list them, or the target lists any.
            found.unknown = match self.keeping()? {
                Versioning::Nothing => None,
                Versioning::Versions { .. } => Some(why),
                Versioning::Unknown(unknown) => Some(format!("{}; and {unknown}", clause(&why))),
            };
            return Ok(());
        }
        let (entries, more) = listed?;
        let (own, mut others): (Vec<String>, Vec<String>) =
            entries.into_iter().map(|version| version.of.key).partition(|key| is_of_run(key, &self.session.run_prefix));
        // Those of a key follow each other.
        others.dedup();
        (found.own, found.versions, found.more) = (!own.is_empty(), others, more);
        Ok(())
    }

    /// Looks for uploads that were begun and not ended, anybody's.
    fn find_uploads(&mut self, found: &mut BucketContents) -> Result<(), BucketError> {
        match self.has_uploads() {
            Err(error) if error.is_an_answer() => {
                found.unknown.get_or_insert_with(|| error.to_string());
            }
            uploads => (found.uploads, found.own) = uploads?,
        }
        Ok(())
    }
}
