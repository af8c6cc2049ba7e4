//! Buckets that keep versions: whether one does, and the deletion of what a run wrote by its versions.

use super::call::BucketCall;
use super::{Bucket, BucketError, DELETE_KEYS_MAX, Left, Pages};
use crate::document::walk;
use crate::object::ObjectId;

use super::leftovers::{Leftover, known};

/// How often versions are gone through, as long as a listing shows fewer than before.
const PASSES: usize = 16;

/// Pages of a thousand after which a listing is taken not to end: a hundred million versions.
const PAGES_MAX: usize = 100_000;

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
        let looked = self.call(&call)?.document(&["VersioningConfiguration"], |parent, name, text| {
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
        let answer = self.call(&call)?;
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

    /// Deletes by version whatever there is of a set of the run, or of all of them: in batches of so many at the most,
    /// with `rest` told of each. Tells what a last listing still shows; nothing where the target lists no versions.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer, or no listing.
    pub fn sweep_versions(
        &mut self,
        set: Option<u32>,
        batch: usize,
        rest: &mut dyn FnMut(usize),
    ) -> Result<Option<Left>, BucketError> {
        let prefix = set.map_or_else(|| self.session.run_prefix.clone(), |set| self.folder(set));
        let mut before = usize::MAX;
        let mut left = Left::default();
        for _ in 0..PASSES {
            let (mut shown, mut pages) = (0, Pages::default());
            left = Left::default();
            for _ in 0..PAGES_MAX {
                let Some(mut page) = self.versions_below(&prefix, pages.from())? else { return Ok(None) };
                // A listing that ignored its prefix must not lead to a deletion outside it.
                page.entries.retain(|one| one.key.starts_with(&prefix));
                let first = page.entries.first().map(|one| format!("{} {}", one.key, one.id));
                shown += page.entries.len();
                let found: Vec<Leftover> = page.entries.into_iter().map(Leftover::Version).collect();
                for batch in found.chunks(batch.clamp(1, DELETE_KEYS_MAX)) {
                    match self.delete_leftovers(batch) {
                        Err(error) if error.is_an_answer() => left.why = Some(error),
                        other => other?,
                    }
                    rest(batch.len());
                }
                if !pages.turn(first, page.next)? {
                    break;
                }
            }
            left.objects = shown as u64;
            if shown == 0 || shown >= before {
                break;
            }
            before = shown;
        }
        Ok(Some(left))
    }

    /// Where the objects of a set are, with a slash at its end.
    pub(super) fn folder(&self, set: u32) -> String {
        let key = self.key(ObjectId { set, seq: 0 }, 0);
        key.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned() + "/"
    }
}
