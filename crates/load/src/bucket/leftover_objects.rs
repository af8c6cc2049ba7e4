//! What a run left below its prefix: objects, versions of objects, uploads that were begun.

use std::fmt;

use super::call::{Answer, BucketCall};
use super::deletion::Refusals;
use super::errors::says_busy;
use super::paging::first_shown;
use super::{Bucket, BucketError, DELETE_KEYS_MAX, Pages};
use crate::listing::{self, KeyVersion, Marker, Page, Version};
use crate::sigv4::push_encoded_query;
use crate::xml;

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
        self.page_if_known(&query(names), &format!("listing versions below {prefix:?}"), from.is_none(), own)
    }

    /// A page of a listing that S3 has by a query of its own; `None` where the target does not know the query. Of a
    /// listing whose first page was read, the others are known.
    fn page_if_known<T>(
        &mut self,
        query: &[u8],
        what: &str,
        is_first: bool,
        parse: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<Option<T>, BucketError> {
        let answer = self.call_with_deadline(&BucketCall { query, ..BucketCall::new(what, "GET") })?;
        if is_first && lists_objects(&answer) {
            return Ok(None);
        }
        match super::page(answer, parse) {
            Err(error) if is_first && is_unknown_query(&error) => Ok(None),
            page => known(page),
        }
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
            let parse = |body: &[u8]| listing::uploads(body)?.in_bucket(&session.bucket, None);
            let page = self.page_if_known(&query(names), "listing uploads", from.is_none(), parse)?;
            Ok(page.unwrap_or_else(Page::empty))
        });
        let is_any = !any?.0.is_empty();
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
            let what = format!("listing uploads below {prefix:?}");
            let Some(page) = self.page_if_known(&query(names), &what, marker.is_none(), own)? else { return Ok(None) };
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
/// some servers would resolve it. The prefix itself and a key with a slash at its end are none: file systems behind S3
/// list their folders so, and they cannot be deleted as objects.
#[must_use]
pub fn is_of_run(key: &str, run_prefix: &str) -> bool {
    key.strip_prefix(run_prefix).is_some_and(|rest| !rest.is_empty() && !rest.ends_with('/') && !leads_out(rest))
}

/// Whether a key is a folder that holds what the run wrote, as file systems behind S3 list it: the run's prefix, one
/// below it, or one above it.
pub(super) fn is_folder_of_run(key: &str, run_prefix: &str) -> bool {
    let is_below = || key.strip_prefix(run_prefix).is_some_and(|rest| !leads_out(rest));
    key.ends_with('/') && (run_prefix.starts_with(key) || is_below())
}

fn leads_out(rest: &str) -> bool {
    rest.split(['/', '\\']).any(|part| part == ".." || part == ".")
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

/// Codes that concern the caller or the bucket, and not the query.
const NOT_OF_QUERY: [&str; 16] = [
    "AccessDenied",
    "AllAccessDisabled",
    "AuthorizationHeaderMalformed",
    "AuthorizationQueryParametersError",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidBucketName",
    "InvalidSecurity",
    "InvalidToken",
    "NoSuchBucket",
    "OperationAborted",
    "RequestExpired",
    "RequestTimeTooSkewed",
    "RequestTimeout",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
];

/// Whether a target ignored the query, and listed objects.
pub(super) fn lists_objects(answer: &Answer) -> bool {
    (200..300).contains(&answer.status) && xml::root(&answer.body) == Some(b"ListBucketResult")
}

/// Whether a refusal is one of the query, such as 400 (InvalidArgument) or 404: the target does not know it.
pub(super) fn is_unknown_query(error: &BucketError) -> bool {
    let BucketError::Refused { status, code, .. } = error else { return false };
    let code = code.as_deref();
    let is_of_others = says_busy(*status, code) || code.is_some_and(|code| NOT_OF_QUERY.contains(&code));
    matches!(status, 400..500) && !matches!(status, 401 | 402 | 403 | 407 | 408) && !is_of_others
}

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
            ("p/linerate-r-1/", false),
        ] {
            assert_eq!(is_of_run(key, "p/linerate-r-1/"), is_one, "{key}");
        }
    }

    #[test]
    fn folders_of_the_run_are_those_that_hold_what_it_wrote() {
        for (key, is_one) in [
            ("p/", true),
            ("p/linerate-r-1/", true),
            ("p/linerate-r-1/000/", true),
            ("p/linerate-r-1/000/7", false),
            ("p/linerate-r-1", false),
            ("p/linerate-r-1/../x/", false),
            ("p/linerate-r-2/", false),
            ("q/", false),
            ("", false),
        ] {
            assert_eq!(is_folder_of_run(key, "p/linerate-r-1/"), is_one, "{key}");
        }
    }

    #[test]
    fn a_refusal_is_one_of_the_query_unless_it_concerns_the_caller_or_the_bucket() {
        for (status, code, is_one) in [
            (400, Some("InvalidArgument"), true),
            (400, None, true),
            (404, None, true),
            (404, Some("NoSuchKey"), true),
            (404, Some("NoSuchBucket"), false),
            (400, Some("ExpiredToken"), false),
            (400, Some("SlowDown"), false),
            (401, None, false),
            (403, Some("AccessDenied"), false),
            (429, None, false),
            (500, None, false),
            (301, None, false),
        ] {
            let code = code.map(str::to_owned);
            let refused = BucketError::Refused { call: "it".into(), status, code, keys: Default::default() };
            assert_eq!(is_unknown_query(&refused), is_one, "{refused}");
        }
    }

    #[test]
    fn a_query_is_in_the_order_of_its_names() {
        let names = vec![("versions", ""), ("prefix", "a/b c"), ("version-id-marker", "1"), ("key-marker", "k")];
        let expected = "key-marker=k&prefix=a%2Fb%20c&version-id-marker=1&versions=";
        assert_eq!(String::from_utf8(query(names)).unwrap(), expected);
    }
}
