//! What a bucket lists: objects, versions of objects, uploads that were begun; a page of XML each.

use crate::session::Existing;
use crate::xml::{self, walk};

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, Next> {
    pub entries: Vec<T>,
    /// Where the next page begins; absent on the last.
    pub next: Option<Next>,
    /// Which bucket it is of, and which prefix, where it says so.
    pub of: (Option<String>, Option<String>),
}

impl<T, Next> Page<T, Next> {
    /// A page that shows nothing, and the last one.
    pub(crate) const fn empty() -> Self {
        Page { entries: Vec::new(), next: None, of: (None, None) }
    }

    /// The page, where it is one of this bucket, and of this prefix.
    ///
    /// # Errors
    /// What it is of instead.
    pub fn in_bucket(self, bucket: &str, prefix: Option<&str>) -> Result<Self, String> {
        let (of_bucket, of_prefix) = &self.of;
        if let Some(other) = of_bucket.as_ref().filter(|other| *other != bucket) {
            return Err(format!("it lists bucket {other:.80?}"));
        }
        if let Some(other) = of_prefix.as_ref().filter(|other| prefix.is_some_and(|prefix| *other != prefix)) {
            return Err(format!("it lists prefix {other:.80?}"));
        }
        Ok(self)
    }
}

/// Where the next page of versions or uploads begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Marker {
    pub key: String,
    /// Version or upload; may be empty.
    pub id: String,
}

/// A version of an object or a delete marker, as a listing of versions shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its key and its own id, which is `null` where the bucket keeps no versions.
    pub of: KeyVersion,
    /// Whether it is what a listing of objects shows: an object, below no delete marker.
    pub is_object: bool,
}

/// A version of an object, a delete marker, or an upload that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyVersion {
    pub key: String,
    pub id: String,
}

/// A page of `ListObjectsV2`.
///
/// # Errors
/// What about it is no such page.
pub fn objects(body: &[u8]) -> Result<Page<Existing, String>, String> {
    let mut entries = Vec::new();
    let (mut key, mut size_bytes, mut truncated, mut token) = (None::<String>, 0u64, false, None);
    let mut bucket_and_prefix = (None, None);
    walk(body, &["ListBucketResult"], |parent, name, text| {
        match (parent, name) {
            (Some("Contents"), "Key") => key = Some(std::mem::take(text)),
            (Some("Contents"), "Size") => {
                size_bytes = text.trim().parse().map_err(|_| format!("size {text:?} is not a number"))?;
            }
            (_, "Contents") => {
                let key = key.take().ok_or("an object without a key")?;
                entries.push(Existing { key, size_bytes });
            }
            (Some("ListBucketResult"), "Name") => bucket_and_prefix.0 = Some(std::mem::take(text)),
            (Some("ListBucketResult"), "Prefix") => bucket_and_prefix.1 = Some(std::mem::take(text)),
            (_, "IsTruncated") => truncated = goes_on(text)?,
            (_, "NextContinuationToken") => token = Some(std::mem::take(text)),
            _ => {}
        }
        Ok(())
    })?;
    let token = token.filter(|token| !token.is_empty());
    Ok(Page { entries, next: following(truncated, token)?, of: bucket_and_prefix })
}

/// A page of `ListObjectVersions`: versions and delete markers.
///
/// # Errors
/// What about it is no such page.
pub fn versions(body: &[u8]) -> Result<Page<Version, Marker>, String> {
    identified(body, VERSIONS, &["Version", "DeleteMarker"], ["VersionId", "NextVersionIdMarker"])
}

/// A page of `ListMultipartUploads`.
///
/// # Errors
/// What about it is no such page.
pub fn uploads(body: &[u8]) -> Result<Page<KeyVersion, Marker>, String> {
    let page = identified(body, &["ListMultipartUploadsResult"], &["Upload"], ["UploadId", "NextUploadIdMarker"])?;
    Ok(Page { entries: page.entries.into_iter().map(|upload| upload.of).collect(), next: page.next, of: page.of })
}

/// What the root of a listing of versions is called: by Amazon, and in its schema.
const VERSIONS: &[&str] = &["ListVersionsResult", "ListBucketVersionsResult"];

fn goes_on(text: &str) -> Result<bool, String> {
    xml::boolean(text.as_bytes()).ok_or_else(|| format!("IsTruncated is neither true nor false: {text:?}"))
}

