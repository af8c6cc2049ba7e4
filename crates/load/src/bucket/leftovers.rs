//! What a run left below its prefix: objects, versions of objects, uploads that were begun.

use super::{Bucket, BucketError, DELETE_KEYS_MAX};
use crate::listing::{self, Identified, Marker, Page};
use crate::sigv4::push_encoded_query;

/// Most uploads looked through where a target lists them all or none.
const FOREIGN_UPLOADS_MAX: usize = 100_000;

/// Something of the run that is still at the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// An object: its key.
    Object(String),
    /// A version of an object, or a delete marker.
    Version(Identified),
}

impl Leftover {
    /// Its key.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Leftover::Object(key) => key,
            Leftover::Version(version) => &version.key,
        }
    }
}

impl Bucket<'_> {
    /// One page of the versions and delete markers below the run's prefix; `None` where the target does not know of
    /// versions.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn versions(&mut self, from: Option<&Marker>) -> Result<Option<Page<Identified, Marker>>, BucketError> {
        let prefix = self.session.run_prefix.clone();
        let mut names = vec![("versions", ""), ("prefix", &prefix), ("max-keys", "1000")];
        names.extend(from.into_iter().flat_map(|from| [("key-marker", &*from.key), ("version-id-marker", &*from.id)]));
        let page = self.page(&query(names), &format!("listing versions below {prefix:?}"), listing::versions);
        known(page).map(|page| page.map(|page| Page { entries: self.own(page.entries), next: page.next }))
    }

    /// Uploads below the run's prefix that were begun and not ended; `None` where the target does not list them.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn uploads(&mut self) -> Result<Option<Vec<Identified>>, BucketError> {
        let prefix = self.session.run_prefix.clone();
        let Some(below) = self.own_uploads(&prefix)? else { return Ok(None) };
        if !below.is_empty() {
            return Ok(Some(below));
        }
        // MinIO takes the prefix for a whole key, unless it is empty.
        self.own_uploads("")
    }

    /// Whether anybody's upload was begun and not ended, as far as these keys may see.
    pub(super) fn has_uploads(&mut self) -> Result<bool, BucketError> {
        let query = query(vec![("uploads", ""), ("max-uploads", "1")]);
        match self.page(&query, "listing uploads", listing::uploads) {
            Err(BucketError::Refused { .. }) => Ok(false),
            page => Ok(!page?.entries.is_empty()),
        }
    }

    fn own_uploads(&mut self, prefix: &str) -> Result<Option<Vec<Identified>>, BucketError> {
        let (mut own, mut seen, mut from) = (Vec::new(), 0, None::<Marker>);
        while seen < FOREIGN_UPLOADS_MAX {
            let mut names = vec![("uploads", ""), ("prefix", prefix), ("max-uploads", "1000")];
            let marker = from.as_ref();
            names.extend(marker.into_iter().flat_map(|m| [("key-marker", &*m.key), ("upload-id-marker", &*m.id)]));
            let page = self.page(&query(names), &format!("listing uploads below {prefix:?}"), listing::uploads);
            let Some(page) = known(page)? else { return Ok(None) };
            seen += page.entries.len().max(1);
            own.extend(self.own(page.entries));
            if page.next.is_none() || page.next == from {
                break;
            }
            from = page.next;
        }
        Ok(Some(own))
    }

    /// A listing that ignored its prefix must not lead to a deletion outside it.
    fn own(&self, mut listed: Vec<Identified>) -> Vec<Identified> {
        listed.retain(|entry| entry.key.starts_with(&self.session.run_prefix));
        listed
    }

    /// Deletes at most [`DELETE_KEYS_MAX`] of what the run left; what does not lie below its prefix is passed over.
    /// Returns how many were deleted.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn delete_leftovers(&mut self, left: &[Leftover]) -> Result<usize, BucketError> {
        let own = left.iter().filter(|one| one.key().starts_with(&self.session.run_prefix)).take(DELETE_KEYS_MAX);
        let keys: Vec<(String, Option<String>)> = own
            .map(|one| match one {
                Leftover::Object(key) => (key.clone(), None),
                Leftover::Version(version) => (version.key.clone(), Some(version.id.clone())),
            })
            .collect();
        if keys.is_empty() {
            return Ok(0);
        }
        let refused = self.delete_keys(&keys)?;
        Ok(keys.len().saturating_sub(refused))
    }

    /// Gives up an upload of the run; `false` where it is no longer there, or is not the run's.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn abort_upload(&mut self, upload: &Identified) -> Result<bool, BucketError> {
        if !upload.key.starts_with(&self.session.run_prefix) {
            return Ok(false);
        }
        let answer = self.call_at(&upload.key, "DELETE", &query(vec![("uploadId", &upload.id)]), &[], &[])?;
        if answer.status == 404 {
            return Ok(false);
        }
        answer.ok(&format!("giving up an upload of {:?}", upload.key)).map(|_| true)
    }
}

/// In the order of names, as SigV4 wants it.
pub(super) fn query(mut names: Vec<(&str, &str)>) -> Vec<u8> {
    names.sort_unstable();
    let mut out = Vec::new();
    for (name, value) in names {
        if !out.is_empty() {
            out.push(b'&');
        }
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        push_encoded_query(value, &mut out);
    }
    out
}

/// A target that does not know a call is no failure.
fn known<T>(page: Result<T, BucketError>) -> Result<Option<T>, BucketError> {
    match page {
        Err(BucketError::Refused { status: 405 | 501, .. }) => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_in_the_order_of_its_names() {
        let names = vec![("versions", ""), ("prefix", "a/b c"), ("version-id-marker", "1"), ("key-marker", "k")];
        let expected = "key-marker=k&prefix=a%2Fb%20c&version-id-marker=1&versions=";
        assert_eq!(String::from_utf8(query(names)).unwrap(), expected);
    }
}
