//! Buckets that keep versions: whether one does, and for how long.

use super::call::BucketCall;
use super::leftovers::known;
use super::{Bucket, BucketError};
use crate::document::walk;
use crate::object::ObjectId;

/// What a bucket does with what is deleted in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Keeping {
    /// It goes, or the target does not know of versions.
    #[default]
    Nothing,
    /// It stays as a version, below a delete marker.
    Versions {
        /// How long whatever is written is held against deletion: `GOVERNANCE, 1 day`.
        lock: Option<String>,
    },
    /// These keys may not look, and why.
    Unknown(String),
}

impl Bucket<'_> {
    /// What the bucket does with what is deleted in it. One whose versions are suspended has those from before.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer.
    pub fn keeping(&mut self) -> Result<Keeping, BucketError> {
        let what = format!("checking whether bucket {:?} keeps versions", self.session.bucket);
        let call = BucketCall { query: b"versioning=", ..BucketCall::new(what, "GET") };
        let mut status = None;
        let looked = self.call_patiently(&call)?.document(&["VersioningConfiguration"], |parent, name, text| {
            if parent == Some("VersioningConfiguration") && name == "Status" {
                status = Some(text.trim().to_owned());
            }
            Ok(())
        });
        match (known(looked), status.as_deref()) {
            (Err(error @ BucketError::Refused { status: 403 | 500.., .. }), _) => {
                Ok(Keeping::Unknown(error.to_string()))
            }
            // It answers what is asked for with something else: such a target knows of no versions.
            (Err(error), _) if error.is_an_answer() => Ok(Keeping::Nothing),
            (Err(error), _) => Err(error),
            (Ok(Some(())), Some("Enabled")) => Ok(Keeping::Versions { lock: self.lock()? }),
            (Ok(Some(())), Some(_)) => Ok(Keeping::Versions { lock: None }),
            (Ok(_), _) => Ok(Keeping::Nothing),
        }
    }

    /// How long what is written is locked by default; nothing where it is not, or where these keys may not look: the
    /// deletion tells.
    fn lock(&mut self) -> Result<Option<String>, BucketError> {
        let call = BucketCall { query: b"object-lock=", ..BucketCall::new("checking for an object lock", "GET") };
        let answer = self.call_patiently(&call)?;
        let (mut mode, mut length) = (None, None);
        let looked = answer.ok().and_then(|answer| {
            let on_end = |parent: Option<&str>, name: &str, text: &mut String| {
                match (parent, name) {
                    (Some("DefaultRetention"), "Mode") => mode = Some(text.trim().to_owned()),
                    (Some("DefaultRetention"), "Days") => length = Some(format!("{} days", text.trim())),
                    (Some("DefaultRetention"), "Years") => length = Some(format!("{} years", text.trim())),
                    _ => {}
                }
                Ok(())
            };
            walk(&answer.body, &["ObjectLockConfiguration"], on_end)
                .map_err(|why| BucketError::Answer { call: answer.asked, why })
        });
        Ok(looked.ok().and(mode).map(|mode| length.map_or(mode.clone(), |length| format!("{mode}, {length}"))))
    }

    /// Whether a listing of versions shows anything of the run, where it shows something at all.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn has_versions(&mut self) -> Result<bool, BucketError> {
        Ok(self.versions(None)?.is_some_and(|page| !page.entries.is_empty()))
    }

    /// Where the objects of a set are, with a slash at its end.
    pub(super) fn folder(&self, set: u32) -> String {
        let key = self.key(ObjectId { set, seq: 0 }, 0);
        key.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned() + "/"
    }
}