/// Where the next page begins. A listing that says that it goes on, and not where, is not known to be whole.
fn following<Next>(truncated: bool, next: Option<Next>) -> Result<Option<Next>, String> {
    match (truncated, next) {
        (true, None) => Err("it is truncated, but does not say where the rest begins".into()),
        (true, next) => Ok(next),
        (false, _) => Ok(None),
    }
}

fn identified(
    body: &[u8],
    roots: &[&str],
    entry: &[&str],
    [id_name, marker]: [&str; 2],
) -> Result<Page<Version, Marker>, String> {
    let mut entries = Vec::<Version>::new();
    let mut is_latest = None;
    let (mut key, mut id, mut truncated, mut next) = (None::<String>, None::<String>, false, Marker::default());
    let mut bucket_and_prefix = (None, None);
    walk(body, roots, |parent, name, text| {
        let within = |names: &[&str]| parent.is_some_and(|parent| names.contains(&parent));
        let inside = within(entry);
        match name {
            "Name" | "Bucket" if within(roots) => bucket_and_prefix.0 = Some(std::mem::take(text)),
            "Prefix" if within(roots) => bucket_and_prefix.1 = Some(std::mem::take(text)),
            "Key" if inside => key = Some(std::mem::take(text)),
            _ if inside && name == id_name => id = Some(std::mem::take(text)),
            "IsLatest" if inside => is_latest = xml::boolean(text.as_bytes()),
            _ if entry.contains(&name) => {
                let (Some(key), Some(id)) = (key.take(), id.take()) else {
                    return Err(format!("an entry {name} without Key or {id_name}"));
                };
                // The versions of a key follow each other, the latest first.
                let is_first = entries.last().is_none_or(|before| before.of.key != key);
                let is_object = name != "DeleteMarker" && is_latest.take().unwrap_or(is_first);
                entries.push(Version { of: KeyVersion { key, id }, is_object });
            }
            "IsTruncated" => truncated = goes_on(text)?,
            "NextKeyMarker" => next.key = std::mem::take(text),
            _ if name == marker => next.id = std::mem::take(text),
            _ => {}
        }
        Ok(())
    })?;
    let next = following(truncated, (next != Marker::default()).then_some(next))?;
    Ok(Page { entries, next, of: bucket_and_prefix })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_gives_keys_sizes_and_the_next_token() {
        let body = br#"<?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
            <IsTruncated>true</IsTruncated>
            <Contents><Key>a &amp; b/&#x41;&#10;</Key><Owner><ID>x</ID></Owner><Size>42</Size></Contents>
            <Contents><Size>7</Size><Key>c</Key></Contents><NextContinuationToken>t&lt;1</NextContinuationToken>
            </ListBucketResult>"#;
        let page = objects(body).unwrap();
        assert_eq!(page.next.as_deref(), Some("t<1"));
        let as_number = String::from_utf8_lossy(body).replace("true</", " 1 </");
        assert_eq!(objects(as_number.as_bytes()).unwrap().next.as_deref(), Some("t<1"));
        let got: Vec<_> = page.entries.iter().map(|o| (o.key.as_str(), o.size_bytes)).collect();
        assert_eq!(got, [("a & b/A\n", 42), ("c", 7)]);
    }

    #[test]
    fn pages_that_are_none_are_refused() {
        let nested = format!("<ListBucketResult>{}", "<a>".repeat(17));
        assert!(objects(nested.as_bytes()).is_err(), "nested");
        for body in [
            "",
            "<html></html>",
            "<ListBucketResult><b></ListBucketResult>",
            "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
            "<ListBucketResult><Contents><Size>x</Size></Contents></ListBucketResult>",
            "<ListBucketResult>&z;</ListBucketResult>",
            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
            "<ListBucketResult><IsTruncated>1</IsTruncated></ListBucketResult>",
            "<ListBucketResult><IsTruncated>True</IsTruncated></ListBucketResult>",
            "<ListBucketResult><IsTruncated/></ListBucketResult>",
            "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken/></ListBucketResult>",
            "<ListBucketResult><Contents><Key>a</Key></Contents>",
            "<ListVersionsResult/>",
        ] {
            assert!(objects(body.as_bytes()).is_err(), "{body}");
        }
        assert!(
            versions(b"<ListVersionsResult><DeleteMarker><Key>a</Key></DeleteMarker></ListVersionsResult>").is_err()
        );
        assert!(
            uploads(
                b"<ListMultipartUploadsResult><Upload><UploadId>a</UploadId></Upload></ListMultipartUploadsResult>"
            )
            .is_err()
        );
    }

    #[test]
    fn versions_are_told_with_delete_markers_and_uploads_with_their_ids() {
        let body = b"<ListVersionsResult><KeyMarker/><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>
            <NextVersionIdMarker>v</NextVersionIdMarker>
            <Version><Key>a</Key><VersionId>null</VersionId><Owner><ID>o</ID></Owner></Version>
            <DeleteMarker><VersionId>2</VersionId><Key>b&gt;</Key></DeleteMarker></ListVersionsResult>";
        let page = versions(body).unwrap();
        let got: Vec<_> = page.entries.iter().map(|v| (v.of.key.as_str(), v.of.id.as_str(), v.is_object)).collect();
        assert_eq!(got, [("a", "null", true), ("b>", "2", false)]);
        assert_eq!(page.next, Some(Marker { key: "k".into(), id: "v".into() }));
        let body =
            b"<m:ListMultipartUploadsResult xmlns:m='u'><m:Upload><Key>a/b</Key><UploadId>u</UploadId></m:Upload>
            <IsTruncated>false</IsTruncated><NextKeyMarker>k</NextKeyMarker></m:ListMultipartUploadsResult>";
        let page = uploads(body).unwrap();
        assert_eq!(page.entries, [KeyVersion { key: "a/b".into(), id: "u".into() }]);
        assert_eq!(page.next, None);
    }

    #[test]
    fn of_the_versions_of_a_key_one_at_the_most_is_its_object() {
        let version =
            |id: u32, latest: &str| format!("<Version><Key>a</Key><VersionId>{id}</VersionId>{latest}</Version>");
        let (yes, no) = ("<IsLatest>true</IsLatest>", "<IsLatest>false</IsLatest>");
        let marker =
            |latest: &str| format!("<DeleteMarker><Key>a</Key><VersionId>m</VersionId>{latest}</DeleteMarker>");
        for (what, entries, expected) in [
            ("as told", version(1, no) + &version(2, yes), vec![false, true]),
            ("the first, where it is not told", version(1, "") + &version(2, ""), vec![true, false]),
            ("none below a delete marker", marker(yes) + &version(1, no), vec![false, false]),
            ("none below one, where it is not told", marker("") + &version(1, ""), vec![false, false]),
            ("none that a marker behind it hides", version(1, no) + &marker(yes), vec![false, false]),
        ] {
            let page = versions(format!("<ListVersionsResult>{entries}</ListVersionsResult>").as_bytes()).unwrap();
            assert_eq!(page.entries.iter().map(|v| v.is_object).collect::<Vec<_>>(), expected, "{what}");
        }
    }

    #[test]
    fn a_page_of_another_bucket_or_prefix_is_told_as_such() {
        let inner = "<Name>b</Name><Prefix>p/&amp;</Prefix><CommonPrefixes><Prefix>x</Prefix></CommonPrefixes>";
        let listed = |bucket: &str, prefix: &str| {
            let of_objects = objects(format!("<ListBucketResult>{inner}</ListBucketResult>").as_bytes()).unwrap();
            let of_versions = versions(format!("<ListVersionsResult>{inner}</ListVersionsResult>").as_bytes()).unwrap();
            let reported = of_objects.in_bucket(bucket, Some(prefix)).map(|_| ());
            assert_eq!(reported, of_versions.in_bucket(bucket, Some(prefix)).map(|_| ()));
            reported
        };
        assert_eq!(listed("b", "p/&"), Ok(()));
        assert!(listed("c", "p/&").unwrap_err().contains("bucket \"b\""));
        assert!(listed("b", "p/").unwrap_err().contains("prefix \"p/&\""));
        let page = uploads(b"<ListMultipartUploadsResult><Bucket>c</Bucket></ListMultipartUploadsResult>").unwrap();
        assert!(page.clone().in_bucket("c", None).is_ok() && page.in_bucket("b", None).is_err());
    }

    #[test]
    fn an_empty_page_is_one_that_says_so() {
        for body in ["<ListBucketResult/>", "<s:ListBucketResult xmlns:s='u'></s:ListBucketResult>"] {
            assert_eq!(
                objects(body.as_bytes()),
                Ok(Page { entries: Vec::new(), next: None, of: (None, None) }),
                "{body}"
            );
        }
        assert_eq!(versions(b"<ListBucketVersionsResult/>").unwrap().entries, []);
    }

    proptest! {
        #[test]
        fn arbitrary_pages_never_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = objects(&body);
            let _ = versions(&body);
            let _ = uploads(&body);
        }
    }
}
