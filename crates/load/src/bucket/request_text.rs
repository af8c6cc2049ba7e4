//! Requests of bucket calls as they would go out, for whoever wants to look at them first: fuzz targets do.

use super::call::BucketCall;
use linerate_wire::deadline::CancelToken;

use super::deletion::Deletions;
use super::{Bucket, leftover_objects::query};
use crate::session::Session;

/// One request of each kind that cleaning up sends, written for the first host; nothing is sent.
#[must_use]
pub fn written(session: &Session) -> Vec<Vec<u8>> {
    let bucket =
        Bucket { session, host: 0, stream: None, cancel: CancelToken::Nothing, deletions: Deletions::default() };
    let prefix = session.run_prefix.as_str();
    let listing = query(vec![("list-type", "2"), ("max-keys", "1000"), ("prefix", prefix)]);
    let (key, upload) = (format!("{prefix}key"), query(vec![("uploadId", "id")]));
    vec![
        bucket.request(&BucketCall { query: &listing, ..BucketCall::new("", "GET") }),
        bucket.request(&BucketCall { query: b"delete=", ..BucketCall::new("", "POST") }),
        bucket.request(&BucketCall { key: &key, query: &upload, ..BucketCall::new("", "DELETE") }),
        bucket.request(&BucketCall::new("", "DELETE")),
    ]
}
