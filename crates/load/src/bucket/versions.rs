//! Buckets that keep versions: whether one does, and for how long.

use super::call::BucketCall;
use super::leftover_objects::{is_unknown_query, known, lists_objects};
use super::{Bucket, BucketError};
use crate::object_id::ObjectId;

/// What a bucket does with what is deleted in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Versioning {
    /// It goes, or the target does not know of versions.
    #[default]
    Nothing,
    /// It stays as a version, below a delete marker.
    Versions {
        /// Whether whatever is written is held against deletion.
        lock: DefaultLock,
    },
    /// It is not known, and why: these keys may not look, or the answer is none that S3 has for it.
    Unknown(String),
}

/// Whether a bucket locks whatever is written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultLock {
    /// It does not, or the target does not know of locks.
    Open,
    /// It does, for so long: `GOVERNANCE, 1 day`.
    Held(String),
    /// It is not known, and why.
    Unknown(String),
}

fn so_many(n: &str, unit: &str) -> String {
    if n == "1" { format!("1 {unit}") } else { format!("{n} {unit}s") }
}

impl Bucket<'_> {
    /// What the bucket does with what is deleted in it. One whose versions are suspended has those from before. A
    /// target that knows neither this query nor a listing of versions has none.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer.
    pub fn keeping(&mut self) -> Result<Versioning, BucketError> {
        let what = format!("checking whether bucket {:?} keeps versions", self.session.bucket);
        let call = BucketCall { query: b"versioning=", ..BucketCall::new(what, "GET") };
        let mut status = None;
        let answer = self.call_with_deadline(&call)?;
        if lists_objects(&answer) {
            return Ok(Versioning::Nothing);
        }
        let looked = answer.document(&["VersioningConfiguration"], |parent, name, text| {
            if parent == Some("VersioningConfiguration") && name == "Status" {
                status = Some(text.trim().to_owned());
            }
            Ok(())
        });
        match (known(looked), status.as_deref()) {
            // That it keeps none is what S3 says by a document without a status, and a target without versions by not
            // knowing the call. Whatever else is said leaves it open.
            (Err(error), _) if is_unknown_query(&error) && !self.knows_versions()? => Ok(Versioning::Nothing),
            (Err(error), _) if error.is_an_answer() => Ok(Versioning::Unknown(error.to_string())),
            (Err(error), _) => Err(error),
            (Ok(Some(())), Some("Enabled")) => Ok(Versioning::Versions { lock: self.lock()? }),
            (Ok(Some(())), Some(_)) => Ok(Versioning::Versions { lock: DefaultLock::Open }),
            (Ok(_), _) => Ok(Versioning::Nothing),
        }
    }

    /// Whether the target may know a listing of versions.
    fn knows_versions(&mut self) -> Result<bool, BucketError> {
        match self.versions(None) {
            Ok(page) => Ok(page.is_some()),
            Err(error) if error.is_an_answer() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// How long what is written is locked by default.
    fn lock(&mut self) -> Result<DefaultLock, BucketError> {
        let call = BucketCall { query: b"object-lock=", ..BucketCall::new("checking for an object lock", "GET") };
        let answer = self.call_with_deadline(&call)?;
        let is_unlocked =
            answer.status == 404 && answer.code().as_deref() == Some("ObjectLockConfigurationNotFoundError");
        if is_unlocked || lists_objects(&answer) {
            return Ok(DefaultLock::Open);
        }
        let (mut mode, mut length) = (None, None);
        let looked = answer.document(&["ObjectLockConfiguration"], |parent, name, text| {
            match (parent, name) {
                (Some("DefaultRetention"), "Mode") => mode = Some(text.trim().to_owned()),
                (Some("DefaultRetention"), "Days") => length = Some(so_many(text.trim(), "day")),
                (Some("DefaultRetention"), "Years") => length = Some(so_many(text.trim(), "year")),
                _ => {}
            }
            Ok(())
        });
        Ok(match (known(looked), mode) {
            (Err(error), _) if error.is_an_answer() => DefaultLock::Unknown(error.to_string()),
            (Err(error), _) => return Err(error),
            (Ok(Some(())), Some(mode)) => {
                DefaultLock::Held(length.map_or(mode.clone(), |length| format!("{mode}, {length}")))
            }
            (Ok(_), _) => DefaultLock::Open,
        })
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
