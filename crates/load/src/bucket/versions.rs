//! Buckets that keep versions: whether one does, and the deletion of what a run wrote by its versions.

use super::call::BucketCall;
use super::deletion::PAGES_MAX;
use super::{Bucket, BucketError, DELETE_KEYS_MAX, Left, Pages};
use crate::document::walk;
use crate::object::ObjectId;

use super::leftovers::{Leftover, known};

/// How often versions are gone through, as long as a listing shows fewer than before.
const PASSES: usize = 16;

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
    /// with `told` of each. Tells what a last listing still shows; nothing where the target lists no versions.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer, or no listing.
    pub fn sweep_versions(
        &mut self,
        set: Option<u32>,
        batch: usize,
        told: &mut dyn FnMut(usize),
    ) -> Result<Option<Left>, BucketError> {
        let prefix = set.map_or_else(|| self.session.run_prefix.clone(), |set| self.folder(set));
        let mut before = u64::MAX;
        let mut left = Left::default();
        for _ in 0..PASSES {
            let Some(shown) = self.sweep_versions_once(&prefix, batch, told)? else { return Ok(None) };
            left = shown;
            if left.objects == 0 || left.objects >= before || self.refuses_all() {
                break;
            }
            before = left.objects;
        }
        Ok(Some(left))
    }

    /// Deletes what a listing shows, page by page; tells how much that was.
    fn sweep_versions_once(
        &mut self,
        prefix: &str,
        batch: usize,
        told: &mut dyn FnMut(usize),
    ) -> Result<Option<Left>, BucketError> {
        let (mut left, mut pages) = (Left { more: true, ..Left::default() }, Pages::default());
        for _ in 0..PAGES_MAX {
            let Some(mut page) = self.versions_below(prefix, pages.from())? else { return Ok(None) };
            page.entries.retain(|one| one.of.key.starts_with(prefix));
            let first = page.entries.first().map(|one| format!("{} {}", one.of.key, one.of.id));
            let found: Vec<Leftover> = page.entries.into_iter().map(|one| Leftover::Version(one.of)).collect();
            for batch in found.chunks(batch.clamp(1, DELETE_KEYS_MAX)) {
                match self.delete_leftovers(batch) {
                    Err(error) if error.is_an_answer() => left.why = Some(error),
                    other => other?,
                }
                told(batch.len());
            }
            left.more = match pages.turn(first, page.next) {
                // What such a page shows may have been counted before: how much there is is not known.
                Err(error) if left.objects > 0 => {
                    left.why = Some(error);
                    break;
                }
                goes_on => goes_on?,
            };
            left.objects += found.len() as u64;
            if !left.more || self.refuses_all() {
                break;
            }
        }
        Ok(Some(left))
    }

    /// Where the objects of a set are, with a slash at its end.
    pub(super) fn folder(&self, set: u32) -> String {
        let key = self.key(ObjectId { set, seq: 0 }, 0);
        key.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned() + "/"
    }
}
