//! What a run left below its prefix: objects, versions of objects, uploads that were begun.

use std::fmt;

use super::call::BucketCall;
use super::deletion::Refusals;
use super::paging::first_shown;
use super::{Bucket, BucketError, DELETE_KEYS_MAX, Pages};
use crate::listing::{self, KeyVersion, Marker, Page, Version};
use crate::sigv4::push_encoded_query;

/// Most uploads looked through where a target lists them all or none; what lies behind is told.
const FOREIGN_UPLOADS_MAX: usize = 100_000;

/// Something of the run that is still at the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// An object: its key.
    Object(String),
    /// A version of an object, or a delete marker.
    Version(KeyVersion),
}

impl Leftover {
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Leftover::Object(key) => key,
            Leftover::Version(version) => &version.key,
        }
    }
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Leftover::Object(key) => write!(f, "object   {key}"),
            Leftover::Version(version) => write!(f, "version  {} {}", version.key, version.id),
        }
    }
}

impl Bucket<'_> {
    /// One page of the versions and delete markers below the run's prefix; `None` where the target does not know of
    /// versions.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn versions(&mut self, from: Option<&Marker>) -> Result<Option<Page<Version, Marker>>, BucketError> {
        let prefix = self.session.run_prefix.clone();
        self.versions_below(&prefix, from)
    }

    /// The same below a part of it.
    pub(super) fn versions_below(
        &mut self,
        prefix: &str,
        from: Option<&Marker>,
    ) -> Result<Option<Page<Version, Marker>>, BucketError> {
        let session = self.session;
        // A listing that ignored its prefix must not lead to a deletion outside it.
        let own = |mut page: Page<Version, Marker>| {
            page.entries.retain(|entry| is_of_run(&entry.of.key, &session.run_prefix));
            page
        };
        self.all_versions(prefix, from).map(|page| page.map(own))
    }

    /// The same, whosever they are.
    pub(super) fn all_versions(
        &mut self,
        prefix: &str,
        from: Option<&Marker>,
    ) -> Result<Option<Page<Version, Marker>>, BucketError> {
        let mut names = vec![("versions", ""), ("prefix", prefix), ("max-keys", "1000")];
        names.extend(from.into_iter().flat_map(|from| [("key-marker", &*from.key), ("version-id-marker", &*from.id)]));
        let session = self.session;
        let own = |body: &[u8]| listing::versions(body)?.in_bucket(&session.bucket, Some(prefix));
        let page = self.page(&query(names), &format!("listing versions below {prefix:?}"), own);
        known(page)
    }

    /// Uploads below the run's prefix that were begun and not ended; `None` where the target does not list them. Of
    /// very many, the first ones.
    ///
    /// # Errors
    /// [`BucketError`]; [`BucketError::TooMany`] where so many of others come first that none of the run's was found.
    pub fn uploads(&mut self) -> Result<Option<Vec<KeyVersion>>, BucketError> {
        let prefix = self.session.run_prefix.clone();
        let Some(below) = self.own_uploads(&prefix)? else { return Ok(None) };
        if !below.is_empty() {
            return Ok(Some(below));
        }
        // MinIO takes the prefix for a whole key, unless it is empty.
        self.own_uploads("")
    }

    /// Whether anybody's upload was begun and not ended, and whether one of the run's. A target that lists none has
    /// none.
    pub(super) fn has_uploads(&mut self) -> Result<(bool, bool), BucketError> {
        let session = self.session;
        let any = first_shown(|from: Option<&Marker>| {
            let mut names = vec![("uploads", ""), ("max-uploads", "1")];
            names.extend(from.into_iter().flat_map(|m| [("key-marker", &*m.key), ("upload-id-marker", &*m.id)]));
            let any = |body: &[u8]| listing::uploads(body)?.in_bucket(&session.bucket, None);
            self.page(&query(names), "listing uploads", any)
        });
        let is_any = known(any)?.is_some_and(|(shown, _)| !shown.is_empty());
        Ok((is_any, is_any && self.uploads()?.is_some_and(|own| !own.is_empty())))
    }

    fn own_uploads(&mut self, prefix: &str) -> Result<Option<Vec<KeyVersion>>, BucketError> {
        let (session, mut found) = (self.session, Vec::new());
        let (mut seen, mut pages) = (0, Pages::<Marker>::default());
        loop {
            let mut names = vec![("uploads", ""), ("prefix", prefix), ("max-uploads", "1000")];
            let marker = pages.from();
            names.extend(marker.into_iter().flat_map(|m| [("key-marker", &*m.key), ("upload-id-marker", &*m.id)]));
            let own = |body: &[u8]| listing::uploads(body)?.in_bucket(&session.bucket, None);
            let page = self.page(&query(names), &format!("listing uploads below {prefix:?}"), own);
            let Some(page) = known(page)? else { return Ok(None) };
            let first = page.entries.first().map(|one| format!("{} {}", one.key, one.id));
            let seen_now = page.entries.len();
            seen += seen_now;
            found.extend(self.own(page.entries));
            if !pages.turn(seen_now, first, page.next)? {
                return Ok(Some(found));
            }
            if seen >= FOREIGN_UPLOADS_MAX {
                let call = format!("listing uploads below {prefix:?} at {}", self.authority());
                // What was found is dealt with first: what lies behind it is found by the next listing.
                return if found.is_empty() {
                    Err(BucketError::TooMany { call, shown: seen })
                } else {
                    Ok(Some(found))
                };
            }
        }
    }

    /// A listing that ignored its prefix must not lead to a deletion outside it.
    fn own(&self, mut listed: Vec<KeyVersion>) -> Vec<KeyVersion> {
        listed.retain(|entry| is_of_run(&entry.key, &self.session.run_prefix));
        listed
    }

    /// Asks for at most [`DELETE_KEYS_MAX`] of what the run left to be deleted; what does not lie below its prefix is
    /// passed over. What is refused is noted. Whether the others are gone, a listing tells.
    ///
    /// # Errors
    /// [`BucketError`], where there is no answer.
    pub fn delete_leftovers(&mut self, left: &[Leftover], refusals: &mut Refusals) -> Result<(), BucketError> {
        let own = left.iter().filter(|one| is_of_run(one.key(), &self.session.run_prefix)).take(DELETE_KEYS_MAX);
        let keys: Vec<(String, Option<String>)> = own
            .map(|one| match one {
                Leftover::Object(key) => (key.clone(), None),
                Leftover::Version(version) => (version.key.clone(), Some(version.id.clone())),
            })
            .collect();
        self.delete_noting(&keys, refusals)
    }

    /// Gives up an upload of the run; one that is no longer there is given up, and one that is not the run's is passed
    /// over.
    ///
    /// # Errors
    /// [`BucketError`].
    pub fn abort_upload(&mut self, upload: &KeyVersion) -> Result<(), BucketError> {
        if !is_of_run(&upload.key, &self.session.run_prefix) {
            return Ok(());
        }
        self.rest_for_one()?;
        let query = query(vec![("uploadId", &upload.id)]);
        let what = format!("giving up an upload of {:?}", upload.key);
        let call = BucketCall { key: &upload.key, query: &query, ..BucketCall::new(what, "DELETE") };
        let answer = self.call(&call)?;
        if answer.status == 404 { Ok(()) } else { answer.done(self.session) }
    }
}

/// Whether a run may have written a key: it lies below its prefix, and no part of it behind that leads out again, as
/// some servers would resolve it. A key with a slash at its end is none: file systems behind S3 list their folders so,
/// and they cannot be deleted as objects.
#[must_use]
pub fn is_of_run(key: &str, run_prefix: &str) -> bool {
    let is_step = |part: &str| part == ".." || part == ".";
    key.strip_prefix(run_prefix).is_some_and(|rest| !rest.ends_with('/') && !rest.split(['/', '\\']).any(is_step))
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

/// Codes of targets that do not know a call, whatever their status.
const UNKNOWN_CALL: [&str; 2] = ["NotImplemented", "MethodNotAllowed"];

/// A target that does not know a call is no failure.
pub(super) fn known<T>(page: Result<T, BucketError>) -> Result<Option<T>, BucketError> {
    match page {
        Err(BucketError::Refused { status: 405 | 501, .. }) => Ok(None),
        Err(BucketError::Refused { code: Some(code), .. }) if UNKNOWN_CALL.contains(&code.as_str()) => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_lead_out_of_the_prefix_are_no_keys_of_the_run() {
        for (key, is_one) in [
            ("p/linerate-r-1/0/1", true),
            ("p/linerate-r-1/..0", true),
            ("p/linerate-r-1/../../0", false),
            ("p/linerate-r-1/0/..", false),
            ("p/linerate-r-1/./0", false),
            ("p/linerate-r-1/..\\0", false),
            ("p/linerate-r-2/0", false),
            ("p/linerate-r-1/0/", false),
        ] {
            assert_eq!(is_of_run(key, "p/linerate-r-1/"), is_one, "{key}");
        }
    }

    #[test]
    fn a_query_is_in_the_order_of_its_names() {
        let names = vec![("versions", ""), ("prefix", "a/b c"), ("version-id-marker", "1"), ("key-marker", "k")];
        let expected = "key-marker=k&prefix=a%2Fb%20c&version-id-marker=1&versions=";
        assert_eq!(String::from_utf8(query(names)).unwrap(), expected);
    }
}
